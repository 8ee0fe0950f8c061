"""Steps under a sampled law, and their adjoint: a law is differentiated as it was traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from mozzi.algorithms.kinematics.configuration import rates
from mozzi.compiler import compile
from mozzi.model import Model
from mozzi.program.differentiate import reverse
from mozzi.program.scalar import Real
from mozzi.simulation.forces.law import Law
from mozzi.types import Array, Kernel, Traced

__all__ = ["held_forces", "law_kernel", "law_pullback"]


def held_forces(law: Law, model: Model, row: Array) -> Array:
    """The joint forces in rows of state of a law, (B, nv)."""
    return law.parts(model, row)["tau"]


def law_kernel(law: Law, model: Model) -> Kernel[Array]:
    """(t, q, v, x, dt) ↦ x′: the row of state of a law after its sample at a step."""

    def sample(t: Real, q: Traced, v: Traced, x: Traced, dt: Real) -> Any:
        return law.sample(model, t, np.asarray(q), np.asarray(v), np.asarray(x), dt)[1]

    return compile(sample, model, inputs=_shapes(law, model), name="sample")


def law_pullback(law: Law, model: Model) -> Kernel[tuple[Array, Array, Array]]:
    """(t, q, v, x, dt, bar) ↦ (q̄, v̄, x̄) from the derivatives by x′; q̄ along the group.

    Reverse mode on the traced law: x̄ = (∂x′/∂x)ᵀ bar, and q̄ = Nᵀ (∂x′/∂q)ᵀ bar with q̇ = N(q) v.
    """
    size, nq = law.size(model), model.nq

    def pullback(
        t: Real, q: Traced, v: Traced, x: Traced, dt: Real, bar: Traced
    ) -> Any:
        q, v, x, bar = (np.asarray(one) for one in (q, v, x, bar))
        row = law.sample(model, t, q, v, x, dt)[1]
        found = reverse(row, np.concatenate([q, v, x]), bar)
        by_q, by_v, by_x = np.split(found, [nq, nq + model.nv])
        return reverse(np.asarray(rates(model, q, v)), v, by_q), by_v, by_x

    shapes = _shapes(law, model) | {"bar": (size,)}
    return compile(pullback, model, inputs=shapes, rolled=False, name="law_pullback")


def _shapes(law: Law, model: Model) -> dict[str, tuple[int, ...]]:
    return {"t": (), "q": (model.nq,), "v": (model.nv,), "x": (law.size(model),), "dt": ()}
