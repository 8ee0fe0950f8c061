"""Trajectories as a page of their own: no server, no network, one file."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from mozzi.errors import ConfigurationError
from mozzi.viz.shapes import Part, box, colour, extent, skeleton

__all__ = ["limbs", "scene", "write_page"]

FPS = 30.0
MOST = 1200  # frames of a scene


def scene(
    trajectory: Any,
    title: str | None = None,
    note: str = "",
    samples: Sequence[Any] | None = None,
    parts: Sequence[Part] | None = None,
    play: bool = False,
    fps: float = FPS,
) -> dict[str, Any]:
    """What a page shows of a trajectory: frames at equal times, several samples in one picture.

    parts: what the bodies look like; drawn from joints and masses where not given.
    """
    model = trajectory._model()
    motions = [trajectory]
    if trajectory.batch:
        chosen = [(0,) * len(trajectory.batch)] if samples is None else samples
        motions = [trajectory[k] for k in chosen]
    poses, drifts, step = [], [], 1.0 / fps
    for motion in motions:
        last = int(np.isfinite(motion.q).all(axis=-1).sum())
        if last == 0:
            raise ConfigurationError("the trajectory has no finite record to show")
        span = trajectory.t[-1] - trajectory.t[0]
        count = int(min(MOST, max(2, round(span * fps) + 1))) if span > 0.0 else 1
        times = np.linspace(trajectory.t[0], trajectory.t[-1], count)
        step = span / max(1, count - 1)
        index = np.clip(np.searchsorted(motion.t, times - 1e-9 * (1 + span)), 0, last - 1)
        T = motion._at(index).poses()
        poses.append(T[:, :, :3, :])
        energy = motion.energy()
        drifts.append(np.abs(energy[index] - energy[0]))
    drawn: list[Part] = []
    for k in range(len(motions)):
        tint = None if len(motions) == 1 else colour(k, light=0.6)
        own = list(parts) if parts is not None else skeleton(model, color=tint)
        drawn += [
            Part(p.body if p.body < 0 else p.body + k * model.nb, p.vertices, p.faces,
                 tint if tint and parts is None else p.color, p.name)
            for p in own
        ]  # fmt: skip
    whole = np.concatenate(poses, axis=1)
    lines, tips = zip(*(limbs(model, T) for T in poses), strict=True)
    points = np.concatenate([whole[..., 3].reshape(-1, 3), *(x.reshape(-1, 3) for x in lines)])
    center, radius = _around(points, 0.3 * extent(model))
    drawn.append(Part(-1, *box([0.05 * radius] * 3), (0.35, 0.38, 0.42), "world"))
    return {
        "title": title or model.name,
        "note": note,
        "step": step,
        "frames": len(whole),
        "bodies": whole.shape[1],
        "poses": _text(whole, "<f4"),
        "drift": _text(np.nanmax(drifts, axis=0), "<f4"),
        "trails": [_text(_path(tip, k, len(tips)), "<f4") for k, tip in enumerate(tips)],
        "center": center.tolist(),
        "radius": radius,
        "azimuth": -1.0,
        "elevation": 0.35,
        "play": play,
        "parts": [
            {
                "body": p.body,
                "vertices": _text(_with_normals(p), "<f4"),
                "faces": _text(p.faces, "<u4"),
            }
            for p in drawn
        ],
    }


def limbs(model: Any, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, limbs, 2, 3) ends of the limbs of all bodies in the inertial frame; (n, 3) the tip."""
    lines = []
    for i, body in enumerate(model):
        start = np.array(body.joint.frame_child.p.flatten(), dtype=float)
        ends = [np.array(model.body(k).joint.frame_parent.p.flatten(), dtype=float)
                for k in model.children(i)]  # fmt: skip
        if not ends:
            mass = float(body.inertia.m)
            ends = [np.array(body.inertia.h.flatten(), dtype=float) / mass if mass > 0.0 else start]
        R, p = poses[:, i, :3, :3], poses[:, i, :3, 3]
        lines += [np.stack([R @ start + p, R @ end + p], axis=1) for end in ends]
    out = np.stack(lines, axis=1)
    return out, out[:, -1, 1]


def write_page(path: Path, scenes: Sequence[dict[str, Any]], title: str = "mozzi") -> Path:
    """Write a page that shows these scenes."""
    from mozzi.files import write_atomically

    template = resources.files("mozzi.viz").joinpath("page.html").read_text(encoding="utf-8")
    data = json.dumps(list(scenes), allow_nan=False).replace("<", "\\u003c")
    text = template.replace("{{title}}", html.escape(title)).replace("{{scenes}}", data)
    return write_atomically(path, lambda file: _put(file, text))


def _put(file: Any, text: str) -> None:
    file.write(text.encode())


def _around(points: np.ndarray, least: float) -> tuple[np.ndarray, float]:
    """A ball that holds these points and the origin."""
    flat = np.concatenate([points.reshape(-1, 3), np.zeros((1, 3))])
    low, high = flat.min(axis=0), flat.max(axis=0)
    center = 0.5 * (low + high)
    return center, float(max(np.linalg.norm(flat - center, axis=1).max() * 1.1, least, 1e-6))


def _path(points: np.ndarray, number: int, count: int) -> np.ndarray:
    """A path as (position, normal, colour) rows."""
    tint = (0.75, 0.25, 0.2) if count == 1 else colour(number, light=0.6)
    normals, tints = (np.broadcast_to(x, points.shape) for x in ((0.0, 0.0, 1.0), tint))
    return np.concatenate([points, normals, tints], axis=1)


def _with_normals(part: Part) -> np.ndarray:
    """Vertices as (position, normal, colour) rows."""
    points = np.asarray(part.vertices, dtype=float)
    a, b, c = (points[part.faces[:, k]] for k in range(3))
    face = np.cross(b - a, c - a)
    normals = np.zeros_like(points)
    for k in range(3):
        np.add.at(normals, part.faces[:, k], face)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals /= np.where(length > 0.0, length, 1.0)
    return np.concatenate([points, normals, np.broadcast_to(part.color, points.shape)], axis=1)


def _text(array: np.ndarray, kind: str) -> str:
    data = np.nan_to_num(np.asarray(array), nan=0.0) if kind == "<f4" else array
    return base64.b64encode(np.ascontiguousarray(data, dtype=kind).tobytes()).decode()
