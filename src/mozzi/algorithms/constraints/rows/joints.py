"""What a joint asks of the two frames that it connects where it closes a loop.

The pose G of frame B in frame A must be a pose of the joint. `meet` finds the nearest pose of the
joint; what is left, E = pose⁻¹ G, is the closure error. The rows of the loop are the wrenches R in
frame B that the joint transmits: the orthonormal complement of its screws S, Rᵀ S = 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Protocol

from mozzi.algorithms.constraints.rows.fit import fit, refined
from mozzi.lie import SE3, Rotation, RotationZ, Screws, Twist, Vec3, Wrench, solve_spd
from mozzi.lie.so3 import SO3
from mozzi.lie.vec import number
from mozzi.model import Joint, PlanarScrew, Screw, Universal
from mozzi.program.scalar import Real, atan2, cos, divide, select, sin, sqrt

__all__ = ["Closure", "Meeting", "at_rest", "frames_of", "meet"]

TINY = 1e-300


class Closure(Protocol):
    """A joint between two places: a loop of a model, or an attachment of systems."""

    @property
    def joint(self) -> Joint: ...
    @property
    def placement_a(self) -> SE3: ...
    @property
    def placement_b(self) -> SE3: ...


@dataclass(frozen=True)
class Meeting:
    """A joint of a loop, met by the pose G of its frame B in its frame A.

    pose: the pose of the joint nearest to G; S: its screws there; rows: the wrenches in frame B
    that it transmits; pinned: whether the origins of A and B always coincide; turns: whether B
    can turn in A; exact: whether the rows are a basis, of unit length.
    """

    joint: Joint
    pose: SE3
    S: Screws[Twist]
    rows: Screws[Wrench]
    q: Sequence[Real] | None
    pinned: bool
    turns: bool
    exact: bool = True

    def error(self, G: SE3, small: bool = False) -> Twist:
        """What separates G from the joint: rotation vector and displacement, in frame B.

        Half its square has the gradient Rᵀ error along the twist of B relative to A. Of ``small``
        errors the rotation vector is that to second order, the skew part of E.R, at less cost.
        """
        E = self.pose.inverse() @ G
        w = Vec3.zero()
        if any(number(x) != 0.0 for row in self.rows for x in row.ang):
            R = E.R.general()
            w = R.mat().vee() if small else R.log()
        return Twist(w, E.R.unrotate(E.p))

    def apart2(self, G: SE3, size: float) -> Real:
        """The square of how far G is from the joint, lengths measured by a size: 4 sin² θ/2 of the
        rotation between them, which grows up to half a turn.
        """
        E = self.pose.inverse() @ G
        R = E.R.general()
        return 3.0 - (R.xx + R.yy + R.zz) + E.p.dot(E.p) * (1.0 / (size * size))

    def drift(self, V: Twist) -> Twist:
        """Ṡ v of the joint that moves with the twist V of B relative to A."""
        if self.joint.subgroup:
            return Twist.zero()
        S = self.S
        if self.exact:
            v = solve_spd(S.T @ S_as_wrenches(S), [S_as_wrenches(S).T @ V])[0]
        else:
            v = refined(S, V)
        return self.joint.screws_rate(self.q or (), v) @ v


def S_as_wrenches(S: Screws[Twist]) -> Screws[Wrench]:
    """The same columns, to be paired with twists."""
    return Screws(Wrench(c.ang, c.lin) for c in S)


def units(*where: int) -> list[Wrench]:
    """The basis wrenches with a one at these places."""
    return [Wrench.unflatten(1.0 if i == k else 0.0 for i in range(6)) for k in where]


def frames_of(part: Closure) -> tuple[SE3, SE3]:
    """The two frames that a joint connects where it closes a loop, A and B, each on its body."""
    joint = part.joint
    return part.placement_a @ joint.frame_parent, part.placement_b @ joint.frame_child


@singledispatch
def meet(joint: Joint, G: SE3) -> Meeting:
    """The joint, met by G."""
    if joint.fitted:
        return _fitted(joint, G)
    where = joint.constant.units() or ()
    R = _turned(where, G)
    p = Vec3(*(x if 3 + k in where else 0.0 for k, x in enumerate(G.p)))
    rows = Screws(units(*(k for k in range(6) if k not in where)))
    pinned = not any(k >= 3 for k in where)
    turns = any(k < 3 for k in where)
    return Meeting(joint, SE3(R, p), joint.constant, rows, None, pinned, turns)


def _turned(where: Sequence[int], G: SE3) -> SO3:
    """The rotation nearest to that of G, among those about no axis, about z, or about a point."""
    R = G.R.general()
    if 0 in where:
        return R
    if 2 not in where:
        return Rotation.identity()
    c, s = R.xx + R.yy, R.yx - R.xy
    square = c * c + s * s
    some = square > TINY  # none where z points against z: any angle is as near
    scale = divide(1.0, sqrt(select(some, square, 1.0)), nonzero=True)
    return RotationZ(select(some, c * scale, 1.0), select(some, s * scale, 0.0))


def _angle(G: SE3) -> Real:
    """The angle about z of the rotation about z that is nearest to G."""
    R = G.R.general()
    return atan2(R.yx - R.xy, R.xx + R.yy)


def _about_z(angle: Real) -> RotationZ:
    return RotationZ(cos(angle), sin(angle))


@meet.register(Screw)
@meet.register(PlanarScrew)
def _screw(joint: Screw | PlanarScrew, G: SE3) -> Meeting:
    """The height tells the turns, and the rotation the rest of the angle."""
    plane = isinstance(joint, PlanarScrew)
    h, angle = joint.pitch, _angle(G)
    if h != 0.0:
        turns = G.p.z / h
        angle = turns + atan2(sin(angle - turns), cos(angle - turns))
    p = Vec3(G.p.x if plane else 0.0, G.p.y if plane else 0.0, angle * h)
    r = 1.0 / math.sqrt(1.0 + h * h)
    along = Wrench(Vec3(0.0, 0.0, -h * r), Vec3(0.0, 0.0, r))
    rows = Screws([*units(0, 1), *(() if plane else units(3, 4)), along])
    return Meeting(joint, SE3(_about_z(angle), p), joint.screws(()), rows, None, False, True)


@meet.register
def _universal(joint: Universal, G: SE3) -> Meeting:
    R = G.R.general()
    a = atan2(R.yx, R.xx)
    c, s = cos(a), sin(a)
    b = atan2(R.zy, c * R.yy - s * R.xy)  # Rz(−a) R is nearly Rx(b)
    across = Wrench(Vec3(0.0, cos(b), -sin(b)), Vec3.zero())
    q = (a, b)
    rows = Screws([across, *units(3, 4, 5)])
    return Meeting(joint, joint.pose(q), joint.screws(q), rows, q, True, True)


def _fitted(joint: Joint, G: SE3) -> Meeting:
    """Any joint: its coordinates are searched for (`fit`); the rows are the projector 1 − S S⁺.

    Six rows of rank 6 − nv, without a choice of basis that could jump; a joint that moves in all
    six directions asks nothing. Screws may depend on one another, as those of a rod that turns
    about itself between two balls.
    """
    if joint.mobility >= 6:
        return Meeting(joint, G, Screws(()), Screws(()), (), False, True)
    q = fit(joint, G)
    S = joint.screws(q)
    rows: list[Wrench] = []
    for e in units(*range(6)):
        inside = S @ refined(S, Twist(e.ang, e.lin))
        rows.append(Wrench(e.ang - inside.ang, e.lin - inside.lin))
    return Meeting(joint, joint.pose(q), S, Screws(rows), q, False, True, exact=False)


def at_rest(joint: Joint) -> Meeting:
    """The joint, met in its neutral pose: how many rows it has, and of which kind."""
    return meet(joint, joint.pose(joint.neutral()))
