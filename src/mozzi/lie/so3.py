# pyright: reportConstantRedefinition=false
"""Rotations: the group SO(3)."""

from __future__ import annotations

from typing import TypeAlias, final, overload

import numpy as np
from numpy.typing import ArrayLike

from mozzi.errors import KindError
from mozzi.lie.quaternion import Quaternion
from mozzi.lie.series import C1, C2
from mozzi.lie.vec import Mat3, Spatial, Sym3, Vec3, number, unstack
from mozzi.program.scalar import Real, atan2, cos, real, select, sin

__all__ = ["SO3", "Rotation", "RotationZ"]


def _turn_sym(c: Real, s: Real, S: Sym3) -> Sym3:
    """Rz S Rzᵀ in 8 multiplications, using c² + s² = 1."""
    twice = (c + c) * S.xy if number(S.xy) is None else c * (S.xy + S.xy)
    u = s * (S.xx - S.yy) + twice
    su = s * u
    return Sym3(S.xx - su, c * u - S.xy, c * S.xz - s * S.yz, S.yy + su, s * S.xz + c * S.yz, S.zz)


def _turn_mat(c: Real, s: Real, A: Mat3) -> Mat3:
    """Rz A Rzᵀ in 12 multiplications, using c² + s² = 1."""
    u = s * (A.xx - A.yy) + c * (A.xy + A.yx)
    su, cu = s * u, c * u
    return Mat3(
        A.xx - su, cu - A.yx, c * A.xz - s * A.yz,
        cu - A.xy, A.yy + su, s * A.xz + c * A.yz,
        c * A.zx - s * A.zy, s * A.zx + c * A.zy, A.zz,
    )  # fmt: skip


@final
class RotationZ(Spatial):
    """The rotation about z by the angle with this cosine and sine."""

    __slots__ = ("c", "s")
    SIZE, SHAPE = 2, (3, 3)

    def __init__(self, c: Real, s: Real):
        self.c, self.s = c, s

    @classmethod
    def angle(cls, q: Real) -> RotationZ:
        """The rotation about z by the angle q."""
        return cls(cos(q), sin(q))

    @classmethod
    def from_array(cls, array: ArrayLike) -> RotationZ:
        """From a 3×3 array that is a rotation about z."""
        e = unstack(array, (3, 3))
        return cls(e[0], e[3])

    def log(self) -> Vec3:
        """The rotation vector (0, 0, q), −π < q ≤ π."""
        return Vec3(0.0, 0.0, atan2(self.s, self.c))

    def quaternion(self) -> Quaternion:
        """The unit quaternion with w ≥ 0."""
        return self.general().quaternion()

    def flatten(self) -> tuple[Real, ...]:
        return (self.c, self.s)

    def general(self) -> Rotation:
        """The same rotation with nine entries."""
        c, s = self.c, self.s
        return Rotation(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)

    def mat(self) -> Mat3:
        """The matrix."""
        return self.general().mat()

    def array(self) -> np.ndarray:
        return self.general().array()

    @property
    def T(self) -> RotationZ:
        """The inverse."""
        return RotationZ(self.c, -self.s)

    def rotate(self, v: Vec3) -> Vec3:
        """R v."""
        c, s = self.c, self.s
        return Vec3(c * v.x - s * v.y, s * v.x + c * v.y, v.z)

    def unrotate(self, v: Vec3) -> Vec3:
        """Rᵀ v."""
        c, s = self.c, self.s
        return Vec3(c * v.x + s * v.y, c * v.y - s * v.x, v.z)

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: RotationZ) -> RotationZ: ...
    @overload
    def __matmul__(self, other: Rotation) -> Rotation: ...
    def __matmul__(self, other: Vec3 | SO3) -> Vec3 | SO3:
        if type(other) is Vec3:
            return self.rotate(other)
        if type(other) is RotationZ:
            c, s = self.c, self.s
            return RotationZ(c * other.c - s * other.s, s * other.c + c * other.s)
        if type(other) is Rotation:
            c, s, R = self.c, self.s, other
            return Rotation(
                c * R.xx - s * R.yx, c * R.xy - s * R.yy, c * R.xz - s * R.yz,
                s * R.xx + c * R.yx, s * R.xy + c * R.yy, s * R.xz + c * R.yz,
                R.zx, R.zy, R.zz,
            )  # fmt: skip
        return NotImplemented

    @overload
    def congruence(self, A: Sym3) -> Sym3: ...
    @overload
    def congruence(self, A: Mat3) -> Mat3: ...
    def congruence(self, A: Sym3 | Mat3) -> Sym3 | Mat3:
        """R A Rᵀ, of a `Sym3` or a `Mat3`."""
        if isinstance(A, Sym3):
            return _turn_sym(self.c, self.s, A)
        return _turn_mat(self.c, self.s, A)


