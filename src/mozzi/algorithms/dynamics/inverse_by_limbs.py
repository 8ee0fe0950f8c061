"""M⁻¹ from the factors of M = Lᵀ D L, limb by limb, in loops over columns.

A limb is a row of joints without a branch between them. Where nothing acts on it, it follows what
it hangs on: with B the joints on the way to the base, a_i = Σ_{b ∈ B} P_ib a_b,

    P_ib = −L_ib − Σ_k L_ik P_kb        over the joints k of the limb before i,                  (1)

so that M⁻¹ of a joint i of the limb and of a joint j that is not behind it is Σ P_ib (M⁻¹)_bj: as
many products as there are joints on the way to the limb, in a loop over all j of limbs before. In
the limb itself, from L M⁻¹ = D⁻¹ L⁻ᵀ,

    (M⁻¹)_ij = (D⁻¹)_ij − Σ_k L_ik (M⁻¹)_kj    over the joints k before i, limb and way.         (2)

L⁻¹, whose products give M⁻¹ too, is not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mozzi.algorithms.recursion.blocks import Block, rows
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Body, Mechanism
from mozzi.algorithms.recursion.views import PerBody
from mozzi.program.program import Buffer, Index, load, loop, store
from mozzi.program.scalar import Real

__all__ = ["inverse_by_limbs"]

LONGEST = 10  # joint velocities of a limb: what is longer counts as several, one on the other

Entries = dict[tuple[int, int], Real]
"""Entries of a joint matrix, by two velocities."""


class Limb(NamedTuple):
    """Its bodies, outward; the velocities on the way to it; whether something hangs on it."""

    bodies: list[Body]
    way: list[int]
    bears: bool


def inverse_by_limbs(model: Mechanism, L: BlockArray, D: PerBody[Block]) -> BlockArray:
    """M⁻¹; D are the inverses of the blocks."""
    n, X = model.nv, Buffer("Minv", model.nv**2, "scratch")
    order: dict[int, int] = {}
    for limb in _limbs(model):
        factor = _factor(limb, L)
        if limb.way:
            _across(limb, factor, X, n, list(order))
        _inside(limb, factor, D, X, n)
        for r in (r for i in limb.bodies for r in _velocities(i)):
            order[r] = len(order)
    places = [
        r * n + c if order[r] >= order[c] else c * n + r for r in range(n) for c in range(n)
    ]  # symmetric to the last digit
    values = np.array([load(X, None, 0, e) for e in range(n * n)], dtype=object)
    return BlockArray(model, "Minv", ("v", "v"), values[places].reshape(n, n))


def _limbs(model: Mechanism) -> list[Limb]:
    """Those that bear others first, outward; then the others, those with long ways before: a pair
    of limbs takes the way of the later one.
    """
    bodies = [model.at(k) for k in range(model.nb)]
    children = [0] * (model.nb + 1)
    for i in bodies:
        children[i.parent.slot] += 1
    found: list[list[Body]] = []
    last: dict[int, list[Body]] = {}  # slot of a body → the limb that ends there
    for i in bodies:
        own = last.get(i.parent.slot) if children[i.parent.slot] == 1 else None
        if own is None or sum(k.joint.nv for k in (*own, i)) > LONGEST:
            own = list[Body]()
            found.append(own)
        own.append(i)
        last[i.slot] = own
    limbs = [
        Limb(own, [r for k in own[0].parent.path() for r in _velocities(k)],
             children[own[-1].slot] > 0)
        for own in found
    ]  # fmt: skip
    return sorted(limbs, key=lambda limb: (not limb.bears, 0 if limb.bears else -len(limb.way)))


def _velocities(body: Body) -> range:
    return range(body.data.v, body.data.v + body.joint.nv)


def _factor(limb: Limb, L: BlockArray) -> Entries:
    """L of the joints of a limb and of those before them."""
    return {
        (r, c): x
        for i in limb.bodies for k in i.parent.path()
        for r, row in zip(_velocities(i), rows(L[i, k], i.joint.nv), strict=True)
        for c, x in zip(_velocities(k), row, strict=True)
    }  # fmt: skip


def _across(limb: Limb, L: Entries, X: Buffer, n: int, columns: Sequence[int]) -> None:
    """Rows of a limb and columns of those before it, (1)."""
    P: dict[int, list[Real]] = {}
    for i in limb.bodies:
        before = list(P)
        for r in _velocities(i):
            P[r] = [
                _less(-L[r, b], [(L[r, k], P[k][place]) for k in before])
                for place, b in enumerate(limb.way)
            ]
    for _, trip in loop(0, len(columns), name="column"):
        at = Index(np.array(columns), trip, name="column")
        x = [load(X, at, n, b) for b in limb.way]
        for r, row in P.items():
            value = sum((p * e for p, e in zip(row, x, strict=True)), 0.0)
            store(X, at, 1, r * n, value)
            if limb.bears:
                store(X, at, n, r, value)


def _inside(limb: Limb, L: Entries, D: PerBody[Block], X: Buffer, n: int) -> None:
    """Rows and columns of a limb, (2)."""
    before = list(limb.way)
    found: Entries = {}
    for c in (c for i in limb.bodies for c in _velocities(i)):
        found |= {(b, c): load(X, None, 0, c * n + b) for b in limb.way}
    for i in limb.bodies:
        inside = before[len(limb.way) :]
        for r in _velocities(i):
            for c in inside:
                found[r, c] = found[c, r] = _less(0.0, [(L[r, k], found[k, c]) for k in before])
        for r in _velocities(i):
            for c in _velocities(i)[: r - i.data.v + 1]:
                known = D[i][r - i.data.v][c - i.data.v]
                found[r, c] = found[c, r] = _less(known, [(L[r, k], found[k, c]) for k in before])
            for c in (*inside, *_velocities(i)[: r - i.data.v + 1]):
                store(X, None, 0, r * n + c, found[r, c])
                if limb.bears and r != c:
                    store(X, None, 0, c * n + r, found[r, c])
        before += _velocities(i)


def _less(x: Real, products: Sequence[tuple[Real, Real]]) -> Real:
    for a, b in products:
        x = x - a * b
    return x
