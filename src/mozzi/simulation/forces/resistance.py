# pyright: reportPrivateUsage=false
"""What acts besides motors: springs, dampers, friction, and stops at the limits of joints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from mozzi.algorithms.dynamics.mass_matrix import mass_matrix
from mozzi.algorithms.dynamics.springs import spring_wrenches
from mozzi.errors import ConfigurationError
from mozzi.lie.vec import is_zero
from mozzi.model import Model
from mozzi.model.body import Body
from mozzi.program.scalar import Real, maximum, minimum, sqrt
from mozzi.types import Array, Traced

__all__ = ["Limits", "Resistance", "RigidStops", "Stops", "resistance_of", "stops_of"]


@dataclass(frozen=True)
class Resistance:
    """−damping·v − friction·v/√(v² + slip²) − ∂/∂q ½ Σ stiffness·(q ⊖ rest)², as the model's joints
    have them, and its springs and dampers between bodies.

    Dry friction is smooth within ±``slip``, so that a joint creeps where it should stick. Springs
    and dampers are exact.
    """

    damping: bool = True
    friction: bool = True
    springs: bool = True
    slip: float = 1e-3

    def force(self, model: Model, q: Traced, v: Traced) -> Traced:
        """On all joints, (nv,)."""
        out = np.full(model.nv, 0.0, dtype=object)
        for body, i, k in zip(model, model.q_offsets, model.v_offsets, strict=False):
            own, joint = body.dynamics, body.joint
            springs: Sequence[Real] = (0.0,) * joint.nv
            if self.springs and not all(map(is_zero, own.stiffness)):
                at: list[Real] = q[i : i + joint.nq].tolist()
                springs = joint.spring_forces(own.stiffness, own.rest, at)
            for n in range(joint.nv):
                x: Real = v.item(k + n)
                force: Real = 0.0
                if self.damping:
                    force = force - own.damping[n] * x
                out[k + n] = force - springs[n]
        return out + self.dry(model, v)[0]

    def dry(self, model: Model, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dry friction on all joints (…, nv), and its slope in v."""
        force, slope = np.zeros(v.shape, v.dtype), np.zeros(v.shape, v.dtype)
        sizes = [f for body in model for f in body.dynamics.friction]
        for k, (f, x) in enumerate(zip(sizes, np.moveaxis(v, -1, 0), strict=True)):
            if self.friction and not is_zero(f):
                force[..., k], slope[..., k] = self.slipping(f, x)
        return force, slope

    def slipping(self, f: Real, x: Real) -> tuple[Real, Real]:
        """−f x/√(x² + slip²) at the velocity x, and its slope."""
        square = x * x + self.slip * self.slip
        share = f / sqrt(square)
        return -(share * x), -(share * (self.slip * self.slip)) / square

    def frictionless(self, model: Model) -> Model:
        """The model without dry friction, and without what does not act: the dynamics takes the
        rest of it exactly (``resistance=True``). The same one every time.
        """
        key = ("frictionless", self.damping, self.springs)
        if key not in model.cache:
            names = [
                "friction", *(() if self.damping else ("damping",)),
                *(() if self.springs else ("stiffness",)),
            ]  # fmt: skip
            bodies: list[Body] = []
            for b in model:
                nothing = dict.fromkeys(names, (0.0,) * b.joint.nv)
                bodies.append(replace(b, dynamics=replace(b.dynamics, **nothing)))
            gone = {n: 0.0 for n in names if n != "friction"}
            springs = [replace(s, **gone) for s in model.springs]
            model.cache[key] = model._replace(_bodies=bodies, springs=springs)
        return model.cache[key]

    def wrenches(self, model: Model, q: Traced, v: Traced) -> Traced:
        """Of springs and dampers between bodies, on all bodies (nb, 6)."""
        return spring_wrenches(model, q, v, elastic=self.springs, viscous=self.damping)


def resistance_of(resistance: bool | Resistance, model: Model) -> Resistance | None:
    """What ``resistance`` means for a model: None where nothing of it resists."""
    if resistance is False:
        return None
    joints = (body.dynamics for body in model)
    every = [f for x in joints for f in (*x.damping, *x.friction, *x.stiffness)]
    some = not all(map(is_zero, every)) or model.springs
    return (Resistance() if resistance is True else resistance) if some else None


