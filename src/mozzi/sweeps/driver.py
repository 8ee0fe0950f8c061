"""The jobs of a sweep on their way: handed out, tried again, gathered.

Jobs that are short travel together, as many as take `TOGETHER_S`, or as long as the scheduler needs
to serve all other workers; towards the end fewer, so that no worker is left with many.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from mozzi.errors import ConfigurationError
from mozzi.sweeps.arrays import JOBS, Labels, Notes
from mozzi.sweeps.engine import Engine, Told, finished, outcomes
from mozzi.sweeps.jobs import TOGETHER_S, Columns, Job, Outcome, Plan, Run, keep, stored
from mozzi.sweeps.reductions import BINS_WORD, combined
from mozzi.sweeps.store import DONE, Store
from mozzi.sweeps.table import Table

__all__ = ["Driver", "Gathered"]

TRIES = 3
AHEAD = 3  # what waits for each worker, so that it never waits for the next
SERVED_S = 5e-3  # seconds that a scheduler takes for one of them, at most
MOST = 256  # jobs that travel together, at most
FIRST = 8  # jobs on their way while a store has no arrays: their numbers come to this process
LOST = 1000  # samples without a finite result that are named


@dataclass
class Gathered:
    """What came of all jobs."""

    columns: Columns
    failed: dict[int, str]
    """By job, why."""
    lost: list[dict[str, float]]
    bad: int


class Driver:
    """The jobs of a table in chunks, with a store or without."""

    def __init__(
        self, run: Run, plan: Plan, table: Table, chunk: int, store: Store | None,
        tell: Callable[[int, int, bool], None],
    ):  # fmt: skip
        self.run, self.plan, self.table, self.chunk, self.store = run, plan, table, chunk, store
        self.jobs, self.tell = -(-table.size // chunk), tell
        self.ready = store is not None and store.has()
        self.found = Gathered({}, {}, [], 0)
        self.parts: dict[int, Columns] = {}
        self.bins: Columns = {}
        self.each = 0.0  # seconds of a job, as they were of late
        self.tries: dict[int, int] = {}

    def job(self, number: int) -> Job:
        """One of them."""
        start = number * self.chunk
        return Job(number, start, min(start + self.chunk, self.table.size), self.table)

    def go(self, executor: object) -> None:
        """Do what is missing."""
        done = np.zeros(self.jobs, bool) if self.store is None else self.store.status() == DONE
        missing = np.flatnonzero(~done)
        if done.any():
            self.tell(self.table.size - sum(self.job(int(k)).rows for k in missing), 0, False)
        engine = Engine(executor, self.plan, self.store)
        at, again, pending = 0, deque[Job](), dict[Told, list[Job]]()
        try:
            while at < len(missing) or again or pending:
                most = 1 if engine.here else AHEAD * engine.workers
                if self.store is not None and not self.ready:
                    most = min(most, FIRST)
                while (at < len(missing) or again) and len(pending) < most:
                    if again:  # what failed goes alone: it may take its worker along
                        jobs = [again.popleft()]
                    else:
                        n = self._together(len(missing) - at, engine.workers)
                        jobs, at = [self.job(int(k)) for k in missing[at : at + n]], at + n
                    pending[engine.submit(jobs, self.store if self.ready else None)] = jobs
                for future in finished(pending):
                    jobs = pending.pop(future)
                    told = outcomes(future, jobs)
                    if any(x.error for x in told):
                        engine.doubt()
                    again.extend(self._take(jobs, told))
        finally:
            for future in pending:
                future.cancel()

    def _together(self, left: int, workers: int) -> int:
        """How many jobs travel together."""
        if self.each == 0.0:
            return 1
        n = max(TOGETHER_S, SERVED_S * workers) / self.each
        return int(max(1, min(n, MOST, left / (AHEAD * workers))))

    def _take(self, jobs: Sequence[Job], told: Sequence[Outcome]) -> list[Job]:
        """Keep what jobs gave; returns those to try again."""
        again: list[Job] = []
        seconds = float(np.mean([x.seconds for x in told]))
        self.each = seconds if self.each == 0.0 else 0.5 * (self.each + seconds)
        for job, outcome in zip(jobs, told, strict=True):
            if outcome.final:
                raise ConfigurationError(f"sweep: {outcome.error}")
            if outcome.error:
                self.tries[job.number] = self.tries.get(job.number, 0) + 1
                if self.tries[job.number] < TRIES:
                    again.append(job)
                    continue
            if self.store is None:
                self._gather(job, outcome)
            else:
                self._write(self.store, job, outcome)
            self.tell(job.rows, job.rows if outcome.error else 0, True)
        return again

    def _gather(self, job: Job, outcome: Outcome) -> None:
        self.found.bad += outcome.bad
        self.found.lost += outcome.lost[: LOST - len(self.found.lost)]
        if outcome.error:
            self.found.failed[job.number] = outcome.error
            return
        assert outcome.columns is not None
        self.parts[job.number] = {}
        for name, x in outcome.columns.items():
            if self.plan.reduce and name.endswith(BINS_WORD):  # counts, in any order
                self.bins[name] = np.add(self.bins[name], x) if name in self.bins else x
            else:
                self.parts[job.number][name] = x

    def _write(self, store: Store, job: Job, outcome: Outcome) -> None:
        if outcome.columns is not None and not self.ready:
            self._create(store, job, stored(outcome.columns, self.plan))
        if outcome.columns is not None or outcome.error:
            store.commit([keep(store, job, outcome, self.plan)])

    def _create(self, store: Store, job: Job, columns: Columns) -> None:
        """Make the arrays of the store, like those of the first job that came back."""
        if self.plan.reduce:
            store.create(columns, "job", {}, {}, [], [])
        else:
            rows = job.table.rows(job.start, job.start + 1)
            drawn = {n: x for n, x in rows.items() if n not in columns}
            store.create(columns | drawn, "sample", *self.words, list(drawn), list(columns))
        self.ready = True

    def finish(self) -> Gathered:
        """All results together, in the order of jobs."""
        found, store = self.found, self.store
        if store is not None:
            for number, told in sorted(store.reports().items()):
                if told.get("error"):
                    found.failed[number] = str(told["error"])
                found.lost += told.get("lost", [])[: LOST - len(found.lost)]
                found.bad += int(told.get("bad", 0))
        if len(found.failed) == self.jobs:
            error = found.failed[min(found.failed)]
            raise ConfigurationError(f"sweep: every chunk failed; the first: {error}")
        found.failed = dict(sorted(found.failed.items()))
        found.lost.sort(key=lambda x: x["sample"])
        if store is None:
            found.columns = self._gathered() | self.bins
        elif self.plan.reduce:
            for name in store.attributes["arrays"]:
                read = store.sums if name.endswith(BINS_WORD) else store.read
                found.columns[name.removeprefix(f"{JOBS}/")] = read(name)
        if self.plan.reduce:
            floats = {n: np.asarray(x, dtype=float) for n, x in found.columns.items()}
            found.columns = dict(combined(floats, self.plan.reduce))
        if store is not None:
            if self.plan.reduce:
                store.summarise(found.columns, *self.words)
            store.close()
        return found

    @property
    def words(self) -> tuple[Notes, Labels]:
        """What a run says of its results."""
        notes = cast("Notes", getattr(self.run, "notes", {}))
        return notes, cast("Labels", getattr(self.run, "labels", {}))

    def _gathered(self) -> Columns:
        example = self.parts[min(self.parts)]
        rows = self.jobs if self.plan.reduce else self.table.size
        out: Columns = {}
        for name, x in example.items():
            fill = np.nan if x.dtype.kind == "f" else 0
            out[name] = np.full((rows, *x.shape[1:]), fill, x.dtype)
        for number in range(self.jobs):
            job = self.job(number)
            start, stop = (number, number + 1) if self.plan.reduce else (job.start, job.stop)
            for name, x in self.parts.pop(number, {}).items():
                if name not in out or x.shape[1:] != out[name].shape[1:]:
                    raise ConfigurationError(
                        f"sweep: run gives {name!r} of shape {x.shape} for samples {job.start} to "
                        f"{job.stop}, and others for other chunks; give the same names and shapes"
                    )
                out[name][start:stop] = x
        return out
