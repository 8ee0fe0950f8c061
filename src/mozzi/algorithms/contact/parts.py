"""Steps that are cut at an impact: two parts, the first of which ends where a gap closes.

A step of Moreau and Jean's is of first order: an impact happens at its start, and q′ = q ⊕ h v′. A
step that is cut is of second order, also through an impact, in all but forces of laws and dampers
that depend on velocities: these are of the start of the step, and as stable as in a step that is
not cut:

    first     q_m = q ⊕ t/2 v,  v₁ from the forces and rows at q_m over t,  q₁ = q_m ⊕ t/2 v₁
              (Moreau's midpoint), t the whole step h, or the time after which a gap closes;
    second    the rest h − t from q₁, where the impact is, as an uncut step.

The laws of the first part hold where it ends, J(q₁) v₁ = J(q_m) v₁ + t/2 b with b = dJ/dt v: what
turns about a foot leaves along the tangent of its circle, and an impact takes its share of that.
The time is that of gap + w t + ½ (ẇ + b) t² = 0 with the free acceleration ẇ. What comes slower
than the free motion would make it within a step is no impact: it settles, looking a step ahead.
"""

from __future__ import annotations

from dataclasses import dataclass

from mozzi.program.scalar import Real, divide, maximum, minimum, select, sqrt
from mozzi.program.settings import settings

__all__ = ["APART", "SLOW", "Part"]

APART = -1e9
"""The velocity of what does not touch, measured from its set, in an impact: it never closes."""

SLOW = 1e-6
"""The speed (m/s) below which nothing comes back from an impact: bouncing ends."""

SHORTEST = {"float64": 1e-9, "float32": 1e-4}
"""Of a step: a part is not shorter."""

WHOLE = {"float64": 1e-6, "float32": 1e-4}
"""Of a step: what meets so shortly before its end does so in the next one."""

ROUNDED = {"float64": 1e-14, "float32": 1e-6}
"""How well gaps (m) are known, in parts of steps that are very short."""


@dataclass
class Part:
    """A part of a step h of which so much is ``left``; ``first``: 1 or 0. Rows are measured
    ``ahead`` of its start. ``length``: of the part, once its rows are known (`cut`).
    """

    h: Real
    left: Real
    first: Real
    length: Real = 0.0

    @property
    def ahead(self) -> Real:
        """Half a step, in the first part."""
        return 0.5 * self.h * self.first

    @property
    def middle(self) -> Real:
        """When the impulses act."""
        return 0.5 * self.length * self.first

    @property
    def until_end(self) -> Real:
        """From where rows are measured to the end of the first part."""
        return (self.length - self.ahead) * self.first

    def fast(self, before: Real, after: Real, bend: Real = 0.0) -> Real:
        """1 where a gap closes faster than the free motion would make it within a step, else 0."""
        begin, turned = before - bend * self.ahead, bend * self.h * self.first
        return select(begin + maximum(before - after - turned, SLOW) < 0.0, 1.0, 0.0)

    def closing(self, gap: Real, before: Real, after: Real, bend: Real = 0.0) -> Real:
        """When an impact is, or all that is left; after: with the free motion over h."""
        start = maximum(gap - (before - 0.5 * bend * self.ahead) * self.ahead, 0.0)
        begin = before - bend * self.ahead
        rate = divide(after - before, self.h, nonzero=True) + bend
        root = sqrt(maximum(begin * begin - 2.0 * rate * start, 0.0) + 1e-30)
        time = divide(2.0 * start, maximum(root - begin, 1e-15), nonzero=True)
        return select(self.fast(before, after, bend) > 0.5, time, self.left)

    def at_once(self, gap: Real, before: Real, after: Real, bend: Real = 0.0) -> Real:
        """1 where an impact is at the start: sooner than the shortest part ends, else 0."""
        shortest = SHORTEST[settings().dtype] * self.h
        return select(self.closing(gap, before, after, bend) < shortest, 1.0, 0.0)

    def cut(self, times: list[Real]) -> None:
        """The length, of the times of impacts."""
        first = self.left
        for time in times:
            first = minimum(first, time)
        kind = settings().dtype
        whole = select(first < (1.0 - WHOLE[kind]) * self.left, self.first, 0.0) < 0.5
        self.length = select(whole, self.left, maximum(first, SHORTEST[kind] * self.h))

    @property
    def play(self) -> Real:
        """The velocity that a gap is not known better than by."""
        return divide(ROUNDED[settings().dtype], self.length, nonzero=True)

    def gap(self, gap: Real, before: Real, bend: Real = 0.0) -> Real:
        """Where the impulses act, of the gap where it was measured; so that with the velocity at
        the end of the part it is the gap there.
        """
        back = self.middle - self.ahead
        return gap + before * back + 0.5 * bend * (back * back - self.middle * self.middle)

    def reached(self, before: Real, after: Real) -> Real:
        """The velocity at the end of the part, of what moves freely."""
        return before + (after - before) * self.share

    @property
    def share(self) -> Real:
        """Of the whole step."""
        return divide(self.length, self.h, nonzero=True)

    def horizon(self, gap: Real, before: Real, after: Real, bend: Real = 0.0) -> Real:
        """Within which a gap may not close: where the part ends, or, for what settles or meets in
        the second part, the middle of the next step.
        """
        rest = self.left + 0.5 * self.h * (1.0 - self.first)
        meets = select(gap + before * self.left < 0.0, rest, self.left)
        quick = select(self.first > 0.5, self.middle, meets)
        return select(self.fast(before, after, bend) > 0.5, quick, rest)
