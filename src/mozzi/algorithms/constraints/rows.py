"""Closures: what closes a tree into loops, as rows of equations.

A row r has a residual φ_r(q), which is zero where the loop is closed, and a row of the Jacobian A:
A v is the rate of the residual (exactly so where the loop is closed), and A a + Ȧ v = 0 for the
accelerations. Rows come from loops (the complement of the screws of the joint that closes them, in
its frame on body b), then from distances, then from couplings: see `loop_rows`.

A row acts back on the tree as λ_r times wrenches on two bodies, or times joint forces. Both sides
are what `Rows` holds; the recursions of the dynamics need nothing else.  Kim (54), (55); Rodriguez
et al. (0.20), (0.21).
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.constraints.joints import frames_of, meet
from mozzi.algorithms.kinematics.motion import Motion
from mozzi.algorithms.recursion.blocks import dot
from mozzi.algorithms.recursion.bodies import tidy_pose
from mozzi.algorithms.recursion.containers import per_body
from mozzi.algorithms.recursion.mechanism import Body, Mechanism, RelativePose
from mozzi.algorithms.recursion.views import ByBody, JointVector
from mozzi.lie import SE3, AccelerationField, Screws, Twist, Vec3, Wrench
from mozzi.lie.vec import number
from mozzi.model import Coupling, Distance, Loop, Model
from mozzi.model.model import WORLD
from mozzi.program.scalar import Real, divide, sqrt
from mozzi.types import Traced

__all__ = [
    "Moving", "Rows", "closures", "loop_acceleration", "loop_drift", "loop_jacobian",
    "loop_residual", "loop_rows", "matrix", "moving",
]  # fmt: skip


# -- how many rows, and where --


def loop_rows(model: Model) -> Mapping[str, slice]:
    """Which rows of residual, Jacobian and multipliers belong to which loop, distance, coupling.

    Args:
        model: the mechanism.

    Returns:
        Slices of the m rows, by the names of loops, distances and couplings.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> [rows.stop - rows.start for rows in mz.loop_rows(bar).values()]
        [5]
    """
    rows: dict[str, slice] = {}
    start = 0
    for part in model.closures:
        rows[part.name] = slice(start, start + part.rows)
        start += part.rows
    return MappingProxyType(rows)


# -- one closure --


@dataclass
class Rows:
    """The m rows of one closure.

    wrenches: number of a body (−1: the world) → the m wrenches on it, in its joint frame; forces:
    number of a body → m blocks of joint forces; open_by(small): φ (m), or what stands for it where
    it is small; bias: Ȧ v (m), where velocities are known; norms: squares of the lengths of the
    rows' wrenches in their own frame, where rounding can leave something of rows that should
    vanish; levers: number of a body → how far the closure is from its joint.
    """

    name: str
    wrenches: dict[int, Screws[Wrench]]
    forces: dict[int, list[list[Real]]]
    open_by: Callable[[bool], Sequence[Real]]
    bias: Sequence[Real]
    norms: Sequence[Real] | None = None
    levers: Mapping[int, float] = field(default_factory=dict[int, float])

    def __len__(self) -> int:
        return len(self.bias)


class Pair:
    """A frame A on body a and a frame B on body b, and how B moves relative to A.

    Poses and twists are taken relative to the nearest body that carries both. T holds the poses of
    the bodies in their parents, w their angular velocities.
    """

    def __init__(
        self, model: Mechanism, ends: tuple[int, int], frames: tuple[SE3, SE3], move: Moving
    ):
        self.model, self.move = model, move
        self.a, self.b = (model.at(k) for k in ends)
        self.F_a, self.F_b = (
            tidy_pose(body.frame @ F) if body.index != WORLD else F
            for body, F in zip((self.a, self.b), frames, strict=True)
        )
        above = {k.index for k in self.a.path()}
        common = next((k.index for k in self.b.path() if k.index in above), WORLD)
        self.path_a, self.path_b = (
            [k for k in body.path() if k.index > common][::-1] for body in (self.a, self.b)
        )

    @cached_property
    def G(self) -> SE3:
        """The pose of B in A."""
        C_a, C_b = (self._pose(p) for p in (self.path_a, self.path_b))
        return (C_a @ self.F_a).inverse() @ (C_b @ self.F_b)

    def _pose(self, path: Sequence[Body]) -> SE3:
        C = SE3.identity()
        for i in path:
            C = C @ self.move.T[i]
        return C

    @cached_property
    def V(self) -> Twist:
        """The twist of B relative to A, in frame B."""
        V_a, V_b = (self._twist(p) for p in (self.path_a, self.path_b))
        return self.F_b.pull(V_b) - self.G.pull(self.F_a.pull(V_a))

    def _twist(self, path: Sequence[Body]) -> Twist:
        V, (v, _) = Twist.zero(), self.move.velocities
        for i in path:
            V = self.move.T[i].pull(V) + i.joint.screws(self.move.q[i]) @ v[i]
        return V

    @cached_property
    def w_a(self) -> Vec3:
        """The angular velocity of A, in the axes of B."""
        return self.G.R.unrotate(self.F_a.R.unrotate(self.move.velocities[1][self.a]))

    @cached_property
    def w_b(self) -> Vec3:
        """The angular velocity of B, in its axes."""
        return self.F_b.R.unrotate(self.move.velocities[1][self.b])

    def point_a(self, pinned: bool) -> Vec3:
        """Where the wrench of a row meets body a: at A, or at B (where that need not be at A)."""
        return self.F_a.p if pinned else self.F_a @ self.G.p

    def wrenches(self, R: Screws[Wrench], pinned: bool) -> dict[int, Screws[Wrench]]:
        """Wrenches R in frame B on body b, and their opposites on body a, in the bodies' frames."""
        on = {self.b.index: self.F_b.push(R)}
        back = -SE3(self.F_a.R @ self.G.R, self.point_a(pinned)).push(R)
        k = self.a.index
        return on | {k: on[k] + back if k in on else back}

    @property
    def levers(self) -> dict[int, float]:
        """How far A and B are from the joints of their bodies; of a body with both, the larger."""
        far = [math.hypot(*(number(x) or 0.0 for x in F.p)) for F in (self.F_a, self.F_b)]
        ends = self.a.index, self.b.index
        return {k: max(f for e, f in zip(ends, far, strict=True) if e == k) for k in ends}

    def drift(self, pinned: bool, turns: bool) -> Twist:
        """The acceleration of B relative to A when no joint accelerates, in frame B.

        Accelerations of points: (ω̇, r̈). Where A and B coincide, that of B less that of A, which
        holds in any axes; else the rate of the twist V, measured at B.
        """
        still, (_, w) = Vec3.zero(), self.move.velocities
        w_a, w_b = w[self.a], w[self.b]
        lin = self.F_b.R.unrotate(AccelerationField(still, w_b, w_b) @ self.F_b.p)
        swing = AccelerationField(still, w_a, w_a) @ self.point_a(pinned)
        lin = lin - self.G.R.unrotate(self.F_a.R.unrotate(swing))
        if not pinned:
            lin = lin - (self.w_a + self.w_b).cross(self.V.lin)
        ang = (self.w_b - self.w_a).cross(self.w_a) if turns else still
        return Twist(ang, lin)


