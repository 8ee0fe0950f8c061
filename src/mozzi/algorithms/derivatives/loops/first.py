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

from types import NotImplementedType
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.algorithm import Arrays, Options, algorithm
from mozzi.algorithms.calls.arguments import Blocks
from mozzi.algorithms.calls.held_wrenches import HeldWrenches
from mozzi.algorithms.calls.inlining import inlined
from mozzi.algorithms.constraints.rank import pinv, what_counts
from mozzi.algorithms.constraints.rows.joints import at_rest
from mozzi.algorithms.constraints.rows.rows import loop_acceleration, loop_jacobian
from mozzi.algorithms.derivatives.first import (
    forward_dynamics_derivatives,
    forward_dynamics_wrench_derivatives,
    inverse_dynamics_derivatives,
    inverse_dynamics_wrench_derivatives,
    wrench_changes,
)
from mozzi.algorithms.derivatives.hybrid import hybrid_dynamics_derivatives
from mozzi.algorithms.derivatives.loops.solve import constrained_accelerations, constrained_solve
from mozzi.algorithms.derivatives.second import tangent_basis
from mozzi.algorithms.dynamics.forward import forward_dynamics, hybrid_dynamics
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix
from mozzi.algorithms.loops.actuation import Shares, shared, shares
from mozzi.algorithms.loops.assemble import held_mask
from mozzi.algorithms.loops.shown import least_share
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.rolled_or_not import ALWAYS_UNROLLED
from mozzi.algorithms.recursion.views import ByBody
from mozzi.lie import Wrench
from mozzi.model import Model
from mozzi.program.differentiate import forward
from mozzi.types import Array, ArrayLike, Traced

__all__ = [
    "ForwardChanges", "HybridChanges", "InverseChanges", "closed_derivatives", "columns",
    "forward_changes", "forward_derivatives", "forward_wrench_derivatives", "hybrid_derivatives",
    "inverse_derivatives", "inverse_wrench_derivatives", "loop_changes", "solved_columns",
    "solved_pairs",
]  # fmt: skip


@algorithm(threshold=ALWAYS_UNROLLED, loops="honour")
def loop_changes(
    model: Mechanism, q: BlockArray, v: BlockArray, a: BlockArray, multipliers: BlockArray
) -> tuple[Traced, Traced, Traced]:
    """(∂(Aᵀ λ)/∂q, ∂(A a + Ȧ v)/∂q, ∂(A a + Ȧ v)/∂v) at fixed a and λ, along the group.

    By differentiating the programs of the rows, O(m d n).
    """
    pull, by_q, by_v = inlined(model, _rows, q, v, a, multipliers)
    return pull, by_q, by_v


def _rows(
    model: Model, q: Traced, v: Traced, a: Traced, multipliers: Traced
) -> tuple[Traced, Traced, Traced]:
    N, pull = tangent_basis(model, q), multipliers @ loop_jacobian(model, q)
    rows = loop_acceleration(model, q, v, a)
    return forward(pull, q, N), forward(rows, q, N), forward(rows, v, np.eye(model.nv))


class Saddle:
    """[M −Aᵀ; A 0] over the free coordinates, of any rank: da, dλ of right-hand sides f, g."""

    def __init__(self, M: Array, A: Array):
        self.L = np.linalg.cholesky(M)
        B = np.swapaxes(np.linalg.solve(self.L, np.swapaxes(A, -1, -2)), -1, -2)
        self.B, self.inverse = B, pinv(B)

    def solve(self, f: Array, g: Array) -> tuple[NDArray[np.floating], Array]:
        """M da − Aᵀ dλ = f, A da = g."""
        y = np.linalg.solve(self.L, f)
        z = self.inverse @ (g - self.B @ y)
        da = np.linalg.solve(np.swapaxes(self.L, -1, -2), y + z)
        return da, np.swapaxes(self.inverse, -1, -2) @ z


@forward_dynamics_derivatives.with_loops
def forward_derivatives(
    model: Model, arrays: Arrays, options: Options
) -> tuple[Array, Array, Array]:
    """The answer of `forward_dynamics_derivatives` with loops: (∂a/∂q, ∂a/∂v, ∂a/∂τ).

    Of small mechanisms by one program (`closed_derivatives`), of others with the columns as samples
    of `constrained_solve`: more work, and less to compile.
    """
    if not _small(model):
        x = forward_changes(model, arrays, options)
        return x.a_q, x.a_v, x.a_tau
    forward_dynamics(model, **arrays, **options)  # which tells where loops lose rank
    return forward_dynamics_derivatives.compiled(model, arrays, options)


