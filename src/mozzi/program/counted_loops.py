"""Iterations of a counted number, and products of matrices: loops of the program while tracing,
plain Python otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mozzi.program.node import active
from mozzi.program.program import Address, Buffer, Index, load, loop, store, whole_buffer
from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = ["product", "repeat"]


def repeat(
    count: int, state: Sequence[Real], step: Callable[[list[Real]], Sequence[Real]], name: str,
    while_last: bool = False,
) -> list[Real]:  # fmt: skip
    """state ↦ step(state), this many times. while_last: where the last of the state is zero, steps
    change nothing that is read behind them, and may be left out.
    """
    now = list(state)
    if active() is None:
        for _ in range(count):
            if while_last and now[-1] == 0.0:
                break
            now = list(step(now))
        return now
    if count == 0:
        return now
    memory = Buffer(name, max(1, len(now)), "scratch")

    def put(values: Sequence[Real]) -> None:
        for k, x in enumerate(values):
            store(memory, None, 0, k, x)

    def get() -> list[Real]:
        return [load(memory, None, 0, k) for k in range(len(now))]

    put(now)
    going = Address(memory, None, 0, len(now) - 1) if while_last else None
    for _ in loop(0, count, name=name, going=going):
        put(list(step(get())))
    return get()


def product(A: Traced, B: Traced) -> Traced:
    """Aᵀ B, in a program of the size of one entry: a loop over rows and columns."""
    if active() is None:
        return A.T @ B
    (n, rows), columns = A.shape, B.shape[1]
    left, right = _memory("A", A), _memory("B", B)
    out = Buffer("product", rows * columns, "scratch")
    for _, r in loop(0, rows, name="row"):
        for _, c in loop(0, columns, name="column"):
            total: Real = 0.0
            for k in range(n):
                total = total + load(left, r, 1, k * rows) * load(right, c, 1, k * columns)
            store(out, Index(terms=((r, columns), (c, 1))), 1, 0, total)
    entries = [load(out, None, 0, e) for e in range(out.size)]
    return np.array(entries, dtype=object).reshape(rows, columns)


def _memory(name: str, A: Traced) -> Buffer:
    """The buffer that a matrix is, or one with its numbers."""
    entries: list[Real] = A.ravel().tolist()
    found = whole_buffer(entries)
    if found is None:
        found = Buffer(name, len(entries), "scratch")
        for e, x in enumerate(entries):
            store(found, None, 0, e, x)
    return found
