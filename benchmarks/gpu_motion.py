"""Simulations on the GPU: many steps in a launch, `simulate` as a whole, mechanisms with loops."""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.gpu_models import Models

SIMULATIONS: list[dict[str, Any]] = [
    {"robot": "panda", "method": "rkmk4", "dtype": "float32", "bar": 1.5e9},
    {"robot": "panda", "method": "rkmk4", "dtype": "float32", "torque": "feedback"},
    {"robot": "panda", "method": "rkmk4", "dtype": "float32", "records": 10},
    {"robot": "panda", "method": "rkmk4", "dtype": "float64"},
    {"robot": "panda", "method": "semi_implicit", "dtype": "float32"},
]
LAWS = {"feedback": lambda t, q, v: -20.0 * q - 4.0 * v}
WHOLE = [
    (method, dtype)
    for method in ("rkmk4", "semi_implicit", "generalized_alpha", "momentum", "dopri5")
    for dtype in ("float32", "float64")
    if (method, dtype) != ("dopri5", "float32")
]


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


def error_of(found: Any, exact: Any) -> float:
    """The largest error over the largest number, of results one by one; the largest of these."""
    pairs = zip(found, exact, strict=True)
    return max(float(np.max(np.abs(y - x)) / np.max(np.abs(x))) for y, x in pairs)


def simulation(cupy: Any, case: dict[str, Any], models: Models, limit: Any) -> dict[str, Any]:
    """100 steps of a million samples in one launch."""
    model, batch, steps, dt = models.robots[case["robot"]], 2**20, 100, 1e-3
    records = case.get("records")
    law = LAWS.get(case.get("torque", ""))
    make = partial(mz.stepper, model, case["method"], law, records=records)
    kernel = make(target="cuda", dtype=case["dtype"])
    each = float(steps // (records or 1))
    sample = models.arguments(case["robot"], ("q", "v"), 1024, "float64")
    exact = make()(*sample, 0.0, dt, each)
    inputs = [cupy.asarray(np.resize(x, (batch, x.shape[1])).astype(case["dtype"])) for x in sample]
    numbers = [cupy.asarray(np.full((), x, case["dtype"])) for x in (0.0, dt, each)]
    out = kernel(*inputs, *numbers)
    error = error_of([cupy.asnumpy(y[:1024]) for y in out], exact)
    time = seconds(cupy, partial(kernel, *inputs, *numbers, out=out), 20)
    stages = 4 if case["method"] == "rkmk4" else 1
    row = {
        **case, "batch": batch, "steps": steps, "steps_per_second": batch * steps / time,
        "relative_error": error, "operations": kernel.flops,
        "operations_share": kernel.flops * stages * batch * steps / time / limit[case["dtype"]],
        **asdict(kernel.strided.report()),
    }  # fmt: skip
    print(row, flush=True)
    return row


def whole(case: tuple[str, str], models: Models) -> dict[str, Any]:
    """`simulate` of pandas over half a second, from the call to the trajectory, whose records are
    the beginning and the end.
    """
    method, dtype = case
    model, batch, few, steps = models.robots["panda"], 2**17, 256, 500
    sample = models.arguments("panda", ("q", "v"), 4096, "float64")
    q, v = (np.resize(x, (batch, x.shape[1])) for x in sample)
    run = partial(mz.simulate, model, duration=0.5, dt=1e-3, method=method, record_every=steps)
    there = partial(run, q, v, target="cuda", dtype=dtype)
    exact, found = run(q[:few], v[:few]), there()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        there()
        times.append(time.perf_counter() - start)
    less = 2**13
    run(q[:few], v[:few], dtype=dtype)
    start = time.perf_counter()
    run(q[:less], v[:less], dtype=dtype)
    row = {
        "method": method, "dtype": dtype, "batch": batch, "steps": steps,
        "motions_per_second": batch / float(np.median(times)),
        "cpu_motions_per_second": less / (time.perf_counter() - start),
        "relative_error": error_of((found.q[:few], found.v[:few]), (exact.q, exact.v)),
    }  # fmt: skip
    print(row, flush=True)
    return row


def loops(cupy: Any, name: str, dtype: str, models: Models) -> dict[str, Any]:
    """Forward dynamics of a mechanism with loops, and steps that stay on them."""
    model, batch, steps = models.model(name), 2**20, 20
    sample = models.arguments(name, ("q", "v", "tau"), 512, "float64")
    single = [x.astype(dtype).astype(np.float64) for x in sample]  # the same numbers on both sides
    inputs = [cupy.asarray(np.resize(x, (batch, x.shape[1])).astype(dtype)) for x in sample]
    kernel = mz.compile(mz.forward_dynamics, model, target="cuda", dtype=dtype)
    out = kernel(*inputs)
    error = error_of([cupy.asnumpy(out[:512])], [mz.forward_dynamics(model, *single)])
    rate = batch / seconds(cupy, partial(kernel, *inputs, out=out), 20)
    row = {
        "mechanism": name, "dtype": dtype, "batch": batch, "per_second": rate,
        "rows": len(mz.loop_residual(model, single[0][0])), "relative_error": error,
        "operations": kernel.flops, **kernel.report(),
    }  # fmt: skip
    if model.nb <= 20:
        make = partial(mz.stepper, model, "rkmk4")
        step = make(target="cuda", dtype=dtype)
        few = [x[: 2**17] for x in inputs[:2]]
        numbers = [cupy.asarray(np.full((), x, dtype)) for x in (0.0, 1e-3, steps)]
        moved = step(*few, *numbers)
        exact = make()(*single[:2], 0.0, 1e-3, steps)
        q = cupy.asnumpy(moved[0][:512]).astype(np.float64)
        pace = seconds(cupy, partial(step, *few, *numbers, out=moved), 10)
        row |= {
            "steps_per_second": 2**17 * steps / pace,
            "steps_error": error_of([cupy.asnumpy(x[:512]) for x in moved], exact),
            "gap": float(np.max(np.abs(mz.loop_residual(model, q)))),
        }
    print(row, flush=True)
    cupy.get_default_memory_pool().free_all_blocks()
    return row