@dataclass(frozen=True)
class Stops:
    """Elastic stops at the limits of coordinates: −k x (1 + dissipation·ẋ) for the excess x > 0.

    k gives the joint, alone and in its neutral configuration, the frequency (Hz) while it touches;
    steps must resolve it. The force is continuous and never pulls. ``effort`` also clips the
    applied torques at the joints' effort limits.
    """

    frequency: float = 20.0
    dissipation: float = 1.0
    effort: bool = False

    def force(self, model: Model, q: Traced, v: Traced) -> Traced:
        """On all joints, (nv,)."""
        out = np.full(model.nv, 0.0, dtype=object)
        stiffness = self.stiffness(model)
        for body, i, k in zip(model, model.q_offsets, model.v_offsets, strict=False):
            own, joint = body.dynamics, body.joint
            if not any(map(math.isfinite, (*own.lower, *own.upper))):
                continue
            x, u = q[i : i + joint.nq].tolist(), v[k : k + joint.nv].tolist()
            rate = joint.rates(x, u)
            units = np.eye(joint.nv)
            columns = [joint.rates(x, list(units[n])) for n in range(joint.nv)]
            for n, (low, high) in enumerate(zip(own.lower, own.upper, strict=True)):
                k_n = stiffness[k + min(n, joint.nv - 1)]
                f: Real = 0.0
                if math.isfinite(high):
                    f = f - self._push(x[n] - high, rate[n], k_n)
                if math.isfinite(low):
                    f = f + self._push(low - x[n], -rate[n], k_n)
                for m in range(joint.nv):
                    out[k + m] = out[k + m] + f * columns[m][n]
        return out

    def _push(self, excess: Real, rate: Real, k: float) -> Real:
        return k * maximum(excess, 0.0) * maximum(1.0 + self.dissipation * rate, 0.0)

    def energy(self, model: Model, q: Array) -> float:
        """What the stops hold at one configuration: ½ k x² of every excess x."""
        stiffness, total = self.stiffness(model), 0.0
        for body, i, k in zip(model, model.q_offsets, model.v_offsets, strict=False):
            own, joint = body.dynamics, body.joint
            for n, (low, high) in enumerate(zip(own.lower, own.upper, strict=True)):
                x = float(q[i + n])
                excess = max(x - high, low - x, 0.0)
                total += 0.5 * float(stiffness[k + min(n, joint.nv - 1)]) * excess**2
        return total

    def stiffness(self, model: Model) -> Array:
        """k for every degree of freedom, of the model with its parameters as they are."""
        model = model.nominal or model
        key = ("stops", self.frequency)
        if key not in model.cache:
            M = np.asarray(mass_matrix.python(model, model.neutral()), dtype=float)
            with np.errstate(divide="ignore"):  # what has no inertia is told by the dynamics
                inertia = 1.0 / np.diag(np.linalg.pinv(M, hermitian=True))
            model.cache[key] = inertia * (2.0 * math.pi * self.frequency) ** 2
        return model.cache[key]

    def clip(self, model: Model, tau: Traced) -> Traced:
        """The applied torques that the motors can give."""
        if not self.effort:
            return tau
        most = [x for body in model for x in body.dynamics.effort]
        return np.array(
            [
                minimum(maximum(x, -m), m) if math.isfinite(m) else x
                for x, m in zip(tau, most, strict=True)
            ],
            dtype=object,
        )


@dataclass(frozen=True)
class RigidStops:
    """Rigid stops at the limits of coordinates, met with this coefficient of restitution: for the
    method "moreau", which lets no coordinate overshoot them.

    With a stiffness k (N m/rad, or N/m) the stops give way by x with a force k x + c ẋ, c the
    damping (N m s/rad, N s/m), at the end of each step: however stiff, steps need not resolve it.
    """

    restitution: float = 0.0
    stiffness: float | None = None
    damping: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.restitution <= 1.0:
            raise ConfigurationError(f"restitution {self.restitution}; give a number from 0 to 1")
        if self.stiffness is not None and not 0.0 < self.stiffness < math.inf:
            raise ConfigurationError(f"stiffness {self.stiffness}; give a positive number, or None")
        if not 0.0 <= self.damping < math.inf:
            raise ConfigurationError(f"damping {self.damping}; give a number of 0 or more")
        if self.stiffness is None and self.damping:
            raise ConfigurationError("damping of stops goes with a stiffness; give one")
        if self.stiffness is not None and self.restitution:
            raise ConfigurationError("stops with a stiffness have no restitution; give a damping")


Limits = bool | Literal["rigid"] | Stops | RigidStops


def stops_of(limits: Limits) -> Stops | RigidStops | None:
    """What a caller means by limits."""
    if isinstance(limits, str):
        if limits != "rigid":
            raise ConfigurationError(f"limits {limits!r}; give 'rigid', True, or how they are")
        return RigidStops()
    return Stops() if limits is True else limits or None
