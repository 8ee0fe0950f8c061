"""The equations of motion as matrices, in closed form: slow, obvious, and the first test of every
recursion.

Body-fixed representation, with the letters of Müller, Dynamics, section 5. Where the paper has
joints of one degree of freedom, the terms that others need are added: they are marked.
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.with_loops import refuse_loops
from mozzi.algorithms.kinematics.conversion import convert_wrenches
from mozzi.algorithms.reference.closed_kinematics import ClosedKinematics
from mozzi.algorithms.reference.matrices import LEVI_CIVITA, ad, diag, hat, transposed
from mozzi.checked import checked
from mozzi.errors import ConfigurationError, ShapeError, as_numbers
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.types import Array, ArrayLike, Rep

__all__ = ["ClosedForm", "closed_form"]


@checked
def closed_form(
    model: Model, q: ArrayLike, v: ArrayLike | None = None, *, twists: ArrayLike | None = None,
    momenta: ArrayLike | None = None,
) -> ClosedForm:  # fmt: skip
    """The equations of motion at a state, as matrices: what the recursions compute without them.

    Jourdain's and Kane's projection, the forms in (q, V) and in (q, Π), Lagrange's and Ploen's
    matrices, and Christoffel's symbols in two forms; for any joints, in batches, O(n³). For insight
    and for tests: the algorithms of the same names are faster.  Müller, Dynamics (78)–(87); Ploen
    (24), (28), (37). Of the rigid equations: without damping, friction and springs.

    Args:
        model: the mechanism; of a closed one, the matrices are those of its tree.
        q (B, nq): configuration.
        v (B, nv), optional: joint velocities; zero where no state is given.
        twists (B, nb, 6), optional: instead of v, the body-fixed twists of the bodies: (q, V).
        momenta (B, nb, 6), optional: instead of v, their spatial momenta: (q, Π).

    Returns:
        A `ClosedForm`.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> form = mz.closed_form(arm, q, v)
        >>> np.allclose(form.euler_jourdain(a), mz.inverse_dynamics(arm, q, v, a))
        True
    """
    as_model(model, "closed_form")
    given = [x for x in (v, twists, momenta) if x is not None]
    if len(given) > 1:
        raise ConfigurationError(
            "closed_form: v, twists= and momenta= each tell a state; give one of them"
        )
    at = as_numbers(q, "closed_form", "q")
    _fits("q", at, (model.nq,), f"{model.name} has nq = {model.nq}")
    model.check_configuration(at)
    if v is not None or not given:
        u = np.zeros(model.nv) if v is None else as_numbers(v, "closed_form", "v")
        _fits("v", u, (model.nv,), f"{model.name} has nv = {model.nv}")
        return ClosedForm(model, at, u)
    what, x = ("momenta", momenta) if twists is None else ("twists", twists)
    stacked = as_numbers(x, "closed_form", what)
    _fits(what, stacked, (model.nb, 6), f"{model.name} has nb = {model.nb}")
    still = ClosedForm(model, at, np.zeros(model.nv))
    flat = stacked.reshape(*stacked.shape[:-2], -1)
    rates = still.rates_of_momenta(flat) if twists is None else still.rates_of_twists(flat)
    return ClosedForm(model, at, rates)


def _fits(name: str, x: Array, wanted: tuple[int, ...], fact: str) -> None:
    if x.shape[-len(wanted) :] != wanted:
        raise ShapeError("closed_form", name, x.shape, wanted, fact)


class ClosedForm(ClosedKinematics):
    """The matrices of a model at configurations q (B, nq) and velocities v (B, nv).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> form = mz.closed_form(arm, np.zeros(3), np.ones(3))
        >>> np.allclose(form.M, mz.mass_matrix(arm, np.zeros(3)))
        True
    """

    # -- states --

    @checked
    def rates_of_twists(self, twists: Array) -> Array:
        """v = X⁺ A⁻¹ V.  MD111, MK26

        Args:
            twists: body-fixed twists (B, 6 nb), stacked.

        Example:
            >>> arm, a = mz.load("arm.urdf"), np.array([0.1, 0.2, 0.3])
            >>> form = mz.closed_form(arm, np.zeros(3), np.ones(3))
            >>> np.allclose(form.rates_of_twists(form.J @ np.ones(3)), 1)
            True
        """
        inverse = np.asarray(np.linalg.pinv(self.X), dtype=np.float64)
        return _on(inverse, _solved(self.A, self._vector("twists", twists, 6 * self.model.nb)))

    @checked
    def rates_of_momenta(self, momenta: Array) -> Array:
        """v with (Jˢᵀ 𝓜ˢ Jˢ) v = Jˢᵀ Π: 𝓜ˢ Jˢ v = Πˢ.  MD79

        Args:
            momenta: spatial momenta (B, 6 nb), stacked.

        Example:
            >>> arm, a = mz.load("arm.urdf"), np.array([0.1, 0.2, 0.3])
            >>> form = mz.closed_form(arm, np.zeros(3), np.ones(3))
            >>> momenta = mz.momenta(arm, np.zeros(3), np.ones(3)).reshape(-1)
            >>> np.allclose(form.rates_of_momenta(momenta), 1)
            True
        """
        given = self._vector("momenta", momenta, 6 * self.model.nb)
        return _solved(self.M - self.armature, _on(transposed(self.Js), given))

    # -- dynamics --

    @cached_property
    def MM(self) -> Array:
        """𝓜: the inertias of the bodies.  MD81"""
        return diag([body.inertia.matrix() for body in self.model])

    @cached_property
    def armature(self) -> Array:
        """The rotors (not in the paper)."""
        return np.diag([x for body in self.model for x in body.dynamics.armature])

    @cached_property
    def M(self) -> Array:
        """Jᵀ 𝓜 J.  MD81, P24"""
        return transposed(self.J) @ self.MM @ self.J + self.armature

    @cached_property
    def dM(self) -> Array:
        """J̇ᵀ 𝓜 J + Jᵀ 𝓜 J̇.  P28"""
        half = transposed(self.J) @ self.MM @ self.dJ
        return half + transposed(half)

    @cached_property
    def C_lagrange(self) -> Array:
        """−Jᵀ (𝓜 A a + bᵀ 𝓜) J: gives C v, but Ṁ − 2C is not skew.  MD84"""
        turned = transposed(self.b) @ self.MM @ self.J
        return transposed(self.J) @ (self.MM @ self.dJ - turned)

    @checked
    def C_skew(self, christoffel: bool = True) -> Array:
        """Jᵀ (𝓜 J̇ + C̄ J) with skew C̄ᵢ: Ploen's P37, or the one that is Christoffel's.

        Args:
            christoffel: whether it is that of Christoffel, or Ploen's.

        Example:
            >>> arm, a = mz.load("arm.urdf"), np.array([0.1, 0.2, 0.3])
            >>> form = mz.closed_form(arm, np.zeros(3), np.ones(3))
            >>> C = mz.coriolis_matrix(arm, np.zeros(3), np.ones(3))
            >>> np.allclose(form.C_skew() @ np.ones(3), C @ np.ones(3))
            True
        """
        bars: list[Array] = []
        for i, body in enumerate(self.model):
            w, I = self.V[..., 6 * i : 6 * i + 3], body.inertia.matrix()
            J, h, m = I[:3, :3], I[:3, 3:], float(body.inertia.m)
            W, trace = hat(w), np.trace(J) * np.eye(3)
            spin = hat(w @ (0.5 * trace - J)) if christoffel else W @ J + J @ W
            top = np.concatenate([spin, h @ W], axis=-1)
            bars.append(np.concatenate([top, np.concatenate([-W @ h, m * W], axis=-1)], axis=-2))
        return transposed(self.J) @ (self.MM @ self.dJ + diag(bars) @ self.J)

    @cached_property
    def up(self) -> Array:
        """The body-fixed accelerations that stand for gravity."""
        g = np.array(self.model.gravity, dtype=float)
        lin = -np.einsum("...nji,j->...ni", self.C[..., :3, :3], g)
        both = np.concatenate([np.zeros_like(lin), lin], axis=-1)
        return both.reshape(*both.shape[:-2], -1)

    @cached_property
    def g(self) -> Array:
        """Jᵀ 𝓜 (0, −Rᵀ g)."""
        return self._project(self._mass(self.up))

    @checked
    def twist_rates(self, a: ArrayLike) -> Array:
        """V̇ = J a + J̇ v (B, 6 nb).  MD10

        Args:
            a (B, nv): joint accelerations.

        Example:
            >>> arm, a = mz.load("arm.urdf"), np.array([0.1, 0.2, 0.3])
            >>> form = mz.closed_form(arm, np.zeros(3), np.ones(3))
            >>> form.twist_rates(a).shape
            (18,)
        """
        return _on(self.J, self._vector("a", a)) + _on(self.dJ, self.v)

    @checked
    def euler_jourdain(
        self, a: ArrayLike, wrenches: ArrayLike | None = None, wrenches_rep: Rep = "body"
    ) -> Array:
        """Joint forces by projection (Jourdain, Kane): Jᵀ (𝓜 V̇ − bᵀ 𝓜 V − W).  MD78

        Args:
            a (B, nv): joint accelerations.
            wrenches (B, nb, 6), optional: external wrenches on the bodies.
            wrenches_rep: their representation.

        Example:
            >>> arm, a = mz.load("arm.urdf"), np.array([0.1, 0.2, 0.3])
            >>> form = mz.closed_form(arm, np.zeros(3), np.ones(3))
            >>> tau = mz.inverse_dynamics(arm, np.zeros(3), np.ones(3), a)
            >>> np.allclose(form.euler_jourdain(a), tau)
            True
        """
        inertial = self._mass(self.twist_rates(a) + self.up) + self._gyroscopic
        return self._project(inertial - self._wrenches(wrenches, wrenches_rep)) + _on(
            self.armature, self._vector("a", a)
        )

    @checked
    def lagrange(self, a: ArrayLike) -> Array:
        """Joint forces M a + C v + g.  MD80

        Args:
            a (B, nv): joint accelerations.

        Example:
            >>> arm, a = mz.load("arm.urdf"), np.array([0.1, 0.2, 0.3])
            >>> form = mz.closed_form(arm, np.zeros(3), np.ones(3))
            >>> np.allclose(form.lagrange(a), mz.inverse_dynamics(arm, np.zeros(3), np.ones(3), a))
            True
        """
        return _on(self.M, self._vector("a", a)) + _on(self.C_lagrange, self.v) + self.g

    @checked
    def accelerations(
        self, tau: ArrayLike, wrenches: ArrayLike | None = None, wrenches_rep: Rep = "body"
    ) -> Array:
        """M⁻¹ (τ − C v − g + Jᵀ W).  MD80

        Args:
            tau (B, nv): joint forces.
            wrenches (B, nb, 6), optional: external wrenches on the bodies.
            wrenches_rep: their representation.

        Example:
            >>> arm, a = mz.load("arm.urdf"), np.array([0.1, 0.2, 0.3])
            >>> form = mz.closed_form(arm, np.zeros(3), np.ones(3))
            >>> found = mz.forward_dynamics(arm, np.zeros(3), np.ones(3), a)
            >>> np.allclose(form.accelerations(a), found)
            True
        """
        refuse_loops(self.model, "closed_form: accelerations")
        force = self._vector("tau", tau) - _on(self.C_lagrange, self.v) - self.g
        force = force + self._project(self._wrenches(wrenches, wrenches_rep))
        return _solved(self.M, force)

    @checked
    def velocity_form(
        self, tau: ArrayLike, wrenches: ArrayLike | None = None, wrenches_rep: Rep = "body"
    ) -> tuple[Array, Array]:
        """(v, V̇) of the state (q, V), with V̇ (B, nb, 6): first-order equations on V × se(3)ⁿ.

        v = X⁺ A⁻¹ V, MD111, and MD78 with V̇ = J a + J̇ v.

        Args:
            tau (B, nv): joint forces.
            wrenches (B, nb, 6), optional: external wrenches on the bodies.
            wrenches_rep: their representation.

        Example:
            >>> arm, a = mz.load("arm.urdf"), np.array([0.1, 0.2, 0.3])
            >>> form = mz.closed_form(arm, np.zeros(3), np.ones(3))
            >>> [x.shape for x in form.velocity_form(a)]
            [(3,), (3, 6)]
        """
        rates = self.twist_rates(self.accelerations(tau, wrenches, wrenches_rep))
        return self.rates_of_twists(self.V), self._by_body(rates)

    @checked
    def momentum_form(
        self, tau: ArrayLike, wrenches: ArrayLike | None = None, wrenches_rep: Rep = "body"
    ) -> tuple[Array, Array]:
        """(v, Π̇ˢ) of the state (q, Πˢ), with Π̇ˢ (B, nb, 6): Jˢᵀ (Π̇ˢ − Wˢ) = τ.  MD79

        Args:
            tau (B, nv): joint forces.
            wrenches (B, nb, 6), optional: external wrenches on the bodies.
            wrenches_rep: their representation.

        Example:
            >>> arm, a = mz.load("arm.urdf"), np.array([0.1, 0.2, 0.3])
            >>> form = mz.closed_form(arm, np.zeros(3), np.ones(3))
            >>> [x.shape for x in form.momentum_form(a)]
            [(3,), (3, 6)]
        """
        rates = self.twist_rates(self.accelerations(tau, wrenches, wrenches_rep))
        body = self._mass(rates) + self._gyroscopic
        return self.rates_of_momenta(self.Pi), self._by_body(_on(self.dual, body))

    @cached_property
    def dual(self) -> Array:
        """diag(Ad_C⁻ᵀ): wrenches and momenta, body-fixed to spatial.  MD35"""
        return transposed(np.asarray(np.linalg.inv(self.spatial), dtype=np.float64))

    @cached_property
    def Pi(self) -> Array:
        """The spatial momenta of the bodies, stacked.  MD35"""
        return _on(self.dual, self._mass(self.V))

    # -- Christoffel symbols --

    def christoffel(self) -> Array:
        """Γ_ijk = ½ Σ_l (J_kᵀ M ad_{J_i} J_j + J_jᵀ M ad_{J_i} J_k + J_iᵀ M ad_{J_s} J_r).  MD86

        r is the outer and s the inner of the joints j and k; where they are one joint, s = k and
        r = j, and J_iᵀ M ∂_k J_j is added for screws that depend on q (not in the paper).

        Example:
            >>> arm, a = mz.load("arm.urdf"), np.array([0.1, 0.2, 0.3])
            >>> form = mz.closed_form(arm, np.zeros(3), np.ones(3))
            >>> form.christoffel().shape
            (3, 3, 3)
        """
        G = self._turning
        for J, body in zip(self._bodies(self.J), self.model, strict=True):
            B = _bracket(J)  # B[..., i, :, j] = ad_{J_i} J_j
            t = np.einsum("...xk,xy,...iyj->...kij", J, body.inertia.matrix(), B)
            last = np.where(self._outside, t, transposed(t))  # J_iᵀ M ad_{J_s} J_r
            G = G + 0.5 * (np.moveaxis(t, -3, -1) + np.swapaxes(t, -3, -2) + last)
        return G

    def christoffel_binet(self) -> Array:
        """Γ_ijk = Σ_l (ω_sᵀ ϑ (ω_r × ω_i) + m v_iᵀ (ω_s × v_r)) at the centres of mass.  MD87

        With Binet's tensor ϑ; s, r and what is added for other joints as in `christoffel`.

        Example:
            >>> arm, a = mz.load("arm.urdf"), np.array([0.1, 0.2, 0.3])
            >>> form = mz.closed_form(arm, np.zeros(3), np.ones(3))
            >>> np.allclose(form.christoffel_binet(), form.christoffel())
            True
        """
        G = self._turning
        for J, body in zip(self._bodies(self.J), self.model, strict=True):
            I, m = body.inertia.matrix(), float(body.inertia.m)
            c = np.array(body.inertia.h.array(), dtype=float) / m if m else np.zeros(3)
            theta_c = I[:3, :3] + m * hat(c) @ hat(c)
            binet = 0.5 * np.trace(theta_c) * np.eye(3) - theta_c
            w, v = J[..., :3, :], J[..., 3:, :] - hat(c) @ J[..., :3, :]
            cross = np.einsum("abc,...br,...ci->...ria", LEVI_CIVITA, w, w)
            turn = np.einsum("abc,...bs,...cr->...sra", LEVI_CIVITA, w, v)
            t = np.einsum("...as,ab,...rib->...isr", w, binet, cross)
            t = t + m * np.einsum("...ai,...sra->...isr", v, turn)
            G = G + np.where(self._outside, t, transposed(t))
        return G

    @cached_property
    def _outside(self) -> NDArray[np.bool_]:
        """Whether the joint of column k is outside that of column j: [j, k]."""
        of = np.repeat(np.arange(self.model.nb), [body.joint.nv for body in self.model])
        return of[None, :] > of[:, None]

    @cached_property
    def _turning(self) -> Array:
        """J_iᵀ 𝓜 ∂_k J_j of joint screws that depend on their own coordinates."""
        own = np.einsum("...xy,...yjk->...xjk", self.A, self.screw_partials)
        return np.einsum("...xi,xy,...yjk->...ijk", self.J, self.MM, own)

    # -- parts --

    @cached_property
    def _gyroscopic(self) -> Array:
        return -_on(transposed(self.b), self._mass(self.V))

    def _mass(self, x: Array) -> Array:
        return _on(self.MM, x)

    def _project(self, x: Array) -> Array:
        return _on(transposed(self.J), x)

    def _by_body(self, x: Array) -> Array:
        return x.reshape(*x.shape[:-1], self.model.nb, 6)

    def _vector(self, name: str, values: ArrayLike, length: int | None = None) -> Array:
        x, n = np.asarray(values, dtype=float), self.model.nv if length is None else length
        _fits(name, x, (n,), f"give (…, {n})")
        return x

    def _bodies(self, x: Array) -> list[Array]:
        return [x[..., 6 * i : 6 * i + 6, :] for i in range(self.model.nb)]

    def _wrenches(self, wrenches: ArrayLike | None, rep: Rep) -> Array:
        if wrenches is None:
            return np.zeros(6 * self.model.nb)
        W = convert_wrenches(self.model, self.q, wrenches, rep, "body")
        return W.reshape(*W.shape[:-2], -1)


def _on(matrix: Array, x: Array) -> Array:
    """Matrices (..., m, n) on vectors (..., n)."""
    return (matrix @ x[..., None])[..., 0]


def _solved(matrix: Array, x: Array) -> Array:
    """Matrices (..., n, n) inverted on vectors (..., n)."""
    return np.asarray(np.linalg.solve(matrix, x[..., None])[..., 0], dtype=np.float64)


def _bracket(J: Array) -> Array:
    """[..., i, :, j] = ad_{J_i} J_j of the columns of J."""
    return ad(transposed(J)) @ J[..., None, :, :]
