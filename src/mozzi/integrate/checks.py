"""What callers hand to a simulation, checked where it enters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mozzi.errors import ConfigurationError, LoopError

__all__ = ["check_model", "check_state", "check_wrenches", "finite", "numbers", "positive"]


def check_model(model: Any) -> None:
    """A tree that moves."""
    if model.loops or model.distances or model.couplings:
        parts = [x.name for x in (*model.loops, *model.distances, *model.couplings)]
        raise LoopError(
            f"model {model.name!r} has loops or couplings ({', '.join(parts[:4])}), which simulate "
            "does not keep closed yet; simulate its tree, or lock the joints that they couple"
        )
    if model.nv == 0:
        raise ConfigurationError(f"model {model.name!r} has no joint that moves")


def check_state(model: Any, q0: Any, v0: Any) -> tuple[np.ndarray, np.ndarray]:
    """(q0, v0) as arrays of one batch."""
    q = model.normalize(model.check_configuration(q0))
    v = numbers(v0, "v0")
    if v.ndim == 0 or v.shape[-1] != model.nv:
        raise ConfigurationError(
            f"model {model.name!r}: v0 has shape {v.shape}; "
            f"give nv = {model.nv} numbers on the last axis"
        )
    try:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    except ValueError:
        raise ConfigurationError(
            f"the batch axes {q.shape[:-1]} of q0 and {v.shape[:-1]} of v0 do not broadcast"
        ) from None
    if 0 in batch:
        raise ConfigurationError(f"q0 and v0 have batch axes {batch}, which hold no sample")
    return (
        np.broadcast_to(q, (*batch, model.nq)).copy(),
        np.broadcast_to(v, (*batch, model.nv)).copy(),
    )


def check_wrenches(wrenches: Any, model: Any, batch: tuple[int, ...]) -> np.ndarray | None:
    """Wrenches of the batch."""
    if wrenches is None:
        return None
    W = numbers(wrenches, "wrenches")
    try:
        return np.broadcast_to(W, (*batch, model.nb, 6))
    except ValueError:
        raise ConfigurationError(
            f"wrenches have shape {W.shape}; give {(*batch, model.nb, 6)}"
        ) from None


def numbers(x: Any, name: str) -> np.ndarray:
    """An array of finite floats."""
    try:
        array = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise ConfigurationError(f"{name} holds something that is no number") from None
    if not np.isfinite(array).all():
        where = tuple(map(int, np.argwhere(~np.isfinite(array))[0]))
        raise ConfigurationError(f"{name}{list(where)} is not finite; give finite numbers")
    return array


def finite(x: Any, name: str) -> float:
    """A finite number."""
    try:
        value = float(x)
    except (TypeError, ValueError):
        raise ConfigurationError(f"{name} {x!r} is no number") from None
    if not math.isfinite(value):
        raise ConfigurationError(f"{name} {x!r} is not finite")
    return value


def positive(x: Any, name: str) -> float:
    """A positive number."""
    value = finite(x, name)
    if value <= 0.0:
        raise ConfigurationError(f"{name} {value:g} is not positive; give seconds > 0")
    return value
