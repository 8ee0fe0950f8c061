"""The Cayley map, a rational stand-in for exp on SO(3) (`Vec3`) and on SE(3) (`Twist`).

cay(X) = (1 − X̂/2)⁻¹ (1 + X̂/2) with the 3×3 or 4×4 matrix X̂; it agrees with exp(X) to second order.
"""

from __future__ import annotations

from typing import Any

from mozzi.lie.screw import Twist
from mozzi.lie.se3 import SE3
from mozzi.lie.so3 import Rotation, RotationZ
from mozzi.lie.vec import Vec3

__all__ = ["cayley", "cayley_inverse", "dcayley", "dcayley_inverse"]


def _scale(w: Vec3) -> Any:
    return 1.0 / (1.0 + 0.25 * w.dot(w))


def _half(w: Vec3, u: Vec3, k: Any) -> Vec3:
    """(1 − [w]/2)⁻¹ u, with k = 1 / (1 + |w|²/4)."""
    t = w.cross(u)
    return u + (t + w.cross(t) * 0.5) * (0.5 * k)


def cayley(X: Any) -> Any:
    """The rotation cay(w) about w by 2 atan(|w|/2), or the pose cay(X)."""
    if type(X) is Vec3:
        k = _scale(X)
        return Rotation.polynomial(X, k, 0.5 * k)
    return SE3(cayley(X.ang), _half(X.ang, X.lin, _scale(X.ang)))


def cayley_inverse(T: Any) -> Any:
    """The X with cayley(X) = T, for rotations by less than π."""
    if type(T) is SE3:
        w = cayley_inverse(T.R)
        return Twist(w, T.p - w.cross(T.p) * 0.5)
    R: Rotation = T.general() if type(T) is RotationZ else T
    q = R.ray()
    return q.vector() * (2.0 / q.w)


def dcayley(X: Any, Y: Any) -> Any:
    """With T = cayley(X) and Y = Ẋ:  Ṫ T⁻¹ = dcayley(X, Ẋ)."""
    if type(X) is Vec3:
        return (Y + X.cross(Y) * 0.5) * _scale(X)
    w, k = X.ang, _scale(X.ang)
    lin = Y.lin - Y.ang.cross(_half(-w, X.lin, k)) * 0.5
    return Twist(dcayley(w, Y.ang), _half(w, lin, k))


def dcayley_inverse(X: Any, Y: Any) -> Any:
    """The Y′ with dcayley(X, Y′) = Y."""
    if type(X) is Vec3:
        return Y - X.cross(Y) * 0.5 + X * (0.25 * X.dot(Y))
    w, v = X.ang, X.lin
    lin = Y.lin - (w.cross(Y.lin) + v.cross(Y.ang)) * 0.5 - w.cross(Y.ang.cross(v)) * 0.25
    return Twist(dcayley_inverse(w, Y.ang), lin)
