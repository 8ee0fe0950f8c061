"""Small symmetric positive definite matrices (n ≤ 6): nested tuples of scalars, rows first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from mozzi.program.scalar import Real, divide, real, select

__all__ = ["inverse_spd", "solve_spd"]

#: Rows of scalars.
Matrix: TypeAlias = tuple[tuple[Real, ...], ...]


def _factor(
    D: Sequence[Sequence[Real]], least: float = 0.0
) -> tuple[list[list[Real]], list[Real]]:
    """L (unit lower triangular, by rows) and the reciprocal pivots with D = L diag(pivots) Lᵀ."""
    n = len(D)
    L: list[list[Real]] = [[] for _ in range(n)]
    reciprocal: list[Real] = []
    for i in range(n):
        scaled: list[Real] = []  # scaled[k] = L[i][k] · pivot[k]
        for j in range(i):
            y = D[i][j]
            for k in range(j):
                y = y - scaled[k] * L[j][k]
            scaled.append(y)
        L[i] = [y * r for y, r in zip(scaled, reciprocal, strict=True)]
        pivot = D[i][i]
        for y, x in zip(scaled, L[i], strict=True):
            pivot = pivot - y * x
        if i and least:
            pivot = _above(pivot, least * D[i][i])
        reciprocal.append(divide(1.0, pivot, nonzero=True))
    return L, reciprocal


def _above(x: Real, least: Real) -> Real:
    """x, or zero where it is not larger than what rounding may leave of zero."""
    return select(real(x) > real(least), x, 0.0)


def inverse_spd(D: Sequence[Sequence[Real]], least: float = 0.0) -> Matrix:
    """D⁻¹ of a symmetric positive definite D, exactly symmetric; by LDLᵀ, 2×2 by its adjugate.
    Pivots of no more than this share of their diagonal count as zero: D has no inverse there.
    """
    n = len(D)
    if n == 2:
        (a, b), (_, d) = D
        det = a * d - b * b
        r = divide(1.0, _above(det, least * (a * d)) if least else det, nonzero=True)
        off = -(b * r)
        return (d * r, off), (off, a * r)
    L, r = _factor(D, least)
    # rows of K = L⁻¹, then D⁻¹ = Kᵀ diag(r) K
    K: list[list[Real]] = []
    for i in range(n):
        row: list[Real] = []
        for j in range(i):
            x = -L[i][j]
            for k in range(j + 1, i):
                x = x - L[i][k] * K[k][j]
            row.append(x)
        K.append(row)
    scaled = [[r[i] * x for x in K[i]] for i in range(n)]
    inverse: list[list[Real]] = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            x = scaled[i][j] if j < i else r[i]
            for k in range(i + 1, n):
                x = x + K[k][i] * scaled[k][j]
            inverse[i][j] = inverse[j][i] = x
    return tuple(tuple(row) for row in inverse)


def solve_spd(D: Sequence[Sequence[Real]], columns: Sequence[Sequence[Real]]) -> Matrix:
    """The columns D⁻¹ b of a symmetric positive definite D, for each column b."""
    n = len(D)
    L, r = _factor(D)
    solutions: list[tuple[Real, ...]] = []
    for b in columns:
        x = list(b)
        for i in range(n):
            for k in range(i):
                x[i] = x[i] - L[i][k] * x[k]
        x = [e * s for e, s in zip(x, r, strict=True)]
        for i in reversed(range(n)):
            for k in range(i + 1, n):
                x[i] = x[i] - L[k][i] * x[k]
        solutions.append(tuple(x))
    return tuple(solutions)
