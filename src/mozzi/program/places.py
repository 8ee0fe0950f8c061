"""Which places of memory the loads and stores of a rolled program may touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from mozzi.program.node import Node, Region
from mozzi.program.statements import Address, Index, Loop, Store

__all__ = ["Flags", "Places", "places_of"]

MANY = 100_000  # sums of two indices; of more the places are not told one by one

Places: TypeAlias = "np.ndarray | slice | int"
"""What an array, of one entry for each number of a buffer, is indexed with."""

Values: TypeAlias = "np.ndarray | None"
"""What an index may be; None: anything."""


class Flags:
    """A flag for each number of a buffer, set alike at first."""

    def __init__(self, size: int, first: bool):
        self.each = bytearray([first]) * max(1, size)
        self.array = np.frombuffer(self.each, dtype=np.bool_)  # the same memory

    def all(self, places: Places) -> bool:
        """Whether all of these are set."""
        if isinstance(places, int):
            return bool(self.each[places])
        return bool(self.array[places].all())

    def any(self, places: Places) -> bool:
        """Whether one of these is set."""
        if isinstance(places, int):
            return bool(self.each[places])
        return bool(self.array[places].any())

    def put(self, places: Places, value: bool) -> None:
        """Set these."""
        if isinstance(places, int):
            self.each[places] = value
        else:
            self.array[places] = value


def places_of(region: Region) -> dict[int, Places]:
    """The places of every load and store, by its id; perhaps more than it touches, never less."""
    found: dict[int, Places] = {}
    _look(region, {}, found)
    return found


def _look(region: Region, variables: dict[int, Values], found: dict[int, Places]) -> None:
    known = _Known(variables)
    for s in region.statements:
        if isinstance(s, Loop):
            values = _iterations(s, known)
            for number, branch in enumerate(s.branches):
                taken = values
                if values is not None and s.which is not None:
                    taken = values[s.which[values] == number]
                _look(branch, {**variables, id(s.variable): taken}, found)
        elif isinstance(s, Store):
            found[id(s)] = known.places(Address(s.buffer, s.index, s.stride, s.offset))
        elif s.op == "load":
            found[id(s)] = known.places(s.address)


class _Known:
    """What indices may be in a region, by what the variables of the loops around it may be."""

    def __init__(self, variables: dict[int, Values]):
        self.variables = variables
        self.entries: dict[tuple[int, int], Values] = {}  # by table, and by what it is read at
        self.sums: dict[int, Values] = {}
        self.at: dict[tuple[int, int, int, int], Places] = {}

    def places(self, at: Address) -> Places:
        if at.at is None:
            return at.offset
        values = self.values(at.at)
        if values is None:
            return slice(at.offset % at.stride, None, at.stride) if at.stride > 0 else slice(None)
        key = id(values), at.stride, at.offset, at.buffer.size
        if key not in self.at:
            places = values * at.stride + at.offset
            inside = (places >= 0) & (places < at.buffer.size)  # sums may be too many
            self.at[key] = _regular(places[inside])
        return self.at[key]

    def values(self, index: Index) -> Values:
        if index.table is not None:
            assert index.at is not None
            at = self.values(index.at)
            key = id(index.table), id(at)
            if key not in self.entries:
                self.entries[key] = np.unique(index.table if at is None else index.table[at])
            return self.entries[key]
        if not index.terms:
            return self.variables[id(index)]
        if id(index) not in self.sums:
            self.sums[id(index)] = self._sums(index)
        return self.sums[id(index)]

    def _sums(self, index: Index) -> Values:
        total = np.zeros(1, dtype=np.intp)
        for term, factor in index.terms:
            values = self.values(term)
            if values is None or len(total) * len(values) > MANY:
                return None
            total = np.unique(np.add.outer(total, values * factor))
        return total


def _regular(places: np.ndarray) -> Places:
    """Places at equal distances as a slice, which takes no memory."""
    if len(places) < 2:
        return places
    step = int(places[1] - places[0])
    if step == 0 or (np.diff(places) != step).any():
        return places
    first, last = sorted((int(places[0]), int(places[-1])))
    return slice(first, last + 1, abs(step))


def _iterations(loop: Loop, known: _Known) -> Values:
    """What the variable of a loop may be."""
    first = (
        np.array([loop.start])
        if isinstance(loop.start, int)
        else known.values(loop.start)
    )
    if first is None or isinstance(loop.stop, Node):
        return None
    if loop.follow is not None:
        return _walked(first, loop.follow, loop.stop)
    if isinstance(loop.start, int):
        return np.arange(loop.start, loop.stop, loop.step)
    ends: Sequence[int] = first.tolist()
    if not ends or abs(loop.step) != 1:
        return first if not ends else None
    return np.arange(min(ends) if loop.step > 0 else max(ends), loop.stop, loop.step)


def _walked(first: np.ndarray, follow: np.ndarray, stop: int) -> np.ndarray:
    """From these to follow[…] and so on, while it is not below stop."""
    seen = np.zeros(len(follow), dtype=bool)
    now = first
    while True:
        now = now[now >= stop]
        now = np.unique(now[~seen[now]])
        if not len(now):
            return np.flatnonzero(seen)
        seen[now] = True
        now = follow[now]
