"""Where two geometries are nearest: signed distances, witness points, normals.

All in the frame of geometry b, whose surface gives the normals: planes, boxes and height fields are
met by points of a (the centre of a sphere, the ends of a capsule, the corners of the face of a box
or the points of the rim of a cylinder that look down, the lower of every two opposite extremal
points of a mesh), each with the radius around it; spheres and capsules also meet each other, and a
capsule meets a box by the nearest point of its axis. The number of points of a pair is fixed;
points that do not touch have a positive distance.

Distances are differentiable where the nearest features do not change, and everything is finite:
where centres coincide or edges are parallel, one of the nearest points or directions is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mozzi.lie import SE3, Vec3
from mozzi.model.shapes import (
    Box,
    Capsule,
    Cylinder,
    Disc,
    Ellipsoid,
    Geometry,
    HeightField,
    Plane,
    Sphere,
    Torus,
)  # fmt: skip
from mozzi.program.node import active
from mozzi.program.program import Buffer, load, loop, store
from mozzi.program.scalar import Real, atan2, divide, maximum, minimum, select, sqrt

__all__ = [
    "Touch", "across", "axis_across", "cone", "lower_face", "nearest", "point_count",
    "reciprocal_root", "rope", "seen_from", "signed",
]  # fmt: skip

TINY = 1e-300  # of squares whose root is divided by
LEVEL = 1e-24  # of the square of a sine: below it an axis is taken as upright


KNIFE = 1e-2
"""Of the radius of a capsule: what is thinner carries it in one point."""

FLAT = 1e-30
"""Added to the square of a direction that vanishes where a disc lies flat."""


@dataclass
class Touch:
    """One point of contact: how far apart (negative: inside), the point halfway, the normal from b
    to a and the first of the two directions across it.
    """

    gap: Real
    point: Vec3
    normal: Vec3
    across: Vec3


Points = Sequence[tuple[Vec3, Real]]
"""Points of a geometry, and the radius around each."""


def nearest(
    a: Geometry, b: Geometry, T_ba: SE3, points: Sequence[Sequence[float]] = ()
) -> list[Touch]:
    """The points of contact of a and b, in the frame of b; T_ba is the pose of a in it.

    points: the extremal points that stand for a, where it is a mesh, two and two.
    """
    if isinstance(a, (Plane, HeightField)) and not isinstance(b, (Plane, HeightField)):
        return [seen_from(x, T_ba) for x in nearest(b, a, T_ba.inverse(), points)]
    if isinstance(a, Box) and not isinstance(b, (Box, Plane, HeightField)):
        return [seen_from(x, T_ba) for x in nearest(b, a, T_ba.inverse(), points)]
    if isinstance(a, (Sphere, Capsule)) and isinstance(b, (Sphere, Capsule)):
        return [_segments(a, b, T_ba)]
    if isinstance(a, Box) and isinstance(b, Box):
        from mozzi.algorithms.contact.boxes import boxes

        return boxes(a, b, T_ba)
    n = _face_normal(T_ba.p, b) if isinstance(b, Box) else Vec3(0.0, 0.0, 1.0)
    those = [(T_ba @ p, r) for p, r in _points(a, T_ba.R.unrotate(-n), points)]
    if isinstance(b, Box):
        if isinstance(a, Capsule):
            return _capsule_on_box(a, b, T_ba)
        if isinstance(a, Sphere):
            return [_ball_on_box(p, r, b) for p, r in those]
        return [_on_face(p, n, b) for p, _ in those]
    return [_on_field(p, r, b) if isinstance(b, HeightField) else _on_plane(p, r) for p, r in those]


def point_count(a: Geometry, b: Geometry, points: Sequence[Sequence[float]] = ()) -> int:
    """How many points of contact a pair has."""
    still = SE3.translation(0.0, 0.0, 10.0)
    if isinstance(b, HeightField) or isinstance(a, HeightField):
        flat: Geometry = Plane()
        a, b = (flat if isinstance(g, HeightField) else g for g in (a, b))
    return len(nearest(a, b, still, points))


def seen_from(x: Touch, T_ba: SE3) -> Touch:
    """A contact of (b, a) in the frame of a, as one of (a, b) in the frame of b."""
    turn = T_ba.R.rotate
    return Touch(x.gap, T_ba @ x.point, -turn(x.normal), turn(x.across))


# -- the points of a geometry --


def _points(a: Geometry, down: Vec3, points: Sequence[Sequence[float]]) -> Points:
    match a:
        case Sphere(radius=r):
            return [(Vec3.zero(), r)]
        case Capsule(radius=r, length=l):
            return [(Vec3(0.0, 0.0, 0.5 * l), r), (Vec3(0.0, 0.0, -0.5 * l), r)]
        case Box():
            return [(p, 0.0) for p in lower_face(a, down)]
        case Cylinder(radius=r, length=l):
            return [(p, 0.0) for p in _rim(r, 0.5 * l, down)]
        case Disc(radius=r) | Torus(radius=r):
            out = Vec3(down.x, down.y, 0.0)
            tube = a.tube if isinstance(a, Torus) else 0.0
            return [(out * (r * reciprocal_root(out.dot(out) + FLAT)), tube)]
        case Ellipsoid(radii=(x, y, z)):
            c = Vec3(x * x * down.x, y * y * down.y, z * z * down.z)
            return [(c * reciprocal_root(c.dot(down)), 0.0)]
        case _:
            ends = [Vec3(*map(float, p)) for p in points]
            return [(_lower(p, q, down), 0.0) for p, q in zip(ends[::2], ends[1::2], strict=True)]


def _lower(p: Vec3, q: Vec3, down: Vec3) -> Vec3:
    """The one of two points that reaches farther down: no face of a box has both ends of a
    diagonal, so that the lower ends of its four diagonals are the corners that it stands on.
    """
    first = down.dot(p - q) >= 0.0
    return Vec3(*(select(first, a, b) for a, b in zip(p, q, strict=True)))


def lower_face(a: Box, down: Vec3) -> list[Vec3]:
    """The corners of the face of a box that looks down most, each numbered by its diagonal: one
    that two faces share keeps its number as the box turns from one onto the other.
    """
    size = [maximum(x, -x) for x in down]
    is_x = select(size[0] >= size[1], select(size[0] >= size[2], 1.0, 0.0), 0.0)
    is_y = (1.0 - is_x) * select(size[1] >= size[2], 1.0, 0.0)
    face = signed(down, is_x, is_y, 1.0 - is_x - is_y)
    x, y, z = (0.5 * s for s in a.size)
    corners: list[Vec3] = []
    for i in (1.0, -1.0):
        for j in (1.0, -1.0):  # the diagonal along (x, i y, j z)
            end = face.x + face.y * i + face.z * j
            corners.append(Vec3(end * x, end * (i * y), end * (j * z)))
    return corners


def _rim(r: float, half: float, down: Vec3) -> list[Vec3]:
    """The lowest point of the upper rim (+z), of the other, and three fixed points of the one that
    is lower, to stand on.
    """
    square = down.x * down.x + down.y * down.y
    upright = square <= LEVEL
    inverse = reciprocal_root(select(upright, 1.0, square))
    x = select(upright, 1.0, down.x * inverse)
    y = select(upright, 0.0, down.y * inverse)
    z = select(down.z >= 0.0, half, -half)
    side = 0.75**0.5 * r
    fixed = [Vec3(x, y, z) for x, y in ((0.0, r), (side, -0.5 * r), (-side, -0.5 * r))]
    return [Vec3(r * x, r * y, half), Vec3(r * x, r * y, -half), *fixed]


# -- a point with a radius on a surface --


def _on_plane(p: Vec3, r: Real) -> Touch:
    gap = p.z - r
    point = Vec3(p.x, p.y, p.z - 0.5 * (gap + 2.0 * r))
    return Touch(gap, point, Vec3(0.0, 0.0, 1.0), Vec3(1.0, 0.0, 0.0))


def _face_normal(p: Vec3, b: Box) -> Vec3:
    """The outward normal of the face of a box that a point is farthest in front of."""
    d = [maximum(x, -x) - 0.5 * s for x, s in zip(p, b.size, strict=True)]
    is_z = select(d[2] >= d[0], select(d[2] >= d[1], 1.0, 0.0), 0.0)
    is_x = (1.0 - is_z) * select(d[0] >= d[1], 1.0, 0.0)
    return signed(p, is_x, 1.0 - is_z - is_x, is_z)


def signed(p: Vec3, x: Real, y: Real, z: Real) -> Vec3:
    return Vec3(*(w * select(c >= 0.0, 1.0, -1.0) for c, w in zip(p, (x, y, z), strict=True)))


def _on_face(p: Vec3, n: Vec3, b: Box) -> Touch:
    """A point in front of a face of a box; beside the face it does not touch."""
    h = [0.5 * s for s in b.size]
    gap = n.dot(p) - sum((c * c * s for c, s in zip(n, h, strict=True)), 0.0)
    point = p - n * (0.5 * gap)
    for x, s, c in zip(p, h, n, strict=True):
        gap = maximum(gap, select(c * c > 0.5, gap, maximum(x, -x) - s))
    return Touch(gap, point, n, axis_across(n))


def _ball_on_box(p: Vec3, r: Real, b: Box) -> Touch:
    """The nearest point of a box to the centre of a sphere; inside, through the nearest face."""
    h = [0.5 * s for s in b.size]
    inside = Vec3(*(minimum(maximum(x, -s), s) for x, s in zip(p, h, strict=True)))
    d = p - inside
    square = d.dot(d)
    out = square > 0.0
    face = _face_normal(p, b)
    depth = face.dot(p) - sum((c * c * s for c, s in zip(face, h, strict=True)), 0.0)
    inverse = reciprocal_root(select(out, square, 1.0))
    n = Vec3(*(select(out, a * inverse, c) for a, c in zip(d, face, strict=True)))
    gap = select(out, square * inverse, depth) - r
    return Touch(gap, p - n * (r + 0.5 * gap), n, across(n))


def _capsule_on_box(a: Capsule, b: Box, T_ba: SE3) -> list[Touch]:
    """Two balls of a capsule: the nearest of all, and the farther one of the ends of what is over
    the face that this is in front of, to lie on; in the order in which they are on its axis.
    """
    p, d, half = T_ba.p, T_ba.R.rotate(Vec3(0.0, 0.0, 1.0)), 0.5 * a.length
    h = [0.5 * s for s in b.size]
    low, high = _nearest_to_box(p, d, half, h)
    middle = p + d * (0.5 * (low + high))
    face = _face_normal(middle, b)
    first: Real = -half  # the ends, brought over the face
    last: Real = half
    for x, e, s, n in zip(p, d, h, face, strict=True):
        across = select(e * e > LEVEL, 1.0 - n * n, 0.0) > 0.5
        inverse = divide(1.0, select(e * e > LEVEL, e, 1.0), nonzero=True)
        one, two = (s - x) * inverse, (-s - x) * inverse
        first = select(across, maximum(first, minimum(one, two)), first)
        last = select(across, minimum(last, maximum(one, two)), last)
    first, last = minimum(first, low), maximum(last, high)
    beside = KNIFE * a.radius  # so that they never are one point
    first = minimum(first, maximum(high - beside, -half))
    last = maximum(last, minimum(low + beside, half))
    left = low - first < last - high  # the nearest is the first of the two
    ends = select(left, low, first), select(left, last, high)
    return [_ball_on_box(p + d * s, a.radius, b) for s in ends]


def _nearest_to_box(p: Vec3, d: Vec3, half: float, h: Sequence[float]) -> tuple[Real, Real]:
    """Where p + s d, |s| ≤ half, is nearest to a box: from one s to another, where it is parallel
    to a face or inside.

    The slope of the squared distance, Σ d (x − x within ±h), rises, and is straight between the
    places where the line meets the planes of the faces: it is zero between two of these.
    """
    places: list[Real] = [-half, half]
    for x, e, s in zip(p, d, h, strict=True):
        inverse = divide(1.0, select(e * e > LEVEL, e, 1.0), nonzero=True)
        for side in (s, -s):
            at = select(e * e > LEVEL, (side - x) * inverse, 0.0)
            places.append(minimum(maximum(at, -half), half))
    slopes = [_box_slope(p, d, s, h) for s in places]
    falls, rises, down, up = -half, half, slopes[0], slopes[1]  # between them it is zero
    one, other = half, -half  # the first and the last of the places where it is
    for s, slope in zip(places, slopes, strict=True):
        later = select(slope < 0.0, select(s > falls, 1.0, 0.0), 0.0) > 0.5
        sooner = select(slope > 0.0, select(s < rises, 1.0, 0.0), 0.0) > 0.5
        falls, down = select(later, s, falls), select(later, slope, down)
        rises, up = select(sooner, s, rises), select(sooner, slope, up)
        here = select(slope < 0.0, 0.0, select(slope > 0.0, 0.0, 1.0)) > 0.5
        one = select(here, minimum(one, s), one)
        other = select(here, maximum(other, s), other)
    between = select(down < 0.0, select(up > 0.0, 1.0, 0.0), 0.0) > 0.5
    share = divide(-down, select(between, up - down, 1.0), nonzero=True)
    at = select(between, falls + (rises - falls) * share, select(down < 0.0, half, -half))
    flat = one <= other
    return select(flat, one, at), select(flat, other, at)


def _box_slope(p: Vec3, d: Vec3, s: Real, h: Sequence[float]) -> Real:
    """Half the slope of the squared distance of p + s d from a box, along s."""
    out: Real = 0.0
    for x, e, b in zip(p + d * s, d, h, strict=True):
        out = out + e * (maximum(x - b, 0.0) + minimum(x + b, 0.0))
    return out


def _on_field(p: Vec3, r: Real, b: HeightField) -> Touch:
    """The plane that touches the field below the point (bilinear between its heights)."""
    z, zx, zy = field_height(p.x, p.y, b)
    n = Vec3(-zx, -zy, 1.0)
    n = n * reciprocal_root(n.dot(n))
    gap = (p.z - z) * n.z - r
    return Touch(gap, p - n * (r + 0.5 * gap), n, across(n))


def field_height(x: Real, y: Real, b: HeightField) -> tuple[Real, Real, Real]:
    """Height and slopes at (x, y); beyond the edge, of the nearest point of it.

    A sum over all heights with hats, which are zero but for the four around: the same instructions
    for all points, whatever cell they are in.
    """
    rows, columns = b.heights.shape
    dx, dy = b.extent[0] / (columns - 1), b.extent[1] / (rows - 1)
    u = (x + 0.5 * b.extent[0]) * (1.0 / dx)
    v = (y + 0.5 * b.extent[1]) * (1.0 / dy)
    u, v = (minimum(maximum(c, 0.0), n - 1.0) for c, n in ((u, columns), (v, rows)))
    hats = [_hat(u - float(k)) for k in range(columns)]
    if active() is None:
        lines = [[float(h) for h in row] for row in b.heights]
        total: list[Real] = [0.0] * 4
        for k, line in enumerate(lines):
            total = _field_row(total, line, hats, _hat(v - float(k)))
        z, by_u, by_v, _ = total
    else:
        data = b.heights.astype(float)
        table = Buffer("heights", data.size, "table", data.ravel())
        number = Buffer("row", rows, "table", np.arange(float(rows)))
        memory = Buffer("field", 6, "scratch", held=True)
        for k, x in enumerate((0.0, 0.0, 0.0, 0.0, u, v)):
            store(memory, None, 0, k, x)
        for _, k in loop(0, rows, name="row"):
            line = [load(table, k, columns, j) for j in range(columns)]
            before = [load(memory, None, 0, j) for j in range(4)]
            at = _hat(v - load(number, k, 1, 0))
            for j, s in enumerate(_field_row(before, line, hats, at)):
                store(memory, None, 0, j, s)
        z, by_u, by_v, by_both, u0, v0 = (load(memory, None, 0, k) for k in range(6))
        du, dv = u - u0, v - v0  # zero: what derivatives see of the surface
        z = z + by_u * du + by_v * dv + by_both * (du * dv)
        by_u, by_v = by_u + by_both * dv, by_v + by_both * du
    return z, by_u * (1.0 / dx), by_v * (1.0 / dy)


def _field_row(
    total: Sequence[Real],
    line: Sequence[Real],
    hats: Sequence[tuple[Real, Real]],
    at: tuple[Real, Real],
) -> list[Real]:
    z = sum((h * c for h, (c, _) in zip(line, hats, strict=True)), 0.0)
    slope = sum((h * s for h, (_, s) in zip(line, hats, strict=True)), 0.0)
    new = (at[0] * z, at[0] * slope, at[1] * z, at[1] * slope)
    return [a + b for a, b in zip(total, new, strict=True)]


def _hat(x: Real) -> tuple[Real, Real]:
    """max(0, 1 − |x|) and its slope (from the right at 0, from the left at 1)."""
    value = maximum(1.0 - maximum(x, -x), 0.0)
    slope = select(x < 0.0, 1.0, -1.0)
    return value, select(x >= 1.0, 0.0, select(x < -1.0, 0.0, slope))


# -- spheres and capsules among each other --


def _segments(a: Sphere | Capsule, b: Sphere | Capsule, T_ba: SE3) -> Touch:
    """The nearest points of two segments (or centres), each with its radius."""
    half_a, half_b = (0.5 * getattr(g, "length", 0.0) for g in (a, b))
    d_a = T_ba.R.rotate(Vec3(0.0, 0.0, 1.0))
    p = T_ba.p
    s: Real = 0.0
    if half_a and half_b:
        c = d_a.z
        det = 1.0 - c * c
        level = det <= 1e-12  # parallel: the middle of where they overlap
        s = divide(c * p.z - p.dot(d_a), select(level, 1.0, det), nonzero=True)
        one, two = (-c * (p.z - half_b)), (-c * (p.z + half_b))
        low, high = minimum(one, two), maximum(one, two)
        middle = 0.5 * (maximum(low, -half_a) + minimum(high, half_a))
        s = minimum(maximum(select(level, middle, s), -half_a), half_a)
    elif half_a:
        s = minimum(maximum(-p.dot(d_a), -half_a), half_a)
    x = p + d_a * s
    t: Real = 0.0
    if half_b:
        t = minimum(maximum(x.z, -half_b), half_b)
        if half_a:  # once more for a, where b has ended
            y = Vec3(0.0, 0.0, t) - p
            again = minimum(maximum(y.dot(d_a), -half_a), half_a)
            s = select(t < half_b, select(t > -half_b, s, again), again)
            x = p + d_a * s
    d = x - Vec3(0.0, 0.0, t)
    square = d.dot(d)
    apart = square > TINY
    inverse = reciprocal_root(select(apart, square, 1.0))
    n = Vec3(*(select(apart, c * inverse, e) for c, e in zip(d, (1.0, 0.0, 0.0), strict=True)))
    span = select(apart, square * inverse, 0.0)
    gap = span - a.radius - b.radius
    point = Vec3(0.0, 0.0, t) + n * (b.radius + 0.5 * gap)
    return Touch(gap, point, n, across(n))


# -- what is not a surface --


def rope(T_a: SE3, T_b: SE3, length: float) -> Touch:
    """What the distance of two origins leaves of a length; it pulls a to b."""
    d = T_b.p - T_a.p
    square = d.dot(d)
    apart = square > TINY
    inverse = reciprocal_root(select(apart, square, 1.0))
    n = Vec3(*(select(apart, c * inverse, e) for c, e in zip(d, (1.0, 0.0, 0.0), strict=True)))
    gap = length - select(apart, square * inverse, 0.0)
    return Touch(gap, (T_a.p + T_b.p) * 0.5, n, across(n))


def cone(T_a: SE3, T_b: SE3, angle: float) -> Touch:
    """What the angle between two axes z leaves of an angle; the normal is that of its moment."""
    a, b = (T.R.rotate(Vec3(0.0, 0.0, 1.0)) for T in (T_a, T_b))
    c = a.cross(b)
    square = c.dot(c)
    apart = square > LEVEL
    root = sqrt(select(apart, square, 1.0))
    inverse = divide(1.0, root, nonzero=True)
    n = Vec3(*(select(apart, x * inverse, e) for x, e in zip(c, across(a), strict=True)))
    gap = angle - atan2(select(apart, root, 0.0), a.dot(b))
    return Touch(gap, (T_a.p + T_b.p) * 0.5, n, across(n))


# -- directions --


def reciprocal_root(x: Real) -> Real:
    """1/√x of what is positive."""
    return divide(1.0, sqrt(x), nonzero=True)


def across(n: Vec3) -> Vec3:
    """A unit vector across a unit vector (continuous but where n turns through z = 0 downward)."""
    sign = select(n.z < 0.0, -1.0, 1.0)
    a = divide(-1.0, sign + n.z, nonzero=True)
    b = n.x * n.y * a
    return Vec3(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x)


def axis_across(n: Vec3) -> Vec3:
    """Of a normal along ±x, ±y or ±z: the next axis."""
    return Vec3(n.z * n.z, n.x * n.x, n.y * n.y)
