"""`sweep`: a run over many samples, on this machine or on others."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.checked import checked
from mozzi.errors import ConfigurationError
from mozzi.files import zarr_library
from mozzi.sweeps.content import digest_of
from mozzi.sweeps.jobs import Columns, Job, Outcome, Plan, Run, here, keep, packed, work
from mozzi.sweeps.reductions import Reduction, check_words, combined
from mozzi.sweeps.store import DONE, FAILED, Labels, Store, open_store
from mozzi.sweeps.table import Table, names_in, table_of

__all__ = ["Failure", "Progress", "Swept", "sweep"]

CHUNK = 4096  # samples of a job, where a run does not say
TRIES = 3
AHEAD = 8  # jobs that wait for each worker, so that it never waits for the next one


@dataclass(frozen=True)
class Failure:
    """A chunk that failed again and again: its samples, its parameters, and why."""

    start: int
    stop: int
    parameters: Mapping[str, NDArray[np.generic]]
    error: str


@dataclass
class Progress:
    """How far a sweep is."""

    samples: int
    done: int = 0
    started: float = field(default_factory=time.perf_counter)
    fresh: int = 0
    failed: int = 0

    @property
    def rate(self) -> float:
        """Samples a second, since this run of the sweep began."""
        return self.fresh / max(1e-9, time.perf_counter() - self.started)

    @property
    def left(self) -> float:
        """Seconds to the end, at this rate."""
        return (self.samples - self.done) / self.rate if self.fresh else float("inf")


class Swept(Mapping[str, NDArray[np.generic]]):
    """The results of a sweep: arrays by name, with a row for each sample in the order of the
    parameters; with reductions one of each, such as ``result["v.mean"]``.

    Rows of chunks that failed are NaN (0 of integers), and `failures` names them.
    """

    def __init__(
        self, table: Table, columns: Columns, failures: list[Failure], store: Store | None,
        lost: list[dict[str, float]], bad: int,
    ):  # fmt: skip
        self.table, self.failures, self.lost, self.bad = table, failures, lost, bad
        self._columns, self.store = columns, store

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        if name not in self._columns and self.store is not None and name in list(self):
            self._columns[name] = self.store.read(name)
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        own = () if self.store is None else self.store.attributes.get("results", ())
        return iter(dict.fromkeys([*self._columns, *own]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    @property
    def parameters(self) -> Mapping[str, NDArray[np.generic]]:
        """The parameters of all samples, by name."""
        return dict(self.table.rows(0, self.table.size))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a row for every sample to .parquet or .csv: parameters, and results of one number.

        Args:
            path: the file.
        """
        from mozzi.sweeps.rows import save

        return save(self, Path(path))

    def __repr__(self) -> str:
        more = f", {len(self.failures)} chunks failed" if self.failures else ""
        return f"<Swept {self.table.size:,} samples: {', '.join(self)}{more}>"


@checked
def sweep(
    run: Run,
    parameters: Mapping[str, object],
    executor: Executor | object | None = None,
    chunk: int | None = None,
    store: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    *,
    samples: int | None = None,
    reduce: str | Sequence[Reduction] = (),
    progress: Callable[[Progress], None] | None = None,
) -> Swept:
    """Run a function on many samples, chunk by chunk, here or on workers.

    Results do not depend on chunks and workers: what is drawn comes from children of the seed that
    belong to samples. A chunk that fails three times is told in `failures`, and the others go on.
    With a store a sweep that was stopped goes on where it was, when it is called again.

    Cost: that of the run; a chunk adds some milliseconds where there are workers or a store.

    Args:
        run: takes a chunk of the parameters (a mapping of names to arrays) and returns a mapping of
            names to arrays with the same leading axis: a function, a `Rollout`, an `Evaluation`.
            ``chunk["seed"]`` has a number for each sample, for what run draws itself.
        parameters: by name, arrays of one length (`grid` makes combinations); or distributions,
            such as ``mz.Uniform(0.8, 1.2)`` or its text "uniform(0.8, 1.2)"; or a table with named
            columns.
        executor: None for this process; anything whose ``submit`` gives futures, as the executors
            of `concurrent.futures`, mpi4py and submitit do; or a Dask `Client`.
        chunk: samples of a job; chosen where not given.
        store: a path for a zarr store, with a chunk for each job. One of another model or other
            parameters is refused.
        seed: for what is drawn; without one it differs from call to call.
        samples: how many, where all parameters are distributions.
        reduce: what is kept of the samples instead of their results: some of count, mean, std, min,
            max, quantiles, histogram.
        progress: called with a `Progress` after every job.

    Returns:
        A mapping of names to arrays, for all samples.

    Example:
        >>> def run(chunk):
        ...     return {"y": chunk["x"] ** 2}
        >>> mz.sweep(run, {"x": np.arange(5.0)}, chunk=2)["y"].tolist()
        [0.0, 1.0, 4.0, 9.0, 16.0]
    """
    if chunk is not None and chunk < 1:
        raise ConfigurationError(f"sweep: chunk {chunk}; give 1 or more samples")
    words = check_words(reduce)
    check = getattr(run, "check", None)
    if check is not None:  # names that are wrong are told before any job begins
        check(names_in(parameters))
    facts = _facts(run, words)
    if store is not None and seed is None and Path(store).exists():
        seed = _seed_of(store)
    table = table_of(parameters, samples, seed)
    size = min(table.size, int(getattr(run, "chunk", CHUNK)))
    kept: Store | None = None
    if store is not None:
        facts |= {"parameters": table.digest, "seed": str(table.entropy)}
        kept = open_store(store, table.size, chunk, size, facts)
        chunk = kept.chunk
    chunk = chunk or size
    jobs = [
        Job(k, start, min(start + chunk, table.size), table)
        for k, start in enumerate(range(0, table.size, chunk))
    ]
    same = executor is None or isinstance(executor, ThreadPoolExecutor)
    plan = Plan(run if same else packed(run), words, here())
    driver = _Driver(run, plan, kept, Progress(table.size))
    driver.go(jobs, executor, progress)
    return driver.finish(table, jobs)


