"""What closures and drives exert along a motion, and the work of the drives."""

from __future__ import annotations

import numpy as np

from mozzi.algorithms.constraints.overconstrained import overconstrained
from mozzi.algorithms.constraints.rank import pinv, sines, what_counts
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_residual, loop_rows
from mozzi.model import Drive, Model
from mozzi.simulation.forces.drives import Drives
from mozzi.types import Array

__all__ = ["DRIVE", "integral", "shared_reactions"]

DRIVE = "drive:"  # before the names of driven joints
NODES = 6  # of the polynomials that are integrated


def shared_reactions(
    model: Model, user: Model, drives: Drives | None, t: Array, q: Array, force: Array
) -> dict[str, Array]:
    """Aᵀ λ = force (B, n, nv) shared out, of least norm: "loop_forces" (B, n, m) of the rows of the
    user's model, "drive:joint" (B, n, nv of it), and "drive_power" (B, n).
    """
    least: Array | float = 0.0
    given = None if drives is None else drives.on_arrays(t)
    if overconstrained(model):
        residual = loop_residual(model, q)
        least = sines(model, residual if given is None else residual - given["loop_offsets"])
    At = np.swapaxes(what_counts(model, loop_jacobian(model, q), least), -1, -2)
    lam = (pinv(At) @ force[..., None])[..., 0]
    rows = loop_rows(model)
    own = [lam[..., rows[name]] for name in loop_rows(user)]
    none = np.zeros((*lam.shape[:-1], 0))
    out = {"loop_forces": np.concatenate([*own, none], axis=-1)}
    for part in model.drives:
        if isinstance(part, Drive):
            out[part.name] = lam[..., rows[part.name]]
    rates = 0.0 if given is None else given["loop_rates"]
    return out | {"drive_power": (lam * rates).sum(axis=-1)}


def integral(t: Array, y: Array) -> Array:
    """∫ y dt (B, n) from the first time on, of samples y (B, n): polynomials through the six
    samples around every interval.
    """
    n = len(t)
    out = np.zeros(y.shape)
    if n < 2:
        return out
    size = min(NODES, n)
    first = np.clip(np.arange(n - 1) - (size // 2 - 1), 0, n - size)
    nodes = first[:, None] + np.arange(size)
    h = t[nodes[:, -1]] - t[nodes[:, 0]]
    x = (t[nodes] - t[nodes[:, :1]]) / h[:, None]  # 0 to 1
    powers = np.arange(size)
    V = x[:, None, :] ** powers[:, None]  # of the monomials
    a, b = ((t[k : n - 1 + k] - t[nodes[:, 0]]) / h for k in (0, 1))
    moments = (b[:, None] ** (powers + 1) - a[:, None] ** (powers + 1)) / (powers + 1)
    weights = np.linalg.solve(V, moments[..., None])[..., 0] * h[:, None]
    out[..., 1:] = np.cumsum((y[..., nodes] * weights).sum(axis=-1), axis=-1)
    return out
