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
    model: Any, q: Any, v: Any, tau: Any, covector: Any, wrenches: Any = None,
    resistance: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """(2) of `solve`, for the accelerations."""
    a, loops = constrained_accelerations(model, q, v, tau, wrenches, resistance)
    mu, rows = constrained_solve(model, q, covector)
    by_q, by_v = constrained_gradient(model, q, v, a, loops, mu, rows, wrenches, resistance)
    return -by_q, -by_v, mu
