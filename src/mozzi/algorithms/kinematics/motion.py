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

from mozzi.algorithms.recursion.containers import Local, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import BodyView, JointVector, PerBody
from mozzi.lie import AccelerationField, Twist, Vec3

__all__ = ["Motion", "carried"]


def carried(
    T: RelativePose, A: Twist, w: Vec3, Sv: Twist, u: Vec3 | None = None, Su: Twist | None = None
) -> tuple[Vec3, Twist]:
    """ω and A of a child whose joint moves by S q̇ and does not accelerate, from those of its
    parent; less Ṡ q̇.

    u, Su: a second field of velocities, which is carried along (`Motion`): A is its rate.
    """
    u, Su = (w, Sv) if u is None or Su is None else (u, Su)
    w_i = T.unrotate(w) + Sv.ang  # K37
    u_p = T.unrotate(u)
    origin = A.lin + AccelerationField(A.ang, w, u) @ T.p
    return w_i, Twist(
        T.unrotate(A.ang) + u_p.cross(Sv.ang),
        T.unrotate(origin) + u_p.cross(Sv.lin) + w_i.cross(Su.lin),
    )


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
        T, w, u, A, reference = self.T, self.w, self.u, self.A, self.v_ref
        for i in self.model.outward():
            p, S = i.parent, i.joint.screws(q[i])
            Sv, Su = S @ v[i], None if reference is None else S @ reference[i]
            given = v if reference is None else reference
            own = S @ a[i] + i.joint.screws_rate(q[i], v[i]) @ given[i]
            T[i] = i.pose(q[i])
            w[i], A_i = carried(T[i], A[p], w[p], Sv, u[p], Su)  # K37, MD66b
            if Su is not None:
                u[i] = T[i].unrotate(u[p]) + Su.ang
            A[i] = A_i + own  # K41, MD66c
            yield i
