"""Who runs the jobs of a sweep: this process, an executor, or a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Protocol, cast

from mozzi.errors import ConfigurationError, KindError
from mozzi.sweeps.jobs import Job, Outcome, Plan, work
from mozzi.sweeps.store import Store

__all__ = ["Engine", "Told"]

UNTOLD = 64  # workers of an executor that does not tell how many it has
LOOK_S = 1.0  # seconds between two questions how many workers there are

Told = Future[list[Outcome]]


class DaskClient(Protocol):
    """What is used of a Dask client."""

    def get_executor(self, *, pure: bool) -> Executor: ...
    def nthreads(self) -> dict[str, int]: ...


class Engine:
    """What jobs are submitted to, several at once: their costs on the way are shared."""

    def __init__(self, executor: object, plan: Plan, store: Store | None):
        self.executor, self.plan, self.store = executor, plan, store
        self.here = executor is None
        self._looked, self._workers = float("-inf"), 1
        if executor is None:
            return
        self.dask = hasattr(executor, "get_executor")
        if self.dask:  # which would send all jobs to where a result is that they share: they do not
            self.pool = cast("DaskClient", executor).get_executor(pure=False)
        elif hasattr(executor, "submit"):
            self.pool = cast("Executor", executor)
        else:
            wanted = "a Dask Client, or what has the interface of concurrent.futures"
            fact = f"executor is a {type(executor).__name__}"
            raise KindError("sweep", "executor", executor, wanted, fact)

    def submit(self, jobs: Sequence[Job], store: Store | None) -> Told:
        """Have some jobs done, one after another."""
        parts = [Job(j.number, j.start, j.stop, j.table.part(j.start, j.stop)) for j in jobs]
        if not self.here:
            try:
                return self.pool.submit(work, self.plan, parts, store)
            except Exception as error:
                raise _gone(error, self.store) from error
        done: Told = Future()
        done.set_result(work(self.plan, parts, store))
        return done

    def doubt(self) -> None:
        """Ask again who is there: something failed."""
        self._looked = float("-inf")

    @property
    def workers(self) -> int:
        """How many jobs can run at once, as far as an executor tells; clusters grow and shrink."""
        now = time.monotonic()
        if self.here or now < self._looked + LOOK_S:
            return self._workers
        self._looked = now
        if self.dask:
            try:
                found = sum(cast("DaskClient", self.executor).nthreads().values())
            except Exception as error:  # a client that lost its scheduler takes jobs all the same
                raise _gone(error, self.store) from error
        else:
            names = ("_max_workers", "num_workers")  # of concurrent.futures and of mpi4py
            found = next((int(n) for x in names if (n := getattr(self.pool, x, None))), UNTOLD)
        self._workers = max(1, found)
        return self._workers


def _gone(error: Exception, store: Store | None) -> ConfigurationError:
    """That nobody is there to run jobs: a scheduler or a process that was killed."""
    more = "" if store is None else f"; {store.path} has what is done, and the same call goes on"
    return ConfigurationError(
        f"sweep: the executor takes no more jobs ({type(error).__name__}: {error}); start it "
        f"again{more}"
    )


def finished(pending: Iterable[Told]) -> list[Told]:
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


def outcomes(future: Told, jobs: Sequence[Job]) -> list[Outcome]:
    """What a future says of its jobs; a worker that was lost is one more failure of each."""
    try:
        return future.result()
    except Exception as error:
        return [Outcome(error=f"{type(error).__name__}: {error}") for _ in jobs]
