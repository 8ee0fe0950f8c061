"""How algorithms see a model: bodies outward and inward, containers indexed by bodies.

An algorithm is written once and traced in two ways. *Unrolled*, `outward()` and `inward()` yield
every body with its constants. *Rolled*, they yield one symbolic body per kind of joint: what is
recorded meanwhile becomes a branch of a loop over all bodies, and what differs between bodies
comes from tables. Everything that crosses an iteration lives in the containers made here, so that
both work from one source.

The frame of a body sits on its joint: `i.placement` is the joint frame in the frame of the parent,
`i.inertia` is expressed in the joint frame, and `i.frame` is the user's body frame in the joint
frame.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mozzi.algorithms.bodies import (
    WORLD,
    BodyData,
    aligned,
    bodies_of,
    regrouped,
    replace,
    tidy_pose,
)
from mozzi.lie import SE3, Inertia, Twist, Vec3
from mozzi.lie.vec import Spatial
from mozzi.model.joint import Joint
from mozzi.program.node import Scalar, active
from mozzi.program.program import Buffer, Index, load, loop, store

__all__ = [
    "Columns", "Mechanism", "RelativePose", "body_array", "joint_array", "joint_matrix",
    "joint_vector", "mechanism", "per_body", "tidy_pose",
]  # fmt: skip

# -- poses in two stages --


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
    """A body while unrolled: its data are constants."""

    __slots__ = ("data", "index", "mechanism", "parent")

    def __init__(
        self, mechanism: Mechanism, index: int, data: BodyData | None, parent: Body | None
    ):
        self.mechanism, self.index, self.data, self.parent = mechanism, index, data, parent

    def __getattr__(self, name: str) -> Any:
        if self.data is None:
            raise AttributeError(f"the world has no {name!r}")
        marks = dict(self.data.marks)
        return marks[name] if name in marks else getattr(self.data, name)

    @property
    def aligned(self) -> bool:
        """Whether the pose is seat · Tz(rise) · pose(offset + q); see `bodies.aligned`."""
        return self.data is not None and dict(self.data.marks).get("aligned", False)

    def pose(self, q: Sequence[Any]) -> RelativePose:
        """The pose in the parent."""
        motion = self.joint.pose(q if not self.aligned else (q[0] + self.offset,))
        if self.aligned:
            motion = SE3(motion.R, Vec3(0.0, 0.0, self.rise))
        return RelativePose(self.seat, motion)

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

    def __init__(self, mechanism: Mechanism, index: Index, kind: tuple[Any, ...] | None):
        self.mechanism, self.index, self.kind = mechanism, index, kind

    def _column(self, values: Callable[[BodyData], float], name: str) -> Any:
        """A number of the body: constant where all bodies of the kind agree, else from a table."""
        bodies = self.mechanism.bodies
        own = [b for b in bodies if self.kind is None or b.kind == self.kind]
        numbers = {values(b) for b in own}
        if len(numbers) == 1:
            return numbers.pop()
        data = np.zeros(len(bodies) + 1)
        data[1:] = [values(b) if self.kind is None or b.kind == self.kind else 0.0 for b in bodies]
        return load(Buffer(name, len(data), "table", data), self.index, 1, 0)

    def _columns(self, values: Callable[[BodyData], Sequence[float]], name: str) -> list[Any]:
        size = len(values(next(b for b in self.mechanism.bodies if b.kind == self.kind)))
        return [self._column(lambda b, n=n: values(b)[n], f"{name}_{n}") for n in range(size)]

    @cached_property
    def parent(self) -> SymbolicBody:
        parents = np.array([0, *(b.parent for b in self.mechanism.bodies)])
        return SymbolicBody(self.mechanism, Index(parents, self.index, name="parent"), None)

    @cached_property
    def placement(self) -> SE3:
        return SE3.unflatten(self._columns(lambda b: b.placement.flatten(), "placement"))

    @cached_property
    def seat(self) -> SE3:
        return SE3.unflatten(self._columns(lambda b: b.seat.flatten(), "seat"))

    @cached_property
    def offset(self) -> Any:
        return self._column(lambda b: b.offset, "offset")

    @cached_property
    def rise(self) -> Any:
        return self._column(lambda b: b.rise, "rise")

    @property
    def aligned(self) -> bool:
        return self.kind is not None and dict(self.kind[1]).get("aligned", False)

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
        joint = next(b.joint for b in self.mechanism.bodies if b.kind == self.kind)
        return joint.with_parameters(self._columns(lambda b: b.joint.parameters(), "joint"))

    @property
    def name(self) -> str:
        return self.index.name

    def __getattr__(self, name: str) -> Any:
        if self.__dict__.get("kind") is None:
            raise AttributeError(f"{name!r} of a parent is not known while rolled")
        marks = dict(self.kind[1])  # type: ignore[index]
        if name not in marks:
            raise AttributeError(name)
        return marks[name]

    pose = Body.pose

    def path(self) -> Iterator[SymbolicBody]:
        mechanism = self.mechanism
        parents = np.array([0, *(b.parent for b in mechanism.bodies)])
        yield from mechanism.each(self.index, 1, follow=parents)


class Mechanism:
    """A model as the recursions see it."""

    cache: ClassVar[dict[Any, Any]] = {}  # algorithms on a view inline: they have no kernels

    def __init__(self, model: Any, bodies: tuple[BodyData, ...], rolled: bool, fixed: Inertia):
        self.model, self.bodies, self.rolled, self.fixed = model, bodies, rolled, fixed
        self.nv, self.nq, self.nb = model.nv, model.nq, model.nb
        self.kinds = list(dict.fromkeys(b.kind for b in bodies))
        self.world = Body(self, WORLD, None, None)
        every = [self.world]
        for index, data in enumerate(bodies, 1):
            every.append(Body(self, index, data, every[data.parent]))
        self._list = every[1:]

    @property
    def gravity(self) -> Vec3:
        return Vec3(*(float(x) for x in self.model.gravity))

    @property
    def upward(self) -> Twist:
        """The acceleration of the world that stands for gravity: minus gravity."""
        return Twist(Vec3.zero(), -self.gravity)

    def marked(self, name: str, values: Sequence[Any]) -> Mechanism:
        """The same mechanism whose bodies also have this attribute, a constant (bodies that differ
        in it are different kinds).
        """
        bodies = tuple(
            replace(b, marks=(*b.marks, (name, x)))
            for b, x in zip(self.bodies, values, strict=True)
        )
        return Mechanism(self.model, bodies, self.rolled, self.fixed)

    def outward(self) -> Iterator[Any]:
        """Every body after its parent."""
        if self.rolled:
            return self.each(1, self.nb + 1)
        return iter(self._list)

    def until(self, body: Any) -> Iterator[Any]:
        """Every body after its parent, at least up to this one (while rolled: all)."""
        return self.outward() if self.rolled else iter(self._list[: body.index])

    def inward(self) -> Iterator[Any]:
        """Every body before its parent."""
        if self.rolled:
            return self.each(self.nb, 0, -1)
        return reversed(self._list)

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
        return Index(table, body.index, name=what)

    def at(self, index: int) -> Body:
        """Body number `index` of the model (−1: the world): a fixed place in containers, rolled or
        not.
        """
        return self._list[index] if index >= 0 else self.world

    def path(self, index: int) -> Iterator[Any]:
        """Body number `index` of the model, its parent, and so on to the base."""
        if self.rolled:
            parents = np.array([0, *(b.parent for b in self.bodies)])
            return self.each(index + 1, 1, follow=parents)
        return self.at(index).path()

    def toward(self, index: int) -> Iterator[Any]:
        """The bodies from the base to body number `index` of the model."""
        path = [body.index for body in self.at(index).path()][::-1]
        if not self.rolled:
            return iter([self._list[k - 1] for k in path])
        following = np.zeros(self.nb + 1, dtype=int)
        following[path[:-1]] = path[1:]
        return self.each(path[0] if path else WORLD, 1, follow=following)


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


# -- containers --


@dataclass(frozen=True)
class Columns:
    """The type of `Screws` with n columns of a kind, for containers."""

    kind: Any
    n: int

    @property
    def SIZE(self) -> int:
        return 6 * self.n

    def unflatten(self, scalars: Sequence[Any]) -> Any:
        from mozzi.lie import Screws

        return Screws.unflatten(scalars, self.kind)

    def zero(self) -> Any:
        return self.unflatten([0.0] * self.SIZE)


def leaves(value: Any) -> list[Any]:
    """The scalars inside a value, in order."""
    if isinstance(value, RelativePose):
        return leaves(value.motion)
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in leaves(part)]
    if isinstance(value, Spatial):
        names = [n for cls in type(value).__mro__ for n in getattr(cls, "__slots__", ())]
        return [x for name in names for x in leaves(getattr(value, name))]
    return [value]


def rebuild(value: Any, scalars: Iterator[Any], body: Any) -> Any:
    """A value of the same structure with other scalars; constants stay."""
    if isinstance(value, RelativePose):
        return RelativePose(body.seat, rebuild(value.motion, scalars, body))
    if isinstance(value, (tuple, list)):
        return tuple(rebuild(part, scalars, body) for part in value)
    if isinstance(value, Spatial):
        new = object.__new__(type(value))
        names = [n for cls in type(value).__mro__ for n in getattr(cls, "__slots__", ())]
        for name in names:
            setattr(new, name, rebuild(getattr(value, name), scalars, body))
        return new
    return next(scalars) if isinstance(value, Scalar) else value


class _Unrolled:
    """One value per body, by number."""

    __slots__ = ("letter", "type", "values")

    def __init__(self, letter: str, type_: Any):
        self.letter, self.type, self.values = letter, type_, {}

    def __getitem__(self, body: Any) -> Any:
        value = self.values.get(body.index)
        if value is None and body.index == WORLD:
            return _rest(self.type)
        if value is None:
            raise KeyError(f"{self.letter}[{body.name}] is read before it is set")
        return value

    def __setitem__(self, body: Any, value: Any) -> None:
        self.values[body.index] = value
        if active() is not None and body.index != WORLD:
            _name(value, self.letter, body.name)


def _rest(type_: Any) -> Any:
    """What a container holds for the world: the identity, or zero."""
    if type_ is None:
        return 0.0
    return type_.identity() if hasattr(type_, "identity") else type_.zero()


_PARTS = {
    "Twist": ("wx", "wy", "wz", "vx", "vy", "vz"),
    "Wrench": ("mx", "my", "mz", "fx", "fy", "fz"),
}


def _name(value: Any, prefix: str, body: str) -> None:
    """Values keep their origin: the container and body they were made for, and the equation."""
    scalars = leaves(value)
    parts = _PARTS.get(type(value).__name__) or [str(n) for n in range(len(scalars))]
    origin = f"{_equation(sys._getframe(2))} {body}"
    for x, part in zip(scalars, parts, strict=False):
        if isinstance(x, Scalar) and not x.name:
            x.name = f"{prefix}_{body}_{part}" if len(scalars) > 1 else f"{prefix}_{body}"
            x.origin = origin


_EQUATIONS: dict[Any, str] = {}


def _equation(frame: Any) -> str:
    """The algorithm being traced, and the equation number in the comment of its present line."""
    key = (frame.f_code, frame.f_lineno)
    if key not in _EQUATIONS:
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        number = re.search(r"#.*?(\([\d.]+[a-z]?\))", line)
        name = frame.f_code.co_name.strip("_")
        _EQUATIONS[key] = f"{name} {number[1]}" if number else name
    return _EQUATIONS[key]


class _Rolled:
    """One record per body in memory, of a type whose size is the same for all kinds."""

    def __init__(self, mechanism: Mechanism, letter: str, type_: Any):
        self.type, self.letter = type_, letter
        self.size = type_.SIZE if type_ is not None else 1
        self.buffer = Buffer(letter, (mechanism.nb + 1) * self.size, "scratch")
        self.latest: tuple[Any, Any, Any] | None = None
        self[mechanism.world] = _rest(type_)

    def _record(self, body: Any) -> tuple[Index | None, int, int]:
        """Index, stride and first offset of a body's record."""
        if isinstance(body.index, int):
            return None, 0, body.index * self.size
        return body.index, self.size, 0

    def __getitem__(self, body: Any) -> Any:
        if self.latest and self.latest[0] is body.index and self.latest[1] is active():
            return self.latest[2]
        index, stride, first = self._record(body)
        scalars = [load(self.buffer, index, stride, first + n) for n in range(self.size)]
        value = self.type.unflatten(scalars) if self.type is not None else scalars[0]
        self.latest = (body.index, active(), value)
        return value

    def __setitem__(self, body: Any, value: Any) -> None:
        index, stride, first = self._record(body)
        for n, x in enumerate(value.flatten() if self.type is not None else (value,)):
            store(self.buffer, index, stride, first + n, x)
        self.latest = (body.index, active(), value)


