"""Runge–Kutta on the configuration space: Munthe-Kaas.

The unknown of a step is δ in the tangent space, q = q_n ⊕ δ, with δ̇ = dexp⁻¹ of −δ applied to v,
joint by joint (Müller, Dynamics (89)). That is an ordinary differential equation in a vector
space, and a Runge–Kutta method of any order keeps its order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mozzi.algorithms.configuration import increment_rates, integrate
from mozzi.integrate.memory import Memory, table
from mozzi.integrate.system import System
from mozzi.integrate.tableau import Tableau
from mozzi.program.program import loop

__all__ = ["munthe_kaas_stages", "munthe_kaas_step"]


def munthe_kaas_step(
    tableau: Tableau, system: System, t: Any, q: np.ndarray, v: np.ndarray, h: Any
) -> tuple[np.ndarray, np.ndarray]:
    """(q′, v′) after a step h."""
    k = munthe_kaas_stages(tableau, system, t, q, v, h)
    step = h * _weighted(tableau.b, k)
    n = system.model.nv
    return integrate(system.model, q, step[:n]), v + step[n:]


def munthe_kaas_stages(
    tableau: Tableau,
    system: System,
    t: Any,
    q: np.ndarray,
    v: np.ndarray,
    h: Any,
    first: np.ndarray | None = None,
) -> np.ndarray:
    """The rates (δ̇, v̇) of all stages, (s, 2 nv); ``first``: those of the first stage, if known.

    The stages are one loop over the rows of the tableau, so that the dynamics is in the program
    once.
    """
    model, n, s = system.model, system.model.nv, tableau.stages
    k = Memory("k", (s, 2 * n), 0.0)
    if first is not None:
        k.set_row(0, first)
    for _, i in loop(0 if first is None else 1, s, name="stage"):
        row = table("A", tableau.A, i) * h
        used = [j for j in range(s) if tableau.A[:, j].any()]
        d = sum((k.get_row(j) * row[j] for j in used), np.zeros(2 * n))
        c = table("c", tableau.c[:, None], i)[0]
        u = v + d[n:]
        a = system.acceleration(t + c * h, integrate(model, q, d[:n]), u)
        k.set_row(i, np.concatenate([increment_rates(model, d[:n], u), a]))
    return k.get()


def _weighted(weights: np.ndarray, k: np.ndarray) -> Any:
    return sum(row * w for row, w in zip(k, weights) if w)
