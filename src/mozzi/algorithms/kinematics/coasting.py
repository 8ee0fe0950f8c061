"""Coasting: what moves on freely goes straight.

The velocity of a joint with turns and translations together (`Free`, `Planar`, `Schoenflies`) has
body-fixed components (ω, u): with nothing acting, u turns against the body, u̇ = −ω × u, and the
constant twist (ω, u) would be a screw motion, not a straight line. A step of first order keeps the
line straight and the speed as it is:

    p′ = p + h R u,   R′ = R exp(h ω),   u′ = exp(h ω)ᵀ u.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.recursion.containers import BlockArray, joint_configuration, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import JointVector
from mozzi.lie import SE3, Rotation, Vec3
from mozzi.model import Composite, Free, Joint, Model, Planar, PlanarScrew, Schoenflies, Spherical
from mozzi.model.joints.planar import plane_log
from mozzi.program.scalar import Real, cos, sin
from mozzi.types import Traced

__all__ = ["carried", "coast", "turning", "turning_rates"]

PLANAR = (Planar, PlanarScrew, Schoenflies)


@algorithm
def coast(
    model: Mechanism, q: JointVector, v: JointVector, h: Real = 0.0
) -> tuple[BlockArray, BlockArray]:
    """(q′, v′) after coasting with the velocity v for a time h."""
    q_out, v_out = joint_configuration(model, "q_out"), joint_vector(model, "v_out")
    for i in model.outward():
        q_out[i], v_out[i] = _coast(i.joint, q[i], v[i], h)
    return q_out, v_out


def _coast(
    joint: Joint, q: Sequence[Real], v: Sequence[Real], h: Real
) -> tuple[Sequence[Real], Sequence[Real]]:
    if isinstance(joint, Composite):
        parts = [_coast(f, x, u, h) for f, x, u in joint._parts(q, v)]
        return tuple(a for x, _ in parts for a in x), tuple(a for _, u in parts for a in u)
    step = [h * x for x in v]
    if isinstance(joint, Free):
        w, u = Vec3(*v[:3]), Vec3(*v[3:])
        turn = Rotation.exp(w * h)
        ahead = turn.unrotate(u)
        T = joint.pose(q)
        p = T.p + T.R.rotate(u * h)
        if joint.coordinates == "first":
            return SE3(T.R @ turn, p).log().flatten(), (*w, *ahead)
        return (*p, *joint._chart.integrate(q[3:], w * h)), (*w, *ahead)
    if isinstance(joint, PLANAR):
        c, s = cos(step[-1]), sin(step[-1])
        ahead = (c * v[0] + s * v[1], c * v[1] - s * v[0])
        return _moved(joint, q, step), (*ahead, *v[2:])
    return joint.integrate(q, step), v


@algorithm
def carried(model: Mechanism, v: JointVector, dv: JointVector, h: Real = 0.0) -> BlockArray:
    """Velocities dv as bodies see them that have turned with the velocity v for a time h."""
    out = joint_vector(model, "dv_out")
    for i in model.outward():
        out[i] = _carried(i.joint, v[i], dv[i], h)
    return out


def _carried(joint: Joint, v: Sequence[Real], w: Sequence[Real], h: Real) -> Sequence[Real]:
    if isinstance(joint, Composite):
        at = joint.neutral()
        both = zip(joint._parts(at, v), joint._parts(at, w), strict=True)
        return tuple(x for (f, _, a), (_, _, b) in both for x in _carried(f, a, b, h))
    if isinstance(joint, (Free, Spherical)):
        turn = Rotation.exp(Vec3(*v[:3]) * h)
        return tuple(x for k in range(0, len(w), 3) for x in turn.unrotate(Vec3(*w[k : k + 3])))
    if isinstance(joint, PLANAR):
        c, s = cos(h * v[-1]), sin(h * v[-1])
        return (c * w[0] + s * w[1], c * w[1] - s * w[0], *w[2:])
    return w


def _moved(
    joint: Planar | PlanarScrew | Schoenflies, q: Sequence[Real], step: Sequence[Real]
) -> Sequence[Real]:
    """x, y moved along a straight line; the rest as it is."""
    if joint.coordinates == "first":  # by the twist whose exponential ends there
        return joint.integrate(q, (*plane_log(step[-1], step[0], step[1]), *step[2:]))
    c, s = cos(q[-1]), sin(q[-1])
    ahead = (q[0] + (c * step[0] - s * step[1]), q[1] + (s * step[0] + c * step[1]))
    return (*ahead, *(a + b for a, b in zip(q[2:], step[2:], strict=True)))


def turning_rates(joint: Joint, v: Sequence[Real]) -> tuple[Real, ...]:
    """ω × u, in the coordinates of v: v̇ + this is the acceleration of a step that coasts."""
    if isinstance(joint, Composite):
        parts = joint._parts(joint.neutral(), v)
        return tuple(x for f, _, u in parts for x in turning_rates(f, u))
    if isinstance(joint, Free):
        return (0.0, 0.0, 0.0, *Vec3(*v[:3]).cross(Vec3(*v[3:])))
    if isinstance(joint, PLANAR):
        return (-v[-1] * v[1], v[-1] * v[0], *(0.0 for _ in v[2:]))
    return tuple(0.0 for _ in v)


def turning(model: Model, v: Traced) -> Traced:
    """`turning_rates` of all joints, while tracing."""
    out = np.full(len(v), 0.0, dtype=object)
    for body, part in zip(model, model.v_slices.values(), strict=True):
        out[part] = turning_rates(body.joint, list(v[part]))
    return out
