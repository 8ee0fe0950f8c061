"""What is wrong with the arrays that a kernel was given, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from mozzi.errors import ShapeError
from mozzi.program.program import Input

__all__ = ["check_arrays"]


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
            raise TypeError(
                f"{function}: {own.name} holds {x.dtype}; give real numbers (other numbers run "
                "with target='interpret')"
            )
        batches[own.name] = x.shape[:edge]
    try:
        np.broadcast_shapes(*batches.values())
    except ValueError:
        told = ", ".join(f"{name} {batch}" for name, batch in batches.items() if batch)
        raise ValueError(f"{function}: batch axes do not broadcast: {told}") from None
