"""`simulate`: the motion of a mechanism from an initial state."""

from __future__ import annotations

import itertools
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, get_args

import numpy as np

from mozzi.algorithms.contact.gaps import contact_count
from mozzi.errors import (
    ConfigurationError,
    DivergenceWarning,
    SingularWarning,
)
from mozzi.lie.vec import is_zero
from mozzi.model import Model
from mozzi.model.parameters.named import geometric
from mozzi.simulation.checks import check_model, check_state, check_wrenches, finite, positive
from mozzi.simulation.forces.drives import Drives, Prescribed, TimeLaw
from mozzi.simulation.forces.forces import Torque, torque_of
from mozzi.simulation.forces.law import Law
from mozzi.simulation.forces.resistance import Limits, Resistance, resistance_of, stops_of
from mozzi.simulation.kernels import AtRecords, advance_kernel, record_kernel, start_kernel
from mozzi.simulation.methods import MuntheKaas, SemiImplicit, method_for, method_of
from mozzi.simulation.methods.dormand_prince import Adaptive, DormandPrince, Event, attempt_kernel
from mozzi.simulation.methods.method import OneStep, sizes
from mozzi.simulation.methods.moreau import Moreau, honoured
from mozzi.simulation.methods.touching import Touching, touch_kernels
from mozzi.simulation.pace import Pace
from mozzi.simulation.parameters import varying_of
from mozzi.simulation.place import Place, held_inputs, on_the_host
from mozzi.simulation.singular import singular_record
from mozzi.simulation.system import Feedback, System
from mozzi.simulation.times import Grid, check_memory
from mozzi.simulation.trajectories.reactions import shared_reactions
from mozzi.simulation.trajectories.saved import Saved, block_records, events_of, open_saved, opened
from mozzi.simulation.trajectories.trajectory import Interrupted, Trajectory
from mozzi.simulation.watch import tell_ends, tell_energy, tell_residual, tell_stiff
from mozzi.types import Array, ArrayLike, Device, DType, Method

__all__ = ["Simulation", "simulate"]

PARTS, PART = 64, 1024  # of the steps dt between two records: after each all samples of dopri5 meet
CHECKED_RECORDS = 64  # records between two looks at whether all samples are finite
WHOLE = 2**24  # steps that float32 can count
HUGE = 1e120  # a speed whose energy is about to overflow
LOOSE = {"float64": 1e-6, "float32": 1e-3}  # a correction of Newton's method that is not small

MISSED = {"float64": 1e-6, "float32": 1e-2}  # m/s or rad/s, of a law of contact

Forces = list[np.ndarray]


