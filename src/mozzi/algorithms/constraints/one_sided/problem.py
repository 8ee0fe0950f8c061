"""The one-sided problem of a step: impulses x and velocities w = Λ x + g, each block in its sets.

One solver for limits, dry friction, ropes and contact, with counted iterations, so that all samples
of a batch run the same instructions. What was reached is measured: `Law.error`.

    fast      semismooth Newton on the laws (`sets`), with a proximal term, from a warm start;
    robust    where that misses a law, Newton from nothing and from an `interior_point`.

Of all iterates the one that misses its laws least is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from mozzi.algorithms.constraints.one_sided.rounding import rounding
from mozzi.algorithms.constraints.one_sided.sets import Law, Set, reciprocal
from mozzi.lie.vec import number
from mozzi.program.counted_loops import repeat
from mozzi.program.scalar import Real, maximum, select, sqrt

__all__ = [
    "Best", "ByRows", "ByVelocities", "Descent", "Problem", "Solution", "eliminate", "newton",
    "worst",
]  # fmt: skip

TINY = 1e-200

Matrix = Sequence[Sequence[Real]]
Elimination = Callable[[Sequence[Real]], list[Real]]
Solve = Callable[[Sequence[Real]], tuple[list[Real], list[Real]]]


class Linear(Protocol):
    """What a step of Newton's method takes for the law of a block: Q w + S x is given."""

    @property
    def Q(self) -> Matrix: ...
    @property
    def S(self) -> Matrix: ...


@dataclass
class Solution:
    """Impulses and velocities of all rows, and the laws there, with what they are missed by."""

    x: list[Real]
    w: list[Real]
    laws: list[Law]


class Problem:
    """Rows in blocks with their sets, scaled so that Λ has a diagonal of mean 1 in each block.

    What answers with velocities to impulses is left open: `ByRows` has Λ itself, `ByVelocities` the
    inertia of what the rows act on.
    """

    by_rows: bool

    def __init__(self, diagonal: Sequence[Real], g: Sequence[Real], sets: Sequence[Set]):
        self.rounding = rounding(self.by_rows)
        self.blocks: list[range] = []
        start = 0
        for kind in sets:
            self.blocks.append(range(start, start + kind.size))
            start += kind.size
        self.scale: list[Real] = []  # a: velocities times a, impulses over a
        self.unit: list[Real] = []  # 1/a
        for rows in self.blocks:
            mean = sum((diagonal[k] for k in rows), 0.0) * (1.0 / len(rows))
            root = sqrt(maximum(mean, self.rounding.least))
            self.unit += [root] * len(rows)
            self.scale += [reciprocal(root)] * len(rows)
        self.g = [x * y for x, y in zip(self.scale, g, strict=True)]
        scales = (self.scale[rows[0]] for rows in self.blocks)
        self.sets = [s.scaled(a) for s, a in zip(sets, scales, strict=True)]

    def __len__(self) -> int:
        return len(self.g)

    @property
    def square(self) -> Real:
        """The square of the largest velocity without impulses."""
        most: Real = TINY
        for g in self.g:
            most = maximum(most, g * g)
        return most

    def answer(self, x: Sequence[Real]) -> list[Real]:
        """Λ x."""
        raise NotImplementedError

    def factored(self, laws: Sequence[Linear], eps: Real) -> Solve:
        """c ↦ (x, Λ x) with Q (Λ + ε) x + S x = c in all blocks."""
        raise NotImplementedError

    def velocities(self, x: Sequence[Real]) -> list[Real]:
        """w = Λ x + g."""
        return [w + g for w, g in zip(self.answer(x), self.g, strict=True)]

    def by_block(
        self, *vectors: Sequence[Real]
    ) -> Iterator[tuple[Set, *tuple[list[Real], ...]]]:
        """Every set with its parts of the vectors."""
        for kind, rows in zip(self.sets, self.blocks, strict=True):
            yield kind, *([x[k] for k in rows] for x in vectors)

    def fit(self, x: Sequence[Real]) -> list[Real]:
        """Impulses in their sets, near x."""
        return [y for kind, part in self.by_block(x) for y in kind.fit(part)]

    def laws(self, x: Sequence[Real], w: Sequence[Real]) -> list[Law]:
        """The laws of all blocks near (x, w)."""
        return [kind.law(a, b) for kind, a, b in self.by_block(x, w)]

    def after(
        self, tried: Sequence[Real], last: Sequence[Law], laws: Sequence[Law]
    ) -> list[Law]:
        """The laws that follow on impulses that were tried, near those brought into their sets."""
        parts = zip(self.by_block(tried), last, laws, strict=True)
        return [kind.after(part, before, law) for (kind, part), before, law in parts]

    def made(self, numbers: Sequence[Real]) -> list[Law]:
        """Those of their numbers, one after the other."""
        out: list[Law] = []
        start = 0
        for kind in self.sets:
            out.append(kind.made(numbers[start : start + kind.count]))
            start += kind.count
        return out

    def solve(
        self, laws: Sequence[Law], eps: Real, x: Sequence[Real], times: int = 1
    ) -> list[Real]:
        """x⁺ with Q (Λ x⁺ + g + ε (x⁺ − x)) + S x⁺ = c in all blocks; more than once, with x⁺ in
        place of x, to take the proximal term back.
        """
        factored = self.factored(laws, eps)
        for _ in range(times):
            r: list[Real] = []
            for law, rows in zip(laws, self.blocks, strict=True):
                at = [self.g[k] - eps * x[k] for k in rows]
                r += [c - dot(q, at) for q, c in zip(law.Q, law.c, strict=True)]
            x = factored(r)[0]
        return list(x)


