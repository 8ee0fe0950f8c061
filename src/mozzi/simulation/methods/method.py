"""What an integration method is: what one step does, written on scalars and traced with the
dynamics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

from mozzi.model import Model
from mozzi.program.scalar import Real
from mozzi.simulation.forces.law import Law
from mozzi.simulation.projection import row_sizes
from mozzi.simulation.system import System
from mozzi.types import Traced

__all__ = ["OneStep", "State", "as_state", "sampled", "sizes"]

State: TypeAlias = dict[str, Any]
"""While tracing, by name: the time t, a scalar, and traced arrays."""


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
    system.held, row = law.sample(system.model, x["t"], x["q"], x["v"], x["law"], dt)
    return {"law": row}


def as_state(names: Iterable[str], arrays: Iterable[Traced], t: Real) -> State:
    """A state while tracing."""
    return {"t": t, **{n: np.asarray(x, dtype=object) for n, x in zip(names, arrays, strict=True)}}
