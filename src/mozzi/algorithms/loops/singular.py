"""Singular configurations: where the equations of loops have a lower rank than nearby.

A rank below the number of rows says nothing by itself: a planar mechanism in space, a Bricard
linkage or a loop given twice lack rank wherever they are closed. A configuration is regular where
the rank stays as the mechanism moves, and singular where it does not: there ways to move meet, or
a motion that the rows allow is only instantaneous.

Let U and Z span the left and the right null space of A at q. Where the rank is constant on the
closed configurations, these are a manifold with the tangent space Z, and

    Uᵀ (∂A/∂q · n) Z = 0   for all n in Z .

One n at random sees whether that fails. What it cannot see (cusps) a step along n does, which is
closed again: the rank there is compared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.guard import unchecked
from mozzi.algorithms.constraints.close import descend
from mozzi.algorithms.constraints.overconstrained import most_independent, rows_in_all
from mozzi.algorithms.constraints.rank import (
    NEARBY_RESIDUAL,
    NO_ENTRY,
    RATE,
    lengths,
    ranks_of,
    scaled,
)
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_residual
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.model import Model
from mozzi.types import Array

__all__ = ["closed_nearby", "first_singular", "rank_nearby"]

Integers = NDArray[np.intp]
Mask = NDArray[np.bool_]

STEP = 1e-3  # of differences, in radians or lengths of the mechanism
ASIDE = 0.05  # how far from q the rank nearby is looked at
JUDGED = 16  # configurations of a batch, at most


def rank_nearby(
    model: Model, q: Array, rank: Integers, free: Mask | None = None
) -> tuple[Mask, Integers]:
    """(singular, rank nearby) of closed configurations q (B, nq) whose rows have these ranks.

    free: which coordinates the rows act on (others are held by what prescribes their motion).
    The rank nearby is that of closed configurations a small motion away, and the rank at q where
    none of a higher rank was reached.
    """
    rows, columns = lengths(model)
    free = np.ones(model.nv, dtype=bool) if free is None else free

    def jacobian(x: Array) -> Array:
        return loop_jacobian(model, x) / rows[:, None] * columns

    A = jacobian(q)
    singular, there = np.zeros(len(q), dtype=bool), rank.copy()
    if 0 in A.shape[-2:] or not free.any():
        return singular, there
    U, _, Vt = np.linalg.svd(A[..., free], full_matrices=True)
    dependent = _beyond(rank, U.shape[-1])[:, :, None]
    allowed = _beyond(rank, Vt.shape[-1])[:, None, :]
    size = np.abs(A).max(axis=(-2, -1))
    size = np.where(size > NO_ENTRY, size, 1.0)  # where all rows vanish what is left is rounding
    target = loop_residual(model, q)
    target = np.where(np.abs(target) > NEARBY_RESIDUAL, target, 0.0)  # of a prescribed motion

    def rise(n: Array, step: float) -> Array:
        """How fast entries of Uᵀ A Z grow along n, at most."""
        m2, m1, p1, p2 = (
            jacobian(integrate(model, q, h * columns * n))[..., free]
            for h in (-2 * step, -step, step, 2 * step)
        )
        slope = (8.0 * (p1 - m1) - (p2 - m2)) / (12.0 * step)
        found = np.abs(np.swapaxes(U, -1, -2) @ slope @ np.swapaxes(Vt, -1, -2))
        return (found * dependent * allowed).max(axis=(-2, -1)) / size

    for n in _motions(A, rank if free.all() else ranks_of(A)):
        grows = rise(n, STEP)
        if (grows > RATE).any():  # which a shorter step confirms, unless rows bend too much
            grows = np.where((fine := rise(n, STEP / 8.0)) > 0.5 * grows, fine, 0.0)
        singular |= grows > RATE
        aside = integrate(model, q, ASIDE * columns * n)
        near, _ = descend(model, aside, target, np.ones(model.nv, dtype=bool), 30)
        closed = (np.abs(loop_residual(model, near) - target) / rows).max(-1) < NEARBY_RESIDUAL
        there = np.where(closed, np.maximum(there, ranks_of(jacobian(near)[..., free])), there)
    return singular | (there > rank), there


def first_singular(model: Model, q: Array, rank: Integers) -> tuple[int, int, int] | None:
    """(its index, rank there, rank nearby) of a singular one of closed configurations q (B, nq)
    that have these ranks; None where there is none.

    Those are judged that lack more rank than any that was judged regular before: once for a model,
    mostly.
    """
    key, most = "lowest regular rank", most_independent(model)
    enough = model.cache.get(key, rows_in_all(model) if most is None else most)
    low = np.flatnonzero(rank < enough)
    low = low[np.argsort(rank[low], kind="stable")][:JUDGED]
    if not len(low):
        return None
    with unchecked():
        near, own = closed_nearby(model, q[low], rank[low])
        singular, there = rank_nearby(model, near, own)
    if not singular.any():
        model.cache[key] = int(rank[low].min())
        return None
    k = int(np.argmax(singular))
    return int(low[k]), int(own[k]), int(there[k])


def closed_nearby(
    model: Model, q: Array, rank: Integers, free: Mask | None = None
) -> tuple[Array, Integers]:
    """(closed configurations, their ranks) next to q (B, nq), which may be a little open and have
    these ranks: themselves where they are closed. Angles between rows are known up to how open they
    are, and so are the rates of these.
    """
    rows, _ = lengths(model)
    r = loop_residual(model, q)
    open_by = (np.abs(r) / rows).max(-1, initial=0.0) > NEARBY_RESIDUAL
    if not open_by.any():
        return q, rank
    q, rank = q.copy(), rank.copy()
    every = np.ones(model.nv, dtype=bool)
    q[open_by], _ = descend(model, q[open_by], 0.0 * r[open_by], every, 30)
    A = scaled(model, loop_jacobian(model, q[open_by]))
    rank[open_by] = ranks_of(A if free is None else A[..., free])
    return q, rank


def _beyond(rank: Integers, n: int) -> Mask:
    """Which of n directions, largest first, lie in the null space."""
    return np.greater_equal(np.arange(n), rank[:, None])


def _motions(A: Array, rank: Integers, count: int = 3) -> list[Array]:
    """Motions of unit length that the rows allow, at random."""
    Vt: Array = np.linalg.svd(A, full_matrices=True)[2]
    inside = _beyond(rank, Vt.shape[-2])
    rng = np.random.default_rng(0)
    out: list[Array] = []
    for c in rng.normal(size=(count, *inside.shape)):
        n = np.einsum("br,brv->bv", c * inside, Vt)
        out.append(n / np.maximum(np.linalg.norm(n, axis=-1, keepdims=True), 1e-300))
    return out
