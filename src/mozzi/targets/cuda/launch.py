"""The launch shape of a kernel on a GPU, chosen by what the compiler reports of it.

Two things are chosen per program: how many registers a thread gets, which decides how many threads
a multiprocessor holds at once, and how many threads make a block. docs/gpu.md has measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

__all__ = [
    "BLOCK_THREADS",
    "FEW_SAMPLES",
    "SMALL_BLOCK_THREADS",
    "WARP",
    "Report",
    "choose",
    "launch_shape",
]

FEW_SAMPLES = 8192  # up to which warps may share them: others would have nothing to do
WARP, SMALL_BLOCK_THREADS, BLOCK_THREADS = 32, 64, 128
BUSY_THREADS = 640  # on a multiprocessor, from which on more do not help
SPILLED_BYTES = 1024  # of local memory that a thread goes to often


@dataclass(frozen=True)
class Report:
    """What the compiler made of a kernel: per thread registers and bytes of local memory, per block
    bytes of shared memory, and how many blocks a multiprocessor holds for these.
    """

    block: int
    blocks: int
    occupancy: float  # threads that a multiprocessor holds, as a share of the most
    registers: int
    local_bytes: int
    shared_bytes: int

    @property
    def threads(self) -> int:
        """Threads that a multiprocessor holds at once."""
        return self.block * self.blocks


def launch_shape(
    samples: int, block: int, shared: int, slices: int = 1, each: int = 0
) -> tuple[int, int, int, int, int, int, int]:
    """Blocks (x, y, z), threads of a block (x, y, z), and bytes of shared memory of a block.

    A thread computes one sample, or a slice of one; the last blocks may have threads without one.
    block: threads of a block; shared: bytes of shared memory for each of them; each: samples of a
    block, as many as threads unless told. Blocks that compute the slices of the same samples are
    neighbours.
    """
    each = each or block
    return (samples + each - 1) // each * slices, 1, 1, block, 1, 1, block * shared


class Compiled(Protocol):
    """Machine code, of which the compiler tells how it runs in blocks of so many threads."""

    def report(self, block: int) -> Report: ...


Code = TypeVar("Code", bound=Compiled)


def choose(make: Callable[[int], Code], large: bool) -> tuple[Code, int]:
    """The code that suits a program, and the threads of its blocks.

    ``make(k)`` compiles for at least k blocks of the usual size on a multiprocessor, which bounds
    the registers of a thread; 0 leaves them to the compiler. Two codes are made at most, and of a
    large program one where that is good.

    Registers: as the compiler likes. Where these let few threads onto a multiprocessor, as few as
    let one block more in, if that costs little local memory. Where the compiler took few and keeps
    much in local memory instead, as many as there are.

    Blocks are small where few threads fit and stay in registers: a small block finds a place, and
    leaves it, sooner.
    """
    code = make(0)
    free = code.report(BLOCK_THREADS)
    if free.threads >= BUSY_THREADS and free.local_bytes > SPILLED_BYTES:
        code = _lesser(code, make(1))
    elif free.threads < BUSY_THREADS and not large:
        tight = make(free.blocks + 1)
        found = tight.report(BLOCK_THREADS)
        cheap = found.local_bytes <= 1.25 * free.local_bytes + 16
        code = tight if cheap and found.threads > free.threads else code
    best = code.report(BLOCK_THREADS)
    few = best.threads < BUSY_THREADS and best.local_bytes <= SPILLED_BYTES
    return code, SMALL_BLOCK_THREADS if few else BLOCK_THREADS


def _lesser(a: Code, b: Code) -> Code:
    """The one that keeps less in local memory."""
    return b if b.report(BLOCK_THREADS).local_bytes < a.report(BLOCK_THREADS).local_bytes else a
