"""Geometric Jacobians: of a frame, of a point, of all bodies; and their rates.

Column j of the Jacobian of a frame is the screw of joint j at the present configuration, for the
joints between the frame and the base; the others are zero. A joint with several degrees of freedom
gives as many columns.
"""

from __future__ import annotations

from typing import Any

from mozzi.algorithms.algorithm import algorithm
from mozzi.algorithms.kinematics import locate
from mozzi.algorithms.recursion import joint_array, per_body
from mozzi.algorithms.representations import check, shifting, turning
from mozzi.lie import SE3, Screws, Twist

__all__ = ["jacobian"]


def rows(S: Screws) -> tuple[Any, ...]:
    """The entries of a matrix of columns, row by row."""
    return tuple(zip(*(column.flatten() for column in S), strict=True))


@algorithm
def jacobian(model: Any, q: Any, frame: str, rep: str = "body") -> Any:
    """J with V = J v, for the twist V of a frame in a representation.

    O(depth).  Müller, Kinematics (16), (28), (40), (50).
    """
    J = joint_array(model, 6, "v", letter="J")
    for i, S in frame_screws(model, q, frame, check(rep)):
        J[i] = rows(S)
    return J


def frame_screws(model: Any, q: Any, frame: str, rep: str) -> Any:
    """The columns J_i of the Jacobian of a frame: pairs of a body and its `Screws`."""
    return _COLUMNS[rep](model, q, *locate(model, frame))


def _body_columns(model: Any, q: Any, k: int, F: SE3) -> Any:
    T = per_body(model, T=SE3)  # the frame in the frame of each body
    T[model.at(k)] = F
    for i in model.path(k):
        yield i, T[i].pull(i.joint.screws(q[i]))  # (16)
        T[i.parent] = i.pose(q[i]) @ T[i]


def _spatial_columns(model: Any, q: Any, k: int, F: SE3) -> Any:
    C = per_body(model, C=SE3)
    for i in model.toward(k):
        C[i] = C[i.parent] @ i.pose(q[i])
        yield i, C[i].push(i.joint.screws(q[i]))  # (28)


def _hybrid_columns(model: Any, q: Any, k: int, F: SE3) -> Any:
    C = per_body(model, C=SE3)
    for i in model.toward(k):
        C[i] = C[i.parent] @ i.pose(q[i])
    r = C[model.at(k)] @ F.p
    for i in model.toward(k):
        X = turning(C[i].R).push(i.joint.screws(q[i]))  # (38)
        yield i, shifting(r - C[i].p).pull(X)  # (40)


def _mixed_columns(model: Any, q: Any, k: int, F: SE3) -> Any:
    C = per_body(model, C=SE3)
    for i in model.toward(k):
        C[i] = C[i.parent] @ i.pose(q[i])
    D = C[model.at(k)] @ F
    for i in model.toward(k):
        X = turning(C[i].R).push(i.joint.screws(q[i]))  # (38)
        J = shifting(D.p - C[i].p).pull(X)
        yield i, Screws(Twist(D.R.unrotate(c.ang), c.lin) for c in J)  # (50)


_COLUMNS = {
    "body": _body_columns,
    "spatial": _spatial_columns,
    "hybrid": _hybrid_columns,
    "mixed": _mixed_columns,
}
