"""Joints that turn about one direction and slide along others: planar, planar screw, Schönflies.

All three are SE(2) in the x–y plane with something along its normal z. Their velocity is the
body-fixed twist, so that their screws are constant; their coordinates are

- ``coordinates="second"`` (the default): position and angle, T = exp(Z₁ q₁) exp(Z₂ q₂) ... No
  singularity; the angle is counted, not wrapped.
- ``coordinates="first"``: T = exp(Σ Zₖ qₖ). Singular at |angle| = 2π.

Müller, Kinematics, remark 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, final

from mozzi.lie import SE3, RotationZ, Screws, Twist, Vec3
from mozzi.lie.dexp import dexp
from mozzi.lie.series import C1, C2, COT
from mozzi.model.frames import Axis
from mozzi.model.joints.axis_screws import axis_pose, unit_screws
from mozzi.model.joints.joint import (
    Joint,
    Scalars,
    as_pitch,
    check_coordinates,
)
from mozzi.program.scalar import Real, atan2, cos, sin

__all__ = ["Planar", "PlanarScrew", "Schoenflies"]

KINDS = ("second", "first")


def _exp(angle: Real, u: Real, v: Real) -> tuple[Real, Real]:
    """The position reached by the plane twist (u, v, angle) in unit time."""
    x = angle * angle
    S, C = C1(x), angle * C2[0](x)  # sin θ / θ, (1 − cos θ) / θ
    return S * u - C * v, C * u + S * v


def plane_log(angle: Real, x: Real, y: Real) -> tuple[Real, Real]:
    """The inverse of `_exp`, for |angle| < 2π."""
    half = 0.5 * angle
    K = 1.0 - angle * angle * COT[0](angle * angle)  # (θ/2) cot(θ/2)
    return K * x + half * y, K * y - half * x


def _twist(x: Sequence[Real]) -> Twist:
    """The twist in the plane that coordinates of first kind are."""
    return Twist(Vec3(0.0, 0.0, x[-1]), Vec3(x[0], x[1], 0.0))


class PlanarMotion(Joint, abstract=True):
    """What the three share: q = (x, y, ..., angle), v = (vx, vy, ..., angular velocity)."""

    __slots__ = ("coordinates",)
    flat = False
    options = ("coordinates",)
    periodic: ClassVar[bool] = True
    coordinates: str

    def __init__(self, axis: Axis = "z", coordinates: str = "second") -> None:
        what = type(self).__name__
        super().__init__(axis_pose(axis, what))
        self._set(coordinates=check_coordinates(coordinates, KINDS, what))

    def _height(self, q: Sequence[Real]) -> Real:
        """The translation along z."""
        return 0.0

    def _position(self, q: Sequence[Real]) -> tuple[Real, Real]:
        return _exp(q[-1], q[0], q[1]) if self.coordinates == "first" else (q[0], q[1])

    def _wrap(self, angle: Real) -> Real:
        """The same turn in (−π, π], where whole turns make no difference."""
        return atan2(sin(angle), cos(angle)) if self.periodic else angle

    def pose(self, q: Sequence[Real]) -> SE3:
        x, y = self._position(q)
        return SE3(RotationZ(cos(q[-1]), sin(q[-1])), Vec3(x, y, self._height(q)))

    def rates(self, q: Sequence[Real], v: Sequence[Real]) -> Scalars:
        if self.coordinates == "first":
            return self.increment_rates(q, v)
        x, y, c, s = v[0], v[1], cos(q[-1]), sin(q[-1])
        return (c * x - s * y, s * x + c * y, *v[2:])

    def velocities(self, q: Sequence[Real], q_dot: Sequence[Real]) -> Scalars:
        if self.coordinates == "first":
            V = dexp(-_twist(q), _twist(q_dot))
            return (V.lin.x, V.lin.y, *q_dot[2:])
        x, y, c, s = q_dot[0], q_dot[1], cos(q[-1]), sin(q[-1])
        return (c * x + s * y, c * y - s * x, *q_dot[2:])

    def increment_rates(self, dv: Sequence[Real], v: Sequence[Real]) -> Scalars:
        angle, (x, y) = dv[-1], v[:2]  # dexp⁻¹ of −δ: v + ½ ad v + ...
        a, b = angle * x - v[-1] * dv[0], angle * y - v[-1] * dv[1]
        k = angle * COT[0](angle * angle)
        return (x - 0.5 * b - k * a, y + 0.5 * a - k * b, *v[2:])

    def coast(
        self, q: Sequence[Real], v: Sequence[Real], h: Real
    ) -> tuple[Sequence[Real], Sequence[Real]]:
        step = [h * x for x in v]
        turned = self._turned(step[-1], v)
        if self.coordinates == "first":  # by the twist whose exponential ends there
            log = plane_log(step[-1], step[0], step[1])
            return self.integrate(q, (*log, *step[2:])), turned
        c, s = cos(q[-1]), sin(q[-1])
        ahead = (q[0] + (c * step[0] - s * step[1]), q[1] + (s * step[0] + c * step[1]))
        return (*ahead, *(a + b for a, b in zip(q[2:], step[2:], strict=True))), turned

    def carried(self, v: Sequence[Real], w: Sequence[Real], h: Real) -> Sequence[Real]:
        return self._turned(h * v[-1], w)

    @staticmethod
    def _turned(angle: Real, w: Sequence[Real]) -> Scalars:
        """Velocities as a body sees them that has turned by an angle."""
        c, s = cos(angle), sin(angle)
        return (c * w[0] + s * w[1], c * w[1] - s * w[0], *w[2:])

    def turning_rates(self, v: Sequence[Real]) -> Scalars:
        return (-v[-1] * v[1], v[-1] * v[0], *(0.0 for _ in v[2:]))

    def integrate(self, q: Sequence[Real], dv: Sequence[Real]) -> Scalars:
        x, y = self._position(q)
        dx, dy = _exp(dv[-1], dv[0], dv[1])
        c, s = cos(q[-1]), sin(q[-1])
        x, y, angle = x + (c * dx - s * dy), y + (s * dx + c * dy), q[-1] + dv[-1]
        if self.coordinates == "first":
            angle = self._wrap(angle)
            x, y = plane_log(angle, x, y)
        return (x, y, *(a + b for a, b in zip(q[2:-1], dv[2:-1], strict=True)), angle)

    def difference(self, q0: Sequence[Real], q1: Sequence[Real]) -> Scalars:
        (x0, y0), (x1, y1) = self._position(q0), self._position(q1)
        c, s, x, y = cos(q0[-1]), sin(q0[-1]), x1 - x0, y1 - y0
        angle = self._wrap(q1[-1] - q0[-1])
        u, v = plane_log(angle, c * x + s * y, c * y - s * x)
        return (u, v, *(b - a for a, b in zip(q0[2:-1], q1[2:-1], strict=True)), angle)


@final
class Planar(PlanarMotion):
    """Motions in the plane normal to an axis: the subgroup SE(2).

    q = (x, y, angle) and v = (vx, vy, ω), the body-fixed twist: q̇ = (Rz(angle) (vx, vy), ω).

    Example:
        >>> joint = mz.Planar("z")
        >>> joint.q_names, np.round(joint.rates([0, 0, np.pi / 2], [1, 0, 0]), 3).tolist()
        (('x', 'y', 'angle'), [0.0, 1.0, 0.0])
    """

    __slots__ = ()
    nq = nv = 3
    q_names = ("x", "y", "angle")
    v_names = ("vx", "vy", "wz")
    constant = unit_screws(3, 4, 2)

    @classmethod
    def examples(cls) -> tuple[Joint, ...]:
        return (cls(), cls("x", coordinates="first"))


@final
class PlanarScrew(PlanarMotion):
    """Translations in the plane normal to an axis and a screw motion along it: H_p × ℝ².

    q = (x, y, angle) and v = (vx, vy, ω) as of `Planar`; the translation along the axis is
    pitch·angle. The pitch is the translation per radian. Whole turns differ by their height, so
    that no twist reaches a configuration that is a whole turn away unless it is straight above.

    Example:
        >>> mz.PlanarScrew("z", pitch=0.1).pose([0.3, 0.4, 2.0]).matrix()[:3, 3].tolist()
        [0.3, 0.4, 0.2]
    """

    __slots__ = ("pitch",)
    nq = nv = 3
    q_names = ("x", "y", "angle")
    v_names = ("vx", "vy", "wz")
    periodic = False
    pitch: float

    def __init__(
        self, axis: Axis = "z", pitch: float | None = None, coordinates: str = "second"
    ) -> None:
        super().__init__(axis, coordinates)
        self._set(pitch=as_pitch(pitch, "PlanarScrew"))

    def _height(self, q: Sequence[Real]) -> Real:
        return q[2] * self.pitch

    def screws(self, q: Sequence[Real]) -> Screws[Twist]:
        screw = Twist(Vec3(0.0, 0.0, 1.0), Vec3(0.0, 0.0, self.pitch))
        return Screws((*unit_screws(3, 4).columns, screw))

    def parameters(self) -> Scalars:
        return (self.pitch,)

    def with_parameters(self, parameters: Sequence[Real]) -> Self:
        return self._with(pitch=parameters[0])

    @property
    def fitted(self) -> bool:
        """No: the height tells how often it has turned."""
        return False

    @classmethod
    def examples(cls) -> tuple[Joint, ...]:
        return (cls(pitch=0.4), cls("y", pitch=-0.2, coordinates="first"))


@final
class Schoenflies(PlanarMotion):
    """Translations in space and rotation about a fixed direction: the subgroup SE(2) × ℝ.

    q = (x, y, z, angle) and v = (vx, vy, vz, ω), the body-fixed twist.

    Example:
        >>> mz.Schoenflies("z").q_names
        ('x', 'y', 'z', 'angle')
    """

    __slots__ = ()
    nq = nv = 4
    q_names = ("x", "y", "z", "angle")
    v_names = ("vx", "vy", "vz", "wz")
    constant = unit_screws(3, 4, 5, 2)

    def _height(self, q: Sequence[Real]) -> Real:
        return q[2]

    @classmethod
    def examples(cls) -> tuple[Joint, ...]:
        return (cls(), cls("y", coordinates="first"))
