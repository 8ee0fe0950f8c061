"""How many equations of the loops are independent, as the dynamics counts them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mozzi.algorithms.constraints.multipliers import matrix, reach
from mozzi.algorithms.constraints.rows import closures, moving
from mozzi.algorithms.constraints.solve import Factor
from mozzi.algorithms.recursion.algorithm import algorithm
from mozzi.algorithms.recursion.articulated import ARTICULATED, articulated
from mozzi.algorithms.recursion.containers import per_body
from mozzi.program.scalar import divide, maximum, minimum, select, sqrt

__all__ = ["loop_rank", "scalar"]


@algorithm(regroup="moments", loops="honour")
def loop_rank(model: Any, q: Any) -> tuple[Any, Any]:
    """(rank, margin): the rows of `loop_jacobian` that forward dynamics keeps, and how safely.

    Where the rank is less than nearby, q is singular: ways to move meet there or a motion is only
    instantaneous, and forward dynamics answers for the rows it keeps. margin is the least sine of
    an angle between a row that counts and those eliminated before it, 1 at most; it falls to 1e-6
    (3e-7 beside tiny inertias) as q becomes singular, and jumps up where the row is left out.
    nv − rank degrees of freedom remain. The pivots of `loop_solve`, by articulated bodies, O(n) +
    O(m d) + the factorisation.

    Returns:
        rank (B): how many rows count.
        margin (B): how safely they do, 1 at most.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> rank, margin = mz.loop_rank(bar, bar.neutral())
        >>> int(rank)
        2
    """
    T, P, U, D = per_body(model, T="local", **ARTICULATED)
    for i in model.outward():
        T[i] = i.pose(q[i])
    for _ in articulated(model, q, T, P, U, D):
        pass
    move = moving(model, q)
    Y, DY, scale = matrix(model, [reach(model, x, move, U, D) for x in closures(model, move)])
    factor = Factor.of(Y, DY, scale)
    rank, _ = factor.counts()
    least: Any = 1.0
    for k in factor.order:
        ratio = divide(factor.pivot[k], maximum(scale[k], 1e-300), nonzero=True)
        least = minimum(least, select(factor.dependent[k], 1.0, ratio))
    return scalar(rank), scalar(sqrt(maximum(least, 0.0)))


def scalar(x: Any) -> Any:
    """A result of one number."""
    out = np.empty((), dtype=object)
    out[()] = x
    return out
