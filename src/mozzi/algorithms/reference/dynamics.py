"""The equations of motion as matrices: slow, obvious, and the first test of every recursion.

Body-fixed representation, one configuration at a time, with the letters of Müller, Dynamics,
section 5. Where the paper has joints of one degree of freedom, the terms that others need are
added: they are marked.
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mozzi.errors import ModelError
from mozzi.lie import SE3
from mozzi.model import Body, Model
from mozzi.types import Array, ArrayLike

__all__ = ["ClosedForm"]


def Ad(T: Array) -> Array:
    """Ad_T, 6×6, of a pose 4×4."""
    R, p = T[:3, :3], T[:3, 3]
    return np.block([[R, np.zeros((3, 3))], [hat(p) @ R, R]])


def ad(V: Array) -> Array:
    """ad_V, 6×6."""
    return np.block([[hat(V[:3]), np.zeros((3, 3))], [hat(V[3:]), hat(V[:3])]])


def hat(w: Array) -> Array:
    """[w], 3×3."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def diag(blocks: Iterable[ArrayLike]) -> Array:
    """The block diagonal matrix."""
    parts = [np.asarray(b, dtype=float) for b in blocks]
    out = np.zeros((sum(b.shape[0] for b in parts), sum(b.shape[1] for b in parts)))
    i = j = 0
    for b in parts:
        out[i : i + b.shape[0], j : j + b.shape[1]] = b
        i, j = i + b.shape[0], j + b.shape[1]
    return out


