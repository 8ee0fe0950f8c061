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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mozzi.algorithms.constraints.admittance import PropagatedRows
from mozzi.algorithms.constraints.rolled_rows import RolledRows
from mozzi.algorithms.constraints.row_choice import factor_of, propagated_rows, rows_kept
from mozzi.algorithms.constraints.rows.relative_motion import Moving, Rows
from mozzi.algorithms.constraints.rows.rows import closures
from mozzi.algorithms.constraints.solve import Factor
from mozzi.algorithms.recursion.blocks import Block, apply, dot, minus
from mozzi.algorithms.recursion.containers import Local, per_body
from mozzi.algorithms.recursion.mechanism import Body, Mechanism
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector, PerBody, Whole
from mozzi.lie import Screws, Twist, Wrench
from mozzi.program.scalar import Real

__all__ = ["Multipliers", "loop_multipliers"]

T = TypeVar("T")


@dataclass
class Multipliers:
    """The multipliers of all closures, how they act (what the outward sweep adds), and the factors
    that gave them. prescribed: accelerations of the rows; moving: whether Ȧ v is part of them.
    """

    propagated: Sequence[PropagatedRows] | RolledRows
    multipliers: list[Real]
    factor: Factor
    prescribed: Sequence[Real] = ()
    moving: bool = True

    def force(self, i: BodyView) -> list[Real]:
        """y λ: forces in the free coordinates of a body."""
        if isinstance(self.propagated, RolledRows):
            return self.propagated.force(i, self.multipliers)
        return self._sum(i, (x.y for x in self.propagated), sum(1 for h in i.held if not h))

    def held(self, i: BodyView) -> list[Real]:
        """The forces that couplings exert directly in the held coordinates of a body."""
        if isinstance(self.propagated, RolledRows):  # which has no couplings
            return [0.0] * sum(i.held)
        return self._sum(i, (x.held for x in self.propagated), sum(1 for h in i.held if h))

    @property
    def closures(self) -> list[Rows]:
        """The rows, closure by closure."""
        own = self.propagated
        return own.rows if isinstance(own, RolledRows) else [x.rows for x in own]

    def missing(self, model: Mechanism, A: ByBody[Twist], a: JointVector) -> Multipliers:
        """The multipliers that are missing where bodies accelerate by A and joints by a: those of
        Λ λ = U̇ − (A a + Ȧ v), one step of refinement.

        Light bodies between heavy ones have large accelerations as long as the tree is open, and
        what is left of their difference has lost as many digits; A a + Ȧ v is a sum of
        accelerations as they are.
        """
        left: list[Real] = []
        for rows in self.closures:
            for r, x in enumerate(rows.bias if self.moving else [0.0] * len(rows)):
                for k, W in rows.wrenches.items():
                    x = x + W[r].dot(A[model.at(k)])
                for k, forces in rows.forces.items():
                    x = x + dot(forces[r], a[model.at(k)])
                left.append(self.prescribed[len(left)] - x)
        return Multipliers(self.propagated, self.factor.multipliers(left), self.factor)

    def at_rest(self, model: Mechanism, Du: ByBody[Sequence[Real]]) -> Multipliers:
        """The multipliers that keep the loops closed at rest, where the inward sweep of other
        forces has left D⁻¹ u.
        """
        if isinstance(self.propagated, RolledRows):
            free = self.propagated.moved(model, Du)
        else:
            free = [x for part in self.propagated for x in part.moved(model, Du)]
        found = self.factor.multipliers([-x for x in free])
        return Multipliers(self.propagated, found, self.factor, [0.0] * len(free), moving=False)

    def plus(self, more: Multipliers) -> Multipliers:
        """Both together."""
        total = [x + y for x, y in zip(self.multipliers, more.multipliers, strict=True)]
        return Multipliers(self.propagated, total, self.factor)

    def shortest(self) -> Multipliers:
        """The shortest that exert the same forces."""
        own = self.factor.shortest(self.multipliers)
        return Multipliers(self.propagated, own, self.factor)

    def _sum(
        self, i: BodyView, blocks: Iterable[Mapping[int, Sequence[Sequence[Real]]]], n: int
    ) -> list[Real]:
        total: list[Real] = [0.0] * n
        for lam, block in self._blocks(i, blocks):
            for l, line in zip(lam, block, strict=True):
                total = [t + l * x for t, x in zip(total, line, strict=True)]
        return total

    def wrench(self, i: BodyView) -> Wrench:
        """x λ: the wrench that comes inward to a body."""
        if isinstance(self.propagated, RolledRows):
            return self.propagated.wrench(i, self.multipliers)
        total = Wrench.zero()
        for lam, block in self._blocks(i, (x.x for x in self.propagated)):
            for l, x in zip(lam, block, strict=True):
                total = total + x * l
        return total

    def _blocks(
        self, i: BodyView, blocks: Iterable[Mapping[int, Sequence[T]]]
    ) -> Iterator[tuple[list[Real], Sequence[T]]]:
        """The multipliers of every closure that reaches a body, with its block there."""
        assert isinstance(i, Body) and not isinstance(self.propagated, RolledRows)
        start = 0
        for part, values in zip(self.propagated, blocks, strict=True):
            m = len(part.rows)
            if i.index in values:
                yield self.multipliers[start : start + m], values[i.index]
            start += m


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
    propagated, free = propagated_rows(model, list(closures(model, move)), move, U, D, (n, Du))
    prescribed = [0.0] * len(free) if accelerations is None else accelerations[()]
    needed = minus(prescribed, free)
    factor = factor_of(model, propagated, rows_kept(model, propagated))
    return Multipliers(propagated, factor.multipliers(needed), factor, prescribed)
