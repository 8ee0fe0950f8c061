# pyright: reportConstantRedefinition=false
"""Solutions of the equations with loops, and how they answer to what they are made of.

    M x − Aᵀ κ = f,    A x = g                                                              (1)

holds for accelerations (f = τ less the bias forces, g = −Ȧ v), for the corrections that take a
state back onto its loops (f = 0), and for derivatives of both. Rows that depend on others are left
out, as `constraints/solve.py` does: their κ is zero. So (1) is differentiated as it was solved,
row by row,

    M dx − Aᵀ dκ = df − ∂(M x − Aᵀ κ),    A dx = dg − ∂(A x)        (x and κ held on the right),

which is (1) once more. Backwards, with M μ − Aᵀ ν = x̄ and A μ = 0,

    x̄ᵀ dx = μᵀ (df − ∂(M x − Aᵀ κ)) − νᵀ (dg − ∂(A x)) :                                   (2)

the gradient of one number, in reverse mode. Which rows are left out counts as constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from operator import add

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.arguments import NoBlocks
from mozzi.algorithms.calls.inlining import inlined
from mozzi.algorithms.constraints.multipliers import Multipliers
from mozzi.algorithms.constraints.row_choice import HeldRows, holding
from mozzi.algorithms.constraints.rows.rows import loop_acceleration, loop_drift, loop_jacobian
from mozzi.algorithms.derivatives.gradient import inverse_dynamics_gradient, power_gradient
from mozzi.algorithms.derivatives.loops.ties import loop_power_gradient, tied_by_frames
from mozzi.algorithms.derivatives.second import tangent_basis, tangent_pull
from mozzi.algorithms.dynamics.forward import Sweeps, at_rest, forward, hybrid
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.dynamics.momenta import AtRest
from mozzi.algorithms.loops.rank_warnings import multipliers
from mozzi.algorithms.recursion.blocks import plus
from mozzi.algorithms.recursion.containers import ZERO, BlockArray, joint_vector
from mozzi.algorithms.recursion.held import held_by
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import ByBody, JointVector, PerBody, Whole
from mozzi.lie import Twist, Wrench
from mozzi.model import Model
from mozzi.program.counted_loops import entrywise
from mozzi.program.differentiate import reverse
from mozzi.program.scalar import Real
from mozzi.types import JointChoice, Traced

__all__ = [
    "accelerations_gradient_with_loops", "constrained_accelerations", "constrained_gradient",
    "constrained_hybrid", "constrained_hybrid_solve", "constrained_solve", "motion_gradient",
    "position_correction_gradient", "velocity_correction_gradient", "weightless",
]  # fmt: skip


@algorithm(regroup="moments", loops="honour", rolled_paths=True)
def constrained_accelerations(
    model: Mechanism, q: JointVector, v: JointVector, tau: JointVector,
    wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
    loop_accelerations: BlockArray | None = None, kept: Whole[Sequence[Real]] | None = None,
) -> tuple[BlockArray, Traced]:  # fmt: skip
    """(a, λ): `forward_dynamics`, with the multipliers that it finds.

    Those of rows that it leaves out are zero; `loop_forces` has those of least norm instead.
    ``kept``: which rows count (`kept_rows`), where that was found before.
    """
    with _holding(model, q, kept):
        x = Sweeps(model, q, v, tau, wrenches=wrenches, resistance=resistance)
        a, loops = forward(x, loop_accelerations)
    return a, multipliers(loops)


@algorithm(regroup="moments", loops="honour", rolled_paths=True)
def constrained_solve(
    model: Mechanism, q: JointVector, tau: JointVector,
    loop_accelerations: BlockArray | None = None, kept: Whole[Sequence[Real]] | None = None,
) -> tuple[BlockArray, Traced]:  # fmt: skip
    """(x, κ) with M x = τ + Aᵀ κ and A x = the given accelerations of the rows (zero if none).

    Forward dynamics at rest and without gravity, O(n) + O(m d) + the sparse solution.
    """
    with _holding(model, q, kept):
        x, loops = forward(Sweeps(AtRest(model), q, ZERO, tau), loop_accelerations)
    return x, multipliers(loops)


@algorithm(regroup="moments", loops="honour")
def constrained_hybrid(
    model: Mechanism, q: JointVector, v: JointVector, tau: JointVector, a: JointVector,
    prescribed: JointChoice = (), wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
) -> tuple[BlockArray, BlockArray, Traced]:  # fmt: skip
    """(τ, a, λ): `hybrid_dynamics`, with the multipliers that it finds."""
    x = Sweeps(held_by(model, prescribed), q, v, tau, a, wrenches, resistance)
    tau_out, a_out, loops = hybrid(x, least=True)
    return tau_out, a_out, multipliers(loops)


@algorithm(regroup="moments", loops="honour")
def constrained_hybrid_solve(
    model: Mechanism, q: JointVector, tau: JointVector, a: JointVector,
    loop_accelerations: BlockArray | None = None, prescribed: JointChoice = (),
) -> tuple[BlockArray, BlockArray]:  # fmt: skip
    """(τ, x) with M x = τ + Aᵀ κ and A x = the given accelerations of the rows (zero if none): x is
    given at prescribed coordinates, τ at the others.

    Hybrid dynamics at rest and without gravity.
    """
    still = AtRest(held_by(model, prescribed))
    tau_out, x, _ = hybrid(Sweeps(still, q, ZERO, tau, a), loop_accelerations, least=True)
    return tau_out, x


def _holding(
    model: Mechanism, q: JointVector, kept: Whole[Sequence[Real]] | None
) -> AbstractContextManager[None]:
    """Rows that were given, or as they are."""
    return nullcontext() if kept is None else holding(HeldRows(model.model, q, kept[()]))


def weightless(model: Model) -> Model:
    """The model without gravity, the same one every time."""
    if "weightless" not in model.cache:
        model.cache["weightless"] = model.with_gravity((0.0, 0.0, 0.0))
    return model.cache["weightless"]


# -- backwards: (2) --


@algorithm(regroup="moments", loops="honour", rolled_paths=True)
def constrained_gradient(
    model: Mechanism, q: BlockArray, v: BlockArray, a: BlockArray, multipliers: BlockArray,
    covector: BlockArray, loop_covector: BlockArray, wrenches: ByBody[Wrench] | None = None,
    resistance: bool = False,
) -> tuple[Traced, Traced]:  # fmt: skip
    """The gradient by q (along the group) and v of μᵀ (M a + C v + g − Aᵀ λ) − νᵀ (A a + Ȧ v).

    a, λ (``multipliers``), μ (``covector``) and ν (``loop_covector``) are held. Where a and λ solve
    the equations of motion, and M μ − Aᵀ ν = ā with A μ = 0, it is −∂(āᵀ a).  Inverse dynamics and
    the rows of the loops run backwards, O(n) + O(m d).
    """
    tree = inverse_dynamics_gradient(model, q, v, a, covector, wrenches, resistance)
    return _with_rows(tree, model, q, v, a, multipliers, covector, loop_covector)


def accelerations_gradient_with_loops(
    x: Sweeps, q: BlockArray, v: BlockArray, a: BlockArray, loops: Multipliers,
    covector: JointVector,
) -> tuple[Traced, Traced, BlockArray]:  # fmt: skip
    """(2) for the accelerations, behind the sweeps at (q, v) that found a, with the same factors:
    the gradient of āᵀ a (``covector``) by q and v with the other sign, and μ.
    """
    mu, L, rows = at_rest(x, loops, covector)
    tree = power_gradient(
        x.model, q, v, a, mu, x.wrenches, x.resistance, T=x.T, L=L, moves=x
    )
    own = multipliers(loops), mu, multipliers(rows)
    return *_with_rows(tree, x.model, q, v, a, *own, T=x.T, L=L), mu


def _with_rows(
    tree: Sequence[BlockArray], model: Mechanism, q: BlockArray, v: BlockArray, a: BlockArray,
    lam: BlockArray | Traced, mu: BlockArray, nu: BlockArray | Traced,
    T: PerBody[RelativePose] | None = None, L: PerBody[Twist] | None = None,
) -> tuple[Traced, Traced]:  # fmt: skip
    """The gradient of a tree by q and v, with what rows of loops add. T, L: see
    `loop_power_gradient`.
    """
    if tied_by_frames(model.model):
        own = list(lam[()]), list(nu[()])
        both = loop_power_gradient(model, q, v, a, mu, *own, T=T, L=L)[:2]
        rows = tuple(x.array() for x in both)
    else:
        rows = inlined(model, _motion, q, v, a, lam, mu, nu)
    by_q, by_v = (entrywise(add, x.array(), y) for x, y in zip(tree, rows))
    return np.array(by_q, dtype=object), np.array(by_v, dtype=object)


@algorithm(regroup="moments", loops="honour", rolled_paths=True)
def position_correction_gradient(
    model: Mechanism, q: BlockArray, a: BlockArray, multipliers: BlockArray, covector: BlockArray,
    loop_covector: BlockArray,
) -> tuple[Traced]:  # fmt: skip
    """The gradient by q of μᵀ (M x − Aᵀ κ) − νᵀ (A x + φ), of corrections x = a with κ."""
    if tied_by_frames(model.model):
        own = multipliers[()], loop_covector[()]
        rows = loop_power_gradient(model, q, ZERO, a, covector, *own, drift=True)[0].array()
    else:
        (rows,) = inlined(model, _position, q, a, multipliers, covector, loop_covector)
    by_q = entrywise(add, _inertial(model, q, a, covector), rows)
    return (np.array(by_q, dtype=object),)


@algorithm(regroup="moments", loops="honour", rolled_paths=True)
def velocity_correction_gradient(
    model: Mechanism, q: BlockArray, v: BlockArray, a: BlockArray, multipliers: BlockArray,
    covector: BlockArray, loop_covector: BlockArray,
) -> tuple[Traced, Traced]:  # fmt: skip
    """The gradient by q and v of μᵀ (M x − Aᵀ κ) − νᵀ A (v + x), of corrections x = a with κ."""
    if tied_by_frames(model.model):
        own, after = (multipliers[()], loop_covector[()]), joint_vector(model, "after")
        for i in model.outward():
            after[i] = plus(v[i], a[i])
        by_q, _, by_v = loop_power_gradient(model, q, ZERO, after, covector, *own)
        rows, by_v = by_q.array(), by_v.array()
    else:
        rows, by_v = inlined(model, _velocity, q, v, a, multipliers, covector, loop_covector)
    by_q = entrywise(add, _inertial(model, q, a, covector), rows)
    return np.array(by_q, dtype=object), by_v


def _inertial(
    model: Mechanism, q: JointVector, a: JointVector, covector: JointVector
) -> Traced:
    """The gradient by q of μᵀ M x."""
    still = AtRest(model)
    return inverse_dynamics_gradient(still, q, ZERO, a, covector, NoBlocks(Wrench))[0].array()


def _motion(
    model: Model, q: Traced, v: Traced, a: Traced, multipliers: Traced, covector: Traced,
    loop_covector: Traced,
) -> tuple[Traced, Traced]:  # fmt: skip
    L = _loop_powers(model, q, v, a, multipliers, covector, loop_covector)
    both = reverse(L, np.concatenate([q, v]), 1.0)
    return tangent_pull(model, q, both[: model.nq]), both[model.nq :]


def _loop_powers(
    model: Model, q: Traced, v: Traced, a: Traced, multipliers: Traced, covector: Traced,
    loop_covector: Traced,
) -> Real:  # fmt: skip
    """−λᵀ A μ − νᵀ (A a + Ȧ v)."""
    A = loop_jacobian(model, q)
    return -(multipliers @ (A @ covector)) - loop_covector @ loop_acceleration(model, q, v, a)


def motion_gradient(
    model: Model, q: Traced, v: Traced, a: Traced, multipliers: Traced, covector: Traced,
    loop_covector: Traced,
) -> tuple[Traced, Traced, Traced]:  # fmt: skip
    """`constrained_gradient` as a graph that is differentiated once more, and the basis of tangents
    at q.
    """
    L = inverse_dynamics(model, q, v, a) @ covector
    L = L + _loop_powers(model, q, v, a, multipliers, covector, loop_covector)
    both, N = reverse(L, np.concatenate([q, v]), 1.0), tangent_basis(model, q)
    return N.T @ both[: model.nq], both[model.nq :], N


def _position(
    model: Model, q: Traced, a: Traced, multipliers: Traced, covector: Traced,
    loop_covector: Traced,
) -> tuple[Traced]:  # fmt: skip
    A = loop_jacobian(model, q)
    L = -(multipliers @ (A @ covector))
    L = L - loop_covector @ (A @ a + loop_drift(model, q))
    return (tangent_pull(model, q, reverse(L, q, 1.0)),)


def _velocity(
    model: Model, q: Traced, v: Traced, a: Traced, multipliers: Traced, covector: Traced,
    loop_covector: Traced,
) -> tuple[Traced, Traced]:  # fmt: skip
    A = loop_jacobian(model, q)
    L = -(multipliers @ (A @ covector))
    L = L - loop_covector @ (A @ (v + a))
    return tangent_pull(model, q, reverse(L, q, 1.0)), -(loop_covector @ A)
