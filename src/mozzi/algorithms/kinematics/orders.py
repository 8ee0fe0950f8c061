"""Twists and Jacobians with their time derivatives to any order, in the four representations.

One recursion, O(n N²) for N orders: rates of spatial twists, written in the frames of the bodies at
this instant, so that every law is that of an inertial frame. For the screws J of a factor of a
joint and the twist V behind it, Leibniz' rule on  J̇ = V × J  and  V = V_p + J v  gives

    J⁽ᵏ⁺¹⁾ = Σ_l (k over l) V⁽ˡ⁾ × J⁽ᵏ⁻ˡ⁾,   V⁽ᵏ⁾ = V_p⁽ᵏ⁾ + Σ_l (k over l) J⁽ˡ⁾ v⁽ᵏ⁻ˡ⁾ .

Müller, Dynamics (16), (19) to any order. The other representations
follow from the rates of the body's rotation and of its origin, order by order.
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import TypeAlias, TypeVar

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.kinematics.accelerations import stages
from mozzi.algorithms.kinematics.jacobian import rows
from mozzi.algorithms.kinematics.poses import locate
from mozzi.algorithms.recursion.containers import (
    BlockArray,
    Local,
    body_array,
    joint_array,
    per_body,
)  # fmt: skip
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.representations import check
from mozzi.algorithms.recursion.views import BodyView, JointVector, PerBody
from mozzi.lie import SE3, Screws, Twist, Vec3, Wrench
from mozzi.program.scalar import Real
from mozzi.types import Rep

__all__ = [
    "ScrewRates", "TwistRates", "body_components", "jacobian_derivatives", "joint_rows", "leibniz",
    "move", "point_rates", "twist_derivatives",
]  # fmt: skip


A = TypeVar("A")
B = TypeVar("B")
X = TypeVar("X", Twist, Wrench, Vec3, Real)
TwistRates: TypeAlias = list[Twist]
"""V, V̇, V̈, …"""
ScrewRates: TypeAlias = list[list[Twist]]
"""By columns: J, J̇, J̈, … of one screw."""


def leibniz(product: Callable[[A, B], X], a: Sequence[A], b: Sequence[B], k: int) -> X:
    """The k-th derivative of a product, from the derivatives of its factors."""
    total = product(a[0], b[k])
    for n in range(1, k + 1):
        total = total + product(a[n], b[k - n]) * float(comb(k, n))
    return total


def _scaled(J: Twist, x: Real) -> Twist:
    return J * x


def joint_rows(rates: JointVector, i: BodyView, order: int) -> list[tuple[Real, ...]]:
    """v, a, j, … of the joint of a body."""
    flat, n = rates[i], i.joint.nv
    return [tuple(flat[k * n : k * n + n]) for k in range(order)]


def move(
    i: BodyView, q: JointVector, given: Sequence[Sequence[Real]], V: Sequence[Twist], extra: int = 0
) -> tuple[ScrewRates, TwistRates]:
    """The rates of the joint's screws and of the twist behind it, from those before it: as many as
    are given, and of the screws `extra` ones more.
    """
    S, label = i.joint.screws(q[i]), stages(i.joint)
    motion, screws = list(V), ScrewRates()
    for stage in range(max(label, default=-1) + 1):
        own = [c for c, x in enumerate(label) if x == stage]
        J = [[S[c]] for c in own]
        x = [[row[c] for row in given] for c in own]
        for k in range(len(given)):
            for rate, v in zip(J, x, strict=True):
                motion[k] = motion[k] + leibniz(_scaled, rate, v, k)
            if k + 1 < len(given) + extra:
                for rate in J:
                    rate.append(leibniz(Twist.cross, motion, rate, k))  # MD19
        screws += J
    return screws, motion


def body_components(x: Sequence[Twist], V: Sequence[Twist]) -> list[Twist]:
    """Derivatives of the body-fixed components of x from its spatial ones, k = 0, 1, …: with
    (Ad⁻¹ x)˙ = Ad⁻¹ (ẋ − V × x), applied to all orders again and again.
    """
    out, rest = list[Twist](), list(x)
    while rest:
        out.append(rest[0])
        rest = [rest[k + 1] - leibniz(Twist.cross, V, rest, k) for k in range(len(rest) - 1)]
    return out


def point_rates(p: Vec3, V: Sequence[Twist], order: int) -> list[Vec3]:
    """p and its derivatives, of a point that the body carries along: ṗ = v + ω × p."""
    out, w = [p], [x.ang for x in V]
    for k in range(order):
        out.append(V[k].lin + leibniz(Vec3.cross, w, out, k))
    return out


def in_representation(
    x: Sequence[Twist], V: Sequence[Twist], C: SE3, rep: Rep
) -> list[Twist]:
    """Derivatives of a screw's components in a representation: from its spatial rates x and those
    of the frame, V, both in the frame at this instant. C is its pose.
    """
    if rep == "spatial":
        return [C.push(y) for y in x]
    if rep == "body":
        return body_components(x, V)
    r = point_rates(Vec3.zero(), V, len(x) - 1)  # how the frame's origin moves
    w = [y.ang for y in x]
    R = C.R
    out = [Twist(y.ang, y.lin + leibniz(Vec3.cross, w, r, k)) for k, y in enumerate(x)]  # MK58
    turned = [Twist(R.rotate(y.ang), R.rotate(y.lin)) for y in out]
    if rep == "hybrid":
        return turned
    inner = body_components(x, V)
    return [Twist(y.ang, z.lin) for y, z in zip(inner, turned, strict=True)]


@algorithm
def twist_derivatives(
    model: Mechanism, q: JointVector, rates: JointVector, order: int = 3, rep: Rep = "body"
) -> BlockArray:
    """V, V̇, …, V⁽ᴺ⁻¹⁾ of all bodies in a representation, along a motion with v, a, …, N of them.

    One recursion for all orders, O(n N²).  Müller, Dynamics, section 2: (6), (13),
    (17), (21), (28), (31), (33) and what follows them.

    Args:
        order: N, the highest time derivative of q that is given, 1 or more.

    Returns:
        (B, nb, N, 6): for each body the rows (angular, linear) of V and its derivatives.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, rates = arm.random_configuration(0), np.ones((5, arm.nv))
        >>> mz.twist_derivatives(arm, q, rates, order=5).shape
        (3, 5, 6)
    """
    C: PerBody[SE3] = per_body(model, "C", SE3)
    V = [per_body(model, f"V{k}", Twist) for k in range(order)]
    out = body_array(model, order, 6, letter="V")
    for i in model.outward():
        T = i.pose(q[i])
        C[i] = C[i.parent] @ T
        before = [T.pull(x[i.parent]) for x in V]
        _, motion = move(i, q, joint_rows(rates, i, order), before)
        for x, y in zip(V, motion, strict=True):
            x[i] = y
        F = i.frame
        own = [F.pull(y) for y in motion]
        found = in_representation(own, own, C[i] @ F, check(rep))
        out[i] = [y.flatten() for y in found]
    return out


@algorithm
def jacobian_derivatives(
    model: Mechanism, q: JointVector, rates: JointVector, frame: str, order: int = 3,
    rep: Rep = "body",
) -> BlockArray:  # fmt: skip
    """J, J̇, …, J⁽ᴺ⁾ of a frame in a representation, along a motion with v, a, …, N of them.

    One recursion for all orders, O(depth N²).  Müller, Dynamics (5), (14), (16), (23), (27), (33).

    Args:
        order: N, the highest time derivative of q that is given, 1 or more.

    Returns:
        (B, N + 1, 6, nv): J and its derivatives, rows (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, rates = arm.random_configuration(0), np.ones((2, arm.nv))
        >>> J, dJ, ddJ = mz.jacobian_derivatives(arm, q, rates, "tool", order=2)
        >>> np.allclose(dJ, mz.jacobian_rate(arm, q, rates[0], "tool"))
        True
    """
    k, F = locate(model, frame)
    C = per_body(model, "C", SE3)
    V = [per_body(model, f"V{n}", Twist) for n in range(order)]
    out = joint_array(model, order + 1, 6, "v", letter="J")
    J: PerBody[ScrewRates] = per_body(model, "J", Local[ScrewRates])
    for i in model.toward(k):
        T = i.pose(q[i])
        C[i] = C[i.parent] @ T
        before = [T.pull(x[i.parent]) for x in V]
        J[i], motion = move(i, q, joint_rows(rates, i, order), before, extra=1)
        for x, y in zip(V, motion, strict=True):
            x[i] = y
    end = model.at(k)
    own, D = [F.pull(x[end]) for x in V], C[end] @ F
    for i in model.toward(k):
        to = C[i].inverse() @ D  # the frame in body i
        at_frame = ([to.pull(y) for y in rate] for rate in J[i])
        found = [in_representation(x, own, D, check(rep)) for x in at_frame]
        by_order = (rows(Screws(x[n] for x in found)) for n in range(order + 1))
        out[i] = tuple(by_order)
    return out
