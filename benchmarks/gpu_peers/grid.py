"""GRiD, which generates CUDA C++ for a robot: its kernels on arrays on the device, each with the
number of threads in a block that is fastest for it, of those that give right results. Its rows are
q, v (and τ) of a sample together.

Forward dynamics is the faster of its two: M⁻¹ (τ − bias), and articulated bodies. A library of a
robot has them as functions of C with the names of ours (and `forward_dynamics_aba`): pointers to
results, states and accelerations on the device, then samples, blocks and threads; `prepare`, once;
`suggested_threads`. They return the error of CUDA.
"""

from __future__ import annotations

import ctypes
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_peers.case import DERIVATIVES, SAMPLES, Call, Case, error
from benchmarks.gpu_peers.robots import FIXED

NEEDS = ("cupy",)
LAYOUT = "pinocchio"
ROBOTS = FIXED
FOLDER = Path("out/gpu_peers")  # libraries of what it generated
WRONG = 1e-3
THREADS = (32, 64, 96, 128, 256, 512)
BLOCKS = 2**16  # at most; a block takes several samples


def library(robot: str) -> Path:
    return FOLDER / f"libgrid_{robot.replace(' ', '_')}.so"


def found() -> bool:
    return any(FOLDER.glob("libgrid_*.so"))


@cache
def _loaded(robot: str) -> Any:
    there = ctypes.CDLL(str(library(robot).resolve()))
    if wrong := there.prepare():
        raise RuntimeError(f"GRiD: CUDA error {wrong}")
    return there


def call(case: Case, batch: int) -> Call | None:
    import cupy

    if not library(case.robot.name).exists():
        return None
    there = _loaded(case.robot.name)
    q, *rest = case.arrays(batch)
    v = rest[0] if rest else 0 * q
    n = q.shape[1]
    last = [rest[1] if len(rest) > 1 else 0 * q]
    x = cupy.asarray(np.hstack([q, v] + last * (not case.function.startswith("inverse"))))
    a = cupy.asarray(rest[1]) if len(rest) > 1 else x
    sizes = {"mass_matrix": n * n, **dict.fromkeys(DERIVATIVES, 2 * n * n)}
    out = cupy.zeros((batch, sizes.get(case.function, n)), "float32")
    pointers = [ctypes.c_void_p(y.data.ptr) for y in (out, x, a)]

    def launch(name: str, threads: int) -> Any:
        if wrong := getattr(there, name)(*pointers, batch, min(batch, BLOCKS), threads):
            raise RuntimeError(f"GRiD's {name}: CUDA error {wrong}")
        return out

    def read(found: Any) -> list[np.ndarray]:
        y = cupy.asnumpy(found[:SAMPLES])
        if case.function in DERIVATIVES:  # columns first: by q, then by v
            return list(y.reshape(-1, 2, n, n).transpose(1, 0, 3, 2))
        return [y.reshape(-1, n, n) if case.function == "mass_matrix" else y]

    exact = case.exact()

    def timed(name: str, threads: int) -> float:
        """Endless where the results are wrong: some kernels need blocks of one warp."""
        if error(read(launch(name, threads)), exact) > WRONG:
            print("GRiD", case.robot.name, name, "is wrong with", threads, "threads", flush=True)
            return np.inf
        begin = time.perf_counter()
        launch(name, threads)
        return time.perf_counter() - begin

    names = [case.function]
    names += ["forward_dynamics_aba"] if case.function == "forward_dynamics" else []
    shapes = sorted({*THREADS, there.suggested_threads()})
    took, name, threads = min((timed(name, k), name, k) for name in names for k in shapes)
    print("GRiD", case.robot.name, name, batch, "threads", threads, flush=True)
    if not np.isfinite(took):
        raise ValueError("wrong results with blocks of all sizes")
    return Call(lambda: launch(name, threads), read)
