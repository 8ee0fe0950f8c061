"""The records of a run: those in memory, and which samples ended before their time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mozzi.simulation.methods.dormand_prince import Event
from mozzi.simulation.methods.touching import Missed
from mozzi.simulation.place import on_the_host
from mozzi.types import Array

__all__ = ["Records", "Shown"]

OVERFLOW_SPEED = 1e120  # rad/s or m/s, of which the energy is about to overflow

Sample = tuple[int, ...]


class Records:
    """Records (n, *B, size) by name: "q", "v", "tau" where joint forces are sampled, and what else
    the method records. `done` are there, `first` is the number of the first in memory.
    """

    def __init__(self, n: int, q0: Array, v0: Array, sizes: Mapping[str, int], t: Array):
        self.batch, self.t = q0.shape[:-1], t
        self.q, self.v = np.empty((n, *q0.shape)), np.empty((n, *v0.shape))
        self.tau = np.empty_like(self.v) if "tau" in sizes else None
        self.rows: dict[str, Array] = {
            name: np.zeros((n, *self.batch, size)) for name, size in sizes.items() if name != "tau"
        }
        self.between: tuple[float, dict[str, Array]] | None = None  # since the last record
        self.done = self.checked = self.first = 0
        self.diverged: dict[Sample, float] = {}
        self.events: list[Event] = []
        self.ended: set[Sample] = set()  # samples that an event ended
        self.spent: dict[Sample, float] = {}  # samples that used up their tries
        self.stuck: dict[Sample, str] = {}  # samples whose events do not end, and at which contact
        self.missed = Missed()  # of dopri5 with contacts

    @property
    def at(self) -> int:
        """The place of the next record in memory."""
        return self.done - self.first

    def kept(self) -> dict[str, Array]:
        """All that is recorded, by name."""
        tau = {} if self.tau is None else {"tau": self.tau}
        return {"q": self.q, "v": self.v, **tau, **self.rows}

    def add(self, q: Array, v: Array, tau: Array | None) -> None:
        """One more record."""
        self.q[self.at], self.v[self.at] = on_the_host(q), on_the_host(v)
        if self.tau is not None:
            self.tau[self.at] = tau
        if np.isfinite(self.q[self.at]).any():
            self.between = None
        self.done += 1

    def look(self) -> bool:
        """Find samples that diverged since the last look; whether any is still going."""
        since, self.checked = self.checked, self.done
        part = slice(since - self.first, self.at)
        good = sound(self.q[part], self.v[part])  # (n, *B)
        for sample in map(tuple, np.argwhere(~good.all(axis=0))):
            sample = tuple(map(int, sample))
            first = since + int(np.argmin(good[(slice(None), *sample)]))
            self.q[(slice(first - self.first, None), *sample)] = np.nan
            self.v[(slice(first - self.first, None), *sample)] = np.nan
            if sample not in self.ended and sample not in self.spent:
                self.diverged.setdefault(sample, float(self.t[max(first - 1, 0)]))
        return self.over() < math.prod(self.batch)

    def over(self) -> int:
        """How many samples have ended."""
        return len(self.diverged.keys() | self.ended | self.spent.keys())

    def shown(self) -> Shown:
        """What a trajectory shows: the records, and the state between two of them."""
        n, last = self.done, dict[str, Array]()
        t = self.t
        if self.over() == math.prod(self.batch):
            some = np.isfinite(self.q[:n]).all(axis=-1).reshape(n, -1).any(axis=1)
            n = int(some.sum())
        if self.between is not None and self.between[0] > t[n - 1]:
            time, state = self.between
            last = {name: on_the_host(x) for name, x in state.items()}
            over = {**self.diverged, **self.spent, **dict.fromkeys(self.ended)}
            lost = np.argwhere(~sound(last["q"], last["v"]))
            if all(tuple(map(int, sample)) in over for sample in lost):
                t = np.append(t[:n], time)
            else:
                last = {}
        return Shown(t[: n + bool(last)], n, last, self.kept())


@dataclass(frozen=True)
class Shown:
    """The first n records and, where it is there, the state behind them."""

    t: Array
    n: int
    last: Mapping[str, Array]
    kept: Mapping[str, Array]

    def rows(self, name: str) -> Array:
        """(B, n, size)."""
        rows = self.kept[name][: self.n]
        if self.last:
            new = np.asarray(self.last.get(name, np.full(rows.shape[1:], np.nan)), dtype=float)
            rows = np.concatenate([rows, new[None]])
        return np.moveaxis(rows, 0, -2)


def sound(q: Array, v: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which states are finite, and not about to overflow."""
    good = np.isfinite(q).all(axis=-1) & (np.abs(v) < OVERFLOW_SPEED).all(axis=-1)
    return np.asarray(good)
