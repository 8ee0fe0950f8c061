"""Twists, wrenches and momenta: six-vectors (angular, linear) that know what they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, final

import numpy as np

from mozzi.lie.vec import Spatial, Vec3, number, stack

__all__ = ["Momentum", "Screws", "Twist", "Wrench"]


class Six(Spatial):
    """A six-vector (angular, linear)."""

    __slots__ = ("ang", "lin")
    SIZE, SHAPE = 6, (6,)

    def __init__(self, ang: Vec3, lin: Vec3):
        self.ang, self.lin = ang, lin

    @classmethod
    def zero(cls):
        """Structural zeros."""
        return cls(Vec3.zero(), Vec3.zero())

    def flatten(self) -> tuple[Any, ...]:
        a, b = self.ang, self.lin
        return (a.x, a.y, a.z, b.x, b.y, b.z)

    @classmethod
    def unflatten(cls, scalars: Iterable[Any]):
        a, b, c, x, y, z = scalars
        return cls(Vec3(a, b, c), Vec3(x, y, z))

    def __add__(self, other):
        if type(self) is not type(other):
            raise _unlike("add", self, other)
        return type(self)(self.ang + other.ang, self.lin + other.lin)

    def __sub__(self, other):
        if type(self) is not type(other):
            raise _unlike("subtract", self, other)
        return type(self)(self.ang - other.ang, self.lin - other.lin)

    def __neg__(self):
        return type(self)(-self.ang, -self.lin)

    def __mul__(self, scale: Any):
        if isinstance(scale, Spatial):
            return NotImplemented
        return type(self)(self.ang * scale, self.lin * scale)

    __rmul__ = __mul__


def _unlike(verb: str, a: Any, b: Any) -> TypeError:
    return TypeError(f"cannot {verb} a {type(a).__name__} and a {type(b).__name__}")


class Dual(Six):
    """A six-vector that pairs with twists, and moves by Ad*."""

    __slots__ = ()

    def dot(self, V: Twist) -> Any:
        """The pairing with a twist: power of a wrench, twice the kinetic energy of a momentum."""
        if type(V) is not Twist:
            raise _unlike("pair", self, V)
        return self.ang.dot(V.ang) + self.lin.dot(V.lin)

    def _pull(self, R: Any, p: Vec3):
        moment = self.ang if p.vanishes() else self.ang - p.cross(self.lin)
        return type(self)(R.unrotate(moment), R.unrotate(self.lin))

    def _push(self, R: Any, p: Vec3):
        moment, force = R.rotate(self.ang), R.rotate(self.lin)
        return type(self)(moment if p.vanishes() else moment + p.cross(force), force)


@final
class Wrench(Dual):
    """Moment and force."""

    __slots__ = ()


@final
class Momentum(Dual):
    """Angular and linear momentum."""

    __slots__ = ()

    def rate(self) -> Wrench:
        """The same six numbers as a rate of momentum, which is a wrench."""
        return Wrench(self.ang, self.lin)


@final
class Twist(Six):
    """Angular and linear velocity (or acceleration) of a body at the frame's origin."""

    __slots__ = ()

    def cross(self, other: Any) -> Any:
        """The rate of what moves along with this twist: ad of twists, −adᵀ of wrenches, momenta."""
        w, v = self.ang, self.lin
        if type(other) is Twist:
            return Twist(w.cross(other.ang), w.cross(other.lin) + v.cross(other.ang))
        if type(other) is Screws:
            return Screws(self.cross(column) for column in other.columns)
        if isinstance(other, Dual):
            return Wrench(w.cross(other.ang) + v.cross(other.lin), w.cross(other.lin))
        raise _unlike("cross", self, other)

    @classmethod
    def screw(cls, axis: Any, point: Any = (0.0, 0.0, 0.0), pitch: Any = 0.0) -> Twist:
        """(e, p × e + h e), or (0, e) for infinite pitch.  Müller, Kinematics (67)."""
        e, p = Vec3(*axis), Vec3(*point)
        if number(pitch) == math.inf:
            return cls(Vec3.zero(), e)
        return cls(e, p.cross(e) + e * pitch)

    def ad(self) -> np.ndarray:
        """The 6×6 matrix of `cross` on twists."""
        return matrix_of(self.cross, Twist)

    def ad_dual(self) -> np.ndarray:
        """ad* = adᵀ, the 6×6 matrix of −`cross` on wrenches.  Kim (29)."""
        return np.swapaxes(self.ad(), -1, -2)

    def dot(self, W: Dual) -> Any:
        """The pairing with a wrench or a momentum."""
        return W.dot(self)

    def _pull(self, R: Any, p: Vec3) -> Twist:
        lin = self.lin if p.vanishes() else self.lin + self.ang.cross(p)
        return Twist(R.unrotate(self.ang), R.unrotate(lin))

    def _push(self, R: Any, p: Vec3) -> Twist:
        ang, lin = R.rotate(self.ang), R.rotate(self.lin)
        return Twist(ang, lin if p.vanishes() else lin + p.cross(ang))