@forward_dynamics_derivatives.recursion_with_loops
def closed_derivatives(
    model: Mechanism,
    q: BlockArray,
    v: BlockArray,
    tau: BlockArray,
    wrenches: ByBody[Wrench] | None = None,
    resistance: bool = False,
) -> tuple[Traced, Traced, Traced]:
    """(∂a/∂q, ∂a/∂v, ∂a/∂τ) of forward dynamics with loops, on scalars."""
    of, at, u, force = model.model, q.array(), v.array(), tau.array()
    given: dict[str, object] = {"resistance": resistance}
    if isinstance(wrenches, HeldWrenches):
        given |= {"wrenches": wrenches.given.array(), "wrenches_rep": wrenches.rep}
    elif isinstance(wrenches, Blocks):
        given["wrenches"] = wrenches.blocks.array()
    a, lam = constrained_accelerations.python(of, at, u, force, **given)
    f_q, f_v, _ = inverse_dynamics_derivatives.python(of, at, u, a, **given)
    pull, g_q, g_v = loop_changes.python(of, at, u, a, lam)
    return (
        solved_columns(of, at, pull - f_q, -g_q),
        solved_columns(of, at, -f_v, -g_v),
        solved_columns(of, at, np.eye(of.nv).astype(object)),
    )


@forward_dynamics_wrench_derivatives.recursion_with_loops
def closed_wrench_derivatives(model: Mechanism, q: BlockArray) -> Traced:
    """∂a/∂W of forward dynamics with loops, on scalars."""
    J = -wrench_changes(model, q).array()
    flat = J.reshape(model.nv, -1)
    return solved_columns(model.model, q.array(), flat).reshape(J.shape)


def solved_columns(model: Model, q: Traced, f: Traced, g: Traced | None = None) -> Traced:
    """dx with M dx − Aᵀ dκ = f and A dx = g (zero if not given), on scalars: the matrices are
    factored once.
    """
    return solved_pairs(model, q, f, g)[0]


def solved_pairs(
    model: Model, q: Traced, f: Traced, g: Traced | None = None
) -> tuple[Traced, Traced]:
    """The same dx, with their dκ."""
    more = f.T if g is None else zip(f.T, g.T, strict=True)
    parts = [constrained_solve.python(model, q, *(x if g is not None else (x,))) for x in more]
    dx, dk = (np.stack([pair[k] for pair in parts], axis=-1) for k in (0, 1))
    return dx, dk


ONE_PROGRAM_SIZE = 150  # nv (nv + m): mechanisms whose derivatives are one program on arrays too


def _small(model: Model) -> bool:
    """Whether one program is soon compiled; joints of loops that are fitted make long ones."""
    exact = all(at_rest(loop.joint).exact for loop in model.loops)
    return exact and model.nv * (model.nv + model.row_count) <= ONE_PROGRAM_SIZE


class ForwardChanges(NamedTuple):
    """Constrained accelerations a and multipliers λ, with their derivatives by q, v and τ."""

    a: Array
    multipliers: Array
    a_q: Array
    a_v: Array
    a_tau: Array
    l_q: Array
    l_v: Array
    l_tau: Array


def forward_changes(
    model: Model, arrays: Arrays, options: Options, kept: ArrayLike | None = None
) -> ForwardChanges:
    """Forward dynamics and its first derivatives, of the rows that it keeps (or of ``kept``)."""
    q, v = np.asarray(arrays["q"], float), np.asarray(arrays["v"], float)
    held = {} if kept is None else {"kept": kept}
    a, lam = constrained_accelerations(model, **arrays, **options, **held)
    if kept is None:
        a = forward_dynamics(model, **arrays, **options)  # which tells where loops lose rank
    force, rows = _changes(model, q, v, a, lam, _given(arrays, options))
    (a_q, l_q), (a_v, l_v) = (columns(model, q, -f, -g, kept) for f, g in zip(force, rows))
    a_tau, l_tau = columns(model, q, np.broadcast_to(np.eye(model.nv), a_q.shape), None, kept)
    return ForwardChanges(a, lam, a_q, a_v, a_tau, l_q, l_v, l_tau)


