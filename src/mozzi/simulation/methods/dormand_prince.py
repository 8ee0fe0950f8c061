"""Dormand–Prince of Munthe-Kaas type: every sample has its own steps; dense output and events.

All samples of a batch run through the same program, which tries one step per iteration. Each has
its own time, step and verdict; a sample that has come as far as it should idles until the others
have. So the motion of a sample does not depend on the batch it is in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.guard import unchecked
from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.constraints.rank import lengths
from mozzi.algorithms.constraints.row_choice import loop_rank
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.checked import is_iterable
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.program.program import loop
from mozzi.program.scalar import Condition, Node, Real, divide, maximum, minimum, select, sqrt
from mozzi.simulation.methods.event_values import event_values
from mozzi.simulation.methods.kinds import refuse_wrong
from mozzi.simulation.methods.method import one_number
from mozzi.simulation.methods.munthe_kaas import munthe_kaas_stages, weighted
from mozzi.simulation.methods.tableau import DOPRI5
from mozzi.simulation.parameters import check_arguments
from mozzi.simulation.place import CPU, Place, Shapes, named, on_the_host
from mozzi.simulation.projection import (
    closed_again,
    closed_errors,
    closed_states,
    first_rows,
    held_rows,
    margin_at,
    row_sizes,
)
from mozzi.simulation.system import System
from mozzi.simulation.traced_state import Memory
from mozzi.types import Array, Kernel, Traced

__all__ = ["Adaptive", "DormandPrince", "Event", "attempt_kernel"]

TRIES = 6  # steps that a call tries
LARGEST, SMALLEST, SAFETY = 5.0, 0.2, 0.9  # change of a step
CLOSES = 1e-4  # rad or m: two steps of Newton's method leave the fourth power
NEARER, SHORTER = 0.1, 0.7  # of a margin that steps may come to, else of their length
UNKNOWN = 1e-15  # what rounding leaves of positions

State: TypeAlias = dict[str, Traced]


@dataclass(frozen=True)
class Event:
    """A zero of a function g(t, q, v): of which sample, when, of which function, in which state."""

    sample: tuple[int, ...]
    t: float
    number: int
    q: Array = field(repr=False)
    v: Array = field(repr=False)


class EventFunction(Protocol):
    """g(t, q, v) of arrays (B,), (B, nq), (B, nv), with values (B,)."""

    def __call__(self, t: Array, q: Array, v: Array, /) -> Array | float: ...


@dataclass(frozen=True)
class DormandPrince:
    """Order 5 with an error estimate of order 4 and dense output of order 4.

    The error of a step is at most atol + rtol·|v| in every velocity and atol + rtol in every
    direction of the configuration space (in rad or m), as far as it is not taken away by closing
    the loops, and as far as rounding lets it be known where these are nearly singular. ``events``
    are functions g(t, q, v) of arrays (B,), (B, nq), (B, nv) with values (B,): their zeros are
    found on the dense output. A function with a true attribute ``terminal`` ends the motion of a
    sample there, and one with an attribute ``direction`` of ±1 only counts zeros in that direction.
    Adaptive steps, so ``dt`` of `simulate` is the distance of records; torques that come from
    Python or in rows are held over it. A step that shrinks below what rounding resolves is
    divergence; ``tries`` bounds how many steps a sample may try, and None does not.
    """

    rtol: float = 1e-8
    atol: float = 1e-10
    events: tuple[EventFunction, ...] = ()
    tries: int | None = None
    order = 5

    def __post_init__(self) -> None:
        if is_iterable(self.events):
            object.__setattr__(self, "events", tuple(self.events))
        refuse_wrong(self, "dopri5", {"tries": 1})
        for name in ("rtol", "atol"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ConfigurationError(f"{name} {getattr(self, name)!r}: give a number in (0, 1)")
        for event in filter(callable, self.events):
            check_arguments(event, "t, q, v", "dopri5: an event", more=False)


def state_shapes(model: Model) -> dict[str, tuple[int, ...]]:
    """What a sample carries from call to call: its state, and its last step for dense output."""
    n = model.nv
    return {
        "q": (model.nq,), "v": (n,), "t": (), "h": (),
        "q_old": (model.nq,), "v_old": (n,), "t_old": (), "h_old": (), "dense": (4, 2 * n),
        "taken": (), "tried": (), **{name: (k,) for name, k in row_sizes(model).items()},
        **({"margins": (3,)} if closed(model) else {}),
    }  # fmt: skip


def attempt_kernel(
    method: DormandPrince, system: System, forces: Shapes, place: Place = CPU
) -> Kernel[tuple[Array, ...]]:
    """(state…, until, end, tries, forces…) ↦ state… after so many tries to come to `until`.

    No step goes beyond `end`.
    """
    model, n = system.model, system.model.nv
    shapes = state_shapes(model)

    def attempt(
        t: Real, until: Real, end: Real, tries: Node, **arrays: Traced
    ) -> tuple[Traced, ...]:
        at = system.on(arrays)
        memory = {
            name: Memory(name, shape or 1, t if name == "t" else arrays[name])
            for name, shape in shapes.items()
        }
        first = Memory("first", n, at.acceleration(t, arrays["q"], arrays["v"]))
        for _ in loop(0, tries, name="try"):
            x = {name: m.get() for name, m in memory.items()}
            a = first.get()
            new, ok, k = _attempt(method, at, x, end, np.concatenate([x["v"], a]))
            going = x["t"][0] < until
            for name, m in memory.items():
                m.set(_chosen(going, new[name], x[name]))
            first.set(_chosen(going, _chosen(ok, k[-1, n:], a), a))  # δ is 0 again
        return tuple(m.get() if shapes[name] else m.get()[0] for name, m in memory.items())

    times = {"until": (), "end": (), "tries": ()}
    arguments = shapes | times | dict(forces)
    return named(attempt, arguments, model, "attempt", place.target, place.dtype)


def _attempt(
    method: DormandPrince, system: System, x: State, end: Real, first: Traced
) -> tuple[State, Condition, Traced]:
    """One step: the state behind it, whether it is kept, and the rates of its stages."""
    model, n = system.model, system.model.nv
    t, longest, q, v = x["t"][0], x["h"][0], x["q"], x["v"]
    h = minimum(longest, end - t)
    with held_rows(model, x):
        k = munthe_kaas_stages(DOPRI5, system, t, q, v, h, first)
    assert DOPRI5.error is not None and DOPRI5.dense is not None
    step, error = (h * weighted(w, k) for w in (DOPRI5.b, DOPRI5.error))
    ends = {"q": integrate(model, q, step[:n]), "v": v + step[n:]}
    ends = closed_again(model, ends, x.get("rows"), given=system.rows_at(t + h))
    v1 = ends["v"]
    closing, both = _closable(method), method.atol + method.rtol
    left = closed_errors(model, ends, error, system.rows_at(t + h))
    safely = _Safely.of(method, system, x, ends["q"], t + h)
    ratio: Real = 0.0
    for share, e in [(1.0, left), *([] if left is error else [(closing, error)])]:
        for i in range(n):
            scale = method.atol + method.rtol * maximum(abs(v[i]), abs(v1[i]))
            scale = scale + safely.unknown[i]
            ratio = maximum(ratio, abs(e[i]) * (share / both))
            ratio = maximum(ratio, share * abs(e[n + i]) / scale)
    finite = abs(sum(abs(e) for e in error)) < 1e200  # not a number: not finite
    good = select(safely.near, 0.0, select(ratio <= 1.0, 1.0, 0.0))
    ok = select(finite, good, 0.0) > 0.5
    root = sqrt(sqrt(maximum(ratio, 1e-9)))
    change = select(finite, minimum(LARGEST, maximum(SMALLEST, SAFETY / root)), SMALLEST)
    change = select(safely.near, minimum(change, SHORTER), change)
    clipped = h < longest
    longer = select(clipped, maximum(longest, h * change), h * change)
    dense = np.stack([h * weighted(DOPRI5.dense[:, m], k) for m in range(4)])
    kept = {
        **ends, "t": one_number(select(clipped, end, t + h)), "h": one_number(longer),
        "q_old": q, "v_old": v, "t_old": x["t"], "h_old": one_number(h), "dense": dense,
        "taken": x["taken"] + 1.0, "tried": x["tried"] + 1.0,
        **safely.kept,
    }  # fmt: skip
    refused = x | {"h": one_number(h * change), "tried": x["tried"] + 1.0}
    refused |= safely.refused
    return {name: _chosen(ok, kept[name], refused[name]) for name in kept}, ok, k


def _closable(method: DormandPrince) -> float:
    """The share of errors across the rows that counts: closing leaves their square, and what is
    within `CLOSES` it closes to rounding.
    """
    both = method.atol + method.rtol
    return min(1.0, max(math.sqrt(both), both / CLOSES))


def _unknown(margin: Real, safest: Real) -> Real:
    """The share of velocities that rounding leaves unknown where rows that were W from others
    (`loop_rank`) come within a sine w: a configuration is known to ε/w across the motion, and the
    direction of the motion to ε W/w².
    """
    least = maximum(margin * margin, 1e-14)
    return divide(UNKNOWN * safest, least, nonzero=True)


@dataclass(frozen=True)
class _Safely:
    """How far the loops are from a singular configuration, before a step and behind it.

    Smaller errors than `_unknown` cannot be asked for: steps would be cut until they end in the
    singular configuration. And none may end much nearer to it than it began, where that spoils
    what is known (each refusal lets the next one come nearer): they end before it, or behind.
    unknown: of velocities, each. near: whether the step ends too near.
    """

    unknown: list[Real]
    near: Condition
    kept: State
    refused: State

    @classmethod
    def of(cls, method: DormandPrince, system: System, x: State, q: Traced, t: Real) -> _Safely:
        """Of a step from the state x to q at t."""
        model = system.model
        if "margins" not in x:
            return cls([0.0] * model.nv, False, {}, {})
        margin, bound, safest = x["margins"]
        size = lengths(model)[1].tolist()
        fastest: Real = 0.0
        for rate, length in zip(x["v"], size, strict=True):
            fastest = maximum(fastest, abs(rate) * (1.0 / length))
        share = _unknown(margin, safest) * fastest
        end = margin_at(model, q, system.rows_at(t))
        spoils = _unknown(end, safest) > method.atol + method.rtol
        near = select(end < bound, select(spoils, 1.0, 0.0), 0.0) > 0.5
        return cls(
            [share * length for length in size],
            near,
            {"margins": np.array([end, NEARER * end, maximum(safest, end)], dtype=object)},
            {"margins": np.array([margin, select(near, NEARER * bound, bound), safest], object)},
        )


def _chosen(condition: Condition, a: Traced, b: Traced) -> Traced:
    """a where the condition holds, else b."""
    chosen = [select(condition, x, y) for x, y in zip(a.ravel(), b.ravel(), strict=True)]
    return np.array(chosen, dtype=object).reshape(b.shape)


class Adaptive:
    """The state of all samples between calls, where the kernel runs: `here` looks at it."""

    def __init__(
        self, method: DormandPrince, model: Model, kernel: Kernel[tuple[Array, ...]],
        q: Array, v: Array, t: float | Array, a: Array, span: float | Array, place: Place = CPU,
        rows_at: Callable[[Array], dict[str, Array]] | None = None,
    ):  # fmt: skip
        self.rows_at = rows_at  # what laws of time ask of rows
        self.method, self.model, self.kernel = method, model, kernel
        batch = q.shape[:-1]
        self.x = {name: np.zeros((*batch, *shape)) for name, shape in state_shapes(model).items()}
        rate = np.maximum(np.abs(v).max(axis=-1), np.abs(a).max(axis=-1))
        first = 0.01 * (1.0 + np.abs(v).max(axis=-1)) / np.maximum(rate, 1e-12)
        self.x |= {"q": q, "v": v, "q_old": q, "v_old": v, "h": np.minimum(first, span)}
        self.x["t"] = self.x["t_old"] = np.full(batch, t)
        self.x["h_old"] = np.ones(batch)
        now = None if rows_at is None else rows_at(np.full(batch, t))
        self.x |= first_rows(model, q, now)
        if "margins" in self.x:
            offsets = {} if now is None else {"loop_offsets": now["loop_offsets"]}
            self.x["margins"] = loop_rank(model, q, **offsets)[1][..., None] * [1.0, NEARER, 1.0]
        self.place = place
        self.stopped = np.zeros(batch, dtype=bool)
        self.spent = np.zeros(batch, dtype=bool)  # stopped for want of tries
        self.end = np.full(batch, np.inf)  # until when the motion of a stopped sample is known
        self.events: list[Event] = []
        self._g = [event_values(g, self.x["t"], q, v) for g in method.events]
        self.x = {name: place.put(value) for name, value in self.x.items()}

    @property
    def watched(self) -> bool:
        """Whether every step is looked at."""
        return bool(self.method.events)

    def inputs(self, forces: Sequence[Array]) -> Sequence[Array]:
        """What the kernel takes behind the times."""
        return forces

    def watch(self, moved: NDArray[np.bool_], forces: Sequence[Array]) -> None:
        """Look at the steps that were just taken."""
        self._look(moved)

    def here(self, name: str) -> Array:
        """A part of the state as a NumPy array."""
        return on_the_host(self.x[name])

    def advance(
        self, until: float | Array, end: float | Array, forces: Sequence[Array]
    ) -> Iterator[None]:
        """Take all samples to a time; yields after every call."""
        tries = 1.0 if self.watched else float(TRIES)
        while True:
            before = self.here("t")
            behind = (before < until) & ~self.stopped
            if not behind.any():
                return
            target = np.where(self.stopped, -np.inf, until)
            out = self.kernel(*self.x.values(), target, end, tries, *self.inputs(forces))
            self.x = dict(zip(self.x, out, strict=True))
            now = self.here("t")
            if self.watched:
                self.watch(now > before, forces)
                now = self.here("t")
            tiny = self.here("h") < 1e-14 * np.maximum(1.0, np.abs(now))
            most = np.inf if self.method.tries is None else self.method.tries
            spent = behind & ~tiny & (self.here("tried") > most)
            lost = (behind & tiny) | spent
            self.spent |= spent
            self.stopped |= lost
            self.end = np.where(lost, now, self.end)
            yield

    def checkpoint(self) -> dict[str, Array]:
        """All that it goes on from, but for the events."""
        own = {"stopped": self.stopped, "spent": self.spent, "end": self.end}
        found: dict[str, Array] = {f"g_{k}": x for k, x in enumerate(self._g)}
        now: dict[str, Array] = {f"x_{n}": self.here(n) for n in self.x}
        return now | {n: cast("Array", x.copy()) for n, x in own.items()} | found

    def restore(self, at: Mapping[str, Array], events: Sequence[Event]) -> None:
        """Go on from a checkpoint."""
        self.x = {n: self.place.put(at[f"x_{n}"]) for n in self.x}
        self.stopped, self.spent = (np.asarray(at[n], dtype=np.bool_) for n in ("stopped", "spent"))
        self.end = at["end"]
        self._g = [at[f"g_{k}"] for k in range(len(self._g))]
        self.events = list(events)

    def ended_by(self, event: Event) -> bool:
        """Whether this event ended the motion of its sample."""
        ends = event.number >= 0 and getattr(self.method.events[event.number], "terminal", False)
        return bool(ends) and event.t == self.end[event.sample]

    def share(self, t0: float, end: float) -> float:
        """How far the last sample has come."""
        t = np.where(self.stopped, end, self.here("t"))
        return float(np.min(t - t0) / (end - t0))

    @unchecked()
    def at(
        self, t: float | Array, where: tuple[int, ...] | EllipsisType = ...
    ) -> tuple[Array, Array]:
        """(q, v) on the last step of every sample."""
        x = {name: self.here(name)[where] for name in self.x}
        theta = ((t - x["t_old"]) / x["h_old"])[..., None]
        n = self.model.nv
        y = np.zeros((*theta.shape[:-1], 2 * n))
        for m in range(4):
            y = y + x["dense"][..., m, :] * theta ** (m + 1)
        q, v = integrate(self.model, x["q_old"], y[..., :n]), x["v_old"] + y[..., n:]
        given = None if self.rows_at is None else self.rows_at(np.broadcast_to(t, v.shape[:-1]))
        q, v = closed_states(self.model, q, v, x["q_old"], given)
        here = np.equal(t, x["t"])[..., None]
        return np.where(here, x["q"], q), np.where(here, x["v"], v)

    def _look(self, moved: NDArray[np.bool_]) -> None:
        """Find the events on the steps that were just taken."""
        found: dict[tuple[int, ...], list[tuple[float, int]]] = {}
        for number, g in enumerate(self.method.events):
            before = self._g[number]
            now = event_values(g, *map(self.here, ("t", "q", "v")))
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

    def _zero(self, g: EventFunction, sample: tuple[int, ...], before: float) -> float:
        """When g vanishes on the last step of a sample: bisection on the dense output."""
        low, high = (float(self.here(name)[sample]) for name in ("t_old", "t"))
        for _ in range(60):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            q, v = self.at(middle, sample)
            value = float(event_values(g, np.array(middle), q, v))
            low, high = (middle, high) if value * before > 0.0 else (low, middle)
        return high
