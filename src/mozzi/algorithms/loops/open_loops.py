"""Loops that are widely open, where rows say nothing of how the closed mechanism moves: told.

Programs that count their rows count these as well (`rank_warnings`). Before others, on arrays, the
residual is looked at (`tell_open`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.guard import unchecked
from mozzi.algorithms.constraints.rank import lengths
from mozzi.algorithms.constraints.rows.rows import loop_residual, loop_rows
from mozzi.algorithms.loops.shown import look_at
from mozzi.errors import OpenLoopWarning, warn
from mozzi.model import Distance, Loop, Model
from mozzi.types import Array, ArrayLike

__all__ = ["WIDE", "tell_open", "warn_open", "widely_open"]

WIDE = 1e-3  # radians, or lengths of the mechanism
SOME = 1e-8  # from here on dependent rows may count in programs that do not choose


def tell_open(function: str, model: Model, q: ArrayLike) -> None:
    """Warn of the samples of q (…, nq) that are widely open, and look at the rank of those that are
    open at all (`shown`).
    """
    q = np.asarray(q, dtype=float)
    if not np.isfinite(q).all():
        return  # which is told by what follows
    gap2 = _open_by(model, q)
    some = gap2 > SOME * SOME
    if not some.any():
        return
    wide = gap2 > WIDE * WIDE
    if wide.any():
        warn_open(function, model, q.reshape(-1, q.shape[-1]), wide.ravel(), wide.shape)
    look_at(model, q[some & ~wide])


def widely_open(model: Model, q: ArrayLike) -> NDArray[np.bool_]:
    """Whether the loops are open by more than `WIDE` at q (…, nq)."""
    return _open_by(model, q) > WIDE * WIDE


def _open_by(model: Model, q: ArrayLike) -> Array:
    """The square of how open the loops are at q (…, nq), in radians or lengths."""
    key = "measures of open rows"
    if key not in model.cache:
        model.cache[key] = _bending(model) / lengths(model)[0]
    with unchecked():
        gap = loop_residual(model, q) * model.cache[key]
    return np.asarray(np.square(gap).sum(axis=-1))


def warn_open(
    function: str, model: Model, q: Array, wide: NDArray[np.bool_], batch: tuple[int, ...]
) -> None:
    """Warn of those of the configurations q (samples, nq) that are widely open."""
    part, gap = _widest(model, q[wide])
    where = f"in {wide.sum()} of {len(q)} samples" if batch else "at this configuration"
    warn(
        f"{function}: loop {part!r} of model {model.name!r} is open by {gap:.3g} (m or rad) "
        f"{where}; its rows there say nothing of how the closed mechanism moves; call "
        "mozzi.assemble(model, q) first",
        OpenLoopWarning,
    )


def _bending(model: Model) -> NDArray[np.bool_]:
    """Which rows are others where they are open: not those of couplings, drives and velocities."""
    bent = [[isinstance(x, Loop | Distance)] * x.rows for x in model.closures]
    return np.array([x for rows in bent for x in rows], dtype=bool)


def _widest(model: Model, q: Array) -> tuple[str, float]:
    """What closes the loops and is open most in these configurations (B, nq), and by how much."""
    gap = np.abs(loop_residual(model, q) * _bending(model)).max(0)
    gaps = {name: float(gap[s].max(initial=0.0)) for name, s in loop_rows(model).items()}
    part = max(gaps, key=gaps.__getitem__)
    return part, gaps[part]
