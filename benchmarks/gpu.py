"""`python -m benchmarks.gpu`: the accelerator targets on this machine's GPU.

`--pack FILE` writes the robots to a file on a machine that has them (and no GPU), `--models FILE`
reads them on one that has a GPU. Results are checked against float64 on the CPU before they are
timed. Parts: throughput (large batches, beside their bars), simulation (many steps in
a launch), whole (`simulate` from call to trajectory), loops (mechanisms with loops), launch (shapes
of a launch), gradients (through PyTorch and JAX), accuracy (float32 against
float64), sweep (throughput against batch size). Peers are run by
`benchmarks.gpu_peers`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks import gpu_accuracy, gpu_launch, gpu_models, gpu_motion, gpu_sweep
from benchmarks.__main__ import machine, save
from benchmarks.gpu_motion import seconds

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


def throughput(cupy: Any, case: dict[str, Any], models: Any, limit: Any) -> dict[str, Any]:
    """One function on a large batch, called through the public API with `out=`."""
    function, model = getattr(mz, case["function"]), models.robots[case["robot"]]
    best: dict[str, Any] = {}
    for rolled in (False, True) if model.nb > 20 else (False,):
        kernel = mz.compile(function, model, target="cuda", dtype=case["dtype"], rolled=rolled)
        sample = models.arguments(case["robot"], function.required, 4096, "float64")
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
        if not best or row["per_second"] > best["per_second"]:
            best = row
        inputs = out = found = ()
        cupy.get_default_memory_pool().free_all_blocks()
    print(best, flush=True)
    return best


def driver() -> str:
    """The version of NVIDIA's driver."""
    words = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[0]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--models", type=Path)
    parser.add_argument(
        "--out", type=Path, help="write the JSON here instead of benchmarks/results"
    )
    parser.add_argument("--only", default="", help="run the parts and cases whose name holds this")
    options = parser.parse_args()
    if options.pack:
        gpu_models.pack(options.pack)
        return 0
    import cupy

    models = gpu_models.unpack(options.models)
    limit = limits(cupy)
    result: dict[str, Any] = {
        "machine": machine(),
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "driver": driver(),
        "limits": limit,
    }
    result["machine"]["commit"] = models.commit
    for package in ("cupy", "torch", "jax"):
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

    keep("accuracy", gpu_accuracy.accuracy, cupy, models)  # before JAX takes memory for itself
    for case in CASES:
        label = f"{case['function']} {case['robot']} {case['dtype']}"
        keep("throughput", throughput, cupy, case, models, limit, label=label)
    for case in gpu_motion.SIMULATIONS:
        label = " ".join(str(x) for x in case.values())
        keep("simulation", gpu_motion.simulation, cupy, case, models, limit, label=label)
    for case in gpu_motion.WHOLE:
        keep("whole", gpu_motion.whole, case, models, label=" ".join(case))
    for name in models.closed:
        for dtype in ("float32", "float64"):
            keep("loops", gpu_motion.loops, cupy, name, dtype, models, label=f"{name} {dtype}")
    keep("launch", gpu_launch.shapes, cupy, models)
    for robot in ("panda", "talos"):
        keep("gradients", gpu_sweep.gradients, models, robot, label=robot)
    keep("sweep", gpu_sweep.sweep, cupy, models.robots["panda"])
    if not options.out:
        print("saved", save("gpu", result).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
