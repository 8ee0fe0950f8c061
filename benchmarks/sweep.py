"""`python -m benchmarks.sweep`: parameters that vary, and sweeps beside the kernels they run.

- parameters: what twenty varied numbers of panda cost beside the constant model;
- efficiency: samples a second of 1 and 2 workers, beside the bare simulation on as many threads;
- overhead: of a chunk that does nothing, by engine, with and without a store;
- store: bytes a second.

docs/howto/sweep.md has what these constants say of 10² to 10⁴ workers.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, save, states
from benchmarks.kept import newest
from benchmarks.robots import mozzi_model
from mozzi.model.parameters.named import nominal_numbers
from mozzi.sweeps import driver

BATCH, CHUNKS, EMPTY = 4096, 4, 200


def varied(model: Any) -> dict[str, list[str]]:
    """Sets of twenty numbers of panda."""
    b, j = model.bodies, model.joint_names
    return {
        "mass and com of 5 links": [f"{x}.{w}" for x in b[:5] for w in ("mass", "com.x", "com.y",
                                                                       "com.z")],
        "7 masses, 7 dampings, 6 frictions": [f"{x}.mass" for x in b[:7]]
        + [f"{x}.damping" for x in j[:7]] + [f"{x}.friction" for x in j[:6]],
        "7 densities, 7 dampings, 6 placements": [f"{x}.density" for x in b[:7]]
        + [f"{x}.damping" for x in j[:7]] + [f"{x}.placement.z" for x in j[:6]],
    }  # fmt: skip


def best(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of each, best of `rounds`, measured in turns."""
    found = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            found[name] = min(found[name], time.perf_counter() - start)
    return found


def parameters(rounds: int) -> list[dict[str, Any]]:
    """Kernels with twenty more inputs, beside those of the constant model, on one core."""
    model = mozzi_model("panda")
    mz.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    for function in (mz.inverse_dynamics, mz.forward_dynamics):
        options = {"resistance": True}
        arrays = states(model, function.required, BATCH, "float64")
        plain = mz.compile(function, model, options=options)
        calls: dict[str, Callable[[], object]] = {"constant": partial(plain, *arrays)}
        for name, names in varied(model).items():
            kernel = mz.compile(function, model, options=options, parameters=names)
            P = np.repeat(nominal_numbers(model, names)[None], BATCH, axis=0)
            calls[name] = partial(kernel, *arrays, P)
        times = best(calls, 20 * rounds)
        rows += _ratios(function.name, times, BATCH)
    q, v = states(model, ("q", "v"), BATCH, "float64")
    step = mz.stepper(model)
    calls = {"constant": partial(step, q, v, 0.0, 1e-3, 20)}
    for name, names in varied(model).items():
        kernel = mz.stepper(model, parameters=names)
        P = np.repeat(nominal_numbers(model, names)[None], BATCH, axis=0)
        calls[name] = partial(kernel, q, v, 0.0, 1e-3, 20, P)
    rows += _ratios("a step of rkmk4", best(calls, rounds), 20 * BATCH)
    mz.set_num_threads(None)
    return rows


def _ratios(function: str, times: dict[str, float], n: int) -> list[dict[str, Any]]:
    constant = times.pop("constant")
    return [
        {"function": function, "varied": name, "ns": 1e9 * x / n, "constant_ns": 1e9 * constant / n,
         "ratio": x / constant}
        for name, x in times.items()
    ]  # fmt: skip


def dask(workers: int) -> Any:
    """A client of workers of one thread on this machine."""
    from distributed import Client

    return Client(n_workers=workers, threads_per_worker=1, dashboard_address=None,
                  memory_limit=0, silence_logs=50)  # fmt: skip


def engines(workers: int) -> dict[str, Any]:
    """What sweeps run on."""
    spawned = ProcessPoolExecutor(workers, get_context("spawn"))  # threads do not fork
    return {"processes": spawned, "dask": dask(workers)}


def close(engine: Any) -> None:
    """End its workers."""
    engine.shutdown() if isinstance(engine, Executor) else engine.close()


def nothing(chunk: Any) -> dict[str, Any]:
    """A run that does nothing."""
    return {"y": chunk["x"]}


