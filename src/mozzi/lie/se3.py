"""Poses: the group SE(3)."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from mozzi.lie.dexp import dexp_inverse
from mozzi.lie.screw import Twist, matrix_of
from mozzi.lie.series import C1, C2, C3
from mozzi.lie.so3 import Rotation, RotationZ
from mozzi.lie.vec import Spatial, Vec3, number, stack, unstack
from mozzi.program.scalar import cos, sin

__all__ = ["SE3"]


@final
class SE3(Spatial):
    """The pose T_AB of a frame B in a frame A:  p_A = R p_B + p."""

    __slots__ = ("R", "p")
    SIZE, SHAPE = 12, (4, 4)

    def __init__(self, R: Rotation | RotationZ, p: Vec3):
        self.R, self.p = R, p

    @classmethod
    def identity(cls) -> SE3:
        """The identity, of structural zeros and ones."""
        return cls(Rotation.identity(), Vec3.zero())

    @classmethod
    def translation(cls, x: Any, y: Any, z: Any) -> SE3:
        """The pure translation by (x, y, z)."""
        return cls(Rotation.identity(), Vec3(x, y, z))

    @classmethod
    def exp(cls, X: Twist, scale: Any = 1.0) -> SE3:
        """The screw motion exp(scale X̂).  Müller, Kinematics (69), (70)."""
        w = tuple(number(e) for e in X.ang)
        mpmath = hasattr(scale, "context")  # to 50 digits, an axis of doubles is no unit vector
        if None not in w and not mpmath:
            return cls._constant(Vec3(*w), X.lin, scale)
        w, v = X.ang * scale, X.lin * scale
        x = w.dot(w)
        b = C2[0](x)
        u = w.cross(v)
        return cls(Rotation.polynomial(w, C1(x), b), v + u * b + w.cross(u) * C3[0](x))

    @classmethod
    def _constant(cls, w: Vec3, v: Vec3, scale: Any) -> SE3:
        """exp of a multiple of a screw whose axis is known: one sine, one cosine, no branch."""
        n = math.hypot(w.x, w.y, w.z)
        if n == 0.0:
            return cls(Rotation.identity(), v * scale)
        e, h = Vec3(w.x / n, w.y / n, w.z / n), 0.5 * n * scale
        s, c = sin(h), cos(h)
        a, b = 2.0 * (s * c), 2.0 * (s * s)
        u = e.cross(v)
        along = e * (e.dot(v) * scale)
        return cls(Rotation.polynomial(e, a, b), along + u * (b / n) - e.cross(u) * (a / n))

    def log(self) -> Twist:
        """The shortest X with exp(X) = T, |X.ang| ≤ π; at π as `Rotation.log`."""
        w = self.R.log()
        return Twist(w, dexp_inverse(w, self.p))

    @classmethod
    def from_matrix(cls, matrix: Any, p: Any = None) -> SE3:
        """From a 4×4 array, or from a 3×3 array and a position."""
        if p is not None:
            return cls(Rotation.from_array(matrix), Vec3.from_array(p))
        e = unstack(matrix, (4, 4))
        return cls(Rotation(*e[0:3], *e[4:7], *e[8:11]), Vec3(e[3], e[7], e[11]))

    @classmethod
    def from_array(cls, array: Any) -> SE3:
        """From a 4×4 array."""
        return cls.from_matrix(array)

    def matrix(self) -> np.ndarray:
        """The homogeneous 4×4 matrix."""
        r, p = self.R.general().flatten(), self.p
        bottom = (0.0, 0.0, 0.0, 1.0)
        return stack((*r[0:3], p.x, *r[3:6], p.y, *r[6:9], p.z, *bottom), (4, 4))

    def array(self) -> np.ndarray:
        return self.matrix()

    def flatten(self) -> tuple[Any, ...]:
        return self.R.general().flatten() + self.p.flatten()

    @classmethod
    def unflatten(cls, scalars: Any) -> SE3:
        r = tuple(scalars)
        return cls(Rotation(*r[:9]), Vec3(*r[9:]))

    def inverse(self) -> SE3:
        """T_BA of T_AB."""
        return SE3(self.R.T, -self.R.unrotate(self.p))

    def __matmul__(self, other: Any) -> Any:
        if type(other) is SE3:
            return SE3(self.R @ other.R, self.R.rotate(other.p) + self.p)
        if type(other) is Vec3:
            return self.R.rotate(other) + self.p
        return NotImplemented

    def pull(self, x: Any) -> Any:
        """x_B of x_A, for the pose T_AB."""
        return x._pull(self.R, self.p)

    def push(self, x: Any) -> Any:
        """x_A of x_B, for the pose T_AB."""
        return x._push(self.R, self.p)

    def Ad(self) -> np.ndarray:
        """The 6×6 matrix of `push` on twists."""
        return matrix_of(self.push, Twist)

    def Ad_dual(self) -> np.ndarray:
        """Ad* = Adᵀ, the 6×6 matrix of `pull` on wrenches.  Kim (8)."""
        return np.swapaxes(self.Ad(), -1, -2)
