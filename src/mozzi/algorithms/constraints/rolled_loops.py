# pyright: reportConstantRedefinition=false
"""Many closures that are alike, in rolled programs: loops over closures, as there are over bodies.

Rows of a symbolic closure (`symbolic_closures`) are brought inward as those of one closure are. Λ
is sparse by blocks, a row of blocks for each closure. Which blocks there are is known before, and
so are the steps of its elimination: those whose neighbours are of the same kinds run through the
same code, which is `solve.Factor` of a row of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise
from operator import sub
from typing import Generic, TypeVar, cast

import numpy as np

from mozzi.algorithms.constraints.admittance import propagate
from mozzi.algorithms.constraints.rank import smallest_pivot
from mozzi.algorithms.constraints.rows.relative_motion import Moving, Rows, met_rows
from mozzi.algorithms.constraints.rows.rows import joint_columns
from mozzi.algorithms.constraints.solve import Factor, Triangles
from mozzi.algorithms.constraints.sparse import Row
from mozzi.algorithms.constraints.symbolic_closures import (
    Closures,
    Elimination,
    SymbolicClosure,
    closures_by_kinds,
)
from mozzi.algorithms.recursion.blocks import Block, dot, plus
from mozzi.algorithms.recursion.containers import BlockArray, Cells, joint_vector, rebuild
from mozzi.algorithms.recursion.held import free, merge
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.names_in_generated_code import leaves
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector
from mozzi.lie import Screws, Twist, Wrench
from mozzi.lie.vec import number
from mozzi.program.counted_loops import entrywise, in_memory, loaded
from mozzi.program.node import Node
from mozzi.program.program import Buffer, Index, load, loop, store
from mozzi.program.scalar import Real, divide, maximum, minimum, select

__all__ = ["AlikeRows", "BlockFactor"]

T = TypeVar("T")


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
        kinds = closures_by_kinds(model)
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


class BlockFactor:
    """LDLᵀ of Λ by blocks, in a loop over closures: see `solve.Factor`."""

    def __init__(self, rows: AlikeRows):
        self.rows, self.plan = rows, Elimination(rows.kinds)
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
        rank, left_out, _ = self.safely(open2)
        return rank, left_out

    def safely(self, open2: Real = 0.0) -> tuple[Real, Real, Real]:
        """(rank, rows left out, the least square of a sine of those that count, 1 at most)."""
        total = Cells("left_out", [0.0, 1.0])
        for key, step in self._each():
            number_of = self._tables(key, lambda x: [int(self.plan.number[x[0]])], step)[0]
            _, _, least, scale, _, _ = self.rows.arrived[key[0]].records.get(number_of)
            for x, a, b in zip(self.records[key].get(step)[2], least, scale, strict=True):
                small, (out, sine2) = x <= a + open2 * b, total.get()
                own = divide(x, maximum(b, 1e-300), nonzero=True)
                sine2 = minimum(sine2, select(small, 1.0, own))
                total.set([out + select(small, 1.0, 0.0), sine2])
        out, sine2 = total.get()
        each = zip(self.sizes, self.rows.kinds, strict=True)
        return sum(m * len(kind.members) for m, kind in each) - out, out, sine2

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
