# pyright: reportConstantRedefinition=false
"""Dynamics in momenta: the state (q, Π) of all bodies, and (q, p) of the joints.

The spatial momenta Π of the bodies change by the wrenches on them, Π̇ = W (MD36), and with
𝓜ˢ Jˢ v = Πˢ the equations of motion are of first order (MD79). Their projection p = Jˢᵀ Πˢ (with
rotors, p = M v) is conjugate to v, and the joints' reactions do no work on it:

    ṗᵢ = (Vᵢ × Sᵢ + Ṡᵢ)ᵀ Hᵢ + Sᵢᵀ Wᵢ + τᵢ ,                                                  (1)

with the momentum H and the applied wrenches W of all that hangs on a body. So (v, ṗ) takes one
solution of M v = p and no accelerations.
"""

from __future__ import annotations

from dataclasses import replace

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.dynamics.forward import Sweeps, forward_dynamics
from mozzi.algorithms.dynamics.resistance import resisting
from mozzi.algorithms.dynamics.springs import applied
from mozzi.algorithms.recursion.blocks import minus, plus
from mozzi.algorithms.recursion.containers import (
    ZERO,
    BlockArray,
    Local,
    body_array,
    joint_vector,
    per_body,
)
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.representations import check, from_body
from mozzi.algorithms.recursion.views import ByBody, JointVector
from mozzi.lie import SE3, Momentum, Twist, Vec3, Wrench
from mozzi.types import Rep

__all__ = [
    "AtRest", "hamiltonian_dynamics", "joint_momenta", "momenta", "momentum_dynamics",
    "momentum_rates", "projected_momenta", "velocities_of_momenta",
]  # fmt: skip


class AtRest(Mechanism):
    """A mechanism without gravity; without rotors, too, where told."""

    def __init__(self, of: Mechanism, rotors: bool = True):
        bodies = of.bodies
        if not rotors:
            bodies = tuple(replace(b, armature=(0.0,) * len(b.armature)) for b in bodies)
        super().__init__(of.model, bodies, of.rolled, of.fixed)
        self.rotors = rotors

    @property
    def upward(self) -> Twist:
        return Twist.zero()


@algorithm
def momenta(model: Mechanism, q: JointVector, v: JointVector, rep: Rep = "spatial") -> BlockArray:
    """Π = 𝓜 J v: the momentum of every body, about the inertial origin unless told.

    O(n); `momentum` is the sum of the spatial ones.  Müller, Dynamics (35), (79).

    Returns:
        (B, nb, 6): a row (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.momenta(arm, q, v).sum(axis=-2), mz.momentum(arm, q, v))
        True
    """
    T, V, C = per_body(model, "T V C", Local[RelativePose], Twist, SE3)
    out = body_array(model, 6, letter="P")
    for i in model.outward():
        T[i] = i.pose(q[i])
        C[i] = C[i.parent] @ T[i]
        V[i] = T[i].pull(V[i.parent]) + i.joint.screws(q[i]) @ v[i]
        h = i.inertia @ V[i]
        if check(rep) == "spatial":
            out[i] = C[i].push(h)  # MD35
        else:
            out[i] = from_body(i.frame.pull(h), C[i] @ i.frame, rep)
    return out


@algorithm(regroup=True)
def joint_momenta(model: Mechanism, q: JointVector, v: JointVector) -> BlockArray:
    """p = M(q) v, the momenta conjugate to v: Jˢᵀ Πˢ, and those of the rotors.

    Newton–Euler on momenta, O(n).  Müller, Dynamics, below (81).

    Returns:
        (B, nv): in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.joint_momenta(arm, q, v), mz.mass_matrix(arm, q) @ v)
        True
    """
    T, V, H = per_body(model, "T V H", Local[RelativePose], Twist, Momentum)
    p = joint_vector(model, "p")
    for i in model.outward():
        T[i] = i.pose(q[i])
        V[i] = T[i].pull(V[i.parent]) + i.joint.screws(q[i]) @ v[i]
        H[i] = i.inertia @ V[i]
    for i in model.inward():
        rotors = [m * x for m, x in zip(i.armature, v[i], strict=True)]
        p[i] = plus(i.joint.screws(q[i]).T @ H[i], rotors)  # MD81
        H[i.parent] += T[i].push(H[i])
    return p


@algorithm
def momentum_rates(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector
) -> BlockArray:
    """Π̇ˢ: the rates of the spatial momenta of all bodies, which are the wrenches on them.

    O(n).  Müller, Dynamics (36), (38).

    Returns:
        (B, nb, 6): a row (torque, force) for each body, about the inertial origin.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.momentum_rates(arm, q, v, a).shape
        (3, 6)
    """
    C, V, A = per_body(model, "C V A", SE3, Twist, Twist)
    out = body_array(model, 6, letter="dP")
    for i in model.outward():
        S, T = i.joint.screws(q[i]), i.pose(q[i])
        C[i] = C[i.parent] @ T
        V[i] = T.pull(V[i.parent]) + S @ v[i]
        own = V[i].cross(S @ v[i]) + i.joint.screws_rate(q[i], v[i]) @ v[i]
        A[i] = T.pull(A[i.parent]) + S @ a[i] + own  # K41
        out[i] = C[i].push(i.inertia.wrench(V[i], A[i]))  # MD36, MD41
    return out


