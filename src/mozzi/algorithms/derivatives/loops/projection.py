"""Derivatives of the corrections that take a state back onto its loops.

The corrections of `loops/projection.py` are the solutions of M x − Aᵀ κ = 0 with A x = −φ(q) for
positions and A x = −A v for velocities. They are differentiated as `constrained_solve` tells, with
respect to q along the group and to v.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.inlining import inlined
from mozzi.algorithms.constraints.multipliers import factored_loops
from mozzi.algorithms.constraints.rows.relative_motion import Moving
from mozzi.algorithms.constraints.rows.rows import loop_drift, loop_jacobian
from mozzi.algorithms.derivatives.configuration import pull_integrate
from mozzi.algorithms.derivatives.first import inverse_dynamics_derivatives
from mozzi.algorithms.derivatives.loops.first import columns, loop_changes
from mozzi.algorithms.derivatives.loops.solve import (
    constrained_solve,
    position_correction_gradient,
    velocity_correction_gradient,
    weightless,
)
from mozzi.algorithms.derivatives.second import tangent_basis
from mozzi.algorithms.dynamics.forward import Sweeps, at_rest
from mozzi.algorithms.dynamics.momenta import AtRest
from mozzi.algorithms.loops.rank_warnings import multipliers
from mozzi.algorithms.recursion.blocks import minus
from mozzi.algorithms.recursion.containers import ZERO, BlockArray, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.rolled_or_not import ALWAYS_UNROLLED
from mozzi.algorithms.recursion.views import JointVector
from mozzi.model import Model
from mozzi.program.counted_loops import negated
from mozzi.program.differentiate import forward
from mozzi.types import Array, Traced

__all__ = ["Corrections", "correction_derivatives", "loop_drift_derivatives", "pull_correction"]


@algorithm(threshold=ALWAYS_UNROLLED, loops="honour")
def loop_drift_derivatives(model: Mechanism, q: BlockArray) -> Traced:
    """∂φ/∂q (m, nv), along the group: `loop_jacobian` where the loops are closed.

    By differentiating the program of φ, O(m d).
    """
    return inlined(model, _residual, q)[0]


def _residual(model: Model, q: Traced) -> tuple[Traced]:
    return (forward(loop_drift(model, q), q, tangent_basis(model, q)),)


class Corrections(NamedTuple):
    """δ and δv, and their derivatives by q and v."""

    dq: Array
    dv: Array
    dq_q: Array
    dv_q: Array
    dv_v: Array


def correction_derivatives(
    model: Model, q: Array, v: Array, kept: Array | None = None
) -> Corrections:
    """The corrections of `loop_corrections` and their derivatives."""
    A = loop_jacobian(model, q)
    none, still = np.zeros(model.nv), np.zeros_like(v)
    held = {} if kept is None else {"kept": kept}
    x, k = constrained_solve(model, q, none, -loop_drift(model, q), **held)
    y, l = constrained_solve(model, q, none, -(A @ v[..., None])[..., 0], **held)

    def by_q(x: Array, k: Array, seen: Array, more: Array | float) -> Array:
        """∂x/∂q of M x − Aᵀ κ = 0, A x = g: the rows change by ∂(A seen) + more."""
        carried, _, _ = inverse_dynamics_derivatives(weightless(model), q, still, x)
        pull, _, _ = loop_changes(model, q, still, x, k)
        _, rows, _ = loop_changes(model, q, still, seen, k)
        return columns(model, q, pull - carried, -(rows + more), kept)[0]

    dq_q = by_q(x, k, x, loop_drift_derivatives(model, q))
    dv_q = by_q(y, l, v + y, 0.0)
    dv_v, _ = columns(model, q, np.zeros((model.nv, model.nv)), -A, kept)
    return Corrections(x, y, dq_q, dv_q, dv_v)


def pull_correction(
    model: Mechanism, q: BlockArray, v: BlockArray, p: JointVector, r: JointVector
) -> tuple[BlockArray, BlockArray]:
    """(q̄, v̄) from the derivatives p and r of a number behind q ⊕ δ, v + δv of `loop_corrections`.

    (2) of `solve`, twice, with the factors of both corrections. O(n) + O(m d).
    """
    x = Sweeps(AtRest(model), q, ZERO, ZERO)
    move = Moving(q, x.T)
    rows = factored_loops(x.model, move, x.U, x.D)
    delta, _, kappa = at_rest(x, rows, ZERO, negated(rows.propagated.open_by()))
    change, _, more = at_rest(x, rows, ZERO, negated(rows.propagated.rates(x.model, move, v)))
    X, Y = pull_integrate(model, q, delta, p)
    (mu, _, nu), (mu_v, _, nu_v) = at_rest(x, rows, Y), at_rest(x, rows, r)
    known = multipliers(kappa), mu, multipliers(nu)
    (by_q,) = position_correction_gradient(model, q, delta, *known)
    known = multipliers(more), mu_v, multipliers(nu_v)
    also_q, by_v = velocity_correction_gradient(model, q, v, change, *known)
    q_bar, v_bar = joint_vector(model, "q_bar"), joint_vector(model, "v_bar")
    parts = [joint_vector(model, "by", part) for part in (by_q, also_q, by_v)]
    for i in model.outward():
        q_bar[i] = minus(minus(X[i], parts[0][i]), parts[1][i])
        v_bar[i] = minus(r[i], parts[2][i])
    return q_bar, v_bar
