# pyright: reportMatchNotExhaustive=false
"""What a mechanism looks like, as triangles: its shapes, or a figure of its joints and masses."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mozzi.errors import MozziError, NotShownWarning, warn
from mozzi.lie import SE3
from mozzi.model.body import Body
from mozzi.model.mesh_file import surfaces
from mozzi.model.shapes import (
    Box,
    Capsule,
    Cylinder,
    Disc,
    Ellipsoid,
    Geometry,
    HeightField,
    Mesh,
    Plane,
    Shape,
    Sphere,
    Torus,
)
from mozzi.viz.drawing.meshes import clustered
from mozzi.viz.drawing.solids import Triangles, box, capsule, cylinder, field, sphere, torus

if TYPE_CHECKING:
    from mozzi.model import Model

__all__ = ["Drawing", "Part", "colour", "drawing", "extent", "skeleton"]

Color = tuple[float, float, float]

PAGE_FACES = 200_000
"""Triangles that a page or a viewer takes well; what has more is drawn coarser."""


@dataclass(frozen=True, eq=False)
class Part:
    """Triangles fixed to a body (−1: the world): vertices (n, 3) in its frame, faces (m, 3)."""

    body: int
    vertices: np.ndarray
    faces: np.ndarray
    color: Color
    name: str = ""
    opacity: float = 1.0


@dataclass(frozen=True, eq=False)
class Drawing:
    """What is drawn of a model, and what cannot be, with the reason."""

    parts: tuple[Part, ...]
    faults: tuple[str, ...] = ()
    grounds: tuple[np.ndarray, ...] = ()
    """Poses of planes fixed to the world: drawn as floors."""

    def within(self, faces: int) -> Drawing:
        """The same with no more triangles than so many, as coarse as that takes."""
        return replace(self, parts=tuple(_fewer(self.parts, faces)))

    def tell(self) -> Drawing:
        """Itself, with a warning that names what cannot be drawn."""
        if self.faults:
            warn("; ".join(self.faults), NotShownWarning)
        return self


def colour(k: int, n: int = 8, light: float = 0.62) -> Color:
    """Distinct colours, the same for the same number."""
    return colorsys.hls_to_rgb((0.58 + 0.618034 * k) % 1.0 if n > 1 else 0.58, light, 0.55)


# -- shapes ------------------------------------------------------------------------------------


def drawing(model: Model, shapes: bool = True) -> Drawing:
    """What a model looks like: the visual shapes of its bodies.

    A body of which some cannot be read is drawn with its collision shapes as well, or as a figure
    where it has none; so is a model without shapes, and any model with ``shapes=False``.
    """
    moving = [shape for shape in model.shapes if not isinstance(shape.geometry, Plane)]
    grounds = tuple(
        np.array(shape.placement.matrix(), dtype=float)
        for shape in model.shapes
        if isinstance(shape.geometry, Plane) and shape.body < 0
    )
    if not (shapes and moving):
        return Drawing(tuple(skeleton(model)), grounds=grounds)
    parts: list[Part] = []
    faults: list[str] = []
    figure = None
    for body in dict.fromkeys(shape.body for shape in moving):
        own = [shape for shape in moving if shape.body == body]
        found, wrong = _parts([shape for shape in own if shape.visual])
        if wrong or not any(shape.visual for shape in own):
            more, other = _parts([shape for shape in own if not shape.visual])
            found, wrong = found + more, wrong + other
        if wrong and not found and body >= 0:
            figure = skeleton(model) if figure is None else figure
            found = [part for part in figure if part.body == body]
        parts += found
        faults += wrong
    return Drawing(tuple(parts), tuple(dict.fromkeys(faults)), grounds)


def _parts(shapes: Sequence[Shape]) -> tuple[list[Part], list[str]]:
    """What can be drawn of some shapes, and why the rest cannot."""
    parts: list[Part] = []
    faults: list[str] = []
    for shape in shapes:
        if shape.color is not None and shape.color[3] == 0.0:
            continue
        try:
            pieces = _pieces(shape.geometry)
        except MozziError as error:
            faults.append(f"shape {shape.name!r} is not shown: {error}")
            continue
        T = np.array(shape.placement.matrix(), dtype=float)
        for vertices, faces, own in pieces:
            r, g, b = own or colour(shape.body, light=0.78)
            opacity = 1.0
            if shape.color is not None:
                r, g, b, opacity = shape.color
            points = vertices @ T[:3, :3].T + T[:3, 3]
            parts.append(Part(shape.body, points, faces, (r, g, b), shape.name, opacity))
    return parts, faults


def _pieces(geometry: Geometry) -> list[tuple[np.ndarray, np.ndarray, Color | None]]:
    """Triangles of a geometry, by colour where its file has colours."""
    if isinstance(geometry, Mesh):
        scale = np.asarray(geometry.scale)
        turn = slice(None, None, -1 if np.prod(scale) < 0.0 else 1)  # mirrored faces turn around
        return [(v * scale, f[:, turn], c) for v, f, c in surfaces(geometry.file())]
    return [(*triangles(geometry), None)]


def triangles(geometry: Geometry) -> Triangles:
    """The triangles of a geometry that is no mesh."""
    match geometry:
        case Box():
            return box(geometry.size)
        case Sphere():
            return sphere(geometry.radius, around=24)
        case Ellipsoid():
            points, faces = sphere(1.0, around=24)
            return points * np.asarray(geometry.radii), faces
        case Cylinder() | Capsule():
            half = [0.0, 0.0, 0.5 * geometry.length]
            make = cylinder if isinstance(geometry, Cylinder) else capsule
            return make(np.negative(half), half, geometry.radius, around=24)
        case Disc(radius=r):
            return torus(0.97 * r, 0.03 * r)
        case Torus():
            return torus(geometry.radius, geometry.tube)
        case HeightField():
            return field(geometry)
        case Plane():
            return box((2.0, 2.0, 1e-3))
    raise AssertionError(f"no triangles of {geometry!r}")


def _fewer(parts: Sequence[Part], most: int) -> list[Part]:
    """Vertices that share a cell of a grid become one; the grid is as coarse as it must be."""
    out = list(parts)
    count = sum(len(part.faces) for part in parts)
    if count <= most:
        return out
    spans = [np.ptp(part.vertices, axis=0).max(initial=0.0) for part in parts]
    cell = max(spans, default=0.0) / 400.0
    while count > most:
        out = [
            replace(part, vertices=v, faces=f)
            for part in parts
            for v, f in [clustered(part.vertices, part.faces, cell)]
            if len(f)
        ]
        count, cell = sum(len(part.faces) for part in out), 1.4 * cell
    return out


# -- a figure of joints and masses -------------------------------------------------------------


def extent(model: Model) -> float:
    """A length of the order of the mechanism's size."""
    reach = [1e-3]
    for body in model:
        parent = 0.0 if body.parent < 0 else reach[body.parent + 1]
        step = np.linalg.norm(_origin(body.joint.frame_parent))
        mass = float(body.inertia.m)
        arm = np.linalg.norm(_com(body)) if mass > 0 else 0.0
        reach.append(max(parent + float(step), parent + float(arm)))
    return max(reach)


