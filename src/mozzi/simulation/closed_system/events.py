"""Zeros of functions of a motion: by dopri5 on its dense output; by methods of constant step on its
records, and then by steps of any length from the last one before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mozzi.model import Model
from mozzi.simulation.methods.dormand_prince import DormandPrince, Event, EventFunction
from mozzi.simulation.methods.event_values import event_values
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.place import on_the_host
from mozzi.simulation.running.advance import forces_at, listed
from mozzi.simulation.running.simulation import Simulation
from mozzi.simulation.simulate import simulate
from mozzi.simulation.system import KeptLaw
from mozzi.simulation.trajectories.trajectory import Interrupted, Trajectory
from mozzi.simulation.watch import tell_run
from mozzi.types import Array

if TYPE_CHECKING:
    from mozzi.simulation.closed_system.phases import WholeOptions

__all__ = ["until_event"]

MOST_TRIES = 80  # of steps that end at a zero within a step

Step = Callable[[float, Array, Array, float], tuple[Array, Array]]
"""(t, q, v, h) ↦ (q, v) a step h later."""


def until_event(
    event: EventFunction, model: Model, q: Array, v: Array, duration: float, dt: float,
    law: Array | KeptLaw | None, options: WholeOptions,
) -> tuple[Trajectory, Event | None]:  # fmt: skip
    """The motion of one sample up to the first zero of the event, which is its last record; or over
    the duration, and None.
    """
    method = options.setdefault("method", "dopri5")
    if isinstance(method, DormandPrince) or method == "dopri5":
        given, number = _watching(event, options)
        x = simulate(model, q, v, duration, dt, torque=law, **given)
        own = [e for e in x.events if e.number == number]
        return (_to(x, own[-1]), own[-1]) if own else (x, None)
    run = Simulation(model, q, v, duration, dt, torque=law, **options)
    assert not isinstance(run.method, DormandPrince)
    k = None
    try:
        for _ in run.run():
            x = run.records
            k = _crossing(event, x.t[: x.done], x.q[: x.done], x.v[: x.done])
            if k is not None:
                break
    except KeyboardInterrupt:
        raise Interrupted(run.trajectory(tell=False)) from None
    if k is None:
        return run.trajectory(), None
    whole, step = run.trajectory(tell=False), _step(run, run.method)
    t, q, v, h = float(whole.t[k]), whole.q[k], whole.v[k], dt
    while t + h < whole.t[k + 1] - 1e-9 * dt:  # from record to record there may be many steps
        new = step(t, q, v, h)
        if _crossing(event, np.array([t, t + h]), *(np.stack(p) for p in zip((q, v), new))) == 0:
            break
        t, (q, v) = t + h, new
    found = _within(event, step, t, q, v, min(h, float(whole.t[k + 1]) - t))
    x = _to(whole, found)
    tell_run(run, x.t, x.q, x.v)
    return x, found


def _watching(event: EventFunction, options: WholeOptions) -> tuple[WholeOptions, int]:
    """Options of dopri5 with one more event, and its number."""
    method, others = options.get("method"), tuple(options.get("events", ()))
    if isinstance(method, DormandPrince):
        others = (*method.events, *others)
        options["method"] = replace(method, events=(*others, event))
    else:
        options["events"] = (*others, event)
    return options, len(others)


def _to(x: Trajectory, event: Event) -> Trajectory:
    """The trajectory up to an event, with the state there as its last record."""
    n = int(np.searchsorted(x.t, event.t, side="left"))
    t, q, v = ([*a[:n], b] for a, b in ((x.t, event.t), (x.q, event.q), (x.v, event.v)))
    tau = None if x.tau is None else np.array([*x.tau[:n], x.tau[max(n - 1, 0)]])
    arrays = {"t": np.array(t), "q": np.array(q), "v": np.array(v)}
    return replace(x, **arrays, tau=tau, stored={}, complete=True, diverged={})


def _crossing(event: EventFunction, t: Array, q: Array, v: Array) -> int | None:
    """The number of the first record behind which the event passes zero."""
    g = event_values(event, t, q, v)
    before, now = g[:-1], g[1:]
    crossed = (before * now <= 0.0) & (before != 0.0)
    direction = getattr(event, "direction", 0)
    if direction:
        crossed &= (now - before) * direction > 0.0
    return int(np.argmax(crossed)) if crossed.any() else None


def _within(
    event: EventFunction, step: Step, t: float, q: Array, v: Array, h: float
) -> Event:
    """The zero within a step from (t, q, v), or the first time behind it that is not the same: what
    begins there has passed it. False position, Illinois' variant.
    """

    def at(s: float) -> tuple[float, tuple[Array, Array]]:
        state = step(t, q, v, s)
        return float(event_values(event, np.array(t + s), *state)), state

    start = far, g_far = 0.0, float(event_values(event, np.array(t), q, v))
    near, (g_near, state) = h, at(h)
    for _ in range(MOST_TRIES):
        if g_near == 0.0 or abs(near - far) <= 1e-15 * (abs(t) + h) or g_far == g_near:
            break
        s = near - g_near * (near - far) / (g_near - g_far)
        value, new = at(s)
        if value * g_near < 0.0:
            far, g_far = near, g_near
        else:
            g_far *= 0.5
        close = abs(s - near) <= 1e-14 * (abs(t) + h)
        near, g_near, state = s, value, new
        if close:
            break
    more = 1e-16 * (abs(t) + h)
    while g_near * start[1] > 0.0 and near < h:
        more *= 2.0
        near = min(near + more, h)
        g_near, state = at(near)
    return Event((), t + near, 0, *state)


def _step(run: Simulation, method: OneStep) -> Step:
    """One step of any length, with the forces of its begin; what a method carries besides q and v
    begins anew.
    """
    advance, start = run.kernels.advance(method), run.kernels.start(method)

    def step(t: float, q: Array, v: Array, h: float) -> tuple[Array, Array]:
        forces = forces_at(run, 0, t, q, v)
        state = [run.place.put(x) for x in (q, v)]
        if start is not None:
            state += listed(start(*state, t, *forces))
        new = advance(*state, t, *forces, h, 1.0)
        return on_the_host(new[0]), on_the_host(new[1])

    return step
