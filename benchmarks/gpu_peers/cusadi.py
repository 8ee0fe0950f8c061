"""CusADi, which writes functions of CasADi as CUDA C: a thread evaluates all instructions of a
sample, on work in the device's memory. The functions are mozzi's, as `casadi_function` makes them,
so that both have the same operations; derivatives are CasADi's own.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_peers.case import DERIVATIVES, SAMPLES, Call, Case
from benchmarks.gpu_peers.robots import FIXED

NEEDS = ("cupy",)
LAYOUT = "pinocchio"
ROBOTS = FIXED
FOLDER = Path("out/gpu_peers")


def library(robot: str, function: str) -> Path:
    return FOLDER / f"libcusadi_{robot.replace(' ', '_')}_{function}.so"


def found() -> bool:
    return any(FOLDER.glob("libcusadi_*.so"))


@cache
def _loaded(path: Path) -> tuple[Any, int]:
    """Its function, and how many numbers of work a sample has."""
    return ctypes.CDLL(str(path.resolve())), int(path.with_suffix(".work").read_text())


def call(case: Case, batch: int) -> Call | None:
    import cupy

    path = library(case.robot.name, case.function)
    if not path.exists() or case.robot.free:
        return None
    there, many = _loaded(path)
    given = [cupy.asarray(x) for x in case.arrays(batch)]
    n = given[0].shape[1]
    size = n if case.function in ("inverse_dynamics", "forward_dynamics") else n * n
    outs = [cupy.zeros((batch, size), "float32") for _ in range(1 + (case.function in DERIVATIVES))]
    work = cupy.zeros((batch, many), "float32")
    ins, results = (cupy.asarray([y.data.ptr for y in x], "uint64") for x in (given, outs))
    pointers = [ctypes.c_void_p(x.data.ptr) for x in (ins, work, results)]

    def run() -> Any:
        there.evaluate(*pointers, batch)  # waits
        return outs

    def read(found: Any) -> list[np.ndarray]:
        arrays = [cupy.asnumpy(x[:SAMPLES]) for x in found]
        if size == n:
            return arrays
        return [x.reshape(-1, n, n).transpose(0, 2, 1) for x in arrays]  # columns first

    return Call(run, read)
