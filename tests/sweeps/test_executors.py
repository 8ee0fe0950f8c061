"""Executors of other libraries: submitit, MPI, Ray, job scripts of Slurm; bitwise one sweep."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import chain

ARM = chain(3, seed=1)
VARIED = {f"{ARM.bodies[1]}.density": mz.Uniform(0.8, 1.2)}
RUN = mz.Rollout(ARM, 0.05, 0.01)

SCRIPT = """
import sys
import numpy as np
import mozzi as mz
from mozzi.model.generate import chain

{engine}

if __name__ == "__main__":
    arm = chain(3, seed=1)
    varied = {{f"{{arm.bodies[1]}}.density": mz.Uniform(0.8, 1.2)}}
    with engine() as executor:
        found = mz.sweep(mz.Rollout(arm, 0.05, 0.01), varied, executor, chunk=8, samples=40, seed=3)
    np.savez(sys.argv[1], **{{name: found[name] for name in found}})
"""

MPI = "from mpi4py.futures import MPIPoolExecutor as engine"

RAY = """
import ray

class engine:  # its ObjectRefs have futures of concurrent.futures
    def __enter__(self):
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        return self
    def __exit__(self, *error):
        ray.shutdown()
    def submit(self, function, *args):
        return ray.remote(max_retries=0)(function).remote(*args).future()
"""


@pytest.fixture(scope="module")
def alone():
    return mz.sweep(RUN, VARIED, samples=40, seed=3)


def same(found, alone):
    for name in alone:
        np.testing.assert_array_equal(found[name], alone[name])


def by_script(folder: Path, engine: str, before: list[str]) -> dict[str, np.ndarray]:
    """What a program of its own finds."""
    script = folder / "script.py"
    script.write_text(SCRIPT.format(engine=engine))
    source = str(Path(mz.__file__).parents[1])
    path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    words = [*before, str(script), str(folder / "found.npz")]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, capture_output=True,
                          text=True, timeout=200)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    with np.load(folder / "found.npz") as file:
        return dict(file)


def broken(chunk):
    if (chunk["x"] == 5).any():
        raise ValueError("five is too many")
    return {"y": chunk["x"]}


class Polled:
    """A future that nobody can wait for, as those of submitit are."""

    def __init__(self, function, args):
        self.call, self.asked = (function, args), 0

    def done(self):
        self.asked += 1
        return self.asked > 2

    def result(self):
        function, args = self.call
        return function(*args)


class Asked:
    """An executor that gives them."""

    def submit(self, function, *args):
        return Polled(function, args)


def test_futures_that_are_asked(alone):
    same(mz.sweep(RUN, VARIED, Asked(), chunk=7, samples=40, seed=3), alone)
    found = mz.sweep(broken, {"x": np.arange(10)}, Asked(), chunk=2)
    assert len(found.failures) == 1 and "five is too many" in found.failures[0].error


@pytest.mark.slow
def test_submitit(alone, tmp_path):
    """Its executor of this machine, which has the interface of that of Slurm."""
    submitit = pytest.importorskip("submitit")
    executor = submitit.AutoExecutor(folder=tmp_path / "log", cluster="local")
    executor.update_parameters(timeout_min=2)
    same(mz.sweep(RUN, VARIED, executor, chunk=20, samples=40, seed=3), alone)


@pytest.mark.slow
def test_mpi(alone, tmp_path):
    try:
        import mpi4py.MPI  # noqa: F401
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"mpi4py, or an MPI, is not installed: {error}")
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    start = shutil.which("mpiexec", path=folders)
    ranks = [] if start is None else [start, "-n", "3"]
    same(by_script(tmp_path, MPI, [*ranks, sys.executable, "-m", "mpi4py.futures"]), alone)


@pytest.mark.slow
def test_ray(alone, tmp_path):
    pytest.importorskip("ray")
    same(by_script(tmp_path, RAY, [sys.executable]), alone)


def test_job_scripts_of_slurm():
    """dask-jobqueue writes what sbatch takes: workers of one thread, as the how-to says."""
    jobqueue = pytest.importorskip("dask_jobqueue")
    cluster = jobqueue.SLURMCluster(
        cores=32, processes=32, memory="64GB", walltime="02:00:00", interface="lo",
        scheduler_options={"dashboard_address": None, "port": 0},
    )  # fmt: skip
    with cluster:
        script = cluster.job_script()
    assert script.startswith("#!") and "#SBATCH -t 02:00:00" in script
    assert "distributed.cli.dask_worker tcp://" in script
    assert "--nthreads 1" in script and "--nworkers 32" in script
