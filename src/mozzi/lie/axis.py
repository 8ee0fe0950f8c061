"""The axis of a screw: where it is, its pitch and how much of it there is.

Every screw (n, m), with n the part that is the same at all points (the angular velocity of a twist,
the force of a wrench) and m the other at the origin, is a multiple of a line with a pitch:

    n = e w,   m = (p × e + h e) w,       and  n = 0, m = e w  where the pitch h is infinite.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mozzi.lie.vec import Vec3
from mozzi.program.scalar import Condition, Real, maximum, real, select, sqrt

__all__ = ["ScrewAxis", "axis_of", "on_axis"]


class ScrewAxis(NamedTuple):
    """An axis with a pitch, and the magnitude of a screw on it.

    ``Twist.screw(*V.axis())`` is V again, and ``SE3.exp(Twist.screw(*T.axis()))`` is T.

    Example:
        >>> axis = mz.Twist.from_array([0, 0, 2, 0, -2, 1]).axis()
        >>> axis.direction.array().tolist(), axis.point.array()[:2].tolist(), axis.pitch
        ([0.0, 0.0, 1.0], [1.0, 0.0], 0.5)
    """

    direction: Vec3
    """The unit vector e along the axis (0 of the screw that is 0)."""
    point: Vec3
    """The point p of the axis next to the origin (0 where the pitch is infinite)."""
    pitch: Real
    """h, translation per radian of a twist, moment per force of a wrench; inf where n = 0."""
    magnitude: Real
    """w, never negative: |n|, or |m| where n = 0."""


def axis_of(n: Vec3, m: Vec3) -> ScrewAxis:
    """The axis of a screw.  Müller, Kinematics (67), the other way."""
    (turn, w), (slide, u) = _polar(n), _polar(m)
    lever = m * (1.0 / select(real(w) > 0.0, w, 1.0))
    none = real(w) <= 0.0
    return ScrewAxis(
        _choose(none, slide, turn),
        turn.cross(lever),
        select(none, math.inf, turn.dot(lever)),
        select(none, u, w),
    )


def on_axis(direction: Vec3, point: Vec3, pitch: Real, magnitude: Real) -> tuple[Vec3, Vec3]:
    """The parts n and m of the screw on an axis."""
    finite = real(pitch) < math.inf
    h = select(finite, pitch, 0.0)
    n = direction * magnitude
    m = (point.cross(direction) + direction * h) * magnitude
    return _choose(finite, n, n * 0.0), _choose(finite, m, n)


def _polar(x: Vec3) -> tuple[Vec3, Real]:
    """x / |x| and |x|, of vectors as small as numbers are."""
    s = maximum(maximum(abs(x.x), abs(x.y)), abs(x.z))
    u = x * (1.0 / select(real(s) > 0.0, s, 1.0))
    r = sqrt(u.dot(u))
    return u * (1.0 / select(real(r) > 0.0, r, 1.0)), r * s


def _choose(condition: Condition, a: Vec3, b: Vec3) -> Vec3:
    return Vec3(*(select(condition, x, y) for x, y in zip(a, b, strict=True)))
