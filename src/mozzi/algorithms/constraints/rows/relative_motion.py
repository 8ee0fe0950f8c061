# pyright: reportConstantRedefinition=false
"""One closure: its rows, and how the two bodies that it ties move relative to each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar

from mozzi.algorithms.recursion.blocks import dot
from mozzi.algorithms.recursion.bodies import tidy_pose
from mozzi.algorithms.recursion.containers import Cells
from mozzi.algorithms.recursion.mechanism import Body, Mechanism, RelativePose
from mozzi.algorithms.recursion.views import ByBody, JointVector, Place
from mozzi.lie import SE3, AccelerationField, Screws, Twist, Vec3, Wrench
from mozzi.lie.vec import number
from mozzi.model.model import WORLD
from mozzi.program.scalar import Real, maximum

__all__ = ["At", "Ends", "Moving", "Pair", "Places", "Rows", "met_rows", "widest"]

P_co = TypeVar("P_co", bound=Place, covariant=True)

SHORT = 4  # bodies of a path that is no loop in a rolled program


@dataclass
class Rows:
    """The m rows of one closure.

    wrenches: number of a body (−1: the world) → the m wrenches on it, in its joint frame; forces:
    number of a body → m blocks of joint forces; open_by(small): φ (m), or what stands for it where
    it is small; bias: Ȧ v (m), where velocities are known; norms: squares of the lengths of the
    rows' wrenches in their own frame, where rounding can leave something of rows that should
    vanish; levers: number of a body → how far the closure is from its joint; apart2(size): the
    square of how far it is open, lengths measured by a size, where that changes its rows; point:
    where it acts, on which body and in its joint frame.
    """

    name: str
    wrenches: dict[int, Screws[Wrench]]
    forces: dict[int, list[list[Real]]]
    open_by: Callable[[bool], Sequence[Real]]
    bias: Sequence[Real]
    norms: Sequence[Real] | None = None
    levers: Mapping[int, Real] = field(default_factory=dict[int, Real])
    apart2: Callable[[float], Real] = lambda _: 0.0
    point: tuple[int, Vec3] | None = None

    def __len__(self) -> int:
        return len(self.bias)


class At(Protocol[P_co]):
    """Where closures find the bodies that they tie, by numbers: in a mechanism."""

    def at(self, index: int, /) -> P_co: ...


class Places(At[Place], Protocol):
    """The same, with the acceleration of the world."""

    @property
    def upward(self) -> Twist: ...


def met_rows(
    model: At[Place], every: Sequence[Rows], A: ByBody[Twist], a: JointVector, moving: bool = True
) -> list[Real]:
    """A a + Ȧ v of rows where bodies accelerate by A and joints by a."""
    out: list[Real] = []
    for rows in every:
        for r, x in enumerate(rows.bias if moving else [0.0] * len(rows)):
            for k, W in rows.wrenches.items():
                x = x + W[r].dot(A[model.at(k)])
            for k, forces in rows.forces.items():
                x = x + dot(forces[r], a[model.at(k)])
            out.append(x)
    return out


def widest(every: Sequence[Rows], size: float) -> Real:
    """The square of how far the widest of closures is open."""
    apart2: Real = 0.0
    for rows in every:
        apart2 = maximum(apart2, rows.apart2(size))
    return apart2


class Pair:
    """A frame A on body a and a frame B on body b, and how B moves relative to A.

    Poses and twists are taken relative to the nearest body that carries both; carried: whether that
    moves. T holds the poses of the bodies in their parents, w their angular velocities.
    """

    carried: bool

    def __init__(
        self, model: Mechanism, ends: tuple[int, int], frames: tuple[SE3, SE3], move: Moving
    ):
        self.model, self.move = model, move
        self.a, self.b = (model.at(k) for k in ends)
        self.F_a, self.F_b = (
            tidy_pose(body.frame @ F) if body.index != WORLD else F
            for body, F in zip((self.a, self.b), frames, strict=True)
        )
        self._find_paths()

    def _find_paths(self) -> None:
        """From the nearest body that carries both to each of them."""
        above = {k.index for k in self.a.path()}
        common = next((k.index for k in self.b.path() if k.index in above), WORLD)
        self.carried = common != WORLD
        self.path_a, self.path_b = (
            [k for k in body.path() if k.index > common][::-1] for body in (self.a, self.b)
        )

    @cached_property
    def G(self) -> SE3:
        """The pose of B in A."""
        if self.model.rolled:
            (C_a, _), (C_b, _) = self._walked
            return C_a.inverse() @ C_b
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
        if self.model.rolled:
            (_, V_a), (_, V_b) = self._walked
            return V_b - self.G.pull(V_a)
        V_a, V_b = (self._twist(p) for p in (self.path_a, self.path_b))
        return self.F_b.pull(V_b) - self.G.pull(self.F_a.pull(V_a))

    def _twist(self, path: Sequence[Body]) -> Twist:
        V, (v, _) = Twist.zero(), self.move.velocities
        for i in path:
            V = self.move.T[i].pull(V) + i.joint.screws(self.move.q[i]) @ v[i]
        return V

    @cached_property
    def _walked(self) -> list[tuple[SE3, Twist]]:
        """Of A and of B, in a rolled program: its pose in the nearest body that carries both, and
        its twist relative to that (where there are velocities), in its own axes. Inward, a loop.
        """
        return [
            self._walk(path, F)
            for path, F in ((self.path_a, self.F_a), (self.path_b, self.F_b))
        ]

    def _walk(self, path: Sequence[Body], F: SE3) -> tuple[SE3, Twist]:
        move, n = self.move, len(F.flatten())
        if len(path) <= SHORT:
            V = Twist.zero() if move.v is None else self._twist(path)
            return self._pose(path) @ F, F.pull(V)
        state = Cells("C", [*F.flatten(), *([] if move.v is None else [0.0] * 6)])
        parents = self.model.parents
        for i in self.model.each(path[-1].slot, path[0].parent.slot + 1, follow=parents):
            now = state.get()
            C, V = SE3.unflatten(now[:n]), list[Real]()
            if move.v is not None:
                Sv = i.joint.screws(move.q[i]) @ move.v[i]
                V = (Twist.unflatten(now[n:]) + C.pull(Sv)).flatten()
            state.set([*(move.T[i] @ C).flatten(), *V])
        now = state.get()
        return SE3.unflatten(now[:n]), Twist.unflatten(now[n:] or [0.0] * 6)

    @property
    def turning(self) -> tuple[Vec3, Vec3]:
        """The angular velocities of bodies a and b, each in its frame."""
        w = self.move.velocities[1]
        return w[self.a], w[self.b]

    @cached_property
    def w_a(self) -> Vec3:
        """The angular velocity of A, in the axes of B."""
        return self.G.R.unrotate(self.F_a.R.unrotate(self.turning[0]))

    @cached_property
    def w_b(self) -> Vec3:
        """The angular velocity of B, in its axes."""
        return self.F_b.R.unrotate(self.turning[1])

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
    def levers(self) -> Mapping[int, Real]:
        """How far A and B are from the joints of their bodies; of a body with both, the larger."""
        far = [math.hypot(*(number(x) or 0.0 for x in F.p)) for F in (self.F_a, self.F_b)]
        ends = self.a.index, self.b.index
        return {k: max(f for e, f in zip(ends, far, strict=True) if e == k) for k in ends}

    def drift(self, pinned: bool, turns: bool) -> Twist:
        """The acceleration of B relative to A when no joint accelerates, in frame B.

        Accelerations of points: (ω̇, r̈). Where A and B coincide, that of B less that of A, which
        holds in any axes; else the rate of the twist V, measured at B.
        """
        still, (w_a, w_b) = Vec3.zero(), self.turning
        lin = self.F_b.R.unrotate(AccelerationField(still, w_b, w_b) @ self.F_b.p)
        swing = AccelerationField(still, w_a, w_a) @ self.point_a(pinned)
        lin = lin - self.G.R.unrotate(self.F_a.R.unrotate(swing))
        if not pinned:
            lin = lin - (self.w_a + self.w_b).cross(self.V.lin)
        ang = (self.w_b - self.w_a).cross(self.w_a) if turns else still
        return Twist(ang, lin)


class Ends(Pair):
    """Two frames of which it is known how their bodies move: G, and the twists of the bodies."""

    def __init__(
        self, frames: tuple[SE3, SE3], G: SE3, twists: tuple[Twist, Twist], carried: bool = False
    ):
        self.carried = carried
        self.a, self.b = Body(0, None, None), Body(1, None, None)
        self.F_a, self.F_b = frames
        self._twists = twists
        V_a, V_b = twists
        self.G = G
        self.V = self.F_b.pull(V_b) - G.pull(self.F_a.pull(V_a))

    @property
    def turning(self) -> tuple[Vec3, Vec3]:
        return self._twists[0].ang, self._twists[1].ang


@dataclass
class Moving:
    """What closures look at: coordinates and velocities, poses in the parents, angular velocities
    (v and w where there are velocities). Where rows have a law: offsets, what their residuals shall
    be, and given, the coordinates of driven joints.
    """

    q: JointVector
    T: ByBody[RelativePose]
    v: JointVector | None = None
    w: ByBody[Vec3] | None = None
    offsets: Sequence[Real] | None = None
    given: JointVector | None = None

    @property
    def velocities(self) -> tuple[JointVector, ByBody[Vec3]]:
        """v and w, where there are velocities."""
        assert self.v is not None and self.w is not None
        return self.v, self.w
