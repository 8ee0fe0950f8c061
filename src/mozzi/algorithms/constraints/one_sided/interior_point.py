"""The one-sided problem by an interior point, for scenes of any rank from any start.

Every set becomes pairs of complementary quantities, l ∘ u = κ e with κ → 0 on the central path. Of
a cone (Jordan's product) they are the impulse l and the velocity u = w + (‖w_t‖, 0, 0): De Saxcé's
shift makes Coulomb's law a complementarity of a cone and its dual. Of a line they are the impulses
of its stops with the distances of w from them, and, with w = p − m, what is left to saturation,
b ± x, with p and m. A step is Newton's towards l ∘ u = σ κ e, predicted and corrected (Mehrotra),
as far as all quantities stay inside. The root in the shift is smoothed by a tenth of κ, and its
derivative is kept.
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

import math
from collections.abc import Sequence

from mozzi.algorithms.constraints.one_sided.problem import Problem, dot
from mozzi.algorithms.constraints.one_sided.sets import Cone, Line, reciprocal
from mozzi.program.counted_loops import repeat
from mozzi.program.scalar import Real, maximum, minimum, select, sqrt

__all__ = ["interior_point"]

SMOOTH = 0.01  # the square of a tenth
DONE = 1e-13  # κ, of the scale of the velocities, below which nothing moves any more
TINY = 1e-60
WIDE = 30.0  # times the velocities: where the path starts; nearer it meets the wrong modes


class ConePairs:
    """(l, u) of a contact: six numbers."""

    count = 1.0

    def __init__(
        self, kind: Cone, state: Sequence[Real], w: Sequence[Real], soft: Real, lift: Real
    ):
        self.l, self.u = l, u = list(state[:3]), list(state[3:])
        shift, g1, g2 = 0.0, 0.0, 0.0
        if not kind.convex:
            root = sqrt(u[1] * u[1] + u[2] * u[2] + soft + TINY)
            shift, inverse = root - lift, reciprocal(root)
            g1, g2 = u[1] * inverse, u[2] * inverse
        self.g1, self.g2 = g1, g2
        r = [w[0] + shift - u[0], w[1] - u[1], w[2] - u[2]]
        self.r = [r[0] + g1 * r[1] + g2 * r[2], r[1], r[2]]  # du = E dw + r
        self.Q = [
            [l[0], l[0] * g1 + l[1], l[0] * g2 + l[2]],
            [l[1], l[1] * g1 + l[0], l[1] * g2],
            [l[2], l[2] * g1, l[2] * g2 + l[0]],
        ]  # L(l) E
        self.S = [[u[0], u[1], u[2]], [u[1], u[0], 0.0], [u[2], 0.0, u[0]]]  # L(u)
        self.push = jordan(l, self.r)

    @staticmethod
    def start(kind: Cone) -> list[Real]:
        return [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]

    @staticmethod
    def gap(state: Sequence[Real]) -> Real:
        """l · u."""
        return dot(state[:3], state[3:])

    def target(self, kappa: Real, second: Sequence[Real] | None) -> list[Real]:
        now = jordan(self.l, self.u)
        out = [kappa - now[0], -now[1], -now[2]]
        if second is not None:
            more = jordan(second[:3], second[3:])
            out = [a - b for a, b in zip(out, more, strict=True)]
        return [a - b for a, b in zip(out, self.push, strict=True)]

    def moved(
        self, dx: Sequence[Real], dw: Sequence[Real], target: Real, second: Sequence[Real] | None
    ) -> list[Real]:
        du0 = dw[0] + self.g1 * dw[1] + self.g2 * dw[2] + self.r[0]
        return [*dx, du0, dw[1] + self.r[1], dw[2] + self.r[2]]

    def nearest(self, d: Sequence[Real]) -> Real:
        """1/α of the largest step α that stays inside."""
        return maximum(_edge(self.l, d[:3]), _edge(self.u, d[3:]))

    @staticmethod
    def impulse(kind: Cone, state: Sequence[Real]) -> list[Real]:
        return list(state[:3])


class LinePairs:
    """Of a line: (l, y) of every stop, then (x, p, m) of dry friction."""

    def __init__(self, kind: Line, state: Sequence[Real], w: Sequence[Real]):
        self.kind, self.state, self.w = kind, list(state), w[0]
        K: Real = 0.0
        self.stops: list[tuple[float, Real, Real, Real, Real]] = []
        at = 0
        for there, sign, bound in ((kind.below, 1.0, kind.lo), (kind.above, -1.0, kind.hi)):
            if there:
                l, y = state[at : at + 2]
                inverse = reciprocal(y)
                self.stops.append((sign, l, y, inverse, sign * (self.w - bound) - y))
                K = K + l * inverse
                at += 2
        self.friction = None
        if kind.rubs:
            x, p, m = state[at : at + 3]
            s1, s2 = reciprocal(kind.b + x), reciprocal(kind.b - x)
            B = reciprocal(p * s1 + m * s2)
            self.friction = (x, p, m, s1, s2, B, self.w - (p - m))
            K = K + B
        self.Q, self.S = [[K]], [[1.0]]

    @staticmethod
    def start(kind: Line) -> list[Real]:
        out: list[Real] = []
        for there in (kind.below, kind.above):
            out += [1.0, 1.0] if there else []
        return out + ([0.0, reciprocal(kind.b), reciprocal(kind.b)] if kind.rubs else [])

    @staticmethod
    def pairs(kind: Line) -> float:
        return float(kind.below) + float(kind.above) + 2.0 * kind.rubs

    @staticmethod
    def gap(kind: Line, state: Sequence[Real]) -> Real:
        total: Real = 0.0
        at = 0
        for there in (kind.below, kind.above):
            if there:
                total = total + state[at] * state[at + 1]
                at += 2
        if kind.rubs:
            x, p, m = state[at : at + 3]
            total = total + p * (kind.b + x) + m * (kind.b - x)
        return total

    def _rates(self, kappa: Real, second: Sequence[Real] | None) -> list[Real]:
        """What every impulse changes by where w does not change."""
        out: list[Real] = []
        for n, (_, l, _, inverse, r) in enumerate(self.stops):
            more = second[2 * n] * second[2 * n + 1] if second is not None else 0.0
            out.append((kappa - more) * inverse - l - l * inverse * r)
        if self.friction is not None:
            _, p, m, s1, s2, B, r = self.friction
            m1, m2 = (0.0, 0.0) if second is None else self._crossed(second)
            rest = (kappa - m1) * s1 - p - (kappa - m2) * s2 + m
            out.append((rest - r) * B)
        return out

    def _crossed(self, second: Sequence[Real]) -> tuple[Real, Real]:
        dx, dp, dm = second[-3:]
        return dx * dp, -dx * dm

    def target(self, kappa: Real, second: Sequence[Real] | None) -> list[Real]:
        rates = self._rates(kappa, second)
        signs = [s[0] for s in self.stops] + [1.0] * (self.friction is not None)
        return [sum((a * b for a, b in zip(signs, rates, strict=True)), 0.0)]

    def moved(
        self, dx: Sequence[Real], dw: Sequence[Real], kappa: Real, second: Sequence[Real] | None
    ) -> list[Real]:
        rates = self._rates(kappa, second)
        out: list[Real] = []
        for (sign, l, _, inverse, r), k in zip(self.stops, rates, strict=False):
            change = sign * dw[0]
            out += [k - l * inverse * change, change + r]
        if self.friction is not None:
            _, p, m, s1, s2, B, r = self.friction
            d = rates[-1] - B * dw[0]
            m1, m2 = (0.0, 0.0) if second is None else self._crossed(second)
            out += [d, (kappa - m1) * s1 - p - p * s1 * d, (kappa - m2) * s2 - m + m * s2 * d]
        return out

    def nearest(self, d: Sequence[Real]) -> Real:
        worst: Real = 0.0
        for n, (_, l, _, inverse, _) in enumerate(self.stops):
            worst = maximum(worst, maximum(-d[2 * n] * reciprocal(l), -d[2 * n + 1] * inverse))
        if self.friction is not None:
            _, p, m, s1, s2, _, _ = self.friction
            dx, dp, dm = d[-3:]
            for part in (-dx * s1, dx * s2, -dp * reciprocal(p), -dm * reciprocal(m)):
                worst = maximum(worst, part)
        return worst

    @staticmethod
    def impulse(kind: Line, state: Sequence[Real]) -> list[Real]:
        at, x = 0, 0.0
        for there, sign in ((kind.below, 1.0), (kind.above, -1.0)):
            if there:
                x, at = x + sign * state[at], at + 2
        return [x + state[at] if kind.rubs else x]


def jordan(x: Sequence[Real], y: Sequence[Real]) -> list[Real]:
    """x ∘ y of the second-order cone."""
    return [dot(x, y), x[0] * y[1] + y[0] * x[1], x[0] * y[2] + y[0] * x[2]]


def _edge(x: Sequence[Real], d: Sequence[Real]) -> Real:
    """1/α of the largest α with x + α d in the cone, or less than 0."""
    det = maximum(x[0] * x[0] - x[1] * x[1] - x[2] * x[2], 1e-40)
    scale = reciprocal(sqrt(det))
    e = [scale * c for c in x]
    along = e[0] * d[0] - e[1] * d[1] - e[2] * d[2]
    f = (along + d[0]) * reciprocal(e[0] + 1.0)
    d1, d2 = d[1] - f * e[1], d[2] - f * e[2]
    return (sqrt(d1 * d1 + d2 * d2 + TINY) - along) * scale


def interior_point(problem: Problem, steps: int, end: float | None = None) -> list[Real]:
    """Impulses near a solution, from no start; or, with an end κ > 0 of the path, where it is."""
    V: Real = 1e-12 if end is None else math.sqrt(end)
    for g in problem.g:
        V = maximum(V, maximum(g, -g))
    for kind in problem.sets:  # distances of stops from rest are velocities, too
        if isinstance(kind, Line):
            for there, x in ((kind.below, kind.lo), (kind.above, kind.hi)):
                V = maximum(V, minimum(maximum(x, -x), 1e3 * V)) if there else V
    V = WIDE * V
    unit = reciprocal(V)
    sets = [kind.over(V, V) for kind in problem.sets]
    g = [x * unit for x in problem.g]
    least = None if end is None else end * unit * unit
    begin: list[Real] = []
    spans: list[slice] = []
    total = 0.0
    for kind in sets:
        own = ConePairs.start(kind) if isinstance(kind, Cone) else LinePairs.start(kind)
        spans.append(slice(len(begin), len(begin) + len(own)))
        total += 1.0 if isinstance(kind, Cone) else LinePairs.pairs(kind)
        begin += own
    if total == 0.0:
        return [0.0] * len(g)

    def gap(state: Sequence[Real]) -> Real:
        out: Real = 0.0
        for kind, span in zip(sets, spans, strict=True):
            own = state[span]
            out = out + (ConePairs.gap(own) if isinstance(kind, Cone) else LinePairs.gap(kind, own))
        return out * (1.0 / total)

    def impulses(state: Sequence[Real]) -> list[Real]:
        out: list[Real] = []
        for kind, span in zip(sets, spans, strict=True):
            own = state[span]
            out += (
                ConePairs.impulse(kind, own)
                if isinstance(kind, Cone)
                else LinePairs.impulse(kind, own)
            )
        return out

    def step(state: list[Real]) -> list[Real]:
        kappa = gap(state)
        x = impulses(state)
        w = [a + b for a, b in zip(problem.answer(x), g, strict=True)]
        soft = SMOOTH * kappa * kappa if least is None else SMOOTH * least
        lift = 0.0 if least is None else sqrt(soft)
        parts: list[ConePairs | LinePairs] = []
        for kind, span, rows in zip(sets, spans, problem.blocks, strict=True):
            own, at = state[span], [w[k] for k in rows]
            parts.append(
                ConePairs(kind, own, at, soft, lift)
                if isinstance(kind, Cone)
                else LinePairs(kind, own, at)
            )
        solve = problem.factored(parts, 0.0)

        def direction(aim: Real, second: Sequence[Real] | None) -> list[Real]:
            before = [None if second is None else second[s] for s in spans]
            aims = [p.target(aim, b) for p, b in zip(parts, before, strict=True)]
            dx, dw = solve([c for own in aims for c in own])
            out: list[Real] = []
            for p, rows, b in zip(parts, problem.blocks, before, strict=True):
                out += p.moved([dx[k] for k in rows], [dw[k] for k in rows], aim, b)
            return out

        def farthest(d: list[Real]) -> Real:
            worst: Real = 1e-30
            for p, span in zip(parts, spans, strict=True):
                worst = maximum(worst, p.nearest(d[span]))
            return reciprocal(worst)

        first = direction(0.0, None)
        a = minimum(farthest(first), 1.0)
        left = gap([s + a * d for s, d in zip(state, first, strict=True)])
        ratio = left * reciprocal(maximum(kappa, 1e-40))
        aim = minimum(maximum(ratio * ratio * ratio, 1e-6), 1.0) * kappa
        if least is not None:  # near the end, Newton's steps towards it
            aim, far = maximum(aim, least), select(kappa > 10.0 * least, 1.0, 0.0)
            first = [far * x for x in first]
        d = direction(aim, first)
        inside = minimum(maximum(0.9, 1.0 - kappa), 0.9999)
        a = minimum(inside * farthest(d), 1.0)
        new = [s + a * c for s, c in zip(state, d, strict=True)]
        more = select(kappa > DONE, 1.0, 0.0) if least is None else 1.0
        going = select(gap(new) < 1e6, more, 0.0) > 0.5
        return [select(going, x, s) for x, s in zip(new, state, strict=True)]

    state = repeat(steps, begin, step, "interior")
    found = [V * x for x in impulses(state)]
    return problem.fit(found) if least is None else found