@dataclass
class Moving:
    """What closures look at: coordinates and velocities, poses in the parents, angular velocities
    (v and w where there are velocities).
    """

    q: JointVector
    T: ByBody[RelativePose]
    v: JointVector | None = None
    w: ByBody[Vec3] | None = None

    @property
    def velocities(self) -> tuple[JointVector, ByBody[Vec3]]:
        """v and w, where there are velocities."""
        assert self.v is not None and self.w is not None
        return self.v, self.w


def closures(model: Mechanism, move: Moving) -> Iterator[Rows]:
    """The rows of all closures of a model, in order; with biases where velocities are known."""
    for part in model.model.closures:
        match part:
            case Loop():
                yield _loop(model, part, move)
            case Distance():
                yield _distance(model, part, move)
            case Coupling():
                yield _coupling(model, part, move)


def _loop(model: Mechanism, loop: Loop, move: Moving) -> Rows:
    pair = Pair(model, (loop.body_a, loop.body_b), frames_of(loop), move)
    met = meet(loop.joint, pair.G)
    R = met.rows
    bias: Sequence[Real] = [0.0] * len(R)
    if move.v is not None and len(R):
        drift = pair.drift(met.pinned, met.turns)
        if not loop.joint.subgroup:
            drift = drift - met.drift(pair.V)
        bias = R.T @ drift
    on = pair.wrenches(R, met.pinned)
    norms = None if met.exact else [W.ang.dot(W.ang) + W.lin.dot(W.lin) for W in R]

    def open_by(small: bool) -> Sequence[Real]:
        return R.T @ met.error(pair.G, small)

    return Rows(loop.name, on, {}, open_by, bias, norms, pair.levers)


