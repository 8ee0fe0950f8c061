"""The gradient of λᵀ a of forward dynamics with loops."""

from __future__ import annotations

from mozzi.algorithms.derivatives.gradient import forward_dynamics_gradient
from mozzi.algorithms.derivatives.loops.solve import (
    constrained_accelerations,
    constrained_gradient,
    constrained_solve,
)
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import ByBody
from mozzi.lie import Wrench
from mozzi.types import Traced

__all__ = ["constrained_forward_gradient"]


@forward_dynamics_gradient.recursion_with_loops
def constrained_forward_gradient(
    model: Mechanism, q: BlockArray, v: BlockArray, tau: BlockArray, covector: BlockArray,
    wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
) -> tuple[Traced, Traced, BlockArray]:  # fmt: skip
    """(2) of `solve`, for the accelerations."""
    a, loops = constrained_accelerations(model, q, v, tau, wrenches, resistance)
    mu, rows = constrained_solve(model, q, covector)
    by_q, by_v = constrained_gradient(model, q, v, a, loops, mu, rows, wrenches, resistance)
    return -by_q, -by_v, mu
