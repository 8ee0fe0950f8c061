"""Parts of systems whose attachments come and go."""

from __future__ import annotations

import numpy as np

import mozzi as mz
from mozzi.model.generate import chain

BAR = mz.Inertia(0.7, (0.02, 0.0, 0.01), 0.02 * np.diag([0.2, 1.0, 1.0]))


def bar() -> mz.Model:
    return mz.Builder("bar").add("bar", None, mz.Free(), BAR).build()


def arm() -> mz.Model:
    """Three oblique joints, and a hand off the last body's origin."""
    return chain(3, seed=4).with_frame("hand", 2, (0.1, 0.05, 0.3))


def flat(system: mz.ClosedSystem, table: dict) -> np.ndarray:
    return np.concatenate([table[n] for n in system.systems], axis=-1)
