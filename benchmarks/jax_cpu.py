"""`python -m benchmarks.jax_cpu`: the JAX target on the CPU beside the kernels that it calls.

Cases as data: `bar` is the most that a call, a gradient or the gradient through a scan may cost in
units of what the CPU target takes for the same (for a gradient the kernel and its pullback, which
is what PyTorch runs; for a scan `rollout` and `rollout_gradient`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, save, states
from benchmarks.robots import mozzi_model

CALLS = [
    {"robot": robot, "function": "forward_dynamics", "dtype": dtype, "batch": batch}
    for robot in ("panda", "solo12")
    for dtype in ("float64", "float32")
    for batch in (1, 4096, 65536)
]
BARS = {"call": 1.3, "gradient": 1.5, "scan": 2.0}
SCANS = [{"robot": "panda", "steps": 1000, "batch": batch} for batch in ((), (256,))]


def alternately(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of each, best of `rounds`, measured in turns."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def first(call: Callable[[], object]) -> float:
    """Seconds of the first call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def calls(case: dict[str, Any], rounds: int) -> dict[str, Any]:
    """A call and a gradient under jit, and the same by the CPU kernels with reused results."""
    import jax
    import jax.numpy as jnp

    from mozzi.targets.derivatives import derived, find, register

    model, function = mozzi_model(case["robot"]), getattr(mz, case["function"])
    batch, dtype = case["batch"], case["dtype"]
    inputs = states(model, function.required, batch, dtype)
    kernel = mz.compile(function, model, target="jax", dtype=dtype)
    forward = jax.jit(kernel)
    gradient = jax.jit(jax.grad(lambda *x: jnp.sum(kernel(*x) ** 2), argnums=(0, 1, 2)))
    there = [jnp.asarray(x) for x in inputs]
    run = lambda f: jax.block_until_ready(f(*there))
    compile_s, gradient_s = (first(lambda f=f: run(f)) for f in (forward, gradient))
    compiled = {"compile_s": compile_s, "gradient_s": gradient_s}
    cpu = mz.compile(function, model, dtype=dtype)
    back = find(derived(register(kernel.program, dtype), "back", (1, 1, 1))).cpu
    out = cpu(*inputs)
    pulled = back(*inputs, out)

    def both() -> None:
        cpu(*inputs, out=out)
        back(*inputs, out, out=pulled)

    best = alternately(
        {
            "kernel": lambda: cpu(*inputs, out=out), "jax": lambda: run(forward),
            "kernels": both, "gradient": lambda: run(gradient),
        },
        5 * rounds,
    )  # fmt: skip
    ns = {f"{name}_ns": 1e9 * x / batch for name, x in best.items()}
    ratios = {
        "call_ratio": best["jax"] / best["kernel"],
        "gradient_ratio": best["gradient"] / best["kernels"],
    }
    return {**case, **compiled, **ns, **ratios}


def scan(case: dict[str, Any], rounds: int) -> dict[str, Any]:
    """The gradient of a cost through `lax.scan` over steps, and by `rollout_gradient`."""
    import jax
    import jax.numpy as jnp

    model, batch, dt = mozzi_model(case["robot"]), case["batch"], 1e-3
    rng = np.random.default_rng(0)
    q0, v0 = rng.normal(size=(2, *batch, model.nv))
    tau = rng.normal(size=(case["steps"], *batch, model.nv))
    dynamics = mz.compile(mz.forward_dynamics, model, target="jax")

    def step(state: Any, force: Any) -> Any:
        q, v = state
        v = v + dt * dynamics(q, v, force)
        return (q + dt * v, v), None

    def cost(*x: Any) -> Any:
        (q, v), _ = jax.lax.scan(step, x[:2], x[2])
        return jnp.sum(q**2) + jnp.sum(v**2)

    def rollout() -> object:
        options: dict[str, Any] = {"method": "semi_implicit", "resistance": False}
        q, v = mz.rollout(model, q0, v0, tau, dt, **options)
        dq, dv = np.zeros_like(q), np.zeros_like(v)
        dq[-1], dv[-1] = 2 * q[-1], 2 * v[-1]
        return mz.rollout_gradient(model, q, v, tau, dt, dq, dv, **options)

    gradient = jax.jit(jax.grad(cost, argnums=(0, 1, 2)))
    there = [jnp.asarray(x) for x in (q0, v0, tau)]
    run = lambda: jax.block_until_ready(gradient(*there))
    compile_s = first(run)
    rollout()
    best = alternately({"rollout_s": rollout, "jax_s": run}, rounds)
    ratio = best["jax_s"] / best["rollout_s"]
    return {**case, "compile_s": compile_s, **best, "scan_ratio": ratio}


def main() -> int:
    os.environ.setdefault("MOZZI_CACHE", "0")
    import jax

    jax.config.update("jax_enable_x64", True)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jax_cpu", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="alternations of JAX and kernels")
    parser.add_argument("--no-save", action="store_true", help="print only")
    options = parser.parse_args()
    result: dict[str, Any] = {
        "machine": machine() | {"jax": jax.__version__, "threads": len(os.sched_getaffinity(0))},
        "bars": BARS,
    }
    for part, cases, measure in (("calls", CALLS, calls), ("scans", SCANS, scan)):
        for case in cases:
            row = measure(case, options.rounds)
            result.setdefault(part, []).append(row)
            print(part, json.dumps({k: round(x, 4) if isinstance(x, float) else x
                                    for k, x in row.items()}), flush=True)  # fmt: skip
    if not options.no_save:
        print("saved", save("jax_cpu", result).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