def columns(
    model: Model, q: Array, f: Array, g: Array | None = None, kept: ArrayLike | None = None
) -> tuple[Array, Array]:
    """(dx, dκ) with M dx − Aᵀ dκ = f and A dx = g (zero if not given), column by column."""
    turned = [np.swapaxes(y, -1, -2) for y in (f, g) if y is not None]
    held = {} if kept is None else {"kept": np.asarray(kept)[..., None, :]}
    dx, dk = constrained_solve(model, q[..., None, :], *turned, **held)
    return np.swapaxes(dx, -1, -2), np.swapaxes(dk, -1, -2)


@forward_dynamics_wrench_derivatives.with_loops
def forward_wrench_derivatives(model: Model, arrays: Arrays, options: Options) -> Array:
    """The answer of `forward_dynamics_wrench_derivatives` with loops."""
    q = np.asarray(arrays["q"], float)
    J = -inverse_dynamics_wrench_derivatives(model, q)
    flat = J.reshape(*J.shape[:-2], -1)
    return columns(model, q, flat)[0].reshape(J.shape)


def _given(arrays: Arrays, options: Options) -> dict[str, object]:
    """What acts besides joint forces, as arguments of inverse dynamics and its derivatives."""
    given: dict[str, object] = {n: arrays[n] for n in ("wrenches",) if n in arrays}
    given |= {n: options[n] for n in ("wrenches_rep",) if n in options}
    return given | ({"resistance": True} if options.get("resistance") else {})