def skeleton(model: Model, color: Color | None = None) -> list[Part]:
    """A mechanism drawn from its joints and masses: limbs between joints (those that close loops,
    too), drums on hinges, balls at centres of mass at the ends.
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
        ends += _closing(model, i)
        com, mass = _com(body), float(body.inertia.m)
        if not ends and mass > 0.0:
            ends = [com]
            ball = 0.05 * size * (mass / max(model.mass, 1e-300)) ** (1 / 3) + 0.4 * r
            parts.append(Part(i, *sphere(ball, com), tint, body.name))
        for end in ends:
            if np.linalg.norm(end - start) > 1e-6 * size:
                parts.append(Part(i, *capsule(start, end, r), tint, body.name))
    return parts


def _closing(model: Model, i: int) -> list[np.ndarray]:
    """Where loops and rods meet body i."""
    found = list[np.ndarray]()
    for loop in model.loops:
        if loop.body_a == i:
            found.append(_origin(loop.placement_a @ loop.joint.frame_parent))
        if loop.body_b == i:
            found.append(_origin(loop.placement_b @ loop.joint.frame_child))
    for rod in model.distances:
        points = ((rod.body_a, rod.point_a), (rod.body_b, rod.point_b))
        found += [np.array(point, dtype=float) for body, point in points if body == i]
    return found


def _darker(c: tuple[float, float, float]) -> tuple[float, float, float]:
    return (0.62 * c[0], 0.62 * c[1], 0.62 * c[2])


def _origin(T: SE3) -> np.ndarray:
    return np.array(T.p.flatten(), dtype=float)


def _com(body: Body) -> np.ndarray:
    mass = float(body.inertia.m)
    return np.array(body.inertia.h.flatten(), dtype=float) / mass if mass > 0.0 else np.zeros(3)
