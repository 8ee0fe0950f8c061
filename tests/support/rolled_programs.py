"""Rolled programs beside straight-line ones."""

from collections.abc import Callable

import numpy as np

import mozzi as mz


def rolled_as_straight(
    function: Callable, model: mz.Model, *arrays: np.ndarray, **options: object
) -> None:
    """They give the same."""
    found = []
    for rolled in (True, False):
        kernel = mz.compile(function, model, target="interpret", rolled=rolled, options=options)
        out = kernel(*arrays)
        found.append(out if isinstance(out, tuple) else (out,))
    for x, y in zip(*found, strict=True):
        size = max(1.0, np.abs(y).max(initial=0.0))
        np.testing.assert_allclose(x, y, rtol=0.0, atol=3e-10 * size, err_msg=str(function))
