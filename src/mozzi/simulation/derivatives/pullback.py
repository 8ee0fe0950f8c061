# pyright: reportConstantRedefinition=false
"""The adjoint of one step: derivatives behind it turned into derivatives before it, O(n).

A step is run backwards as it was computed, stage by stage. Joint vectors are read and written by
bodies, so that the program of a large mechanism is rolled, as its dynamics are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

import numpy as np

from mozzi.algorithms.calls.arguments import NoBlocks
from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.derivatives.configuration import pull_increment_rates, pull_integrate
from mozzi.algorithms.derivatives.gradient import (
    accelerations_gradient,
    known_accelerations_gradient,
)
from mozzi.algorithms.derivatives.loops.solve import (
    constrained_accelerations,
    constrained_gradient,
    constrained_solve,
)
from mozzi.algorithms.dynamics.forward import Sweeps, forward
from mozzi.algorithms.recursion.containers import BlockArray, joint_configuration, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism, mechanism
from mozzi.algorithms.recursion.rolled_or_not import rolls
from mozzi.algorithms.recursion.views import BodyView, JointVector
from mozzi.lie import Wrench
from mozzi.model import Model
from mozzi.program.program import Buffer, Index, load, loop, store
from mozzi.program.scalar import Node, Real
from mozzi.simulation.derivatives.projection import pull_closing
from mozzi.simulation.forces.resistance import Resistance
from mozzi.simulation.methods.tableau import Tableau
from mozzi.simulation.traced_state import Memory, table
from mozzi.types import Traced

__all__ = ["Backwards"]


class Backwards:
    """A step of a model from (q, v) with τ held, and dt = h, run backwards while tracing."""

    #: Bodies that are still unrolled: a step backwards is ten times its dynamics.
    threshold: ClassVar[int | None] = 16
    loops: ClassVar[str] = "honour"
    rolled_paths: ClassVar[bool] = False
    rolled_loops: ClassVar[None] = None

    def __init__(
        self, model: Model, smooth: Model, acting: Resistance | None, q: Traced, v: Traced,
        tau: Traced, h: Real,
    ):  # fmt: skip
        """smooth: the model without dry friction."""
        self.of, self.acting, self.h = smooth, acting, h
        self.friction = [b.dynamics.friction for b in model]
        view = mechanism(smooth, rolled=rolls(smooth, Backwards), regroup="moments")
        self.model = view
        self.q = joint_configuration(view, "q", q)
        self.v, self.tau = joint_vector(view, "v", v), joint_vector(view, "tau", tau)

    # -- the two methods --

    def semi_implicit(self, dq: Traced, dv: Traced) -> tuple[Traced, Traced, Traced]:
        """(q̄, v̄, τ̄) from the derivatives dq, dv behind v′ = v + h a, q′ = q ⊕ h v′."""
        model, q, v, h = self.model, self.q, self.v, self.h
        a, loops, sweeps = self._accelerations(q, v)
        new = self._sum(v, a, h)
        step = self._times(new, h)
        p, r = self._closing(step, new, dq, dv)
        X, Y = pull_integrate(model, q, step, p)
        bar = self._sum(r, Y, h)
        by_q, by_v, by_tau = self._pull(q, v, a, loops, self._times(bar, h), sweeps)
        q_bar = self._sum(X, by_q)
        v_bar = self._sum(bar, by_v)
        return q_bar.array(), v_bar.array(), by_tau.array()

    def munthe_kaas(
        self, tableau: Tableau, dq: Traced, dv: Traced
    ) -> tuple[Traced, Traced, Traced]:
        """(q̄, v̄, τ̄) from the derivatives dq, dv behind a step of a Runge–Kutta–Munthe-Kaas
        method."""
        model, q, v, h, s = self.model, self.q, self.v, self.h, tableau.stages
        used = [j for j in range(s) if tableau.A[:, j].any()]
        k_q, k_v = _Vectors(model, "k_q", s), _Vectors(model, "k_v", s)  # rates of the stages
        forces = Memory("loops", (s, self.of.row_count), 0.0)  # and their multipliers

        def at(i: Index) -> tuple[Traced, BlockArray, BlockArray, BlockArray]:
            """The weights of a stage, its increment, and where it is evaluated."""
            w = table("A", tableau.A, i) * h
            d, u = joint_vector(model, "d"), joint_vector(model, "u")
            where = joint_configuration(model, "q_stage")
            for b in model.outward():
                d[b] = _sum([(w[j], k_q[j, b]) for j in used], b)
                u[b] = _sum([(1.0, v[b]), *((w[j], k_v[j, b]) for j in used)], b)
                where[b] = b.joint.integrate(q[b], d[b])
            return w, d, where, u

        for _, i in loop(0, s, name="stage"):
            _, d, where, u = at(i)
            a, loops, _ = self._accelerations(where, u)
            forces.set_row(i, loops)
            for b in model.outward():
                k_q[i, b], k_v[i, b] = b.joint.increment_rates(d[b], u[b]), a[b]

        step, new = joint_vector(model, "step"), joint_vector(model, "v_new")
        weights = [(j, b * h) for j, b in enumerate(tableau.b) if b]
        for b in model.outward():
            step[b] = _sum([(w, k_q[j, b]) for j, w in weights], b)
            new[b] = _sum([(1.0, v[b]), *((w, k_v[j, b]) for j, w in weights)], b)
        p, r = self._closing(step, new, dq, dv)
        X, Y = pull_integrate(model, q, step, p)
        q_bar, v_bar, tau_bar = (_Vectors(model, n, 1) for n in ("q_bar", "v_bar", "tau_bar"))
        kq_bar, kv_bar = _Vectors(model, "kq_bar", s), _Vectors(model, "kv_bar", s)
        for b in model.outward():
            q_bar[0, b], v_bar[0, b] = X[b], r[b]
            for j, w in enumerate(tableau.b):
                kq_bar[j, b], kv_bar[j, b] = _sum([(w * h, Y[b])], b), _sum([(w * h, r[b])], b)

        for _, i in loop(s - 1, -1, -1, name="stage"):
            w, d, where, u = at(i)
            a, bar, rate = (joint_vector(model, n) for n in ("a", "a_bar", "rate_bar"))
            for b in model.outward():
                a[b], bar[b], rate[b] = k_v[i, b], kv_bar[i, b], kq_bar[i, b]
            by_q, by_v, by_tau = self._pull(where, u, a, forces.get_row(i), bar)
            d_bar, u_bar = pull_increment_rates(model, d, u, rate)
            X, Y = pull_integrate(model, q, d, by_q)
            for b in model.outward():
                u_b = _sum([(1.0, by_v[b]), (1.0, u_bar[b])], b)
                d_b = _sum([(1.0, Y[b]), (1.0, d_bar[b])], b)
                q_bar[0, b] = _sum([(1.0, q_bar[0, b]), (1.0, X[b])], b)
                v_bar[0, b] = _sum([(1.0, v_bar[0, b]), (1.0, u_b)], b)
                tau_bar[0, b] = _sum([(1.0, tau_bar[0, b]), (1.0, by_tau[b])], b)
                for j in used:
                    kq_bar[j, b] = _sum([(1.0, kq_bar[j, b]), (w[j], d_b)], b)
                    kv_bar[j, b] = _sum([(1.0, kv_bar[j, b]), (w[j], u_b)], b)
        return q_bar.array(), v_bar.array(), tau_bar.array()

    # -- what they are made of --

    def _each(self, function: Callable[..., Real], *vectors: JointVector) -> BlockArray:
        """A joint vector, number by number of others."""
        out = joint_vector(self.model, "x")
        for i in self.model.outward():
            blocks = zip(*(x[i] for x in vectors), strict=True)
            out[i] = [function(*numbers) for numbers in blocks]
        return out

    def _times(self, x: JointVector, h: Real) -> BlockArray:
        def times(x: Real) -> Real:
            return h * x

        return self._each(times, x)

    def _sum(self, x: JointVector, y: JointVector, h: Real = 1.0) -> BlockArray:
        """x + h y."""

        def total(x: Real, y: Real) -> Real:
            return x + h * y

        return self._each(total, x, y)

    def _drive(self, v: JointVector) -> tuple[BlockArray, BlockArray | None]:
        """τ with dry friction in it, and the slope of that in v (None: there is none)."""
        friction = self.friction
        if self.acting is None or not self.acting.friction or not any(map(any, friction)):
            return self.tau, None
        model, slipping = self.model, self.acting.slipping
        drive, slope = joint_vector(model, "drive"), joint_vector(model, "slope")
        sizes = joint_vector(model, "friction", np.concatenate(friction).astype(object))
        for i in model.outward():
            dry = [slipping(f, x) for f, x in zip(sizes[i], v[i], strict=True)]
            drive[i] = [t + force for t, (force, _) in zip(self.tau[i], dry, strict=True)]
            slope[i] = [by_v for _, by_v in dry]
        return drive, slope

    def _accelerations(
        self, q: JointVector, v: JointVector
    ) -> tuple[BlockArray, Traced, Sweeps | None]:
        """(a, λ) of forward dynamics, and the sweeps that found a; λ is empty for trees, and there
        are no sweeps to use again with loops.
        """
        given = self._drive(v)[0], NoBlocks(Wrench), self.acting is not None
        if closed(self.of):
            return *constrained_accelerations(self.model, q, v, *given), None
        tau, wrenches, resistance = given
        x = Sweeps(self.model, q, v, tau, wrenches=wrenches, resistance=resistance)
        return forward(x)[0], np.empty(0, dtype=object), x

    def _pull(
        self, q: JointVector, v: JointVector, a: JointVector, loops: Traced, bar: JointVector,
        sweeps: Sweeps | None = None,
    ) -> tuple[BlockArray, BlockArray, BlockArray]:  # fmt: skip
        """(q̄, v̄, τ̄) of forward dynamics from ā; loops: the multipliers of a; sweeps: those that
        found a, where they are still there.
        """
        model, given = self.model, (NoBlocks(Wrench), self.acting is not None)
        if closed(self.of):
            mu, rows = constrained_solve(model, q, bar)
            found = constrained_gradient(model, q, v, a, loops, mu, rows, *given)
            by_q, by_v = (joint_vector(model, "by", x) for x in found)
            by_q, by_v = self._each(_negative, by_q), self._each(_negative, by_v)
        elif sweeps is not None:
            by_q, by_v, mu = accelerations_gradient(sweeps, a, bar)
        else:
            by_q, by_v, mu = known_accelerations_gradient(model, q, v, a, bar, *given)
        slope = self._drive(v)[1]
        if slope is not None:
            by_v = self._each(_plus_product, by_v, slope, mu)
        return by_q, by_v, mu

    def _closing(
        self, step: JointVector, new: BlockArray, dq: Traced, dv: Traced
    ) -> tuple[BlockArray, BlockArray]:
        """dq, dv before the state q ⊕ step, new is taken back onto its loops."""
        if closed(self.of):
            where = joint_configuration(self.model, "q_new")
            for i in self.model.outward():
                where[i] = i.joint.integrate(self.q[i], step[i])
            dq, dv = pull_closing(self.of, where.array(), new.array(), dq, dv)
        return joint_vector(self.model, "dq", dq), joint_vector(self.model, "dv", dv)


def _sum(terms: Iterable[tuple[Real, Sequence[Real]]], body: BodyView) -> list[Real]:
    """Σ w x, of blocks of a body."""
    total: list[Real] = [0.0] * body.joint.nv
    for w, x in terms:
        total = [t + w * e for t, e in zip(total, x, strict=True)]
    return total


class _Vectors:
    """Joint vectors in memory, zero at first, read and written by number (or by a loop's variable)
    and body.
    """

    def __init__(self, model: Mechanism, letter: str, count: int):
        self.model, self.buffer = model, Buffer(letter, max(1, count * model.nv), "scratch")
        for _, k in loop(0, count * model.nv):
            store(self.buffer, k, 1, 0, 0.0)

    def _place(self, number: int | Index, body: BodyView) -> tuple[Index | None, int]:
        terms: list[tuple[Index, int]] = []
        first = 0
        for start, stride in ((number, self.model.nv), (self.model.offset(body, "v"), 1)):
            if isinstance(start, Index):
                terms.append((start, stride))
            else:
                first += start * stride
        return (Index(terms=tuple(terms)) if terms else None), first

    def __getitem__(self, at: tuple[int | Index, BodyView]) -> list[Node]:
        index, first = self._place(*at)
        return [load(self.buffer, index, 1, first + n) for n in range(at[1].joint.nv)]

    def __setitem__(self, at: tuple[int | Index, BodyView], block: Sequence[Real]) -> None:
        index, first = self._place(*at)
        for n, x in enumerate(block):
            store(self.buffer, index, 1, first + n, x)

    def array(self) -> Traced:
        """The first of them."""
        return np.array([load(self.buffer, None, 0, n) for n in range(self.model.nv)], dtype=object)


def _negative(x: Real) -> Real:
    return -x


def _plus_product(x: Real, s: Real, m: Real) -> Real:
    return x + s * m
