"""The spatial operators of a mechanism at a configuration: linear maps that act in O(n).

Rodriguez, Jain, Kreutz-Delgado. Stacked quantities hold six numbers per body, body-fixed, in the
order of the model's bodies: from base to tip, where the paper counts from tip to base, so that its
lower triangular operators are upper triangular here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.guard import fitting
from mozzi.algorithms.dynamics.linear_operators import (
    Attachment,
    BlockDiagonal,
    Identity,
    LinearOperator,
    Resolvent,
    Shift,
)
from mozzi.algorithms.dynamics.operational_admittance import UNITS, Compliance, compliances
from mozzi.algorithms.kinematics.accelerations import accelerations
from mozzi.algorithms.recursion.articulated import articulated_bodies
from mozzi.algorithms.recursion.blocks import diagonal_plus
from mozzi.algorithms.recursion.containers import (
    BlockArray,
    body_array,
    joint_array,
    joint_matrix,
    per_body,
)
from mozzi.algorithms.recursion.mechanism import Mechanism, mechanism
from mozzi.algorithms.recursion.views import JointVector
from mozzi.checked import checked
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.program.node import active
from mozzi.types import Array, ArrayLike

__all__ = ["Operators", "operators"]


@checked
def operators(model: Model, q: ArrayLike, v: ArrayLike | None = None) -> Operators:
    """The spatial operators at q: E_φ, φ, H, M, P, D, G, K, τ̄, E_ψ, ψ, Υ, Ω and what they make.

    ``o = operators(model, q)``; ``o.H @ (o.phi @ f)`` are the joint forces of body wrenches f. All
    have ``@`` (on vectors, matrices of columns, each other), sums, multiples, ``o.psi - 1`` with
    the identity of the right size, ``.T``, ``.shape``, ``.matvec`` on batches of vectors and
    ``.dense()``. ``o.B(frames)`` and ``o.J(frames)`` are those of the paper for frames of the
    model; with v there are ``o.a`` and ``o.b``, and ``o.H @ o.phi`` makes Coriolis forces of them.

    Cost: an operator acts in O(n); `dense` makes its matrix in O(n²).

    Args:
        model: the mechanism.
        q (B, nq): configuration.
        v (B, nv), optional: joint velocities, for V, a and b.

    Returns:
        The operators, by their letters; with `mass_matrix`, its factors and its inverse.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> o = mz.operators(arm, arm.neutral(), np.ones(arm.nv))
        >>> np.allclose(o.mass_matrix.dense(), mz.mass_matrix(arm, arm.neutral()))
        True
        >>> coriolis = o.H @ (o.phi @ (o.M @ (o.phi.T @ o.a) + o.b))
    """
    as_model(model, "operators")
    if active() is None and v is not None:
        q, v = fitting("operators", model, q=q, v=v)
    return Operators(model, *_blocks(model, q), q=q, v=v)


class Operators:
    """The operators of a model at a configuration.  Rodriguez et al. (0.4)–(0.34), (.39)–(.43).

    With armature R (a diagonal): D = H P Hᵀ + R, and M is H φ M φᵀ Hᵀ + R; without, as printed.
    """

    def __init__(
        self, model: Model, phi: Array, P: Array, S: Array, G: Array, D: Array, Y: Array,
        q: ArrayLike | None = None, v: ArrayLike | None = None,
    ):  # fmt: skip
        self.model, self.q, self.v = model, q, v
        spans = [slice(a, b) for a, b in itertools.pairwise(model.v_offsets)]
        armature = [x for body in model for x in body.dynamics.armature]
        # from the frames on the joints to the bodies' own: wrenches by X, twists by its inverse
        # transpose
        frames = [body.frame for body in mechanism(model).bodies]
        X = [frame.pull(UNITS).array() for frame in frames]
        Xt = [np.linalg.inv(x).T for x in X]

        def own(blocks: Array) -> BlockDiagonal:
            return BlockDiagonal([x @ blocks[..., k, :, :] @ x.T for k, x in enumerate(X)])

        self.H = BlockDiagonal(
            [np.swapaxes(x @ S[..., :, s], -1, -2) for x, s in zip(Xt, spans, strict=True)]
        )
        self.G = BlockDiagonal([x @ G[..., :, s] for x, s in zip(X, spans, strict=True)])
        self.M = BlockDiagonal([body.inertia.matrix() for body in model])
        self.P = own(P)
        self.D = BlockDiagonal([D[..., s, s] for s in spans])
        self.R = BlockDiagonal([np.diag(armature[s]) for s in spans])
        self.Upsilon = BlockDiagonal([x @ Y[..., k, :, :] @ x.T for k, x in enumerate(Xt)])
        parents = model.parents
        up = [X[p] if p >= 0 else np.eye(6) for p in parents]
        self.E_phi = Shift(parents, [u @ phi[..., k, :, :] @ Xt[k].T for k, u in enumerate(up)])
        self.tau_bar = BlockDiagonal(
            [np.eye(6) - g @ h for g, h in zip(self.G.blocks, self.H.blocks, strict=True)]
        )
        pairs = zip(self.E_phi.blocks, self.tau_bar.blocks, strict=True)
        self.E_psi = Shift(parents, [f @ t for f, t in pairs])  # R0.26
        self.phi, self.psi = Resolvent(self.E_phi), Resolvent(self.E_psi)  # R0.12, R0.27
        self.K = self.E_phi @ self.G  # R0.26
        self.one = Identity(self.H.shape[0])

    def B(self, frames: str | Sequence[str]) -> LinearOperator:
        """Wrenches at frames, body-fixed there, as wrenches on the bodies; Bᵀ V are the twists of
        the frames.  (0.8), (0.17)
        """
        names = [frames] if isinstance(frames, str) else frames
        found = [self.model.frame(name) for name in names]
        blocks = [placement.push(UNITS).array() for _, placement in found]
        return Attachment([k for k, _ in found], blocks, self.model.nb)

    def J(self, frames: str | Sequence[str]) -> LinearOperator:
        """The Jacobian of frames, Bᵀ φᵀ Hᵀ.  (0.8), (0.18)"""
        return self.B(frames).T @ self.phi.T @ self.H.T

    def Lambda(self, frames: str | Sequence[str]) -> LinearOperator:
        """The admittance at frames, Bᵀ Ω B = J M⁻¹ Jᵀ.  (0.34)"""
        B = self.B(frames)
        return B.T @ self.Omega @ B

    def _moving(self) -> ArrayLike:
        if self.v is None or self.q is None:
            raise ConfigurationError(
                "V, a and b are of velocities: operators(model, q, v) has them"
            )
        return self.v

    @property
    def V(self) -> Array:
        """The twists of the bodies, φᵀ Hᵀ v (B, 6 n).  (0.14)"""
        return self.phi.T.matvec(self.H.T.matvec(self._moving()))

    @property
    def a(self) -> Array:
        """What joints add to the accelerations because bodies move (B, 6 n): α = φᵀ (Hᵀ v̇ + a),
        in components of the bodies, V × S v + Ṡ v.  (0.2)
        """
        v = self._moving()
        assert self.q is not None
        drift = accelerations(self.model, self.q, v, np.zeros_like(np.asarray(v, dtype=float)))
        alpha = drift.reshape(*drift.shape[:-2], -1)
        return alpha - self.E_phi.T.matvec(alpha)

    @property
    def b(self) -> Array:
        """The gyroscopic wrenches V ×* M V (B, 6 n), body-fixed.  (0.2)"""
        V = self.V
        h = self.M.matvec(V)
        (w, u), (L, p) = (
            np.split(x.reshape(*x.shape[:-1], -1, 6), 2, axis=-1) for x in (V, h)
        )
        wrench = np.concatenate([np.cross(w, L) + np.cross(u, p), np.cross(w, p)], axis=-1)
        return wrench.reshape(V.shape)

    @property
    def mass_matrix(self) -> LinearOperator:
        """H φ M φᵀ Hᵀ + R.  (0.14)"""
        J = self.H @ self.phi
        return J @ self.M @ J.T + self.R

    @property
    def factor(self) -> LinearOperator:
        """L = 1 + H φ K with M = L D Lᵀ: the innovations factor.  (0.28)"""
        return self.one + self.H @ self.phi @ self.K

    @property
    def inverse_factor(self) -> LinearOperator:
        """L⁻¹ = 1 − H ψ K.  (0.29)"""
        return self.one - self.H @ self.psi @ self.K

    @property
    def mass_matrix_inverse(self) -> LinearOperator:
        """(1 − H ψ K)ᵀ D⁻¹ (1 − H ψ K).  (0.30)"""
        L = self.inverse_factor
        return L.T @ self.D.inverse() @ L

    @property
    def Omega(self) -> LinearOperator:
        """ψᵀ Hᵀ D⁻¹ H ψ, with Υ on its diagonal.  (0.34), (.42)"""
        Hpsi = self.H @ self.psi
        return Hpsi.T @ self.D.inverse() @ Hpsi


@algorithm
def _blocks(model: Mechanism, q: JointVector) -> tuple[BlockArray, ...]:
    """φ to the parent, P, S, G, D and Υ of every body, in frames on the joints.  (.39), (.41)"""
    T, P, U, D = articulated_bodies(model, q)
    Y = per_body(model, "Y", Compliance)
    phi, P_, Y_ = (body_array(model, 6, 6, letter=x) for x in ("phi", "P", "Y"))
    S_, G_ = joint_array(model, 6, "v", letter="S"), joint_array(model, 6, "v", letter="G")
    D_ = joint_matrix(model, "D")
    compliances(model, q, T, U, D, Y)
    for i in model.outward():
        S = i.joint.screws(q[i])
        phi[i] = T[i].push(UNITS).array()
        P_[i], Y_[i] = P[i].array(), Y[i].array()
        S_[i], G_[i] = S.array(), (U[i] @ D[i]).array()
        D_[i, i] = diagonal_plus(S.T @ U[i], i.armature)
    return phi, P_, S_, G_, D_, Y_
