"""What crosses an iteration: values indexed by bodies, and the arrays of the caller by blocks.

`V = per_body(model, "V", Twist)` holds a twist per body, `tau = joint_vector(model)` a block of
joint forces per body. Unrolled, they are dictionaries and object arrays; rolled, they are memory
of the program, read and written at the index of the loop.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul
from typing import (
    ClassVar,
    Generic,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    get_origin,
    overload,
    runtime_checkable,
)

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.recursion.bodies import Kind
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose, Sweep, SymbolicBody
from mozzi.algorithms.recursion.names_in_generated_code import leaves, name_origin, origin_here
from mozzi.algorithms.recursion.views import BodyView, PerBody
from mozzi.lie import SE3, Screws
from mozzi.lie.screw import Six
from mozzi.lie.vec import Spatial, number
from mozzi.program.node import Node, Region, active
from mozzi.program.program import Buffer, Index, load, loop, store, whole_buffer
from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = [
    "ZERO", "BlockArray", "Cells", "Columns", "Local", "Number", "body_array", "joint_array",
    "joint_configuration", "joint_matrix", "joint_vector", "per_body",
]  # fmt: skip


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
K = TypeVar("K", bound=Six)
V = TypeVar("V", bound=Spatial | Real)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")

Entries: TypeAlias = "Real | Traced | Sequence[Entries]"
"""Numbers, by rows."""


class Sized(Protocol[T_co]):
    """A type of values that all have as many scalars."""

    @property
    def SIZE(self) -> int: ...
    def unflatten(self, scalars: Sequence[Real], /) -> T_co: ...


class Vector(Sized[T_co], Protocol[T_co]):
    """A type that has a zero."""

    def zero(self) -> T_co: ...


@runtime_checkable
class Group(Sized[T_co], Protocol[T_co]):
    """A type that has an identity."""

    def identity(self) -> T_co: ...


@dataclass(frozen=True)
class Columns(Generic[K]):
    """The type of `Screws` with n columns of a kind, for containers."""

    kind: type[K]
    n: int

    @property
    def SIZE(self) -> int:
        return 6 * self.n

    def unflatten(self, scalars: Sequence[Real]) -> Screws[K]:
        return Screws.unflatten(scalars, self.kind)

    def zero(self) -> Screws[K]:
        return self.unflatten([0.0] * self.SIZE)


class Number:
    """The type of a scalar, for containers."""

    SIZE: ClassVar[int] = 1

    @staticmethod
    def unflatten(scalars: Sequence[Real]) -> Real:
        return scalars[0]

    @staticmethod
    def zero() -> Real:
        return 0.0


class Local(Generic[T]):
    """The type of values that are read under the same body alone, of whatever structure they have
    for that kind of body: `Local[RelativePose]`.
    """


class Record(Protocol[T_co]):
    """A type of values that are made of scalars."""

    def unflatten(self, scalars: Sequence[Real], /) -> T_co: ...


Of: TypeAlias = Record[T] | type[Local[T]]
"""A type of what a container holds."""


def rebuild(value: object, scalars: Iterator[Node], body: BodyView | None) -> object:
    """A value of the same structure with other scalars; constants stay."""
    if isinstance(value, RelativePose):
        assert body is not None
        motion = cast("SE3", rebuild(value.motion, scalars, body))
        return RelativePose(body.link, motion, value.axial)
    if isinstance(value, (tuple, list)):
        parts = cast("Sequence[object]", value)
        return tuple(rebuild(part, scalars, body) for part in parts)
    if isinstance(value, Spatial):
        new = object.__new__(type(value))
        names = [n for cls in type(value).__mro__ for n in getattr(cls, "__slots__", ())]
        for name in names:
            setattr(new, name, rebuild(getattr(value, name), scalars, body))
        return new
    return next(scalars) if isinstance(value, Node) else value


class _Unrolled(Generic[T]):
    """One value per body, by its place."""

    __slots__ = ("letter", "type", "values")

    def __init__(self, letter: str, type_: Vector[T] | Group[T] | None):
        self.letter, self.type = letter, type_
        self.values: dict[int | Index, T] = {}

    def __getitem__(self, body: BodyView) -> T:
        value = self.values.get(body.slot)
        if value is None and body.slot == 0 and self.type is not None:
            return _rest(self.type)
        if value is None:
            name = getattr(body, "name", "the world")
            raise KeyError(f"{self.letter}[{name}] is read before it is set")
        return value

    def __setitem__(self, body: BodyView, value: T) -> None:
        self.values[body.slot] = value
        if active() is not None and body.slot != 0:
            name_origin(value, self.letter, body.name)


def _rest(type_: Vector[T] | Group[T]) -> T:
    """What a container holds for the world: the identity, or zero."""
    return type_.identity() if isinstance(type_, Group) else type_.zero()


class _Known:
    """The numbers that a record has for every body, since a sweep outward has set it.

    While a sweep inward adds to the records of parents, the first child of each finds there what
    was set: 0 + x is x.
    """

    def __init__(self, world: Sequence[Real], sweep: Sweep):
        self.numbers, self.sweep = [number(x) for x in world], sweep
        self.kinds: set[Kind | None] = set()
        self.inward: Sweep | None = None
        self.grown: set[int | Index] = set()

    def merge(self, kind: Kind | None, values: Sequence[Real]) -> None:
        """What bodies of a kind have in common with the others."""
        pairs = zip(self.numbers, map(number, values), strict=True)
        self.numbers = [x if x == y else None for x, y in pairs]
        self.kinds.add(kind)

    def grows_in(self, sweep: Sweep | None) -> bool:
        """Whether what was set is still there when this sweep begins, and grows in it."""
        whole = sweep is not None and sweep.inward and sweep.region is self.sweep.region
        return whole and self.inward in (None, sweep)

    def of_parent(self, child: SymbolicBody) -> list[float | None]:
        """What the record of a parent is known to be, when a child is met."""
        every = self.kinds.issuperset(child.mechanism.kinds)
        fresh = every and self.grows_in(child.sweep) and child.first_inward
        fresh = fresh and child.parent.slot not in self.grown
        return self.numbers if fresh else [None] * len(self.numbers)


class _Rolled(Generic[V]):
    """One record per body in memory, of a type whose size is the same for all kinds."""

    def __init__(self, mechanism: Mechanism, letter: str, type_: Vector[V] | Group[V]):
        self.type, self.letter = type_, letter
        self.known: _Known | None = None
        self.world: Sequence[Real] = ()
        self.size = type_.SIZE
        self.buffer = Buffer(letter, (mechanism.nb + 1) * self.size, "scratch")
        self.latest: tuple[int | Index, Region | None, V] | None = None
        self[mechanism.world] = _rest(type_)

    def _record(self, body: BodyView) -> tuple[Index | None, int, int]:
        """Index, stride and first offset of a body's record."""
        if isinstance(body.slot, int):
            return None, 0, body.slot * self.size
        return body.slot, self.size, 0

    def __getitem__(self, body: BodyView) -> V:
        if self.latest and self.latest[0] is body.slot and self.latest[1] is active():
            return self.latest[2]
        index, stride, first = self._record(body)
        known: list[float | None] = [None] * self.size
        if self.known is not None and isinstance(body, SymbolicBody) and body.child is not None:
            known = self.known.of_parent(body.child)
        scalars = [
            load(self.buffer, index, stride, first + n) if x is None else x
            for n, x in enumerate(known)
        ]
        value = self.type.unflatten(scalars)
        self.latest = (body.slot, active(), value)
        return value

    def __setitem__(self, body: BodyView, value: V) -> None:
        index, stride, first = self._record(body)
        scalars = value.flatten() if isinstance(value, Spatial) else (value,)
        for n, x in enumerate(scalars):
            store(self.buffer, index, stride, first + n, x)
        self.latest = (body.slot, active(), value)
        self._note(body, scalars)

    def _note(self, body: BodyView, scalars: Sequence[Real]) -> None:
        """Keep account of what all records are known to be: `_Known`."""
        if not isinstance(body, SymbolicBody):
            self.known, self.world = None, scalars if body.slot == 0 else self._anything
        elif body.child is None and body.sweep is not None and not body.sweep.inward:
            if self.known is None or self.known.sweep is not body.sweep:
                self.known = _Known(self.world, body.sweep)
            self.known.merge(body.kind, scalars)
        elif self.known is not None and self.known.grows_in(body.sweep):
            self.known.inward, self.world = body.sweep, self._anything  # the world's grows, too
            self.known.grown.add(body.slot)
        else:
            self.known, self.world = None, self._anything

    @property
    def _anything(self) -> Sequence[Real]:
        """The numbers of a record that is not known."""
        return (math.nan,) * self.size


