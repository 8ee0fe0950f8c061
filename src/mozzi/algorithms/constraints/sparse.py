"""Sparse symmetric matrices of scalars, row by row, as loops make them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from mozzi.lie.vec import number
from mozzi.program.scalar import Real

__all__ = ["Row", "add_to", "connected", "dot", "elimination", "elimination_order", "gram"]

Row = dict[int, Real]
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
        products = ((j, dot(Y[k], DY[j])) for j in sorted(meets, key=at.__getitem__))
        matrix[k] = {j: x for j, x in products if number(x) != 0.0}
    return matrix


def connected(matrix: dict[int, Row]) -> list[list[int]]:
    """The rows of a symmetric matrix in groups that do not meet one another."""
    group = {k: [k] for k in matrix}
    for i, row in matrix.items():
        for j in row:
            small, large = sorted((group[i], group[j]), key=len)
            if small is not large:
                large += small
                group |= dict.fromkeys(small, large)
    return list({id(x): x for x in group.values()}.values())


def elimination_order(rows: Sequence[Iterable[int]]) -> list[int]:
    """Rows in an order of elimination with little fill: of least degree first. Rows meet where
    they have a common column.
    """
    return [k for k, _ in elimination(rows)]


def elimination(rows: Sequence[Iterable[int]]) -> list[tuple[int, set[int]]]:
    """Rows in that order, each with the later ones that it meets when it is eliminated."""
    meets: dict[int, set[int]] = {k: set() for k in range(len(rows))}
    by_column: dict[int, list[int]] = {}
    for k, row in enumerate(rows):
        for c in row:
            by_column.setdefault(c, []).append(k)
    for users in by_column.values():
        for k in users:
            meets[k].update(users)
    for k, others in meets.items():
        others.discard(k)
    order: list[tuple[int, set[int]]] = []
    queue = [(len(others), k) for k, others in meets.items()]
    heapify(queue)
    while queue:
        degree, k = heappop(queue)
        if k not in meets or degree != len(meets[k]):
            continue  # it has another degree by now
        around = meets.pop(k)
        for j in around:
            meets[j] |= around
            meets[j] -= {j, k}
            heappush(queue, (len(meets[j]), j))
        order.append((k, around))
    return order


def dot(a: Row, b: Row) -> Real:
    """The product of two sparse rows."""
    if len(b) < len(a):
        a, b = b, a
    return sum((x * b[c] for c, x in a.items() if c in b), 0.0)


def add_to(total: Row, row: Row, factor: Real) -> None:
    """total + factor · row, in place."""
    for c, x in row.items():
        total[c] = total[c] + x * factor if c in total else x * factor
