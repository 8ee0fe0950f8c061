"""Twists, their rates, wrenches and Jacobians from one representation in another, at any frame."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.kinematics.jacobian import columns, rows
from mozzi.algorithms.kinematics.poses import frame_pose
from mozzi.algorithms.recursion.containers import BlockArray, body_array, joint_array, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.representations import convert, convert_rate
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector, Whole
from mozzi.lie import SE3, Screws, Twist, Wrench
from mozzi.types import Rep, Traced

__all__ = [
    "conversion_matrix",
    "convert_jacobian",
    "convert_twist",
    "convert_twist_rate",
    "convert_twist_rates",
    "convert_twists",
    "convert_wrench",
    "convert_wrenches",
    "system_conversion_matrix",
]  # fmt: skip


@algorithm
def convert_twist(
    model: Mechanism, q: JointVector, twist: Whole[Twist], frame: str, source: Rep, target: Rep
) -> Twist:
    """The twist of a frame in the representation `target`, from that in `source`.

    Müller, Kinematics, table 3.

    Returns:
        (B, 6): the twist (angular, linear).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, V = arm.random_configuration(0), np.ones(6)
        >>> mz.convert_twist(arm, q, V, "tool", "body", "hybrid").shape
        (6,)
    """
    return convert(twist[()], frame_pose(model, q, frame), source, target)


@algorithm
def convert_twist_rate(
    model: Mechanism,
    q: JointVector,
    twist: Whole[Twist],
    twist_rate: Whole[Twist],
    frame: str,
    source: Rep,
    target: Rep,
) -> Twist:
    """The rate of a frame's twist in the representation `target`, from twist and rate in `source`.

    Hybrid and mixed accelerations differ from the others by ω × ṙ.

    Returns:
        (B, 6): the rate (angular, linear).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, V = arm.random_configuration(0), np.ones(6)
        >>> mz.convert_twist_rate(arm, q, V, V, "tool", "body", "hybrid").shape
        (6,)
    """
    C = frame_pose(model, q, frame)
    return convert_rate(twist_rate[()], twist[()], C, source, target)


@algorithm
def convert_wrench(
    model: Mechanism, q: JointVector, wrench: Whole[Wrench], frame: str, source: Rep, target: Rep
) -> Wrench:
    """The wrench (or momentum) at a frame in `target`, from that in `source`: its power stays.

    Returns:
        (B, 6): the wrench (torque, force).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, W = arm.random_configuration(0), np.ones(6)
        >>> mz.convert_wrench(arm, q, W, "tool", "body", "hybrid").shape
        (6,)
    """
    return convert(wrench[()], frame_pose(model, q, frame), source, target)


@algorithm
def convert_jacobian(
    model: Mechanism, q: JointVector, columns: JointVector, frame: str, source: Rep, target: Rep
) -> BlockArray:
    """The Jacobian of a frame in the representation `target`, from that in `source`.

    Müller, Kinematics (54), (56), (59).

    Returns:
        (B, 6, nv): rows are (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> J = mz.jacobian(arm, arm.neutral(), "tool")
        >>> mz.convert_jacobian(arm, arm.neutral(), J, "tool", "body", "hybrid").shape
        (6, 3)
    """
    C = frame_pose(model, q, frame)
    J = joint_array(model, 6, "v", letter="J")
    for i in model.outward():
        J[i] = rows(convert(_columns(columns[i]), C, source, target))
    return J


_columns = columns


@algorithm
def conversion_matrix(
    model: Mechanism, q: JointVector, frame: str, source: Rep, target: Rep
) -> Traced:
    """The 6×6 matrix M with V_target = M V_source for the twists of a frame.

    Müller, Kinematics, table 3. Wrenches go by M⁻ᵀ.

    Returns:
        (B, 6, 6): rows and columns are (angular, linear).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.conversion_matrix(arm, q, "tool", "body", "spatial").shape
        (6, 6)
    """
    C = frame_pose(model, q, frame)
    basis = Screws(Twist.unflatten(map(float, row)) for row in np.eye(6))
    return convert(basis, C, source, target).array()


# -- of all bodies --


@algorithm
def convert_twists(
    model: Mechanism, q: JointVector, twists: ByBody[Twist], source: Rep, target: Rep
) -> BlockArray:
    """The twists of all bodies in the representation `target`, from those in `source`.

    O(n).  Müller, Kinematics, table 3 for the whole mechanism.

    Args:
        twists: twists of all bodies (angular, linear), in the representation source.

    Returns:
        (B, nb, 6): a row (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> V = mz.convert_twists(arm, q, mz.twists(arm, q, v, "spatial"), "spatial", "mixed")
        >>> np.allclose(V, mz.twists(arm, q, v, "mixed"))
        True
    """
    out = body_array(model, 6, letter="V")
    for i, C in body_frames(model, q):
        out[i] = convert(twists[i], C, source, target)
    return out


@algorithm
def convert_twist_rates(
    model: Mechanism, q: JointVector, twists: ByBody[Twist], twist_rates: ByBody[Twist],
    source: Rep, target: Rep,
) -> BlockArray:  # fmt: skip
    """The rates of the twists of all bodies in `target`, from twists and rates in `source`.

    O(n).  Müller, Kinematics, table 3 and its derivative.

    Args:
        twists: twists of all bodies (angular, linear), in the representation source.
        twist_rates: their rates, in the representation source.

    Returns:
        (B, nb, 6): a row (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.ones(arm.nv)
        >>> V, A = mz.twists(arm, q, v, "spatial"), mz.accelerations(arm, q, v, a, "spatial")
        >>> A = mz.convert_twist_rates(arm, q, V, A, "spatial", "hybrid")
        >>> np.allclose(A, mz.accelerations(arm, q, v, a, "hybrid"))
        True
    """
    out = body_array(model, 6, letter="A")
    for i, C in body_frames(model, q):
        out[i] = convert_rate(twist_rates[i], twists[i], C, source, target)
    return out


@algorithm
def convert_wrenches(
    model: Mechanism, q: JointVector, wrenches: ByBody[Wrench], source: Rep, target: Rep
) -> BlockArray:
    """The wrenches (or momenta) on all bodies in `target`, from those in `source`.

    O(n).

    Args:
        wrenches: wrenches (torque, force) on all bodies, in the representation source.

    Returns:
        (B, nb, 6): a row (torque, force) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a, W = arm.random_configuration(0), np.ones(3), np.ones(3), np.ones((3, 6))
        >>> tau = mz.inverse_dynamics(arm, q, v, a, W, wrenches_rep="hybrid")
        >>> W = mz.convert_wrenches(arm, q, W, "hybrid", "body")
        >>> np.allclose(tau, mz.inverse_dynamics(arm, q, v, a, W))
        True
    """
    out = body_array(model, 6, letter="W")
    for i, C in body_frames(model, q):
        out[i] = convert(wrenches[i], C, source, target)
    return out


@algorithm
def system_conversion_matrix(
    model: Mechanism, q: JointVector, source: Rep, target: Rep
) -> Traced:
    """The matrix (6 nb, 6 nb) that makes of a system Jacobian in `source` that in `target`.

    Block diagonal; it takes stacked twists along, and M⁻ᵀ stacked wrenches.  Müller, Kinematics
    (54), (56), (59), for the whole mechanism.

    Returns:
        (B, 6 nb, 6 nb): six rows and columns (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> M = mz.system_conversion_matrix(arm, q, "body", "spatial")
        >>> J = M @ mz.system_jacobian(arm, q, "body")
        >>> np.allclose(J, mz.system_jacobian(arm, q, "spatial"))
        True
    """
    out = np.full((6 * model.nb, 6 * model.nb), 0.0, dtype=object)
    basis = Screws(Twist.unflatten(map(float, row)) for row in np.eye(6))
    C = per_body(model, "C", SE3)
    for i, pose in body_frames(model, q):
        C[i] = pose
    for k in range(model.nb):
        block = slice(6 * k, 6 * k + 6)
        out[block, block] = convert(basis, C[model.at(k)], source, target).array()
    return out


def body_frames(model: Mechanism, q: JointVector) -> Iterator[tuple[BodyView, SE3]]:
    """Every body after its parent, with the pose of its own frame."""
    C = per_body(model, "C", SE3)
    for i in model.outward():
        C[i] = C[i.parent] @ i.pose(q[i])
        yield i, C[i] @ i.frame
