"""The differential of the exponential map, on SO(3) (`Vec3`) and on SE(3) (`Twist`) alike.

For a curve X(t) and T = exp(X):    Ṫ T⁻¹ = dexp(X, Ẋ)   and   T⁻¹ Ṫ = dexp(−X, Ẋ):

`dexp` is the right-trivialised differential, Müller, Dynamics (89). All maps here have the form
F(X) Y = Y + f ad Y + g ad² Y with coefficients f, g that depend on x = |ω|². SE(3) is SO(3) over
the dual numbers ω + ε v, where x has the dual part δ = 2 ω·v: that is the term with f′ and g′.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar, cast

from mozzi.lie.screw import Algebra, Dual, Twist, angular
from mozzi.lie.series import C2, C3, COT
from mozzi.lie.vec import Vec3
from mozzi.program.scalar import Real

__all__ = [
    "dexp",
    "dexp_dual",
    "dexp_inverse",
    "dexp_inverse_dual",
    "dexp_inverse_rate",
    "dexp_rate",
]

#: f and g, each with its derivatives.
Pair: TypeAlias = tuple[tuple[Callable[[Real], Real], ...], tuple[Callable[[Real], Real], ...]]
V = TypeVar("V", bound=Algebra)
D = TypeVar("D", bound=Dual)

DEXP: Pair = (C2, C3)
DEXP_INVERSE: Pair = ((lambda x: -0.5, lambda x: 0.0, lambda x: 0.0), COT)


def dexp(X: V, Y: V) -> V:
    """Σ adᵏ Y / (k + 1)!:  with Y = Ẋ, the spatial twist of exp(X)."""
    return _apply(DEXP, X, Y)


def dexp_inverse(X: V, Y: V) -> V:
    """The Y′ with dexp(X, Y′) = Y, for |ω| < 2π."""
    return _apply(DEXP_INVERSE, X, Y)


def dexp_dual(X: Twist, W: D) -> D:
    """The transpose:  ⟨dexp_dual(X, W), Y⟩ = ⟨W, dexp(X, Y)⟩."""
    return _apply_dual(DEXP, X, W)


def dexp_inverse_dual(X: Twist, W: D) -> D:
    """The transpose of `dexp_inverse`."""
    return _apply_dual(DEXP_INVERSE, X, W)


def dexp_rate(X: V, X_dot: V, Y: V) -> V:
    """d/dt dexp(X(t), Y) for constant Y."""
    return _rate(DEXP, X, X_dot, Y)


def dexp_inverse_rate(X: V, X_dot: V, Y: V) -> V:
    """d/dt dexp_inverse(X(t), Y) for constant Y."""
    return _rate(DEXP_INVERSE, X, X_dot, Y)


def _apply(pair: Pair, X: V, Y: V) -> V:
    f, g = pair
    w = angular(X)
    x = w.dot(w)
    Y1 = X.cross(Y)
    Y2 = X.cross(Y1)
    result = Y + Y1 * f[0](x) + Y2 * g[0](x)
    if not isinstance(X, Twist):
        return result
    delta = 2.0 * w.dot(X.lin)
    return _with_dual_part(result, (angular(Y1) * f[1](x) + angular(Y2) * g[1](x)) * delta)


def _with_dual_part(Y: V, lin: Vec3) -> V:
    return cast("V", Twist(Y.ang, Y.lin + lin)) if isinstance(Y, Twist) else Y


def _apply_dual(pair: Pair, X: Twist, W: D) -> D:
    f, g = pair
    w, x = X.ang, X.ang.dot(X.ang)
    W1 = _ad_dual(X, W)
    W2 = _ad_dual(X, W1)
    delta = 2.0 * w.dot(X.lin)
    result = W + W1 * f[0](x) + W2 * g[0](x)
    twist = (W1.lin * f[1](x) + W2.lin * g[1](x)) * delta
    return type(W)(result.ang + twist, result.lin)


def _ad_dual(X: Twist, W: D) -> D:
    return type(W)(W.ang.cross(X.ang) + W.lin.cross(X.lin), W.lin.cross(X.ang))


def _rate(pair: Pair, X: V, X_dot: V, Y: V) -> V:
    f, g = pair
    w, w_dot = angular(X), angular(X_dot)
    x, x_dot = w.dot(w), 2.0 * w.dot(w_dot)
    f0, f1, g0, g1 = f[0](x), f[1](x), g[0](x), g[1](x)
    Y1, Z1 = X.cross(Y), X_dot.cross(Y)
    Y2, Z2 = X.cross(Y1), X_dot.cross(Y1) + X.cross(Z1)
    result = Z1 * f0 + Z2 * g0 + (Y1 * f1 + Y2 * g1) * x_dot
    if not isinstance(X, Twist) or not isinstance(X_dot, Twist):
        return result
    delta = 2.0 * w.dot(X.lin)
    delta_dot = 2.0 * (w_dot.dot(X.lin) + w.dot(X_dot.lin))
    y1, z1, y2, z2 = angular(Y1), angular(Z1), angular(Y2), angular(Z2)
    return _with_dual_part(
        result,
        (z1 * f1 + z2 * g1) * delta
        + (y1 * f1 + y2 * g1) * delta_dot
        + (y1 * f[2](x) + y2 * g[2](x)) * (delta * x_dot),
    )
