"""Loops in forward and hybrid dynamics: what closes them, between the sweeps of the tree.

The tree is solved as if it were open, and the closure rows answer: steps A to F of Rodriguez et
al., (67)–(69) of Kim, with articulated bodies instead of M⁻¹.

    (A) the inward sweep of the tree leaves the joint forces u that its bodies feel;
    (B) the same wrenches that a row exerts measure what the free tree does to it:
        A a_r + Ȧ v = Σ (x − U D⁻¹ y)ᵀ n + yᵀ D⁻¹ u, along the paths of its two ends;
    (C) the admittance is Λ = A M⁻¹ Aᵀ = Σ yᵀ D⁻¹ y;
    (D) Λ λ = U̇ − (A a_r + Ȧ v), sparse and of any rank: `loop_solve`;
    (E), (F) the outward sweep runs with u + y λ: it is linear.

The accelerations that it gives tell how well the rows are met, and the same factors correct them
once: `Closing.missing`, and a sweep of what is missing.

Here x is the wrench of a row when it has come inward to a body, and y = Sᵀ x what it does in the
joint there (with what a coupling does directly).  O(n) + O(m d) + the sparse solution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mozzi.algorithms.constraints.rows import Moving, Rows, closures
from mozzi.algorithms.constraints.solve import Factor, Row, cancelled
from mozzi.algorithms.recursion.blocks import apply, dot, minus, plus
from mozzi.algorithms.recursion.containers import per_body
from mozzi.algorithms.recursion.held import free, free_screws, held
from mozzi.lie import Wrench
from mozzi.lie.vec import number
from mozzi.model.model import WORLD
from mozzi.program.scalar import divide, maximum

__all__ = ["Closing", "Reach", "closing", "reach"]


@dataclass
class Reach:
    """How the rows of one closure reach the joints of the tree, by numbers of bodies.

    x: the wrenches that arrive at a body; y: the forces in its free coordinates; held: the direct
    forces in its held coordinates; Dy = D⁻¹ y; scale: what the admittance of a row is measured by.
    """

    rows: Rows
    x: dict[int, list[Wrench]] = field(default_factory=dict)
    y: dict[int, list[tuple[Any, ...]]] = field(default_factory=dict)
    Dy: dict[int, list[tuple[Any, ...]]] = field(default_factory=dict)
    held: dict[int, list[list[Any]]] = field(default_factory=dict)
    scale: list[Any] = field(default_factory=list)
    free: list[Any] = field(default_factory=list)


def reach(model: Any, rows: Rows, move: Moving, U: Any, D: Any, tree: Any = None) -> Reach:
    """The rows of a closure, brought inward by articulated bodies.

    ``tree``: the containers (n, D⁻¹ u) of the free tree, whose effect on the rows is measured.
    """
    m = len(rows)
    out = Reach(rows, scale=[0.0] * m, free=list(rows.bias))
    coming = {k: list(W) for k, W in rows.wrenches.items()}
    levers = {k: lever * lever for k, lever in rows.levers.items()}
    both: set[int] = set()  # bodies at which the wrenches of both ends have met
    ends = (*rows.wrenches, *rows.forces)
    for k in sorted({i.index for end in ends for i in model.at(end).path()}, reverse=True):
        i = model.at(k)
        S = free_screws(i, i.joint.screws(move.q[i]))
        x = coming.pop(k, None) or [Wrench.zero()] * m
        direct = rows.forces.get(k, [[0.0] * i.joint.nv] * m)
        y, Dy, up = [], [], []
        for r in range(m):
            own = free(i, direct[r])
            y.append(plus(S.T @ x[r], own))
            Dy.append(apply(D[i], y[r]))
            up.append(x[r] - U[i] @ Dy[r] if len(S) else x[r])
            lever2, lost = levers.get(k, 0.0), cancelled() if k in both else 0.0
            out.scale[r] = out.scale[r] + _scale(S, D[i], x[r], own, lever2, lost)
            if tree is not None:
                n, Du = tree
                out.free[r] = out.free[r] + up[r].dot(n[i]) + dot(y[r], Du[i])
        out.x[k], out.y[k], out.Dy[k] = x, y, Dy
        if k in rows.forces:
            out.held[k] = [held(i, f) for f in direct]
        p = i.parent.index
        if k in levers:
            levers[p] = levers.get(p, 0.0) + _longer(levers[k], move.T[i].p)
        here = [move.T[i].push(W) for W in up]
        if k in both or p in coming:
            both.add(p)
        coming[p] = [a + b for a, b in zip(coming[p], here, strict=True)] if p in coming else here
    if rows.norms is not None:
        pairs = zip(out.scale, rows.norms, strict=True)
        out.scale = [divide(s, maximum(w, 1e-60), nonzero=True) for s, w in pairs]
    if tree is not None and WORLD in coming:
        arrived = zip(out.free, coming[WORLD], strict=True)
        out.free = [f + x.dot(model.upward) for f, x in arrived]
    return out


def _scale(S: Any, D: Any, x: Wrench, own: Sequence[Any], size2: Any, lost: float) -> Any:
    """The square of what a wrench would do in a joint that it met squarely, over its inertia.

    size2: the square of a lever that the force may have there. lost: where x is a sum of unit
    wrenches that may cancel, what of their squares is not known.
    """
    total: Any = 0.0
    force2, moment2 = x.lin.dot(x.lin), x.ang.dot(x.ang)
    for c, column in enumerate(S):
        turns = any(number(e) != 0.0 for e in column.ang)
        square = moment2 + force2 * size2 if turns else force2
        if lost:
            square = square + lost * (1.0 + size2 if turns else 1.0)
        total = total + D[c][c] * (square + own[c] * own[c])
    return total


def _longer(size2: Any, p: Any) -> Any:
    """The square of a lever that is longer by p: (a + b)² for constants; where p moves, a² + b² is
    enough.
    """
    more = p.dot(p)
    if number(more) is None or number(size2) is None:
        return size2 + more
    return (math.sqrt(size2) + math.sqrt(more)) ** 2


@dataclass
class Closing:
    """The multipliers of all closures, how they act (what the outward sweep adds), and the factors
    that gave them.
    """

    reaches: list[Reach]
    multipliers: list[Any]
    factor: Factor
    prescribed: Sequence[Any] = ()

    def force(self, i: Any) -> list[Any]:
        """y λ: forces in the free coordinates of a body."""
        return self._sum(i, "y", sum(1 for h in i.held if not h))

    def held(self, i: Any) -> list[Any]:
        """The forces that couplings exert directly in the held coordinates of a body."""
        return self._sum(i, "held", sum(1 for h in i.held if h))

    def missing(self, model: Any, A: Any, a: Any) -> Closing:
        """The multipliers that are missing where bodies accelerate by A and joints by a: those of
        Λ λ = U̇ − (A a + Ȧ v), one step of refinement.

        Light bodies between heavy ones have large accelerations as long as the tree is open, and
        what is left of their difference has lost as many digits; A a + Ȧ v is a sum of
        accelerations as they are.
        """
        left = []
        for part in self.reaches:
            rows = part.rows
            for r, x in enumerate(rows.bias):
                for k, W in rows.wrenches.items():
                    x = x + W[r].dot(A[model.at(k)])
                for k, forces in rows.forces.items():
                    x = x + dot(forces[r], a[model.at(k)])
                left.append(self.prescribed[len(left)] - x)
        return Closing(self.reaches, self.factor.multipliers(left), self.factor)

    def plus(self, more: Closing, least: bool) -> Closing:
        """Both together; ``least``: the shortest multipliers that exert the same forces."""
        total = [x + y for x, y in zip(self.multipliers, more.multipliers, strict=True)]
        return Closing(self.reaches, self.factor.shortest(total) if least else total, self.factor)

    def _sum(self, i: Any, what: str, n: int) -> list[Any]:
        total: list[Any] = [0.0] * n
        for lam, block in self._blocks(i, what):
            for l, line in zip(lam, block, strict=True):
                total = [t + l * x for t, x in zip(total, line, strict=True)]
        return total

    def wrench(self, i: Any) -> Wrench:
        """x λ: the wrench that comes inward to a body."""
        total = Wrench.zero()
        for lam, block in self._blocks(i, "x"):
            for l, x in zip(lam, block, strict=True):
                total = total + x * l
        return total

    def _blocks(self, i: Any, what: str) -> Any:
        start = 0
        for part in self.reaches:
            m = len(part.rows)
            values = getattr(part, what)
            if i.index in values:
                yield self.multipliers[start : start + m], values[i.index]
            start += m


def closing(
    model: Any, move: Moving, n: Any, u: Any, U: Any, D: Any, accelerations: Any = None
) -> Closing | None:
    """The multipliers that close the loops of a tree whose inward sweep has left n and u.

    accelerations: U̇, prescribed row by row (rheonomic); zero where not given.  Kim (67), (76);
    Rodriguez et al. step (D), (0.35).
    """
    if not model.model.closures:
        return None
    Du = per_body(model, Du="local")
    for i in model.outward():
        Du[i] = apply(D[i], u[i])
    every = list(closures(model, move))
    reaches = [reach(model, rows, move, U, D, (n, Du)) for rows in every]
    prescribed = [0.0] * sum(map(len, every)) if accelerations is None else accelerations[()]
    needed = minus(prescribed, [f for x in reaches for f in x.free])
    factor = Factor.of(*matrix(model, reaches))
    return Closing(reaches, factor.multipliers(needed), factor, prescribed)


def matrix(model: Any, reaches: Sequence[Reach]) -> tuple[list[Row], list[Row], list[Any]]:
    """Y and D⁻¹ Y as sparse rows over the velocities, and the scales of the rows."""
    Y: list[Row] = []
    DY: list[Row] = []
    for part in reaches:
        for r in range(len(part.rows)):
            Y.append(_sparse(model, part.y, r))
            DY.append(_sparse(model, part.Dy, r))
    return Y, DY, [s for part in reaches for s in part.scale]


def _sparse(model: Any, blocks: dict[int, Any], r: int) -> Row:
    row: Row = {}
    for k, block in blocks.items():
        start = model.offset(model.at(k), "v")
        row.update({start + c: x for c, x in enumerate(block[r]) if number(x) != 0.0})
    return row