class ByRows(Problem):
    """With the admittance Λ of the rows: for few rows. size: what is taken for its diagonal where
    rows are scaled.
    """

    by_rows = True

    def __init__(
        self, L: Matrix, g: Sequence[Real], sets: Sequence[Set], size: Sequence[Real] | None = None
    ):
        super().__init__([L[k][k] for k in range(len(g))] if size is None else size, g, sets)
        a, n = self.scale, range(len(g))
        self.L = [[L[i][j] if _zero(L[i][j]) else a[i] * L[i][j] * a[j] for j in n] for i in n]

    def answer(self, x: Sequence[Real]) -> list[Real]:
        return [dot(row, x) for row in self.L]

    def factored(self, laws: Sequence[Linear], eps: Real) -> Solve:
        A: list[list[Real]] = []
        for law, rows in zip(laws, self.blocks, strict=True):
            for q, s in zip(law.Q, law.S, strict=True):
                line = [dot(q, [self.L[k][j] for k in rows]) for j in range(len(self))]
                for j, a, b in zip(rows, q, s, strict=True):
                    line[j] = line[j] + eps * a + b
                A.append(line)
        order = [k for rows in self.blocks for k in (*rows[1:], rows[0])]  # normals last
        solve = eliminate(A, order)

        def both(c: Sequence[Real]) -> tuple[list[Real], list[Real]]:
            x = solve(c)
            return x, self.answer(x)

        return both


