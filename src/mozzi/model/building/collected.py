# pyright: reportUnnecessaryIsInstance=false
"""What a builder has collected, as it was given: names are looked up when the model is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, cast

from mozzi.checked import checked
from mozzi.errors import KindError, ModelError, known
from mozzi.lie import SE3, Inertia
from mozzi.model.actuator import Actuator
from mozzi.model.body import JointDynamics
from mozzi.model.constraints.contact import Contact
from mozzi.model.constraints.loop import Coupling, Distance, Loop, Spring
from mozzi.model.constraints.rolling import Rolling, VelocityRows
from mozzi.model.content import GRAVITY, Configuration
from mozzi.model.frames import IDENTITY, VectorLike, as_vector
from mozzi.model.joints.axes import Fixed
from mozzi.model.joints.joint import Joint
from mozzi.model.shapes import Shape

__all__ = ["Collected", "Part", "frame_part"]


@dataclass(frozen=True)
class Part:
    """A body as it was added; for a spatial joint the frames are absolute until the parent is
    known.
    """

    name: str
    parent: str | None
    joint: Joint
    inertia: Inertia
    dynamics: JointDynamics
    joint_name: str
    spatial: SE3 | None = None


NO_DATA = JointDynamics.of(Fixed())


def frame_part(name: str, parent: str | None, placement: SE3) -> Part:
    """A frame is a body without mass behind a fixed joint."""
    joint = Fixed().at(placement, IDENTITY)
    return Part(name, parent, joint, Inertia.zero(), NO_DATA, "")


class Collected:
    """Bodies, frames, shapes and closures, by name."""

    @checked
    def __init__(self, name: str = "model", gravity: VectorLike = GRAVITY) -> None:
        self.name = str(name)
        self.gravity = as_vector(gravity, 3, f"model {name!r}: gravity")
        self._parts: dict[str, Part] = {}
        self._joints: dict[str, str] = {}
        self._frames: dict[str, Part] = {}
        self._loops: dict[str, tuple[str | None, str | None, Loop]] = {}
        self._distances: dict[str, tuple[str | None, str | None, Distance]] = {}
        self._springs: dict[str, tuple[str | None, str | None, Spring]] = {}
        self._couplings: dict[str, Coupling] = {}
        self._shapes: dict[str, tuple[str | None, Shape]] = {}
        self._configurations: dict[str, Configuration] = {}
        self._contacts: tuple[Contact, ...] = ()
        self._rollings: tuple[Rolling, ...] = ()
        self._velocity_rows: tuple[VelocityRows, ...] = ()
        self._actuators: dict[str, Actuator] = {}
        self._base_inertia = Inertia.zero()

    @checked
    def replace_joint(self, body: str, joint: Joint) -> Self:
        """Give a body another joint, and no limits or other joint data."""
        if not isinstance(cast(object, joint), Joint):
            raise KindError("replace_joint", "joint", joint, "a joint, such as mz.Revolute('z')")
        if body not in self._parts:
            raise ModelError(f"no body {body!r}; there are {known(body, self._parts)}")
        part = self._parts[body]
        dynamics = JointDynamics.of(joint, f"joint {part.joint_name!r}")
        self._parts[body] = replace(part, joint=joint, dynamics=dynamics)
        return self

    @checked
    def replace_couplings(self, couplings: Sequence[Coupling]) -> Self:
        """Other couplings instead of those added."""
        for coupling in couplings:
            if not isinstance(cast(object, coupling), Coupling):
                raise KindError("replace_couplings", "couplings", coupling, "a list of Couplings")
        self._couplings = {coupling.name: coupling for coupling in couplings}
        return self

    def _new_name(self, name: object, sort: str) -> str:
        if not isinstance(name, str) or not name:
            raise ModelError(f"{sort} {name!r}: not a name; give a non-empty string")
        for other, names in (("body", self._parts), ("frame", self._frames)):
            if name in names:
                raise ModelError(f"{sort} {name!r}: a {other} has this name; give another name")
        return f"{sort} {name!r}"

    def _new_closure(self, name: object, sort: str) -> str:
        if not isinstance(name, str) or not name:
            raise ModelError(f"{sort} {name!r}: not a name; give a non-empty string")
        rolling = {x.name for x in (*self._rollings, *self._velocity_rows)}
        others = self._loops, self._distances, self._couplings, self._springs, rolling
        if any(name in x for x in others):
            raise ModelError(
                f"{sort} {name!r}: a loop, coupling, spring or rolling has this name; give "
                "another name"
            )
        return f"{sort} {name!r}"

    def _is_world(self, name: str | None) -> bool:
        return name is None or (
            name == "world" and name not in self._parts and name not in self._frames
        )
