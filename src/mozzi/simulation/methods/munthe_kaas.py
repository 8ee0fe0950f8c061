"""Runge–Kutta on the configuration space: Munthe-Kaas.

The unknown of a step is δ in the tangent space, q = q_n ⊕ δ, with δ̇ = dexp⁻¹ of −δ applied to v,
joint by joint (Müller, Dynamics (89)). That is an ordinary differential equation in a vector
space, and a Runge–Kutta method of any order keeps its order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mozzi.algorithms.kinematics.configuration import increment_rates, integrate
from mozzi.model import Model
from mozzi.program.program import loop
from mozzi.program.scalar import Real
from mozzi.simulation.methods.method import State
from mozzi.simulation.methods.tableau import RK4, Tableau
from mozzi.simulation.system import System
from mozzi.simulation.traced_state import Memory, table
from mozzi.types import Array, Traced

__all__ = ["MuntheKaas", "munthe_kaas_stages", "munthe_kaas_step", "weighted"]


@dataclass(frozen=True)
class MuntheKaas:
    """An explicit Runge–Kutta method on the configuration space."""

    tableau: Tableau = RK4

    @property
    def order(self) -> int:
        return self.tableau.order

    def extra(self, model: Model) -> Mapping[str, int]:
        return {}

    def start(self, system: System, x: State) -> State:
        return x

    def step(self, system: System, x: State, h: Real) -> State:
        q, v = munthe_kaas_step(self.tableau, system, x["t"], x["q"], x["v"], h)
        return {"q": q, "v": v}


def munthe_kaas_step(
    tableau: Tableau, system: System, t: Real, q: Traced, v: Traced, h: Real
) -> tuple[Traced, Traced]:
    """(q′, v′) after a step h."""
    if tableau.chained:
        step = h * _chained(tableau, system, t, q, v, h)
    else:
        step = h * weighted(tableau.b, munthe_kaas_stages(tableau, system, t, q, v, h))
    n = system.model.nv
    return integrate(system.model, q, step[:n]), v + step[n:]


def _chained(
    tableau: Tableau, system: System, t: Real, q: Traced, v: Traced, h: Real
) -> Traced:
    """Σ b_i k_i of a method whose stages each use the one before alone: two rows of memory."""
    n, s = system.model.nv, tableau.stages
    weights = np.array([[tableau.A[i, i - 1] if i else 0.0, tableau.b[i]] for i in range(s)])
    k, total = Memory("k", 2 * n, 0.0), Memory("total", 2 * n, 0.0)
    for _, i in loop(0, s, name="stage"):
        before, share = table("weights", weights, i)
        c = table("c", tableau.c[:, None], i)[0]
        new = _rates(system, t + c * h, q, v, k.get() * (before * h))
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
    """The rates (δ̇, v̇) of all stages, (s, 2 nv); ``first``: those of the first stage, if known.

    The stages are one loop over the rows of the tableau, so that the dynamics is in the program
    once.
    """
    n, s = system.model.nv, tableau.stages
    k = Memory("k", (s, 2 * n), 0.0)
    if first is not None:
        k.set_row(0, first)
    for _, i in loop(0 if first is None else 1, s, name="stage"):
        row = table("A", tableau.A, i) * h
        used = [j for j in range(s) if tableau.A[:, j].any()]
        d = sum((k.get_row(j) * row[j] for j in used), _zeros(2 * n))
        c = table("c", tableau.c[:, None], i)[0]
        k.set_row(i, _rates(system, t + c * h, q, v, d))
    return k.get()


def _rates(system: System, t: Real, q: Traced, v: Traced, d: Traced) -> Traced:
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
