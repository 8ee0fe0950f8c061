"""Twists, their rates, wrenches and Jacobians from one representation in another, at any frame."""

from __future__ import annotations

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.kinematics.jacobian import columns, rows
from mozzi.algorithms.kinematics.poses import frame_pose
from mozzi.algorithms.recursion.containers import BlockArray, joint_array
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.representations import convert, convert_rate
from mozzi.algorithms.recursion.views import JointVector, Whole
from mozzi.lie import Screws, Twist, Wrench
from mozzi.types import Rep, Traced

__all__ = [
    "conversion_matrix", "convert_jacobian", "convert_twist", "convert_twist_rate",
    "convert_wrench",
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
