"""Singular configurations on the way of a simulation: where the loops lose rank, or nearly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.constraints.row_choice import loop_rank
from mozzi.compiler import compile
from mozzi.simulation.parameters import Varying
from mozzi.types import Array

__all__ = ["Ranks", "ranks_along"]

WORK = 1e9  # operations: about a tenth of a second


@dataclass(frozen=True)
class Ranks:
    """Rank and margin (`loop_rank`) of some samples (S) at some records (n): (S, n)."""

    samples: NDArray[np.intp]
    records: NDArray[np.intp]
    rank: NDArray[np.intp]
    margin: Array

    def lowest(self) -> tuple[int, int, int] | None:
        """(record, rank there, rank elsewhere) of the first record at which a sample's loops have a
        lower rank than at another; None where there is none.
        """
        low = self.rank < self.rank.max(axis=-1, keepdims=True)
        if not low.any():
            return None
        k = int(np.argmax(low.any(axis=0)))
        own = self.rank[int(np.argmax(low[:, k]))]
        return int(self.records[k]), int(own[k]), int(own.max())


def ranks_along(
    varying: Varying, t: Array, q: Array, offsets: Callable[[Array], Array] | None = None
) -> Ranks | None:
    """Ranks along a motion q (B, n, nq); None where there are no loops.

    offsets: what residuals shall be at times, where laws say. Where all records would take long,
    some are looked at: the first two, the last, and others between, of the first samples.
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
    whole = np.flatnonzero(np.isfinite(q.reshape(len(q), -1).sum(axis=-1)))
    if not len(whole):
        return None
    shall = [] if offsets is None else [offsets(t[looked])]
    rank, margin = count(q[whole], *shall, *(x[whole] for x in given))
    return Ranks(whole, looked, rank.astype(int), margin)
