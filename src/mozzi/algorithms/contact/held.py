"""Accelerations while contacts keep their modes: open, sticking, or sliding.

Between two events the modes are known, and contact is linear: a closed point has ẇ_n = 0, a
sticking one ẇ_t = 0 too, a sliding one the force −x_n u along its slip u. So motions between events
are smooth, and methods of any order integrate them.

    ẇ = J v̇ + J̇ v = Λ x + J a + J̇ v,        v̇ = a + M⁻¹ Jᵀ x

Rounding is taken back by −2 α w − α² gap: what should rest in its contact stays there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.constraints.admittance import propagate
from mozzi.algorithms.constraints.one_sided.sets import Cone, Law, Line, reciprocal
from mozzi.algorithms.constraints.rows.relative_motion import Moving
from mozzi.algorithms.constraints.rows.rows import closures
from mozzi.algorithms.contact.gaps import poses, touches
from mozzi.algorithms.contact.response import moved_by, problem_of
from mozzi.algorithms.contact.rows import SLOW, OneSided, contact_rows, velocities
from mozzi.algorithms.kinematics.coasting import turning
from mozzi.algorithms.kinematics.configuration import rates
from mozzi.algorithms.recursion.articulated import articulated, articulated_containers
from mozzi.algorithms.recursion.containers import BlockArray, Local, joint_vector, per_body
from mozzi.algorithms.recursion.held import held_by
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.rolled_or_not import ALWAYS_UNROLLED
from mozzi.algorithms.recursion.views import JointVector
from mozzi.lie import SE3, Twist, Vec3
from mozzi.lie.vec import is_zero
from mozzi.model import Model
from mozzi.program.differentiate import forward
from mozzi.program.scalar import Real, maximum, select, sqrt
from mozzi.types import Traced

__all__ = ["contact_drift", "contact_velocities", "held_accelerations"]

RATE = 10.0
"""α (1/s): how fast rounding is taken back."""


@algorithm(threshold=ALWAYS_UNROLLED)
def contact_velocities(model: Mechanism, q: JointVector, v: JointVector) -> Traced:
    """J v of all contact rows: (n, t₁, t₂) of each point, t scaled by friction; n alone without."""
    C = poses(model, q)
    V = per_body(model, "V", Twist)
    for i in model.outward():
        V[i] = i.pose(q[i]).pull(V[i.parent]) + i.joint.screws(q[i]) @ v[i]
    out: list[Real] = []
    for contact, x in touches(model, C):
        out += velocities(model, contact_rows(model, contact, x, C)[0], V)
    return np.array([*out, None], dtype=object)[:-1]


def contact_drift(model: Model, q: Traced, v: Traced, coasting: bool = False) -> Traced:
    """J̇ v of all contact rows, while tracing: how J v changes along the motion with v held, or
    with what moves on freely going straight (`coasting`).
    """
    at = np.concatenate([q, v])  # both independent: nothing behind them is looked at
    change = -turning(model, v) if coasting else np.full(len(v), 0.0, dtype=object)
    along = np.concatenate([rates(model, q, v), change])
    return forward(contact_velocities(model, q, v), at, along)


@algorithm(regroup="moments", threshold=ALWAYS_UNROLLED, loops="honour")
def held_accelerations(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, drift: Traced, touch: Traced
) -> tuple[BlockArray, Traced, Traced, Traced, Traced]:
    """(v̇, x, w, gaps, forces) with the modes (k, 3) of the points: mode (0 open, 1 sticking,
    2 sliding) and the direction in which it slid last; the last: on bodies a, in the world, 3 each.
    """
    model = held_by(model, ())
    T, C, V, A = per_body(model, "T C V A", Local[RelativePose], SE3, Twist, Twist)
    P, U, D = articulated_containers(model)
    for i in model.outward():
        S = i.joint.screws(q[i])
        T[i] = i.pose(q[i])
        C[i] = C[i.parent] @ T[i]
        V[i] = T[i].pull(V[i.parent]) + S @ v[i]
        A[i] = T[i].pull(A[i.parent]) + S @ a[i]  # J a: what changes with J is the drift
    for _ in articulated(model, q, T, P, U, D):
        pass
    blocks: list[OneSided] = []
    laws: list[Law] = []
    g: list[Real] = []
    w: list[Real] = []
    gaps: list[Real] = []
    for k, (contact, x) in enumerate(touches(model, C)):
        rows, axes = contact_rows(model, contact, x, C)
        kind = Line(0.0, np.inf, 0.0) if is_zero(contact.friction[0]) else Cone()
        speed = velocities(model, rows, V)
        rate = velocities(model, rows, A)
        pull = [2.0 * RATE * s for s in speed]
        pull[0] = pull[0] + RATE * RATE * x.gap
        g += [r + drift[len(g) + n] + p for n, (r, p) in enumerate(zip(rate, pull, strict=True))]
        blocks.append(OneSided(rows, kind, axes=axes))
        laws.append(mode_law(touch[3 * k], [touch[3 * k + 1], touch[3 * k + 2]], speed))
        w += speed
        gaps.append(x.gap)
    move = Moving(q, T)
    ties = closures(model, move) if model.model.closures else ()
    loops = [propagate(model, t, move, U, D) for t in ties]
    problem, parts, answer = problem_of(
        model, q, C, blocks, loops, move, g, U, D, by_rows=True
    )
    depend = len(g) > min(model.nv, 6 * len({i for b in blocks for i in b.rows.wrenches}))
    eps, times = (1e-8, 6) if depend else (1e-12, 2)  # 1/ε multiplies rounding where rows depend
    scaled = problem.solve(laws, eps, [0.0] * len(g), times)
    x = [s * e for s, e in zip(scaled, problem.scale, strict=True)]
    out = joint_vector(model, "a_new")
    for i, d in moved_by(model, q, T, U, D, parts, answer(x)):
        out[i] = [f + e for f, e in zip(a[i], d, strict=True)]
    world: list[Real] = []
    at = 0
    for block in blocks:
        total = Vec3.zero()
        for axis in block.axes:
            total = total + axis * x[at]
            at += 1
        world += total
    one, two, three, four = (np.array([*y, None], dtype=object)[:-1] for y in (x, w, gaps, world))
    return out, one, two, three, four


def mode_law(mode: Real, slip: Sequence[Real], w: Sequence[Real]) -> Law:
    """The law of a block in its mode. A sliding point pushes against its slip; where that has just
    passed zero, still as before, so that motions are smooth until it is found. A slip that is
    `SLOW` has the direction that it was found with: it would turn as fast as it is small.
    """
    closed = select(mode > 0.5, 1.0, 0.0)
    if len(w) == 1:
        return Law([[closed]], [[1.0 - closed]], [0.0])
    slide = select(mode > 1.5, 1.0, 0.0)
    stick = closed - slide
    back = maximum(-(w[1] * slip[0] + w[2] * slip[1]), 0.0)
    square = w[1] * w[1] + w[2] * w[2]
    more = 2.0 * back + SLOW**3 * reciprocal(square + SLOW**2)
    u = [w[1] + more * slip[0], w[2] + more * slip[1]]
    inverse = reciprocal(sqrt(u[0] * u[0] + u[1] * u[1] + 1e-60))
    Q: list[list[Real]] = [[closed, 0.0, 0.0]]
    S: list[list[Real]] = [[1.0 - closed, 0.0, 0.0]]
    for k in range(2):
        one = [1.0 if j == k else 0.0 for j in range(2)]
        Q.append([0.0, *(stick * e for e in one)])
        S.append([slide * u[k] * inverse, *((1.0 - stick) * e for e in one)])
    return Law(Q, S, [0.0, 0.0, 0.0])
