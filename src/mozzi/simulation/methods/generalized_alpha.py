"""The Lie group generalised-α method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.program.scalar import Real, maximum
from mozzi.simulation.methods.kinds import refuse_wrong
from mozzi.simulation.methods.method import NO_ROWS, State
from mozzi.simulation.methods.newton import newton
from mozzi.simulation.system import System
from mozzi.simulation.traced_state import Memory
from mozzi.types import Traced

__all__ = ["GeneralizedAlpha"]


@dataclass(frozen=True)
class GeneralizedAlpha:
    """The Lie group generalised-α method: order 2, implicit, stiff parts damped.

        q′ = q ⊕ (h v + h² (½ − β) α + h² β α′),   v′ = v + h (1 − γ) α + h γ α′,
        (1 − α_m) α′ + α_m α = (1 − α_f) a′ + α_f a,    M a′ = forces at (t′, q′, v′).

    ``rho`` is the spectral radius at infinite frequency: 1 damps nothing, 0 annihilates.
    Brüls, Cardona and Arnold 2012; Müller, Dynamics, section 7.
    """

    rho: float = 0.9
    iterations: int = 5
    order = 2

    def __post_init__(self) -> None:
        refuse_wrong(self, "generalized_alpha", {"iterations": 1})
        if not 0.0 <= self.rho <= 1.0:
            raise ConfigurationError(f"rho {self.rho!r}: give a number in [0, 1]")

    def extra(self, model: Model) -> Mapping[str, int]:
        return {"a": model.nv, "alpha": model.nv, "defect": 1}

    def start(self, system: System, x: State) -> State:
        a = system.acceleration(x["t"][0], x["q"], x["v"])
        return x | {"a": a, "alpha": a, "defect": np.array([0.0], dtype=object)}

    def jumped(self, system: System, x: State, before: Traced) -> State:
        """The state where the joint forces that are held were `before`, and are others now: both
        accelerations jump by M⁻¹ times the difference, so that the next step knows of it.
        """
        at = x["t"][0], x["q"], x["v"]
        jump = system.acceleration(*at) - replace(system, held=before).acceleration(*at)
        return x | {n: Memory(n, len(jump), x[n] + jump).get() for n in ("a", "alpha")}

    def step(self, system: System, x: State, h: Real) -> State:
        model, rho = system.model, self.rho
        am, af = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        gamma = 0.5 - am + af
        beta = 0.25 * (gamma + 0.5) ** 2
        t, q, v, a, alpha = x["t"][0], x["q"], x["v"], x["a"], x["alpha"]
        c = (1.0 - am) / (1.0 - af)

        def moved(new: Traced) -> tuple[Traced, Traced, Traced]:
            dq = h * (v + h * ((0.5 - beta) * alpha + beta * new))
            dv = h * ((1.0 - gamma) * alpha + gamma * new)
            return integrate(model, q, dq), v + dv, c * new + (am * alpha - af * a) * (1 / (1 - af))

        def residual(new: Traced) -> Traced:
            return system.balance(t + h, *moved(new))

        held = NO_ROWS if system.held is None else system.held
        known = (t, q, v, a, alpha, held, x.get("rows", NO_ROWS))
        new, defect = newton(model, residual, a, known, self.iterations, (q, c))
        q1, v1, a1 = moved(new)
        worst = np.array([maximum(x["defect"][0], defect)], dtype=object)
        return {"q": q1, "v": v1, "a": a1, "alpha": new, "defect": worst}
