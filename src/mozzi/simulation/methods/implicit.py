"""Implicit methods: the Lie group generalised-α method, and one that keeps the momentum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.algorithms.recursion.algorithm import algorithm
from mozzi.algorithms.recursion.containers import body_array, joint_vector, per_body
from mozzi.errors import ConfigurationError
from mozzi.lie import SE3, Momentum, Twist
from mozzi.program.scalar import maximum
from mozzi.simulation.methods.newton import newton
from mozzi.simulation.system import System

__all__ = ["GeneralizedAlpha", "MomentumPreserving", "projected", "spatial_momenta"]

State = dict[str, Any]


@dataclass(frozen=True)
class GeneralizedAlpha:
    """The Lie group generalised-α method: order 2, implicit, stiff parts damped.

        q′ = q ⊕ (h v + h² (½ − β) α + h² β α′),   v′ = v + h (1 − γ) α + h γ α′,
        (1 − α_m) α′ + α_m α = (1 − α_f) a′ + α_f a,    M a′ = forces at (t′, q′, v′).

    ``rho`` is the spectral radius at infinite frequency: 1 damps nothing, 0 annihilates.
    Brüls, Cardona and Arnold 2012; Müller, Dynamics, section 7.
    """

    rho: float = 0.9
    iterations: int = 5
    order = 2

    def __post_init__(self) -> None:
        if not 0.0 <= self.rho <= 1.0:
            raise ConfigurationError(f"rho {self.rho!r}: give a number in [0, 1]")

    def extra(self, model: Any) -> Mapping[str, int]:
        return {"a": model.nv, "alpha": model.nv, "defect": 1}

    def start(self, system: System, x: State) -> State:
        a = system.acceleration(x["t"], x["q"], x["v"])
        return x | {"a": a, "alpha": a, "defect": np.array([0.0], dtype=object)}

    def step(self, system: System, x: State, h: Any) -> State:
        model, rho = system.model, self.rho
        am, af = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        gamma = 0.5 - am + af
        beta = 0.25 * (gamma + 0.5) ** 2
        t, q, v, a, alpha = (x[n] for n in ("t", "q", "v", "a", "alpha"))
        c = (1.0 - am) / (1.0 - af)

        def moved(new: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            dq = h * (v + h * ((0.5 - beta) * alpha + beta * new))
            dv = h * ((1.0 - gamma) * alpha + gamma * new)
            return integrate(model, q, dq), v + dv, c * new + (am * alpha - af * a) * (1 / (1 - af))

        def residual(new: np.ndarray) -> np.ndarray:
            return system.balance(t + h, *moved(new))

        known = (t, q, v, a, alpha)
        new, defect = newton(model, residual, a, known, self.iterations, (q, c))
        q1, v1, a1 = moved(new)
        worst = np.array([maximum(x["defect"][0], defect)], dtype=object)
        return {"q": q1, "v": v1, "a": a1, "alpha": new, "defect": worst}


@dataclass(frozen=True)
class MomentumPreserving:
    """The balance of the spatial momenta between two midpoint turns: order 2, symmetric.

        J_mᵀ (Π(q′, v′) − Π(q, v) − h W_m) = h τ_m,    q_m = q ⊕ ½ h v,    q′ = q_m ⊕ ½ h v′,

    with the momenta Π of all bodies about the inertial origin. Where all bodies share a screw that
    stays in space (a free base, a vertical first hinge), its row says that the momentum of the
    whole changes by the wrench alone: without one it is kept to rounding, whatever h is.
    Müller, Dynamics (36), (79).
    """

    iterations: int = 4
    order = 2

    def extra(self, model: Any) -> Mapping[str, int]:
        return {"defect": 1}

    def start(self, system: System, x: State) -> State:
        return x | {"defect": np.array([0.0], dtype=object)}

    def step(self, system: System, x: State, h: Any) -> State:
        model = system.model
        t, q, v = x["t"], x["q"], x["v"]
        half = 0.5 * h
        mid = integrate(model, q, half * v)
        before = spatial_momenta(model, q, v)
        armature = np.array([m for body in model for m in body.dynamics.armature])
        still = np.zeros(model.nv)

        def load(u: np.ndarray) -> np.ndarray:  # gravity and wrenches
            return inverse_dynamics(model, mid, still, still, **system.given(mid, u))

        held = None if system.sprung else load(v)

        def residual(new: np.ndarray) -> np.ndarray:
            after = spatial_momenta(model, integrate(model, mid, half * new), new)
            mean = 0.5 * (v + new)
            force = (load(mean) if held is None else held) - system.force(t + half, mid, mean)
            change = projected(model, mid, after - before) + armature * (new - v)
            return change + h * force

        new, defect = newton(model, residual, v, (t, q, v), self.iterations, (mid, 1.0))
        worst = np.array([maximum(x["defect"][0], defect)], dtype=object)
        return {"q": integrate(model, mid, half * new), "v": new, "defect": worst}


@algorithm
def spatial_momenta(model: Any, q: Any, v: Any) -> Any:
    """Π (nb, 6): the momentum of every body about the inertial origin.  Müller, Dynamics (35)."""
    T, V, C = per_body(model, T="local", V=Twist, C=SE3)
    out = body_array(model, 6, letter="P")
    for i in model.outward():
        T[i] = i.pose(q[i])
        C[i] = C[i.parent] @ T[i]
        V[i] = T[i].pull(V[i.parent]) + i.joint.screws(q[i]) @ v[i]
        out[i] = C[i].push(i.inertia @ V[i]).flatten()
    return out


@algorithm
def projected(model: Any, q: Any, momenta: Any) -> Any:
    """Jᵀ Π (nv): spatial co-vectors of the bodies on the spatial joint screws."""
    C, P = per_body(model, C=SE3, P=Momentum)
    out = joint_vector(model, "out")
    for i in model.outward():
        C[i] = C[i.parent] @ i.pose(q[i])
        P[i] = momenta[i]
    for i in model.inward():
        out[i] = i.joint.screws(q[i]).T @ C[i].pull(P[i])
        P[i.parent] += P[i]
    return out
