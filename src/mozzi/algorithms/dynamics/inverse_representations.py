# pyright: reportConstantRedefinition=false
"""Inverse dynamics in spatial, hybrid and mixed twists: two loops each, the same joint forces.

Each yields, inward, every body with Sᵀ W: outward twists and their rates, and wrenches that lack
those of the children; then wrenches go inward.  Müller, Dynamics, sections 4.2 to 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mozzi.algorithms.recursion.containers import Local, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.representations import shifting, turning
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector
from mozzi.lie import SE3, AccelerationField, Twist, Vec3, Wrench, second_moments
from mozzi.program.scalar import Real

__all__ = ["RECURSIONS"]

Inward = Iterator[tuple[BodyView, Sequence[Real]]]


def spatial(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, F_ext: ByBody[Wrench]
) -> Inward:
    """Twists measured at and resolved in the inertial frame."""
    C, V, A, W = per_body(model, "C V A W", SE3, Twist, Twist, Wrench)
    A[model.world] = model.upward
    for i in model.outward():
        p = i.parent
        C[i] = C[p] @ i.pose(q[i])  # MD70a
        J = C[i].push(i.joint.screws(q[i]))  # MD70b
        V[i] = V[p] + J @ v[i]  # MD70c
        own = C[i].push(i.joint.screws_rate(q[i], v[i]) @ v[i])
        A[i] = A[p] + J @ a[i] + V[i].cross(J @ v[i]) + own  # MD70d
        M = C[i].push(i.inertia)  # MD71a
        load = C[i].push(F_ext[i])
        W[i] = (M @ A[i]).rate() + V[i].cross(M @ V[i]) - load  # MD71b
    for i in model.inward():
        yield i, C[i].push(i.joint.screws(q[i])).T @ W[i]  # MD71c
        W[i.parent] += W[i]  # MD71b


def hybrid(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, F_ext: ByBody[Wrench]
) -> Inward:
    """Twists measured at the body frame, resolved in inertial axes."""
    C, V, A, W = per_body(model, "C V A W", SE3, Twist, Twist, Wrench)
    A[model.world] = model.upward
    for i in model.outward():
        p = i.parent
        C[i] = C[p] @ i.pose(q[i])  # MD75a
        R, d = turning(C[i].R), C[i].p - C[p].p
        X = R.push(i.joint.screws(q[i]))  # MD75b
        Xv = X @ v[i]
        V[i] = shifting(d).pull(V[p]) + Xv  # MD75c
        w = Twist(V[i].ang, Vec3.zero())
        own = R.push(i.joint.screws_rate(q[i], v[i]) @ v[i])
        swing = Twist(Vec3.zero(), V[p].ang.cross(V[i].lin - V[p].lin))
        A[i] = shifting(d).pull(A[p]) + swing + w.cross(Xv) + X @ a[i] + own  # MD75d
        M = R.push(i.inertia)  # MD76a
        load = R.push(F_ext[i])
        W[i] = (M @ A[i]).rate() + w.cross(M @ w) - load  # MD76b
    for i in model.inward():
        yield i, turning(C[i].R).push(i.joint.screws(q[i])).T @ W[i]  # MD76c
        W[i.parent] += shifting(C[i].p - C[i.parent].p).push(W[i])  # MD76b


def mixed(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, F_ext: ByBody[Wrench]
) -> Inward:
    """Angular parts body-fixed as in MD66, linear parts inertial as in MD75."""
    C, T, w, A, W = per_body(model, "C T w A W", SE3, Local[RelativePose], Vec3, Twist, Wrench)
    A[model.world] = model.upward
    for i in model.outward():
        p, S = i.parent, i.joint.screws(q[i])
        Sv = S @ v[i]
        own = S @ a[i] + i.joint.screws_rate(q[i], v[i]) @ v[i]
        T[i] = i.pose(q[i])
        C[i] = C[p] @ T[i]  # MD75a
        w_p = T[i].unrotate(w[p])
        w[i] = w_p + Sv.ang  # MD66b
        swing = C[p].R.rotate(AccelerationField(A[p].ang, w[p], w[p]) @ T[i].p)
        slide = C[i].R.rotate(w_p.cross(Sv.lin) + w[i].cross(Sv.lin) + own.lin)
        spin = T[i].unrotate(A[p].ang) + w_p.cross(Sv.ang) + own.ang
        A[i] = Twist(spin, A[p].lin + swing + slide)  # MD66c, MD75d
        I, Q = i.inertia, AccelerationField(A[i].ang, w[i], w[i])
        load = F_ext[i]
        t = Q.torque(second_moments(I)) + I.h.cross(C[i].R.unrotate(A[i].lin))  # MD56
        f = A[i].lin * I.m + C[i].R.rotate(Q @ I.h)  # MD57
        W[i] = Wrench(t, f) - Wrench(load.ang, C[i].R.rotate(load.lin))  # MD56, MD57
    for i in model.inward():
        yield i, i.joint.screws(q[i]).T @ Wrench(W[i].ang, C[i].R.unrotate(W[i].lin))  # MD67b
        lever = T[i].p.cross(C[i.parent].R.unrotate(W[i].lin))
        W[i.parent] += Wrench(T[i].rotate(W[i].ang) + lever, W[i].lin)  # MD67a, MD76b


RECURSIONS = {"spatial": spatial, "hybrid": hybrid, "mixed": mixed}
