# pyright: reportConstantRedefinition=false
"""One rigid body: the Newton–Euler equations in every representation.

Müller, Dynamics, section 3; the representations are those of `representations`.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from mozzi.algorithms.recursion.representations import check, turning
from mozzi.checked import checked
from mozzi.errors import ConfigurationError
from mozzi.lie import SE3, AccelerationField, Inertia, Rotation, Twist, Vec3, Wrench
from mozzi.lie.so3 import SO3
from mozzi.model.frames import as_pose
from mozzi.types import Array, ArrayLike, Rep

__all__ = ["gyroscopic", "newton_euler", "newton_euler_in_frame"]


def gyroscopic(I: Inertia, w: Vec3) -> Wrench:
    """I V̇ − ad*_V I V of a body whose origin does not accelerate, ω̇ = 0 = r̈.

    With A = (ω̇, Rᵀr̈) in place of V̇ (`kinematics/motion.py` derives it), the wrench of a body is
    I A and this, which linear velocities do not enter.  MD42, MD43.
    """
    return AccelerationField(Vec3.zero(), w, w).wrench(I, Vec3.zero())


# -- Newton–Euler equations --


@overload
def newton_euler(
    inertia: Inertia | ArrayLike, twist: Twist, twist_rate: Twist, rep: Rep = "body",
    pose: SE3 | ArrayLike | None = None,
) -> Wrench: ...  # fmt: skip
@overload
def newton_euler(
    inertia: Inertia | ArrayLike, twist: ArrayLike, twist_rate: ArrayLike, rep: Rep = "body",
    pose: SE3 | ArrayLike | None = None,
) -> Array: ...  # fmt: skip
@checked
def newton_euler(
    inertia: Inertia | ArrayLike, twist: Twist | ArrayLike, twist_rate: Twist | ArrayLike,
    rep: Rep = "body", pose: SE3 | ArrayLike | None = None,
) -> Wrench | Array:  # fmt: skip
    """The wrench that gives a body this twist and twist rate, all in one representation.

    Müller, Dynamics (MD), 38, 41, 53, 56, 57.

    Cost: that of one body, O(1).

    Args:
        inertia: of the body, constant in its frame, whose origin need not be the centre of mass: an
            `Inertia` or a 6×6 array.
        twist: a `Twist`, or an array (6,) (angular, linear).
        twist_rate: its rate, likewise.
        rep: representation of all of them: "body", "spatial", "hybrid" or "mixed".
        pose: of the body frame, an `SE3` or a 4×4 array; not needed by "body".

    Returns:
        A `Wrench`, or an array (6,) (torque, force), as the twists are.

    Example:
        >>> ball = mz.Inertia(2.0, (0.0, 0.0, 0.0), np.eye(3))
        >>> mz.newton_euler(ball, np.zeros(6), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
        array([0., 0., 0., 2., 0., 0.])
    """
    if not isinstance(twist, Twist) and not isinstance(twist_rate, Twist):
        V, dV = Twist.from_array(twist), Twist.from_array(twist_rate)
        return newton_euler(inertia, V, dV, rep, pose).array()
    if not (isinstance(twist, Twist) and isinstance(twist_rate, Twist)):
        raise TypeError("of twist and twist_rate one is a Twist and one is not: give both alike")
    if check(rep) != "body" and pose is None:
        raise ConfigurationError(f"the {rep} representation needs the pose of the body: give pose=")
    I = _inertia(inertia)
    C = SE3.identity() if pose is None else pose if isinstance(pose, SE3) else as_pose(pose, "pose")
    return _EQUATIONS[rep](I, twist, twist_rate, C)


def _body(M: Inertia, V: Twist, dV: Twist, C: SE3) -> Wrench:
    return (M @ dV).rate() + V.cross(M @ V)  # MD41


def _spatial(M: Inertia, V: Twist, dV: Twist, C: SE3) -> Wrench:
    Ms = C.push(M)  # MD34
    return (Ms @ dV).rate() + V.cross(Ms @ V)  # MD38


def _hybrid(M: Inertia, V: Twist, dV: Twist, C: SE3) -> Wrench:
    Mh = turning(C.R).push(M)  # MD51
    w = Twist(V.ang, Vec3.zero())
    return (Mh @ dV).rate() + w.cross(Mh @ w)  # MD53


def _mixed(M: Inertia, V: Twist, dV: Twist, C: SE3) -> Wrench:
    R, w, h = C.R, V.ang, M.h
    t = M.J @ dV.ang + w.cross(M.J @ w) + h.cross(R.unrotate(dV.lin))  # MD56
    f = dV.lin * M.m + R.rotate(dV.ang.cross(h) + w.cross(w.cross(h)))  # MD57
    return Wrench(t, f)


_EQUATIONS = {"body": _body, "spatial": _spatial, "hybrid": _hybrid, "mixed": _mixed}


@overload
def newton_euler_in_frame(
    inertia: Inertia | ArrayLike, twist: Twist, twist_rate: Twist, frame_twist: Twist,
    pose: SE3 | ArrayLike, axes: SO3 | ArrayLike | None = None,
    spin: Vec3 | ArrayLike | None = None,
) -> Wrench: ...  # fmt: skip
@overload
def newton_euler_in_frame(
    inertia: Inertia | ArrayLike, twist: ArrayLike, twist_rate: ArrayLike, frame_twist: ArrayLike,
    pose: SE3 | ArrayLike, axes: SO3 | ArrayLike | None = None,
    spin: Vec3 | ArrayLike | None = None,
) -> Array: ...  # fmt: skip
@checked
def newton_euler_in_frame(
    inertia: Inertia | ArrayLike, twist: Twist | ArrayLike, twist_rate: Twist | ArrayLike,
    frame_twist: Twist | ArrayLike, pose: SE3 | ArrayLike, axes: SO3 | ArrayLike | None = None,
    spin: Vec3 | ArrayLike | None = None,
) -> Wrench | Array:  # fmt: skip
    """Newton–Euler measured at a frame j and resolved in a frame k, both moving in any way.

    Twists are measured at j and resolved in k, as `relative_twist` and `relative_acceleration` give
    them. Müller, Dynamics (60), (61) where k is j, and (62)–(64).

    Cost: that of one body, O(1).

    Args:
        inertia: of the body, constant in its frame: an `Inertia` or a 6×6 array.
        twist: of the body: a `Twist`, or an array (..., 6) (angular, linear).
        twist_rate: the rate of these six components, likewise.
        frame_twist: the twist of frame j, likewise.
        pose: of the body frame in j, an `SE3` or (4, 4).
        axes: turns components in j into components in k, a rotation or (3, 3); None: k is j.
        spin: the angular velocity of k relative to j, in k, a `Vec3` or (..., 3); None: zero.

    Returns:
        A `Wrench`, or an array (..., 6) (torque, force), measured at j and resolved in k.

    Example:
        >>> ball = mz.Inertia(2.0, (0.0, 0.0, 0.0), np.eye(3))
        >>> still, V, dV = np.zeros(6), np.zeros(6), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
        >>> away = mz.SE3.translation(0.0, 3.0, 0.0)
        >>> mz.newton_euler_in_frame(ball, V, dV, still, away).round(12) + 0.0
        array([ 0.,  0., -6.,  2.,  0.,  0.])
    """
    given = (twist, twist_rate, frame_twist)
    twists = [x for x in given if isinstance(x, Twist)]
    if not twists:
        one, two, three = (Twist.from_array(np.asarray(x)) for x in given)
        return newton_euler_in_frame(inertia, one, two, three, pose, axes, spin).array()
    if len(twists) < len(given):
        raise TypeError("of the three twists some are a Twist and some are not: give all alike")
    V, dV, V_j = twists
    w = Vec3.zero() if spin is None else spin
    w = w if isinstance(w, Vec3) else Vec3.from_array(np.asarray(w))
    M = (pose if isinstance(pose, SE3) else as_pose(pose, "pose")).push(_inertia(inertia))  # MD61
    if axes is not None:
        R = axes if isinstance(axes, SO3) else Rotation.from_array(np.asarray(axes))
        M = turning(R).push(M)  # MD64
    drift = V_j.cross(V) + Twist(w, Vec3.zero()).cross(V)
    return (M @ (dV + drift)).rate() + V.cross(M @ V)  # MD60, MD63


def _inertia(x: Inertia | ArrayLike) -> Inertia:
    return x if isinstance(x, Inertia) else Inertia.from_matrix(np.asarray(x))
