"""Λ λ = r for the loops of a mechanism: sparse, of any rank, with fixed control flow.

Λ = Y D⁻¹ Yᵀ is symmetric and positive semidefinite: row r of Y holds the forces y that closure row
r exerts on the joints, by articulated bodies. Two rows meet in Λ only where they act on a common
joint, so that uncoupled loops are uncoupled blocks, and loops that follow one another a band.

The factorisation is LDLᵀ with rows in an order that keeps it sparse. Of a semidefinite matrix a
vanishing pivot means a row that depends on those before it: its equation is left out (its
multiplier is zero), which leaves forces and accelerations as they are. Rows are eliminated in
O(k b²), for k rows that meet b others each.

What a vanishing pivot is: let s be the admittance that the row would have if all its wrenches met
their joints squarely. Rounding of y leaves ε √(Λ_kk s) of a pivot, and an angle e between axes that
should be parallel e² s. So a pivot vanishes below `TOLERANCE` √(Λ_kk s) + `PARALLEL` s; the second
alone would drop rows that do nothing in a joint of tiny inertia (a rod about its axis), where s is
large and Λ_kk is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mozzi.lie.vec import number
from mozzi.program.scalar import divide, maximum, select, sqrt
from mozzi.program.settings import settings

__all__ = ["MOST", "PARALLEL", "TOLERANCE", "Factor", "Row", "cancelled"]

TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
"""Of pivots, squares of sines: rows are dependent below an angle of a microradian (or 3e-3)."""

PARALLEL = {"float64": 1e-13, "float32": 1e-6}
"""Squares of angles between what should be parallel: 3e-7 (or 1e-3). In a singular configuration
that was found by closing it, angles are known to the root of rounding only.
"""

CANCELLED = {"float64": 1e-16, "float32": 1e-6}
"""Squares, of what rounding may leave of unit wrenches that cancel, seen by the above."""

MOST = 36
"""Rows whose multipliers of least norm are found inside a program."""

Row = dict[int, Any]
"""A sparse row: column → scalar that is not structurally zero."""


def gram(Y: Sequence[Row], DY: Sequence[Row], order: Sequence[int]) -> dict[int, Row]:
    """Y DYᵀ, which is symmetric: row k has the columns that come after k in the order, and k.

    Rows meet where one acts on what the other moves: D⁻¹ couples the coordinates of a joint.
    """
    at = {k: n for n, k in enumerate(order)}
    users: dict[int, list[int]] = {}
    for k in order:
        for c in DY[k]:
            users.setdefault(c, []).append(k)
    matrix: dict[int, Row] = {}
    for k in order:
        meets = {j for c in Y[k] for j in users[c] if at[j] >= at[k]}
        products = ((j, _dot(Y[k], DY[j])) for j in sorted(meets, key=at.__getitem__))
        matrix[k] = {j: x for j, x in products if number(x) != 0.0}
    return matrix


def cancelled() -> float:
    """`CANCELLED`, for the numbers that are traced."""
    return CANCELLED[settings().dtype]


class Factor:
    """LDLᵀ of a sparse symmetric semidefinite matrix; pivots below their scale are left out."""

    def __init__(self, matrix: dict[int, Row], order: Sequence[int], scale: Any):
        self.order = order
        self.reciprocal: dict[int, Any] = {}
        self.dependent: dict[int, Any] = {}
        self.pivot: dict[int, Any] = {}
        self.below: dict[int, Row] = {}  # column k of L, below its diagonal
        at = {k: n for n, k in enumerate(order)}
        near, parallel = TOLERANCE[settings().dtype], PARALLEL[settings().dtype]
        whole = {k: maximum(matrix[k].get(k, 0.0), 0.0) for k in order}
        for k in order:
            row = matrix[k]
            pivot = row.pop(k, 0.0)
            small = pivot <= near * sqrt(whole[k] * scale[k]) + parallel * scale[k]
            inverse = select(small, 0.0, divide(1.0, select(small, 1.0, pivot), nonzero=True))
            self.reciprocal[k], self.dependent[k], self.pivot[k] = inverse, small, pivot
            self.below[k] = {j: x * inverse for j, x in row.items()}
            for j, l in self.below[k].items():
                to = matrix[j]
                for i, x in row.items():
                    if at[i] >= at[j]:
                        to[i] = to[i] - l * x if i in to else -(l * x)

    @classmethod
    def of(cls, Y: Sequence[Row], DY: Sequence[Row], scale: Sequence[Any]) -> Factor:
        """Of Y DYᵀ; rows that are structurally zero take no part."""
        order = [k for k in elimination_order(DY) if Y[k]]
        return cls(gram(Y, DY, order), order, scale)

    def counts(self) -> tuple[Any, Any]:
        """(rank, rows left out), of the rows that are not structurally zero."""
        left_out = sum((select(self.dependent[k], 1.0, 0.0) for k in self.order), 0.0)
        return len(self.order) - left_out, left_out

    def multipliers(self, r: Sequence[Any]) -> list[Any]:
        """λ with Λ λ = r, for every row; zero for rows that depend on others.

        r must be in the range of Λ, as it is for rows that agree.
        """
        x = self.solve({k: r[k] for k in self.order})
        return [x.get(k, 0.0) for k in range(len(r))]

    def solve(self, r: dict[int, Any]) -> dict[int, Any]:
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

        Λ z = 0 where Lᵀ z vanishes at all pivots: z is 1 at the row, and the rest follows.
        """
        vectors = {}
        for n, k in enumerate(self.order):
            z: Row = {k: select(self.dependent[k], 1.0, 0.0)}
            for j in reversed(self.order[:n]):
                x = _dot(self.below[j], z)
                if number(x) != 0.0:
                    z[j] = -x
            vectors[k] = z
        return vectors

    def shortest(self, multipliers: Sequence[Any]) -> list[Any]:
        """λ less its part in the null space: λ − Z (ZᵀZ)⁻¹ Zᵀ λ.  O(k³)."""
        x = {k: multipliers[k] for k in self.order}
        Z = self.null_vectors()
        at = {k: n for n, k in enumerate(self.order)}
        square: dict[int, Row] = {}
        for k in self.order:
            square[k] = {j: _dot(Z[k], Z[j]) for j in self.order if at[j] >= at[k]}
            square[k] = {j: y for j, y in square[k].items() if number(y) != 0.0}
            square[k][k] = select(self.dependent[k], square[k].get(k, 0.0), 1.0)
        inside = Factor(square, self.order, {k: 0.0 for k in self.order})
        part = inside.solve({k: _dot(Z[k], x) for k in self.order})
        total: Row = {}
        for k in self.order:
            _add(total, Z[k], part[k])
        return [x - total.get(k, 0.0) for k, x in enumerate(multipliers)]


def elimination_order(DY: Sequence[Row]) -> list[int]:
    """Rows in an order of elimination with little fill: of least degree first."""
    meets: dict[int, set[int]] = {k: set() for k in range(len(DY))}
    by_column: dict[int, list[int]] = {}
    for k, row in enumerate(DY):
        for c in row:
            by_column.setdefault(c, []).append(k)
    for rows in by_column.values():
        for k in rows:
            meets[k].update(rows)
    for k, others in meets.items():
        others.discard(k)
    order = []
    while meets:
        k = min(meets, key=lambda n: (len(meets[n]), n))
        around = meets.pop(k)
        for j in around:
            meets[j] |= around
            meets[j] -= {j, k}
        order.append(k)
    return order


def _dot(a: Row, b: Row) -> Any:
    if len(b) < len(a):
        a, b = b, a
    return sum((x * b[c] for c, x in a.items() if c in b), 0.0)


def _add(total: Row, row: Row, factor: Any) -> None:
    for c, x in row.items():
        total[c] = total[c] + x * factor if c in total else x * factor
