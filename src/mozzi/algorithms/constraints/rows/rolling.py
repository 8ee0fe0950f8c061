"""Rolling without slip: where two shapes touch, and the rows that keep them there.

Shape b is the ground, with its frame B; of shape a the centre p and the axes s are known in B.
There `touch` finds the contact point c, the normal n and two tangents. With u the velocity at c of
body a relative to body b, the rows are

    n · u = 0 ,   t₁ · u = 0 ,   t₂ · u = 0 .

The first is the rate of the distance, exactly so also where it is not zero; the others have no
position part. As c moves in B with ċ, the rates of these rows in frame B are

    u̇ = r̈_a(c) − r̈_b(c) + (ω_a − ω_b) × ċ − (ω_a + ω_b) × u ,   d(t · u)/dt = t · u̇ + ṫ · u ,

with the accelerations r̈ of the two material points that meet at c. What has no rates is written
once for numbers with and without them (`dual_numbers.py`).
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mozzi.algorithms.constraints.rows.circles import (
    foot_on_rod,
    nearest_to_axis,
    nearest_to_circle,
)
from mozzi.algorithms.constraints.rows.dual_numbers import (
    chosen,
    over,
    rate,
    rated,
    root,
    unit,
    value,
)
from mozzi.algorithms.constraints.rows.relative_motion import Moving, Pair, Rows
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.lie import AccelerationField, Screws, Vec3, Wrench
from mozzi.model import Capsule, Cylinder, Disc, Ellipsoid, Plane, Rolling, Sphere, Torus
from mozzi.model.constraints.rolling import rolls_on
from mozzi.model.shapes import Geometry
from mozzi.program.scalar import Real

__all__ = ["Touch", "reach", "rolling_rows", "touch"]


@dataclass
class Touch:
    """Contact of shape a with the ground b, in frame B: the point c of a, the normal n out of b,
    two tangents, and how far apart the shapes are.
    """

    c: Vec3
    n: Vec3
    t1: Vec3
    t2: Vec3
    gap: Real


def rolling_rows(model: Mechanism, part: Rolling, move: Moving) -> Rows:
    """The three rows of a rolling contact; multipliers are the force on the body of shape a."""
    a, b = (model.model.shape(name) for name in (part.shape_a, part.shape_b))
    sign = 1.0
    if not rolls_on(a.geometry, b.geometry):
        a, b, sign = b, a, -1.0
    pair = Pair(model, (a.body, b.body), (a.placement, b.placement), move)
    A = pair.G.inverse()  # the pose of shape a in frame B
    axes = [A.R.rotate(Vec3(*(1.0 if i == k else 0.0 for i in range(3)))) for k in range(3)]
    at = touch(a.geometry, b.geometry, A.p, axes, part.inside)
    lever = at.c - A.p
    directions = [d * sign for d in (at.n, at.t1, at.t2)]
    on_a, on_b = pair.F_a, pair.F_b
    turned = [(pair.G.R.rotate(lever), pair.G.R.rotate(d)) for d in directions]
    forward = Screws([Wrench(x.cross(d), d) for x, d in turned])
    back = Screws([Wrench(d.cross(at.c), -d) for d in directions])
    wrenches = {pair.b.index: on_b.push(back)}
    own = on_a.push(forward)
    k = pair.a.index
    wrenches[k] = wrenches[k] + own if k in wrenches else own
    bias: Sequence[Real] = [0.0] * 3
    if move.v is not None:
        w_a, w_b, w = pair.w_a, pair.w_b, pair.w_a - pair.w_b
        V = -pair.V
        p_rate = V.lin + V.ang.cross(A.p)
        shapes, turning_axes = (a.geometry, b.geometry), [rated(s, w.cross(s)) for s in axes]
        moving = touch(*shapes, rated(A.p, p_rate), turning_axes, part.inside)
        u, c_rate = p_rate + w.cross(lever), rate(moving.c)
        swing_a = _centripetal(move.velocities[1][pair.a], on_a @ pair.G.R.rotate(lever))
        swing_b = _centripetal(move.velocities[1][pair.b], on_b @ at.c)
        drift = pair.G.R.unrotate(on_a.R.unrotate(swing_a)) - on_b.R.unrotate(swing_b)
        drift = drift + w.cross(c_rate) - (w_a + w_b).cross(u)
        turning = [rate(d) * sign for d in (moving.n, moving.t1, moving.t2)]
        bias = [d.dot(drift) + e.dot(u) for d, e in zip(directions, turning, strict=True)]

    def open_by(_: bool) -> Sequence[Real]:
        return [at.gap * sign, 0.0, 0.0]

    levers = {k: lever + reach(a.geometry) for k, lever in pair.levers.items()}
    point = pair.a.index, on_a @ pair.G.R.rotate(lever)

    def apart2(size: float) -> Real:
        off = at.gap * (1.0 / size)
        return off * off

    return Rows(part.name, wrenches, {}, open_by, bias, None, levers, apart2, point)


def _centripetal(w: Vec3, x: Vec3) -> Vec3:
    """ω × (ω × x)."""
    return AccelerationField(Vec3.zero(), w, w) @ x


# -- where shapes touch --

X, Y, Z = (Vec3(*(1.0 if i == k else 0.0 for i in range(3))) for k in range(3))


def touch(
    a: Geometry, b: Geometry, p: Vec3, axes: Sequence[Vec3], inside: bool = False
) -> Touch:
    """Contact of a, with its centre and axes in frame B, with b (from inside)."""
    match b:
        case Plane():
            c = _lowest(a, p, axes)
            return Touch(c, Z, X, Y, c.z)
        case Cylinder(radius=r) | Capsule(radius=r):
            half = 0.5 * b.length if isinstance(b, Capsule) else None  # cylinders are endless
            x = p if isinstance(a, Sphere) else nearest_to_axis(p, axes, _ring(a), half, inside)
            n, far = unit(x - foot_on_rod(x, half))
            n, apart = (-n, r - far) if inside else (n, far - r)
            return _round(a, x, n, apart, (Z, n.cross(Z)) if half is None else _tangents(n))
        case Disc(radius=R) | Torus(radius=R):
            x = p if isinstance(a, Sphere) else nearest_to_circle(p, axes, _ring(a), R)
            d, _ = unit(Vec3(x.x, x.y, 0.0))
            n, far = unit(x - d * R)
            return _round(a, x, n, far - _tube(b), _tangents(n))
        case Sphere(radius=r):
            x = _nearest(a, p, axes, inside)
            n, far = unit(x)
            n, apart = (-n, r - far) if inside else (n, far - r)
            return _round(a, x, n, apart, _tangents(n))
        case _:
            raise AssertionError(f"nothing rolls on {b!r}")  # refused where it was added


def _round(a: Geometry, x: Vec3, n: Vec3, far: Real, tangents: tuple[Vec3, Vec3]) -> Touch:
    """Of a ball or a tube around its point x that is far from the ground."""
    r = _tube(a)
    return Touch(x - n * r, n, *tangents, far - r)


def _tube(a: Geometry) -> float:
    """The radius of what is round about a point or a circle."""
    match a:
        case Sphere(radius=r):
            return r
        case Torus(tube=r):
            return r
        case _:
            return 0.0


def _ring(a: Geometry) -> float:
    """The radius of the circle that a wheel is, or is round about."""
    assert isinstance(a, (Disc, Torus))
    return a.radius


def reach(a: Geometry) -> float:
    """How far a shape reaches from its centre."""
    match a:
        case Ellipsoid(radii=radii):
            return max(radii)
        case Disc(radius=r) | Sphere(radius=r):
            return r
        case Torus(radius=r, tube=t):
            return r + t
        case _:
            return 0.0


def _lowest(a: Geometry, p: Vec3, axes: Sequence[Vec3]) -> Vec3:
    """The point of a that reaches lowest along z."""
    match a:
        case Disc(radius=R) | Torus(radius=R):
            s = axes[2]
            down, _ = unit(s * s.z - Z, axes[0])
            return p + down * R - Z * _tube(a)
        case Ellipsoid(radii=radii):
            squares = [(s * (r * r)) * s.z for s, r in zip(axes, radii, strict=True)]
            x = squares[0] + squares[1] + squares[2]  # R D² Rᵀ z
            return p - x * over(root(x.z))
        case _:
            return p - Z * _tube(a)


def _nearest(a: Geometry, p: Vec3, axes: Sequence[Vec3], inside: bool) -> Vec3:
    """The point of the circle of a (its centre, where it has none) nearest to the origin, or
    farthest from it.
    """
    match a:
        case Disc(radius=R) | Torus(radius=R):
            s = axes[2]
            toward, _ = unit(s * s.dot(p) - p, axes[0])
            return p - toward * R if inside else p + toward * R
        case _:
            return p


def _tangents(n: Vec3) -> tuple[Vec3, Vec3]:
    """Two directions across n and each other: by x, or by y where n is near to x."""
    other = value(n.x) * value(n.x) > 0.5
    t1, _ = unit(Vec3(*(chosen(other, y, x) for x, y in zip(n.cross(X), n.cross(Y)))))
    return t1, n.cross(t1)
