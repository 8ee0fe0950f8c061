"""The velocities at the end of a step, with all that is one-sided.

    v⁺ = v_free + M⁻¹ Jᵀ x,    w = J v⁺ = Λ x + g,    Λ = J M⁻¹ Jᵀ = Y D⁻¹ Yᵀ,   g = J v_free

with Λ the admittance of the rows (`constraints.multipliers`), x and w in the sets of the rows
(`constraints.sets`). Loops are equalities, eliminated before anything iterates: their multipliers
answer with −Λ_ee⁺ Λ_eo x, and Λ of the one-sided rows loses Λ_oe Λ_ee⁺ Λ_eo.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.constraints.admittance import propagate
from mozzi.algorithms.constraints.one_sided.interior_point import interior_point
from mozzi.algorithms.constraints.one_sided.problem import (
    Best,
    Descent,
    Problem,
    Solution,
    newton,
)
from mozzi.algorithms.constraints.one_sided.sets import Cone, Line
from mozzi.algorithms.constraints.one_sided.smooth import smoothed, smoothed_from
from mozzi.algorithms.constraints.rows.relative_motion import Moving
from mozzi.algorithms.constraints.rows.rows import closures
from mozzi.algorithms.contact.gaps import contact_points
from mozzi.algorithms.contact.parts import APART, Part
from mozzi.algorithms.contact.response import jacobian, moved_by, problem_of
from mozzi.algorithms.contact.rows import (
    NO_LAWS,
    JointLaws,
    OneSided,
    joint_row_count,
    one_sided,
    velocities,
)
from mozzi.algorithms.recursion.articulated import articulated, articulated_containers
from mozzi.algorithms.recursion.containers import BlockArray, Local, joint_vector, per_body
from mozzi.algorithms.recursion.held import held_by
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.rolled_or_not import ALWAYS_UNROLLED
from mozzi.algorithms.recursion.views import JointVector
from mozzi.lie import SE3, Twist, Vec3
from mozzi.lie.vec import is_zero, number
from mozzi.model import Model
from mozzi.program.counted_loops import repeat
from mozzi.program.scalar import Real, divide, maximum, minimum, select, sqrt
from mozzi.types import Traced

__all__ = ["Solver", "impact", "row_count", "row_joint_forces", "settled", "stepped_velocities"]

FAR = 100.0
"""Gaps that would take this many times the speeds of the scene to close within the step are taken
as that far: they do not close.
"""

SolverName = Literal["fast", "robust", "given"]


@dataclass(frozen=True)
class Solver:
    """How the one-sided problem is solved: steps of Newton's method from the warm start; "robust":
    where that misses a law also from nothing, and from an interior point of so many steps. "given":
    the start is the solution, and one step of Newton's method says how it changes. smoothing: κ of
    the softened laws (`smooth`), or 0.
    """

    name: SolverName = "robust"
    steps: int = 10
    interior: int = 15
    smoothing: float = 0.0

    def solve(self, problem: Problem, start: Sequence[Real]) -> Solution:
        """The best that this many iterations give, from a start."""
        if self.smoothing:
            if self.name == "given":
                return smoothed_from(problem, self.smoothing, start)
            return smoothed(problem, self.smoothing, self.interior)
        to, size = problem.rounding, len(problem)
        if self.name == "given":
            laws = problem.laws(start, problem.velocities(start))
            if problem.by_rows:
                return _at(problem, problem.solve(laws, 1e-10, start))
            near = problem.solve(laws, 0.1 * to.warm, start)
            return _at(problem, problem.solve(laws, 0.1 * to.warm, near))  # takes the term back
        exact, done = to.exact * problem.square, to.done * problem.square
        first = 1e-10 if problem.by_rows else 1e-1
        if self.name == "fast":
            warm = Descent(self.steps, first, to.warm)
            return _at(problem, newton(problem, start, warm, Best(exact, start, math.inf)).x)

        def path(_: list[Real]) -> list[Real]:
            return [*interior_point(problem, self.interior), 0.0]

        def one(state: list[Real]) -> list[Real]:
            """From the warm start, from nothing, and twice from the end of the central path."""
            x, inside, (error, turn, _) = state[:size], state[size:-3], state[-3:]
            now = [*inside, select(turn > 1.5, select(turn < 2.5, 1.0, 0.0), 0.0)]
            inside = repeat(1, now, path, "path", while_last=True)[:-1]
            begin, eps, last = list(start), first, to.warm
            for k, e, l in ((1, 1e-1, 1e-8), (2, 1e-3, 1e-7), (3, 1e-1, 1e-5)):
                other = [0.0] * size if k == 1 else inside
                then = turn > k - 0.5
                begin = [select(then, a, b) for a, b in zip(other, begin, strict=True)]
                eps, last = select(then, e, eps), select(then, max(l, to.last), last)
            late = select(error > done, done, math.inf)  # what is solved stays as it is
            best = Best(select(turn < 0.5, exact, late), x, error)
            best = newton(problem, begin, Descent(self.steps, eps, last), best)
            return [*best.x, *inside, best.error, turn + 1.0, best.missed(done)]

        state = [*start, *[0.0] * size, math.inf, 0.0, 1.0]
        return _at(problem, repeat(4, state, one, "start", while_last=True)[:size])


def _at(problem: Problem, x: list[Real]) -> Solution:
    w = problem.velocities(x)
    return Solution(x, w, problem.laws(x, w))


ROBUST, FAST = Solver(), Solver("fast")


def row_count(model: Model, joints: JointLaws) -> int:
    """How many rows there are: of contacts, then one for every limited or rubbing coordinate."""
    n = 0
    for contact, part in zip(model.contacts, contact_points(model).values(), strict=True):
        n += (part.stop - part.start) * (1 if is_zero(contact.friction[0]) else 3)
    return n + joint_row_count(model, joints)


@algorithm(regroup="moments", threshold=ALWAYS_UNROLLED, loops="honour")
def stepped_velocities(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, h: Real = 0.0,
    impulses: Sequence[Real] | Traced | None = None,
    joints: JointLaws = NO_LAWS, solver: Solver = ROBUST, part: Part | None = None,
    bends: Sequence[Real] | Traced | None = None,
) -> tuple[BlockArray, Traced, Traced, Traced, Traced]:  # fmt: skip
    """(v⁺, x, residual, taken, impulses): velocities at the end of a step h whose free acceleration
    is a; what the rows exert; the largest velocity by which a law is missed; the energy that normal
    impulses and friction took; the impulses of the contacts on bodies a in world axes, 3 each.
    part: of the step, where it is cut at impacts; its length is found. bends: how velocities of
    contact rows change along the motion, then.
    """
    new, x, residual, work, on_a = velocities_after(
        model, q, v, a, h, impulses, joints, solver, None, bends, part
    )
    return new, as_array(x), as_array([residual]), as_array(work), as_array(on_a)


@algorithm(threshold=ALWAYS_UNROLLED)
def row_joint_forces(
    model: Mechanism, q: JointVector, on_a: Traced, in_joints: Traced, joints: JointLaws = NO_LAWS
) -> BlockArray:
    """Jᵀ x of what the rows of a step exerted: contacts on bodies a in world axes, 3 each, and the
    rows of joints behind them.
    """
    T, C, V = per_body(model, "T C V", Local[RelativePose], SE3, Twist)
    rest = joint_vector(model, "rest")
    for i in model.outward():
        T[i] = i.pose(q[i])
        C[i] = C[i.parent] @ T[i]
        V[i], rest[i] = Twist.zero(), [0.0] * i.joint.nv
    blocks = one_sided(model, q, rest, rest, C, V, V, 1.0, joints)
    points = [b for b in blocks if b.axes]
    x: list[Real] = []
    for k, block in enumerate(points):
        F = Vec3(*on_a[3 * k : 3 * k + 3])
        sizes = [axis.dot(axis) for axis in block.axes]  # friction may be a parameter, and zero
        x += [axis.dot(F) * divide(1.0, select(s > 0.0, s, 1.0), nonzero=True)
              for axis, s in zip(block.axes, sizes, strict=True)]  # fmt: skip
    x += list(in_joints)
    J = jacobian(model, blocks, Moving(q, T))
    tau = joint_vector(model, "tau")
    for i in map(model.at, range(model.nb)):
        own = range(i.data.v, i.data.v + i.joint.nv)
        tau[i] = [sum((row[n] * f for row, f in zip(J, x, strict=True)), 0.0) for n in own]
    return tau


@algorithm(regroup="moments", threshold=ALWAYS_UNROLLED, loops="honour", tells_open="q")
def impact(model: Mechanism, q: JointVector, v: JointVector) -> BlockArray:
    """The velocities after the impacts of what touches: v⁺ = v + M⁻¹ Jᵀ x.

    Contacts whose gap is below a nanometre touch. Newton's law, w_n⁺ ≥ −e w_n⁻ where they come
    together, with Signorini's and Coulomb's for the impulses; loops stay closed.  Moreau, 1988.

    Returns:
        (B, nv): velocities.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_ground()
        >>> mz.impact(ball, ball.neutral(), np.ones(6)).shape
        (6,)
    """
    return velocities_after(model, q, v, None, None, None, NO_LAWS, ROBUST)[0]


@algorithm(regroup="moments", threshold=ALWAYS_UNROLLED, loops="honour")
def settled(
    model: Mechanism, q: JointVector, v: JointVector, touching: Traced, drift: Traced
) -> tuple[BlockArray, Traced, Traced]:
    """(v⁺, x, residual) after the impacts of the points that touch (k): marked by 1, or by 2 where
    nothing comes back. drift: added to the velocities of the rows. To rounding: what is found is
    solved again by rows, where inertias that differ much cost fewer digits.
    """
    found = velocities_after(
        model, q, v, None, None, None, NO_LAWS, ROBUST, list(touching), list(drift), again=FAST
    )
    return found[0], as_array(found[1]), as_array([found[2]])


def as_array(values: Sequence[Real]) -> Traced:
    """An array of scalars."""
    return np.array([*values, None], dtype=object)[:-1]


def velocities_after(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    a: JointVector | None,
    h: Real | None,
    impulses: Sequence[Real] | Traced | None,
    joints: JointLaws,
    solver: Solver,
    touching: Sequence[Real] | None = None,
    drift: Sequence[Real] | Traced | None = None,
    part: Part | None = None,
    again: Solver | None = None,
) -> tuple[BlockArray, list[Real], Real, list[Real], list[Real]]:
    """Of a step h with the free acceleration a, or of an impact (both None): new velocities, what
    the rows exert, the residual, the energy taken and the impulses of contacts.

    touching: which points take part in an impact, where the gaps do not say it; drift: added to the
    velocities of the rows, or, in a part of a step that is cut at impacts, their change in time.
    again: what solves the problem by rows, from what the solver found by velocities.
    """
    model = held_by(model, ())
    T, C, V, F = per_body(model, "T C V F", Local[RelativePose], SE3, Twist, Twist)
    P, U, D = articulated_containers(model)
    free = joint_vector(model, "free")
    for i in model.outward():
        S = i.joint.screws(q[i])
        T[i] = i.pose(q[i])
        C[i] = C[i.parent] @ T[i]
        free[i] = v[i]
        if a is not None and h is not None:
            turning = i.joint.turning_rates(v[i])
            free[i] = [x + h * (y + c) for x, y, c in zip(v[i], a[i], turning, strict=True)]
        V[i] = T[i].pull(V[i.parent]) + S @ v[i]
        F[i] = T[i].pull(F[i.parent]) + S @ free[i]
    for _ in articulated(model, q, T, P, U, D):
        pass
    bends = None if part is None or drift is None else list(drift)
    blocks = one_sided(model, q, v, free, C, V, F, h, joints, touching, part, bends)
    move = Moving(q, T)
    ties = closures(model, move) if model.model.closures else ()
    loops = [propagate(model, x, move, U, D) for x in ties]
    g = [x for b in blocks for x in velocities(model, b.rows, F, free)]
    if drift is not None and part is None:
        g = [x + y for x, y in zip(g, drift, strict=True)]
    before = [x for b in blocks for x in velocities(model, b.rows, V, v)]
    fell: list[Real] = []
    if part is not None:
        g = [part.reached(x, y) for x, y in zip(before, g, strict=True)]
        fell = [(x - y) * (1.0 - part.first) for x, y in zip(before, g, strict=True)]
        for k, b in enumerate(bends or ()):  # the laws hold at the end of the part
            g[k], fell[k] = g[k] + b * part.until_end, fell[k] - b * part.until_end
        for i in model.outward():
            free[i] = [part.reached(x, y) for x, y in zip(v[i], free[i], strict=True)]
    g_shifted = shifted(blocks, g, FAR if solver.smoothing == 0.0 else math.inf)
    problem, parts, answer = problem_of(model, q, C, blocks, loops, move, g_shifted, U, D)
    if part is not None and impulses is not None and solver.name != "given":
        impulses = [x * part.share for x in impulses]  # a start, of forces that are held
    x, w, residual, held = _solved(blocks, problem, impulses, solver)
    if again is not None and not problem.by_rows:
        problem, parts, answer = problem_of(
            model, q, C, blocks, loops, move, g_shifted, U, D, by_rows=True
        )
        x, w, residual, held = _solved(blocks, problem, x, again)
    if part is not None:  # after the impact: what the free motion adds comes later
        w = [a + b for a, b in zip(w, fell, strict=True)]
    out = joint_vector(model, "v_new")
    for i, d in moved_by(model, q, T, U, D, parts, answer(x)):
        new = [f + e for f, e in zip(free[i], d, strict=True)]
        start = i.data.v
        for n in range(len(new)):
            if start + n in held:
                is_held, stop = held[start + n]
                new[n] = select(is_held > 0.5, stop, new[n])
        out[i] = new
    return out, x, residual, _taken(blocks, x, w, before), _world(blocks, x)


def shifted(blocks: Sequence[OneSided], g: Sequence[Real], far: float = FAR) -> list[Real]:
    """g as the sets measure it; gaps that are far are no farther than need be."""
    out, n = list(g), 0
    speed: Real = 1e-12
    for block in blocks:  # what overlaps is pushed, what bounces comes back
        most: Real = 0.0
        for x in g[n : n + len(block.rows)]:
            most = maximum(most, maximum(x, -x))
        if number(block.shift) is None:  # what does not take part says nothing
            most = select(block.shift > 0.5 * APART, most, 0.0)
        speed, n = maximum(speed, most), n + len(block.rows)
        stops = (block.set.lo, -block.set.hi) if isinstance(block.set, Line) else ()
        for x in (block.shift, *stops):
            speed = speed if number(x) is not None else maximum(speed, x)
    n = 0
    for block in blocks:
        out[n] = out[n] - block.shift
        if block.axes and far < math.inf:
            out[n] = minimum(out[n], far * speed + maximum(block.shift, 0.0))
        n += len(block.rows)
    return out


def _solved(
    blocks: Sequence[OneSided],
    problem: Problem,
    start: Sequence[Real] | Traced | None,
    solver: Solver,
) -> tuple[list[Real], list[Real], Real, dict[int, tuple[Real, Real]]]:
    """x, w, the residual, and the velocities that are given exactly: coordinate → (whether, it)."""
    if not blocks:
        return [], [], 0.0, {}
    scale, unit = problem.scale, problem.unit
    warm = [0.0] * len(problem) if start is None else list(start)
    found = solver.solve(problem, [x * u for x, u in zip(warm, unit, strict=True)])
    most: Real = 0.0
    held: dict[int, tuple[Real, Real]] = {}
    x = [a * b for a, b in zip(found.x, scale, strict=True)]
    w = [a * u for a, u in zip(found.w, unit, strict=True)]
    parts = zip(blocks, problem.sets, problem.blocks, found.laws, strict=True)
    for block, kind, rows, law in parts:
        a, k = unit[rows[0]], rows[0]
        most = maximum(most, law.error * (a * a))
        if block.coordinate is not None and isinstance(kind, Line) and not solver.smoothing:
            is_held, stop, _ = kind.branch(found.w[k] - found.x[k])
            held[block.coordinate] = (is_held, stop * a)
        w[k] = w[k] + block.shift - block.compliance * x[k]
    return x, w, sqrt(most), held


def _taken(
    blocks: Sequence[OneSided], x: Sequence[Real], w: Sequence[Real], before: Sequence[Real]
) -> list[Real]:
    """−½ xᵀ (w⁺ + w⁻): the energy that normal impulses took, and that of friction."""
    normal: Real = 0.0
    friction: Real = 0.0
    n = 0
    for block in blocks:
        work = [-0.5 * x[k] * (w[k] + before[k]) for k in range(n, n + len(block.rows))]
        if isinstance(block.set, Cone):
            normal, friction = normal + work[0], friction + work[1] + work[2]
        elif block.set.rubs:
            friction = friction + work[0]
        else:
            normal = normal + work[0]
        n += len(block.rows)
    return [normal, friction]


def _world(blocks: Sequence[OneSided], x: Sequence[Real]) -> list[Real]:
    """The impulses of contacts on their bodies a, in world axes."""
    out: list[Real] = []
    n = 0
    for block in blocks:
        if block.axes:
            total = Vec3.zero()
            for k, axis in enumerate(block.axes):
                total = total + axis * x[n + k]
            out += total
        n += len(block.rows)
    return out
