"""Softened laws: points of the central path in place of its end.

Where an impulse or a velocity would vanish, their product is κ > 0 (J), so that impulses and their
derivatives are smooth functions of the state, also where nothing touches:

    stop      x (w − lo) = κ: a contact at a distance d pushes with the force κ/d;
    friction  p (b + x) = κ,  m (b − x) = κ,  w = p − m: x = −b² w/(κ + √(κ² + b² w²));
    contact   x ∘ u = κ (1, 0, 0), u = w + (√(‖w_t‖² + σ²) − σ, 0, 0), σ² = κ/100: Coulomb's law
              with De Saxcé's shift, as `interior_point` has it.

With κ → 0 they are the laws of `sets`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mozzi.algorithms.constraints.one_sided.interior_point import SMOOTH, interior_point, jordan
from mozzi.algorithms.constraints.one_sided.problem import Best, Problem, Solution, dot, worst
from mozzi.algorithms.constraints.one_sided.sets import Cone, Law, Line, Set, reciprocal
from mozzi.program.scalar import Real, sqrt

__all__ = ["smooth_laws", "smoothed", "smoothed_from"]

POLISH = 3
"""Steps of Newton's method from the end of the interior point: to rounding."""


def smoothed(problem: Problem, kappa: float, steps: int) -> Solution:
    """The solution of the softened laws, from no start."""
    x = interior_point(problem, 2 * steps, kappa)
    best = Best(0.0, x, worst(smooth_laws(problem, x, problem.velocities(x), kappa)))
    for _ in range(POLISH):
        new = smoothed_from(problem, kappa, best.x)
        best = best.or_better(new.x, worst(new.laws))
    w = problem.velocities(best.x)
    return Solution(best.x, w, smooth_laws(problem, best.x, w, kappa))


def smoothed_from(problem: Problem, kappa: float, x: Sequence[Real]) -> Solution:
    """One step of Newton's method from x: at the solution it has the derivative of the latter."""
    laws = smooth_laws(problem, x, problem.velocities(x), kappa)
    new = problem.solve(laws, 0.0, x)
    w = problem.velocities(new)
    return Solution(new, w, smooth_laws(problem, new, w, kappa))


def smooth_laws(
    problem: Problem, x: Sequence[Real], w: Sequence[Real], kappa: float
) -> list[Law]:
    """The laws of all blocks, linearised at (x, w)."""
    return [_law(kind, a, b, kappa) for kind, a, b in problem.by_block(x, w)]


def _law(kind: Set, x: Sequence[Real], w: Sequence[Real], kappa: float) -> Law:
    return _cone(kind, x, w, kappa) if isinstance(kind, Cone) else _line(kind, x[0], w[0], kappa)


def _line(kind: Line, x: Real, w: Real, kappa: float) -> Law:
    """x = X(w), which falls."""
    force: Real = 0.0
    falls: Real = 0.0
    for there, sign, bound in ((kind.below, 1.0, kind.lo), (kind.above, -1.0, kind.hi)):
        if there:
            inverse = reciprocal(sign * (w - bound))
            force = force + sign * kappa * inverse
            falls = falls + kappa * inverse * inverse
    if kind.rubs:
        root = sqrt(kappa * kappa + kind.b * kind.b * w * w)
        inverse = kind.b * kind.b * reciprocal(kappa + root)
        force = force - w * inverse
        falls = falls + kappa * inverse * reciprocal(root)
    missed = (x - force) * reciprocal(1.0 + falls)
    return Law([[falls]], [[1.0]], [force + falls * w], missed * missed)


def _cone(kind: Cone, x: Sequence[Real], w: Sequence[Real], kappa: float) -> Law:
    """x ∘ u = κ e."""
    root = sqrt(w[1] * w[1] + w[2] * w[2] + SMOOTH * kappa)
    inverse = reciprocal(root)
    g1, g2 = w[1] * inverse, w[2] * inverse
    u = [w[0] + root - math.sqrt(SMOOTH * kappa), w[1], w[2]]
    Q: list[list[Real]] = [
        [x[0], x[0] * g1 + x[1], x[0] * g2 + x[2]],
        [x[1], x[1] * g1 + x[0], x[1] * g2],
        [x[2], x[2] * g1, x[2] * g2 + x[0]],
    ]  # L(x) ∂u/∂w
    S: list[list[Real]] = [[u[0], u[1], u[2]], [u[1], u[0], 0.0], [u[2], 0.0, u[0]]]  # L(u)
    F = jordan(x, u)
    F[0] = F[0] - kappa
    c = [dot(q, w) + dot(s, x) - f for q, s, f in zip(Q, S, F, strict=True)]
    size = reciprocal(x[0] + u[0])
    missed = [f * size for f in F]
    return Law(Q, S, c, dot(missed, missed))
