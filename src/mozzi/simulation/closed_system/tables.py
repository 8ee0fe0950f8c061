"""Tables of arrays, by system, as one array."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from types import EllipsisType
from typing import TypeAlias, cast

import numpy as np

from mozzi.targets.cpu.calls import table_call
from mozzi.targets.cpu.calls.table_call import Places
from mozzi.types import Array

__all__ = ["Layout"]

Place: TypeAlias = tuple[EllipsisType | slice, ...]
"""An index of an array."""


class Layout:
    """How arrays by name lie in one array.

    slices: the rows of each. rows: how many rows the one array has. tail: the shape of a row.
    """

    def __init__(self, slices: Mapping[str, slice], rows: int, tail: tuple[int, ...] = ()):
        self.shapes = {name: (at.stop - at.start, *tail) for name, at in slices.items()}
        self.zeros = {name: np.zeros(shape) for name, shape in self.shapes.items()}
        self.whole = rows, *tail
        self._at: list[tuple[str, Place]] = [
            (name, (..., at, *(slice(None) for _ in tail))) for name, at in slices.items()
        ]
        arrays = [(name, at.start, at.stop) for name, at in slices.items()]
        self.places = Places(arrays, rows, *tail)

    @classmethod
    def stacked(cls, sizes: Mapping[str, int], tail: tuple[int, ...] = ()) -> Layout:
        """Of arrays with so many rows, one behind the other."""
        ends = np.cumsum([*sizes.values()]).tolist()
        slices = {name: slice(end - n, end) for (name, n), end in zip(sizes.items(), ends)}
        return cls(slices, sum(sizes.values()), tail)

    @cached_property
    def join(self) -> Callable[[object], Array | None]:
        """Of a table: the one array. None of what is no dict of as many contiguous arrays of just
        these shapes.
        """
        return cast("Callable[[object], Array | None]", table_call.join(self.places))

    @cached_property
    def join_some(self) -> Callable[[object], Array | None]:
        """The same, with zeros for arrays that a table lacks; of None, all zeros."""
        return cast("Callable[[object], Array | None]", table_call.join(self.places, optional=True))

    @cached_property
    def _split(self) -> Callable[[Array], dict[str, Array] | None]:
        return cast("Callable[[Array], dict[str, Array] | None]", table_call.split(self.places))

    def table(self, array: Array) -> dict[str, Array]:
        """Of the one array: the table."""
        found = self._split(array)
        return self.views(array) if found is None else found

    def views(self, array: Array) -> dict[str, Array]:
        """The same, in the memory of the array."""
        return {name: array[at] for name, at in self._at}
