"""The inverse of the mass matrix: applied in O(n), and in factors as sparse as the tree."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.dynamics.articulated_inverse import ArticulatedInverse
from mozzi.algorithms.dynamics.column_loops import (
    loops_over_columns,
    products_by_column_loops,
)
from mozzi.algorithms.dynamics.inverse_by_limbs import inverse_by_limbs
from mozzi.algorithms.recursion.articulated import check_inertias, inverse_inertia
from mozzi.algorithms.recursion.blocks import (
    Block,
    apply,
    less,
    minus,
    plus,
    product,
    rows,
    transposed,
)
from mozzi.algorithms.recursion.containers import (
    BlockArray,
    Local,
    joint_array,
    joint_matrix,
    per_body,
)
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import BodyView, JointVector, PerBody
from mozzi.program.program import Buffer, Index, load, loop, store
from mozzi.program.scalar import Real

__all__ = ["InverseMass", "add_rows", "mass_matrix_solve"]


@algorithm(regroup="moments")
def mass_matrix_solve(model: Mechanism, q: JointVector, tau: JointVector) -> BlockArray:
    """M(q)⁻¹ τ: the accelerations that joint forces produce at rest, without gravity.

    Articulated bodies, O(n).
    """
    return ArticulatedInverse.at(model, q).vector(tau)


class InverseMass:
    """M⁻¹ = N D⁻¹ Nᵀ, where N_ik ≠ 0 only for joints k on the way from i to the base.

    M = Lᵀ D L from the tips to the base fills in nothing, D are the inertias of the articulated
    bodies about their joints, and N = L⁻¹ = (1 − HψK)ᵀ.  Rodriguez et al. (0.30). O(n d²). Of L
    the blocks off the diagonal are there.

    With ``held``, for bodies that know which of their coordinates are held (`i.held`): the inverse
    over the others, and 1 at those.
    """

    def __init__(self, model: Mechanism, M: BlockArray, held: bool = False):
        check_inertias(model)
        self.model = model
        self.D: PerBody[Block] = per_body(model, "D", Local[Block])
        self.N, self.L = joint_matrix(model, "N"), joint_matrix(model, "L")
        D, N, L = self.D, self.N, self.L
        for i in model.inward():
            for j in i.path():
                L[i, j] = M[i, j] if not held else _masked(i, j, M[i, j])
            if held:
                L[i, i] = _unit_where_held(i, L[i, i])
        for i in model.inward():
            n = i.joint.nv
            D[i] = inverse_inertia(i, rows(L[i, i], n), rows(M[i, i], n))
            for j in i.parent.path():
                M_ij = rows(L[i, j], n)
                L_ij = product(D[i], M_ij)
                for k in j.path():
                    change = product(transposed(L_ij), rows(L[i, k], n))
                    L[j, k] = less(rows(L[j, k], j.joint.nv), change)
                L[i, j] = L_ij
        for i in model.outward():
            n = i.joint.nv
            N[i, i] = [[1.0 if r == c else 0.0 for c in range(n)] for r in range(n)]
            for k in i.parent.path():
                L_ik = rows(L[i, k], n)
                for j in k.path():
                    change = product(L_ik, rows(N[k, j], k.joint.nv))
                    N[i, j] = less(rows(N[i, j], n), change)

    def vector(self, x: JointVector) -> BlockArray:
        """M⁻¹ x of a joint vector."""
        model, D, N = self.model, self.D, self.N
        z, out = (joint_array(model, "v", letter=letter) for letter in ("z", "a"))
        for i in model.inward():
            for k in i.path():
                z[k] = plus(z[k], apply(transposed(rows(N[i, k], i.joint.nv)), x[i]))
        for i in model.inward():
            z[i] = apply(D[i], z[i])
        for i in model.outward():
            for k in i.path():
                out[i] = plus(out[i], apply(rows(N[i, k], i.joint.nv), z[k]))
        return out

    def solution(self, x: JointVector) -> BlockArray:
        """M⁻¹ x by substitution, L⁻¹ D⁻¹ L⁻ᵀ x, which leaves N aside."""
        model, D, L = self.model, self.D, self.L
        z = joint_array(model, "v", letter="z")
        for i in model.outward():
            z[i] = x[i]
        for i in model.inward():
            for k in i.parent.path():
                z[k] = minus(z[k], apply(transposed(rows(L[i, k], i.joint.nv)), z[i]))
        for i in model.outward():
            z[i] = apply(D[i], z[i])
            for k in i.parent.path():
                z[i] = minus(z[i], apply(rows(L[i, k], i.joint.nv), z[k]))
        return z

    def times(self, X: BlockArray, sign: float = 1.0) -> BlockArray:
        """± M⁻¹ X of a joint matrix, or along the first axis of an array with more.

        Where blocks of X are zero unless one joint is behind the other, so are those of Nᵀ X:
        O(n d²). N (D⁻¹ Nᵀ X) takes every pair of joints once for every joint they share on the way
        to the base.
        """
        model, D, N = self.model, self.D, self.N
        Z, Y, out = (joint_array(model, *X.axes, letter=letter) for letter in ("Z", "Y", "a"))
        for i in model.inward():
            for k in i.path():
                add_rows(Z, k, transposed(rows(N[i, k], i.joint.nv)), X, i)
        for i in model.inward():
            add_rows(Y, i, [[sign * e for e in row] for row in D[i]], Z, i)
        for i in model.outward():
            for k in i.path():
                add_rows(out, i, rows(N[i, k], i.joint.nv), Y, k)
        return out

    def times_each(self, *Xs: BlockArray, sign: float = 1.0) -> list[BlockArray]:
        """± M⁻¹ X of joint matrices, most of whose blocks are zero unless one joint is behind the
        other.
        """
        if loops_over_columns(self.model):
            return products_by_column_loops(self.model, self.N, self.D, Xs, sign)
        return [self.times(X, sign) for X in Xs]

    def matrix(self) -> BlockArray:
        """M⁻¹."""
        model, D, N = self.model, self.D, self.N
        if loops_over_columns(model):
            return inverse_by_limbs(model, self.L, D)
        P, Q, out = (joint_matrix(model, letter) for letter in ("P", "Q", "Minv"))
        for i in model.outward():
            for k in i.path():
                P[k, i] = product(D[k], transposed(rows(N[i, k], i.joint.nv)))
        for i in model.outward():
            for k in i.path():
                add_rows(Q, i, rows(N[i, k], i.joint.nv), P, k, until=i)
        for i in model.outward():
            for j in model.until(i):
                out[i, j] = Q[i, j]
                out[j, i] = transposed(rows(Q[i, j], i.joint.nv))
        return out


STRIP = 8  # columns that a rolled loop takes at once


def add_rows(
    Z: BlockArray,
    i: BodyView,
    factor: Block,
    X: BlockArray,
    k: BodyView,
    until: BodyView | None = None,
) -> None:
    """Z_i += factor X_k, for rows of blocks of joint matrices.

    Unrolled, zeros fold away, and columns behind those of body ``until`` may be left out. Rolled,
    it is a loop over strips of columns.
    """
    model, width = Z.mechanism, math.prod(Z.shape[1:])
    to, of = model.offset(i, "v"), model.offset(k, "v")
    if not model.rolled:
        assert isinstance(to, int) and isinstance(of, int)
        z, x, stop = Z.values.reshape(-1, width), X.values.reshape(-1, width), width
        if until is not None:
            last = model.offset(until, "v")
            assert isinstance(last, int)
            stop = last + until.joint.nv
        for r, row in enumerate(factor):
            for s, f in enumerate(row):
                pairs = zip(z[to + r, :stop], x[of + s, :stop], strict=True)
                z[to + r, :stop] = [e + f * y for e, y in pairs]
        return
    assert Z.buffer is not None and X.buffer is not None
    assert isinstance(to, Index) and isinstance(of, Index)
    whole = width - width % STRIP
    for _, column in loop(0, whole, STRIP):
        where = (column, 1)
        _add_strip(Z.buffer, to, factor, X.buffer, of, width, range(STRIP), where)
    _add_strip(Z.buffer, to, factor, X.buffer, of, width, range(whole, width))


def _add_strip(
    Z: Buffer,
    to: Index,
    factor: Block,
    X: Buffer,
    of: Index,
    width: int,
    columns: range,
    *where: tuple[Index, int],
) -> None:
    at_z, at_x = Index(terms=((to, width), *where)), Index(terms=((of, width), *where))
    for c in columns:
        x = [load(X, at_x, 1, s * width + c) for s in range(len(factor[0]))] if factor else []
        for r, row in enumerate(factor):
            z = load(Z, at_z, 1, r * width + c)
            for f, e in zip(row, x, strict=True):
                z = z + f * e
            store(Z, at_z, 1, r * width + c, z)


def _masked(i: BodyView, j: BodyView, flat: Sequence[Real]) -> Block:
    """A block without the rows and columns of held coordinates."""
    return [
        [0.0 if i.held[r] or j.held[c] else x for c, x in enumerate(row)]
        for r, row in enumerate(rows(flat, i.joint.nv))
    ]


def _unit_where_held(i: BodyView, flat: Sequence[Real]) -> Block:
    return [
        [1.0 if r == c and i.held[r] else x for c, x in enumerate(row)]
        for r, row in enumerate(rows(flat, i.joint.nv))
    ]