def simulate(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    dt: float,
    method: Method | OneStep | DormandPrince | None = None,
    torque: ArrayLike | Feedback | Law | None = None,
    *,
    wrenches: ArrayLike | None = None,
    resistance: bool | Resistance = True,
    limits: Limits = False,
    prescribed: Prescribed | None = None,
    loop_offsets: Mapping[str, TimeLaw] | None = None,
    record_every: int = 1,
    t0: float = 0.0,
    trace: bool | None = None,
    target: Device = "cpu",
    dtype: DType = "float64",
    parameters: Mapping[str, ArrayLike] | None = None,
    save: str | os.PathLike[str] | None = None,
    progress: Callable[[float], None] | bool | None = None,
    **options: object,
) -> Trajectory:
    """The motion from (q0, v0) over a duration, in steps dt.

    Dynamics and integrator are one program: a call of it takes all samples through all steps
    between two records. q0 and v0 broadcast.

    A sample that diverges is stopped and named in a `DivergenceWarning` and in
    ``trajectory.diverged``; the others go on. Where the loops of a mechanism lose rank in a record,
    a `SingularWarning` tells when; where moreau misses a law of contact, friction or limits by more
    than 1e-6 m/s (or rad/s), a `ContactWarning` does: see ``trajectory.contact_residual``. Energy
    that changes though nothing drives or brakes is an `EnergyWarning`, dry friction that is too
    stiff for explicit steps a `StiffWarning`, both with the method to take.

    Ctrl-C stops it within half a second: `Interrupted`, a KeyboardInterrupt, has the trajectory of
    what was computed.

    Args:
        model: the mechanism.
        q0 (B, nq): the configuration at the start.
        v0 (B, nv): the velocities at the start.
        duration: in seconds.
        dt: a step, in seconds. Where it does not divide the duration, the last step is shorter.
        method: semi_implicit, rkmk4, dopri5, generalized_alpha, momentum or moreau; or a method of
            `mozzi.simulation`. dopri5 chooses its own steps: dt is the distance of its records.
            Where the model has contacts moreau, else rkmk4, unless told.
        torque: None; (nv,) or (B, nv), constant; (B, steps, nv), a row for every step; or a law
            τ(t, q, v). A law is traced once, with arrays of traced scalars, and compiled along: it
            may call algorithms and NumPy's functions, and chooses with `where`. A law that cannot
            be traced is called from Python before every step, with arrays (B, nq) and (B, nv), and
            its torque is held over the step. A `Law` is sampled, with a state of its own.
        wrenches (B, nb, 6), optional: body-fixed wrenches on the bodies, constant.
        resistance: damping, friction and springs of the joints, and springs and dampers between
            bodies, act as the model has them; False takes them out, `Resistance` chooses. Dry
            friction sticks exactly with moreau, and is smooth with other methods.
        limits: whether elastic stops act at the limits of the joints; `Stops` says how hard.
            "rigid" or `RigidStops`: rigid ones, with moreau.
        prescribed: driven joints: {joint, or (joint, number of a coordinate): law}. A law is a
            function of t alone that gives the position, one number or the nq of the joint, traced
            and differentiated; q0 is where the laws begin, and v0 becomes the nearest velocities
            that they allow. What drives is in ``trajectory.drive_forces`` and ``drive_power()``.
        loop_offsets: closures that move: {loop: law}, what their residuals shall be, row by row
            (`loop_rows`); rows of velocities follow the rate of theirs.
        record_every: how many steps lie between two records. The end is always recorded.
        t0: the time at the start, in seconds, of which a law may make something.
        trace: True for a law that must be traced, False for one that must be called from Python;
            None tries to trace it, and warns where that fails.
        target: where it runs, "cpu" or "cuda". On a GPU a launch takes all samples to the next
            record, the state stays there, and records come back. Laws must be traced.
        dtype: the numbers of the steps, "float64" or "float32" (not for dopri5, which measures
            smaller errors); records are float64.
        parameters: numbers that differ from sample to sample, by name: of the model, named as in
            `sensitivity` ("link_3.mass", "joint_2.damping"), and of arguments that the law has
            behind (t, q, v), such as gains. Each broadcasts with the batch axes B. A law that calls
            algorithms on the model sees it as it is; one with an argument `model` gets that which
            moves.
        save: a folder of zarr to which records go as they come (extra ``cluster``): memory holds
            one block of them, and after a crash the same call goes on from the last block, to the
            same numbers. A law of torque must be the same one, and have no memory of its own.
        progress: True for a bar, below the cell of a notebook or in the terminal; or a function
            that is called with the share of the work that is done.
        options: of the method, such as ``rtol``, ``atol`` and ``events`` of dopri5, or ``rho`` of
            generalized_alpha.

    Returns:
        A `Trajectory` with the times t (n,), and q (B, n, nq), v (B, n, nv) at these times.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> motion = mz.simulate(arm, arm.neutral(), np.zeros(3), 0.1, 0.01, resistance=False)
        >>> motion.q.shape, bool(motion.energy_drift() < 1e-6)
        ((11, 3), True)
    """
    simulation = Simulation(
        model, q0, v0, duration, dt, method, torque, wrenches=wrenches,
        resistance=resistance, limits=limits, prescribed=prescribed, loop_offsets=loop_offsets,
        record_every=record_every, t0=t0, trace=trace, target=target, dtype=dtype,
        parameters=parameters, save=save, **options,
    )  # fmt: skip
    try:
        if progress is True:
            from mozzi.viz.progress import watched

            with watched(model.name) as tell:
                for share in simulation.run():
                    tell(share)
        else:
            for share in simulation.run():
                if callable(progress):
                    progress(share)
    except KeyboardInterrupt:
        simulation.keep()
        raise Interrupted(simulation.trajectory(tell=False)) from None
    return simulation.trajectory()