@final
class Screws(Spatial):
    """The 6×n matrix with these columns: twists, or wrenches or momenta."""

    __slots__ = ("columns",)

    def __init__(self, columns: Iterable[Any]):
        self.columns = tuple(columns)

    @property
    def size(self) -> int:
        """The number of scalars, 6 n."""
        return 6 * len(self.columns)

    def flatten(self) -> tuple[Any, ...]:
        """The scalars, column by column."""
        return tuple(e for column in self.columns for e in column.flatten())

    @classmethod
    def unflatten(cls, scalars: Iterable[Any], kind: type[Six] = Twist) -> Screws:
        """From scalars column by column, each column of this kind."""
        s = tuple(scalars)
        return cls(kind.unflatten(s[k : k + 6]) for k in range(0, len(s), 6))

    def array(self) -> np.ndarray:
        """The array (..., 6, n)."""
        return np.swapaxes(stack(self.flatten(), (len(self.columns), 6)), -1, -2)

    @classmethod
    def from_array(cls, array: Any, kind: type[Six] = Twist) -> Screws:
        """From an array (..., 6, n)."""
        array = np.asarray(array)
        return cls(kind.from_array(array[..., k]) for k in range(array.shape[-1]))

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.columns)

    def __getitem__(self, k: int) -> Any:
        return self.columns[k]

    def __matmul__(self, v: Sequence[Any]) -> Any:
        """Σ column · v; a nested sequence (n rows) gives `Screws`."""
        if isinstance(v, Spatial):
            return NotImplemented
        v = tuple(v)
        if len(v) != len(self.columns):
            raise ValueError(f"{len(self.columns)} screws do not go with {len(v)} coefficients")
        if v and isinstance(v[0], (tuple, list)):
            return Screws(self @ [row[k] for row in v] for k in range(len(v[0])))
        if not v:
            return Twist.zero()
        total = self.columns[0] * v[0]
        for column, x in zip(self.columns[1:], v[1:], strict=True):
            total = total + column * x
        return total

    def __add__(self, other: Screws) -> Screws:
        if type(other) is not Screws:
            raise _unlike("add", self, other)
        return Screws(a + b for a, b in zip(self.columns, other.columns, strict=True))

    def __sub__(self, other: Screws) -> Screws:
        if type(other) is not Screws:
            raise _unlike("subtract", self, other)
        return Screws(a - b for a, b in zip(self.columns, other.columns, strict=True))

    def __neg__(self) -> Screws:
        return Screws(-column for column in self.columns)

    @property
    def T(self) -> Covectors:
        """The transpose: `S.T @ W` pairs every column with W."""
        return Covectors(self)

    def units(self) -> tuple[int, ...] | None:
        """Where every column is structurally a basis vector: the indices of the ones; else None."""
        where = []
        for column in self.columns:
            e = [number(x) for x in column.flatten()]
            if e.count(0.0) != 5 or e.count(1.0) != 1:
                return None
            where.append(e.index(1.0))
        return tuple(where)

    def _pull(self, R: Any, p: Vec3) -> Screws:
        return Screws(column._pull(R, p) for column in self.columns)

    def _push(self, R: Any, p: Vec3) -> Screws:
        return Screws(column._push(R, p) for column in self.columns)


def matrix_of(action: Callable[[Any], Spatial], kind: type[Six]) -> np.ndarray:
    """The matrix (..., 6, 6) of a linear map on six-vectors of this kind."""
    basis = (kind.unflatten(float(i == k) for i in range(6)) for k in range(6))
    return Screws(action(e) for e in basis).array()


@final
class Covectors:
    """The transpose of `Screws`."""

    __slots__ = ("T",)

    def __init__(self, S: Screws):
        self.T = S

    def __matmul__(self, other: Any) -> Any:
        """The pairings with a six-vector (a tuple), or with the columns of `Screws` (rows)."""
        if type(other) is Screws:
            return tuple(tuple(a.dot(b) for b in other.columns) for a in self.T.columns)
        return tuple(column.dot(other) for column in self.T.columns)
