# pyright: reportConstantRedefinition=false
"""Twists, wrenches and momenta: six-vectors (angular, linear) that know what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, Protocol, Self, TypeVar, cast, final, overload

import numpy as np
from numpy.typing import ArrayLike

from mozzi.checked import checked
from mozzi.errors import ConfigurationError
from mozzi.lie.axis import ScrewAxis, axis_of, on_axis
from mozzi.lie.small_matrices import Matrix
from mozzi.lie.so3 import SO3
from mozzi.lie.vec import Spatial, Vec3, number, stack
from mozzi.program.scalar import Real

__all__ = [
    "Algebra", "Dual", "Momentum", "Pullable", "Pushable", "Screws", "Six", "Twist", "Wrench",
    "angular",
]  # fmt: skip


class Pullable(Protocol):
    """What has coordinates in frames, and goes into one."""

    def pulled(self, R: SO3, p: Vec3) -> Self:
        """In the frame with the rotation R and the position p."""
        ...


class Pushable(Protocol):
    """What has coordinates in frames, and goes out of one."""

    def pushed(self, R: SO3, p: Vec3) -> Self:
        """Out of the frame with the rotation R and the position p."""
        ...


class Algebra(Protocol):
    """An element of so(3) (`Vec3`) or of se(3) (`Twist`)."""

    def cross(self, other: Self, /) -> Self:
        """The Lie bracket."""
        ...

    def __add__(self, other: Self, /) -> Self: ...
    def __mul__(self, scale: Real, /) -> Self: ...


def angular(X: Algebra) -> Vec3:
    """The angular part of an element of so(3) or se(3)."""
    if isinstance(X, Twist):
        return X.ang
    if isinstance(X, Vec3):
        return X
    raise TypeError(f"a {type(X).__name__} is neither a Vec3 nor a Twist")


def _three(numbers: Iterable[Real]) -> Vec3:
    given = tuple(numbers)
    if len(given) != 3:
        raise ConfigurationError(f"screw: {numbers!r:.60} is no vector; give three numbers")
    return Vec3(*given)


class Six(Spatial):
    """A six-vector (angular, linear)."""

    __slots__ = ("ang", "lin")
    SIZE, SHAPE = 6, (6,)

    def __init__(self, ang: Vec3, lin: Vec3):
        self.ang, self.lin = ang, lin

    @classmethod
    def zero(cls) -> Self:
        """Structural zeros.

        Example:
            >>> mz.Twist.zero().array().tolist()
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        """
        return cls(Vec3.zero(), Vec3.zero())

    def flatten(self) -> tuple[Real, ...]:
        a, b = self.ang, self.lin
        return (a.x, a.y, a.z, b.x, b.y, b.z)

    @classmethod
    def unflatten(cls, scalars: Iterable[Real]) -> Self:
        try:
            a, b, c, x, y, z = scalars
        except ValueError:
            raise ConfigurationError(f"{cls.__name__}: give six numbers, angular first") from None
        return cls(Vec3(a, b, c), Vec3(x, y, z))

    def __add__(self, other: Self) -> Self:
        if type(self) is not type(other):
            raise _unlike("add", self, other)
        return type(self)(self.ang + other.ang, self.lin + other.lin)

    def __sub__(self, other: Self) -> Self:
        if type(self) is not type(other):
            raise _unlike("subtract", self, other)
        return type(self)(self.ang - other.ang, self.lin - other.lin)

    def __neg__(self) -> Self:
        return type(self)(-self.ang, -self.lin)

    def __mul__(self, scale: Real) -> Self:
        if isinstance(scale, Spatial):
            return NotImplemented
        return type(self)(self.ang * scale, self.lin * scale)

    __rmul__ = __mul__

    def axis(self) -> ScrewAxis:
        """Its axis, pitch and magnitude: of twists the axis turned about, of wrenches the line of
        the force.

        Example:
            >>> mz.Twist.screw((0, 0, 1), point=(1, 0, 0)).axis().direction.array().tolist()
            [0.0, 0.0, 1.0]
        """
        return axis_of(self.ang, self.lin)

    def pitch(self) -> Real:
        """Translation per radian of a twist, moment per force of a wrench; inf of pure
        translations and couples.

        Example:
            >>> mz.Twist.screw((0, 0, 1), pitch=0.5).pitch()
            0.5
        """
        return self.axis().pitch

    def magnitude(self) -> Real:
        """|ω| of a twist, |f| of a wrench; |v| and |t| where these vanish.

        Example:
            >>> mz.Twist.screw((0, 0, 1), magnitude=2.0).magnitude()
            2.0
        """
        return self.axis().magnitude

    def reciprocal(self, other: Six) -> Real:
        """The reciprocal product: 0 where a wrench on one screw does no work on a twist on the
        other. Of a twist and a wrench it is the power; of two of a kind Klein's form.

        Args:
            other: a screw of any kind.

        Example:
            >>> hinge = mz.Twist.screw((0, 0, 1))
            >>> hinge.reciprocal(mz.Wrench.screw((1, 0, 0)))  # a force through the axis
            0.0
        """
        if isinstance(self, Twist) == isinstance(other, Twist):
            return self.ang.dot(other.lin) + self.lin.dot(other.ang)
        return _pairing(self, other)

    def pulled(self, R: SO3, p: Vec3) -> Self:
        """In the frame with the rotation R and the position p.

        Example:
            >>> R, p = mz.Rotation.identity(), mz.SE3.translation(0, 0, 1).p
            >>> mz.Twist.screw((1, 0, 0)).pulled(R, p).array().tolist()
            [1.0, 0.0, 0.0, 0.0, -1.0, 0.0]
        """
        raise NotImplementedError

    def pushed(self, R: SO3, p: Vec3) -> Self:
        """Out of the frame with the rotation R and the position p.

        Example:
            >>> R, p = mz.Rotation.identity(), mz.SE3.translation(0, 0, 1).p
            >>> mz.Twist.screw((1, 0, 0)).pushed(R, p).array().tolist()
            [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
        """
        raise NotImplementedError


def _unlike(verb: str, a: object, b: object) -> TypeError:
    return TypeError(f"cannot {verb} a {type(a).__name__} and a {type(b).__name__}")


class Dual(Six):
    """A six-vector that pairs with twists, and moves by Ad*."""

    __slots__ = ()

    def dot(self, V: Twist) -> Real:
        """The pairing with a twist V: power of a wrench, twice the kinetic energy of a momentum.

        Example:
            >>> mz.Wrench.from_array(np.arange(6.0)).dot(mz.Twist.from_array(np.ones(6)))
            15.0
        """
        if type(V) is not Twist:
            raise _unlike("pair", self, V)
        return self.ang.dot(V.ang) + self.lin.dot(V.lin)

    def axis(self) -> ScrewAxis:
        """The line of the force (or of the linear momentum), with its pitch and magnitude.

        Example:
            >>> mz.Wrench.from_array([0, 0, 0, 0, 0, 5.0]).axis().magnitude
            5.0
        """
        return axis_of(self.lin, self.ang)

    @classmethod
    @checked
    def screw(
        cls, axis: Iterable[Real], point: Iterable[Real] = (0.0, 0.0, 0.0), pitch: Real = 0.0,
        magnitude: Real = 1.0,
    ) -> Self:  # fmt: skip
        """(p × e + h e, e), or the couple (e, 0) for infinite pitch: Poinsot's central axis.

        Args:
            axis: a unit vector along the force.
            point: a point on the axis.
            pitch: moment about the axis per force along it.
            magnitude: what the screw is multiplied by.

        Example:
            >>> mz.Wrench.screw((0, 0, 1), point=(1, 0, 0), magnitude=5.0).array().tolist()
            [0.0, -5.0, 0.0, 0.0, 0.0, 5.0]
        """
        n, m = on_axis(_three(axis), _three(point), pitch, magnitude)
        return cls(m, n)

    def pulled(self, R: SO3, p: Vec3) -> Self:
        moment = self.ang if p.vanishes() else self.ang - p.cross(self.lin)
        return type(self)(R.unrotate(moment), R.unrotate(self.lin))

    def pushed(self, R: SO3, p: Vec3) -> Self:
        moment, force = R.rotate(self.ang), R.rotate(self.lin)
        return type(self)(moment if p.vanishes() else moment + p.cross(force), force)


@final
class Wrench(Dual):
    """Moment and force.

    Example:
        >>> W = mz.Wrench.from_array([0, 0, 0, 0, 0, 5.0])
        >>> W.dot(mz.Twist.from_array([0, 0, 0, 0, 0, 2.0]))  # its power
        10.0
    """

    __slots__ = ()


@final
class Momentum(Dual):
    """Angular and linear momentum.

    Example:
        >>> ball = mz.Inertia(2.0, (0, 0, 0), 0.1 * np.eye(3))
        >>> (ball @ mz.Twist.from_array([0, 0, 1, 3, 0, 0])).array().tolist()
        [0.0, 0.0, 0.1, 6.0, 0.0, 0.0]
    """

    __slots__ = ()

    def rate(self) -> Wrench:
        """The same six numbers as a rate of momentum, which is a wrench.

        Example:
            >>> type(mz.Momentum.from_array(np.ones(6)).rate()).__name__
            'Wrench'
        """
        return Wrench(self.ang, self.lin)


@final
class Twist(Six):
    """Angular and linear velocity (or acceleration) of a body at the frame's origin.

    Example:
        >>> V = mz.Twist.screw((0, 0, 1), point=(1, 0, 0))  # a turn about a line
        >>> V.array().tolist()
        [0.0, 0.0, 1.0, 0.0, -1.0, 0.0]
    """

    __slots__ = ()

    @overload
    def cross(self, other: Twist) -> Twist: ...
    @overload
    def cross(self, other: Dual) -> Wrench: ...
    @overload
    def cross(self, other: Screws[Twist]) -> Screws[Twist]: ...
    @overload
    def cross(self, other: Screws[Dual]) -> Screws[Wrench]: ...
    def cross(
        self, other: Twist | Dual | Screws[Twist] | Screws[Dual]
    ) -> Twist | Wrench | Screws[Twist | Wrench]:
        """The rate of what moves along with this twist: ad of twists, −adᵀ of wrenches, momenta.

        Args:
            other: a screw of any kind.

        Example:
            >>> V, W = (mz.Twist.from_array(x) for x in np.arange(12.0).reshape(2, 6))
            >>> np.allclose(V.cross(W).array(), -W.cross(V).array())
            True
        """
        w, v = self.ang, self.lin
        if type(other) is Twist:
            return Twist(w.cross(other.ang), w.cross(other.lin) + v.cross(other.ang))
        if isinstance(other, Dual):
            return Wrench(w.cross(other.ang) + v.cross(other.lin), w.cross(other.lin))
        if type(other) is Screws:
            return Screws(self.cross(column) for column in other.columns)
        raise _unlike("cross", self, other)

    @classmethod
    @checked
    def screw(
        cls, axis: Iterable[Real], point: Iterable[Real] = (0.0, 0.0, 0.0), pitch: Real = 0.0,
        magnitude: Real = 1.0,
    ) -> Twist:  # fmt: skip
        """(e, p × e + h e), or (0, e) for infinite pitch.  Müller, Kinematics (67).

        Args:
            axis: a unit vector.
            point: a point on the axis.
            pitch: translation per radian.
            magnitude: what the screw is multiplied by.

        Example:
            >>> mz.Twist.screw((0, 0, 1), point=(1, 0, 0), pitch=0.5).array().tolist()
            [0.0, 0.0, 1.0, 0.0, -1.0, 0.5]
        """
        return cls(*on_axis(_three(axis), _three(point), pitch, magnitude))

    def ad(self) -> np.ndarray:
        """The 6×6 matrix of `cross` on twists.

        Example:
            >>> V, W = (mz.Twist.from_array(x) for x in np.arange(12.0).reshape(2, 6))
            >>> np.allclose(V.ad() @ W.array(), V.cross(W).array())
            True
        """
        return matrix_of(self.cross, Twist)

    def ad_dual(self) -> np.ndarray:
        """ad* = adᵀ, the 6×6 matrix of −`cross` on wrenches.  Kim (29).

        Example:
            >>> V = mz.Twist.from_array(np.arange(6.0))
            >>> np.allclose(V.ad_dual(), V.ad().T)
            True
        """
        return np.swapaxes(self.ad(), -1, -2)

    def dot(self, W: Dual) -> Real:
        """The pairing with a wrench or a momentum.

        Args:
            W: a `Wrench` or `Momentum`.

        Example:
            >>> mz.Twist.from_array(np.ones(6)).dot(mz.Wrench.from_array(np.arange(6.0)))
            15.0
        """
        return W.dot(self)

    def pulled(self, R: SO3, p: Vec3) -> Twist:
        """In the frame with the rotation R and the position p.

        Example:
            >>> R, p = mz.Rotation.identity(), mz.SE3.translation(0, 0, 1).p
            >>> mz.Twist.screw((1, 0, 0)).pulled(R, p).array().tolist()
            [1.0, 0.0, 0.0, 0.0, -1.0, 0.0]
        """
        lin = self.lin if p.vanishes() else self.lin + self.ang.cross(p)
        return Twist(R.unrotate(self.ang), R.unrotate(lin))

    def pushed(self, R: SO3, p: Vec3) -> Twist:
        """Out of the frame with the rotation R and the position p.

        Example:
            >>> R, p = mz.Rotation.identity(), mz.SE3.translation(0, 0, 1).p
            >>> mz.Twist.screw((1, 0, 0)).pushed(R, p).array().tolist()
            [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
        """
        ang, lin = R.rotate(self.ang), R.rotate(self.lin)
        return Twist(ang, lin if p.vanishes() else lin + p.cross(ang))


#: What the columns of `Screws` are: all twists, or all wrenches, or all momenta.
Column = TypeVar("Column", bound=Six, covariant=True)
Kind = TypeVar("Kind", bound=Six)


@final
class Screws(Spatial, Generic[Column]):
    """The 6×n matrix with these columns: twists, or wrenches or momenta.

    Example:
        >>> mz.Screws.from_array(np.eye(6)[:, :2]).array().shape
        (6, 2)
    """

    __slots__ = ("columns",)

    def __init__(self, columns: Iterable[Column]):
        self.columns = tuple(columns)

    @property
    def size(self) -> int:
        """The number of scalars, 6 n."""
        return 6 * len(self.columns)

    def flatten(self) -> tuple[Real, ...]:
        """The scalars, column by column.

        Example:
            >>> len(mz.Screws([mz.Twist.screw((1, 0, 0))]).flatten())
            6
        """
        return tuple(e for column in self.columns for e in column.flatten())

    @overload
    @classmethod
    def unflatten(cls, scalars: Iterable[Real]) -> Screws[Twist]: ...
    @overload
    @classmethod
    def unflatten(cls, scalars: Iterable[Real], kind: type[Kind]) -> Screws[Kind]: ...
    @classmethod
    def unflatten(cls, scalars: Iterable[Real], kind: type[Six] = Twist) -> Screws[Six]:
        """From scalars column by column, each column of this kind.

        Example:
            >>> mz.Screws.unflatten(range(12)).array().shape
            (6, 2)
        """
        s = tuple(scalars)
        return Screws(kind.unflatten(s[k : k + 6]) for k in range(0, len(s), 6))

    def array(self) -> np.ndarray:
        """The array (..., 6, n).

        Example:
            >>> mz.Screws([mz.Twist.screw((0, 0, 1)), mz.Twist.screw((0, 1, 0))]).array().shape
            (6, 2)
        """
        return np.swapaxes(stack(self.flatten(), (len(self.columns), 6)), -1, -2)

    @overload
    @classmethod
    def from_array(cls, array: ArrayLike) -> Screws[Twist]: ...
    @overload
    @classmethod
    def from_array(cls, array: ArrayLike, kind: type[Kind]) -> Screws[Kind]: ...
    @classmethod
    def from_array(cls, array: ArrayLike, kind: type[Six] = Twist) -> Screws[Six]:
        """From an array (..., 6, n).

        Args:
            array: the array.
            kind: of its columns: Twist or Wrench.

        Example:
            >>> len(mz.Screws.from_array(np.eye(6)).flatten())
            36
        """
        array = np.asarray(array)
        if array.ndim < 2 or not any(kind is k for k in (Twist, Wrench, Momentum)):
            raise ConfigurationError(
                f"Screws: an array of shape {array.shape} of {kind!r}; give (..., 6, n) of Twist, "
                "Wrench or Momentum"
            )
        return Screws(kind.from_array(array[..., k]) for k in range(array.shape[-1]))

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, k: int) -> Column:
        return self.columns[k]

    @overload
    def __matmul__(self, v: Iterable[Real]) -> Column: ...
    @overload
    def __matmul__(self, v: Sequence[Sequence[Real]]) -> Screws[Column]: ...
    def __matmul__(
        self, v: Sequence[Sequence[Real]] | Iterable[Real]
    ) -> Screws[Column] | Column | Twist:
        """Σ column · v; a nested sequence (n rows) gives `Screws`."""
        if isinstance(v, Spatial):
            return NotImplemented
        entries = tuple(v)
        if len(entries) != len(self.columns):
            fact = f"{len(self.columns)} screws do not go with {len(entries)} coefficients"
            raise ConfigurationError(f"{fact}; give one for each")
        if entries and isinstance(entries[0], (tuple, list)):
            rows = cast("tuple[Sequence[Real], ...]", entries)
            return Screws(self._sum([row[k] for row in rows]) for k in range(len(rows[0])))
        return self._sum(cast("tuple[Real, ...]", entries))

    def _sum(self, v: Sequence[Real]) -> Column:
        if not v:
            return Twist.zero()  # pyright: ignore[reportReturnType] of no columns, the kind is open
        total = self.columns[0] * v[0]
        for column, x in zip(self.columns[1:], v[1:], strict=True):
            total = total + column * x
        return total

    def __add__(self, other: Screws[Column]) -> Screws[Column]:
        if type(other) is not Screws:
            raise _unlike("add", self, other)
        return Screws(a + b for a, b in zip(self.columns, other.columns, strict=True))

    def __sub__(self, other: Screws[Column]) -> Screws[Column]:
        if type(other) is not Screws:
            raise _unlike("subtract", self, other)
        return Screws(a - b for a, b in zip(self.columns, other.columns, strict=True))

    def __neg__(self) -> Screws[Column]:
        return Screws(-column for column in self.columns)

    @property
    def T(self) -> Covectors[Column]:
        """The transpose: `S.T @ W` pairs every column with W."""
        return Covectors(self)

    def units(self) -> tuple[int, ...] | None:
        """Where every column is structurally a basis vector: the indices of the ones; else None.

        Example:
            >>> mz.Revolute("z").screws([0.0]).units()
            (2,)
        """
        where: list[int] = []
        for column in self.columns:
            e = [number(x) for x in column.flatten()]
            if e.count(0.0) != 5 or e.count(1.0) != 1:
                return None
            where.append(e.index(1.0))
        return tuple(where)

    def annihilated(self) -> tuple[int, ...]:
        """Which entries of screws that are reciprocal to all columns are structurally zero: those
        of the basis vectors, where all columns are such; all, where six columns are independent.

        Example:
            >>> mz.Revolute("z").screws([0.0]).annihilated()
            (2,)
            >>> mz.Free().screws(mz.Free().neutral()).annihilated()
            (0, 1, 2, 3, 4, 5)
        """
        return tuple(range(6)) if len(self) == 6 else self.units() or ()

    @overload
    def reciprocal(self: Screws[Twist]) -> Screws[Wrench]: ...
    @overload
    def reciprocal(self: Screws[Dual]) -> Screws[Twist]: ...
    def reciprocal(self) -> Screws[Wrench] | Screws[Twist]:
        """An orthonormal basis of the screws that are reciprocal to all columns, from numbers: of
        the twists a joint allows, the wrenches it transmits; of wrenches, the twists they hold.

        Example:
            >>> hinge = mz.Screws([mz.Twist.screw((0, 0, 1))])
            >>> hinge.reciprocal().array().shape  # what it bears
            (6, 5)
        """
        rows = np.array([column.floats() for column in self.columns]).reshape(-1, 6)
        _, sigma, Vt = np.linalg.svd(rows)
        rank = int(np.sum(sigma > 1e-12 * max(sigma, default=0.0)))
        basis = [row.tolist() for row in Vt[rank:]]
        if self.columns and isinstance(self.columns[0], Dual):
            return Screws(Twist.unflatten(row) for row in basis)
        return Screws(Wrench.unflatten(row) for row in basis)

    def pulled(self, R: SO3, p: Vec3) -> Screws[Column]:
        """In the frame with the rotation R and the position p.

        Example:
            >>> R, p = mz.Rotation.identity(), mz.SE3.translation(0, 0, 1).p
            >>> mz.Screws([mz.Twist.screw((1, 0, 0))]).pulled(R, p).array()[4].tolist()
            [-1.0]
        """
        return Screws(column.pulled(R, p) for column in self.columns)

    def pushed(self, R: SO3, p: Vec3) -> Screws[Column]:
        """Out of the frame with the rotation R and the position p.

        Example:
            >>> R, p = mz.Rotation.identity(), mz.SE3.translation(0, 0, 1).p
            >>> mz.Screws([mz.Twist.screw((1, 0, 0))]).pushed(R, p).array()[4].tolist()
            [1.0]
        """
        return Screws(column.pushed(R, p) for column in self.columns)


def matrix_of(action: Callable[[Kind], Six], kind: type[Kind]) -> np.ndarray:
    """The matrix (..., 6, 6) of a linear map on six-vectors of this kind."""
    basis = (kind.unflatten(float(i == k) for i in range(6)) for k in range(6))
    return Screws(action(e) for e in basis).array()


def _pairing(a: Six, b: Six) -> Real:
    if isinstance(a, Twist) and isinstance(b, Dual):
        return b.dot(a)
    if isinstance(a, Dual) and isinstance(b, Twist):
        return a.dot(b)
    raise _unlike("pair", a, b)


@final
class Covectors(Generic[Column]):
    """The transpose of `Screws`."""

    __slots__ = ("T",)

    def __init__(self, S: Screws[Column]):
        self.T = S

    @overload
    def __matmul__(self: Covectors[Twist], other: Dual) -> tuple[Real, ...]: ...
    @overload
    def __matmul__(self: Covectors[Twist], other: Screws[Dual]) -> Matrix: ...
    @overload
    def __matmul__(self: Covectors[Dual], other: Twist) -> tuple[Real, ...]: ...
    @overload
    def __matmul__(self: Covectors[Dual], other: Screws[Twist]) -> Matrix: ...
    def __matmul__(self, other: Six | Screws[Six]) -> tuple[Real, ...] | Matrix:
        """The pairings with a six-vector (a tuple), or with the columns of `Screws` (rows)."""
        if isinstance(other, Screws):
            return tuple(tuple(_pairing(a, b) for b in other.columns) for a in self.T.columns)
        return tuple(_pairing(column, other) for column in self.T.columns)
