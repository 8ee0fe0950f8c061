"""Partial derivatives of the mass matrix of the tree and of its inverse, along the group."""

from __future__ import annotations

from typing import TypeAlias

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.dynamics.column_loops import congruences_by_loops, loops_over_directions
from mozzi.algorithms.dynamics.inverse_mass import InverseMass
from mozzi.algorithms.dynamics.mass_matrix import carried, mass_matrix
from mozzi.algorithms.kinematics.accelerations import stages
from mozzi.algorithms.recursion.containers import BlockArray, Local, joint_array, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector
from mozzi.lie import SE3, Inertia, Screws, Twist
from mozzi.program.scalar import Real

__all__ = ["mass_matrix_inverse_partials", "mass_matrix_partials"]

Placed: TypeAlias = tuple[BodyView, int]
"""A body, and its place on the way from the base."""
Column: TypeAlias = tuple[Twist, tuple[int, int]]
"""A screw, and its place there: that of its body, and its stage in the joint."""


@algorithm(regroup=True, threshold=20)
def mass_matrix_partials(model: Mechanism, q: JointVector) -> BlockArray:
    """∂M (nv, nv, nv):  ∂M_ij/∂q_k = d M(q ⊕ t e_k)_ij / dt.

    With joint i before j, in spatial screws and the inertia I_j of all that hangs on j:
    J_iᵀ (J_k ×* I_j J_j) for k behind i and not behind j, and J_iᵀ (J_k ×* I_k − I_k J_k ×) J_j
    for k behind j; else 0. O(n d²).  Müller, Dynamics (15), (16) in (81).

    Returns:
        (B, nv, nv, nv): rows and columns of M, then the direction.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.mass_matrix_partials(arm, q) @ v, mz.mass_matrix_rate(arm, q, v))
        True
    """
    return _partials(model, q)


@algorithm(regroup=True, threshold=20)
def mass_matrix_inverse_partials(model: Mechanism, q: JointVector) -> BlockArray:
    """∂(M⁻¹) (nv, nv, nv):  ∂M⁻¹/∂q_k = −M⁻¹ (∂M/∂q_k) M⁻¹.

    From the sparse factors of M⁻¹, O(n³ d).

    Returns:
        (B, nv, nv, nv): rows and columns of M⁻¹, then the direction.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> rate = mz.mass_matrix_inverse_rate(arm, q, v)
        >>> np.allclose(mz.mass_matrix_inverse_partials(arm, q) @ v, rate)
        True
    """
    inverse = InverseMass(model, mass_matrix(model, q))
    if loops_over_directions(model):
        return congruences_by_loops(model, inverse.matrix().array(), _partials(model, q), -1.0)
    half = inverse.times(_partials(model, q))
    turned = joint_array(model, "v", "v", "v", letter="turned")
    for i in model.outward():
        for j in model.outward():
            for k in model.outward():
                ni, nj, nk = i.joint.nv, j.joint.nv, k.joint.nv
                block = half[i, j, k]
                turned[j, i, k] = [
                    block[(r * nj + c) * nk + d]
                    for c in range(nj) for r in range(ni) for d in range(nk)
                ]  # fmt: skip
    return inverse.times(turned, -1.0)


def _partials(model: Mechanism, q: JointVector) -> BlockArray:
    C, I, J = per_body(model, "C I J", SE3, Inertia, Local[Screws[Twist]])
    P = joint_array(model, "v", "v", "v", letter="dM")
    for i in model.outward():
        C[i] = C[i.parent] @ i.pose(q[i])
        J[i], I[i] = C[i].push(i.joint.screws(q[i])), C[i].push(i.inertia)
    for i in model.inward():
        I[i.parent] += I[i]
    for m in model.inward():
        _set(P, I[m], J, (m, 0), (m, 0), (m, 0))
        for b in m.parent.path():
            _set(P, I[m], J, (b, 0), (b, 0), (m, 1))
            _set(P, I[m], J, (b, 0), (m, 1), (b, 0))
            _set(P, I[m], J, (b, 0), (m, 1), (m, 1))
            for a in b.parent.path():
                _set(P, I[m], J, (a, 0), (b, 1), (m, 2))
                _set(P, I[m], J, (a, 0), (m, 2), (b, 1))
    return P


def _set(
    P: BlockArray, I: Inertia, J: ByBody[Screws[Twist]], i: Placed, j: Placed, k: Placed
) -> None:
    """The blocks ∂M_ij/∂q_k and ∂M_ji/∂q_k of bodies i, j, k, each with its place on the way from
    the base; I is the inertia of all that hangs on the outermost.
    """
    keys = [[(rank, stage) for stage in stages(body.joint)] for body, rank in (i, j, k)]
    screws = [list(zip(J[body], own)) for (body, _), own in zip((i, j, k), keys)]
    block = [[[_partial(I, x, y, z) for z in screws[2]] for y in screws[1]] for x in screws[0]]
    P[i[0], j[0], k[0]] = block
    P[j[0], i[0], k[0]] = list(zip(*block))


def _partial(I: Inertia, i: Column, j: Column, k: Column) -> Real:
    """∂M_ij/∂q_k of three screws, each with its place on the way from the base."""
    (x, first), (y, second), (z, moved) = (i, j, k) if i[1] <= j[1] else (j, i, k)
    if moved <= first:
        return 0.0
    if moved <= second:
        return z.cross(I @ y).dot(x)
    return (carried(I, z) @ y).dot(x)
