"""Accelerations and jerks of bodies: time derivatives of their twists, in the four
representations.

Every representation has its own recursion, O(n): the derivative of the recursion of its twists. A
joint contributes the twist σ = S v of its motion, and σ̇, σ̈; body frames sit on their joints, and
the letters are those of Müller, Dynamics, 2.
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.kinematics.poses import step
from mozzi.algorithms.recursion.containers import BlockArray, body_array, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.representations import check, turning
from mozzi.algorithms.recursion.views import BodyView, JointVector, PerBody
from mozzi.errors import ModelError
from mozzi.lie import SE3, Rotation, Screws, Twist, Vec3
from mozzi.lie.so3 import SO3
from mozzi.model import Joint
from mozzi.program.scalar import Real
from mozzi.types import Rep

__all__ = ["accelerations", "jerks", "stages"]

Block: TypeAlias = Sequence[Real]
TwistRates: TypeAlias = tuple[Twist, Twist, Twist | None]
"""A twist and its rates: the second, where jerks are asked for."""
Rates: TypeAlias = Callable[
    [Mechanism, JointVector, JointVector, JointVector, JointVector | None], BlockArray
]


@algorithm
def accelerations(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, rep: Rep = "body"
) -> BlockArray:
    """V̇_i of all bodies: the time derivatives of the twists in a representation.

    O(n).  Müller, Dynamics (6), (17), (28), (33), as recursions.

    Returns:
        (B, nb, 6): a row (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.accelerations(arm, q, v, a).shape
        (3, 6)
    """
    return _RATES[check(rep)](model, q, v, a, None)


@algorithm
def jerks(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    a: JointVector,
    j: JointVector,
    rep: Rep = "body",
) -> BlockArray:
    """V̈_i of all bodies: the second time derivatives of the twists in a representation.

    O(n).  Müller, Dynamics (13), (21), (31), (33), as recursions.

    Returns:
        (B, nb, 6): a row (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.jerks(arm, q, v, a, a).shape
        (3, 6)
    """
    return _RATES[check(rep)](model, q, v, a, j)


# -- what a joint contributes ----------------------------------------------------------------------


def stages(joint: Joint) -> tuple[int, ...]:
    """For each degree of freedom, which factor it belongs to.

    Every joint is a product of motion subgroups, T = T_1(q_1) T_2(q_2) …: one for most joints,
    two for a universal joint, those of its factors for a composite. The screw S_j moves with the
    later factors only: ∂S_j/∂q_k = [S_j, S_k] if k belongs to a later factor than j, else 0. A
    joint that users add may move in other ways: it has no such derivatives.
    """
    if joint.subgroup:
        return (0,) * joint.nv
    factors = getattr(joint, "factors", None)
    if factors is None:
        size = len(joint.parameters())
        some = joint.with_parameters([0.5 + 0.25 * k for k in range(size)]) if size else joint
        if not _is_product(some):
            raise ModelError(
                f"{type(joint).__name__}: its screws turn with q in other ways than those of a "
                "product of motion subgroups, which these derivatives are for; gradients "
                "(inverse_dynamics_gradient, forward_dynamics_gradient) take it"
            )
        return tuple(range(joint.nv))
    labels: list[int] = []
    for factor in factors:
        first = labels[-1] + 1 if labels else 0
        labels += [first + label for label in stages(factor)]
    return tuple(labels)


@lru_cache(maxsize=256)
def _is_product(joint: Joint) -> bool:
    """Whether each of its freedoms is a factor: at some coordinates Ṡ_j = Σ [S_j, S_k] v_k over the
    later ones.
    """
    n, rng = joint.nv, np.random.default_rng(0)
    q, v = joint.random(rng), rng.normal(size=n).tolist()
    S, dS = joint.screws(q), joint.screws_rate(q, v)
    for j in range(n):
        W = sum((S[k] * v[k] for k in range(j + 1, n)), Twist.zero())
        if not np.allclose(dS[j].array(), S[j].cross(W).array(), rtol=1e-6, atol=1e-9):
            return False
    return True


def joint_motion(
    joint: Joint, q: Block, v: Block, a: Block, j: Block | None, to: SE3 | None = None
) -> TwistRates:
    """σ = S v, σ̇ = S a + Ṡ v and σ̈ = S j + 2 Ṡ a + S̈ v (None without j), in the joint's frame or
    pushed by the pose `to`.
    """
    S, dS = joint.screws(q), joint.screws_rate(q, v)
    if to is not None:
        S, dS = to.push(S), to.push(dS)
    rate = S @ a + dS @ v
    if j is None:
        return S @ v, rate, None
    return S @ v, rate, S @ j + dS @ [2.0 * x for x in a] + _second_rate(joint, S, dS, v, a)


def _second_rate(joint: Joint, S: Screws[Twist], dS: Screws[Twist], v: Block, a: Block) -> Twist:
    """S̈ v: with the twist W_c of the later factors, Ṡ_c = [S_c, W_c]."""
    label, total = stages(joint), Twist.zero()
    for c in range(joint.nv):
        later = [k for k in range(joint.nv) if label[k] > label[c]]
        if later:
            W, dW = Twist.zero(), Twist.zero()
            for k in later:
                W, dW = W + S[k] * v[k], dW + dS[k] * v[k] + S[k] * a[k]
            total = total + (dS[c].cross(W) + S[c].cross(dW)) * v[c]
    return total


def at(x: JointVector | None, i: BodyView) -> Block | None:
    """The block of a body, of an array that may not be given."""
    return None if x is None else x[i]


# -- the recursions --------------------------------------------------------------------------------


def _body_rates(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, j: JointVector | None
) -> BlockArray:
    V, A, B = per_body(model, "V A B", Twist, Twist, Twist)
    out = body_array(model, 6, letter="A" if j is None else "B")
    for i in model.outward():
        p, T = i.parent, i.pose(q[i])
        s, ds, dds = joint_motion(i.joint, q[i], v[i], a[i], at(j, i))
        carried = T.pull(A[p])
        V[i] = T.pull(V[p]) + s
        A[i] = carried + V[i].cross(s) + ds  # MD6: d(Ad⁻¹X)/dt = Ad⁻¹Ẋ + [Ad⁻¹X, σ]
        if dds is None:
            out[i] = i.frame.pull(A[i])
            continue
        B[i] = T.pull(B[p]) + (carried + A[i]).cross(s) + V[i].cross(ds) + dds  # MD13
        out[i] = i.frame.pull(B[i])
    return out


def _spatial_rates(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, j: JointVector | None
) -> BlockArray:
    C, V, A, B = per_body(model, "C V A B", SE3, Twist, Twist, Twist)
    out = body_array(model, 6, letter="A" if j is None else "B")
    for i in model.outward():
        p = i.parent
        C[i] = C[p] @ i.pose(q[i])
        s, ds, dds = joint_motion(i.joint, q[i], v[i], a[i], at(j, i), C[i])
        V[i] = V[p] + s
        rate = V[p].cross(s) + ds  # MD16: [V_i, J_i] v = [V_p, J_i] v
        A[i] = A[p] + rate  # MD17
        out[i] = A[i]
        if dds is not None:
            B[i] = B[p] + A[i].cross(s) + V[i].cross(rate + ds) + dds  # MD21
            out[i] = B[i]
    return out


def _hybrid_rates(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    a: JointVector,
    j: JointVector | None,
    mixed: bool = False,
) -> BlockArray:
    R: PerBody[SO3] = per_body(model, "R", Rotation)
    V, A, B = per_body(model, "V A B", Twist, Twist, Twist)
    out = body_array(model, 6, letter="A" if j is None else "B")
    for i in model.outward():
        p = i.parent
        R[i], d = step(i, R[p], q[i])
        s = joint_motion(i.joint, q[i], v[i], a[i], at(j, i), turning(R[i]))
        u = _resolved(V[p], A[p], *s)
        V[i], A[i], rate = _displaced(d, V[p], A[p], None if j is None else B[p], *u)
        if rate is not None:
            B[i] = rate
        rest = Twist.zero()
        _, A_f, B_f = _displaced(
            R[i].rotate(i.frame.p), V[i], A[i], rate, rest, rest, None if j is None else rest
        )
        out[i] = A_f if B_f is None else B_f
        if mixed:
            out[i] = _mixed(R[i] @ i.frame.R, V[i].ang, A_f, B_f)
    return out


def _mixed_rates(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, j: JointVector | None
) -> BlockArray:
    return _hybrid_rates(model, q, v, a, j, mixed=True)


def _mixed(R: SO3, w: Vec3, A: Twist, B: Twist | None) -> Twist:
    """(Rᵀω̇, r̈), or (Rᵀ(ω̈ − ω × ω̇), r⃛): MD33, whose jerk lacks the second term."""
    if B is None:
        return Twist(R.unrotate(A.ang), A.lin)
    return Twist(R.unrotate(B.ang - w.cross(A.ang)), B.lin)


def _resolved(V: Twist, A: Twist, u: Twist, x: Twist, y: Twist | None) -> TwistRates:
    """u = R σ, u̇ and ü of R σ, x = R σ̇ and y = R σ̈, behind a parent with the rates V, A."""
    w = V.ang + u.ang
    du = _spin(w, u) + x
    if y is None:
        return u, du, None
    return u, du, _spin(A.ang + du.ang, u) + _spin(w, du + x) + y


def _spin(w: Vec3, X: Twist) -> Twist:
    """The rate of a screw whose parts turn with ω."""
    return Twist(w.cross(X.ang), w.cross(X.lin))


def _displaced(
    d: Vec3, V: Twist, A: Twist, B: Twist | None, u: Twist, du: Twist, ddu: Twist | None
) -> TwistRates:
    """Hybrid rates at a point d away that moves with u, u̇, ü besides: MK42, twice derived."""
    w, dw = V.ang, A.ang
    e = w.cross(d) + u.lin  # ḋ
    de = dw.cross(d) + w.cross(e) + du.lin  # d̈
    V_d, A_d = Twist(w + u.ang, V.lin + e), Twist(dw + du.ang, A.lin + de)
    if B is None or ddu is None:
        return V_d, A_d, None
    dde = B.ang.cross(d) + dw.cross(e) * 2.0 + w.cross(de) + ddu.lin
    return V_d, A_d, Twist(B.ang + ddu.ang, B.lin + dde)


_RATES: dict[Rep, Rates] = {
    "body": _body_rates,
    "spatial": _spatial_rates,
    "hybrid": _hybrid_rates,
    "mixed": _mixed_rates,
}
