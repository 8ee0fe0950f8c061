"""Unit quaternions (x, y, z, w): the double cover of SO(3)."""

from __future__ import annotations

from typing import final, overload

from mozzi.lie.series import C0, C1, angle_ratio
from mozzi.lie.vec import Spatial, Vec3
from mozzi.program.scalar import Real, divide, real, select, sqrt

__all__ = ["Quaternion"]


@final
class Quaternion(Spatial):
    """The quaternion x i + y j + z k + w."""

    __slots__ = ("w", "x", "y", "z")
    SIZE, SHAPE = 4, (4,)

    def __init__(self, x: Real, y: Real, z: Real, w: Real):
        self.x, self.y, self.z, self.w = x, y, z, w

    @classmethod
    def identity(cls) -> Quaternion:
        """The quaternion 1, of structural zeros and ones."""
        return cls(0.0, 0.0, 0.0, 1.0)

    @classmethod
    def exp(cls, w: Vec3) -> Quaternion:
        """The unit quaternion of the rotation `Rotation.exp(w)`, continuous in w."""
        quarter = 0.25 * w.dot(w)
        v = w * (0.5 * C1(quarter))
        return cls(v.x, v.y, v.z, C0(quarter))

    def flatten(self) -> tuple[Real, ...]:
        return (self.x, self.y, self.z, self.w)

    def vector(self) -> Vec3:
        """(x, y, z)."""
        return Vec3(self.x, self.y, self.z)

    def log(self) -> Vec3:
        """The shortest w with exp(w) = ±q, for a q of any length but zero; |w| ≤ π.

        At |w| = π, where w and −w are the same rotation, it is (x, y, z) that gives the sign.
        """
        v, n2 = self.vector(), self.vector().dot(self.vector())
        sign = select(real(self.w) < 0.0, -1.0, 1.0)
        return v * (2.0 * sign * angle_ratio(n2, sign * self.w))

    def normalized(self) -> Quaternion:
        """q / |q|."""
        x, y, z, w = self.x, self.y, self.z, self.w
        scale = divide(1.0, sqrt(x * x + y * y + z * z + w * w), nonzero=True)
        return Quaternion(x * scale, y * scale, z * scale, w * scale)

    def conjugate(self) -> Quaternion:
        """The inverse of a unit quaternion."""
        return Quaternion(-self.x, -self.y, -self.z, self.w)

    def __neg__(self) -> Quaternion:
        return Quaternion(-self.x, -self.y, -self.z, -self.w)

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: Quaternion) -> Quaternion: ...
    def __matmul__(self, other: Vec3 | Quaternion) -> Vec3 | Quaternion:
        """The product, in the order of rotations; a `Vec3` is rotated."""
        if type(other) is Vec3:
            v = self.vector()
            t = v.cross(other)
            t = t + t
            return other + t * self.w + v.cross(t)
        if type(other) is not Quaternion:
            return NotImplemented
        a, b, c, d = self.x, self.y, self.z, self.w
        x, y, z, w = other.x, other.y, other.z, other.w
        return Quaternion(
            d * x + a * w + b * z - c * y,
            d * y + b * w + c * x - a * z,
            d * z + c * w + a * y - b * x,
            d * w - a * x - b * y - c * z,
        )

    def rate(self, omega: Vec3) -> Quaternion:
        """dq/dt = ½ q (ω, 0), for the body-fixed angular velocity ω."""
        return self @ Quaternion(0.5 * omega.x, 0.5 * omega.y, 0.5 * omega.z, 0.0)

    def slerp(self, other: Quaternion, t: Real) -> Quaternion:
        """The geodesic with slerp(0) = q and slerp(1) = ± other, the shorter way."""
        return self @ Quaternion.exp((self.conjugate() @ other).log() * t)
