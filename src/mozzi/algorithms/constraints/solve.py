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

from collections.abc import Sequence

from mozzi.algorithms.constraints.rank import smallest_pivot
from mozzi.algorithms.constraints.sparse import Row, add_to, dot, elimination_order, gram
from mozzi.lie.vec import number
from mozzi.program.scalar import Condition, Real, divide, maximum, select
from mozzi.types import Traced

__all__ = ["LEAST_NORM_ROWS", "Factor"]

LEAST_NORM_ROWS = 36
"""Rows whose multipliers of least norm are found inside a program."""

class Factor:
    """LDLᵀ of a sparse symmetric semidefinite matrix; pivots below their scale are left out, and
    rows that are not kept (1 or 0 for every row).
    """

    def __init__(
        self, matrix: dict[int, Row], order: Sequence[int], scale: Sequence[Real] | Row,
        kept: Sequence[Real] | Traced | None = None,
    ):  # fmt: skip
        self.order = order
        self.reciprocal: dict[int, Real] = {}
        self.dependent: dict[int, Condition] = {}
        self.pivot: dict[int, Real] = {}
        self.below: dict[int, Row] = {}  # column k of L, below its diagonal
        self.beside: dict[int, Row] = {}  # what row k has there, where later rows were kept instead
        at = {k: n for n, k in enumerate(order)}
        whole = {k: maximum(matrix[k].get(k, 0.0), 0.0) for k in order}
        for k in order:
            row = matrix[k]
            pivot = row.pop(k, 0.0)
            small = pivot <= smallest_pivot(whole[k], scale[k])
            if kept is not None:
                small = select(small, 0.0, kept[k]) < 0.5
            inverse = select(small, 0.0, divide(1.0, select(small, 1.0, pivot), nonzero=True))
            self.reciprocal[k], self.dependent[k], self.pivot[k] = inverse, small, pivot
            self.below[k] = {j: x * inverse for j, x in row.items()}
            self.beside[k] = {} if kept is None else dict(row)
            for j, l in self.below[k].items():
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
        return cls(gram(Y, DY, order), order, scale, kept)

    def counts(self) -> tuple[Real, Real]:
        """(rank, rows left out), of the rows that are not structurally zero."""
        left_out = sum((select(self.dependent[k], 1.0, 0.0) for k in self.order), 0.0)
        return len(self.order) - left_out, left_out

    def multipliers(self, r: Sequence[Real]) -> list[Real]:
        """λ with Λ λ = r, for every row; zero for rows that depend on others.

        r must be in the range of Λ, as it is for rows that agree.
        """
        x = self.solve({k: r[k] for k in self.order})
        return [x.get(k, 0.0) for k in range(len(r))]

    def solve(self, r: dict[int, Real]) -> dict[int, Real]:
        """x with L D Lᵀ x = r; zero where a pivot was left out, whose column of L is zero."""
        x = dict(r)
        for k in self.order:
            for j, l in self.below[k].items():
                x[j] = x[j] - l * x[k]
        for k in reversed(self.order):
            x[k] = x[k] * self.reciprocal[k]
            for j, l in self.below[k].items():
                x[k] = x[k] - l * x[j]
        return x

    def null_vectors(self) -> dict[int, Row]:
        """For every row that was left out, how it follows from others; zero for the others.

        Λ z = 0 with z 1 at the row: D Lᵀ z vanishes at all pivots. Its column of D Lᵀ is L D below
        and, where rows after it were kept, what elimination leaves of it beside.
        """
        vectors: dict[int, Row] = {}
        for n, k in enumerate(self.order):
            left, column = dict(self.beside[k]), Row()
            for j in self.order[n + 1 :] if left else ():
                if j in left:
                    column[j] = left[j] * self.reciprocal[j]
                    add_to(left, self.below[j], -left[j])
            z: Row = {k: select(self.dependent[k], 1.0, 0.0)}
            for j in reversed(self.order):
                if j != k:
                    x = dot(self.below[j], z) + column.get(j, 0.0) * z[k]
                    if number(x) != 0.0:
                        z[j] = -x
            vectors[k] = z
        return vectors

    def shortest(self, multipliers: Sequence[Real]) -> list[Real]:
        """λ less its part in the null space: λ − Z (ZᵀZ)⁻¹ Zᵀ λ.  O(k³)."""
        x = {k: multipliers[k] for k in self.order}
        Z = self.null_vectors()
        at = {k: n for n, k in enumerate(self.order)}
        square: dict[int, Row] = {}
        for k in self.order:
            square[k] = {j: dot(Z[k], Z[j]) for j in self.order if at[j] >= at[k]}
            square[k] = {j: y for j, y in square[k].items() if number(y) != 0.0}
            square[k][k] = select(self.dependent[k], square[k].get(k, 0.0), 1.0)
        inside = Factor(square, self.order, {k: 0.0 for k in self.order})
        part = inside.solve({k: dot(Z[k], x) for k in self.order})
        total: Row = {}
        for k in self.order:
            add_to(total, Z[k], part[k])
        return [x - total.get(k, 0.0) for k, x in enumerate(multipliers)]
