"""What functions of a motion whose zeros are looked for may give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mozzi.errors import ConfigurationError, KindError, ShapeError
from mozzi.types import Array

if TYPE_CHECKING:
    from mozzi.simulation.methods.dormand_prince import EventFunction

__all__ = ["event_values"]


def event_values(event: EventFunction, t: Array, q: Array, v: Array) -> Array:
    """g(t, q, v), one number for each time; what is none is an error.

    A truth value is none: it has no zero between False and True.
    """
    found = event(t, q, v)
    what = f"what event {getattr(event, '__name__', type(event).__name__)} gives"
    try:
        values = np.asarray(found)
    except ValueError:  # rows of different lengths
        values = np.asarray(None)
    if values.dtype.kind not in "iuf":
        instead = ": z - h, not z < h" if values.dtype.kind == "b" else ""
        wanted = f"a number for each sample, whose zero is looked for{instead}"
        raise KindError("simulate", what, found, wanted)
    try:
        g = np.broadcast_to(values.astype(float), np.shape(t))
    except ValueError:
        fact = f"give one number for each sample: {np.shape(t)}"
        raise ShapeError("simulate", what, values.shape, np.shape(t), fact) from None
    if np.isnan(g).any():  # unless the motion itself is lost, which others tell
        fine = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
        if (lost := np.isnan(g) & fine).any():
            raise ConfigurationError(
                f"simulate: {what} is NaN at t = {np.asarray(t)[lost].flat[0]:g} s, which has no "
                "zero; give a number in every state"
            )
    return g
