"""The gradient of λᵀ a of forward dynamics with loops."""

from __future__ import annotations

import numpy as np

from mozzi.algorithms.derivatives.gradient import forward_dynamics_gradient
from mozzi.algorithms.derivatives.loops.solve import constrained_gradient
from mozzi.algorithms.dynamics.forward import Sweeps, at_rest, forward
from mozzi.algorithms.loops.rank_warnings import multipliers
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
    """(2) of `solve`, for the accelerations: both times with the same factors."""
    x = Sweeps(model, q, v, tau, wrenches=wrenches, resistance=resistance)
    a, loops = forward(x)
    assert loops is not None
    mu, rows = at_rest(x, loops, covector)
    lam, nu = multipliers(loops), multipliers(rows)
    by_q, by_v = constrained_gradient(model, q, v, a, lam, mu, nu, wrenches, resistance)
    by_q, by_v = (np.array(negated(x), dtype=object) for x in (by_q, by_v))
    return by_q, by_v, mu
