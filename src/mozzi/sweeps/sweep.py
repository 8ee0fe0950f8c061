"""`sweep`: a run over many samples, on this machine or on others."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mozzi.checked import checked
from mozzi.errors import ConfigurationError
from mozzi.files import zarr_library
from mozzi.fingerprint import digest_of
from mozzi.sweeps.driver import Driver
from mozzi.sweeps.jobs import Columns, Plan, Run, here, packed
from mozzi.sweeps.reductions import Reduction, check_words
from mozzi.sweeps.store import Store, open_store
from mozzi.sweeps.table import Table, names_in, table_of

__all__ = ["Failure", "Progress", "Swept", "sweep"]

CHUNK = 4096  # samples of a job, where a run does not say


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
            max, quantiles, histogram; quantiles to 2.5 % of their size, all others exactly.
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
    if seed is not None and seed < 0:
        raise ConfigurationError(f"sweep: seed {seed}; give 0 or more")
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
        with _written_to(store):
            kept = open_store(store, table.size, chunk, size, facts)
        chunk = kept.chunk
    chunk = chunk or size
    same = executor is None or isinstance(executor, ThreadPoolExecutor)
    plan = Plan(run if same else packed(run), words, here(), facts["mozzi"])
    now = Progress(table.size)

    def tell(rows: int, failed: int, fresh: bool) -> None:
        now.done, now.failed = now.done + rows, now.failed + failed
        now.fresh += rows if fresh else 0
        if progress is not None:
            progress(now)

    driver = Driver(run, plan, table, chunk, kept, tell)
    with nullcontext() if store is None else _written_to(store):
        driver.go(executor)
        found = driver.finish()
    failures: list[Failure] = []
    for number, error in found.failed.items():
        job = driver.job(number)
        rows = dict(table.rows(job.start, job.stop))
        failures.append(Failure(job.start, job.stop, rows, error))
    return Swept(table, found.columns, failures, kept, found.lost, found.bad)


@contextmanager
def _written_to(store: str | os.PathLike[str]) -> Generator[None]:
    """Say which store it is that the disk does not take."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"sweep: {os.fspath(store)} cannot be written ({error.strerror or error}); make room "
            "there, or give another path; what is done stays, and the same call goes on"
        ) from error


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
