"""What recursions are written on: bodies, and values by bodies, whether rolled or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from mozzi.algorithms.recursion.bodies import Kind
from mozzi.lie import SE3, Inertia
from mozzi.model.joints.joint import Joint
from mozzi.program.program import Index
from mozzi.program.scalar import Real

if TYPE_CHECKING:
    from mozzi.algorithms.recursion.mechanism import RelativePose

__all__ = ["BodyView", "ByBody", "JointVector", "PerBody", "Place", "SpatialType", "Whole"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class BodyView(Protocol):
    """A body as a recursion sees it: with constants, or one symbolic body for all of a kind.

    The frame of a body sits on its joint. Of the world there is only its place.
    """

    @property
    def slot(self) -> int | Index:
        """Its place in containers; the world's is 0."""
        ...

    @property
    def kind(self) -> Kind | None:
        """What it has in common with bodies that run through the same code (None: not known)."""
        ...

    @property
    def parent(self) -> BodyView: ...
    @property
    def name(self) -> str: ...
    @property
    def joint(self) -> Joint: ...
    @property
    def placement(self) -> SE3:
        """The frame of the joint in that of the parent, at q = 0."""
        ...

    @property
    def link(self) -> SE3:
        """The constant part of `pose`, before the motion of the joint."""
        ...

    @property
    def inertia(self) -> Inertia: ...
    @property
    def frame(self) -> SE3:
        """The frame of the user's body."""
        ...

    @property
    def parent_frame(self) -> SE3:
        """The frame of the user's parent body, in the frame of the parent."""
        ...

    @property
    def armature(self) -> Sequence[Real]: ...
    @property
    def damping(self) -> Sequence[Real]: ...
    @property
    def friction(self) -> Sequence[Real]: ...
    @property
    def stiffness(self) -> Sequence[Real]: ...
    @property
    def rest(self) -> Sequence[Real]: ...
    @property
    def held(self) -> tuple[bool, ...]:
        """Which coordinates have prescribed accelerations."""
        ...

    def pose(self, q: Sequence[Real]) -> RelativePose:
        """The pose in the parent."""
        ...

    def path(self) -> Iterator[BodyView]:
        """This body, its parent, and so on to the base."""
        ...


class Place(BodyView, Protocol):
    """A body that has a number, too; parents have smaller ones, and the world has −1."""

    @property
    def index(self) -> int: ...
    @property
    def parent(self) -> Place: ...
    def path(self) -> Iterator[Place]:
        """This body, its parent, and so on to the base."""
        ...


class SpatialType(Protocol[T_co]):
    """A type of what containers hold: `Twist`, `Inertia`, …, or `Columns`."""

    def unflatten(self, scalars: Sequence[Real], /) -> T_co: ...
    def zero(self) -> T_co: ...


class ByBody(Protocol[T_co]):
    """Values that are read by bodies."""

    def __getitem__(self, body: BodyView, /) -> T_co: ...


class PerBody(ByBody[T], Protocol[T]):
    """A container of one value per body: `per_body`."""

    def __setitem__(self, body: BodyView, value: T, /) -> None: ...


class JointVector(ByBody[Sequence[Real]], Protocol):
    """Joint coordinates, velocities, accelerations or forces: a block per body."""


class Whole(Protocol[T_co]):
    """A value that belongs to no body: `point[()]`."""

    def __getitem__(self, nothing: tuple[()], /) -> T_co: ...
