"""What a mechanism looks like, as triangles: from its file, or drawn from its joints and masses."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mozzi.errors import MozziError
from mozzi.model.shapes import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Geometry,
    HeightField,
    Mesh,
    Plane,
    Shape,
    Sphere,
)

if TYPE_CHECKING:
    from mozzi.model import Model

__all__ = [
    "Part", "box", "capsule", "colour", "cone", "cylinder", "extent", "merged", "onto", "parts_of",
    "skeleton", "sphere", "triangles",
]  # fmt: skip

Triangles = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Part:
    """Triangles fixed to a body (−1: the world): vertices (n, 3) in its frame, faces (m, 3)."""

    body: int
    vertices: np.ndarray
    faces: np.ndarray
    color: tuple[float, float, float]
    name: str = ""


def colour(k: int, n: int = 8, light: float = 0.62) -> tuple[float, float, float]:
    """Distinct colours, the same for the same number."""
    return colorsys.hls_to_rgb((0.58 + 0.618034 * k) % 1.0 if n > 1 else 0.58, light, 0.55)


def sphere(radius: float, center: Any = (0.0, 0.0, 0.0), around: int = 16) -> Triangles:
    """A ball."""
    return _lathe([0.0] * (around // 2 + 1), radius, np.linspace(0, np.pi, around // 2 + 1), around,
                  np.asarray(center, dtype=float), np.eye(3))  # fmt: skip


def capsule(a: Any, b: Any, radius: float, around: int = 12) -> Triangles:
    """A cylinder from a to b with round ends."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    length = float(np.linalg.norm(b - a))
    half = np.linspace(0, np.pi / 2, 4)
    heights = [length] * len(half) + [0.0] * len(half)
    angles = np.concatenate([half, half + np.pi / 2])
    return _lathe(heights, radius, angles, around, a, onto(b - a))


def cylinder(a: Any, b: Any, radius: float, around: int = 20) -> Triangles:
    """A cylinder from a to b with flat ends."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    R, length = onto(b - a), float(np.linalg.norm(b - a))
    turn = np.linspace(0, 2 * np.pi, around, endpoint=False)
    ring = np.stack([radius * np.cos(turn), radius * np.sin(turn), np.zeros(around)], axis=1)
    top = np.array([0.0, 0.0, length])
    points = np.concatenate([ring, ring, ring + top, ring + top, [0.0 * top, top]]) @ R.T + a
    k = np.arange(around)
    n = (k + 1) % around
    m, last = around, np.full(around, 4 * around)
    rows = (
        (m + k, m + n, 2 * m + n), (m + k, 2 * m + n, 2 * m + k), (n, k, last),
        (3 * m + k, 3 * m + n, last + 1),
    )  # fmt: skip
    return points, np.concatenate([np.stack(row, axis=1) for row in rows])


def cone(a: Any, b: Any, radius: float, around: int = 16) -> Triangles:
    """A cone from its base at a to its tip at b."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    turn = np.linspace(0, 2 * np.pi, around, endpoint=False)
    ring = np.stack([radius * np.cos(turn), radius * np.sin(turn), np.zeros(around)], axis=1)
    points = np.concatenate([ring @ onto(b - a).T + a, [a, b]])
    k = np.arange(around)
    n, foot = (k + 1) % around, np.full(around, around)
    return points, np.concatenate([np.stack([n, k, foot], 1), np.stack([k, n, foot + 1], 1)])


def merged(*pieces: Triangles) -> Triangles:
    """Several pieces as one."""
    points, faces, start = [], [], 0
    for vertices, triangles in pieces:
        points.append(vertices)
        faces.append(triangles + start)
        start += len(vertices)
    return np.concatenate(points), np.concatenate(faces)


def box(edges: Any, center: Any = (0.0, 0.0, 0.0)) -> Triangles:
    """A box, with edges of its own so that its faces are flat."""
    points, faces = [], []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            corners = np.zeros((4, 3))
            corners[:, axis] = sign
            corners[:, u], corners[:, v] = [-1, 1, 1, -1], [-1, -1, 1, 1]
            order = [0, 1, 2, 3] if sign > 0 else [3, 2, 1, 0]
            k = len(points) * 4
            points.append(corners[order])
            faces += [[k, k + 1, k + 2], [k, k + 2, k + 3]]
    scaled = np.concatenate(points) * np.asarray(edges, dtype=float) / 2 + np.asarray(center)
    return scaled, np.array(faces)


def _lathe(
    heights: Any, radius: float, angles: Any, around: int, origin: np.ndarray, R: np.ndarray
) -> Triangles:
    turn = np.linspace(0, 2 * np.pi, around, endpoint=False)
    rings = [
        np.stack([r * np.cos(turn), r * np.sin(turn), np.full(around, z)], axis=1)
        for r, z in ((radius * np.sin(x), h + radius * np.cos(x)) for h, x in zip(heights, angles))
    ]
    k = np.arange(around)
    n = (k + 1) % around
    faces = []
    for m in range(len(rings) - 1):
        a, b = m * around, (m + 1) * around
        faces += [np.stack([a + k, b + k, b + n], 1), np.stack([a + k, b + n, a + n], 1)]
    return np.concatenate(rings) @ R.T + origin, np.concatenate(faces)