class ByVelocities(Problem):
    """With the inertia M of the velocities that the rows J act on, Λ = J M⁻¹ Jᵀ: for more rows
    than velocities, whatever their rank, and for what is sparse (a stack of boxes).

    With K = (S + ε Q)⁻¹ Q a law reads x = k − K J y, and y = M⁻¹ Jᵀ x solves (M + Jᵀ K J) y = Jᵀ k.
    R: compliance, added to the diagonal of Λ row by row. admittance: M⁻¹, where it is known.
    """

    by_rows = False

    def __init__(
        self, M: Matrix, J: Matrix, g: Sequence[Real], sets: Sequence[Set], R: Sequence[Real],
        admittance: Matrix | None = None,
    ):  # fmt: skip
        self.M = [{j: x for j, x in enumerate(row) if not _zero(x)} for row in M]
        self.order = least_degree(self.M, J)
        self.inertia = eliminate_sparse(self.M, self.order)
        if admittance is not None:
            self.inertia = partial(_times, admittance)
        sparse = [{j: x for j, x in enumerate(row) if not _zero(x)} for row in J]
        diagonal: list[Real] = []
        for row, r in zip(sparse, R, strict=True):
            y = self.inertia([row.get(k, 0.0) for k in range(len(M))])
            diagonal.append(sum((x * y[k] for k, x in row.items()), r))
        super().__init__(diagonal, g, sets)
        a = self.scale
        self.J = [{k: x * s for k, x in row.items()} for row, s in zip(sparse, a, strict=True)]
        self.R = [0.0 if _zero(r) else r * s * s for r, s in zip(R, a, strict=True)]

    def pushed(self, x: Sequence[Real]) -> list[Real]:
        """Jᵀ x of impulses that are not scaled."""
        return self._push([s * u for s, u in zip(x, self.unit, strict=True)])

    def _push(self, x: Sequence[Real]) -> list[Real]:
        """Jᵀ x."""
        out: list[Real] = [0.0] * len(self.M)
        for row, s in zip(self.J, x, strict=True):
            for k, e in row.items():
                out[k] = out[k] + e * s
        return out

    def _pull(self, y: Sequence[Real], x: Sequence[Real]) -> list[Real]:
        """J y + R x."""
        rows = zip(self.J, self.R, x, strict=True)
        return [sum((e * y[k] for k, e in row.items()), 0.0 if _zero(r) else r * s)
                for row, r, s in rows]  # fmt: skip

    def answer(self, x: Sequence[Real]) -> list[Real]:
        return self._pull(self.inertia(self._push(x)), x)

    def factored(self, laws: Sequence[Linear], eps: Real) -> Solve:
        A = [dict(row) for row in self.M]
        inverses: list[tuple[Elimination, list[list[Real]]]] = []
        for law, rows in zip(laws, self.blocks, strict=True):
            size = range(len(rows))
            S = [
                [s + (eps + self.R[rows[j]]) * q for j, q, s in zip(size, *lines, strict=True)]
                for lines in zip(law.Q, law.S, strict=True)
            ]
            inverse = eliminate(S, [*size[1:], 0])
            columns = [inverse([line[j] for line in law.Q]) for j in size]
            inverses.append((inverse, columns))
            touched = sorted({k for r in rows for k in self.J[r]})
            for k in touched:  # (K J) e_k, then Jᵀ
                down = [sum((columns[j][i] * self.J[rows[j]].get(k, 0.0) for j in size), 0.0)
                        for i in size]  # fmt: skip
                for l in touched:
                    add = sum((self.J[rows[i]].get(l, 0.0) * down[i] for i in size), 0.0)
                    if not _zero(add):
                        A[l][k] = A[l][k] + add if k in A[l] else add
        solve = eliminate_sparse(A, self.order)

        def both(c: Sequence[Real]) -> tuple[list[Real], list[Real]]:
            k = [
                x for (inverse, _), rows in zip(inverses, self.blocks, strict=True)
                for x in inverse([c[r] for r in rows])
            ]  # fmt: skip
            w = self._pull(solve(self._push(k)), [0.0] * len(k))
            x: list[Real] = []
            for (_, columns), rows in zip(inverses, self.blocks, strict=True):
                for i, r in enumerate(rows):
                    back = (column[i] * w[s] for column, s in zip(columns, rows, strict=True))
                    x.append(k[r] - sum(back, 0.0))
            return x, [a if _zero(r) else a + r * b for a, b, r in zip(w, x, self.R, strict=True)]

        return both


@dataclass(frozen=True)
class Descent:
    """Steps of Newton's method from one start: how many, and how the proximal term falls, tenfold
    in every step, from ``eps`` to ``last``.
    """

    steps: int
    eps: Real
    last: Real


class Best:
    """The iterate that misses its laws least, until it is good enough: a point (x, error)."""

    def __init__(self, enough: Real, x: Sequence[Real], error: Real):
        self.enough, self.x, self.error = enough, list(x), error

    def or_better(self, x: Sequence[Real], error: Real) -> Best:
        """Another point where it misses less; never where that is not a number."""
        falls = select(error < self.error, self.missed(self.enough), 0.0) > 0.5
        kept = [select(falls, a, b) for a, b in zip(x, self.x, strict=True)]
        return Best(self.enough, kept, select(falls, error, self.error))

    def missed(self, by: Real) -> Real:
        """1 where the laws are missed by more than this, else 0."""
        return select(self.error > by, 1.0, 0.0)


