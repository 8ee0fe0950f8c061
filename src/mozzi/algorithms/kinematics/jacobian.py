"""Geometric Jacobians: of a frame, of a point, of all bodies; and their rates.

Column j of the Jacobian of a frame is the screw of joint j at the present configuration, for the
joints between the frame and the base; the others are zero. A joint with several degrees of freedom
gives as many columns.
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.kinematics.poses import forward_kinematics, locate
from mozzi.algorithms.recursion.containers import BlockArray, joint_array, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.representations import check, from_body, shifting, turning
from mozzi.algorithms.recursion.views import BodyView, JointVector, Whole
from mozzi.errors import ConfigurationError, known
from mozzi.lie import SE3, Screws, Twist, Vec3
from mozzi.lie.screw import Six
from mozzi.program.scalar import Real
from mozzi.types import Rep, Resolved, Traced, words

__all__ = ["body_jacobians", "jacobian", "joint_screws", "point_jacobian", "system_jacobian"]

FrameScrews: TypeAlias = Iterator[tuple[BodyView, Screws[Twist]]]
"""The columns of a Jacobian, by bodies."""


def rows(S: Screws[Six]) -> tuple[tuple[Real, ...], ...]:
    """The entries of a matrix of columns, row by row."""
    return tuple(zip(*(column.flatten() for column in S), strict=True))


@algorithm
def jacobian(model: Mechanism, q: JointVector, frame: str, rep: Rep = "body") -> BlockArray:
    """J with V = J v, for the twist V of a frame in a representation.

    O(depth).  Müller, Kinematics (16), (28), (40), (50).

    Returns:
        (B, 6, nv): rows are the twist (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.jacobian(arm, q, "tool", rep="hybrid").shape
        (6, 3)
    """
    J = joint_array(model, 6, "v", letter="J")
    for i, S in frame_screws(model, q, frame, check(rep)):
        J[i] = rows(S)
    return J


def frame_screws(model: Mechanism, q: JointVector, frame: str, rep: Rep) -> FrameScrews:
    """The columns J_i of the Jacobian of a frame: pairs of a body and its `Screws`."""
    return _COLUMNS[rep](model, q, *locate(model, frame))


def _body_columns(model: Mechanism, q: JointVector, k: int, F: SE3) -> FrameScrews:
    T = per_body(model, "T", SE3)  # the frame in the frame of each body
    T[model.at(k)] = F
    for i in model.path(k):
        yield i, T[i].pull(i.joint.screws(q[i]))  # MK16
        T[i.parent] = i.pose(q[i]) @ T[i]


def _spatial_columns(model: Mechanism, q: JointVector, k: int, F: SE3) -> FrameScrews:
    C = per_body(model, "C", SE3)
    for i in model.toward(k):
        C[i] = C[i.parent] @ i.pose(q[i])
        yield i, C[i].push(i.joint.screws(q[i]))  # MK28


def _hybrid_columns(model: Mechanism, q: JointVector, k: int, F: SE3) -> FrameScrews:
    C = per_body(model, "C", SE3)
    for i in model.toward(k):
        C[i] = C[i.parent] @ i.pose(q[i])
    r = C[model.at(k)] @ F.p
    for i in model.toward(k):
        X = turning(C[i].R).push(i.joint.screws(q[i]))  # MK38
        yield i, shifting(r - C[i].p).pull(X)  # MK40


def _mixed_columns(model: Mechanism, q: JointVector, k: int, F: SE3) -> FrameScrews:
    C = per_body(model, "C", SE3)
    for i in model.toward(k):
        C[i] = C[i.parent] @ i.pose(q[i])
    D = C[model.at(k)] @ F
    for i in model.toward(k):
        X = turning(C[i].R).push(i.joint.screws(q[i]))  # MK38
        J = shifting(D.p - C[i].p).pull(X)
        yield i, Screws(Twist(D.R.unrotate(c.ang), c.lin) for c in J)  # MK50


_COLUMNS: dict[Rep, Callable[[Mechanism, JointVector, int, SE3], FrameScrews]] = {
    "body": _body_columns,
    "spatial": _spatial_columns,
    "hybrid": _hybrid_columns,
    "mixed": _mixed_columns,
}


@algorithm
def joint_screws(model: Mechanism, q: JointVector, rep: Rep = "spatial") -> BlockArray:
    """The screws of all joints at the configuration q, measured at the bodies they move.

    Columns ⁱX_i (body), J_iˢ (spatial), ⁰X_iⁱ (hybrid) and their mixed form. The spatial ones are
    the columns of the Jacobians of all bodies; at the neutral configuration they are the Y_i.
    O(n).  Müller, Kinematics (5), (12), (28), (38), table 3.

    Returns:
        (B, 6, nv): rows are (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> np.allclose(mz.joint_screws(arm, q), mz.jacobian(arm, q, "link_3", rep="spatial"))
        True
    """
    C, X = per_body(model, "C", SE3), joint_array(model, 6, "v", letter="X")
    for i in model.outward():
        C[i] = C[i.parent] @ i.pose(q[i])
        S = i.joint.screws(q[i])
        if check(rep) == "spatial":
            X[i] = rows(C[i].push(S))  # MK28
        else:
            X[i] = rows(from_body(i.frame.pull(S), C[i] @ i.frame, rep))  # MK5, MK38
    return X


@algorithm
def point_jacobian(
    model: Mechanism,
    q: JointVector,
    point: Whole[Sequence[Real]],
    frame: str,
    resolved: Resolved = "world",
) -> BlockArray:
    """J with ṙ = J v, for a point given in the coordinates of a frame and carried along by it.

    The velocity is resolved in the world, or in the frame.  O(depth).  Müller, Kinematics (36).

    Returns:
        (B, 3, nv): rows are x, y, z of the velocity, columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.point_jacobian(arm, q, [0.0, 0.0, 0.1], "tool").shape
        (3, 3)
    """
    if resolved not in words(Resolved):
        there = known(resolved, words(Resolved))
        raise ConfigurationError(f"resolved in {resolved!r}; choose one of {there}")
    k, F = locate(model, frame)
    at = SE3(F.R, F @ Vec3(*point[()]))
    J = joint_array(model, 3, "v", letter="J")
    for i, S in _COLUMNS["hybrid" if resolved == "world" else "body"](model, q, k, at):
        J[i] = rows(S)[3:]
    return J


# -- all bodies ------------------------------------------------------------------------------------


@algorithm
def system_jacobian(model: Mechanism, q: JointVector, rep: Rep = "body") -> Traced:
    """J with (V_1, …, V_n) = J v: the Jacobians of all bodies, one above the other.

    O(n d), recursively from parent to child.  Müller, Kinematics (19), (28), (41), (51).

    Returns:
        (B, 6 nb, nv): six rows (angular, linear) for each body, columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.system_jacobian(arm, q).shape
        (18, 3)
    """
    J = joint_array(model, "b", 6, "v", letter="J")
    _SYSTEM[check(rep)](model, q, J)
    return J.array().reshape(6 * model.nb, model.nv)


def columns(block: Sequence[Real]) -> Screws[Twist]:
    """`Screws` from their entries row by row: the inverse of `rows`."""
    n = len(block) // 6
    return Screws(Twist.unflatten(block[c::n]) for c in range(n))


def _body_system(model: Mechanism, q: JointVector, J: BlockArray) -> None:
    X = joint_array(model, "b", 6, "v", letter="X")  # as J, at the joint frames
    for i in model.outward():
        S, T = i.joint.screws(q[i]), i.pose(q[i])
        X[i, i] = rows(S)
        J[i, i] = rows(i.frame.pull(S))
        for j in i.parent.path():
            K = T.pull(columns(X[i.parent, j]))  # MK19
            X[i, j] = rows(K)
            J[i, j] = rows(i.frame.pull(K))


def _spatial_system(model: Mechanism, q: JointVector, J: BlockArray) -> None:
    C, X = per_body(model, "C", SE3), joint_array(model, 6, "v", letter="X")
    for i in model.outward():
        C[i] = C[i.parent] @ i.pose(q[i])
        X[i] = rows(C[i].push(i.joint.screws(q[i])))  # MK28
        for j in i.path():
            J[i, j] = X[j]  # MK29


def _hybrid_system(model: Mechanism, q: JointVector, J: BlockArray) -> None:
    C, r = per_body(model, "C r", SE3, Vec3)
    for i in model.outward():
        C[i] = C[i.parent] @ i.pose(q[i])
        r[i] = C[i] @ i.frame.p
        X = turning(C[i].R).push(i.joint.screws(q[i]))  # MK38
        J[i, i] = rows(shifting(r[i] - C[i].p).pull(X))
        d = shifting(r[i] - r[i.parent])
        for j in i.parent.path():
            J[i, j] = rows(d.pull(columns(J[i.parent, j])))  # MK41


def _mixed_system(model: Mechanism, q: JointVector, J: BlockArray) -> None:
    C, r = per_body(model, "C r", SE3, Vec3)
    H, W = (joint_array(model, "b", n, "v", letter=x) for n, x in ((6, "H"), (3, "W")))
    for i in model.outward():
        T, S = i.pose(q[i]), i.joint.screws(q[i])
        C[i] = C[i.parent] @ T
        r[i] = C[i] @ i.frame.p
        X = shifting(r[i] - C[i].p).pull(turning(C[i].R).push(S))
        H[i, i], W[i, i] = rows(X), rows(S)[:3]
        J[i, i] = rows(Screws(Twist(i.frame.R.unrotate(s.ang), x.lin) for s, x in zip(S, X)))
        d = shifting(r[i] - r[i.parent])
        for j in i.parent.path():
            X = d.pull(columns(H[i.parent, j]))  # the linear part of MK51, in hybrid screws
            n, ang = len(X), W[i.parent, j]
            w = [T.unrotate(Vec3(*ang[c::n])) for c in range(n)]  # R_{i,i−1}: the angular part
            H[i, j], W[i, j] = rows(X), tuple(zip(*w))
            J[i, j] = rows(Screws(Twist(i.frame.R.unrotate(a), x.lin) for a, x in zip(w, X)))


_SYSTEM: dict[Rep, Callable[[Mechanism, JointVector, BlockArray], None]] = {
    "body": _body_system,
    "spatial": _spatial_system,
    "hybrid": _hybrid_system,
    "mixed": _mixed_system,
}


@algorithm
def body_jacobians(model: Mechanism, q: JointVector) -> tuple[BlockArray, BlockArray]:
    """(poses, J): the poses of all bodies, and their Jacobians in one 6 × nv matrix.

    In the spatial representation the column of a joint is the same in the Jacobians of all bodies
    behind it (Müller, Kinematics, remark 10): the Jacobian of body i is made of the columns of the
    joints from the base to i.  O(n).  Müller, Kinematics (3), (28).

    Returns:
        poses (B, nb, 4, 4): the pose of each body.
        J (B, 6, nv): spatial; rows are (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> poses, J = mz.body_jacobians(arm, arm.neutral())
        >>> poses.shape, J.shape
        ((3, 4, 4), (6, 3))
    """
    return forward_kinematics(model, q), joint_screws(model, q, "spatial")
