# pyright: reportConstantRedefinition=false
"""Any frame: the motion of one frame against another, measured at a third and resolved in a fourth.

Everything is summed in the inertial frame and then pulled to P = (R_k, r_j): the origin of the
frame j where it is measured, with the axes of the frame k where it is resolved. P moves with the
spatial twist V_P = (ω_k, ṙ_j + r_j × ω_k), so that of any x = Ad_P⁻¹ xˢ

    ẋ = Ad_P⁻¹ (ẋˢ − V_P × xˢ) .                                                    MD63, MD117
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.kinematics.jacobian import rows
from mozzi.algorithms.kinematics.poses import frame_pose, locate
from mozzi.algorithms.recursion.containers import ZERO, BlockArray, joint_array, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.rolled_or_not import ALWAYS_UNROLLED
from mozzi.algorithms.recursion.views import BodyView, JointVector, Whole
from mozzi.lie import SE3, Screws, Twist, Wrench
from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = [
    "move_twist", "move_wrench", "relative_acceleration", "relative_jacobian",
    "relative_jacobian_rate", "relative_twist", "twist_axis",
]  # fmt: skip

WORLD = "world"


@algorithm(threshold=ALWAYS_UNROLLED)
def relative_twist(
    model: Mechanism, q: JointVector, v: JointVector, frame: str, relative_to: str | None = None,
    measured_at: str | None = None, resolved_in: str | None = None,
) -> Twist:  # fmt: skip
    """The twist of a frame relative to another, measured at the origin of a third one and resolved
    in the axes of a fourth.

    O(depth).  Müller, Kinematics (80), (81); Dynamics, section 3.5.

    Returns:
        (B, 6): the twist (angular, linear).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.relative_twist(arm, q, v, "tool"), mz.jacobian(arm, q, "tool") @ v)
        True
    """
    P = _place(model, q, frame, measured_at, resolved_in)
    return P.pull(_relative(model, q, v, ZERO, frame, relative_to).V)  # MK80


@algorithm(threshold=ALWAYS_UNROLLED)
def relative_acceleration(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, frame: str,
    relative_to: str | None = None, measured_at: str | None = None, resolved_in: str | None = None,
) -> Twist:  # fmt: skip
    """The rate of `relative_twist`: of its six components, as all four frames move.

    O(depth).  Müller, Dynamics (17) and section 3.5.

    Returns:
        (B, 6): the rate of the twist (angular, linear).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.ones(arm.nv)
        >>> A = mz.relative_acceleration(arm, q, v, a, "link_3")
        >>> np.allclose(A, mz.accelerations(arm, q, v, a)[2])
        True
    """
    P = _place(model, q, frame, measured_at, resolved_in)
    V_P = _place_twist(model, q, v, frame, measured_at, resolved_in)
    x = _relative(model, q, v, a, frame, relative_to)
    return P.pull(x.A - V_P.cross(x.V))  # MD63


@algorithm(threshold=ALWAYS_UNROLLED)
def relative_jacobian(
    model: Mechanism, q: JointVector, frame: str, relative_to: str | None = None,
    measured_at: str | None = None, resolved_in: str | None = None,
) -> BlockArray:  # fmt: skip
    """J with J v the `relative_twist` of two frames, measured and resolved anywhere.

    O(depth); joints that carry both frames have zero columns.  Müller, Kinematics (81), table 3.

    Returns:
        (B, 6, nv): rows are the twist (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> J = mz.relative_jacobian(arm, q, "tool", "link_1", resolved_in="link_2")
        >>> bool(np.all(J[:, 0] == 0.0))
        True
    """
    P = _place(model, q, frame, measured_at, resolved_in)
    out = joint_array(model, 6, "v", letter="J")
    for i, J, _ in _between(model, q, ZERO, frame, relative_to):
        out[i] = rows(P.pull(J))  # MK16, MK81
    return out


@algorithm(threshold=ALWAYS_UNROLLED)
def relative_jacobian_rate(
    model: Mechanism, q: JointVector, v: JointVector, frame: str, relative_to: str | None = None,
    measured_at: str | None = None, resolved_in: str | None = None,
) -> BlockArray:  # fmt: skip
    """The rate of `relative_jacobian` along the motion v.

    O(depth).  Müller, Dynamics (16) and section 3.5.

    Returns:
        (B, 6, nv): rows are (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> dJ = mz.relative_jacobian_rate(arm, q, v, "tool")
        >>> np.allclose(dJ, mz.jacobian_rate(arm, q, v, "tool"))
        True
    """
    P = _place(model, q, frame, measured_at, resolved_in)
    V_P = _place_twist(model, q, v, frame, measured_at, resolved_in)
    out = joint_array(model, 6, "v", letter="dJ")
    for i, J, dJ in _between(model, q, v, frame, relative_to):
        out[i] = rows(P.pull(dJ - V_P.cross(J)))  # MD16, MD63
    return out


@algorithm(threshold=ALWAYS_UNROLLED)
def move_twist(
    model: Mechanism, q: JointVector, twist: Whole[Twist], measured_at: str = WORLD,
    resolved_in: str | None = None, to: str = WORLD, to_axes: str | None = None,
) -> Twist:  # fmt: skip
    """A twist that is measured at one frame and resolved in another, at and in two others.

    Müller, Kinematics (78)–(80).

    Args:
        twist: (angular, linear), measured at `measured_at` and resolved in `resolved_in`.

    Returns:
        (B, 6): the twist (angular, linear).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> V = mz.move_twist(arm, q, mz.jacobian(arm, q, "tool") @ v, "tool", to="link_1")
        >>> np.allclose(V, mz.relative_twist(arm, q, v, "tool", measured_at="link_1"))
        True
    """
    P, Q = (_place(model, q, *x) for x in ((measured_at, None, resolved_in), (to, None, to_axes)))
    return Q.pull(P.push(twist[()]))  # MK80


@algorithm(threshold=ALWAYS_UNROLLED)
def move_wrench(
    model: Mechanism, q: JointVector, wrench: Whole[Wrench], measured_at: str = WORLD,
    resolved_in: str | None = None, to: str = WORLD, to_axes: str | None = None,
) -> Wrench:  # fmt: skip
    """A wrench that is measured at one frame and resolved in another, at and in two others.

    Its power on a twist that goes the same way stays (`move_twist`).  Müller, Dynamics (62),
    (120).

    Args:
        wrench: (torque, force), measured at `measured_at` and resolved in `resolved_in`.

    Returns:
        (B, 6): the wrench (torque, force).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, W = arm.random_configuration(0), np.ones(6)
        >>> W_0 = mz.move_wrench(arm, q, W, "tool")
        >>> np.allclose(W_0, mz.convert_wrench(arm, q, W, "tool", "body", "spatial"))
        True
    """
    P, Q = (_place(model, q, *x) for x in ((measured_at, None, resolved_in), (to, None, to_axes)))
    return Q.pull(P.push(wrench[()]))  # MD120


@algorithm(threshold=ALWAYS_UNROLLED)
def twist_axis(
    model: Mechanism, q: JointVector, v: JointVector, frame: str, relative_to: str | None = None
) -> tuple[Traced, Traced, Traced, Traced]:
    """The axis that a frame turns about and slides along at this instant, its pitch and speed.

    O(depth); pages and the viewer draw it of every body.  Müller, Dynamics B.2; `ScrewAxis`.

    Returns:
        direction (B, 3): the unit vector along the axis, in the inertial frame.
        point (B, 3): the point of the axis next to the inertial origin.
        pitch (B): translation per radian; inf where it does not turn.
        magnitude (B): rad/s; m/s where it does not turn.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.array([2.0, 0.0, 0.0])
        >>> e, p, pitch, speed = mz.twist_axis(arm, q, v, "tool")
        >>> abs(float(pitch)) < 1e-12, round(float(speed), 12)
        (True, 2.0)
    """
    e, p, h, w = _relative(model, q, v, ZERO, frame, relative_to).V.axis()
    return e.array(), p.array(), _scalar(h), _scalar(w)


def _scalar(x: Real) -> Traced:
    out = np.empty((), dtype=object)
    out[()] = x
    return out


# -- in the inertial frame --


class _Moving(NamedTuple):
    """A spatial twist and its rate."""

    V: Twist
    A: Twist


def _place(
    model: Mechanism, q: JointVector, frame: str, measured_at: str | None, resolved_in: str | None
) -> SE3:
    """P: where it is measured, with the axes where it is resolved."""
    at = frame_pose(model, q, measured_at or frame)
    return at if resolved_in is None else SE3(frame_pose(model, q, resolved_in).R, at.p)


def _place_twist(
    model: Mechanism, q: JointVector, v: JointVector, frame: str, measured_at: str | None,
    resolved_in: str | None,
) -> Twist:  # fmt: skip
    """V_P, the spatial twist of P."""
    at = _motion(model, q, v, ZERO, measured_at or frame).V
    if resolved_in is None:
        return at
    p = frame_pose(model, q, measured_at or frame).p
    w = _motion(model, q, v, ZERO, resolved_in).V.ang
    return Twist(w, at.lin + at.ang.cross(p) + p.cross(w))


def _relative(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, frame: str,
    relative_to: str | None,
) -> _Moving:  # fmt: skip
    """The spatial twist of a frame less that of another, and its rate.  MK81"""
    x = _motion(model, q, v, a, frame)
    if relative_to is None:
        return x
    y = _motion(model, q, v, a, relative_to)
    return _Moving(x.V - y.V, x.A - y.A)


def _motion(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, frame: str
) -> _Moving:
    """The spatial twist of a frame and its rate, those of the body that carries it."""
    V, A = Twist.zero(), Twist.zero()
    for i, J, dJ in _columns(model, q, v, frame):
        V, A = V + J @ v[i], A + J @ a[i] + dJ @ v[i]  # MD68, MD69
    return _Moving(V, A)


def _columns(
    model: Mechanism, q: JointVector, v: JointVector, frame: str
) -> Iterator[tuple[BodyView, Screws[Twist], Screws[Twist]]]:
    """The spatial screws of the joints that carry a frame, and their rates along v."""
    C, V = per_body(model, "C V", SE3, Twist)
    for i in model.toward(locate(model, frame)[0]):
        C[i] = C[i.parent] @ i.pose(q[i])
        J = C[i].push(i.joint.screws(q[i]))  # MK28
        V[i] = V[i.parent] + J @ v[i]  # MD68
        yield i, J, V[i].cross(J) + C[i].push(i.joint.screws_rate(q[i], v[i]))  # MD16


def _between(
    model: Mechanism, q: JointVector, v: JointVector, frame: str, relative_to: str | None
) -> Iterator[tuple[BodyView, Screws[Twist], Screws[Twist]]]:
    """The joints that move a frame against another, with spatial screws and their rates."""
    one = {i.slot: (i, J, dJ) for i, J, dJ in _columns(model, q, v, frame)}
    other = _columns(model, q, v, relative_to or WORLD)
    two = {i.slot: (i, _negated(J), _negated(dJ)) for i, J, dJ in other}
    for slot, found in (one | two).items():
        if slot not in one or slot not in two:
            yield found


def _negated(S: Screws[Twist]) -> Screws[Twist]:
    return Screws(-x for x in S)
