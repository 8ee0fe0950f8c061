"""The steps of a simulation and the times that are recorded."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from mozzi.errors import ConfigurationError
from mozzi.model import Model

__all__ = ["Grid", "check_memory"]


class Grid:
    """The steps of a simulation and the times that are recorded."""

    def __init__(self, t0: float, duration: float, dt: float, every: int):
        if int(every) != every or every < 1:
            raise ConfigurationError(f"record_every {every!r}: give a whole number, 1 or more")
        ratio = duration / dt
        if ratio > 1e12:
            raise ConfigurationError(f"{duration:g} s is {ratio:.3g} steps of dt; take a larger dt")
        apart = math.ulp(max(abs(t0), abs(t0 + duration)))
        if apart > 0.01 * dt:
            raise ConfigurationError(
                f"t0 {t0:g}: numbers there are {apart:.2g} s apart, and dt is {dt:g}; "
                "take a t0 nearer to 0"
            )
        whole = math.floor(ratio * (1.0 + 1e-12) + 1e-9)
        rest = duration - whole * dt
        self.t0, self.dt, self.every, self.whole = t0, dt, int(every), whole
        self.rest = rest if rest > 1e-9 * dt or not whole else 0.0
        self.steps = whole + (self.rest > 0.0)
        if self.steps / self.every > 1e8:
            count = self.steps // self.every
            raise ConfigurationError(f"{count:,} records; take a larger record_every")
        self.ends = np.append(np.arange(0, self.steps, self.every), self.steps)  # before a record
        self.t = self.t0 + np.minimum(self.ends, whole) * dt
        self.t[-1] = self.time(self.steps)

    def time(self, step: int) -> float:
        """When a step begins."""
        extra = self.rest if step > self.whole else 0.0
        return self.t0 + (min(step, self.whole) * self.dt + extra)

    def records(self) -> Iterator[list[tuple[int, float, float, int]]]:
        """The steps before every record: [(first step, its time, length, how many)]."""
        for a, b in itertools.pairwise(map(int, self.ends)):
            whole = min(b, self.whole)
            segments = [(a, self.time(a), self.dt, whole - a)] if whole > a else []
            if b > self.whole:
                segments.append((self.whole, self.time(self.whole), self.rest, 1))
            yield segments


def check_memory(grid: Grid, model: Model, batch: tuple[int, ...]) -> int:
    """How many records there will be, if they fit into the memory of this machine."""
    count = len(grid.t)
    needed = 8.0 * count * math.prod(batch) * (model.nq + model.nv)
    there = math.inf
    with suppress(AttributeError, ValueError, OSError):  # not every system tells
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > 0.7 * there:
        raise ConfigurationError(
            f"{count:,} records of {math.prod(batch):,} samples take {needed / 2**30:.3g} GiB; "
            "take a larger record_every"
        )
    return count
