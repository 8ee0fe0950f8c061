"""Steps beside singular configurations of the loops: those that pass one, and those that are too
coarse for where they are.

There the rows of the loops are nearly dependent, and a step whose stages are open by as much as
rows differ may go anywhere, on closed states all the same. Two steps of half the length tell, or
three of a third: one of both may end beside the singular configuration and go astray itself. A
step that goes straight across is right on both sides, and seen by what rows span (`Passing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.constraints.rank import lengths
from mozzi.algorithms.kinematics.configuration import difference
from mozzi.simulation.methods.dormand_prince import Adaptive, DormandPrince
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.place import on_the_host
from mozzi.simulation.running.advance import listed
from mozzi.simulation.singular import Passing, Ranks
from mozzi.types import Array

if TYPE_CHECKING:
    from mozzi.simulation.running.simulation import Simulation

__all__ = ["NEAR", "Beside", "at_rest", "steps_beside"]

NEAR = 3e-2  # a margin of `loop_rank`, from which on steps are looked at
AT_SPEED = 1e-1  # the same, where it changes by more than that from record to record
ACROSS = 3e-1  # the same, of steps that may pass where it vanishes
SHORT = 0.01  # radians or lengths of the mechanism, between configurations that are compared
PARTED = 1e-2  # of the way: motions that end farther apart are not the same
LOOKED = 32  # records where the margin is least, whose steps are repeated
REPEATED = 256  # steps behind a record, at most
PARTS = 2, 3  # of a step
#: What one step and parts of it may differ by, of the largest velocity, by the method's order.
COARSE = {1: 5e-2, 2: 1e-2}
COARSE_FOURTH = 1e-4
#: Radians or lengths of the mechanism that it covers in a run at its greatest speed, below which it
#: is at rest: rounding moves it.
AT_REST = {"float64": 1e-9, "float32": 1e-4}


class Beside(NamedTuple):
    """What steps beside singular configurations did."""

    coarse: tuple[float, float, float] | None = None
    """(time, margin, by how much of the velocities it is off) of the worst that is too coarse."""
    passed: float | None = None
    """The time of the first that passes one."""


def steps_beside(run: Simulation, t: Array, q: Array, v: Array, ranks: Ranks) -> Beside:
    """What steps beside singular configurations did. q and v are (B, n, …). A law with a state goes
    on from the state that it had, and what it held over a step is held over its halves.
    """
    method = run.method
    q, v = (x.reshape(-1, *x.shape[-2:]) for x in (q, v))
    sample, record, margin = _nearest(ranks, min(run.records.done, len(t)) - 1)
    if not len(sample):
        return Beside()
    varying = run.varying
    if varying.numbers is not None:
        varying = replace(varying, numbers=_flat(run, varying.numbers, 1)[sample])
    usual = ranks.rank.max(axis=-1)[np.searchsorted(ranks.samples, sample)]
    passing = Passing(varying, q[sample, record], usual)
    moves = ~at_rest(run, t, v)[sample]
    passed = np.full(len(sample), np.inf)
    if isinstance(method, DormandPrince) or run.contact:
        begin, end = q[sample, record], q[sample, record + 1]
        there = begin
        for now, there in _between(run, t, q, v, sample, record):
            over = passing.on(there) & moves & np.isinf(passed)
            passed[over] = now[over]
        way, away = (_apart(run, x, end) for x in (begin, there))
        parted = (away > PARTED * way) & moves & np.isinf(passed)  # two motions go on, or nearly
        passed[parted] = t[record][parted]
        return Beside(None, _first(passed))
    with np.errstate(all="ignore"):
        when, off, passed = _differences(run, method, t, q, v, sample, record, passing)
        fastest = np.nanmax(np.abs(v), axis=(-2, -1))[sample]
        off = np.nan_to_num(off / fastest, nan=np.inf)
    off[~moves | (margin > AT_SPEED)], passed[~moves] = 0.0, np.inf
    worst, coarse = int(np.argmax(off)), None
    if off[worst] > COARSE.get(method.order, COARSE_FOURTH):
        coarse = float(when[worst]), float(margin[worst]), float(off[worst])
    return Beside(coarse, _first(passed))


def _apart(run: Simulation, a: Array, b: Array) -> Array:
    """How far configurations (S, nq) are apart, in radians or lengths of the mechanism."""
    size = lengths(run.model)[1]
    return np.nan_to_num(np.abs(difference(run.model, a, b) / size).max(-1), nan=np.inf)


def _first(times: Array) -> float | None:
    first = float(times.min())
    return first if np.isfinite(first) else None


def _between(
    run: Simulation, t: Array, q: Array, v: Array, sample: np.ndarray, record: np.ndarray
) -> Iterator[tuple[Array, Array]]:
    """(times, configurations) of these samples on their way from these records to the next, near
    each other where dopri5 can be asked once more: it may go another way then.
    """
    method, start, end = run.method, t[record], t[record + 1]
    speed = np.nan_to_num(np.abs(v[sample, record]) / lengths(run.model)[1]).max(initial=0.0)
    count = int(np.clip(float((end - start).max()) * speed / SHORT, 1, REPEATED))
    held = run.sampler is None and (run.records.tau is None or run.grid.every == 1)
    if count == 1 or not held or run.touches or not isinstance(method, DormandPrince):
        yield end, q[sample, record + 1]
    else:
        put, state = run.place.put, (q[sample, record], v[sample, record])
        forces = [put(x) for x in _forces(run, sample, record)]
        free = run.kernels.at_records("acceleration", free=True)
        a = on_the_host(free(*map(put, (*state, start)), *forces))
        begin = run.model, run.kernels.attempt(method), *state, start, a, end - start
        drives = None if run.drives is None else run.drives.on_arrays
        motion = Adaptive(replace(method, events=()), *begin, run.place, drives)
        for k in range(1, count + 1):
            now = start + (end - start) * (k / count)
            for _ in motion.advance(now, end, forces):
                pass
            yield now, motion.at(now)[0]


def at_rest(run: Simulation, t: Array, v: Array) -> NDArray[np.bool_]:
    """Which samples of v (…, n, nv) do not move but for rounding, of which nothing is told."""
    speed = np.nan_to_num(np.abs(v), nan=np.inf) / lengths(run.model)[1]
    covered = speed.max(axis=(-2, -1), initial=0.0) * (t[-1] - t[0])
    return covered <= AT_REST[run.place.dtype]


def _nearest(ranks: Ranks, last: int) -> tuple[np.ndarray, np.ndarray, Array]:
    """(sample, record, margin) where the margin is small, and of the records before: those first
    where it is least of those around, one for every time that a motion passes.
    """
    m = ranks.margin
    around = np.pad(m, ((0, 0), (1, 1)), mode="edge")
    before, behind = around[:, :-2], around[:, 2:]
    least = (m <= before) & (m <= behind)
    fast = least & (m <= np.minimum(np.maximum(before, behind) - m, ACROSS))
    small = fast | (m <= NEAR)
    found: dict[tuple[int, int], float] = {}
    for at in np.lexsort((m.ravel(), ~least.ravel(), ~small.ravel()))[:LOOKED].tolist():
        s, k = divmod(at, len(ranks.records))
        if not small[s, k]:
            break
        for record in (int(ranks.records[k]) - 1, int(ranks.records[k])):
            if 0 <= record < last:
                found.setdefault((int(ranks.samples[s]), record), float(m[s, k]))
    pairs = np.array(list(found), dtype=int).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1], np.array(list(found.values()))


def _differences(
    run: Simulation, method: OneStep, t: Array, q: Array, v: Array, sample: np.ndarray,
    record: np.ndarray, passing: Passing,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """When a step behind these records differs most from parts of it, and by how much; and when the
    first passes a singular configuration, infinite where none does.
    """
    put, advance = run.place.put, run.kernels.advance(method)
    start, law = run.kernels.start(method), run.torque.own
    clock, forces = put(t[record]), [put(x) for x in _forces(run, sample, record)]
    state = [put(q[sample, record]), put(v[sample, record])]
    if start is not None:
        state += listed(start(*state, clock, *forces))
    if law is not None:
        rows = run.records.rows["law"]
        state.append(put(rows.reshape(len(rows), -1, rows.shape[-1])[record, sample]))
    most, when = np.zeros(len(sample)), t[record].copy()
    passed = np.full(len(sample), np.inf)
    for k in range(min(run.grid.every, REPEATED)):
        *new, later = advance(*state, clock, *forces, run.dt, 1.0)
        if law is None:
            parts = [advance(*state, clock, *forces, run.dt / n, float(n)) for n in PARTS]
            whole = new
        else:
            tau = put(law.parts(run.model, on_the_host(new[-1]))["tau"])
            whole, *parts = _held_over(run, method, state[:2], clock, [tau, *forces])
        off = _least_apart(whole, parts)
        worse = ~(off <= most)
        most[worse], when[worse] = off[worse], (t[record] + k * run.dt)[worse]
        over = passing.on(on_the_host(new[0])) & np.isinf(passed)
        passed[over] = (t[record] + k * run.dt)[over]
        state, clock = new, later
    return when, most, passed


def _least_apart(whole: Sequence[Array], parts: Sequence[Sequence[Array]]) -> Array:
    """By how much velocities after a step differ from those after parts of it that are nearest; no
    number is far from all others.
    """
    end = on_the_host(whole[1])
    off = [np.abs(end - on_the_host(x[1])).max(axis=-1) for x in parts]
    return np.min(np.nan_to_num(off, nan=np.inf), axis=0)


def _held_over(
    run: Simulation, method: OneStep, state: list[Array], clock: Array, forces: list[Array]
) -> list[Sequence[Array]]:
    """A step with forces that are held, and parts of it."""
    start, advance = run.kernels.held(method)
    if start is not None:
        state = state + listed(start(*state, clock, *forces))
    return [advance(*state, clock, *forces, run.dt / n, float(n)) for n in (1, *PARTS)]


def _forces(run: Simulation, sample: np.ndarray, record: np.ndarray) -> list[Array]:
    """What kernels hold over the steps behind these records."""
    found: list[Array] = []
    if run.records.tau is not None:
        tau = run.records.tau
        found.append(tau.reshape(len(tau), -1, tau.shape[-1])[record + 1, sample])
    elif run.torque.constant is not None:
        found.append(_flat(run, run.torque.constant, 1)[sample])
    if run.wrenches is not None:
        found.append(_flat(run, run.wrenches, 2)[sample])
    if run.varying.numbers is not None:
        found.append(_flat(run, run.varying.numbers, 1)[sample])
    return found


def _flat(run: Simulation, x: Array, own: int) -> Array:
    """An array of the batch with one axis for all samples."""
    return np.broadcast_to(x, (*run.batch, *x.shape[-own:])).reshape(-1, *x.shape[-own:])
