"""Shapes of a launch: blocks of 64, 128 and 256 threads with the registers that the compiler likes,
and of 64 and 128 with as few as let 128 more threads onto a multiprocessor.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.gpu_models import Models
from mozzi.targets.cuda.nvidia import Function, machine_code
from mozzi.targets.cuda.source import CudaSource

BATCH, STEPS = 2**21, 20
SHARED = 48 * 1024  # bytes of a block, at most
CASES = [
    *((f, "panda", d) for f in ("inverse_dynamics", "forward_dynamics", "mass_matrix",
      "forward_dynamics_derivatives") for d in ("float32", "float64")),
    ("inverse_dynamics", "talos", "float32"),
    ("inverse_dynamics", "talos", "float64"),
    ("forward_dynamics", "talos", "float32"),
    ("stepper", "panda", "float32"),
    ("stepper", "panda", "float64"),
]  # fmt: skip


def shapes(cupy: Any, models: Models) -> list[dict[str, Any]]:
    """All cases; the compiler works on all at once."""
    kernels = {}
    for name, robot, dtype in CASES:
        model = models.robots[robot]
        if name == "stepper":
            kernels[name, robot, dtype] = mz.stepper(model, target="cuda", dtype=dtype)
        else:
            made = mz.compile(getattr(mz, name), model, target="cuda", dtype=dtype, rolled=False)
            kernels[name, robot, dtype] = made

    def build(job: Any) -> Any:
        case, block, resident = job
        source = CudaSource(kernels[case].program, case[2], True, resident, block)
        code = machine_code(cupy, source.text)  # here: the compiler works on all at once
        return job, Function(cupy, lambda: code, source.shared, block)

    with ThreadPoolExecutor() as pool:
        free = dict(pool.map(build, [(case, n, 0) for case in kernels for n in (128, 256)]))
        more = [
            (case, block, code.report().blocks + 1)
            for (case, block, _), code in free.items()
            if block == 128
        ]
        codes = free | dict(pool.map(build, more))
        list(pool.map(lambda kernel: kernel.packed, kernels.values()))
    return [row for case in CASES for row in _timed(cupy, models, case, kernels[case], codes)]


def _timed(cupy: Any, models: Models, case: Any, kernel: Any, codes: Any) -> list[dict[str, Any]]:
    name, robot, dtype = case
    batch = BATCH // 8 if name == "stepper" else BATCH
    names = ("q", "v") if name == "stepper" else getattr(mz, name).required
    arrays = models.arguments(robot, names, 4096, dtype)
    inputs = [cupy.asarray(np.resize(x, (batch, x.shape[1]))) for x in arrays]
    if name == "stepper":
        inputs += [cupy.full(batch, x, dtype) for x in (0.0, 1e-3, STEPS)]
    results = [cupy.empty((batch, y.size), dtype) for y in kernel.outputs]
    words = [x.data.ptr for x in (*inputs, *results)]
    rows = []
    chosen = kernel.packed.report()
    for (of, most, resident), code in codes.items():
        for block in (64, 128) if most == 128 else (256,):
            if of != case or block * code.shared > SHARED:
                continue
            code.block = block
            report = code.report()
            large, small = (_seconds(cupy, code, n, words) for n in (batch, 4096))
            row = {"function": name, "robot": robot, "dtype": dtype, "tight": resident > 0,
                   "chosen": report == chosen, "per_second": batch / large,
                   "microseconds_4096": 1e6 * small, **asdict(report)}  # fmt: skip
            print(row, flush=True)
            rows.append(row)
    cupy.get_default_memory_pool().free_all_blocks()
    return rows


def _seconds(cupy: Any, code: Function, n: int, words: list[int]) -> float:
    """Time of a launch, of several in a row; median of five."""
    times = []
    for _ in range(6):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        for _ in range(8):
            code.launch(n, 0, [n, *words])
        stop.record()
        stop.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, stop) * 1e-3 / 8)
    return float(np.median(times[1:]))
