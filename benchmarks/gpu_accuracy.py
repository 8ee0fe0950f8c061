"""float32 on the GPU against float64 on the CPU, of every public algorithm."""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.gpu_models import Models
from mozzi.algorithms.calls.algorithm import Algorithm

SAMPLES = 4096
LARGEST = 18_000  # operations of a program that still compiles in seconds
SOLO = "solo12 on four feet"
CLOSED = (  # not loop_residual, which is zero here: gpu_motion.loops tells how float32 meets it
    "forward_dynamics", "hybrid_dynamics", "loop_acceleration", "loop_forces", "loop_jacobian",
)  # fmt: skip


def algorithms() -> list[str]:
    return [n for n in mz.__all__ if isinstance(getattr(mz, n), Algorithm)]


def options(function: Any, model: Any) -> dict[str, Any]:
    """What an algorithm must be told, and directions for derivatives along one."""
    frame = model.frames[-1]
    known = {"frame": frame, "frames": (frame,), "source": "body", "target": "spatial"}
    chosen = {n: known[n] for n, x in function.defaults.items() if x is inspect.Parameter.empty}
    if "prescribed" in function.defaults:
        chosen["prescribed"] = tuple(model.joint_names[-2:])
    if function.name.endswith("_directional"):
        chosen |= {n: True for n in ("dq", "dv", "da", "dtau") if n in function.arrays}
    return chosen


def accuracy(cupy: Any, models: Models) -> list[dict[str, Any]]:
    """Error of a sample: the largest error over the largest number of the result; median and
    largest over all samples. Arguments are the same float32 numbers.
    """
    jobs, pool = [], ThreadPoolExecutor()
    for robot in ("panda", "talos", SOLO):
        model = models.model(robot)
        for name in CLOSED if robot == SOLO else algorithms():
            function, own = getattr(mz, name), model
            if name.startswith("spring"):
                own = model.with_spring("spring", None, model.nb - 1, stiffness=9.0, damping=2.0)
            settings = {"options": options(function, own), "rolled": True if own.nb > 20 else None}
            kernel = mz.compile(function, own, target="cuda", dtype="float32", **settings)
            if 0 < kernel.flops <= LARGEST:
                made = pool.submit(getattr, kernel, "packed")  # compiled while the CPU's is, here
                jobs.append((robot, name, kernel, made, mz.compile(function, own, **settings)))
    rows = []
    for robot, name, kernel, made, exact in jobs:
        made.result()
        single = models.arguments(robot, [x.name for x in kernel.inputs], SAMPLES, "float32")
        truth = exact(*(x.astype(np.float64) for x in single))
        found = kernel(*map(cupy.asarray, single))
        pairs = zip(*(x if isinstance(x, tuple) else (x,) for x in (truth, found)), strict=True)
        errors = np.max([_errors(x, cupy.asnumpy(y)) for x, y in pairs], axis=0)
        rows.append(
            {"robot": robot, "function": name, "median": float(np.median(errors)),
             "largest": float(np.max(errors)), **kernel.report()}
        )  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def _errors(exact: np.ndarray, found: np.ndarray) -> np.ndarray:
    axes = tuple(range(1, exact.ndim))
    scale = np.max(np.abs(exact), axis=axes) if axes else np.abs(exact)
    error = np.max(np.abs(found - exact), axis=axes) if axes else np.abs(found - exact)
    return np.where(error > 0.0, error / np.maximum(scale, np.finfo(float).tiny), 0.0)
