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
from itertools import pairwise
from typing import Protocol

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.constraints.admittance import matrix, propagate
from mozzi.algorithms.constraints.overconstrained import overconstrained
from mozzi.algorithms.constraints.pivoting import Choice
from mozzi.algorithms.constraints.rank import lengths, opening
from mozzi.algorithms.constraints.rolled_loops import AlikeRows, BlockFactor
from mozzi.algorithms.constraints.rolled_rows import DenseFactor, RolledRows, Tree, rolled_rows
from mozzi.algorithms.constraints.rows.relative_motion import Moving
from mozzi.algorithms.constraints.rows.rows import closures, still
from mozzi.algorithms.constraints.solve import Factor
from mozzi.algorithms.constraints.sparse import elimination_order, gram
from mozzi.algorithms.constraints.straight_rows import StraightRows
from mozzi.algorithms.constraints.symbolic_closures import alike
from mozzi.algorithms.recursion.articulated import articulated_bodies
from mozzi.algorithms.recursion.blocks import Block
from mozzi.algorithms.recursion.held import held_by
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.rolled_or_not import many_loops
from mozzi.algorithms.recursion.views import ByBody, JointVector, Whole
from mozzi.lie import Screws, Wrench
from mozzi.model import Model
from mozzi.program.scalar import Real, maximum, minimum, sqrt
from mozzi.program.settings import settings
from mozzi.types import ArrayLike, JointChoice, Traced

__all__ = [
    "HeldRows", "Propagated", "choose", "factor_of", "holding", "kept_rows", "loop_rank",
    "propagated_rows", "rows_kept", "scalar",
]  # fmt: skip

Propagated = StraightRows | RolledRows | AlikeRows
"""All of them, in straight-line code; along long paths; or of many closures that are alike."""


@algorithm(regroup="moments", loops="honour", rolled_paths=True, rolled_loops=alike)
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
    propagated = _propagated_rows(model, q, loop_offsets)
    if isinstance(propagated, AlikeRows):  # all count where it is regular: in their own order
        rank, _, sine2 = propagated.factor().safely(_opening(model, propagated))
        return scalar(rank), scalar(sqrt(maximum(sine2, 0.0)))
    choice = choose(model, propagated)
    least: Real = 1.0
    for x in choice.sine2:
        least = minimum(least, x)
    return scalar(choice.rank), scalar(sqrt(maximum(least, 0.0)))


@algorithm(regroup="moments", loops="honour", rolled_paths=True)
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
) -> Propagated:
    _, _, U, D = articulated_bodies(model, q)
    move = still(model, q)
    move.offsets = None if offsets is None else offsets[()]
    return propagated_rows(model, move, U, D)[0]


def propagated_rows(
    model: Mechanism, move: Moving, U: ByBody[Screws[Wrench]], D: ByBody[Block],
    tree: Tree | None = None,
) -> tuple[Propagated, list[Real]]:  # fmt: skip
    """The rows of all closures, brought inward, and what the free tree does to them."""
    if model.rolled and many_loops(model.model):
        many = AlikeRows(model, move, U, D, tree)
        return many, many.free
    every = list(closures(model, move))
    if model.rolled:
        found = rolled_rows(model, every, move, U, D, tree)
        return found, found.free
    straight = [propagate(model, rows, move, U, D, tree) for rows in every]
    return StraightRows(straight), [f for x in straight for f in x.free]


def factor_of(
    model: Mechanism, propagated: Propagated, kept: Sequence[Real] | Traced | None
) -> Factor | DenseFactor | BlockFactor:
    """The factors of their admittance."""
    if isinstance(propagated, AlikeRows):
        assert kept is None  # of closures that are alike all rows count (`alike`)
        return propagated.factor()
    if isinstance(propagated, RolledRows):
        return propagated.factor(kept)
    return Factor.of(*matrix(model, propagated.parts), kept)


def choose(model: Mechanism, propagated: Propagated) -> Choice:
    """Independent rows at this state, which may be open."""
    if isinstance(propagated, RolledRows):
        return _rolled_choice(model, propagated)
    assert isinstance(propagated, StraightRows)
    Y, DY, scale = matrix(model, propagated.parts)
    order = [k for k in elimination_order(DY) if Y[k]]  # that of the factors: the same products
    blocks: list[list[int]] = []
    most: list[int] = []
    start = 0
    for part in propagated.parts:
        block = [k for k in range(start, start + len(part.rows)) if Y[k]]
        if block:
            blocks.append(block)
            most.append(min(len(block), len({c for k in block for c in DY[k]})))
        start += len(part.rows)
    open2 = _opening(model, propagated)
    columns = len({c for k in order for c in DY[k]})
    loops = settings().rolled is not False and model.model.nominal is None
    return Choice(gram(Y, DY, order), blocks, scale, most, open2, columns, loops)


def _opening(model: Mechanism, propagated: Propagated) -> Real:
    return opening(propagated.open_by(), lengths(model.model)[0].tolist())


def _rolled_choice(model: Mechanism, propagated: RolledRows) -> Choice:
    ends = np.cumsum([0, *map(len, propagated.rows)]).tolist()
    blocks = [list(range(a, b)) for a, b in pairwise(ends)]
    open2 = _opening(model, propagated)
    columns = sum(not h for body in model.bodies for h in body.held)
    most = [min(len(block), columns) for block in blocks]
    return Choice(propagated.gram, blocks, propagated.scale, most, open2, columns, loops=True)


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
        for name, i in zip(names, model.bodies, strict=True):
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
    model: Mechanism, propagated: Propagated
) -> Sequence[Real] | Traced | None:
    """Which rows count (1 or 0), while tracing: those that are held, or else those of this state;
    None where all do.
    """
    held = np.array([h for i in model.bodies for h in i.held], dtype=bool)
    if not overconstrained(model.model, held):
        return None

    def here() -> Choice:
        return choose(model, propagated)

    if _now.rows is not None and _now.rows.model is model.model:
        return _now.rows.rows(model, here)
    return here().kept


def scalar(x: Real) -> Traced:
    """A result of one number."""
    out = np.empty((), dtype=object)
    out[()] = x
    return out
