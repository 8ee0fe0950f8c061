# pyright: reportConstantRedefinition=false
"""Twists of one frame relative to another, measured and resolved anywhere."""

from __future__ import annotations

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.kinematics.jacobian import frame_screws
from mozzi.algorithms.kinematics.poses import frame_pose
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.rolled_or_not import ALWAYS_UNROLLED
from mozzi.algorithms.recursion.views import JointVector
from mozzi.lie import SE3, Twist

__all__ = ["relative_twist"]


@algorithm(threshold=ALWAYS_UNROLLED)
def relative_twist(
    model: Mechanism, q: JointVector, v: JointVector, frame: str, relative_to: str | None = None,
    measured_at: str | None = None, resolved_in: str | None = None,
) -> Twist:  # fmt: skip
    """The twist of a frame relative to another, measured at the origin of a third one and resolved
    in the axes of a fourth.

    O(depth).  Müller, Kinematics (80), (81); Dynamics, section 3.5.

    Args:
        relative_to: frame or body that it moves against; None: the world.
        measured_at: frame or body whose origin the linear velocity is that of; None: the frame.
        resolved_in: frame or body whose axes are those of the components; None: measured_at.

    Returns:
        (B, 6): the twist (angular, linear).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.relative_twist(arm, q, v, "tool"), mz.jacobian(arm, q, "tool") @ v)
        True
    """
    V = _spatial(model, q, v, frame)
    if relative_to is not None:
        V = V - _spatial(model, q, v, relative_to)  # MK81, in the inertial frame
    at = frame_pose(model, q, measured_at or frame)
    axes = at if resolved_in is None else frame_pose(model, q, resolved_in)
    return SE3(axes.R, at.p).pull(V)  # MK80


def _spatial(model: Mechanism, q: JointVector, v: JointVector, frame: str) -> Twist:
    """The spatial twist of a frame."""
    V = Twist.zero()
    for i, J in frame_screws(model, q, frame, "spatial"):
        V = V + J @ v[i]  # MK30
    return V
