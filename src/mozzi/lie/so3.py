"""Rotations: the group SO(3)."""

from __future__ import annotations

from typing import Any, final

from mozzi.lie.vec import Mat3, Spatial, Sym3, Vec3

__all__ = ["Rotation", "RotationZ"]


def _turn_sym(c: Any, s: Any, S: Sym3) -> Sym3:
    """Rz S Rzᵀ in 8 multiplications, using c² + s² = 1."""
    u = s * (S.xx - S.yy) + c * (S.xy + S.xy)
    su = s * u
    return Sym3(
        S.xx - su, c * u - S.xy, c * S.xz - s * S.yz, S.yy + su, s * S.xz + c * S.yz, S.zz
    )


def _turn_mat(c: Any, s: Any, A: Mat3) -> Mat3:
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

    def __init__(self, c: Any, s: Any):
        self.c, self.s = c, s

    def flatten(self) -> tuple[Any, ...]:
        return (self.c, self.s)

    def general(self) -> Rotation:
        """The same rotation with nine entries."""
        c, s = self.c, self.s
        return Rotation(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)

    def mat(self) -> Mat3:
        """The matrix."""
        return self.general().mat()

    def array(self) -> Any:
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

    def __matmul__(self, other: Any) -> Any:
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

    def congruence(self, A: Any) -> Any:
        """R A Rᵀ, of a `Sym3` or a `Mat3`."""
        return (_turn_sym if type(A) is Sym3 else _turn_mat)(self.c, self.s, A)


def _axis(entries: tuple[Any, ...]) -> int:
    """The index of an entry that is structurally ±1 in a rotation whose other entries turn; else −1."""
    if sum(type(e) is float and e == 0.0 for e in entries) == 4:
        for i, e in enumerate(entries):
            if type(e) is float and (e == 1.0 or e == -1.0):
                return i
    return -1


@final
class Rotation(Spatial):
    """A rotation matrix of nine entries, row by row."""

    __slots__ = ("xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz")
    SIZE, SHAPE = 9, (3, 3)

    def __init__(
        self, xx: Any, xy: Any, xz: Any, yx: Any, yy: Any, yz: Any, zx: Any, zy: Any, zz: Any
    ):
        self.xx, self.xy, self.xz = xx, xy, xz
        self.yx, self.yy, self.yz = yx, yy, yz
        self.zx, self.zy, self.zz = zx, zy, zz

    @classmethod
    def identity(cls) -> Rotation:
        """The identity, of structural zeros and ones."""
        return cls(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)

    def flatten(self) -> tuple[Any, ...]:
        return (
            self.xx, self.xy, self.xz, self.yx, self.yy, self.yz, self.zx, self.zy, self.zz,
        )  # fmt: skip

    def general(self) -> Rotation:
        """The same rotation with nine entries: itself."""
        return self

    def mat(self) -> Mat3:
        """The matrix."""
        return Mat3(*self.flatten())

    @property
    def T(self) -> Rotation:
        """The inverse."""
        return Rotation(
            self.xx, self.yx, self.zx, self.xy, self.yy, self.zy, self.xz, self.yz, self.zz,
        )  # fmt: skip

    def rotate(self, v: Vec3) -> Vec3:
        """R v."""
        x, y, z = v.x, v.y, v.z
        return Vec3(
            self.xx * x + self.xy * y + self.xz * z,
            self.yx * x + self.yy * y + self.yz * z,
            self.zx * x + self.zy * y + self.zz * z,
        )

    def unrotate(self, v: Vec3) -> Vec3:
        """Rᵀ v."""
        x, y, z = v.x, v.y, v.z
        return Vec3(
            self.xx * x + self.yx * y + self.zx * z,
            self.xy * x + self.yy * y + self.zy * z,
            self.xz * x + self.yz * y + self.zz * z,
        )

    def __matmul__(self, other: Any) -> Any:
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

    def congruence(self, A: Any) -> Any:
        """R A Rᵀ, of a `Sym3` or a `Mat3`."""
        axis = _axis(self.flatten())
        if axis >= 0:
            return self._turn(A, *divmod(axis, 3))
        if type(A) is Mat3:
            return self.mat() @ A @ self.T.mat()
        x, y, z = self.mat().rows()
        Ax, Ay = A @ x, A @ y
        xx, yy = Ax.dot(x), Ay.dot(y)
        constant = any(type(e) is float and e == 0.0 for e in self.flatten())
        zz = (A @ z).dot(z) if constant else (A.xx - xx) + (A.yy - yy) + A.zz
        return Sym3(xx, Ax.dot(y), Ax.dot(z), yy, Ay.dot(z), zz)

    def _turn(self, A: Any, i: int, j: int) -> Any:
        """R A Rᵀ for R = P Rz Q, where Rᵢⱼ = ±1 and P, Q are signed permutations."""
        R = self.flatten()
        i0, i1, j0, j1 = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
        e = R[3 * i + j]  # the block (i0, i1; j0, j1) is [[c, -s], [s, c]] diag(1, e)
        a = (A.mat() if type(A) is Sym3 else A).flatten()

        def old(k: int, m: int) -> Any:
            sign = (e if k in (j, j1) else 1.0) * (e if m in (j, j1) else 1.0)
            return a[3 * k + m] * sign

        c, s, order = R[3 * i0 + j0], R[3 * i1 + j0], (j0, j1, j)
        place = (i0, i1, i)
        if type(A) is Sym3:
            upper = [old(order[k], order[m]) for k in range(3) for m in range(k, 3)]
            B = _turn_sym(c, s, Sym3(*upper)).mat().flatten()
        else:
            B = _turn_mat(c, s, Mat3(*(old(k, m) for k in order for m in order))).flatten()
        where = [place.index(k) for k in range(3)]
        full = [B[3 * k + m] for k in where for m in where]
        if type(A) is Sym3:
            return Sym3(full[0], full[1], full[2], full[4], full[5], full[8])
        return Mat3(*full)