@algorithm
def velocities_of_momenta(
    model: Mechanism, q: JointVector, momenta: ByBody[Momentum]
) -> BlockArray:
    """v with 𝓜ˢ Jˢ v = Πˢ: the joint velocities of spatial momenta of all bodies.

    (Jˢᵀ 𝓜ˢ Jˢ) v = Jˢᵀ Πˢ by articulated bodies, O(n); of momenta that no motion has, those whose
    kinetic energy differs least. Of the tree where loops close it.  Müller, Dynamics (79).

    Returns:
        (B, nv): joint velocities.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.velocities_of_momenta(arm, q, mz.momenta(arm, q, v)), v)
        True
    """
    return solve_mass_matrix(AtRest(model, rotors=False), q, projected_momenta(model, q, momenta))


@algorithm(loops="honour", tells_open="q")
def momentum_dynamics(
    model: Mechanism, q: JointVector, momenta: ByBody[Momentum], tau: JointVector,
    wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
) -> tuple[BlockArray, BlockArray]:  # fmt: skip
    """(v, Π̇ˢ) of the state (q, Πˢ): forward dynamics as equations of first order in momenta.

    𝓜ˢ Jˢ v = Πˢ and Jˢᵀ (Π̇ˢ − Wˢ) = τ, both by articulated bodies, O(n). The sum of Π̇ˢ is the
    wrench on the whole, so that any Runge–Kutta method keeps the momentum of what floats.
    ``simulate(state="momentum")`` integrates this.  Müller, Dynamics (79).

    Returns:
        v (B, nv): joint velocities.
        momentum_rates (B, nb, 6): rates of the spatial momenta, a row for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> u, rates = mz.momentum_dynamics(arm, q, mz.momenta(arm, q, v), tau)
        >>> np.allclose(u, v), rates.shape
        (True, (3, 6))
    """
    v = velocities_of_momenta(model, q, momenta)
    a = forward_dynamics(model, q, v, tau, wrenches, resistance)
    return v, momentum_rates(model, q, v, a)


@algorithm(loops="refuse")
def hamiltonian_dynamics(
    model: Mechanism, q: JointVector, p: JointVector, tau: JointVector,
    wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
) -> tuple[BlockArray, BlockArray]:  # fmt: skip
    """(v, ṗ) of the state (q, p) with the joint momenta p = M v: Hamilton's equations.

    M v = p by articulated bodies, then ṗ by momenta and loads that are summed inward, O(n), without
    accelerations.  Müller, Dynamics (79), projected.

    Returns:
        v (B, nv): joint velocities.
        p_rate (B, nv): rates of the joint momenta.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> u, rate = mz.hamiltonian_dynamics(arm, q, mz.joint_momenta(arm, q, v), tau)
        >>> np.allclose(u, v)
        True
    """
    v = solve_mass_matrix(AtRest(model), q, p)
    T, V, H = per_body(model, "T V H", Local[RelativePose], Twist, Momentum)
    up, W = per_body(model, "up W", Vec3, Wrench)
    rate = joint_vector(model, "p_rate")
    F_ext = applied(model, q, v, wrenches, resistance)
    up[model.world] = model.upward.lin
    for i in model.outward():
        T[i] = i.pose(q[i])
        V[i] = T[i].pull(V[i.parent]) + i.joint.screws(q[i]) @ v[i]
        up[i] = T[i].unrotate(up[i.parent])
        H[i] = i.inertia @ V[i]
        weight = Wrench(i.inertia.h.cross(up[i]), up[i] * i.inertia.m)
        W[i] = F_ext[i] - weight
    for i in model.inward():
        S = i.joint.screws(q[i])
        dS = V[i].cross(S) + i.joint.screws_rate(q[i], v[i])
        force = tau[i] if not resistance else minus(tau[i], resisting(i, q[i], v[i]))
        rate[i] = plus(plus(dS.T @ H[i], S.T @ W[i]), force)  # (1)
        H[i.parent] += T[i].push(H[i])
        W[i.parent] += T[i].push(W[i])
    return v, rate


def solve_mass_matrix(model: Mechanism, q: JointVector, x: JointVector) -> BlockArray:
    """M⁻¹ x of the tree: accelerations from rest, of a mechanism without gravity.  K45"""
    sweeps, out = Sweeps(model, q, ZERO, x), joint_vector(model, "x")
    for i, solved in sweeps.outward(sweeps.A, sweeps.n, lambda i: sweeps.u[i]):
        out[i] = solved
    return out


@algorithm
def projected_momenta(
    model: Mechanism, q: JointVector, momenta: ByBody[Momentum]
) -> BlockArray:
    """Jᵀ Π (nv): spatial co-vectors of the bodies on the spatial joint screws."""
    C, P = per_body(model, "C P", SE3, Momentum)
    out = joint_vector(model, "out")
    for i in model.outward():
        C[i] = C[i.parent] @ i.pose(q[i])
        P[i] = momenta[i]
    for i in model.inward():
        out[i] = i.joint.screws(q[i]).T @ C[i].pull(P[i])
        P[i.parent] += P[i]
    return out
