"""Poses, screws, system Jacobian and its rate as matrices, in closed form and in batches."""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mozzi.algorithms.reference.matrices import Ad, ad, diag
from mozzi.lie import SE3
from mozzi.model import Body, Model
from mozzi.program.scalar import Real
from mozzi.types import Array, ArrayLike

__all__ = ["ClosedKinematics"]

Scalars = tuple[Real, ...]


class ClosedKinematics:
    """The matrices of the kinematics of a model at configurations q and velocities v."""

    def __init__(self, model: Model, q: ArrayLike, v: ArrayLike):
        at, u = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        batch = np.broadcast_shapes(at.shape[:-1], u.shape[:-1])
        self.model = model
        self.q: Array = np.broadcast_to(at, (*batch, model.nq))
        self.v: Array = np.broadcast_to(u, (*batch, model.nv))
        self.batch = batch

    def _joints(self) -> Iterator[tuple[Body, Scalars, Scalars]]:
        """Every body with the coordinates and velocities of its joint, as arrays of samples."""
        m = self.model
        for body, i, k in zip(m, m.q_offsets, m.v_offsets, strict=False):
            q = tuple(np.moveaxis(self.q[..., i : i + body.joint.nq], -1, 0))
            yield body, q, tuple(np.moveaxis(self.v[..., k : k + body.joint.nv], -1, 0))

    @cached_property
    def C(self) -> Array:
        """The poses of the bodies, (B, nb, 4, 4).  MD92"""
        poses: list[SE3] = []
        for body, q, _ in self._joints():
            base = poses[body.parent] if body.parent >= 0 else SE3.identity()
            joint = body.joint
            T = joint.frame_parent @ joint.pose(q) @ joint.frame_child.inverse()
            poses.append(base @ T)
        each = [np.broadcast_to(T.matrix(), (*self.batch, 4, 4)) for T in poses]
        return np.stack(each, axis=-3).astype(float)

    @cached_property
    def X(self) -> Array:
        """The joint screws, body-fixed: diag(ⁱXᵢ)."""
        return diag([self._shaped(b.joint.frame_child.push(b.joint.screws(q)).array(), b)
                     for b, q, _ in self._joints()])  # fmt: skip

    @cached_property
    def dX(self) -> Array:
        """Ẋ, of joints whose screws depend on their coordinates (not in the paper)."""
        return np.einsum("...xjk,...k->...xj", self.screw_partials, self.v)

    @cached_property
    def screw_partials(self) -> Array:
        """∂_k X_j (B, 6 nb, nv, nv), of screws that depend on their own coordinates."""
        n = self.model.nv
        out = np.zeros((*self.batch, 6 * self.model.nb, n, n))
        for r, ((body, q, _), start) in enumerate(
            zip(self._joints(), self.model.v_offsets, strict=False)
        ):
            joint = body.joint
            own = slice(start, start + joint.nv)
            for k, unit in enumerate(np.eye(joint.nv)):
                rate = joint.frame_child.push(joint.screws_rate(q, tuple(unit.tolist())))
                out[..., 6 * r : 6 * r + 6, own, start + k] = self._shaped(rate.array(), body)
        return out

    def _shaped(self, x: Array, body: Body) -> Array:
        """The screws of a joint (B, 6, nv), also of one without freedoms."""
        n = body.joint.nv
        return np.broadcast_to(x.astype(float), (*self.batch, 6, n)) if n else np.zeros((6, 0))

    @cached_property
    def A(self) -> Array:
        """Ad of the relative poses C_ij, of each body i and the bodies j it hangs on.  MK24"""
        n = self.model.nb
        A = np.zeros((*self.batch, 6 * n, 6 * n))
        inverse = np.linalg.inv(self.C)
        for i in range(n):
            j = i
            while j >= 0:
                T = inverse[..., i, :, :] @ self.C[..., j, :, :]
                A[..., 6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = Ad(T)
                j = self.model.parents[j]
        return A

    @cached_property
    def J(self) -> Array:
        """The system Jacobian A X: V = J v.  MD112"""
        return self.A @ self.X

    @cached_property
    def spatial(self) -> Array:
        """diag(Ad_C): body-fixed twists to spatial ones.  MD99"""
        return diag([Ad(self.C[..., i, :, :]) for i in range(self.model.nb)])

    @cached_property
    def Js(self) -> Array:
        """The spatial system Jacobian.  MD112"""
        return self.spatial @ self.J

    @cached_property
    def V(self) -> Array:
        """The body-fixed twists, stacked.  MD111"""
        return (self.J @ self.v[..., None])[..., 0]

    @cached_property
    def a(self) -> Array:
        """diag(ad of the joint twists ⁱXᵢ vᵢ).  MD9"""
        return self._ads((self.X @ self.v[..., None])[..., 0])

    @cached_property
    def b(self) -> Array:
        """diag(ad of the body twists).  MD82"""
        return self._ads(self.V)

    def _ads(self, V: Array) -> Array:
        return diag([ad(V[..., 6 * i : 6 * i + 6]) for i in range(self.model.nb)])

    @cached_property
    def dJ(self) -> Array:
        """J̇ = −A a J, and A (a X + Ẋ) for joints of several degrees of freedom.  MD8, MD10"""
        return self.A @ (-self.a @ self.J + self.a @ self.X + self.dX)
