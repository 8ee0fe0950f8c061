"""Which equations of the loops are independent: where the mechanism is closed, and held nearby.

A mechanism is *overconstrained* where rows depend on one another in every closed configuration: a
planar or spherical linkage in space, a Bennett linkage, a loop given twice. There rows are chosen;
all other mechanisms have as many independent rows as rows, and nothing is chosen for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.constraints.admittance import PropagatedRows, matrix, propagate
from mozzi.algorithms.constraints.choice import Choice
from mozzi.algorithms.constraints.close import descend
from mozzi.algorithms.constraints.rank import (
    CLOSED_RESIDUAL,
    NO_ENTRY,
    lengths,
    opening,
    ranks_of,
    scaled,
    sines,
)
from mozzi.algorithms.constraints.rows.rows import closures, loop_jacobian, loop_residual, moving
from mozzi.algorithms.constraints.sparse import elimination_order, gram
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.algorithms.recursion.articulated import articulated, articulated_containers
from mozzi.algorithms.recursion.containers import Local, per_body
from mozzi.algorithms.recursion.held import held_by
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import JointVector, Whole
from mozzi.model import Model
from mozzi.program.node import untraced
from mozzi.program.scalar import Real, maximum, minimum, sqrt
from mozzi.program.settings import Settings, settings, tracing
from mozzi.types import Array, ArrayLike, JointChoice, Traced

__all__ = [
    "HeldRows", "choose", "holding", "kept_rows", "least_share", "loop_rank", "overconstrained",
    "rows_kept", "scalar",
]  # fmt: skip


@algorithm(regroup="moments", loops="honour")
def loop_rank(
    model: Mechanism, q: JointVector, loop_offsets: Whole[Sequence[Real]] | None = None
) -> tuple[Traced, Traced]:
    """(rank, margin): how many rows of `loop_jacobian` are independent, and how safely.

    Where the rank is less than nearby, q is singular: ways to move meet there or a motion is only
    instantaneous, and forward dynamics answers for the rows it keeps. margin is the least sine of
    an angle between a row that counts and those chosen before it, 1 at most; it falls to 1e-6
    (3e-7 beside tiny inertias) as q becomes singular, and jumps up where the row is left out.
    nv − rank degrees of freedom remain. The rank is that of a closed configuration: where q is
    open (other than ``loop_offsets`` say), sines count from ten times what is open. By articulated
    bodies, O(n) + O(m d) + the factorisation.

    Returns:
        rank (B): how many rows count.
        margin (B): how safely they do, 1 at most.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> rank, margin = mz.loop_rank(bar, bar.neutral())
        >>> int(rank)
        2
    """
    choice = choose(model, _propagated_rows(model, q, loop_offsets))
    least: Real = 1.0
    for x in choice.sine2:
        least = minimum(least, x)
    return scalar(choice.rank), scalar(sqrt(maximum(least, 0.0)))


@algorithm(regroup="moments", loops="honour")
def kept_rows(
    model: Mechanism, q: JointVector, prescribed: JointChoice = (),
    loop_offsets: Whole[Sequence[Real]] | None = None,
) -> Traced:  # fmt: skip
    """(m) 1 or 0: rows of `loop_jacobian` that are independent, of as many as there are.

    prescribed: coordinates that are held, which rows cannot move. loop_offsets: residuals that are
    no opening.
    """
    choice = choose(model, _propagated_rows(held_by(model, prescribed), q, loop_offsets))
    return np.array([*choice.kept, None], dtype=object)[:-1]


def _propagated_rows(
    model: Mechanism, q: JointVector, offsets: Whole[Sequence[Real]] | None = None
) -> list[PropagatedRows]:
    T = per_body(model, "T", Local[RelativePose])
    P, U, D = articulated_containers(model)
    for i in model.outward():
        T[i] = i.pose(q[i])
    for _ in articulated(model, q, T, P, U, D):
        pass
    move = moving(model, q)
    move.offsets = None if offsets is None else offsets[()]
    return [propagate(model, x, move, U, D) for x in closures(model, move)]


def choose(model: Mechanism, propagated: Sequence[PropagatedRows]) -> Choice:
    """Independent rows at this state, which may be open."""
    Y, DY, scale = matrix(model, propagated)
    order = [k for k in elimination_order(DY) if Y[k]]  # that of the factors: the same products
    blocks: list[list[int]] = []
    most: list[int] = []
    start = 0
    for part in propagated:
        block = [k for k in range(start, start + len(part.rows)) if Y[k]]
        if block:
            blocks.append(block)
            most.append(min(len(block), len({c for k in block for c in DY[k]})))
        start += len(part.rows)
    residual = [x for part in propagated for x in part.rows.open_by(True)]
    open2 = opening(residual, lengths(model.model)[0].tolist())
    columns = len({c for k in order for c in DY[k]})
    loops = settings().rolled is not False and model.model.nominal is None
    return Choice(gram(Y, DY, order), blocks, scale, most, open2, columns, loops)


# -- held while the mechanism is a little open --


@dataclass
class HeldRows:
    """The rows of a model that count near a closed configuration q."""

    model: Model
    q: JointVector | ArrayLike
    kept: Sequence[Real] | Traced

    def rows(self, model: Mechanism, here: Callable[[], Choice]) -> Sequence[Real] | Traced:
        """For a mechanism some of whose coordinates may be held; here: the choice at its state."""
        names = model.model.joint_names
        prescribed: list[tuple[str, int]] = []
        for name, i in zip(names, model.outward(), strict=True):
            prescribed += [(name, c) for c, h in enumerate(i.held) if h]
        if not prescribed:
            return self.kept
        return list(kept_rows(self.model, self.q, prescribed=tuple(prescribed)))


class ChosenRows(Protocol):
    """Rows that count, of a model: held, or chosen anew."""

    @property
    def model(self) -> Model: ...
    def rows(self, model: Mechanism, here: Callable[[], Choice], /) -> Sequence[Real] | Traced:
        """For a mechanism some of whose coordinates may be held; here: the choice at its state."""
        ...


class _Now(threading.local):
    rows: ChosenRows | None = None


_now = _Now()


@contextmanager
def holding(rows: ChosenRows | None) -> Generator[None, None, None]:
    """Trace with rows that were chosen where the loops were closed (`HeldRows`); None: with those
    of each state.
    """
    before, _now.rows = _now.rows, rows
    try:
        yield
    finally:
        _now.rows = before


def rows_kept(
    model: Mechanism, propagated: Sequence[PropagatedRows]
) -> Sequence[Real] | Traced | None:
    """Which rows count (1 or 0), while tracing: those that are held, or else those of this state;
    None where all do.
    """
    held = np.array([h for i in model.outward() for h in i.held], dtype=bool)
    if not overconstrained(model.model, held):
        return None

    def here() -> Choice:
        return choose(model, propagated)

    if _now.rows is not None and _now.rows.model is model.model:
        return _now.rows.rows(model, here)
    return here().kept


# -- whether there is anything to choose --

FAR = (0.0, 1.0, 2.0, 3.0)  # noise on the neutral configuration, from which closed ones are sought
ASIDE = 0.2  # a motion to a configuration that is not singular by accident
LARGE = 60  # coordinates of a mechanism that is closed from its neutral configuration only
ITERATIONS = 60  # to close it


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
        with untraced(), tracing(Settings()), holding(None):
            model.cache[key] = _depend(model, ~held)
    return model.cache[key]


def least_share(model: Model, q: ArrayLike) -> Array:
    """The share of the largest singular value from which others count at q, which may be open."""
    if not overconstrained(model):
        return np.zeros(np.shape(q)[:-1])
    return sines(model, loop_residual(model, q))


def _depend(model: Model, free: NDArray[np.bool_]) -> bool:
    rows, rng = lengths(model)[0], np.random.default_rng(0)
    if not len(rows) or not free.any():
        return bool(len(rows))
    noise = np.array(FAR if model.nv <= LARGE else FAR[:1])[:, None]
    q = np.broadcast_to(model.neutral(), (len(noise), model.nq))
    apart = q = integrate(model, q, noise * rng.normal(size=(len(q), model.nv)))
    every = np.ones(model.nv, dtype=bool)
    for size in (0.0, ASIDE):
        q = integrate(model, q, size * rng.normal(size=(len(q), model.nv)))
        closed = np.zeros((len(q), len(rows)))
        q, _ = descend(model, q, closed, every, ITERATIONS, CLOSED_RESIDUAL * rows.min() / 100.0)
        q = q[(np.abs(loop_residual(model, q)) / rows).max(-1) < CLOSED_RESIDUAL]
        if not len(q):
            return True
    A, B = (scaled(model, loop_jacobian(model, x))[..., free] for x in (q, apart))
    some = np.abs(np.concatenate([A, B])).max(axis=(0, 2)) > NO_ENTRY
    ranks = ranks_of(A)
    mobile = ranks[ranks < free.sum()]
    return bool((mobile if len(mobile) else ranks).max() < some.sum())


def scalar(x: Real) -> Traced:
    """A result of one number."""
    out = np.empty((), dtype=object)
    out[()] = x
    return out