class _Local(Generic[T]):
    """One value per body in memory, in the structure it has for that kind of body (read under the
    same kind).
    """

    def __init__(self, mechanism: Mechanism, letter: str):
        self.letter, self.mechanism = letter, mechanism
        self.records: dict[Kind | None, tuple[T, Buffer, int, NDArray[np.intp]]] = {}
        self.latest: tuple[int | Index, Region | None, T] | None = None

    def __getitem__(self, body: BodyView) -> T:
        if self.latest and self.latest[0] is body.slot and self.latest[1] is active():
            return self.latest[2]
        example, buffer, size, rank = self.records[body.kind]
        if isinstance(body.slot, int):
            first = int(rank[body.slot]) * size
            scalars = (load(buffer, None, 0, first + n) for n in range(size))
        else:
            index = Index(rank, body.slot, name="rank")
            scalars = (load(buffer, index, size, n) for n in range(size))
        value = cast("T", rebuild(example, scalars, body))  # of the same structure
        self.latest = (body.slot, active(), value)
        return value

    def __setitem__(self, body: BodyView, value: T) -> None:
        scalars = [x for x in leaves(value) if isinstance(x, Node)]
        if body.kind not in self.records:
            ranks, count = np.zeros(self.mechanism.nb + 1, dtype=np.intp), 0
            for k, b in enumerate(self.mechanism.bodies, 1):
                if b.kind == body.kind:
                    ranks[k], count = count, count + 1
            size = len(scalars)
            buffer = Buffer(self.letter, max(1, count * size), "scratch")
            self.records[body.kind] = (value, buffer, size, ranks)
        example, buffer, size, rank = self.records[body.kind]
        if [type(x) is Node or x for x in leaves(value)] != [
            type(x) is Node or x for x in leaves(example)
        ]:
            raise TypeError(f"{self.letter} is set twice with different structure while rolled")
        assert isinstance(body.slot, Index)
        index = Index(rank, body.slot, name="rank")
        for n, x in enumerate(scalars):
            store(buffer, index, size, n, x)
        self.latest = (body.slot, active(), value)


