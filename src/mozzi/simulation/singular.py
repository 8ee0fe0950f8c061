"""Singular configurations on the way of a simulation: where the loops lose rank, or nearly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.guard import unchecked
from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.constraints.rank import scaled
from mozzi.algorithms.constraints.row_choice import loop_rank
from mozzi.algorithms.constraints.rows.rows import loop_jacobian
from mozzi.compiler import compile
from mozzi.simulation.parameters import Varying
from mozzi.types import Array

__all__ = ["Passing", "Ranks", "ranks_along"]

WORK = 1e9  # operations: about a tenth of a second
NEARBY = 0.05  # change of the rows of configurations that are near each other
NONE = 1e-10  # of the largest row, what is rounding
BETWEEN = 33  # rows that are looked at between these, which change evenly
VANISHED = 0.1  # of a singular value, which is 1/64 there at most where it vanishes


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


class Passing:
    """Motions that go on, of which it is asked whether they pass a configuration in which their
    loops lose rank, or jump over one where they nearly do: rows are turned over.

    Independent rows A = R Q have det(A A′ᵀ) = det R det R′ det(Q Q′ᵀ). The last is the product of
    the cosines between what they span in two configurations; where these are near, it is negative
    if one of the rows vanished beside the others between them, and came back on its other side.
    """

    def __init__(self, varying: Varying, q: Array, rank: NDArray[np.intp]):
        """q (S, nq): where they are; rank (S). As many are looked at as do not take long."""
        rows = varying.model.row_count
        self.some = slice(max(1, int(WORK / (rows**2 * varying.model.nv))))
        self.varying, self.size, self.rank = varying, len(q), rank[self.some]
        self.here = self._scaled(q)

    def on(self, q: Array) -> NDArray[np.bool_]:
        """Whether they pass one on the way to q (S, nq), nearby, where they are then."""
        before, self.here = self.here, self._scaled(q)
        found = np.zeros(self.size, dtype=bool)
        for rank in np.unique(self.rank).tolist():
            own = np.flatnonzero(self.rank == rank)
            found[own] = _turned_over(before[own], self.here[own], rank)
        return found

    def _scaled(self, q: Array) -> Array:
        given = self.varying
        if given.numbers is not None:
            given = replace(given, numbers=given.numbers[self.some])
        with unchecked():
            return scaled(given.model, given.of(loop_jacobian, q[self.some]))


def _turned_over(A: Array, B: Array, rank: int) -> NDArray[np.bool_]:
    """Of rows (S, m, n) of this rank whether they turn over from A to B, by way of lower rank."""
    sizes = (np.linalg.norm(x, axis=(-2, -1)) for x in (A, B - A))
    size, change = (np.nan_to_num(x, nan=np.inf) for x in sizes)
    near = np.flatnonzero(change < NEARBY * size)
    rows = _independent(A[near], rank)[..., None]
    C, D = (np.take_along_axis(x[near], rows, axis=-2) for x in (A, B))
    near = near[np.linalg.slogdet(C @ np.swapaxes(D, -1, -2))[0] < 0.0]
    found = np.zeros(len(A), dtype=bool)
    between = np.linspace(0.0, 1.0, BETWEEN)[:, None, None]
    for k in near.tolist():  # not only those that were chosen
        s = np.linalg.svd(A[k] + between * (B[k] - A[k]), compute_uv=False)[:, rank - 1]
        found[k] = s.min() < VANISHED * max(s[0], s[-1])
    return found


def _independent(A: Array, rank: int) -> NDArray[np.intp]:
    """So many rows of A (S, m, n), each the one that is farthest from those before: (S, rank)."""
    sizes = np.linalg.norm(A, axis=-1)
    rows = np.argsort(-sizes, axis=-1, kind="stable")
    largest = sizes.max(axis=-1, keepdims=True, initial=0.0)
    if (np.take_along_axis(sizes, rows[:, rank:], axis=-1) < NONE * largest).all():
        return rows[:, :rank]  # all that there are, in some order
    left, rows = A.copy(), np.zeros((len(A), rank), dtype=np.intp)
    for k in range(rank):
        size = np.square(left).sum(axis=-1)
        rows[:, k] = size.argmax(axis=-1)
        e = np.take_along_axis(left, rows[:, k, None, None], axis=-2)
        e = e / np.linalg.norm(e, axis=-1, keepdims=True)
        left = left - (left @ np.swapaxes(e, -1, -2)) @ e
    return rows
