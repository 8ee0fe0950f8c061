"""Springs and dampers between points of bodies: wrenches, and the energy they store."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.recursion.containers import BlockArray, body_array, per_body
from mozzi.algorithms.recursion.mechanism import Body, Mechanism
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector, PerBody
from mozzi.lie import SE3, Twist, Vec3, Wrench
from mozzi.lie.vec import is_zero
from mozzi.model.constraints.loop import Spring
from mozzi.program.scalar import Real, divide, select, sqrt
from mozzi.types import Traced

__all__ = [
    "Applied", "acting", "applied", "ends", "line", "point_velocity", "spring_energy",
    "spring_wrenches", "stored",
]  # fmt: skip


@algorithm
def spring_wrenches(
    model: Mechanism, q: JointVector, v: JointVector, elastic: bool = True, viscous: bool = True
) -> BlockArray:
    """What the springs between points do to the bodies (nb, 6), body-fixed.

    Along the line from point a to point b, with its length ℓ and direction n, body b feels
    −k (ℓ − ℓ₀) n − c ℓ̇ n and body a the opposite: neither the momentum nor its moment change. Where
    the points coincide n = 0. ``elastic`` and ``viscous`` choose the two parts. O(n). Dynamics
    leaves them out unless it is called with ``resistance=True``.

    Returns:
        (B, nb, 6): a row (torque, force) for each body, in its axes at its origin.

    Example:
        >>> arm = mz.load("arm.urdf").with_spring("s", "link_3", None, stiffness=2.0)
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.spring_wrenches(arm, q, v).shape
        (3, 6)
    """
    F = _forces(model, q, v, elastic, viscous)
    out = body_array(model, 6, letter="W")
    for i in model.outward():
        out[i] = i.frame.pull(F[i])
    return out


@algorithm
def spring_energy(model: Mechanism, q: JointVector) -> Traced:
    """½ Σ k (ℓ − ℓ₀)²: what the springs between points store. O(n).

    Returns:
        (B): joules.

    Example:
        >>> arm = mz.load("arm.urdf").with_spring("s", "link_3", None, stiffness=2.0)
        >>> q = arm.random_configuration(0)
        >>> bool(mz.spring_energy(arm, q) > 0.0)
        True
    """
    out = np.empty((), dtype=object)
    out[()] = stored(model, q)
    return out


def stored(model: Mechanism, q: JointVector) -> Real:
    """The energy of the springs between points, as a scalar."""
    total: Real = 0.0
    if model.model.springs:
        C = per_body(model, "C", SE3)
        for i in model.outward():
            C[i] = C[i.parent] @ i.pose(q[i])
        for spring, a, p_a, b, p_b in ends(model):
            stretch = line(C[b] @ p_b - C[a] @ p_a)[0] - spring.length
            total = total + (0.5 * spring.stiffness) * (stretch * stretch)
    return total


def acting(
    model: Mechanism, q: JointVector, v: JointVector, wrenches: ByBody[Wrench] | None,
    resistance: bool,
) -> ByBody[Wrench] | None:  # fmt: skip
    """The wrenches on the bodies, by bodies: those given, and with resistance those of springs."""
    if not (resistance and model.model.springs):
        return wrenches
    return _Both(wrenches, _forces(model, q, v))


def applied(
    model: Mechanism, q: JointVector, v: JointVector, wrenches: ByBody[Wrench] | None,
    resistance: bool,
) -> Applied:  # fmt: skip
    """The wrenches on the bodies: those given, and with resistance those of the springs between
    bodies.
    """
    springs = _forces(model, q, v) if resistance and model.model.springs else None
    return Applied(wrenches, springs)


class Applied:
    """Wrenches on the bodies, in the frames on their joints: of the caller, in the bodies' own
    frames, and others.
    """

    def __init__(self, given: ByBody[Wrench] | None, others: ByBody[Wrench] | None = None):
        self.given, self.others = given, others

    def __getitem__(self, i: BodyView) -> Wrench:
        total = Wrench.zero() if self.given is None else i.frame.push(self.given[i])
        return total if self.others is None else total + self.others[i]


class _Both:
    """Wrenches of the caller, and of springs (which are in joint frames)."""

    def __init__(self, given: ByBody[Wrench] | None, F: ByBody[Wrench]):
        self.given, self.F = given, F

    def __getitem__(self, i: BodyView) -> Wrench:
        own = i.frame.pull(self.F[i])
        return own if self.given is None else self.given[i] + own


def _forces(
    model: Mechanism, q: JointVector, v: JointVector, elastic: bool = True, viscous: bool = True
) -> PerBody[Wrench]:
    """The wrenches of all springs on the bodies, in their joint frames."""
    C, V, F = per_body(model, "C V F", SE3, Twist, Wrench)
    for i in model.outward():
        T = i.pose(q[i])
        C[i] = C[i.parent] @ T
        V[i] = T.pull(V[i.parent]) + i.joint.screws(q[i]) @ v[i]
        F[i] = Wrench.zero()
    for spring, a, p_a, b, p_b in ends(model):
        d = C[b] @ p_b - C[a] @ p_a
        _, n, _ = line(d)
        f = Vec3.zero()  # on body b, in inertial axes
        if elastic and not is_zero(spring.stiffness):
            f = n * (spring.stiffness * spring.length) - d * spring.stiffness
        if viscous and not is_zero(spring.damping):
            rate = n.dot(point_velocity(C[b], V[b], p_b) - point_velocity(C[a], V[a], p_a))
            f = f - n * (spring.damping * rate)
        for i, p, on in ((a, p_a, -f), (b, p_b, f)):
            if i is not model.world:
                own = C[i].R.unrotate(on)
                F[i] += Wrench(p.cross(own), own)
    return F


def ends(model: Mechanism) -> Iterator[tuple[Spring, Body, Vec3, Body, Vec3]]:
    """Every spring with its two bodies, and its points in their joint frames."""
    for spring in model.model.springs:
        a, b = model.at(spring.body_a), model.at(spring.body_b)
        p_a, p_b = Vec3(*spring.point_a), Vec3(*spring.point_b)
        yield (
            spring,
            a, p_a if a is model.world else a.frame @ p_a,
            b, p_b if b is model.world else b.frame @ p_b,
        )  # fmt: skip


def line(d: Vec3) -> tuple[Real, Vec3, Real]:
    """Length, direction and reciprocal of the length of d; (0, 0, 1) where it vanishes, so that
    derivatives stay finite.
    """
    square = d.dot(d)
    length = sqrt(select(square > 0.0, square, 1.0))
    reciprocal = divide(1.0, length, nonzero=True)
    return select(square > 0.0, length, 0.0), d * reciprocal, reciprocal


def point_velocity(C: SE3, V: Twist, p: Vec3) -> Vec3:
    """The velocity of a point of a body, in inertial axes."""
    return C.R.rotate(V.lin + V.ang.cross(p))
