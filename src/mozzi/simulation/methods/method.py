"""Integration methods: what one step does, written on scalars and traced with the dynamics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.simulation.methods.munthe_kaas import munthe_kaas_step
from mozzi.simulation.methods.tableau import RK4, Tableau
from mozzi.simulation.system import System

__all__ = ["Method", "MuntheKaas", "SemiImplicit", "as_state", "sizes"]

State = dict[str, Any]


class Method(Protocol):
    """A one-step method of constant step.

    A state holds t, q, v and what else the method carries (``extra``: name → size); ``start``
    gives these at the beginning.
    """

    @property
    def order(self) -> int: ...

    def extra(self, model: Any) -> Mapping[str, int]: ...

    def start(self, system: System, x: State) -> State: ...

    def step(self, system: System, x: State, h: Any) -> State: ...


@dataclass(frozen=True)
class SemiImplicit:
    """v′ = v + h a(t, q, v),  q′ = q ⊕ h v′: order 1, one evaluation, no drift of the energy of
    a conservative system over many periods.
    """

    order = 1

    def extra(self, model: Any) -> Mapping[str, int]:
        return {}

    def start(self, system: System, x: State) -> State:
        return x

    def step(self, system: System, x: State, h: Any) -> State:
        v = x["v"] + h * system.acceleration(x["t"], x["q"], x["v"])
        return {"q": integrate(system.model, x["q"], h * v), "v": v}


@dataclass(frozen=True)
class MuntheKaas:
    """An explicit Runge–Kutta method on the configuration space."""

    tableau: Tableau = RK4

    @property
    def order(self) -> int:
        return self.tableau.order

    def extra(self, model: Any) -> Mapping[str, int]:
        return {}

    def start(self, system: System, x: State) -> State:
        return x

    def step(self, system: System, x: State, h: Any) -> State:
        q, v = munthe_kaas_step(self.tableau, system, x["t"], x["q"], x["v"], h)
        return {"q": q, "v": v}


def sizes(method: Method, model: Any) -> dict[str, int]:
    """The arrays of a state besides the time, and their sizes."""
    return {"q": model.nq, "v": model.nv, **method.extra(model)}


def as_state(names: Any, arrays: Any, t: Any) -> State:
    """A state while tracing."""
    return {"t": t, **{n: np.asarray(x, dtype=object) for n, x in zip(names, arrays, strict=True)}}
