"""Steps that are too coarse for where they are: beside a singular configuration of the loops.

There the rows of the loops are nearly dependent, and a step whose stages are open by as much as
rows differ may go anywhere, on closed states all the same. Two steps of half the length tell, or
three of a third: one of both may end beside the singular configuration and go astray itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.constraints.rank import lengths
from mozzi.simulation.methods.dormand_prince import DormandPrince
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.place import on_the_host
from mozzi.simulation.running.advance import listed
from mozzi.simulation.singular import Ranks
from mozzi.types import Array

if TYPE_CHECKING:
    from mozzi.simulation.running.simulation import Simulation

__all__ = ["at_rest", "coarse_step"]

NEAR = 3e-2  # a margin of `loop_rank`, from which on steps are looked at
AT_SPEED = 1e-1  # the same, where it changes by more than that from record to record
LOOKED = 32  # records where the margin is least, whose steps are repeated
REPEATED = 256  # steps behind a record, at most
PARTS = 2, 3  # of a step
#: What one step and parts of it may differ by, of the largest velocity, by the method's order.
COARSE = {1: 5e-2, 2: 1e-2}
COARSE_FOURTH = 1e-4
#: Radians or lengths of the mechanism that it covers in a run at its greatest speed, below which it
#: is at rest: rounding moves it.
AT_REST = {"float64": 1e-9, "float32": 1e-4}


def coarse_step(
    run: Simulation, t: Array, q: Array, v: Array, ranks: Ranks
) -> tuple[float, float, float] | None:
    """(time, margin, by how much of the velocities it is off) of the worst step that is too coarse;
    None where none is found. q and v are (B, n, …). A law with a state goes on from the state that
    it had, and what it held over a step is held over its halves.
    """
    method = run.method
    if isinstance(method, DormandPrince) or run.contact:
        return None
    q, v = (x.reshape(-1, *x.shape[-2:]) for x in (q, v))
    sample, record, margin = _nearest(ranks, min(run.records.done, len(t)) - 1)
    if not len(sample):
        return None
    with np.errstate(all="ignore"):
        when, off = _differences(run, method, t, q, v, sample, record)
        fastest = np.nanmax(np.abs(v), axis=(-2, -1))[sample]
        off = np.nan_to_num(off / fastest, nan=np.inf)
    off[at_rest(run, t, v)[sample]] = 0.0
    worst = int(np.argmax(off))
    if not off[worst] > COARSE.get(method.order, COARSE_FOURTH):
        return None
    return float(when[worst]), float(margin[worst]), float(off[worst])


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
    fast = least & (m <= np.minimum(np.maximum(before, behind) - m, AT_SPEED))
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
    record: np.ndarray,
) -> tuple[Array, Array]:  # fmt: skip
    """When a step behind these records differs most from parts of it, and by how much."""
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
        state, clock = new, later
    return when, most


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
