"""`python -m benchmarks.gpu_calls`: what a call of a GPU costs before it returns, µs; prints JSON.

Panda, float32, a batch of 256, not waiting for the result. Beside it an operation of PyTorch's own
and its gradient, an empty launch, and the same calls recorded once as a CUDA graph and replayed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, save, states
from benchmarks.gpu_models import unpack

BATCH = 256
RUNS, CALLS = 30, 100


def microseconds(run: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """A call, as the median over runs of so many calls that no queue fills."""
    for _ in range(20):
        run()
    wait()
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        for _ in range(CALLS):
            run()
        times.append((time.perf_counter() - start) / CALLS)
        wait()
    return float(np.median(times) * 1e6)


def calls(model: Any) -> dict[str, Callable[[], Any]]:
    """The calls by what they are."""
    import cupy
    import torch

    names = {"id": ("q", "v", "a"), "step": ("q", "v")}
    numbers = {k: states(model, n, BATCH, "float32") for k, n in names.items()}
    cu = {k: [cupy.asarray(x) for x in xs] for k, xs in numbers.items()}
    to = {k: [torch.asarray(x, device="cuda") for x in xs] for k, xs in numbers.items()}
    asked = [x.clone().requires_grad_() for x in to["id"]]
    kernel = mz.compile(mz.inverse_dynamics, model, target="cuda", dtype="float32")
    step: Any = mz.stepper(model, target="cuda", dtype="float32")
    once: Any = mz.stepper(model, target="cuda", dtype="float32", steps=1)
    target = mz.compile(mz.inverse_dynamics, model, target="torch", dtype="float32")
    empty = cupy.RawKernel('extern "C" __global__ void empty() {}', "empty")
    weights = torch.ones_like(target(*to["id"]))

    def gradient() -> Any:
        return torch.autograd.grad(target(*asked), asked, weights)

    def own() -> Any:
        return torch.autograd.grad(asked[0] * asked[1], asked[:2], weights)

    class Nothing(torch.autograd.Function):
        """What a function of Python's costs that computes nothing."""

        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            ctx.save_for_backward(*tensors)
            return tensors[1].new_empty(weights.shape)

        @staticmethod
        def backward(ctx: Any, weights: Any) -> Any:
            return tuple(x.new_empty(x.shape) for x in ctx.saved_tensors)

    def nothing() -> Any:
        return torch.autograd.grad(Nothing.apply(*asked), asked, weights)

    def here(run: Callable[[], Any]) -> Callable[[], Any]:
        """Backwards in the thread that asks, not in that of the device."""

        def alone() -> Any:
            with torch.autograd.set_multithreading_enabled(False):
                return run()

        return alone

    graph = torch.cuda.CUDAGraph()
    out = [torch.empty_like(x) for x in to["step"]]
    once(*to["step"], 0.0, 1e-3, out=out)
    with torch.cuda.graph(graph):
        once(*to["step"], 0.0, 1e-3, out=out)
    wide = [x[:, :7].contiguous() for x in to["id"][:2]]
    return {
        "empty launch by CuPy": lambda: empty((1,), (32,), ()),
        "operation of PyTorch": lambda: wide[0] * wide[1],
        "gradient of PyTorch": own,
        "kernel CuPy": lambda: kernel(*cu["id"]),
        "kernel PyTorch": lambda: kernel(*to["id"]),
        "stepper CuPy": lambda: step(*cu["step"], 0.0, 1e-3, 1),
        "stepper PyTorch": lambda: step(*to["step"], 0.0, 1e-3, 1),
        "one-step stepper PyTorch": lambda: once(*to["step"], 0.0, 1e-3),
        "one-step stepper PyTorch with out": lambda: once(*to["step"], 0.0, 1e-3, out=out),
        "replay of a graph": graph.replay,
        "target torch": lambda: target(*to["id"]),
        "target torch recorded": lambda: target(*asked),
        "target torch gradient": gradient,
        "gradient of nothing": nothing,
        "gradient of PyTorch in this thread": here(own),
        "gradient of nothing in this thread": here(nothing),
        "target torch gradient in this thread": here(gradient),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--profile", default="", help="show where the time of this call goes")
    options = parser.parse_args()
    import torch

    models = unpack(options.models)
    found = calls(models.robots["panda"])
    if options.profile:
        import cProfile

        run = found[options.profile]
        run()
        cProfile.runctx("for _ in range(5000): run()", {}, {"run": run}, sort="tottime")
        return
    rows = []
    for name, run in found.items():
        rows.append({"call": name, "us": microseconds(run, torch.cuda.synchronize)})
        print(rows[-1], flush=True)
    result = {
        "machine": machine() | {"commit": models.commit, "gpu": torch.cuda.get_device_name()},
        "calls": rows,
    }
    print(json.dumps(result, indent=1))
    print("saved", save("gpu_calls", result).name)


if __name__ == "__main__":
    main()
