"""Singular configurations on the way of a simulation: where the loops lose rank."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.constraints.row_choice import loop_rank
from mozzi.compiler import compile
from mozzi.simulation.parameters import Varying
from mozzi.types import Array

__all__ = ["singular_record"]

WORK = 1e9  # operations: about a tenth of a second


def singular_record(
    varying: Varying, t: Array, q: Array, offsets: Callable[[Array], Array] | None = None
) -> tuple[float, int, int] | None:
    """(time, rank there, rank elsewhere) of the first record at which a sample's loops have a
    lower rank than at another; None where there is none.

    q is (B, n, nq); offsets: what residuals shall be at times, where laws say. Where all would take
    long, some are looked at: the first two, the last, and others between, of the first samples.
    """
    model = varying.model
    if not closed(model) or len(t) < 2:
        return None
    options = {} if offsets is None else {"loop_offsets": True}
    count = compile(loop_rank, model, parameters=varying.names, options=options)
    given = [] if varying.numbers is None else [varying.numbers[..., : len(varying.names)]]
    given = [np.broadcast_to(x, (*q.shape[:-2], x.shape[-1])) for x in given if varying.names]
    given = [x.reshape(-1, 1, x.shape[-1]) for x in given]
    q = q.reshape(-1, *q.shape[-2:])
    most = int(WORK / max(1, count.flops))
    q = q[: max(1, most // 3)]
    n = max(3, min(len(t), most // len(q)))
    looked = np.unique([0, 1, *np.linspace(1, len(t) - 1, n - 1).astype(int)])
    q = q[:, looked]
    whole = np.isfinite(q.reshape(len(q), -1).sum(axis=-1))
    q, given = q[whole], [x[: len(whole)][whole] for x in given]
    if not len(q):
        return None
    shall = [] if offsets is None else [offsets(t[looked])]
    rank = count(q, *shall, *given)[0].astype(int)
    low = rank < rank.max(axis=-1, keepdims=True)
    if not low.any():
        return None
    k = int(np.argmax(low.any(axis=0)))
    sample = int(np.argmax(low[:, k]))
    return float(t[looked[k]]), int(rank[sample, k]), int(rank[sample].max())
