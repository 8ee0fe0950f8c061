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
from mozzi.algorithms.constraints.multipliers import Multipliers
from mozzi.algorithms.constraints.symbolic_closures import alike
from mozzi.algorithms.derivatives.configuration import pull_increment_rates, pull_integrate
from mozzi.algorithms.derivatives.gradient import (
    accelerations_gradient,
    known_accelerations_gradient,
)
from mozzi.algorithms.derivatives.loops.solve import (
    accelerations_gradient_with_loops,
    constrained_gradient,
    constrained_solve,
)
from mozzi.algorithms.dynamics.forward import Sweeps, forward
from mozzi.algorithms.loops.rank_warnings import multipliers
from mozzi.algorithms.recursion.containers import BlockArray, joint_configuration, joint_vector
from mozzi.algorithms.recursion.mechanism import mechanism
from mozzi.algorithms.recursion.rolled_or_not import UNROLLED_BODIES, many_loops, rolls
from mozzi.algorithms.recursion.views import BodyView, JointVector
from mozzi.lie import Wrench
from mozzi.model import Model
from mozzi.program.program import Index, loop
from mozzi.program.scalar import Real
from mozzi.simulation.derivatives.joint_vectors import JointVectors
from mozzi.simulation.derivatives.projection import pull_closing
from mozzi.simulation.forces.resistance import Resistance
from mozzi.simulation.methods.tableau import Tableau
from mozzi.simulation.traced_state import Memory, table
from mozzi.types import Traced

__all__ = ["Backwards"]

ALIKE_BODIES = 80
"""That are unrolled where many loops close the tree. Rolled, 100 compile in two thirds of the time
and run 0.8 times as fast, 200 in 0.4 of the time.
"""


