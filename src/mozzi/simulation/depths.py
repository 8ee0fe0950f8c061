"""How deep rigid shapes are in each other: at their points of contact, and at points of a box in a
shape that meets it by its own points, which may all be beside the box.
"""

from __future__ import annotations

import itertools

import numpy as np

from mozzi.algorithms.calls.guard import unchecked
from mozzi.algorithms.contact.gaps import contact_gaps, contact_points
from mozzi.algorithms.kinematics.poses import forward_kinematics
from mozzi.model import Box, Contact, Cylinder, Ellipsoid, Model, Shape
from mozzi.simulation.parameters import Varying
from mozzi.types import Array

__all__ = ["depths"]

BESIDE = 1e-3  # m: points of contact that are farther apart hold nothing
#: Corners and centre of a cube, and the middles of its edges and faces.
CUBE = 0.5 * np.array([*itertools.product((-1.0, 0.0, 1.0), repeat=3)])


def depths(model: Model, q: Array, varying: Varying) -> dict[Contact, Array]:
    """How deep rigid shapes are in each other (m) at states q (..., nq), by contacts."""
    rigid = [x for x in model.contacts if x.kind == "surface" and x.stiffness is None]
    if not rigid:
        return {}
    with unchecked():
        gaps = varying.of(contact_gaps, q)
    points = contact_points(model)
    found = {x: -gaps[..., points[x.name]].min(axis=-1, initial=0.0) for x in rigid}
    for x in rigid:
        a, b = (model.shape(name) for name in (x.shape_a, x.shape_b))
        box, other = (a, b) if isinstance(a.geometry, Box) else (b, a)
        if not isinstance(box.geometry, Box):
            continue
        if not isinstance(other.geometry, (Cylinder, Ellipsoid)):
            continue
        beside = gaps[..., points[x.name]].min(axis=-1) > BESIDE
        if beside.any():
            with unchecked():
                C = varying.of(forward_kinematics, q)
            T_bo = np.linalg.inv(_placed(C, box)) @ _placed(C, other)
            T_bo = np.broadcast_to(T_bo, (*beside.shape, 4, 4))
            sizes = other.geometry.radii if isinstance(other.geometry, Ellipsoid) else (
                other.geometry.radius, 0.5 * other.geometry.length)  # fmt: skip
            reach = np.linalg.norm(sizes) + 0.5 * np.linalg.norm(box.geometry.size)
            beside &= np.linalg.norm(T_bo[..., :3, 3], axis=-1) < reach
            found[x] = np.array(found[x])
            found[x][beside] = _in(box.geometry, other.geometry, T_bo[beside])
    return found


def _in(box: Box, other: Cylinder | Ellipsoid, T_bo: Array) -> Array:
    """How deep points of a box are in a cylinder or an ellipsoid (no more than that), 0 where none
    is inside; T_bo (n, 4, 4) are poses of that in the box.
    """
    p = (CUBE * box.size - T_bo[:, None, :3, 3]) @ T_bo[:, :3, :3]
    if isinstance(other, Ellipsoid):
        depth = min(other.radii) * (1.0 - np.linalg.norm(p / other.radii, axis=-1))
    else:
        across = other.radius - np.hypot(p[..., 0], p[..., 1])
        depth = np.minimum(across, 0.5 * other.length - np.abs(p[..., 2]))
    return depth.max(axis=-1, initial=0.0)


def _placed(C: Array, shape: Shape) -> Array:
    """The poses of a shape, from those of the bodies."""
    placement = shape.placement.matrix()
    return placement if shape.body < 0 else C[..., shape.body, :, :] @ placement
