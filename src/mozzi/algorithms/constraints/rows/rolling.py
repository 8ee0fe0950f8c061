"""Rolling without slip: where two shapes touch, and the rows that keep them there.

Shape b is the ground, with its frame B; of shape a the centre p and the axes s are known in B.
There `touch` finds the contact point c, the normal n and two tangents. With u the velocity at c of
body a relative to body b, the rows are

    n · u = 0 ,   t₁ · u = 0 ,   t₂ · u = 0 .

The first is the rate of the distance, exactly so also where it is not zero; the others have no
position part. As c moves in B with ċ, the rates of these rows in frame B are

    u̇ = r̈_a(c) − r̈_b(c) + (ω_a − ω_b) × ċ − (ω_a + ω_b) × u ,   d(t · u)/dt = t · u̇ + ṫ · u ,

with the accelerations r̈ of the two material points that meet at c. What has no rates is written
once for numbers with and without them (`Rated`).
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from mozzi.algorithms.constraints.rows.relative_motion import Moving, Pair, Rows
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.lie import AccelerationField, Screws, Vec3, Wrench
from mozzi.model import Capsule, Cylinder, Disc, Ellipsoid, Plane, Rolling, Sphere, Torus
from mozzi.model.constraints.rolling import rolls_on
from mozzi.model.shapes import Geometry
from mozzi.program.scalar import Real, divide, select, sqrt

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
        shapes, turning_axes = (a.geometry, b.geometry), [_rated(s, w.cross(s)) for s in axes]
        moving = touch(*shapes, _rated(A.p, p_rate), turning_axes, part.inside)
        u, c_rate = p_rate + w.cross(lever), _rate(moving.c)
        swing_a = _centripetal(move.velocities[1][pair.a], on_a @ pair.G.R.rotate(lever))
        swing_b = _centripetal(move.velocities[1][pair.b], on_b @ at.c)
        drift = pair.G.R.unrotate(on_a.R.unrotate(swing_a)) - on_b.R.unrotate(swing_b)
        drift = drift + w.cross(c_rate) - (w_a + w_b).cross(u)
        turning = [_rate(d) * sign for d in (moving.n, moving.t1, moving.t2)]
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
            n, far = _unit(Vec3(p.x, p.y, 0.0))
            n, apart = (-n, r - far) if inside else (n, far - r)
            return _round(a, p, n, apart, (Z, n.cross(Z)))
        case Disc(radius=R) | Torus(radius=R):
            d, _ = _unit(Vec3(p.x, p.y, 0.0))
            n, far = _unit(p - d * R)
            return _round(a, p, n, far - _tube(b), _tangents(n))
        case Sphere(radius=r):
            x = _nearest(a, p, axes, inside)
            n, far = _unit(x)
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
            down, _ = _unit(s * s.z - Z, axes[0])
            return p + down * R - Z * _tube(a)
        case Ellipsoid(radii=radii):
            squares = [(s * (r * r)) * s.z for s, r in zip(axes, radii, strict=True)]
            x = squares[0] + squares[1] + squares[2]  # R D² Rᵀ z
            return p - x * _over(_root(x.z))
        case _:
            return p - Z * _tube(a)


def _nearest(a: Geometry, p: Vec3, axes: Sequence[Vec3], inside: bool) -> Vec3:
    """The point of the circle of a (its centre, where it has none) nearest to the origin, or
    farthest from it.
    """
    match a:
        case Disc(radius=R) | Torus(radius=R):
            s = axes[2]
            toward, _ = _unit(s * s.dot(p) - p, axes[0])
            return p - toward * R if inside else p + toward * R
        case _:
            return p


def _unit(x: Vec3, otherwise: Vec3 = X) -> tuple[Vec3, Real]:
    """x/|x| and |x|; where x vanishes (a disc lies flat on a plane), another direction and 0."""
    square = x.dot(x)
    some = _value(square) > 0.0
    length = _root(_select(some, square, 1.0))
    inverse = _over(length)
    direction = Vec3(*(_select(some, e * inverse, o) for e, o in zip(x, otherwise, strict=True)))
    return direction, _select(some, length, 0.0)


def _tangents(n: Vec3) -> tuple[Vec3, Vec3]:
    """Two directions across n and each other: by x, or by y where n is near to x."""
    other = _value(n.x) * _value(n.x) > 0.5
    t1, _ = _unit(Vec3(*(_select(other, y, x) for x, y in zip(n.cross(X), n.cross(Y)))))
    return t1, n.cross(t1)


# -- numbers with their rates --


class Rated:
    """A number x that moves with the rate dx."""

    __slots__ = ("dx", "x")

    def __init__(self, x: Real, dx: Real):
        self.x, self.dx = x, dx

    def __add__(self, other: Real) -> Rated:
        x, dx = _parts(other)
        return Rated(self.x + x, self.dx + dx)

    def __sub__(self, other: Real) -> Rated:
        x, dx = _parts(other)
        return Rated(self.x - x, self.dx - dx)

    def __rsub__(self, other: Real) -> Rated:
        x, dx = _parts(other)
        return Rated(x - self.x, dx - self.dx)

    def __mul__(self, other: Real) -> Rated:
        x, dx = _parts(other)
        return Rated(self.x * x, self.dx * x + self.x * dx)

    def __neg__(self) -> Rated:
        return Rated(-self.x, -self.dx)

    __radd__, __rmul__ = __add__, __mul__


def _real(x: Rated) -> Real:
    """To the type checker numbers with rates are numbers, as others are."""
    return cast("Real", x)


def _parts(x: Real | Rated) -> tuple[Real, Real]:
    return (x.x, x.dx) if isinstance(x, Rated) else (x, 0.0)


def _value(x: Real) -> Real:
    return _parts(x)[0]


def _rated(x: Vec3, dx: Vec3) -> Vec3:
    return Vec3(*(_real(Rated(a, b)) for a, b in zip(x, dx, strict=True)))


def _rate(x: Vec3) -> Vec3:
    return Vec3(*(_parts(e)[1] for e in x))


def _root(x: Real) -> Real:
    value, rate = _parts(x)
    root = sqrt(value)
    if not isinstance(x, Rated):
        return root
    return _real(Rated(root, rate * divide(0.5, root, nonzero=True)))


def _over(x: Real) -> Real:
    value, rate = _parts(x)
    inverse = divide(1.0, value, nonzero=True)
    return _real(Rated(inverse, -(rate * inverse * inverse))) if isinstance(x, Rated) else inverse


def _select(condition: object, a: Real, b: Real) -> Real:
    (x, dx), (y, dy) = _parts(a), _parts(b)
    chosen = cast("bool", condition)
    if not (isinstance(a, Rated) or isinstance(b, Rated)):
        return select(chosen, x, y)
    return _real(Rated(select(chosen, x, y), select(chosen, dx, dy)))
