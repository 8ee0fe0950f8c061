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

__all__ = ["TINY", "Cone", "Law", "Line", "Set", "reciprocal"]

TINY = 1e-150
"""Added to squares whose root is divided by."""

Block = Sequence[Real]


def reciprocal(x: Real) -> Real:
    """1/x of what is never zero."""
    return divide(1.0, x, nonzero=True)


@dataclass
class Law:
    """Q w + S x = c: the law of a block, or what Newton's method takes for it."""

    Q: list[list[Real]]
    S: list[list[Real]]
    c: list[Real]


@dataclass
class Line:
    """One row between two stops, with dry friction."""

    lo: Real
    hi: Real
    b: Real
    size = 1

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
        return Law([[held]], [[1.0 - held]], [select(held > 0.5, stop, force)])

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

    def fit(self, x: Block) -> list[Real]:
        """An impulse that the set has, near x."""
        one = x[0]
        if not self.below:
            one = minimum(one, self.b)
        if not self.above:
            one = maximum(one, -self.b)
        return [one]

    def error(self, x: Block, w: Block) -> Real:
        """The square of what w or x is missed by, on the branch that (x, w) is nearest to."""
        held, stop, force = self.branch(w[0] - x[0])
        d = select(held > 0.5, w[0] - stop, x[0] - force)
        return d * d


@dataclass
class Cone:
    """Contact with friction: (n, t₁, t₂), of slope 1. ``convex``: x and w in the cone and its dual,
    without De Saxcé's shift, as in least squares over the cone; for the interior point only.
    """

    convex: bool = False
    size = 3

    def scaled(self, a: Real) -> Cone:
        """With velocities times a and impulses over a."""
        return self

    def over(self, velocity: Real, impulse: Real) -> Cone:
        """With velocities over one unit and impulses over another."""
        return self

    def law(self, x: Block, w: Block) -> Law:
        """Alart and Curnier's: a = x − w says whether the contact is open (a_n ≤ 0: x = 0), slides
        (‖a_t‖ > a_n: w_n = 0, x_t = x_n a_t/‖a_t‖, linearised) or sticks (w = 0).
        """
        n, a1, a2 = (p - q for p, q in zip(x, w, strict=True))
        square = a1 * a1 + a2 * a2
        is_open = n <= 0.0
        slides = square > maximum(n, 0.0) * maximum(n, 0.0)
        inverse = reciprocal(sqrt(select(slides, square, 1.0)))
        u1, u2 = a1 * inverse, a2 * inverse
        f = minimum(maximum(x[0] * inverse, 0.0), 1.0)
        closed = select(is_open, 0.0, 1.0)
        stick = select(slides, 0.0, closed)
        slide = select(slides, closed, 0.0)
        across = [[f * u2 * u2, -f * u1 * u2], [-f * u1 * u2, f * u1 * u1]]  # f e eᵀ, e ⟂ u
        Q: list[list[Real]] = [[closed, 0.0, 0.0]]
        S: list[list[Real]] = [[1.0 - closed, 0.0, 0.0]]
        for k, u in enumerate((u1, u2)):
            line: list[Real] = [0.0]
            rest: list[Real] = [-slide * u]
            for j in range(2):
                one = 1.0 if j == k else 0.0
                part = slide * across[k][j]
                line.append(stick * one + part)
                rest.append((1.0 - stick) * one - part)
            Q.append(line)
            S.append(rest)
        return Law(Q, S, [0.0, 0.0, 0.0])

    def fit(self, x: Block) -> list[Real]:
        """x with x_n ≥ 0 and x_t shortened to x_n."""
        n = maximum(x[0], 0.0)
        f = _shortened(x[1], x[2], n)
        return [n, f * x[1], f * x[2]]

    def error(self, x: Block, w: Block) -> Real:
        """The square of what the fixed point x = P(x − w) is missed by, P_t onto the disc of
        radius x_n.
        """
        n = maximum(x[0] - w[0], 0.0)
        a1, a2 = x[1] - w[1], x[2] - w[2]
        f = _shortened(a1, a2, maximum(x[0], 0.0))
        d = (x[0] - n, x[1] - f * a1, x[2] - f * a2)
        return d[0] * d[0] + d[1] * d[1] + d[2] * d[2]


Set = Line | Cone


def _shortened(x: Real, y: Real, length: Real) -> Real:
    """The factor that brings (x, y) into the disc of this radius."""
    square = x * x + y * y
    out = square > length * length
    return select(out, length * reciprocal(sqrt(select(out, square, 1.0))), 1.0)
