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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Never, TypeVar

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.recursion.base_parameters import aligned, regrouped
from mozzi.algorithms.recursion.bodies import BodyData, Kind, bodies_of, by_structure
from mozzi.algorithms.recursion.views import BodyView
from mozzi.lie import SE3, Inertia, Twist, Vec3
from mozzi.lie.screw import Pullable, Pushable
from mozzi.model import Model
from mozzi.model.joints.axes import (
    Cylindrical,
    Prismatic,
    Revolute,
    Screw,
    Translation2,
    Translation3,
)
from mozzi.model.joints.joint import Joint
from mozzi.model.model import WORLD
from mozzi.program.node import Region, active
from mozzi.program.program import Buffer, Index, load, loop, store
from mozzi.program.scalar import Node, Real

__all__ = ["Body", "Mechanism", "RelativePose", "Sweep", "SymbolicBody", "mechanism"]

In = TypeVar("In", bound=Pullable)
Out = TypeVar("Out", bound=Pushable)

FEW_KINDS = 6  # of bodies, in rolled programs
AXIAL = Revolute, Prismatic, Screw, Cylindrical, Translation2, Translation3


class RelativePose:
    """The pose of a body in its parent: the constant placement, then the motion of the joint.

    It is applied in two stages, which takes fewer operations than one general pose. ``axial``: the
    joint turns about the line along which it moves, or not at all.
    """

    __slots__ = ("axial", "motion", "placement")

    def __init__(self, placement: SE3, motion: SE3, axial: bool):
        self.placement, self.motion, self.axial = placement, motion, axial

    def pull(self, x: In) -> In:
        """x in the body's frame, of x in the parent's."""
        return self.motion.pull(self.placement.pull(x))

    def push(self, x: Out) -> Out:
        """x in the parent's frame, of x in the body's."""
        return self.placement.push(self.motion.push(x))

    def rotate(self, x: Vec3) -> Vec3:
        """A vector in the parent's axes, of a vector in the body's."""
        return self.placement.R.rotate(self.motion.R.rotate(x))

    def unrotate(self, x: Vec3) -> Vec3:
        """A vector in the body's axes, of a vector in the parent's."""
        return self.motion.R.unrotate(self.placement.R.unrotate(x))

    @property
    def start(self) -> Vec3:
        """Where, in the parent, the body's own frame takes over: see `kinematics/motion.py`."""
        return self.placement.p if self.axial else self.p

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
    program, where the world comes first. The world has no other data, and is its own parent.
    """

    __slots__ = (
        "aligned", "armature", "damping", "data", "frame", "friction", "held", "index", "inertia",
        "joint", "joint_angle", "joint_offset", "kind", "link", "name", "parent", "parent_frame",
        "placement", "rest", "slot", "stiffness",
    )  # fmt: skip
    data: BodyData

    def __init__(self, index: int, data: BodyData | None, parent: Body | None):
        self.index, self.slot, self.parent = index, index - WORLD, parent or self
        if data is None:
            return
        self.data, self.name, self.kind, self.held = data, data.name, data.kind, data.held
        self.joint, self.placement, self.inertia = data.joint, data.placement, data.inertia
        self.frame, self.parent_frame = data.frame, data.parent_frame
        self.armature, self.damping, self.friction = data.armature, data.damping, data.friction
        self.stiffness, self.rest = data.stiffness, data.rest
        self.aligned, self.link = data.aligned, data.link
        self.joint_angle, self.joint_offset = data.joint_angle, data.joint_offset

    def pose(self, q: Sequence[Real]) -> RelativePose:
        """The pose in the parent."""
        return pose_in_parent(self, q)

    def path(self) -> Iterator[Body]:
        """This body, its parent, and so on to the base."""
        body = self
        while body.index != WORLD:
            yield body
            body = body.parent


def pose_in_parent(i: Body | SymbolicBody, q: Sequence[Real]) -> RelativePose:
    """The pose of a body in its parent."""
    axial = isinstance(i.joint, AXIAL)
    if not i.aligned:
        return RelativePose(i.link, i.joint.pose(q), axial)
    R = i.joint.pose((q[0] + i.joint_angle,)).R
    return RelativePose(i.link, SE3(R, Vec3(0.0, 0.0, i.joint_offset)), axial)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A loop over all bodies, outward or inward, in this region of the program."""

    inward: bool
    region: Region | None


