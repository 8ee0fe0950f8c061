"""Rows of what follows a law of time: the coordinates of driven joints, residuals of loops.

What the law is stands in `Moving`: the coordinates that are given, and offsets of residuals. Rates
and accelerations of rows come to the dynamics as arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from mozzi.algorithms.calls.inlining import placed, whole
from mozzi.algorithms.constraints.rows.relative_motion import Moving, Rows
from mozzi.algorithms.constraints.rows.velocity_rows import blocks_of
from mozzi.algorithms.kinematics.configuration import rates
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.model import Drive, Guided, Model
from mozzi.program.differentiate import forward
from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = ["drive_rows", "guided_rows"]


def drive_rows(model: Mechanism, drive: Drive, move: Moving) -> Rows:
    """The coordinates of a joint, away from those that a law gives it; any, where none is given."""
    i = model.at(model.model.joint_index(drive.joint))
    n = i.joint.nv
    which = range(n) if drive.component is None else (drive.component,)
    block: list[list[Real]] = [[1.0 if r == k else 0.0 for k in range(n)] for r in which]

    def open_by(_: bool) -> Sequence[Real]:
        if move.given is None:
            return [0.0] * len(which)
        away = i.joint.difference(move.given[i], move.q[i])
        return [away[k] for k in which]

    return Rows(drive.name, {}, {i.index: block}, open_by, [0.0] * len(which))


def guided_rows(
    model: Mechanism, part: Guided, move: Moving, residual: Callable[[Model, Traced], Traced]
) -> Rows:
    """φ of a loop with the rows ∂φ/∂q and the rate of these, by differentiation of its residual."""
    names, arrays = ["q"], [whole(model, move.q)]
    if move.v is not None:
        names, arrays = [*names, "v"], [*arrays, whole(model, move.v)]
    make = partial(_guided, part, residual)
    phi, A, *rate = placed(model.model, (part, len(names)), make, names, arrays)
    bias: Sequence[Real] = list(rate[0]) if rate else [0.0] * part.rows
    return Rows(part.name, {}, blocks_of(model, A), lambda _: list(phi), bias)


def _guided(
    part: Guided, residual: Callable[[Model, Traced], Traced], model: Model, q: Traced,
    v: Traced | None = None,
) -> tuple[Traced, ...]:  # fmt: skip
    """φ, ∂φ/∂q along the group, and where velocities are known (∂φ/∂q)˙ v."""
    alone = model._replace(  # pyright: ignore[reportPrivateUsage]
        loops=(part.loop,), distances=(), couplings=(), rollings=(), velocity_rows=(), drives=()
    )
    phi = residual(alone, q)
    units = np.eye(model.nv)
    N = np.stack([rates(model, q, unit) for unit in units], axis=-1)
    A = forward(phi, q, N)
    if v is None:
        return phi, A
    return phi, A, forward(A, q, rates(model, q, v)) @ v
