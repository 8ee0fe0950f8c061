"""`python -m benchmarks.gpu_packed`: packed results on this machine's GPU, and large robots in JAX.

Rates of packed results beside dense ones, float32, measured as `benchmarks.gpu_large` does; and of
the same launches as XLA calls them beside those of the CUDA target. Writes
benchmarks/results/DATE-gpu_packed.json; `--models` as of `benchmarks.gpu`.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks import gpu_models
from benchmarks.__main__ import machine, save
from benchmarks.gpu_large import CALLS, TIMES, seconds

BATCHES = (4096, 65_536)
CASES = (
    ("solo12", "mass_matrix_inverse"),
    ("talos", "mass_matrix_inverse"),
    ("talos", "inverse_dynamics_derivatives"),
    ("talos", "forward_dynamics_derivatives"),
)
IN_JAX = (("solo12", "forward_dynamics_derivatives"), ("talos", "forward_dynamics_derivatives"))


def parts(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def worst(found: Any, exact: Any) -> float:
    """The largest error over the largest number, of the samples that are compared."""
    return max(
        float(np.max(np.abs(np.asarray(y, float) - x)) / np.max(np.abs(x)))
        for y, x in zip(found, parts(exact), strict=True)
    )


def inputs_of(models: Any, robot: str, function: Any, batch: int) -> tuple[list[Any], Any]:
    """Arguments that repeat 512 samples, and what these give on the CPU in float64."""
    sample = models.arguments(robot, function.required, 512, "float32")
    exact = mz.compile(function, models.model(robot))(*(x.astype(float) for x in sample))
    return [np.resize(x, (batch, *x.shape[1:])) for x in sample], exact


def packed(cupy: Any, models: Any, robot: str, function: Any, batch: int) -> dict[str, Any]:
    """The rate of both layouts."""
    given, exact = inputs_of(models, robot, function, batch)
    inputs = [cupy.asarray(x) for x in given]
    row: dict[str, Any] = {"robot": robot, "function": function.__name__, "batch": batch}
    for layout in ("packed", "dense"):
        kernel: Any = mz.compile(
            function, models.model(robot), target="cuda", dtype="float32", layout=layout
        )
        out = kernel(*inputs)
        some = [cupy.asnumpy(y[:512]) for y in parts(out)]
        if layout == "packed":
            row["numbers"] = sum(x.size for x in kernel.packings)
            row["of"] = sum(x.places.size for x in kernel.packings)
            some = [p.dense(y) for p, y in zip(kernel.packings, some, strict=True)]
        row[f"{layout}_error"] = worst(some, exact)
        times = seconds(cupy, partial(kernel, *inputs, out=out))
        row[layout] = batch / float(np.median(times))
        row[f"{layout}_slowest"], row[f"{layout}_fastest"] = batch / times[-1], batch / times[0]
        del out
        cupy.get_default_memory_pool().free_all_blocks()
    return row


def in_jax(cupy: Any, models: Any, robot: str, function: Any, batch: int) -> dict[str, Any]:
    """The rate of the CUDA target and of JAX, calls one after the other, results in new memory."""
    import jax

    given, exact = inputs_of(models, robot, function, batch)
    model = models.model(robot)
    kernel: Any = mz.compile(function, model, target="cuda", dtype="float32")
    times = seconds(cupy, partial(kernel, *(cupy.asarray(x) for x in given)))
    row = {"robot": robot, "function": function.__name__, "batch": batch,
           "cuda": batch / float(np.median(times))}  # fmt: skip
    cupy.get_default_memory_pool().free_all_blocks()
    called = jax.jit(mz.compile(function, model, target="jax", dtype="float32"))
    inputs = [jax.numpy.asarray(x) for x in given]
    start = time.perf_counter()
    found = jax.block_until_ready(called(*inputs))
    row["first_call_seconds"] = time.perf_counter() - start
    row["error"] = worst([y[:512] for y in found], exact)
    del found
    taken = []
    for _ in range(2 + TIMES):
        start = time.perf_counter()
        for _ in range(CALLS):
            found = called(*inputs)
        jax.block_until_ready(found)
        taken.append((time.perf_counter() - start) / CALLS)
    row["jax"] = batch / float(np.median(taken[2:]))
    return row


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_packed", description=__doc__)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    import cupy

    models = gpu_models.unpack(options.models)
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    result: dict[str, Any] = {
        "machine": machine() | {"commit": models.commit, "gpu": name}, "packed": [], "jax": [],
    }  # fmt: skip
    for what, cases, measure in (("packed", CASES, packed), ("jax", IN_JAX, in_jax)):
        for robot, function in cases:
            for batch in BATCHES:
                row = measure(cupy, models, robot, getattr(mz, function), batch)
                print({n: float(f"{x:.4g}") if isinstance(x, float) else x for n, x in row.items()},
                      flush=True)  # fmt: skip
                result[what].append(row)
                if options.out:
                    options.out.write_text(json.dumps(result, indent=1))
    if not options.out:
        save("gpu_packed", result)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
