"""`python -m benchmarks.gpu_large`: robots of many bodies and long results on this machine's GPU.

The rate of every case, median of eight; with `--alone` also that of one program of one thread per
sample, where several launches are chosen. Calls are through the public API with `out=`, ten one
after the other, so that what a call costs the host is hidden behind the one before. Writes
benchmarks/results/DATE-large.json; `--models` as of `benchmarks.gpu`.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks import gpu_models
from benchmarks.__main__ import save
from mozzi.targets.cuda.kernel import CudaKernel

BATCHES = (4096, 65_536, 262_144)
BARS = {
    ("talos", "forward_dynamics"): (300e6, 1000e6),
    ("talos", "mass_matrix_inverse"): (60e6, 300e6),
    ("talos", "inverse_dynamics_derivatives"): (40e6, 150e6),
    ("talos", "forward_dynamics_derivatives"): (12e6, 40e6),
    ("solo12", "forward_dynamics_derivatives"): (None, 400e6),
    ("solo12", "mass_matrix_inverse"): (None, 3000e6),
}
OTHERS = (
    ("solo12", "inverse_dynamics_derivatives"),
    ("5 four-bars", "forward_dynamics"),
    ("20 four-bars", "forward_dynamics"),
    ("solo12 on four feet", "forward_dynamics"),
    ("panda", "inverse_dynamics"),
    ("panda", "forward_dynamics"),
    ("panda", "inverse_dynamics_derivatives"),
    ("panda", "forward_dynamics_derivatives"),
)
CALLS, TIMES = 10, 8


def seconds(cupy: Any, run: Any) -> list[float]:
    """Of a call, sorted: `TIMES` times, of `CALLS` calls in a row each."""
    times: list[float] = []
    for _ in range(2 + TIMES):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        for _ in range(CALLS):
            run()
        stop.record()
        stop.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, stop) * 1e-3 / CALLS)
    return sorted(times[2:])


def measured(
    cupy: Any, models: Any, robot: str, function: Any, batch: int, alone: bool
) -> dict[str, Any]:
    """A case: its rate, its error against float64 on the CPU, and what the compiler made of it."""
    model = models.model(robot)
    kernel: Any = mz.compile(function, model, target="cuda", dtype="float32")
    sample = models.arguments(robot, function.required, 512, "float32")
    exact = mz.compile(function, model)(*(x.astype(float) for x in sample))
    inputs = [cupy.asarray(np.resize(x, (batch, *x.shape[1:]))) for x in sample]
    out = kernel(*inputs)
    pairs = zip(*(x if isinstance(x, tuple) else (x,) for x in (out, exact)), strict=True)
    error = max(
        float(np.max(np.abs(cupy.asnumpy(y[:512]) - x)) / np.max(np.abs(x))) for y, x in pairs
    )
    times = seconds(cupy, partial(kernel, *inputs, out=out))
    row = {
        "robot": robot, "function": function.__name__, "dtype": "float32", "batch": batch,
        "per_second": batch / float(np.median(times)), "slowest": batch / times[-1],
        "fastest": batch / times[0], "relative_error": error,
        "launches": len(getattr(kernel, "parts", ())) + 1 if hasattr(kernel, "parts") else 1,
    }  # fmt: skip
    if alone and hasattr(kernel, "parts") and batch == BATCHES[1] and not kernel.program.rolled:
        one = CudaKernel(kernel.program, "float32")
        row["alone"] = batch / float(np.median(seconds(cupy, partial(one, *inputs, out=out))))
    return row | kernel.report()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_large", description=__doc__)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    options = parser.parse_args()
    import cupy

    models = gpu_models.unpack(options.models)
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    result: dict[str, Any] = {"gpu": name, "commit": models.commit, "rates": []}
    for robot, function in (*BARS, *OTHERS):
        if options.only not in f"{robot} {function}":
            continue
        for k, batch in enumerate(BATCHES):
            row = measured(cupy, models, robot, getattr(mz, function), batch, options.alone)
            row["bar"] = BARS.get((robot, function), (None, None))[k] if k < 2 else None
            print({n: float(f"{x:.4g}") if isinstance(x, float) else x for n, x in row.items()},
                  flush=True)  # fmt: skip
            result["rates"].append(row)
            if options.out:
                options.out.write_text(json.dumps(result, indent=1))
            cupy.get_default_memory_pool().free_all_blocks()
    if not options.out:
        save("large", result)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
