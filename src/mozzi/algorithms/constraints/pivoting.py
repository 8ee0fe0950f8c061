"""Independent rows of a semidefinite matrix, chosen by size, with fixed control flow.

Rows are eliminated one after the other, the one whose pivot is largest for its scale first, block
by block. Where rows are few that is straight-line code (`_straight`). Where many meet the same
others (the legs of a platform) it would be long: they are one block, and a loop over its pivots
(`_pivoted`).
"""

from __future__ import annotations

from collections.abc import Sequence

from mozzi.algorithms.constraints.rank import STRONG, smallest_pivot
from mozzi.algorithms.constraints.sparse import Row, elimination_order
from mozzi.lie.vec import number
from mozzi.program.counted_loops import repeat
from mozzi.program.scalar import Real, divide, maximum, select, sqrt

__all__ = ["Choice"]

MANY_ROWS = 12
"""Rows from which on a loop is shorter than straight-line code, where they meet the same others."""


class Choice:
    """Independent rows of a semidefinite matrix, chosen by size: kept[k] is 1 or 0, sine2[k] the
    pivot over its scale where it is kept, else 1.

    Blocks are the rows of a closure, or of many closures that meet the same others; of all, where
    most of them meet. They are eliminated in an order that keeps their graph sparse, and
    inside a block the row whose pivot is largest for its scale comes next. Every block is visited
    twice: rows whose pivots are small beside those around wait until the blocks that meet theirs
    have been visited, so that a row that nearly vanishes, or nearly depends on others, comes behind
    those that would do in its stead. All by selection; O(k b²), for k rows that meet b others.

    matrix: row k has the columns from k on. most: how many rows of a block can be independent.
    columns: how many of all can. loops: whether the program may have loops.
    """

    def __init__(
        self,
        matrix: dict[int, Row],
        blocks: Sequence[Sequence[int]],
        scale: Sequence[Real],
        most: Sequence[int] | None = None,
        open2: Real = 0.0,
        columns: int | None = None,
        loops: bool = False,
    ):
        self.kept: list[Real] = [0.0] * len(scale)
        self.sine2: list[Real] = [1.0] * len(scale)
        self.over = {k: divide(1.0, maximum(x, 1e-300), nonzero=True) for k, x in enumerate(scale)}
        self.matrix: dict[int, Row] = {i: {} for i in matrix}  # both triangles
        for i, row in matrix.items():
            for j, x in row.items():
                self.matrix[i][j] = self.matrix[j][i] = x
        rows = [k for block in blocks for k in block]
        own = {k: maximum(self.matrix[k].get(k, 0.0), 0.0) for k in rows}
        least = {k: smallest_pivot(own[k], scale[k], open2) for k in rows}
        size = {k: own[k] * self.over[k] for k in rows}
        most = most or [len(block) for block in blocks]
        self.open: dict[int, Real] = dict.fromkeys(rows, 1.0)
        self.loops, meets = loops, self._meets(blocks)
        if loops and len(rows) >= MANY_ROWS:
            dense = 2 * sum(map(len, self.matrix.values())) > len(rows) ** 2
            groups = [list(range(len(blocks)))] if dense else _alike(blocks, meets)
            most = [min(sum(most[b] for b in x), columns or len(rows)) for x in groups]
            blocks = [[k for b in x for k in blocks[b]] for x in groups]
            meets = self._meets(blocks)
        pairs = [[min(a, b) * len(blocks) + max(a, b) for a in x] for b, x in enumerate(meets)]
        waiting = {b: set(around) for b, around in enumerate(meets) if len(around) > 1}
        for b in elimination_order(pairs):
            if b not in waiting:
                self._visit(blocks[b], least, most[b], last=True)
                continue
            top: Real = 0.0
            for k in (k for a in sorted(meets[b]) for k in blocks[a]):
                top = maximum(top, size[k])
            strong = {k: maximum(least[k], STRONG * top * scale[k]) for k in blocks[b]}
            self._visit(blocks[b], strong, most[b])
            for a in sorted(waiting):
                waiting[a].discard(b)
                if not waiting[a]:
                    del waiting[a]
                    self._visit(blocks[a], least, most[a], last=True)

    @property
    def rank(self) -> Real:
        """How many rows are kept."""
        return sum(self.kept, 0.0)

    def _meets(self, blocks: Sequence[Sequence[int]]) -> list[set[int]]:
        """The blocks that each meets, itself among them."""
        block_of = {k: b for b, block in enumerate(blocks) for k in block}
        return [
            {block_of[j] for k in block for j in self.matrix[k]} | {b}
            for b, block in enumerate(blocks)
        ]

    def _visit(
        self, block: Sequence[int], least: dict[int, Real], most: int, last: bool = False
    ) -> None:
        """Eliminate the rows of a block that are large enough, the largest first."""
        if self.loops and len(block) >= MANY_ROWS:
            self._pivoted(block, least, most)
        else:
            self._straight(block, least, most)
        if last:
            for i in block:
                for j in self.matrix.pop(i):
                    if j in self.matrix:
                        del self.matrix[j][i]

    def _pivoted(self, block: Sequence[int], least: dict[int, Real], count: int) -> None:
        """Eliminate the largest row of a block, so many times: a loop of the program.

        By rows and columns that are scaled, so that pivots are squares of sines.
        """
        n, beside = len(block), {j for i in block for j in self.matrix[i]}.difference(block)
        rows = [*block, *sorted(beside)]
        root = {k: sqrt(self.over[k]) for k in rows}
        pairs = [(a, b) for a in range(len(rows)) for b in range(a, len(rows))]
        at = {pair: place for place, pair in enumerate(pairs)}
        begin: list[Real] = []
        for i, j in ((rows[a], rows[b]) for a, b in pairs):
            begin.append(self.matrix[i].get(j, 0.0) * (root[i] * root[j]))
        bound = [least[k] * self.over[k] for k in block]

        def step(state: list[Real]) -> list[Real]:
            matrix, kept, sine2 = state[: len(pairs)], state[len(pairs) : -n], state[-n:]
            size: list[Real] = []
            for a in range(n):
                pivot = matrix[at[a, a]]
                size.append(select(select(pivot > bound[a], kept[a], 1.0) < 0.5, pivot, 0.0))
            top: Real = size[0]
            for x in size[1:]:
                top = maximum(top, x)
            inverse = select(top > 0.0, divide(1.0, select(top > 0.0, top, 1.0), nonzero=True), 0.0)
            hot: list[Real] = []
            left: Real = select(top > 0.0, 1.0, 0.0)
            for x in size:
                hot.append(select(x >= top, left, 0.0))
                left = left - hot[-1]
            row: list[Real] = []
            for b in range(len(rows)):
                x: Real = 0.0
                for a in range(n):
                    x = select(hot[a] > 0.5, matrix[at[min(a, b), max(a, b)]], x)
                row.append(x)
            part = [x * inverse for x in row]
            matrix = [matrix[k] - part[a] * row[b] for k, (a, b) in enumerate(pairs)]
            kept = [x + y for x, y in zip(kept, hot, strict=True)]
            sine2 = [select(h > 0.5, top, x) for h, x in zip(hot, sine2, strict=True)]
            return [*matrix, *kept, *sine2]

        before = [[x[k] for k in block] for x in (self.kept, self.sine2)]
        end = repeat(count, [*begin, *before[0], *before[1]], step, "pivots")
        for k, x, y in zip(block, end[len(pairs) : -n], end[-n:], strict=True):
            self.kept[k], self.sine2[k] = select(x > 0.5, 1.0, 0.0), y
            self.open[k] = 1.0 - self.kept[k]
        if not beside:
            return
        length = {k: divide(1.0, root[k], nonzero=True) for k in rows}
        for (a, b), x in zip(pairs, end, strict=False):
            i, j = rows[a], rows[b]
            self.matrix[i][j] = self.matrix[j][i] = x * (length[i] * length[j])

    def _straight(self, block: Sequence[int], least: dict[int, Real], most: int) -> None:
        """The same in straight-line code."""
        matrix = self.matrix
        columns = sorted({j for i in block for j in matrix[i]})
        for _ in range(most):
            ratio = {
                i: select(self.open[i] > 0.5, matrix[i].get(i, 0.0) * self.over[i], -1.0)
                for i in block
            }
            top: Real = ratio[block[0]]
            for i in block[1:]:
                top = maximum(top, ratio[i])
            hot: dict[int, Real] = {}
            free: Real = 1.0
            for i in block:
                hot[i] = select(ratio[i] >= top, free, 0.0)
                free = free - hot[i]
            pivot = _picked(block, hot, {i: matrix[i].get(i, 0.0) for i in block})
            enough = select(top > 0.0, pivot, -1.0) > _picked(block, hot, least)
            inverse = select(enough, divide(1.0, select(enough, pivot, 1.0), nonzero=True), 0.0)
            for i in block:
                taken = select(enough, hot[i], 0.0)
                self.kept[i] = self.kept[i] + taken
                self.sine2[i] = select(taken > 0.5, ratio[i], self.sine2[i])
                self.open[i] = self.open[i] - taken
            row: Row = {}
            for j in columns:
                x = _picked(block, hot, {i: matrix[i].get(j, 0.0) for i in block})
                if number(x) != 0.0:
                    row[j] = x
            for i in row:
                l = row[i] * inverse
                for j in row:
                    if j >= i:
                        matrix[i][j] = matrix[j][i] = matrix[i].get(j, 0.0) - l * row[j]


def _alike(blocks: Sequence[Sequence[int]], meets: Sequence[set[int]]) -> list[list[int]]:
    """Blocks, those together that meet the same others where they have many rows."""
    groups: dict[frozenset[int], list[int]] = {}
    for b, around in enumerate(meets):
        groups.setdefault(frozenset(around), []).append(b)
    out: list[list[int]] = []
    for group in groups.values():
        many = sum(len(blocks[b]) for b in group) >= MANY_ROWS
        out += [group] if many else [[b] for b in group]
    return out


def _picked(block: Sequence[int], hot: dict[int, Real], value: dict[int, Real]) -> Real:
    """The value of the row that is hot."""
    out = value[block[-1]]
    for i in reversed(block[:-1]):
        out = select(hot[i] > 0.5, value[i], out)
    return out
