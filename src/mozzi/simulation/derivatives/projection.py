"""Derivatives of the way back onto the loops, which ends every step of a mechanism that has some.

Two steps of Newton's method are differentiated as they are computed (`projection.py`). They map all
states near the closed ones onto these: a deviation that would open the loops is taken back with the
state, so that A δ = 0 and A δv + (∂(A v)/∂q) δ = 0 behind them, whatever came in.
"""

from __future__ import annotations

import numpy as np

from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.constraints.rows.rows import loop_drift, loop_jacobian
from mozzi.algorithms.derivatives.configuration import integrate_derivatives
from mozzi.algorithms.derivatives.loops.projection import correction_derivatives
from mozzi.algorithms.derivatives.loops.solve import (
    constrained_solve,
    position_correction_gradient,
    velocity_correction_gradient,
)
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.model import Model
from mozzi.program.program import loop
from mozzi.simulation.projection import STEPS
from mozzi.simulation.traced_state import Memory
from mozzi.types import Array, Traced

__all__ = ["deviations_closed_again", "pull_closing"]


def deviations_closed_again(
    model: Model, q: Array, v: Array, dx: Array, kept: Array | None = None
) -> Array:
    """What deviations dx = (δ, δv) of a state (…, 2 nv, k) are once it is back on the loops."""
    n = model.nv
    for _ in range(STEPS if closed(model) else 0):
        by = correction_derivatives(model, q, v, kept)
        X, Y = integrate_derivatives(model, q, by.dq)
        dq, dv = dx[..., :n, :], dx[..., n:, :]
        new = X @ dq + Y @ (by.dq_q @ dq), dv + by.dv_q @ dq + by.dv_v @ dv
        q, v, dx = integrate(model, q, by.dq), v + by.dv, np.concatenate(new, axis=-2)
    return dx


def pull_closing(
    model: Model, q: Traced, v: Traced, dq: Traced, dv: Traced
) -> tuple[Traced, Traced]:
    """(q̄, v̄) before the way back onto the loops from those after it, while tracing."""
    if not closed(model):
        return dq, dv
    size = model.nq + model.nv
    now, states = Memory("now", size, np.concatenate([q, v])), Memory("open", (STEPS, size), 0.0)
    for _, k in loop(0, STEPS, name="closing"):
        states.set_row(k, now.get())
        now.set(_Correction(model, now.get()).after())
    q_bar, v_bar = Memory("q_bar_open", model.nv, dq), Memory("v_bar_open", model.nv, dv)
    for _, k in loop(STEPS - 1, -1, -1, name="closing"):
        by_q, by_v = _Correction(model, states.get_row(k)).pull(q_bar.get(), v_bar.get())
        q_bar.set(by_q)
        v_bar.set(by_v)
    return q_bar.get(), v_bar.get()


class _Correction:
    """One step of Newton's method from a state: its corrections, with their multipliers."""

    def __init__(self, model: Model, state: Traced):
        self.model, self.q, self.v = model, state[: model.nq], state[model.nq :]
        none = np.full(model.nv, 0.0, dtype=object)
        moving = loop_jacobian(model, self.q) @ self.v
        self.position = constrained_solve(model, self.q, none, -loop_drift(model, self.q))
        self.velocity = constrained_solve(model, self.q, none, -moving)

    def after(self) -> Traced:
        """The state after it."""
        q = integrate(self.model, self.q, self.position[0])
        return np.concatenate([q, self.v + self.velocity[0]])

    def pull(self, dq: Traced, dv: Traced) -> tuple[Traced, Traced]:
        """(q̄, v̄) before it from those after it."""
        model, q, v = self.model, self.q, self.v
        X, Y = integrate_derivatives(model, q, self.position[0])
        away = constrained_solve(model, q, Y.T @ dq)
        (by_q,) = position_correction_gradient(model, q, *self.position, *away)
        also_q, by_v = velocity_correction_gradient(
            model, q, v, *self.velocity, *constrained_solve(model, q, dv)
        )
        return X.T @ dq - by_q - also_q, dv - by_v
