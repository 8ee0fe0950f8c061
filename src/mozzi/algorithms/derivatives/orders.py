"""Joint forces with their time derivatives to any order, under wrenches that change in time.

Twists and screws as in `kinematics.orders`; the momentum of a body has the components I V⁽ᵏ⁾ in its
frame, where I is constant, and its rate W = (I V)˙ follows. Inward, rates of spatial wrenches add
up, and τ⁽ᵏ⁾ = Σ_l (k over l) J⁽ˡ⁾ᵀ W⁽ᵏ⁻ˡ⁾.  Müller, Dynamics 6.3, to any order.
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from collections.abc import Sequence

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.kinematics.orders import (
    ScrewRates,
    body_components,
    joint_rows,
    leibniz,
    move,
    point_rates,
)  # fmt: skip
from mozzi.algorithms.recursion.containers import BlockArray, Local, joint_array, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.representations import check
from mozzi.algorithms.recursion.views import JointVector, PerBody
from mozzi.errors import ConfigurationError
from mozzi.lie import SE3, Inertia, Twist, Vec3, Wrench
from mozzi.program.scalar import Real
from mozzi.types import Rep

__all__ = ["joint_force_derivatives"]


@algorithm
def joint_force_derivatives(
    model: Mechanism, q: JointVector, rates: JointVector,
    wrench_rates: BlockArray | None = None, order: int = 3, wrenches_rep: Rep = "body",
) -> BlockArray:  # fmt: skip
    """τ, τ̇, …, τ⁽ᴺ⁻²⁾ along a motion with v, a, …, N ≥ 2 of them, under wrenches that change.

    Newton–Euler with all its time derivatives in one recursion, O(n N²). Of a model with loops
    these are the forces of the tree, as those of `inverse_dynamics`. Of the rigid equations:
    without damping, friction and springs.  Müller, Dynamics 6.3.

    Args:
        order: N, the highest time derivative of q that is given, 2 or more.

    Returns:
        (B, N − 1, nv): joint forces and their derivatives.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, rates = arm.random_configuration(0), np.ones((4, arm.nv))
        >>> tau = mz.joint_force_derivatives(arm, q, rates, order=4)
        >>> np.allclose(tau[0], mz.inverse_dynamics(arm, q, rates[0], rates[1]))
        True
    """
    if order < 2:
        raise ConfigurationError(
            f"joint_force_derivatives: order {order}; forces need v and a, order=2"
        )
    count = order - 1
    T: PerBody[RelativePose] = per_body(model, "T", Local[RelativePose])
    J: PerBody[ScrewRates] = per_body(model, "J", Local[ScrewRates])
    C = per_body(model, "C", SE3)
    V = [per_body(model, f"V{k}", Twist) for k in range(order)]
    W = [per_body(model, f"W{k}", Wrench) for k in range(count)]
    out = joint_array(model, count, "v", letter="tau")
    g = model.upward.lin
    for i in model.outward():
        T[i] = i.pose(q[i])
        C[i] = C[i.parent] @ i.pose(q[i])
        before = [T[i].pull(x[i.parent]) for x in V]
        J[i], motion = move(i, q, joint_rows(rates, i, order), before)
        for x, y in zip(V, motion, strict=True):
            x[i] = y
        inertial = momentum_rates(i.inertia, motion)
        weight = weight_rates(i.inertia, C[i].R.unrotate(g), motion, count)
        load = [Wrench.zero()] * count
        if wrench_rates is not None:
            flat = wrench_rates[i]
            given = [Wrench.unflatten(flat[6 * k : 6 * k + 6]) for k in range(count)]
            own = [i.frame.pull(x) for x in motion]
            pose = C[i] @ i.frame
            load = [i.frame.push(x) for x in spatial_rates(given, own, pose, check(wrenches_rep))]
        for x, a, b, c in zip(W, inertial, weight, load, strict=True):
            x[i] = a + b - c
    for i in model.inward():
        forces = [x[i] for x in W]
        given = joint_rows(rates, i, order)
        out[i] = [
            [
                leibniz(_power, column, forces, k) + m * given[k + 1][c]
                for c, (column, m) in enumerate(zip(J[i], i.armature, strict=True))
            ]
            for k in range(count)
        ]
        for x in W:
            x[i.parent] += T[i].push(x[i])
    return out


def _power(J: Twist, W: Wrench) -> Real:
    return W.dot(J)


def _cross(V: Twist, W: Wrench) -> Wrench:
    return V.cross(W)


def along(x: Sequence[Wrench], V: Sequence[Twist]) -> list[Wrench]:
    """Spatial rates of a wrench, k = 0, 1, …, from those of its body-fixed components: with
    (Ad* x)˙ = Ad* (ẋ + V × x), applied to all orders again and again. V: the derivatives of the
    body-fixed components of the twist.
    """
    out, rest = list[Wrench](), list(x)
    while rest:
        out.append(rest[0])
        rest = [rest[k + 1] + leibniz(_cross, V, rest, k) for k in range(len(rest) - 1)]
    return out


def momentum_rates(I: Inertia, V: Sequence[Twist]) -> list[Wrench]:
    """(I V)˙ and its spatial rates, one less than of V."""
    own = body_components(V, V)
    return along([(I @ x).rate() for x in own], own)[1:]  # MD41 and its derivatives


def weight_rates(I: Inertia, up: Vec3, V: Sequence[Twist], count: int) -> list[Wrench]:
    """What holds the weight, and its spatial rates: the force is constant, its point moves."""
    h, w = [I.h], [x.ang for x in V]
    for k in range(count - 1):
        h.append(V[k].lin * I.m + leibniz(Vec3.cross, w, h, k))
    rest = [Wrench(x.cross(up), Vec3.zero()) for x in h]
    return [Wrench(rest[0].ang, up * I.m), *rest[1:]]


def spatial_rates(
    x: Sequence[Wrench], V: Sequence[Twist], C: SE3, rep: Rep
) -> list[Wrench]:
    """Spatial rates, in the frame C at this instant, of a wrench whose components in a
    representation have these derivatives.
    """
    if rep == "body":
        return along(x, body_components(V, V))
    if rep == "spatial":
        return [C.pull(y) for y in x]
    r = point_rates(Vec3.zero(), V, len(x) - 1)
    f = [C.R.unrotate(y.lin) for y in x]
    if rep == "hybrid":
        t = [C.R.unrotate(y.ang) for y in x]
    else:  # the moment is body-fixed: it turns with ω
        spin = [Twist(y.ang, Vec3.zero()) for y in body_components(V, V)]
        t = [y.ang for y in along([Wrench(y.ang, Vec3.zero()) for y in x], spin)]
    return [Wrench(t[k] + leibniz(Vec3.cross, r, f, k), f[k]) for k in range(len(x))]
