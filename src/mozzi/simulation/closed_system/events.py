"""Zeros of functions of a motion: by dopri5 on its dense output; by methods of constant step on its
records, and then by steps of any length from the last one before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.simulation.methods.dormand_prince import DormandPrince, Event, EventFunction
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.place import on_the_host
from mozzi.simulation.simulate import simulate
from mozzi.simulation.stepper import stepper
from mozzi.simulation.system import Feedback
from mozzi.simulation.trajectories.trajectory import Trajectory
from mozzi.types import Array, Method

if TYPE_CHECKING:
    from mozzi.simulation.closed_system.phases import WholeOptions

__all__ = ["until_event"]

MOST = 80  # steps towards a zero within a step

Step = Callable[[float, Array, Array, float], tuple[Array, Array]]
"""(t, q, v, h) ↦ (q, v) a step h later."""


def until_event(
    event: EventFunction, model: Model, q: Array, v: Array, duration: float, dt: float,
    law: Array | Feedback | None, options: WholeOptions,
) -> tuple[Trajectory, Event | None]:  # fmt: skip
    """The motion over a duration, and the first zero of the event in it."""
    method = options.setdefault("method", "dopri5") or "rkmk4"
    if isinstance(method, DormandPrince):
        raise ConfigurationError(
            "changes: give method='dopri5' and its rtol and atol; events are set here"
        )
    if method == "dopri5":
        options["events"] = (event,)
        x = simulate(model, q, v, duration, dt, torque=law, **options)
        return x, x.events[-1] if x.events else None
    step = _step(model, method, law, options)  # which refuses methods that carry more than q and v
    x = simulate(model, q, v, duration, dt, torque=law, **options)
    k = _crossing(event, x.t, x.q, x.v)
    if k is None:
        return x, None
    t, q, v, h = float(x.t[k]), x.q[k], x.v[k], dt
    while t + h < x.t[k + 1] - 1e-9 * dt:  # from record to record there may be many steps
        new = step(t, q, v, h)
        if _crossing(event, np.array([t, t + h]), *(np.stack(p) for p in zip((q, v), new))) == 0:
            break
        t, (q, v) = t + h, new
    h = min(h, float(x.t[k + 1]) - t)
    return x, _within(event, step, t, q, v, h)


def _crossing(event: EventFunction, t: Array, q: Array, v: Array) -> int | None:
    """The number of the first record behind which the event passes zero."""
    g = np.broadcast_to(np.asarray(event(t, q, v), dtype=float), t.shape)
    before, now = g[:-1], g[1:]
    crossed = (before * now <= 0.0) & (before != 0.0)
    direction = getattr(event, "direction", 0)
    if direction:
        crossed &= (now - before) * direction > 0.0
    return int(np.argmax(crossed)) if crossed.any() else None


def _within(
    event: EventFunction, step: Step, t: float, q: Array, v: Array, h: float
) -> Event:
    """The zero within a step from (t, q, v): false position, Illinois' variant."""

    def at(s: float) -> tuple[float, tuple[Array, Array]]:
        state = step(t, q, v, s)
        return float(np.asarray(event(np.array(t + s), *state))), state

    far, g_far = 0.0, float(np.asarray(event(np.array(t), q, v)))
    near, (g_near, state) = h, at(h)
    for _ in range(MOST):
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
    return Event((), t + near, 0, *state)


def _step(
    model: Model, method: Method | OneStep, law: Array | Feedback | None, options: WholeOptions
) -> Step:
    """One step of any length."""
    traced = callable(law) and options.get("trace") is not False
    held = law is not None and not traced
    wrenches = options.get("wrenches")
    kernel = stepper(
        model, method, law if callable(law) and traced else None, held=held,
        wrenches=wrenches is not None, resistance=options.get("resistance", True),
        limits=options.get("limits", False), target=options.get("target", "cpu"),
        dtype=options.get("dtype", "float64"),
    )  # fmt: skip

    def step(t: float, q: Array, v: Array, h: float) -> tuple[Array, Array]:
        given: list[Array] = []
        if held:
            given.append(np.asarray(law(t, q, v) if callable(law) else law, dtype=float))
        if wrenches is not None:
            given.append(np.asarray(wrenches, dtype=float))
        new = kernel(q, v, t, *given, h, 1.0)
        return on_the_host(new[0]), on_the_host(new[1])

    return step
