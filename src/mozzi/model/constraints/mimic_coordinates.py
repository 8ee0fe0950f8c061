"""Coordinates that satisfy couplings: the nearest ones, within the limits of the joints.

In dynamics couplings (mimic joints of a file) act as rows:
`algorithms/constraints/rows/mimic_couplings.py`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mozzi.model.model import Model

__all__ = ["coupled", "followed", "limits"]

ROUNDS = 500
INSIDE = 1e-9  # share of a range that a coordinate keeps from its ends


def limits(model: Model) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper limits of q, infinite where there are none."""
    low = np.array([x for body in model for x in body.dynamics.lower], dtype=float)
    high = np.array([x for body in model for x in body.dynamics.upper], dtype=float)
    return low, high


def _rows(model: Model) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """C and b of C q = b."""
    C = np.zeros((len(model.couplings), model.nq))
    b = np.array([coupling.offset for coupling in model.couplings])
    for row, coupling in zip(C, model.couplings, strict=True):
        for joint, k, c in coupling.terms:
            row[model.q_slices[joint].start + k] += c
    return C, b


def followed(model: Model, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """q (n, nq) with some coordinates changed to those that follow from the others by couplings;
    NaN where that leads outside of the limits.
    """
    C, b = _rows(model)
    left, followers = C.copy(), list[int]()
    for row in range(len(C)):  # Gauss, by the largest entry of each row
        k = int(np.abs(left[row]).argmax())
        if abs(left[row, k]) > 1e-12:
            followers.append(k)
            rest = left[row + 1 :]
            rest -= np.outer(rest[:, k] / left[row, k], left[row])
    out = q.astype(float)
    out[:, followers] = 0.0
    out[:, followers] = (b - out @ C.T) @ np.linalg.pinv(C[:, followers]).T
    low, high = limits(model)
    out[((out < low) | (out > high)).any(axis=-1)] = np.nan
    return out


def coupled(
    model: Model, q: NDArray[np.float64], given: Collection[str] = ()
) -> NDArray[np.float64]:
    """q (..., nq) moved as little as the couplings C q = b ask for, joints that are given last.

    Projected in turn onto the couplings and into the limits, both convex, until it is in both;
    where there is no such point, couplings win.
    """
    if not model.couplings:
        return q
    C, b = _rows(model)
    weight = np.ones(model.nq)
    for joint in given:
        if joint in model.q_slices:
            weight[model.q_slices[joint]] = 1e-9
    back = weight[:, None] * np.linalg.pinv(C * weight)
    low, high = limits(model)
    margin = np.where(np.isfinite(high - low), INSIDE * (high - low), 0.0)
    out = q.astype(float)
    for _ in range(ROUNDS):
        out = out - (out @ C.T - b) @ back.T
        if given or not ((out < low) | (out > high)).any():
            break
        out = np.clip(out, low + margin, high - margin)
    out = out - (out @ C.T - b) @ back.T
    return out - (out @ C.T - b) @ back.T  # once more, for what rounding left
