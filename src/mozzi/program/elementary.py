"""Functions of scalars of any kind that are made of the operations of a program.

Each keeps its accuracy near the zeros of its result, and so do its derivatives.
"""

from __future__ import annotations

import math

from mozzi.program.node import Node
from mozzi.program.scalar import (
    Condition,
    Real,
    atan2,
    cos,
    divide,
    exp,
    log,
    maximum,
    minimum,
    select,
    sin,
    sqrt,
    tanh,
)

__all__ = [
    "arccos", "arcsin", "arctan", "both", "clip", "cosh", "either", "expm1", "hypot", "log1p",
    "neither", "power", "sign", "sinh", "tan",
]  # fmt: skip

NEAR = 0.5  # below: formulas in tanh(x/2), which are exact to first order


def tan(x: Real) -> Real:
    return sin(x) / cos(x)


def arcsin(x: Real) -> Real:
    return atan2(x, sqrt((1.0 - x) * (1.0 + x)))


def arccos(x: Real) -> Real:
    return atan2(sqrt((1.0 - x) * (1.0 + x)), x)


def arctan(x: Real) -> Real:
    return atan2(x, 1.0)


def cosh(x: Real) -> Real:
    e = exp(abs(x))
    return 0.5 * e + 0.5 / e


def sinh(x: Real) -> Real:
    """2 t / (1 − t²) with t = tanh x/2 near 0."""
    e, t = exp(x), tanh(0.5 * clip(x, -1.0, 1.0))
    return select(abs(x) < NEAR, divide(2.0 * t, 1.0 - t * t, nonzero=True), 0.5 * (e - 1.0 / e))


def expm1(x: Real) -> Real:
    """exp x − 1; 2 t / (1 − t) with t = tanh x/2 near 0."""
    t = tanh(0.5 * clip(x, -1.0, 1.0))
    return select(abs(x) < NEAR, divide(2.0 * t, 1.0 - t, nonzero=True), exp(x) - 1.0)


def log1p(x: Real) -> Real:
    """log(1 + x): what rounding took from 1 + x is given back to first order."""
    u = 1.0 + x
    return log(u) + (x - (u - 1.0)) / u


def hypot(x: Real, y: Real) -> Real:
    return sqrt(x * x + y * y)


def sign(x: Real) -> Real:
    """1, 0 or −1."""
    return select(x > 0.0, 1.0, select(x < 0.0, -1.0, 0.0))


def clip(x: Real, low: Real | None, high: Real | None) -> Real:
    """x, but not below low nor above high."""
    x = x if low is None else maximum(x, low)
    return x if high is None else minimum(x, high)


def power(x: Real, p: Real) -> Real:
    """xᵖ: by products for whole numbers p, else exp(p log x), which takes x > 0."""
    if isinstance(p, Node) and p.op == "const":
        p = p.value
    if isinstance(p, Node):
        return exp(p * (log(x) if isinstance(x, Node) else math.log(float(x))))
    p = float(p)
    if p == 0.5:
        return sqrt(x)
    if p != round(p) or abs(p) > 64.0:
        return exp(p * log(x))
    result: Real = 1.0
    for _ in range(abs(int(p))):
        result = result * x
    return result if p >= 0.0 else 1.0 / result


def both(a: Condition, b: Condition) -> Condition:
    """Whether both conditions hold."""
    return select(a, select(b, 1.0, 0.0), 0.0) > 0.5


def either(a: Condition, b: Condition) -> Condition:
    """Whether one of them holds, or both."""
    return select(a, 1.0, select(b, 1.0, 0.0)) > 0.5


def neither(a: Condition) -> Condition:
    """Whether it does not hold."""
    return select(a, 0.0, 1.0) > 0.5
