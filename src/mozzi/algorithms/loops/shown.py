# pyright: reportPrivateUsage=false
"""Closed configurations that a caller shows: rows that depend on one another there are chosen.

Whether rows are chosen at all is decided for a model at closed configurations that the library
finds (`overconstrained`). A mechanism may have ways of assembly that it does not find: linkages
that are rigid in most of them and move in one, many loops at once. There rows that depend on one
another would count at the slightly open stages of a step. So the rank is looked at where motions
start, where a mechanism is assembled, and where a call meets an open state, or rows that are left
out; a model that lacks rank in a closed configuration that is not singular chooses its rows from
then on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.guard import unchecked
from mozzi.algorithms.constraints.overconstrained import overconstrained, rows_in_all
from mozzi.algorithms.constraints.rank import SHARE, ranks_of, scaled, sines
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_residual
from mozzi.algorithms.loops.singular import closed_nearby, rank_nearby
from mozzi.model import Model
from mozzi.types import Array, ArrayLike

__all__ = ["JUDGED", "choose", "least_share", "look_at", "show"]

JUDGED = 16  # configurations of a batch, of which it is found out whether they are singular


def least_share(
    model: Model, q: ArrayLike, held: NDArray[np.bool_] | None = None
) -> Array:
    """The share of the largest singular value from which others count at q, which may be open, of
    rows in the coordinates that are not held.
    """
    least = sines(model, loop_residual(model, q))
    if (least > SHARE).any():  # dependent rows might count
        look_at(model, q)
    return least if overconstrained(model, held) else 0.0 * least


def look_at(model: Model, q: ArrayLike, rank: Callable[[], ArrayLike] | None = None) -> None:
    """Look at the rank in configurations q (…, nq), which may be a little open. rank: how it is
    found, where that is not by singular values.
    """
    if not model.closures or model.drives or overconstrained(model):
        return  # drives look by themselves: their residuals are no opening
    q = np.asarray(q, dtype=float).reshape(-1, model.nq)
    q = q if rank is not None else q[np.isfinite(q).all(-1)]
    if not len(q):
        return
    with unchecked():
        found = _ranks(model, q) if rank is None else np.ravel(rank()).astype(int)
        low = _lowest(model, found, None)
        if len(low):
            show(model, *closed_nearby(model, q[low], found[low]))


def show(
    model: Model, q: Array, rank: NDArray[np.intp], held: NDArray[np.bool_] | None = None
) -> bool:
    """Whether closed configurations q (B, nq) with these ranks show what was not known: that rows
    depend on one another though q is not singular. Then they are chosen from now on.
    """
    if overconstrained(model, held):
        return False
    low = _lowest(model, rank, held)
    free = None if held is None else ~held
    if not len(low) or rank_nearby(model, q[low], rank[low], free)[0].all():
        return False
    choose(model)
    return True


def choose(model: Model) -> None:
    """Choose rows of this model from now on; what was made of it without is made anew."""
    from mozzi.compiler import forget

    model._set(rows_depend=True)
    forget(model)


def _ranks(model: Model, q: Array) -> NDArray[np.intp]:
    return ranks_of(scaled(model, loop_jacobian(model, q)), sines(model, loop_residual(model, q)))


def _lowest(
    model: Model, rank: NDArray[np.intp], held: NDArray[np.bool_] | None
) -> NDArray[np.intp]:
    """Some of the configurations that lack rank, those that lack most."""
    low = np.flatnonzero(rank < rows_in_all(model, held))
    return low[np.argsort(rank[low], kind="stable")][:JUDGED]
