"""Derivatives of hybrid dynamics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.derivatives.first import inverse_changes
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.dynamics.inverse_mass import InverseMass, add_rows
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix
from mozzi.algorithms.recursion.blocks import Block, rows
from mozzi.algorithms.recursion.containers import BlockArray, joint_matrix, joint_vector
from mozzi.algorithms.recursion.held import held_by
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector
from mozzi.lie import Wrench
from mozzi.program.scalar import Real
from mozzi.types import JointChoice

__all__ = ["hybrid_dynamics_derivatives"]


@algorithm(regroup=True, threshold=20, loops="honour")
def hybrid_dynamics_derivatives(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    tau: JointVector,
    a: JointVector,
    prescribed: JointChoice = (),
    wrenches: ByBody[Wrench] | None = None,
    resistance: bool = False,
) -> tuple[
    BlockArray, BlockArray, BlockArray, BlockArray,
    BlockArray, BlockArray, BlockArray, BlockArray,
]:  # fmt: skip
    """(∂τ/∂q, ∂τ/∂v, ∂τ/∂τ, ∂τ/∂a, ∂a/∂q, ∂a/∂v, ∂a/∂τ, ∂a/∂a) of `hybrid_dynamics`.

    Eight matrices (nv, nv), rows are outputs: both outputs are complete, and inputs that are not
    read (τ at prescribed coordinates p, a at the others f) have zero columns. With the derivative
    τₓ of inverse dynamics at the same motion,  ∂a_f/∂x = −M_ff⁻¹ τₓ_f  and
    ∂τ_p/∂x = τₓ_p + M_pf ∂a_f/∂x.  O(n² d).  Kim Table 7 for all coordinates at once.

    Returns:
        tau_q (B, nv, nv): ∂τ/∂q along the group; rows are outputs, columns the entries of v.
        tau_v (B, nv, nv): ∂τ/∂v.
        tau_tau (B, nv, nv): ∂τ/∂τ.
        tau_a (B, nv, nv): ∂τ/∂a.
        a_q (B, nv, nv): ∂a/∂q.
        a_v (B, nv, nv): ∂a/∂v.
        a_tau (B, nv, nv): ∂a/∂τ.
        a_a (B, nv, nv): ∂a/∂a.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> tau_q, *_ = mz.hybrid_dynamics_derivatives(arm, q, v, a, a, prescribed=["joint_1"])
        >>> tau_q.shape
        (3, 3)
    """
    model = held_by(model, prescribed)
    M = mass_matrix(model, q)
    inverse = InverseMass(model, M, held=True)
    given, x = joint_vector(model, "given"), joint_vector(model, "x")
    for i in model.outward():
        given[i] = [a[i][c] if held else 0.0 for c, held in enumerate(i.held)]
    bias = inverse_dynamics(model, q, v, given, wrenches, resistance=resistance)
    for i in model.outward():
        x[i] = [a[i][c] if held else tau[i][c] - bias[i][c] for c, held in enumerate(i.held)]
    dq, dv, _ = inverse_changes(model, q, v, inverse.vector(x), wrenches, resistance)

    zero = joint_matrix(model, "zero")
    a_q = inverse.times(_blocks(model, dq, lambda e, row, column: 0.0 if row else -e))
    a_v = inverse.times(_blocks(model, dv, lambda e, row, column: 0.0 if row else -e))
    a_a = inverse.times(_blocks(model, M, lambda e, row, column: -e if column and not row else 0.0))
    a_a = _diagonal(model, a_a, True)
    a_tau = _blocks(model, inverse.matrix(), lambda e, row, column: 0.0 if row or column else e)
    pairs = ((dq, a_q), (dv, a_v), (zero, a_tau), (zero, a_a))
    t_q, t_v, t_tau, t_a = (_forces(model, M, direct, change) for direct, change in pairs)
    return t_q, t_v, _diagonal(model, t_tau, False), t_a, a_q, a_v, a_tau, a_a


def _blocks(
    model: Mechanism, X: BlockArray, choose: Callable[[Real, bool, bool], Real]
) -> BlockArray:
    """Entries of a joint matrix chosen by whether their row and their column are held."""
    out = joint_matrix(model, "X")
    for i in model.outward():
        for j in model.outward():
            out[i, j] = [
                [choose(e, i.held[r], j.held[c]) for c, e in enumerate(row)]
                for r, row in enumerate(rows(X[i, j], i.joint.nv))
            ]
    return out


def _diagonal(model: Mechanism, X: BlockArray, held: bool) -> BlockArray:
    """With ones on the diagonal at the coordinates that are held, or at those that are not."""
    for i in model.outward():
        X[i, i] = [
            [1.0 if r == c and i.held[r] is held else e for c, e in enumerate(row)]
            for r, row in enumerate(rows(X[i, i], i.joint.nv))
        ]
    return X


def _forces(model: Mechanism, M: BlockArray, direct: BlockArray, change: BlockArray) -> BlockArray:
    """direct + M change, in the rows that are held."""
    out = joint_matrix(model, "tau")
    for i in model.outward():
        for j in model.outward():
            out[i, j] = _held_rows(i, direct[i, j])
    for i in model.outward():
        add_rows(out, i, _held_rows(i, M[i, i]), change, i)
        for k in i.parent.path():
            add_rows(out, i, _held_rows(i, M[i, k]), change, k)
            add_rows(out, k, _held_rows(k, M[k, i]), change, i)
    return out


def _held_rows(i: BodyView, flat: Sequence[Real]) -> Block:
    block = rows(flat, i.joint.nv)
    return [row if i.held[r] else [0.0] * len(row) for r, row in enumerate(block)]
