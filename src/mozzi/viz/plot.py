"""Trajectories as figures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from mozzi.errors import ExtraMissingError

__all__ = ["plot", "pyplot"]

MANY = 12  # lines that a legend can name


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says where to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ExtraMissingError(
            "plots need matplotlib; install it with: pip install 'mozzi[viz]'"
        ) from None
    return plt


def plot(trajectory: Any, path: str | os.PathLike[str] | None = None, sample: Any = None) -> Any:
    """A figure of coordinates, velocities, energies and their drift over time.

    Of a batch: one sample, the first unless told; the drift of all samples.
    """
    plt = pyplot()
    whole = trajectory
    if trajectory.batch:
        trajectory = trajectory[(0,) * len(trajectory.batch) if sample is None else sample]
    t, model = trajectory.t, trajectory.model
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), sharex=True, layout="constrained")
    q, v = trajectory.q, trajectory.v
    q_names = [f"q{k}" for k in range(q.shape[-1])] if model is None else model.q_names
    v_names = [f"v{k}" for k in range(v.shape[-1])] if model is None else model.v_names
    _lines(axes[0, 0], t, q, q_names, "coordinates q / m, rad")
    _lines(axes[1, 0], t, v, v_names, "velocities v / m/s, rad/s")
    kinetic, potential = trajectory.kinetic_energy(), trajectory.potential_energy()
    for values, label in ((kinetic, "kinetic"), (potential, "potential")):
        axes[0, 1].plot(t, values, label=label, linewidth=1.2)
    axes[0, 1].plot(t, kinetic + potential, label="total", color="black", linewidth=1.2)
    axes[0, 1].set_ylabel("energy / J")
    axes[0, 1].legend(loc="upper right", fontsize="small")
    _drift(axes[1, 1], t, whole.energy().reshape(-1, len(t)))
    for axis in axes.flat:
        axis.grid(True, alpha=0.3)
        axis.margins(x=0.01)
    for axis in axes[1]:
        axis.set_xlabel("t / s")
    name = f"{model.name}, " if model is not None else ""
    batch = f", {int(np.prod(whole.batch))} samples" if whole.batch else ""
    figure.suptitle(f"{name}{trajectory.method}{batch}")
    if path is not None:
        from mozzi.files import write_atomically

        target = Path(path)
        kind = target.suffix.lstrip(".") or "png"
        write_atomically(target, lambda file: figure.savefig(file, format=kind, dpi=150))
        plt.close(figure)
    return figure


def _lines(axis: Any, t: np.ndarray, values: np.ndarray, names: Any, label: str) -> None:
    for k, name in enumerate(names):
        axis.plot(t, values[:, k], linewidth=1.0, label=str(name))
    axis.set_ylabel(label)
    if len(names) <= MANY:
        axis.legend(loc="upper right", fontsize="small", ncols=1 + (len(names) > 6))


def _drift(axis: Any, t: np.ndarray, energy: np.ndarray) -> None:
    """|E − E₀| of some samples, on a logarithmic axis that shows rounding as such."""
    change = np.abs(energy - energy[:, :1])
    for row in change[:32]:
        axis.plot(t, row, linewidth=0.9, color="tab:red", alpha=1.0 if len(change) == 1 else 0.35)
    top = np.nanmax(change, initial=0.0)
    if top > 0.0:
        axis.set_yscale("log")
        axis.set_ylim(max(top * 1e-8, 1e-18), top * 3.0)
    axis.set_ylabel("change of energy |E − E₀| / J")
