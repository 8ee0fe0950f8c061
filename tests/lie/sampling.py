"""Random spatial quantities over every kind of scalar."""

from __future__ import annotations

import mpmath
import numpy as np

from mozzi.lie import (
    SE3,
    ArticulatedInertia,
    Inertia,
    Mat3,
    Momentum,
    Rotation,
    RotationZ,
    Screws,
    Sym3,
    Twist,
    Vec3,
    Wrench,
)  # fmt: skip

DIGITS = 50


class Sampler:
    """Draws quantities whose scalars are of one kind."""

    def __init__(self, kind: str, seed: int = 0):
        self.kind = kind
        self.rng = np.random.default_rng(seed)
        self.tolerance = 1e-12
        if kind == "mpmath":
            mpmath.mp.dps = DIGITS
            self.tolerance = mpmath.mpf(10) ** (5 - DIGITS)

    def scalar(self):
        if self.kind == "float":
            return float(self.rng.normal())
        if self.kind == "batch":
            return self.rng.normal(size=4)
        if self.kind == "mpmath":
            return mpmath.mpf(float(self.rng.normal())) + mpmath.mpf(10) ** -30
        if self.kind == "complex batch":
            return self.rng.normal(size=3) + 0.1j * self.rng.normal(size=3)
        return complex(self.rng.normal(), 0.1 * self.rng.normal())

    def of(self, kind, count=None):
        return kind.unflatten(self.scalar() for _ in range(count or kind.SIZE))

    def vec(self) -> Vec3:
        return self.of(Vec3)

    def sym(self) -> Sym3:
        return self.of(Sym3)

    def mat(self) -> Mat3:
        return self.of(Mat3)

    def twist(self) -> Twist:
        return self.of(Twist)

    def wrench(self) -> Wrench:
        return self.of(Wrench)

    def momentum(self) -> Momentum:
        return self.of(Momentum)

    def rotation(self) -> Rotation:
        return Rotation.exp(self.vec())

    def rotation_z(self) -> RotationZ:
        return RotationZ.angle(self.scalar())

    def pose(self) -> SE3:
        return SE3(self.rotation(), self.vec())

    def pose_z(self) -> SE3:
        return SE3(self.rotation_z(), self.vec())

    def inertia(self) -> Inertia:
        return self.of(Inertia)

    def articulated(self) -> ArticulatedInertia:
        """A positive definite one, where scalars are real."""
        total = self.of(ArticulatedInertia) * 0.1
        heavy = Inertia.from_parameters((9.0, 0.0, 0.0, 0.0, 8.0, 0.0, 0.0, 9.0, 0.0, 7.0))
        return total + heavy

    def screws(self, n: int) -> Screws:
        return Screws(self.twist() for _ in range(n))

    def close(self, a, b, scale: float = 1.0) -> bool:
        """Whether two quantities agree, compared as arrays."""
        a, b = (x.array() if hasattr(x, "array") else np.asarray(x) for x in (a, b))
        size = scale + np.max(np.abs(b))
        return bool(np.max(np.abs(a - b)) <= self.tolerance * size)


KINDS = ("float", "batch", "mpmath", "complex", "complex batch")


def hat(v) -> np.ndarray:
    """[v] of an array (..., 3)."""
    x, y, z = (v[..., i] for i in range(3))
    o = 0 * x
    rows = [np.stack(np.broadcast_arrays(*r), -1) for r in ((o, -z, y), (z, o, -x), (-y, x, o))]
    return np.stack(rows, -2)


def adjoint(T: SE3) -> np.ndarray:
    """[[R, 0], [[p] R, R]], written out."""
    R, p = T.R.array(), T.p.array()
    R = np.broadcast_to(R, np.broadcast_shapes(R.shape, (*p.shape, 3)))
    top = np.concatenate([R, 0 * R], -1)
    return np.concatenate([top, np.concatenate([hat(p) @ R, R], -1)], -2)


def small_adjoint(V: Twist) -> np.ndarray:
    """[[[w], 0], [[v], [w]]], written out."""
    w, v = hat(V.ang.array()), hat(V.lin.array())
    return np.concatenate([np.concatenate([w, 0 * w], -1), np.concatenate([v, w], -1)], -2)


def transpose(matrix) -> np.ndarray:
    return np.swapaxes(matrix, -1, -2)


def times(matrix, vector) -> np.ndarray:
    """matrix @ vector over batches."""
    return (matrix @ np.asarray(vector)[..., None])[..., 0]
