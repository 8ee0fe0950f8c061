"""Accelerations from joint forces: the articulated-body algorithm."""

from __future__ import annotations

from typing import Any

from mozzi.algorithms.algorithm import algorithm
from mozzi.algorithms.articulated import held_by
from mozzi.algorithms.containers import joint_vector
from mozzi.algorithms.hybrid_dynamics import hybrid

__all__ = ["forward_dynamics"]


@algorithm(regroup="moments")
def forward_dynamics(
    model: Any, q: Any, v: Any, tau: Any, wrenches: Any = None, resistance: bool = False
) -> Any:
    """Accelerations that the joint forces τ produce:  M(q) a = τ − C(q, v) v − g(q) + Σ Jᵢᵀ Wᵢ.

    Articulated bodies, O(n): `hybrid_dynamics` with nothing prescribed. Damping, friction and
    springs of the joints act on request (``resistance``).
    Kim Table 3; Rodriguez et al. (.39), (.40).
    """
    a_out = joint_vector(model, "a_out")
    hybrid(held_by(model, ()), q, v, tau, None, wrenches, resistance, a_out)
    return a_out
