"""From record to record: methods of constant step, and dopri5, which chooses its steps.

Both give the records, and None between them, for a look at the clock and at Ctrl-C.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from mozzi.simulation.methods.dormand_prince import Adaptive, DormandPrince
from mozzi.simulation.methods.method import OneStep, sizes
from mozzi.simulation.methods.touching import Touching
from mozzi.simulation.place import on_the_host
from mozzi.simulation.trajectories.saved_runs import events_of
from mozzi.types import Array

if TYPE_CHECKING:
    from mozzi.simulation.running.simulation import Simulation

__all__ = ["adapted", "forces_at", "listed", "stepped"]

MEETINGS, MEETING_STEPS = 64, 1024  # between two records: after so many parts, and at most so many
# steps dt, all samples of dopri5 meet

Record = tuple[Array, Array, list[Array]]


def stepped(run: Simulation, method: OneStep) -> Iterator[Record | None]:
    """The records of a method of constant step."""
    records, place, torque = run.records, run.place, run.torque
    forces = forces_at(run, 0, run.t0, run.q0, run.v0)
    if not torque.sampled:
        forces = [place.put(x) for x in forces]
    state = [place.put(x) for x in (run.q0, run.v0)]
    advance, start = run.kernels.advance(method), run.kernels.start(method)
    names = list(sizes(method, run.system.model, torque.own))
    if run.saved is not None and records.done:
        at = run.saved.checkpoint()
        state = [place.put(at[name]) for name in names]
    else:
        if start is not None:
            state += listed(start(*state, run.t0, *forces))
        if torque.own is not None:
            state.append(place.put(records.rows["law"][0]))
        run.state = dict(zip(names, state, strict=True))
        yield run.q0, run.v0, forces
    for segments in itertools.islice(run.grid.records(), records.done - 1, None):
        for step, t, h, count in segments:
            k, clock = 0, t
            while k < count:
                n = 1 if torque.sampled else run.pace.next(count - k)
                if torque.sampled:
                    clock = t + k * h
                    forces = forces_at(run, step + k, clock, *state[:2])
                *state, clock = advance(*state, clock, *forces, h, float(n))
                place.wait()
                run.pace.took(n)
                k += n
                if k < count:
                    _reached(run, step + k, names, state, forces)
                    yield None
        if "defect" in names:
            defect = on_the_host(state[names.index("defect")])
            run.defect = float(np.nanmax(defect, initial=run.defect))
        for name, rows in records.rows.items():
            rows[records.at] = on_the_host(state[names.index(name)])
        if run.contact:  # the residual of a record is that since the record before
            k = names.index("residual")
            state[k] = state[k] * 0.0
        run.state = dict(zip(names, state, strict=True))
        yield state[0], state[1], forces


def adapted(run: Simulation, method: DormandPrince) -> Iterator[Record | None]:
    """The records of a method that chooses its steps."""
    records, torque, grid = run.records, run.torque, run.grid
    forces = forces_at(run, 0, run.t0, run.q0, run.v0)
    x = _adaptive(run, method, forces)
    if run.saved is not None and records.done:
        at = run.saved.checkpoint()
        x.restore(at, events_of(run.saved.head))
        if run.sampler is not None:
            run.sampler.row = at["law"]
    else:
        _touched(run, x, run.t0, run.q0, x.here("v"), forces)
        run.state = _checkpoint(run, x)
        yield run.q0, x.here("v"), forces
    end = float(grid.t[-1])
    for record, segments in enumerate(
        itertools.islice(grid.records(), records.done - 1, None), records.done
    ):
        now = float(grid.t[record])
        for step, t, h, count in segments:
            part = 1 if torque.sampled else max(1, min(count // MEETINGS, MEETING_STEPS))
            for k in range(0, count, part):
                last = step + min(k + part, count)
                until = now if last == grid.ends[record] else t + (last - step) * h
                if run.sampler is not None:
                    run.sampler.take(t + k * h, x.here("q"), x.here("v"), h)
                if torque.sampled:
                    forces = forces_at(run, step + k, t + k * h, x.here("q"), x.here("v"))
                limit = until if torque.sampled else end
                for _ in x.advance(until, limit, forces):
                    run.share = max(run.share, x.share(run.t0, end))
                    _alone(run, x, forces)
                    yield None
                if run.batch and until < now and run.slow.due():
                    _reached(run, last, ["q", "v"], [*_state_of(x, until)], forces)
        _alone(run, x, forces)
        _ends(run, x, now)
        q, v = _state_of(x, now)
        _touched(run, x, now, q, v, forces)
        if run.sampler is not None:
            records.rows["law"][records.at] = run.sampler.row
        run.state = _checkpoint(run, x)
        yield q, v, forces


def _checkpoint(run: Simulation, x: Adaptive) -> dict[str, Array]:
    """What a saved run goes on from."""
    law = {} if run.sampler is None else {"law": run.sampler.row}
    return x.checkpoint() | law if run.saved is not None else {}


def _adaptive(run: Simulation, method: DormandPrince, forces: list[Array]) -> Adaptive:
    a = run.kernels.at_records("acceleration", free=True)(run.q0, run.v0, run.t0, *forces)
    span = float(run.grid.t[-1]) - run.t0
    kernel = run.kernels.attempt(method)
    begin = method, run.model, kernel, run.q0, run.v0, run.t0, a, span
    drives = None if run.drives is None else run.drives.on_arrays
    if run.touches:
        return Touching(*begin, run.kernels.touch(method), forces, run.place, drives)
    return Adaptive(*begin, run.place, drives)


def _alone(run: Simulation, x: Adaptive, tau: list[Array]) -> None:
    """Where one motion is now, which may be where it ended."""
    if not run.batch:
        held = {"tau": tau[0]} if run.torque.sampled else {}
        run.records.between = float(x.here("t")), {"q": x.here("q"), "v": x.here("v"), **held}


def _state_of(x: Adaptive, now: float) -> tuple[Array, Array]:
    q, v = x.at(now)
    q[now > x.end], v[now > x.end] = np.nan, np.nan
    return q, v


def _ends(run: Simulation, x: Adaptive, now: float) -> None:
    """Which samples ended before now, and why."""
    records = run.records
    records.events = x.events
    records.ended = {e.sample for e in x.events if x.ended_by(e) and now > e.t}
    if isinstance(x, Touching):
        records.stuck |= x.stuck
        records.missed = max(records.missed, x.missed, key=lambda m: m.speed)
    for sample in (tuple(map(int, k)) for k in np.argwhere(x.stopped & (now > x.end))):
        if sample not in records.ended:
            kind = records.spent if x.spent[sample] else records.diverged
            kind[sample] = float(x.end[sample])


def _touched(
    run: Simulation, x: Adaptive, t: float, q: Array, v: Array, forces: list[Array]
) -> None:
    """Record the forces of contacts that dopri5 keeps."""
    if isinstance(x, Touching):
        F, modes = x.forces_at(t, q, v, forces)
        run.records.rows["contact_force"][run.records.at] = F.reshape(*F.shape[:-2], -1)
        run.records.rows["modes"][run.records.at] = modes


def forces_at(run: Simulation, step: int, t: float, q: Array, v: Array) -> list[Array]:
    """What a kernel holds over this step: forces, and what varies from sample to sample."""
    tau = run.torque.at(step, t, q, v)
    return [x for x in (tau, run.wrenches, run.varying.numbers) if x is not None]


def _reached(
    run: Simulation, step: int, names: list[str], state: list[Array], tau: list[Array]
) -> None:
    """How far it came between two records."""
    held = {"tau": tau[0]} if run.torque.sampled else {}
    run.share = step / run.grid.steps
    run.records.between = run.grid.time(step), dict(zip(names, state, strict=True)) | held


def listed(x: Array | tuple[Array, ...]) -> list[Array]:
    """What a kernel gave: one array or several."""
    return list(x) if isinstance(x, tuple) else [x]
