"""Whether there is anything to choose: mechanisms whose rows depend on one another wherever they
are closed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.constraints.close import descend
from mozzi.algorithms.constraints.rank import (
    CLOSED_RESIDUAL,
    NO_ENTRY,
    lengths,
    ranks_of,
    scaled,
    sines,
)
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_residual
from mozzi.algorithms.constraints.single_loops import LARGE, alike_loops
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.model import Model
from mozzi.program.node import untraced
from mozzi.program.settings import Settings, tracing
from mozzi.types import Array, ArrayLike

__all__ = ["least_share", "most_independent", "overconstrained"]

FAR = (0.0, 1.0, 2.0, 3.0)  # noise on the neutral configuration, from which closed ones are sought
ASIDE = 0.2  # a motion to a configuration that is not singular by accident
ITERATIONS = 60  # to close a mechanism; a large one is closed from its neutral configuration only


def overconstrained(model: Model, held: NDArray[np.bool_] | None = None) -> bool:
    """Whether rows of the loops depend on one another in the closed configurations of a model.

    Rows that vanish in all configurations do not count. held: coordinates that rows cannot move.
    Decided once for a model, at closed configurations that are found from several starts, some of
    which may be singular: by the highest rank of those that can move (a Bricard linkage can also be
    assembled so that it is rigid, with full rank). Where none is found rows are taken to depend on
    one another. (A linkage that has full rank in one of its ways to move and less in another is
    taken to have independent rows.)
    """
    if not model.closures:
        return False
    held = np.zeros(model.nv, dtype=bool) if held is None else held
    key = "overconstrained", held.tobytes()
    model = model.nominal or model
    if key not in model.cache:
        with untraced(), tracing(Settings()):
            model.cache[key] = _depend(model, ~held)
    return model.cache[key]


def least_share(model: Model, q: ArrayLike) -> Array:
    """The share of the largest singular value from which others count at q, which may be open."""
    if not overconstrained(model):
        return np.zeros(np.shape(q)[:-1])
    return sines(model, loop_residual(model, q))


def most_independent(model: Model) -> int | None:
    """How many rows of a large mechanism of alike loops can be independent where it is closed:
    those of all its loops, each by itself. None of others.
    """
    key = "most independent"
    if key not in model.cache:
        model.cache[key] = None
        kinds = alike_loops(model)
        if kinds is not None:
            with untraced(), tracing(Settings()):
                found = [(len(x.rows), _closed_ranks(x.alone, _all(x.alone))) for x in kinds]
            total = sum(count * int(ranks.max()) for count, (ranks, _) in found if len(ranks))
            every = all(len(ranks) for _, (ranks, _) in found)
            model.cache[key] = total if every else None
    return model.cache[key]


def _all(model: Model) -> NDArray[np.bool_]:
    return np.ones(model.nv, dtype=bool)


def _depend(model: Model, free: NDArray[np.bool_]) -> bool:
    if not model.row_count or not free.any():
        return bool(model.row_count)
    ranks, some = _closed_ranks(model, free)
    if not len(ranks):
        return True
    mobile = ranks[ranks < free.sum()]
    return bool((mobile if len(mobile) else ranks).max() < some)


def _closed_ranks(model: Model, free: NDArray[np.bool_]) -> tuple[NDArray[np.intp], int]:
    """Ranks in closed configurations, as many as are found, and how many rows do not vanish in all
    that were looked at.
    """
    rows, rng = lengths(model)[0], np.random.default_rng(0)
    noise = np.array(FAR if model.nv <= LARGE else FAR[:1])[:, None]
    q = np.broadcast_to(model.neutral(), (len(noise), model.nq))
    apart = q = integrate(model, q, noise * rng.normal(size=(len(q), model.nv)))
    for size in (0.0, ASIDE):
        q = integrate(model, q, size * rng.normal(size=(len(q), model.nv)))
        closed, enough = np.zeros((len(q), len(rows))), CLOSED_RESIDUAL * rows.min() / 100.0
        q, _ = descend(model, q, closed, _all(model), ITERATIONS, enough)
        q = q[(np.abs(loop_residual(model, q)) / rows).max(-1) < CLOSED_RESIDUAL]
        if not len(q):
            return np.zeros(0, dtype=np.intp), 0
    A, B = (scaled(model, loop_jacobian(model, x))[..., free] for x in (q, apart))
    some = np.abs(np.concatenate([A, B])).max(axis=(0, 2)) > NO_ENTRY
    return ranks_of(A), int(some.sum())