def _facts(run: Run, words: Sequence[str]) -> dict[str, Any]:
    from mozzi import __version__

    model = getattr(run, "model", None)
    return {
        "model": getattr(model, "digest", None), "run": digest_of(run), "reduce": list(words),
        "mozzi": __version__, "command": " ".join(sys.argv),
    }  # fmt: skip


def _seed_of(store: str | os.PathLike[str]) -> int | None:
    try:
        group = zarr_library().open_group(str(store), mode="r", use_consolidated=False)
        facts = dict(group.attrs)
    except (FileNotFoundError, ValueError):
        return None
    return int(str(facts["seed"])) if "seed" in facts else None


class _Driver:
    """The jobs of a sweep on their way."""

    def __init__(self, run: Run, plan: Plan, store: Store | None, progress: Progress):
        self.run, self.plan, self.store, self.progress = run, plan, store, progress
        self.outcomes: dict[int, Outcome] = {}
        self.ready = store is not None and store.has()

    def go(
        self, jobs: Sequence[Job], executor: object, tell: Callable[[Progress], None] | None
    ) -> None:
        """Do what is missing."""
        done = self.store.status() if self.store is not None else np.zeros(len(jobs), np.int8)
        queue = deque(job for job in jobs if done[job.number] != DONE)
        self.progress.done = sum(j.stop - j.start for j in jobs if done[j.number] == DONE)
        engine = _engine(executor)
        pending: dict[Future[Outcome], tuple[Job, int]] = {}
        tries: dict[int, int] = {}
        most = 1 if engine is None else AHEAD * _workers(executor, engine)
        while queue or pending:
            while queue and len(pending) < most:
                job = queue.popleft()
                tries[job.number] = tries.get(job.number, 0) + 1
                pending[self._submit(engine, job)] = job, tries[job.number]
            for future in _finished(pending):
                job, count = pending.pop(future)
                outcome = _outcome(future)
                if outcome.error and count < TRIES:
                    queue.append(job)
                    continue
                self._take(job, outcome)
                if tell is not None:
                    tell(self.progress)

    def _submit(self, engine: Executor | None, job: Job) -> Future[Outcome]:
        part = Job(job.number, job.start, job.stop, job.table.part(job.start, job.stop))
        store = self.store if self.ready else None
        if engine is not None:
            return engine.submit(work, self.plan, part, store)
        here: Future[Outcome] = Future()
        here.set_result(work(self.plan, part, store))
        return here

    def _take(self, job: Job, outcome: Outcome) -> None:
        n = job.stop - job.start
        self.progress.done, self.progress.fresh = self.progress.done + n, self.progress.fresh + n
        self.progress.failed += n if outcome.error else 0
        if self.store is None:
            self.outcomes[job.number] = outcome
            return
        if outcome.columns is not None and not self.ready:
            self._create(job, outcome.columns)
        if outcome.columns is not None or (outcome.error and self.ready):
            keep(self.store, job, outcome, self.plan)
        if outcome.error and not self.ready:
            self.outcomes[job.number] = outcome
        else:
            self.outcomes[job.number] = Outcome(None, outcome.error, 0.0, outcome.lost, outcome.bad)

    def _create(self, job: Job, columns: Columns) -> None:
        """Make the arrays of the store, like those of the first job that came back."""
        assert self.store is not None
        notes = cast("Mapping[str, Mapping[str, object]]", getattr(self.run, "notes", {}))
        axis, examples = ("job" if self.plan.reduce else "sample"), dict(columns)
        if not self.plan.reduce:
            rows = job.table.rows(job.start, job.start + 1)
            examples |= {n: x for n, x in rows.items() if n not in columns}
        labels = cast("Labels", getattr(self.run, "labels", {}))
        own = [] if self.plan.reduce else [n for n in examples if n not in columns]
        self.store.create(examples, axis, notes, labels, own)
        self.store.describe({"results": [] if self.plan.reduce else list(columns)})
        self.ready = True
        for number, before in self.outcomes.items():  # that failed when there was no array yet
            if before.error:
                self.store.write(number, {}, axis, FAILED, before.report)

    def finish(self, table: Table, jobs: Sequence[Job]) -> Swept:
        """All results together, in the order of jobs."""
        failures: list[Failure] = []
        lost: list[dict[str, float]] = []
        bad = 0
        status = self.store.status() if self.store is not None else None
        for job in jobs:
            outcome = self.outcomes.get(job.number)
            if outcome is None and self.store is not None and status is not None:
                told = self.store.report(job.number)
                error = str(told.get("error", "")) if status[job.number] == FAILED else ""
                outcome = Outcome(None, error, 0.0, told.get("lost", []), told.get("bad", 0))
            assert outcome is not None
            if outcome.error:
                rows = dict(table.rows(job.start, job.stop))
                failures.append(Failure(job.start, job.stop, rows, outcome.error))
            lost, bad = lost + outcome.lost, bad + outcome.bad
        if len(failures) == len(jobs):
            raise ConfigurationError(f"sweep: every chunk failed; the first: {failures[0].error}")
        columns: Columns = {}
        if self.store is None:
            columns = self._gathered(table, jobs)
        elif self.plan.reduce:
            columns = {n: self.store.read(n) for n in self.store.attributes["arrays"]}
        if self.plan.reduce:
            floats = {n: np.asarray(x, dtype=float) for n, x in columns.items()}
            columns = dict(combined(floats, self.plan.reduce))
        if self.store is not None:
            self.store.close()
        return Swept(table, columns, failures, self.store, lost, bad)

    def _gathered(self, table: Table, jobs: Sequence[Job]) -> Columns:
        example = next(x.columns for x in self.outcomes.values() if x.columns is not None)
        rows = len(jobs) if self.plan.reduce else table.size
        out: Columns = {}
        for name, x in example.items():
            fill = np.nan if x.dtype.kind == "f" else 0
            out[name] = np.full((rows, *x.shape[1:]), fill, x.dtype)
        for job in jobs:
            found = self.outcomes[job.number].columns
            start, stop = job.start, job.stop
            if self.plan.reduce:
                start, stop = job.number, job.number + 1
            for name, x in (found or {}).items():
                if name not in out or x.shape[1:] != out[name].shape[1:]:
                    raise ConfigurationError(
                        f"sweep: run gives {name!r} of shape {x.shape} for samples {job.start} to "
                        f"{job.stop}, and others for other chunks; give the same names and shapes"
                    )
                out[name][start:stop] = x
        return out