@overload
def per_body(m: Mechanism, letters: str, a: Of[A], /) -> PerBody[A]: ...
@overload
def per_body(
    m: Mechanism, letters: str, a: Of[A], b: Of[B], /
) -> tuple[PerBody[A], PerBody[B]]: ...
@overload
def per_body(
    m: Mechanism, letters: str, a: Of[A], b: Of[B], c: Of[C], /
) -> tuple[PerBody[A], PerBody[B], PerBody[C]]: ...
@overload
def per_body(
    m: Mechanism, letters: str, a: Of[A], b: Of[B], c: Of[C], d: Of[D], /
) -> tuple[PerBody[A], PerBody[B], PerBody[C], PerBody[D]]: ...
@overload
def per_body(
    m: Mechanism, letters: str, a: Of[A], b: Of[B], c: Of[C], d: Of[D], e: Of[E], /
) -> tuple[PerBody[A], PerBody[B], PerBody[C], PerBody[D], PerBody[E]]: ...
@overload
def per_body(
    m: Mechanism, letters: str, a: Of[A], b: Of[B], c: Of[C], d: Of[D], e: Of[E], f: Of[F], /
) -> tuple[PerBody[A], PerBody[B], PerBody[C], PerBody[D], PerBody[E], PerBody[F]]: ...
def per_body(m: Mechanism, letters: str, /, *types: Of[object]) -> object:
    """Containers of one value per body; the world's value is zero (or the identity) until it is
    set.

    `V, A = per_body(model, "V A", Twist, Twist)`. The types are spatial types, `Columns(kind, n)`,
    `Number` for a scalar, or `Local[...]` for values that are only read under the same body (poses,
    joint screws: any structure). The letters name values in generated code.
    """
    made = [_container(m, x, kind) for x, kind in zip(letters.split(), types, strict=True)]
    return made[0] if len(made) == 1 else tuple(made)


