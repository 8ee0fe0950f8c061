# pyright: reportConstantRedefinition=false
"""Joints about and along axes, of coordinates that add: all but planar and spatial motions.

Their canonical axis is z (see `mozzi.model.joints.joint`); each is one small final class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, final

from mozzi.errors import ModelError
from mozzi.lie import SE3, Rotation, RotationZ, Screws, Twist, Vec3
from mozzi.model.frames import IDENTITY, Axis, as_axis, as_pose
from mozzi.model.joints.axis_screws import axis_pose, unit_screws
from mozzi.model.joints.joint import Joint, Scalars, as_pitch, check_coordinates
from mozzi.program.scalar import Real, cos, sin

__all__ = [
    "Cylindrical",
    "Fixed",
    "Prismatic",
    "Revolute",
    "Screw",
    "Translation2",
    "Translation3",
    "Universal",
]


@final
class Fixed(Joint):
    """No motion.

    Example:
        >>> mz.Fixed().nv
        0
    """

    __slots__ = ()
    nq = nv = 0
    q_names = v_names = ()
    constant = Screws(())

    def __init__(self) -> None:
        super().__init__()

    def pose(self, q: Sequence[Real]) -> SE3:
        return IDENTITY


@final
class Revolute(Joint):
    """Rotation by q about an axis: the subgroup SO(2).

    Example:
        >>> mz.Revolute([0.6, 0.8, 0.0]).nv
        1
        >>> mz.Revolute("z").pose([np.pi / 2]).matrix()[:2, 0].round(3).tolist()
        [0.0, 1.0]
    """

    __slots__ = ()
    nq = nv = 1
    has_axis = True
    q_names = ("angle",)
    v_names = ("angle",)
    constant = unit_screws(2)

    def __init__(self, axis: Axis = "z") -> None:
        super().__init__(axis_pose(axis, "Revolute"))

    def pose(self, q: Sequence[Real]) -> SE3:
        return SE3(RotationZ(cos(q[0]), sin(q[0])), Vec3.zero())

    @classmethod
    def examples(cls) -> tuple[Joint, ...]:
        return (cls(), cls(axis=(1, 2, -3)))


@final
class Prismatic(Joint):
    """Translation by q along an axis: the subgroup ℝ.

    Example:
        >>> mz.Prismatic("z").pose([0.5]).matrix()[:3, 3].tolist()
        [0.0, 0.0, 0.5]
    """

    __slots__ = ()
    nq = nv = 1
    has_axis = True
    q_names = v_names = ("z",)
    constant = unit_screws(5)

    def __init__(self, axis: Axis = "z") -> None:
        super().__init__(axis_pose(axis, "Prismatic"))

    def pose(self, q: Sequence[Real]) -> SE3:
        return SE3.translation(0.0, 0.0, q[0])


@final
class Screw(Joint):
    """Rotation by q about an axis and translation by pitch·q along it: the subgroup H_p.

    The pitch is the translation per radian (a thread that advances p per turn has the pitch p/2π).

    Example:
        >>> mz.Screw("z", pitch=0.1).pose([2.0]).matrix()[:3, 3].tolist()
        [0.0, 0.0, 0.2]
    """

    __slots__ = ("pitch",)
    nq = nv = 1
    has_axis = True
    q_names = v_names = ("angle",)
    pitch: float

    def __init__(self, axis: Axis = "z", pitch: float | None = None) -> None:
        super().__init__(axis_pose(axis, "Screw"))
        self._set(pitch=as_pitch(pitch, "Screw"))

    def pose(self, q: Sequence[Real]) -> SE3:
        return SE3(RotationZ(cos(q[0]), sin(q[0])), Vec3(0.0, 0.0, q[0] * self.pitch))

    def screws(self, q: Sequence[Real]) -> Screws[Twist]:
        return Screws((Twist(Vec3(0.0, 0.0, 1.0), Vec3(0.0, 0.0, self.pitch)),))

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
        return (cls(pitch=0.3), cls(axis="x", pitch=-1.2))


@final
class Cylindrical(Joint):
    """Rotation by q₀ about an axis and translation by q₁ along it: the subgroup SO(2) × ℝ.

    The two motions commute, so that the coordinates of first and of second kind are the same.

    Example:
        >>> mz.Cylindrical("z").pose([0.3, 0.5]).matrix()[:3, 3].tolist()
        [0.0, 0.0, 0.5]
    """

    __slots__ = ()
    nq = nv = 2
    has_axis = True
    q_names = v_names = ("angle", "z")
    constant = unit_screws(2, 5)

    def __init__(self, axis: Axis = "z", coordinates: str = "second") -> None:
        super().__init__(axis_pose(axis, "Cylindrical"))
        check_coordinates(coordinates, ("first", "second"), "Cylindrical")

    def pose(self, q: Sequence[Real]) -> SE3:
        return SE3(RotationZ(cos(q[0]), sin(q[0])), Vec3(0.0, 0.0, q[1]))


@final
class Translation2(Joint):
    """Translation by (q₀, q₁) in the plane normal to an axis: the subgroup ℝ².

    Translations commute: the coordinates are of first and of second kind at once.

    Example:
        >>> mz.Translation2("z").pose([0.1, 0.2]).matrix()[:3, 3].tolist()
        [0.1, 0.2, 0.0]
    """

    __slots__ = ()
    nq = nv = 2
    q_names = v_names = ("x", "y")
    constant = unit_screws(3, 4)

    def __init__(self, axis: Axis = "z", coordinates: str = "second") -> None:
        super().__init__(axis_pose(axis, "Translation2"))
        check_coordinates(coordinates, ("first", "second"), "Translation2")

    def pose(self, q: Sequence[Real]) -> SE3:
        return SE3.translation(q[0], q[1], 0.0)


@final
class Translation3(Joint):
    """Translation by q in space: the subgroup ℝ³.

    Translations commute: the coordinates are of first and of second kind at once.

    Example:
        >>> mz.Translation3().pose([0.1, 0.2, 0.3]).matrix()[:3, 3].tolist()
        [0.1, 0.2, 0.3]
    """

    __slots__ = ()
    nq = nv = 3
    q_names = v_names = ("x", "y", "z")
    constant = unit_screws(3, 4, 5)

    def __init__(self, coordinates: str = "second") -> None:
        super().__init__()
        check_coordinates(coordinates, ("first", "second"), "Translation3")

    def pose(self, q: Sequence[Real]) -> SE3:
        return SE3.translation(q[0], q[1], q[2])


@final
class Universal(Joint):
    """Rotation by q₀ about ``axis`` on the parent, then by q₁ about ``second`` on the child: T =
    Rz(q₀) Rx(q₁).

    A cross (Hooke's joint) with two perpendicular axes that meet. Not a subgroup: the screws
    depend on q.

    Example:
        >>> mz.Universal("z", "x").nv
        2
    """

    __slots__ = ()
    nq = nv = 2
    q_names = v_names = ("angle_1", "angle_2")
    subgroup = False

    def __init__(self, axis: Axis = "z", second: Axis = "x") -> None:
        z, x = Vec3(*as_axis(axis, "Universal")), Vec3(*as_axis(second, "Universal: second"))
        if abs(z.dot(x)) > 1e-9:
            raise ModelError(
                f"Universal: axes {z.flatten()} and {x.flatten()} are not perpendicular; "
                "give perpendicular axes, or use Composite(Revolute(...), Revolute(...))"
            )
        y = z.cross(x)
        x = y.cross(z)
        entries = (x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z)
        super().__init__(as_pose(SE3(Rotation(*(e + 0.0 for e in entries)), Vec3.zero())))

    def pose(self, q: Sequence[Real]) -> SE3:
        a, b, c, s = cos(q[0]), sin(q[0]), cos(q[1]), sin(q[1])
        return SE3(Rotation(a, -b * c, b * s, b, a * c, -a * s, 0.0, s, c), Vec3.zero())

    def screws(self, q: Sequence[Real]) -> Screws[Twist]:
        first = Twist(Vec3(0.0, sin(q[1]), cos(q[1])), Vec3.zero())
        return Screws((first, Twist(Vec3(1.0, 0.0, 0.0), Vec3.zero())))

    def screws_rate(self, q: Sequence[Real], v: Sequence[Real]) -> Screws[Twist]:
        first = Twist(Vec3(0.0, cos(q[1]) * v[1], -sin(q[1]) * v[1]), Vec3.zero())
        return Screws((first, Twist.zero()))

    @property
    def fitted(self) -> bool:
        """No: two arc tangents."""
        return False

    @classmethod
    def examples(cls) -> tuple[Joint, ...]:
        return (cls(), cls("x", "y"))
