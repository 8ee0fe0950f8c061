"""Motions in phases, between which attachments of a `ClosedSystem` come and go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast, overload

import numpy as np

from mozzi.algorithms.dynamics.energy import kinetic_energy
from mozzi.algorithms.loops.topology import State
from mozzi.errors import ConfigurationError, KindError
from mozzi.program.scalar import Real
from mozzi.simulation.closed_system.events import until_event
from mozzi.simulation.forces.resistance import Limits, Resistance
from mozzi.simulation.methods.dormand_prince import DormandPrince, Event, EventFunction
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.methods.options import MethodOptions
from mozzi.simulation.projection import closed_states
from mozzi.simulation.simulate import simulate
from mozzi.simulation.system import Feedback
from mozzi.simulation.trajectories.trajectory import Trajectory
from mozzi.types import Array, ArrayLike, Device, DType, Method

if TYPE_CHECKING:
    from mozzi.simulation.closed_system.closed_system import ClosedSystem

__all__ = ["Change", "Phase", "Phases", "SystemOptions", "simulated"]

When: TypeAlias = Callable[[Array, State, State], Array | float]
"""An event: the change comes where this function of (t, q, v), by system, crosses zero."""

Change = tuple[float | When, Callable[["ClosedSystem", State], "ClosedSystem"]]
"""When, and what becomes of the system in a configuration."""


class MotionOptions(MethodOptions, total=False):
    """Options of `simulate` for all phases."""

    method: Method | OneStep | DormandPrince | None
    resistance: bool | Resistance
    limits: Limits
    record_every: int
    t0: float
    trace: bool | None
    target: Device
    dtype: DType


class SystemOptions(MotionOptions, total=False):
    """The same with wrenches (B, nb, 6) by system."""

    wrenches: State


class WholeOptions(MotionOptions, total=False):
    """The same with the wrenches of the whole mechanism."""

    wrenches: ArrayLike


@dataclass(frozen=True)
class Phase:
    """The motion of a system between two changes.

    taken: the kinetic energy (B) that the change at its begin has taken.
    """

    system: ClosedSystem
    trajectory: Trajectory
    taken: Array

    @property
    def t(self) -> Array:
        """The times (n)."""
        return self.trajectory.t

    @property
    def q(self) -> dict[str, Array]:
        """Configurations (B, n, nq), by system."""
        return self.system.parts(self.trajectory.q, "q")

    @property
    def v(self) -> dict[str, Array]:
        """Velocities (B, n, nv), by system."""
        return self.system.parts(self.trajectory.v)


@dataclass(frozen=True)
class Phases(Sequence[Phase]):
    """The phases of a motion, one after the other: the end of one is the time of the next."""

    phases: tuple[Phase, ...]

    @overload
    def __getitem__(self, k: int) -> Phase: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[Phase, ...]: ...
    def __getitem__(self, k: int | slice) -> Phase | tuple[Phase, ...]:
        return self.phases[k]

    def __len__(self) -> int:
        return len(self.phases)

    @property
    def t(self) -> Array:
        """The times of all phases (n); those of changes are there twice, before and after."""
        return np.concatenate([x.t for x in self.phases])

    def q(self, system: str) -> Array:
        """Configurations (B, n, nq) of a system at these times.

        Args:
            system: its name; it must be there in all phases.
        """
        return np.concatenate([x.q[system] for x in self.phases], axis=-2)

    def v(self, system: str) -> Array:
        """Velocities (B, n, nv) of a system at these times.

        Args:
            system: its name; it must be there in all phases.
        """
        return np.concatenate([x.v[system] for x in self.phases], axis=-2)

    def energy(self) -> Array:
        """Kinetic and potential energy (B, n)."""
        return np.concatenate([x.trajectory.energy() for x in self.phases], axis=-1)

    @property
    def end(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """The last state (q, v), by system."""
        last = self.phases[-1]
        q, v = ({n: x[..., -1, :] for n, x in table.items()} for table in (last.q, last.v))
        return q, v


def simulated(
    system: ClosedSystem, q0: State, v0: State, duration: float, dt: float,
    torque: State | Callable[..., State] | None, changes: Sequence[Change], tolerance: float,
    options: SystemOptions,
) -> Phases:  # fmt: skip
    """See `ClosedSystem.simulate`."""
    start = float(options.get("t0", 0.0))
    t, end, left = start, start + float(duration), list(changes)
    for change in left:
        if not isinstance(cast(object, change), (tuple, list)) or len(change) != 2:
            raise KindError("simulate", "a change", change, "(time or event, function)")
    q, v = dict(q0), dict(v0)
    phases: list[Phase] = []
    while True:
        now, moving, taken = _begun(system, q, v, tolerance)
        until, event = end, None
        when = left[0][0] if left else end
        if callable(when):
            event = _event(system, when, now.shape)
        else:
            until = float(when)
            if not t <= until:
                raise ConfigurationError(
                    f"changes: one at t = {until:g} s comes after t = {t:g} s; give them in order"
                )
            until = min(until, end)
        if until > t or not phases:
            given, law = _options(system, options), _law(system, torque)
            given["t0"] = t
            state = system.model, now, moving, until - t, dt
            if event is None:
                x, ended = simulate(*state, torque=law, **given), None
            else:
                x, ended = until_event(event, *state, law, given)
            phases.append(Phase(system, x if ended is None else _to(x, ended), taken))
            t = until if ended is None else float(ended.t)
            q, v = phases[-1].q, phases[-1].v
            q, v = ({n: y[..., -1, :] for n, y in table.items()} for table in (q, v))
            if event is not None and ended is None:
                break
        if not left or t >= end:
            break
        _, change = left.pop(0)
        before, system = system, change(system, q)
        for name in system.systems:
            if name not in before.systems:
                raise ConfigurationError(
                    f"changes: system {name!r} is new at t = {t:g} s and has no state; give it to "
                    "the system from the start, and attach it then"
                )
        q, v = ({n: x[n] for n in system.systems} for x in (q, v))
    return Phases(tuple(phases))


def _begun(
    system: ClosedSystem, q: State, v: State, tolerance: float
) -> tuple[Array, Array, Array]:
    """The state at the begin of a phase: closed, with the velocities that attachments leave, and
    the kinetic energy that they have taken.
    """
    system.check_closed(q, tolerance)
    model = system.model
    at, u = system.whole("q", q, "q").astype(float), system.whole("v", v).astype(float)
    batch = np.broadcast_shapes(at.shape[:-1], u.shape[:-1])
    at, u = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (at, u))
    before = kinetic_energy(model, at, u)
    now, moving = closed_states(model, at, u, at)
    return now, moving, np.asarray(before - kinetic_energy(model, now, moving))


def _law(
    system: ClosedSystem, torque: State | Callable[..., State] | None
) -> Array | Feedback | None:
    if torque is None:
        return None
    if not callable(torque):
        return system.whole("tau", torque)

    def law(t: Real, q: Array, v: Array) -> Array:
        return system.whole("tau", torque(t, system.parts(q, "q"), system.parts(v)))

    return law


def _event(
    system: ClosedSystem, g: When, shape: tuple[int, ...]
) -> EventFunction:
    if len(shape) > 1:
        raise ConfigurationError(
            "changes: samples of a batch would change at different times; give times, or simulate "
            "one sample at a time"
        )

    def event(t: Array, q: Array, v: Array) -> Array | float:
        return g(t, system.parts(q, "q"), system.parts(v))

    event.terminal = True  # type: ignore[attr-defined]
    event.direction = getattr(g, "direction", 0)  # type: ignore[attr-defined]
    return event


def _options(system: ClosedSystem, options: SystemOptions) -> WholeOptions:
    out = cast("WholeOptions", dict(options))
    if "wrenches" in options:
        out["wrenches"] = system.whole("wrenches", options["wrenches"], "b")
    return out


def _to(x: Trajectory, event: Event) -> Trajectory:
    """The trajectory up to an event, with the state there as its last record."""
    n = int(np.searchsorted(x.t, event.t, side="left"))
    t, q, v = ([*a[:n], b] for a, b in ((x.t, event.t), (x.q, event.q), (x.v, event.v)))
    tau = None if x.tau is None else np.array([*x.tau[:n], x.tau[max(n - 1, 0)]])
    return replace(x, t=np.array(t), q=np.array(q), v=np.array(v), tau=tau, stored={})
