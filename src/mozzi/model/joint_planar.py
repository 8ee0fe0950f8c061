"""Joints that turn about a direction and slide along others: planar, planar screw, Schönflies.

All three are SE(2) in the x–y plane with something along its normal z. Their coordinates are a
position and an angle that is counted, not wrapped; their velocity is the body-fixed twist, so that
the screws are constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, final

from mozzi.lie import SE3, RotationZ, Screws, Twist, Vec3
from mozzi.model.frames import Axis
from mozzi.model.joint import Joint, Scalars, as_pitch, axis_pose, check_coordinates, unit_screws
from mozzi.program.scalar import cos, sin

__all__ = ["Planar", "PlanarScrew", "Schoenflies"]

KINDS = ("second", "first")


class PlanarMotion(Joint, abstract=True):
    """What the three share: q = (x, y, ..., angle), v = (vx, vy, ..., angular velocity)."""

    __slots__ = ("coordinates",)
    flat = False
    options = ("coordinates",)
    coordinates: str

    def __init__(self, axis: Axis = "z", coordinates: str = "second") -> None:
        what = type(self).__name__
        super().__init__(axis_pose(axis, what))
        self._set(coordinates=check_coordinates(coordinates, ("second",), what))

    def _height(self, q: Sequence[Any]) -> Any:
        """The translation along z."""
        return 0.0

    def pose(self, q: Sequence[Any]) -> SE3:
        return SE3(RotationZ(cos(q[-1]), sin(q[-1])), Vec3(q[0], q[1], self._height(q)))

    def rates(self, q: Sequence[Any], v: Sequence[Any]) -> Scalars:
        c, s = cos(q[-1]), sin(q[-1])
        return (c * v[0] - s * v[1], s * v[0] + c * v[1], *v[2:])


@final
class Planar(PlanarMotion):
    """Motions in the plane normal to an axis: the subgroup SE(2).

    q = (x, y, angle) and v = (vx, vy, ω), the body-fixed twist: q̇ = (Rz(angle) (vx, vy), ω).
    """

    __slots__ = ()
    nq = nv = 3
    q_names = ("x", "y", "angle")
    v_names = ("vx", "vy", "wz")
    constant = unit_screws(3, 4, 2)


@final
class PlanarScrew(PlanarMotion):
    """Translations in the plane normal to an axis, and a screw motion along it: the subgroup H_p ×
    ℝ².

    q = (x, y, angle) and v = (vx, vy, ω) as of `Planar`; the translation along the axis is
    pitch·angle. The pitch is the translation per radian.
    """

    __slots__ = ("pitch",)
    nq = nv = 3
    q_names = ("x", "y", "angle")
    v_names = ("vx", "vy", "wz")
    pitch: float

    def __init__(
        self, axis: Axis = "z", pitch: float | None = None, coordinates: str = "second"
    ) -> None:
        super().__init__(axis, coordinates)
        self._set(pitch=as_pitch(pitch, "PlanarScrew"))

    def _height(self, q: Sequence[Any]) -> Any:
        return q[2] * self.pitch

    def screws(self, q: Sequence[Any]) -> Screws:
        screw = Twist(Vec3(0.0, 0.0, 1.0), Vec3(0.0, 0.0, self.pitch))
        return Screws((*unit_screws(3, 4).columns, screw))

    def parameters(self) -> Scalars:
        return (self.pitch,)

    def with_parameters(self, parameters: Sequence[Any]) -> Self:
        return self._with(pitch=parameters[0])

    @classmethod
    def examples(cls) -> tuple[Joint, ...]:
        return (cls(pitch=0.4),)


@final
class Schoenflies(PlanarMotion):
    """Translations in space and rotation about a fixed direction: the subgroup SE(2) × ℝ.

    q = (x, y, z, angle) and v = (vx, vy, vz, ω), the body-fixed twist.
    """

    __slots__ = ()
    nq = nv = 4
    q_names = ("x", "y", "z", "angle")
    v_names = ("vx", "vy", "vz", "wz")
    constant = unit_screws(3, 4, 5, 2)

    def _height(self, q: Sequence[Any]) -> Any:
        return q[2]
