"""Small batches, batches of all sizes with peers, and the accuracy of float32 on the GPU."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import states

SIZES = [1, 16, 256, 4096, 65536, 2**20, 2**22]
FRAX_SIZES = [1, 256, 4096, 65536, 2**20]  # it compiles for each
FUNCTIONS = ("inverse_dynamics", "forward_dynamics")
ACCURACY = [
    "forward_kinematics", "inverse_dynamics", "forward_dynamics", "mass_matrix",
    "mass_matrix_inverse", "coriolis_matrix", "bias_forces", "gravity_forces", "kinetic_energy",
    "potential_energy", "momentum", "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
]  # fmt: skip


@cache
def frax_panda() -> Any:
    from frax import load_panda

    return load_panda()


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
        if importlib.util.find_spec("frax") and batch in FRAX_SIZES:
            robot = frax_panda()
            up = np.array([0, 0, 9.81, 0, 0, 0], np.float32)
            peer = {
                "inverse_dynamics": lambda q, v, a: robot.rnea(q, v, a, up, None),
                "forward_dynamics": lambda q, v, tau: robot.forward_dynamics(q, v, tau, None),
            }[name]
            batched = jax.jit(jax.vmap(peer))
            yield "frax", lambda: jax.block_until_ready(batched(*there))


def latency(cupy: Any, model: Any) -> list[dict[str, Any]]:
    """What a call from Python costs, and waiting for it."""
    rows = []
    kernel = mz.compile(mz.inverse_dynamics, model, target="cuda", dtype="float32")
    inputs = [cupy.asarray(x) for x in states(model, ("q", "v", "a"), 256, "float32")]
    out = kernel(*inputs)
    stream = cupy.cuda.get_current_stream()
    for who, run in (
        ("call, not waiting", lambda: kernel(*inputs)),
        ("call with out, not waiting", lambda: kernel(*inputs, out=out)),
        ("only waiting", stream.synchronize),
    ):
        rows.append({"batch": 256, "who": who, "microseconds": median(run) * 1e6})
        stream.synchronize()
        print(rows[-1], flush=True)
    return rows


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


def gradients(model: Any) -> list[dict[str, Any]]:
    """Forward dynamics and the gradient of a sum by all its arguments, a million samples."""
    import jax
    import torch

    batch = 2**20
    arrays = [
        np.resize(x, (batch, x.shape[1])) for x in states(model, ("q", "v", "tau"), 4096, "float32")
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
        "mozzi jax": lambda: jax.block_until_ready(slopes(*there)),
    }
    rows = [{"who": n, "batch": batch, "per_second": batch / median(f)} for n, f in runs.items()]
    print(rows, flush=True)
    return rows


def accuracy(cupy: Any, models: Any) -> list[dict[str, Any]]:
    """float32 on the GPU against float64 on the CPU, of the same float32 arguments.

    error: per sample, the largest error over the largest number of the result; its median and
    largest over 4096 samples.
    """
    rows = []
    for robot, model in models.items():
        for name in ACCURACY:
            function = getattr(mz, name)
            single = states(model, function.required, 4096, "float32")
            exact = mz.compile(function, model)(*(x.astype(np.float64) for x in single))
            kernel = mz.compile(
                function, model, target="cuda", dtype="float32", rolled=_rolled(model)
            )
            found = kernel(*map(cupy.asarray, single))
            pairs = zip(*(x if isinstance(x, tuple) else (x,) for x in (exact, found)), strict=True)
            errors = np.max([_errors(x, cupy.asnumpy(y)) for x, y in pairs], axis=0)
            rows.append(
                {"robot": robot, "function": name, "median": float(np.median(errors)),
                 "largest": float(np.max(errors))}
            )  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def _rolled(model: Any) -> bool | None:
    return True if model.nb > 20 else None  # loops: quick to compile


def _errors(exact: np.ndarray, found: np.ndarray) -> np.ndarray:
    axes = tuple(range(1, exact.ndim))
    scale = np.max(np.abs(exact), axis=axes) if axes else np.abs(exact)
    error = np.abs(found - exact)
    return (np.max(error, axis=axes) if axes else error) / scale
