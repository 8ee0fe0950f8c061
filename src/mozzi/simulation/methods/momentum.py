"""A method that keeps the momentum: the balance of spatial momenta between two half steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.dynamics.momenta import momenta, projected_momenta
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.model import Model
from mozzi.program.scalar import Real, maximum
from mozzi.simulation.methods.kinds import refuse_wrong
from mozzi.simulation.methods.method import NO_ROWS, State
from mozzi.simulation.methods.newton import newton
from mozzi.simulation.system import System
from mozzi.types import Traced

__all__ = ["MomentumPreserving"]


@dataclass(frozen=True)
class MomentumPreserving:
    """The balance of the spatial momenta between two midpoint turns: order 2, symmetric.

        J_mᵀ (Π(q′, v′) − Π(q, v) − h W_m) = h τ_m,    q_m = q ⊕ ½ h v,    q′ = q_m ⊕ ½ h v′,

    with the momenta Π of all bodies about the inertial origin. Where all bodies share a screw that
    stays in space (a free base, a vertical first hinge), its row says that the momentum of the
    whole changes by the wrench alone: without one it is kept to rounding, whatever h is.
    Müller, Dynamics (36), (79).
    """

    iterations: int = 4
    order = 2

    def __post_init__(self) -> None:
        refuse_wrong(self, "momentum", {"iterations": 1})

    def extra(self, model: Model) -> Mapping[str, int]:
        return {"defect": 1}

    def start(self, system: System, x: State) -> State:
        return x | {"defect": np.array([0.0], dtype=object)}

    def step(self, system: System, x: State, h: Real) -> State:
        model = system.model
        t, q, v = x["t"][0], x["q"], x["v"]
        half = 0.5 * h
        mid = integrate(model, q, half * v)
        before = momenta(model, q, v)
        armature = np.array([m for body in model for m in body.dynamics.armature])
        still = np.zeros(model.nv)

        def load(u: Traced) -> Traced:  # gravity and wrenches
            return inverse_dynamics(model, mid, still, still, **system.given(mid, u))

        held = None if system.sprung else load(v)

        def residual(new: Traced) -> Traced:
            after = momenta(model, integrate(model, mid, half * new), new)
            mean = 0.5 * (v + new)
            force = (load(mean) if held is None else held) - system.force(t + half, mid, mean)
            change = projected_momenta(model, mid, after - before) + armature * (new - v)
            return change + h * force

        sampled = NO_ROWS if system.held is None else system.held
        known = (t, q, v, sampled, x.get("rows", NO_ROWS))
        new, defect = newton(model, residual, v, known, self.iterations, (mid, 1.0))
        worst = np.array([maximum(x["defect"][0], defect)], dtype=object)
        return {"q": integrate(model, mid, half * new), "v": new, "defect": worst}
