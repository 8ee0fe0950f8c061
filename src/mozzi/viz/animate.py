"""Trajectories as moving pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mozzi.errors import ConfigurationError, ExtraMissingError
from mozzi.viz.page import limbs, scene, write_page
from mozzi.viz.plot import pyplot

__all__ = ["animate"]


def animate(trajectory: Any, path: Path, sample: Any = None, fps: float = 30.0) -> Path:
    """Write ``.html`` (a page of its own, to turn and zoom) or ``.gif`` (a side view)."""
    if path.suffix == ".html":
        samples = None if sample is None else [sample]
        return write_page(path, [scene(trajectory, samples=samples, play=True, fps=fps)])
    if path.suffix == ".gif":
        return _gif(trajectory, path, sample, min(fps, 25.0))
    raise ConfigurationError(f"{path}: no format {path.suffix!r}; animate as .html or .gif")


def _gif(trajectory: Any, path: Path, sample: Any, fps: float) -> Path:
    from mozzi.files import write_atomically

    plt = pyplot()
    try:
        from PIL import Image
    except ImportError:
        raise ExtraMissingError(
            "GIFs need pillow; install it with: pip install 'mozzi[viz]'"
        ) from None
    motion, model = trajectory, trajectory._model()
    if motion.batch:
        motion = motion[(0,) * len(motion.batch) if sample is None else sample]
    span = motion.t[-1] - motion.t[0]
    times = np.linspace(motion.t[0], motion.t[-1], max(2, min(400, round(span * fps) + 1)))
    index = np.clip(np.searchsorted(motion.t, times - 1e-12), 0, len(motion.t) - 1)
    lines, tips = limbs(model, motion._at(index).poses())
    lines, tips = (_seen(x) for x in (lines, tips))
    flat = np.concatenate([lines.reshape(-1, 2), np.zeros((1, 2))])
    low, high = flat.min(axis=0), flat.max(axis=0)
    center, half = 0.5 * (low + high), 0.55 * float((high - low).max()) + 1e-9
    figure, axis = plt.subplots(figsize=(4.4, 4.4), layout="constrained")
    axis.set(xlim=(center[0] - half, center[0] + half), ylim=(center[1] - half, center[1] + half))
    axis.set_aspect("equal")
    axis.set_axis_off()
    (trail,) = axis.plot([], [], color="tab:red", linewidth=1, alpha=0.7)
    bars = [
        axis.plot([], [], color="tab:blue", linewidth=4, marker="o", markersize=5,
                  markerfacecolor="black", markeredgewidth=0)[0]
        for _ in range(lines.shape[1])
    ]  # fmt: skip
    frames = []
    for k, t in enumerate(times):
        for bar, ends in zip(bars, lines[k]):
            bar.set_data(*ends.T)
        trail.set_data(*tips[max(0, k - 40) : k + 1].T)
        axis.set_title(f"t = {t:.2f} s")
        figure.canvas.draw()
        frames.append(Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB"))  # type: ignore[attr-defined]
    plt.close(figure)
    wait = round(1000 * span / max(1, len(times) - 1))
    return write_atomically(
        path,
        lambda file: frames[0].save(
            file, format="GIF", save_all=True, append_images=frames[1:], duration=wait, loop=0
        ),
    )


def _seen(points: np.ndarray, azimuth: float = -1.1, elevation: float = 0.25) -> np.ndarray:
    """Points as seen from afar: right and up."""
    c, s = np.cos(azimuth), np.sin(azimuth)
    up = np.array([-np.sin(elevation) * c, -np.sin(elevation) * s, np.cos(elevation)])
    return points @ np.stack([[-s, c, 0.0], up], axis=1)
