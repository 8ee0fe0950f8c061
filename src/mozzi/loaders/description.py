"""What the readers of all formats produce: links and joints, with the lines they come from.

A description is not checked as a whole; `assemble` does that and builds the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from mozzi.errors import ModelError
from mozzi.lie import SE3, Inertia, Rotation, Sym3, Vec3
from mozzi.loaders.geometry import ContactData, ShapeData
from mozzi.loaders.principal_moments import principal_moments
from mozzi.loaders.source import Notes, Place
from mozzi.model import Joint
from mozzi.model.frames import as_inertia

__all__ = [
    "IDENTITY",
    "ActuatorData",
    "CouplingData",
    "Description",
    "Edge",
    "Link",
    "LoopData",
    "Mimic",
    "pose_of_quaternion",
    "pose_of_rpy",
]

IDENTITY = SE3.identity()


@dataclass(frozen=True, slots=True)
class Link:
    """A link and its inertia in its own frame (None where the file gives none)."""

    name: str
    place: Place
    inertia: Inertia | None = None
    moments: tuple[float, ...] = ()
    """Principal moments at the centre of mass; empty without inertia."""

    @classmethod
    def of(
        cls, name: str, place: Place, mass: float, J: Sequence[float], T: SE3 = IDENTITY
    ) -> Link:
        """A link with a mass at T and the moments xx, xy, xz, yy, yz, zz about it, in its axes."""
        try:
            own = as_inertia((mass, (0.0, 0.0, 0.0), Sym3(*J)), f"link {name!r}")
            inertia = as_inertia(T.push(own), f"link {name!r}")
        except ModelError as error:
            raise ModelError(f"{error} ({place})") from None
        return cls(name, place, inertia, principal_moments(J))


@dataclass(frozen=True, slots=True)
class Mimic:
    """q = multiplier · q(joint) + offset."""

    joint: str
    multiplier: float
    offset: float
    place: Place


@dataclass(frozen=True, slots=True)
class Edge:
    """A joint between two links; ``joint`` carries its frames in both.

    None is a fixed joint, and ``pose`` the pose of the child in the parent.
    """

    name: str
    place: Place
    parent: str
    child: str
    joint: Joint | None
    pose: SE3 = IDENTITY
    dynamics: Mapping[str, float | tuple[float, ...]] = field(
        default_factory=dict[str, "float | tuple[float, ...]"]
    )
    mimic: Mimic | None = None


@dataclass(frozen=True, slots=True)
class LoopData:
    """A joint that closes a loop, between two frames given as link and pose in it."""

    name: str
    place: Place
    link_a: str
    link_b: str
    joint: Joint
    pose_a: SE3
    pose_b: SE3


@dataclass(frozen=True, slots=True)
class CouplingData:
    """Σ c q = offset, over terms (joint, component of its q): c."""

    name: str
    place: Place
    terms: dict[tuple[str, int], float]
    offset: float


class ActuatorNumbers(TypedDict):
    """The numbers of `Builder.actuator`."""

    component: int
    gear: float
    gain: float
    bias: tuple[float, ...]
    control: tuple[float, float]
    force: tuple[float, float]


@dataclass(frozen=True, slots=True)
class ActuatorData:
    """A motor or servo on a joint coordinate; the numbers are those of `Builder.actuator`."""

    name: str
    place: Place
    joint: str
    numbers: ActuatorNumbers


@dataclass(slots=True)
class Description:
    """A mechanism as a file describes it.

    ``world`` is the link that does not move, where the file says so; otherwise ``root_pose`` is
    where a fixed root stands. Joints of one parent come in the order of the file, or ``by_name``.
    """

    name: str
    place: Place
    format: str
    links: dict[str, Link] = field(default_factory=dict[str, Link])
    edges: dict[str, Edge] = field(default_factory=dict[str, Edge])
    loops: list[LoopData] = field(default_factory=list[LoopData])
    frames: list[tuple[str, str, SE3]] = field(default_factory=list[tuple[str, str, SE3]])
    """Further named frames: name, link, pose in the link."""
    couplings: list[CouplingData] = field(default_factory=list[CouplingData])
    shapes: list[ShapeData] = field(default_factory=list[ShapeData])
    states: dict[str, dict[str, tuple[float, ...]]] = field(default_factory=lambda: {})
    """Named configurations: coordinates by joint."""
    actuators: list[ActuatorData] = field(default_factory=list[ActuatorData])
    contacts: Callable[[], list[ContactData]] | None = None
    """Finds which shapes may touch, where the format says it."""
    contact_pairs: int = 0
    """How many pairs of shapes may touch."""
    world: str | None = None
    root_pose: SE3 = IDENTITY
    by_name: bool = False
    gravity: tuple[float, ...] | None = None
    notes: Notes = field(default_factory=Notes)


def pose_of_rpy(xyz: tuple[float, ...], rpy: tuple[float, ...]) -> SE3:
    """The pose with rotation Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, sr), (cp, sp), (cy, sy) = map(_cos_sin, rpy)
    rotation = Rotation(
        cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr,
        sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr,
        -sp, cp * sr, cp * cr,
    )  # fmt: skip
    return SE3(rotation, Vec3(*xyz))


def _cos_sin(angle: float) -> tuple[float, float]:
    """cos and sin; of multiples of π/2 exactly, so that zeros of a rotation are zeros."""
    n = round(angle / (math.pi / 2.0))
    if abs(n) <= 8 and n * (math.pi / 2.0) == angle:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[n % 4]
    return math.cos(angle), math.sin(angle)


def pose_of_quaternion(xyz: tuple[float, ...], xyzw: tuple[float, ...]) -> SE3:
    """The pose with the rotation of a quaternion (x, y, z, w) of any non-zero length."""
    norm = math.hypot(*xyzw)
    x, y, z, w = (c / norm for c in xyzw)
    rotation = Rotation(
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w),
        2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w),
        2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip
    return SE3(rotation, Vec3(*xyz))
