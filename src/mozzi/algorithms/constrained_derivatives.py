"""Derivatives of the dynamics of mechanisms with loops.

The equations of motion with multipliers are differentiated as they stand,

    M a + b − Aᵀ λ = τ,   A a + Ȧ v = 0     ⟹     M da − Aᵀ dλ = dτ − ∂(τ_r − Aᵀ λ),
                                                   A da = −∂(A a + Ȧ v),

at fixed a and λ on the right: the derivatives of the tree's inverse dynamics, and those of the
rows, which programs give. Then every column is one more solution with the same matrices: of forward
dynamics by the program that solves it (`constrained_solve`), which leaves out the same rows, so
that the derivative is that of what is computed also along motions that open the loops; of hybrid
and inverse dynamics by LAPACK, of any rank, where rows that disagree count as nearly as they can.
Derivatives with respect to q are along the group.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mozzi.algorithms.algorithm import algorithm
from mozzi.algorithms.assemble import held_mask
from mozzi.algorithms.configuration import rates
from mozzi.algorithms.constrained_inverse import pinv, shares
from mozzi.algorithms.constrained_solve import constrained_accelerations, constrained_solve
from mozzi.algorithms.derivatives import (
    inverse_dynamics_derivatives,
    inverse_dynamics_wrench_derivatives,
)
from mozzi.algorithms.forward_dynamics import forward_dynamics
from mozzi.algorithms.hybrid_dynamics import hybrid_dynamics
from mozzi.algorithms.inverse_dynamics import inverse_dynamics
from mozzi.algorithms.loops import loop_acceleration, loop_jacobian, matrix, moving
from mozzi.algorithms.mass_matrix import mass_matrix
from mozzi.program.differentiate import forward

__all__ = ["forward_derivatives", "hybrid_derivatives", "inverse_derivatives", "loop_changes"]


@algorithm(loops="honour")
def loop_changes(model: Any, q: Any, v: Any, a: Any, multipliers: Any) -> Any:
    """(∂(Aᵀ λ)/∂q, ∂(A a + Ȧ v)/∂q, ∂(A a + Ȧ v)/∂v) at fixed a and λ, along the group.

    By differentiating the programs of the rows, O(m d n).
    """
    coordinates, velocities = q.array(), v.array()
    along = np.stack([_rates(model, coordinates, k) for k in range(model.nv)], axis=-1)
    pull = matrix(model, moving(model, q)).T @ multipliers.array()
    rows = np.asarray(loop_acceleration(model, q, v, a), dtype=object)
    eye = np.eye(model.nv)
    return (
        np.asarray(forward(pull, coordinates, along)),
        np.asarray(forward(rows, coordinates, along)).reshape(len(rows), model.nv),
        np.asarray(forward(rows, velocities, eye)).reshape(len(rows), model.nv),
    )


def _rates(model: Any, q: np.ndarray, k: int) -> np.ndarray:
    return np.asarray(rates.inline(model.model, q, np.eye(model.nv)[k]), dtype=object)


class Saddle:
    """[M −Aᵀ; A 0] over the free coordinates, of any rank: da, dλ of right-hand sides f, g."""

    def __init__(self, M: np.ndarray, A: np.ndarray):
        self.L = np.linalg.cholesky(M)
        B = np.swapaxes(np.linalg.solve(self.L, np.swapaxes(A, -1, -2)), -1, -2)
        self.B, self.inverse = B, pinv(B)

    def solve(self, f: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M da − Aᵀ dλ = f, A da = g."""
        y = np.linalg.solve(self.L, f)
        z = self.inverse @ (g - self.B @ y)
        da = np.linalg.solve(np.swapaxes(self.L, -1, -2), y + z)
        return da, np.swapaxes(self.inverse, -1, -2) @ z


def forward_derivatives(model: Any, arrays: dict[str, Any], options: dict[str, Any]) -> Any:
    """The answer of `forward_dynamics_derivatives` with loops: (∂a/∂q, ∂a/∂v, ∂a/∂τ)."""
    x = forward_changes(model, arrays, options)
    return x.a_q, x.a_v, x.a_tau


class ForwardChanges(NamedTuple):
    """Constrained accelerations a and multipliers λ, with their derivatives by q, v and τ."""

    a: np.ndarray
    multipliers: np.ndarray
    a_q: np.ndarray
    a_v: np.ndarray
    a_tau: np.ndarray
    l_q: np.ndarray
    l_v: np.ndarray
    l_tau: np.ndarray


def forward_changes(model: Any, arrays: dict[str, Any], options: dict[str, Any]) -> ForwardChanges:
    """Forward dynamics and its first derivatives, of the rows that it keeps."""
    q, v = np.asarray(arrays["q"], float), np.asarray(arrays["v"], float)
    a = forward_dynamics(model, **arrays, **options)  # which tells where loops lose rank
    _, lam = constrained_accelerations(model, **arrays, **options)
    force, rows = _changes(model, q, v, a, lam, _given(arrays, options))
    (a_q, l_q), (a_v, l_v) = (columns(model, q, -f, -g) for f, g in zip(force, rows))
    a_tau, l_tau = columns(model, q, np.broadcast_to(np.eye(model.nv), a_q.shape))
    return ForwardChanges(a, lam, a_q, a_v, a_tau, l_q, l_v, l_tau)


def columns(model: Any, q: np.ndarray, f: np.ndarray, g: np.ndarray | None = None) -> Any:
    """(dx, dκ) with M dx − Aᵀ dκ = f and A dx = g (zero if not given), column by column."""
    turned = [np.swapaxes(y, -1, -2) for y in (f, g) if y is not None]
    dx, dk = constrained_solve(model, q[..., None, :], *turned)
    return np.swapaxes(dx, -1, -2), np.swapaxes(dk, -1, -2)


