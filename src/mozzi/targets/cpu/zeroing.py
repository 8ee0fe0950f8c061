"""Which scratch memory a program reads before it writes it: that must be zero at the beginning.

Everything that decides an address is known: loops, tables and strides. So the program is run
without values, all iterations at once, and for every element the time of its first write is
compared with the times of its reads.
"""

from __future__ import annotations

import numpy as np

from mozzi.program.node import Node, Region
from mozzi.program.program import Buffer, Index, Loop, Program, Statement, Store

__all__ = ["unwritten"]

ACCESSES_MAX = 1_000_000  # to follow; more is not worth the time
NEVER = np.iinfo(np.int64).max


class _TooMuch(Exception):
    pass


def unwritten(program: Program) -> dict[int, list[tuple[int, int]]]:
    """For scratch buffers, by id: the ranges (start, stop) that are read before written."""
    buffers = {id(b): b for b in program.buffers() if b.kind == "scratch"}
    try:
        found = _Run(buffers).follow(program)
    except _TooMuch:
        return {key: [(0, b.size)] for key, b in buffers.items() if b.size}
    return {key: _ranges(places, buffers[key].size) for key, places in found.items() if len(places)}


def _ranges(places: np.ndarray, size: int) -> list[tuple[int, int]]:
    """Sorted places as ranges; all of the buffer where they are many."""
    cuts = np.flatnonzero(np.diff(places) > 1)
    starts, stops = places[np.r_[0, cuts + 1]], places[np.r_[cuts, len(places) - 1]] + 1
    if len(starts) > 8:
        return [(0, size)]
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


class _Run:
    def __init__(self, buffers: dict[int, Buffer]):
        self.buffers = buffers
        self.reads: list[tuple[int, np.ndarray, np.ndarray]] = []
        self.found: dict[int, list[np.ndarray]] = {key: [] for key in buffers}
        self.first: dict[int, np.ndarray] = {
            key: np.full(b.size, NEVER) for key, b in buffers.items()
        }
        self.left = ACCESSES_MAX

    def follow(self, program: Program) -> dict[int, np.ndarray]:
        now = np.zeros(1, np.int64)
        self.region(program.region, {}, now)
        self.compare(0)
        for x in program.outputs:
            if isinstance(x.values, Buffer) and x.values.kind == "scratch":
                key = id(x.values)
                self.found[key].append(np.flatnonzero(self.first[key] == NEVER))
        none = np.zeros(0, np.int64)
        return {key: np.unique(np.concatenate([none, *parts])) for key, parts in self.found.items()}

    def compare(self, since: int) -> None:
        """Find what these reads find unwritten."""
        for key, places, times in self.reads[since:]:
            self.found[key].append(places[self.first[key][places] >= times])
        del self.reads[since:]

    def index(self, index: Index | None, values: dict[int, np.ndarray]) -> np.ndarray | int:
        if index is None:
            return 0
        if index.table is not None:
            return np.asarray(index.table, np.int64)[self.index(index.at, values)]
        if index.terms:
            return sum(factor * self.index(term, values) for term, factor in index.terms)
        return values[id(index)]

    def places(
        self, access: tuple[Index | None, int, int], values: dict[int, np.ndarray], n: int
    ) -> np.ndarray:
        index, stride, offset = access
        self.spend(n)
        return np.broadcast_to(np.asarray(self.index(index, values) * stride + offset), (n,))

    def region(self, region: Region, values: dict[int, np.ndarray], start: np.ndarray) -> None:
        """Run a region for many iterations at once; `start`: when each of them begins."""
        now = start
        for s in region.statements:
            if isinstance(s, Loop):
                self.loop(s, values, now)
                now = now + _duration(s)
            elif isinstance(s, Store):
                key = id(s.buffer)
                if key in self.buffers:
                    places = self.places((s.index, s.stride, s.offset), values, len(now))
                    np.minimum.at(self.first[key], places, now)
                now = now + 1
            elif s.op == "load":
                buffer = s.address.buffer
                if id(buffer) in self.buffers:
                    places = self.places(s.address[1:], values, len(now))
                    self.reads.append((id(buffer), places, now))
                now = now + 1

    def loop(self, loop: Loop, values: dict[int, np.ndarray], start: np.ndarray) -> None:
        who, at, step = self.steps(loop, values, len(start))
        time = start[who] + step * sum(map(_length, loop.branches))
        inner = {key: x[who] for key, x in values.items()} | {id(loop.variable): at}
        which = np.zeros(len(at), int) if loop.which is None else np.asarray(loop.which)[at]
        before, since = self.first, len(self.reads)
        if loop.going is not None:
            self.first = {key: x.copy() for key, x in before.items()}
        for number, branch in enumerate(loop.branches):
            own = which == number
            if own.any():
                self.region(branch, {key: x[own] for key, x in inner.items()}, time[own])
        if loop.going is not None:  # what it writes counts for itself, if it is met once
            if len(start) > 1:
                self.first = before
            self.compare(since)
            self.first = before

    def steps(
        self, loop: Loop, values: dict[int, np.ndarray], n: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All steps of a loop that n iterations around it run: whose, the variable, which step."""
        if isinstance(loop.stop, Node):
            raise _TooMuch
        who = np.arange(n)
        if loop.follow is None and isinstance(loop.start, int):
            at = np.arange(loop.start, loop.stop, loop.step)
            self.spend(n * len(at))
            return np.tile(who, len(at)), np.repeat(at, n), np.repeat(np.arange(len(at)), n)
        first = loop.start if isinstance(loop.start, int) else self.index(loop.start, values)
        at = np.broadcast_to(np.asarray(first, np.int64), (n,))
        found: list[tuple[np.ndarray, ...]] = [(who[:0], at[:0], who[:0])]
        while True:
            if loop.follow is not None:
                going = at >= loop.stop
            else:
                going = at < loop.stop if loop.step > 0 else at > loop.stop
            who, at = who[going], at[going]
            if not len(who):
                whose, ats, steps = (np.concatenate(x) for x in zip(*found, strict=True))
                return whose, ats, steps
            self.spend(len(who))
            found.append((who, at, np.full(len(who), len(found) - 1)))
            at = loop.follow[at] if loop.follow is not None else at + loop.step

    def spend(self, n: int) -> None:
        self.left -= n
        if self.left < 0:
            raise _TooMuch


def _length(region: Region) -> int:
    """How much time one pass through a region takes, at most."""
    return sum(_duration(s) for s in region.statements)


def _duration(s: Statement) -> int:
    if not isinstance(s, Loop):
        return 1
    one = 1 + sum(map(_length, s.branches))
    if s.follow is not None:
        return one * (len(s.follow) + 1)
    if isinstance(s.start, int) and isinstance(s.stop, int):
        return one * (1 + len(range(s.start, s.stop, s.step)))
    return one * ACCESSES_MAX