def efficiency(rounds: int) -> list[dict[str, Any]]:
    """Chunks of about a second: samples a second beside the bare simulation."""
    model = mozzi_model("panda")
    names = {f"{b}.density": mz.Uniform(0.8, 1.2) for b in model.bodies[:7]}
    run = mz.Rollout(model, 0.5, 1e-3)
    n, rows = run.chunk, []
    chunk = {name: np.random.default_rng(0).uniform(0.8, 1.2, n) for name in names}
    for workers in (1, 2):
        made = engines(workers)
        for engine in made.values():  # load the kernels
            mz.sweep(run, names, engine, chunk=8, samples=8 * workers, seed=0)
        mz.set_num_threads(workers)
        calls: dict[str, Callable[[], object]] = {
            "bare": lambda: run({k: np.tile(x, CHUNKS) for k, x in chunk.items()})
        }
        for name, engine in made.items():
            calls[name] = lambda engine=engine: mz.sweep(
                run, names, engine, chunk=n, samples=n * CHUNKS, seed=0
            )
        times = best(calls, rounds)
        mz.set_num_threads(None)
        for engine in made.values():
            close(engine)
        rows.append({
            "workers": workers, "chunk": n, "chunk_s": times["bare"] * workers / CHUNKS,
            **{f"{k}_per_s": n * CHUNKS / x for k, x in times.items()},
            **{f"{k}_efficiency": times["bare"] / x for k, x in times.items() if k != "bare"},
        })  # fmt: skip
    return rows


def overhead() -> list[dict[str, Any]]:
    """Milliseconds of a chunk that does nothing, of 200: on 1 and 2 workers, with a store or not;
    and where every chunk is a message of its own.
    """
    rows: list[dict[str, Any]] = []
    for workers in (1, 2):
        made = {"this process": None, **engines(workers)}
        for name, engine in made.items():
            mz.sweep(nothing, {"x": np.arange(10.0)}, engine, chunk=1)
            for stored in (False, True):
                ms = 1e3 * min(_empty(engine, stored) for _ in range(8))  # others' work is none
                rows.append({"engine": name, "workers": workers, "store": stored, "ms": ms})
            if engine is not None:
                together, driver.MOST = driver.MOST, 1
                ms = 1e3 * min(_empty(engine, False) for _ in range(4))
                rows.append({"engine": name, "workers": workers, "messages": "each", "ms": ms})
                driver.MOST = together
                close(engine)
    return rows


def _empty(engine: Any, stored: bool) -> float:
    """Seconds of a chunk."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "a.zarr" if stored else None
        start = time.perf_counter()
        mz.sweep(nothing, {"x": np.arange(float(EMPTY))}, engine, 1, store)
        return (time.perf_counter() - start) / EMPTY


def bandwidth() -> dict[str, float]:
    """Bytes a second that one job writes to a store on this disk."""
    size, n = 2**21, 4

    def large(chunk: Any) -> dict[str, Any]:
        return {"y": np.random.default_rng(0).normal(size=(len(chunk["x"]), size))}

    with tempfile.TemporaryDirectory() as folder:
        plain = best({"run": lambda: mz.sweep(large, {"x": np.arange(n)}, chunk=1)}, 2)["run"]
        start = time.perf_counter()
        mz.sweep(large, {"x": np.arange(n)}, chunk=1, store=Path(folder) / "a.zarr")
        seconds = time.perf_counter() - start - plain
    return {"bytes_per_s": 8.0 * size * n / max(seconds, 1e-9)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="alternations")
    parser.add_argument("--only", nargs="*", help="parts to measure; the others stay as kept")
    parser.add_argument("--no-save", action="store_true", help="print only")
    options = parser.parse_args()
    result: dict[str, Any] = {"machine": machine() | {"threads": len(os.sched_getaffinity(0))}}
    parts: dict[str, Callable[[], Any]] = {
        "parameters": partial(parameters, options.rounds),
        "efficiency": partial(efficiency, options.rounds), "overhead": overhead, "store": bandwidth,
    }  # fmt: skip
    result["measured"] = {}
    if options.only:
        result |= {k: x for k, x in newest("sweep").items() if k in ("measured", *parts)}
    for name, part in parts.items():
        if not options.only or name in options.only:
            result[name] = part()
            date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            result["measured"][name] = {"date": date, "load": os.getloadavg()[0]}
    for part, rows in result.items():
        for row in rows if isinstance(rows, list) else [rows]:
            print(part, json.dumps({k: round(x, 4) if isinstance(x, float) else x
                                    for k, x in row.items()}), flush=True)  # fmt: skip
    if not options.no_save:
        print("saved", save("sweep", result).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