@dataclass(frozen=True)
class ClosedForm:
    """The matrices of a model at a configuration and velocity."""

    model: Model
    q: Array
    v: Array

    # -- kinematics --

    def _joints(self) -> Iterator[tuple[Body, tuple[float, ...], tuple[float, ...]]]:
        m = self.model
        for body, i, k in zip(m, m.q_offsets, m.v_offsets, strict=False):
            q, v = self.q[i : i + body.joint.nq], self.v[k : k + body.joint.nv]
            yield body, tuple(q.tolist()), tuple(v.tolist())

    @cached_property
    def C(self) -> list[Array]:
        """The poses of the bodies."""
        poses: list[SE3] = []
        for body, q, _ in self._joints():
            base = poses[body.parent] if body.parent >= 0 else SE3.identity()
            joint = body.joint
            T = joint.frame_parent @ joint.pose(q) @ joint.frame_child.inverse()
            poses.append(base @ T)
        return [T.matrix() for T in poses]

    @cached_property
    def X(self) -> Array:
        """The joint screws, body-fixed: diag(ⁱXᵢ)."""
        return diag(
            b.joint.frame_child.push(b.joint.screws(q)).array() for b, q, _ in self._joints()
        )

    @cached_property
    def dX(self) -> Array:
        """Ẋ, of joints whose screws depend on their coordinates (not in the paper)."""
        return diag(
            b.joint.frame_child.push(b.joint.screws_rate(q, v)).array()
            for b, q, v in self._joints()
        )

    @cached_property
    def A(self) -> Array:
        """Ad of the relative poses C_ij, of each body i and the bodies j it hangs on.  MK24"""
        n = self.model.nb
        A = np.zeros((6 * n, 6 * n))
        for i in range(n):
            j = i
            while j >= 0:
                T = np.linalg.inv(self.C[i]) @ self.C[j]
                A[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = Ad(T)
                j = self.model.parents[j]
        return A

    @cached_property
    def J(self) -> Array:
        """The system Jacobian A X: V = J v.  MD112"""
        return self.A @ self.X

    @cached_property
    def V(self) -> Array:
        """The body-fixed twists."""
        return self.J @ self.v

    @cached_property
    def a(self) -> Array:
        """diag(ad of the joint twists ⁱXᵢ vᵢ).  MD9"""
        twists = self.X @ self.v
        return diag(ad(twists[6 * i : 6 * i + 6]) for i in range(self.model.nb))

    @cached_property
    def b(self) -> Array:
        """diag(ad of the body twists).  MD82"""
        return diag(ad(self.V[6 * i : 6 * i + 6]) for i in range(self.model.nb))

    @cached_property
    def dJ(self) -> Array:
        """J̇ = −A a J, and A (a X + Ẋ) for joints of several degrees of freedom.  MD10"""
        return self.A @ (-self.a @ self.J + self.a @ self.X + self.dX)

    # -- dynamics --

    @cached_property
    def MM(self) -> Array:
        """𝓜: the inertias of the bodies.  MD81"""
        return diag(body.inertia.matrix() for body in self.model)

    @cached_property
    def armature(self) -> Array:
        """The rotors (not in the paper)."""
        return np.diag([x for body in self.model for x in body.dynamics.armature])

    @cached_property
    def M(self) -> Array:
        """Jᵀ 𝓜 J.  MD81"""
        return self.J.T @ self.MM @ self.J + self.armature

    @cached_property
    def dM(self) -> Array:
        """J̇ᵀ 𝓜 J + Jᵀ 𝓜 J̇.  P28"""
        half = self.J.T @ self.MM @ self.dJ
        return half + half.T

    @cached_property
    def C_lagrange(self) -> Array:
        """−Jᵀ (𝓜 A a + bᵀ 𝓜) J: gives C v, but Ṁ − 2C is not skew.  MD84"""
        return self.J.T @ (self.MM @ self.dJ - self.b.T @ self.MM @ self.J)

    def C_skew(self, christoffel: bool = True) -> Array:
        """Jᵀ (𝓜 J̇ + C̄ J) with skew C̄ᵢ: Ploen's P37, or the one that is Christoffel's."""
        bars: list[Array] = []
        for i, body in enumerate(self.model):
            w, I = self.V[6 * i : 6 * i + 3], body.inertia.matrix()
            J, h, m = I[:3, :3], I[:3, 3:], float(body.inertia.m)
            trace = np.trace(J) * np.eye(3)
            spin = hat((0.5 * trace - J) @ w) if christoffel else hat(w) @ J + J @ hat(w)
            bars.append(np.block([[spin, h @ hat(w)], [-hat(w) @ h, m * hat(w)]]))
        return self.J.T @ (self.MM @ self.dJ + diag(bars) @ self.J)

    @cached_property
    def up(self) -> Array:
        """The body-fixed accelerations that stand for gravity."""
        g = np.array(self.model.gravity, dtype=float)
        return np.concatenate([np.r_[np.zeros(3), -C[:3, :3].T @ g] for C in self.C])

    @cached_property
    def g(self) -> Array:
        """Jᵀ 𝓜 (0, −Rᵀ g)."""
        return self.J.T @ self.MM @ self.up

    def twist_rates(self, a: Array) -> Array:
        """V̇ = J a + J̇ v."""
        return self.J @ a + self.dJ @ self.v

    def euler_jourdain(self, a: Array, wrenches: ArrayLike | None = None) -> Array:
        """Joint forces by projection (Jourdain, Kane): Jᵀ (𝓜 V̇ − bᵀ 𝓜 V − W).  MD78"""
        W = np.zeros(6 * self.model.nb) if wrenches is None else np.ravel(wrenches)
        inertial = self.MM @ (self.twist_rates(a) + self.up) - self.b.T @ self.MM @ self.V
        return self.J.T @ (inertial - W) + self.armature @ a

    def lagrange(self, a: Array) -> Array:
        """Joint forces M a + C v + g.  MD80"""
        return self.M @ a + self.C_lagrange @ self.v + self.g

    def accelerations(self, tau: Array) -> Array:
        """M⁻¹ (τ − C v − g).  MD80"""
        a = np.linalg.solve(self.M, tau - self.C_lagrange @ self.v - self.g)
        return np.asarray(a, dtype=np.float64)

    def first_order(self, tau: Array) -> tuple[Array, Array]:
        """(v, V̇) of the state (q, V): first-order equations on V × se(3)ⁿ.

        v = X⁺ A⁻¹ V, MD111, and MD78 with V̇ = J a + J̇ v.
        """
        v = np.linalg.pinv(self.X) @ np.linalg.solve(self.A, self.V)  # MD111
        return v, self.twist_rates(self.accelerations(tau))

    def momentum_form(self, tau: Array) -> tuple[Array, Array, Array]:
        """(Πˢ, v, Π̇ˢ) of the state (q, Πˢ): Jˢᵀ (Π̇ˢ − Wˢ) = τ, 𝓜ˢ Jˢ v = Πˢ.  MD79"""
        X = diag(Ad(C) for C in self.C)
        Xt = np.linalg.inv(X).T  # wrenches and momenta, body-fixed to spatial
        Js, Ms = X @ self.J, Xt @ self.MM @ np.linalg.inv(X)
        Pi = Ms @ Js @ self.v
        v = np.asarray(np.linalg.lstsq(Ms @ Js, Pi, rcond=None)[0], dtype=np.float64)
        rate = self.MM @ self.twist_rates(self.accelerations(tau)) - self.b.T @ self.MM @ self.V
        return Pi, v, Xt @ rate

    def _one_dof(self, equation: str) -> int:
        """nv, where every joint has at most one degree of freedom, as the equation has it."""
        several = [b.name for b in self.model if b.joint.nv > 1]
        if several:
            raise ModelError(
                f"{equation} is for joints of one degree of freedom; that of {several[0]!r} has "
                "more: mz.christoffel holds for all"
            )
        return self.model.nv

    def christoffel(self) -> Array:
        """Γ_ijk = ½ Σ_l (J_kᵀ M ad_{J_i} J_j + J_jᵀ M ad_{J_i} J_k + J_iᵀ M ad_{J_s} J_r).  MD86

        For joints of one degree of freedom; r = max(j, k) and s = min(j, k).
        """
        n = self._one_dof("MD86")
        outer = np.maximum.outer(np.arange(n), np.arange(n))
        inner = np.minimum.outer(np.arange(n), np.arange(n))
        G = np.zeros((n, n, n))
        for J, body in zip(self.J.reshape(-1, 6, n), self.model, strict=True):
            B = np.array([ad(x) @ J for x in J.T])  # B[i, :, j] = ad_{J_i} J_j
            t = np.einsum("xk,xy,iyj->kij", J, body.inertia.matrix(), B)  # J_kᵀ M ad_{J_i} J_j
            G += 0.5 * (t.transpose(1, 2, 0) + t.transpose(1, 0, 2) + t[:, inner, outer])
        return G

    def christoffel_binet(self) -> Array:
        """Γ_ijk = Σ_l (ω_jᵀ ϑ (ω_k × ω_i) + m v_iᵀ (ω_j × v_k)), j inside or at k.  MD87

        For joints of one degree of freedom, at the centres of mass, with Binet's tensor ϑ there.
        """
        n = self._one_dof("MD87")
        G = np.zeros((n, n, n))
        for J, body in zip(self.J.reshape(-1, 6, n), self.model, strict=True):
            I, m = body.inertia.matrix(), float(body.inertia.m)
            c = np.array(body.inertia.h.array(), dtype=float) / m if m else np.zeros(3)
            theta_c = I[:3, :3] + m * hat(c) @ hat(c)
            binet = 0.5 * np.trace(theta_c) * np.eye(3) - theta_c
            w, v = J[:3], J[3:] - hat(c) @ J[:3]
            cross = np.einsum("abc,bi,cj->ija", LEVI_CIVITA, w, w)
            turn = np.einsum("abc,bj,ck->jka", LEVI_CIVITA, w, v)
            G += np.einsum("aj,ab,kib->ijk", w, binet, cross) + m * np.einsum(
                "ai,jka->ijk", v, turn
            )
        j, k = np.indices((n, n))
        return np.where(j <= k, G, G.transpose(0, 2, 1))


LEVI_CIVITA = np.array([hat(e) for e in np.eye(3)]).transpose(1, 0, 2)
