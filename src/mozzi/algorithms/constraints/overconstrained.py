"""Whether there is anything to choose: mechanisms whose rows depend on one another wherever they
are closed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.constraints.close import descend
from mozzi.algorithms.constraints.closure_groups import closure_groups
from mozzi.algorithms.constraints.rank import (
    CLEAR,
    CLOSED_RESIDUAL,
    NO_ENTRY,
    lengths,
    pinv,
    ranks_of,
    scaled,
    surely_regular,
)
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_residual, position_rows
from mozzi.algorithms.constraints.single_loops import LARGE, alike_loops
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.model import Model
from mozzi.program.node import untraced
from mozzi.program.settings import Settings, tracing
from mozzi.types import Array

__all__ = ["most_independent", "overconstrained", "rows_in_all"]

FAR = (0.0, *[1.0, 2.0, 3.0] * 5)
"""Noise on the neutral configuration, from which closed ones are sought. A linkage may also be
assembled so that it is rigid: of the closed configurations of two linkages of Bennett in a row half
are.
"""

ASIDE = 0.2  # a motion to a configuration that is not singular by accident
ITERATIONS = 60  # to close a mechanism; a large one is closed from its neutral configuration only
COLUMNS = 100  # of the rows of all that are sought; two at least


def overconstrained(model: Model, held: NDArray[np.bool_] | None = None) -> bool:
    """Whether rows of the loops depend on one another in the closed configurations of a model.

    Rows that vanish in all configurations do not count. held: coordinates that rows cannot move.
    Decided once for a model, at closed configurations that are found from several starts: rows
    depend on one another where they do so in any of them that is regular. Full rank in others says
    nothing: a Bricard linkage can also be assembled so that it is rigid, and what it stands on may
    move all the same. Where none is found rows are taken to depend on one another, and where the
    caller shows one that was not found (`loops/shown.py`).
    """
    if not model.closures:
        return False
    model = model.nominal or model
    return model.rows_depend or _decided(model, held)[0]


def rows_in_all(model: Model, held: NDArray[np.bool_] | None = None) -> int:
    """How many rows there are, of those that do not vanish in all configurations."""
    return _decided(model.nominal or model, held)[1]


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
                found = [(len(x.rows), _closed_ranks(x.alone, _all(x.alone))[0]) for x in kinds]
            total = sum(count * int(ranks.max()) for count, ranks in found if len(ranks))
            every = all(len(ranks) for _, ranks in found)
            model.cache[key] = total if every else None
    return model.cache[key]


def _all(model: Model) -> NDArray[np.bool_]:
    return np.ones(model.nv, dtype=bool)


def _decided(model: Model, held: NDArray[np.bool_] | None) -> tuple[bool, int]:
    """(whether rows depend on one another in closed configurations that are found, how many do not
    vanish).
    """
    held = np.zeros(model.nv, dtype=bool) if held is None else held
    key = "overconstrained", held.tobytes()
    if key not in model.cache:
        with untraced(), tracing(Settings()):
            model.cache[key] = _depend(model, ~held)
    return model.cache[key]


def _depend(model: Model, free: NDArray[np.bool_]) -> tuple[bool, int]:
    if not model.row_count or not free.any():
        return bool(model.row_count), model.row_count
    known: dict[tuple[Model, bytes], tuple[bool, int]] = {}
    found: list[tuple[bool, int]] = []
    for group in closure_groups(model, ~free):
        key = group.alone, group.held.tobytes()
        if key not in known:
            known[key] = _depend_alone(group.alone, ~group.held)
        found.append(known[key])
    return any(depend for depend, _ in found), sum(some for _, some in found)


def _depend_alone(model: Model, free: NDArray[np.bool_]) -> tuple[bool, int]:
    """`_depend` of a group; one that is held vanishes in all configurations."""
    if not free.any():
        return False, 0
    ranks, regular, some = _closed_ranks(model, free)
    if not len(ranks):
        return True, some
    return bool(ranks[regular].min(initial=ranks.max()) < some), some


def _closed_ranks(
    model: Model, free: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.bool_], int]:
    """Ranks in closed configurations, as many as are found, which of these are surely regular, and
    how many rows do not vanish in all that were looked at.
    """
    rng = np.random.default_rng(0)
    starts = max(2, COLUMNS // model.nv) if model.nv <= LARGE else 1
    noise = np.array(FAR[:starts])[:, None]
    q = np.broadcast_to(model.neutral(), (len(noise), model.nq))
    apart = integrate(model, q, noise * rng.normal(size=(len(q), model.nv)))
    q = _closed(model, _moved(model, _closed(model, apart), rng))
    A, B = (scaled(model, loop_jacobian(model, x))[..., free] for x in (q, apart))
    some = np.abs(np.concatenate([A, B])).max(axis=(0, 2)) > NO_ENTRY
    return ranks_of(A), surely_regular(A), int(some.sum())


def _closed(model: Model, q: Array) -> Array:
    """Closed configurations near these, where one is found: to rounding where it is regular."""
    rows, columns = lengths(model)
    shut, enough = np.zeros((len(q), len(rows))), CLOSED_RESIDUAL * rows.min() / 100.0
    q, _ = descend(model, q, shut, _all(model), ITERATIONS, enough)
    r = loop_residual(model, q) / rows
    found = np.abs(r).max(-1) < CLOSED_RESIDUAL
    q, r = q[found], r[found]
    A = scaled(model, loop_jacobian(model, q)) * position_rows(model)[:, None]
    return integrate(model, q, -columns * (pinv(A, least=CLEAR) @ r[..., None])[..., 0])


def _moved(model: Model, q: Array, rng: np.random.Generator) -> Array:
    """Configurations aside of closed ones, along motions at random that the rows allow."""
    columns = lengths(model)[1]
    A = scaled(model, loop_jacobian(model, q))
    n = rng.normal(size=(*A.shape[:-2], A.shape[-1], 1))
    return integrate(model, q, ASIDE * columns * (n - pinv(A) @ (A @ n))[..., 0])
