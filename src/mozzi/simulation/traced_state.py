"""Arrays that live across the iterations of a traced loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from mozzi.program.program import Buffer, Index, load, store
from mozzi.program.scalar import Real
from mozzi.types import Array, ArrayLike, Traced

__all__ = ["Memory", "table"]

Values: TypeAlias = ArrayLike | Sequence[Real] | Real


class Memory:
    """An array in scratch memory: ``set`` stores it, ``get`` loads it, at that point of the trace.

    Shape (rows, …) with ``row`` set addresses one row, which may be a loop's variable.
    """

    def __init__(self, name: str, shape: tuple[int, ...] | int, value: Values | None = None):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.buffer = Buffer(name, max(1, math.prod(self.shape)), "scratch")
        if value is not None:
            self.set(value)

    def set(self, value: Values) -> None:
        """Store the whole array."""
        values = np.broadcast_to(np.asarray(value, dtype=object), self.shape)
        for k, x in enumerate(values.ravel()):
            store(self.buffer, None, 0, k, x)

    def get(self) -> Traced:
        """Load the whole array."""
        return self._read(None, self.shape)

    def set_row(self, row: int | Index, value: Values) -> None:
        """Store one row."""
        size = math.prod(self.shape[1:])
        index, first = (row, 0) if isinstance(row, Index) else (None, row * size)
        for k, x in enumerate(np.asarray(value, dtype=object).ravel()):
            store(self.buffer, index, size, first + k, x)

    def get_row(self, row: int | Index) -> Traced:
        """Load one row."""
        return self._read(row, self.shape[1:])

    def _read(self, row: int | Index | None, shape: tuple[int, ...]) -> Traced:
        size = math.prod(shape)
        index = row if isinstance(row, Index) else None
        first = row * size if isinstance(row, int) else 0
        out = np.empty(size, dtype=object)
        for k in range(size):
            out[k] = load(self.buffer, index, size, first + k)
        return out.reshape(shape)


def table(name: str, rows: Array, at: Index) -> Traced:
    """One row of constants, at a loop's variable."""
    data = np.asarray(rows, dtype=float)
    size = math.prod(data.shape[1:])
    buffer = Buffer(name, data.size, "table", data.ravel())
    out = np.empty(size, dtype=object)
    for k in range(size):
        out[k] = load(buffer, at, size, k)
    return out.reshape(data.shape[1:])
