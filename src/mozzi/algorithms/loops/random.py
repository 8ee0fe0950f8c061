"""Random configurations of closed mechanisms."""

from __future__ import annotations

import math

import numpy as np

from mozzi.algorithms.constraints.regions import Stuck
from mozzi.algorithms.constraints.single_loops import LARGE
from mozzi.algorithms.kinematics.inverse_kinematics import bounds_of
from mozzi.algorithms.loops.assemble import assemble
from mozzi.algorithms.loops.inverse_kinematics import CLOSED, closed_near
from mozzi.errors import LoopError
from mozzi.model import Model
from mozzi.types import Array

__all__ = ["random_closed"]

ROUNDS, STEPS = 40, 80
MORE_ROUNDS = 120  # of large mechanisms, in which few joints are drawn again


def random_closed(
    model: Model, rng: np.random.Generator, batch: tuple[int, ...]
) -> np.ndarray:
    """Configurations (*batch, nq) that are closed, within limits: random ones, closed from there,
    and drawn again where that gets stuck. Of large mechanisms only joints of loops that are stuck
    are drawn again: of many loops one nearly always is.
    """
    count = math.prod(batch)
    out = np.empty((count, model.nq))
    left, bounds = np.arange(count), bounds_of(model, limits=True)
    guess = model.random_configuration(rng, count, closed=False)
    stuck = Stuck(model, count) if model.nv > LARGE else None
    rounds = ROUNDS if stuck is None else MORE_ROUNDS
    for _ in range(rounds):
        goals = np.empty((len(left), 0, 4, 4))
        q, r, _ = closed_near(model, guess, goals, (), (), bounds, 0.0, STEPS)
        good = np.abs(r).max(-1, initial=0.0) <= 10.0 * CLOSED
        out[left[good]] = q[good]
        left, q, r = left[~good], q[~good], r[~good]
        if not len(left):
            break
        guess = model.random_configuration(rng, len(left), closed=False)
        if stuck is not None:
            again = np.repeat(stuck.joints(left, r), np.diff(model.q_offsets), axis=-1)
            guess = np.where(again, guess, q)
    if len(left):
        raise LoopError(
            f"model {model.name!r}: none of {rounds} random configurations could be closed within "
            "the limits; call mozzi.assemble(model, q) on a guess, or "
            f"random_configuration(closed=False){_beyond(model, bounds)}"
        )
    return out.reshape(*batch, model.nq)


def _beyond(model: Model, bounds: tuple[Array, Array]) -> str:
    """Which joints are outside their limits where the loops close nearest to the neutral
    configuration: limits that exclude it are a mistake of the file.
    """
    try:
        q = assemble(model, model.neutral())
    except LoopError:
        return ""
    low, high = bounds
    found = [
        f"{name!r} at {x:.4g} (limits {a:.4g} to {b:.4g})"
        for name, x, a, b in zip(model.q_names, q, low, high, strict=True)
        if x < a - 1e-9 or x > b + 1e-9
    ]
    if not found:
        return ""
    return (
        f". Closed nearest to the neutral configuration, joints are outside: {', '.join(found)}; "
        "widen them with model.with_dynamics(joint, limits=(lower, upper))"
    )