class _Local:
    """One value per body in memory, in the structure it has for that kind of body (read under the
    same kind).
    """

    def __init__(self, mechanism: Mechanism, letter: str):
        self.letter, self.mechanism = letter, mechanism
        self.records: dict[Any, tuple[Any, Buffer, int, np.ndarray]] = {}
        self.latest: tuple[Any, Any, Any] | None = None

    def __getitem__(self, body: Any) -> Any:
        if self.latest and self.latest[0] is body.index and self.latest[1] is active():
            return self.latest[2]
        example, buffer, size, rank = self.records[body.kind]
        if isinstance(body.index, int):
            first = int(rank[body.index]) * size
            scalars = (load(buffer, None, 0, first + n) for n in range(size))
        else:
            index = Index(rank, body.index, name="rank")
            scalars = (load(buffer, index, size, n) for n in range(size))
        value = rebuild(example, scalars, body)
        self.latest = (body.index, active(), value)
        return value

    def __setitem__(self, body: Any, value: Any) -> None:
        scalars = [x for x in leaves(value) if isinstance(x, Scalar)]
        if body.kind not in self.records:
            ranks, count = np.zeros(self.mechanism.nb + 1, dtype=int), 0
            for k, b in enumerate(self.mechanism.bodies, 1):
                if b.kind == body.kind:
                    ranks[k], count = count, count + 1
            size = len(scalars)
            buffer = Buffer(self.letter, max(1, count * size), "scratch")
            self.records[body.kind] = (value, buffer, size, ranks)
        example, buffer, size, rank = self.records[body.kind]
        if [type(x) is Scalar or x for x in leaves(value)] != [
            type(x) is Scalar or x for x in leaves(example)
        ]:
            raise TypeError(f"{self.letter} is set twice with different structure while rolled")
        index = Index(rank, body.index, name="rank")
        for n, x in enumerate(scalars):
            store(buffer, index, size, n, x)
        self.latest = (body.index, active(), value)


