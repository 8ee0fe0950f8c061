"""M⁻¹ X by loops over columns, for mechanisms whose straight-line products would be long.

A column of a joint matrix X that is zero unless one joint is behind the other has its numbers at
one branch: the joints on the way of its joint to the base, and those behind it; where a spring ties
branches together, at all of these. Joints of one branch share the code of a loop over their
columns, in which all that this branch leaves zero is left out. N and D are values from before the
loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from mozzi.algorithms.kinematics.accelerations import stages
from mozzi.algorithms.recursion.blocks import Block, apply, plus, rows, transposed
from mozzi.algorithms.recursion.containers import BlockArray, joint_array
from mozzi.algorithms.recursion.mechanism import Body, Mechanism
from mozzi.algorithms.recursion.rolled_or_not import UNROLLED_BODIES
from mozzi.algorithms.recursion.views import PerBody
from mozzi.program.counted_loops import Held
from mozzi.program.node import Node, active
from mozzi.program.program import Buffer, Index, load, loop, store
from mozzi.program.scalar import Real
from mozzi.program.settings import settings
from mozzi.types import Traced

__all__ = [
    "congruences_by_loops", "loops_over_columns", "loops_over_directions",
    "products_by_column_loops",
]  # fmt: skip

Column: TypeAlias = dict[int, tuple[Real, ...]]
"""A column of a joint matrix by blocks: slot of the body → numbers."""


Entry: TypeAlias = Callable[[Index, Index, int, int], Real]
"""What stands in a loop over directions: its variable, the direction, a row and a column → number.
"""

Blocks: TypeAlias = dict[tuple[int, int], list[Sequence[Real]]]
"""Blocks of a joint matrix, by the slots of two bodies."""


def loops_over_columns(model: Mechanism) -> bool:
    """Whether products with M⁻¹ have loops over columns, where nobody said that programs shall
    have loops or not, and where numbers of the model are no variables.
    """
    return not model.rolled and _free(model)


def loops_over_directions(model: Mechanism) -> bool:
    """The same of congruences, whose numbers may also come from loops over bodies: where branches
    are not so long that their squares are long programs.
    """
    return model.nb <= UNROLLED_BODIES and _free(model)


def _free(model: Mechanism) -> bool:
    free = settings().rolled is None and model.model.nominal is None
    return active() is not None and free and model.nb > settings().columns


def products_by_column_loops(
    model: Mechanism, N: BlockArray, D: PerBody[Block], Xs: Sequence[BlockArray], sign: float
) -> list[BlockArray]:
    """± N D⁻¹ Nᵀ X of joint matrices, by the columns of all of them that are not zero."""
    n = model.nv
    bodies, blocks = _blocks(model, N)

    def meets(k: Body, i: Body) -> bool:
        """Whether rows of k have numbers in columns of i."""
        return not all(_is_zero(x) for X in Xs for x in X[k, i])

    out = Buffer("a", len(Xs) * n * n, "scratch")
    places = np.full(len(Xs) * n * n, -1)
    for branch, own in _branches(bodies, meets):
        rows_of = [i.data.v + r for i in branch for r in range(i.joint.nv)]
        found = [
            (number * n * n + c, [X.values[r, c] for r in rows_of])
            for number, X in enumerate(Xs)
            for i in own for c in range(i.data.v, i.data.v + i.joint.nv)
        ]  # fmt: skip
        columns = {to: x for to, x in found if not all(map(_is_zero, x))}
        if not columns:
            continue
        held = Buffer("X", len(rows_of) * len(columns), "scratch")
        for e, value in enumerate(x for column in columns.values() for x in column):
            store(held, None, 0, e, value)
        for _, trip in loop(0, len(columns), name="column"):
            at = Index(np.array([*columns]), trip, name="column")
            x, place = Column(), 0
            for i in branch:
                size = i.joint.nv
                x[i.slot] = tuple(load(held, trip, len(rows_of), place + r) for r in range(size))
                place += size
            y = _scaled(branch, D, _inward(branch, blocks, x), sign)
            for i in bodies:
                for r, value in enumerate(_outward(i, blocks, y)):
                    store(out, at, 1, (i.data.v + r) * n, value)
        for to in columns:
            places[to : to + n * n : n] = np.arange(to, to + n * n, n)
    values = [load(out, None, 0, int(e)) if e >= 0 else 0.0 for e in places]
    parts = np.split(np.array(values, dtype=object), len(Xs))
    return [
        BlockArray(model, X.letter, X.axes, part.reshape(X.shape))
        for X, part in zip(Xs, parts, strict=True)
    ]


def congruences_by_loops(model: Mechanism, X: Traced, P: BlockArray, sign: float) -> BlockArray:
    """± X P_k X for every joint velocity k, of symmetric P_k = P[:, :, k] that have numbers at the
    branch of joint k alone: loops over the k of a branch, over rows, and over columns.
    """
    n, held = model.nv, Held("X", X)
    out = joint_array(model, "v", "v", "v", letter="a")
    memory = out.buffer or Buffer("a", n**3, "scratch")
    for branch, own in _branches([model.at(k) for k in range(model.nb)]):
        way = _velocities(branch)
        moving = _velocities([i for i in own if i.parent.slot or len(set(stages(i.joint))) > 1])
        if not moving:
            continue
        entry = _entries(P, way, moving)
        for _, trip in loop(0, len(moving), name="direction"):
            k = Index(np.array(moving), trip, name="direction")
            for _, r in loop(0, n, name="row"):
                x = [sign * held[r, s] for s in way]
                y = [_dot(x, [entry(trip, k, s, t) for s in way]) for t in way]
                for _, c in loop(0, n, name="column"):
                    at = Index(terms=((r, n * n), (c, n), (k, 1)))
                    store(memory, at, 1, 0, _dot(y, [held[c, s] for s in way]))
    if out.buffer is None:
        values = np.array([load(memory, None, 0, e) for e in range(n**3)], dtype=object)
        out = BlockArray(model, "a", P.axes, values.reshape(P.shape))
    return out


def _entries(P: BlockArray, way: Sequence[int], moving: Sequence[int]) -> Entry:
    """P_k at two velocities of a branch: where it is, or copied to memory by its upper half."""
    n, buffer = P.mechanism.nv, P.buffer
    if buffer is not None:
        return lambda _, k, s, t: load(buffer, k, 1, (s * n + t) * n)
    pairs = [(s, t) for s in way for t in way if s <= t]
    pairs = [at for at in pairs if not all(_is_zero(P.values[*at, k]) for k in moving)]
    place = {at: number for number, at in enumerate(pairs)}
    held = Buffer("P", max(1, len(pairs) * len(moving)), "scratch")
    for number, k in enumerate(moving):
        for at, e in place.items():
            store(held, None, 0, number * len(pairs) + e, P.values[*at, k])

    def entry(trip: Index, _: Index, s: int, t: int) -> Real:
        at = min(s, t), max(s, t)
        return load(held, trip, len(pairs), place[at]) if at in place else 0.0

    return entry


def _velocities(bodies: Sequence[Body]) -> list[int]:
    return [i.data.v + r for i in bodies for r in range(i.joint.nv)]


def _dot(x: Sequence[Real], y: Sequence[Real]) -> Real:
    return sum((a * b for a, b in zip(x, y, strict=True)), 0.0)


def _blocks(model: Mechanism, N: BlockArray) -> tuple[list[Body], Blocks]:
    """All bodies, outward, and the blocks of N."""
    bodies = [model.at(k) for k in range(model.nb)]
    return bodies, {(i.slot, k.slot): rows(N[i, k], i.joint.nv) for i in bodies for k in i.path()}


def _branches(
    bodies: Sequence[Body], meets: Callable[[Body, Body], bool] | None = None
) -> list[tuple[list[Body], list[Body]]]:
    """For every branch all its bodies, outward, and those whose columns have their numbers there:
    the way to the base and what is behind are the same for them, and so are other bodies with
    numbers in these columns (meets), each with its way to the base.
    """
    way = {i.slot: {k.slot for k in i.path()} for i in bodies}
    found: dict[frozenset[int], list[Body]] = {}
    for i in bodies:
        branch = way[i.slot] | {k.slot for k in bodies if i.slot in way[k.slot]}
        for k in bodies:
            if k.slot not in branch and meets is not None and meets(k, i):
                branch |= way[k.slot]
        found.setdefault(frozenset(branch), []).append(i)
    return [([k for k in bodies if k.slot in branch], own) for branch, own in found.items()]


def _is_zero(x: Real) -> bool:
    """Whether it is zero whatever the arguments are."""
    return (x.op == "const" and x.value == 0.0) if isinstance(x, Node) else x == 0.0


def _inward(branch: Sequence[Body], N: Blocks, x: Column) -> Column:
    """Nᵀ x."""
    z = Column({i.slot: (0.0,) * i.joint.nv for i in branch})
    for i in branch:
        for k in i.path():
            z[k.slot] = plus(z[k.slot], apply(transposed(N[i.slot, k.slot]), x[i.slot]))
    return z


def _scaled(branch: Sequence[Body], D: PerBody[Block], z: Column, sign: float = 1.0) -> Column:
    """± D⁻¹ z."""
    return {i.slot: apply([[sign * e for e in row] for row in D[i]], z[i.slot]) for i in branch}


def _outward(i: Body, N: Blocks, y: Column) -> tuple[Real, ...]:
    """(N y)ᵢ."""
    total: tuple[Real, ...] = (0.0,) * i.joint.nv
    for k in i.path():
        if k.slot in y:
            total = plus(total, apply(N[i.slot, k.slot], y[k.slot]))
    return total
