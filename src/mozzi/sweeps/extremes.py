"""Ends and extremes of motions, found where they run: no state leaves a GPU for them."""

from __future__ import annotations

import numpy as np

from mozzi.simulation.place import Place
from mozzi.simulation.running.records import OVERFLOW_SPEED, Records
from mozzi.simulation.running.simulation import Simulation
from mozzi.types import Array

__all__ = ["Extremes", "Reduced"]


class Extremes(Records):
    """Of all records the last one and the extremes, as arrays of the place where the steps run."""

    def __init__(self, begin: Records, place: Place, end: float):
        sizes = {n: x.shape[-1] for n, x in begin.rows.items()}
        super().__init__(1, begin.q[0], begin.v[0], sizes, begin.t)
        self.rows, self.place = begin.rows, place
        self.going = place.put(np.ones(self.batch)) > 0.5
        self.stopped = place.put(np.full(self.batch, end))
        self.low = self.high = self.fast = self.now = self.speed = self.stopped

    def add(self, q: Array, v: Array, tau: Array | None) -> None:
        """One more record."""
        self.now, self.speed = q, v = self.place.put(q), self.place.put(v)
        if self.done == 0:
            self.low, self.high, self.fast = q, q, abs(v)
        good = np.isfinite(q).all(axis=-1) & (abs(v) < OVERFLOW_SPEED).all(axis=-1)
        lost = self.going & ~good
        self.stopped = np.where(lost, float(self.t[max(self.done - 1, 0)]), self.stopped)
        self.going = self.going & good
        self.low, self.high = np.minimum(self.low, q), np.maximum(self.high, q)
        self.fast = np.maximum(self.fast, abs(v))
        self.done = self.first = self.done + 1

    def look(self) -> bool:
        """Whether any sample is still going."""
        self.checked = self.done
        return bool(self.going.any())

    def found(self) -> dict[str, Array]:
        """Ends and extremes by name, NaN of samples that diverged, and when they did."""
        all_ = {"q": self.now, "v": self.speed, "q_min": self.low, "q_max": self.high,
                "v_max": self.fast}  # fmt: skip
        whole = self.going[..., None]
        out = {n: np.where(whole, x, np.nan) for n, x in all_.items()}
        return {n: x.astype("float64") for n, x in (out | {"diverged": self.stopped}).items()}


class Reduced(Simulation):
    """A simulation of which the extremes are kept, not the records."""

    def extremes(self) -> dict[str, Array]:
        """Run to the end."""
        self.records = Extremes(self.records, self.place, float(self.grid.t[-1]))
        for _ in self.run():
            pass
        return self.records.found()

    def _room(self, save: object) -> int:
        return 1