def per_body(mechanism: Mechanism, **types: Any) -> Any:
    """Containers of one value per body; the world's value is zero (or the identity) until it is
    set.

    `V, A = per_body(model, V=Twist, A=Twist)`. The types are spatial types, `Columns(kind, n)`,
    `None` for a scalar, or "local" for values that are only read under the same body (poses, joint
    screws: any structure).
    """
    made = []
    for letter, type_ in types.items():
        if not mechanism.rolled:
            made.append(_Unrolled(letter, None if type_ == "local" else type_))
        elif type_ == "local":
            made.append(_Local(mechanism, letter))
        else:
            made.append(_Rolled(mechanism, letter, type_))
    return made[0] if len(made) == 1 else tuple(made)


# -- arrays of the caller --


class _Array:
    """An array of the caller, read and written by bodies.

    A row of axes, each "q", "v" (as many numbers as the body has coordinates or velocities) or a
    number (that many per body, a body array). Written by blocks; what is not written is zero.
    """

    def __init__(self, mechanism: Mechanism, letter: str, axes: tuple[Any, ...], data: Any = None):
        self.mechanism, self.letter, self.axes = mechanism, letter, axes
        sizes = {"q": mechanism.nq, "v": mechanism.nv, "b": mechanism.nb}
        self.shape = tuple(sizes.get(a, a) for a in axes)
        self.buffer: Buffer | None = None
        if mechanism.rolled:
            self.buffer = self._buffer(data)
        elif data is None:
            self.values = np.full(self.shape, 0.0, dtype=object)
        else:
            self.values = data

    def _buffer(self, data: Any) -> Buffer:
        size = int(np.prod(self.shape, dtype=int))
        if data is None:
            buffer = Buffer(self.letter, size, "scratch")
            for _, k in loop(0, size):
                store(buffer, k, 1, 0, 0.0)
            return buffer
        flat = list(np.ravel(data))
        first = flat[0] if flat else None
        if isinstance(first, Scalar) and first.op == "input" and first.value[1] == 0:
            position = first.value[0]
            if all(
                isinstance(x, Scalar) and x.op == "input" and x.value == (position, n)
                for n, x in enumerate(flat)
            ):
                return Buffer(self.letter, size, "input", position=position)
        buffer = Buffer(self.letter, size, "scratch")
        for n, x in enumerate(flat):
            store(buffer, None, 0, n, x)
        return buffer

    def _place(self, bodies: tuple[Any, ...]) -> tuple[Index | None, list[int]]:
        """Where the block of these bodies is: an index (None when they are constant) and offsets
        to it.
        """
        strides = [int(np.prod(self.shape[n + 1 :], dtype=int)) for n in range(len(self.shape))]
        named = iter(bodies)
        terms, extents, constant = [], [], 0
        for axis, size, stride in zip(self.axes, self.shape, strides, strict=True):
            if axis in ("q", "v"):
                body = next(named)
                start = self.mechanism.offset(body, axis)
                extents.append(body.joint.nq if axis == "q" else body.joint.nv)
            elif axis == "b":
                body = next(named)
                start, constant = body.index, constant - stride  # bodies count from 1
                extents.append(1)
            else:
                extents.append(size)
                continue
            if isinstance(start, int):
                constant += start * stride
            else:
                terms.append((start, stride))
        offsets = [
            constant + sum(a * s for a, s in zip(place, strides, strict=True))
            for place in np.ndindex(*extents)
        ]
        return Index(terms=tuple(terms)) if terms else None, offsets

    def __getitem__(self, bodies: Any) -> tuple[Any, ...]:
        bodies = bodies if isinstance(bodies, tuple) else (bodies,)
        index, offsets = self._place(bodies)
        if self.buffer is None:
            flat = self.values.reshape(-1)
            return tuple(flat[n] for n in offsets)
        return tuple(load(self.buffer, index, 1, n) for n in offsets)

    def __setitem__(self, bodies: Any, block: Any) -> None:
        bodies = bodies if isinstance(bodies, tuple) else (bodies,)
        index, offsets = self._place(bodies)
        scalars = block.flatten() if isinstance(block, Spatial) else _flat(block)
        if len(scalars) != len(offsets):
            raise ValueError(
                f"{self.letter}: a block of {len(scalars)} numbers where {len(offsets)} go"
            )
        if self.buffer is None:
            flat = self.values.reshape(-1)
            for n, x in zip(offsets, scalars, strict=True):
                flat[n] = x
                if isinstance(x, Scalar) and not x.name:
                    x.name = f"{self.letter}_{n}"
            return
        for n, x in zip(offsets, scalars, strict=True):
            store(self.buffer, index, 1, n, x)

    def array(self) -> np.ndarray:
        """The whole, for the caller."""
        if self.buffer is None:
            return self.values
        out = np.empty(self.shape, dtype=object)
        for n, place in enumerate(np.ndindex(self.shape)):
            out[place] = load(self.buffer, None, 0, n)
        return out


