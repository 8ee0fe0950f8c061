"""Loops that are widely open, where rows say nothing of how the closed mechanism moves: told.

Programs that count their rows count these as well (`rank_warnings`). Before others, on arrays, the
residual is looked at (`tell_open`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.guard import unchecked
from mozzi.algorithms.constraints.overconstrained import overconstrained
from mozzi.algorithms.constraints.rank import lengths, pinv, sines, what_counts
from mozzi.algorithms.constraints.rows.rows import (
    loop_acceleration,
    loop_jacobian,
    loop_residual,
    loop_rows,
)
from mozzi.algorithms.loops.shown import look_at
from mozzi.errors import OpenLoopWarning, warn
from mozzi.model import Distance, Loop, Model
from mozzi.types import Array, ArrayLike

__all__ = [
    "MISSED", "REST", "WIDE", "tell_open", "tell_opening", "tell_velocities", "warn_open",
    "warn_opening", "widely_open",
]  # fmt: skip

WIDE = 1e-3  # radians, or lengths of the mechanism
SOME = 1e-8  # from here on dependent rows may count in programs that do not choose
MISSED = 1e-6  # relative: rates of rows that are missed by more contradict one another
REST = 1e-12  # radians or lengths of the mechanism per second: rounding, of what stands still


def tell_open(function: str, model: Model, q: ArrayLike, v: ArrayLike | None = None) -> None:
    """Warn of the samples of q (…, nq) that are widely open, and look at the rank of those that are
    open at all (`shown`); with v (…, nv) of those whose velocities open the loops, too.
    """
    _tell_positions(function, model, q)
    if v is not None:
        tell_velocities(function, model, q, v)


def tell_velocities(function: str, model: Model, q: ArrayLike, v: ArrayLike) -> None:
    """Warn of the samples whose rows contradict each other with velocities that open the loops."""
    if not overconstrained(model):
        return
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    q, v = (np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v))
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        return  # which is told by what follows
    opening = _opening_at(model, q, v)[1]
    if opening.any():
        opening[opening] = _contradict(model, q[opening], v[opening])
        warn_opening(function, model, q, v, opening, batch)


def _contradict(model: Model, q: Array, v: Array) -> NDArray[np.bool_]:
    """In which states (samples, nq), (samples, nv) no accelerations meet all rows A a + Ȧ v = 0."""
    rows, columns = lengths(model)
    with unchecked():
        bias = loop_acceleration(model, q, v, np.zeros_like(v))[..., None] / rows[:, None]
        least = sines(model, loop_residual(model, q))
        A = what_counts(model, loop_jacobian(model, q), least) / rows[:, None] * columns
    left = np.linalg.norm(bias - A @ (pinv(A) @ bias), axis=(-2, -1))
    size = np.linalg.norm(bias, axis=(-2, -1)) + np.square(v / columns).sum(-1)
    return left > (MISSED + least) * size


def _tell_positions(function: str, model: Model, q: ArrayLike) -> None:
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


def warn_opening(
    function: str, model: Model, q: Array, v: Array, opening: NDArray[np.bool_],
    batch: tuple[int, ...],
) -> None:  # fmt: skip
    """Warn of those of the states (samples, nq), (samples, nv) whose velocities open the loops, so
    that rows which depend on one another where they stay closed contradict each other. (Rows that
    do so where velocities keep them closed are those of singular configurations.)
    """
    rates, opens = _opening_at(model, q[opening], v[opening])
    if not opens.any():
        return
    most = rates[opens].max(0)
    fastest = {name: float(most[s].max(initial=0.0)) for name, s in loop_rows(model).items()}
    part = max(fastest, key=fastest.__getitem__)
    where = f"in {opens.sum()} of {len(opening)} samples" if batch else "with these velocities"
    loop = f"loop {part!r} of model {model.name!r}"
    remedy = "mozzi.consistent_velocities(model, q, v)"
    tell_opening(function, loop, fastest[part], where, remedy)


def tell_opening(function: str, loop: str, speed: float, where: str, remedy: str) -> None:
    """Warn of a loop that opens at a speed, so that its rows contradict each other."""
    warn(
        f"{function}: {loop} opens at {speed:.3g} (m/s or rad/s) {where}, and its rows contradict "
        "each other there: the answer is that of the rows that count; call "
        f"{remedy} first",
        OpenLoopWarning,
    )


def _opening_at(model: Model, q: Array, v: Array) -> tuple[Array, NDArray[np.bool_]]:
    """How fast rows of states (samples, nq), (samples, nv) open, and whether any does."""
    rows, columns = lengths(model)
    with unchecked():
        rates = np.abs((loop_jacobian(model, q) @ v[..., None])[..., 0])
    speed = np.abs(v / columns).max(-1, initial=0.0)
    return rates, (rates / rows).max(-1, initial=0.0) > np.maximum(MISSED * speed, REST)


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
