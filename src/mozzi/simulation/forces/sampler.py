"""`Sampler`: a law with a state, between the steps of a method that chooses them itself."""

from __future__ import annotations

import numpy as np

from mozzi.program.scalar import Real
from mozzi.simulation.forces.law import Law
from mozzi.simulation.place import named
from mozzi.simulation.system import System
from mozzi.types import Array, Kernel, Traced

__all__ = ["Sampler"]


class Sampler:
    """The rows of state of a law, for all samples of a batch, and the joint forces in them.

    Args:
        law: of the caller.
        system: on what it acts.
        batch: the axes of the samples.
        t0: the time at the start.
        numbers: what varies from sample to sample, (B, p), or None.
    """

    def __init__(
        self, law: Law, system: System, batch: tuple[int, ...], t0: float, numbers: Array | None
    ):
        self.law, self.model = law, system.model
        self.numbers = () if numbers is None else (numbers,)
        size = law.size(system.model)
        self.row: Array = np.broadcast_to(law.start(system.model, t0), (*batch, size)).copy()

        def sample(
            t: Real, q: Traced, v: Traced, x: Traced, dt: Real, **arrays: Traced
        ) -> Traced:
            at = system.on(arrays)
            return at.bound(law, arrays).sample(at.model, t, q, v, x, dt)[1]

        model = system.model
        shapes: dict[str, tuple[int, ...]] = {
            "t": (), "q": (model.nq,), "v": (model.nv,), "x": (size,), "dt": ()
        }  # fmt: skip
        if numbers is not None:
            shapes["parameters"] = numbers.shape[-1:]
        self._kernel: Kernel[Array] = named(sample, shapes, model, "sample")

    def take(self, t: float, q: Array, v: Array, dt: float) -> None:
        """Sample at a time, for the dt that follow."""
        self.row = self._kernel(t, q, v, self.row, dt, *self.numbers)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """The joint forces that are held, (B, nv)."""
        return self.law.parts(self.model, self.row)["tau"]
