"""What `simulate` takes beside its own arguments: the options of the method, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from mozzi.algorithms.contact.step import SolverName
from mozzi.simulation.methods.dormand_prince import EventFunction
from mozzi.simulation.methods.munthe_kaas import IntegratedState
from mozzi.simulation.methods.tableau import Tableau

__all__ = ["MethodOptions"]


class MethodOptions(TypedDict, total=False):
    """Options of all methods; which has which is told where a method is made of its name.

    rtol, atol, events, tries: of dopri5. rho: of generalized_alpha. iterations: of
    generalized_alpha and momentum. solver, steps, interior, cut,
    smoothing: of moreau. tableau, state: of rkmk4.
    """

    rtol: float
    atol: float
    events: Sequence[EventFunction]
    tries: int | None
    rho: float
    iterations: int
    solver: SolverName
    steps: int
    interior: int
    cut: bool | None
    smoothing: float
    tableau: Tableau
    state: IntegratedState
