"""Accelerations and jerks of a frame as explicit sums over its joints: slow and obvious.

The recursions of `kinematics.accelerations` are tested against these, and these hold for any
joint: with the derivatives ∂ taken along the group,

    V̇ = Σ_j J_j a_j + Σ_jk ∂_k J_j v_j v_k
    V̈ = Σ_j J_j j_j + Σ_jk ∂_k J_j (2 a_j v_k + v_j a_k) + Σ_jkl ∂_l ∂_k J_j v_j v_k v_l .

For one-dof joints the terms with k = l appear once and those with k ≠ l twice, where MD13 prints
the factor 2 for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mozzi.algorithms.kinematics.jacobian import jacobian
from mozzi.algorithms.kinematics.jacobian_derivatives import jacobian_partials
from mozzi.algorithms.recursion.algorithm import algorithm

__all__ = ["acceleration_sum", "jerk_sum"]


@algorithm
def acceleration_sum(model: Any, q: Any, v: Any, a: Any, frame: str, rep: str = "body") -> Any:
    """V̇ of a frame.  Müller, Dynamics (6), (17), (28), (33)."""
    J, P = _derivatives(model, q, frame, rep, 1)
    v, a = v.array(), a.array()
    return J @ a + P @ v @ v


@algorithm
def jerk_sum(model: Any, q: Any, v: Any, a: Any, j: Any, frame: str, rep: str = "body") -> Any:
    """V̈ of a frame.  Müller, Dynamics (13), (21), (31), (33)."""
    J, P, H = _derivatives(model, q, frame, rep, 2)
    v, a, j = v.array(), a.array(), j.array()
    return J @ j + 2.0 * (P @ v @ a) + P @ a @ v + H @ v @ v @ v


def _derivatives(model: Any, q: Any, frame: str, rep: str, order: int) -> list[np.ndarray]:
    """J and its partial derivatives up to an order."""
    partials = [jacobian_partials(model, q, frame, n, rep).array() for n in range(1, order + 1)]
    return [jacobian(model, q, frame, rep).array(), *partials]