class SymbolicBody:
    """The bodies of one kind while rolled: data that differ between them are table entries at the
    loop's index. Of a parent there is only its place (kind: None), and whose it is.

    sweep: the loop that they are met in, where it is one over all bodies.
    """

    def __init__(
        self, mechanism: Mechanism, slot: Index, kind: Kind | None, sweep: Sweep | None = None,
        child: SymbolicBody | None = None,
    ):  # fmt: skip
        self.mechanism, self.slot, self.kind = mechanism, slot, kind
        self.sweep, self.child = sweep, child
        self._read: dict[str, tuple[Real, ...]] = {}

    @cached_property
    def _example(self) -> BodyData:
        """A body of the kind."""
        if self.kind is None:
            raise AttributeError("while rolled, a parent is known by its place only")
        return next(b for b in self.mechanism.bodies if b.kind == self.kind)

    def _numbers(
        self, name: str, values: Callable[[BodyData], Sequence[Real]]
    ) -> tuple[Real, ...]:
        """Numbers of the body: constants where all bodies of the kind agree, else from tables."""
        if name not in self._read:
            self._read[name] = tuple(
                load(x, self.slot, 1, 0) if isinstance(x, Buffer) else x
                for x in self._tables(name, values)
            )
        return self._read[name]

    def _tables(
        self, name: str, values: Callable[[BodyData], Sequence[Real]]
    ) -> list[Real | Buffer]:
        tables = self.mechanism.tables
        if (self.kind, name) not in tables:
            slots, own = self.mechanism.of_kind(self._example.kind)
            columns = enumerate(zip(*map(values, own), strict=True))
            made = [self._table(slots, column, f"{name}_{n}") for n, column in columns]
            tables[self.kind, name] = made
        return tables[self.kind, name]

    def _table(self, slots: list[int], column: Sequence[Real], name: str) -> Real | Buffer:
        if len(set(column)) == 1:
            return column[0]
        if any(isinstance(x, Node) for x in column):  # numbers that vary from sample to sample
            filled = Buffer(name, self.mechanism.nb + 1, "scratch")
            for slot, x in zip(slots, column, strict=True):
                store(filled, None, 0, slot, x)
            return filled
        data = np.zeros(self.mechanism.nb + 1)
        data[slots] = [float(x) for x in column]
        return Buffer(name, len(data), "table", data, entries=slots)

    @cached_property
    def _parent(self) -> SymbolicBody:
        parents = self.mechanism.parents
        slot = Index(parents, self.slot, name="parent")
        return SymbolicBody(self.mechanism, slot, None, self.sweep, self)

    @cached_property
    def _joint(self) -> Joint:
        own = self._numbers("joint", lambda b: b.joint.parameters())
        return self._example.joint.with_parameters(own)

    @property
    def first_inward(self) -> bool:
        """Whether a sweep inward meets them before all other children of their parents."""
        return self.kind in self.mechanism.kinds_first_inward

    @property
    def parent(self) -> SymbolicBody:
        return self._parent

    @property
    def joint(self) -> Joint:
        return self._joint

    @property
    def name(self) -> str:
        return self.slot.name

    @property
    def placement(self) -> SE3:
        return SE3.unflatten(self._numbers("placement", lambda b: b.placement.flatten()))

    @property
    def link(self) -> SE3:
        return SE3.unflatten(self._numbers("link", lambda b: b.link.flatten()))

    @property
    def joint_angle(self) -> Real:
        return self._numbers("joint_angle", lambda b: (b.joint_angle,))[0]

    @property
    def joint_offset(self) -> Real:
        return self._numbers("joint_offset", lambda b: (b.joint_offset,))[0]

    @property
    def aligned(self) -> bool:
        return self._example.aligned

    @property
    def held(self) -> tuple[bool, ...]:
        return self._example.held

    @property
    def frame(self) -> SE3:
        return SE3.unflatten(self._numbers("frame", lambda b: b.frame.flatten()))

    @property
    def parent_frame(self) -> SE3:
        return SE3.unflatten(self._numbers("parent_frame", lambda b: b.parent_frame.flatten()))

    @property
    def inertia(self) -> Inertia:
        return Inertia.unflatten(self._numbers("inertia", lambda b: b.inertia.flatten()))

    @property
    def armature(self) -> tuple[Real, ...]:
        return self._numbers("armature", lambda b: b.armature)

    @property
    def damping(self) -> tuple[Real, ...]:
        return self._numbers("damping", lambda b: b.damping)

    @property
    def friction(self) -> tuple[Real, ...]:
        return self._numbers("friction", lambda b: b.friction)

    @property
    def stiffness(self) -> tuple[Real, ...]:
        return self._numbers("stiffness", lambda b: b.stiffness)

    @property
    def rest(self) -> tuple[Real, ...]:
        return self._numbers("rest", lambda b: b.rest)

    def pose(self, q: Sequence[Real]) -> RelativePose:
        """The pose in the parent."""
        return pose_in_parent(self, q)

    def path(self) -> Iterator[SymbolicBody]:
        """This body, its parent, and so on to the base."""
        return self.mechanism.each(self.slot, 1, follow=self.mechanism.parents)


