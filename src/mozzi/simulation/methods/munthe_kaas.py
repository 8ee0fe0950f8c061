"""Runge–Kutta on the configuration space: Munthe-Kaas.

The unknown of a step is δ in the tangent space, q = q_n ⊕ δ, with δ̇ = dexp⁻¹ of −δ applied to v,
joint by joint (Müller, Dynamics (89)). That is an ordinary differential equation in a vector
space, and a Runge–Kutta method of any order keeps its order.

With state="momentum" the unknowns are δ and the spatial momenta Π of the bodies (MD79) instead of
v. The momentum of the whole is a linear function of these, which Runge–Kutta methods keep: it
changes by the wrenches on the whole alone, to rounding, whatever the step is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from mozzi.algorithms.dynamics.momenta import momenta, momentum_rates, velocities_of_momenta
from mozzi.algorithms.kinematics.configuration import increment_rates, integrate
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.program.program import loop
from mozzi.program.scalar import Real
from mozzi.simulation.methods.kinds import refuse_wrong
from mozzi.simulation.methods.method import State
from mozzi.simulation.methods.tableau import RK4, Tableau
from mozzi.simulation.system import System
from mozzi.simulation.traced_state import Memory, table
from mozzi.types import Array, Traced

__all__ = [
    "IntegratedState", "MuntheKaas", "munthe_kaas_stages", "munthe_kaas_step", "weighted",
]  # fmt: skip

IntegratedState: TypeAlias = Literal["velocity", "momentum"]
"""What is integrated beside q: joint velocities v, or spatial momenta Π of all bodies."""

Rates: TypeAlias = Callable[[Real, Traced], Traced]
"""The rates of the unknowns of a step, of the time and of these."""


@dataclass(frozen=True)
class MuntheKaas:
    """An explicit Runge–Kutta method on the configuration space."""

    tableau: Tableau = RK4
    state: IntegratedState = "velocity"

    def __post_init__(self) -> None:
        refuse_wrong(self, "rkmk4", {})
        if self.state not in ("velocity", "momentum"):
            raise ConfigurationError(f"state {self.state!r}; there are 'velocity' and 'momentum'")

    @property
    def order(self) -> int:
        return self.tableau.order

    def extra(self, model: Model) -> Mapping[str, int]:
        return {}

    def start(self, system: System, x: State) -> State:
        return x

    def step(self, system: System, x: State, h: Real) -> State:
        step = munthe_kaas_step if self.state == "velocity" else _momentum_step
        q, v = step(self.tableau, system, x["t"][0], x["q"], x["v"], h)
        return {"q": q, "v": v}


def munthe_kaas_step(
    tableau: Tableau, system: System, t: Real, q: Traced, v: Traced, h: Real
) -> tuple[Traced, Traced]:
    """(q′, v′) after a step h."""
    n = system.model.nv
    step = h * _mean(tableau, partial(_rates, system, q, v), 2 * n, t, h)
    return integrate(system.model, q, step[:n]), v + step[n:]


def _momentum_step(
    tableau: Tableau, system: System, t: Real, q: Traced, v: Traced, h: Real
) -> tuple[Traced, Traced]:
    """(q′, v′) after a step h of (q, Π).  MD79"""
    model, n = system.model, system.model.nv
    P = momenta(model, q, v).reshape(-1)
    step = h * _mean(tableau, partial(_momentum_rates, system, q, P), n + P.size, t, h)
    new = integrate(model, q, step[:n])
    return new, velocities_of_momenta(model, new, (P + step[n:]).reshape(-1, 6))


def _momentum_rates(system: System, q: Traced, P: Traced, t: Real, d: Traced) -> Traced:
    """(δ̇, Π̇) at q ⊕ δ and Π + δΠ, where d = (δ, δΠ)."""
    model, n = system.model, system.model.nv
    at = integrate(model, q, d[:n])
    v = velocities_of_momenta(model, at, (P + d[n:]).reshape(-1, 6))
    rates = momentum_rates(model, at, v, system.acceleration(t, at, v))
    return np.concatenate([increment_rates(model, d[:n], v), rates.reshape(-1)])


def _mean(tableau: Tableau, rates: Rates, size: int, t: Real, h: Real) -> Traced:
    """Σ b_i k_i."""
    if tableau.chained:
        return _chained(tableau, rates, size, t, h)
    return weighted(tableau.b, _stages(tableau, rates, size, t, h))


def _chained(tableau: Tableau, rates: Rates, size: int, t: Real, h: Real) -> Traced:
    """Σ b_i k_i of a method whose stages each use the one before alone: two rows of memory."""
    s = tableau.stages
    weights = np.array([[tableau.A[i, i - 1] if i else 0.0, tableau.b[i]] for i in range(s)])
    k, total = Memory("k", size, 0.0), Memory("total", size, 0.0)
    for _, i in loop(0, s, name="stage"):
        before, share = table("weights", weights, i)
        c = table("c", tableau.c[:, None], i)[0]
        new = rates(t + c * h, k.get() * (before * h))
        k.set(new)
        total.set(total.get() + share * new)
    return total.get()


def munthe_kaas_stages(
    tableau: Tableau,
    system: System,
    t: Real,
    q: Traced,
    v: Traced,
    h: Real,
    first: Traced | None = None,
) -> Traced:
    """The rates (δ̇, v̇) of all stages, (s, 2 nv); ``first``: those of the first stage, if known."""
    n = system.model.nv
    return _stages(tableau, partial(_rates, system, q, v), 2 * n, t, h, first)


def _stages(
    tableau: Tableau, rates: Rates, size: int, t: Real, h: Real, first: Traced | None = None
) -> Traced:
    """The rates of all stages, (s, size): one loop over the rows of the tableau, so that the
    dynamics is in the program once.
    """
    s = tableau.stages
    k = Memory("k", (s, size), 0.0)
    if first is not None:
        k.set_row(0, first)
    for _, i in loop(0 if first is None else 1, s, name="stage"):
        row = table("A", tableau.A, i) * h
        used = [j for j in range(s) if tableau.A[:, j].any()]
        d = sum((k.get_row(j) * row[j] for j in used), _zeros(size))
        c = table("c", tableau.c[:, None], i)[0]
        k.set_row(i, rates(t + c * h, d))
    return k.get()


def _rates(system: System, q: Traced, v: Traced, t: Real, d: Traced) -> Traced:
    """(δ̇, v̇) at q ⊕ δ and v + δv, where d = (δ, δv)."""
    model, n = system.model, system.model.nv
    u = v + d[n:]
    a = system.acceleration(t, integrate(model, q, d[:n]), u)
    return np.concatenate([increment_rates(model, d[:n], u), a])


def weighted(weights: Array, k: Traced) -> Traced:
    """Σ w_i k_i, of the rows k_i."""
    return sum((row * w for row, w in zip(k, weights) if w), _zeros(k.shape[-1]))


def _zeros(n: int) -> Traced:
    return np.full(n, 0.0, dtype=object)
