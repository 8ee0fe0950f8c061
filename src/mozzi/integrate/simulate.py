"""`simulate`: the motion of a mechanism from an initial state."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mozzi.errors import ConfigurationError, DivergenceWarning, LoopError
from mozzi.integrate.forces import Torque, torque_of
from mozzi.integrate.kernels import (
    acceleration_kernel,
    advance_kernel,
    held_inputs,
    start_kernel,
)
from mozzi.integrate.methods import method_of, sizes
from mozzi.integrate.system import System
from mozzi.integrate.trajectory import Trajectory

__all__ = ["Simulation", "simulate"]

BLOCK = 64  # records between two looks at whether all samples are finite
HUGE = 1e120  # a speed whose energy is about to overflow


def simulate(
    model: Any,
    q0: Any,
    v0: Any,
    duration: float,
    dt: float,
    method: Any = "rkmk4",
    torque: Any = None,
    *,
    wrenches: Any = None,
    resistance: bool = False,
    record_every: int = 1,
    t0: float = 0.0,
    trace: bool | None = None,
    progress: Callable[[float], None] | None = None,
) -> Trajectory:
    """The motion from (q0, v0) over a duration, in steps dt.

    Dynamics and integrator are one program: a call of it takes all samples through all steps
    between two records. q0 (B, nq) and v0 (B, nv) broadcast.

    Args:
        duration, dt: in seconds. Where dt does not divide the duration, the last step is shorter.
        method: a name of `METHODS`, or a method with other options.
        torque: None; (nv,) or (B, nv), constant; (B, steps, nv), a row for every step; or a law
            τ(t, q, v). A law is traced once, with arrays of traced scalars, and compiled along: it
            may call algorithms, and chooses with ``mozzi.program.scalar.select``. A law that
            cannot be traced is called from Python before every step, with arrays (B, nq) and
            (B, nv), and its torque is held over the step, as a sampled controller does.
        wrenches: (B, nb, 6), body-fixed wrenches on the bodies, constant.
        resistance: whether damping, friction and springs of the joints act.
        record_every: how many steps lie between two records. The end is always recorded.
        trace: True for a law that must be traced, False for one that must be called from Python;
            None tries to trace it, and warns where that fails.
        progress: called with the share of the work that is done.

    A sample that diverges is stopped and named in a `DivergenceWarning` and in
    ``trajectory.diverged``; the others go on.
    """
    simulation = Simulation(
        model, q0, v0, duration, dt, method, torque, wrenches=wrenches, resistance=resistance,
        record_every=record_every, t0=t0, trace=trace,
    )  # fmt: skip
    for share in simulation.run():
        if progress is not None:
            progress(share)
    return simulation.trajectory()


class Simulation:
    """A simulation that can be watched and stopped: ``for share in simulation.run(): ...``.

    `trajectory` gives what was computed so far.
    """

    def __init__(
        self,
        model: Any,
        q0: Any,
        v0: Any,
        duration: float,
        dt: float,
        method: Any = "rkmk4",
        torque: Any = None,
        *,
        wrenches: Any = None,
        resistance: bool = False,
        record_every: int = 1,
        t0: float = 0.0,
        trace: bool | None = None,
    ):
        self.model, self.method = model, method_of(method)
        self.method_name = method if isinstance(method, str) else type(method).__name__
        check_model(model)
        self.q0, self.v0 = check_state(model, q0, v0)
        self.batch = self.q0.shape[:-1]
        self.dt, self.t0 = positive(dt, "dt"), finite(t0, "t0")
        self.grid = Grid(self.t0, positive(duration, "duration"), self.dt, record_every)
        self.torque: Torque = torque_of(torque, model, self.batch, self.grid.steps, trace)
        self.wrenches = check_wrenches(wrenches, model, self.batch)
        self.resistance = bool(resistance)
        self._compile()
        n = len(self.grid.t)
        self._q = np.full((n, *self.q0.shape), np.nan)
        self._v = np.full((n, *self.v0.shape), np.nan)
        self._tau = np.full_like(self._v, np.nan) if self.torque.sampled else None
        self._done = 0  # records that are there
        self.diverged: dict[tuple[int, ...], float] = {}

    def _compile(self) -> None:
        system = System(self.model, self.torque.law, self.resistance)
        shapes = held_inputs(system, self.torque.held, self.wrenches is not None)
        key = ("advance", self.method, self.resistance, tuple(shapes))
        cache = self.model.cache if self.torque.law is None else {}
        if key not in cache:
            cache[key] = (
                advance_kernel(self.method, system, shapes),
                start_kernel(self.method, system, shapes),
                acceleration_kernel(system, shapes),
            )
        self._advance, self._start, self._acceleration = cache[key]
        self._names = list(sizes(self.method, self.model))

    def _forces(self, step: int, t: float, state: list[np.ndarray]) -> list[np.ndarray]:
        """The inputs of a kernel that are forces, for this step."""
        tau = self.torque.at(step, t, state[0], state[1])
        return [x for x in (tau, self.wrenches) if x is not None]

    def run(self) -> Iterator[float]:
        """Run on to the end; yields the share that is done, from time to time."""
        state = [self.q0, self.v0]
        with np.errstate(all="ignore"):
            forces = self._forces(0, self.t0, state)
            if self._start is not None:
                state += _listed(self._start(*state, self.t0, *forces))
            self._record(0, state, forces)
            self._done = 1
            checked = 0
            for record, segments in self.grid.records():
                for step, t, h, count in segments:
                    if self.torque.sampled:
                        for k in range(count):
                            forces = self._forces(step + k, t + k * h, state)
                            state = _listed(self._advance(*state, t + k * h, *forces, h, 1.0))
                    else:
                        state = _listed(self._advance(*state, t, *forces, h, float(count)))
                self._record(record, state, forces)
                self._done = record + 1
                if self._done - checked >= BLOCK or self._done == len(self.grid.t):
                    going = self._look(checked)
                    checked = self._done
                    yield record / (len(self.grid.t) - 1)
                    if not going:
                        return

    def _record(self, record: int, state: list[np.ndarray], forces: list[np.ndarray]) -> None:
        self._q[record], self._v[record] = state[0], state[1]
        if self._tau is not None:
            self._tau[record] = forces[0]

    def _look(self, since: int) -> bool:
        """Find samples that diverged since a record; whether any is still going."""
        q, v = self._q[since : self._done], self._v[since : self._done]
        good = np.isfinite(q).all(axis=-1) & (np.abs(v) < HUGE).all(axis=-1)  # (n, *B)
        if good.all():
            return True
        for sample in map(tuple, np.argwhere(~good.all(axis=0))):
            where = (slice(None), *sample)
            first = since + int(np.argmin(good[where]))
            self._q[(slice(first, None), *sample)] = np.nan
            self._v[(slice(first, None), *sample)] = np.nan
            sample = tuple(map(int, sample))
            self.diverged.setdefault(sample, float(self.grid.t[max(first - 1, 0)]))
        return len(self.diverged) < math.prod(self.batch)

    def trajectory(self) -> Trajectory:
        """What was computed so far."""
        since = max(0, self._done - BLOCK - 1)
        self._look(since)
        n = self._done
        if self.diverged and len(self.diverged) == math.prod(self.batch):
            n = int(np.searchsorted(self.grid.t, max(self.diverged.values()), side="right"))
        self._tell()
        first = lambda x: np.moveaxis(x[:n], 0, -2)
        return Trajectory(
            self.grid.t[:n], first(self._q), first(self._v), self.model,
            None if self._tau is None else first(self._tau), self.method_name, self.resistance,
            dict(self.diverged), complete=n == len(self.grid.t), accelerations=self._accelerate,
        )  # fmt: skip

    def _accelerate(self, x: Trajectory) -> np.ndarray:
        t = np.broadcast_to(x.t, x.q.shape[:-1])
        forces = [] if not self.torque.held else [x.tau if x.tau is not None else self._held()]
        if self.wrenches is not None:
            forces.append(self.wrenches[..., None, :, :])
        return self._acceleration(x.q, x.v, t, *forces)

    def _held(self) -> np.ndarray:
        tau = self.torque.at(0, self.t0, self.q0, self.v0)
        assert tau is not None
        return tau[..., None, :]

    def _tell(self) -> None:
        if not self.diverged:
            return
        sample, time = min(self.diverged.items(), key=lambda item: item[1])
        which = f"sample {sample if len(sample) > 1 else sample[0]}" if sample else "the motion"
        more = f" and {len(self.diverged) - 1} more samples" if len(self.diverged) > 1 else ""
        rest = "; the other samples went on" if len(self.diverged) < math.prod(self.batch) else ""
        warnings.warn(
            f"{which}{more} diverged after t = {time:g} s and stopped there{rest}; "
            f"take a smaller dt than {self.dt:g} s",
            DivergenceWarning,
            stacklevel=3,
        )


class Grid:
    """The steps of a simulation and the times that are recorded."""

    def __init__(self, t0: float, duration: float, dt: float, every: int):
        if int(every) != every or every < 1:
            raise ConfigurationError(f"record_every {every!r}: give a whole number, 1 or more")
        ratio = duration / dt
        if ratio > 1e12:
            raise ConfigurationError(f"{duration:g} s is {ratio:.3g} steps of dt; take a larger dt")
        whole = math.floor(ratio * (1.0 + 1e-12) + 1e-9)
        rest = duration - whole * dt
        self.t0, self.dt, self.every, self.whole = t0, dt, int(every), whole
        self.rest = rest if rest > 1e-9 * dt else 0.0
        self.steps = whole + (self.rest > 0.0)
        ends = [*range(0, self.steps, self.every), self.steps]
        self._ends = ends
        self.t = np.array([self.time(k) for k in ends])

    def time(self, step: int) -> float:
        """When a step begins."""
        extra = self.rest if step > self.whole else 0.0
        return self.t0 + (min(step, self.whole) * self.dt + extra)

    def records(self) -> Iterator[tuple[int, list[tuple[int, float, float, int]]]]:
        """(record, [(first step, its time, length, how many)])."""
        for n, (a, b) in enumerate(zip(self._ends, self._ends[1:]), 1):
            whole = min(b, self.whole)
            segments = [(a, self.time(a), self.dt, whole - a)] if whole > a else []
            if b > self.whole:
                segments.append((self.whole, self.time(self.whole), self.rest, 1))
            yield n, segments


def _listed(x: Any) -> list[np.ndarray]:
    return list(x) if isinstance(x, tuple) else [x]


def check_model(model: Any) -> None:
    """A tree that moves."""
    if model.loops or model.distances or model.couplings:
        parts = [x.name for x in (*model.loops, *model.distances, *model.couplings)]
        raise LoopError(
            f"model {model.name!r} has loops or couplings ({', '.join(parts[:4])}), which simulate "
            "does not keep closed yet; simulate its tree, or lock the joints that they couple"
        )
    if model.nv == 0:
        raise ConfigurationError(f"model {model.name!r} has no joint that moves")


def check_state(model: Any, q0: Any, v0: Any) -> tuple[np.ndarray, np.ndarray]:
    """(q0, v0) as arrays of one batch."""
    q = model.normalize(model.check_configuration(q0))
    v = numbers(v0, "v0")
    if v.ndim == 0 or v.shape[-1] != model.nv:
        raise ConfigurationError(
            f"model {model.name!r}: v0 has shape {v.shape}; "
            f"give nv = {model.nv} numbers on the last axis"
        )
    try:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    except ValueError:
        raise ConfigurationError(
            f"the batch axes {q.shape[:-1]} of q0 and {v.shape[:-1]} of v0 do not broadcast"
        ) from None
    if 0 in batch:
        raise ConfigurationError(f"q0 and v0 have batch axes {batch}, which hold no sample")
    return (
        np.broadcast_to(q, (*batch, model.nq)).copy(),
        np.broadcast_to(v, (*batch, model.nv)).copy(),
    )


def check_wrenches(wrenches: Any, model: Any, batch: tuple[int, ...]) -> np.ndarray | None:
    """Wrenches of the batch."""
    if wrenches is None:
        return None
    W = numbers(wrenches, "wrenches")
    try:
        return np.broadcast_to(W, (*batch, model.nb, 6))
    except ValueError:
        raise ConfigurationError(
            f"wrenches have shape {W.shape}; give {(*batch, model.nb, 6)}"
        ) from None


def numbers(x: Any, name: str) -> np.ndarray:
    """An array of finite floats."""
    try:
        array = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise ConfigurationError(f"{name} holds something that is no number") from None
    if not np.isfinite(array).all():
        where = tuple(map(int, np.argwhere(~np.isfinite(array))[0]))
        raise ConfigurationError(f"{name}{list(where)} is not finite; give finite numbers")
    return array


def finite(x: Any, name: str) -> float:
    """A finite number."""
    try:
        value = float(x)
    except (TypeError, ValueError):
        raise ConfigurationError(f"{name} {x!r} is no number") from None
    if not math.isfinite(value):
        raise ConfigurationError(f"{name} {x!r} is not finite")
    return value


def positive(x: Any, name: str) -> float:
    """A positive number."""
    value = finite(x, name)
    if value <= 0.0:
        raise ConfigurationError(f"{name} {value:g} is not positive; give seconds > 0")
    return value
