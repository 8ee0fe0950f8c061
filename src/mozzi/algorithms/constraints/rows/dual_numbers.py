"""Dual numbers, x + ε ẋ: what is written for numbers finds rates along a motion, too."""

from __future__ import annotations

from typing import cast

from mozzi.lie import Vec3
from mozzi.program.scalar import Real, divide, select, sqrt

__all__ = ["Dual", "chosen", "over", "rate", "rated", "root", "unit", "value"]

X = Vec3(1.0, 0.0, 0.0)


class Dual:
    """A number x that moves with the rate dx."""

    __slots__ = ("dx", "x")

    def __init__(self, x: Real, dx: Real):
        self.x, self.dx = x, dx

    def __add__(self, other: Real) -> Dual:
        x, dx = _parts(other)
        return Dual(self.x + x, self.dx + dx)

    def __sub__(self, other: Real) -> Dual:
        x, dx = _parts(other)
        return Dual(self.x - x, self.dx - dx)

    def __rsub__(self, other: Real) -> Dual:
        x, dx = _parts(other)
        return Dual(x - self.x, dx - self.dx)

    def __mul__(self, other: Real) -> Dual:
        x, dx = _parts(other)
        return Dual(self.x * x, self.dx * x + self.x * dx)

    def __neg__(self) -> Dual:
        return Dual(-self.x, -self.dx)

    __radd__, __rmul__ = __add__, __mul__


def _real(x: Dual) -> Real:
    """To the type checker numbers with rates are numbers, as others are."""
    return cast("Real", x)


def _parts(x: Real | Dual) -> tuple[Real, Real]:
    return (x.x, x.dx) if isinstance(x, Dual) else (x, 0.0)


def value(x: Real) -> Real:
    """Without its rate."""
    return _parts(x)[0]


def rated(x: Vec3, dx: Vec3) -> Vec3:
    """A vector with its rate."""
    return Vec3(*(_real(Dual(a, b)) for a, b in zip(x, dx, strict=True)))


def rate(x: Vec3) -> Vec3:
    """The rate of a vector."""
    return Vec3(*(_parts(e)[1] for e in x))


def root(x: Real) -> Real:
    """√x."""
    inside, dx = _parts(x)
    y = sqrt(inside)
    if not isinstance(x, Dual):
        return y
    return _real(Dual(y, dx * divide(0.5, y, nonzero=True)))


def over(x: Real) -> Real:
    """1/x."""
    below, dx = _parts(x)
    inverse = divide(1.0, below, nonzero=True)
    return _real(Dual(inverse, -(dx * inverse * inverse))) if isinstance(x, Dual) else inverse


def chosen(condition: object, a: Real, b: Real) -> Real:
    """a where a condition holds, else b."""
    (x, dx), (y, dy) = _parts(a), _parts(b)
    holds = cast("bool", condition)
    if not (isinstance(a, Dual) or isinstance(b, Dual)):
        return select(holds, x, y)
    return _real(Dual(select(holds, x, y), select(holds, dx, dy)))


def unit(x: Vec3, otherwise: Vec3 = X) -> tuple[Vec3, Real]:
    """x/|x| and |x|; where x vanishes (a disc lies flat on a plane), another direction and 0."""
    square = x.dot(x)
    some = value(square) > 0.0
    length = root(chosen(some, square, 1.0))
    inverse = over(length)
    direction = Vec3(*(chosen(some, e * inverse, o) for e, o in zip(x, otherwise, strict=True)))
    return direction, chosen(some, length, 0.0)