class Backwards:
    """A step of a model from (q, v) with τ held, and dt = h, run backwards while tracing."""

    #: Bodies that are still unrolled where loops close the tree: a step is ten times its dynamics.
    threshold: ClassVar[int | None] = 16
    loops: ClassVar[str] = "honour"
    rolled_paths: ClassVar[bool] = True
    rolled_chains: ClassVar[bool] = True
    rolled_loops: ClassVar[Callable[[Model], bool]] = staticmethod(alike)

    def __init__(
        self, model: Model, smooth: Model, acting: Resistance | None, q: Traced, v: Traced,
        tau: Traced, h: Real,
    ):  # fmt: skip
        """smooth: the model without dry friction."""
        self.of, self.acting, self.h = smooth, acting, h
        self.friction = [b.dynamics.friction for b in model]
        most = None if smooth.closures else UNROLLED_BODIES
        most = ALIKE_BODIES if many_loops(smooth) else most
        view = mechanism(smooth, rolled=rolls(smooth, Backwards, most), regroup="moments")
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
        by_q, by_v, by_tau = self._pull(sweeps, q, v, a, loops, self._times(bar, h))
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
        k_q, k_v = (JointVectors(model, n, s) for n in ("k_q", "k_v"))  # rates of the stages
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
            forces.set_row(i, multipliers(loops))
            for b in model.outward():
                k_q[i, b], k_v[i, b] = b.joint.increment_rates(d[b], u[b]), a[b]

        step, new = joint_vector(model, "step"), joint_vector(model, "v_new")
        weights = [(j, b * h) for j, b in enumerate(tableau.b) if b]
        for b in model.outward():
            step[b] = _sum([(w, k_q[j, b]) for j, w in weights], b)
            new[b] = _sum([(1.0, v[b]), *((w, k_v[j, b]) for j, w in weights)], b)
        p, r = self._closing(step, new, dq, dv)
        X, Y = pull_integrate(model, q, step, p)
        q_bar, v_bar, tau_bar = (JointVectors(model, n, 1) for n in ("q_bar", "v_bar", "tau_bar"))
        kq_bar, kv_bar = JointVectors(model, "kq_bar", s), JointVectors(model, "kv_bar", s)
        for b in model.outward():
            q_bar[0, b], v_bar[0, b] = X[b], r[b]
            for j, w in enumerate(tableau.b):
                kq_bar[j, b], kv_bar[j, b] = _sum([(w * h, Y[b])], b), _sum([(w * h, r[b])], b)

        for _, i in loop(s - 1, -1, -1, name="stage"):
            w, d, where, u = at(i)
            a, bar, rate = (joint_vector(model, n) for n in ("a", "a_bar", "rate_bar"))
            for b in model.outward():
                a[b], bar[b], rate[b] = k_v[i, b], kv_bar[i, b], kq_bar[i, b]
            by_q, by_v, by_tau = self._pull_known(where, u, a, forces.get_row(i), bar)
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
    ) -> tuple[BlockArray, Multipliers | None, Sweeps]:
        """a of forward dynamics, what closes the loops, and the sweeps that found them."""
        tau, resistance = self._drive(v)[0], self.acting is not None
        x = Sweeps(self.model, q, v, tau, wrenches=NoBlocks(Wrench), resistance=resistance)
        return *forward(x), x

    def _pull(
        self, x: Sweeps, q: BlockArray, v: BlockArray, a: BlockArray, loops: Multipliers | None,
        bar: JointVector,
    ) -> tuple[BlockArray, BlockArray, BlockArray]:  # fmt: skip
        """(q̄, v̄, τ̄) of forward dynamics from ā, behind the sweeps that found a."""
        if loops is None:
            return self._with_friction(v, *accelerations_gradient(x, a, bar))
        return self._negated(v, *accelerations_gradient_with_loops(x, q, v, a, loops, bar))

    def _pull_known(
        self, q: BlockArray, v: BlockArray, a: BlockArray, loops: Traced, bar: JointVector
    ) -> tuple[BlockArray, BlockArray, BlockArray]:
        """The same where a and the multipliers of the loops are known, and sweeps are gone."""
        given = NoBlocks(Wrench), self.acting is not None
        if not closed(self.of):
            found = known_accelerations_gradient(self.model, q, v, a, bar, *given)
            return self._with_friction(v, *found)
        mu, rows = constrained_solve(self.model, q, bar)
        by_q, by_v = constrained_gradient(self.model, q, v, a, loops, mu, rows, *given)
        return self._negated(v, by_q, by_v, mu)

    def _negated(
        self, v: JointVector, by_q: Traced, by_v: Traced, mu: BlockArray
    ) -> tuple[BlockArray, BlockArray, BlockArray]:
        """With the other sign, and with friction."""
        by = [self._each(_negative, joint_vector(self.model, "by", x)) for x in (by_q, by_v)]
        return self._with_friction(v, by[0], by[1], mu)

    def _with_friction(
        self, v: JointVector, by_q: BlockArray, by_v: BlockArray, mu: BlockArray
    ) -> tuple[BlockArray, BlockArray, BlockArray]:
        """With what dry friction answers to velocities."""
        slope = self._drive(v)[1]
        if slope is not None:
            by_v = self._each(_plus_product, by_v, slope, mu)
        return by_q, by_v, mu

    def _closing(
        self, step: JointVector, new: BlockArray, dq: Traced, dv: Traced
    ) -> tuple[BlockArray, BlockArray]:
        """dq, dv before the state q ⊕ step, new is taken back onto its loops."""
        p, r = joint_vector(self.model, "dq", dq), joint_vector(self.model, "dv", dv)
        if closed(self.of):
            where = joint_configuration(self.model, "q_new")
            for i in self.model.outward():
                where[i] = i.joint.integrate(self.q[i], step[i])
            return pull_closing(self.model, where, new, p, r)
        return p, r


def _sum(terms: Iterable[tuple[Real, Sequence[Real]]], body: BodyView) -> list[Real]:
    """Σ w x, of blocks of a body."""
    total: list[Real] = [0.0] * body.joint.nv
    for w, x in terms:
        total = [t + w * e for t, e in zip(total, x, strict=True)]
    return total


def _negative(x: Real) -> Real:
    return -x


def _plus_product(x: Real, s: Real, m: Real) -> Real:
    return x + s * m
