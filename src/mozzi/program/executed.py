"""What one evaluation of a program takes: the statements of its loops as often as they run.

A region runs once for each choice of the variables of the loops around it. Of those only the ones
that loops inside begin at are told apart; the others are counted together, so that walks to the
base of n bodies take n steps to count, not n².
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from mozzi.program.node import Node, Region
from mozzi.program.statements import Index, Loop, Store

__all__ = ["executed"]


def executed(region: Region) -> Counter[str]:
    """How often an evaluation of a program meets each kind of statement, "store" among them.

    All iterations of a loop that may be left early count; a loop that takes as many steps as an
    argument says counts as one step.
    """
    total: Counter[str] = Counter()
    _count(region, _Runs({}, np.ones(1, dtype=int)), total)
    return total


class _Runs:
    """Runs of a region: what the variables of loops around it are (rows), and how often."""

    def __init__(self, rows: dict[int, np.ndarray], often: np.ndarray):
        self.rows, self.often = rows, often

    def index(self, index: Index) -> np.ndarray:
        if index.table is not None:
            assert index.at is not None
            return index.table[self.index(index.at)]
        if index.terms:
            terms = [factor * self.index(term) for term, factor in index.terms]
            return np.sum(terms, axis=0)
        return self.rows[id(index)]

    def told_apart_by(self, variables: Iterable[int]) -> _Runs:
        """The same runs, counted together where these variables agree."""
        kept = [k for k in self.rows if k in set(variables)]
        if not kept:
            return _Runs({}, np.array([self.often.sum()]))
        rows, where = np.unique(
            np.stack([self.rows[k] for k in kept]), axis=1, return_inverse=True
        )
        often = np.zeros(rows.shape[1], dtype=int)
        np.add.at(often, where.ravel(), self.often)
        return _Runs(dict(zip(kept, rows)), often)

    def where(self, chosen: np.ndarray) -> _Runs:
        return _Runs({k: x[chosen] for k, x in self.rows.items()}, self.often[chosen])


def _count(region: Region, runs: _Runs, total: Counter[str]) -> None:
    own: Counter[str] = Counter()
    for s in region.statements:
        if isinstance(s, Node):
            own[s.op] += 1
        elif isinstance(s, Store):
            own["store"] += 1
        else:
            inside = _iterations(s, runs)
            for number, branch in enumerate(s.branches):
                taken = inside
                if s.which is not None:
                    taken = inside.where(s.which[inside.rows[id(s.variable)]] == number)
                _count(branch, taken.told_apart_by(_begins(branch)), total)
    times = int(runs.often.sum())
    for op, number in own.items():
        total[op] += number * times


def _begins(region: Region) -> set[int]:
    """The variables of loops around a region that loops inside begin at."""
    found: set[int] = set()
    for s in region.statements:
        if isinstance(s, Loop):
            found |= _variables(s.start) if isinstance(s.start, Index) else set()
            found |= {k for b in s.branches for k in _begins(b)} - {id(s.variable)}
    return found


def _variables(index: Index) -> set[int]:
    if index.table is not None:
        assert index.at is not None
        return _variables(index.at)
    if index.terms:
        return {k for term, _ in index.terms for k in _variables(term)}
    return {id(index)}


def _iterations(loop: Loop, runs: _Runs) -> _Runs:
    """The runs of a loop's branches, for runs of the region around it."""
    start = runs.index(loop.start) if isinstance(loop.start, Index) else np.array([loop.start])
    start = np.broadcast_to(start, runs.often.shape)
    inside = {k for b in loop.branches for k in _begins(b)} - {id(loop.variable)}
    begun = _Runs({**runs.rows, id(loop.variable): start}, runs.often)
    begun = begun.told_apart_by({*inside, id(loop.variable)})
    if loop.follow is not None:
        assert isinstance(loop.stop, int)
        return _walks(begun, id(loop.variable), loop.follow, loop.stop)
    start = begun.rows[id(loop.variable)]
    stop = loop.stop if isinstance(loop.stop, int) else start + loop.step
    each = np.maximum(0, -((start - stop) // loop.step))
    whole = begun.where(np.repeat(np.arange(len(start)), each))
    nth = np.arange(int(each.sum())) - np.repeat(np.cumsum(each) - each, each)
    whole.rows[id(loop.variable)] = whole.rows[id(loop.variable)] + loop.step * nth
    return whole


def _walks(begun: _Runs, variable: int, follow: np.ndarray, stop: int) -> _Runs:
    """From start to follow[start] and so on, while it is not below stop."""
    falls = bool(np.all(follow < np.maximum(np.arange(len(follow)), stop)))
    if len(begun.rows) == 1 and falls:  # only where they are matters: walks that meet are one
        often = np.zeros(len(follow), dtype=int)
        begins = begun.rows[variable] >= stop
        np.add.at(often, begun.rows[variable][begins], begun.often[begins])
        for k in range(len(follow) - 1, max(stop, 0) - 1, -1):
            if follow[k] >= stop:
                often[follow[k]] += often[k]
        passed = np.flatnonzero(often)
        return _Runs({variable: passed}, often[passed])
    steps: list[_Runs] = []
    now = begun
    while len(now.often):
        now = now.where(now.rows[variable] >= stop)
        steps.append(now)
        now = _Runs({**now.rows, variable: follow[now.rows[variable]]}, now.often)
    rows = {k: np.concatenate([s.rows[k] for s in steps]) for k in begun.rows}
    return _Runs(rows, np.concatenate([s.often for s in steps]))
