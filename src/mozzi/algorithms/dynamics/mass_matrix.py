# pyright: reportConstantRedefinition=false
"""The mass matrix by composite bodies, its rate, and its inverse by articulated bodies."""

from __future__ import annotations

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.dynamics.articulated_inverse import ArticulatedInverse, depth
from mozzi.algorithms.dynamics.inverse_mass import InverseMass
from mozzi.algorithms.recursion.blocks import (
    diagonal_plus,
    rows,
    summed,
    transposed,
)
from mozzi.algorithms.recursion.containers import (
    BlockArray,
    Columns,
    Local,
    joint_matrix,
    per_body,
)
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import JointVector, PerBody
from mozzi.lie import Inertia, Mat3, Momentum, Screws, Twist, second_moments
from mozzi.program.settings import settings

__all__ = ["SHALLOW", "composites", "mass_matrix", "mass_matrix_inverse", "mass_matrix_rate"]

SHALLOW = 16  # joints from a tip to the base: a chain of as many takes 8,600 instead of 13,200


def composites(
    model: Mechanism, q: JointVector, T: PerBody[RelativePose], I: PerBody[Inertia]
) -> None:
    """Poses in the parents, and the inertia of each body with all that hangs on it."""
    for i in model.outward():
        T[i] = i.pose(q[i])
        I[i] = i.inertia
    for i in model.inward():
        I[i.parent] += T[i].push(I[i])  # of MD81: Σ Ad* 𝓜 Ad over what hangs on a body


@algorithm(regroup=True)
def mass_matrix(model: Mechanism, q: JointVector) -> BlockArray:
    """Kinetic energy is ½ vᵀ M(q) v.

    Composite bodies, O(n d).  Müller, Dynamics (81); Rodriguez et al. (0.14).

    Returns:
        (B, nv, nv): M, symmetric; rows and columns are the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(v @ mz.mass_matrix(arm, q) @ v / 2, mz.kinetic_energy(arm, q, v))
        True
    """
    T, I = per_body(model, "T I", Local[RelativePose], Inertia)
    M = joint_matrix(model)
    composites(model, q, T, I)
    for i in model.inward():
        F = per_body(model, "F", Columns(Momentum, i.joint.nv))
        F[i] = I[i] @ i.joint.screws(q[i])  # MD81: 𝓜 J
        for j in i.path():
            block = j.joint.screws(q[j]).T @ F[j]  # Sⱼᵀ F, a row per velocity of j
            M[j, i] = block  # MD81
            M[i, j] = transposed(block)  # MD81
            F[j.parent] = T[j].push(F[j])  # MD81
        M[i, i] = diagonal_plus(rows(M[i, i], i.joint.nv), i.armature)
    return M


@algorithm(regroup=True)
def mass_matrix_rate(model: Mechanism, q: JointVector, v: JointVector) -> BlockArray:
    """Ṁ along the velocity v.

    Composite bodies and their rates, O(n d).  Ploen (28).

    Returns:
        (B, nv, nv): Ṁ, symmetric; rows and columns are the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.mass_matrix_rate(arm, q, v).shape
        (3, 3)
    """
    T, dS = per_body(model, "T dS", Local[RelativePose], Local[Screws[Twist]])
    V, I, dI = per_body(model, "V I dI", Twist, Inertia, Inertia)
    dM = joint_matrix(model, "dM")
    for i in model.outward():
        S = i.joint.screws(q[i])
        T[i] = i.pose(q[i])
        V[i] = T[i].pull(V[i.parent]) + S @ v[i]  # K37
        dS[i] = V[i].cross(S) + i.joint.screws_rate(q[i], v[i])
        I[i] = i.inertia
        dI[i] = carried(i.inertia, V[i])  # P28: V×* I − I V×
    for i in model.inward():
        I[i.parent] += T[i].push(I[i])  # P28
        dI[i.parent] += T[i].push(dI[i])  # P28
    for i in model.inward():
        S = i.joint.screws(q[i])
        kind = Columns(Momentum, len(S))
        F, dF = per_body(model, "F dF", kind, kind)
        F[i], dF[i] = I[i] @ S, I[i] @ dS[i] + dI[i] @ S  # P28: I S, (I S)˙
        for j in i.path():
            block = summed(j.joint.screws(q[j]).T @ dF[j], dS[j].T @ F[j])  # Sᵀ(IS)˙ + ṠᵀIS
            dM[j, i] = block  # P28
            dM[i, j] = transposed(block)  # P28
            F[j.parent], dF[j.parent] = T[j].push(F[j]), T[j].push(dF[j])  # P28
    return dM


@algorithm(regroup=True)
def mass_matrix_inverse(model: Mechanism, q: JointVector) -> BlockArray:
    """M(q)⁻¹: the accelerations that unit joint forces produce, without gravity and at rest.

    Articulated bodies, O(n²): M⁻¹ = (1 − HψK)ᵀ D⁻¹ (1 − HψK), joint by joint, inward along its
    path by 1 − HψK and outward by its transpose.  Rodriguez et al. (0.30), (.40). Of trees that are
    not deep the same factors come from M itself, in fewer operations (`InverseMass`).

    Returns:
        (B, nv, nv): M⁻¹, symmetric; rows and columns are the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> np.allclose(mz.mass_matrix(arm, q) @ mz.mass_matrix_inverse(arm, q), np.eye(3))
        True
    """
    if _shallow(model):
        return InverseMass(model, mass_matrix(model, q)).matrix()
    return ArticulatedInverse.at(model, q).matrix()


def _shallow(model: Mechanism) -> bool:
    """Whether M⁻¹ takes fewer operations from M, O(n² d), than by articulated bodies, O(n²). These
    keep more digits, which single precision needs.
    """
    if model.rolled or settings().dtype == "float32":
        return False
    return depth(model) <= SHALLOW


def carried(I: Inertia, V: Twist) -> Inertia:
    """The rate of the inertia of a body that moves with the twist V:  V×* I − I V×.

    ∫ x xᵀ dm changes by N + Nᵀ, and the first moment by the linear momentum.
    """
    N = second_moments_flow(I, V)
    p = V.lin * I.m + V.ang.cross(I.h)
    xx, yy, zz = N.xx + N.xx, N.yy + N.yy, N.zz + N.zz
    xy, xz, yz = N.xy + N.yx, N.xz + N.zx, N.yz + N.zy
    return Inertia.from_parameters((0.0, *p, yy + zz, -xy, -xz, xx + zz, -yz, xx + yy))


def second_moments_flow(I: Inertia, V: Twist) -> Mat3:
    """N = ∫ ẋ xᵀ dm of a body that moves with the twist V."""
    return V.ang.hat() @ second_moments(I) + V.lin.outer(I.h)
