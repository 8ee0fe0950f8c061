# pyright: reportConstantRedefinition=false
"""Rows of loops in rolled programs: walks along the paths of a closure are loops over bodies.

What `relative_motion`, `admittance` and `rows` do body by body, for mechanisms with few loops, or
long paths (a closed chain of hundreds of bodies, loops in series on one): the same equations, with
what a walk carries in memory. A closure has two ends. Their paths meet at the nearest body that
carries both, and go on to the base together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from mozzi.algorithms.constraints.admittance import (
    Acting,
    longer,
    row_scale,
    transmitted,
)
from mozzi.algorithms.constraints.rank import cancelled, smallest_pivot
from mozzi.algorithms.constraints.rows.relative_motion import Moving, Rows, met_rows, widest
from mozzi.algorithms.constraints.solve import Factor
from mozzi.algorithms.constraints.sparse import Row
from mozzi.algorithms.recursion.blocks import Block, apply, dot
from mozzi.algorithms.recursion.blocks import rows as in_rows
from mozzi.algorithms.recursion.containers import BlockArray, Cells, body_array, joint_array
from mozzi.algorithms.recursion.held import free, free_screws, merge
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector
from mozzi.lie import Screws, Twist, Wrench
from mozzi.lie.vec import number
from mozzi.model.model import WORLD
from mozzi.program.counted_loops import LOOPED, in_memory, loaded
from mozzi.program.program import Buffer, Index, load, loop, store
from mozzi.program.scalar import Real, divide, maximum, select
from mozzi.types import Traced

__all__ = ["DenseFactor", "RolledRows", "rolled_matrix", "rolled_rows"]

Tree = tuple[ByBody[Twist], ByBody[Sequence[Real]]]


@dataclass
class RolledRows:
    """The m rows of all closures at the joints of a rolled mechanism.

    Y (m, nv): forces in the free coordinates; X (nb, m, 6): wrenches that arrive at bodies; scale
    and free: as in `PropagatedRows`; matrix (m, m): Λ = Σ yᵀ D⁻¹ y, its upper triangle.
    """

    rows: list[Rows]
    Y: BlockArray
    X: BlockArray
    scale: list[Real]
    free: list[Real]
    matrix: Buffer

    @property
    def gram(self) -> dict[int, Row]:
        """Λ as rows: all of them meet, at the base if not before."""
        m = len(self.scale)
        return {r: {s: load(self.matrix, None, 0, r * m + s) for s in range(r, m)}
                for r in range(m)}  # fmt: skip

    def factor(self, kept: Sequence[Real] | Traced | None) -> Factor | DenseFactor:
        """The factors of Λ: of many rows in loops."""
        if len(self.scale) < LOOPED:
            return Factor.of_gram(self.gram, range(len(self.scale)), self.scale, kept)
        return DenseFactor(self, kept)

    def moved(self, model: Mechanism, Du: ByBody[Sequence[Real]]) -> list[Real]:
        """What the free tree does to the rows at rest: Σ yᵀ D⁻¹ u."""
        m = len(self.scale)
        total = Cells("moved", [0.0] * m)
        for i in model.outward():
            y = [free(i, line) for line in in_rows(self.Y[i], m)]
            now = total.get()
            total.set([x + dot(line, Du[i]) for x, line in zip(now, y, strict=True)])
        return total.get()

    def acting(self, multipliers: Sequence[Real]) -> Acting:
        """What these exert."""
        return _RolledActing(self, multipliers)

    def met(
        self, model: Mechanism, A: ByBody[Twist], a: JointVector, moving: bool
    ) -> list[Real]:
        """A a + Ȧ v (without that, where nothing is ``moving``)."""
        return met_rows(model, self.rows, A, a, moving)

    def open_by(self) -> list[Real]:
        """φ, where it is small."""
        return [x for rows in self.rows for x in rows.open_by(True)]

    def rates(self, model: Mechanism, move: Moving, v: JointVector) -> list[Real]:
        """A v."""
        return [x for rows in self.rows for x in rolled_rates(model, rows, move, v)]

    def apart2(self, size: float) -> Real:
        """The square of how far the widest is open: see `Rows`."""
        return widest(self.rows, size)


@dataclass
class _RolledActing:
    own: RolledRows
    multipliers: Sequence[Real]

    def force(self, i: BodyView) -> list[Real]:
        y = in_rows(self.own.Y[i], len(self.multipliers))
        return [dot(self.multipliers, column) for column in free(i, list(zip(*y, strict=True)))]

    def held(self, i: BodyView) -> list[Real]:
        return [0.0] * sum(i.held)  # there are no couplings

    def wrench(self, i: BodyView) -> Wrench:
        x = in_rows(self.own.X[i], len(self.multipliers))
        return Wrench.unflatten([dot(self.multipliers, column) for column in zip(*x, strict=True)])


def rolled_rows(
    model: Mechanism, every: list[Rows], move: Moving, U: ByBody[Screws[Wrench]], D: ByBody[Block],
    tree: Tree | None = None,
) -> RolledRows:  # fmt: skip
    """The rows of all closures, brought inward by articulated bodies: `propagate`, rolled."""
    m = sum(map(len, every))
    Y, X = joint_array(model, m, "v", letter="Y"), body_array(model, m, 6, letter="X")
    scale: list[Real] = []
    bias: list[Real] = []
    for rows in every:
        walk = _Walk(model, rows, move, U, D, tree, Y, X, len(scale))
        own_scale, own_bias = walk.inward()
        scale, bias = scale + own_scale, bias + own_bias
    return RolledRows(every, Y, X, scale, bias, _gram(model, Y, D, m))


def _gram(model: Mechanism, Y: BlockArray, D: ByBody[Block], m: int) -> Buffer:
    """Λ (m, m), body by body; its upper triangle."""
    total = Buffer("Lambda", m * m, "scratch")
    for _, k in loop(0, m * m):
        store(total, k, 1, 0, 0.0)
    for i in model.outward():
        y = [free(i, line) for line in in_rows(Y[i], m)]
        Dy = [apply(D[i], line) for line in y]
        if m >= LOOPED and y[0]:
            _add_products(total, y, Dy)
            continue
        for r, s in combinations_with_replacement(range(m), 2):
            at = None, 0, r * m + s
            store(total, *at, load(total, *at) + dot(y[r], Dy[s]))
    return total


def _add_products(
    total: Buffer, y: Sequence[Sequence[Real]], Dy: Sequence[Sequence[Real]]
) -> None:
    """Λ + y D⁻¹ yᵀ of many rows, in loops over them."""
    m, n = len(y), len(y[0])
    left, right = (in_memory("y", [e for line in block for e in line]) for block in (y, Dy))
    for _, r in loop(0, m, name="row"):
        own = [load(left, r, n, k) for k in range(n)]
        for _, s in loop(r, m, name="column"):
            at = Index(terms=((r, m), (s, 1)))
            x = dot(own, [load(right, s, n, k) for k in range(n)])
            store(total, at, 1, 0, load(total, at, 1, 0) + x)


class DenseFactor:
    """LDLᵀ of Λ (m, m) in loops of the program: `solve.Factor`, of many rows that all meet."""

    def __init__(self, rows: RolledRows, kept: Sequence[Real] | Traced | None):
        self.rows, self.kept, self.m = rows, kept, len(rows.scale)
        m, scale = self.m, in_memory("scale", rows.scale)
        given = None if kept is None else in_memory("kept", list(kept))
        self.sizes = Buffer("sizes", 3 * m, "scratch")  # the least pivot, the scale, the pivot
        self.L = Buffer("L", m * m, "scratch")
        self.reciprocal = Buffer("reciprocal", m, "scratch")
        self.left_out = Buffer("left_out", m, "scratch")
        left = Buffer("left", m * m, "scratch")
        for _, k in loop(0, m * m):
            store(left, k, 1, 0, load(rows.matrix, k, 1, 0))
        self.next = np.arange(1, m + 1)
        for _, k in loop(0, m, name="row"):
            whole = maximum(load(rows.matrix, k, m + 1, 0), 0.0)
            own, pivot = load(scale, k, 1, 0), load(left, k, m + 1, 0)
            least = smallest_pivot(whole, own)
            small = pivot <= least
            if given is not None:
                small = select(small, 0.0, load(given, k, 1, 0)) < 0.5
            inverse = select(small, 0.0, divide(1.0, select(small, 1.0, pivot), nonzero=True))
            store(self.reciprocal, k, 1, 0, inverse)
            store(self.left_out, k, 1, 0, select(small, 1.0, 0.0))
            for n, x in enumerate((least, own, pivot)):
                store(self.sizes, k, 3, n, x)
            for j in self._behind(k):
                l = load(left, self._at(k, j), 1, 0) * inverse
                store(self.L, self._at(k, j), 1, 0, l)
                for _, i in loop(j, m, name="column"):
                    at = self._at(j, i)
                    x = load(left, self._at(k, i), 1, 0)
                    store(left, at, 1, 0, load(left, at, 1, 0) - l * x)

    def _at(self, r: Index, s: Index) -> Index:
        return Index(terms=((r, self.m), (s, 1)))

    def _behind(self, k: Index) -> Iterator[Index]:
        """A loop over the rows behind one."""
        for _, j in loop(Index(self.next, k, name="next"), self.m, name="behind"):
            yield j

    def counts(self, open2: Real = 0.0) -> tuple[Real, Real]:
        """(rank, rows left out): see `solve.Factor`."""
        total = Cells("left_out", [0.0])
        for _, k in loop(0, self.m, name="row"):
            least, scale, pivot = (load(self.sizes, k, 3, n) for n in range(3))
            small = load(self.left_out, k, 1, 0)
            small = select(pivot <= least + open2 * scale, 1.0, small)
            total.set([total.get()[0] + small])
        out = total.get()[0]
        return self.m - out, out

    def multipliers(self, r: Sequence[Real]) -> list[Real]:
        """λ with Λ λ = r, for every row; zero for rows that depend on others."""
        x, needed = Buffer("lambda", self.m, "scratch"), in_memory("needed", r)
        for _, k in loop(0, self.m):
            store(x, k, 1, 0, load(needed, k, 1, 0))
        for _, k in loop(0, self.m, name="row"):
            own = load(x, k, 1, 0)
            for j in self._behind(k):
                l = load(self.L, self._at(k, j), 1, 0)
                store(x, j, 1, 0, load(x, j, 1, 0) - l * own)
        for _, k in loop(self.m - 1, -1, -1, name="row"):
            store(x, k, 1, 0, load(x, k, 1, 0) * load(self.reciprocal, k, 1, 0))
            for j in self._behind(k):
                l = load(self.L, self._at(k, j), 1, 0)
                store(x, k, 1, 0, load(x, k, 1, 0) - l * load(x, j, 1, 0))
        return loaded(x)

    def shortest(self, multipliers: Sequence[Real]) -> list[Real]:
        """The shortest that exert the same forces."""
        rows = self.rows
        straight = Factor.of_gram(rows.gram, range(self.m), rows.scale, self.kept)
        return straight.shortest(multipliers)


class _Walk:
    """The rows of one closure on their way to the base."""

    def __init__(
        self, model: Mechanism, rows: Rows, move: Moving, U: ByBody[Screws[Wrench]],
        D: ByBody[Block], tree: Tree | None, Y: BlockArray, X: BlockArray, first: int,
    ):  # fmt: skip
        self.model, self.rows, self.move, self.U, self.D, self.tree = model, rows, move, U, D, tree
        self.Y, self.X, self.first = Y, X, first
        m = len(rows)
        self.scale, self.bias = Cells("scale", [0.0] * m), Cells("bias", list(rows.bias))
        self.common = _common(model, rows)
        self.known = self._known_levers()
        self.levers: dict[int, Real] = {k: x * x for k, x in rows.levers.items()}

    def inward(self) -> tuple[list[Real], list[Real]]:
        """From both ends to where they meet, and to the base: (scales, what the tree does)."""
        coming = {k: list(W) for k, W in self.rows.wrenches.items()}
        for k in [k for k in coming if k != self.common and k != WORLD]:
            self._segment(k, self.common, coming, 0.0)
        if self.common != WORLD:
            self._segment(self.common, WORLD, coming, cancelled() if len(coming) > 1 else 0.0)
        scale, bias = self.scale.get(), self.bias.get()
        if self.rows.norms is not None:
            pairs = zip(scale, self.rows.norms, strict=True)
            scale = [divide(s, maximum(w, 1e-60), nonzero=True) for s, w in pairs]
        if self.tree is not None and WORLD in coming:
            up = self.model.upward
            bias = [f + x.dot(up) for f, x in zip(bias, coming[WORLD], strict=True)]
        return scale, bias

    def _segment(self, start: int, end: int, coming: dict[int, list[Wrench]], lost: float) -> None:
        """From a body to below another, with what comes there."""
        m, model = len(self.rows), self.model
        own = [e for W in coming[start] for e in W.flatten()]
        far = [] if self.known else [self.levers.get(start, 0.0)]
        state = Cells("x", own + far)
        for i in model.each(start - WORLD, end - WORLD + 1, follow=model.parents):
            now, T = state.get(), self.move.T[i]
            x = [Wrench.unflatten(w) for w in in_rows(now[: 6 * m], m)]
            lever2 = load(self.known, i.slot, 1, 0) if self.known else now[-1]
            up = self._passed(i, x, lever2, lost)
            far = [] if self.known else [longer(lever2, T.p)]
            state.set([*(e for W in up for e in T.push(W).flatten()), *far])
        now = state.get()
        arrived = [Wrench.unflatten(w) for w in in_rows(now[: 6 * m], m)]
        there = coming.get(end, [Wrench.zero()] * m)
        coming[end] = [a + b for a, b in zip(there, arrived, strict=True)]
        if self.known is None:
            self.levers[end] = self.levers.get(end, 0.0) + now[-1]

    def _passed(
        self, i: BodyView, x: list[Wrench], lever2: Real, lost: float
    ) -> list[Wrench]:
        """What the joint of a body transmits of wrenches; what it takes is kept."""
        S, D, U = free_screws(i, i.joint.screws(self.move.q[i])), self.D[i], self.U[i]
        none = [0.0] * len(S)
        y = [S.T @ W for W in x]
        Dy = [apply(D, line) for line in y]
        up = [transmitted(i, S, W - U @ d, none) if len(S) else W
              for W, d in zip(x, Dy, strict=True)]  # fmt: skip
        sizes = [row_scale(S, D, W, none, lever2, lost) for W in x]
        self.scale.set([a + b for a, b in zip(self.scale.get(), sizes, strict=True)])
        if self.tree is not None:
            n, Du = self.tree[0][i], self.tree[1][i]
            pairs = zip(self.bias.get(), up, y, strict=True)
            self.bias.set([f + W.dot(n) + dot(line, Du) for f, W, line in pairs])
        zeros = [0.0] * sum(i.held)
        self.Y.put(i, self.first, [merge(i, line, zeros) for line in y])
        self.X.put(i, self.first, [W.flatten() for W in x])
        return up

    def _known_levers(self) -> Buffer | None:
        """Squares of levers by bodies, where those that are needed are numbers."""
        levers: dict[int, Real | None] = {k: x * x for k, x in self.rows.levers.items()}
        bodies = {i.index: i for k in self.rows.wrenches for i in self.model.at(k).path()}
        table = np.zeros(self.model.nb + 1)
        for k in sorted(bodies, reverse=True):
            i, far = bodies[k], levers.get(k, 0.0)
            size = None if far is None else number(far)
            if size is None:
                return None
            table[i.slot] = size
            joint = i.joint
            where = joint.screws(joint.neutral()).units() if joint.subgroup else None
            turns = where is not None and max(where, default=0) < 3
            more = longer(size, i.placement.p) if turns else None
            p = i.parent.index
            before = levers.get(p, 0.0)
            levers[p] = None if more is None or before is None else before + more
        return Buffer("levers", len(table), "table", table)


def _common(model: Mechanism, rows: Rows) -> int:
    """The nearest body that carries all ends of a closure."""
    paths = [[i.index for i in model.at(k).path()] for k in rows.wrenches]
    shared = set(paths[0]).intersection(*paths[1:])
    return max(shared, default=WORLD)


# -- without articulated bodies --


def rolled_columns(
    model: Mechanism, rows: Rows, move: Moving
) -> Iterator[tuple[BodyView, list[list[Real]]]]:
    """Joint by joint, blocks (m, nv) of the Jacobian: `joint_columns`, rolled."""
    common, m = _common(model, rows), len(rows)
    for k, W in rows.wrenches.items():
        if k in (WORLD, common):
            continue
        state = Cells("W", [e for w in W for e in w.flatten()])
        for i in model.each(k - WORLD, common - WORLD + 1, follow=model.parents):
            now = Screws([Wrench.unflatten(w) for w in in_rows(state.get(), m)])
            block = i.joint.screws(move.q[i]).T @ now
            yield i, [list(line) for line in zip(*block, strict=True)]
            state.set([e for w in move.T[i].push(now) for e in w.flatten()])


def rolled_matrix(model: Mechanism, every: Sequence[Rows], move: Moving) -> Traced:
    """A (m, nv)."""
    A, first = joint_array(model, sum(map(len, every)), "v", letter="A"), 0
    for rows in every:
        for i, block in rolled_columns(model, rows, move):
            A.put(i, first, block)
        first += len(rows)
    return A.array()


def rolled_rates(
    model: Mechanism, rows: Rows, move: Moving, v: JointVector
) -> list[Real]:
    """A v, of one closure."""
    total = Cells("rates", [0.0] * len(rows))
    for i, block in rolled_columns(model, rows, move):
        now = total.get()
        total.set([x + dot(line, v[i]) for x, line in zip(now, block, strict=True)])
    return total.get()
