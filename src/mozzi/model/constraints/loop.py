"""What acts between bodies besides the joints of the tree: what closes it into loops (joints
between two bodies, distances, linear couplings), and springs.

These are data. The equations they stand for belong to the algorithms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, final

from mozzi.model.frames import pose_key

if TYPE_CHECKING:
    from mozzi.lie import SE3
    from mozzi.model.joints.joint import Joint

__all__ = ["Coupling", "Distance", "Loop", "Spring", "Terms"]

Terms: TypeAlias = (
    Mapping[str, float] | Mapping[tuple[str, int], float] | Mapping[str | tuple[str, int], float]
)
"""Coefficients by joint, or by joint and component."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Loop:
    """A joint that closes a loop:  C_a P_a T(q_loop) = C_b P_b  for some q_loop.

    ``C_a`` and ``C_b`` are the poses of the bodies (−1 is the world), ``P_a = placement_a`` and
    ``P_b = placement_b`` are frames fixed to them, and ``T(q) = frame_parent pose(q)
    frame_child⁻¹`` is the motion of the joint. The loop removes 6 − nv degrees of freedom where
    its equations are independent (of a product whose factors repeat motions, 6 − its `mobility`).

    Example:
        >>> loop = mz.load("four_bar.sdf").loops[0]
        >>> loop.name, loop.joint.nv, mz.load("four_bar.sdf").row_count
        ('coupler_rocker', 1, 5)
    """

    name: str
    body_a: int
    body_b: int
    joint: Joint
    placement_a: SE3
    placement_b: SE3

    @cached_property
    def rows(self) -> int:
        """How many equations it stands for: one per wrench that its joint transmits, 6 − nv. Of a
        joint that is fitted by iteration (a `Composite`), six of that rank.
        """
        free = self.joint.mobility
        return 6 if 0 < free < 6 and self.joint.fitted else 6 - free

    @property
    def positions(self) -> tuple[bool, ...]:
        """Which of its rows have a position part: all."""
        return (True,) * self.rows

    @property
    def key(self) -> tuple[object, ...]:
        """The content of the loop as a nested tuple of numbers and strings."""
        frames = pose_key(self.placement_a), pose_key(self.placement_b)
        return ("Loop", self.name, self.body_a, self.body_b, self.joint.key, *frames)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loop) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Loop({self.name!r}, {self.body_a}, {self.body_b}, {self.joint!r})"


@final
@dataclass(frozen=True)
class Distance:
    """Two points keep their distance:  |C_a p_a − C_b p_b| = length  (a massless rod).

    Example:
        >>> arm = mz.load("arm.urdf").with_distance("rod", None, "tool", length=0.5)
        >>> arm.distances[0].length, arm.row_count
        (0.5, 1)
    """

    name: str
    body_a: int
    body_b: int
    point_a: tuple[float, float, float]
    point_b: tuple[float, float, float]
    length: float

    @property
    def rows(self) -> int:
        """How many equations it stands for."""
        return 1

    @property
    def positions(self) -> tuple[bool, ...]:
        """Which of its rows have a position part: all."""
        return (True,)

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        ends = self.body_a, self.body_b, self.point_a, self.point_b
        return ("Distance", self.name, *ends, self.length)


@final
@dataclass(frozen=True)
class Coupling:
    """A linear relation between joint coordinates:  Σ cₖ qₖ = offset.

    ``terms`` are (joint name, component of that joint's q, coefficient cₖ). A joint that mimics
    another, q₁ = m q₂ + b, is the coupling  1·q₁ − m·q₂ = b; a pair of gears is one as well.

    Example:
        >>> arm = mz.load("arm.urdf").with_coupling("gear", {"joint_1": 1.0, "joint_2": -2.0})
        >>> arm.couplings[0].terms, arm.row_count
        ((('joint_1', 0, 1.0), ('joint_2', 0, -2.0)), 1)
    """

    name: str
    terms: tuple[tuple[str, int, float], ...]
    offset: float = 0.0

    @property
    def rows(self) -> int:
        """How many equations it stands for."""
        return 1

    @property
    def positions(self) -> tuple[bool, ...]:
        """Which of its rows have a position part: all."""
        return (True,)

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of the joints that are coupled."""
        return tuple(joint for joint, _, _ in self.terms)

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        return ("Coupling", self.name, self.terms, self.offset)


@final
@dataclass(frozen=True)
class Spring:
    """A spring and damper between two points: pulls them together by  k (ℓ − length) + c ℓ̇.

    ℓ = |C_b p_b − C_a p_a| is the distance of the points. It acts where joint springs do: in
    simulations and energies, and in the dynamics on request (``resistance=True``). Where the points
    coincide the line has no direction, and a spring with a length pushes nowhere: its force is zero
    there.

    Example:
        >>> arm = mz.load("arm.urdf").with_spring("coil", None, "tool", stiffness=50.0, length=0.5)
        >>> arm.springs[0].stiffness, bool(mz.spring_energy(arm, arm.neutral()) > 0)
        (50.0, True)
    """

    name: str
    body_a: int
    body_b: int
    point_a: tuple[float, float, float]
    point_b: tuple[float, float, float]
    stiffness: float
    damping: float = 0.0
    length: float = 0.0

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        ends = self.body_a, self.body_b, self.point_a, self.point_b
        return ("Spring", self.name, *ends, self.stiffness, self.damping, self.length)
