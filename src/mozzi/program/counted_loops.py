"""Iterations of a counted number, and arithmetic of matrices: loops of the program while tracing,
plain Python otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from mozzi.program.node import Node, active
from mozzi.program.program import Address, Buffer, Index, load, loop, store, whole_buffer
from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = [
    "Held", "each_row", "entrywise", "in_memory", "loaded", "negated", "product", "repeat",
    "summed", "total",
]  # fmt: skip


LOOPED = 17  # entries of vectors that a loop goes through


def repeat(
    count: int, state: Sequence[Real], step: Callable[[list[Real]], Sequence[Real]], name: str,
    while_last: bool = False, held: bool = False,
) -> list[Real]:  # fmt: skip
    """state ↦ step(state), this many times. while_last: where the last of the state is zero, steps
    change nothing that is read behind them, and may be left out. held: what comes out counts as a
    constant where derivatives are taken.
    """
    now = list(state)
    if active() is None:
        for _ in range(count):
            if while_last and not np.any(cast("float", now[-1])):  # of any sample
                break
            now = list(step(now))
        return now
    if count == 0:
        return now
    memory = Buffer(name, max(1, len(now)), "scratch", held=held)

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
    """A B, in a program of the size of one entry: a loop over rows and columns."""
    if active() is None:
        return A @ B
    left, right = Held("A", A), Held("B", B)

    def entry(r: Index, c: Index) -> Real:
        terms = (left[r, k] * right[k, c] for k in range(A.shape[1]))
        return sum(terms, 0.0)

    return _entries("product", len(A), B.shape[1], entry)


def total(*signed: tuple[float, Traced]) -> Traced:
    """Σ ± A, in a program of the size of one entry."""
    rows, columns = signed[0][1].shape
    if active() is None:
        return np.sum([sign * A for sign, A in signed], axis=0)
    held = [(sign, Held("A", A)) for sign, A in signed]

    def entry(r: Index, c: Index) -> Real:
        return sum((sign * A[r, c] for sign, A in held), 0.0)

    return _entries("total", rows, columns, entry)


def each_row(
    step: Callable[..., Sequence[Traced]], *matrices: Traced, looped: bool = True
) -> tuple[Traced, ...]:
    """The rows that step makes of one row of each of the matrices, as matrices; in a program of the
    size of one row, a loop over rows, or in straight-line code.
    """
    count = len(matrices[0])
    if active() is None or not looped:
        made = [step(*(A[r] for A in matrices)) for r in range(count)]
        return tuple(np.stack(x) for x in zip(*made, strict=True))
    held = [(Held("A", A), A.shape[1]) for A in matrices]
    out: list[Buffer] = []
    for _, r in loop(0, count, name="row"):
        rows = ([A[r, k] for k in range(columns)] for A, columns in held)
        for x in step(*(np.array(row, dtype=object) for row in rows)):
            out.append(Buffer("rows", count * len(x), "scratch"))
            for k, e in enumerate(x.tolist()):
                store(out[-1], r, len(x), k, e)
    return tuple(_loaded(x, count, x.size // count) for x in out)


def entrywise(function: Callable[..., Real], *vectors: Sequence[Real] | Traced) -> list[Real]:
    """function(x, y, …) of the entries of vectors; in a loop where all are memory of the program,
    or constants.
    """
    given = _for_loops(vectors)
    if given is None:
        return [function(*entries) for entries in zip(*vectors, strict=True)]
    out = Buffer("entries", len(vectors[0]), "scratch")
    for _, k in loop(0, out.size, name="row"):
        store(out, k, 1, 0, function(*_entries_at(given, k)))
    return loaded(out)


def summed(function: Callable[..., Real], *vectors: Sequence[Real] | Traced) -> Real:
    """Σ function(x, y, …) of the entries of vectors; in a loop where `entrywise` is one."""
    given, result = _for_loops(vectors), 0.0
    if given is None:
        for entries in zip(*vectors, strict=True):
            result = result + function(*entries)
        return result
    out = Buffer("sum", 1, "scratch")
    store(out, None, 0, 0, 0.0)
    for _, k in loop(0, len(vectors[0]), name="row"):
        store(out, None, 0, 0, load(out, None, 0, 0) + function(*_entries_at(given, k)))
    return load(out, None, 0, 0)


def _for_loops(vectors: Sequence[Sequence[Real] | Traced]) -> list[Buffer | float] | None:
    """Vectors as memory, tables or one number, where a loop goes through them."""
    if active() is None or len(vectors[0]) < LOOPED:
        return None
    given = [whole_buffer(x) or _constant(x) for x in map(list[Real], vectors)]
    if not any(isinstance(x, Buffer) and x.kind != "table" for x in given):
        return None
    return cast("list[Buffer | float]", given) if all(x is not None for x in given) else None


def _constant(vector: Sequence[Real]) -> Buffer | float | None:
    """The number that all entries are, or a table of numbers."""
    if not all(isinstance(x, float) for x in vector):
        return None
    data = np.array(vector, dtype=float)
    return float(data[0]) if (data == data[0]).all() else Buffer("t", len(data), "table", data)


def _entries_at(given: Sequence[Buffer | float], k: Index) -> list[Real]:
    return [load(x, k, 1, 0) if isinstance(x, Buffer) else x for x in given]


def negated(vector: Sequence[Real] | Traced) -> list[Real]:
    """−x."""

    def less(x: Real) -> Real:
        return -x

    return entrywise(less, vector)


def in_memory(name: str, values: Sequence[Real]) -> Buffer:
    """Where values lie in memory, as they are or copied there."""
    found = whole_buffer(values)
    if found is None:
        found = Buffer(name, len(values), "scratch")
        for k, x in enumerate(values):
            store(found, None, 0, k, x)
    return found


def loaded(buffer: Buffer) -> list[Real]:
    """What is in memory now."""
    return [load(buffer, None, 0, k) for k in range(buffer.size)]


class Held:
    """A matrix in memory, as it lies there or turned, or copied there: entries at indices of loops,
    or at numbers.
    """

    def __init__(self, name: str, A: Traced):
        self.by_row, self.by_column = A.shape[1], 1
        found = whole_buffer(A.T.ravel().tolist()) if min(A.shape) > 1 else None
        if found is not None:
            self.by_row, self.by_column = 1, len(A)
        self.buffer = found or in_memory(name, A.ravel().tolist())

    def __getitem__(self, place: tuple[Index | int, Index | int]) -> Node:
        steps = list(zip(place, (self.by_row, self.by_column), strict=True))
        first = sum(k * step for k, step in steps if isinstance(k, int))
        terms = tuple((k, step) for k, step in steps if isinstance(k, Index))
        if len(terms) == 1:
            return load(self.buffer, *terms[0], first)
        return load(self.buffer, Index(terms=terms), 1, first)


def _entries(
    name: str, rows: int, columns: int, entry: Callable[[Index, Index], Real]
) -> Traced:
    out = Buffer(name, rows * columns, "scratch")
    for _, r in loop(0, rows, name="row"):
        for _, c in loop(0, columns, name="column"):
            store(out, Index(terms=((r, columns), (c, 1))), 1, 0, entry(r, c))
    return _loaded(out, rows, columns)


def _loaded(buffer: Buffer, rows: int, columns: int) -> Traced:
    return np.array(loaded(buffer), dtype=object).reshape(rows, columns)