def _changes(
    model: Model, q: Array, v: Array, a: Array, lam: Array, given: dict[str, object]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """∂(τ_r − Aᵀ λ) and ∂(A a + Ȧ v) with respect to q and v."""
    f_q, f_v, _ = inverse_dynamics_derivatives(model, q, v, a, **given)
    pull, g_q, g_v = loop_changes(model, q, v, a, lam)
    return (f_q - pull, f_v), (g_q, g_v)


@hybrid_dynamics_derivatives.with_loops
def hybrid_derivatives(model: Model, arrays: Arrays, options: Options) -> tuple[Array, ...]:
    """The answer of `hybrid_dynamics_derivatives` with loops: both outputs, by q, v, τ and a."""
    x = HybridChanges(model, arrays, options)
    force, rows = _changes(model, x.q, x.v, x.a, x.multipliers, x.given)
    by = [x.solve(f, g) for f, g in zip(force, rows)]
    by += [x.solve(tau=np.diag(1.0 * ~x.held)), x.solve(a=np.diag(1.0 * x.held))]
    shape = force[0].shape
    return tuple(np.broadcast_to(pair[k], shape) for k in (0, 1) for pair in by)


class HybridChanges:
    """Hybrid dynamics with loops, and how its outputs (τ, a) change.

    The loop forces behind the torques are of least norm over all coordinates.
    """

    def __init__(self, model: Model, arrays: Arrays, options: Options):
        self.q, self.v = (np.asarray(arrays[n], float) for n in ("q", "v"))
        self.held, self.given = held_mask(model, options["prescribed"]), _given(arrays, options)
        self.tau, self.a = hybrid_dynamics(model, **arrays, **options)
        self.A, self.M = loop_jacobian(model, self.q), mass_matrix(model, self.q)
        need = inverse_dynamics(model, self.q, self.v, self.a, **self.given) - self.tau
        every, some = (least_share(model, self.q, x) for x in (None, self.held))
        At = np.swapaxes(what_counts(model, self.A, every), -1, -2)
        self.multipliers = (pinv(At) @ need[..., None])[..., 0]
        free = ~self.held
        rows = what_counts(model, self.A[..., free], some, free)
        self.saddle = Saddle(self.M[..., free, :][..., free], rows)

    def solve(
        self,
        f: Array | float = 0.0,
        g: Array | float = 0.0,
        tau: Array | float = 0.0,
        a: Array | float = 0.0,
    ) -> tuple[Array, Array]:
        """(dτ, da) of changes f of τ_r − Aᵀ λ and g of A a + Ȧ v at fixed a and λ, and of the
        inputs: τ (zero at held coordinates) and a (zero at free ones); columns.
        """
        A, M, held, At = self.A, self.M, self.held, np.swapaxes(self.A, -1, -2)
        force = np.asarray(tau - f - M @ a if np.ndim(a) else tau - f)
        rows = np.asarray(-g - A @ a if np.ndim(a) else -g)
        width = max(np.shape(x)[-1] for x in (force, rows) if np.ndim(x))
        force = force + np.zeros((*A.shape[:-2], A.shape[-1], width))
        rows = rows + np.zeros((*A.shape[:-1], width))
        free, dlam = self.saddle.solve(force[..., ~held, :], rows)
        da = np.zeros((*free.shape[:-2], A.shape[-1], width)) + a
        da[..., ~held, :] = free
        dtau = np.zeros_like(da) + tau
        dtau[..., held, :] = (M @ da - At @ dlam + f)[..., held, :]
        return dtau, da


@inverse_dynamics_derivatives.with_loops
def inverse_derivatives(
    model: Model, arrays: Arrays, options: Options
) -> tuple[Array, Array, Array] | NotImplementedType:
    """The answer of `inverse_dynamics_derivatives` where joints are actuated.

    The accelerations move with the loops: ∂τ/∂a is meant for changes with A da = 0.
    """
    if options["actuated"] is None and options["minimize"] is None:
        return NotImplemented
    q, v, a = (np.asarray(arrays[n], float) for n in ("q", "v", "a"))
    x = InverseChanges(shares(model, arrays, cast("Options", {"rep": "body"} | options)))
    t_q, t_v, M = inverse_dynamics_derivatives(model, q, v, a, **_given(arrays, options))
    pull, turn, _ = loop_changes(model, q, np.zeros_like(v), x.y, x.multipliers)
    return x.solve(t_q - pull, turn), x.solve(t_v), x.solve(M)


@inverse_dynamics_wrench_derivatives.with_loops
def inverse_wrench_derivatives(
    model: Model, arrays: Arrays, options: Options
) -> Array | NotImplementedType:
    """The answer of `inverse_dynamics_wrench_derivatives` where joints are actuated: the share
    that they bear of every wrench by itself.
    """
    if options["actuated"] is None and options["minimize"] is None:
        return NotImplemented
    q = np.asarray(arrays["q"], float)
    tree: Array = inverse_dynamics_wrench_derivatives.compiled(model, arrays, {})
    columns = np.swapaxes(tree.reshape(*tree.shape[:-2], -1), -1, -2)
    A = loop_jacobian(model, q)[..., None, :, :]
    borne = shared(model, q[..., None, :], A, columns, options).tau
    return np.swapaxes(borne, -1, -2).reshape(tree.shape)


class InverseChanges:
    """How torques of actuators change.

    τ_a = τ_ar − A_aᵀ λ with A_pᵀ λ = τ_pr; of several, A_a W τ_a + A_p μ = 0 makes Σ w τ_a² least,
    and −W λ + A_p μ = 0 makes Σ w λ² least: in both A y (or A y − W λ) = 0 with y = (W τ_a, μ).
    """

    def __init__(self, x: Shares):
        self.actuated, self.multipliers, self.w = x.actuated, x.multipliers, x.w
        act, A = x.actuated, x.A
        self.A_a, self.torque = A[..., act], x.minimize == "torque"
        A_p = A[..., ~act]
        m, n_p = A.shape[-2], int((~act).sum())
        K = np.zeros((*A.shape[:-2], m + n_p, m + n_p))
        K[..., :m, m:], K[..., m:, :m] = A_p, np.swapaxes(A_p, -1, -2)
        self.y = np.zeros_like(x.tau)
        if self.torque:
            K[..., :m, :m] = -(self.A_a * x.w) @ np.swapaxes(self.A_a, -1, -2)
            self.y[..., act] = x.w * x.tau[..., act]
            self.y[..., ~act] = -(pinv(A_p) @ (A @ self.y[..., None]))[..., 0]
        else:
            K[..., :m, :m] = -np.diag(x.w)
            inverse = pinv(A_p)
            self.y[..., ~act] = (inverse @ (x.w * x.multipliers)[..., None])[..., 0]
        self.inverse = pinv(K)

    def solve(self, force: Array, turn: Array | float = 0.0) -> Array:
        """dτ of changes of τ_r − Aᵀ λ at fixed λ, and of A y at fixed y; columns."""
        act, m = self.actuated, self.multipliers.shape[-1]
        top = np.zeros((*force.shape[:-2], m, force.shape[-1])) - turn
        if self.torque:
            top = top - (self.A_a * self.w) @ force[..., act, :]
        both = np.concatenate([top, force[..., ~act, :]], axis=-2)
        dlam = (self.inverse @ both)[..., :m, :]
        full = np.zeros_like(force)
        full[..., act, :] = force[..., act, :] - np.swapaxes(self.A_a, -1, -2) @ dlam
        return full
