"""The Cayley map, a rational stand-in for exp on SO(3) (`Vec3`) and on SE(3) (`Twist`).

cay(X) = (1 − X̂/2)⁻¹ (1 + X̂/2) with the 3×3 or 4×4 matrix X̂; it agrees with exp(X) to second order.
"""

from __future__ import annotations

from typing import overload

from mozzi.lie.screw import Twist, angular
from mozzi.lie.se3 import SE3
from mozzi.lie.so3 import SO3, Rotation
from mozzi.lie.vec import Vec3
from mozzi.program.scalar import Real

__all__ = ["cayley", "cayley_inverse", "dcayley", "dcayley_inverse"]


def _scale(w: Vec3) -> Real:
    return 1.0 / (1.0 + 0.25 * w.dot(w))


def _half(w: Vec3, u: Vec3, k: Real) -> Vec3:
    """(1 − [w]/2)⁻¹ u, with k = 1 / (1 + |w|²/4)."""
    t = w.cross(u)
    return u + (t + w.cross(t) * 0.5) * (0.5 * k)


@overload
def cayley(X: Vec3) -> Rotation: ...
@overload
def cayley(X: Twist) -> SE3: ...
def cayley(X: Vec3 | Twist) -> Rotation | SE3:
    """The rotation cay(w) about w by 2 atan(|w|/2), or the pose cay(X)."""
    if isinstance(X, Vec3):
        k = _scale(X)
        return Rotation.polynomial(X, k, 0.5 * k)
    return SE3(cayley(X.ang), _half(X.ang, X.lin, _scale(X.ang)))


@overload
def cayley_inverse(T: SO3) -> Vec3: ...
@overload
def cayley_inverse(T: SE3) -> Twist: ...
def cayley_inverse(T: SO3 | SE3) -> Vec3 | Twist:
    """The X with cayley(X) = T, for rotations by less than π."""
    if isinstance(T, SE3):
        w = cayley_inverse(T.R)
        return Twist(w, T.p - w.cross(T.p) * 0.5)
    q = T.general().ray()
    return q.vector() * (2.0 / q.w)


@overload
def dcayley(X: Vec3, Y: Vec3) -> Vec3: ...
@overload
def dcayley(X: Twist, Y: Twist) -> Twist: ...
def dcayley(X: Vec3 | Twist, Y: Vec3 | Twist) -> Vec3 | Twist:
    """With T = cayley(X) and Y = Ẋ:  Ṫ T⁻¹ = dcayley(X, Ẋ)."""
    w = angular(X)
    if isinstance(X, Twist) and isinstance(Y, Twist):
        k = _scale(w)
        lin = Y.lin - Y.ang.cross(_half(-w, X.lin, k)) * 0.5
        return Twist(dcayley(w, Y.ang), _half(w, lin, k))
    u = angular(Y)
    return (u + w.cross(u) * 0.5) * _scale(w)


@overload
def dcayley_inverse(X: Vec3, Y: Vec3) -> Vec3: ...
@overload
def dcayley_inverse(X: Twist, Y: Twist) -> Twist: ...
def dcayley_inverse(X: Vec3 | Twist, Y: Vec3 | Twist) -> Vec3 | Twist:
    """The Y′ with dcayley(X, Y′) = Y."""
    w, u = angular(X), angular(Y)
    if isinstance(X, Twist) and isinstance(Y, Twist):
        v = X.lin
        lin = Y.lin - (w.cross(Y.lin) + v.cross(u)) * 0.5 - w.cross(u.cross(v)) * 0.25
        return Twist(dcayley_inverse(w, u), lin)
    return u - w.cross(u) * 0.5 + w * (0.25 * w.dot(u))
