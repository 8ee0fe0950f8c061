"""Inertias that some rigid body has, as ten numbers without bounds: log-Cholesky parameters.

A body has positive mass everywhere exactly if its pseudo-inertia is positive definite; with
J = U Uᵀ and U upper triangular with exponentials on its diagonal, all of ℝ¹⁰ is one to one with
such bodies.  Rucker and Wensing, Smooth parameterization of rigid-body inertia (2022).
"""

from __future__ import annotations

from typing import cast

import numpy as np

from mozzi.checked import checked
from mozzi.errors import ConfigurationError, as_numbers
from mozzi.lie import Inertia
from mozzi.program.arrays import is_traced, traced_array
from mozzi.types import Array, ArrayLike

__all__ = ["from_log_cholesky", "to_log_cholesky"]


@checked
def from_log_cholesky(theta: ArrayLike) -> Array:
    """The ten inertial parameters (m, h, J) of a rigid body, from any ten numbers.

    Smooth, with a smooth inverse: gradients of any cost reach it, also while tracing (in `compile`,
    in laws).

    Cost: some dozens of operations, O(1).

    Args:
        theta (B, 10): (α, d₁, d₂, d₃, s₁₂, s₂₃, s₁₃, t₁, t₂, t₃).

    Returns:
        (B, 10): m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz, as `Inertia.parameters`.

    Example:
        >>> mz.from_log_cholesky(np.zeros(10))[[0, 4, 7, 9]]
        array([1., 2., 2., 2.])
    """
    x = cast(Array, traced_array(theta)) if is_traced(theta) else as_numbers(
        theta, "from_log_cholesky", "theta"
    )
    if x.shape[-1:] != (10,):
        raise ConfigurationError(f"from_log_cholesky: theta has shape {x.shape}; give ten numbers")
    a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = (x[..., k] for k in range(10))
    size, e1, e2, e3 = np.exp(2.0 * a), np.exp(d1), np.exp(d2), np.exp(d3)
    # U = eᵅ [[e1 s12 s13 t1] [0 e2 s23 t2] [0 0 e3 t3] [0 0 0 1]],  U Uᵀ = [[Σ h] [hᵀ m]]
    sxx = e1 * e1 + s12 * s12 + s13 * s13 + t1 * t1
    syy = e2 * e2 + s23 * s23 + t2 * t2
    szz = e3 * e3 + t3 * t3
    sxy, sxz, syz = s12 * e2 + s13 * s23 + t1 * t2, s13 * e3 + t1 * t3, s23 * e3 + t2 * t3
    ten = (1.0 + 0.0 * a, t1, t2, t3, syy + szz, -sxy, -sxz, sxx + szz, -syz, sxx + syy)
    return np.stack([size * y for y in ten], axis=-1)


@checked
def to_log_cholesky(parameters: ArrayLike | Inertia) -> Array:
    """The ten numbers without bounds of a rigid body: the inverse of `from_log_cholesky`.

    Cost: a Cholesky factor of a 4×4 matrix, O(1).

    Args:
        parameters (B, 10): m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz; or an `Inertia`.

    Returns:
        (B, 10): (α, d₁, d₂, d₃, s₁₂, s₂₃, s₁₃, t₁, t₂, t₃).

    Example:
        >>> body = mz.Inertia(2.0, (0.1, 0.0, 0.3), np.diag([0.3, 0.4, 0.5])).parameters()
        >>> bool(np.allclose(mz.from_log_cholesky(mz.to_log_cholesky(body)), body))
        True
    """
    given = parameters.parameters() if isinstance(parameters, Inertia) else parameters
    p = np.asarray(given, dtype=float)
    if p.shape[-1:] != (10,):
        raise ConfigurationError(f"to_log_cholesky: shape {p.shape}; give ten parameters")
    m, h = p[..., 0], p[..., 1:4]
    full = p[..., [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(*p.shape[:-1], 3, 3)
    half = 0.5 * np.trace(full, axis1=-2, axis2=-1)
    pseudo = np.empty((*p.shape[:-1], 4, 4))
    pseudo[..., :3, :3] = half[..., None, None] * np.eye(3) - full
    pseudo[..., :3, 3] = pseudo[..., 3, :3] = h
    pseudo[..., 3, 3] = m
    try:  # an upper factor is a lower one with rows and columns in reverse
        U = np.linalg.cholesky(pseudo[..., ::-1, ::-1])[..., ::-1, ::-1]
    except np.linalg.LinAlgError:
        raise ConfigurationError(
            "to_log_cholesky: no body of positive volume has these parameters; give a positive "
            "mass, and principal moments a, b, c at its centre of mass with a + b > c"
        ) from None
    last = U[..., 3, 3]
    V = U / last[..., None, None]
    rows = [np.log(last), *(np.log(V[..., k, k]) for k in range(3)), V[..., 0, 1], V[..., 1, 2],
            V[..., 0, 2], V[..., 0, 3], V[..., 1, 3], V[..., 2, 3]]  # fmt: skip
    return np.stack(rows, axis=-1)
