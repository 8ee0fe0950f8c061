"""Scalars: what all mathematics above the waist is written on.

A scalar is a Python number, a NumPy array (a batch of numbers), an ``mpmath`` number, or a traced
`Scalar`. Arithmetic uses operators; the functions here dispatch on the type, so that one source
serves them all.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from mozzi.program.node import Scalar, operation

__all__ = [
    "Scalar", "atan2", "cos", "divide", "maximum", "minimum", "real", "select", "sin", "sqrt",
]  # fmt: skip


def real(x: Any) -> Any:
    """The real part of any scalar: what comparisons look at."""
    return getattr(x, "real", x)


def _is_complex(x: Any) -> bool:
    if isinstance(x, (complex, np.ndarray, np.generic)):
        return np.iscomplexobj(x)
    return hasattr(x, "context") and isinstance(x, x.context.mpc)


def _atan(x: Any) -> Any:
    if isinstance(x, (np.ndarray, np.generic)):
        return np.arctan(x)
    return cmath.atan(x) if isinstance(x, complex) else x.context.atan(x)


def _unary(name: str):
    plain, cplx, array = getattr(math, name), getattr(cmath, name), getattr(np, name)

    def function(x: Any) -> Any:
        if type(x) is float or type(x) is int:
            return plain(x)
        if isinstance(x, Scalar):
            return operation(name, x)
        if isinstance(x, (np.ndarray, np.generic)):
            return array(x)
        if isinstance(x, complex):
            return cplx(x)
        if isinstance(x, (float, int)):
            return plain(x)
        return getattr(x.context, name)(x)  # mpmath numbers know their context

    function.__name__ = name
    function.__doc__ = f"{name} of any scalar."
    return function


sqrt = _unary("sqrt")
sin = _unary("sin")
cos = _unary("cos")


def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y), in (−π, π]; for complex scalars its analytic continuation."""
    if isinstance(y, Scalar) or isinstance(x, Scalar):
        return operation("atan2", y, x)
    if _is_complex(y) or _is_complex(x):
        y0, x0 = real(y), real(x)  # turned by their angle, atan is analytic and keeps small parts
        return atan2(y0, x0) + _atan((y * x0 - x * y0) / (x * x0 + y * y0))
    if isinstance(y, (np.ndarray, np.generic)) or isinstance(x, (np.ndarray, np.generic)):
        return np.arctan2(y, x)
    context = getattr(y, "context", None) or getattr(x, "context", None)
    return context.atan2(y, x) if context else math.atan2(y, x)


def select(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b.  Both are evaluated."""
    if isinstance(condition, Scalar):
        return operation("select", condition, a, b)
    if isinstance(condition, np.ndarray):
        return np.where(condition, a, b)
    return a if condition else b


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two scalars (of complex scalars, by real part)."""
    if isinstance(a, Scalar) or isinstance(b, Scalar):
        return operation("min", a, b)
    return select(real(a) <= real(b), a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two scalars (of complex scalars, by real part)."""
    if isinstance(a, Scalar) or isinstance(b, Scalar):
        return operation("max", a, b)
    return select(real(a) >= real(b), a, b)


def divide(a: Any, b: Any, *, nonzero: bool = False) -> Any:
    """a / b.  ``nonzero`` declares that b is never zero, so that zeros may fold through the
    quotient.
    """
    if isinstance(a, Scalar) or isinstance(b, Scalar):
        return operation("div", a, b, nonzero=nonzero)
    return a / b
