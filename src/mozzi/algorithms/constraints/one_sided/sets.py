"""What a one-sided or bounded row may do: the sets that its impulse and its velocity live in.

Rows come in blocks. The velocity of a block after the step is w = Λ x + g, x its impulse, and

    Line    lo ≤ w ≤ hi, and dry friction up to b:  −x ∈ ∂(b |w| + I_[lo, hi])(w)
            (a limit of a joint: b = 0; a rope or a contact without friction: hi = ∞;
            dry friction alone: lo = −∞, hi = ∞);
    Cone    contact, w and x along (n, t₁, t₂):  w_n ≥ 0, ‖x_t‖ ≤ x_n, x_n w_n = 0, and where w_t
            does not vanish, x_t = −x_n w_t/‖w_t‖ (Signorini, Coulomb, maximum dissipation).

Friction is scaled into the rows of a cone (`contact rows`): x_t stands for x_t/μ and w_t for μ w_t,
along each of the two directions, so that an elliptic cone is a circular one of slope 1.

All of it is in the scale of the block, in which Λ has a diagonal of mean 1: impulses and velocities
are both roots of energies, and the fixed-point form of a law, x = P(x − w), needs no factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mozzi.lie.vec import number
from mozzi.program.scalar import Real, divide, maximum, minimum, select, sqrt

__all__ = ["Cone", "Law", "Line", "Set", "reciprocal"]

SMALL = 1e-36
"""The square below which a length has no direction: nothing beside any impulse."""

Block = Sequence[Real]


def reciprocal(x: Real) -> Real:
    """1/x of what is never zero."""
    return divide(1.0, x, nonzero=True)


@dataclass
class Law:
    """Q w + S x = c: the law of a block, or what Newton's method takes for it. error: the square
    of what w or x is missed by; numbers: what it is made of (`Line.made`, `Cone.made`).
    """

    Q: list[list[Real]]
    S: list[list[Real]]
    c: list[Real]
    error: Real = 0.0
    numbers: Sequence[Real] = ()


@dataclass
class Line:
    """One row between two stops, with dry friction."""

    lo: Real
    hi: Real
    b: Real
    size = 1
    count = 2  # of the numbers of a law

    def scaled(self, a: Real) -> Line:
        """With velocities times a and impulses over a."""
        return self.over(reciprocal(a), a)

    def over(self, velocity: Real, impulse: Real) -> Line:
        """With velocities over one unit and impulses over another."""
        one = reciprocal(velocity)
        lo, hi = (x if math.isinf(number(x) or 0.0) else x * one for x in (self.lo, self.hi))
        return Line(lo, hi, self.b * reciprocal(impulse) if self.rubs else 0.0)

    @property
    def below(self) -> bool:
        """Whether there is a lower stop."""
        return number(self.lo) != -math.inf

    @property
    def above(self) -> bool:
        """Whether there is an upper stop."""
        return number(self.hi) != math.inf

    @property
    def rubs(self) -> bool:
        """Whether there is dry friction."""
        return number(self.b) != 0.0

    def law(self, x: Block, w: Block) -> Law:
        """The branch of the law that (x, w) is nearest to: w is a stop, or 0, or x is ±b."""
        held, stop, force = self.branch(w[0] - x[0])
        given = select(held > 0.5, stop, force)
        missed = select(held > 0.5, w[0], x[0]) - given
        return self.made((held, given), missed * missed)

    @staticmethod
    def made(numbers: Sequence[Real], error: Real = 0.0) -> Law:
        """Whether the velocity is given, and it or the impulse."""
        held, given = numbers
        return Law([[held]], [[1.0 - held]], [given], error, numbers)

    def branch(self, y: Real) -> tuple[Real, Real, Real]:
        """At y = w − x: whether the velocity is given (1 or 0), that velocity, else the impulse."""
        held, stop, force, soft = 0.0, 0.0, 0.0, y
        if self.rubs:
            soft = maximum(y - self.b, 0.0) + minimum(y + self.b, 0.0)
            held = select(y > self.b, 0.0, select(y < -self.b, 0.0, 1.0))
            force = select(y > 0.0, -self.b, self.b)
        if self.below:
            held, stop = (select(soft < self.lo, a, b) for a, b in ((1.0, held), (self.lo, stop)))
        if self.above:
            held, stop = (select(soft > self.hi, a, b) for a, b in ((1.0, held), (self.hi, stop)))
        return held, stop, force

    def after(self, tried: Block, last: Law, law: Law) -> Law:
        """The law of a step of Newton's method that follows on one with the impulse `tried`."""
        return law

    def fit(self, x: Block) -> list[Real]:
        """An impulse that the set has, near x."""
        one = x[0]
        if not self.below:
            one = minimum(one, self.b)
        if not self.above:
            one = maximum(one, -self.b)
        return [one]


