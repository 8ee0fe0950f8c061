"""Poses: the group SE(3)."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from mozzi.lie.so3 import Rotation, RotationZ
from mozzi.lie.vec import Spatial, Vec3, stack, unstack

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
    def from_matrix(cls, matrix: Any, p: Any = None) -> SE3:
        """From a 4×4 array, or from a 3×3 array and a position."""
        if p is not None:
            return cls(Rotation.from_array(matrix), Vec3.from_array(p))
        e = unstack(matrix, (4, 4))
        return cls(Rotation(*e[0:3], *e[4:7], *e[8:11]), Vec3(e[3], e[7], e[11]))

    from_array = from_matrix

    def matrix(self) -> np.ndarray:
        """The homogeneous 4×4 matrix."""
        r, p = self.R.general().flatten(), self.p
        bottom = (0.0, 0.0, 0.0, 1.0)
        return stack((*r[0:3], p.x, *r[3:6], p.y, *r[6:9], p.z, *bottom), (4, 4))

    array = matrix

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
