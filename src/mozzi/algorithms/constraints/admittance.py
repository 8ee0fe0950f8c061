"""Rows of loops, propagated inward through the tree, and the admittance they meet there.

A row is brought inward by articulated bodies. Here x is the wrench of a row when it has come to a
body, and y = Sᵀ x what it does in the joint there (with what a coupling does directly); the
admittance of the loops is Λ = A M⁻¹ Aᵀ = Σ yᵀ D⁻¹ y.  O(m d). Behind the joint
Sᵀ (x − U D⁻¹ y) = 0: what a joint leaves free it does not transmit, and a row ends at a joint of
six freedoms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mozzi.algorithms.constraints.rank import cancelled
from mozzi.algorithms.constraints.rows.relative_motion import Moving, Places, Rows
from mozzi.algorithms.constraints.sparse import Row
from mozzi.algorithms.recursion.blocks import Block, apply, dot, plus
from mozzi.algorithms.recursion.held import free, free_screws, held
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import BodyView, ByBody
from mozzi.lie import Screws, Twist, Vec3, Wrench
from mozzi.lie.vec import number
from mozzi.model.model import WORLD
from mozzi.program.scalar import Real, divide, maximum

__all__ = [
    "Acting", "PropagatedRows", "longer", "matrix", "propagate", "row_scale", "transmitted",
]  # fmt: skip


@dataclass
class PropagatedRows:
    """The rows of one closure at the joints of the tree, by numbers of bodies.

    x: the wrenches that arrive at a body; y: the forces in its free coordinates; held: the direct
    forces in its held coordinates; Dy = D⁻¹ y; scale: what the admittance of a row is measured by.
    """

    rows: Rows
    x: dict[int, list[Wrench]] = field(default_factory=dict[int, list[Wrench]])
    y: dict[int, list[tuple[Real, ...]]] = field(default_factory=dict[int, list[tuple[Real, ...]]])
    Dy: dict[int, list[tuple[Real, ...]]] = field(default_factory=dict[int, list[tuple[Real, ...]]])
    held: dict[int, list[list[Real]]] = field(default_factory=dict[int, list[list[Real]]])
    scale: list[Real] = field(default_factory=list[Real])
    free: list[Real] = field(default_factory=list[Real])

    def moved(self, model: Mechanism, Du: ByBody[Sequence[Real]]) -> list[Real]:
        """What the free tree does to the rows at rest: Σ yᵀ D⁻¹ u."""
        total: list[Real] = [0.0] * len(self.rows)
        for k, y in self.y.items():
            own = Du[model.at(k)]
            total = [x + dot(line, own) for x, line in zip(total, y, strict=True)]
        return total


class Acting(Protocol):
    """What multipliers exert on the bodies of a tree."""

    def force(self, i: BodyView) -> Sequence[Real]:
        """y λ: forces in the free coordinates of a body."""
        ...

    def held(self, i: BodyView) -> Sequence[Real]:
        """The forces that couplings exert directly in its held coordinates."""
        ...

    def wrench(self, i: BodyView) -> Wrench:
        """x λ: the wrench that comes inward to it."""
        ...


def propagate(
    model: Places,
    rows: Rows,
    move: Moving,
    U: ByBody[Screws[Wrench]],
    D: ByBody[Block],
    tree: tuple[ByBody[Twist], ByBody[Sequence[Real]]] | None = None,
) -> PropagatedRows:
    """The rows of a closure, brought inward by articulated bodies.

    ``tree``: the containers (n, D⁻¹ u) of the free tree, whose effect on the rows is measured.
    """
    m = len(rows)
    out = PropagatedRows(rows, scale=[0.0] * m, free=list(rows.bias))
    coming = {k: list(W) for k, W in rows.wrenches.items()}
    levers: dict[int, Real] = {k: lever * lever for k, lever in rows.levers.items()}
    both: set[int] = set()  # bodies at which the wrenches of both ends have met
    ends = (*rows.wrenches, *rows.forces)
    for k in sorted({i.index for end in ends for i in model.at(end).path()}, reverse=True):
        if k not in coming and k not in rows.forces:
            continue  # behind a joint that transmits nothing
        i = model.at(k)
        S = free_screws(i, i.joint.screws(move.q[i]))
        x = coming.pop(k, None) or [Wrench.zero()] * m
        direct = rows.forces.get(k, [[0.0] * i.joint.nv] * m)
        y: list[tuple[Real, ...]] = []
        Dy: list[tuple[Real, ...]] = []
        up: list[Wrench] = []
        for r in range(m):
            own = free(i, direct[r])
            y.append(plus(S.T @ x[r], own))
            Dy.append(apply(D[i], y[r]))
            up.append(transmitted(i, S, x[r] - U[i] @ Dy[r], own) if len(S) else x[r])
            lever2, lost = levers.get(k, 0.0), cancelled() if k in both else 0.0
            out.scale[r] = out.scale[r] + row_scale(S, D[i], x[r], own, lever2, lost)
            if tree is not None:
                n, Du = tree
                out.free[r] = out.free[r] + up[r].dot(n[i]) + dot(y[r], Du[i])
        out.x[k], out.y[k], out.Dy[k] = x, y, Dy
        if k in rows.forces:
            out.held[k] = [held(i, f) for f in direct]
        p = i.parent.index
        if all(W.ang.vanishes() and W.lin.vanishes() for W in up):
            continue
        if k in levers:
            levers[p] = levers.get(p, 0.0) + longer(levers[k], move.T[i].p)
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


def transmitted(
    i: BodyView, S: Screws[Twist], left: Wrench, own: Sequence[Real]
) -> Wrench:
    """x − U D⁻¹ y, with the zeros that it has along screws that are basis vectors (and −own where
    a coupling acts directly) and behind six freedoms; none where the joint has armature.
    """
    if any(number(m) != 0.0 for m in free(i, i.armature)):
        return left
    entries, where = list(left.flatten()), S.units()
    if where is None:
        where = S.annihilated() if all(number(x) == 0.0 for x in own) else ()
    for c, k in enumerate(where):
        entries[k] = -own[c]
    return Wrench.unflatten(entries)


def row_scale(
    S: Screws[Twist], D: Block, x: Wrench, own: Sequence[Real], size2: Real, lost: float
) -> Real:
    """The square of what a wrench would do in a joint that it met squarely, over its inertia.

    size2: the square of a lever that the force may have there. lost: where x is a sum of unit
    wrenches that may cancel, what of their squares is not known.
    """
    total: Real = 0.0
    force2, moment2 = x.lin.dot(x.lin), x.ang.dot(x.ang)
    for c, column in enumerate(S):
        turns = any(number(e) != 0.0 for e in column.ang)
        square = moment2 + force2 * size2 if turns else force2
        if lost:
            square = square + lost * (1.0 + size2 if turns else 1.0)
        total = total + D[c][c] * (square + own[c] * own[c])
    return total


def longer(size2: Real, p: Vec3) -> Real:
    """The square of a lever that is longer by p: (a + b)² for constants; where p moves, a² + b² is
    enough.
    """
    more = p.dot(p)
    a2, b2 = number(size2), number(more)
    if a2 is None or b2 is None:
        return size2 + more
    return (math.sqrt(a2) + math.sqrt(b2)) ** 2


def matrix(
    model: Mechanism, propagated: Sequence[PropagatedRows]
) -> tuple[list[Row], list[Row], list[Real]]:
    """Y and D⁻¹ Y as sparse rows over the velocities, and the scales of the rows."""
    Y: list[Row] = []
    DY: list[Row] = []
    for part in propagated:
        for r in range(len(part.rows)):
            Y.append(_sparse(model, part.y, r))
            DY.append(_sparse(model, part.Dy, r))
    return Y, DY, [s for part in propagated for s in part.scale]


def _sparse(model: Mechanism, blocks: dict[int, list[tuple[Real, ...]]], r: int) -> Row:
    row: Row = {}
    for k, block in blocks.items():
        start = model.at(k).data.v
        row.update({start + c: x for c, x in enumerate(block[r]) if number(x) != 0.0})
    return row
