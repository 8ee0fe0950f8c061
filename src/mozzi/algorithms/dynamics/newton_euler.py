# pyright: reportConstantRedefinition=false
"""One rigid body: the Newton–Euler equations in every representation.

Müller, Dynamics, section 3; the representations are those of `representations`.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from mozzi.algorithms.recursion.representations import check, turning
from mozzi.lie import SE3, AccelerationField, Inertia, Twist, Vec3, Wrench
from mozzi.lie.so3 import SO3
from mozzi.model.frames import as_pose
from mozzi.types import Array, ArrayLike, Rep

__all__ = ["arbitrary_newton_euler", "gyroscopic", "newton_euler"]


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
def newton_euler(
    inertia: Inertia | ArrayLike, twist: Twist | ArrayLike, twist_rate: Twist | ArrayLike,
    rep: Rep = "body", pose: SE3 | ArrayLike | None = None,
) -> Wrench | Array:  # fmt: skip
    """The wrench that gives a body this twist and twist rate, all in one representation.

    Müller, Dynamics (MD), 38, 41, 53, 56, 57.

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
        raise ValueError(f"the {rep} representation needs the pose of the body: give pose=")
    I = inertia if isinstance(inertia, Inertia) else Inertia.from_matrix(np.asarray(inertia))
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


def arbitrary_newton_euler(
    inertia: Inertia, V: Twist, dV: Twist, V_j: Twist, w_k: Vec3, C_ji: SE3, R_kj: SO3 | None = None
) -> Wrench:
    """Newton–Euler measured at a frame j and resolved in a frame k, both moving in any way.

    V, dV: the twist of the body and the rate of its components; V_j: the twist of frame j; w_k:
    the angular velocity of k relative to j: all measured at j and resolved in k. C_ji: the pose of
    the body frame in j; R_kj turns components in j into components in k.
    Müller, Dynamics (60), (61) for k = j, and (63), (64).
    """
    M = C_ji.push(inertia)  # MD61
    M = M if R_kj is None else turning(R_kj).push(M)  # MD64
    drift = V_j.cross(V) + Twist(w_k, Vec3.zero()).cross(V)
    return (M @ (dV + drift)).rate() + V.cross(M @ V)  # MD63
