"""Accelerations and jerks of a frame as explicit sums over its joints: slow and obvious.

The recursions of `kinematics.accelerations` are tested against these, and these hold for any
joint: with the derivatives ∂ taken along the group,

    V̇ = Σ_j J_j a_j + Σ_jk ∂_k J_j v_j v_k
    V̈ = Σ_j J_j j_j + Σ_jk ∂_k J_j (2 a_j v_k + v_j a_k) + Σ_jkl ∂_l ∂_k J_j v_j v_k v_l .

For one-dof joints the terms with k = l appear once and those with k ≠ l twice, where MD13 prints
the factor 2 for all.
"""

from __future__ import annotations

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.kinematics.jacobian import jacobian
from mozzi.algorithms.kinematics.jacobian_derivatives import jacobian_partials
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import JointVector
from mozzi.types import Rep, Traced

__all__ = ["acceleration_sum", "jerk_sum"]


@algorithm
def acceleration_sum(
    model: Mechanism, q: JointVector, v: BlockArray, a: BlockArray, frame: str, rep: Rep = "body"
) -> Traced:
    """V̇ of a frame.  Müller, Dynamics (6), (17), (28), (33)."""
    J, P = _derivatives(model, q, frame, rep, 1)
    u, du = v.array(), a.array()
    return J @ du + P @ u @ u


@algorithm
def jerk_sum(
    model: Mechanism,
    q: JointVector,
    v: BlockArray,
    a: BlockArray,
    j: BlockArray,
    frame: str,
    rep: Rep = "body",
) -> Traced:
    """V̈ of a frame.  Müller, Dynamics (13), (21), (31), (33)."""
    J, P, H = _derivatives(model, q, frame, rep, 2)
    u, du, ddu = v.array(), a.array(), j.array()
    return J @ ddu + 2.0 * (P @ u @ du) + P @ du @ u + H @ u @ u @ u


def _derivatives(
    model: Mechanism, q: JointVector, frame: str, rep: Rep, order: int
) -> list[Traced]:
    """J and its partial derivatives up to an order."""
    partials = [jacobian_partials(model, q, frame, n, rep).array() for n in range(1, order + 1)]
    return [jacobian(model, q, frame, rep).array(), *partials]
