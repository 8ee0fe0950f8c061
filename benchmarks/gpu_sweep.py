"""A call, batches of all sizes, and gradients through PyTorch and JAX."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import states
from benchmarks.gpu_models import Models

SIZES = [1, 16, 256, 4096, 65536, 2**20, 2**22]
FUNCTIONS = ("inverse_dynamics", "forward_dynamics")


def median(run: Callable[[], Any], least: float = 0.1) -> float:
    """Median wall time of a call that waits for its result."""
    for _ in range(3):
        run()
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < 10 or (time.perf_counter() - begin < least and len(times) < 2000):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def callers(cupy: Any, model: Any, name: str, batch: int) -> Iterator[tuple[str, Any]]:
    """(who, function of no arguments that evaluates a batch in float32 and waits)."""
    function = getattr(mz, name)
    arrays = [
        np.resize(x, (batch, *x.shape[1:]))
        for x in states(model, function.required, min(batch, 4096), "float32")
    ]
    if batch <= 2**20:
        kernel = mz.compile(function, model, dtype="float32")
        out = kernel(*arrays)
        yield "mozzi cpu", partial(kernel, *arrays, out=out)
    on_gpu = [cupy.asarray(x) for x in arrays]
    cuda = mz.compile(function, model, target="cuda", dtype="float32")
    stream = cupy.cuda.get_current_stream()
    yield "mozzi cuda", lambda: (cuda(*on_gpu), stream.synchronize())
    if importlib.util.find_spec("torch"):
        import torch

        tensors = [torch.tensor(x, device="cuda") for x in arrays]
        compiled = mz.compile(function, model, target="torch", dtype="float32")
        yield "mozzi torch", lambda: (compiled(*tensors), torch.cuda.synchronize())
    if importlib.util.find_spec("jax"):
        import jax

        traced = mz.compile(function, model, target="jax", dtype="float32")
        there = [jax.device_put(x) for x in arrays]
        yield "mozzi jax", lambda: jax.block_until_ready(traced(*there))


def sweep(cupy: Any, model: Any) -> list[dict[str, Any]]:
    """Throughput against batch size, with the call from Python."""
    rows = []
    for name in FUNCTIONS:
        for batch in SIZES:
            for who, run in callers(cupy, model, name, batch):
                try:
                    per_second = batch / median(run)
                except Exception as error:
                    print(name, batch, who, repr(error)[:300], flush=True)
                    continue
                rows.append(
                    {"function": name, "batch": batch, "who": who, "per_second": per_second}
                )
                print(rows[-1], flush=True)
            cupy.get_default_memory_pool().free_all_blocks()
    return rows


def gradients(models: Models, robot: str) -> list[dict[str, Any]]:
    """Forward dynamics and the gradient of a sum by all its arguments."""
    import jax
    import torch

    model, batch = models.robots[robot], {"panda": 2**20, "talos": 2**16}[robot]
    arrays = [
        np.resize(x, (batch, x.shape[1]))
        for x in models.arguments(robot, ("q", "v", "tau"), 4096, "float32")
    ]
    tensors = [torch.tensor(x, device="cuda", requires_grad=True) for x in arrays]
    kernel = mz.compile(mz.forward_dynamics, model, target="torch", dtype="float32")
    traced = mz.compile(mz.forward_dynamics, model, target="jax", dtype="float32")
    slopes = jax.jit(jax.grad(lambda *x: traced(*x).sum(), argnums=(0, 1, 2)))
    there = [jax.device_put(x) for x in arrays]
    runs = {
        "mozzi torch": lambda: (
            torch.autograd.grad(kernel(*tensors).sum(), tensors),
            torch.cuda.synchronize(),
        ),
    }
    if robot == "panda":  # of talos it compiles for half a minute, again
        runs["mozzi jax"] = lambda: jax.block_until_ready(slopes(*there))
    rows = []
    for who, run in runs.items():
        start = time.perf_counter()
        run()
        first = time.perf_counter() - start
        rate = batch / median(run)
        rows.append({"who": who, "robot": robot, "batch": batch, "per_second": rate,
                     "first_call_seconds": first})  # fmt: skip
        print(rows[-1], flush=True)
    return rows
