"""Coefficients of the exponential map as functions of x = θ²: small angles live here only.

Each is analytic in x. Near zero it is its Taylor polynomial, elsewhere a closed form; both stay
finite on the other's side, so that `select`, complex steps and differentiated programs are safe.
The polynomial has as many terms as the precision of its argument asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import factorial
from typing import final

from mozzi.program.scalar import (
    Real,
    atan2,
    cos,
    divide,
    minimum,
    real,
    select,
    sin,
    sqrt,
)

__all__ = ["C0", "C1", "C2", "C3", "COT", "angle_ratio"]

Taylor = Callable[[int], Fraction]

#: Closed forms are evaluated at x ≥ NEAR only.
NEAR = 0.25


@cache
def _coefficients(taylor: Taylor, limit: float, bits: int) -> tuple[Fraction, ...]:
    """Enough Taylor coefficients for full relative precision on [0, limit]."""
    terms: list[Fraction] = []
    x, power = Fraction(limit), Fraction(1)
    while not terms or abs(terms[-1]) * power > Fraction(1, 1 << bits) * abs(terms[0]):
        terms.append(taylor(len(terms)))
        power = x ** (len(terms) - 1)
    value = abs(sum(t * x**j for j, t in enumerate(terms)))
    keep = [j for j, t in enumerate(terms) if abs(t) * x**j * (4 << bits) > value]
    return tuple(terms[: keep[-1] + 1])


@cache
def _floats(taylor: Taylor, limit: float) -> tuple[float, ...]:
    return tuple(float(c) for c in _coefficients(taylor, limit, 53))


def polynomial(taylor: Taylor, limit: float, x: Real) -> Real:
    """The Taylor polynomial at x, |x| ≤ limit, by Horner's rule in the precision of x."""
    context = getattr(x, "context", None)
    if context is None:
        c: Sequence[Real] = _floats(taylor, limit)
    else:
        exact = _coefficients(taylor, limit, context.prec)
        c = [context.mpf(t.numerator) / t.denominator for t in exact]
    value = c[-1]
    for coefficient in reversed(c[:-1]):
        value = value * x + coefficient
    return value


@final
class Coefficient:
    """An analytic function of x = θ²: Taylor below the limit, the closed form above it."""

    __slots__ = ("closed", "limit", "taylor")

    def __init__(self, taylor: Taylor, limit: float, closed: Callable[[Real], Real]):
        self.taylor, self.limit, self.closed = taylor, limit, closed

    def __call__(self, x: Real) -> Real:
        far = select(real(x) < NEAR, NEAR, x)
        near = polynomial(self.taylor, self.limit, minimum(x, self.limit))
        return select(real(x) < self.limit, near, self.closed(far))


def _stumpff(k: int) -> Taylor:
    """c_k(x) = Σ (−x)ʲ / (2j + k)!."""
    return lambda j: Fraction((-1) ** j, factorial(2 * j + k))


def _derivative(taylor: Taylor) -> Taylor:
    return lambda j: (j + 1) * taylor(j + 1)


@cache
def _ratio(j: int) -> Fraction:
    """The coefficients of (θ/2) cot(θ/2) = c₁ / (2 c₂)."""
    c1, c2 = _stumpff(1), _stumpff(2)
    return c1(j) - 2 * sum((c2(j - i) * _ratio(i) for i in range(j)), Fraction(0))


def _cot(j: int) -> Fraction:
    return -_ratio(j + 1)


def _arctan(j: int) -> Fraction:
    return Fraction((-1) ** j, 2 * j + 1)


# The closed forms, from the half angle h. Derivatives: 2 x c_k' = c_{k−1} − k c_k. They are finite,
# so that zeros that what follows multiplies them with fold.


def _over(a: Real, b: Real) -> Real:
    return divide(a, b, nonzero=True)


def _c1(x: Real) -> Real:
    h = 0.5 * sqrt(x)
    return _over(sin(h) * cos(h), h)


def _c2(x: Real) -> Real:
    s = sin(0.5 * sqrt(x))
    return _over(2.0 * s * s, x)


def _c3(x: Real) -> Real:
    return _over(1.0 - _c1(x), x)


def _d1(x: Real) -> Real:
    return 0.5 * (_c3(x) - _c2(x))


def _d2(x: Real) -> Real:
    return _over(0.5 * (_c1(x) - 2.0 * _c2(x)), x)


def _d3(x: Real) -> Real:
    return _over(0.5 * (_c2(x) - 3.0 * _c3(x)), x)


def _dd2(x: Real) -> Real:
    return _over(0.5 * (_d1(x) - 4.0 * _d2(x)), x)


def _dd3(x: Real) -> Real:
    return _over(0.5 * (_d2(x) - 5.0 * _d3(x)), x)


def _k(x: Real) -> Real:
    h = 0.5 * sqrt(x)
    return _over(1.0 - _over(h * cos(h), sin(h)), x)


def _dk(x: Real) -> Real:
    return _over(_over(0.25 * _c3(x), _c2(x)) - _k(x), x)


def _ddk(x: Real) -> Real:
    c2, c3 = _c2(x), _c3(x)
    return _over(_over(0.25 * (_d3(x) * c2 - c3 * _d2(x)), c2 * c2) - 2.0 * _dk(x), x)


_b, _c = _derivative(_stumpff(2)), _derivative(_stumpff(3))
_e = _derivative(_cot)

#: cos θ and sin θ / θ.
C0 = Coefficient(_stumpff(0), NEAR, lambda x: cos(sqrt(x)))
C1 = Coefficient(_stumpff(1), NEAR, _c1)
#: (1 − cos θ) / θ² and its first and second derivative with respect to x.
C2 = (
    Coefficient(_stumpff(2), NEAR, _c2),
    Coefficient(_b, 10.0, _d2),
    Coefficient(_derivative(_b), 10.0, _dd2),
)
#: (θ − sin θ) / θ³, likewise.
C3 = (
    Coefficient(_stumpff(3), 3.0, _c3),
    Coefficient(_c, 10.0, _d3),
    Coefficient(_derivative(_c), 10.0, _dd3),
)
#: (1 − (θ/2) cot(θ/2)) / θ², likewise; singular at θ = 2π.
COT = (
    Coefficient(_cot, 3.0, _k),
    Coefficient(_e, 10.0, _dk),
    Coefficient(_derivative(_e), 10.0, _ddk),
)


def angle_ratio(n2: Real, w: Real) -> Real:
    """atan2(√n2, w) / √n2, for n2 ≥ 0 and w ≥ 0 that do not both vanish."""
    limit = 0.01
    near = real(n2) < limit * real(w) * real(w)
    safe = select(near, w, 1.0)
    ratio = _over(polynomial(_arctan, limit, _over(select(near, n2, 0.0), safe * safe)), safe)
    n = sqrt(select(near, 1.0, n2))
    return select(near, ratio, _over(atan2(n, w), n))
