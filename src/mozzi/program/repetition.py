"""Where a run of statements repeats itself: the same operations again and again, with operands from
the same places inside a repetition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mozzi.program.node import Node

__all__ = ["Run", "Stretch"]

SHORTEST = 24  # statements of one repetition, where there are few
REPEATED = 4  # times, at least
WIDE = 256  # statements of many short repetitions together
GRAM = 16  # statements by which repetitions are found
LOOKED = 6  # lengths of a repetition that are tried at a place


@dataclass(frozen=True)
class Stretch:
    """So many repetitions of so many statements, from a place of a run on."""

    start: int
    length: int
    count: int

    @property
    def end(self) -> int:
        return self.start + self.length * self.count


class Run:
    """Statements in a row, as numbers.

    code (n): what they do; operands (k): places of their operands in the run, −1 of others; first
    (n + 1): where the operands of each begin.
    """

    def __init__(self, statements: Sequence[Node]):
        self.statements = statements
        place = {id(s): n for n, s in enumerate(statements)}
        codes: dict[object, int] = {}
        self.code = np.array([
            codes.setdefault((s.op, *(x.op == "const" for x in s.args)), len(codes))
            for s in statements
        ])  # fmt: skip
        places = [place.get(id(x), -1) for s in statements for x in s.args]
        self.operands = np.array(places, dtype=np.intp)
        self.first = np.cumsum([0, *(len(s.args) for s in statements)])
        self._others = cache(self._others)

    def stretches(self) -> list[Stretch]:
        """What repeats itself, in order."""
        found: list[Stretch] = []
        places, lengths = self._candidates()
        k = 0
        while k < len(places):
            n = int(places[k])
            after = int(np.searchsorted(places, n, "right"))
            tried = [(self._count(n, x) * x, -x) for x in lengths[k:after].tolist()]
            whole, shortest = max(tried)
            k = after
            for part in self._alike(n, -shortest, whole // -shortest) if whole else ():
                found.append(part)
                k = int(np.searchsorted(places, part.end))
        return found

    def _candidates(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Places at which as many repetitions seem to begin, ascending, and lengths that these may
        have: the same statements follow at all their beginnings.
        """
        code = self.code
        grams = np.zeros(len(code), dtype=np.uint64)
        for k in range(GRAM):
            later = np.append(code[k:], np.zeros(k)).astype(np.uint64)
            grams = grams * np.uint64(1_000_003) + later
        order = np.argsort(grams, kind="stable")
        places, lengths = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
        for k in range(1, LOOKED + 1):
            n, length = order[:-k], order[k:] - order[:-k]
            inside = (length > 0) & (n + REPEATED * length <= len(code))
            n, length = n[inside], length[inside]
            for t in range(1, REPEATED):
                same = grams[n + t * length] == grams[n]
                n, length = n[same], length[same]
            places.append(n)
            lengths.append(length)
        where = np.concatenate(places)
        ascending = np.argsort(where, kind="stable")
        return where[ascending], np.concatenate(lengths)[ascending]

    def _others(self, length: int) -> NDArray[np.intp]:
        """Places whose statement does something else than the one so much later."""
        return np.flatnonzero(self.code[:-length] != self.code[length:])

    def _count(self, n: int, length: int) -> int:
        """How many repetitions of this length begin at a place; 0 where they are too few."""
        others = self._others(length)
        k = int(np.searchsorted(others, n))
        end = int(others[k]) if k < len(others) else len(self.code) - length
        count = (end - n) // length + 1
        return count if count >= _fewest(length) else 0

    def _alike(self, start: int, length: int, count: int) -> Iterator[Stretch]:
        """Of repetitions, those in a row whose operands come from the same places inside them."""
        begin = start + length * np.arange(count)[:, None]
        inside = np.maximum(self._places(Stretch(start, length, count)) - begin, -1)
        differs = np.flatnonzero((inside[1:] != inside[:-1]).any(axis=1)) + 1
        ends = np.concatenate([[0], differs, [count]])
        for k in np.flatnonzero(np.diff(ends) >= _fewest(length)).tolist():
            a, b = ends[k : k + 2].tolist()
            yield Stretch(start + a * length, length, b - a)

    def _places(self, part: Stretch) -> NDArray[np.intp]:
        """(repetitions, operands of one) places of operands."""
        own = self.operands[self.first[part.start] : self.first[part.end]]
        return own.reshape(part.count, -1)

    def columns(self, part: Stretch) -> list[tuple[Node, ...] | None]:
        """Operand by operand: its values in all repetitions; None where it is of the repetition."""
        found: list[tuple[Node, ...] | None] = []
        inside = iter((self._places(part)[0] >= part.start).tolist())
        for j in range(part.start, part.start + part.length):
            every = self.statements[j : part.end : part.length]
            for c in range(len(every[0].args)):
                found.append(None if next(inside) else tuple(s.args[c] for s in every))
        return found

    def leaving(self, parts: Sequence[Stretch], elsewhere: set[int]) -> list[list[int]]:
        """For every stretch the statements of a repetition whose value leaves one; elsewhere:
        identities of values that are used outside of the run.
        """
        home, n = np.full(len(self.code), -1), 0
        for part in parts:
            home[part.start : part.end] = n + np.arange(part.end - part.start) // part.length
            n += part.count
        user = np.repeat(np.arange(len(self.code)), np.diff(self.first))
        known = self.operands >= 0
        user, used = user[known], self.operands[known]
        leaves = np.zeros(len(self.code), dtype=bool)
        leaves[used[home[user] != home[used]]] = True
        found: list[list[int]] = []
        for part in parts:
            own = leaves[part.start : part.end]
            own |= [id(s) in elsewhere for s in self.statements[part.start : part.end]]
            found.append(np.flatnonzero(own.reshape(part.count, -1).any(axis=0)).tolist())
        return found


def _fewest(length: int) -> int:
    """Repetitions of this length that are worth a loop."""
    return REPEATED if length >= SHORTEST else max(REPEATED, WIDE // length)
