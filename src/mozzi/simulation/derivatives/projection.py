"""Derivatives of the way back onto the loops, which ends every step of a mechanism that has some.

Two steps of Newton's method are differentiated as they are computed (`projection.py`). They map all
states near the closed ones onto these: a deviation that would open the loops is taken back with the
state, so that A δ = 0 and A δv + (∂(A v)/∂q) δ = 0 behind them, whatever came in.
"""

from __future__ import annotations

import numpy as np

from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.derivatives.configuration import integrate_derivatives
from mozzi.algorithms.derivatives.loops.projection import correction_derivatives, pull_correction
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.algorithms.loops.projection import loop_corrections
from mozzi.algorithms.recursion.blocks import plus
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import JointVector
from mozzi.model import Model
from mozzi.program.program import loop
from mozzi.simulation.derivatives.joint_vectors import JointVectors
from mozzi.simulation.projection import STEPS
from mozzi.types import Array

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
    model: Mechanism, q: JointVector, v: JointVector, dq: JointVector, dv: JointVector
) -> tuple[BlockArray, BlockArray]:
    """(q̄, v̄) before the way back onto the loops from those after it, while tracing. O(n)."""
    q_open, v_open = JointVectors(model, "q_open", STEPS, "q"), JointVectors(model, "v_open", STEPS)
    q_now, v_now = JointVectors(model, "q_now", 1, "q"), JointVectors(model, "v_now", 1)
    q_now.put(0, q)
    v_now.put(0, v)
    for _, k in loop(0, STEPS, name="closing"):
        q, v = q_now.get(0), v_now.get(0)
        q_open.put(k, q)
        v_open.put(k, v)
        x, y = loop_corrections(model, q, v)
        for b in model.outward():
            q_now[0, b], v_now[0, b] = b.joint.integrate(q[b], x[b]), plus(v[b], y[b])
    q_bar, v_bar = JointVectors(model, "q_bar_open", 1), JointVectors(model, "v_bar_open", 1)
    q_bar.put(0, dq)
    v_bar.put(0, dv)
    for _, k in loop(STEPS - 1, -1, -1, name="closing"):
        by = pull_correction(model, q_open.get(k), v_open.get(k), q_bar.get(0), v_bar.get(0))
        q_bar.put(0, by[0])
        v_bar.put(0, by[1])
    return q_bar.get(0), v_bar.get(0)
