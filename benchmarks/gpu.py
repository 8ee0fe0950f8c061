"""`python -m benchmarks.gpu`: the accelerator targets on this machine's GPU.

`--pack FILE` writes the robots to a file on a machine that has them (and no GPU), `--models FILE`
reads them on one that has a GPU. Results are checked against float64 on the CPU before they are
timed. Parts: throughput (large batches, beside their bars), simulation, latency (of a call),
gradients (through PyTorch and JAX), accuracy (float32 against float64), sweep (throughput against
batch size, with peers).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import pickle
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, save, states

ROBOTS = ("panda", "talos")
LARGE = 4_194_304
CASES: list[dict[str, Any]] = [
    {"function": "inverse_dynamics", "robot": "panda", "dtype": "float32", "bar": 15e9},
    {"function": "inverse_dynamics", "robot": "panda", "dtype": "float64", "bar": 6e9},
    {"function": "forward_dynamics", "robot": "panda", "dtype": "float32", "bar": 9e9},
    {"function": "forward_dynamics", "robot": "panda", "dtype": "float64", "bar": 4e9},
    {"function": "inverse_dynamics", "robot": "talos", "dtype": "float32", "bar": 0.6e9},
    {"function": "forward_dynamics", "robot": "talos", "dtype": "float32", "bar": 0.25e9},
    {"function": "forward_dynamics_derivatives", "robot": "panda", "dtype": "float32",
     "bar": 0.7e9},
    {"function": "inverse_dynamics_derivatives", "robot": "panda", "dtype": "float32"},
    {"function": "forward_kinematics", "robot": "panda", "dtype": "float32"},
    {"function": "mass_matrix", "robot": "panda", "dtype": "float32"},
]  # fmt: skip
SIMULATIONS: list[dict[str, Any]] = [
    {"robot": "panda", "method": "rkmk4", "dtype": "float32", "bar": 1.5e9},
    {"robot": "panda", "method": "rkmk4", "dtype": "float32", "torque": "feedback"},
    {"robot": "panda", "method": "rkmk4", "dtype": "float32", "records": 10},
    {"robot": "panda", "method": "rkmk4", "dtype": "float64"},
    {"robot": "panda", "method": "semi_implicit", "dtype": "float32"},
]
LAWS = {"feedback": lambda t, q, v: -20.0 * q - 4.0 * v}


def seconds(cupy: Any, run: Any, repeat: int) -> float:
    """Median time of a call on the device."""
    times = []
    for _ in range(3):
        run()
    for _ in range(repeat):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        run()
        stop.record()
        stop.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, stop) * 1e-3)
    return float(np.median(times))


_FMA = """
extern "C" __global__ void fma_chains(T* y, int n) {
  T a[8], x = threadIdx.x * (T)1e-6;
  for (int i = 0; i < 8; ++i) a[i] = i;
  for (int k = 0; k < n; ++k)
    #pragma unroll
    for (int i = 0; i < 8; ++i) a[i] = a[i] * x + (T)0.5;
  T sum = 0;
  for (int i = 0; i < 8; ++i) sum += a[i];
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}"""


def limits(cupy: Any) -> dict[str, float]:
    """What this card does at best: bytes of a copy (reads and writes), operations of fused
    multiply-adds (two each), per second.
    """
    x = cupy.zeros(2**28, np.float32)
    y = cupy.empty_like(x)
    found = {"bytes": 2 * x.nbytes / seconds(cupy, lambda: cupy.copyto(y, x), 20)}
    blocks, steps = 132 * 32, 4096
    for T in ("float", "double"):
        kernel = cupy.RawKernel(f"typedef {T} T;{_FMA}", "fma_chains")
        out = cupy.empty(blocks * 256, f"float{32 if T == 'float' else 64}")
        time = seconds(cupy, partial(kernel, (blocks,), (256,), (out, np.int32(steps))), 10)
        found[out.dtype.name] = 2 * 8 * steps * out.size / time
    return found


def throughput(cupy: Any, case: dict[str, Any], model: Any, limit: Any) -> dict[str, Any]:
    """One function on a large batch, called through the public API with `out=`."""
    function = getattr(mz, case["function"])
    best: dict[str, Any] = {}
    for rolled in (False, True) if model.nb > 20 else (False,):
        kernel = mz.compile(function, model, target="cuda", dtype=case["dtype"], rolled=rolled)
        sample = states(model, function.required, 4096, "float64")
        exact = mz.compile(function, model)(*sample)
        inputs = [
            cupy.asarray(np.resize(x, (LARGE, x.shape[1])).astype(case["dtype"])) for x in sample
        ]
        out = kernel(*inputs)
        found = out if isinstance(out, tuple) else (out,)
        error = max(
            float(np.max(np.abs(cupy.asnumpy(y[:4096]) - x)) / np.max(np.abs(x)))
            for x, y in zip(exact if isinstance(exact, tuple) else (exact,), found, strict=True)
        )
        time = seconds(cupy, partial(kernel, *inputs, out=out), 20)
        moved = sum(x.nbytes for x in (*inputs, *found))
        row = {
            **case, "rolled": rolled, "batch": LARGE,
            "per_second": LARGE / time, "relative_error": error,
            "bytes": moved, "bytes_share": moved / time / limit["bytes"],
            "operations": kernel.flops,
            "operations_share": kernel.flops * LARGE / time / limit[case["dtype"]],
            **kernel.report(),
        }  # fmt: skip
        print(row, flush=True)
        if not best or row["per_second"] > best["per_second"]:
            best = row
        inputs = out = found = ()
        cupy.get_default_memory_pool().free_all_blocks()
    return best


def simulation(cupy: Any, case: dict[str, Any], model: Any, limit: Any) -> dict[str, Any]:
    """100 steps of a million samples in one launch."""
    batch, steps, dt = 2**20, 100, 1e-3
    records = case.get("records")
    law = LAWS.get(case.get("torque", ""))
    make = partial(mz.stepper, model, case["method"], law, records=records)
    kernel = make(target="cuda", dtype=case["dtype"])
    each = float(steps // (records or 1))
    sample = states(model, ("q", "v"), 1024, "float64")
    exact = make()(*sample, 0.0, dt, each)
    inputs = [cupy.asarray(np.resize(x, (batch, x.shape[1])).astype(case["dtype"])) for x in sample]
    numbers = [cupy.asarray(np.full((), x, case["dtype"])) for x in (0.0, dt, each)]
    out = kernel(*inputs, *numbers)
    error = max(
        float(np.max(np.abs(cupy.asnumpy(y[:1024]) - x)) / np.max(np.abs(x)))
        for x, y in zip(exact, out, strict=True)
    )
    time = seconds(cupy, partial(kernel, *inputs, *numbers, out=out), 20)
    stages = 4 if case["method"] == "rkmk4" else 1
    row = {
        **case, "batch": batch, "steps": steps, "steps_per_second": batch * steps / time,
        "relative_error": error, "operations": kernel.flops,
        "operations_share": kernel.flops * stages * batch * steps / time / limit[case["dtype"]],
        **kernel.strided.report(0),
    }  # fmt: skip
    print(row, flush=True)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--models", type=Path)
    parser.add_argument(
        "--out", type=Path, help="write the JSON here instead of benchmarks/results"
    )
    parser.add_argument("--only", default="", help="run the parts and cases whose name holds this")
    options = parser.parse_args()
    from benchmarks import gpu_sweep

    if options.pack:
        from benchmarks.robots import mozzi_model

        options.pack.parent.mkdir(parents=True, exist_ok=True)
        packed = {"commit": machine()["commit"], **{name: mozzi_model(name) for name in ROBOTS}}
        options.pack.write_bytes(pickle.dumps(packed))
        return 0
    import cupy

    if options.models:
        models = pickle.loads(options.models.read_bytes())
    else:
        from benchmarks.robots import mozzi_model

        models = {name: mozzi_model(name) for name in ROBOTS}
    limit = limits(cupy)
    result: dict[str, Any] = {
        "machine": machine(),
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "driver": cupy.cuda.runtime.driverGetVersion(),
        "limits": limit,
    }
    if "commit" in models:
        result["machine"]["commit"] = models.pop("commit")
    for package in ("cupy", "torch", "jax", "frax"):
        if importlib.util.find_spec(package):
            module = importlib.import_module(package)
            version = getattr(module, "__version__", None) or importlib.metadata.version(package)
            result["machine"][package] = version
    print(result, flush=True)

    def keep(part: str, measure: Any, *args: Any, label: str = "") -> None:
        if options.only in f"{part} {label}":
            try:
                row = measure(*args)
            except Exception as error:
                row = {"failed": f"{type(error).__name__}: {error}", "case": label}
                print(part, row, flush=True)
            result.setdefault(part, []).extend(row if isinstance(row, list) else [row])
            if options.out:  # what there is so far, should time run out
                options.out.write_text(json.dumps(result, indent=1) + "\n")

    for case in CASES:
        label = f"{case['function']} {case['robot']} {case['dtype']}"
        keep("throughput", throughput, cupy, case, models[case["robot"]], limit, label=label)
    for case in SIMULATIONS:
        label = " ".join(str(x) for x in case.values())
        keep("simulation", simulation, cupy, case, models[case["robot"]], limit, label=label)
    keep("latency", gpu_sweep.latency, cupy, models["panda"])
    keep("gradients", gpu_sweep.gradients, models["panda"])
    keep("accuracy", gpu_sweep.accuracy, cupy, models)
    keep("sweep", gpu_sweep.sweep, cupy, models["panda"])
    if not options.out:
        print("saved", save("gpu", result).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
