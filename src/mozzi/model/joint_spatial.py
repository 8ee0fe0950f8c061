"""Joints that turn in space: spherical and free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from mozzi.lie import SE3, Rotation, Vec3
from mozzi.model.joint import Joint, Scalars, check_coordinates, unit_screws
from mozzi.program.scalar import divide, sqrt

__all__ = ["Free", "Spherical"]

KINDS = ("quaternion", "first", "second")


def rotation_of_quaternion(q: Sequence[Any]) -> Rotation:
    """The rotation of a unit quaternion (x, y, z, w)."""
    x, y, z, w = q
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return Rotation(
        1.0 - (yy + zz), xy - wz, xz + wy,
        xy + wz, 1.0 - (xx + zz), yz - wx,
        xz - wy, yz + wx, 1.0 - (xx + yy),
    )  # fmt: skip


def quaternion_rates(q: Sequence[Any], w: Sequence[Any]) -> Scalars:
    """½ q ∘ (w, 0): the rate of a unit quaternion under a body-fixed angular velocity."""
    x, y, z, s = q
    a, b, c = (0.5 * e for e in w)
    return (
        s * a + (y * c - z * b),
        s * b + (z * a - x * c),
        s * c + (x * b - y * a),
        -(x * a + y * b + z * c),
    )


def normalized(q: Sequence[Any]) -> Scalars:
    """A quaternion scaled to unit length."""
    x, y, z, w = q
    scale = divide(1.0, sqrt(x * x + y * y + z * z + w * w), nonzero=True)
    return (x * scale, y * scale, z * scale, w * scale)


def random_quaternion(rng: np.random.Generator, batch: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Quaternions of rotations that are uniform on SO(3)."""
    q = rng.normal(size=(4, *batch))
    return tuple(q / np.sqrt((q * q).sum(axis=0)))


@final
class Spherical(Joint):
    """Rotation about a point: the subgroup SO(3).  v is the body-fixed angular velocity.

    The coordinates are a unit quaternion (x, y, z, w), which has no singularity.
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
        check_coordinates(coordinates, ("quaternion",), "Spherical")
        self._set(coordinates=coordinates, nq=4, q_names=("qx", "qy", "qz", "qw"), quaternions=(0,))

    def pose(self, q: Sequence[Any]) -> SE3:
        return SE3(rotation_of_quaternion(q), Vec3.zero())

    def rates(self, q: Sequence[Any], v: Sequence[Any]) -> Scalars:
        return quaternion_rates(q, v)

    def normalize(self, q: Sequence[Any]) -> Scalars:
        return normalized(q)

    def neutral(self) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0, 1.0)

    def random(
        self, rng: np.random.Generator, batch: tuple[int, ...] = ()
    ) -> tuple[np.ndarray, ...]:
        return random_quaternion(rng, batch)


@final
class Free(Joint):
    """All motions: the group SE(3).  v is the body-fixed twist (angular, linear).

    The coordinates are the position and a unit quaternion (x, y, z, w): no singularity.
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
        check_coordinates(coordinates, ("quaternion",), "Free")
        names = ("x", "y", "z", "qx", "qy", "qz", "qw")
        self._set(coordinates=coordinates, nq=7, q_names=names, quaternions=(3,))

    def pose(self, q: Sequence[Any]) -> SE3:
        return SE3(rotation_of_quaternion(q[3:]), Vec3(*q[:3]))

    def rates(self, q: Sequence[Any], v: Sequence[Any]) -> Scalars:
        p = rotation_of_quaternion(q[3:]) @ Vec3(*v[3:])
        return (*p, *quaternion_rates(q[3:], v[:3]))

    def normalize(self, q: Sequence[Any]) -> Scalars:
        return (*q[:3], *normalized(q[3:]))

    def neutral(self) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

    def random(
        self, rng: np.random.Generator, batch: tuple[int, ...] = ()
    ) -> tuple[np.ndarray, ...]:
        return (*(rng.uniform(-1.0, 1.0, batch) for _ in range(3)), *random_quaternion(rng, batch))
