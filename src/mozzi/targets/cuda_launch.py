"""How a kernel is laid out on a GPU, chosen by what the compiler reports of it (docs/gpu.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

__all__ = ["FREE", "Launch", "Report", "choose"]

SMALL, USUAL = 64, 128  # threads of a block
ENOUGH = 640  # threads on a multiprocessor from which on more do not help


@dataclass(frozen=True)
class Launch:
    """Threads of a block; blocks that a multiprocessor must hold at once, which bounds the
    registers of a thread (0 leaves them to the compiler).
    """

    block: int = USUAL
    resident: int = 0

    @property
    def bounds(self) -> str:
        """What `__launch_bounds__` takes."""
        return f"{self.block}, {self.resident}" if self.resident else f"{self.block}"


FREE = Launch()
"""Blocks of the usual size, registers as the compiler likes."""


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


class Compiled(Protocol):
    """Machine code with the compiler's report."""

    @property
    def report(self) -> Report: ...


Code = TypeVar("Code", bound=Compiled)


def choose(make: Callable[[Launch], Code], large: bool) -> Code:
    """The code of the launch that suits a program, of two that are made; of one where it is large.

    Where a multiprocessor holds enough threads, blocks have the usual size. Where registers let few
    onto it, blocks are small, since a small one finds a place, and leaves it, sooner; and a thread
    gets as few registers as let 128 more in, if that costs little local memory.
    """
    free = make(Launch(SMALL))
    if free.report.threads >= ENOUGH:
        return make(Launch(USUAL))
    if large:
        return free
    tight = make(Launch(SMALL, free.report.blocks + USUAL // SMALL))
    gains = tight.report.threads > free.report.threads
    cheap = tight.report.local_bytes <= 1.25 * free.report.local_bytes + 16
    return tight if gains and cheap else free