def onto(direction: np.ndarray) -> np.ndarray:
    """A rotation of z onto a direction."""
    length = np.linalg.norm(direction)
    if length == 0.0:
        return np.eye(3)
    z = direction / length
    x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [1.0, 0.0, 0.0], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def extent(model: Any) -> float:
    """A length of the order of the mechanism's size."""
    reach = [1e-3]
    for body in model:
        parent = 0.0 if body.parent < 0 else reach[body.parent + 1]
        step = np.linalg.norm(_origin(body.joint.frame_parent))
        mass = float(body.inertia.m)
        arm = np.linalg.norm(_com(body)) if mass > 0 else 0.0
        reach.append(max(parent + float(step), parent + float(arm)))
    return max(reach)


def skeleton(model: Any, color: Any = None) -> list[Part]:
    """A mechanism drawn from its joints and masses: limbs between joints, drums on hinges, balls
    at centres of mass at the ends.
    """
    size = extent(model)
    r = 0.022 * size
    parts: list[Part] = []
    for i, body in enumerate(model):
        tint = color or colour(i, model.nb)
        joint = body.joint
        own = np.array(joint.frame_child.matrix(), dtype=float)
        axis, start = own[:3, 2], own[:3, 3]
        if type(joint).__name__ in ("Revolute", "Screw", "Cylindrical"):
            drum = cylinder(start - 1.6 * r * axis, start + 1.6 * r * axis, 1.5 * r)
        elif type(joint).__name__ == "Prismatic":
            drum = box((2.6 * r, 2.6 * r, 2.6 * r), start)
        else:
            drum = sphere(1.8 * r, start)
        parts.append(Part(i, *drum, _darker(tint), f"{body.joint_name}"))
        ends = [_origin(model.body(k).joint.frame_parent) for k in model.children(i)]
        com, mass = _com(body), float(body.inertia.m)
        if not ends and mass > 0.0:
            ends = [com]
            ball = 0.05 * size * (mass / max(model.mass, 1e-300)) ** (1 / 3) + 0.4 * r
            parts.append(Part(i, *sphere(ball, com), tint, body.name))
        for end in ends:
            if np.linalg.norm(end - start) > 1e-6 * size:
                parts.append(Part(i, *capsule(start, end, r), tint, body.name))
    return parts


def parts_of(model: Model) -> list[Part]:
    """What a model looks like: the visual shapes of its bodies, with the collision shapes of
    those of which some cannot be read, or a skeleton where there is nothing.
    """
    parts: list[Part] = []
    for body in dict.fromkeys(shape.body for shape in model.shapes):
        own = [shape for shape in model.shapes if shape.body == body]
        made = [_part(shape) for shape in own if shape.visual]
        if not made or None in made:
            made += [_part(shape) for shape in own if not shape.visual]
        parts += [part for part in made if part is not None]
    return parts or skeleton(model)


def _part(shape: Shape) -> Part | None:
    """A shape on its body; None where it cannot be read."""
    try:
        vertices, faces = triangles(shape.geometry)
    except (MozziError, ImportError, ValueError, OSError, KeyError):
        return None
    T = np.array(shape.placement.matrix(), dtype=float)
    r, g, b = shape.color[:3] if shape.color is not None else (0.72, 0.75, 0.8)
    points = vertices @ T[:3, :3].T + T[:3, 3]
    return Part(shape.body, points, faces, (r, g, b), shape.name)


def triangles(geometry: Geometry) -> Triangles:
    """The triangles of a geometry; meshes need trimesh."""
    match geometry:
        case Box():
            return box(geometry.size)
        case Sphere():
            return sphere(geometry.radius)
        case Ellipsoid():
            points, faces = sphere(1.0)
            return points * np.asarray(geometry.radii), faces
        case Cylinder() | Capsule():
            half = [0.0, 0.0, 0.5 * geometry.length]
            make = cylinder if isinstance(geometry, Cylinder) else capsule
            return make(np.negative(half), half, geometry.radius)
        case Plane():
            return box((10.0, 10.0, 1e-4))
        case HeightField():
            return field(geometry)
        case Mesh():
            import trimesh

            mesh: Any = trimesh.load(geometry.file(), force="mesh")
            return np.asarray(mesh.vertices) * np.asarray(geometry.scale), np.asarray(mesh.faces)


def field(ground: HeightField) -> Triangles:
    """Two triangles for each cell of a height field."""
    rows, columns = ground.heights.shape
    x, y = (np.linspace(-0.5, 0.5, n) * e for n, e in zip((columns, rows), ground.extent))
    points = np.stack([*np.meshgrid(x, y), ground.heights], axis=-1).reshape(-1, 3)
    k = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (part.ravel() for part in (k[:-1, :-1], k[:-1, 1:], k[1:, 1:], k[1:, :-1]))
    return points, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def _darker(c: tuple[float, float, float]) -> tuple[float, float, float]:
    return (0.62 * c[0], 0.62 * c[1], 0.62 * c[2])


def _origin(T: Any) -> np.ndarray:
    return np.array(T.p.flatten(), dtype=float)


def _com(body: Any) -> np.ndarray:
    mass = float(body.inertia.m)
    return np.array(body.inertia.h.flatten(), dtype=float) / mass if mass > 0.0 else np.zeros(3)