@dataclass
class Cone:
    """Contact with friction: (n, t₁, t₂), of slope 1. ``convex``: x and w in the cone and its dual,
    without De Saxcé's shift, as in least squares over the cone; for the interior point only.
    """

    convex: bool = False
    size = 3
    count = 6

    def scaled(self, a: Real) -> Cone:
        """With velocities times a and impulses over a."""
        return self

    def over(self, velocity: Real, impulse: Real) -> Cone:
        """With velocities over one unit and impulses over another."""
        return self

    def law(self, x: Block, w: Block) -> Law:
        """Alart and Curnier's: a = x − w says whether the contact is open (a_n ≤ 0: x = 0), slides
        (‖a_t‖ > a_n: w_n = 0, x_t = x_n a_t/‖a_t‖, linearised) or sticks (w = 0). Missed is the
        fixed point x = P(x − w), P_t onto the disc of radius x_n.
        """
        a, a1, a2 = (p - q for p, q in zip(x, w, strict=True))
        n = maximum(a, 0.0)
        square = a1 * a1 + a2 * a2
        slides = square > n * n
        inverse = _inverse_length(square)
        u1, u2 = a1 * inverse, a2 * inverse
        f = minimum(maximum(x[0], 0.0) * inverse, 1.0)
        d = (minimum(x[0], w[0]), x[1] - f * a1, x[2] - f * a2)
        error = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
        closed = select(a > 0.0, 1.0, 0.0)
        stick = select(slides, 0.0, closed)
        slide = closed - stick
        e1, e2 = slide * f * u2, slide * f * u1  # f e eᵀ, e = (u₂, −u₁) ⟂ u
        q11, q12, q22 = stick + e1 * u2, -(e1 * u1), stick + e2 * u1
        return self.made((closed, q11, q12, q22, -(slide * u1), -(slide * u2)), error)

    @staticmethod
    def made(numbers: Sequence[Real], error: Real = 0.0) -> Law:
        """Whether it is closed, Q_t, and S of x_n across."""
        n, q11, q12, q22, s1, s2 = numbers
        Q: list[list[Real]] = [[n, 0.0, 0.0], [0.0, q11, q12], [0.0, q12, q22]]
        S: list[list[Real]] = [[1.0 - n, 0.0, 0.0], [s1, 1.0 - q11, -q12], [s2, -q12, 1.0 - q22]]
        return Law(Q, S, [0.0, 0.0, 0.0], error, numbers)

    def after(self, tried: Block, last: Law, law: Law) -> Law:
        """The law of a step of Newton's method that follows on one with the impulse `tried`. What
        was to stick, and would need more than its cone for it, slides: shortened to the cone it
        may press itself into the ground and look as if it stuck, again and again.
        """
        _, q11, _, q22, _, _ = last.numbers
        n, t1, t2 = tried
        square = t1 * t1 + t2 * t2
        stuck = select(q11 + q22 > 1.5, select(n > 0.0, 1.0, 0.0), 0.0)
        slides = select(square > n * n, stuck, 0.0) > 0.5
        inverse = _inverse_length(square)
        u1, u2, f = t1 * inverse, t2 * inverse, n * inverse
        e1, e2 = f * u2, f * u1
        own = (1.0, e1 * u2, -(e1 * u1), e2 * u1, -u1, -u2)
        numbers = [select(slides, a, b) for a, b in zip(own, law.numbers, strict=True)]
        return self.made(numbers, law.error)

    def fit(self, x: Block) -> list[Real]:
        """x with x_n ≥ 0 and x_t shortened to x_n."""
        n = maximum(x[0], 0.0)
        f = minimum(n * _inverse_length(x[1] * x[1] + x[2] * x[2]), 1.0)
        return [n, f * x[1], f * x[2]]


Set = Line | Cone


def _inverse_length(square: Real) -> Real:
    """1/length of what has this square; 1 where it is nearly nothing."""
    return reciprocal(sqrt(select(square > SMALL, square, 1.0)))
