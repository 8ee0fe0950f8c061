"""What workers do: load the run once, make the rows of a job, run them, reduce, write.

A run travels by content, and is kept by the worker from job to job with the model and the kernels
it made; kernels of a machine are compiled once and come from the disk cache after that.
"""

from __future__ import annotations

import os
import pickle
import platform
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.errors import ConfigurationError
from mozzi.simulation.place import on_the_host
from mozzi.sweeps.arrays import JOBS
from mozzi.sweeps.reductions import Reduction, reduced
from mozzi.sweeps.store import DONE, FAILED, Store, Written
from mozzi.sweeps.table import Chunk, Table
from mozzi.targets.cpu.calls.threads import set_num_threads
from mozzi.targets.cuda.kernel import cupy_here
from mozzi.types import ArrayLike

__all__ = [
    "TOGETHER_S", "Job", "Outcome", "Plan", "Run", "here", "keep", "packed", "stored", "work",
]  # fmt: skip

Run: TypeAlias = Callable[[Any], Mapping[str, Any]]
"""A chunk of parameters ↦ results by name, with the same leading axis."""
Columns = dict[str, NDArray[np.generic]]

TOGETHER_S = 0.1  # seconds of work after which a worker speaks: to the disk, to the scheduler
NAMED_SAMPLES_MAX = 20  # samples without a finite result that a job names


@dataclass(frozen=True)
class Plan:
    """What all jobs share; the run is itself in this process, and bytes on its way to others."""

    run: Run | bytes
    reduce: tuple[Reduction, ...]
    home: tuple[str, int]
    """The machine and process that they come from: in others a job has one core to itself."""
    version: str
    """Of the library: other code gives other numbers."""


@dataclass(frozen=True)
class Job:
    """Some rows of a table."""

    number: int
    start: int
    stop: int
    table: Table

    @property
    def rows(self) -> int:
        """How many."""
        return self.stop - self.start


@dataclass
class Outcome:
    """What became of a job: its columns (None where they are in the store), or an error."""

    columns: Columns | None = None
    error: str = ""
    seconds: float = 0.0
    """What it took, and its share of what it took together with others."""
    lost: list[dict[str, float]] = field(default_factory=list[dict[str, float]])
    """Samples that have no finite result, with their parameters: the first of them."""
    bad: int = 0
    """How many those are."""
    final: bool = False
    """Whether it is of no use to go on."""

    @property
    def report(self) -> dict[str, object]:
        """What the store keeps of it: nothing, where all is well."""
        told: dict[str, object] = {"error": self.error[:1000], "bad": self.bad, "lost": self.lost}
        return told if self.error or self.bad else {}


def here() -> tuple[str, int]:
    """This machine and process."""
    return platform.node(), os.getpid()


def packed(run: Run) -> bytes:
    """A run as bytes; functions that are written on the spot need cloudpickle."""
    try:
        import cloudpickle  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        cloudpickle = None
    try:
        dumps: Callable[[Run], bytes] = getattr(cloudpickle or pickle, "dumps")  # noqa: B009
        return dumps(run)
    except Exception as error:
        more = "" if cloudpickle else "; pip install mozzi[cluster] sends functions of any kind"
        raise ConfigurationError(f"sweep: run cannot be sent to workers: {error}{more}") from error


@lru_cache(maxsize=8)
def _unpacked(run: bytes) -> Run:
    return pickle.loads(run)


def work(plan: Plan, jobs: Sequence[Job], store: Store | None) -> list[Outcome]:
    """Do some jobs, one after another; with a store, write what they give."""
    from mozzi import __version__

    if plan.version != __version__:
        wrong = (f"a worker on {here()[0]} has mozzi {__version__}, and the sweep comes from "
                 f"{plan.version}; install the same")  # fmt: skip
        return [Outcome(error=wrong, final=True) for _ in jobs]
    if plan.home != here():
        set_num_threads(1)
    begin = last = time.perf_counter()
    told: list[Outcome] = []
    written: list[Written] = []
    try:
        for job in jobs:
            outcome = _done(plan, job)
            if store is not None and not outcome.error:
                try:
                    written.append(keep(store, job, outcome, plan))
                    outcome.columns = None
                except (ConfigurationError, OSError) as error:
                    outcome = Outcome(error=f"{type(error).__name__}: {error}")
            told.append(outcome)
            if store is not None and time.perf_counter() > last + TOGETHER_S:
                _say(store, written, jobs, told)
                last = time.perf_counter()
    finally:
        if store is not None:
            _say(store, written, jobs, told)
    for outcome in told:
        outcome.seconds = (time.perf_counter() - begin) / len(jobs)
    return told


