"""Simulation with loops: after every step, back onto the closed states.

Accelerations keep loops closed up to the error of the integrator, which adds up. Newton's method on
positions and velocities at once takes the state back: two steps, since one squares the drift.

In overconstrained mechanisms rows are chosen where the loops are closed: at the beginning, and then
between the two steps of Newton's method, with the matrices that are there for the second one. They
are held over the stages of the next step and its first way back, so that the accelerations of a
step are one smooth function, and methods keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.constraints.overconstrained import overconstrained
from mozzi.algorithms.constraints.pivoting import Choice
from mozzi.algorithms.constraints.row_choice import HeldRows, holding, kept_rows, loop_rank
from mozzi.algorithms.constraints.rows.rows import position_rows
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.algorithms.loops.projection import loop_corrections
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.model import Model
from mozzi.program.program import Index, loop
from mozzi.program.scalar import Real
from mozzi.simulation.traced_state import Memory, table
from mozzi.types import Array, Traced

__all__ = [
    "closed_again", "closed_errors", "closed_states", "first_rows", "held_rows", "margin_at",
    "row_sizes",
]  # fmt: skip

A = TypeVar("A", Array, Traced)

STEPS = 2
AGAIN = np.array([[0.0], [1.0]])  # how often rows are chosen in each step of Newton's method


def row_sizes(model: Model) -> dict[str, int]:
    """What states of a model carry besides those of the method: which rows count."""
    return {"rows": model.row_count} if overconstrained(model) else {}


def first_rows(model: Model, q: A, given: Mapping[str, A] | None = None) -> dict[str, A]:
    """These rows at a closed configuration, traced or of arrays."""
    if not overconstrained(model):
        return {}
    offsets = {} if given is None else {"loop_offsets": given["loop_offsets"]}
    return {"rows": kept_rows(model, q, **offsets)}


def held_rows(model: Model, x: dict[str, Traced]) -> AbstractContextManager[None]:
    """Trace with the rows that count at a state x."""
    return holding(HeldRows(model, x["q"], x["rows"]) if "rows" in x else None)


@dataclass
class _ChosenAgain:
    """The rows of a step of Newton's method: those before it, and in the second one new ones."""

    model: Model
    memory: Memory
    step: Index

    def rows(self, model: Mechanism, here: Callable[[], Choice]) -> Traced:
        for _ in loop(0, table("again", AGAIN, self.step)[0], name="again"):
            self.memory.set(here().kept)
        return self.memory.get()


def closed_again(
    model: Model, state: dict[str, Traced], rows: Traced | None = None, last: bool = False,
    given: Mapping[str, Traced] | None = None,
) -> dict[str, Traced]:  # fmt: skip
    """The state with q and v taken back onto the loops, while tracing; of a tree, as it is.

    rows: those that count, in an overconstrained mechanism; the state has new ones then, for the
    next step, unless this is the last one. given: what laws of time ask of rows now (`Drives`).
    """
    if not closed(model):
        return state
    q, v = Memory("q_closed", model.nq, state["q"]), Memory("v_closed", model.nv, state["v"])
    chosen = None if rows is None else Memory("rows_closed", model.row_count, rows)
    for _, k in loop(0, STEPS, name="closing"):
        now, rate = q.get(), v.get()
        held = None if chosen is None else HeldRows(model, now, chosen.get())
        if chosen is not None and not last:
            held = _ChosenAgain(model, chosen, k)
        with holding(held):
            dq, dv = loop_corrections(model, now, rate, **(given or {}))
        q.set(integrate(model, now, np.asarray(dq, dtype=object)))
        v.set(rate + np.asarray(dv, dtype=object))
    new = state | {"q": q.get(), "v": v.get()}
    return new if chosen is None else new | {"rows": chosen.get()}


def closed_errors(
    model: Model, state: dict[str, Traced], error: Traced, given: Mapping[str, Traced] | None
) -> Traced:
    """What errors (δ, δv) of a step come to, whose end is this state on the loops: closing takes
    those across the rows away. Rows without positions close velocities only, and then errors of q
    stay as they are. given: as for `closed_again`.
    """
    if not closed(model):
        return error
    n = model.nv
    q_ref = {} if given is None else {"q_ref": given["q_ref"]}
    parts = error[:n], error[n:]
    with held_rows(model, state):
        back = [loop_corrections(model, state["q"], x, **q_ref)[1] for x in parts]
    if not position_rows(model).all():
        return np.concatenate([error[:n], error[n:] + np.asarray(back[1], dtype=object)])
    return error + np.concatenate([np.asarray(x, dtype=object) for x in back])


def margin_at(model: Model, q: Traced, given: Mapping[str, Traced] | None = None) -> Real:
    """How safely rows count at a closed configuration (`loop_rank`), while tracing."""
    offsets = {} if given is None else {"loop_offsets": given["loop_offsets"]}
    return loop_rank(model, q, **offsets)[1].item()


def closed_states(
    model: Model, q: Array, v: Array, near: Array, given: Mapping[str, Array] | None = None
) -> tuple[Array, Array]:
    """States between two steps, taken back onto the loops, by rows chosen at closed states near."""
    if not closed(model):
        return q, v
    rows = first_rows(model, near, given)
    held = {"kept": rows["rows"]} if rows else {}
    held |= given or {}
    for _ in range(STEPS):
        dq, dv = loop_corrections(model, q, v, **held)
        q, v = integrate(model, q, dq), v + dv
    return q, v
