"""Constrained forward dynamics as one product of operators: the closed-form twin."""

from __future__ import annotations

import numpy as np

from mozzi.algorithms.calls.guard import fitting
from mozzi.algorithms.constraints.rank import pinv, what_counts
from mozzi.algorithms.constraints.rows.rows import loop_acceleration, loop_jacobian
from mozzi.algorithms.dynamics.inverse import bias_forces
from mozzi.algorithms.dynamics.operators import operators
from mozzi.algorithms.loops.open_loops import tell_open
from mozzi.algorithms.loops.shown import least_share
from mozzi.checked import checked
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.types import Array, ArrayLike, Rep

__all__ = ["projected_forward_dynamics"]


@checked
def projected_forward_dynamics(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: ArrayLike | None = None, *,
    wrenches_rep: Rep = "body",
) -> Array:  # fmt: skip
    """Accelerations that keep the loops closed, by projected operators:

        a = L⁻ᵀ D^{−½} [ (1 − b b⁺) D^{−½} L⁻¹ T + (b⁺)ᵀ U ],   b = D^{−½} L⁻¹ Aᵀ,

    with L⁻¹ = 1 − H ψ K, T = τ − C v − g and U = −Ȧ v. Slow and obvious, O(n³): what
    `forward_dynamics` computes by recursion. Without loops the middle is 1, and (0.31) remains.
    Of the rigid equations: without damping, friction and springs.  Rodriguez et al. (0.37), with U.

    Args:
        model: the mechanism.
        q (B, nq): configuration.
        v (B, nv): joint velocities.
        tau (B, nv): joint forces and torques, positive along v.
        wrenches (B, nb, 6), optional: external wrenches on the bodies.
        wrenches_rep: their representation.

    Returns:
        (B, nv): joint accelerations, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> a = mz.projected_forward_dynamics(arm, q, v, tau)
        >>> np.allclose(a, mz.forward_dynamics(arm, q, v, tau))
        True
    """
    as_model(model, "projected_forward_dynamics")
    q, v, forces = fitting("projected_forward_dynamics", model, q=q, v=v, tau=tau)
    o = operators(model, q)
    L, D = o.inverse_factor.dense(), o.D.dense()
    w, Q = np.linalg.eigh(D)
    root = (Q / np.sqrt(w)[..., None, :]) @ np.swapaxes(Q, -1, -2)  # D^{−½}
    given = {} if wrenches is None else {"wrenches": wrenches, "wrenches_rep": wrenches_rep}
    T = forces - bias_forces(model, q, v, **given)
    middle = root @ L @ T[..., None]
    if model.closures:
        tell_open("projected_forward_dynamics", model, q, v)
        A = what_counts(model, loop_jacobian(model, q), least_share(model, q))
        U = -loop_acceleration(model, q, v, np.zeros_like(v))
        b = root @ L @ np.swapaxes(A, -1, -2)
        inverse = pinv(b)
        middle = middle - b @ (inverse @ middle) + np.swapaxes(inverse, -1, -2) @ U[..., None]
    return (np.swapaxes(L, -1, -2) @ root @ middle)[..., 0]