class _Filling(SymbolicBody):
    """A body of a kind before any loop: tables are made, and nothing is read."""

    def _numbers(
        self, name: str, values: Callable[[BodyData], Sequence[Real]]
    ) -> tuple[Real, ...]:
        self._tables(name, values)
        return tuple(values(self._example))

    def fill(self) -> None:
        """Make all tables of the kind."""
        for name in ("joint", "placement", "link", "joint_angle", "joint_offset", "frame",
                     "parent_frame", "inertia", "armature", "damping", "friction", "stiffness",
                     "rest"):  # fmt: skip
            getattr(self, name)


class Mechanism:
    """A model as the recursions see it."""

    cache: ClassVar[dict[object, Never]] = {}  # algorithms on a view inline: they have no kernels
    rotors = True  # whether they count

    def __init__(self, model: Model, bodies: tuple[BodyData, ...], rolled: bool, fixed: Inertia):
        self.model, self.bodies, self.rolled, self.fixed = model, bodies, rolled, fixed
        self.nv, self.nq, self.nb = model.nv, model.nq, model.nb
        self.kinds = list(dict.fromkeys(b.kind for b in bodies))
        self.world = Body(WORLD, None, None)
        every = [self.world]
        for index, data in enumerate(bodies):
            every.append(Body(index, data, every[data.parent - WORLD]))
        self._list = every[1:]
        self.tables: dict[tuple[Kind | None, str], list[Real | Buffer]] = {}
        """What rolled bodies of a kind agree or differ in."""
        self._of_kind: dict[Kind, tuple[list[int], list[BodyData]]] = {}

    @cached_property
    def parents(self) -> NDArray[np.intp]:
        """The slots of the parents, by slots."""
        return np.array([0, *(b.parent - WORLD for b in self.bodies)])

    @property
    def gravity(self) -> Vec3:
        return Vec3(*self.model.gravity)

    @property
    def upward(self) -> Twist:
        """The acceleration of the world that stands for gravity: minus gravity."""
        return Twist(Vec3.zero(), -self.gravity)

    def holding(self, held: Sequence[Sequence[bool]]) -> Mechanism:
        """The same mechanism whose bodies know which of their coordinates are held: `i.held`."""
        pairs = zip(self.bodies, held, strict=True)
        bodies = tuple(replace(body, held=tuple(own)) for body, own in pairs)
        return Mechanism(self.model, bodies, self.rolled, self.fixed)

    def outward(self) -> Iterator[BodyView]:
        """Every body after its parent."""
        if self.rolled:
            return self.each(1, self.nb + 1, sweep=Sweep(False, active()))
        return iter(self._list)

    def until(self, body: BodyView) -> Iterator[BodyView]:
        """Every body after its parent, at least up to this one (while rolled: all)."""
        if self.rolled or not isinstance(body, Body):
            return self.outward()
        return iter(self._list[: body.index + 1])

    def inward(self) -> Iterator[BodyView]:
        """Every body before its parent."""
        if self.rolled:
            return self.each(self.nb, 0, -1, sweep=Sweep(True, active()))
        return reversed(self._list)

    def of_kind(self, kind: Kind) -> tuple[list[int], list[BodyData]]:
        """The bodies of a kind, and their slots."""
        if kind not in self._of_kind:
            found = [(n, b) for n, b in enumerate(self.bodies, 1) if b.kind == kind]
            self._of_kind[kind] = [n for n, _ in found], [b for _, b in found]
        return self._of_kind[kind]

    @cached_property
    def kinds_first_inward(self) -> set[Kind]:
        """The kinds whose bodies are the last children of their parents: a sweep inward meets them
        before the others.
        """
        last = {b.parent: k for k, b in enumerate(self.bodies)}
        late = {b.kind for k, b in enumerate(self.bodies) if last[b.parent] != k}
        return set(self.kinds) - late

    def each(
        self,
        start: int | Index,
        stop: int,
        step: int = 1,
        follow: NDArray[np.intp] | None = None,
        sweep: Sweep | None = None,
    ) -> Iterator[SymbolicBody]:
        """Record a loop over bodies; yields one symbolic body per kind."""
        number = {kind: n for n, kind in enumerate(self.kinds)}
        which = np.array([0, *(number[b.kind] for b in self.bodies)])
        branches = loop(start, stop, step, follow=follow, which=which, branches=len(self.kinds))
        for branch, variable in branches:
            yield SymbolicBody(self, variable, self.kinds[branch], sweep)

    def offset(self, body: BodyView, what: str) -> int | Index:
        """Where the coordinates (what = "q") or velocities ("v") of a body begin: an int, or while
        rolled an `Index`.
        """
        if isinstance(body, Body):
            return body.data.q if what == "q" else body.data.v
        table = np.array([0, *(b.q if what == "q" else b.v for b in self.bodies)])
        assert isinstance(body.slot, Index)
        return Index(table, body.slot, name=what)

    def at(self, index: int) -> Body:
        """Body number `index` of the model (−1: the world): a fixed place in containers, rolled or
        not.
        """
        return self._list[index] if index >= 0 else self.world

    def path(self, index: int) -> Iterator[BodyView]:
        """Body number `index` of the model, its parent, and so on to the base."""
        if self.rolled:
            return self.each(index - WORLD, 1, follow=self.parents)
        return self.at(index).path()

    def toward(self, index: int) -> Iterator[BodyView]:
        """The bodies from the base to body number `index` of the model."""
        path = list(self.at(index).path())[::-1]
        if not self.rolled:
            return iter(path)
        slots = [body.slot for body in path]
        following = np.zeros(self.nb + 1, dtype=np.intp)
        following[slots[:-1]] = slots[1:]
        return self.each(slots[0] if slots else 0, 1, follow=following)


def mechanism(model: Model, *, rolled: bool = False, regroup: bool | str = False) -> Mechanism:
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
    if rolled and (*key, "rolled") not in cache:
        cache[*key, "rolled"] = by_structure(bodies, FEW_KINDS)
    made = Mechanism(model, cache[*key, "rolled"] if rolled else bodies, rolled, fixed)
    if rolled and model.nominal is not None:  # once, not in every iteration of a loop
        for kind in made.kinds:
            _Filling(made, Index(), kind).fill()
    return made