class Simulation:
    """A simulation that can be watched and stopped: ``for share in simulation.run(): ...``.

    Takes what `simulate` takes; `trajectory` gives what was computed so far.
    """

    def __init__(
        self,
        model: Model,
        q0: ArrayLike,
        v0: ArrayLike,
        duration: float,
        dt: float,
        method: Method | OneStep | DormandPrince | None = None,
        torque: ArrayLike | Feedback | Law | None = None,
        *,
        wrenches: ArrayLike | None = None,
        resistance: bool | Resistance = True,
        limits: Limits = False,
        prescribed: Prescribed | None = None,
        loop_offsets: Mapping[str, TimeLaw] | None = None,
        record_every: int = 1,
        t0: float = 0.0,
        trace: bool | None = None,
        target: Device = "cpu",
        dtype: DType = "float64",
        parameters: Mapping[str, ArrayLike] | None = None,
        save: str | os.PathLike[str] | None = None,
        **options: object,
    ):
        check_model(model)
        method = method_for(model, method)
        self.user = model
        self.drives = None
        if prescribed or loop_offsets:
            self.drives = Drives(model, prescribed, loop_offsets)
            model = self.drives.model
        self.model, self.method = model, method_of(method, options)
        self.place = Place(target, dtype)
        self.method_name = method if isinstance(method, str) else type(method).__name__
        self.varying = varying_of(parameters, model, torque)
        if self.drives and self.user.closures and geometric(model, self.varying.names):
            raise ConfigurationError(
                "drives of models with loops take their geometry as it is; build a model for each "
                "set of parameters that move bodies (Model.with_parameters)"
            )
        self.dt, self.t0 = positive(dt, "dt"), finite(t0, "t0")
        start = None if self.drives is None else partial(self.drives.start, self.t0)
        self.q0, self.v0 = check_state(model, q0, v0, self.varying, start)
        self.batch = self.q0.shape[:-1]
        self.grid = Grid(self.t0, positive(duration, "duration"), self.dt, record_every)
        self.torque: Torque = torque_of(
            torque, model, self.batch, self.grid.steps, trace, target, self.varying
        )
        if self.drives is not None:
            self.drives.refuse_actuated(self.torque.plain(model, self.t0, self.q0, self.v0))
        self.wrenches = check_wrenches(wrenches, model, self.batch)
        shown = self.varying.template
        self.resistance = resistance_of(resistance, shown)
        self.stops, self.method = honoured(shown, self.method, stops_of(limits), self.resistance)
        self.adaptive = isinstance(self.method, DormandPrince)
        self.contact = isinstance(self.method, Moreau)
        self.touches = self.adaptive and bool(model.contacts)
        if self.touches and target != "cpu":
            raise ConfigurationError("dopri5 with contacts runs on target='cpu'; take moreau")
        if self.touches and (self.varying.count or self.drives is not None):
            raise ConfigurationError("dopri5 with contacts takes no parameters and no drives")
        if dtype == "float32" and (self.adaptive or self.grid.every > WHOLE):
            what = f"record_every {self.grid.every}" if self.grid.every > WHOLE else "dopri5"
            raise ConfigurationError(f"{what} needs dtype='float64': float32 is too coarse for it")
        if self.torque.own is not None and not isinstance(
            self.method, (MuntheKaas, SemiImplicit, Moreau)
        ):
            raise ConfigurationError(
                f"torque: a Law goes with rkmk4, semi_implicit and moreau, not {self.method_name}"
            )
        if self.adaptive and model.closures and geometric(model, self.varying.names):
            raise ConfigurationError(
                "dopri5 with loops takes the geometry of the model as it is; take a method of "
                "constant step, such as rkmk4, where parameters move bodies"
            )
        self.system = System(
            shown, self.torque.law, self.resistance, self.stops, self.varying, drives=self.drives
        )
        self._inputs = held_inputs(self.system, self.torque.held, self.wrenches is not None)
        n = self._room(save)
        self._q = np.empty((n, *self.q0.shape))
        self._v = np.empty((n, *self.v0.shape))
        self._tau = np.empty_like(self._v) if self.torque.sampled else None
        self._between: tuple[float, dict[str, np.ndarray]] | None = None  # since the last record
        self._share, self._pace, self._slow = 0.0, Pace(), Pace()
        self._done = self._checked = 0  # records that are there; that were looked at
        self._first = 0  # the first of those in memory
        self._state: dict[str, np.ndarray] = {}  # at the last record, to go on from
        self._defect = 0.0
        moreau = sizes(self.method, shown) if isinstance(self.method, Moreau) else {}
        self._rows: dict[str, np.ndarray] = {
            name: np.zeros((n, *self.batch, size))
            for name, size in moreau.items()
            if name not in ("q", "v")
        }
        if self.torque.own is not None:
            row = self.torque.own.start(model, self.t0)
            self._rows["law"] = np.zeros((n, *self.batch, len(row)))
            self._rows["law"][0] = row
        if self.touches:
            k = contact_count(model)
            self._rows["contact_force"] = np.zeros((n, *self.batch, 3 * k))
            self._rows["modes"] = np.zeros((n, *self.batch, k))
        self.diverged: dict[tuple[int, ...], float] = {}
        self.events: list[Event] = []
        self.ended: set[tuple[int, ...]] = set()  # samples that an event ended
        self.spent: dict[tuple[int, ...], float] = {}  # samples that used up their tries
        self.saved = None if save is None else self._open(save)
        if not isinstance(self.method, DormandPrince):
            tell_stiff(self.varying, self.method, self.resistance, self.q0, self.dt)
        self._run = self._adapted if self.adaptive else self._stepped
        self._kernel("attempt" if self.adaptive else "advance")

    def _room(self, save: str | os.PathLike[str] | None) -> int:
        """For how many records there is memory: all, or a block of those that are saved."""
        if save is None:
            return check_memory(self.grid, self.model, self.batch)
        if self.varying.count or self.touches:
            what = "parameters (see mozzi.sweep)" if self.varying.count else "dopri5 with contacts"
            raise ConfigurationError(f"save= does not go with {what}")
        numbers = self.model.nq + self.model.nv
        return block_records(len(self.grid.t), math.prod(self.batch), numbers)

    def _kept(self) -> dict[str, np.ndarray]:
        """All that is recorded, by name."""
        tau = {} if self._tau is None else {"tau": self._tau}
        return {"q": self._q, "v": self._v, **tau, **self._rows}

    def _open(self, path: str | os.PathLike[str]) -> Saved:
        """The store; where it holds records, the run goes on behind them."""
        rows = {name: x.shape[-1] for name, x in self._kept().items()}
        saved = open_saved(path, self, rows, len(self._q))
        self._done = self._checked = self._first = saved.records
        self.diverged = {tuple(k): t for k, t in saved.head.get("diverged", ())}
        self.spent = {tuple(k): t for k, t in saved.head.get("spent", ())}
        self.ended = {tuple(k) for k in saved.head.get("ended", ())}
        self._defect = saved.head.get("defect", 0.0)
        return saved

    def keep(self) -> None:
        """Write the records that are in memory, where they are to be saved."""
        if self.saved is None or self._done == self._first:
            return
        over = self._over() == math.prod(self.batch)
        told: dict[str, object] = {
            "diverged": [[list(k), t] for k, t in self.diverged.items()],
            "spent": [[list(k), t] for k, t in self.spent.items()],
            "ended": [list(k) for k in self.ended],
            "events": [[list(e.sample), e.t, e.number, e.q.tolist(), e.v.tolist()]
                       for e in self.events],
            "defect": self._defect, "driven": self._driven(),
            "done": over or self._done == len(self.grid.t),
        }  # fmt: skip
        count = self._done - self._first
        state = {name: on_the_host(x) for name, x in self._state.items()}
        self.saved.write({n: x[:count] for n, x in self._kept().items()}, state, told)
        self._first = self._done

    def _kernel(self, name: str) -> Any:
        """A kernel of this system, made once; those with a law are never shared."""
        shared = self.torque.law is None and self.torque.own is None and self.drives is None
        cache = self.model.cache if shared else self.__dict__
        method = None if name in get_args(AtRecords) else self.method
        key: Any = (
            name, method, self.resistance, self.stops, tuple(self._inputs), self.place,
            self.varying.names,
        )  # fmt: skip
        if key not in cache:
            if name in ("acceleration", "reactions", "applied"):
                law = {} if self.torque.own is None else {"tau": (self.model.nv,)}
                self.system.held = None
                cache[key] = record_kernel(self.system, law | self._inputs, name)
            elif name == "advance":
                assert not isinstance(self.method, DormandPrince)
                cache[key] = advance_kernel(
                    self.method, self.system, self._inputs, self.place, self.torque.own
                )
            elif name == "touch":
                cache[key] = touch_kernels(self.system, self._inputs)
            elif name == "attempt" and self.touches:
                assert isinstance(self.method, DormandPrince)
                modes = self._inputs | {"touch": (3 * contact_count(self.model),)}
                cache[key] = attempt_kernel(self.method, self.system, modes, self.place)
            elif isinstance(self.method, DormandPrince):
                assert name == "attempt"
                cache[key] = attempt_kernel(self.method, self.system, self._inputs, self.place)
            else:
                assert name == "start"
                cache[key] = start_kernel(self.method, self.system, self._inputs, self.place)
        return cache[key]

    def _forces(self, step: int, t: float, q: np.ndarray, v: np.ndarray) -> Forces:
        """What a kernel holds over this step: forces, and what varies from sample to sample."""
        tau = self.torque.at(step, t, q, v)
        return [x for x in (tau, self.wrenches, self.varying.numbers) if x is not None]

    def run(self) -> Iterator[float]:
        """Run on to the end; yields the share that is done, from time to time."""
        last = len(self.grid.t) - 1
        if self.saved is not None and self.saved.head["done"]:
            yield 1.0
            return
        with np.errstate(all="ignore"):
            for record in self._run():
                if record is not None:
                    q, v, forces = record
                    at = self._done - self._first
                    self._q[at], self._v[at] = on_the_host(q), on_the_host(v)
                    if self._tau is not None:
                        self._tau[at] = forces[0]
                    if np.isfinite(self._q[at]).any():
                        self._between = None
                    self._done += 1
                    self._share = float(self.grid.ends[self._done - 1]) / self.grid.steps
                full = self._done - self._checked >= CHECKED_RECORDS or self._done > last
                block = self.saved is not None and self._done % self.saved.block == 0
                if full or block or self._pace.due():
                    going = self._look()
                    if block or not going or self._done > last:
                        self.keep()
                    yield self._share
                    if not going:
                        return

    def _reached(self, step: int, names: list[str], state: list[np.ndarray], tau: Forces) -> None:
        """How far it came between two records."""
        held = {"tau": tau[0]} if self.torque.sampled else {}
        self._share = step / self.grid.steps
        self._between = self.grid.time(step), dict(zip(names, state, strict=True)) | held

    def _stepped(self) -> Iterator[tuple[np.ndarray, np.ndarray, Forces] | None]:
        """The records of a method of constant step, and None between them, for a look."""
        forces = self._forces(0, self.t0, self.q0, self.v0)
        if not self.torque.sampled:
            forces = [self.place.put(x) for x in forces]
        state = [self.place.put(x) for x in (self.q0, self.v0)]
        advance, start = self._kernel("advance"), self._kernel("start")
        assert not isinstance(self.method, DormandPrince)
        names = list(sizes(self.method, self.system.model, self.torque.own))
        if self.saved is not None and self._done:
            at = self.saved.checkpoint()
            state = [self.place.put(at[name]) for name in names]
        else:
            if start is not None:
                state += _listed(start(*state, self.t0, *forces))
            if self.torque.own is not None:
                state.append(self.place.put(self._rows["law"][0]))
            self._state = dict(zip(names, state, strict=True))
            yield self.q0, self.v0, forces
        for segments in itertools.islice(self.grid.records(), self._done - 1, None):
            for step, t, h, count in segments:
                k, clock = 0, t
                while k < count:
                    n = 1 if self.torque.sampled else self._pace.next(count - k)
                    if self.torque.sampled:
                        clock = t + k * h
                        forces = self._forces(step + k, clock, *state[:2])
                    *state, clock = advance(*state, clock, *forces, h, float(n))
                    self.place.wait()
                    self._pace.took(n)
                    k += n
                    if k < count:
                        self._reached(step + k, names, state, forces)
                        yield None
            if "defect" in names:
                defect = on_the_host(state[names.index("defect")])
                self._defect = float(np.nanmax(defect, initial=self._defect))
            for name, rows in self._rows.items():
                rows[self._done - self._first] = on_the_host(state[names.index(name)])
            if self.contact:  # the residual of a record is that since the record before
                k = names.index("residual")
                state[k] = state[k] * 0.0
            self._state = dict(zip(names, state, strict=True))
            yield state[0], state[1], forces

    def _adapted(self) -> Iterator[tuple[np.ndarray, np.ndarray, Forces] | None]:
        """The records of a method that chooses its steps, and None between them, for a look."""
        forces = self._forces(0, self.t0, self.q0, self.v0)
        a = self._kernel("acceleration")(self.q0, self.v0, self.t0, *forces)
        span = float(self.grid.t[-1]) - self.t0
        kernel = self._kernel("attempt")
        assert isinstance(self.method, DormandPrince)
        begin = self.method, self.model, kernel, self.q0, self.v0, self.t0, a, span
        if self.touches:
            x: Adaptive = Touching(*begin, self._kernel("touch"), forces, self.place)
        else:
            drives = None if self.drives is None else self.drives.on_arrays
            x = Adaptive(*begin, self.place, drives)
        if self.saved is not None and self._done:
            x.restore(self.saved.checkpoint(), events_of(self.saved.head))
        else:
            self._touched(x, self.t0, self.q0, x.here("v"), forces)
            self._state = x.checkpoint() if self.saved is not None else {}
            yield self.q0, x.here("v"), forces
        records = itertools.islice(self.grid.records(), self._done - 1, None)
        for record, segments in enumerate(records, self._done):
            now = float(self.grid.t[record])
            end = float(self.grid.t[-1])
            for step, t, h, count in segments:
                part = 1 if self.torque.sampled else max(1, min(count // PARTS, PART))
                for k in range(0, count, part):
                    last = step + min(k + part, count)
                    until = now if last == self.grid.ends[record] else t + (last - step) * h
                    if self.torque.sampled:
                        forces = self._forces(step + k, t + k * h, x.here("q"), x.here("v"))
                    limit = until if self.torque.sampled else end
                    for _ in x.advance(until, limit, forces):
                        self._share = max(self._share, x.share(self.t0, end))
                        self._alone(x, forces)
                        yield None
                    if self.batch and until < now and self._slow.due():
                        self._reached(last, ["q", "v"], [*self._state_of(x, until)], forces)
            self._alone(x, forces)
            self._ends(x, now)
            q, v = self._state_of(x, now)
            self._touched(x, now, q, v, forces)
            self._state = x.checkpoint() if self.saved is not None else {}
            yield q, v, forces

    def _alone(self, x: Adaptive, tau: Forces) -> None:
        """Where one motion is now, which may be where it ended."""
        if not self.batch:
            held = {"tau": tau[0]} if self.torque.sampled else {}
            self._between = float(x.here("t")), {"q": x.here("q"), "v": x.here("v"), **held}

    def _state_of(self, x: Adaptive, now: float) -> tuple[np.ndarray, np.ndarray]:
        q, v = x.at(now)
        q[now > x.end], v[now > x.end] = np.nan, np.nan
        return q, v

    def _ends(self, x: Adaptive, now: float) -> None:
        """Which samples ended before now, and why."""
        self.events = x.events
        self.ended = {e.sample for e in x.events if now > x.end[e.sample]}
        for sample in (tuple(map(int, k)) for k in np.argwhere(x.stopped & (now > x.end))):
            if sample not in self.ended:
                kind = self.spent if x.spent[sample] else self.diverged
                kind[sample] = float(x.end[sample])

    def _touched(self, x: Adaptive, t: float, q: Array, v: Array, forces: Forces) -> None:
        """Record the forces of contacts that dopri5 keeps."""
        if isinstance(x, Touching):
            F, modes = x.forces_at(t, q, v, forces)
            self._rows["contact_force"][self._done] = F.reshape(*F.shape[:-2], -1)
            self._rows["modes"][self._done] = modes

    def _look(self) -> bool:
        """Find samples that diverged since the last look; whether any is still going."""
        since, self._checked = self._checked, self._done
        part = slice(since - self._first, self._done - self._first)
        q, v = self._q[part], self._v[part]
        good = np.asarray(np.isfinite(q).all(axis=-1) & (np.abs(v) < HUGE).all(axis=-1))  # (n, *B)
        for sample in map(tuple, np.argwhere(~good.all(axis=0))):
            sample = tuple(map(int, sample))
            first = since + int(np.argmin(good[(slice(None), *sample)]))
            self._q[(slice(first - self._first, None), *sample)] = np.nan
            self._v[(slice(first - self._first, None), *sample)] = np.nan
            if sample not in self.ended and sample not in self.spent:
                self.diverged.setdefault(sample, float(self.grid.t[max(first - 1, 0)]))
        return self._over() < math.prod(self.batch)

    def _over(self) -> int:
        """How many samples have ended."""
        return len(self.diverged.keys() | self.ended | self.spent.keys())

    def trajectory(self, *, tell: bool = True) -> Trajectory:
        """What was computed so far, the state between two records included.

        Args:
            tell: whether to warn of what is odd in it, which takes a moment.
        """
        self._look()
        if self.saved is not None:
            self.keep()
            found = opened(self.saved.path, self.model)
            found.accelerations = self._accelerate
            return found
        n, t = self._done, self.grid.t
        last: dict[str, np.ndarray] = {}
        if self._over() == math.prod(self.batch):
            some = np.isfinite(self._q[:n]).all(axis=-1).reshape(n, -1).any(axis=1)
            n = int(some.sum())
        if self._between is not None and self._between[0] > t[n - 1]:
            time, last = self._between
            last = {name: on_the_host(x) for name, x in last.items()}
            good = np.isfinite(last["q"]).all(axis=-1) & (np.abs(last["v"]) < HUGE).all(axis=-1)
            over = {**self.diverged, **self.spent, **dict.fromkeys(self.ended)}
            if all(tuple(map(int, sample)) in over for sample in np.argwhere(~good)):
                t = np.append(t[:n], time)
            else:
                last = {}
        t = t[: n + bool(last)]

        def first(name: str) -> np.ndarray:
            kept = {"q": self._q, "v": self._v, "tau": self._tau}.get(name)
            rows = (self._rows[name] if kept is None else kept)[:n]
            if last:
                new = np.asarray(last.get(name, np.full(rows.shape[1:], np.nan)), dtype=float)
                rows = np.concatenate([rows, new[None]])
            return np.moveaxis(rows, 0, -2)

        if tell:
            self._tell(t, first("q"), first("v"))
        return Trajectory(
            t,
            first("q"),
            first("v"),
            self.user,
            self._applied(first),
            self.method_name,
            self.resistance is not None and self.resistance.springs,
            dict(self.diverged),
            list(self.events),
            complete=len(t) == len(self.grid.t) and not last,
            accelerations=self._accelerate,
            reactions=self._react,
            applied=self._apply,
            guided=() if self.drives is None else self.drives.guided,
            driven=self._driven(),
            stored=self._contact_records(first),
            law_state=self._law_records(first),
            parameters=self._samples(),
        )

    def _samples(self) -> dict[str, Array]:
        """The numbers of the model, of all samples."""
        return {n: np.broadcast_to(x, self.batch) for n, x in self.varying.values.items()}

    def _applied(self, first: Callable[[str], np.ndarray]) -> np.ndarray | None:
        """Joint forces that were held over the steps before the records."""
        law = self.torque.own
        if law is not None:
            return law.parts(self.model, first("law"))["tau"]
        return None if self._tau is None else first("tau")

    def _law_records(self, first: Callable[[str], np.ndarray]) -> dict[str, np.ndarray]:
        """The state of a law in the records, by name."""
        law = self.torque.own
        if law is None:
            return {}
        parts = law.parts(self.model, first("law"))
        return {name: parts[name] for name in law.state}

    def _driven(self) -> bool:
        """Whether anything but gravity and springs does work."""
        law = self.torque.law is not None or self.torque.own is not None
        if law or self.torque.held or self.wrenches is not None:
            return True
        if self.contact or self.touches or self.drives is not None:
            return True
        own = [body.dynamics for body in self.system.model]
        if self.stops and any(math.isfinite(x) for one in own for x in (*one.lower, *one.upper)):
            return True
        between = [x.damping for x in self.system.model.springs]
        damped = not all(map(is_zero, [*(d for one in own for d in one.damping), *between]))
        rough = not all(is_zero(f) for one in own for f in one.friction)
        acts = self.resistance
        return acts is not None and ((acts.damping and damped) or (acts.friction and rough))

    def _contact_records(self, first: Callable[[str], np.ndarray]) -> dict[str, np.ndarray]:
        """What the method knows of contacts, by the names it has in a trajectory."""
        if self.touches:
            F = first("contact_force")
            return {
                "contact_forces": F.reshape(*F.shape[:-1], F.shape[-1] // 3, 3),
                "contact_modes": np.nan_to_num(first("modes")).astype(int),
            }
        if not self.contact:
            return {}
        rows = {name: first(name) for name in self._rows}
        none = np.zeros((*rows["taken"].shape[:-1], 0))
        forces = rows.get("contact_force", none)
        return {
            "contact_forces": forces.reshape(*forces.shape[:-1], forces.shape[-1] // 3, 3),
            "contact_residual": rows["residual"][..., 0],
            "row_forces": rows.get("force", none),
            "taken": rows["taken"],
        }

    def _accelerate(self, x: Trajectory) -> np.ndarray:
        return self._at_records("acceleration", x)

    def _react(self, x: Trajectory) -> dict[str, np.ndarray]:
        if geometric(self.model, self.varying.names):
            raise ConfigurationError(
                "forces of loops and drives are not known where parameters move bodies; take "
                "mozzi.loop_forces of a model with these parameters"
            )
        force = self._at_records("reactions", x) if self.model.closures else np.zeros(x.v.shape)
        return shared_reactions(self.model, self.user, self.drives, x.t, x.q, force)

    def _apply(self, x: Trajectory) -> np.ndarray | None:
        """What a law or constant forces apply at the records."""
        if self.torque.law is None and not self.torque.held:
            return None
        return self._at_records("applied", x)

    def _at_records(self, name: AtRecords, x: Trajectory) -> np.ndarray:
        t = np.broadcast_to(x.t, x.q.shape[:-1])
        held = self.torque.held or self.torque.own is not None
        forces = [] if not held else [x.tau if x.tau is not None else self._held()]
        if self.wrenches is not None:
            forces.append(self.wrenches[..., None, :, :])
        if self.varying.numbers is not None:
            forces.append(self.varying.numbers[..., None, :])
        return self._kernel(name)(x.q, x.v, t, *forces)

    def _held(self) -> np.ndarray:
        assert self.torque.constant is not None
        return self.torque.constant[..., None, :]

    def _tell(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        singular = singular_record(
            self.varying, t, q, None if self.drives is None else self.drives.offsets
        )
        if singular is not None:
            time, rank, usual = singular
            warnings.warn(
                f"model {self.model.name!r} is singular at t = {time:g} s: its loops have rank "
                f"{rank} there and {usual} elsewhere, so that several motions may go on from it, "
                "of which this is one; start or pass beside it, and see mozzi.loop_rank",
                SingularWarning,
                stacklevel=4,
            )
        if self._defect > LOOSE[self.place.dtype]:
            warnings.warn(
                f"{self.method_name}: Newton's method stopped with corrections of "
                f"{self._defect:.1e}; take a smaller dt than {self.dt:g} s, or more iterations",
                DivergenceWarning,
                stacklevel=4,
            )
        if self.contact:
            residual = self._rows["residual"][: self._done, ..., 0]
            tell_residual(residual, self.grid.t, MISSED[self.place.dtype])
        if not self._driven():
            springs = self.resistance is not None and self.resistance.springs
            tell_energy(
                self.varying, t, q, v, springs=springs, method=self.method_name, dt=self.dt
            )
        smaller = f"take a smaller dt than {self.dt:g} s"
        if self.adaptive:
            smaller = "its steps became shorter than rounding: see what the forces do there"
        tell_ends(self.diverged, self.batch, "diverged", smaller)
        tell_ends(self.spent, self.batch, f"used up its tries ({getattr(self.method, 'tries', 0)})",
                  "give more tries, or larger rtol and atol")  # fmt: skip


def _listed(x: Array | tuple[Array, ...]) -> list[Array]:
    return list(x) if isinstance(x, tuple) else [x]
