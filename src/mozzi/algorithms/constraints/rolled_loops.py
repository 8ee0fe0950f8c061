# pyright: reportConstantRedefinition=false
"""Many closures that are alike, in rolled programs: loops over closures, as there are over bodies.

Windows in a row, feet on one ground: closures of a kind tie bodies of the same kinds by the same
joint, and their paths to the base run through joints of the same kinds. One *symbolic closure*
stands for them; what differs between them comes from tables. The bodies on its paths have *places*,
a parent before its children, and what a closure does at a place is done at that body of the tree.

Λ is sparse by blocks, a row of blocks for each closure. Which blocks there are is known before, and
so are the steps of its elimination: those whose neighbours are of the same kinds run through the
same code, which is `solve.Factor` of a row of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, pairwise
from operator import sub
from typing import Generic, Never, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.constraints.admittance import propagate
from mozzi.algorithms.constraints.overconstrained import overconstrained
from mozzi.algorithms.constraints.rank import smallest_pivot
from mozzi.algorithms.constraints.rows.relative_motion import (
    Moving,
    Pair,
    Rows,
    met_rows,
)
from mozzi.algorithms.constraints.rows.rows import joint_columns, pair_of, tie_rows
from mozzi.algorithms.constraints.solve import Factor, Triangles
from mozzi.algorithms.constraints.sparse import Row, elimination
from mozzi.algorithms.recursion.blocks import Block, dot, plus
from mozzi.algorithms.recursion.bodies import Kind
from mozzi.algorithms.recursion.containers import ZERO, BlockArray, Cells, joint_vector, rebuild
from mozzi.algorithms.recursion.held import free, merge
from mozzi.algorithms.recursion.mechanism import Body, Mechanism, SymbolicBody, mechanism
from mozzi.algorithms.recursion.names_in_generated_code import leaves
from mozzi.algorithms.recursion.rolled_or_not import many_loops
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector
from mozzi.lie import SE3, Screws, Twist, Wrench
from mozzi.lie.vec import number
from mozzi.model import Distance, Loop, Model
from mozzi.model.model import WORLD
from mozzi.program.counted_loops import entrywise, in_memory, loaded
from mozzi.program.node import Node
from mozzi.program.program import Buffer, Index, load, loop, store
from mozzi.program.scalar import Real, maximum, select

__all__ = ["AlikeRows", "BlockFactor", "alike", "each_closure"]

T = TypeVar("T")
Ids = NDArray[np.intp]

MOST_PLACES = 8  # bodies on the paths of a closure
MOST_KINDS = 4  # of closures
MOST_NEIGHBOURS = 4  # of a closure when it is eliminated
MOST_STEPS = 12  # kinds of steps of the elimination


# -- which closures are alike --


@dataclass(frozen=True)
class Closures:
    """Closures of one kind.

    members: their numbers among all; first: of their rows; slots (closures, places): the bodies of
    their paths; kinds and parents (places): of these; ends: the places of a and b; numbers
    (closures, 26): frames A and B on the joints of these, and how far they are from them.
    """

    part: Loop | Distance
    members: Ids
    first: Ids
    slots: Ids
    kinds: tuple[Kind, ...]
    parents: tuple[int, ...]
    ends: tuple[int, int]
    numbers: NDArray[np.float64]

    def each(self, model: Mechanism) -> Iterator[SymbolicClosure]:
        """Record a loop over them; yields one closure, for all."""
        for _, k in loop(0, len(self.members), name="closure"):
            yield SymbolicClosure(model, self, k)


def alike(model: Model) -> bool:
    """Whether all closures of a model are of a few kinds, with short paths, each meeting a few
    others, and with rows that are independent of one another.
    """
    key = "closures are alike"
    if key not in model.cache:
        kinds = None if model.nominal is not None else _by_kinds(mechanism(model))
        model.cache[key] = kinds is not None and _Elimination(kinds).short
    return model.cache[key] and not overconstrained(model)


def _by_kinds(model: Mechanism) -> list[Closures] | None:
    """The closures of a mechanism; None where they are of many kinds, or have long paths."""
    groups: dict[object, list[tuple[Loop | Distance, int, int, list[int], list[float]]]] = {}
    shapes: dict[object, tuple[tuple[Kind, ...], tuple[int, ...], tuple[int, int]]] = {}
    first = 0
    for n, part in enumerate(model.model.closures):
        if not isinstance(part, Loop | Distance) or not part.rows:
            return None
        path = _path(model, part)
        if path is None:
            return None
        place = {index: k for k, index in enumerate(path)} | {WORLD: WORLD}
        kinds = tuple(model.at(k).kind for k in path)
        parents = tuple(place[model.at(k).parent.index] for k in path)
        ends = place[part.body_a], place[part.body_b]
        key = _tie(part), kinds, parents, ends
        groups.setdefault(key, []).append(
            (part, n, first, [model.at(k).slot for k in path], _numbers(model, part))
        )
        shapes[key] = kinds, parents, ends
        if len(groups) > MOST_KINDS:
            return None
        first += part.rows
    found: list[Closures] = []
    for key, members in groups.items():
        parts, n, start, slots, numbers = zip(*members, strict=True)
        of = Closures(parts[0], _ids(n), _ids(start), _ids(slots), *shapes[key], np.array(numbers))
        found.append(of)
    return found


def _ids(x: Sequence[int] | Sequence[Sequence[int]]) -> Ids:
    return np.array(x, dtype=np.intp)


def _path(model: Mechanism, part: Loop | Distance) -> list[int] | None:
    """The bodies that carry the ends of a closure, the base first; None of many."""
    bodies: set[int] = set()
    for end in (part.body_a, part.body_b):
        for i in model.at(end).path():
            bodies.add(i.index)
            if len(bodies) > MOST_PLACES:
                return None
    return sorted(bodies)


def _tie(part: Loop | Distance) -> tuple[object, ...]:
    """What decides the code of a closure."""
    if isinstance(part, Distance):
        return "distance", part.length
    return "loop", part.joint.kind, part.joint.parameters()


def _numbers(model: Mechanism, part: Loop | Distance) -> list[float]:
    pair = pair_of(model, part, Moving(ZERO, cast("ByBody[Never]", ZERO)))
    own = [x for F in (pair.F_a, pair.F_b) for x in (*F.R.general().flatten(), *F.p)]
    return [number(x) or 0.0 for x in (*own, *(pair.levers[i.index] for i in (pair.a, pair.b)))]


# -- one of them, for all --


class PathBody(SymbolicBody):
    """A body on a path of a symbolic closure; index: its place."""

    def __init__(self, closure: SymbolicClosure, place: int):
        slots = np.ascontiguousarray(closure.kind.slots[:, place])
        at = Index(slots, closure.number, name="body")
        super().__init__(closure.model, at, closure.kind.kinds[place])
        self.closure, self.index = closure, place

    @property
    def parent(self) -> PathBody | Body:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.closure.at(self.closure.kind.parents[self.index])

    def path(self) -> Iterator[PathBody]:
        """This body, its parent, and so on to the base."""
        body: PathBody | Body = self
        while isinstance(body, PathBody):
            yield body
            body = body.parent


class SymbolicClosure:
    """One closure, for all of a kind: bodies by their places, frames from tables."""

    rolled = False  # its paths are short

    def __init__(self, model: Mechanism, kind: Closures, k: Index):
        self.model, self.kind, self.number = model, kind, k
        self._bodies = [PathBody(self, place) for place in range(len(kind.kinds))]

    @property
    def part(self) -> Loop | Distance:
        return self.kind.part

    @property
    def upward(self) -> Twist:
        return self.model.upward

    def at(self, index: int) -> PathBody | Body:
        """The body at a place."""
        return self.model.world if index == WORLD else self._bodies[index]

    @cached_property
    def numbers(self) -> list[Real]:
        """Numbers of the closure: constants where all of the kind agree."""
        return [_entry(column, self.number) for column in self.kind.numbers.T]

    def pair(self, move: Moving) -> Pair:
        """The two frames that it ties."""
        return _SymbolicPair(self, move)

    def rows(self, move: Moving) -> Rows:
        """Its rows."""
        return tie_rows(self.part, self.pair(move), move.v is not None)

    @cached_property
    def first(self) -> Index:
        """The number of its first row."""
        return Index(self.kind.first, self.number, name="row")

    def of(self, vector: Buffer) -> list[Real]:
        """Its rows of all rows."""
        return [load(vector, self.first, 1, r) for r in range(self.part.rows)]


def _entry(column: NDArray[np.float64], k: Index) -> Real:
    if (column == column[0]).all():
        return float(column[0])
    return load(Buffer("closures", len(column), "table", np.ascontiguousarray(column)), k, 1, 0)


class _SymbolicPair(Pair):
    """The frames of a symbolic closure."""

    def __init__(self, closure: SymbolicClosure, move: Moving):
        self.model, self.move = closure, move
        self.a, self.b = (closure.at(k) for k in closure.kind.ends)
        own = closure.numbers
        self.F_a, self.F_b = SE3.unflatten(own[:12]), SE3.unflatten(own[12:24])
        self._far = own[24:]
        above = {i.index for i in self.a.path()}
        common = next((i.index for i in self.b.path() if i.index in above), WORLD)
        self.path_a, self.path_b = (
            [i for i in body.path() if i.index > common][::-1] for body in (self.a, self.b)
        )

    @property
    def levers(self) -> Mapping[int, Real]:
        return {i.index: far for i, far in zip((self.a, self.b), self._far, strict=True)}


@dataclass
class StraightClosure:
    """One closure as it is."""

    model: Mechanism
    part: Loop | Distance

    def pair(self, move: Moving) -> Pair:
        """The two frames that it ties."""
        return pair_of(self.model, self.part, move)



def each_closure(
    model: Mechanism, *vectors: Sequence[Real]
) -> Iterator[tuple[SymbolicClosure | StraightClosure, list[list[Real]]]]:
    """The closures of a mechanism, all of which tie frames, in turn, with their rows of vectors."""
    if model.rolled and many_loops(model.model):
        kinds = _by_kinds(model)
        assert kinds is not None
        memory = [in_memory("rows", x) for x in vectors]
        for kind in kinds:
            for c in kind.each(model):
                yield c, [c.of(x) for x in memory]
        return
    start = 0
    for part in model.model.closures:
        assert isinstance(part, Loop | Distance)
        rows = slice(start, start + part.rows)
        yield StraightClosure(model, part), [list(x[rows]) for x in vectors]
        start = rows.stop


class Records(Generic[T]):
    """One value in memory for each turn of a loop, all of one structure."""

    def __init__(self, name: str, which: Sequence[int], count: int):
        self.name, self.places = name, np.full(count, 0, dtype=np.intp)
        self.places[list(which)] = np.arange(len(which))
        self.count = len(which)

    def put(self, k: Index, value: T) -> None:
        """What it is at this turn."""
        self.example = value
        self.scalars = [x for x in leaves(value) if isinstance(x, Node)]
        self.memory = Buffer(self.name, max(1, self.count * len(self.scalars)), "scratch")
        at = Index(self.places, k, name="place")
        for n, x in enumerate(self.scalars):
            store(self.memory, at, len(self.scalars), n, x)

    def get(self, k: Index) -> T:
        """What it was."""
        at, size = Index(self.places, k, name="place"), len(self.scalars)
        scalars = (load(self.memory, at, size, n) for n in range(size))
        return cast("T", rebuild(self.example, scalars, None))


# -- their rows, brought inward --

Lines = tuple[tuple[tuple[Real, ...], ...], ...]
"""By places, by rows: numbers of a joint."""


Numbers = tuple[Real, ...]
Kept = tuple[Lines, Lines, Numbers, Numbers, tuple[Screws[Wrench], ...], Numbers]
Solved = tuple[Numbers, tuple[Numbers, ...], Numbers]
"""Reciprocals of pivots, columns of L below them, and the pivots."""


@dataclass
class Arrived:
    """What is known of the closures of a kind. live: rows that act on anything; places: those at
    which they do. records: (y, D⁻¹ y, least pivots, scales, wrenches at the ends, Ȧ v) of each
    closure.
    """

    kind: Closures
    live: list[int]
    places: list[int]
    ends: list[int]
    records: Records[Kept]


class AlikeRows:
    """The rows of all closures at the joints of a rolled mechanism: `propagate`, in loops over
    closures that are alike. free: what the free tree does to them (all rows).
    """

    def __init__(
        self, model: Mechanism, move: Moving, U: ByBody[Screws[Wrench]], D: ByBody[Block],
        tree: tuple[ByBody[Twist], ByBody[Sequence[Real]]] | None = None,
    ):  # fmt: skip
        kinds = _by_kinds(model)
        assert kinds is not None
        self.model, self.move, self.kinds = model, move, kinds
        self.count = model.model.row_count
        self.diagonal: list[Buffer] = []
        self.arrived: list[Arrived] = []
        given = _Zeros("free", self.count)
        for kind in kinds:
            for c in kind.each(model):
                given.put(c, self._arrive(c, U, D, tree))
        self.free = given.loaded()

    def _arrive(
        self, c: SymbolicClosure, U: ByBody[Screws[Wrench]], D: ByBody[Block],
        tree: tuple[ByBody[Twist], ByBody[Sequence[Real]]] | None,
    ) -> Sequence[Real]:  # fmt: skip
        rows = c.rows(self.move)
        out = propagate(c, rows, self.move, U, D, tree)
        live = [r for r in range(len(rows)) if any(_some(y[r]) for y in out.y.values())]
        places = [k for k, y in out.y.items() if any(_some(y[r]) for r in live)]
        y, Dy = (
            tuple(tuple(tuple(block[k][r]) for r in live) for k in places)
            for block in (out.y, out.Dy)
        )
        m, number_of = len(live), len(c.kind.members)
        own = Buffer("Lambda", number_of * m * m, "scratch")
        least: list[Real] = []
        for r, s in combinations_with_replacement(range(m), 2):
            x = sum((dot(a[r], b[s]) for a, b in zip(y, Dy, strict=True)), 0.0)
            store(own, c.number, m * m, r * m + s, x)
            if r == s:
                least.append(smallest_pivot(maximum(x, 0.0), out.scale[live[r]]))
        ends = list(rows.wrenches)
        records = Records[Kept]("closures", range(number_of), number_of)
        wrenches = tuple(rows.wrenches[k] for k in ends)
        scale = tuple(out.scale[r] for r in live)
        records.put(c.number, (y, Dy, tuple(least), scale, wrenches, tuple(rows.bias)))
        self.diagonal.append(own)
        self.arrived.append(Arrived(c.kind, live, places, ends, records))
        return out.free

    def _each(self, function: Callable[[Arrived, SymbolicClosure], Sequence[Real]]) -> list[Real]:
        """Rows that a function tells of each closure."""
        out = _Zeros("rows", self.count)
        for x in self.arrived:
            for c in x.kind.each(self.model):
                out.put(c, function(x, c))
        return out.loaded()

    def acting(self, multipliers: Sequence[Real]) -> _AlikeActing:
        """What these exert."""
        F, memory = joint_vector(self.model, "F"), in_memory("lambda", multipliers)
        for x in self.arrived:
            for c in x.kind.each(self.model):
                y, lam = x.records.get(c.number)[0], c.of(memory)
                for k, lines in zip(x.places, y, strict=True):
                    i = c.at(k)
                    own = [dot([lam[r] for r in x.live], e) for e in zip(*lines, strict=True)]
                    F[i] = plus(F[i], merge(i, own, [0.0] * sum(i.held)))
        return _AlikeActing(F)

    def moved(self, model: Mechanism, Du: ByBody[Sequence[Real]]) -> list[Real]:
        """What the free tree does to the rows at rest: Σ yᵀ D⁻¹ u."""

        def told(x: Arrived, c: SymbolicClosure) -> Sequence[Real]:
            total: list[Real] = [0.0] * c.part.rows
            for k, lines in zip(x.places, x.records.get(c.number)[0], strict=True):
                for r, line in zip(x.live, lines, strict=True):
                    total[r] = total[r] + dot(line, Du[c.at(k)])
            return total

        return self._each(told)

    def met(
        self, model: Mechanism, A: ByBody[Twist], a: JointVector, moving: bool
    ) -> list[Real]:
        """A a + Ȧ v (without that, where nothing is ``moving``)."""

        def told(x: Arrived, c: SymbolicClosure) -> Sequence[Real]:
            *_, wrenches, bias = x.records.get(c.number)
            on = dict(zip(x.ends, wrenches, strict=True))
            return met_rows(c, [Rows(c.part.name, on, {}, _unasked, bias)], A, a, moving)

        return self._each(told)

    def open_by(self) -> list[Real]:
        """φ, where it is small."""
        found = self._each(lambda x, c: c.rows(self.move).open_by(True))
        offsets = self.move.offsets
        return found if offsets is None else entrywise(sub, found, offsets)

    def rates(self, model: Mechanism, move: Moving, v: JointVector) -> list[Real]:
        """A v."""

        def told(x: Arrived, c: SymbolicClosure) -> Sequence[Real]:
            total: list[Real] = [0.0] * c.part.rows
            for i, block in joint_columns(c, c.rows(move), move):
                total = [t + dot(line, v[i]) for t, line in zip(total, block, strict=True)]
            return total

        return self._each(told)

    def apart2(self, size: float) -> Real:
        """The square of how far the widest is open: see `Rows`."""
        most = Cells("apart", [0.0])
        for kind in self.kinds:
            for c in kind.each(self.model):
                most.set([maximum(most.get()[0], c.rows(self.move).apart2(size))])
        return most.get()[0]

    def factor(self) -> BlockFactor:
        """The factors of Λ."""
        return BlockFactor(self)


def _some(line: Sequence[Real]) -> bool:
    """Whether anything of a line is not structurally zero."""
    return any(number(x) != 0.0 for x in line)


def _unasked(small: bool) -> Sequence[Real]:
    raise AssertionError("of rows that are kept it is not asked how open they are")


@dataclass
class _AlikeActing:
    F: BlockArray

    def force(self, i: BodyView) -> Sequence[Real]:
        return free(i, self.F[i])

    def held(self, i: BodyView) -> Sequence[Real]:
        return [0.0] * sum(i.held)  # there are no couplings

    def wrench(self, i: BodyView) -> Wrench:
        raise AssertionError("hybrid dynamics of many loops is straight-line code")


class _Zeros:
    """A vector of rows in memory, zero where nothing is put."""

    def __init__(self, name: str, count: int):
        self.memory = Buffer(name, count, "scratch")
        for _, k in loop(0, count, name="row"):
            store(self.memory, k, 1, 0, 0.0)

    def put(self, c: SymbolicClosure, values: Sequence[Real]) -> None:
        """The rows of a closure."""
        for r, x in enumerate(values):
            store(self.memory, c.first, 1, r, x)

    def loaded(self) -> list[Real]:
        """All of it."""
        return loaded(self.memory)


# -- the factors of their admittance --


class _Elimination:
    """In which order closures are eliminated, and what each meets then: closures of all kinds, by
    their numbers among all.
    """

    def __init__(self, kinds: Sequence[Closures]):
        count = sum(len(kind.members) for kind in kinds)
        self.kind_of: Ids = np.zeros(count, dtype=np.intp)
        self.number: Ids = np.zeros(count, dtype=np.intp)
        paths: list[list[int]] = [[] for _ in range(count)]
        for n, kind in enumerate(kinds):
            self.kind_of[kind.members], self.number[kind.members] = n, np.arange(len(kind.members))
            for k, slots in zip(kind.members, kind.slots.tolist(), strict=True):
                paths[k] = slots
        steps = elimination(paths)
        at = {k: n for n, (k, _) in enumerate(steps)}
        self.order = [k for k, _ in steps]
        self.around = [sorted(around, key=at.__getitem__) for _, around in steps]
        self.paths = paths

    @cached_property
    def keys(self) -> list[tuple[int, ...]]:
        """Steps with the same one run through the same code."""
        pairs = zip(self.order, self.around, strict=True)
        return [tuple(int(self.kind_of[x]) for x in (k, *around)) for k, around in pairs]

    @property
    def short(self) -> bool:
        """Whether it is a loop of few kinds of steps, each short."""
        most = max(map(len, self.around), default=0)
        return most <= MOST_NEIGHBOURS and len(set(self.keys)) <= MOST_STEPS


class BlockFactor:
    """LDLᵀ of Λ by blocks, in a loop over closures: see `solve.Factor`."""

    def __init__(self, rows: AlikeRows):
        self.rows, self.plan = rows, _Elimination(rows.kinds)
        self.sizes = [len(x.live) for x in rows.arrived]
        self.keys = list(dict.fromkeys(self.plan.keys))
        self.which = np.array([self.keys.index(key) for key in self.plan.keys], dtype=np.intp)
        self.records: dict[tuple[int, ...], Records[Solved]] = {}
        self._beside()
        for key, step in self._each():
            self._eliminate(key, step)

    # -- where blocks are --

    def _each(self, inward: bool = False) -> Iterator[tuple[tuple[int, ...], Index]]:
        """A loop over steps: kinds of a closure and its neighbours, and the number of the step."""
        count = len(self.which)
        turns = (count - 1, -1, -1) if inward else (0, count, 1)
        branches = loop(*turns, which=self.which, branches=len(self.keys), name="step")
        for branch, step in branches:
            yield self.keys[branch], step

    def _beside(self) -> None:
        """Blocks of Λ beside its diagonal: of closures that have bodies in common; zero where
        blocks fill in.
        """
        kind_of, number_of = self.plan.kind_of, self.plan.number
        pairs: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for k, around in zip(self.plan.order, self.plan.around, strict=True):
            for j in around:
                pairs.setdefault((int(kind_of[k]), int(kind_of[j])), []).append((k, j))
        self.place = {pair: n for every in pairs.values() for n, pair in enumerate(every)}
        self.beside: dict[tuple[int, int], Buffer] = {}
        for (a, b), every in pairs.items():
            x, y = self.rows.arrived[a], self.rows.arrived[b]
            m, n = len(x.live), len(y.live)
            memory = self.beside[a, b] = Buffer("Lambda", max(1, len(every) * m * n), "scratch")
            shared = [self._shared(x, y, pair) for pair in every]
            shapes = list(dict.fromkeys(shared))
            which = np.array([shapes.index(s) for s in shared], dtype=np.intp)
            ids = np.array([[number_of[k] for k in pair] for pair in every], dtype=np.intp)
            for branch, e in loop(0, len(every), which=which, branches=len(shapes), name="pair"):
                at_x, at_y = (Index(np.ascontiguousarray(c), e, name="closure") for c in ids.T)
                here, there = x.records.get(at_x)[0], y.records.get(at_y)[1]
                for r in range(m):
                    for s in range(n):
                        terms = (dot(here[p][r], there[o][s]) for p, o in shapes[branch])
                        store(memory, e, m * n, r * n + s, sum(terms, 0.0))

    def _shared(self, x: Arrived, y: Arrived, pair: tuple[int, int]) -> tuple[tuple[int, int], ...]:
        """Of two closures, the places of the bodies on which both act, among `Arrived.places`."""
        a, b = (self.plan.paths[k] for k in pair)
        there = {b[place]: n for n, place in enumerate(y.places)}
        return tuple(
            (n, there[a[place]]) for n, place in enumerate(x.places) if a[place] in there
        )

    def _tables(
        self, key: tuple[int, ...], what: Callable[[Sequence[int]], Sequence[int]], step: Index
    ) -> list[Index]:
        """Numbers that are known of a closure and its neighbours, at steps of one kind."""
        steps = [
            n for n, own in enumerate(self.plan.keys) if own == key
        ]
        found = [what((self.plan.order[n], *self.plan.around[n])) for n in steps]
        tables = np.zeros((len(found[0]), len(self.which)), dtype=np.intp)
        tables[:, steps] = np.array(found, dtype=np.intp).reshape(len(found), -1).T
        return [Index(np.ascontiguousarray(table), step, name="at") for table in tables]

    def _offsets(self, key: tuple[int, ...]) -> list[range]:
        """Rows of a closure and of its neighbours, one after the other."""
        ends = np.cumsum([0, *(self.sizes[kind] for kind in key)]).tolist()
        return [range(a, b) for a, b in pairwise(ends)]

    # -- step by step --

    def _eliminate(self, key: tuple[int, ...], step: Index) -> None:
        own, *others = self._offsets(key)
        numbers = self._tables(key, lambda x: [int(self.plan.number[k]) for k in x], step)
        pairs = list(combinations_with_replacement(range(1, len(key)), 2))
        here = self._tables(key, lambda x: [0, *(self.place[x[0], k] for k in x[1:])], step)[1:]
        between = self._tables(
            key, lambda x: [0, *(0 if a == b else self.place[x[a], x[b]] for a, b in pairs)], step
        )[1:]
        kind, m = key[0], len(own)
        matrix: dict[int, Row] = {r: {} for r in range(own.start, (others or [own])[-1].stop)}
        for r, s in combinations_with_replacement(own, 2):
            matrix[r][s] = load(self.rows.diagonal[kind], numbers[0], m * m, r * m + s)
        for n, columns in enumerate(others):
            memory, width = self.beside[kind, key[n + 1]], len(columns)
            for r in own:
                for s, c in enumerate(columns):
                    matrix[r][c] = load(memory, here[n], m * width, r * width + s)
        least = self.rows.arrived[kind].records.get(numbers[0])[2]
        beyond = [r for part in others for r in part]
        factor = Factor(matrix, own, least, beyond=beyond)
        for (a, b), at in zip(pairs, between, strict=True):
            rows, columns = others[a - 1], others[b - 1]
            memory = self.rows.diagonal[key[a]] if a == b else self.beside[key[a], key[b]]
            at = numbers[a] if a == b else at
            for n, r in enumerate(rows):
                for s, c in enumerate(columns):
                    if c in matrix[r]:
                        place = at, len(rows) * len(columns), n * len(columns) + s
                        store(memory, *place, load(memory, *place) + matrix[r][c])
        below = tuple(tuple(factor.below[r].get(c, 0.0) for c in (*own, *beyond)) for r in own)
        steps = [n for n, k in enumerate(self.plan.keys) if k == key]
        self.records[key] = Records("factors", steps, len(self.which))
        reciprocal, pivot = (tuple(x[r] for r in own) for x in (factor.reciprocal, factor.pivot))
        self.records[key].put(step, (reciprocal, below, pivot))

    def counts(self, open2: Real = 0.0) -> tuple[Real, Real]:
        """(rank, rows left out), of the rows that are not structurally zero: see `solve.Factor`."""
        total = Cells("left_out", [0.0])
        for key, step in self._each():
            number_of = self._tables(key, lambda x: [int(self.plan.number[x[0]])], step)[0]
            _, _, least, scale, _, _ = self.rows.arrived[key[0]].records.get(number_of)
            for x, a, b in zip(self.records[key].get(step)[2], least, scale, strict=True):
                small = select(x <= a + open2 * b, 1.0, 0.0)
                total.set([total.get()[0] + small])
        out = total.get()[0]
        each = zip(self.sizes, self.rows.kinds, strict=True)
        return sum(m * len(kind.members) for m, kind in each) - out, out

    def multipliers(self, r: Sequence[Real]) -> list[Real]:
        """λ with Λ λ = r, for every row; zero for rows that depend on others."""
        x, needed = _Zeros("lambda", self.rows.count), in_memory("needed", r)
        for part in self.rows.arrived:
            for c in part.kind.each(self.rows.model):
                given = c.of(needed)
                for k in part.live:
                    store(x.memory, c.first, 1, k, given[k])
        for inward in (False, True):
            for key, step in self._each(inward):
                places = self._places(key, step)
                now = {n: load(x.memory, *place) for n, place in enumerate(places)}
                own = self._offsets(key)[0]
                reciprocal, below, _ = self.records[key].get(step)
                L = Triangles(
                    own,
                    dict(zip(own, reciprocal, strict=True)),
                    {k: {j: e for j, e in enumerate(line) if number(e) != 0.0}
                     for k, line in zip(own, below, strict=True)},
                )  # fmt: skip
                new = L.backward(now) if inward else L.forward(now)
                for n, place in enumerate(places):
                    if new[n] is not now[n]:
                        store(x.memory, *place, new[n])
        return x.loaded()

    def _places(self, key: tuple[int, ...], step: Index) -> list[tuple[Index, int, int]]:
        """Where the rows of a closure and its neighbours are among all."""
        kinds, plan = self.rows.kinds, self.plan

        def first(x: Sequence[int]) -> list[int]:
            return [int(kinds[int(plan.kind_of[k])].first[plan.number[k]]) for k in x]

        at = self._tables(key, first, step)
        return [
            (index, 1, r)
            for index, kind in zip(at, key, strict=True)
            for r in self.rows.arrived[kind].live
        ]

    def shortest(self, multipliers: Sequence[Real]) -> list[Real]:
        """None is asked for: what does is straight-line code."""
        raise AssertionError("multipliers of least norm of many loops are straight-line code")
