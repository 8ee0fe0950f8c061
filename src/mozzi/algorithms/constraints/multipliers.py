"""Loops in forward and hybrid dynamics: what closes them, between the sweeps of the tree.

The tree is solved as if it were open, and the closure rows answer: steps A to F of Rodriguez et
al., (67)–(69) of Kim, with articulated bodies instead of M⁻¹.

    (A) the inward sweep of the tree leaves the joint forces u that its bodies feel;
    (B) the same wrenches that a row exerts measure what the free tree does to it:
        A a_r + Ȧ v = Σ (x − U D⁻¹ y)ᵀ n + yᵀ D⁻¹ u, along the paths of its two ends;
    (C) the admittance is Λ = A M⁻¹ Aᵀ = Σ yᵀ D⁻¹ y;
    (D) Λ λ = U̇ − (A a_r + Ȧ v), sparse and of any rank: `solve.Factor`;
    (E), (F) the outward sweep runs with u + y λ: it is linear.

The accelerations that it gives tell how well the rows are met, and the same factors correct them
once: `Multipliers.missing`, and a sweep of what is missing.  O(n) + O(m d) + the sparse solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add, sub
from typing import Protocol

from mozzi.algorithms.constraints.row_choice import (
    Propagated,
    factor_of,
    propagated_rows,
    rows_kept,
)
from mozzi.algorithms.constraints.rows.relative_motion import Moving
from mozzi.algorithms.recursion.blocks import Block, apply
from mozzi.algorithms.recursion.containers import Local, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import ByBody, JointVector, PerBody, Whole
from mozzi.lie import Screws, Twist, Wrench
from mozzi.program.counted_loops import entrywise
from mozzi.program.scalar import Real

__all__ = ["Multipliers", "factored_loops", "loop_multipliers"]


class Solver(Protocol):
    """The factors of Λ."""

    def multipliers(self, r: Sequence[Real], /) -> list[Real]:
        """λ with Λ λ = r."""
        ...

    def shortest(self, multipliers: Sequence[Real], /) -> list[Real]:
        """The shortest that exert the same forces."""
        ...

    def counts(self, open2: Real = 0.0) -> tuple[Real, Real]:
        """(rank, rows left out)."""
        ...


class Multipliers:
    """The multipliers of all closures, how they act (what the outward sweep adds), and the factors
    that gave them. prescribed: accelerations of the rows; moving: whether Ȧ v is part of them;
    left: by how much the rows were missed before these were found.
    """

    def __init__(
        self, propagated: Propagated, multipliers: list[Real], factor: Solver,
        prescribed: Sequence[Real] = (), moving: bool = True, left: Sequence[Real] = (),
    ):  # fmt: skip
        self.propagated, self.multipliers, self.factor = propagated, multipliers, factor
        self.prescribed, self.moving, self.left = prescribed, moving, left
        acting = propagated.acting(multipliers)
        self.force, self.held, self.wrench = acting.force, acting.held, acting.wrench

    def missing(self, model: Mechanism, A: ByBody[Twist], a: JointVector) -> Multipliers:
        """The multipliers that are missing where bodies accelerate by A and joints by a: those of
        Λ λ = U̇ − (A a + Ȧ v), one step of refinement.

        Light bodies between heavy ones have large accelerations as long as the tree is open, and
        what is left of their difference has lost as many digits; A a + Ȧ v is a sum of
        accelerations as they are.
        """
        left = entrywise(sub, self.prescribed, self.propagated.met(model, A, a, self.moving))
        found = self.factor.multipliers(left)
        return Multipliers(self.propagated, found, self.factor, left=left)

    def at_rest(
        self, model: Mechanism, Du: ByBody[Sequence[Real]], rates: Sequence[Real] | None = None
    ) -> Multipliers:
        """The multipliers that keep the loops closed at rest (or move their rows by rates), where
        the inward sweep of other forces has left D⁻¹ u.
        """
        moved = self.propagated.moved(model, Du)
        given = [0.0] * len(moved) if rates is None else rates
        found = self.factor.multipliers(entrywise(sub, given, moved))
        return Multipliers(self.propagated, found, self.factor, given, moving=False)

    def plus(self, more: Multipliers) -> Multipliers:
        """Both together."""
        total = entrywise(add, self.multipliers, more.multipliers)
        return Multipliers(self.propagated, total, self.factor, left=more.left)

    def shortest(self) -> Multipliers:
        """The shortest that exert the same forces."""
        own = self.factor.shortest(self.multipliers)
        return Multipliers(self.propagated, own, self.factor, left=self.left)


def factored_loops(
    model: Mechanism, move: Moving, U: ByBody[Screws[Wrench]], D: ByBody[Block]
) -> Multipliers:
    """The rows of a tree at rest and their factors, to solve with (`at_rest`); no forces yet."""
    propagated, free = propagated_rows(model, move, U, D)
    factor = factor_of(model, propagated, rows_kept(model, propagated))
    return Multipliers(propagated, [0.0] * len(free), factor, moving=False)


def loop_multipliers(
    model: Mechanism,
    move: Moving,
    *,
    n: ByBody[Twist],
    u: ByBody[Sequence[Real]],
    U: ByBody[Screws[Wrench]],
    D: ByBody[Block],
    accelerations: Whole[Sequence[Real]] | None = None,
) -> Multipliers | None:
    """The multipliers that close the loops of a tree whose inward sweep has left n and u.

    accelerations: U̇, prescribed row by row (rheonomic); zero where not given.  Kim (67), (76);
    Rodriguez et al. step (D), (0.35).
    """
    if not model.model.closures:
        return None
    Du: PerBody[Sequence[Real]] = per_body(model, "Du", Local[Sequence[Real]])
    for i in model.outward():
        Du[i] = apply(D[i], u[i])
    propagated, free = propagated_rows(model, move, U, D, (n, Du))
    prescribed = [0.0] * len(free) if accelerations is None else accelerations[()]
    needed = entrywise(sub, prescribed, free)
    factor = factor_of(model, propagated, rows_kept(model, propagated))
    return Multipliers(propagated, factor.multipliers(needed), factor, prescribed)
