# pyright: reportPrivateUsage=false
"""Trajectories as a page of their own: no server, no network, one file."""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from mozzi import __version__
from mozzi.errors import ConfigurationError, ShapeError
from mozzi.types import ArrayLike
from mozzi.viz.drawing.marks import marks
from mozzi.viz.drawing.meshes import smoothed
from mozzi.viz.drawing.shapes import (
    PAGE_FACES,
    Color,
    Drawing,
    Part,
    colour,
    drawing,
    extent,
    skeleton,
)

if TYPE_CHECKING:
    from mozzi.model import Model
    from mozzi.simulation.trajectories.trajectory import Sample, Trajectory

__all__ = [
    "ball_around", "corners", "floor_of", "limbs", "page_text", "scene", "shown_records",
    "write_page",
]  # fmt: skip

FPS = 30.0
SCENE_FRAMES = 1200  # frames of a scene
FAR = 4.0  # a base that travels so many times the size of its robot is followed from the start

Scene = dict[str, object]


def scene(
    trajectory: Trajectory,
    title: str | None = None,
    note: str = "",
    samples: Sequence[Sample] | None = None,
    drawn: Drawing | None = None,
    play: bool = False,
    fps: float = FPS,
    wrenches: ArrayLike | None = None,
) -> Scene:
    """What a page shows of a trajectory: frames at equal times, several samples in one picture.

    drawn: what the bodies look like; the shapes of the model where not given. wrenches: (nb, 6) or
    (n, nb, 6), body-fixed, that can be shown as forces. Forces of contacts can be shown where the
    trajectory has them.
    """
    model = trajectory._model()
    motions = [trajectory]
    if trajectory.batch or samples is not None:
        chosen = [(0,) * len(trajectory.batch)] if samples is None else samples
        motions = [trajectory[k] for k in chosen]
    index, step = shown_records(trajectory, motions, fps)
    several = len(motions) > 1
    if drawn is None:
        drawn = drawing(model)
        if several and not model.shapes:
            drawn = Drawing(tuple(skeleton(model, colour(0, light=0.6))), grounds=drawn.grounds)
    drawn = drawn.within(PAGE_FACES // len(motions))
    poses = [motion._at(k).poses()[:, :, :3, :] for motion, k in zip(motions, index)]
    whole = np.concatenate(poses, axis=1)
    tips = [limbs(model, T)[1] for T in poses]
    points = np.concatenate([corners(drawn.parts, T) for T in poses], axis=1)
    center, radius = ball_around(points.reshape(-1, 3), 0.3 * extent(model))
    force = None if wrenches is None else np.asarray(wrenches, dtype=float)
    if force is not None and force.shape not in ((nb := model.nb, 6), (len(trajectory.t), nb, 6)):
        fact = f"give (nb, 6) = ({nb}, 6), or one such for each of {len(trajectory.t)} times"
        raise ShapeError("animate", "wrenches", force.shape, (nb, 6), fact)
    if force is not None and force.ndim == 3:
        force = force[index[0]]
    touch = motions[0].known_contact_forces
    tints = [colour(k, light=0.6) for k in range(len(motions))] if several else [None]
    return {
        "title": title or model.name,
        "note": note,
        "step": step,
        "frames": len(whole),
        "bodies": whole.shape[1],
        "poses": _text(whole, "<f4"),
        "energy": _energy(motions, index),
        "trails": [
            {"path": _text(tip, "<f4"), "color": tint or (0.75, 0.25, 0.2)}
            for tip, tint in zip(tips, tints)
        ],
        "center": center.tolist(),
        "radius": radius,
        "follow": _follow(model, poses[0], points, radius),
        "floor": floor_of(drawn, points),
        "grid": _round(radius / 2.5),
        "azimuth": -1.0,
        "elevation": 0.35,
        "play": play,
        "faults": list(drawn.faults),
        "marks": [
            {
                "name": mark.name,
                "segments": _text(mark.segments, "<f4"),
                "colors": mark.colors,
                "labels": mark.labels,
                "arrow": mark.arrow,
            }
            for mark in marks(model, motions[0].q[index[0]], force,
                              None if touch is None else touch[index[0]],
                              v=motions[0].v[index[0]])
        ],
        "parts": [_part(part, model.nb, tints) for part in drawn.parts],
    }


def shown_records(
    trajectory: Trajectory, motions: Sequence[Trajectory], fps: float
) -> tuple[list[np.ndarray], float]:
    """The records that are shown of each motion, and the time between two."""
    span = float(trajectory.t[-1] - trajectory.t[0])
    count = int(min(SCENE_FRAMES, max(2, round(span * fps) + 1))) if span > 0.0 else 1
    times = np.linspace(float(trajectory.t[0]), float(trajectory.t[-1]), count)
    index: list[np.ndarray] = []
    for motion in motions:
        last = int(np.isfinite(motion.q).all(axis=-1).sum())
        if last == 0:
            raise ConfigurationError("the trajectory has no finite record to show")
        found = np.searchsorted(motion.t, times - 1e-9 * (1 + span))
        index.append(np.clip(found, 0, last - 1))
    return index, span / max(1, count - 1)


def _energy(motions: Sequence[Trajectory], index: Sequence[np.ndarray]) -> dict[str, str] | None:
    """How far the energy is from what it was; nothing where something drives or brakes."""
    if any(motion.driven for motion in motions):
        return None
    drifts: list[np.ndarray] = []
    for motion, k in zip(motions, index):
        energy = motion.energy()
        drifts.append(np.abs(energy[k] - energy[0]))
    return {"label": "energy error |E − E₀| =", "values": _text(np.nanmax(drifts, axis=0), "<f4")}


def _follow(
    model: Model, poses: np.ndarray, points: np.ndarray, radius: float
) -> dict[str, object] | None:
    """What the camera keeps in view when it follows the base: the robot about its first body."""
    if not model.nb or model.body(0).joint.nv < 3 or model.parents[0] >= 0:
        return None
    base = poses[:, 0, :, 3]
    around = points[:, : points.shape[1]] - base[:, None]
    center, own = ball_around(around.reshape(-1, 3), 0.1 * extent(model))
    return {"body": 0, "center": center.tolist(), "radius": own, "start": radius > FAR * own}


def floor_of(drawn: Drawing, points: np.ndarray) -> float:
    """The height of the floor: that of a horizontal plane, else 0 or below all that is drawn."""
    for T in drawn.grounds:
        if T[2, 2] > 0.999:
            return float(T[2, 3])
    lowest = float(points[..., 2].min(initial=0.0))
    return lowest if lowest < -1e-2 * float(np.ptp(points[..., 2]) or 1.0) else 0.0


def _round(x: float) -> float:
    """A length near x that is 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(x))
    return next((f * power for f in (1.0, 2.0, 5.0) if x <= f * power), 10.0 * power)


def limbs(model: Model, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, limbs, 2, 3) ends of the limbs of all bodies in the inertial frame; (n, 3) the tip."""
    lines: list[np.ndarray] = []
    for i, body in enumerate(model):
        start = np.array(body.joint.frame_child.p.flatten(), dtype=float)
        ends = [np.array(model.body(k).joint.frame_parent.p.flatten(), dtype=float)
                for k in model.children(i)]  # fmt: skip
        if not ends:
            mass = float(body.inertia.m)
            ends = [np.array(body.inertia.h.flatten(), dtype=float) / mass if mass > 0.0 else start]
        R, p = poses[:, i, :3, :3], poses[:, i, :3, 3]
        lines += [np.stack([R @ start + p, R @ end + p], axis=1) for end in ends]
    if not lines:
        return np.zeros((len(poses), 0, 2, 3)), np.zeros((len(poses), 3))
    out = np.stack(lines, axis=1)
    return out, out[:, -1, 1]


def write_page(path: Path, scenes: Sequence[Scene], title: str = "mozzi") -> Path:
    """Write a page that shows these scenes."""
    from mozzi.files import write_atomically

    return write_atomically(path, lambda file: _put(file, page_text(scenes, title)))


def page_text(scenes: Sequence[Scene], title: str = "mozzi") -> str:
    """A page that shows these scenes."""
    text = resources.files("mozzi.viz").joinpath("page.html").read_text(encoding="utf-8")
    words = {"title": html.escape(title), "maker": f"Made with mozzi {__version__}"}
    for word, value in words.items():
        text = text.replace("{{" + word + "}}", value)
    data = json.dumps(list(scenes), allow_nan=False).replace("<", "\\u003c")
    return text.replace("{{scenes}}", data)


def _put(file: IO[bytes], text: str) -> None:
    file.write(text.encode())


def corners(parts: Sequence[Part], poses: np.ndarray) -> np.ndarray:
    """(n, points, 3) in the inertial frame: corners of boxes about what is drawn of each body."""
    out: list[np.ndarray] = []
    for body in sorted({part.body for part in parts}):
        own = np.concatenate([part.vertices for part in parts if part.body == body])
        ends = np.stack([own.min(axis=0), own.max(axis=0)])
        box = np.stack([ends[[i, j, k], [0, 1, 2]] for i, j, k in np.ndindex(2, 2, 2)])
        if body < 0:
            out.append(np.broadcast_to(box, (len(poses), 8, 3)))
        else:
            out.append(box @ np.swapaxes(poses[:, body, :, :3], 1, 2) + poses[:, body, None, :, 3])
    return np.concatenate(out, axis=1) if out else np.zeros((len(poses), 1, 3))


def ball_around(points: np.ndarray, least: float) -> tuple[np.ndarray, float]:
    """A ball that holds these points."""
    low, high = points.min(axis=0), points.max(axis=0)
    center = 0.5 * (low + high)
    return center, float(max(np.linalg.norm(points - center, axis=1).max(), least, 1e-6))


def _part(part: Part, nb: int, tints: Sequence[Color | None]) -> dict[str, object]:
    """A part, once for each motion: on their bodies, in their colours."""
    points, normals, faces = smoothed(np.asarray(part.vertices, dtype=float), part.faces)
    if part.body < 0:
        tints = tints[:1]
    return {
        "bodies": [part.body if part.body < 0 else part.body + k * nb for k in range(len(tints))],
        "colors": [[*(tint or part.color), part.opacity] for tint in tints],
        "vertices": _text(points, "<f4"),
        "normals": _text(np.round(127.0 * np.pad(normals, ((0, 0), (0, 1)))), "<i1"),
        "faces": _text(faces, "<u4"),
    }


def _text(array: np.ndarray, kind: str) -> str:
    data = np.nan_to_num(np.asarray(array), nan=0.0) if kind == "<f4" else array
    return base64.b64encode(np.ascontiguousarray(data, dtype=kind).tobytes()).decode()
