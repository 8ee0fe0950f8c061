# pyright: reportPrivateUsage=false
"""Trajectories as moving pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mozzi.errors import ConfigurationError
from mozzi.types import ArrayLike
from mozzi.viz.drawing.shapes import Drawing, drawing
from mozzi.viz.page import (
    ball_around,
    corners,
    floor_of,
    limbs,
    scene,
    shown_records,
    write_page,
)
from mozzi.viz.render import GIF_FACES, Camera, paint, pillow

if TYPE_CHECKING:
    from mozzi.simulation.trajectories.trajectory import Sample, Trajectory

__all__ = ["animate"]

PIXELS = 440
TRAIL = 40  # frames that the path of a tip is shown


def animate(
    trajectory: Trajectory,
    path: Path,
    sample: Sample | None = None,
    fps: float = 30.0,
    wrenches: ArrayLike | None = None,
) -> Path:
    """Write ``.html`` (a page of its own, to turn and zoom) or ``.gif``."""
    drawn = drawing(trajectory._model()).tell()
    if path.suffix == ".html":
        samples = None if sample is None else [sample]
        made = scene(trajectory, samples=samples, drawn=drawn, play=True, fps=fps,
                     wrenches=wrenches)  # fmt: skip
        return write_page(path, [made], trajectory._model().name)
    if path.suffix == ".gif":
        return _gif(trajectory, path, sample, min(fps, 25.0), drawn)
    raise ConfigurationError(f"{path}: no format {path.suffix!r}; animate as .html or .gif")


def _gif(
    trajectory: Trajectory, path: Path, sample: Sample | None, fps: float, drawn: Drawing
) -> Path:
    from mozzi.files import write_atomically

    pillow()
    motion, model = trajectory, trajectory._model()
    if motion.batch or sample is not None:
        motion = motion[(0,) * len(motion.batch) if sample is None else sample]
    (index,), step = shown_records(motion, [motion], fps)
    drawn = drawn.within(GIF_FACES)
    poses = motion._at(index).poses()[:, :, :3, :]
    points = corners(drawn.parts, poses)
    camera = Camera(*ball_around(points.reshape(-1, 3), 1e-6), PIXELS)
    floor, tips = floor_of(drawn, points), limbs(model, poses)[1]
    frames = [
        paint(drawn.parts, T, camera, tips[max(0, k - TRAIL) : k + 1], floor)
        for k, T in enumerate(poses)
    ]
    wait = max(20, round(1000 * step))
    return write_atomically(
        path,
        lambda file: frames[0].save(
            file, format="GIF", save_all=True, append_images=frames[1:], duration=wait, loop=0
        ),
    )