def _flat(block: Any) -> list[Any]:
    if isinstance(block, np.ndarray):
        return list(block.ravel())
    if isinstance(block, (tuple, list)):
        return [x for part in block for x in _flat(part)]
    return [block]


def joint_vector(mechanism: Mechanism, letter: str = "tau", data: Any = None) -> _Array:
    """One block of joint velocities, accelerations or forces per body."""
    return _Array(mechanism, letter, ("v",), data)


def joint_configuration(mechanism: Mechanism, letter: str = "q", data: Any = None) -> _Array:
    """One block of joint coordinates per body."""
    return _Array(mechanism, letter, ("q",), data)


def joint_matrix(mechanism: Mechanism, letter: str = "M") -> _Array:
    """One block per pair of bodies, `M[i, j]`; blocks that are not set are zero."""
    return _Array(mechanism, letter, ("v", "v"))


def joint_array(mechanism: Mechanism, *axes: int | str, letter: str = "X") -> _Array:
    """An array with these axes: "v" and "q" are split by bodies, numbers are not. `X[i, j]` is the
    block of body i along the first split axis and of body j along the second.
    """
    return _Array(mechanism, letter, axes)


def body_array(mechanism: Mechanism, *shape: int, letter: str = "X", data: Any = None) -> _Array:
    """One block of this shape per body."""
    return _Array(mechanism, letter, ("b", *shape), data)