def _axis(entries: tuple[Real, ...]) -> int:
    """Where a rotation about a coordinate axis (up to signed permutations) has its ±1; else −1."""
    known = [number(e) for e in entries]
    if known.count(0.0) == 4:
        for k, e in enumerate(known):
            i, j = divmod(k, 3)
            others = [known[3 * i + m] for m in range(3) if m != j]
            others += [known[3 * m + j] for m in range(3) if m != i]
            if e in (1.0, -1.0) and others == [0.0] * 4:
                return k
    return -1


@final
class Rotation(Spatial):
    """A rotation matrix of nine entries, row by row.

    Example:
        >>> R = mz.Rotation.from_array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
        >>> (R @ R.T).array().tolist() == np.eye(3).tolist()
        True
    """

    __slots__ = ("xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz")
    SIZE, SHAPE = 9, (3, 3)

    def __init__(
        self,
        xx: Real, xy: Real, xz: Real,
        yx: Real, yy: Real, yz: Real,
        zx: Real, zy: Real, zz: Real,
    ):  # fmt: skip
        self.xx, self.xy, self.xz = xx, xy, xz
        self.yx, self.yy, self.yz = yx, yy, yz
        self.zx, self.zy, self.zz = zx, zy, zz

    @classmethod
    def identity(cls) -> Rotation:
        """The identity, of structural zeros and ones.

        Example:
            >>> mz.Rotation.identity().array().tolist() == np.eye(3).tolist()
            True
        """
        return cls(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)

    @classmethod
    def exp(cls, w: Vec3) -> Rotation:
        """The rotation about w by the angle |w|: exp [w].  Müller, Kinematics (65).

        Example:
            >>> z = mz.Twist.from_array([0, 0, 1, 0, 0, 0]).ang
            >>> mz.Rotation.exp(z * (np.pi / 2)).array()[1, 0].round(6).item()
            1.0
        """
        if not isinstance(w, Vec3):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise KindError("Rotation.exp", "w", w, "a Vec3, such as Twist.from_array(…).ang")
        x = w.dot(w)
        return cls.polynomial(w, C1(x), C2[0](x))

    @classmethod
    def about(cls, axis: Vec3, angle: Real) -> Rotation:
        """The rotation about a unit axis.  Müller, Kinematics (66).

        Args:
            axis: a unit vector.
            angle: in radians.

        Example:
            >>> z = mz.Twist.from_array([0, 0, 1, 0, 0, 0]).ang
            >>> mz.Rotation.about(z, np.pi).array()[0, 0].item()
            -1.0
        """
        h = 0.5 * angle
        s, c = sin(h), cos(h)
        return cls.polynomial(axis, 2.0 * (s * c), 2.0 * (s * s))

    @classmethod
    def polynomial(cls, w: Vec3, a: Real, b: Real) -> Rotation:
        """1 + a [w] + b [w]².

        Example:
            >>> z = mz.Twist.from_array([0, 0, 1, 0, 0, 0]).ang
            >>> mz.Rotation.polynomial(z, 0.0, 2.0).array()[0, 0].item()  # half a turn
            -1.0
        """
        x, y, z = w.x, w.y, w.z
        bx, by, bz = b * x, b * y, b * z
        xx, yy, zz, xy, xz, yz = bx * x, by * y, bz * z, bx * y, bx * z, by * z
        ax, ay, az = a * x, a * y, a * z
        return cls(
            1.0 - (yy + zz), xy - az, xz + ay,
            xy + az, 1.0 - (xx + zz), yz - ax,
            xz - ay, yz + ax, 1.0 - (xx + yy),
        )  # fmt: skip

    @classmethod
    def from_quaternion(cls, q: Quaternion) -> Rotation:
        """The rotation v ↦ q v q⁻¹ of a unit quaternion.

        Example:
            >>> z = mz.Twist.from_array([0, 0, 1, 0, 0, 0]).ang
            >>> R = mz.Rotation.about(z, 0.5)
            >>> np.allclose(mz.Rotation.from_quaternion(R.quaternion()).array(), R.array())
            True
        """
        if not isinstance(q, Quaternion):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise KindError("Rotation.from_quaternion", "q", q, "a Quaternion of mozzi.lie")
        x, y, z, w = q.x, q.y, q.z, q.w
        x2, y2, z2 = x + x, y + y, z + z
        xx, yy, zz, xy, xz, yz = x * x2, y * y2, z * z2, x * y2, x * z2, y * z2
        wx, wy, wz = w * x2, w * y2, w * z2
        return cls(
            1.0 - (yy + zz), xy - wz, xz + wy,
            xy + wz, 1.0 - (xx + zz), yz - wx,
            xz - wy, yz + wx, 1.0 - (xx + yy),
        )  # fmt: skip

    def ray(self) -> Quaternion:
        """A multiple of the unit quaternion ±q, positive in the largest entry of q (the first).

        Example:
            >>> mz.Rotation.identity().ray().array().tolist()
            [0.0, 0.0, 0.0, 4.0]
        """
        xx, yy, zz = self.xx, self.yy, self.zz
        yz, zx, xy = self.yz + self.zy, self.zx + self.xz, self.xy + self.yx
        wx, wy, wz = self.zy - self.yz, self.xz - self.zx, self.yx - self.xy
        x, y = 1.0 + xx - yy - zz, 1.0 - xx + yy - zz
        z, w = 1.0 - xx - yy + zz, 1.0 + xx + yy + zz
        # columns of the symmetric matrix 4 q qᵀ, with their diagonal entries: the largest wins
        columns = (
            (w, (wx, wy, wz, w)), (x, (x, xy, zx, wx)), (y, (xy, y, yz, wy)), (z, (zx, yz, z, wz)),
        )  # fmt: skip
        largest, best = columns[0]
        for pivot, column in columns[1:]:
            better = real(pivot) > real(largest)
            largest = select(better, pivot, largest)
            best = tuple(select(better, a, b) for a, b in zip(column, best, strict=True))
        return Quaternion(*best)

    def quaternion(self) -> Quaternion:
        """The unit quaternion with w ≥ 0 (of the two with w = 0, one).

        Example:
            >>> z = mz.Twist.from_array([0, 0, 1, 0, 0, 0]).ang
            >>> mz.Rotation.about(z, np.pi / 2).quaternion().array().round(4).tolist()
            [0.0, 0.0, 0.7071, 0.7071]
        """
        q = self.ray().normalized()
        sign = select(real(q.w) < 0.0, -1.0, 1.0)
        return Quaternion(sign * q.x, sign * q.y, sign * q.z, sign * q.w)

    def log(self) -> Vec3:
        """The shortest w with exp(w) = R; at |w| = π its largest entry (the first) is positive.

        Example:
            >>> z = mz.Twist.from_array([0, 0, 1, 0, 0, 0]).ang
            >>> mz.Rotation.about(z, 0.5).log().array().round(6).tolist()
            [0.0, 0.0, 0.5]
        """
        return self.ray().log()

    def flatten(self) -> tuple[Real, ...]:
        return (
            self.xx, self.xy, self.xz, self.yx, self.yy, self.yz, self.zx, self.zy, self.zz,
        )  # fmt: skip

    def general(self) -> Rotation:
        """The same rotation with nine entries: itself.

        Example:
            >>> mz.Rotation.identity().general().array().shape
            (3, 3)
        """
        return self

    def mat(self) -> Mat3:
        """The matrix.

        Example:
            >>> mz.Rotation.identity().mat().array().shape
            (3, 3)
        """
        return Mat3(*self.flatten())

    @property
    def T(self) -> Rotation:
        """The inverse."""
        return Rotation(
            self.xx, self.yx, self.zx, self.xy, self.yy, self.zy, self.xz, self.yz, self.zz,
        )  # fmt: skip

    def rotate(self, v: Vec3) -> Vec3:
        """R v.

        Example:
            >>> z = mz.Twist.from_array([0, 0, 1, 0, 0, 0]).ang
            >>> mz.Rotation.about(z, 0.5).rotate(z).array().tolist()
            [0.0, 0.0, 1.0]
        """
        x, y, z = v.x, v.y, v.z
        return Vec3(
            self.xx * x + self.xy * y + self.xz * z,
            self.yx * x + self.yy * y + self.yz * z,
            self.zx * x + self.zy * y + self.zz * z,
        )

    def unrotate(self, v: Vec3) -> Vec3:
        """Rᵀ v.

        Example:
            >>> z = mz.Twist.from_array([0, 0, 1, 0, 0, 0]).ang
            >>> R = mz.Rotation.about(z, 0.5)
            >>> R.unrotate(R.rotate(z)).array().tolist()
            [0.0, 0.0, 1.0]
        """
        x, y, z = v.x, v.y, v.z
        return Vec3(
            self.xx * x + self.yx * y + self.zx * z,
            self.xy * x + self.yy * y + self.zy * z,
            self.xz * x + self.yz * y + self.zz * z,
        )

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: SO3) -> Rotation: ...
    def __matmul__(self, other: Vec3 | SO3) -> Vec3 | Rotation:
        if type(other) is Vec3:
            return self.rotate(other)
        if type(other) is RotationZ:
            c, s = other.c, other.s
            return Rotation(
                self.xx * c + self.xy * s, self.xy * c - self.xx * s, self.xz,
                self.yx * c + self.yy * s, self.yy * c - self.yx * s, self.yz,
                self.zx * c + self.zy * s, self.zy * c - self.zx * s, self.zz,
            )  # fmt: skip
        if type(other) is Rotation:
            return Rotation(*(self.mat() @ other.mat()).flatten())
        return NotImplemented

    @overload
    def congruence(self, A: Sym3) -> Sym3: ...
    @overload
    def congruence(self, A: Mat3) -> Mat3: ...
    def congruence(self, A: Sym3 | Mat3) -> Sym3 | Mat3:
        """R A Rᵀ, of a `Sym3` or a `Mat3`.

        Example:
            >>> z = mz.Twist.from_array([0, 0, 1, 0, 0, 0]).ang
            >>> R = mz.Rotation.about(z, 0.5)
            >>> J = mz.Inertia(1.0, (0, 0, 0), np.diag([1, 2, 3])).at_com()
            >>> np.allclose(R.congruence(J).array(), R.array() @ np.diag([1, 2, 3]) @ R.array().T)
            True
        """
        axis = _axis(self.flatten())
        if axis >= 0:
            return self._turn(A, *divmod(axis, 3))
        if isinstance(A, Mat3):
            return self.mat() @ A @ self.T.mat()
        x, y, z = self.mat().rows()
        Ax, Ay = A @ x, A @ y
        xx, yy = Ax.dot(x), Ay.dot(y)
        zeros = any(number(e) == 0.0 for e in self.flatten())
        zz = (A @ z).dot(z) if zeros else (A.xx - xx) + (A.yy - yy) + A.zz
        return Sym3(xx, Ax.dot(y), Ax.dot(z), yy, Ay.dot(z), zz)

    def _turn(self, A: Sym3 | Mat3, i: int, j: int) -> Sym3 | Mat3:
        """R A Rᵀ for R = P Rz Q, where Rᵢⱼ = ±1 and P, Q are signed permutations."""
        R = self.flatten()
        i0, i1, j0, j1 = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
        e = number(R[3 * i + j]) or 1.0  # the other rows and columns: [[c, -s], [s, c]] diag(1, e)
        a = (A.mat() if isinstance(A, Sym3) else A).flatten()

        def old(k: int, m: int) -> Real:
            sign = (e if k in (j, j1) else 1.0) * (e if m in (j, j1) else 1.0)
            return a[3 * k + m] * sign

        c, s, order = R[3 * i0 + j0], R[3 * i1 + j0], (j0, j1, j)
        place = (i0, i1, i)
        if isinstance(A, Sym3):
            upper = [old(order[k], order[m]) for k in range(3) for m in range(k, 3)]
            B = _turn_sym(c, s, Sym3(*upper)).mat().flatten()
        else:
            B = _turn_mat(c, s, Mat3(*(old(k, m) for k in order for m in order))).flatten()
        where = [place.index(k) for k in range(3)]
        full = [B[3 * k + m] for k in where for m in where]
        if isinstance(A, Sym3):
            return Sym3(full[0], full[1], full[2], full[4], full[5], full[8])
        return Mat3(*full)


#: A rotation, whichever way it is stored.
SO3: TypeAlias = Rotation | RotationZ