def _container(mechanism: Mechanism, letter: str, kind: Of[object]) -> object:
    if get_origin(kind) is Local:
        local = _Local[object](mechanism, letter)
        return local if mechanism.rolled else _Unrolled[object](letter, None)
    type_ = cast("Vector[Spatial | Real]", kind)
    return _Rolled(mechanism, letter, type_) if mechanism.rolled else _Unrolled(letter, type_)


class Cells:
    """Numbers that a loop of a program changes."""

    def __init__(self, name: str, values: Sequence[Real]):
        self.memory, self.count = Buffer(name, max(1, len(values)), "scratch"), len(values)
        self.set(values)

    def get(self) -> list[Real]:
        """What they are now."""
        return [load(self.memory, None, 0, k) for k in range(self.count)]

    def set(self, values: Sequence[Real]) -> None:
        """What they shall be."""
        for k, x in enumerate(values):
            store(self.memory, None, 0, k, x)


# -- arrays of the caller --


class BlockArray:
    """An array of the caller, read and written by bodies.

    A row of axes, each "q", "v" (as many numbers as the body has coordinates or velocities) or a
    number (that many per body, a body array). Written by blocks; what is not written is zero.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        letter: str,
        axes: tuple[int | str, ...],
        data: Traced | None = None,
    ):
        self.mechanism, self.letter, self.axes = mechanism, letter, axes
        sizes = {"q": mechanism.nq, "v": mechanism.nv, "b": mechanism.nb}
        self.shape = tuple(a if isinstance(a, int) else sizes[a] for a in axes)
        self.buffer: Buffer | None = None
        if mechanism.rolled:
            self.buffer = self._buffer(data)
        elif data is None:
            self.values: Traced = np.full(self.shape, 0.0, dtype=object)
        else:
            self.values = data

    def _buffer(self, data: Traced | None) -> Buffer:
        size = int(np.prod(self.shape, dtype=int))
        if data is None:
            buffer = Buffer(self.letter, size, "scratch")
            for _, k in loop(0, size):
                store(buffer, k, 1, 0, 0.0)
            return buffer
        flat: list[Real] = list(np.ravel(data))
        first = flat[0] if flat else None
        if isinstance(first, Node) and first.op == "input" and first.place[1] == 0:
            position = first.place[0]
            if all(
                isinstance(x, Node) and x.op == "input" and x.place == (position, n)
                for n, x in enumerate(flat)
            ):
                return Buffer(self.letter, size, "input", position=position)
        buffer, given = Buffer(self.letter, size, "scratch"), whole_buffer(flat)
        if given is not None:
            for _, k in loop(0, size):
                store(buffer, k, 1, 0, load(given, k, 1, 0))
            return buffer
        for n, x in enumerate(flat):
            store(buffer, None, 0, n, x)
        return buffer

    def _place(self, bodies: tuple[BodyView, ...]) -> tuple[Index | None, list[int]]:
        """Where the block of these bodies is: an index (None when they are constant) and offsets
        to it.
        """
        strides = [math.prod(self.shape[n + 1 :]) for n in range(len(self.shape))]
        named = iter(bodies)
        terms: list[tuple[Index, int]] = []
        extents: list[int] = []
        constant = 0
        for axis, size, stride in zip(self.axes, self.shape, strides, strict=True):
            if axis in ("q", "v"):
                body = next(named)
                start = self.mechanism.offset(body, axis)
                extents.append(body.joint.nq if axis == "q" else body.joint.nv)
            elif axis == "b":
                body = next(named)
                start, constant = body.slot, constant - stride  # the world has no entry
                extents.append(1)
            else:
                extents.append(size)
                continue
            if isinstance(start, int):
                constant += start * stride
            else:
                terms.append((start, stride))
        offsets = [
            constant + sum(map(mul, place, strides))
            for place in itertools.product(*map(range, extents))
        ]
        return Index(terms=tuple(terms)) if terms else None, offsets

    def __getitem__(self, bodies: BodyView | tuple[BodyView, ...]) -> tuple[Real, ...]:
        bodies = bodies if isinstance(bodies, tuple) else (bodies,)
        index, offsets = self._place(bodies)
        if self.buffer is None:
            flat = self.values.reshape(-1)
            return tuple(flat[n] for n in offsets)
        return tuple(load(self.buffer, index, 1, n) for n in offsets)

    def __setitem__(
        self, bodies: BodyView | tuple[BodyView, ...], block: Entries | Spatial
    ) -> None:
        bodies = bodies if isinstance(bodies, tuple) else (bodies,)
        index, offsets = self._place(bodies)
        scalars = block.flatten() if isinstance(block, Spatial) else _flat(block)
        if len(scalars) != len(offsets):
            raise ValueError(
                f"{self.letter}: a block of {len(scalars)} numbers where {len(offsets)} go"
            )
        if self.buffer is None:
            flat = self.values.reshape(-1)
            origin = "" if active() is None else origin_here(_named(bodies), 2)
            for n, x in zip(offsets, scalars, strict=True):
                flat[n] = x
                if isinstance(x, Node) and not x.name:
                    x.name, x.origin = f"{self.letter}_{n}", origin
            return
        for n, x in zip(offsets, scalars, strict=True):
            store(self.buffer, index, 1, n, x)

    def put(self, body: BodyView, first: int, block: Entries) -> None:
        """Rows of the block of a body, from a first one on, while rolled."""
        index, offsets = self._place((body,))
        scalars, rows = _flat(block), next(a for a in self.axes if isinstance(a, int))
        assert self.buffer is not None
        for n, x in zip(offsets[first * (len(offsets) // rows) :], scalars):
            store(self.buffer, index, 1, n, x)

    def array(self) -> Traced:
        """The whole, for the caller."""
        if self.buffer is None:
            return self.values
        out = np.empty(self.shape, dtype=object)
        for n, place in enumerate(np.ndindex(self.shape)):
            out[place] = load(self.buffer, None, 0, n)
        return out


def _named(bodies: tuple[BodyView, ...]) -> str:
    """The bodies of a block, by name, each once."""
    return " ".join(dict.fromkeys(body.name for body in bodies if body.slot != 0))


def _flat(block: Entries) -> list[Real]:
    if isinstance(block, np.ndarray):
        return list(block.ravel())
    if isinstance(block, Sequence):
        return [x for part in block for x in _flat(part)]
    return [block]


def joint_vector(
    mechanism: Mechanism, letter: str = "tau", data: Traced | None = None
) -> BlockArray:
    """One block of joint velocities, accelerations or forces per body."""
    return BlockArray(mechanism, letter, ("v",), data)


class _Zero:
    """A joint vector of structural zeros."""

    def __getitem__(self, body: BodyView) -> tuple[float, ...]:
        return (0.0,) * body.joint.nv


ZERO = _Zero()


def joint_configuration(
    mechanism: Mechanism, letter: str = "q", data: Traced | None = None
) -> BlockArray:
    """One block of joint coordinates per body."""
    return BlockArray(mechanism, letter, ("q",), data)


def joint_matrix(mechanism: Mechanism, letter: str = "M") -> BlockArray:
    """One block per pair of bodies, `M[i, j]`; blocks that are not set are zero."""
    return BlockArray(mechanism, letter, ("v", "v"))


def joint_array(mechanism: Mechanism, *axes: int | str, letter: str = "X") -> BlockArray:
    """An array with these axes: "v" and "q" are split by bodies, numbers are not. `X[i, j]` is the
    block of body i along the first split axis and of body j along the second.
    """
    return BlockArray(mechanism, letter, axes)


def body_array(
    mechanism: Mechanism, *shape: int, letter: str = "X", data: Traced | None = None
) -> BlockArray:
    """One block of this shape per body."""
    return BlockArray(mechanism, letter, ("b", *shape), data)
