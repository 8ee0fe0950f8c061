"""The gradient of λᵀ a of forward dynamics with loops."""

from __future__ import annotations

import numpy as np

from mozzi.algorithms.derivatives.gradient import forward_dynamics_gradient
from mozzi.algorithms.derivatives.loops.solve import accelerations_gradient_with_loops
from mozzi.algorithms.dynamics.forward import Sweeps, forward
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import ByBody
from mozzi.lie import Wrench
from mozzi.program.counted_loops import negated
from mozzi.types import Traced

__all__ = ["constrained_forward_gradient"]


@forward_dynamics_gradient.recursion_with_loops
def constrained_forward_gradient(
    model: Mechanism, q: BlockArray, v: BlockArray, tau: BlockArray, covector: BlockArray,
    wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
) -> tuple[Traced, Traced, BlockArray]:  # fmt: skip
    """(2) of `solve`, for the accelerations."""
    x = Sweeps(model, q, v, tau, wrenches=wrenches, resistance=resistance)
    a, loops = forward(x)
    assert loops is not None
    by_q, by_v, mu = accelerations_gradient_with_loops(x, q, v, a, loops, covector)
    by_q, by_v = (np.array(negated(x), dtype=object) for x in (by_q, by_v))
    return by_q, by_v, mu
