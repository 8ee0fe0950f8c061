# pyright: reportConstantRedefinition=false
"""What actuators bear of the forces of a tree, in programs: `actuation` with fixed control flow.

Velocities that keep the loops closed are the null space of A, with the projector P. Forces do the
same to the mechanism where P makes them equal, P τ = P τ_r, so that of all τ_a those of least
Σ w τ_a² follow from B = P E_a W^-½ as

    τ_a = W^-½ y,   y = (BᵀB)⁺ Bᵀ P τ_r ,                                           Kim (62)–(64)

(where all joints have actuators y is W^½ τ_r without its part in the range of W^½ Aᵀ, and nothing
is dense)
and multipliers of least Σ w λ² from A_pᵀ λ = τ_pr with passive joints p,

    λ = W⁻¹ A_p μ,   (A_pᵀ W⁻¹ A_p) μ = τ_pr,   τ_a = τ_ar − A_aᵀ λ .               Kim (60), (65)

Both matrices are semidefinite: rows are chosen by pivots (`Choice`) instead of singular values, and
each solution is corrected once. A program cannot raise: where actuators cannot make the motion, or
the motion opens the loops, the forces are infinite or no numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import cast

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.constraints.overconstrained import overconstrained
from mozzi.algorithms.constraints.pivoting import Choice
from mozzi.algorithms.constraints.rank import PARALLEL, cancelled, lengths, opening
from mozzi.algorithms.constraints.rows.rows import (
    loop_acceleration,
    loop_jacobian,
    loop_residual,
    loop_rows,
)
from mozzi.algorithms.constraints.solve import Factor
from mozzi.algorithms.constraints.sparse import Row, connected, elimination_order, gram
from mozzi.algorithms.dynamics.forward import hybrid_dynamics
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.loops.actuation import (
    OPEN,
    actuated_mask,
    sharing_of,
    torque_of,
    weights_of,
)
from mozzi.algorithms.recursion.containers import BlockArray, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import ByBody
from mozzi.lie import Wrench
from mozzi.lie.vec import number
from mozzi.model import Model
from mozzi.program.scalar import Real, maximum, select
from mozzi.program.settings import settings
from mozzi.types import ArrayLike, JointChoice, Minimize, Rep, Traced

__all__ = ["Semidefinite", "Sharing", "hybrid_forces", "opened", "shared_forces"]

MISSED = {"float64": 1e-7, "float32": 1e-3}
"""Forces that are not balanced, over those that are needed, with which a motion is refused."""


class Semidefinite:
    """(Y Yᵀ)⁺ b where b is in the range of Y.  open2: see `rank.opening`; None: rows are not
    chosen, only left out where they depend on those before. blocks: rows of closures, if of those.
    size: what entries of rows are where nothing cancels: those that vanish are rounding beside it,
    or as large as the loops are open.
    """

    def __init__(
        self, Y: Traced, size: ArrayLike, open2: Real | None = None,
        blocks: Sequence[Sequence[int]] | None = None,
    ):  # fmt: skip
        rows: list[Row] = [
            {c: x for c, x in enumerate(row) if number(x) != 0.0} for row in Y
        ]
        order = [k for k in elimination_order(rows) if rows[k]]
        G = gram(rows, rows, order)
        entries = np.broadcast_to(np.square(size), Y.shape)
        square = [max((entries[k, c] for c in row), default=0.0) for k, row in enumerate(rows)]
        scale = [
            G[k].get(k, 0.0) + cancelled() * x if k in G else 0.0 for k, x in enumerate(square)
        ]
        kept = None
        if open2 is not None and order:
            copy = {k: dict(row) for k, row in G.items()}
            there = set(order)
            parts = [[k for k in x if k in there] for x in blocks or connected(G)]
            parts = [x for x in parts if x]
            most = [min(len(x), len({c for k in x for c in rows[k]})) for x in parts]
            kept = Choice(copy, parts, _opened(scale, square, open2), most).kept
        self.factor = Factor.of_gram(G, order, scale, kept)

    def solve(self, b: Traced, least: bool = False) -> Traced:
        """x with Y Yᵀ x = b (the shortest, where ``least``); b has one column or several."""
        if b.ndim == 2:
            parts = [self.solve(x, least) for x in b.T]
            return np.stack(parts, axis=-1) if parts else b
        x = self.factor.multipliers(list(b))
        return _array(self.factor.shortest(x) if least else x)


class Sharing:
    """How actuators and loops share what the tree needs, at one configuration: linear in it."""

    def __init__(
        self, model: Model, q: Traced, actuated: NDArray[np.bool_], minimize: Minimize,
        weighting: ArrayLike | None = None,
    ):  # fmt: skip
        rows, columns = lengths(model)
        A = loop_jacobian.python(model, q)
        self.actuated, self.minimize, self.columns = actuated, minimize, columns
        self.torque = torque_of(model)
        w = weights_of(weighting, minimize, int(actuated.sum()), len(rows))
        open2 = None
        if overconstrained(model):
            open2 = opening(list(loop_residual.python(model, q)), rows.tolist())
        blocks = [range(x.start, x.stop) for x in loop_rows(model).values()]
        self.every = minimize == "torque" and bool(actuated.all())
        if self.every:
            self.s = 1.0 / np.sqrt(w)
            self.A = A / rows[:, None] / self.s
            self.rows = Semidefinite(self.A, 1.0 / (columns * self.s), open2, blocks)
        elif minimize == "torque":
            self.A = A / rows[:, None] * columns
            self.rows, self.s = Semidefinite(self.A, 1.0, open2, blocks), 1.0 / np.sqrt(w)
            size = columns[actuated] * self.s
            self.B = self.projected((np.eye(model.nv)[:, actuated] * size).astype(object))
            some = 0.0 if open2 is None else open2
            self.B_inverse = Semidefinite(self.B.T, size[:, None], some)
        else:
            self.A, self.w = A, w
            self.passive = A[:, ~actuated] * columns[~actuated]
            Y = (self.passive / np.sqrt(w)[:, None]).T
            self.passive_inverse = Semidefinite(Y, rows / np.sqrt(w), open2)

    def projected(self, x: Traced) -> Traced:
        """P x, twice, for what rounding has left of the rows."""
        for _ in range(2):
            x = x - self.A.T @ self.rows.solve(self.A @ x)
        return x

    def forces(self, tau_r: Traced) -> tuple[Traced, Traced]:
        """(τ, what is not balanced, forces at a length) of the forces that the tree needs."""
        act, out = self.actuated, np.zeros(len(tau_r)).astype(object)
        if self.every:
            return self.projected(tau_r / self.s) * self.s, out
        if self.minimize == "torque":
            b = self.projected(tau_r * self.columns)
            y = self.B_inverse.solve(self.B.T @ b, least=True)
            y = y + self.B_inverse.solve(self.B.T @ (b - self.B @ y), least=True)
            out[act] = y * self.s
            return out, b - self.B @ y
        b = tau_r[~act] * self.columns[~act]
        lam = self._lam(b)
        lam = lam + self._lam(b - self.passive.T @ lam)
        out[act] = tau_r[act] - self.A[:, act].T @ lam
        return out, b - self.passive.T @ lam

    def _lam(self, b: Traced) -> Traced:
        return (self.passive @ self.passive_inverse.solve(b)) / self.w

    def checked(self, tau_r: Traced, open_by: Real = 0.0) -> Traced:
        """τ, or no numbers where something is not balanced (open_by 1: or the loops open)."""
        tau, left = self.forces(tau_r)
        allowed = MISSED[settings().dtype] * (self.torque + _largest(tau_r * self.columns))
        ok = select(_largest(left) > allowed, inf, 1.0)
        return tau * select(maximum(open_by, 0.0) > 0.5, inf, ok)


def _opened(scale: Sequence[Real], square: Sequence[float], open2: Real) -> list[Real]:
    """Scales of which `smallest_pivot` is that of an open state. A row that vanishes where loops
    are closed is as long as they are open: what it would be otherwise, a square, is what that is a
    share of, here as well as in the order of pivots.
    """
    more = open2 * (1.0 / PARALLEL[settings().dtype])
    return [s + more * (s + x) for s, x in zip(scale, square, strict=True)]


def opened(model: Model, q: Traced, v: Traced, a: Traced) -> Real:
    """1 where a motion opens the loops by more than they are open, else 0: `actuation.opens`."""
    left = loop_acceleration.python(model, q, v, a)
    rows, columns = lengths(model)
    a, v = a / columns, v / columns
    scale = 1.0 + _largest(a) + _largest(v) * _largest(v)
    allowed = (OPEN if settings().dtype == "float64" else 1e-2) * scale
    gap = opening(list(loop_residual.python(model, q)), rows.tolist())  # the square of a sine
    over = maximum(_largest(left / rows) - allowed, 0.0)
    return select(over * over > gap * scale * scale, 1.0, 0.0)


def _largest(x: Traced) -> Real:
    top: Real = 0.0
    for e in x:
        top = maximum(top, maximum(e, -e))
    return top


def _array(x: Sequence[Real]) -> Traced:
    return np.array([*x, None], dtype=object)[:-1]


@inverse_dynamics.recursion_with_loops
def shared_forces(
    model: Mechanism, q: BlockArray, v: BlockArray, a: BlockArray,
    wrenches: ByBody[Wrench] | None = None, rep: Rep = "body", resistance: bool = False,
    actuated: JointChoice | None = None, minimize: Minimize | None = None,
    weighting: ArrayLike | None = None, tau: BlockArray | None = None,
) -> BlockArray:  # fmt: skip
    """`inverse_dynamics` with loops, on scalars: of the tree, or borne by some joints."""
    tree = inverse_dynamics.function
    needed = tree(model, q, v, a, wrenches, rep, resistance)
    assert isinstance(needed, BlockArray)
    if actuated is None and minimize is None:
        return needed
    of, at = model.model, q.array()
    mask = actuated_mask(of, actuated)
    given = np.zeros(of.nv).astype(object) if tau is None else np.where(mask, 0.0, tau.array())
    x = Sharing(of, at, mask, sharing_of(minimize), weighting)
    own = x.checked(needed.array() - given, opened(of, at, v.array(), a.array()))
    return joint_vector(model, "tau", own + given)


@hybrid_dynamics.recursion_with_loops
def hybrid_forces(
    model: Mechanism, q: BlockArray, v: BlockArray, tau: BlockArray, a: BlockArray,
    prescribed: JointChoice = (), wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
    loop_accelerations: BlockArray | None = None, minimize: Minimize | None = None,
    weighting: ArrayLike | None = None,
) -> tuple[BlockArray, BlockArray]:  # fmt: skip
    """`hybrid_dynamics` with loops, on scalars: with multipliers of least norm, or what is asked to
    be least.  Kim (74).
    """
    plain = hybrid_dynamics.function
    both = plain(model, q, v, tau, a, prescribed, wrenches, resistance, loop_accelerations)
    tau_out, a_out = cast("tuple[BlockArray, BlockArray]", both)
    if (minimize is None and weighting is None) or not len(prescribed):
        return tau_out, a_out
    needed = inverse_dynamics.function(model, q, v, a_out, wrenches, "body", resistance)
    assert isinstance(needed, BlockArray)
    mask = actuated_mask(model.model, prescribed)
    given = np.where(mask, 0.0, tau.array())
    x = Sharing(model.model, q.array(), mask, sharing_of(minimize), weighting)
    own = x.checked(needed.array() - given)
    return joint_vector(model, "tau_out", own + given), a_out

