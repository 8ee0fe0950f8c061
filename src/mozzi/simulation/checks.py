"""What callers hand to a simulation, checked where it enters."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mozzi.algorithms.calls.guard import unchecked
from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.constraints.overconstrained import overconstrained, rows_in_all
from mozzi.algorithms.constraints.row_choice import loop_rank
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_residual, loop_rows
from mozzi.algorithms.loops.shown import choose, look_at
from mozzi.errors import ConfigurationError, ContactWarning, LoopError, warn
from mozzi.model import Model
from mozzi.model.parameters.named import geometric
from mozzi.simulation.depths import depths
from mozzi.simulation.parameters import Varying
from mozzi.types import Array, ArrayLike

__all__ = [
    "check_closed", "check_model", "check_state", "check_wrenches", "finite", "look_at_rank",
    "numbers", "positive", "tell_overlaps",
]  # fmt: skip

OVERLAP = 1e-3  # m: shapes that are deeper in each other are not so by accident
OPEN = 1e-6  # loops that are open by more are not closed by accident


def check_model(model: Model) -> None:
    """A mechanism that moves."""
    if model.nv == 0:
        raise ConfigurationError(f"model {model.name!r} has no joint that moves")


def check_state(
    model: Model, q0: ArrayLike, v0: ArrayLike, varying: Varying | None = None,
    start: Callable[[Array, Array], tuple[Array, Array]] | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """(q0, v0) as arrays of one batch, which is also that of what varies; start: what laws of time
    make of them.
    """
    varying = varying or Varying(model)
    q = model.normalize(model.check_configuration(q0))
    v = numbers(v0, "v0")
    if v.ndim == 0 or v.shape[-1] != model.nv:
        raise ConfigurationError(
            f"model {model.name!r}: v0 has shape {v.shape}; "
            f"give nv = {model.nv} numbers on the last axis"
        )
    try:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], varying.batch)
    except ValueError:
        more = f", and {varying.batch} of parameters" if varying.batch else ""
        raise ConfigurationError(
            f"the batch axes {q.shape[:-1]} of q0 and {v.shape[:-1]} of v0{more} do not broadcast"
        ) from None
    if 0 in batch:
        raise ConfigurationError(f"q0 and v0 have batch axes {batch}, which hold no sample")
    q = np.broadcast_to(q, (*batch, model.nq)).copy()
    v = np.broadcast_to(v, (*batch, model.nv)).copy()
    if start is not None:
        return start(q, v)
    if closed(model):
        check_closed(model, q, v, varying)
    return q, v


def check_closed(model: Model, q: Array, v: Array, varying: Varying | None = None) -> None:
    """Loops that are closed, and velocities that keep them so; what little is missing is mended
    by the first step. Their rank is looked at.
    """
    varying = varying or Varying(model)
    gap, part = _worst(model, varying.of(loop_residual, q))
    if gap > OPEN:
        raise LoopError(
            f"loop {part!r} is open by {gap:.2e} (m or rad); call mozzi.assemble(model, q) first"
        )
    rate, part = _worst(model, (varying.of(loop_jacobian, q) @ v[..., None])[..., 0])
    if rate > OPEN * (1.0 + np.abs(v).max(initial=0.0)):
        raise LoopError(
            f"loop {part!r} opens at {rate:.2e} (m/s or rad/s); "
            "call mozzi.consistent_velocities(model, q, v) first"
        )
    look_at_rank(model, q, varying)


def tell_overlaps(model: Model, q: Array, varying: Varying) -> None:
    """Warn where rigid shapes are deep in each other at the start: a base at the origin, for one,
    with its feet below the ground.
    """
    deepest = {x: float(depth.max()) for x, depth in depths(model, q, varying).items()}
    worst = max(deepest, key=deepest.__getitem__, default=None)
    if worst is not None and deepest[worst] > OVERLAP:
        warn(
            f"shape {worst.shape_a!r} is {deepest[worst]:.2g} m deep in {worst.shape_b!r} at the "
            "start, and is pushed out; start where mozzi.contact_gaps(model, q0) is not negative",
            ContactWarning,
        )


def look_at_rank(model: Model, q: Array, varying: Varying | None = None) -> None:
    """Whether rows depend on one another at q, by what counts them in a simulation. Of models with
    other lengths it cannot be told whether q is singular.
    """
    if not closed(model) or overconstrained(model):
        return
    varying = varying or Varying(model)
    with unchecked():
        rank = varying.of(loop_rank, q)[0]
    if not geometric(model, varying.names):
        look_at(model, q, lambda: rank)
    elif (rank < rows_in_all(model)).any():
        choose(model)


def _worst(model: Model, rows: Array) -> tuple[float, str]:
    """The largest entry of rows, and whose row it is."""
    size = np.abs(rows).max(axis=tuple(range(rows.ndim - 1)), initial=0.0)
    names = {name: size[s].max(initial=0.0) for name, s in loop_rows(model).items()}
    worst = max(names, key=names.__getitem__)
    return float(names[worst]), worst


def check_wrenches(
    wrenches: ArrayLike | None, model: Model, batch: tuple[int, ...]
) -> Array | None:
    """Wrenches of the batch."""
    if wrenches is None:
        return None
    W = numbers(wrenches, "wrenches")
    try:
        if W.shape[-2:] == (model.nb, 6):  # one for all would be none that anybody meant
            return np.broadcast_to(W, (*batch, model.nb, 6))
    except ValueError:
        pass
    raise ConfigurationError(f"wrenches have shape {W.shape}; give {(*batch, model.nb, 6)}")


def numbers(x: ArrayLike, name: str) -> Array:
    """An array of finite floats."""
    try:
        array = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise ConfigurationError(f"{name} holds something that is no number") from None
    if not np.isfinite(array).all():
        where = tuple(map(int, np.argwhere(~np.isfinite(array))[0]))
        raise ConfigurationError(f"{name}{list(where)} is not finite; give finite numbers")
    return array


def finite(x: float, name: str) -> float:
    """A finite number."""
    try:
        value = float(x)
    except (TypeError, ValueError):
        raise ConfigurationError(f"{name} {x!r} is no number") from None
    if not math.isfinite(value):
        raise ConfigurationError(f"{name} {x!r} is not finite")
    return value


def positive(x: float, name: str) -> float:
    """A positive number."""
    value = finite(x, name)
    if value <= 0.0:
        raise ConfigurationError(f"{name} {value:g} is not positive; give seconds > 0")
    return value
