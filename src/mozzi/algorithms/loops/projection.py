"""Back onto the loops: what is missing of a state that has drifted off them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.constraints.multipliers import Multipliers
from mozzi.algorithms.constraints.row_choice import factor_of, propagated_rows, rows_kept
from mozzi.algorithms.constraints.rows.rows import still
from mozzi.algorithms.constraints.symbolic_closures import alike
from mozzi.algorithms.recursion.articulated import articulated_bodies
from mozzi.algorithms.recursion.blocks import apply, minus
from mozzi.algorithms.recursion.containers import BlockArray, joint_vector, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import JointVector, Whole
from mozzi.lie import Twist
from mozzi.program.counted_loops import entrywise, negated
from mozzi.program.scalar import Real

__all__ = ["loop_corrections"]


@algorithm(regroup="moments", loops="honour", rolled_paths=True, rolled_loops=alike)
def loop_corrections(
    model: Mechanism, q: JointVector, v: JointVector, kept: Whole[Sequence[Real]] | None = None,
    loop_offsets: Whole[Sequence[Real]] | None = None,
    loop_rates: Whole[Sequence[Real]] | None = None, q_ref: JointVector | None = None,
) -> tuple[BlockArray, BlockArray]:  # fmt: skip
    """(δ, δv): the least changes, in kinetic energy, with A δ = −φ(q) and A (v + δv) = 0.

    δ = −M⁻¹ Aᵀ Λ⁺ φ and δv = −M⁻¹ Aᵀ Λ⁺ A v, by articulated bodies as in `forward_dynamics`;
    q ⊕ δ is one step of Newton's method. ``kept``: which rows count (`kept_rows`), where that was
    found at a closed state nearby. Where rows have a law: what φ and A v shall be (offsets and
    rates), and the coordinates of driven joints (q_ref).
    """
    T, _, U, D = articulated_bodies(model, q)
    move = still(model, q)
    move.offsets, move.given = None if loop_offsets is None else loop_offsets[()], q_ref
    propagated, _ = propagated_rows(model, move, U, D)
    count = rows_kept(model, propagated) if kept is None else kept[()]
    factor = factor_of(model, propagated, count)
    open_by = negated(propagated.open_by())
    moving_by = negated(propagated.rates(model, move, v))
    if loop_rates is not None:
        moving_by = entrywise(add, moving_by, loop_rates[()])

    def change(needed: Sequence[Real]) -> BlockArray:
        loops = Multipliers(propagated, factor.multipliers(needed), factor)
        out, A = joint_vector(model, "change"), per_body(model, "A", Twist)
        for i in model.outward():
            X = T[i].pull(A[i.parent])
            own = apply(D[i], minus(loops.force(i), U[i].T @ X))
            A[i] = X + i.joint.screws(q[i]) @ own
            out[i] = own
        return out

    return change(open_by), change(moving_by)

