"""A real scheduler and real workers over TCP, which are killed and join while a sweep runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import chain
from mozzi.sweeps.driver import Driver
from mozzi.sweeps.jobs import Plan, here
from mozzi.sweeps.table import table_of

distributed = pytest.importorskip("distributed")
ARM = chain(3, seed=1)
VARIED = {f"{ARM.bodies[1]}.density": mz.Uniform(0.8, 1.2)}


class Slow(mz.Rollout):
    """A motion that takes a while."""

    def __call__(self, chunk):
        time.sleep(0.1)
        return super().__call__(chunk)


class Cluster:
    """A scheduler and workers, as two lines on a command line start them."""

    def __init__(self, folder: Path):
        self.folder = folder
        here = [str(Path(mz.__file__).parents[1]), str(Path(__file__).parent)]
        self.env = {**os.environ, "PYTHONPATH": os.pathsep.join(here), "OMP_NUM_THREADS": "1"}
        self.env["DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"] = "20s"
        self.file = folder / "scheduler.json"
        self.parts = [self._start("scheduler", "--port", "0", "--no-dashboard")]

    def _start(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}"]
        options = ["--scheduler-file", str(self.file), *words]
        log = (self.folder / f"{what}.log").open("ab")
        return subprocess.Popen([*command, *options], env=self.env, stdout=log, stderr=log)

    def worker(self) -> subprocess.Popen[bytes]:
        """One more worker with one thread."""
        words = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0"]
        part = self._start("worker", *words, "--local-directory", str(self.folder))
        self.parts.append(part)
        return part

    def client(self):
        """Of this scheduler, by its address."""
        for _ in range(400):
            if self.file.exists() and self.file.read_text().strip():
                return distributed.Client(scheduler_file=str(self.file), timeout=20)
            time.sleep(0.05)
        raise TimeoutError((self.folder / "scheduler.log").read_text())

    def stop(self) -> None:
        """End all parts that are there."""
        for part in reversed(self.parts):  # the scheduler last
            part.terminate()
            try:
                part.wait(2)
            except subprocess.TimeoutExpired:
                part.kill()
                part.wait(10)


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    made.stop()


@pytest.mark.slow
def test_workers_die_and_join_while_it_runs(cluster, tmp_path):
    """One of two workers is killed with kill -9, another joins; results are bitwise those of this
    process, and so is the store.
    """
    run = Slow(ARM, 0.05, 0.01)
    first = cluster.worker()
    cluster.worker()
    with cluster.client() as client:
        client.wait_for_workers(2, timeout=40)

        def disturb():
            first.send_signal(signal.SIGKILL)
            cluster.worker()

        told: list[int] = []

        def progress(now):
            told.append(now.done)
            if len(told) == 6:
                threading.Thread(target=disturb).start()

        store = tmp_path / "a.zarr"
        found = mz.sweep(run, VARIED, client, samples=240, chunk=4, seed=3, store=store,
                         progress=progress)  # fmt: skip
        client.wait_for_workers(2, timeout=40)
        assert first.wait(10) == -signal.SIGKILL
        lazy = distributed_arrays(client)
    assert told[-1] == 240 and not found.failures
    alone = mz.sweep(mz.Rollout(ARM, 0.05, 0.01), VARIED, samples=240, seed=3)
    for name in alone:
        np.testing.assert_array_equal(found[name], alone[name])
    q = np.linspace(0, 1, 300).reshape(100, 3)
    np.testing.assert_array_equal(lazy, mz.gravity_forces(ARM, q))


@pytest.mark.slow
def test_a_scheduler_that_is_killed(cluster, tmp_path):
    """It is told in words, and the same sweep goes on without it, to the same results."""
    run, store = Slow(ARM, 0.05, 0.01), tmp_path / "a.zarr"
    cluster.worker()
    given = {"samples": 240, "chunk": 4, "seed": 3, "store": store}
    with cluster.client() as client:
        client.wait_for_workers(1, timeout=40)
        told: list[int] = []

        def progress(now):
            told.append(now.done)
            if len(told) == 12:
                cluster.parts[0].send_signal(signal.SIGKILL)

        with pytest.raises(mz.ConfigurationError, match=r"no more jobs.*same call goes on"):
            mz.sweep(run, VARIED, client, progress=progress, **given)
    left: list[int] = []
    found = mz.sweep(run, VARIED, progress=lambda now: left.append(now.done), **given)
    assert 48 <= left[0] < 240 == left[-1]
    alone = mz.sweep(mz.Rollout(ARM, 0.05, 0.01), VARIED, samples=240, seed=3)
    for name in alone:
        np.testing.assert_array_equal(found[name], alone[name])


@pytest.mark.slow
def test_workers_that_come_later_are_used(cluster):
    """A sweep begins with one worker, as on a cluster that grows; the second takes its share."""
    cluster.worker()
    with cluster.client() as client:
        client.wait_for_workers(1, timeout=40)
        seen: list[float] = []

        def progress(now):
            if not seen:
                cluster.worker()
            seen.append(now.done)

        found = mz.sweep(who, {"x": np.arange(120.0)}, client, chunk=1, progress=progress)
    assert len(np.unique(found["process"])) == 2


def who(chunk):
    time.sleep(0.1)
    return {"process": np.full(len(chunk["x"]), os.getpid())}


def distributed_arrays(client):
    """An algorithm on a Dask array, computed by the workers."""
    import dask.array as da

    q = da.from_array(np.linspace(0, 1, 300).reshape(100, 3), chunks=(20, 3))
    return client.compute(mz.gravity_forces(ARM, q)).result()


def test_a_client_in_this_process():
    """The same interface without processes: quick enough for every run of the tests."""
    options = {"processes": False, "dashboard_address": None, "silence_logs": 50}
    alone = mz.sweep(mz.Rollout(ARM, 0.05, 0.01), VARIED, samples=50, seed=3)
    with distributed.Client(n_workers=2, threads_per_worker=1, **options) as client:
        found = mz.sweep(
            mz.Rollout(ARM, 0.05, 0.01), VARIED, client, samples=50, chunk=8, seed=3
        )
    for name in alone:
        np.testing.assert_array_equal(found[name], alone[name])


def nothing(chunk):
    return {"y": chunk["x"]}


@pytest.mark.parametrize("stored", [False, True])
def test_jobs_that_are_short_travel_together(stored, tmp_path):
    """Far fewer messages than chunks, and a chunk is still what is stored and what fails."""
    sent: list[int] = []

    class Counted(ThreadPoolExecutor):
        def submit(self, function, plan, jobs, store):
            sent.append(len(jobs))
            return super().submit(function, plan, jobs, store)

    store = tmp_path / "a.zarr" if stored else None
    with Counted(2) as pool:
        found = mz.sweep(nothing, {"x": np.arange(300.0)}, pool, chunk=1, store=store)
    assert sum(sent) == 300 and len(sent) < 80 and sent[0] == 1
    np.testing.assert_array_equal(found["y"], np.arange(300.0))
    if store is not None:
        assert len(list((store / "y").glob("c.*"))) == 300


def test_jobs_travel_together_as_long_as_the_scheduler_needs():
    """Of a millisecond: a hundred for few workers, fewer at the end, more for many workers."""
    table = table_of({"x": np.arange(10.0)}, None, 0)
    driver = Driver(nothing, Plan(nothing, (), here(), ""), table, 1, None, lambda *_: None)
    assert driver._together(10**6, 2) == 1  # nothing is known of them
    driver.each = 1e-3
    assert driver._together(10**6, 2) == 100 and driver._together(10**6, 40) == 200
    assert driver._together(60, 2) == 10 and driver._together(1, 2) == 1
    driver.each = 1.0
    assert driver._together(10**6, 2) == 1 and driver._together(10**7, 10**4) == 50
