# pyright: basic
# (Matplotlib is typed in part)
"""Trajectories as figures."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mozzi.errors import ExtraMissingError
from mozzi.model.kinds import kinds

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mozzi.simulation.trajectories.trajectory import Sample, Trajectory

__all__ = ["plot", "pyplot"]

MANY = 14  # lines that a legend can name
TITLES = {
    ("q", "length"): "positions / m", ("q", "angle"): "angles / rad",
    ("q", "quaternion"): "quaternions (x, y, z, w)", ("v", "length"): "velocities / m/s",
    ("v", "angle"): "angular velocities / rad/s",
}  # fmt: skip


def pyplot() -> ModuleType:
    """matplotlib.pyplot, or an error that says where to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ExtraMissingError(
            "plots need matplotlib; install it with: pip install 'mozzi[viz]'"
        ) from None
    return plt


def plot(
    trajectory: Trajectory, path: str | os.PathLike[str] | None = None, sample: Sample | None = None
) -> Figure:
    """A figure of coordinates and velocities by kind, energies and their drift over time.

    Of a batch: one sample, the first unless told; the drift of all samples. The drift is left out
    where something drives or brakes.
    """
    plt = pyplot()
    whole = trajectory
    if trajectory.batch or sample is not None:
        trajectory = trajectory[(0,) * len(trajectory.batch) if sample is None else sample]
    t, model = trajectory.t, trajectory.model
    panels = _panels(trajectory)
    count = len(panels) + (1 if whole.driven else 2)
    rows = (count + 1) // 2
    figure, grid = plt.subplots(
        rows, 2, figsize=(13, 1.2 + 2.6 * rows), sharex=True, squeeze=False, layout="constrained",
        FigureClass=_shown(),
    )  # fmt: skip
    axes = grid.T.ravel()[:count]
    for axis in grid.T.ravel()[count:]:
        axis.set_axis_off()
    for axis, (title, values, names) in zip(axes, panels):
        _lines(axis, t, values, names, title)
    energy = axes[len(panels)]
    kinetic, potential = trajectory.kinetic_energy(), trajectory.potential_energy()
    for values, label in ((kinetic, "kinetic"), (potential, "potential")):
        energy.plot(t, values, label=label, linewidth=1.2)
    energy.plot(t, kinetic + potential, label="total", color="black", linewidth=1.2)
    gravity = "gravity and springs" if trajectory.springs else "gravity"
    energy.set_ylabel(f"energy / J ({gravity})")
    _legend(energy)
    if not whole.driven:
        _drift(axes[-1], t, whole.energy().reshape(-1, len(t)))
    for axis in axes:
        axis.grid(True, alpha=0.3)
        axis.margins(x=0.01)
    for axis in (axes[rows - 1], axes[-1]):
        axis.set_xlabel("t / s")
        axis.tick_params(labelbottom=True)
    name = f"{model.name}, " if model is not None else ""
    batch = f", {int(np.prod(whole.batch))} samples" if whole.batch else ""
    figure.suptitle(f"{name}{trajectory.method}{batch}{', driven or braked' * whole.driven}")
    if path is not None:
        from mozzi.files import write_atomically

        target = Path(path)
        kind = target.suffix.lstrip(".") or "png"
        write_atomically(target, lambda file: figure.savefig(file, format=kind, dpi=150))
        plt.close(figure)
    return figure


def _panels(x: Trajectory) -> list[tuple[str, np.ndarray, list[str]]]:
    """Title, values and names of the panels of q and v: one for each kind there is."""
    if x.model is None:
        return [
            ("coordinates q", x.q, [f"q{k}" for k in range(x.q.shape[-1])]),
            ("velocities v", x.v, [f"v{k}" for k in range(x.v.shape[-1])]),
        ]
    q_kinds, v_kinds = kinds(x.model)
    out = []
    for letter, values, names, own in (
        ("q", x.q, x.model.q_names, q_kinds), ("v", x.v, x.model.v_names, v_kinds),
    ):  # fmt: skip
        for kind in ("length", "angle", "quaternion"):
            some = [k for k, other in enumerate(own) if other == kind]
            if some:
                title = TITLES[letter, kind]
                out.append((title, values[:, some], [names[k] for k in some]))
    return out


@cache
def _shown() -> type[Figure]:
    """A figure that a notebook shows once: as the value of a cell, or else at its end."""
    plt = pyplot()
    from matplotlib.figure import Figure

    class Shown(Figure):
        def _ipython_display_(self) -> None:
            from IPython.display import Image, display

            picture = io.BytesIO()
            self.savefig(picture, format="png", dpi=80, bbox_inches="tight")
            display(Image(picture.getvalue()))
            plt.close(self)

    return Shown


def _lines(
    axis: Axes, t: np.ndarray, values: np.ndarray, names: Sequence[str], label: str
) -> None:
    for k, name in enumerate(names):
        axis.plot(t, values[:, k], linewidth=1.0, label=str(name))
    axis.set_ylabel(label)
    if len(names) <= MANY:
        _legend(axis)
    else:
        axis.set_title(f"{len(names)} of them", fontsize="small", loc="right")


def _legend(axis: Axes) -> None:
    """Beside the curves, never on them."""
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="x-small", frameon=False)


def _drift(axis: Axes, t: np.ndarray, energy: np.ndarray) -> None:
    """|E − E₀| of some samples, on a logarithmic axis that shows rounding as such."""
    change = np.abs(energy - energy[:, :1])
    for row in change[:32]:
        axis.plot(t, row, linewidth=0.9, color="tab:red", alpha=1.0 if len(change) == 1 else 0.35)
    top = np.nanmax(change, initial=0.0)
    if top > 0.0:
        axis.set_yscale("log")
        axis.set_ylim(max(top * 1e-8, 1e-18), top * 3.0)
    axis.set_ylabel("energy error |E − E₀| / J")
