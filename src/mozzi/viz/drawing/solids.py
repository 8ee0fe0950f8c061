"""Solids as triangles: vertices (n, 3), faces (m, 3) that turn to the left seen from outside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mozzi.model.shapes import HeightField
from mozzi.types import ArrayLike

__all__ = [
    "Triangles", "box", "capsule", "cone", "cylinder", "field", "merged", "onto", "sphere",
    "torus",
]  # fmt: skip

Triangles = tuple[np.ndarray, np.ndarray]


def sphere(radius: float, center: ArrayLike = (0.0, 0.0, 0.0), around: int = 16) -> Triangles:
    """A ball."""
    return _lathe([0.0] * (around // 2 + 1), radius, np.linspace(0, np.pi, around // 2 + 1), around,
                  np.asarray(center, dtype=float), np.eye(3))  # fmt: skip


def capsule(a: ArrayLike, b: ArrayLike, radius: float, around: int = 12) -> Triangles:
    """A cylinder from a to b with round ends."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    length = float(np.linalg.norm(b - a))
    half = np.linspace(0, np.pi / 2, 4)
    heights = [length] * len(half) + [0.0] * len(half)
    angles = np.concatenate([half, half + np.pi / 2])
    return _lathe(heights, radius, angles, around, a, onto(b - a))


def cylinder(a: ArrayLike, b: ArrayLike, radius: float, around: int = 20) -> Triangles:
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


def torus(radius: float, tube: float, around: int = 36, across: int = 12) -> Triangles:
    """A tube around a circle about z."""
    u = np.linspace(0, 2 * np.pi, around, endpoint=False)[:, None]
    w = np.linspace(0, 2 * np.pi, across, endpoint=False)[None, :]
    out = radius + tube * np.cos(w)
    points = np.stack([out * np.cos(u), out * np.sin(u), tube * np.sin(w) + 0.0 * u], axis=-1)
    i, j = (x.ravel() for x in np.meshgrid(range(around), range(across), indexing="ij"))
    n, m = (i + 1) % around, (j + 1) % across
    a, b, c, d = i * across + j, n * across + j, n * across + m, i * across + m
    return points.reshape(-1, 3), np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def cone(a: ArrayLike, b: ArrayLike, radius: float, around: int = 16) -> Triangles:
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
    points, faces, start = list[np.ndarray](), list[np.ndarray](), 0
    for vertices, triangles in pieces:
        points.append(vertices)
        faces.append(triangles + start)
        start += len(vertices)
    return np.concatenate(points), np.concatenate(faces)


def box(edges: ArrayLike, center: ArrayLike = (0.0, 0.0, 0.0)) -> Triangles:
    """A box, with edges of its own so that its faces are flat."""
    points, faces = list[np.ndarray](), list[list[int]]()
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
    heights: Sequence[float],
    radius: float,
    angles: np.ndarray,
    around: int,
    origin: np.ndarray,
    R: np.ndarray,
) -> Triangles:
    turn = np.linspace(0, 2 * np.pi, around, endpoint=False)
    rings = [
        np.stack([r * np.cos(turn), r * np.sin(turn), np.full(around, z)], axis=1)
        for r, z in ((radius * np.sin(x), h + radius * np.cos(x)) for h, x in zip(heights, angles))
    ]
    k = np.arange(around)
    n = (k + 1) % around
    faces: list[np.ndarray] = []
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


def field(ground: HeightField) -> Triangles:
    """Two triangles for each cell of a height field."""
    rows, columns = ground.heights.shape
    x, y = (np.linspace(-0.5, 0.5, n) * e for n, e in zip((columns, rows), ground.extent))
    points = np.stack([*np.meshgrid(x, y), ground.heights], axis=-1).reshape(-1, 3)
    k = np.arange(int(rows * columns)).reshape(int(rows), int(columns))
    a, b, c, d = (part.ravel() for part in (k[:-1, :-1], k[:-1, 1:], k[1:, 1:], k[1:, :-1]))
    return points, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
