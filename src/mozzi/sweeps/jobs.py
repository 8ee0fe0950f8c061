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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.errors import ConfigurationError
from mozzi.simulation.place import on_the_host
from mozzi.sweeps.reductions import Reduction, reduced
from mozzi.sweeps.store import DONE, FAILED, Store
from mozzi.sweeps.table import Chunk, Table
from mozzi.targets.cpu.calls.threads import set_num_threads
from mozzi.targets.cuda.kernel import cupy_here
from mozzi.types import ArrayLike

__all__ = ["Job", "Outcome", "Plan", "Run", "here", "keep", "packed", "work"]

Run: TypeAlias = Callable[[Any], Mapping[str, Any]]
"""A chunk of parameters ↦ results by name, with the same leading axis."""
Columns = dict[str, NDArray[np.generic]]

NAMED_SAMPLES_MAX = 20  # samples without a finite result that a job names


@dataclass(frozen=True)
class Plan:
    """What all jobs share; the run is itself in this process, and bytes on its way to others."""

    run: Run | bytes
    reduce: tuple[Reduction, ...]
    home: tuple[str, int]
    """The machine and process that they come from: in others a job has one core to itself."""


@dataclass(frozen=True)
class Job:
    """Some rows of a table."""

    number: int
    start: int
    stop: int
    table: Table


@dataclass
class Outcome:
    """What became of a job: its columns (None where they are in the store), or an error."""

    columns: Columns | None = None
    error: str = ""
    seconds: float = 0.0
    lost: list[dict[str, float]] = field(default_factory=list[dict[str, float]])
    """Samples that have no finite result, with their parameters: the first of them."""
    bad: int = 0
    """How many those are."""

    @property
    def report(self) -> dict[str, object]:
        """What the store keeps of it."""
        return {
            "error": self.error[:1000], "seconds": self.seconds, "bad": self.bad, "lost": self.lost
        }  # fmt: skip


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


def work(plan: Plan, job: Job, store: Store | None) -> Outcome:
    """Do a job; with a store, write what it gives."""
    if plan.home != here():
        set_num_threads(1)
    run = _unpacked(plan.run) if isinstance(plan.run, bytes) else plan.run
    start = time.perf_counter()
    chunk = job.table.rows(job.start, job.stop)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of single samples: they are counted
            results = checked(run(chunk), job.stop - job.start)
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        line = f"{at.filename.rsplit('/', 1)[-1]}:{at.lineno}"
        return Outcome(error=f"{type(error).__name__}: {error} ({line})",
                       seconds=time.perf_counter() - start)  # fmt: skip
    lost, bad = _lost(results, chunk)
    if plan.reduce:
        results = Columns(reduced(results, plan.reduce))
    columns = {name: on_the_host(x) for name, x in results.items()}
    outcome = Outcome(columns, "", time.perf_counter() - start, lost, bad)
    if store is None:
        return outcome
    keep(store, job, outcome, plan)
    return Outcome(None, "", time.perf_counter() - start, lost, bad)


def keep(store: Store, job: Job, outcome: Outcome, plan: Plan) -> None:
    """Write what a job gave, or that it failed."""
    axis = "job" if plan.reduce else "sample"
    columns = dict(outcome.columns or {})
    if not plan.reduce:
        drawn = job.table.rows(job.start, job.stop)
        columns |= {n: x for n, x in drawn.items() if n not in columns}
    status = FAILED if outcome.error else DONE
    store.write(job.number, columns, axis, status, outcome.report)


def checked(results: object, n: int) -> Columns:
    """What a run gave, if it is arrays by name with a row for each sample."""
    if not isinstance(results, Mapping):
        raise TypeError(
            f"run returned {type(results).__name__}; return a mapping of names to arrays"
        )
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
