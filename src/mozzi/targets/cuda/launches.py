"""What a call is on the device: launches one after the other on one stream, with memory between.

The values of a call are numbered: how many samples there are; the addresses of its arguments and
results; those of tiles, which one launch writes and a later one reads; and the strides (row, step)
of arguments and results. Each launch takes some of them. Python runs such a list, and so does the
handler that XLA calls (`targets.jax.cuda_handler`). Batches are taken in portions whose tiles fit
into a few hundred megabytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from mozzi.targets.cuda.here import cupy_here
from mozzi.targets.cuda.nvidia import Function, pool

__all__ = ["PADDED", "Launch", "Launches"]

PORTION_BYTES = 1 << 29  # of the tiles of a portion
PADDED = 1024  # tiles are for a multiple of so many samples
ALL = 1 << 62  # samples of a portion, where there are no tiles


class Launch(NamedTuple):
    """A function and the numbers of the values that it takes."""

    function: Function
    takes: tuple[int, ...]


@dataclass(frozen=True)
class Launches:
    """rows: numbers of a row of every argument and result; size: bytes of a number; tiles: bytes of
    a sample in each of the tiles.
    """

    launches: tuple[Launch, ...]
    rows: tuple[int, ...]
    size: int
    tiles: tuple[int, ...] = ()

    @property
    def portion(self) -> int:
        """How many samples are taken at once."""
        each = PADDED * sum(self.tiles)
        return max(1, PORTION_BYTES // each) * PADDED if each else ALL

    def for_few(self) -> Launches:
        """The same, with functions for few samples where there are such."""
        few = tuple(Launch(x.function.suited(1), x.takes) for x in self.launches)
        return Launches(few, self.rows, self.size, self.tiles)

    @property
    def differ_for_few(self) -> bool:
        return any(x.function.few is not None for x in self.launches)

    @property
    def row_major(self) -> list[tuple[int, int]]:
        """Strides of rows that lie one after the other."""
        return [(row, 1) for row in self.rows]

    @cached_property
    def _steps(self) -> list[tuple[Function, itemgetter[Sequence[float]]]]:
        return [(x.function, itemgetter(*x.takes)) for x in self.launches]

    def run(
        self, n: int, arrays: Sequence[float], stream: int,
        strides: Sequence[tuple[int, int]] | None = None, numbers: int = 0,
    ) -> None:  # fmt: skip
        """All launches for n samples; numbers: which of the arrays are none (bit k for array k)."""
        strides = self.row_major if strides is None else strides
        fixed = [x for pair in strides for x in pair]
        portion = min(n, self.portion)
        padded = -(-portion // PADDED) * PADDED
        runtime = cupy_here().cuda.runtime
        memory = runtime.mallocFromPoolAsync(
            padded * sum(self.tiles), pool(self.launches[0].function.device), stream
        )
        try:
            tiles = list(accumulate((padded * x for x in self.tiles[:-1]), initial=memory))
            for first in range(0, n, portion):
                many = min(portion, n - first)
                if first:
                    arrays = [
                        x if numbers >> k & 1 else x + portion * row * self.size
                        for k, (x, (row, _)) in enumerate(zip(arrays, strides, strict=True))
                    ]
                values = [many, *arrays, *tiles, *fixed]
                for function, taken in self._steps:
                    function.launch(many, stream, taken(values))
        finally:
            runtime.freeAsync(memory, stream)
