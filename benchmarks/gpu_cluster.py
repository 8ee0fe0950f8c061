"""`python -m benchmarks.gpu_cluster`: a sweep on a worker with a GPU, through a scheduler over TCP.

A Dask scheduler and workers are started as processes of their own, as on a command line. What the
worker gives is compared with this process (bitwise), and with the CPU; a worker is killed with
kill -9 while it writes a store, and another joins.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, save

SEED, FEW = 3, 4096


class Cluster:
    """A scheduler and workers of one thread, on this machine."""

    def __init__(self, folder: Path):
        self.folder, self.file = folder, folder / "scheduler.json"
        self.parts = [self._start("scheduler", "--port", "0", "--no-dashboard")]
        while not (self.file.exists() and self.file.read_text().strip()):
            time.sleep(0.05)

    def _start(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--scheduler-file"]
        log = (self.folder / f"{what}.log").open("ab")
        return subprocess.Popen([*command, str(self.file), *words], stdout=log, stderr=log)

    def worker(self) -> subprocess.Popen[bytes]:
        """One more."""
        words = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0"]
        self.parts.append(self._start("worker", *words, "--local-directory", str(self.folder)))
        return self.parts[-1]

    def stop(self) -> None:
        """End all that are there."""
        for part in reversed(self.parts):
            part.kill()
            part.wait(20)


def timed(call: Any) -> tuple[Any, float]:
    """What a call gives, and its seconds."""
    start = time.perf_counter()
    return call(), time.perf_counter() - start


def equal(a: Any, b: Any) -> bool:
    """Whether two sweeps found bitwise the same."""
    return list(a) == list(b) and all(np.array_equal(a[n], b[n], equal_nan=True) for n in a)


def measured(model: Any, target: Any, samples: int, folder: Path) -> dict[str, Any]:
    """All of it."""
    from distributed import Client

    varied: dict[str, object] = {f"{b}.density": mz.Uniform(0.8, 1.2) for b in model.bodies[:8]}
    run = mz.Rollout(model, 0.5, 1e-3, target=target)
    out: dict[str, Any] = {"samples": samples, "steps": run.steps, "chunk": run.chunk}
    few: dict[str, Any] = {"samples": FEW, "seed": SEED, "chunk": FEW // 8}
    many: dict[str, Any] = {"samples": samples, "seed": SEED, "reduce": "mean,std,max"}
    cluster = Cluster(folder)
    try:
        first = cluster.worker()
        with Client(scheduler_file=str(cluster.file), timeout=60) as client:
            client.wait_for_workers(1, timeout=60)
            there, out["first_s"] = timed(lambda: mz.sweep(run, varied, client, **few))
            here = mz.sweep(run, varied, **few)
            out["bitwise_this_process"] = equal(there, here)
            cpu = mz.sweep(mz.Rollout(model, 0.5, 1e-3), varied, **few)
            out["largest_from_the_cpu"] = float(np.abs(there["q"] - cpu["q"]).max())
            whole: dict[str, Any] = many | {"samples": run.chunk}  # kernels for such batches
            _, out["compile_s"] = timed(lambda: mz.sweep(run, varied, client, **whole))
            mz.sweep(run, varied, **whole)
            reduced, seconds = timed(lambda: mz.sweep(run, varied, client, **many))
            out |= {"seconds": seconds, "samples_per_s": samples / seconds,
                    "steps_per_s": samples * run.steps / seconds}  # fmt: skip
            alone, out["this_process_s"] = timed(lambda: mz.sweep(run, varied, **many))
            out["efficiency"] = out["this_process_s"] / seconds
            out["reductions_bitwise"] = equal(reduced, alone)

            told: list[int] = []

            def disturb(now: Any) -> None:
                told.append(now.done)
                if len(told) == 3:
                    first.send_signal(signal.SIGKILL)
                    cluster.worker()

            found = mz.sweep(run, varied, client, store=folder / "a.zarr", progress=disturb, **few)
            out["killed"] = first.wait(20) == -signal.SIGKILL
            out["bitwise_after_kill"] = equal(found, here) and not found.failures
    except BaseException:
        for log in folder.glob("*.log"):
            print(log.name, log.read_text()[-2000:], flush=True)
        raise
    finally:
        cluster.stop()
    return out


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_cluster", description=__doc__)
    parser.add_argument("--model", type=Path, help="a pickled model; a panda by default")
    parser.add_argument("--target", default="cuda", help="cuda or cpu")
    parser.add_argument("--samples", type=int, default=2**21, help="of the sweep that is timed")
    parser.add_argument("--no-save", action="store_true", help="print only")
    options = parser.parse_args()
    model = pickle.loads(options.model.read_bytes()) if options.model else mz.load("panda")
    result: dict[str, Any] = {"machine": machine() | {"threads": len(os.sched_getaffinity(0))}}
    with tempfile.TemporaryDirectory() as folder:
        result["dask"] = measured(model, options.target, options.samples, Path(folder))
    if options.target == "cuda":
        import cupy

        device = cupy.cuda.runtime.getDeviceProperties(0)
        result["machine"]["gpu"] = device["name"].decode()
    print(json.dumps(result, indent=1))
    if not options.no_save:
        print("saved", save("gpu_cluster", result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
