# pyright: reportPrivateUsage=false
"""Closed configurations that a caller shows: rows that depend on one another there are chosen.

Whether rows are chosen at all is decided for a model at closed configurations that the library
finds (`overconstrained`). A mechanism may have ways of assembly that it does not find: linkages
that are rigid in most of them and move in one, many loops at once. There rows that depend on one
another would count at the slightly open stages of a step. So the rank is looked at where motions
start, and where a call meets rows that are left out, or nearly; a model that was shown to lack
rank in a configuration that is not singular chooses its rows from then on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.guard import unchecked
from mozzi.algorithms.constraints.overconstrained import overconstrained, rows_in_all
from mozzi.algorithms.constraints.row_choice import loop_rank
from mozzi.algorithms.loops.singular import rank_nearby
from mozzi.model import Model
from mozzi.types import Array, ArrayLike

__all__ = ["JUDGED", "look_at", "show"]

JUDGED = 16  # configurations of a batch, of which it is found out whether they are singular


def look_at(
    model: Model, q: Array, rank: Callable[[], ArrayLike] | None = None, varied: bool = False
) -> None:
    """Look at the rank in closed configurations q (…, nq). rank: how it is found, where `loop_rank`
    alone does not do. varied: whether these are configurations of models with other lengths, whose
    singular ones cannot be told.
    """
    if not model.closures or overconstrained(model):
        return
    with unchecked():
        found = loop_rank(model, q)[0] if rank is None else rank()
    if varied and (np.asarray(found) < rows_in_all(model)).any():
        _choose(model)
    elif not varied:
        show(model, q, found)


def show(model: Model, q: Array, rank: ArrayLike, held: NDArray[np.bool_] | None = None) -> bool:
    """Whether closed configurations q (…, nq) with these ranks show what was not known: that rows
    depend on one another though q is not singular. Then they are chosen from now on.
    """
    if overconstrained(model, held):
        return False
    q, ranks = q.reshape(-1, q.shape[-1]), np.ravel(rank).astype(int)
    low = np.flatnonzero(ranks < rows_in_all(model, held))
    low = low[np.argsort(ranks[low], kind="stable")][:JUDGED]
    if not len(low):
        return False
    free = None if held is None else ~held
    if rank_nearby(model, q[low], ranks[low], free)[0].all():
        return False
    _choose(model)
    return True


def _choose(model: Model) -> None:
    """Choose rows of this model from now on; what was made of it without is made anew."""
    from mozzi.compiler import forget

    model._set(rows_depend=True)
    forget(model)
