"""Closures: what closes a tree into loops, as rows of equations.

A row r has a residual φ_r(q), which is zero where the loop is closed, and a row of the Jacobian A:
A v is the rate of the residual (exactly so where the loop is closed), and A a + Ȧ v = 0 for the
accelerations. Rows come from loops (the complement of the screws of the joint that closes them, in
its frame on body b), then from distances, couplings, rolling contacts, rows that users write and
driven joints: see `loop_rows`. Rows without a position part (`position_rows`: no slip, what users
write) have the residual 0: they ask for A v = 0 alone.

A row acts back on the tree as λ_r times wrenches on two bodies, or times joint forces. Both sides
are what `Rows` holds; the recursions of the dynamics need nothing else.  K54, K55; R0.20, R0.21.
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.constraints.rolled_rows import rolled_matrix
from mozzi.algorithms.constraints.rows.driven import drive_rows, guided_rows
from mozzi.algorithms.constraints.rows.joints import frames_of, meet
from mozzi.algorithms.constraints.rows.mimic_couplings import coupling_rows
from mozzi.algorithms.constraints.rows.relative_motion import At, Moving, Pair, Rows, met_rows
from mozzi.algorithms.constraints.rows.rolling import rolling_rows
from mozzi.algorithms.constraints.rows.velocity_rows import user_rows
from mozzi.algorithms.kinematics.motion import Motion
from mozzi.algorithms.recursion.containers import Local, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import JointVector, Place
from mozzi.checked import checked
from mozzi.lie import SE3, Screws, Twist, Vec3, Wrench
from mozzi.model import (
    Closure,
    Coupling,
    Distance,
    Drive,
    Guided,
    Loop,
    Model,
    Rolling,
    VelocityRows,
)
from mozzi.model.as_model import as_model
from mozzi.program.scalar import Real, divide, select, sqrt
from mozzi.types import Traced

__all__ = [
    "closures", "joint_columns", "loop_acceleration", "loop_drift", "loop_jacobian", "loop_of",
    "loop_residual", "loop_rows", "matrix", "pair_of", "position_rows", "still", "tie_rows",
]  # fmt: skip

P = TypeVar("P", bound=Place)

COINCIDE = 1e-30  # m²: points that are one


# -- how many rows, and where --


@checked
def loop_rows(model: Model) -> Mapping[str, slice]:
    """Which rows of residual, Jacobian and multipliers belong to which loop, distance, coupling,
    rolling contact (normal first, then two across it) and velocity rows.

    Cost: none at run time; it looks into the model.

    Args:
        model: the mechanism.

    Returns:
        Slices of the m rows, by the names of loops, distances, couplings, rolling contacts and
        velocity rows.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> [rows.stop - rows.start for rows in mz.loop_rows(bar).values()]
        [5]
    """
    as_model(model, "loop_rows")
    rows: dict[str, slice] = {}
    start = 0
    for part in model.closures:
        rows[part.name] = slice(start, start + part.rows)
        start += part.rows
    return MappingProxyType(rows)


def position_rows(model: Model) -> NDArray[np.bool_]:
    """Which rows (m) have a position part: all but the velocities across rolling contacts, and rows
    that users wrote.
    """
    return np.array([x for part in model.closures for x in part.positions], dtype=bool)


# -- closures, one by one --


def closures(model: Mechanism, move: Moving) -> Iterator[Rows]:
    """The rows of all closures of a model, in order; with biases where velocities are known."""
    start = 0
    for part in model.model.closures:
        rows = _rows(model, part, move)
        if move.offsets is not None:
            rows.open_by = partial(_away, rows.open_by, move.offsets[start : start + len(rows)])
        start += len(rows)
        yield rows


def _rows(model: Mechanism, part: Closure, move: Moving) -> Rows:
    match part:
        case Loop() | Distance():
            return tie_rows(part, pair_of(model, part, move), move.v is not None)
        case Coupling():
            return coupling_rows(model, part, move)
        case Rolling():
            return rolling_rows(model, part, move)
        case VelocityRows():
            return user_rows(model, part, move)
        case Drive():
            return drive_rows(model, part, move)
        case Guided():
            return guided_rows(model, part, move)


def _away(
    open_by: Callable[[bool], Sequence[Real]], offsets: Sequence[Real], small: bool
) -> Sequence[Real]:
    """φ less what it shall be."""
    return [x - o for x, o in zip(open_by(small), offsets, strict=True)]


def pair_of(model: Mechanism, part: Loop | Distance, move: Moving) -> Pair:
    """The two frames that a loop or a distance ties."""
    if isinstance(part, Loop):
        frames = frames_of(part)
    else:
        frames = SE3.translation(*part.point_a), SE3.translation(*part.point_b)
    return Pair(model, (part.body_a, part.body_b), frames, move)


def tie_rows(part: Loop | Distance, pair: Pair, moves: bool) -> Rows:
    """The rows of what ties two frames."""
    return loop_of(part, pair, moves) if isinstance(part, Loop) else distance_of(part, pair, moves)


def loop_of(loop: Loop, pair: Pair, moves: bool) -> Rows:
    """The rows of a loop.

    On what moves the wrenches on both bodies meet at one point, also where A and B are a little
    apart: else they would turn it, and a row that vanishes would not.
    """
    met = meet(loop.joint, pair.G)
    R, pinned = met.rows, met.pinned and not pair.carried
    bias: Sequence[Real] = [0.0] * len(R)
    if moves and len(R):
        drift = pair.drift(pinned, met.turns)
        if not loop.joint.subgroup:
            drift = drift - met.drift(pair.V)
        bias = R.T @ drift
    on = pair.wrenches(R, pinned)
    norms = None if met.exact else [W.ang.dot(W.ang) + W.lin.dot(W.lin) for W in R]

    def open_by(small: bool) -> Sequence[Real]:
        return R.T @ met.error(pair.G, small)

    apart2 = partial(met.apart2, pair.G)
    at = pair.b.index, pair.F_b.p
    return Rows(loop.name, on, {}, open_by, bias, norms, pair.levers, apart2, at)


def distance_of(rod: Distance, pair: Pair, moves: bool) -> Rows:
    """|d| = length: the row is the force along d̂, and its rate turns with d. Points that coincide
    have no direction: along x.
    """
    d = pair.G.R.unrotate(pair.G.p)
    square = d.dot(d)
    apart = square > COINCIDE
    span = sqrt(select(apart, square, 1.0))
    one = d * divide(1.0, span, nonzero=True)
    n = Vec3(*(select(apart, x, e) for x, e in zip(one, (1.0, 0.0, 0.0), strict=True)))
    R = Screws([Wrench(Vec3.zero(), n)])
    bias: Sequence[Real] = [0.0]
    if moves:
        u = pair.V.lin
        along = n.dot(u)
        turn = divide(u.dot(u) - along * along, span, nonzero=True)
        turn = turn - (pair.w_b - pair.w_a).cross(n).dot(u)
        bias = [n.dot(pair.drift(False, True).lin) + turn]
    on, off = pair.wrenches(R, False), select(apart, span, 0.0) - rod.length

    def apart2(size: float) -> Real:
        return off * off * (1.0 / (size * size))

    at = pair.b.index, pair.F_b.p
    return Rows(rod.name, on, {}, lambda _: [off], bias, None, pair.levers, apart2, at)


# -- as arrays --


def still(model: Mechanism, q: JointVector) -> Moving:
    """The tree at q, without velocities."""
    T = per_body(model, "T", Local[RelativePose])
    for i in model.outward():
        T[i] = i.pose(q[i])
    return Moving(q, T)


@algorithm(loops="honour", rolled_paths=True)
def loop_residual(model: Mechanism, q: JointVector) -> Traced:
    """φ(q) (m): how far loops, distances and couplings are from being closed.

    Of a loop: the rotation vector (rad) and displacement (m) to the nearest pose of its joint,
    along the rows, in its frame on body b. Row by row as `loop_rows` tells.

    Returns:
        (B, m): a row for each equation.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q = bar.neutral()  # closed, as the file has it
        >>> np.allclose(mz.loop_residual(bar, q), 0.0)
        True
    """
    return _opening(model, q, small=False)


@algorithm(loops="honour", rolled_paths=True)
def loop_drift(model: Mechanism, q: JointVector) -> Traced:
    """`loop_residual` where it is small, to second order and at less cost: what simulations take
    back after their steps.
    """
    return _opening(model, q, small=True)


def _opening(model: Mechanism, q: JointVector, small: bool) -> Traced:
    out = [x for rows in closures(model, still(model, q)) for x in rows.open_by(small)]
    return np.array([*out, None], dtype=object)[:-1]


@algorithm(loops="honour", rolled_paths=True)
def loop_jacobian(model: Mechanism, q: JointVector) -> Traced:
    """A (m, nv): the loops are kept closed by the velocities with A v = 0.

    Column j of a loop is the screw of joint j, seen in the loop's frame on body b and paired with
    the wrenches that the loop's joint transmits: positive for the joints that move body b, negative
    for those that move body a, zero for joints that move both or neither. O(m d).  Kim (55);
    Rodriguez et al. (0.20).

    Returns:
        (B, m, nv): a row for each equation, columns the entries of v.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q = bar.neutral()  # closed, as the file has it
        >>> mz.loop_jacobian(bar, q).shape
        (5, 3)
    """
    return matrix(model, still(model, q))


def matrix(model: Mechanism, move: Moving) -> Traced:
    """A, of scalars."""
    every = list(closures(model, Moving(move.q, move.T)))
    if model.rolled:
        return rolled_matrix(model, every, move)
    A = np.full((sum(map(len, every)), model.nv), 0.0, dtype=object)
    start = 0
    for rows in every:
        for i, block in joint_columns(model, rows, move):
            column = i.data.v
            for r, line in enumerate(block):
                A[start + r, column : column + i.joint.nv] += np.array(line, dtype=object)
        start += len(rows)
    return A


@algorithm(loops="honour", rolled_paths=True)
def loop_acceleration(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector
) -> Traced:
    """A a + Ȧ v (m): what remains of the rows of `loop_jacobian` when joints accelerate by a.

    Zero for the accelerations that keep the loops closed.  O(m d).  Kim (71).

    Returns:
        (B, m): a row for each equation.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q, v = bar.neutral(), np.zeros(bar.nv)
        >>> a = mz.forward_dynamics(bar, q, v, np.zeros(3))
        >>> np.allclose(mz.loop_acceleration(bar, q, v, a), 0.0)
        True
    """
    if not closed(model.model):  # a tree, rolled or not, has no rows
        return np.empty(0, dtype=object)
    x = Motion(model)
    x.A[model.world] = Twist.zero()  # without gravity
    for _ in x.outward(q, v, a):
        pass
    out = met_rows(model, list(closures(model, Moving(q, x.T, v, x.w))), x.A, a)
    return np.array([*out, None], dtype=object)[:-1]


def joint_columns(
    model: At[P], rows: Rows, move: Moving
) -> Iterator[tuple[P, list[list[Real]]]]:
    """Joint by joint, blocks (m, nv) of the Jacobian: wrenches go inward, and meet screws.

    They end at the nearest body that carries both ends of the closure.
    """
    for k, block in rows.forces.items():
        yield model.at(k), block
    paths = {k: [i.index for i in model.at(k).path()] for k in rows.wrenches}
    above = [set(path) for path in paths.values()]
    shared = above[0] & above[1] if len(above) == 2 else set[int]()
    for k, W in rows.wrenches.items():
        for n in paths[k]:
            if n in shared:
                break
            i = model.at(n)
            if i.joint.nv:
                yield i, [list(line) for line in zip(*(i.joint.screws(move.q[i]).T @ W))]
            W = move.T[i].push(W)
