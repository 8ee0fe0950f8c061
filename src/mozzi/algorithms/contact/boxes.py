"""Where two boxes meet: corners on faces of either, or edge on edge.

Of the fifteen directions that can separate two boxes (faces of b, of a, pairs of edges) the one
that separates most says how they meet, and by how much at most they overlap: no point of contact is
deeper. Faces go before edges and b before a where they separate alike, so that what rests does not
change its mind.
"""

from __future__ import annotations

from mozzi.algorithms.contact.distances import (
    Touch,
    across,
    axis_across,
    lower_face,
    reciprocal_root,
    seen_from,
    signed,
)  # fmt: skip
from mozzi.lie import SE3, Vec3
from mozzi.model.shapes import Box
from mozzi.program.scalar import Condition, Real, divide, maximum, minimum, select

__all__ = ["boxes"]

PREFERRED = 1e-3  # of the size: by how much another kind of meeting must separate more
SKEW = 1e-4  # square of the sine of the angle between edges, below which they are parallel


def boxes(a: Box, b: Box, T_ba: SE3) -> list[Touch]:
    """Four points, in the frame of b: corners of one box on a face of the other; or one point of
    two edges, and three that do not touch.
    """
    size = min(*a.size, *b.size)
    on_b, by_b = _faces(a, b, T_ba)
    seen, by_a = _faces(b, a, T_ba.inverse())
    on_a = [seen_from(x, T_ba) for x in seen]
    edge, by_edge = _edges(a, b, T_ba)
    swap = by_a > by_b + PREFERRED * size
    faces = maximum(by_a, by_b)
    crossed = by_edge > faces + PREFERRED * size
    apart = select(crossed, by_edge, faces)
    out: list[Touch] = []
    for k, (x, y) in enumerate(zip(on_b, on_a, strict=True)):
        both = _chosen(swap, y, x)
        both = Touch(maximum(both.gap, apart), both.point, both.normal, both.across)
        away = Touch(maximum(apart, 0.0) + size, edge.point, edge.normal, edge.across)
        out.append(_chosen(crossed, edge if k == 0 else away, both))
    return out


def _pick(condition: Condition, u: Vec3, w: Vec3) -> Vec3:
    return Vec3(*(select(condition, p, q) for p, q in zip(u, w, strict=True)))


def _chosen(condition: Condition, x: Touch, y: Touch) -> Touch:
    """x where the condition holds, else y."""
    return Touch(
        select(condition, x.gap, y.gap), _pick(condition, x.point, y.point),
        _pick(condition, x.normal, y.normal), _pick(condition, x.across, y.across),
    )  # fmt: skip


def _edges(a: Box, b: Box, T_ba: SE3) -> tuple[Touch, Real]:
    """The pair of edges whose common normal separates most, and by how much."""
    h_a, h_b = ([0.5 * s for s in g.size] for g in (a, b))
    units = [Vec3(*(1.0 if k == n else 0.0 for k in range(3))) for n in range(3)]
    A = [T_ba.R.rotate(e) for e in units]
    p = T_ba.p
    best: Real = -1e30
    normal, u, w = units[2], units[0], units[1]
    for i in range(3):
        for j in range(3):
            n = A[i].cross(units[j])
            square = n.dot(n)
            skew = square > SKEW
            n = n * reciprocal_root(select(skew, square, 1.0))
            side = select(n.dot(p) < 0.0, -1.0, 1.0)
            n = n * side  # from b to a
            reach: Real = 0.0
            for k in range(3):
                reach = reach + h_a[k] * _size(A[k].dot(n)) + h_b[k] * _size(units[k].dot(n))
            apart = select(skew, n.dot(p) - reach, -1e30)
            more = apart > best
            best, normal = select(more, apart, best), _pick(more, n, normal)
            u, w = _pick(more, A[i], u), _pick(more, units[j], w)
    x_a, x_b = p, Vec3.zero()
    for k in range(3):  # the middles of the two edges
        along_a, along_b = A[k].dot(u), units[k].dot(w)
        s = select(A[k].dot(normal) < 0.0, h_a[k], -h_a[k])
        t = select(units[k].dot(normal) < 0.0, -h_b[k], h_b[k])
        x_a = x_a + A[k] * select(along_a * along_a > 0.5, 0.0, s)
        x_b = x_b + units[k] * select(along_b * along_b > 0.5, 0.0, t)
    r, c = x_a - x_b, u.dot(w)
    s = divide(c * w.dot(r) - u.dot(r), maximum(1.0 - c * c, SKEW), nonzero=True)
    point = x_a + u * s - normal * (0.5 * best)
    return Touch(best, point, normal, across(normal)), best


def _size(x: Real) -> Real:
    return maximum(x, -x)


def _faces(a: Box, b: Box, T_ba: SE3) -> tuple[list[Touch], Real]:
    """The face of b that a is farthest in front of, and the corners of the face of a that looks at
    it, brought over it where they stand out.

    The second result is how far the faces of b separate the boxes.
    """
    R, p = T_ba.R.general(), T_ba.p
    h_a, h_b = ([0.5 * s for s in g.size] for g in (a, b))
    entries = R.flatten()
    d: list[Real] = []
    for k, c in enumerate(p):
        reach = sum((maximum(e, -e) * s for e, s in zip(entries[3 * k : 3 * k + 3], h_a)), h_b[k])
        d.append(maximum(c, -c) - reach)
    is_z = select(d[2] >= d[0], select(d[2] >= d[1], 1.0, 0.0), 0.0)
    is_x = (1.0 - is_z) * select(d[0] >= d[1], 1.0, 0.0)
    n = signed(p, is_x, 1.0 - is_z - is_x, is_z)
    top = sum((c * c * s for c, s in zip(n, h_b, strict=True)), 0.0)
    down = T_ba.R.unrotate(-n)
    corners = [T_ba @ c for c in lower_face(a, down)]
    m = _face_of(a, down, T_ba)  # normal of that face
    slope = reciprocal_sign(m.dot(n))
    out: list[Touch] = []
    for c in corners:
        kept = Vec3(*(
            select(w * w > 0.5, x, minimum(maximum(x, -s), s))
            for x, s, w in zip(c, h_b, n, strict=True)
        ))  # fmt: skip
        rise = m.dot(c - kept) * slope  # along n, back into the face of a
        gap = n.dot(kept) + rise - top
        out.append(Touch(gap, kept + n * (rise - 0.5 * gap), n, axis_across(n)))
    return out, maximum(d[0], maximum(d[1], d[2]))


def _face_of(a: Box, down: Vec3, T_ba: SE3) -> Vec3:
    """The outward normal of the face of a that looks down most, in the frame of b."""
    size = [maximum(x, -x) for x in down]
    is_x = select(size[0] >= size[1], select(size[0] >= size[2], 1.0, 0.0), 0.0)
    is_y = (1.0 - is_x) * select(size[1] >= size[2], 1.0, 0.0)
    return T_ba.R.rotate(signed(down, is_x, is_y, 1.0 - is_x - is_y))


def reciprocal_sign(x: Real) -> Real:
    """1/x of a cosine between a half and one in magnitude; never more than two."""
    return divide(1.0, select(x < 0.0, minimum(x, -0.5), maximum(x, 0.5)), nonzero=True)