def _finished(pending: Iterable[Future[Outcome]]) -> list[Future[Outcome]]:
    """Those that are over; waits until there is one. Jobs of submitit are asked in turn: they have
    the methods of futures, and nobody to wake a waiter.
    """
    given = list(pending)
    if all(isinstance(cast(object, future), Future) for future in given):
        return list(wait(given, return_when=FIRST_COMPLETED)[0])
    pause = 0.005
    while not (over := [future for future in given if future.done()]):
        time.sleep(pause)
        pause = min(2.0 * pause, 1.0)
    return over


def _engine(executor: object) -> Executor | None:
    """What jobs are submitted to."""
    if executor is None:
        return None
    get = getattr(executor, "get_executor", None)  # of a Dask client
    if get is not None:
        return get(pure=False, retries=TRIES)
    if not hasattr(executor, "submit"):
        raise TypeError(
            f"sweep: executor is a {type(executor).__name__}; give a Dask Client, or what has the "
            "interface of concurrent.futures"
        )
    return cast(Executor, executor)


def _workers(executor: object, engine: Executor) -> int:
    """How many jobs can run at once, as far as an executor tells."""
    threads = getattr(executor, "nthreads", None)  # of a Dask client, by worker
    if callable(threads):
        return max(1, sum(cast("dict[str, int]", threads()).values()))
    return int(getattr(engine, "_max_workers", None) or os.cpu_count() or 1)


def _outcome(future: Future[Outcome]) -> Outcome:
    """What a future says; a worker that was lost is one more failure."""
    try:
        return future.result()
    except Exception as error:
        return Outcome(error=f"{type(error).__name__}: {error}")
