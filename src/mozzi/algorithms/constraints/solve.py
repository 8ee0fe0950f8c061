"""Λ λ = r for the loops of a mechanism: sparse, of any rank, with fixed control flow.

Λ = Y D⁻¹ Yᵀ is symmetric and positive semidefinite: row r of Y holds the forces y that closure row
r exerts on the joints, by articulated bodies. Two rows meet in Λ only where they act on a common
joint, so that uncoupled loops are uncoupled blocks, and loops that follow one another a band.

The factorisation is LDLᵀ with rows in an order that keeps it sparse. Of a semidefinite matrix a
vanishing pivot means a row that depends on those before it: its equation is left out (its
multiplier is zero), which leaves forces and accelerations as they are. Rows are eliminated in
O(k b²), for k rows that meet b others each.

What a vanishing pivot is, and how rows are chosen where some always depend on others: `rank`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mozzi.algorithms.constraints.rank import smallest_pivot
from mozzi.algorithms.constraints.sparse import Row, add_to, dot, elimination_order, gram
from mozzi.lie.vec import number
from mozzi.program.scalar import Condition, Real, divide, maximum, select
from mozzi.types import Traced

__all__ = ["Factor", "Triangles"]


@dataclass
class Triangles:
    """L and D of some rows. reciprocal: of pivots, zero of those that are left out; below: columns
    of L, below their diagonals.
    """

    order: Sequence[int]
    reciprocal: Mapping[int, Real]
    below: Mapping[int, Row]

    def forward(self, r: Mapping[int, Real]) -> dict[int, Real]:
        """L⁻¹ r."""
        x = dict(r)
        for k in self.order:
            for j, l in self.below[k].items():
                x[j] = x[j] - l * x[k]
        return x

    def backward(self, r: Mapping[int, Real]) -> dict[int, Real]:
        """L⁻ᵀ D⁻¹ r, of rows that are eliminated; other entries are those of the solution."""
        x = dict(r)
        for k in reversed(self.order):
            x[k] = x[k] * self.reciprocal[k]
            for j, l in self.below[k].items():
                x[k] = x[k] - l * x[j]
        return x


class Factor(Triangles):
    """LDLᵀ of a sparse symmetric semidefinite matrix; pivots that are no larger than ``least`` are
    left out, and rows that are not kept (1 or 0 for every row). scale: what pivots are measured by,
    for `counts`. beyond: rows that are not eliminated; what is left of the matrix there.
    """

    def __init__(
        self, matrix: dict[int, Row], order: Sequence[int], least: Sequence[Real] | Row,
        kept: Sequence[Real] | Traced | None = None, scale: Sequence[Real] = (),
        beyond: Sequence[int] = (),
    ):  # fmt: skip
        reciprocal: dict[int, Real] = {}
        below: dict[int, Row] = {}
        super().__init__(order, reciprocal, below)
        self.dependent: dict[int, Condition] = {}
        self.pivot: dict[int, Real] = {}
        self.least, self.scale = least, scale
        self.beside: dict[int, Row] = {}  # what row k has there, where later rows were kept instead
        at = {k: n for n, k in enumerate((*order, *beyond))}
        for k in order:
            row = matrix[k]
            pivot = row.pop(k, 0.0)
            small = pivot <= least[k]
            if kept is not None:
                small = select(small, 0.0, kept[k]) < 0.5
            inverse = select(small, 0.0, divide(1.0, select(small, 1.0, pivot), nonzero=True))
            reciprocal[k], self.dependent[k], self.pivot[k] = inverse, small, pivot
            below[k] = {j: x * inverse for j, x in row.items()}
            self.beside[k] = {} if kept is None else dict(row)
            for j, l in below[k].items():
                to = matrix[j]
                for i, x in row.items():
                    if at[i] >= at[j]:
                        to[i] = to[i] - l * x if i in to else -(l * x)

    @classmethod
    def of(
        cls, Y: Sequence[Row], DY: Sequence[Row], scale: Sequence[Real],
        kept: Sequence[Real] | Traced | None = None,
    ) -> Factor:  # fmt: skip
        """Of Y DYᵀ; rows that are structurally zero take no part, nor those that are not kept."""
        order = [k for k in elimination_order(DY) if Y[k]]
        return cls.of_gram(gram(Y, DY, order), order, scale, kept)

    @classmethod
    def of_gram(
        cls, matrix: dict[int, Row], order: Sequence[int], scale: Sequence[Real],
        kept: Sequence[Real] | Traced | None = None,
    ) -> Factor:  # fmt: skip
        """Of Λ, whose rows have these scales."""
        least = {
            k: smallest_pivot(maximum(matrix[k].get(k, 0.0), 0.0), scale[k]) for k in order
        }
        return cls(matrix, order, least, kept, scale)

    def counts(self, open2: Real = 0.0) -> tuple[Real, Real]:
        """(rank, rows left out), of the rows that are not structurally zero; those are counted as
        left out, too, that would be at a state that is open (`rank.opening`).
        """
        left_out: Real = 0.0
        for k in self.order:
            left_out = left_out + self.left_out(k, open2)
        return len(self.order) - left_out, left_out

    def left_out(self, k: int, open2: Real) -> Real:
        """1 where a row counts as that, else 0."""
        small = select(self.dependent[k], 1.0, 0.0)
        if number(open2) == 0.0:
            return small
        return select(self.pivot[k] <= self.least[k] + open2 * self.scale[k], 1.0, small)

    def multipliers(self, r: Sequence[Real]) -> list[Real]:
        """λ with Λ λ = r, for every row; zero for rows that depend on others.

        r must be in the range of Λ, as it is for rows that agree.
        """
        x = self.solve({k: r[k] for k in self.order})
        return [x.get(k, 0.0) for k in range(len(r))]

    def solve(self, r: dict[int, Real]) -> dict[int, Real]:
        """x with L D Lᵀ x = r; zero where a pivot was left out, whose column of L is zero."""
        return self.backward(self.forward(r))

    def columns(self) -> dict[int, Row]:
        """L, whole, by its columns: 1 at its pivot, what is below, and what is beside, at rows that
        were left out before; zero where a pivot was left out.
        """
        found: dict[int, Row] = {
            k: {k: select(self.dependent[k], 0.0, 1.0)} | self.below[k] for k in self.order
        }
        for n, k in enumerate(self.order):
            left = dict(self.beside[k])
            for j in self.order[n + 1 :] if left else ():
                if j in left:
                    x = left[j] * self.reciprocal[j]
                    found[j][k] = select(self.dependent[k], x, 0.0)
                    add_to(left, self.below[j], -left[j])
        return found

    def shortest(self, multipliers: Sequence[Real]) -> list[Real]:
        """λ less its part in the null space of Λ, whose range is that of L: the least squares
        L (LᵀL)⁻¹ Lᵀ λ, corrected once for what rounding has left.

        Columns of L meet where they have a common row: O(k b²), as the factors themselves.
        """
        x, L = {k: multipliers[k] for k in self.order}, self.columns()
        places = {k: n for n, k in enumerate(self.order)}
        order = [self.order[n] for n in elimination_order([L[k] for k in self.order])]
        lists = [L[k] if k in places else Row() for k in range(len(multipliers))]
        square = gram(lists, lists, order)
        for k in order:
            square[k][k] = select(self.dependent[k], 1.0, square[k].get(k, 0.0))
        inside = Factor(square, order, dict.fromkeys(order, 0.0))
        near: Row = {}
        for _ in range(2):
            left = {k: x[k] - near.get(k, 0.0) for k in self.order}
            part = inside.solve({k: dot(L[k], left) for k in order})
            for k in order:
                add_to(near, L[k], part[k])
        return [near.get(k, 0.0) for k in range(len(multipliers))]
