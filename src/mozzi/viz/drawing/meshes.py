"""Triangles for pictures: coarsened, and smoothed but at edges."""

from __future__ import annotations

import numpy as np

__all__ = ["clustered", "smoothed"]

EDGE = np.cos(np.radians(35.0))
"""Faces that meet at a larger angle than this meet in an edge."""


def clustered(points: np.ndarray, faces: np.ndarray, cell: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices that share a cell of a grid become their mean; faces that collapse go."""
    cells = np.rint((points - points.min(axis=0)) / cell).astype(np.int64)
    _, which, count = np.unique(_number(cells), return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(which, points[:, k]) for k in range(3)], axis=1) / count[:, None]
    new = which[faces]
    a, b, c = new.T
    return means, new[(a != b) & (b != c) & (c != a)]


def _number(rows: np.ndarray) -> np.ndarray:
    """A number for every row of small integers, equal where the rows are."""
    out = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        out = out * (int(column.max(initial=0)) + 1) + column
    return out


def smoothed(points: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, unit normals and faces: a vertex has one normal for every smooth surface it is on,
    the mean over its faces there by area.
    """
    points, faces = clustered(points, faces, 1e-6 * (float(np.ptp(points, axis=0).max()) or 1.0))
    a, b, c = (points[faces[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)
    unit = area / np.maximum(np.linalg.norm(area, axis=1, keepdims=True), 1e-300)
    corner = faces.ravel()
    order = np.argsort(corner, kind="stable")
    count = np.bincount(corner, minlength=len(points))
    start = (np.cumsum(count) - count)[corner]
    own, total = np.repeat(unit, 3, axis=0), np.zeros((len(corner), 3))
    for k in range(int(count.max(initial=0))):
        some = np.flatnonzero(count[corner] > k)
        other = order[start[some] + k] // 3
        alike = np.einsum("ij,ij->i", own[some], unit[other]) > EDGE
        total[some[alike]] += area[other[alike]]
    normals = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-300)
    rows = np.concatenate([corner[:, None], np.rint(127.0 * normals).astype(int) + 127], axis=1)
    _, first, which = np.unique(_number(rows), return_index=True, return_inverse=True)
    return points[corner[first]], normals[first], which.reshape(faces.shape)
