"""An axis becomes a screw.

A joint that is given an axis gets a frame whose z lies along it (`axis_pose`); in that frame, which
the recursions work in, the screw of a revolute joint is the unit screw (0, 0, 1, 0, 0, 0), that of
a prismatic one (0, 0, 0, 0, 0, 1) (`unit_screws`). In any other frame F the screw is F.push of it.
"""

from __future__ import annotations

from mozzi.lie import SE3, Screws, Twist, Vec3
from mozzi.model.frames import IDENTITY, Axis, as_axis, rotation_to

__all__ = ["axis_pose", "unit_screws", "zero_screws"]


def axis_pose(axis: Axis, what: str) -> SE3:
    """The frame at the origin whose z points along an axis."""
    e = as_axis(axis, what)
    return IDENTITY if e == (0.0, 0.0, 1.0) else SE3(rotation_to(e), Vec3.zero())


def unit_screws(*where: int) -> Screws[Twist]:
    """The basis twists with a one at these places (0, 1, 2 angular; 3, 4, 5 linear)."""
    return Screws(Twist.unflatten(1.0 if i == k else 0.0 for i in range(6)) for k in where)


def zero_screws(n: int) -> Screws[Twist]:
    """n structural zeros."""
    return Screws((Twist.zero(),) * n)
