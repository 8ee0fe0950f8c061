"""The point of a circle that is nearest to a line, to a rod or to another circle.

On the circle x(t) = p + R (e₁ cos t + e₂ sin t) the square of the distance, D(t), is a quartic in
disguise: it is looked at in some points, and from the lowest one Newton's method finds D′ = 0. The
last step is taken with rates, where there are some: ṫ = −(∂D′/∂p ṗ + …)/D″.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from mozzi.algorithms.constraints.rows.dual_numbers import chosen, over, root, value
from mozzi.lie import Vec3
from mozzi.program.scalar import Real

__all__ = ["foot_on_rod", "nearest_to_axis", "nearest_to_circle"]

LOOKS, STEPS = 16, 7  # points that are looked at; steps of Newton's method from the best
FARTHEST = 0.35  # radians, the most that a step goes
TINY = 1e-9  # share of R² by which D is curved at least: where a circle has no nearest point

Slopes = Callable[[Vec3, Vec3, Vec3], tuple[Real, Real, Real]]
"""(x, x′, x″) ↦ D, D′, D″ along the circle."""


def foot_on_rod(x: Vec3, half: float | None) -> Vec3:
    """The point nearest to x of the z axis, or of its part within half a length."""
    if half is None:
        return Vec3(0.0, 0.0, x.z)
    z = chosen(value(x.z) > half, half, x.z)
    return Vec3(0.0, 0.0, chosen(value(x.z) < -half, -half, z))


def nearest_to_axis(
    p: Vec3, axes: Sequence[Vec3], R: float, half: float | None, inside: bool
) -> Vec3:
    """The point of a circle nearest to the z axis (a part of it); farthest, where inside."""
    sign = -1.0 if inside else 1.0

    def slopes(x: Vec3, dx: Vec3, ddx: Vec3) -> tuple[Real, Real, Real]:
        d = x - foot_on_rod(x, half)
        along: Real = 0.0
        if half is not None:  # beside the ends the foot does not move
            along = chosen(value(d.z) * value(d.z) > 0.0, 1.0, 0.0)
        u = Vec3(dx.x, dx.y, dx.z * along)
        return sign * (0.5 * d.dot(d)), sign * d.dot(dx), sign * (u.dot(u) + d.dot(ddx))

    return _lowest(p, axes, R, slopes)


def nearest_to_circle(p: Vec3, axes: Sequence[Vec3], R: float, ground: float) -> Vec3:
    """The point of a circle nearest to the circle of radius ``ground`` about z."""

    def slopes(x: Vec3, dx: Vec3, ddx: Vec3) -> tuple[Real, Real, Real]:
        across, moving = Vec3(x.x, x.y, 0.0), Vec3(dx.x, dx.y, 0.0)
        far = root(across.dot(across))
        inverse = over(far)
        d = across.dot(moving) * inverse
        dd = (moving.dot(moving) + across.dot(ddx) - d * d) * inverse
        return (
            0.5 * x.dot(x) - ground * far,
            x.dot(dx) - ground * d,
            dx.dot(dx) + x.dot(ddx) - ground * dd,
        )

    return _lowest(p, axes, R, slopes)


def _lowest(p: Vec3, axes: Sequence[Vec3], R: float, slopes: Slopes) -> Vec3:
    """x where D is lowest."""
    still, e1, e2 = (Vec3(*map(value, x)) for x in (p, *axes[:2]))

    def at(p: Vec3, e1: Vec3, e2: Vec3, c: Real, s: Real) -> tuple[Vec3, Vec3, Vec3]:
        out = (e1 * c + e2 * s) * R
        return p + out, (e2 * c - e1 * s) * R, -out

    def step(c: Real, s: Real, D1: Real, D2: Real) -> tuple[Real, Real]:
        least = TINY * R * R
        steep = chosen(value(D2) > least, D2, chosen(value(D2) < -least, -D2, least))
        turn = -(D1 * over(steep))
        turn = chosen(value(turn) > FARTHEST, FARTHEST, turn)
        turn = chosen(value(turn) < -FARTHEST, -FARTHEST, turn)
        x, y = c - s * turn, s + c * turn
        inverse = over(root(x * x + y * y))
        return x * inverse, y * inverse

    best: Real = math.inf
    c: Real = 1.0
    s: Real = 0.0
    for k in range(LOOKS):
        angle = 2.0 * math.pi * k / LOOKS
        cos, sin = math.cos(angle), math.sin(angle)
        D = slopes(*at(still, e1, e2, cos, sin))[0]
        if k == 0:
            best, c, s = D, cos, sin
            continue
        lower = best > D
        best, c, s = chosen(lower, D, best), chosen(lower, cos, c), chosen(lower, sin, s)
    for _ in range(STEPS):
        c, s = step(c, s, *slopes(*at(still, e1, e2, c, s))[1:])
    c, s = step(c, s, *slopes(*at(p, axes[0], axes[1], c, s))[1:])
    return at(p, axes[0], axes[1], c, s)[0]
