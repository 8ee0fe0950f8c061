"""How algorithms see a model: bodies, outward and inward.

An algorithm is written once and traced in two ways. *Unrolled*, `outward()` and `inward()` yield
every body with its constants. *Rolled*, they yield one symbolic body per kind of joint: what is
recorded meanwhile becomes a branch of a loop over all bodies, and what differs between bodies
comes from tables. Everything that crosses an iteration lives in `containers`, so that both work
from one source.

The frame of a body sits on its joint: `i.placement` is the joint frame in the frame of the parent,
`i.inertia` is expressed in the joint frame, and `i.frame` is the user's body frame in the joint
frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mozzi.algorithms.recursion.base_parameters import aligned, regrouped
from mozzi.algorithms.recursion.bodies import BodyData, Kind, bodies_of
from mozzi.lie import SE3, Inertia, Twist, Vec3
from mozzi.model.joints.joint import Joint
from mozzi.model.model import WORLD
from mozzi.program.program import Buffer, Index, load, loop
from mozzi.program.scalar import Real

__all__ = ["Body", "Mechanism", "RelativePose", "SymbolicBody", "mechanism"]


class RelativePose:
    """The pose of a body in its parent: the constant placement, then the motion of the joint.

    It is applied in two stages, which takes fewer operations than one general pose.
    """

    __slots__ = ("motion", "placement")

    def __init__(self, placement: SE3, motion: SE3):
        self.placement, self.motion = placement, motion

    def pull(self, x: Any) -> Any:
        """x in the body's frame, of x in the parent's."""
        return self.motion.pull(self.placement.pull(x))

    def push(self, x: Any) -> Any:
        """x in the parent's frame, of x in the body's."""
        return self.placement.push(self.motion.push(x))

    def rotate(self, x: Vec3) -> Vec3:
        """A vector in the parent's axes, of a vector in the body's."""
        return self.placement.R.rotate(self.motion.R.rotate(x))

    def unrotate(self, x: Vec3) -> Vec3:
        """A vector in the body's axes, of a vector in the parent's."""
        return self.motion.R.unrotate(self.placement.R.unrotate(x))

    @property
    def p(self) -> Vec3:
        """The position of the body's frame in the parent's."""
        return self.placement @ self.motion.p

    def __rmatmul__(self, T: SE3) -> SE3:
        return (T @ self.placement) @ self.motion

    def __matmul__(self, T: SE3) -> SE3:
        return self.placement @ (self.motion @ T)

    def pose(self) -> SE3:
        """As one pose."""
        return self.placement @ self.motion


# -- bodies --


class Body:
    """A body while unrolled: its data are constants.

    index: its number in the model (−1: the world); slot: its place in the memory of a rolled
    program, where the world comes first.
    """

    __slots__ = ("data", "index", "mechanism", "parent", "slot")

    def __init__(
        self, mechanism: Mechanism, index: int, data: BodyData | None, parent: Body | None
    ):
        self.mechanism, self.index, self.data, self.parent = mechanism, index, data, parent
        self.slot = index - WORLD

    def __getattr__(self, name: str) -> Any:
        if self.data is None:
            raise AttributeError(f"the world has no {name!r}")
        return getattr(self.data, name)

    def pose(self, q: Sequence[Any]) -> RelativePose:
        """The pose in the parent."""
        motion = self.joint.pose(q if not self.aligned else (q[0] + self.joint_angle,))
        if self.aligned:
            motion = SE3(motion.R, Vec3(0.0, 0.0, self.joint_offset))
        return RelativePose(self.link, motion)

    def path(self) -> Iterator[Body]:
        """This body, its parent, and so on to the base."""
        body: Body | None = self
        while body is not None and body.index != WORLD:
            yield body
            body = body.parent


class SymbolicBody:
    """The bodies of one kind while rolled: data that differ between them are table entries at the
    loop's index.
    """

    def __init__(self, mechanism: Mechanism, slot: Index, kind: Kind | None):
        self.mechanism, self.slot, self.kind = mechanism, slot, kind

    @cached_property
    def _example(self) -> BodyData:
        """A body of the kind."""
        if self.kind is None:
            raise AttributeError("while rolled, a parent is known by its place only")
        return next(b for b in self.mechanism.bodies if b.kind == self.kind)

    def _column(self, values: Callable[[BodyData], Real], name: str) -> Any:
        """One number of the body."""
        return self._columns(lambda b: (values(b),), name)[0]

    def _columns(self, values: Callable[[BodyData], Sequence[Real]], name: str) -> list[Any]:
        """Numbers of the body: constants where all bodies of the kind agree, else from tables."""
        tables = self.mechanism.tables
        if (self.kind, name) not in tables:
            slots, own = self.mechanism.of_kind(self.kind)
            columns = list(zip(*map(values, own), strict=True))
            tables[self.kind, name] = [
                self._table(slots, column, f"{name}_{n}") for n, column in enumerate(columns)
            ]
        return [
            load(x, self.slot, 1, 0) if isinstance(x, Buffer) else x
            for x in tables[self.kind, name]
        ]

    def _table(self, slots: list[int], column: Sequence[Real], name: str) -> Real | Buffer:
        if len(set(column)) == 1:
            return column[0]
        data = np.zeros(self.mechanism.nb + 1)
        data[slots] = [float(x) for x in column]
        return Buffer(name, len(data), "table", data)

    @cached_property
    def parent(self) -> SymbolicBody:
        parents = self.mechanism.parents
        return SymbolicBody(self.mechanism, Index(parents, self.slot, name="parent"), None)

    @cached_property
    def placement(self) -> SE3:
        return SE3.unflatten(self._columns(lambda b: b.placement.flatten(), "placement"))

    @cached_property
    def link(self) -> SE3:
        return SE3.unflatten(self._columns(lambda b: b.link.flatten(), "link"))

    @cached_property
    def joint_angle(self) -> Any:
        return self._column(lambda b: b.joint_angle, "joint_angle")

    @cached_property
    def joint_offset(self) -> Any:
        return self._column(lambda b: b.joint_offset, "joint_offset")

    @property
    def aligned(self) -> bool:
        return self._example.aligned

    @property
    def held(self) -> tuple[bool, ...]:
        return self._example.held

    @cached_property
    def frame(self) -> SE3:
        return SE3.unflatten(self._columns(lambda b: b.frame.flatten(), "frame"))

    @cached_property
    def parent_frame(self) -> SE3:
        """The user's frame of the parent, in the parent's joint frame."""
        return SE3.unflatten(self._columns(lambda b: b.parent_frame.flatten(), "parent_frame"))

    @cached_property
    def inertia(self) -> Inertia:
        return Inertia.unflatten(self._columns(lambda b: b.inertia.flatten(), "inertia"))

    @cached_property
    def armature(self) -> tuple[Any, ...]:
        return tuple(self._columns(lambda b: b.armature, "armature"))

    @cached_property
    def damping(self) -> tuple[Any, ...]:
        return tuple(self._columns(lambda b: b.damping, "damping"))

    @cached_property
    def friction(self) -> tuple[Any, ...]:
        return tuple(self._columns(lambda b: b.friction, "friction"))

    @cached_property
    def stiffness(self) -> tuple[Any, ...]:
        return tuple(self._columns(lambda b: b.stiffness, "stiffness"))

    @cached_property
    def rest(self) -> tuple[Any, ...]:
        return tuple(self._columns(lambda b: b.rest, "rest"))

    @cached_property
    def joint(self) -> Joint:
        own = self._columns(lambda b: b.joint.parameters(), "joint")
        return self._example.joint.with_parameters(own)

    @property
    def name(self) -> str:
        return self.slot.name

    pose = Body.pose

    def path(self) -> Iterator[SymbolicBody]:
        """This body, its parent, and so on to the base."""
        return self.mechanism.each(self.slot, 1, follow=self.mechanism.parents)


class Mechanism:
    """A model as the recursions see it."""

    cache: ClassVar[dict[Any, Any]] = {}  # algorithms on a view inline: they have no kernels

    def __init__(self, model: Any, bodies: tuple[BodyData, ...], rolled: bool, fixed: Inertia):
        self.model, self.bodies, self.rolled, self.fixed = model, bodies, rolled, fixed
        self.nv, self.nq, self.nb = model.nv, model.nq, model.nb
        self.kinds = list(dict.fromkeys(b.kind for b in bodies))
        self.world = Body(self, WORLD, None, None)
        every = [self.world]
        for index, data in enumerate(bodies):
            every.append(Body(self, index, data, every[data.parent - WORLD]))
        self._list = every[1:]
        self.tables: dict[tuple[Any, str], list[Any]] = {}  # what rolled bodies of a kind differ in
        self._of_kind: dict[Any, tuple[list[int], list[BodyData]]] = {}

    @cached_property
    def parents(self) -> np.ndarray:
        """The slots of the parents, by slots."""
        return np.array([0, *(b.parent - WORLD for b in self.bodies)])

    @property
    def gravity(self) -> Vec3:
        return Vec3(*(float(x) for x in self.model.gravity))

    @property
    def upward(self) -> Twist:
        """The acceleration of the world that stands for gravity: minus gravity."""
        return Twist(Vec3.zero(), -self.gravity)

    def holding(self, held: Sequence[Sequence[bool]]) -> Mechanism:
        """The same mechanism whose bodies know which of their coordinates are held: `i.held`."""
        pairs = zip(self.bodies, held, strict=True)
        bodies = tuple(replace(body, held=tuple(own)) for body, own in pairs)
        return Mechanism(self.model, bodies, self.rolled, self.fixed)

    def outward(self) -> Iterator[Any]:
        """Every body after its parent."""
        if self.rolled:
            return self.each(1, self.nb + 1)
        return iter(self._list)

    def until(self, body: Any) -> Iterator[Any]:
        """Every body after its parent, at least up to this one (while rolled: all)."""
        return self.outward() if self.rolled else iter(self._list[: body.index + 1])

    def inward(self) -> Iterator[Any]:
        """Every body before its parent."""
        if self.rolled:
            return self.each(self.nb, 0, -1)
        return reversed(self._list)

    def of_kind(self, kind: Any) -> tuple[list[int], list[BodyData]]:
        """The bodies of a kind, and their slots."""
        if kind not in self._of_kind:
            found = [(n, b) for n, b in enumerate(self.bodies, 1) if b.kind == kind]
            self._of_kind[kind] = [n for n, _ in found], [b for _, b in found]
        return self._of_kind[kind]

    def each(
        self, start: int | Index, stop: int, step: int = 1, follow: Any = None
    ) -> Iterator[Any]:
        """Record a loop over bodies; yields one symbolic body per kind."""
        number = {kind: n for n, kind in enumerate(self.kinds)}
        which = np.array([0, *(number[b.kind] for b in self.bodies)])
        branches = loop(start, stop, step, follow=follow, which=which, branches=len(self.kinds))
        for branch, variable in branches:
            yield SymbolicBody(self, variable, self.kinds[branch])

    def offset(self, body: Any, what: str) -> Any:
        """Where the coordinates (what = "q") or velocities ("v") of a body begin."""
        if isinstance(body, Body):
            return getattr(body.data, what)
        table = np.array([0, *(getattr(b, what) for b in self.bodies)])
        return Index(table, body.slot, name=what)

    def at(self, index: int) -> Body:
        """Body number `index` of the model (−1: the world): a fixed place in containers, rolled or
        not.
        """
        return self._list[index] if index >= 0 else self.world

    def path(self, index: int) -> Iterator[Any]:
        """Body number `index` of the model, its parent, and so on to the base."""
        if self.rolled:
            return self.each(index - WORLD, 1, follow=self.parents)
        return self.at(index).path()

    def toward(self, index: int) -> Iterator[Any]:
        """The bodies from the base to body number `index` of the model."""
        path = list(self.at(index).path())[::-1]
        if not self.rolled:
            return iter(path)
        slots = [body.slot for body in path]
        following = np.zeros(self.nb + 1, dtype=int)
        following[slots[:-1]] = slots[1:]
        return self.each(slots[0] if slots else 0, 1, follow=following)


def mechanism(model: Any, *, rolled: bool = False, regroup: bool | str = False) -> Mechanism:
    """The recursions' view of a model.

    regroup: with base parameters, True or "moments" (see `regrouped`); `.fixed` is what has gone
    to the world then.
    """
    cache = model.cache
    key = ("bodies", regroup)
    if key not in cache:
        bodies = bodies_of(model)
        cache[key] = (
            regrouped(aligned(bodies), regroup == "moments")
            if regroup
            else (bodies, Inertia.zero())
        )
    bodies, fixed = cache[key]
    return Mechanism(model, bodies, rolled, fixed)
