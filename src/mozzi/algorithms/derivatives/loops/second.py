"""Second derivatives of forward dynamics with loops, contracted with a covector.

With z = (a, λ) the equations of motion are R(z; q, v) = (τ, 0), linear in z. For a covector c let
M μ − Aᵀ ν = c and A μ = 0; then

    L = μᵀ (M a + C v + g − Aᵀ λ) − νᵀ (A a + Ȧ v)

has the gradient −∂(cᵀ a) at fixed z, μ, ν, and differentiating that once more

    H_xy = −(L_xy + L_xz z_y + (L_yz z_x)ᵀ) .

L_vz = 0 and L_τ = 0. Rows that the dynamics leaves out have no multipliers: H is that of the rows
it keeps.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from mozzi.algorithms.calls.algorithm import Arrays, Options, algorithm
from mozzi.algorithms.calls.inlining import inlined
from mozzi.algorithms.constraints.rows.rows import loop_jacobian
from mozzi.algorithms.derivatives.first import inverse_dynamics_derivatives
from mozzi.algorithms.derivatives.loops.first import forward_changes, loop_changes, solved_pairs
from mozzi.algorithms.derivatives.loops.solve import (
    constrained_accelerations,
    constrained_solve,
    motion_gradient,
)
from mozzi.algorithms.derivatives.second import forward_dynamics_hessian, mirrored
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.rolled_or_not import ALWAYS_UNROLLED
from mozzi.model import Model
from mozzi.program.differentiate import forward
from mozzi.types import Array, Traced

__all__ = ["closed_hessian", "constrained_hessian", "forward_hessian"]


@algorithm(threshold=ALWAYS_UNROLLED, loops="honour")
def constrained_hessian(
    model: Mechanism,
    q: BlockArray,
    v: BlockArray,
    a: BlockArray,
    multipliers: BlockArray,
    covector: BlockArray,
    loop_covector: BlockArray,
) -> tuple[Traced, Traced, Traced, Traced, Traced]:
    """(L_qq, L_qv, L_vv, L_qa, L_qλ), along the group.  Forward over reverse mode."""
    qq, qv, vv, qa, ql = inlined(model, _hessian, q, v, a, multipliers, covector, loop_covector)
    return qq, qv, vv, qa, ql


def _hessian(
    model: Model,
    q: Traced,
    v: Traced,
    a: Traced,
    multipliers: Traced,
    covector: Traced,
    loop_covector: Traced,
) -> tuple[Traced, ...]:
    by_q, by_v, N = motion_gradient(model, q, v, a, multipliers, covector, loop_covector)
    A = loop_jacobian(model, q)
    by_a = mass_matrix(model, q) @ covector - loop_covector @ A
    vq, vv = forward(by_v, q, N), forward(by_v, v, np.eye(model.nv))
    qa, qk = forward(by_a, q, N).T, forward(-(A @ covector), q, N).T
    return forward(by_q, q, N), vq.T, mirrored(vv), qa, qk


@forward_dynamics_hessian.with_loops
def forward_hessian(
    model: Model, arrays: Arrays, options: Options
) -> tuple[Array, Array, Array, Array]:
    """The answer of `forward_dynamics_hessian` with loops."""
    q, c = (np.asarray(arrays[n], dtype=float) for n in ("q", "covector"))
    given = {n: arrays[n] for n in ("q", "v", "tau")}
    z = forward_changes(model, given, cast("Options", {"resistance": False}))
    mu, nu = constrained_solve(model, q, c)
    qq, qv, vv, qa, ql = constrained_hessian(model, q, arrays["v"], z.a, z.multipliers, mu, nu)
    turned = qa @ z.a_q + ql @ z.l_q
    mixed = qa @ z.a_v + ql @ z.l_v
    across = qa @ z.a_tau + ql @ z.l_tau
    return -(qq + turned + np.swapaxes(turned, -1, -2)), -(qv + mixed), -vv, -across


@forward_dynamics_hessian.recursion_with_loops
def closed_hessian(
    model: Mechanism, q: BlockArray, v: BlockArray, tau: BlockArray, covector: BlockArray
) -> tuple[Traced, Traced, Traced, Traced]:
    """`forward_dynamics_hessian` with loops, on scalars."""
    of, at, u, force = model.model, q.array(), v.array(), tau.array()
    a, lam = constrained_accelerations.python(of, at, u, force)
    f_q, f_v, _ = inverse_dynamics_derivatives.python(of, at, u, a)
    pull, g_q, g_v = loop_changes.python(of, at, u, a, lam)
    a_q, l_q = solved_pairs(of, at, pull - f_q, -g_q)
    a_v, l_v = solved_pairs(of, at, -f_v, -g_v)
    a_tau, l_tau = solved_pairs(of, at, np.eye(of.nv).astype(object))
    mu, nu = constrained_solve.python(of, at, covector.array())
    qq, qv, vv, qa, ql = constrained_hessian.python(of, at, u, a, lam, mu, nu)
    turned = qa @ a_q + ql @ l_q
    mixed, across = qa @ a_v + ql @ l_v, qa @ a_tau + ql @ l_tau
    return -(qq + turned + turned.T), -(qv + mixed), -vv, -across
