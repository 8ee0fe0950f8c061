"""What can be switched on in a picture: frames, joint screws, centre of mass, loops, springs,
forces, the axes of the bodies' twists; as line segments in the inertial frame, for many
configurations at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mozzi.algorithms.contact.gaps import contact_frames, contact_points
from mozzi.algorithms.dynamics.energy import center_of_mass
from mozzi.algorithms.kinematics.poses import forward_kinematics
from mozzi.algorithms.kinematics.relative import twist_axis
from mozzi.types import ArrayLike
from mozzi.viz.drawing.shapes import extent
from mozzi.viz.drawing.solids import onto

if TYPE_CHECKING:
    from mozzi.model import Model

__all__ = ["CONTACT_FORCES", "Mark", "marks", "screw_axes"]

Color = tuple[float, float, float]

RED, GREEN, BLUE = (0.85, 0.2, 0.2), (0.2, 0.65, 0.25), (0.2, 0.35, 0.9)
GOLD, TEAL, VIOLET = (0.84, 0.62, 0.18), (0.22, 0.59, 0.63), (0.55, 0.3, 0.75)
ORANGE, BLACK = (0.95, 0.45, 0.1), (0.1, 0.1, 0.12)
COILS = 8
CONTACT_FORCES = "contact forces"


@dataclass(frozen=True, eq=False)
class Mark:
    """Segments (n, k, 2, 3) at n configurations, a colour for each of k, and labels at the second
    ends of some.
    """

    name: str
    segments: np.ndarray
    colors: list[Color]
    labels: dict[int, str]

    @property
    def arrow(self) -> bool:
        """Whether the segments point from the first end to the second."""
        return self.name in ("joint screws", "twist axes", "forces", CONTACT_FORCES)


def marks(
    model: Model,
    q: np.ndarray,
    wrenches: np.ndarray | None = None,
    contact_forces: np.ndarray | None = None,
    largest: float | None = None,
    v: np.ndarray | None = None,
) -> list[Mark]:
    """All marks that a model has something for, at configurations q (n, nq).

    ``wrenches`` (n, nb, 6), body-fixed, are drawn as forces at the origins of the bodies, and
    ``contact_forces`` (n, k, 3), in world axes, where the bodies touch; ``largest`` is the force of
    the longest arrow, where it is not one of these. With velocities ``v`` (n, nv), the screw axes
    that bodies turn about and slide along.
    """
    T = forward_kinematics(model, q)
    size = extent(model)
    made = [_frames(model, T, 0.08 * size), _screws(model, q, T, 0.2 * size), _center(model, q)]
    made += [_loops(model, T), _springs(model, T, 0.03 * size)]
    if wrenches is not None:
        made.append(_forces(model, T, wrenches, 0.4 * size))
    if contact_forces is not None:
        made.append(_contact_forces(model, q, contact_forces, largest, 0.4 * size))
    if v is not None and np.abs(v).max(initial=0.0) > 0.0:
        made.append(_twists(model, q, v, T, 0.25 * size))
    return [mark for mark in made if mark.segments.shape[1]]


def _mark(
    name: str, ends: list[np.ndarray], colors: list[Color], labels: dict[int, str], n: int
) -> Mark:
    segments = np.stack(ends, axis=1) if ends else np.zeros((n, 0, 2, 3))
    return Mark(name, segments, colors, labels)


def _frames(model: Model, T: np.ndarray, length: float) -> Mark:
    p = T[:, :, :3, 3]
    ends = [
        np.stack([p[:, i], p[:, i] + length * T[:, i, :3, k]], axis=1)
        for i in range(model.nb)
        for k in range(3)
    ]
    labels = {3 * i + 2: name for i, name in enumerate(model.bodies)}
    return _mark("body frames", ends, [RED, GREEN, BLUE] * model.nb, labels, len(T))


def _screws(model: Model, q: np.ndarray, T: np.ndarray, length: float) -> Mark:
    axes = [screw_axes(model, x, t) for x, t in zip(q, T)]
    ends, colors = list[np.ndarray](), list[Color]()
    labels: dict[int, str] = {}
    for k, name in enumerate(model.v_names):
        pitch = axes[0][k][1]
        pose = np.stack([row[k][0] for row in axes])
        p, z = pose[:, :3, 3], pose[:, :3, 2]
        ends.append(np.stack([p - 0.3 * length * z, p + length * z], axis=1))
        slides = math.isinf(pitch)
        colors.append(TEAL if slides else GOLD if abs(pitch) < 1e-12 else VIOLET)
        motion = "slides" if slides else "turns"
        if not slides and abs(pitch) >= 1e-12:
            motion = f"pitch {pitch:.3g} m/rad"
        labels[k] = f"{name}: {motion}"
    return _mark("joint screws", ends, colors, labels, len(T))


def _center(model: Model, q: np.ndarray) -> Mark:
    if model.mass <= 0.0:
        return _mark("centre of mass", [], [], {}, len(q))
    c, arm = center_of_mass(model, q), 0.05 * extent(model)
    ends = [np.stack([c - arm * np.eye(3)[k], c + arm * np.eye(3)[k]], axis=1) for k in range(3)]
    return _mark("centre of mass", ends, [ORANGE] * 3, {2: "centre of mass"}, len(q))


def _loops(model: Model, T: np.ndarray) -> Mark:
    """From each body to the point where a loop closes; rods between their points."""
    ends, labels = list[np.ndarray](), dict[int, str]()
    for loop in model.loops:
        for body, P in ((loop.body_a, loop.placement_a), (loop.body_b, loop.placement_b)):
            here = _points(T, body, np.array(P.p.flatten(), dtype=float))
            labels[len(ends)] = loop.name
            ends.append(np.stack([_points(T, body, np.zeros(3)), here], axis=1))
    for rod in model.distances:
        a, b = _points(T, rod.body_a, rod.point_a), _points(T, rod.body_b, rod.point_b)
        labels[len(ends)] = rod.name
        ends.append(np.stack([a, b], axis=1))
    return _mark("loops", ends, [VIOLET] * len(ends), labels, len(T))


def _springs(model: Model, T: np.ndarray, width: float) -> Mark:
    """A zigzag between the ends of every spring."""
    ends, labels = list[np.ndarray](), dict[int, str]()
    for spring in model.springs:
        a, b = (
            _points(T, body, point)
            for body, point in ((spring.body_a, spring.point_a), (spring.body_b, spring.point_b))
        )
        side = np.stack([onto(d)[:, 0] if d.any() else np.zeros(3) for d in b - a])
        share = np.linspace(0.0, 1.0, 2 * COILS + 1)
        swing = width * np.where(np.arange(2 * COILS + 1) % 2, 1.0, -1.0)
        swing[[0, -1]] = 0.0
        path = a[:, None] + share[:, None] * (b - a)[:, None] + swing[:, None] * side[:, None]
        labels[len(ends) + COILS] = spring.name
        ends += [path[:, k : k + 2] for k in range(2 * COILS)]
    return _mark("springs", ends, [GREEN] * len(ends), labels, len(T))


def _forces(model: Model, T: np.ndarray, wrenches: np.ndarray, length: float) -> Mark:
    """Arrows along the forces at the origins of the bodies, the largest of this length."""
    force = np.einsum("nbij,nbj->nbi", T[:, :, :3, :3], np.broadcast_to(
        wrenches, (len(T), model.nb, 6))[..., 3:])  # fmt: skip
    top = float(np.linalg.norm(force, axis=-1).max(initial=0.0))
    p = T[:, :, :3, 3]
    ends = [
        np.stack([p[:, i], p[:, i] + length / top * force[:, i]], axis=1)
        for i in range(model.nb)
        if top > 0.0 and np.abs(force[:, i]).max() > 0.0
    ]
    label = {0: f"longest arrow {top:.3g} N"} if ends else {}
    return _mark("forces", ends, [BLACK] * len(ends), label, len(T))


def _contact_forces(
    model: Model, q: np.ndarray, forces: np.ndarray, largest: float | None, length: float
) -> Mark:
    """Arrows along the forces of contacts on what moves (on bodies a, where both do), from where
    they touch.
    """
    force = np.array(np.nan_to_num(forces))
    pushes: list[int] = []
    for contact, part in zip(model.contacts, contact_points(model).values(), strict=True):
        if contact.kind != "cone":  # of which they are moments
            pushes += range(part.start, part.stop)
        if model.shape(contact.shape_a).body < 0:
            force[:, part] *= -1.0
    top = float(np.linalg.norm(force[:, pushes], axis=-1).max(initial=0.0))
    top = top if largest is None else largest
    if top <= 0.0:
        return _mark(CONTACT_FORCES, [], [], {}, len(q))
    p = contact_frames(model, q)[..., :3, 3]
    ends = [
        np.stack([p[:, k], p[:, k] + length / top * force[:, k]], axis=1)
        for k in pushes if np.abs(force[:, k]).max() > 0.0
    ]  # fmt: skip
    label = {0: f"longest arrow {top:.3g} N"} if ends else {}
    return _mark(CONTACT_FORCES, ends, [ORANGE] * len(ends), label, len(q))


def _twists(model: Model, q: np.ndarray, v: np.ndarray, T: np.ndarray, length: float) -> Mark:
    """The axis of every body's twist, next to the body: as `twist_axis` tells it; where a body
    slides without turning, the direction at its origin. Bodies at rest have a point there.
    """
    ends, labels = list[np.ndarray](), dict[int, str]()
    for i, name in enumerate(model.bodies):
        e, p, pitch, size = twist_axis(model, q, v, name)
        r = T[:, i, :3, 3]
        slides = ~np.isfinite(pitch)
        along = np.einsum("ni,ni->n", e, r - p)
        foot = np.where(slides[:, None], r, p + e * along[:, None])
        reach = length * (size > 0.0)[:, None] * e
        ends.append(np.stack([foot - 0.3 * reach, foot + reach], axis=1))
        how = "slides" if slides[0] else f"pitch {pitch[0]:.3g} m/rad"
        labels[i] = f"{name}: {how}" if len(q) == 1 else name
    return _mark("twist axes", ends, [VIOLET] * len(ends), labels, len(T))


def _points(T: np.ndarray, body: int, point: ArrayLike) -> np.ndarray:
    """A point of a body in the inertial frame, at all configurations."""
    x = np.asarray(point, dtype=float)
    if body < 0:
        return np.broadcast_to(x, (len(T), 3))
    return T[:, body, :3, :3] @ x + T[:, body, :3, 3]


def screw_axes(
    model: Model, q: np.ndarray, T: np.ndarray | None = None
) -> list[tuple[np.ndarray, float]]:
    """(pose, pitch) of every joint screw in the inertial frame: z along its axis; the pitch is
    infinite where it slides. T are the poses of the bodies, where they are known.
    """
    out: list[tuple[np.ndarray, float]] = []
    poses = forward_kinematics(model, q) if T is None else T
    for i, body in enumerate(model):
        own = [float(x) for x in q[model.q_slices[body.joint_name]]]
        place = poses[i] @ np.array(body.joint.frame_child.matrix(), dtype=float)
        for column in body.joint.screws(own):
            w, u = (np.array(x.flatten(), dtype=float) for x in (column.ang, column.lin))
            pose = np.eye(4)
            size = float(w @ w)
            pose[:3, :3] = onto(w if size > 0.0 else u)
            if size > 0.0:
                pose[:3, 3] = np.cross(w, u) / size
            out.append((place @ pose, float(w @ u) / size if size > 0.0 else math.inf))
    return out
