# pyright: reportConstantRedefinition=false
"""Gradients of λᵀ τ and λᵀ a of inverse and forward dynamics: recursions run backwards, O(n).

λᵀ τ is a power: that of the wrenches on all bodies, were they to move with the joint velocities λ.
The points of a body accelerate by r̈ + Q x, Q = [ω̇] + [ω][ω] (`kinematics/motion.py`), and
Λ = (μ, l) are the twists of λ:

    λᵀ τ = Σ Λᵢ · Fᵢ + λᵀ (rotors, resistance),   Λ · F = ∫ (l + μ × x) · (r̈ + Q x) dm − Λ · W. (1)

So ω, A = (ω̇, r̈) and Λ go outward, and what λᵀ τ gains from a unit of each of them comes inward:
G = (ξ, g) of A, η of ω, and F of Λ. A body and what hangs on it enter through Q and r̈ alone,

    N = ∫ (l + μ × x) xᵀ dm + g pᵀ of the children at p,   g = m l + μ × h + those of the children,
    λᵀ τ = … + Σ N_jk Q_jk:   ξ = N's axial vector + …,   η = (N + Nᵀ − 2 tr N) ω + … .         (2)

At a joint of constant screws S v = (σ, s), with ω⁻, A⁻, Λ⁻ of the parent, seen from the body,

    η⁻ = η + σ × ξ + 2 s × g,
    ∂/∂v = Sᵀ (η + ξ × ω⁻ + s × g, g × (ω⁻ + ω)),   ∂/∂a = Sᵀ G,
    ∂/∂q = −Sᵀ ((ω⁻ × η⁻ + ω̇⁻ × ξ + r̈⁻ × g, −Q⁻ᵀ g) + Λ⁻ ×* F).                                 (3)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.held_wrenches import HeldWrenches
from mozzi.algorithms.constraints.symbolic_closures import alike
from mozzi.algorithms.derivatives.configuration import spring_derivatives
from mozzi.algorithms.derivatives.springs import SpringPowers
from mozzi.algorithms.dynamics.articulated_inverse import ArticulatedInverse
from mozzi.algorithms.dynamics.forward import Sweeps, forward
from mozzi.algorithms.dynamics.springs import applied
from mozzi.algorithms.kinematics.motion import Arrival, arrived, arriving, departing
from mozzi.algorithms.recursion.articulated import articulated_bodies
from mozzi.algorithms.recursion.blocks import apply, transposed
from mozzi.algorithms.recursion.containers import BlockArray, Local, joint_vector, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector, PerBody
from mozzi.lie import (
    AccelerationField,
    Twist,
    Vec3,
    Wrench,
    field_pullback,
    linear_moments,
)
from mozzi.lie.vec import Mat3
from mozzi.model.joints.joint import Joint
from mozzi.program.differentiate import reverse
from mozzi.program.inline import inline
from mozzi.program.passes import prune
from mozzi.program.program import Input, Program, trace
from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = [
    "accelerations_gradient", "forward_dynamics_gradient", "inverse_dynamics_gradient",
    "known_accelerations_gradient", "power_gradient", "turning_screws",
]  # fmt: skip


@algorithm(regroup="moments", rolled_chains=True)
def inverse_dynamics_gradient(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, covector: JointVector,
    wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
) -> tuple[BlockArray, BlockArray, BlockArray]:  # fmt: skip
    """((∂τ/∂q)ᵀ λ, (∂τ/∂v)ᵀ λ, M λ) of `inverse_dynamics`: the gradient of λᵀ τ.

    The recursion run backwards, O(n): 2.2 times the operations of inverse dynamics.
    ``wrenches`` and ``resistance`` are those of `inverse_dynamics`.

    Returns:
        dq (B, nv): with respect to q, along the group.
        dv (B, nv): with respect to v.
        da (B, nv): with respect to a.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dq, dv, da = mz.inverse_dynamics_gradient(arm, q, v, a, v)
        >>> np.allclose(da, mz.mass_matrix(arm, q) @ v)
        True
    """
    return power_gradient(model, q, v, a, covector, wrenches, resistance)


@algorithm(
    regroup="moments", loops="honour", tells_open="q v", rolled_paths=True, rolled_loops=alike,
    rolled_chains=True,
)  # fmt: skip
def forward_dynamics_gradient(
    model: Mechanism, q: JointVector, v: JointVector, tau: JointVector, covector: JointVector,
    wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
) -> tuple[BlockArray, BlockArray, BlockArray]:  # fmt: skip
    """((∂a/∂q)ᵀ λ, (∂a/∂v)ᵀ λ, (∂a/∂τ)ᵀ λ) of `forward_dynamics`: the gradient of λᵀ a.

    With μ = M⁻¹ λ, by articulated bodies, it is −(∂τ/∂q)ᵀ μ, −(∂τ/∂v)ᵀ μ and μ, from
    `inverse_dynamics_gradient` at the same motion: O(n), without a Jacobian. With loops:
    `derivatives/loops/solve.py` (2).

    Returns:
        dq (B, nv): with respect to q, along the group.
        dv (B, nv): with respect to v.
        dtau (B, nv): with respect to τ.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dq, dv, dtau = mz.forward_dynamics_gradient(arm, q, v, tau, v)
        >>> np.allclose(dtau, mz.mass_matrix_inverse(arm, q) @ v)
        True
    """
    x = Sweeps(model, q, v, tau, wrenches=wrenches, resistance=resistance)
    a, _ = forward(x)
    return accelerations_gradient(x, a, covector)


def accelerations_gradient(
    x: Sweeps, a: JointVector, covector: JointVector
) -> tuple[BlockArray, BlockArray, BlockArray]:
    """`forward_dynamics_gradient` behind the sweeps of forward dynamics that found a."""
    mu, L = ArticulatedInverse(x.model, x.q, x.T, x.U, x.D).motion(covector)
    by_q, by_v, _ = power_gradient(
        x.model, x.q, x.v, a, mu, x.wrenches, x.resistance, T=x.T, L=L, moves=x, sign=-1.0
    )
    return by_q, by_v, mu


@algorithm(regroup="moments", rolled_chains=True)
def known_accelerations_gradient(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, covector: JointVector,
    wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
) -> tuple[BlockArray, BlockArray, BlockArray]:  # fmt: skip
    """`forward_dynamics_gradient` where the accelerations a are known, and the forces are not."""
    T, _, U, D = articulated_bodies(model, q)
    mu, L = ArticulatedInverse(model, q, T, U, D).motion(covector)
    by_q, by_v, _ = power_gradient(
        model, q, v, a, mu, wrenches, resistance, T=T, L=L, sign=-1.0
    )
    return by_q, by_v, mu


def power_gradient(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, lam: JointVector,
    wrenches: ByBody[Wrench] | None, resistance: bool, *, T: PerBody[RelativePose] | None = None,
    L: PerBody[Twist] | None = None, moves: Sweeps | None = None, sign: float = 1.0,
) -> tuple[BlockArray, BlockArray, BlockArray]:  # fmt: skip
    """The gradient of ±λᵀ τ by q and v, and that of λᵀ τ by a: (1) to (3).

    Where they are known: T, the twists L of λ, and sweeps that have left this motion (moves).
    """
    by_q, by_v, by_a = (joint_vector(model, letter) for letter in ("by_q", "by_v", "by_a"))
    before, F = per_body(model, "X F", Local[Arrival], Wrench)
    G, H, N = per_body(model, "G H N", Wrench, Vec3, Mat3)
    if moves is not None:
        w, A = moves.w, moves.A
    else:
        w, A = per_body(model, "w A", Vec3, Twist)
        A[model.world] = model.upward
    F_ext = applied(model, q, v, wrenches, resistance)
    poses, twists = T, L
    T = per_body(model, "T", Local[RelativePose]) if poses is None else poses
    L = per_body(model, "L", Twist) if twists is None else twists
    for i in model.outward():
        p, S = i.parent, i.joint.screws(q[i])
        Sv, own = S @ v[i], S @ a[i] + i.joint.screws_rate(q[i], v[i]) @ v[i]
        if poses is None:
            T[i] = i.pose(q[i])
        if twists is None:
            L[i] = T[i].pull(L[p]) + S @ lam[i]
        if moves is None:
            before[i] = x = arriving(T[i], A[p], w[p], w[p])
            w[i], _, moved = departing(T[i], x, Sv, Sv)
            A[i] = moved + own
            field = AccelerationField(A[i].ang, w[i], w[i])
            F[i] = field.wrench(i.inertia, A[i].lin) - F_ext[i]  # (1)
        else:
            before[i] = arrived(T[i], w[i], A[i], Sv, own)
            F[i] = (i.inertia @ A[i]).rate() + moves.B_own[i]  # (1)
        N[i] = linear_moments(i.inertia, L[i])  # (2)
        G[i] = Wrench(Vec3.zero(), L[i].lin * i.inertia.m + L[i].ang.cross(i.inertia.h))  # (2)
        H[i] = Vec3.zero()
    springs = SpringPowers(model, T, q, v, L) if resistance and model.model.springs else None
    held = _held_powers(model, L, wrenches) if isinstance(wrenches, HeldWrenches) else None
    for i in model.inward():
        p, S = i.parent, i.joint.screws(q[i])
        Sv, g, (w_p, _, A_p) = S @ v[i], G[i].lin, before[i]
        own = N[i] + g.outer(T[i].motion.p) if T[i].axial else N[i]
        by_rate, by_w = field_pullback(own, w[i])
        xi, eta = G[i].ang + by_rate, H[i] + by_w  # (2)
        eta_p = eta + Sv.ang.cross(xi) + Sv.lin.cross(g) * 2.0
        K = Wrench(eta + xi.cross(w_p) + Sv.lin.cross(g), g.cross(w_p + w[i]))
        on_p, L_p = AccelerationField(A_p.ang, w_p, w_p), L[i] - S @ lam[i]
        turns = w_p.cross(eta_p) + A_p.ang.cross(xi) + A_p.lin.cross(g)
        turned = -(Wrench(turns, -on_p.transposed(g)) + L_p.cross(F[i]))
        if springs is not None:
            more_q, more_v = springs.passed(i)
            turned, K = turned + more_q, K + more_v
        if held is not None:
            turned = turned + held[i]
            held[p] += T[i].push(held[i])
        on_A = Wrench(xi, g)
        to_q, to_v, to_a = S.T @ turned, S.T @ K, S.T @ on_A  # (3)
        if not i.joint.subgroup:
            more_q, more_v = turning_screws(i.joint, q[i], v[i], a[i], lam[i], K, on_A, F[i])
            to_q, to_v = _plus(to_q, more_q), _plus(to_v, more_v)
        if resistance:
            to_q = _plus(to_q, _stretched(i, q[i], lam[i]))
            to_v = _plus(to_v, [d * x for d, x in zip(i.damping, lam[i], strict=True)])
        by_q[i], by_v[i] = [sign * x for x in to_q], [sign * x for x in to_v]  # (3)
        by_a[i] = _plus(to_a, [m * x for m, x in zip(i.armature, lam[i], strict=True)])
        F[p] += T[i].push(F[i])  # (1)
        g_p = T[i].rotate(g)
        G[p] += Wrench(T[i].rotate(xi), g_p)  # (2)
        H[p] += T[i].rotate(eta_p)  # (2)
        N[p] += g_p.outer(T[i].start)  # (2)
    return by_q, by_v, by_a


def _held_powers(model: Mechanism, L: ByBody[Twist], given: HeldWrenches) -> PerBody[Wrench]:
    """E with E · δ the power −Λ · δW of wrenches that stay in their representation while their
    body is displaced by δ: the transpose of `carried_back`.
    """
    E = per_body(model, "E", Wrench)
    for i in model.outward():
        W, X = given[i], i.frame.pull(L[i])
        moment = W.lin.cross(X.lin)
        moment = moment if given.rep == "mixed" else moment + W.ang.cross(X.ang)
        E[i] = i.frame.push(-X.cross(W) if given.rep == "spatial" else Wrench(moment, Vec3.zero()))
    return E


# -- one joint --


def _stretched(i: BodyView, q: Sequence[Real], lam: Sequence[Real]) -> list[Real]:
    """λ through the derivative of the forces of springs."""
    return list(apply(transposed(spring_derivatives(i.joint, i.stiffness, i.rest, q)), lam))


def _plus(x: Iterable[Real], y: Iterable[Real]) -> list[Real]:
    return [a + b for a, b in zip(x, y, strict=True)]


# -- joints whose screws turn with q: small programs, traced once for a kind and inlined --

_PROGRAMS: dict[Hashable, Program] = {}


def turning_screws(
    joint: Joint, q: Sequence[Real], v: Sequence[Real], a: Sequence[Real], lam: Sequence[Real],
    K: Wrench, G: Wrench, F: Wrench,
) -> tuple[Sequence[Real], Sequence[Real]]:  # fmt: skip
    """∂/∂q and ∂/∂v of K · S v + G · (S a + Ṡ v) + F · S λ by way of S and Ṡ; K, G and F held."""
    key = joint.kind, joint.code
    if key not in _PROGRAMS:
        sizes = {"q": joint.nq, "v": joint.nv, "a": joint.nv, "lam": joint.nv}
        sizes |= {"K": 6, "G": 6, "F": 6, "parameters": len(joint.parameters())}
        inputs = [Input(name, (size,)) for name, size in sizes.items()]

        def make(
            q: Traced, v: Traced, a: Traced, lam: Traced, K: Traced, G: Traced, F: Traced,
            parameters: Traced,
        ) -> tuple[Traced, Traced]:  # fmt: skip
            own = joint.with_parameters(list(parameters))
            on_v, on_a, on_lam = (Wrench.unflatten(x) for x in (K, G, F))
            S, drift = own.screws(list(q)), own.screws_rate(list(q), list(v)) @ list(v)
            power = on_v.dot(S @ list(v)) + on_a.dot(S @ list(a) + drift)
            power = power + on_lam.dot(S @ list(lam))
            by_q = reverse(power, q, 1.0)
            N = np.array([own.rates(list(q), list(e)) for e in np.eye(own.nv)], dtype=object)
            return N @ by_q, reverse(on_a.dot(drift), v, 1.0)

        _PROGRAMS[key] = prune(trace(make, inputs, "turning_screws"))
    given = (q, v, a, lam, K.flatten(), G.flatten(), F.flatten(), joint.parameters())
    by_q, by_v = inline(_PROGRAMS[key], [list(x) for x in given])
    return by_q, by_v
