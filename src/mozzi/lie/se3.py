# pyright: reportConstantRedefinition=false
"""Poses: the group SE(3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeVar, final, overload

import numpy as np
from numpy.typing import ArrayLike

from mozzi.errors import KindError
from mozzi.lie.axis import ScrewAxis
from mozzi.lie.dexp import dexp_inverse
from mozzi.lie.screw import Pullable, Pushable, Twist, matrix_of
from mozzi.lie.series import C1, C2, C3
from mozzi.lie.so3 import SO3, Rotation
from mozzi.lie.vec import Spatial, Vec3, number, stack, unstack
from mozzi.program.scalar import Real, cos, sin

__all__ = ["SE3"]

In = TypeVar("In", bound=Pullable)
Out = TypeVar("Out", bound=Pushable)


@final
class SE3(Spatial):
    """The pose T_AB of a frame B in a frame A:  p_A = R p_B + p.

    Example:
        >>> T = mz.SE3.translation(1.0, 0.0, 0.0) @ mz.SE3.exp(mz.Twist.screw((0, 0, 1)), np.pi / 2)
        >>> T.matrix().round(3)[:2].tolist()
        [[0.0, -1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]]
    """

    __slots__ = ("R", "p")
    SIZE, SHAPE = 12, (4, 4)

    def __init__(self, R: SO3, p: Vec3):
        self.R, self.p = R, p

    @classmethod
    def identity(cls) -> SE3:
        """The identity, of structural zeros and ones.

        Example:
            >>> mz.SE3.identity().matrix().shape
            (4, 4)
        """
        return cls(Rotation.identity(), Vec3.zero())

    @classmethod
    def translation(cls, x: Real, y: Real, z: Real) -> SE3:
        """The pure translation by (x, y, z).

        Example:
            >>> T = mz.SE3.translation(1.0, 2.0, 3.0)
            >>> T.matrix()[:3, 3].tolist()
            [1.0, 2.0, 3.0]
        """
        return cls(Rotation.identity(), Vec3(x, y, z))

    @classmethod
    def exp(cls, X: Twist, scale: Real = 1.0) -> SE3:
        """The screw motion exp(scale X̂).  Müller, Kinematics (69), (70).

        Example:
            >>> T = mz.SE3.exp(mz.Twist.screw((0, 0, 1), pitch=0.1), np.pi)
            >>> T.matrix()[2, 3].round(4).item()
            0.3142
        """
        if not isinstance(X, Twist):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise KindError("SE3.exp", "X", X, "a Twist, such as Twist.from_array(six numbers)")
        known = [e for x in X.ang if (e := number(x)) is not None]
        mpmath = hasattr(scale, "context")  # to 50 digits, an axis of doubles is no unit vector
        if len(known) == 3 and not mpmath:
            return cls._constant(known, X.lin, scale)
        w, v = X.ang * scale, X.lin * scale
        x = w.dot(w)
        b = C2[0](x)
        u = w.cross(v)
        return cls(Rotation.polynomial(w, C1(x), b), v + u * b + w.cross(u) * C3[0](x))

    @classmethod
    def _constant(cls, w: Sequence[float], v: Vec3, scale: Real) -> SE3:
        """exp of a multiple of a screw whose axis is known: one sine, one cosine, no branch."""
        n = math.hypot(*w)
        if n == 0.0:
            return cls(Rotation.identity(), v * scale)
        e, h = Vec3(*(x / n for x in w)), 0.5 * n * scale
        s, c = sin(h), cos(h)
        a, b = 2.0 * (s * c), 2.0 * (s * s)
        u = e.cross(v)
        along = e * (e.dot(v) * scale)
        return cls(Rotation.polynomial(e, a, b), along + u * (b / n) - e.cross(u) * (a / n))

    def log(self) -> Twist:
        """The shortest X with exp(X) = T, |X.ang| ≤ π; at π as `Rotation.log`.

        Example:
            >>> mz.SE3.translation(1.0, 2.0, 3.0).log().array().tolist()
            [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]
        """
        w = self.R.log()
        return Twist(w, dexp_inverse(w, self.p))

    def axis(self) -> ScrewAxis:
        """The screw of the displacement: about which axis it turns by the angle `magnitude` (≤ π),
        and how far it moves along it per radian; of a translation, the direction and distance.

        Mozzi's theorem: ``SE3.exp(Twist.screw(*T.axis()))`` is T.

        Example:
            >>> T = mz.SE3.exp(mz.Twist.screw((0, 0, 1), point=(1, 0, 0)), 0.5)
            >>> round(float(T.axis().magnitude), 6), T.axis().point.array().round(6)[0].item()
            (0.5, 1.0)
        """
        return self.log().axis()

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, p: ArrayLike | None = None) -> SE3:
        """From a 4×4 array, or from a 3×3 array and a position.

        Args:
            matrix: the array.
            p: a position.

        Example:
            >>> mz.SE3.from_matrix(np.eye(3), (0, 0, 1)).matrix()[2, 3].item()
            1.0
        """
        if p is not None:
            return cls(Rotation.from_array(matrix), Vec3.from_array(p))
        e = unstack(matrix, (4, 4))
        return cls(Rotation(*e[0:3], *e[4:7], *e[8:11]), Vec3(e[3], e[7], e[11]))

    @classmethod
    def from_array(cls, array: ArrayLike) -> SE3:
        """From a 4×4 array.

        Example:
            >>> mz.SE3.from_array(np.eye(4)).matrix().shape
            (4, 4)
        """
        return cls.from_matrix(array)

    def matrix(self) -> np.ndarray:
        """The homogeneous 4×4 matrix.

        Example:
            >>> T = mz.SE3.translation(1.0, 2.0, 3.0)
            >>> T.matrix().shape
            (4, 4)
        """
        r, p = self.R.general().flatten(), self.p
        bottom = (0.0, 0.0, 0.0, 1.0)
        return stack((*r[0:3], p.x, *r[3:6], p.y, *r[6:9], p.z, *bottom), (4, 4))

    def array(self) -> np.ndarray:
        return self.matrix()

    def flatten(self) -> tuple[Real, ...]:
        return self.R.general().flatten() + self.p.flatten()

    @classmethod
    def unflatten(cls, scalars: Iterable[Real]) -> SE3:
        r = tuple(scalars)
        return cls(Rotation(*r[:9]), Vec3(*r[9:]))

    def inverse(self) -> SE3:
        """T_BA of T_AB.

        Example:
            >>> T = mz.SE3.translation(1.0, 2.0, 3.0)
            >>> T.inverse().matrix()[:3, 3].tolist()
            [-1.0, -2.0, -3.0]
        """
        return SE3(self.R.T, -self.R.unrotate(self.p))

    @overload
    def __matmul__(self, other: SE3) -> SE3: ...
    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    def __matmul__(self, other: SE3 | Vec3) -> SE3 | Vec3:
        if type(other) is SE3:
            return SE3(self.R @ other.R, self.R.rotate(other.p) + self.p)
        if type(other) is Vec3:
            return self.R.rotate(other) + self.p
        if isinstance(other, np.ndarray):
            raise TypeError("SE3 @ array: give an SE3, or multiply with the array T.matrix()")
        return NotImplemented

    def pull(self, x: In) -> In:
        """x_B of x_A, for the pose T_AB; x is a point, screw, inertia or pose.

        Example:
            >>> T = mz.SE3.translation(0.0, 0.0, 1.0)
            >>> T.pull(mz.Wrench.from_array([0, 0, 0, 1.0, 0, 0])).array().tolist()
            [0.0, -1.0, 0.0, 1.0, 0.0, 0.0]
        """
        return x.pulled(self.R, self.p)

    def push(self, x: Out) -> Out:
        """x_A of x_B, for the pose T_AB; x is a point, screw, inertia or pose.

        Example:
            >>> T = mz.SE3.translation(0.0, 0.0, 1.0)
            >>> T.push(mz.Twist.from_array([1.0, 0, 0, 0, 0, 0])).array().tolist()
            [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
        """
        return x.pushed(self.R, self.p)

    def Ad(self) -> np.ndarray:
        """The 6×6 matrix of `push` on twists.

        Example:
            >>> T, V = mz.SE3.translation(0.0, 0.0, 1.0), mz.Twist.from_array(np.arange(6.0))
            >>> np.allclose(T.Ad() @ V.array(), T.push(V).array())
            True
        """
        return matrix_of(self.push, Twist)

    def Ad_dual(self) -> np.ndarray:
        """Ad* = Adᵀ, the 6×6 matrix of `pull` on wrenches.  Kim (8).

        Example:
            >>> T = mz.SE3.translation(0.0, 0.0, 1.0)
            >>> np.allclose(T.Ad_dual(), T.Ad().T)
            True
        """
        return np.swapaxes(self.Ad(), -1, -2)
