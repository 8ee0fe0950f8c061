"""Terms of dynamics in the velocities of another library: v = X v′, a = X a′ + Ẋ v′, τ′ = Xᵀ τ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mozzi.algorithms.derivatives.first import inverse_dynamics_derivatives
from mozzi.algorithms.dynamics.coriolis import coriolis_matrix
from mozzi.algorithms.dynamics.energy import centroidal_momentum_matrix
from mozzi.algorithms.dynamics.forward import forward_dynamics
from mozzi.algorithms.dynamics.inverse import gravity_forces, inverse_dynamics
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix, mass_matrix_inverse
from mozzi.algorithms.kinematics.configuration import rates
from mozzi.algorithms.kinematics.jacobian import jacobian
from mozzi.algorithms.kinematics.jacobian_derivatives import jacobian_rate
from mozzi.program.differentiate import forward
from mozzi.types import Traced

if TYPE_CHECKING:
    from mozzi.adapters.layout import Layout

__all__ = ["INVARIANT", "TERMS", "State"]

Options: TypeAlias = Mapping[str, object]

#: What does not depend on how velocities are written.
INVARIANT = (
    "kinetic_energy", "potential_energy", "momentum", "centroidal_momentum", "center_of_mass",
    "pose", "forward_kinematics", "twists",
)  # fmt: skip


class State:
    """A state of a layout while tracing, and what it is in the model."""

    def __init__(self, layout: Layout, there: Mapping[str, Traced]):
        self.layout, self.there, self.model = layout, there, layout.model

    @cached_property
    def q(self) -> Traced:
        return self.layout.configuration(self.there["q"])

    @cached_property
    def X(self) -> Traced:
        return self.layout.velocity_map(self.q)

    @cached_property
    def P(self) -> Traced:
        """X⁻¹."""
        return self.layout.inverse_map(self.q)

    @cached_property
    def v(self) -> Traced:
        return self.X @ self.there["v"]

    @cached_property
    def X_rate(self) -> Traced:
        return self.layout.velocity_map_rate(self.q, self.v)

    @cached_property
    def drift(self) -> Traced:
        """Ẋ v′: the acceleration in the model where a′ = 0."""
        return self.X_rate @ self.there["v"]

    @cached_property
    def a(self) -> Traced:
        return self.X @ self.there["a"] + self.drift

    @cached_property
    def tau(self) -> Traced:
        return self.P.T @ self.there["tau"]

    def own(self, name: str) -> Traced:
        """An argument as the model has it."""
        return getattr(self, name)

    def directions(self) -> Traced:
        """How the layout's q changes along each of its velocities, (nq, nv)."""
        columns = [
            self.layout.rates_there(self.q, np.asarray(rates(self.model, self.q, x)))
            for x in self.X.T
        ]
        return np.array(columns, dtype=object).T


def _inverse_dynamics(s: State, options: Options) -> Traced:
    return s.X.T @ inverse_dynamics(s.model, s.q, s.v, s.a, **options)


def _bias_forces(s: State, options: Options) -> Traced:
    return s.X.T @ inverse_dynamics(s.model, s.q, s.v, s.drift, **options)


def _forward_dynamics(s: State, options: Options) -> Traced:
    return s.P @ (forward_dynamics(s.model, s.q, s.v, s.tau, **options) - s.drift)


def _coriolis_matrix(s: State, options: Options) -> Traced:
    """C′ v′ is what C v is with the drift, and Ṁ′ − 2 C′ is skew-symmetric."""
    C, M = coriolis_matrix(s.model, s.q, s.v, **options), mass_matrix(s.model, s.q)
    return s.X.T @ (C @ s.X + M @ s.X_rate)


def _forward_dynamics_derivatives(s: State, options: Options) -> tuple[Traced, Traced, Traced]:
    """∂a′ = −M′⁻¹ ∂τ′ at the accelerations that τ′ makes."""
    there = _forward_dynamics(s, options)
    still = State(s.layout, {**s.there, "a": there})
    dq, dv = _held_derivatives(still, options)
    inverse = s.P @ mass_matrix_inverse(s.model, s.q) @ s.P.T
    return -(inverse @ dq), -(inverse @ dv), inverse


def _held_derivatives(s: State, options: Options) -> tuple[Traced, Traced]:
    """∂τ′ = Xᵀ (τ_q X + τ_v ∂v + τ_a ∂a) + ∂Xᵀ τ, by q along their velocities and by v′, with a′
    held.
    """
    tau = inverse_dynamics(s.model, s.q, s.v, s.a, **options)
    by_q, by_v, by_a = inverse_dynamics_derivatives(s.model, s.q, s.v, s.a, **options)
    x, v, along = s.there["q"], s.there["v"], s.directions()
    X_q = forward(s.X, x, along)
    v_q = np.einsum("ijk,j->ik", X_q, v)
    a_q = np.einsum("ijk,j->ik", X_q, s.there["a"]) + forward(s.drift, x, along)
    dq = s.X.T @ (by_q @ s.X + by_v @ v_q + by_a @ a_q) + np.einsum("ijk,i->jk", X_q, tau)
    dv = s.X.T @ (by_v @ s.X + by_a @ forward(s.drift, v, np.eye(len(v))))
    return dq, dv


def _derivatives(s: State, options: Options) -> tuple[Traced, Traced, Traced]:
    dq, dv = _held_derivatives(s, options)
    return dq, dv, s.X.T @ mass_matrix(s.model, s.q) @ s.X


TERMS: dict[str, Callable[[State, Options], object]] = {
    "inverse_dynamics": _inverse_dynamics,
    "bias_forces": _bias_forces,
    "gravity_forces": lambda s, o: s.X.T @ gravity_forces(s.model, s.q, **o),
    "forward_dynamics": _forward_dynamics,
    "mass_matrix": lambda s, o: s.X.T @ mass_matrix(s.model, s.q, **o) @ s.X,
    "mass_matrix_inverse": lambda s, o: s.P @ mass_matrix_inverse(s.model, s.q, **o) @ s.P.T,
    "coriolis_matrix": _coriolis_matrix,
    "jacobian": lambda s, o: jacobian(s.model, s.q, **o) @ s.X,
    "jacobian_rate": lambda s, o: (
        jacobian_rate(s.model, s.q, s.v, **o) @ s.X + jacobian(s.model, s.q, **o) @ s.X_rate
    ),
    "centroidal_momentum_matrix": lambda s, o: centroidal_momentum_matrix(s.model, s.q, **o) @ s.X,
    "inverse_dynamics_derivatives": _derivatives,
    "forward_dynamics_derivatives": _forward_dynamics_derivatives,
}