def wrench_derivatives(model: Any, arrays: dict[str, Any], options: dict[str, Any]) -> Any:
    """The answer of `forward_dynamics_wrench_derivatives` with loops."""
    q = np.asarray(arrays["q"], float)
    J = -inverse_dynamics_wrench_derivatives(model, q)
    flat = J.reshape(*J.shape[:-2], -1)
    return columns(model, q, flat)[0].reshape(J.shape)


def _given(arrays: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """What acts besides joint forces, as arguments of inverse dynamics and its derivatives."""
    given = {n: arrays[n] for n in ("wrenches",) if n in arrays}
    return given | ({"resistance": True} if options["resistance"] else {})


def _changes(
    model: Any, q: Any, v: Any, a: Any, lam: Any, given: dict[str, Any]
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """∂(τ_r − Aᵀ λ) and ∂(A a + Ȧ v) with respect to q and v."""
    f_q, f_v, _ = inverse_dynamics_derivatives(model, q, v, a, **given)
    pull, g_q, g_v = loop_changes(model, q, v, a, lam)
    return (f_q - pull, f_v), (g_q, g_v)


def hybrid_derivatives(model: Any, arrays: dict[str, Any], options: dict[str, Any]) -> Any:
    """The answer of `hybrid_dynamics_derivatives` with loops: both outputs, by q, v, τ and a."""
    q, v = np.asarray(arrays["q"], float), np.asarray(arrays["v"], float)
    held = held_mask(model, options["prescribed"])
    tau, a = hybrid_dynamics(model, **arrays, **options)
    A, M = loop_jacobian(model, q), mass_matrix(model, q)
    given = _given(arrays, options)
    # the loop forces behind these torques, of least norm over the free coordinates and the others
    need = inverse_dynamics(model, q, v, a, **given) - tau
    lam = (pinv(np.swapaxes(A, -1, -2)) @ need[..., None])[..., 0]
    force, rows = _changes(model, q, v, a, lam, given)
    saddle = Saddle(M[..., ~held, :][..., ~held], A[..., ~held])
    shape = force[0].shape
    out_tau, out_a = [], []
    inputs = [*zip(force, rows), (None, held), (None, ~held)]
    for k, (f, g) in enumerate(inputs):
        da, dtau = np.zeros(shape), np.zeros(shape)
        f_all, g_all = np.zeros(shape), np.zeros((*shape[:-2], A.shape[-2], shape[-1]))
        if k < 2:
            f_all, g_all = f_all - f, g_all - g
        elif k == 2:  # τ at the free coordinates
            f_all = f_all + np.diag(1.0 * ~held)
            dtau = dtau + np.diag(1.0 * ~held)
        else:  # a at the held ones
            da = da + np.diag(1.0 * held)
            f_all, g_all = f_all - M * held, g_all - A * held
        free, dlam = saddle.solve(f_all[..., ~held, :], g_all)
        da[..., ~held, :] = free
        full = M @ da - np.swapaxes(A, -1, -2) @ dlam
        if k < 2:
            full = full + f
        dtau[..., held, :] = full[..., held, :]
        out_tau.append(dtau)
        out_a.append(da)
    return (*out_tau, *out_a)


def inverse_derivatives(model: Any, arrays: dict[str, Any], options: dict[str, Any]) -> Any:
    """The answer of `inverse_dynamics_derivatives` where joints are actuated.

    τ_a = τ_ar − A_aᵀ λ with A_pᵀ λ = τ_pr; of several, A_a W τ_a + A_p μ = 0 makes Σ w τ_a² least.
    The accelerations move with the loops: ∂τ/∂a is meant for changes with A da = 0.
    """
    if options["actuated"] is None and options["minimize"] is None:
        return NotImplemented
    q, v, a = (np.asarray(arrays[n], float) for n in ("q", "v", "a"))
    x = shares(model, arrays, {"rep": "body"} | options)
    act, A = x.actuated, x.A
    t_q, t_v, M = inverse_dynamics_derivatives(model, q, v, a, **_given(arrays, options))
    pull, _, _ = loop_changes(model, q, v, a, x.multipliers)
    direct = (t_q - pull, t_v, M)
    m, n_p = A.shape[-2], int((~act).sum())
    A_a, A_p = A[..., act], A[..., ~act]
    K = np.zeros((*A.shape[:-2], m + n_p, m + n_p))
    turn = np.zeros((*A.shape[:-2], m, model.nv))
    K[..., :m, m:], K[..., m:, :m] = A_p, np.swapaxes(A_p, -1, -2)
    if x.minimize == "torque":
        K[..., :m, :m] = -(A_a * x.w) @ np.swapaxes(A_a, -1, -2)
        y = np.zeros_like(x.tau)
        y[..., act] = x.w * x.tau[..., act]
        mu = -(pinv(A_p) @ (A @ y[..., None]))[..., 0]
        y[..., ~act] = mu
    else:
        K[..., :m, :m] = -np.diag(x.w)
        y = np.zeros_like(x.tau)
        y[..., ~act] = (pinv(A_p) @ (x.w * x.multipliers)[..., None])[..., 0]
    _, turn, _ = loop_changes(model, q, np.zeros_like(v), y, x.multipliers)  # ∂(A y)/∂q
    solve, out = pinv(K), []
    for k, d in enumerate(direct):
        top = -turn if k == 0 else np.zeros_like(turn)
        if x.minimize == "torque":
            top = top - (A_a * x.w) @ d[..., act, :]
        dlam = (solve @ np.concatenate([top, d[..., ~act, :]], axis=-2))[..., :m, :]
        full = np.zeros_like(d)
        full[..., act, :] = d[..., act, :] - np.swapaxes(A_a, -1, -2) @ dlam
        out.append(full)
    return tuple(out)
