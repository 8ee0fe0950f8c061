"""What an integration method is: what one step does, written on scalars and traced with the
dynamics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeAlias

import numpy as np

from mozzi.model import Model
from mozzi.program.scalar import Real
from mozzi.simulation.forces.law import Law
from mozzi.simulation.projection import row_sizes
from mozzi.simulation.system import System
from mozzi.types import Traced

__all__ = ["NO_ROWS", "OneStep", "State", "as_state", "one_number", "sampled", "sizes"]

State: TypeAlias = dict[str, Traced]
"""While tracing, traced arrays by name; the time t is one, of one number."""

NO_ROWS: Traced = np.zeros(0, dtype=object)
"""What a state without rows of closures has for them."""


class OneStep(Protocol):
    """A one-step method of constant step.

    A state holds t, q, v and what else the method carries (``extra``: name → size); ``start``
    gives these at the beginning.
    """

    @property
    def order(self) -> int: ...

    def extra(self, model: Model) -> Mapping[str, int]: ...

    def start(self, system: System, x: State) -> State: ...

    def step(self, system: System, x: State, h: Real) -> State: ...


def sizes(method: OneStep, model: Model, law: Law | None = None) -> dict[str, int]:
    """The arrays of a state besides the time, and their sizes; "law" is the state of a law."""
    own = {} if law is None else {"law": law.size(model)}
    return {"q": model.nq, "v": model.nv, **method.extra(model), **row_sizes(model), **own}


def sampled(law: Law | None, system: System, x: State, dt: Real) -> State:
    """What a law with a state gives for a step from x: its forces are held; its next state."""
    if law is None:
        return {}
    system.held, row = law.sample(system.model, x["t"][0], x["q"], x["v"], x["law"], dt)
    return {"law": row}


def as_state(names: Iterable[str], arrays: Iterable[Traced], t: Real) -> State:
    """A state while tracing."""
    own = {n: np.asarray(x, dtype=object) for n, x in zip(names, arrays, strict=True)}
    return {"t": one_number(t), **own}


def one_number(x: Real) -> Traced:
    """A scalar as an array of one."""
    out = np.empty(1, dtype=object)
    out[0] = x
    return out
