"""Derivatives without formulas: complex steps and 50-digit differences along the group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

import mozzi as mz
from mozzi.model import Model

STEP = 1e-30  # of complex steps: nothing is subtracted


def moved(model: Model, q: Any, dv: Any) -> np.ndarray:
    """q ⊕ dv on numbers of any kind."""
    return np.asarray(mz.integrate.python(model, list(q), list(dv)), dtype=object)


def complex_steps(function: Callable[[Any], Any], model: Model, q: Any) -> np.ndarray:
    """∂f/∂q along the group, the last axis: the imaginary part at q ⊕ iε e."""
    columns = []
    for e in np.eye(model.nv):
        out = function(moved(model, [complex(x) for x in q], 1j * STEP * e))
        columns.append(np.array(out, dtype=complex).imag / STEP)
    return np.stack(columns, axis=-1)


def complex_columns(function: Callable[[Any], Any], x: Any) -> np.ndarray:
    """∂f/∂x of a vector x, the last axis."""
    columns = []
    for e in np.eye(len(x)):
        out = function(np.asarray(x, dtype=complex) + 1j * STEP * e)
        columns.append(np.array(out, dtype=complex).imag / STEP)
    return np.stack(columns, axis=-1)


def fifty_digits(function: Callable[[Any], Any], model: Model, q: Any) -> np.ndarray:
    """∂f/∂q along the group, by differences of 50-digit numbers."""
    with mpmath.workdps(50):
        h = mpmath.mpf(10) ** -16
        columns = []
        for e in np.eye(model.nv):
            ends = []
            for sign in (1, -1):
                dv = [sign * h * int(x) for x in e]
                ends.append(np.asarray(function(moved(model, map(mpmath.mpf, q), dv))))
            columns.append(np.array((ends[0] - ends[1]) / (2 * h), dtype=float))
        return np.stack(columns, axis=-1)
