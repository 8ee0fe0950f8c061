"""Accelerations from joint forces: the articulated-body algorithm."""

from __future__ import annotations

from typing import Any

from mozzi.algorithms.dynamics.hybrid import hybrid
from mozzi.algorithms.dynamics.inverse import ZERO
from mozzi.algorithms.recursion.algorithm import algorithm
from mozzi.algorithms.recursion.containers import joint_vector

__all__ = ["forward_dynamics"]


@algorithm(regroup="moments", loops="honour")
def forward_dynamics(
    model: Any, q: Any, v: Any, tau: Any, wrenches: Any = None, resistance: bool = False,
    loop_accelerations: Any = None,
) -> Any:  # fmt: skip
    """Accelerations that the joint forces τ produce:  M(q) a = τ − C(q, v) v − g(q) + Σ Jᵢᵀ Wᵢ.

    Articulated bodies, O(n): `hybrid_dynamics` with nothing prescribed. Damping, friction and
    springs, of the joints and between bodies, act on request (``resistance``). With loops,
    A a + Ȧ v = 0 holds (or = ``loop_accelerations``, where rows have a prescribed motion), and
    Aᵀ λ acts besides τ. Where the loops lose rank, dependent rows are left out, accelerations stay
    finite, and called with arrays it issues a `SingularWarning`. Compiled kernels cannot warn:
    `loop_rank` is there for them.
    Kim Table 3, (67)–(69); Rodriguez et al. (.39), (.40), steps A–F.

    Returns:
        (B, nv): joint accelerations, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> np.allclose(mz.forward_dynamics(arm, q, v, mz.inverse_dynamics(arm, q, v, a)), a)
        True
    """
    a_out = joint_vector(model, "a_out")
    hybrid(model, q, v, tau, ZERO, wrenches, resistance, a_out, None, loop_accelerations)
    return a_out
