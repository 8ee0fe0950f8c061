"""Arithmetic on the blocks of a joint: vectors and small matrices, nested sequences, rows first."""

from __future__ import annotations

from collections.abc import Sequence

from mozzi.program.scalar import Real

__all__ = [
    "Block", "apply", "diagonal_plus", "dot", "less", "minus", "negated", "plus", "product",
    "rows", "summed", "transposed",
]  # fmt: skip

Block = Sequence[Sequence[Real]]


# -- vectors --


def plus(x: Sequence[Real], y: Sequence[Real]) -> tuple[Real, ...]:
    """x + y."""
    return tuple(a + b for a, b in zip(x, y, strict=True))


def minus(x: Sequence[Real], y: Sequence[Real]) -> tuple[Real, ...]:
    """x − y."""
    return tuple(a - b for a, b in zip(x, y, strict=True))


def dot(x: Sequence[Real], y: Sequence[Real]) -> Real:
    """xᵀ y."""
    return sum((a * b for a, b in zip(x, y, strict=True)), 0.0)


# -- matrices --


def apply(A: Block, x: Sequence[Real]) -> tuple[Real, ...]:
    """A x."""
    return tuple(dot(row, x) for row in A)


def product(A: Block, B: Block) -> Block:
    """A B."""
    columns = transposed(B)
    return [[dot(row, column) for column in columns] for row in A]


def transposed(A: Block) -> tuple[tuple[Real, ...], ...]:
    """Aᵀ."""
    return tuple(zip(*A, strict=True))


def summed(*blocks: Block) -> tuple[tuple[Real, ...], ...]:
    """The sum of matrices."""
    return tuple(
        tuple(sum(parts[1:], parts[0]) for parts in zip(*rows, strict=True))
        for rows in zip(*blocks, strict=True)
    )


def negated(A: Block) -> Block:
    """−A."""
    return [[-x for x in row] for row in A]


def less(A: Block, B: Block) -> Block:
    """A − B."""
    return [minus(r, s) for r, s in zip(A, B, strict=True)]


def diagonal_plus(A: Block, d: Sequence[Real]) -> list[list[Real]]:
    """A with d added to its diagonal."""
    return [[x + d[r] if r == c else x for c, x in enumerate(row)] for r, row in enumerate(A)]


def rows(flat: Sequence[Real], n: int) -> list[Sequence[Real]]:
    """A flat block as n rows."""
    width = len(flat) // n if n else 0
    return [flat[k * width : (k + 1) * width] for k in range(n)]
