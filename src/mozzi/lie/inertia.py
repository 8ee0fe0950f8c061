# pyright: reportConstantRedefinition=false
"""Inertias of rigid bodies (ten numbers) and of articulated bodies (twenty-one)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import cast, final, overload

import numpy as np
from numpy.typing import ArrayLike

from mozzi.checked import checked
from mozzi.errors import ModelError
from mozzi.lie.screw import Momentum, Screws, Twist, Wrench
from mozzi.lie.so3 import SO3
from mozzi.lie.vec import Mat3, Spatial, Sym3, Vec3, stack, unstack
from mozzi.program.scalar import Real

__all__ = ["ArticulatedInertia", "Inertia"]


def _six_by_six(J: Sym3, H: Mat3, M: Sym3) -> np.ndarray:
    j, h, t, m = J.mat().rows(), H.rows(), H.T.rows(), M.mat().rows()
    rows = [(*j[i], *h[i]) for i in range(3)] + [(*t[i], *m[i]) for i in range(3)]
    return stack([e for row in rows for e in row], (6, 6))


def _blocks(matrix: ArrayLike) -> tuple[Sym3, Mat3, Sym3]:
    e = unstack(matrix, (6, 6))

    def block(i: int, j: int) -> Mat3:
        return Mat3(*(e[6 * k + m] for k in range(i, i + 3) for m in range(j, j + 3)))

    return block(0, 0).sym(), (block(0, 3) + block(3, 0).T) * 0.5, block(3, 3).sym()


def _count(numbers: Iterable[Real], count: int, what: str) -> list[Real]:
    found = list(numbers)
    if len(found) != count:
        raise ModelError(f"{what} {count} numbers; {len(found)} were given")
    return found


def _symmetric(matrix: ArrayLike) -> Sym3:
    """A symmetric 3×3 matrix; numbers that are not symmetric up to rounding are refused."""
    given = np.asarray(matrix)
    if given.shape[-2:] != (3, 3):
        raise ModelError(
            f"Inertia: the rotational inertia has shape {given.shape}; give a symmetric 3×3 "
            "matrix, such as np.diag(moments)"
        )
    if given.dtype.kind in "fiu" and given.shape == (3, 3):
        gap = np.abs(given - given.T)
        if gap.max() > 1e-6 * np.abs(given).max():
            i, j = (int(k) for k in np.unravel_index(np.argmax(gap), gap.shape))
            raise ModelError(
                f"Inertia: entries ({i}, {j}) = {given[i, j]:g} and ({j}, {i}) = {given[j, i]:g} "
                "of the rotational inertia differ; give a symmetric matrix"
            )
    return Sym3.from_array(matrix)


def _gather(h: Vec3, p: Vec3, g: Vec3, J: Sym3) -> Sym3:
    """The rotational inertia when all mass moves by p and the first moment from h to g."""
    x, y, z = (h.x + g.x) * p.x, (h.y + g.y) * p.y, (h.z + g.z) * p.z
    return Sym3(
        J.xx + (y + z), J.xy - (h.x * p.y + p.x * g.y), J.xz - (h.x * p.z + p.x * g.z),
        J.yy + (x + z), J.yz - (h.y * p.z + p.y * g.z), J.zz + (x + y),
    )  # fmt: skip


@final
class Inertia(Spatial):
    """Mass m, first moment h, rotational inertia J at the frame's origin: [[J, [h]], [[h]ᵀ, m]].

    Example:
        >>> rod = mz.Inertia(2.0, (0, 0, -0.5), np.diag([0.1, 0.1, 0.01]))
        >>> rod.mass, rod.array().shape, rod.parameters()[:4]
        (2.0, (6, 6), (2.0, 0.0, 0.0, -1.0))
    """

    __slots__ = ("J", "h", "m")
    SIZE = 10

    @checked
    def __init__(self, mass: Real, com: Vec3 | Iterable[Real], inertia_at_com: Sym3 | ArrayLike):
        """From the mass, the centre of mass, and the rotational inertia there (`Sym3` or 3×3)."""
        c = com if isinstance(com, Vec3) else Vec3(*_count(com, 3, "a centre of mass has"))
        J = inertia_at_com
        J = J if isinstance(J, Sym3) else _symmetric(J)
        numbers = np.asarray(cast("ArrayLike", mass))
        if numbers.dtype.kind in "SU" or (
            numbers.dtype.kind in "fiu" and numbers.ndim == 0 and not numbers >= 0.0
        ):
            raise ModelError(f"Inertia: mass {mass!r}; give a number of kg, 0 or more")
        self.m, self.h = mass, c * mass
        self.J = _gather(Vec3.zero(), c, self.h, J)

    @property
    def mass(self) -> Real:
        """The mass."""
        return self.m

    @classmethod
    def _of(cls, m: Real, h: Vec3, J: Sym3) -> Inertia:
        self = object.__new__(cls)
        self.m, self.h, self.J = m, h, J
        return self

    @classmethod
    @checked
    def from_parameters(cls, parameters: Iterable[Real]) -> Inertia:
        """From m, hx, hy, hz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz, in which everything is linear.

        Args:
            parameters: the ten numbers.

        Example:
            >>> body = mz.Inertia(2.0, (0.0, 0.0, 0.1), np.eye(3))
            >>> mz.Inertia.from_parameters(body.parameters()).mass
            2.0
        """
        m, x, y, z, *J = _count(parameters, 10, "an inertia has")
        return cls._of(m, Vec3(x, y, z), Sym3(*J))

    @classmethod
    def unflatten(cls, scalars: Iterable[Real]) -> Inertia:
        return cls.from_parameters(scalars)

    @classmethod
    def zero(cls) -> Inertia:
        """No mass.

        Example:
            >>> mz.Inertia.zero().mass
            0.0
        """
        return cls.from_parameters((0.0,) * 10)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Inertia:
        """From a 6×6 array [[J, [h]], [−[h], m 1]]; numbers that are no such matrix are refused.

        Example:
            >>> body = mz.Inertia(2.0, (0.0, 0.0, 0.1), np.eye(3))
            >>> mz.Inertia.from_matrix(body.matrix()).mass
            2.0
        """
        J, H, M = _blocks(matrix)
        made = cls._of((M.xx + M.yy + M.zz) / 3.0, H.vee(), J)
        given = np.asarray(matrix)
        if given.dtype.kind in "fiu":
            gap = np.abs(given - np.asarray(made.matrix(), dtype=float))
            if not np.max(gap) <= 1e-6 * np.max(np.abs(given)):
                row, column = np.unravel_index(np.argmax(gap), gap.shape)[-2:]
                raise ModelError(
                    f"a 6×6 matrix whose entry ({row}, {column}) is not that of a rigid body; give "
                    "[[J, [h]], [−[h], m 1]], angular part first (an ArticulatedInertia may be any "
                    "symmetric matrix)"
                )
        return made

    @classmethod
    def from_array(cls, array: ArrayLike) -> Inertia:
        """From a 6×6 array.

        Example:
            >>> rod = mz.Inertia(2.0, (0, 0, -0.5), np.diag([0.1, 0.1, 0.01]))
            >>> mz.Inertia.from_array(rod.array()).mass
            2.0
        """
        return cls.from_matrix(array)

    @classmethod
    def from_pseudo(cls, matrix: ArrayLike) -> Inertia:
        """From the 4×4 pseudo-inertia, the inverse of `pseudo`.

        Args:
            matrix: the array.

        Example:
            >>> body = mz.Inertia(2.0, (0.0, 0.0, 0.1), np.eye(3))
            >>> float(mz.Inertia.from_pseudo(body.pseudo()).mass)
            2.0
        """
        e = unstack(matrix, (4, 4))
        S = Mat3(*e[0:3], *e[4:7], *e[8:11]).sym()
        J = Sym3(S.yy + S.zz, -S.xy, -S.xz, S.xx + S.zz, -S.yz, S.xx + S.yy)
        h = (Vec3(e[3], e[7], e[11]) + Vec3(*e[12:15])) * 0.5
        return cls._of(e[15], h, J)

    def pseudo(self) -> np.ndarray:
        """∫ (r, 1) (r, 1)ᵀ dm, the 4×4 pseudo-inertia (Binet's form): T P Tᵀ is its push by T.

        Example:
            >>> body = mz.Inertia(2.0, (0.0, 0.0, 0.1), np.eye(3))
            >>> body.pseudo().shape
            (4, 4)
        """
        J, h = self.J, self.h
        t = 0.5 * J.trace()
        S = Sym3(t - J.xx, -J.xy, -J.xz, t - J.yy, -J.yz, t - J.zz).mat().rows()
        rows = [(*s, x) for s, x in zip(S, h, strict=True)] + [(*h, self.m)]
        return stack([e for row in rows for e in row], (4, 4))

    def com(self) -> Vec3:
        """The centre of mass h / m.

        Example:
            >>> body = mz.Inertia(2.0, (0.0, 0.0, 0.1), np.eye(3))
            >>> body.com().floats()
            (0.0, 0.0, 0.1)
        """
        return Vec3(self.h.x / self.m, self.h.y / self.m, self.h.z / self.m)

    def at_com(self) -> Sym3:
        """The rotational inertia at the centre of mass, in the axes of the frame.

        Example:
            >>> rod = mz.Inertia(2.0, (0, 0, -0.5), np.diag([0.1, 0.2, 0.01]))
            >>> rod.at_com().array()[1, 1].round(9).item()
            0.2
        """
        return _gather(self.h, -self.com(), Vec3.zero(), self.J)

    def defects(self, tolerance: float = 1e-9) -> tuple[str, ...]:
        """What no body of positive mass density can have, one sentence each; of plain numbers.

        The principal moments must satisfy the triangle inequality (the pseudo-inertia is positive
        semidefinite), up to the tolerance times the trace of J.

        Example:
            >>> body = mz.Inertia(2.0, (0.0, 0.0, 0.1), np.eye(3))
            >>> body.defects()
            ()
        """
        ten = list(self.floats())
        if not all(map(math.isfinite, ten)):
            return (f"the parameters {ten} are not all finite",)
        if ten[0] <= 0.0:
            return (f"the mass {ten[0]:g} is not positive",)
        a, b, c = np.linalg.eigvalsh(Inertia.from_parameters(ten).at_com().array())
        slack = tolerance * abs(ten[4] + ten[7] + ten[9])
        if a < -slack:
            return (f"the principal moment {a:.6g} is negative",)
        if c > a + b + slack:
            return (f"the principal moments violate {c:.6g} ≤ {a:.6g} + {b:.6g}",)
        return ()

    def consistent(self, tolerance: float = 1e-9) -> bool:
        """Whether some body of positive mass density has this inertia.

        Args:
            tolerance: how far off rounding may be.

        Example:
            >>> body = mz.Inertia(2.0, (0.0, 0.0, 0.1), np.eye(3))
            >>> body.consistent()
            True
        """
        return not self.defects(tolerance)

    def parameters(self) -> tuple[Real, ...]:
        """The ten numbers m, hx, hy, hz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz.

        Example:
            >>> body = mz.Inertia(2.0, (0.0, 0.0, 0.1), np.eye(3))
            >>> len(body.parameters())
            10
        """
        return (self.m, *self.h, *self.J.flatten())

    def flatten(self) -> tuple[Real, ...]:
        return self.parameters()

    def __repr__(self) -> str:
        return f"Inertia.from_parameters({self.parameters()})"

    def matrix(self) -> np.ndarray:
        """The symmetric 6×6 matrix.

        Example:
            >>> body = mz.Inertia(2.0, (0.0, 0.0, 0.1), np.eye(3))
            >>> body.matrix().shape
            (6, 6)
        """
        return _six_by_six(self.J, self.h.hat(), Sym3.diagonal(self.m, self.m, self.m))

    def array(self) -> np.ndarray:
        return self.matrix()

    def articulated(self) -> ArticulatedInertia:
        """The same inertia as an articulated one.

        Example:
            >>> mz.Inertia(2.0, (0, 0, 1), np.eye(3)).articulated().array().shape
            (6, 6)
        """
        return ArticulatedInertia(self.J, self.h.hat(), Sym3.diagonal(self.m, self.m, self.m))

    @overload
    def __add__(self, other: Inertia) -> Inertia: ...
    @overload
    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia: ...
    def __add__(self, other: Inertia | ArticulatedInertia) -> Inertia | ArticulatedInertia:
        if type(other) is Inertia:
            return Inertia._of(self.m + other.m, self.h + other.h, self.J + other.J)
        if type(other) is ArticulatedInertia:
            return other + self
        raise TypeError(f"cannot add an Inertia and a {type(other).__name__}")

    def __sub__(self, other: Inertia) -> Inertia:
        if type(other) is not Inertia:
            raise TypeError(f"cannot subtract a {type(other).__name__} from an Inertia")
        return Inertia._of(self.m - other.m, self.h - other.h, self.J - other.J)

    def __neg__(self) -> Inertia:
        return Inertia._of(-self.m, -self.h, -self.J)

    def __mul__(self, scale: Real) -> Inertia:
        if isinstance(scale, Spatial):
            return NotImplemented
        return Inertia._of(self.m * scale, self.h * scale, self.J * scale)

    __rmul__ = __mul__

    @overload
    def __matmul__(self, V: Twist) -> Momentum: ...
    @overload
    def __matmul__(self, V: Screws[Twist]) -> Screws[Momentum]: ...
    def __matmul__(self, V: Twist | Screws[Twist]) -> Momentum | Screws[Momentum]:
        if type(V) is Screws:
            return Screws(self @ column for column in V.columns)
        if type(V) is not Twist:
            raise TypeError(f"an Inertia acts on a Twist, not on a {type(V).__name__}")
        w, v, h = V.ang, V.lin, self.h
        return Momentum(self.J @ w + h.cross(v), v * self.m + w.cross(h))

    def wrench(self, V: Twist, A: Twist) -> Wrench:
        """The wrench that gives the acceleration A at the twist V:  I A + V × (I V).  Kim (31).

        45 multiplications, through the acceleration of the origin a = v̇ + ω × v and the matrix
        K = [α] + [ω]², which maps points to their accelerations relative to the origin.

        Example:
            >>> ball = mz.Inertia(2.0, (0, 0, 0), 0.1 * np.eye(3))
            >>> A = mz.Twist.from_array([0, 0, 0, 3.0, 0, 0])
            >>> ball.wrench(mz.Twist.zero(), A).array()[3].item()
            6.0
        """
        J, h, w, alpha = self.J, self.h, V.ang, A.ang
        a = A.lin + w.cross(V.lin)
        S = w.squared()
        xx, yy, zz = S.yy + S.zz, S.xx + S.zz, S.xx + S.yy  # −K on the diagonal
        xy, yx = S.xy - alpha.z, S.xy + alpha.z
        zx, xz = S.xz - alpha.y, S.xz + alpha.y
        yz, zy = S.yz - alpha.x, S.yz + alpha.x
        turn = Vec3(
            J.xx * alpha.x + (J.zz - J.yy) * S.yz + J.yz * (S.yy - S.zz) - J.xy * zx + J.xz * yx,
            J.yy * alpha.y + (J.xx - J.zz) * S.xz + J.xz * (S.zz - S.xx) - J.yz * xy + J.xy * zy,
            J.zz * alpha.z + (J.yy - J.xx) * S.xy + J.xy * (S.xx - S.yy) - J.xz * yz + J.yz * xz,
        )
        force = Vec3(
            self.m * a.x - xx * h.x + xy * h.y + xz * h.z,
            self.m * a.y + yx * h.x - yy * h.y + yz * h.z,
            self.m * a.z + zx * h.x + zy * h.y - zz * h.z,
        )
        return Wrench(turn + h.cross(a), force)

    def pushed(self, R: SO3, p: Vec3) -> Inertia:
        """Out of the frame with the rotation R and the position p.

        Example:
            >>> R, p = mz.Rotation.identity(), mz.SE3.translation(0, 0, 1).p
            >>> mz.Inertia(2.0, (0, 0, 0), np.eye(3)).pushed(R, p).parameters()[:4]
            (2.0, 0.0, 0.0, 2.0)
        """
        h, J = R.rotate(self.h), R.congruence(self.J)
        if p.vanishes():
            return Inertia._of(self.m, h, J)
        moved = h + p * self.m
        return Inertia._of(self.m, moved, _gather(h, p, moved, J))

    def pulled(self, R: SO3, p: Vec3) -> Inertia:
        """In the frame with the rotation R and the position p.

        Example:
            >>> R, p = mz.Rotation.identity(), mz.SE3.translation(0, 0, 1).p
            >>> mz.Inertia(2.0, (0, 0, 1), np.eye(3)).pulled(R, p).parameters()[:4]
            (2.0, 0.0, 0.0, 0.0)
        """
        h, J = self.h, self.J
        if not p.vanishes():
            p = -p
            h = self.h + p * self.m
            J = _gather(self.h, p, h, J)
        return Inertia._of(self.m, R.unrotate(h), R.T.congruence(J))


@final
class ArticulatedInertia(Spatial):
    """The symmetric map [[J, H], [Hᵀ, M]] from accelerations to wrenches."""

    __slots__ = ("H", "J", "M")
    SIZE = 21

    def __init__(self, J: Sym3, H: Mat3, M: Sym3):
        self.J, self.H, self.M = J, H, M

    @classmethod
    def zero(cls) -> ArticulatedInertia:
        """Structural zeros."""
        return cls(Sym3.zero(), Mat3.zero(), Sym3.zero())

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> ArticulatedInertia:
        """From a 6×6 array, whose symmetric part is taken."""
        return cls(*_blocks(matrix))

    @classmethod
    def from_array(cls, array: ArrayLike) -> ArticulatedInertia:
        """From a 6×6 array."""
        return cls.from_matrix(array)

    def matrix(self) -> np.ndarray:
        """The symmetric 6×6 matrix."""
        return _six_by_six(self.J, self.H, self.M)

    def array(self) -> np.ndarray:
        return self.matrix()

    def flatten(self) -> tuple[Real, ...]:
        return self.J.flatten() + self.H.flatten() + self.M.flatten()

    @classmethod
    def unflatten(cls, scalars: Iterable[Real]) -> ArticulatedInertia:
        s = tuple(scalars)
        return cls(Sym3(*s[:6]), Mat3(*s[6:15]), Sym3(*s[15:]))

    def articulated(self) -> ArticulatedInertia:
        """Itself."""
        return self

    def __add__(self, other: Inertia | ArticulatedInertia) -> ArticulatedInertia:
        if type(other) is Inertia:
            h, M, m, H = other.h, self.M, other.m, self.H
            return ArticulatedInertia(
                self.J + other.J,
                Mat3(
                    H.xx, H.xy - h.z, H.xz + h.y,
                    H.yx + h.z, H.yy, H.yz - h.x,
                    H.zx - h.y, H.zy + h.x, H.zz,
                ),
                Sym3(M.xx + m, M.xy, M.xz, M.yy + m, M.yz, M.zz + m),
            )  # fmt: skip
        if type(other) is not ArticulatedInertia:
            raise TypeError(f"cannot add an ArticulatedInertia and a {type(other).__name__}")
        return ArticulatedInertia(self.J + other.J, self.H + other.H, self.M + other.M)

    def __sub__(self, other: Inertia | ArticulatedInertia) -> ArticulatedInertia:
        if type(other) not in (Inertia, ArticulatedInertia):
            raise TypeError(f"cannot subtract a {type(other).__name__} from an ArticulatedInertia")
        other = other.articulated()
        return ArticulatedInertia(self.J - other.J, self.H - other.H, self.M - other.M)

    def __neg__(self) -> ArticulatedInertia:
        return ArticulatedInertia(-self.J, -self.H, -self.M)

    def __mul__(self, scale: Real) -> ArticulatedInertia:
        if isinstance(scale, Spatial):
            return NotImplemented
        return ArticulatedInertia(self.J * scale, self.H * scale, self.M * scale)

    __rmul__ = __mul__

    @overload
    def __matmul__(self, V: Twist) -> Wrench: ...
    @overload
    def __matmul__(self, V: Screws[Twist]) -> Screws[Wrench]: ...
    def __matmul__(self, V: Twist | Screws[Twist]) -> Wrench | Screws[Wrench]:
        if type(V) is Screws:
            return Screws(self @ column for column in V.columns)
        if type(V) is not Twist:
            raise TypeError(f"an ArticulatedInertia acts on a Twist, not on a {type(V).__name__}")
        w, v = V.ang, V.lin
        return Wrench(self.J @ w + self.H @ v, self.H.T @ w + self.M @ v)

    def project(
        self, S: Screws[Twist], U: Screws[Wrench], Dinv: Sequence[Sequence[Real]], free: bool = True
    ) -> ArticulatedInertia:
        """I − U D⁻¹ Uᵀ, with U = I S and D = Sᵀ U: what is left behind a joint that moves freely.

        It annihilates S; where S is made of basis vectors, those rows and columns are zero, and all
        of them behind six freedoms, which are independent where D has an inverse. Not ``free``: D
        holds more than Sᵀ U (armature), and nothing is annihilated.
        """
        zeros = S.annihilated() if free else ()
        rows = list(zip(*(column.flatten() for column in U.columns), strict=True))
        scaled = [() if i in zeros else tuple(_sum(u, d) for d in Dinv) for i, u in enumerate(rows)]

        def entry(i: int, j: int, old: Real) -> Real:
            return 0.0 if i in zeros or j in zeros else old - _sum(scaled[i], rows[j])

        J, H, M = self.J, self.H, self.M
        return ArticulatedInertia(
            Sym3(*(entry(i, j, x) for (i, j), x in zip(_UPPER, J.flatten(), strict=True))),
            Mat3(*(entry(k // 3, 3 + k % 3, x) for k, x in enumerate(H.flatten()))),
            Sym3(*(entry(3 + i, 3 + j, x) for (i, j), x in zip(_UPPER, M.flatten(), strict=True))),
        )

    def _shift(self, p: Vec3) -> ArticulatedInertia:
        """With the origin moved by −p: H + [p] M, J + ([p] Hᵀ)ᵀ + [p] (H + [p] M)ᵀ."""
        if p.vanishes():
            return self
        columns = (p.cross(row) for row in self.M.mat().rows())
        H = self.H + Mat3.from_rows(*columns).T
        A, B, J, x, y, z = self.H, H, self.J, p.x, p.y, p.z
        return ArticulatedInertia(
            Sym3(
                J.xx + (y * (A.xz + B.xz) - z * (A.xy + B.xy)),
                J.xy + (z * A.xx - x * A.xz) + (y * B.yz - z * B.yy),
                J.xz + (x * A.xy - y * A.xx) + (y * B.zz - z * B.zy),
                J.yy + (z * (A.yx + B.yx) - x * (A.yz + B.yz)),
                J.yz + (x * A.yy - y * A.yx) + (z * B.zx - x * B.zz),
                J.zz + (x * (A.zy + B.zy) - y * (A.zx + B.zx)),
            ),
            H,
            self.M,
        )  # fmt: skip

    def _rotated(self, R: SO3) -> ArticulatedInertia:
        return ArticulatedInertia(R.congruence(self.J), R.congruence(self.H), R.congruence(self.M))

    def pushed(self, R: SO3, p: Vec3) -> ArticulatedInertia:
        return self._rotated(R)._shift(p)

    def pulled(self, R: SO3, p: Vec3) -> ArticulatedInertia:
        return self._shift(-p)._rotated(R.T)


_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def _sum(a: Sequence[Real], b: Sequence[Real]) -> Real:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total
