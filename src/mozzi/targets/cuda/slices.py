"""How a large straight-line program is divided among threads: slices of its results by columns.

A column of a matrix of derivatives needs little of what the others need. Threads that share a
sample take some columns each, and compute what these need, some of it as others do: fewer values
are live at once, and more threads work where samples are few. How many slices there are is decided
by counting. A multiprocessor reads straight-line code that its cache does not hold at about five
cycles an instruction, for all warps that run the same code side by side; so what counts is all
instructions over the warps for whose values there is shared memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from mozzi.program.node import Node
from mozzi.program.program import Buffer, Program
from mozzi.targets.cuda.spill import Piece, Plan, allocate

__all__ = [
    "BLOCK_BYTES",
    "MOST_WARPS",
    "NUMBER_BYTES",
    "PIECE",
    "REGISTERS",
    "SHARED_BYTES",
    "divided",
    "plan_of",
    "warps_of",
]

KEPT_BYTES = 400  # in memory, beyond which a program says itself what is kept there
REGISTERS = 235  # for values, of the 255 of a thread
NUMBER_BYTES = 4  # of numbers with which this was faster; of doubles fewer warps find a place
WORK = 20  # operations a written number, below which writing is what takes the time
PIECE = 8  # numbers of a row that are written together
SHARED_BYTES = 227 * 1024  # of a block, at most, unless the device says another number
BLOCK_BYTES = 1024  # of shared memory that every block takes for itself
MOST_WARPS = 8  # of a multiprocessor, with 255 registers a thread
FETCH, ISSUE = 5.0, 0.45  # cycles of an instruction: of straight-line code, of one among many
SLICES = (1, 2, 3, 4, 5, 6, 8)


def divided(
    program: Program, dtype: str, piece: int, pairs: Mapping[int, tuple[Node, Node]], shared: int
) -> list[Plan]:
    """The plans of a large program's slices; none where it is no large straight-line program.

    piece: how many numbers of a result are written together; shared: bytes of memory of a block.
    """
    if program.rolled or not all(y.size for y in program.outputs):
        return []
    size = np.dtype(dtype).itemsize
    if size > NUMBER_BYTES or program.flops < WORK * sum(y.size for y in program.outputs):
        return []
    registers = REGISTERS * 4 // size
    whole = [_plan(program, ids, piece, registers, pairs) for ids in _columns(program, 1)]
    if whole[0].slots * size <= KEPT_BYTES:
        return []
    best, least = whole, _time(whole, size, shared)
    for many in SLICES[1:]:
        columns = _columns(program, many)
        plans = [_plan(program, c, piece, registers, pairs) for c in columns]
        time = _time(plans, size, shared) if plans else least
        if time < least:
            best, least = plans, time
    return best


def plan_of(program: Program, registers: int, pairs: Mapping[int, tuple[Node, Node]]) -> Plan:
    """The plan of a thread that takes the whole of a sample, and writes number by number."""
    return _plan(program, None, 1, registers, pairs)


def warps_of(words: int, size: int, shared: int) -> int:
    """How many warps, each a block, a multiprocessor holds, of whose threads each has so many words
    of its shared memory; as much as one block may have is all but `BLOCK_BYTES` of it.
    """
    return min(MOST_WARPS, (shared + BLOCK_BYTES) // (32 * size * words + BLOCK_BYTES))


def _time(plans: Sequence[Plan], size: int, shared: int) -> float:
    """Of all slices of 32 samples, in cycles of a multiprocessor."""
    warps = warps_of(max(p.slots for p in plans) + PIECE + 1, size, shared)
    return sum(p.instructions for p in plans) * max(FETCH / max(warps, 0.5), ISSUE)


def _columns(program: Program, many: int) -> list[range | None]:
    """The columns of the slices, None for all; none where results have no columns in common."""
    if many == 1:
        return [None]
    widths = {y.shape[-1] if len(y.shape) > 1 else 0 for y in program.outputs}
    width = widths.pop()
    if widths or width < 2 * many:
        return []
    ends = [width * k // many for k in range(many + 1)]
    return [range(a, b) for a, b in pairwise(ends)]


def _plan(
    program: Program, columns: range | None, piece: int, registers: int,
    pairs: Mapping[int, tuple[Node, Node]],
) -> Plan:  # fmt: skip
    """The plan of some columns of all results."""
    pieces = list(_pieces(program, columns, piece))
    need: set[int] = {id(x) for p in pieces for x in p.values}
    order: list[Node] = []
    for s in reversed(program.region.statements):
        assert isinstance(s, Node)
        if id(s) in need and s.op not in ("const", "input"):
            need.update(map(id, s.args))
            if id(s) in pairs:
                need.update(id(x) for y in pairs[id(s)] for x in (y, *y.args))
            order.append(s)
    order.reverse()
    return allocate(order, pieces, registers, pairs)


def _pieces(program: Program, columns: range | None, piece: int) -> Iterator[Piece]:
    for k, y in enumerate(program.outputs):
        assert not isinstance(y.values, Buffer)
        width = y.size if columns is None else y.shape[-1]
        taken = range(width) if columns is None else columns
        for row in range(0, y.size, width):
            for first in range(row + taken.start, row + taken.stop, piece):
                stop = min(first + piece, row + taken.stop)
                yield Piece(k, first, y.values[first:stop])
