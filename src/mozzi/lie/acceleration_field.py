"""The accelerations of the points of a rigid body, and the wrench that causes them."""

from __future__ import annotations

from typing import final

from mozzi.lie.inertia import Inertia
from mozzi.lie.screw import Twist, Wrench
from mozzi.lie.vec import Mat3, Spatial, Sym3, Vec3

__all__ = ["AccelerationField", "field_pullback", "linear_moments", "second_moments"]


@final
class AccelerationField(Spatial):
    """The accelerations of a body's points, relative to the frame's origin:  r̈(x) − r̈(0) = Q x.

    Q = [ω̇] + [ω][ω], in body axes. More generally Q = [u̇] + [ω][u] takes x to the rate of u × x,
    for any field u of angular velocities that is carried along with the body (u = ω: its own).
    """

    __slots__ = ("sx", "sy", "sz", "xy", "xz", "yx", "yz", "zx", "zy")
    SIZE = 9

    def __init__(self, du: Vec3, w: Vec3, u: Vec3):
        self.sx, self.sy, self.sz = u.x * w.x, u.y * w.y, u.z * w.z
        self.xy, self.yx = u.x * w.y - du.z, u.y * w.x + du.z
        self.yz, self.zy = u.y * w.z - du.x, u.z * w.y + du.x
        self.zx, self.xz = u.z * w.x - du.y, u.x * w.z + du.y

    def __matmul__(self, x: Vec3) -> Vec3:
        """Q x."""
        return Vec3(
            self.xy * x.y + self.xz * x.z - (self.sy + self.sz) * x.x,
            self.yx * x.x + self.yz * x.z - (self.sx + self.sz) * x.y,
            self.zx * x.x + self.zy * x.y - (self.sx + self.sy) * x.z,
        )

    def transposed(self, x: Vec3) -> Vec3:
        """Qᵀ x."""
        return Vec3(
            self.yx * x.y + self.zx * x.z - (self.sy + self.sz) * x.x,
            self.xy * x.x + self.zy * x.z - (self.sx + self.sz) * x.y,
            self.xz * x.x + self.yz * x.y - (self.sx + self.sy) * x.z,
        )

    def torque(self, E: Sym3) -> Vec3:
        """∫ x × Q x dm, from the second moments E = ∫ x xᵀ dm."""
        return Vec3(
            (self.zx * E.xy - self.yx * E.xz) + (self.zy * E.yy - self.yz * E.zz)
            + (self.sz - self.sy) * E.yz,
            (self.xy * E.yz - self.zy * E.xy) + (self.xz * E.zz - self.zx * E.xx)
            + (self.sx - self.sz) * E.xz,
            (self.yz * E.xz - self.xz * E.yz) + (self.yx * E.xx - self.xy * E.yy)
            + (self.sy - self.sx) * E.xy,
        )  # fmt: skip

    def wrench(self, I: Inertia, a: Vec3) -> Wrench:
        """The wrench that moves a body so, when its origin accelerates by a.  MD42, MD43."""
        return Wrench(self.torque(second_moments(I)) + I.h.cross(a), a * I.m + self @ I.h)


def second_moments(I: Inertia) -> Sym3:
    """∫ x xᵀ dm = ½ tr(J) 1 − J: Binet's inertia tensor ϑ."""
    J = I.J
    half = 0.5 * J.trace()
    return Sym3(half - J.xx, -J.xy, -J.xz, half - J.yy, -J.yz, half - J.zz)


def linear_moments(I: Inertia, X: Twist) -> Mat3:
    """∫ x_t xᵀ dm of a body whose points x move by x_t = l + μ × x, X = (μ, l):  l hᵀ + [μ] E.

    The power of that motion in a field of accelerations r̈ + Q x is its product with Q, entry by
    entry, and that of the momentum m l + μ × h with r̈.
    """
    w, at, h = X.ang, X.lin, I.h
    x, y, z = second_moments(I).mat().rows()
    return Mat3.from_rows(
        h * at.x + (z * w.y - y * w.z),
        h * at.y + (x * w.z - z * w.x),
        h * at.z + (y * w.x - x * w.y),
    )


def field_pullback(N: Mat3, w: Vec3) -> tuple[Vec3, Vec3]:
    """What Σ N_ij Q_ij gains from a unit of ω̇ and of ω, with Q = [ω̇] + [ω][ω]."""
    by_rate = Vec3(N.zy - N.yz, N.xz - N.zx, N.yx - N.xy)
    xy, xz, yz = N.xy + N.yx, N.xz + N.zx, N.yz + N.zy
    x, y, z = N.yy + N.zz, N.xx + N.zz, N.xx + N.yy
    return by_rate, Vec3(
        xy * w.y + xz * w.z - (x + x) * w.x,
        xy * w.x + yz * w.z - (y + y) * w.y,
        xz * w.x + yz * w.y - (z + z) * w.z,
    )