def _say(
    store: Store, written: list[Written], jobs: Sequence[Job], told: list[Outcome]
) -> None:
    """That jobs are done, when their chunks are on the disk."""
    try:
        store.commit(written)
    except OSError as error:
        numbers = {x.job for x in written}
        for k, job in enumerate(jobs[: len(told)]):
            if job.number in numbers:
                told[k] = Outcome(error=f"{type(error).__name__}: {error}")
    written.clear()


def _done(plan: Plan, job: Job) -> Outcome:
    """What a run gives for a job."""
    try:
        run = _unpacked(plan.run) if isinstance(plan.run, bytes) else plan.run
        chunk = job.table.rows(job.start, job.stop)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of single samples: they are counted
            results = checked(run(chunk), job.rows)
        lost, bad = _lost(results, chunk)
        if plan.reduce:
            results = Columns(reduced(results, plan.reduce))
        columns = {name: on_the_host(x) for name, x in results.items()}
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        line = f"{at.filename.rsplit('/', 1)[-1]}:{at.lineno}"
        return Outcome(error=f"{type(error).__name__}: {error} ({line})")
    return Outcome(columns, "", 0.0, lost, bad)


def keep(store: Store, job: Job, outcome: Outcome, plan: Plan) -> Written:
    """Write what a job gave, or that it failed; it is not said to be done before it is on disk."""
    axis = "job" if plan.reduce else "sample"
    columns = stored(outcome.columns or {}, plan)
    if outcome.columns is not None and not plan.reduce:
        drawn = job.table.rows(job.start, job.stop)
        columns |= {n: x for n, x in drawn.items() if n not in columns}
    status = FAILED if outcome.error else DONE
    return Written(job.number, status, store.put(job.number, columns, axis), outcome.report)


def stored(columns: Columns, plan: Plan) -> Columns:
    """By the names that a store has for them."""
    return {f"{JOBS}/{n}" if plan.reduce else n: x for n, x in columns.items()}


def checked(results: object, n: int) -> Columns:
    """What a run gave, if it is arrays by name with a row for each sample."""
    if not isinstance(results, Mapping):
        raise TypeError(
            f"run returned {type(results).__name__}; return a mapping of names to arrays"
        )
    if not results:
        raise ValueError("run returned nothing; return a mapping of names to arrays")
    out: Columns = {}
    for name, x in cast("Mapping[object, ArrayLike]", results).items():
        array = _as_array(x)
        if array.shape[:1] != (n,) or array.dtype.kind not in "biuf":
            raise ValueError(
                f"run returned {name!r} of shape {array.shape} and type {array.dtype}; give "
                f"numbers with the leading axis {n}"
            )
        out[str(name)] = array
    return out


def _as_array(x: ArrayLike) -> NDArray[np.generic]:
    """An array of NumPy; of what lies on a GPU one of CuPy, on the same memory."""
    if hasattr(x, "__cuda_array_interface__"):
        return cupy_here().asarray(x)
    return np.asarray(x)


def _lost(results: Columns, chunk: Chunk) -> tuple[list[dict[str, float]], int]:
    n = chunk.stop - chunk.start
    good = np.ones(n, dtype=bool)
    for x in results.values():
        if x.dtype.kind == "f":
            bad = cast("NDArray[np.bool_]", np.isnan(x.reshape(n, -1)).any(axis=1))
            good &= ~on_the_host(bad)
    where = np.flatnonzero(~good)
    lost = [
        {"sample": float(chunk.start + k)}
        | {name: float(x[k]) for name, x in chunk.items() if x.ndim == 1}
        for k in where[:NAMED_SAMPLES_MAX]
    ]
    return lost, len(where)
