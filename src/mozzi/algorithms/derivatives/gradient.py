"""The gradient of λᵀ a of forward dynamics."""

from __future__ import annotations

from typing import Any

from mozzi.algorithms.derivatives.inverse_mass import mass_matrix_solve
from mozzi.algorithms.derivatives.second import inverse_dynamics_gradient
from mozzi.algorithms.dynamics.forward import forward_dynamics
from mozzi.algorithms.recursion.algorithm import algorithm
from mozzi.algorithms.recursion.rolling import ALWAYS_UNROLLED

__all__ = ["forward_dynamics_gradient"]


@algorithm(threshold=ALWAYS_UNROLLED, loops="honour")
def forward_dynamics_gradient(
    model: Any, q: Any, v: Any, tau: Any, covector: Any
) -> tuple[Any, Any, Any]:
    """((∂a/∂q)ᵀ λ, (∂a/∂v)ᵀ λ, (∂a/∂τ)ᵀ λ) of `forward_dynamics`: the gradient of λᵀ a.

    With μ = M⁻¹ λ it is −(∂τ/∂q)ᵀ μ, −(∂τ/∂v)ᵀ μ and μ, from `inverse_dynamics_gradient` at the
    same motion, without a Jacobian. With loops: `derivatives/loops/solve.py` (2).

    Returns:
        dq (B, nv): with respect to q, along the group.
        dv (B, nv): with respect to v.
        dtau (B, nv): with respect to τ.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dq, dv, dtau = mz.forward_dynamics_gradient(arm, q, v, tau, v)
        >>> np.allclose(dtau, mz.mass_matrix_inverse(arm, q) @ v)
        True
    """
    of = model.model
    q, v, tau, covector = (x.array() for x in (q, v, tau, covector))
    a, force = forward_dynamics.python(of, q, v, tau), mass_matrix_solve.python(of, q, covector)
    by_q, by_v, _ = inverse_dynamics_gradient.python(of, q, v, a, force)
    return -by_q, -by_v, force
