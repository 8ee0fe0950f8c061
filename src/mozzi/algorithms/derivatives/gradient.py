"""The gradient of λᵀ a of forward dynamics."""

from __future__ import annotations

from mozzi.algorithms.derivatives.inverse_mass import mass_matrix_solve
from mozzi.algorithms.derivatives.second import inverse_dynamics_gradient
from mozzi.algorithms.dynamics.forward import forward_dynamics
from mozzi.algorithms.recursion.algorithm import algorithm
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.rolling import ALWAYS_UNROLLED
from mozzi.types import Traced

__all__ = ["forward_dynamics_gradient"]


@algorithm(threshold=ALWAYS_UNROLLED, loops="honour")
def forward_dynamics_gradient(
    model: Mechanism, q: BlockArray, v: BlockArray, tau: BlockArray, covector: BlockArray
) -> tuple[Traced, Traced, Traced]:
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
    tree, x = model.model, (q.array(), v.array())
    a = forward_dynamics.python(tree, *x, tau.array())
    force = mass_matrix_solve.python(tree, x[0], covector.array())
    by_q, by_v, _ = inverse_dynamics_gradient.python(tree, *x, a, force)
    return -by_q, -by_v, force
