"""Coordinates of a product of joints, from its pose: what no closed form gives for any factors.

Steps of Gauss and Newton, damped where the pose is far, from the neutral coordinates. Where they
end in a local minimum they begin again elsewhere, until the pose is met: a loop of the program,
which each sample leaves when it is done. Behind it stand steps in straight-line code. They change
nothing, and are all that derivatives see: Newton's method doubles the orders that are right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mozzi.lie import SE3, Screws, Twist, Wrench, solve_spd
from mozzi.lie.vec import number
from mozzi.model import Composite, Cylindrical, Joint, Screw
from mozzi.program.counted_loops import repeat
from mozzi.program.scalar import Real, atan2, cos, divide, minimum, real, select, sin, sqrt

__all__ = ["fit", "refined"]

LAST = 3  # steps that derivatives see: right to order 7
SETTLE = 10  # steps to the nearest pose, where the loop is open
STILL = 1e-24  # square of a step that is none
BUDGET = 512  # steps from all starts together: only open loops take so many
STEPS = 16  # from one start
DAMPING = 0.02  # of the square of the error,
FAR = 10.0  # or of this
MET = 1e-20  # square of an error that is none, in radians or lengths of the joint
WORST = 1e30  # before any
TINY = 1e-30  # square of a length that is none
NEAR = 1e-6  # square of an error of loops that are a little open
# steps to see whether such a pose is met better elsewhere, a + b √error. With five freedoms
# branches of a joint meet on the way of a motion, with fewer beside it.
FEW, MORE, MOST = 16.0, 6e3, 3e4
STUCK = 1e-3  # square of a step, over that of the error, at a local minimum


def fit(joint: Joint, G: SE3) -> Sequence[Real]:
    """The coordinates of the pose of a joint that is nearest to G, in radians and metres."""

    def step(q: Sequence[Real]) -> tuple[Sequence[Real], Sequence[Real]]:
        dv = nearest(joint.screws(q), _error(joint.pose(q), G))
        return joint.integrate(q, dv), dv

    def settle(state: list[Real]) -> list[Real]:
        q, dv = step(state[:-1])
        moved = sum((d * d for d in dv), 0.0)
        old = zip(state[:-1], q, strict=True)
        some = real(state[-1]) > 0.5
        return [*(select(some, b, a) for a, b in old), select(real(moved) > STILL, state[-1], 0.0)]

    q = _Search(joint, G).run(_begin(joint, G))
    q = repeat(SETTLE, [*q, 1.0], settle, "settle", while_last=True, held=True)[:-1]
    for _ in range(LAST):
        q, _ = step(q)
    return q


def nearest(S: Screws[Twist], V: Twist, damping: Real = 0.0, over: Real = 1.0) -> Sequence[Real]:
    """The v for which S v is nearest to V, lengths measured by a size whose inverse square is
    ``over``; shorter where it is damped.
    """
    W = Screws(Wrench(c.ang, c.lin * over) for c in S)
    N = [list(row) for row in W.T @ S]
    for k, row in enumerate(N):
        row[k] = row[k] + (1e-14 + damping)
    return solve_spd(N, [W.T @ V])[0]


def refined(S: Screws[Twist], V: Twist) -> Sequence[Real]:
    """The v for which S v is nearest to V, also where screws nearly depend on one another: what
    damping and squares have cost is found in what is left.
    """
    v = nearest(S, V)
    return [x + dx for x, dx in zip(v, nearest(S, V - S @ v), strict=True)]


def _error(pose: SE3, G: SE3) -> Twist:
    """The rotation vector and displacement from a pose to G, in the frame of the pose."""
    E = pose.inverse() @ G
    return Twist(E.R.general().log(), E.R.unrotate(E.p))


@dataclass
class _State:
    """Where a search is: coordinates, the best ones and the square of their error, where it begins
    next (a number in [0, 1) for each velocity), steps that are left of this start and of all.
    """

    q: list[Real]
    best: list[Real]
    error2: Real
    seeds: list[Real]
    steps: Real
    left: Real

    def flatten(self) -> list[Real]:
        return [*self.q, *self.best, self.error2, *self.seeds, self.steps, self.left]

    @classmethod
    def unflatten(cls, x: Sequence[Real], nq: int) -> _State:
        q, best, error2, seeds = x[:nq], x[nq : 2 * nq], x[2 * nq], x[2 * nq + 1 : -2]
        return cls(list(q), list(best), error2, list(seeds), *x[-2:])


class _Search:
    """The search for coordinates of a joint at G; extra: what else shall vanish, a square."""

    def __init__(self, joint: Joint, G: SE3, extra: Callable[[Sequence[Real]], Real] | None = None):
        self.joint, self.G, self.extra = joint, G, extra
        self.over = _over(joint, G)
        columns = joint.screws(joint.neutral())
        self.turns = [any(number(x) != 0.0 for x in c.ang) for c in columns]
        root = 1.5  # a sequence of low discrepancy: powers of the root of x^(n+1) = x + 1
        for _ in range(60):
            root = (1.0 + root) ** (1.0 / (joint.nv + 1))
        self.strides = [root ** -(k + 1) for k in range(joint.nv)]

    def run(self, begin: Sequence[Real]) -> Sequence[Real]:
        """The best coordinates that were found, beginning with these."""
        nq, q = self.joint.nq, list(begin)
        state = _State(q, q, WORST, list(self.strides), float(STEPS), float(BUDGET))

        def step(state: list[Real]) -> list[Real]:
            return self.step(_State.unflatten(state, nq)).flatten()

        end = repeat(BUDGET, state.flatten(), step, "fit", while_last=True, held=True)
        return _State.unflatten(end, nq).best

    def step(self, x: _State) -> _State:
        """One step, or another start. What is done stays as it is."""
        joint = self.joint
        e, S = _error(joint.pose(x.q), self.G), joint.screws(x.q)
        error2 = e.ang.dot(e.ang) + e.lin.dot(e.lin) * self.over
        dv = nearest(S, e, DAMPING * minimum(error2, FAR), self.over)
        if self.extra is not None:
            error2 = error2 + self.extra(x.q)
        better = select(real(error2) < real(x.error2), x.left, 0.0) > 0.0
        least = select(better, error2, x.error2)
        moved = sum((d * d for d in dv), 0.0)
        still = select(real(moved) < STUCK * real(error2), 1.0, 0.0)
        anew = select(real(error2) > NEAR, select(x.steps > 0.5, still, 1.0), still) > 0.5
        pairs = zip(self.elsewhere(x.seeds), joint.integrate(x.q, dv), strict=True)
        beyond = [s + d for s, d in zip(x.seeds, self.strides, strict=True)]
        left = select(x.left > 0.5, x.left - 1.0, 0.0)
        few = FEW + (MORE if joint.nv < 5 else MOST) * sqrt(sqrt(least))
        left = select(real(least) < NEAR, minimum(left, few), left)
        return _State(
            q=[select(anew, a, b) for a, b in pairs],
            best=[select(better, a, b) for a, b in zip(x.q, x.best, strict=True)],
            error2=least,
            seeds=[
                select(anew, select(s < 1.0, s, s - 1.0), old)
                for s, old in zip(beyond, x.seeds, strict=True)
            ],
            steps=select(anew, float(STEPS), x.steps - 1.0),
            left=select(real(least) < MET, 0.0, left),
        )

    def elsewhere(self, seeds: Sequence[Real]) -> Sequence[Real]:
        """Coordinates with other angles."""
        angles: list[Real] = [
            (s - 0.5) * (2.0 * math.pi) if turns else 0.0
            for s, turns in zip(seeds, self.turns, strict=True)
        ]
        return self.joint.integrate(self.joint.neutral(), angles)


def _over(joint: Joint, G: SE3) -> Real:
    """The inverse square of a length: of the frames between factors, and of what G spans."""
    square = _squares(joint) + G.p.dot(G.p)
    some = real(square) > TINY
    return select(some, divide(1.0, select(some, square, 1.0), nonzero=True), 1.0)


def _squares(joint: Joint) -> Real:
    """The sum of the squares of the lengths between factors."""
    if not isinstance(joint, Composite):
        return 0.0
    between = sum((M.p.dot(M.p) for M in joint.inner), 0.0)
    return sum((_squares(factor) for factor in joint.factors), between)


# -- screws: how often they have turned --


def _begin(joint: Joint, G: SE3) -> Sequence[Real]:
    """Where a search begins: at the neutral coordinates, but for screws. Those are cylinders first,
    whose heights tell how often the screws have turned.
    """
    loose = _loose(joint)
    if loose.nv == joint.nv or loose.nv > 6:
        return joint.neutral()

    def slip2(q: Sequence[Real]) -> Real:
        """The square of the angles by which cylinders are off the screws."""
        return sum((x * x for _, x in _wound(joint, q)), 0.0)

    q = _Search(loose, G, slip2).run(loose.neutral())
    return [x for x, _ in _wound(joint, q)]


def _loose(joint: Joint) -> Joint:
    """A joint with cylinders in place of screws."""
    if isinstance(joint, Composite):
        made = Composite(*map(_loose, joint.factors))
        own = [x for factor in made.factors for x in factor.parameters()]
        return made.with_parameters([*own, *(x for M in joint.inner for x in M.flatten())])
    return joint if _pitch(joint) is None else Cylindrical()


def _wound(joint: Joint, q: Sequence[Real]) -> Iterator[tuple[Real, Real]]:
    """Coordinates of a joint from those of it with cylinders, and how far the angles of these are
    from what their heights say.
    """
    if isinstance(joint, Composite):
        for factor in joint.factors:
            n = _loose(factor).nq
            yield from _wound(factor, q[:n])
            q = q[n:]
    elif (pitch := _pitch(joint)) is not None:
        turned = divide(q[1], pitch, nonzero=True)
        slip = atan2(sin(q[0] - turned), cos(q[0] - turned))
        yield turned + slip, slip
    else:
        yield from ((x, 0.0) for x in q)


def _pitch(joint: Joint) -> Real | None:
    """Of a screw that is no revolute joint."""
    return joint.pitch if isinstance(joint, Screw) and number(joint.pitch) != 0.0 else None
