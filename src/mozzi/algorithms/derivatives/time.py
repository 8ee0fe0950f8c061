"""Time derivatives of the equations of motion: τ̇ and τ̈ along a motion, and the rate of M⁻¹.

Quantities are rates of spatial twists and wrenches, written in the frames of the bodies: with
J̇ = V × J for the screws that a body carries along, every law is that of an inertial frame and
nothing is added where components pass from body to body.
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from typing import TypeAlias

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.dynamics.inverse_mass import InverseMass, rows
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix, mass_matrix_rate, transposed
from mozzi.algorithms.kinematics.accelerations import stages
from mozzi.algorithms.recursion.containers import (
    BlockArray,
    Local,
    joint_matrix,
    joint_vector,
    per_body,
)
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import BodyView, JointVector
from mozzi.lie import Inertia, Screws, Twist, Wrench

__all__ = ["inverse_dynamics_rates", "mass_matrix_inverse_rate"]

TwistRates: TypeAlias = tuple[Twist, Twist, Twist, Twist]
"""V, V̇, V̈, V⃛."""
JointScrews = tuple[Screws[Twist], Screws[Twist], Screws[Twist]]
"""S, J̇ and J̈ of a joint."""


@algorithm(regroup=True)
def inverse_dynamics_rates(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, j: JointVector, s: JointVector
) -> tuple[BlockArray, BlockArray, BlockArray]:
    """(τ, τ̇, τ̈) along a motion with v̇ = a, ȧ = j (jerk) and j̇ = s (snap).

    Newton–Euler with its first two time derivatives, O(n): outward the twists up to V⃛, inward the
    wrenches up to Ẅ, then τ̈ = J̈ᵀ W + 2 J̇ᵀ Ẇ + Jᵀ Ẅ.  Müller, Dynamics 6.3. Of a model with loops
    these are the forces of the tree, as those of `inverse_dynamics`; the jerk of a motion that
    keeps them closed is `directional(forward_dynamics, …, dq=v, dv=a, dtau=τ̇)`. Of the rigid
    equations: without damping, friction and springs.

    Returns:
        tau (B, nv): joint forces.
        tau_dot (B, nv): their rates.
        tau_ddot (B, nv): the rates of these.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> tau, *_ = mz.inverse_dynamics_rates(arm, q, v, a, a, a)
        >>> np.allclose(tau, mz.inverse_dynamics(arm, q, v, a))
        True
    """
    T, X = per_body(model, "T X", Local[RelativePose], Local[JointScrews])
    V, A, B, C = per_body(model, "V A B C", Twist, Twist, Twist, Twist)  # V and its rates
    W, dW, ddW = per_body(model, "W dW ddW", Wrench, Wrench, Wrench)
    tau, dtau, ddtau = (joint_vector(model, x) for x in ("tau", "dtau", "ddtau"))
    A[model.world] = model.upward
    for i in model.outward():
        T[i] = i.pose(q[i])
        V_p, A_p, B_p, C_p = (T[i].pull(x[i.parent]) for x in (V, A, B, C))
        X[i], (V[i], A[i], B[i], C[i]) = _move(i, q, v, a, j, s, (V_p, A_p, B_p, C_p))
        W[i], dW[i], ddW[i] = _wrenches(i.inertia, (V[i], A[i], B[i], C[i]))
    for i in model.inward():
        S, dS, ddS = X[i]
        f, df, ddf = W[i], dW[i], ddW[i]
        tau[i] = [x + m * e for x, m, e in zip(S.T @ f, i.armature, a[i], strict=True)]
        rate = zip(dS.T @ f, S.T @ df, i.armature, j[i], strict=True)
        dtau[i] = [x + y + m * e for x, y, m, e in rate]
        second = zip(ddS.T @ f, dS.T @ df, S.T @ ddf, i.armature, s[i], strict=True)
        ddtau[i] = [x + 2.0 * y + z + m * e for x, y, z, m, e in second]
        for Y in (W, dW, ddW):
            Y[i.parent] += T[i].push(Y[i])
    return tau, dtau, ddtau


def _move(
    i: BodyView,
    q: JointVector,
    v: JointVector,
    a: JointVector,
    j: JointVector,
    s: JointVector,
    motion: TwistRates,
) -> tuple[JointScrews, TwistRates]:
    """S, J̇ and J̈ of a joint, and the motion behind it, from that before it.

    Factor by factor: J̇ = V × J,  J̈ = V̇ × J + V × J̇,  J⃛ = V̈ × J + 2 V̇ × J̇ + V × J̈, with the
    motion behind the factor.  Müller, Dynamics (16), (19).
    """
    S, label = i.joint.screws(q[i]), stages(i.joint)
    V, A, B, C = motion
    first: list[Twist] = []
    second: list[Twist] = []
    for stage in range(max(label, default=-1) + 1):
        own = [c for c, x in enumerate(label) if x == stage]
        J = Screws(S[c] for c in own)
        x, dx, ddx, dddx = ([y[i][c] for c in own] for y in (v, a, j, s))
        V = V + J @ x
        dJ = V.cross(J)
        A = A + J @ dx + dJ @ x
        ddJ = A.cross(J) + V.cross(dJ)
        B = B + J @ ddx + dJ @ [2.0 * e for e in dx] + ddJ @ x
        dddJ = B.cross(J) + _twice(A.cross(dJ)) + V.cross(ddJ)
        three = [3.0 * e for e in ddx], [3.0 * e for e in dx]
        C = C + J @ dddx + dJ @ three[0] + ddJ @ three[1] + dddJ @ x
        first += dJ
        second += ddJ
    return (S, Screws(first), Screws(second)), (V, A, B, C)


def _wrenches(I: Inertia, motion: TwistRates) -> tuple[Wrench, Wrench, Wrench]:
    """W = (I V)˙ and its first two rates, with the rate I (Ẋ − V × X) + V ×* I X of any I X."""
    V, A, B, C = motion
    h, k = I @ V, I @ A
    W = k.rate() + V.cross(h)
    E = B - V.cross(A)
    dk = (I @ E).rate() + V.cross(k)
    dW = dk + A.cross(h) + V.cross(W)
    dE = C - V.cross(B)
    ddk = (I @ (dE - V.cross(E))).rate() + V.cross(I @ E) + A.cross(k) + V.cross(dk)
    return W, dW, ddk + B.cross(h) + A.cross(W) * 2.0 + V.cross(dW)


def _twice(S: Screws[Twist]) -> Screws[Twist]:
    return Screws(c * 2.0 for c in S)


@algorithm(regroup=True, threshold=20)
def mass_matrix_inverse_rate(model: Mechanism, q: JointVector, v: JointVector) -> BlockArray:
    """d(M⁻¹)/dt = −M⁻¹ Ṁ M⁻¹ along the velocity v, of the tree.

    From the sparse factors of M⁻¹, O(n² d).

    Returns:
        (B, nv, nv): symmetric; rows and columns are the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.mass_matrix_inverse_rate(arm, q, v).shape
        (3, 3)
    """
    inverse = InverseMass(model, mass_matrix(model, q))
    half = inverse.times(mass_matrix_rate(model, q, v))  # M⁻¹ Ṁ, whose transpose is Ṁ M⁻¹
    turned = joint_matrix(model, "turned")
    for i in model.outward():
        for j in model.outward():
            turned[j, i] = transposed(rows(half[i, j], i.joint.nv))
    return inverse.times(turned, -1.0)
