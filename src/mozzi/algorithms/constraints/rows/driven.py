"""Rows of what follows a law of time: the coordinates of driven joints, residuals of loops.

What the law is stands in `Moving`: the coordinates that are given, and offsets of residuals. Rates
and accelerations of rows come to the dynamics as arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from mozzi.algorithms.calls.inlining import placed
from mozzi.algorithms.constraints.rows.joints import frames_of, meet
from mozzi.algorithms.constraints.rows.relative_motion import Moving, Pair, Rows
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.lie import SE3, Rotation, Screws, Vec3, Wrench
from mozzi.model import Drive, Guided, Model
from mozzi.program.differentiate import forward
from mozzi.program.program import Input
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


def guided_rows(model: Mechanism, part: Guided, move: Moving) -> Rows:
    """φ of a loop with the rows ∂φ/∂q and the rate of these, exact also where it is far from zero.

    φ is a function of the pose G of B in A, which moves with its twist V in frame B: φ̇ = D(G) V,
    where D are wrenches in frame B, and the bias is Ḋ V and D times what V drifts by.
    """
    loop = part.loop
    pair = Pair(model, (loop.body_a, loop.body_b), frames_of(loop), move)
    G = [*pair.G.R.general().flatten(), *pair.G.p]
    V = [0.0] * 6 if move.v is None else pair.V.flatten()
    inputs = Input("G", (12,)), Input("V", (6,))
    arrays = [np.array([*x, None], dtype=object)[:-1] for x in (G, V)]
    phi, D, turning = placed(model.model, part, partial(_guided, part), inputs, arrays)
    R = Screws([Wrench.unflatten(row) for row in D])
    bias: Sequence[Real] = [0.0] * part.rows
    if move.v is not None:
        drift = R.T @ pair.drift(False, True)
        bias = [x + y for x, y in zip(drift, turning, strict=True)]
    on, at = pair.wrenches(R, False), (pair.b.index, pair.F_b.p)
    norms = [W.ang.dot(W.ang) + W.lin.dot(W.lin) for W in R] if loop.joint.fitted else None
    return Rows(part.name, on, {}, lambda _: list(phi), bias, norms, pair.levers, point=at)


def _guided(part: Guided, _: Model, G: Traced, V: Traced) -> tuple[Traced, ...]:
    """φ, D and Ḋ V at a pose G (its rotation row by row, then its position) with the twist V."""
    R, p = Rotation(*G[:9]), Vec3(*G[9:])
    met = meet(part.loop.joint, SE3(R, p))
    phi = np.array([*(met.rows.T @ met.error(SE3(R, p))), None], dtype=object)[:-1]
    N = np.full((12, 6), 0.0, dtype=object)  # Ġ = N V: Ṙ = R ω̂, ṗ = R v
    R9 = np.array(R.flatten(), dtype=object).reshape(3, 3)
    for k, unit in enumerate(np.eye(3)):
        N[:9, k] = (R9 @ np.array(Vec3(*unit).hat().flatten(), dtype=object).reshape(3, 3)).ravel()
    N[9:, 3:] = R9
    D = forward(phi, G, N)
    return phi, D, forward(D, G, N @ V) @ V