def _distance(model: Mechanism, rod: Distance, move: Moving) -> Rows:
    """|d| = length: the row is the force along d̂, and its rate turns with d."""
    frames = SE3.translation(*rod.point_a), SE3.translation(*rod.point_b)
    pair = Pair(model, (rod.body_a, rod.body_b), frames, move)
    d = pair.G.R.unrotate(pair.G.p)
    span = sqrt(d.dot(d))
    n = d * divide(1.0, span, nonzero=True)
    R = Screws([Wrench(Vec3.zero(), n)])
    bias: Sequence[Real] = [0.0]
    if move.v is not None:
        u = pair.V.lin
        along = n.dot(u)
        turn = divide(u.dot(u) - along * along, span, nonzero=True)
        turn = turn - (pair.w_b - pair.w_a).cross(n).dot(u)
        bias = [n.dot(pair.drift(False, True).lin) + turn]
    on = pair.wrenches(R, False)
    return Rows(rod.name, on, {}, lambda _: [span - rod.length], bias, levers=pair.levers)


def _coupling(model: Mechanism, coupling: Coupling, move: Moving) -> Rows:
    """A linear relation of coordinates, such as a mimic joint's."""
    total: Real = -coupling.offset
    forces: dict[int, list[list[Real]]] = {}
    for joint, k, c in coupling.terms:
        i = model.at(model.model.joint_index(joint))
        total = total + move.q[i][k] * c
        block = forces.setdefault(i.index, [[0.0] * i.joint.nv])
        block[0][k] += c
    return Rows(coupling.name, {}, forces, lambda _: [total], [0.0])


# -- as arrays --


def moving(model: Mechanism, q: JointVector, v: JointVector | None = None) -> Moving:
    """The tree at q, moving with v."""
    T, w = per_body(model, T="local", w=Vec3)
    for i in model.outward():
        T[i] = i.pose(q[i])
        if v is not None:
            w[i] = T[i].unrotate(w[i.parent]) + (i.joint.screws(q[i]) @ v[i]).ang
    return Moving(q, T, v, None if v is None else w)


@algorithm(loops="honour")
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


@algorithm(loops="honour")
def loop_drift(model: Mechanism, q: JointVector) -> Traced:
    """`loop_residual` where it is small, to second order and at less cost: what simulations take
    back after their steps.
    """
    return _opening(model, q, small=True)


def _opening(model: Mechanism, q: JointVector, small: bool) -> Traced:
    out = [x for rows in closures(model, moving(model, q)) for x in rows.open_by(small)]
    return np.array([*out, None], dtype=object)[:-1]


@algorithm(loops="honour")
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
    return matrix(model, moving(model, q))


def matrix(model: Mechanism, move: Moving) -> Traced:
    """A, of scalars."""
    every = list(closures(model, Moving(move.q, move.T)))
    A = np.full((sum(map(len, every)), model.nv), 0.0, dtype=object)
    start = 0
    for rows in every:
        for i, block in joint_columns(model, rows, move):
            column = i.data.v
            for r, line in enumerate(block):
                A[start + r, column : column + i.joint.nv] += np.array(line, dtype=object)
        start += len(rows)
    return A


@algorithm(loops="honour")
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
    out: list[Real] = []
    for rows in closures(model, Moving(q, x.T, v, x.w)):
        for r, left in enumerate(rows.bias):
            for k, W in rows.wrenches.items():
                left = left + W[r].dot(x.A[model.at(k)])
            for k, forces in rows.forces.items():
                left = left + dot(forces[r], a[model.at(k)])
            out.append(left)
    return np.array([*out, None], dtype=object)[:-1]


def joint_columns(
    model: Mechanism, rows: Rows, move: Moving
) -> Iterator[tuple[Body, list[list[Real]]]]:
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
