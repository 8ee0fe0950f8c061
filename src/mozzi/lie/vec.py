"""Vectors and 3×3 matrices over scalars: what the spatial types are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Self, final, overload

import numpy as np
from numpy.typing import ArrayLike

from mozzi.errors import ConfigurationError
from mozzi.program.scalar import Node, Real, is_array

__all__ = ["Mat3", "Spatial", "Sym3", "Vec3", "number", "stack", "unstack"]


def number(x: Real) -> float | None:
    """The number that a scalar is known to be while tracing, else None."""
    if isinstance(x, (float, int)):
        return x
    return x.value if type(x) is Node and x.op == "const" else None


def is_zero(x: Real) -> bool:
    """Whether a scalar is known to be zero; traced ones are not."""
    return number(x) == 0.0


def stack(entries: Sequence[Real], shape: tuple[int, ...]) -> np.ndarray:
    """The array of this shape, behind the batch axes of its entries, filled row by row."""
    if all(type(e) is float for e in entries):
        return np.array(entries).reshape(shape)
    boxes: list[np.ndarray] = []
    for e in entries:
        if is_array(e) or isinstance(e, (float, int, complex)):
            boxes.append(np.asarray(e))
        else:  # mpmath numbers and traced scalars stay what they are
            box = np.empty((), object)
            box[()] = e
            boxes.append(box)
    array = np.stack(np.broadcast_arrays(*boxes), axis=-1)
    return array.reshape(array.shape[:-1] + shape)


def unstack(array: ArrayLike, shape: tuple[int, ...]) -> list[Real]:
    """The entries of the last axes of an array, row by row: the inverse of `stack`."""
    array = np.asarray(array)
    if array.shape[array.ndim - len(shape) :] != shape:
        raise ConfigurationError(
            f"an array of shape {array.shape} does not end in {shape}; give one that does"
        )
    if array.ndim == len(shape):
        return array.reshape(-1).tolist()
    flat = array.reshape((*array.shape[: array.ndim - len(shape)], -1))
    return list(np.moveaxis(flat, -1, 0))


class Spatial:
    """What all spatial types share: they are tuples of scalars with a meaning."""

    __slots__ = ()
    __array_ufunc__ = None  # so that array * Vec3 asks Vec3
    SIZE: ClassVar[int]
    SHAPE: ClassVar[tuple[int, ...]]

    if TYPE_CHECKING:  # of those that do not write their own `unflatten`

        def __init__(self, *scalars: Real): ...

    def flatten(self) -> tuple[Real, ...]:
        """The scalars, in order.

        Example:
            >>> mz.Twist.from_array(np.arange(6.0)).flatten()[2]
            2.0
        """
        raise NotImplementedError

    def floats(self) -> tuple[float, ...]:
        """The scalars, in order, of plain numbers; traced ones are refused.

        Example:
            >>> mz.Twist.screw((0, 0, 1)).floats()
            (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
        """
        return tuple(float(e) for e in self.flatten())

    @classmethod
    def unflatten(cls, scalars: Iterable[Real]) -> Self:
        """From scalars, the inverse of `flatten`.

        Example:
            >>> mz.Twist.unflatten([0, 0, 1, 0, 0, 0]).pitch()
            0.0
        """
        return cls(*scalars)

    def array(self) -> np.ndarray:
        """The entries as a NumPy array behind the batch axes (of objects, where traced).

        Example:
            >>> mz.Twist.from_array(np.zeros((5, 6))).array().shape  # a batch
            (5, 6)
        """
        return stack(self.flatten(), self.SHAPE)

    @classmethod
    def from_array(cls, array: ArrayLike) -> Self:
        """The inverse of `array`.

        Example:
            >>> mz.Wrench.from_array([0, 0, 0, 0, 0, 5.0]).magnitude()
            5.0
        """
        return cls.unflatten(unstack(array, cls.SHAPE))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spatial) or type(self) is not type(other):
            return False
        return self.flatten() == other.flatten()

    def __hash__(self) -> int:
        return hash(self.flatten())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.flatten()))})"


@final
class Vec3(Spatial):
    """A vector of three scalars."""

    __slots__ = ("x", "y", "z")
    SIZE, SHAPE = 3, (3,)

    def __init__(self, x: Real, y: Real, z: Real):
        self.x, self.y, self.z = x, y, z

    @classmethod
    def zero(cls) -> Vec3:
        """The vector of structural zeros."""
        return cls(0.0, 0.0, 0.0)

    def flatten(self) -> tuple[Real, ...]:
        return (self.x, self.y, self.z)

    def __iter__(self) -> Iterator[Real]:
        return iter((self.x, self.y, self.z))

    def vanishes(self) -> bool:
        """Whether all entries are structural zeros."""
        return number(self.x) == number(self.y) == number(self.z) == 0.0

    def __add__(self, other: Vec3) -> Vec3:
        if type(other) is not Vec3:
            return NotImplemented
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        if type(other) is not Vec3:
            return NotImplemented
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, scale: Real) -> Vec3:
        if isinstance(scale, Spatial):
            return NotImplemented
        return Vec3(self.x * scale, self.y * scale, self.z * scale)

    __rmul__ = __mul__

    def dot(self, other: Vec3) -> Real:
        """a · b."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec3) -> Vec3:
        """a × b."""
        ax, ay, az, bx, by, bz = self.x, self.y, self.z, other.x, other.y, other.z
        return Vec3(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)

    def outer(self, other: Vec3) -> Mat3:
        """a bᵀ."""
        x, y, z = other.x, other.y, other.z
        return Mat3(*(a * b for a in (self.x, self.y, self.z) for b in (x, y, z)))

    def squared(self) -> Sym3:
        """a aᵀ."""
        x, y, z = self.x, self.y, self.z
        return Sym3(x * x, x * y, x * z, y * y, y * z, z * z)

    def hat(self) -> Mat3:
        """[a] with [a] b = a × b."""
        x, y, z = self.x, self.y, self.z
        return Mat3(0.0, -z, y, z, 0.0, -x, -y, x, 0.0)


@final
class Sym3(Spatial):
    """A symmetric 3×3 matrix of six scalars."""

    __slots__ = ("xx", "xy", "xz", "yy", "yz", "zz")
    SIZE, SHAPE = 6, (3, 3)

    def __init__(self, xx: Real, xy: Real, xz: Real, yy: Real, yz: Real, zz: Real):
        self.xx, self.xy, self.xz, self.yy, self.yz, self.zz = xx, xy, xz, yy, yz, zz

    @classmethod
    def zero(cls) -> Sym3:
        """The matrix of structural zeros."""
        return cls(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @classmethod
    def diagonal(cls, xx: Real, yy: Real, zz: Real) -> Sym3:
        """diag(xx, yy, zz)."""
        return cls(xx, 0.0, 0.0, yy, 0.0, zz)

    def flatten(self) -> tuple[Real, ...]:
        return (self.xx, self.xy, self.xz, self.yy, self.yz, self.zz)

    def mat(self) -> Mat3:
        """The same matrix with nine entries."""
        xy, xz, yz = self.xy, self.xz, self.yz
        return Mat3(self.xx, xy, xz, xy, self.yy, yz, xz, yz, self.zz)

    def array(self) -> np.ndarray:
        return self.mat().array()

    @classmethod
    def from_array(cls, array: ArrayLike) -> Sym3:
        """From a 3×3 array, whose symmetric part is taken."""
        return Mat3.from_array(array).sym()

    def __add__(self, other: Sym3) -> Sym3:
        if type(other) is not Sym3:
            return NotImplemented
        return Sym3(
            self.xx + other.xx, self.xy + other.xy, self.xz + other.xz,
            self.yy + other.yy, self.yz + other.yz, self.zz + other.zz,
        )  # fmt: skip

    def __sub__(self, other: Sym3) -> Sym3:
        if type(other) is not Sym3:
            return NotImplemented
        return Sym3(
            self.xx - other.xx, self.xy - other.xy, self.xz - other.xz,
            self.yy - other.yy, self.yz - other.yz, self.zz - other.zz,
        )  # fmt: skip

    def __neg__(self) -> Sym3:
        return Sym3(-self.xx, -self.xy, -self.xz, -self.yy, -self.yz, -self.zz)

    def __mul__(self, scale: Real) -> Sym3:
        if isinstance(scale, Spatial):
            return NotImplemented
        return Sym3(*(e * scale for e in self.flatten()))

    __rmul__ = __mul__

    def __matmul__(self, v: Vec3) -> Vec3:
        if type(v) is not Vec3:
            return NotImplemented
        x, y, z = v.x, v.y, v.z
        return Vec3(
            self.xx * x + self.xy * y + self.xz * z,
            self.xy * x + self.yy * y + self.yz * z,
            self.xz * x + self.yz * y + self.zz * z,
        )

    @property
    def T(self) -> Sym3:
        """The transpose: the matrix itself."""
        return self

    def trace(self) -> Real:
        """The sum of the diagonal."""
        return self.xx + self.yy + self.zz


@final
class Mat3(Spatial):
    """A 3×3 matrix of nine scalars, row by row."""

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
    def zero(cls) -> Mat3:
        """The matrix of structural zeros."""
        return cls(*(0.0,) * 9)

    @classmethod
    def from_rows(cls, x: Vec3, y: Vec3, z: Vec3) -> Mat3:
        """The matrix with these rows."""
        return cls(x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z)

    def flatten(self) -> tuple[Real, ...]:
        return (
            self.xx, self.xy, self.xz, self.yx, self.yy, self.yz, self.zx, self.zy, self.zz,
        )  # fmt: skip

    def rows(self) -> tuple[Vec3, Vec3, Vec3]:
        """The three rows."""
        return (
            Vec3(self.xx, self.xy, self.xz),
            Vec3(self.yx, self.yy, self.yz),
            Vec3(self.zx, self.zy, self.zz),
        )

    def sym(self) -> Sym3:
        """The symmetric part ½ (A + Aᵀ)."""
        return Sym3(
            self.xx, 0.5 * (self.xy + self.yx), 0.5 * (self.xz + self.zx),
            self.yy, 0.5 * (self.yz + self.zy), self.zz,
        )  # fmt: skip

    def vee(self) -> Vec3:
        """The vector w whose [w] is the skew part ½ (A − Aᵀ)."""
        return Vec3(0.5 * (self.zy - self.yz), 0.5 * (self.xz - self.zx), 0.5 * (self.yx - self.xy))

    def __add__(self, other: Mat3) -> Mat3:
        if type(other) is not Mat3:
            return NotImplemented
        return Mat3(*(a + b for a, b in zip(self.flatten(), other.flatten(), strict=True)))

    def __sub__(self, other: Mat3) -> Mat3:
        if type(other) is not Mat3:
            return NotImplemented
        return Mat3(*(a - b for a, b in zip(self.flatten(), other.flatten(), strict=True)))

    def __neg__(self) -> Mat3:
        return Mat3(*(-e for e in self.flatten()))

    def __mul__(self, scale: Real) -> Mat3:
        if isinstance(scale, Spatial):
            return NotImplemented
        return Mat3(*(e * scale for e in self.flatten()))

    __rmul__ = __mul__

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: Sym3 | Mat3) -> Mat3: ...
    def __matmul__(self, other: Vec3 | Sym3 | Mat3) -> Vec3 | Mat3:
        if type(other) is Vec3:
            return Vec3(*(row.dot(other) for row in self.rows()))
        if type(other) is Sym3:
            other = other.mat()
        if type(other) is not Mat3:
            return NotImplemented
        columns = other.T.rows()
        return Mat3(*(row.dot(column) for row in self.rows() for column in columns))

    @property
    def T(self) -> Mat3:
        """The transpose."""
        return Mat3(
            self.xx, self.yx, self.zx, self.xy, self.yy, self.zy, self.xz, self.yz, self.zz,
        )  # fmt: skip
