"""Derivatives of inverse, forward and hybrid dynamics with respect to q, v, and a or τ.

Derivatives with respect to q are taken along the group: f(q ⊕ δ) with δ among the joint velocities.
Where joint c moves by δ, everything behind it is displaced by J_c δ, and so in the spatial
representation ∂J_k/∂q_c = [J_c, J_k] for all k behind c, 0 before (Müller, Dynamics (15), (16)).
With the twist V₋ and the acceleration A₋ of the body before c, and

    Ψ̇ = V₋ × J_c,    Ψ̈ = A₋ × J_c + V₋ × Ψ̇,    2B = V×* I − I V× + (I V)×̄* ,              (1)

the twist, acceleration and wrench of every body behind c change by

    ∂V/∂q_c = J_c × V + Ψ̇           ∂V/∂v_c = J_c
    ∂A/∂q_c = J_c × A + Ψ̈ − V × Ψ̇   ∂A/∂v_c = Ψ̇ + J̇_c − V × J_c                           (2)
    ∂W/∂q_c = J_c ×* W + I Ψ̈ + 2B Ψ̇    ∂W/∂v_c = I (Ψ̇ + J̇_c) + 2B J_c .                     (3)

What follows J_c leaves the forces of the joints behind c as they are. So sums of I, B and W over
all that hangs on a body are enough, and every pair of a joint and one on its way to the base takes
a constant number of operations: O(n d). Joints that are products of motion subgroups, whose screws
depend on q, count as one joint per factor, without bodies between: V₋ and A₋ are those before the
factor. docs/theory/derivatives.md derives this and compares it with program differentiation.
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.held_wrenches import HeldWrenches, carried_back
from mozzi.algorithms.derivatives.configuration import spring_derivatives
from mozzi.algorithms.derivatives.springs import add_spring_changes
from mozzi.algorithms.dynamics.articulated_inverse import DEEP, ArticulatedInverse, depth
from mozzi.algorithms.dynamics.coriolis import Flow
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.dynamics.inverse_mass import InverseMass
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix
from mozzi.algorithms.dynamics.springs import acting
from mozzi.algorithms.kinematics.accelerations import stages
from mozzi.algorithms.recursion.blocks import Block, diagonal_plus, minus, summed, transposed
from mozzi.algorithms.recursion.containers import (
    ZERO,
    BlockArray,
    Columns,
    Local,
    joint_array,
    joint_matrix,
    joint_vector,
    per_body,
)
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector
from mozzi.errors import ConfigurationError
from mozzi.lie import SE3, Inertia, Momentum, Screws, Twist, Wrench
from mozzi.model import Model
from mozzi.types import ArrayLike, JointChoice, Minimize

__all__ = [
    "Changes", "forward_dynamics_derivatives", "forward_dynamics_wrench_derivatives",
    "inverse_changes", "inverse_dynamics_derivatives", "inverse_dynamics_wrench_derivatives",
    "unbalanced", "wrench_changes",
]  # fmt: skip


@algorithm(regroup=True)
def inverse_dynamics_derivatives(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    a: JointVector,
    wrenches: ByBody[Wrench] | None = None,
    actuated: JointChoice | None = None,
    minimize: Minimize | None = None,
    weighting: ArrayLike | None = None,
    resistance: bool = False,
    tau: JointVector | None = None,
) -> tuple[BlockArray, BlockArray, BlockArray]:
    """(∂τ/∂q, ∂τ/∂v, ∂τ/∂a) of `inverse_dynamics`; ∂τ/∂a is the mass matrix. Rows are outputs.

    Composite bodies in the spatial representation, O(n d). External wrenches stay as they are in
    their representation (``wrenches_rep``). With loops and ``actuated`` joints, those of the
    torques that `inverse_dynamics` gives then (with ``tau`` of passive joints held). Damping and
    springs, of the joints and between bodies, count on request (``resistance``); friction is
    constant where it has a derivative.
    Müller, Dynamics (15), (16) in (70), (71); Kim Table 5 for all coordinates at once.

    Returns:
        dq (B, nv, nv): ∂τ/∂q along the group; rows are τ, columns the directions of v.
        dv (B, nv, nv): ∂τ/∂v.
        da (B, nv, nv): ∂τ/∂a, the mass matrix.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dq, dv, da = mz.inverse_dynamics_derivatives(arm, q, v, a)
        >>> np.allclose(da, mz.mass_matrix(arm, q))
        True
    """
    _check_actuated(actuated, minimize, tau)
    return inverse_changes(model, q, v, a, wrenches, resistance)


@algorithm(regroup=True, loops="honour")
def forward_dynamics_derivatives(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    tau: JointVector,
    wrenches: ByBody[Wrench] | None = None,
    resistance: bool = False,
) -> tuple[BlockArray, BlockArray, BlockArray]:
    """(∂a/∂q, ∂a/∂v, ∂a/∂τ) of `forward_dynamics`; ∂a/∂τ is M⁻¹. Rows are outputs.

    With τ = τ(q, v, a) of inverse dynamics at the same motion,  ∂a/∂q = −M⁻¹ ∂τ/∂q  and
    ∂a/∂v = −M⁻¹ ∂τ/∂v, where M⁻¹ = N D⁻¹ Nᵀ is applied in its sparse factors, O(n d²) for the
    factors and O(n² d) for the products (d: the depth of the tree); of chains beyond 40 joints
    by articulated bodies, O(n²). With loops: `derivatives/loops/first.py`.
    Kim Table 6 for all coordinates at once; Rodriguez et al. (0.30).

    Returns:
        dq (B, nv, nv): ∂a/∂q along the group; rows are a, columns the directions of v.
        dv (B, nv, nv): ∂a/∂v.
        dtau (B, nv, nv): ∂a/∂τ, the inverse of the mass matrix.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dq, dv, dtau = mz.forward_dynamics_derivatives(arm, q, v, tau)
        >>> np.allclose(dtau, mz.mass_matrix_inverse(arm, q))
        True
    """
    inverse: InverseMass | ArticulatedInverse
    if model.rolled and depth(model) > DEEP:
        inverse = ArticulatedInverse.at(model, q)
    else:
        inverse = InverseMass(model, mass_matrix(model, q))
    a = inverse.vector(unbalanced(model, q, v, tau, wrenches, resistance))
    dq, dv, _ = inverse_changes(model, q, v, a, wrenches, resistance)
    da_dq, da_dv = inverse.times_each(dq, dv, sign=-1.0)
    return da_dq, da_dv, inverse.matrix()


FREEDOMS = 48  # a Jacobian of more, straight: 21 ball joints compiled in 20 s, and ran half as fast


@inverse_dynamics_derivatives.unrolled_by
@forward_dynamics_derivatives.unrolled_by
def _bodies_unrolled(model: Model, options: Mapping[str, object]) -> int | None:
    """Few bodies with many freedoms are rolled, too, where their joints are of few kinds: a loop
    over pairs of bodies has a branch for each pair of kinds.
    """
    kinds = len({body.joint.kind for body in model})
    return 0 if model.nv > FREEDOMS and not model.closures and kinds <= 3 else None


@algorithm
def inverse_dynamics_wrench_derivatives(
    model: Mechanism,
    q: JointVector,
    actuated: JointChoice | None = None,
    minimize: Minimize | None = None,
    weighting: ArrayLike | None = None,
) -> BlockArray:
    """∂τ/∂W (nv, nb, 6) of `inverse_dynamics` with respect to the external wrenches: −J_bᵀ.

    The body-fixed Jacobians of all bodies, O(n d). With loops and ``actuated`` joints, what these
    bear of every wrench; a wrench that they cannot bear is a `LoopError`.

    Returns:
        (B, nv, nb, 6): rows are τ; then the body, and (torque, force) on it.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.inverse_dynamics_wrench_derivatives(arm, q).shape
        (3, 3, 6)
    """
    _check_actuated(actuated, minimize)
    return wrench_changes(model, q)


@algorithm(threshold=20, loops="honour", tells_open="q")
def forward_dynamics_wrench_derivatives(model: Mechanism, q: JointVector) -> BlockArray:
    """∂a/∂W (nv, nb, 6) of `forward_dynamics` with respect to the external wrenches: M⁻¹ J_bᵀ.

    From the sparse factors of M⁻¹, O(n² d). With loops, of the motions that keep them closed.

    Returns:
        (B, nv, nb, 6): rows are a; then the body, and (torque, force) on it.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.forward_dynamics_wrench_derivatives(arm, q).shape
        (3, 3, 6)
    """
    return InverseMass(model, mass_matrix(model, q)).times(wrench_changes(model, q), -1.0)


def _check_actuated(
    actuated: JointChoice | None, minimize: Minimize | None, tau: object = None
) -> None:
    if actuated is not None or minimize is not None or tau is not None:
        raise ConfigurationError(
            "actuated= and minimize= are for models with loops, and this one has none: every "
            "joint is actuated"
        )


def wrench_changes(model: Mechanism, q: JointVector) -> BlockArray:
    """−J_bᵀ of all bodies (nv, nb, 6)."""
    out = joint_array(model, "v", "b", 6, letter="dW")
    for b in model.outward():
        C = per_body(model, "C", SE3)  # the frame of body b in those on its way to the base
        C[b] = b.frame
        for i in b.path():
            out[i, b] = [(-x).flatten() for x in C[i].pull(i.joint.screws(q[i]))]
            C[i.parent] = i.pose(q[i]) @ C[i]
    return out


def unbalanced(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    tau: JointVector,
    wrenches: ByBody[Wrench] | None = None,
    resistance: bool = False,
) -> BlockArray:
    """τ − bias: the forces that accelerate."""
    bias = inverse_dynamics(model, q, v, ZERO, wrenches, resistance=resistance)
    x = joint_vector(model, "x")
    for i in model.outward():
        x[i] = minus(tau[i], bias[i])
    return x


JointScrews = tuple[Screws[Twist], Screws[Twist], Screws[Twist], Screws[Twist]]
"""S, Ψ̇, Ψ̈ and Ψ̇ + J̇ of a joint."""


class Changes(NamedTuple):
    """∂τ/∂q, ∂τ/∂v and ∂τ/∂a."""

    dq: BlockArray
    dv: BlockArray
    da: BlockArray


def inverse_changes(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    a: JointVector,
    wrenches: ByBody[Wrench] | None = None,
    resistance: bool = False,
) -> Changes:
    """The derivatives of inverse dynamics at (q, v, a)."""
    T, X = per_body(model, "T X", Local[RelativePose], Local[JointScrews])
    V, A, I, B, W = per_body(model, "V A I B W", Twist, Twist, Inertia, Flow, Wrench)
    dq, dv, da = (joint_matrix(model, x) for x in ("dq", "dv", "da"))
    A[model.world] = model.upward
    given, wrenches = wrenches, acting(model, q, v, wrenches, resistance)
    for i in model.outward():
        T[i] = i.pose(q[i])
        X[i], V[i], A[i] = _moving(i, q, v, a, T[i].pull(V[i.parent]), T[i].pull(A[i.parent]))
        I[i], B[i] = i.inertia, Flow.of(i.inertia, V[i] * 2.0)  # (1): 2B
        inertial = i.inertia.wrench(V[i], A[i])
        W[i] = inertial if wrenches is None else inertial - i.frame.push(wrenches[i])  # K42
    for i in model.inward():
        I[i.parent] += T[i].push(I[i])  # (3), over all that hangs on a body
        B[i.parent] += T[i].push(B[i])  # (3)
        W[i.parent] += T[i].push(W[i])  # K42
    for i in model.inward():
        (S, dP, ddP, dPJ), kind = X[i], Columns(Momentum, i.joint.nv)
        G, H, Fv, Fq = per_body(model, "G H Fv Fq", kind, kind, kind, kind)
        G[i], H[i] = I[i] @ S, B[i].transpose(S)  # (3), from the left
        Fv[i] = B[i] @ S + I[i] @ dPJ  # (3): ∂W/∂v
        steady = B[i] @ dP + I[i] @ ddP
        carried = Screws(_momentum(c.cross(W[i])) for c in S)
        Fq[i] = steady + carried  # (3): ∂W/∂q
        da[i, i] = diagonal_plus(S.T @ G[i], i.armature)  # MD81
        dv[i, i] = S.T @ Fv[i]  # (3)
        dq[i, i] = summed(S.T @ steady, _behind(i, S.T @ carried))  # (3)
        if resistance:
            damping, springs = _resisting(i, q)
            dv[i, i] = summed(S.T @ Fv[i], damping)
            dq[i, i] = summed(S.T @ steady, _behind(i, S.T @ carried), springs)
        for Y in (G, H, Fv, Fq):
            Y[i.parent] = T[i].push(Y[i])  # (3)
        for j in i.parent.path():
            Sj, dPj, ddPj, dPJj = X[j]
            da[j, i] = Sj.T @ G[j]  # MD81
            da[i, j] = transposed(Sj.T @ G[j])  # MD81
            dv[j, i] = Sj.T @ Fv[j]  # (3)
            dv[i, j] = transposed(summed(Sj.T @ H[j], dPJj.T @ G[j]))  # (3)
            dq[j, i] = Sj.T @ Fq[j]  # (3)
            dq[i, j] = transposed(summed(dPj.T @ H[j], ddPj.T @ G[j]))  # (3)
            for Y in (G, H, Fv, Fq):
                Y[j.parent] = T[j].push(Y[j])  # (3)
    if resistance:
        add_spring_changes(model, T, X, V, dq, dv)
    if isinstance(given, HeldWrenches):
        _add_held(model, T, X, given, dq)
    return Changes(dq, dv, da)


def _add_held(
    model: Mechanism, T: ByBody[RelativePose], X: ByBody[JointScrews], given: HeldWrenches,
    dq: BlockArray,
) -> None:  # fmt: skip
    """Add −Jᵀ ∂W/∂q of wrenches that do not move along with their bodies. O(n d²)."""
    C = per_body(model, "C", SE3)
    for i in model.outward():
        C[i] = C[i.parent] @ T[i]
    for i in model.outward():
        F, W = C[i] @ i.frame, given[i]
        for k in i.path():
            moved = [carried_back(W, F.pull(J), given.rep) for J in C[k].push(X[k][0])]
            dW = [F.push(x) for x in moved]
            for j in i.path():
                block = [[-w.dot(J) for w in dW] for J in C[j].push(X[j][0])]
                flat = (x for row in block for x in row)
                dq[j, k] = [x + y for x, y in zip(dq[j, k], flat, strict=True)]


def _moving(
    i: BodyView, q: JointVector, v: JointVector, a: JointVector, V: Twist, A: Twist
) -> tuple[JointScrews, Twist, Twist]:
    """S, Ψ̇, Ψ̈ and Ψ̇ + J̇ of the joint of a body, and the twist and acceleration behind it, from
    those before it, all in the frame of the body.
    """
    S, label = i.joint.screws(q[i]), stages(i.joint)
    psi: list[Twist] = []
    ddpsi: list[Twist] = []
    both: list[Twist] = []
    for stage in range(max(label, default=-1) + 1):
        own = [c for c, x in enumerate(label) if x == stage]
        J = Screws(S[c] for c in own)
        before = V
        V = V + J @ [v[i][c] for c in own]
        rates = V.cross(J)
        for column, rate in zip(J, rates, strict=True):
            psi.append(before.cross(column))
            ddpsi.append(A.cross(column) + before.cross(psi[-1]))
            both.append(psi[-1] + rate)
        A = A + J @ [a[i][c] for c in own] + rates @ [v[i][c] for c in own]
    return (S, Screws(psi), Screws(ddpsi), Screws(both)), V, A


def _resisting(i: BodyView, q: JointVector) -> tuple[Block, Block]:
    """The derivatives of `joint_resistance` of one joint by v and by q."""
    n = i.joint.nv
    damping = [[i.damping[r] if r == c else 0.0 for c in range(n)] for r in range(n)]
    return damping, spring_derivatives(i.joint, i.stiffness, i.rest, q[i])


def _behind(i: BodyView, block: Block) -> Block:
    """Of a block of one joint, what columns do to rows whose factor lies before theirs."""
    label = stages(i.joint)
    return tuple(
        tuple(x if label[r] < label[c] else 0.0 for c, x in enumerate(row))
        for r, row in enumerate(block)
    )


def _momentum(W: Wrench) -> Momentum:
    return Momentum(W.ang, W.lin)
