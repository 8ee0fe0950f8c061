"""Dormand–Prince of Munthe-Kaas type: every sample has its own steps; dense output and events.

All samples of a batch run through the same program, which tries one step per iteration. Each has
its own time, step and verdict; a sample that has come as far as it should idles until the others
have. So the motion of a sample does not depend on the batch it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.errors import ConfigurationError
from mozzi.program.program import loop
from mozzi.program.scalar import maximum, minimum, select, sqrt
from mozzi.simulation.loop_state import Memory
from mozzi.simulation.methods.munthe_kaas import munthe_kaas_stages
from mozzi.simulation.methods.tableau import DOPRI5
from mozzi.simulation.place import CPU, Place, Shapes, named, on_the_host
from mozzi.simulation.projection import closed_again, closed_states
from mozzi.simulation.system import System

__all__ = ["Adaptive", "DormandPrince", "Event", "attempt_kernel"]

TRIES = 6  # steps that a call tries
LARGEST, SMALLEST, SAFETY = 5.0, 0.2, 0.9  # change of a step


@dataclass(frozen=True)
class Event:
    """A zero of a function g(t, q, v): of which sample, when, of which function, in which state."""

    sample: tuple[int, ...]
    t: float
    number: int
    q: np.ndarray = field(repr=False)
    v: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class DormandPrince:
    """Order 5 with an error estimate of order 4 and dense output of order 4.

    The error of a step is at most atol + rtol·|v| in every velocity and atol + rtol in every
    direction of the configuration space (in rad or m). ``events`` are functions g(t, q, v) of
    arrays (B,), (B, nq), (B, nv) with values (B,): their zeros are found on the dense output. A
    function with a true attribute ``terminal`` ends the motion of a sample there, and one with an
    attribute ``direction`` of ±1 only counts zeros in that direction. Adaptive steps, so ``dt`` of
    `simulate` is the distance of records; torques that come from Python or in rows are held over
    it.
    """

    rtol: float = 1e-8
    atol: float = 1e-10
    events: tuple[Callable[..., Any], ...] = ()
    tries: int = 100_000
    order = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))
        for name in ("rtol", "atol"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ConfigurationError(f"{name} {getattr(self, name)!r}: give a number in (0, 1)")


def state_shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """What a sample carries from call to call: its state, and its last step for dense output."""
    n = model.nv
    return {
        "q": (model.nq,), "v": (n,), "t": (), "h": (),
        "q_old": (model.nq,), "v_old": (n,), "t_old": (), "h_old": (), "dense": (4, 2 * n),
        "taken": (), "tried": (),
    }  # fmt: skip


def attempt_kernel(
    method: DormandPrince, system: System, forces: Shapes, place: Place = CPU
) -> Any:
    """(state…, until, end, tries, forces…) ↦ state… after so many tries to come to `until`.

    No step goes beyond `end`.
    """
    model, n = system.model, system.model.nv
    shapes = state_shapes(model)

    def attempt(until: Any, end: Any, tries: Any, **arrays: Any) -> Any:
        system.tau, system.wrenches = arrays.get("tau"), arrays.get("wrenches")
        memory = {name: Memory(name, shape or 1, arrays[name]) for name, shape in shapes.items()}
        q, v, t = arrays["q"], arrays["v"], arrays["t"]
        first = Memory("first", n, system.acceleration(t, q, v))
        for _ in loop(0, tries, name="try"):
            x = {name: m.get() if shapes[name] else m.get()[0] for name, m in memory.items()}
            a = first.get()
            new, k = _attempt(method, system, x, end, np.concatenate([x["v"], a]))
            going = x["t"] < until
            for name, m in memory.items():
                old = np.ravel(np.asarray(x[name], dtype=object))
                fresh = np.ravel(np.asarray(new[name], dtype=object))
                both = [select(going, a, b) for a, b in zip(fresh, old, strict=True)]
                m.set(np.reshape(np.array(both, dtype=object), m.shape))
            last = [select(new["ok"], e, b) for e, b in zip(k[-1, n:], a, strict=True)]
            first.set([select(going, e, b) for e, b in zip(last, a, strict=True)])  # δ is 0 again
        return tuple(m.get() if shapes[name] else m.get()[0] for name, m in memory.items())

    times = {"until": (), "end": (), "tries": ()}
    arguments = shapes | times | dict(forces)
    return named(attempt, arguments, model, "attempt", place.target, place.dtype)


def _attempt(
    method: DormandPrince, system: System, x: dict[str, Any], end: Any, first: np.ndarray
) -> tuple[dict[str, Any], np.ndarray]:
    """One step: the state behind it, kept or not, and the rates of its stages."""
    model, n = system.model, system.model.nv
    h = minimum(x["h"], end - x["t"])
    k = munthe_kaas_stages(DOPRI5, system, x["t"], x["q"], x["v"], h, first)
    assert DOPRI5.error is not None and DOPRI5.dense is not None
    step, error = (h * _sum(w, k) for w in (DOPRI5.b, DOPRI5.error))
    ends = {"q": integrate(model, x["q"], step[:n]), "v": x["v"] + step[n:]}
    q1, v1 = closed_again(model, ends).values()
    ratio: Any = 0.0
    for i in range(n):
        scale = method.atol + method.rtol * maximum(abs(x["v"][i]), abs(v1[i]))
        ratio = maximum(ratio, abs(error[i]) * (1.0 / (method.atol + method.rtol)))
        ratio = maximum(ratio, abs(error[n + i]) / scale)
    finite = abs(sum(abs(e) for e in error)) < 1e200  # not a number: not finite
    ok = select(finite, select(ratio <= 1.0, 1.0, 0.0), 0.0) > 0.5
    root = sqrt(sqrt(maximum(ratio, 1e-9)))
    change = select(finite, minimum(LARGEST, maximum(SMALLEST, SAFETY / root)), SMALLEST)
    clipped = h < x["h"]
    longer = select(clipped, maximum(x["h"], h * change), h * change)
    dense = np.stack([h * _sum(DOPRI5.dense[:, m], k) for m in range(4)])
    kept = {
        "q": q1, "v": v1, "t": select(clipped, end, x["t"] + h), "h": longer,
        "q_old": x["q"], "v_old": x["v"], "t_old": x["t"], "h_old": h, "dense": dense,
        "taken": x["taken"] + 1.0, "tried": x["tried"] + 1.0,
    }  # fmt: skip
    refused = x | {"h": h * change, "tried": x["tried"] + 1.0}
    new: dict[str, Any] = {"ok": ok}
    for name, value in kept.items():
        a = np.ravel(np.asarray(value, dtype=object))
        b = np.ravel(np.asarray(refused[name], dtype=object))
        new[name] = np.array([select(ok, p, r) for p, r in zip(a, b, strict=True)], dtype=object)
    return new, k


def _sum(weights: np.ndarray, k: np.ndarray) -> Any:
    return sum(row * w for row, w in zip(k, weights) if w)


class Adaptive:
    """The state of all samples between calls, where the kernel runs: `here` looks at it."""

    def __init__(
        self, method: DormandPrince, model: Any, kernel: Any, q: np.ndarray, v: np.ndarray,
        t: float, a: np.ndarray, span: float, place: Place = CPU,
    ):  # fmt: skip
        self.method, self.model, self.kernel = method, model, kernel
        batch = q.shape[:-1]
        self.x = {name: np.zeros((*batch, *shape)) for name, shape in state_shapes(model).items()}
        rate = np.maximum(np.abs(v).max(axis=-1), np.abs(a).max(axis=-1))
        first = 0.01 * (1.0 + np.abs(v).max(axis=-1)) / np.maximum(rate, 1e-12)
        self.x |= {"q": q, "v": v, "q_old": q, "v_old": v, "h": np.minimum(first, span)}
        self.x["t"] = self.x["t_old"] = np.full(batch, t)
        self.x["h_old"] = np.ones(batch)
        self.stopped = np.zeros(batch, dtype=bool)
        self.end = np.full(batch, np.inf)  # until when the motion of a stopped sample is known
        self.events: list[Event] = []
        self._g = [np.asarray(g(self.x["t"], q, v)) for g in method.events]
        self.x = {name: place.put(value) for name, value in self.x.items()}

    def here(self, name: str) -> np.ndarray:
        """A part of the state as a NumPy array."""
        return on_the_host(self.x[name])

    def advance(self, until: float, end: float, forces: Sequence[np.ndarray]) -> Iterator[None]:
        """Take all samples to a time; yields after every call."""
        tries = 1.0 if self.method.events else float(TRIES)
        while True:
            before = self.here("t")
            behind = (before < until) & ~self.stopped
            if not behind.any():
                return
            target = np.where(self.stopped, -np.inf, until)
            out = self.kernel(*self.x.values(), target, end, tries, *forces)
            self.x = dict(zip(self.x, out, strict=True))
            now = self.here("t")
            if self.method.events:
                self._look(now > before)
            tiny = self.here("h") < 1e-14 * np.maximum(1.0, np.abs(now))
            lost = behind & (tiny | (self.here("tried") > self.method.tries))
            self.stopped |= lost
            self.end = np.where(lost, now, self.end)
            yield

    def at(self, t: float | np.ndarray, where: Any = ...) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) on the last step of every sample."""
        x = {name: self.here(name)[where] for name in self.x}
        theta = ((t - x["t_old"]) / x["h_old"])[..., None]
        n = self.model.nv
        y = np.zeros((*theta.shape[:-1], 2 * n))
        for m in range(4):
            y = y + x["dense"][..., m, :] * theta ** (m + 1)
        q, v = integrate(self.model, x["q_old"], y[..., :n]), x["v_old"] + y[..., n:]
        q, v = closed_states(self.model, q, v)
        here = np.equal(t, x["t"])[..., None]
        return np.where(here, x["q"], q), np.where(here, x["v"], v)

    def _look(self, moved: np.ndarray) -> None:
        """Find the events on the steps that were just taken."""
        found: dict[tuple[int, ...], list[tuple[float, int]]] = {}
        for number, g in enumerate(self.method.events):
            before = self._g[number]
            now = np.asarray(g(*map(self.here, ("t", "q", "v"))))
            self._g[number] = np.where(moved, now, before)
            direction = getattr(g, "direction", 0)
            crossed = moved & (before * now <= 0.0) & (before != 0.0)
            if direction:
                crossed &= (now - before) * direction > 0.0
            for sample in map(tuple, np.argwhere(crossed)):
                time = self._zero(g, sample, float(before[sample]))
                found.setdefault(tuple(map(int, sample)), []).append((time, number))
        for sample, marks in found.items():
            for time, number in sorted(marks):
                q, v = self.at(time, sample)
                self.events.append(Event(sample, time, number, q, v))
                if getattr(self.method.events[number], "terminal", False):
                    self.stopped[sample] = True
                    self.end[sample] = time
                    break

    def _zero(self, g: Any, sample: tuple[int, ...], before: float) -> float:
        """When g vanishes on the last step of a sample: bisection on the dense output."""
        low, high = (float(self.here(name)[sample]) for name in ("t_old", "t"))
        for _ in range(60):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            q, v = self.at(middle, sample)
            value = float(np.asarray(g(np.array(middle), q, v)))
            low, high = (middle, high) if value * before > 0.0 else (low, middle)
        return high
