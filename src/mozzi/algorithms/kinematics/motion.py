"""From a parent to its child: angular velocities, and the accelerations that the dynamics uses.

Kim differentiates the components of the body-fixed twist V = (ω, v), v = Rᵀṙ, and gets (K41)

    V̇ = Ad V̇_p + ad_V S q̇ + Ṡ q̇ + S q̈ .

Here the acceleration is that of the frame's origin, in body axes,

    A = (ω̇, Rᵀr̈) = V̇ + (0, ω × v),

in which linear velocities do not occur: the origin of the child, at p in the parent, moves with the
field of accelerations of the parent, r̈ = r̈_p + ([ω̇] + [ω][ω]) p, and by the joint (s = (S q̇).lin),

    A = Ad A_p + (0, Rᵀ[ω_p][ω_p] p) + (ω_p × (S q̇).ang, ω_p × s + ω × s) + Ṡ q̇ + S q̈ .

The middle two take the place of ad_V S q̇ in η (`carried`), and the wrench of a body is
I V̇ − ad*_V I V = I A + `gyroscopic`(I, ω).  MD42, MD43. The accelerations of joints and their
forces are the same; gravity is the acceleration of the world, as in Kim.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mozzi.algorithms.recursion.containers import Local, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import BodyView, JointVector, PerBody
from mozzi.lie import AccelerationField, Twist, Vec3

__all__ = ["Arrival", "Motion", "arrived", "arriving", "carried", "departing"]


class Arrival(NamedTuple):
    """ω, u and A of a parent, in the axes of its child where the motion of the joint begins."""

    w: Vec3
    u: Vec3
    A: Twist


def arriving(T: RelativePose, A: Twist, w: Vec3, u: Vec3) -> Arrival:
    """What a parent with ω, u and A brings to its child."""
    origin = A.lin + AccelerationField(A.ang, w, u) @ T.start
    return Arrival(T.unrotate(w), T.unrotate(u), Twist(T.unrotate(A.ang), T.unrotate(origin)))


def departing(T: RelativePose, x: Arrival, Sv: Twist, Su: Twist) -> tuple[Vec3, Vec3, Twist]:
    """ω, u and A of the child, whose joint moves by S q̇ and does not accelerate; less Ṡ q̇.

    Where a joint turns about the line along which it moves, or does not turn at all, the points of
    that line accelerate alike with parent and child: the rest of the way goes with the child, in
    its own axes.
    """
    w, u = x.w + Sv.ang, x.u + Su.ang  # K37
    ang = x.A.ang + x.u.cross(Sv.ang)
    lin = x.A.lin + x.u.cross(Sv.lin) + w.cross(Su.lin)
    if T.axial:
        lin = lin + AccelerationField(ang, w, u) @ T.motion.p
    return w, u, Twist(ang, lin)


def arrived(T: RelativePose, w: Vec3, A: Twist, Sv: Twist, own: Twist) -> Arrival:
    """What the parent brought to a child that moves with ω and A now: `departing` undone, without
    turning anything. own: S q̈ + Ṡ q̇.
    """
    w_p, moved = w - Sv.ang, A - own
    lin = moved.lin - (w_p + w).cross(Sv.lin)
    if T.axial:
        lin = lin - AccelerationField(moved.ang, w, w) @ T.motion.p
    return Arrival(w_p, w_p, Twist(moved.ang - w_p.cross(Sv.ang), lin))


def carried(T: RelativePose, A: Twist, w: Vec3, Sv: Twist) -> tuple[Vec3, Twist]:
    """ω and A of a child whose joint moves by S q̇ and does not accelerate, from those of its
    parent; less Ṡ q̇.
    """
    w_i, _, A_i = departing(T, arriving(T, A, w, w), Sv, Sv)
    return w_i, A_i


class Motion:
    """The outward sweep: angular velocities ω and accelerations A of the bodies.

    With v_ref, the velocities u that v_ref generates are carried along with the motion v, and A is
    their rate.
    """

    def __init__(self, model: Mechanism, v_ref: JointVector | None = None):
        self.model, self.v_ref = model, v_ref
        T, w, A = per_body(model, "T w A", Local[RelativePose], Vec3, Twist)
        self.T: PerBody[RelativePose] = T
        self.A: PerBody[Twist] = A
        self.w: PerBody[Vec3] = w
        self.u: PerBody[Vec3] = w if v_ref is None else per_body(model, "u", Vec3)
        A[model.world] = model.upward

    def outward(self, q: JointVector, v: JointVector, a: JointVector) -> Iterator[BodyView]:
        """Every body after its parent, with its motion set."""
        T, w, u, A = self.T, self.w, self.u, self.A
        given = v if self.v_ref is None else self.v_ref
        for i in self.model.outward():
            p, S = i.parent, i.joint.screws(q[i])
            own = S @ a[i] + i.joint.screws_rate(q[i], v[i]) @ given[i]
            T[i] = i.pose(q[i])
            x = arriving(T[i], A[p], w[p], u[p])
            w[i], u_i, A_i = departing(T[i], x, S @ v[i], S @ given[i])  # K37, MD66b
            if self.v_ref is not None:
                u[i] = u_i
            A[i] = A_i + own  # K41, MD66c
            yield i