def newton(problem: Problem, start: Sequence[Real], d: Descent, best: Best) -> Best:
    """Newton's method from a start: the best of all iterates, and of what was best before."""
    x = problem.fit(start)
    laws = problem.laws(x, problem.velocities(x))
    best, enough = best.or_better(x, worst(laws)), best.enough
    n, m = len(problem), sum(len(law.numbers) for law in laws)

    def step(state: list[Real]) -> list[Real]:
        x, numbers, kept = state[:n], state[n : n + m], state[n + m : 2 * n + m]
        error, near, _ = state[2 * n + m :]
        last = problem.made(numbers)
        tried = problem.solve(last, near, x)
        x = problem.fit(tried)
        laws = problem.after(tried, last, problem.laws(x, problem.velocities(x)))
        better = Best(enough, kept, error).or_better(x, worst(laws))
        numbers = [e for law in laws for e in law.numbers]
        near = maximum(0.1 * near, d.last)
        return [*x, *numbers, *better.x, better.error, near, better.missed(enough)]

    numbers = [e for law in laws for e in law.numbers]
    state = [*x, *numbers, *best.x, best.error, d.eps, best.missed(enough)]
    state = repeat(d.steps, state, step, "newton", while_last=True)
    return Best(enough, state[n + m : 2 * n + m], state[2 * n + m])


def worst(laws: Sequence[Law]) -> Real:
    """The square of what the laws are missed by, in the worst block."""
    most: Real = 0.0
    for law in laws:
        most = maximum(most, law.error)
    return most


def eliminate(A: Matrix, order: Sequence[int]) -> Elimination:
    """The solution r ↦ A⁻¹ r by elimination in this order, without exchange of rows."""
    rows = [{j: x for j, x in enumerate(row) if not _zero(x)} for row in A]
    return eliminate_sparse(rows, order)


def eliminate_sparse(A: Sequence[dict[int, Real]], order: Sequence[int]) -> Elimination:
    """The same of sparse rows."""
    rows = [dict(row) for row in A]
    inverse: dict[int, Real] = {}
    lower: dict[int, dict[int, Real]] = {}
    at = {k: n for n, k in enumerate(order)}
    for k in order:
        row = {j: x for j, x in rows[k].items() if at[j] > at[k]}
        inverse[k] = reciprocal(rows[k][k])
        lower[k] = {}
        for i in order[at[k] + 1 :]:
            if k not in rows[i]:
                continue
            l = rows[i].pop(k) * inverse[k]
            lower[k][i] = l
            for j, x in row.items():
                rows[i][j] = rows[i][j] - l * x if j in rows[i] else -(l * x)

    def solve(r: Sequence[Real]) -> list[Real]:
        x = list(r)
        for k in order:
            if _zero(x[k]):
                continue
            for i, l in lower[k].items():
                x[i] = x[i] - l * x[k]
        for k in reversed(order):
            for j, y in rows[k].items():
                if at[j] > at[k]:
                    x[k] = x[k] - y * x[j]
            x[k] = x[k] * inverse[k]
        return x

    return solve


def least_degree(M: Sequence[dict[int, Real]], J: Sequence[Sequence[Real]]) -> list[int]:
    """An order of elimination of M + Jᵀ K J with little fill."""
    meets: dict[int, set[int]] = {k: set(row) - {k} for k, row in enumerate(M)}
    for row in J:
        used = {k for k, x in enumerate(row) if not _zero(x)}
        for k in used:
            meets[k] |= used - {k}
    order: list[int] = []
    while meets:
        k = min(meets, key=lambda n: (len(meets[n]), -n))
        around = meets.pop(k)
        for j in around:
            meets[j] = (meets[j] | around) - {j, k}
        order.append(k)
    return order


def dot(a: Sequence[Real], b: Sequence[Real], start: Real = 0.0) -> Real:
    """Σ a b."""
    return sum((x * y for x, y in zip(a, b, strict=True) if not (_zero(x) or _zero(y))), start)


def _times(A: Matrix, x: Sequence[Real]) -> list[Real]:
    return [dot(row, x) for row in A]


def _zero(x: Real) -> bool:
    return number(x) == 0.0
