"""The gradient of λᵀ a of forward dynamics with loops."""

from __future__ import annotations

from typing import Any

from mozzi.algorithms.derivatives.gradient import forward_dynamics_gradient
from mozzi.algorithms.derivatives.loops.solve import (
    constrained_accelerations,
    constrained_gradient,
    constrained_solve,
)

__all__ = ["constrained_forward_gradient"]


@forward_dynamics_gradient.recursion_with_loops
def constrained_forward_gradient(
    model: Any, q: Any, v: Any, tau: Any, covector: Any
) -> tuple[Any, Any, Any]:
    """(2) of `solve`, for the accelerations."""
    q, v, tau, covector = (x.array() for x in (q, v, tau, covector))
    a, loops = constrained_accelerations.python(model.model, q, v, tau)
    force, rows = constrained_solve.python(model.model, q, covector)
    by_q, by_v = constrained_gradient.python(model.model, q, v, a, loops, force, rows)
    return -by_q, -by_v, force
