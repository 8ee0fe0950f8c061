"""`Simulation`: a run that can be watched, stopped, and gone on with."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Unpack

import numpy as np

from mozzi.algorithms.contact.gaps import contact_count
from mozzi.algorithms.recursion.representations import check
from mozzi.checked import checked
from mozzi.errors import ConfigurationError
from mozzi.lie.vec import is_zero
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.model.parameters.named import geometric
from mozzi.simulation.checks import (
    check_model,
    check_state,
    check_wrenches,
    finite,
    positive,
    tell_overlaps,
)
from mozzi.simulation.forces.drives import Drives, Prescribed, TimeLaw
from mozzi.simulation.forces.forces import Torque, torque_of
from mozzi.simulation.forces.law import Law
from mozzi.simulation.forces.resistance import Limits, Resistance, resistance_of, stops_of
from mozzi.simulation.forces.sampler import Sampler
from mozzi.simulation.methods import method_for, method_of
from mozzi.simulation.methods.dormand_prince import DormandPrince
from mozzi.simulation.methods.method import OneStep, sizes
from mozzi.simulation.methods.moreau import Moreau, honoured
from mozzi.simulation.methods.options import MethodOptions
from mozzi.simulation.methods.touching import Missed
from mozzi.simulation.pace import Pace
from mozzi.simulation.parameters import varying_of
from mozzi.simulation.place import Place, held_inputs, on_the_host
from mozzi.simulation.running.advance import adapted, stepped
from mozzi.simulation.running.records import Records
from mozzi.simulation.running.result import acceleration_at, reactions_at, trajectory_of
from mozzi.simulation.running.run_kernels import RunKernels
from mozzi.simulation.system import Feedback, System
from mozzi.simulation.times import Grid, check_memory
from mozzi.simulation.trajectories.saved_runs import Saved, block_records, open_saved, opened
from mozzi.simulation.trajectories.trajectory import Trajectory
from mozzi.simulation.watch import tell_stiff
from mozzi.types import Array, ArrayLike, Device, DType, Method, Rep

__all__ = ["Simulation"]

CHECKED_RECORDS = 64  # records between two looks at whether all samples are finite
FLOAT32_STEPS = 2**24  # steps that float32 can count


class Simulation:
    """A simulation that can be watched and stopped: ``for share in simulation.run(): ...``.

    Takes what `simulate` takes; `trajectory` gives what was computed so far.

    Example:
        >>> run = mz.Simulation(mz.load("arm.urdf"), np.zeros(3), np.zeros(3), 0.1, 1e-3)
        >>> list(run.run())[-1], run.trajectory().q.shape
        (1.0, (101, 3))
    """

    @checked
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
        wrenches_rep: Rep = "body",
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
        **options: Unpack[MethodOptions],
    ):
        as_model(model, "simulate")
        check_model(model)
        method = method_for(model, method)
        named = inspect.signature(Simulation).parameters
        self.user = model
        self.drives = None
        if prescribed or loop_offsets:
            self.drives = Drives(model, prescribed, loop_offsets)
            model = self.drives.model
        self.model, self.method = model, method_of(method, options, named)
        self.place = Place(target, dtype)
        self.method_name = method if isinstance(method, str) else type(method).__name__
        q0, v0 = self.place.given(q0, "q0"), self.place.given(v0, "v0")
        torque = self.place.given(torque, "torque")
        wrenches = self.place.given(wrenches, "wrenches")
        parameters = {n: self.place.given(x, n) for n, x in (parameters or {}).items()}
        self.varying = varying_of(parameters, model, torque)
        if self.drives and self.user.closures and geometric(model, self.varying.names):
            raise ConfigurationError(
                "drives of models with loops take their geometry as it is; build a model for each "
                "set of parameters that move bodies (Model.with_parameters)"
            )
        self.dt, self.t0 = positive(dt, "dt"), finite(t0, "t0")
        start = None if self.drives is None else partial(self.drives.start, self.t0)
        self.q0, self.v0 = check_state(model, q0, v0, self.varying, start)
        tell_overlaps(model, self.q0, self.varying)
        self.batch = self.q0.shape[:-1]
        self.grid = Grid(self.t0, positive(duration, "duration"), self.dt, record_every)
        self.torque: Torque = torque_of(
            torque, model, self.batch, self.grid.steps, trace, target, self.varying
        )
        if self.drives is not None:
            self.drives.refuse_actuated(self.torque.plain(model, self.t0, self.q0, self.v0))
        self.wrenches = check_wrenches(wrenches, model, self.batch)
        self.wrenches_rep = check(wrenches_rep)
        shown = self.varying.template
        self.resistance = resistance_of(resistance, shown)
        self.stops, self.method = honoured(shown, self.method, stops_of(limits), self.resistance)
        if isinstance(self.method, Moreau) and self.method.cut is None:
            self.method = replace(self.method, cut=not self.method.smoothing)
        self.adaptive = isinstance(self.method, DormandPrince)
        self.contact = isinstance(self.method, Moreau)
        self.touches = self.adaptive and bool(model.contacts)
        self._check_together()
        self.system = System(
            shown, self.torque.law, self.resistance, self.stops, self.varying,
            drives=self.drives, wrenches_rep=self.wrenches_rep,
        )  # fmt: skip
        self.sampler: Sampler | None = None
        if self.adaptive and self.torque.own is not None:
            own = self.torque.own, self.system, self.batch, self.t0, self.varying.numbers
            self.sampler = self.torque.call = Sampler(*own)
        inputs = held_inputs(self.system, self.torque.held, self.wrenches is not None)
        self.kernels = RunKernels(
            self.system, self.method, self.torque, inputs, self.place, self.model
        )
        self.records = Records(self._room(save), self.q0, self.v0, self._sizes(), self.grid.t)
        if self.torque.own is not None:
            self.records.rows["law"][0] = self.torque.own.start(model, self.t0)
        self.share, self.pace, self.slow = 0.0, Pace(), Pace()
        self.state: dict[str, Array] = {}  # at the last record, to go on from
        self.defect = 0.0  # the largest last correction of Newton's method
        self.saved = None if save is None else self._open(save)
        end = float(self.grid.t[-1])
        if self.drives is not None:
            self.drives.tell_jumps(self.t0, end, self.grid.steps, self.adaptive)
        duration = end - self.t0
        tell_stiff(self.varying, self.method, self.resistance, self.q0, self.dt, duration)
        if isinstance(self.method, DormandPrince):
            self.kernels.attempt(self.method)
        else:
            self.kernels.advance(self.method)

    def _check_together(self) -> None:
        """What does not go with what."""
        if self.touches and self.place.target != "cpu":
            raise ConfigurationError("dopri5 with contacts runs on target='cpu'; take moreau")
        if self.place.dtype == "float32" and (self.adaptive or self.grid.every > FLOAT32_STEPS):
            what = "dopri5" if self.adaptive else f"record_every {self.grid.every}"
            raise ConfigurationError(f"{what} needs dtype='float64': float32 is too coarse for it")
        if self.adaptive and self.model.closures and geometric(self.model, self.varying.names):
            raise ConfigurationError(
                "dopri5 with loops takes the geometry of the model as it is; take a method of "
                "constant step, such as rkmk4, where parameters move bodies"
            )

    def _sizes(self) -> dict[str, int]:
        """What is recorded besides q and v, and how many numbers it has."""
        found = {"tau": self.model.nv} if self.torque.sampled else {}
        if isinstance(self.method, Moreau):
            found |= sizes(self.method, self.varying.template)
        if self.torque.own is not None:
            found["law"] = self.torque.own.size(self.model)
        if self.touches:
            k = contact_count(self.model)
            found |= {"contact_force": 3 * k, "modes": k}
        return {name: n for name, n in found.items() if name not in ("q", "v")}

    def _room(self, save: str | os.PathLike[str] | None) -> int:
        """For how many records there is memory: all, or a block of those that are saved."""
        if save is None:
            return check_memory(self.grid, self.model, self.batch)
        numbers = self.model.nq + self.model.nv
        return block_records(len(self.grid.t), math.prod(self.batch), numbers)

    def _open(self, path: str | os.PathLike[str]) -> Saved:
        """The store; where it holds records, the run goes on behind them."""
        x = self.records
        rows = {name: rows.shape[-1] for name, rows in x.kept().items()}
        saved = open_saved(path, self, rows, len(x.q))
        x.done = x.checked = x.first = saved.records
        x.diverged = {tuple(k): t for k, t in saved.head.get("diverged", ())}
        x.spent = {tuple(k): t for k, t in saved.head.get("spent", ())}
        x.stuck = {tuple(k): name for k, name in saved.head.get("stuck", ())}
        x.missed = Missed(*saved.head.get("missed", ()))
        x.ended = {tuple(k) for k in saved.head.get("ended", ())}
        self.defect = saved.head.get("defect", 0.0)
        return saved

    def keep(self) -> None:
        """Write the records that are in memory, where they are to be saved.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> run = mz.Simulation(arm, arm.neutral(), np.zeros(3), 0.1, 0.01)
            >>> run.keep()  # nothing is to be saved
        """
        x = self.records
        if self.saved is None or x.done == x.first:
            return
        over = x.over() == math.prod(self.batch)
        told: dict[str, object] = {
            "diverged": [[list(k), t] for k, t in x.diverged.items()],
            "spent": [[list(k), t] for k, t in x.spent.items()],
            "stuck": [[list(k), name] for k, name in x.stuck.items()],
            "missed": [x.missed.speed, x.missed.t, x.missed.contact],
            "ended": [list(k) for k in x.ended],
            "events": [[list(e.sample), e.t, e.number, e.q.tolist(), e.v.tolist()]
                       for e in x.events],
            "defect": self.defect, "driven": self.driven(),
            "done": over or x.done == len(self.grid.t),
        }  # fmt: skip
        state = {name: on_the_host(value) for name, value in self.state.items()}
        self.saved.write({n: rows[: x.at] for n, rows in x.kept().items()}, state, told)
        x.first = x.done

    def run(self) -> Iterator[float]:
        """Run on to the end; yields the share that is done, from time to time.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> run = mz.Simulation(arm, arm.neutral(), np.zeros(3), 0.1, 0.01)
            >>> [share for share in run.run()][-1]
            1.0
        """
        x, last = self.records, len(self.grid.t) - 1
        if self.saved is not None and self.saved.head["done"]:
            yield 1.0
            return
        if isinstance(self.method, DormandPrince):
            steps = adapted(self, self.method)
        else:
            steps = stepped(self, self.method)
        with np.errstate(all="ignore"):
            for record in steps:
                if record is not None:
                    q, v, forces = record
                    x.add(q, v, forces[0] if self.torque.sampled else None)
                    self.share = float(self.grid.ends[x.done - 1]) / self.grid.steps
                full = x.done - x.checked >= CHECKED_RECORDS or x.done > last
                block = self.saved is not None and x.done % self.saved.block == 0
                if full or block or self.pace.due():
                    going = self._look()
                    if block or not going or x.done > last:
                        self.keep()
                    yield self.share
                    if not going:
                        return

    def trajectory(self, *, tell: bool = True) -> Trajectory:
        """What was computed so far, the state between two records included.

        Args:
            tell: whether to warn of what is odd in it, which takes a moment.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> run = mz.Simulation(arm, arm.neutral(), np.zeros(3), 0.1, 0.01)
            >>> for share in run.run():
            ...     pass
            >>> run.trajectory().q.shape
            (11, 3)
        """
        self._look()
        if self.saved is None:
            return trajectory_of(self, tell)
        self.keep()
        found = opened(self.saved.path, self.user)
        found.accelerations = partial(acceleration_at, self)
        found.reactions = partial(reactions_at, self)
        return found

    def _look(self) -> bool:
        """Look at the records since the last look; whether any sample is still going."""
        x = self.records
        since = x.checked
        going = x.look()
        if self.drives is not None and x.done > since:
            new, times = slice(since - x.first, x.at), x.t[since : x.done]
            self.drives.check_records(times, x.q[new], x.v[new], self.place.dtype == "float32")
        return going

    def driven(self) -> bool:
        """Whether anything but gravity and springs does work.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> run = mz.Simulation(arm, arm.neutral(), np.zeros(3), 0.1, 0.01)
            >>> run.driven()  # by the damping of its joints
            True
        """
        return self.pushed() or self._braked()

    def pushed(self) -> bool:
        """Whether a law, forces, contacts or driven joints do work: what may add energy.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> mz.Simulation(arm, arm.neutral(), np.zeros(3), 0.1, 0.01).pushed()
            False
        """
        law = self.torque.law is not None or self.torque.own is not None
        if law or self.torque.held or self.wrenches is not None:
            return True
        return self.contact or self.touches or self.drives is not None

    def _braked(self) -> bool:
        """Whether dampers, friction or stops take energy."""
        own = [body.dynamics for body in self.system.model]
        if self.stops and any(math.isfinite(x) for one in own for x in (*one.lower, *one.upper)):
            return True
        between = [x.damping for x in self.system.model.springs]
        damped = not all(map(is_zero, [*(d for one in own for d in one.damping), *between]))
        rough = not all(is_zero(f) for one in own for f in one.friction)
        acts = self.resistance
        return acts is not None and ((acts.damping and damped) or (acts.friction and rough))
