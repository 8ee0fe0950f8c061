"""Motions of a `ClosedSystem`, phase by phase: at a time, or where an event is, it changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np

from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_rows
from mozzi.algorithms.dynamics.energy import kinetic_energy
from mozzi.algorithms.loops.topology import State
from mozzi.errors import ConfigurationError, KindError, LoopError, known
from mozzi.model import Model
from mozzi.program.scalar import Real
from mozzi.simulation.checks import positive
from mozzi.simulation.closed_system.attached import Parts, broadcast
from mozzi.simulation.closed_system.events import until_event
from mozzi.simulation.closed_system.phases import (
    Change,
    Phase,
    Phases,
    SystemOptions,
    When,
    WholeOptions,
)
from mozzi.simulation.forces.drives import Drives
from mozzi.simulation.methods.dormand_prince import EventFunction
from mozzi.simulation.parameters import check_arguments, check_law
from mozzi.simulation.projection import closed_states
from mozzi.simulation.simulate import simulate
from mozzi.simulation.system import KeptLaw
from mozzi.types import Array

if TYPE_CHECKING:
    from mozzi.simulation.closed_system.closed_system import ClosedSystem

__all__ = ["simulated"]

Torque = State | Callable[[float, Parts, Parts], State]

HARDLY = 1e-8
"""Of coordinates: what moves by less as it is closed was closed, and velocities are those that an
impulse leaves there to as much.
"""

MOST_CLOSINGS = 20  # each two steps of Newton's method; one is enough where hardly anything is open

WHOSE = {"loop_offsets": "attachment", "prescribed": "joint"}
"""Laws of time, and what they are of."""


def simulated(
    system: ClosedSystem, q0: State, v0: State, duration: float, dt: float,
    torque: Torque | None, changes: Sequence[Change], tolerance: float, options: SystemOptions,
) -> Phases:  # fmt: skip
    """See `ClosedSystem.simulate`."""
    for change in changes:
        if not isinstance(cast(object, change), (tuple, list)) or len(change) != 2:
            raise KindError("simulate", "a change", change, "(time or event, function)")
        when, what = cast("tuple[object, object]", change)
        if callable(when):
            check_arguments(when, "t, q, v", "simulate: an event", more=False)
        elif not isinstance(when, (int, float, np.number)):
            raise KindError("simulate", "when of a change", when, "a time, or g(t, q, v)")
        if not callable(what):
            raise KindError("simulate", "a change", what, "a function (system, q) -> system")
        check_arguments(what, "system, q", "simulate: a change", more=False)
    if callable(torque):
        check_law(torque)
    if changes and cast("dict[str, object]", options).get("save") is not None:
        raise ConfigurationError(
            "save= holds one motion of one mechanism; with changes, save what phases have: "
            "phases[0].trajectory.save(path)"
        )
    if cast("dict[str, object]", options).get("parameters") is not None:
        raise ConfigurationError(
            "parameters= vary one mechanism, and what an attachment takes at a change is of the "
            "systems as they are; give them other numbers (with_system), or simulate what changes "
            "nothing: mz.simulate(system.model, …, parameters=…)"
        )
    start = cast(object, options.get("t0", 0.0))
    if not isinstance(start, (int, float, np.number)):
        raise KindError("simulate", "t0", start, "seconds")
    for word, whose in (("wrenches", "system"), *WHOSE.items()):
        table = cast("dict[str, object]", options).get(word)
        if not isinstance(table, (Mapping, type(None))):
            raise KindError("simulate", word, table, f"a table by {whose}")
    if cast("dict[str, object]", options).get("wrenches") is None:
        options.pop("wrenches", None)
    times = [float(cast("float", start)), *(float(x) for x, _ in changes if not callable(x))]
    for before, after in pairwise(times):
        if not before <= after:
            raise ConfigurationError(
                f"changes: one at t = {after:g} s comes after t = {before:g} s; give them in order"
            )
    end = float(cast("float", start)) + positive(duration, "duration")
    if times[-1] > end + 1e-9 * duration:  # rounding of sums
        raise ConfigurationError(
            f"changes: one at t = {times[-1]:g} s comes after the end at t = {end:g} s; give a "
            "longer duration, or leave it out"
        )
    run = _Run(duration, dt, changes, tolerance, {})
    at, u = system.whole("q", q0, "q"), system.whole("v", v0)
    batch = broadcast("the states", {"q0": at.shape[:-1], "v0": u.shape[:-1]})
    if 0 in batch:
        raise ConfigurationError(f"q0 and v0 have batch axes {batch}, which hold no sample")
    if not batch or not any(callable(when) for when, _ in changes):
        return run.phases(system, q0, v0, torque, options)
    samples: list[Phases] = []
    for k in np.ndindex(*batch):
        q, v = (_sample(x, batch, k, 1) for x in (q0, v0))
        own = options.copy()
        if "wrenches" in options:
            own["wrenches"] = _sample(options["wrenches"], batch, k, 2)
        forces = torque
        if torque is not None and not callable(torque):
            forces = _sample(torque, batch, k, 1)
        try:
            samples.append(run.phases(system, q, v, cast("Torque | None", forces), own))
        except Exception as error:
            error.add_note(f"in sample {k[0] if len(k) == 1 else k}")
            raise
    return Phases((), tuple(samples), batch)


def _sample(
    table: State, batch: tuple[int, ...], k: tuple[int, ...], own: int
) -> State:
    """The tables of one sample; own: how many axes are not of the batch."""
    out: dict[str, Array] = {}
    for name, x in table.items():
        x = np.asarray(x)
        lead = x.shape[: x.ndim - own]
        try:
            out[name] = np.broadcast_to(x, (*batch, *x.shape[x.ndim - own :]))[k]
        except ValueError:
            raise ConfigurationError(
                f"samples of {name!r} have shape {lead}, those of the states {batch}"
            ) from None
    return out


@dataclass
class _Run:
    """What all samples have in common; laws: those of the systems that there were."""

    duration: float
    dt: float
    changes: Sequence[Change]
    tolerance: float
    laws: dict[Model, KeptLaw]

    def phases(
        self, system: ClosedSystem, q0: State, v0: State, torque: Torque | None,
        options: SystemOptions,
    ) -> Phases:  # fmt: skip
        """One motion, or samples that change together."""
        start = float(options.get("t0", 0.0))
        t, end, left = start, start + self.duration, list(self.changes)
        q, v = dict(q0), dict(v0)
        phases: list[Phase] = []
        taken: Array = np.zeros(())
        seen: set[str] = set()
        while True:
            given = _options(system, options)
            seen |= _named(given)
            if not left:
                self.refuse_unknown(system, options, seen)
            now, moving, lost = _begun(system, q, v, t, given, self.tolerance)
            if not phases and not _named(given):
                _refuse_opening(system, now, v, self.tolerance)
            taken = taken + lost
            until, event = end, None
            when = left[0][0] if left else end
            if callable(when):
                event = _event(system, when)
            else:
                until = max(t, min(float(when), end))  # at once, where an event came later
            if until > t or not end > t:
                given["t0"], law = t, self.law(system, torque)
                state: tuple[Model, Array, Array, float, float]
                state = system.model, now, moving, until - t, self.dt
                if event is None:
                    x, ended = simulate(*state, torque=law, **given), None
                else:
                    x, ended = until_event(event, *state, law, given)
                phases.append(Phase(system, x, taken))
                t = until if ended is None else float(ended.t)
                taken = np.zeros(())
                q, v = phases[-1].q, phases[-1].v
                q, v = ({n: y[..., -1, :] for n, y in table.items()} for table in (q, v))
                if event is not None and ended is None:
                    break
            else:  # attached for no time, which its impulse does not need
                q, v = (system.parts(x, axis) for x, axis in ((now, "q"), (moving, "v")))
            if not left or t >= end:
                break
            _, change = left.pop(0)
            before, system = system, change(system, q)
            if not isinstance(cast(object, system), type(before)):
                wanted = "the new system: return system.attach(…), or system.detach(…)"
                raise KindError("simulate", f"what the change at t = {t:g} s gives", system, wanted)
            for name in system.systems:
                if name not in before.systems:
                    raise ConfigurationError(
                        f"changes: system {name!r} is new at t = {t:g} s and has no state; give it "
                        "to the system from the start, and attach it then"
                    )
            q, v = ({n: x[n] for n in system.systems} for x in (q, v))
            torque, options = _left(torque, options, set(before.systems) - set(system.systems))
        return Phases(tuple(phases))

    @staticmethod
    def refuse_unknown(system: ClosedSystem, options: SystemOptions, seen: set[str]) -> None:
        """Raise where laws of time are of what was never there, and will not come."""
        for word, whose in WHOSE.items():
            there = _there(system.model, word)
            for name in _names(options, word):
                if name not in seen:
                    raise ConfigurationError(
                        f"{word}: no {whose} {name!r}; there are {known(name, there)}"
                    )

    def law(self, system: ClosedSystem, torque: Torque | None) -> Array | KeptLaw | None:
        """Of the whole mechanism; one for all samples, with what was compiled of it."""
        if torque is None:
            return None
        if not callable(torque):
            return system.whole("tau", torque)

        def law(t: Real, q: Array, v: Array) -> Array:
            found = torque(cast(float, t), system.parts(q, "q"), system.parts(v))
            if not isinstance(cast(object, found), Mapping):
                raise KindError("simulate", "what torque gives", found, "joint forces by system")
            return system.whole("tau", found)

        return self.laws.setdefault(system.model, KeptLaw(law))


def _begun(
    system: ClosedSystem, q: State, v: State, t: float, given: WholeOptions, tolerance: float
) -> tuple[Array, Array, Array]:
    """The state at the begin of a phase: closed, with the velocities that attachments leave, and
    the kinetic energy that they have taken.
    """
    model, asked, offsets = system.model, None, {}
    if _named(given):
        laws = Drives(model, given.get("prescribed"), given.get("loop_offsets"))
        model, asked = laws.model, laws.on_arrays(t)
        offsets = {name: asked["loop_offsets"][laws.rows[name]] for name in laws.loops}
        laws.check_joints(asked, system.whole("q", q, "q"), tolerance)
    system.check_closed(q, tolerance, loop_offsets=offsets)
    at, u = system.whole("q", q, "q").astype(float), system.whole("v", v).astype(float)
    batch = np.broadcast_shapes(at.shape[:-1], u.shape[:-1])
    at, u = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (at, u))
    before, now, moving = kinetic_energy(model, at, u), at, u
    for _ in range(MOST_CLOSINGS):
        start = now
        now, moving = closed_states(model, start, u, start, asked)
        if np.abs(now - start).max(initial=0.0) < HARDLY:
            break
    return now, moving, np.asarray(before - kinetic_energy(model, now, moving))


def _refuse_opening(system: ClosedSystem, q: Array, v: State, tolerance: float) -> None:
    """Raise where velocities open loops of the mechanisms: no impulse of an attachment does so."""
    held, u = {part.name for part in system.attachments}, system.whole("v", v)
    own = {name: at for name, at in loop_rows(system.model).items() if name not in held}
    if not own:
        return
    rates = np.abs((loop_jacobian(system.model, q) @ u[..., None])[..., 0])
    for name, rows in own.items():
        most = rates[..., rows].max(initial=0.0)
        if most > tolerance * (1.0 + np.abs(u).max(initial=0.0)):
            raise LoopError(
                f"loop {name!r} opens at {most:.2e} (m/s or rad/s); call consistent_velocities(q, "
                "v) of the system first"
            )


def _left(
    torque: Torque | None, options: SystemOptions, gone: set[str]
) -> tuple[Torque | None, SystemOptions]:
    """Forces in tables, without those on systems that a change has taken away."""
    if gone and torque is not None and not callable(torque):
        torque = {n: x for n, x in torque.items() if n not in gone}
    if gone and "wrenches" in options:
        options = options.copy()
        options["wrenches"] = {n: x for n, x in options["wrenches"].items() if n not in gone}
    return torque, options


def _event(system: ClosedSystem, g: When) -> EventFunction:
    def event(t: Array, q: Array, v: Array) -> Array | float:
        return g(t, system.parts(q, "q"), system.parts(v))

    event.__name__ = getattr(g, "__name__", type(g).__name__)
    event.terminal = True  # type: ignore[attr-defined]
    event.direction = getattr(g, "direction", 0)  # type: ignore[attr-defined]
    return event


def _options(system: ClosedSystem, options: SystemOptions) -> WholeOptions:
    """Options of the whole mechanism: of laws of time, those of what is there."""
    out = dict(options)
    if "wrenches" in options:
        out["wrenches"] = system.whole("wrenches", options["wrenches"], "b")
    for word in WHOSE:
        there, table = _there(system.model, word), cast("dict[object, object]", options.get(word))
        own = {key: law for key, law in (table or {}).items() if _name(key) in there}
        out.pop(word, None)
        if own:
            out[word] = own
    return cast("WholeOptions", out)


def _there(model: Model, word: str) -> Sequence[str]:
    """What a law of time can be of."""
    return model.joint_names if word == "prescribed" else [x.name for x in model.closures]


def _name(key: object) -> str:
    """The joint or attachment of a law: "arms.elbow", or ("arms.elbow", 0)."""
    return str(cast("tuple[object, ...]", key)[0] if isinstance(key, tuple) else key)


def _names(options: SystemOptions | WholeOptions, word: str) -> list[str]:
    return [_name(key) for key in cast("dict[str, dict[object, object]]", options).get(word) or {}]


def _named(options: WholeOptions) -> set[str]:
    """What laws of time are of."""
    return {name for word in WHOSE for name in _names(options, word)}
