"""Scalars: what all mathematics above the waist is written on.

A scalar is a Python number, a NumPy array (a batch of numbers), an ``mpmath`` number, or a traced
`Node`. Arithmetic uses operators; the functions here dispatch on the type, so that one source
serves them all. `Real` is its type: a float, or what the protocol `Scalar` says.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeGuard

import numpy as np

from mozzi.program.node import Node, operation

__all__ = [
    "Condition", "Node", "Real", "Scalar", "atan2", "cos", "divide", "exp", "is_array", "log",
    "maximum", "minimum", "real", "select", "sin", "sqrt", "tanh",
]  # fmt: skip


class Scalar(Protocol):
    """What behaves like a real number: a traced `Node`, an array of numbers, an mpmath number."""

    def __add__(self, other: Real, /) -> Real: ...
    def __radd__(self, other: Real, /) -> Real: ...
    def __sub__(self, other: Real, /) -> Real: ...
    def __rsub__(self, other: Real, /) -> Real: ...
    def __mul__(self, other: Real, /) -> Real: ...
    def __rmul__(self, other: Real, /) -> Real: ...
    def __truediv__(self, other: Real, /) -> Real: ...
    def __rtruediv__(self, other: Real, /) -> Real: ...
    def __neg__(self) -> Real: ...
    def __pos__(self) -> Real: ...
    def __abs__(self) -> Real: ...
    def __lt__(self, other: Real, /) -> Condition: ...
    def __le__(self, other: Real, /) -> Condition: ...
    def __gt__(self, other: Real, /) -> Condition: ...
    def __ge__(self, other: Real, /) -> Condition: ...
    def __float__(self) -> float: ...  # raises where the number is not known yet


#: What recursions take and give.
Real: TypeAlias = float | Scalar
#: What comparing two of them gives, and `select` takes: a truth value, or one for later.
Condition: TypeAlias = bool | Scalar


def real(x: Real) -> Real:
    """The real part of any scalar: what comparisons look at."""
    return getattr(x, "real", x)


# The kinds of numbers below are told apart at run time; to the type checker all are `Real`.


def is_array(x: object) -> TypeGuard[np.ndarray]:
    """Whether it is an array, or a NumPy number."""
    return isinstance(x, (np.ndarray, np.generic))


def _is_complex(x: object) -> bool:
    if is_array(x) or isinstance(x, complex):
        return np.iscomplexobj(x)
    context = getattr(x, "context", None)  # mpmath numbers know their context
    return context is not None and isinstance(x, context.mpc)


def _of_numpy(name: str, *arguments: object) -> Real:
    return getattr(np, name)(*arguments)


def _of_context(name: str, *numbers: Real) -> Real:
    """A function of the context that mpmath numbers know."""
    known = (getattr(x, "context", None) for x in numbers)
    return getattr(next(c for c in known if c is not None), name)(*numbers)


def _unary(name: str) -> Callable[[Real], Real]:
    plain: Callable[[Real], Real] = getattr(math, name)
    cplx: Callable[[Real], Real] = getattr(cmath, name)
    array: Callable[[np.ndarray], Real] = getattr(np, name)

    def function(x: Real) -> Real:
        if type(x) is float or type(x) is int:
            return plain(x)
        if isinstance(x, Node):
            return operation(name, x)
        if is_array(x):
            return array(x)
        if isinstance(x, complex):
            return cplx(x)
        if isinstance(x, (float, int)):
            return plain(x)
        return _of_context(name, x)

    function.__name__ = name
    function.__doc__ = f"{name} of any scalar."
    return function


sqrt = _unary("sqrt")
sin = _unary("sin")
cos = _unary("cos")
exp = _unary("exp")
log = _unary("log")
tanh = _unary("tanh")


_atan = _unary("atan")  # of complex scalars


def atan2(y: Real, x: Real) -> Real:
    """The angle of the point (x, y), in (−π, π]; for complex scalars its analytic continuation."""
    if isinstance(y, Node) or isinstance(x, Node):
        return operation("atan2", y, x)
    if _is_complex(y) or _is_complex(x):
        y0, x0 = real(y), real(x)  # turned by their angle, atan is analytic and keeps small parts
        return atan2(y0, x0) + _atan((y * x0 - x * y0) / (x * x0 + y * y0))
    if is_array(y) or is_array(x):
        return _of_numpy("arctan2", y, x)
    if hasattr(y, "context") or hasattr(x, "context"):
        return _of_context("atan2", y, x)
    return math.atan2(y, x)


def select(condition: Condition, a: Real, b: Real) -> Real:
    """a where the condition holds, else b.  Both are evaluated."""
    if isinstance(condition, Node):
        return operation("select", condition, a, b)
    if isinstance(condition, np.ndarray):
        return _of_numpy("where", condition, a, b)
    return a if condition else b


def minimum(a: Real, b: Real) -> Real:
    """The smaller of two scalars (of complex scalars, by real part)."""
    if isinstance(a, Node) or isinstance(b, Node):
        return operation("min", a, b)
    return select(real(a) <= real(b), a, b)


def maximum(a: Real, b: Real) -> Real:
    """The larger of two scalars (of complex scalars, by real part)."""
    if isinstance(a, Node) or isinstance(b, Node):
        return operation("max", a, b)
    return select(real(a) >= real(b), a, b)


def divide(a: Real, b: Real, *, nonzero: bool = False) -> Real:
    """a / b.  ``nonzero`` declares that b is never zero, so that zeros may fold through the
    quotient.
    """
    if isinstance(a, Node) or isinstance(b, Node):
        return operation("div", a, b, nonzero=nonzero)
    return a / b
