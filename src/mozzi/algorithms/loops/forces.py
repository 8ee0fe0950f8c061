"""The forces that keep loops closed."""

from __future__ import annotations

from typing import cast

import numpy as np

from mozzi.algorithms.calls.algorithm import Arrays, Options, algorithm
from mozzi.algorithms.constraints.rows.rows import loop_acceleration, loop_jacobian
from mozzi.algorithms.dynamics.forward import (
    Sweeps,
    forward,
    hybrid_dynamics,
)
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.loops.actuation import opens, shared
from mozzi.algorithms.loops.rank_warnings import (
    hybrid_dynamics_with_rank_warnings,
    loop_forces_with_rank_warnings,
    multipliers,
    refuse_rates,
)
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import ByBody, JointVector
from mozzi.errors import LoopError
from mozzi.lie import Wrench
from mozzi.model import Model
from mozzi.types import Array, Traced

__all__ = ["checked_hybrid_dynamics", "loop_forces"]

LEAST = ("minimize", "weighting")  # the options that say which of several answers


@algorithm(regroup="moments", loops="honour")
def loop_forces(
    model: Mechanism, q: JointVector, v: JointVector, tau: JointVector,
    wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
    loop_accelerations: BlockArray | None = None,
) -> Traced:  # fmt: skip
    """λ (m) with M a + C v + g = τ + Aᵀ λ, for the accelerations a that keep the loops closed.

    Rows as `loop_rows` tells: of a loop, the wrench on body b along the rows of its joint, in the
    joint's frame there; of a distance, the force along it (positive pushes apart); of a coupling,
    its multiplier. Where rows depend on one another λ is of least norm. It does no work: λᵀ A v is
    zero. On arrays, a `SingularWarning` tells where loops lose rank.
    Kim (67); Rodriguez et al. step (D).

    Returns:
        (B, m): a multiplier for each equation.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q, v = bar.neutral(), np.zeros(bar.nv)
        >>> mz.loop_forces(bar, q, v, np.zeros(3)).shape
        (5,)
    """
    x = Sweeps(model, q, v, tau, wrenches=wrenches, resistance=resistance)
    _, loops = forward(x, loop_accelerations, least=True)
    return multipliers(loops)


@loop_forces.with_loops
def loop_forces_on_arrays(model: Model, arrays: Arrays, options: Options) -> Array:
    """`loop_forces` of a model with loops."""
    return loop_forces_with_rank_warnings(model, arrays, options)


@hybrid_dynamics.with_loops
def checked_hybrid_dynamics(
    model: Model, arrays: Arrays, options: Options
) -> tuple[Array, Array]:
    """`hybrid_dynamics` of a model with loops, or a `LoopError` where what is prescribed opens
    them.  Kim 3.3, m > n_v.
    """
    least = {n: options[n] for n in ("minimize", "weighting") if options[n] is not None}
    given = cast("Options", {n: x for n, x in options.items() if n not in LEAST})
    tau, a = hybrid_dynamics_with_rank_warnings(model, arrays, given)
    if not len(options["prescribed"]):
        refuse_rates(model, arrays, a)
        return tau, a
    left = loop_acceleration(model, arrays["q"], arrays["v"], a)
    left = np.abs(left - arrays.get("loop_accelerations", 0.0))
    if opens(model, arrays["q"], arrays["v"], a, left):
        raise LoopError(
            f"model {model.name!r}: no motion with these accelerations at "
            f"{', '.join(map(str, options['prescribed']))} keeps its loops closed (rows are left "
            f"with {left.max():.3g}); prescribe fewer joints, or accelerations that agree"
        )
    if least:
        tau = _least(model, arrays, options, a)
    return tau, a


def _least(model: Model, arrays: Arrays, options: Options, a: Array) -> Array:
    """Of several τ at prescribed coordinates those with the least squares: inverse dynamics whose
    actuators are there, and whose passive joints have the τ that is given.  Kim (74), (62)–(66).
    """
    acting = {n: arrays[n] for n in ("wrenches",) if n in arrays}
    q, tau_p = arrays["q"], arrays["tau"]
    tau_r = inverse_dynamics(
        model, q, arrays["v"], a, **acting, resistance=options["resistance"],
        wrenches_rep=options["wrenches_rep"],
    )  # fmt: skip
    how = cast("Options", {"actuated": options["prescribed"], **{n: options[n] for n in LEAST}})
    return shared(model, q, loop_jacobian(model, q), tau_r, how, tau_p).tau
