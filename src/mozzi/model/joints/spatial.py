"""Joints that turn in space: spherical and free.

Their velocity is body-fixed whatever their coordinates are, so that their screws are constant:

- ``coordinates="quaternion"``: a unit quaternion (x, y, z, w). No singularity.
- ``coordinates="first"``: canonical coordinates of first kind, exp(Σ Zₖ qₖ). Singular at
  |angle| = 2π.
- ``coordinates="second"``: canonical coordinates of second kind, exp(Z₁ q₁) exp(Z₂ q₂) ...
  Singular where the second angle is ±π/2.

Müller, Kinematics, remark 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from mozzi.lie import SE3, Rotation, Twist, Vec3
from mozzi.lie.dexp import dexp, dexp_inverse
from mozzi.lie.quaternion import Quaternion
from mozzi.model.joints.axis_screws import unit_screws
from mozzi.model.joints.joint import Joint, Scalars, check_coordinates
from mozzi.program.scalar import Real, atan2, cos, sin, sqrt

__all__ = ["Free", "Spherical"]


class Quaternions:
    """Charts of SO(3), stateless: this one takes unit quaternions (x, y, z, w)."""

    names = ("qx", "qy", "qz", "qw")
    neutral = (0.0, 0.0, 0.0, 1.0)

    @staticmethod
    def rotation(q: Sequence[Real]) -> Rotation:
        """R(q)."""
        return Rotation.from_quaternion(Quaternion(*q))

    @staticmethod
    def rates(q: Sequence[Real], w: Vec3) -> Scalars:
        """q̇ with Ṙ = R [w]."""
        return Quaternion(*q).rate(w).flatten()

    @staticmethod
    def velocity(q: Sequence[Real], q_dot: Sequence[Real]) -> Vec3:
        """w with Ṙ = R [w], of q̇."""
        return (Quaternion(*q).conjugate() @ Quaternion(*q_dot)).vector() * 2.0

    @staticmethod
    def integrate(q: Sequence[Real], w: Vec3) -> Scalars:
        """q′ with R(q′) = R(q) exp[w]."""
        return (Quaternion(*q) @ Quaternion.exp(w)).normalized().flatten()

    @staticmethod
    def difference(q0: Sequence[Real], q1: Sequence[Real]) -> Vec3:
        """The shortest w with R(q1) = R(q0) exp[w]."""
        return (Quaternion(*q0).conjugate() @ Quaternion(*q1)).log()

    @staticmethod
    def normalize(q: Sequence[Real]) -> Scalars:
        """The unit quaternion along q."""
        return Quaternion(*q).normalized().flatten()

    @staticmethod
    def random(rng: np.random.Generator, batch: tuple[int, ...]) -> Scalars:
        """Uniform on the rotations."""
        q = rng.normal(size=(4, *batch))
        return tuple(q / np.sqrt((q * q).sum(axis=0)))


class RotationVectors(Quaternions):
    """First kind: R = exp[q].  q̇ = dexp⁻¹ of −q."""

    names = ("rx", "ry", "rz")
    neutral = (0.0, 0.0, 0.0)

    @staticmethod
    def rotation(q: Sequence[Real]) -> Rotation:
        return Rotation.exp(Vec3(*q))

    @staticmethod
    def rates(q: Sequence[Real], w: Vec3) -> Scalars:
        return dexp_inverse(-Vec3(*q), w).flatten()

    @staticmethod
    def velocity(q: Sequence[Real], q_dot: Sequence[Real]) -> Vec3:
        return dexp(-Vec3(*q), Vec3(*q_dot))

    @staticmethod
    def integrate(q: Sequence[Real], w: Vec3) -> Scalars:
        return (Quaternion.exp(Vec3(*q)) @ Quaternion.exp(w)).log().flatten()

    @staticmethod
    def difference(q0: Sequence[Real], q1: Sequence[Real]) -> Vec3:
        return (Quaternion.exp(-Vec3(*q0)) @ Quaternion.exp(Vec3(*q1))).log()

    @staticmethod
    def normalize(q: Sequence[Real]) -> Scalars:
        return tuple(q)

    @staticmethod
    def random(rng: np.random.Generator, batch: tuple[int, ...]) -> Scalars:
        return Quaternion(*Quaternions.random(rng, batch)).log().flatten()


class Angles(Quaternions):
    """Second kind: R = Rx(q₀) Ry(q₁) Rz(q₂), three turns about axes that move along."""

    names = ("angle_x", "angle_y", "angle_z")
    neutral = (0.0, 0.0, 0.0)

    @staticmethod
    def rotation(q: Sequence[Real]) -> Rotation:
        ca, cb, cc = (cos(x) for x in q)
        sa, sb, sc = (sin(x) for x in q)
        ss, cs = sa * sb, ca * sb
        return Rotation(
            cb * cc, -cb * sc, sb,
            ca * sc + ss * cc, ca * cc - ss * sc, -sa * cb,
            sa * sc - cs * cc, sa * cc + cs * sc, ca * cb,
        )  # fmt: skip

    @staticmethod
    def of(R: Rotation) -> Scalars:
        """The angles of a rotation, the second in [−π/2, π/2]."""
        side = sqrt(R.xx * R.xx + R.xy * R.xy)
        return (atan2(-R.yz, R.zz), atan2(R.xz, side), atan2(-R.xy, R.xx))

    @staticmethod
    def rates(q: Sequence[Real], w: Vec3) -> Scalars:
        c, s = cos(q[2]), sin(q[2])
        first = (c * w.x - s * w.y) / cos(q[1])
        return (first, s * w.x + c * w.y, w.z - sin(q[1]) * first)

    @staticmethod
    def velocity(q: Sequence[Real], q_dot: Sequence[Real]) -> Vec3:
        c, s, (a, b, d) = cos(q[2]), sin(q[2]), q_dot
        side = cos(q[1]) * a
        return Vec3(c * side + s * b, c * b - s * side, d + sin(q[1]) * a)

    @staticmethod
    def integrate(q: Sequence[Real], w: Vec3) -> Scalars:
        return Angles.of(Angles.rotation(q) @ Rotation.exp(w))

    @staticmethod
    def difference(q0: Sequence[Real], q1: Sequence[Real]) -> Vec3:
        return (Angles.rotation(q0).T @ Angles.rotation(q1)).log()

    @staticmethod
    def normalize(q: Sequence[Real]) -> Scalars:
        return tuple(q)

    @staticmethod
    def random(rng: np.random.Generator, batch: tuple[int, ...]) -> Scalars:
        return Angles.of(Quaternions.rotation(Quaternions.random(rng, batch)))


CHARTS = {"quaternion": Quaternions, "first": RotationVectors, "second": Angles}
KINDS = tuple(CHARTS)


def _turned(v: Sequence[Real], w: Sequence[Real], h: Real) -> Scalars:
    """Vectors as a body sees them that has turned with ω, the first three of v, for a time h."""
    turn = Rotation.exp(Vec3(*v[:3]) * h)
    return tuple(x for k in range(0, len(w), 3) for x in turn.unrotate(Vec3(*w[k : k + 3])))


@final
class Spherical(Joint):
    """Rotation about a point: the subgroup SO(3).  v is the body-fixed angular velocity.

    q is a unit quaternion (x, y, z, w); of first kind, the rotation vector; of second kind, three
    angles with R = Rx Ry Rz.

    Example:
        >>> joint = mz.Spherical()
        >>> np.round(joint.integrate(joint.neutral(), [0, 0, np.pi]), 3).tolist()
        [0.0, 0.0, 1.0, 0.0]
    """

    __slots__ = ("coordinates", "nq", "q_names", "quaternions")
    nv = 3
    v_names = ("wx", "wy", "wz")
    constant = unit_screws(0, 1, 2)
    flat = False
    options = ("coordinates",)
    coordinates: str

    def __init__(self, coordinates: str = "quaternion") -> None:
        super().__init__()
        names = CHARTS[check_coordinates(coordinates, KINDS, "Spherical")].names
        start = (0,) if coordinates == "quaternion" else ()
        self._set(coordinates=coordinates, nq=len(names), q_names=names, quaternions=start)

    @property
    def _chart(self) -> type[Quaternions]:
        return CHARTS[self.coordinates]

    def pose(self, q: Sequence[Real]) -> SE3:
        return SE3(self._chart.rotation(q), Vec3.zero())

    def rates(self, q: Sequence[Real], v: Sequence[Real]) -> Scalars:
        return self._chart.rates(q, Vec3(*v))

    def velocities(self, q: Sequence[Real], q_dot: Sequence[Real]) -> Scalars:
        return self._chart.velocity(q, q_dot).flatten()

    def integrate(self, q: Sequence[Real], dv: Sequence[Real]) -> Scalars:
        return self._chart.integrate(q, Vec3(*dv))

    def difference(self, q0: Sequence[Real], q1: Sequence[Real]) -> Scalars:
        return self._chart.difference(q0, q1).flatten()

    def increment_rates(self, dv: Sequence[Real], v: Sequence[Real]) -> Scalars:
        return dexp_inverse(-Vec3(*dv), Vec3(*v)).flatten()

    def carried(self, v: Sequence[Real], w: Sequence[Real], h: Real) -> Sequence[Real]:
        return _turned(v, w, h)

    def normalize(self, q: Sequence[Real]) -> Scalars:
        return self._chart.normalize(q)

    def neutral(self) -> tuple[float, ...]:
        return self._chart.neutral

    def random(self, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> Scalars:
        return self._chart.random(rng, batch)

    @classmethod
    def examples(cls) -> tuple[Joint, ...]:
        return tuple(cls(coordinates=kind) for kind in KINDS)


@final
class Free(Joint):
    """All motions: the group SE(3).  v is the body-fixed twist (angular, linear).

    q is the position and a unit quaternion (x, y, z, w); of second kind, the position and three
    angles with R = Rx Ry Rz; of first kind, the twist X (angular, linear) with T = exp X.

    Example:
        >>> mz.Free().nq, mz.Free().nv, mz.Free(coordinates="first").nq
        (7, 6, 6)
    """

    __slots__ = ("coordinates", "nq", "q_names", "quaternions")
    nv = 6
    v_names = ("wx", "wy", "wz", "vx", "vy", "vz")
    constant = unit_screws(0, 1, 2, 3, 4, 5)
    flat = False
    options = ("coordinates",)
    coordinates: str

    def __init__(self, coordinates: str = "quaternion") -> None:
        super().__init__()
        turns = CHARTS[check_coordinates(coordinates, KINDS, "Free")].names
        names = (*turns, "tx", "ty", "tz") if coordinates == "first" else ("x", "y", "z", *turns)
        start = (3,) if coordinates == "quaternion" else ()
        self._set(coordinates=coordinates, nq=len(names), q_names=names, quaternions=start)

    @property
    def _chart(self) -> type[Quaternions]:
        return CHARTS[self.coordinates]

    def pose(self, q: Sequence[Real]) -> SE3:
        if self.coordinates == "first":
            return SE3.exp(Twist.unflatten(q))
        return SE3(self._chart.rotation(q[3:]), Vec3(*q[:3]))

    def rates(self, q: Sequence[Real], v: Sequence[Real]) -> Scalars:
        if self.coordinates == "first":
            return self.increment_rates(q, v)
        p = self._chart.rotation(q[3:]) @ Vec3(*v[3:])
        return (*p, *self._chart.rates(q[3:], Vec3(*v[:3])))

    def velocities(self, q: Sequence[Real], q_dot: Sequence[Real]) -> Scalars:
        if self.coordinates == "first":
            return dexp(-Twist.unflatten(q), Twist.unflatten(q_dot)).flatten()
        p = self._chart.rotation(q[3:]).T @ Vec3(*q_dot[:3])
        return (*self._chart.velocity(q[3:], q_dot[3:]), *p)

    def integrate(self, q: Sequence[Real], dv: Sequence[Real]) -> Scalars:
        if self.coordinates == "first":
            return (self.pose(q) @ self.pose(dv)).log().flatten()
        w, chart = Vec3(*dv[:3]), self._chart
        p = Vec3(*q[:3]) + chart.rotation(q[3:]) @ dexp(w, Vec3(*dv[3:]))
        return (*p, *chart.integrate(q[3:], w))

    def difference(self, q0: Sequence[Real], q1: Sequence[Real]) -> Scalars:
        if self.coordinates == "first":
            return (self.pose(q0).inverse() @ self.pose(q1)).log().flatten()
        w = self._chart.difference(q0[3:], q1[3:])
        p = self._chart.rotation(q0[3:]).T @ (Vec3(*q1[:3]) - Vec3(*q0[:3]))
        return (*w, *dexp_inverse(w, p))

    def increment_rates(self, dv: Sequence[Real], v: Sequence[Real]) -> Scalars:
        return dexp_inverse(-Twist.unflatten(dv), Twist.unflatten(v)).flatten()

    def coast(
        self, q: Sequence[Real], v: Sequence[Real], h: Real
    ) -> tuple[Sequence[Real], Sequence[Real]]:
        w, u = Vec3(*v[:3]), Vec3(*v[3:])
        turn = Rotation.exp(w * h)
        ahead = turn.unrotate(u)
        T = self.pose(q)
        p = T.p + T.R.rotate(u * h)
        if self.coordinates == "first":
            return SE3(T.R @ turn, p).log().flatten(), (*w, *ahead)
        return (*p, *self._chart.integrate(q[3:], w * h)), (*w, *ahead)

    def carried(self, v: Sequence[Real], w: Sequence[Real], h: Real) -> Sequence[Real]:
        return _turned(v, w, h)

    def turning_rates(self, v: Sequence[Real]) -> Scalars:
        return (0.0, 0.0, 0.0, *Vec3(*v[:3]).cross(Vec3(*v[3:])))

    def normalize(self, q: Sequence[Real]) -> Scalars:
        if self.coordinates == "first":
            return tuple(q)
        return (*q[:3], *self._chart.normalize(q[3:]))

    def neutral(self) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0, *self._chart.neutral)

    def random(self, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> Scalars:
        position = tuple(rng.uniform(-1.0, 1.0, (3, *batch)))
        turn = self._chart.random(rng, batch)
        return turn + position if self.coordinates == "first" else position + turn

    @classmethod
    def examples(cls) -> tuple[Joint, ...]:
        return tuple(cls(coordinates=kind) for kind in KINDS)
