"""Simulation with loops: after every step, back onto the closed states.

Accelerations keep loops closed up to the error of the integrator, which adds up. Newton's method on
positions and velocities at once takes the state back: two steps, since one squares the drift.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.algorithms.loops.projection import loop_corrections
from mozzi.algorithms.recursion.algorithm import closed
from mozzi.program.program import loop
from mozzi.simulation.loop_state import Memory

__all__ = ["closed_again", "closed_states"]

STEPS = 2


def closed_again(model: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The state with q and v taken back onto the loops, while tracing; of a tree, as it is."""
    if not closed(model):
        return state
    q, v = Memory("q_closed", model.nq, state["q"]), Memory("v_closed", model.nv, state["v"])
    for _ in loop(0, STEPS, name="closing"):
        now, rate = q.get(), v.get()
        dq, dv = loop_corrections(model, now, rate)
        q.set(integrate(model, now, np.asarray(dq, dtype=object)))
        v.set(rate + np.asarray(dv, dtype=object))
    return state | {"q": q.get(), "v": v.get()}


def closed_states(model: Any, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """States between two steps, taken back onto the loops."""
    for _ in range(STEPS if closed(model) else 0):
        dq, dv = loop_corrections(model, q, v)
        q, v = integrate(model, q, dq), v + dv
    return q, v
