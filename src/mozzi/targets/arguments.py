"""What is wrong with the arrays that a kernel was given, for its arguments or its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mozzi.errors import ConfigurationError, KindError, ShapeError
from mozzi.program.program import Input, Output

__all__ = ["check_arrays", "check_results"]


def check_arrays(function: str, inputs: Sequence[Input], arrays: Sequence[ArrayLike]) -> None:
    """Raise for arrays that do not end with the shapes of the inputs, hold no real numbers, or
    whose batch axes do not broadcast; nothing where all fit.
    """
    batches: dict[str, tuple[int, ...]] = {}
    for x, own in zip(arrays, inputs):
        x = np.asarray(x)
        edge = x.ndim - len(own.shape)
        if edge < 0 or x.shape[edge:] != own.shape:
            raise ShapeError(function, own.name, x.shape, own.shape)
        if x.dtype.kind not in "biuf":
            wanted = "real numbers (other numbers run with target='interpret')"
            raise KindError(function, own.name, x, wanted, f"{own.name} holds {x.dtype}")
        batches[own.name] = x.shape[:edge]
    try:
        np.broadcast_shapes(*batches.values())
    except ValueError:
        told = ", ".join(f"{name} {batch}" for name, batch in batches.items() if batch)
        raise ConfigurationError(f"{function}: batch axes do not broadcast: {told}") from None


def check_results(
    function: str, outputs: Sequence[Output], out: object, batch: tuple[int, ...], dtype: np.dtype
) -> None:
    """Raise for arrays given as ``out=`` that cannot take the results of samples (B); nothing where
    all can.
    """
    several = len(outputs) > 1
    wanted = "a tuple of arrays, or None, one for each result" if several else "an array"
    given = cast("tuple[object, ...]", out) if isinstance(out, tuple) else (out,)
    if len(given) != len(outputs):
        raise ConfigurationError(
            f"{function}: out is for {len(given)} of {len(outputs)} results; give {wanted}"
        )
    for k, (x, own) in enumerate(zip(given, outputs)):
        if x is None:
            continue
        if not isinstance(x, np.ndarray):
            raise KindError(function, "out", x, wanted)
        x = cast("NDArray[np.generic]", x)
        shape, name = (*batch, *own.shape), f"out[{k}]" if several else "out"
        core = len(own.shape)
        fits = x.shape[x.ndim - core :] == own.shape and x.ndim >= len(shape)
        lead = x.shape[x.ndim - core - len(batch) : x.ndim - core]
        if not fits or any(n not in (1, m) for n, m in zip(batch, lead)):
            raise ShapeError(function, name, x.shape, shape, f"give an array of shape {shape}")
        if not np.can_cast(dtype, x.dtype, "same_kind"):
            raise KindError(function, f"the type of {name}", x.dtype.name, f"{dtype} numbers")
        if not x.flags.writeable:
            raise ConfigurationError(
                f"{function}: {name} is read-only; give an array that can be written, such as "
                f"np.empty({shape})"
            )
