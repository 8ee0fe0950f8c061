"""Semi-implicit Euler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.model import Model
from mozzi.program.scalar import Real
from mozzi.simulation.methods.method import State
from mozzi.simulation.system import System

__all__ = ["SemiImplicit"]


@dataclass(frozen=True)
class SemiImplicit:
    """v′ = v + h a(t, q, v),  q′ = q ⊕ h v′: order 1, one evaluation, no drift of the energy of
    a conservative system over many periods.
    """

    order = 1

    def extra(self, model: Model) -> Mapping[str, int]:
        return {}

    def start(self, system: System, x: State) -> State:
        return x

    def step(self, system: System, x: State, h: Real) -> State:
        v = x["v"] + h * system.acceleration(x["t"][0], x["q"], x["v"])
        return {"q": integrate(system.model, x["q"], h * v), "v": v}
