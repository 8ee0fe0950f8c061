"""Constrained forward dynamics as one product of operators: the closed-form twin."""

from __future__ import annotations

import numpy as np

from mozzi.algorithms.constraints.rank import pinv
from mozzi.algorithms.constraints.rows.rows import loop_acceleration, loop_jacobian
from mozzi.algorithms.dynamics.inverse import bias_forces
from mozzi.algorithms.dynamics.operators import operators
from mozzi.model import Model
from mozzi.types import Array, ArrayLike

__all__ = ["projected_forward_dynamics"]


def projected_forward_dynamics(model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
    """Accelerations that keep the loops closed, at one configuration:

        a = L⁻ᵀ D^{−½} [ (1 − b b⁺) D^{−½} L⁻¹ T + (b⁺)ᵀ U ],   b = D^{−½} L⁻¹ Aᵀ,

    with L⁻¹ = 1 − H ψ K, T = τ − C v − g and U = −Ȧ v. Slow and obvious; without loops the middle
    is 1 and R31 remains.  Rodriguez et al. (0.37), with U.
    """
    o = operators(model, q)
    L, D = o.inverse_factor.dense(), o.D.dense()
    w, Q = np.linalg.eigh(D)
    root = (Q / np.sqrt(w)) @ Q.T  # D^{−½}
    A = loop_jacobian(model, q)
    b = root @ L @ A.T
    T = np.asarray(tau) - bias_forces(model, q, v)
    U = -loop_acceleration(model, q, v, np.zeros(model.nv))
    inverse = pinv(b)
    middle = root @ L @ T
    middle = middle - b @ (inverse @ middle) + inverse.T @ U
    return L.T @ root @ middle
