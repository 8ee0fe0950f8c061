# pyright: reportConstantRedefinition=false
"""What is integrated: a mechanism with the forces that act on it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, TypedDict, TypeVar

import numpy as np

from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.contact.held import contact_drift, held_accelerations
from mozzi.algorithms.dynamics.forward import forward_dynamics
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.kinematics.conversion import convert_wrenches
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.program.arrays import traced_array
from mozzi.program.scalar import Real
from mozzi.simulation.forces.resistance import Resistance, Stops
from mozzi.simulation.parameters import Feedback, Forces, Varying
from mozzi.types import Rep, Traced

__all__ = ["Feedback", "Forces", "KeptLaw", "System", "as_forces"]

B = TypeVar("B")


class Wrenches(TypedDict, total=False):
    """Options of the dynamics: wrenches on the bodies, (nb, 6), and their representation."""

    wrenches: Traced
    wrenches_rep: Rep


class Given(Protocol):
    """What laws of time ask of the rows of closures: see `drives.Drives`."""

    def at(self, t: Real) -> dict[str, Traced]:
        """Offsets and rates of rows, and coordinates of driven joints, at a time of the trace."""
        ...

    def accelerations(self, t: Real) -> Traced:
        """Accelerations of rows, at a time of the trace."""
        ...


class KeptLaw:
    """A law τ(t, q, v) of one model whose kernels are kept with it, for runs that come again."""

    def __init__(self, function: Feedback):
        self.function, self.kernels = function, dict[Hashable, object]()

    def __call__(self, t: Real, q: Traced, v: Traced, /) -> Forces:
        return self.function(t, q, v)


@dataclass
class System:
    """v̇ = a(t, q, v) of a model, while tracing.

    ``law`` is traced along; ``tau`` and ``wrenches`` hold what the kernel got as inputs, ``held``
    what a sampled law gives for this step, ``touch`` the modes of contacts that are kept
    (`held_accelerations`), ``exerted`` what contacts, stops and dry friction exerted in the joints
    where that is known (at records). What varies from sample to sample is an input, too (`on`);
    before, the model shows what a program of it is made of. ``drives`` are laws of time that rows
    follow.
    """

    model: Model
    law: Feedback | None = None
    resistance: Resistance | None = None
    stops: Stops | None = None
    varying: Varying | None = None
    tau: Traced | None = field(default=None, repr=False)
    held: Traced | None = field(default=None, repr=False)
    wrenches: Traced | None = field(default=None, repr=False)
    drives: Given | None = field(default=None, repr=False)
    touch: Traced | None = field(default=None, repr=False)
    exerted: Traced | None = field(default=None, repr=False)
    wrenches_rep: Rep = "body"

    def on(self, arrays: Mapping[str, Traced]) -> System:
        """The system on the inputs of a kernel, at the beginning of its trace: joint forces,
        wrenches, and the numbers that vary, of the model and of the law.
        """
        model = self.model
        if self.varying is not None:
            model = self.varying.traced(arrays.get("parameters"))
        held = {name: arrays.get(name) for name in ("tau", "wrenches", "touch")}
        at = replace(self, model=model, **held)
        return replace(at, law=at.bound(self.law, arrays))

    def bound(self, law: B, arrays: Mapping[str, Traced]) -> B:
        """A law with its numbers among the inputs, and with the model that moves."""
        if law is None or self.varying is None:
            return law
        return self.varying.law(law, arrays.get("parameters"), self.model)

    def applied(self, t: Real, q: Traced, v: Traced) -> Traced:
        """What is given, held, and told by the law."""
        tau = np.full(self.model.nv, 0.0, dtype=object)
        if self.tau is not None:
            tau = tau + self.tau
        if self.held is not None:
            tau = tau + self.held
        if self.law is not None:
            found = self.law(t, traced_array(q), traced_array(v))
            tau = tau + as_forces(found, self.model)
        return tau

    def joint_force(self, t: Real, q: Traced, v: Traced) -> Traced:
        """All that acts in the joints: what is applied, resistance, stops, what touches."""
        tau = self.applied(t, q, v)
        if self.stops is not None:
            tau = self.stops.clip(self.model, tau) + self.stops.force(self.model, q, v)
        if self.resistance is not None:
            tau = tau + self.resistance.force(self.model, q, v)
        return tau if self.exerted is None else tau + self.exerted

    def acceleration(self, t: Real, q: Traced, v: Traced) -> Traced:
        """v̇."""
        if self.touch is not None:
            return self.touching(t, q, v)[0]
        return self.free(t, q, v)

    def free(self, t: Real, q: Traced, v: Traced, moving: Traced | None = None) -> Traced:
        """v̇ without contacts; moving: the velocity of the inertial forces, where it is another than
        that of all others.
        """
        tau = self.joint_force(t, q, v)
        rows = {} if self.drives is None else {"loop_accelerations": self.drives.accelerations(t)}
        u = v if moving is None else moving
        return forward_dynamics(self.model, q, u, tau, **self.given(q, v), **rows)

    def reactions(self, t: Real, q: Traced, v: Traced) -> Traced:
        """Aᵀ λ: what closures and drives exert in the joints."""
        a = self.acceleration(t, q, v)
        needed = inverse_dynamics(self.model, q, v, a, **self.given(q, v))
        return needed - self.joint_force(t, q, v)

    def rows_at(self, t: Real) -> dict[str, Traced] | None:
        """What laws of time ask of rows at a time of the trace, if there are any."""
        return None if self.drives is None else self.drives.at(t)

    def touching(self, t: Real, q: Traced, v: Traced) -> tuple[Traced, ...]:
        """v̇ with contacts in their modes, and what they do: as `held_accelerations`."""
        drift = contact_drift(self.model, q, v)
        return held_accelerations(self.model, q, v, self.free(t, q, v), drift, self.touch)

    def force(self, t: Real, q: Traced, v: Traced) -> Traced:
        """All that acts in the joints, and what loops exert on them: Aᵀ λ."""
        if not closed(self.model):
            return self.joint_force(t, q, v)
        a = self.acceleration(t, q, v)
        return inverse_dynamics(self.model, q, v, a, **self.given(q, v))

    def balance(self, t: Real, q: Traced, v: Traced, a: Traced) -> Traced:
        """M a + C v + g − Jᵀ W − τ: zero where a is the acceleration."""
        needed = inverse_dynamics(self.model, q, v, a, **self.given(q, v))
        return needed - self.force(t, q, v)

    @property
    def sprung(self) -> bool:
        """Whether springs between bodies act."""
        return self.resistance is not None and bool(self.model.springs)

    def given(self, q: Traced, v: Traced) -> Wrenches:
        """The wrenches on the bodies, as options of the dynamics: applied, and of springs."""
        W, rep = self.wrenches, self.wrenches_rep
        if self.resistance is not None and self.sprung:
            own = self.resistance.wrenches(self.model, q, v)
            W = own if W is None else own + convert_wrenches(self.model, q, W, rep, "body")
            rep = "body"
        return {} if W is None else {"wrenches": W, "wrenches_rep": rep}


def as_forces(value: Forces, model: Model) -> Traced:
    """What a torque law returned, if it is nv numbers."""
    tau = np.asarray(value, dtype=object)
    if tau.shape != (model.nv,):
        raise ConfigurationError(
            f"torque: the law returned shape {tau.shape}; return nv = {model.nv} joint forces"
        )
    return tau
