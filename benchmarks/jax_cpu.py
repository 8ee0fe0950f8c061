"""`python -m benchmarks.jax_cpu`: the JAX target on the CPU beside the kernels that it calls.

Cases as data. A call stands beside the CPU target's kernel, and one of many in the same jitted
function, where JAX's own cost of a call (that of an empty one is measured, too) is paid once,
beside one of as many calls of the kernel in a row; a gradient beside the kernel and its pullback,
and beside PyTorch's; the gradient through a scan beside `rollout` and `rollout_gradient`.
First calls are those of fresh processes, with nothing of the program on disk, and with what such a
process leaves there. `bars` is the most that each may cost in units of its peer, or in seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, save, states
from benchmarks.robots import mozzi_model

CALLS = [
    {"robot": robot, "function": "forward_dynamics", "dtype": dtype, "batch": batch}
    for robot in ("panda", "solo12", "talos")
    for dtype in ("float64", "float32")
    for batch in (1, 256, 4096, 65536)
]
BARS = {"first": 0.5, "call": 1.3, "gradient": 1.5, "scan": 2.0}
SCANS = [{"robot": "panda", "steps": 1000, "batch": batch} for batch in ((), (256,))]
FIRST = [
    {"robot": robot, "what": what}
    for robot in ("panda", "solo12", "talos")
    for what in ("call", "gradient")
]
REPEATED = 200  # calls in one jitted function
CASE_S = 1.0  # of alternating, about


def alternately(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of each, best of `rounds` or of what a second leaves time for, measured in turns,
    just after a call of its own: what ran before it is in nobody's favour.
    """
    best, end = dict.fromkeys(calls, np.inf), time.perf_counter() + CASE_S
    for n in range(rounds):
        if n >= 3 and time.perf_counter() > end:
            break
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def calls(case: dict[str, Any], rounds: int) -> dict[str, Any]:
    """A call and a gradient under jit, the same by the CPU kernels with reused results, and
    PyTorch's gradient.
    """
    import jax
    import jax.numpy as jnp
    import torch

    from mozzi.targets.derivatives import derived, find, register

    model, function = mozzi_model(case["robot"]), getattr(mz, case["function"])
    batch, dtype = case["batch"], case["dtype"]
    inputs = states(model, function.required, batch, dtype)
    kernel: Any = mz.compile(function, model, target="jax", dtype=dtype)
    other = mz.compile(function, model, target="torch", dtype=dtype)
    forward = jax.jit(kernel)
    gradient = jax.jit(jax.grad(lambda *x: jnp.sum(kernel(*x) ** 2), argnums=(0, 1, 2)))
    empty = jax.jit(lambda q, v, tau: 1.0 * tau)

    def many(q: Any, v: Any, tau: Any) -> Any:
        return jax.lax.fori_loop(0, REPEATED, lambda k, x: kernel(q, v, x), tau)

    repeated = jax.jit(many)
    there = [jnp.asarray(x) for x in inputs]
    tensors = [torch.from_numpy(np.array(x)).requires_grad_() for x in inputs]
    run = lambda f: jax.block_until_ready(f(*there))
    cpu = mz.compile(function, model, dtype=dtype)
    back = find(derived(register(kernel.program, dtype), "back", (1, 1, 1))).cpu
    out = cpu(*inputs)
    pulled = back(*inputs, out)

    def both() -> None:
        cpu(*inputs, out=out)
        back(*inputs, out, out=pulled)

    def by_torch() -> object:
        return torch.autograd.grad((other(*tensors) ** 2).sum(), tensors)

    work = {
        "kernel": lambda: cpu(*inputs, out=out), "jax": lambda: run(forward),
        "kernels": both, "gradient": lambda: run(gradient), "torch": by_torch,
        "empty": lambda: run(empty),
    }  # fmt: skip

    def by_kernel() -> None:
        for _ in range(REPEATED):
            cpu(*inputs, out=out)

    if batch <= 4096:
        work |= {"repeated": lambda: run(repeated), "repeated_kernel": by_kernel}
    for call in work.values():
        call()
    best = alternately(work, 100 * rounds)
    for name in ("repeated", "repeated_kernel"):
        if name in best:
            best[name] /= REPEATED
    ns = {f"{name}_ns": 1e9 * x / batch for name, x in best.items()}
    ratios = {
        "call_ratio": best["jax"] / best["kernel"],
        "gradient_ratio": best["gradient"] / best["kernels"],
        "torch_ratio": best["gradient"] / best["torch"],
    }
    if "repeated" in best:
        ratios["repeated_ratio"] = best["repeated"] / best["repeated_kernel"]
    return {**case, **ns, **ratios}


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
    run()
    rollout()
    best = alternately({"rollout_s": rollout, "jax_s": run}, 5 * rounds)
    return {**case, **best, "scan_ratio": best["jax_s"] / best["rollout_s"]}


def first(case: dict[str, Any], rounds: int) -> dict[str, Any]:
    """The first call, or the first gradient, in fresh processes."""
    found = dict[str, float]()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "MOZZI_CACHE": "1", "MOZZI_CACHE_DIR": folder}
        for part, what in (("", "math"), ("first_s", case["what"]), ("again_s", case["what"])):
            words = ["-W", "ignore", "-m", "benchmarks.jax_cpu", "--first", case["robot"], what]
            said = subprocess.run(
                [sys.executable, *words],
                env=environment, check=True, capture_output=True, text=True,
            )  # fmt: skip
            found[part] = float(said.stdout.split()[-1])
    return {**case, "first_s": found["first_s"], "again_s": found["again_s"]}


def first_here(robot: str, what: str) -> float:
    """Seconds of the first call in this process, after JAX has started; "math": of another one."""
    import jax
    import jax.numpy as jnp

    model = mozzi_model(robot)
    function = mz.potential_energy if what == "math" else mz.forward_dynamics
    inputs = [jnp.asarray(x) for x in states(model, function.required, 256, "float64")]
    jax.block_until_ready(jax.jit(jax.grad(lambda x: jnp.sum(x**2)))(inputs[0]))
    kernel = mz.compile(function, model, target="jax")
    call = jax.jit(kernel)
    if what == "gradient":
        call = jax.jit(jax.grad(lambda *x: jnp.sum(kernel(*x) ** 2), argnums=(0, 1, 2)))
    start = time.perf_counter()
    jax.block_until_ready(call(*inputs))
    return time.perf_counter() - start


def main() -> int:
    os.environ.setdefault("MOZZI_CACHE", "0")
    import jax

    jax.config.update("jax_enable_x64", True)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jax_cpu", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="alternations of JAX and kernels")
    parser.add_argument("--no-save", action="store_true", help="print only")
    parser.add_argument("--first", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first:
        print(first_here(*options.first))
        return 0
    result: dict[str, Any] = {
        "machine": machine() | {"jax": jax.__version__, "threads": len(os.sched_getaffinity(0))},
        "bars": BARS,
    }
    parts = (("first", FIRST, first), ("calls", CALLS, calls), ("scans", SCANS, scan))
    for part, cases, measure in parts:
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
