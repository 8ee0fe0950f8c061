"""`python -m benchmarks.gpu_environments`: environments, iLQR and sweeps on a GPU; prints JSON.

Each part asserts that nothing goes through the host (PyTorch's and JAX's own guards, and addresses
of arrays on the device) and that numbers are those of the CPU, then measures.
"""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from mozzi.model import generate

CART = generate.cart_pole()
ARM = generate.chain(7, seed=1)
SIZES = (4096, 65536, 2**20)
EXAMPLE = Path(__file__).parents[1] / "docs/examples/ilqr_jax.py"


def task() -> Any:
    """A pole that is held up, with masses that differ from episode to episode."""
    from mozzi.gym import Task

    return Task(
        CART, observation=lambda q, v: mz.array([q[0], np.sin(q[1]), np.cos(q[1]), *v]),
        reward=lambda q, v, u: np.cos(q[1]) - 0.01 * u[0] ** 2, actuated=[CART.joint_names[0]],
        terminated=lambda q, v: (np.abs(q[0]) > 2.0) | (np.cos(q[1]) < 0.0), actions=(-10.0, 10.0),
        noise=0.05, duration=1.0, parameters={f"{CART.bodies[1]}.mass": (0.05, 0.5)},
    )  # fmt: skip


def motion(target: str, put: Callable[[Any], Any], get: Callable[[Any], Any], device: Any) -> Any:
    """What 60 steps of 500 samples see, with actions from one seed."""
    from mozzi.gym import VectorEnvironment

    many = VectorEnvironment(task(), 500, target, device=device)
    many.reset(seed=3)
    rng = np.random.default_rng(4)
    found = [many.step(put(rng.uniform(-10, 10, (500, 1))))[:4] for _ in range(60)]
    return [np.array([get(row[k]) for row in found]) for k in range(4)]


def rate(step: Callable[[], Any], wait: Callable[[], Any], count: int) -> float:
    """Environment steps per second, the best of three."""
    best = 0.0
    for _ in range(3):
        for _ in range(3):
            step()
        wait()
        start = time.perf_counter()
        for _ in range(30):
            step()
        wait()
        best = max(best, 30 * count / (time.perf_counter() - start))
    return best


def on_torch() -> dict[str, Any]:
    import torch

    from mozzi.gym import VectorEnvironment

    wanted = motion("cpu", np.asarray, np.asarray, None)
    found = motion("torch", lambda x: torch.as_tensor(x, device="cuda"), lambda x: x.cpu().numpy(),
                   "cuda")  # fmt: skip
    off = max(float(np.abs(a.astype(float) - b).max()) for a, b in zip(wanted, found))
    out: dict[str, Any] = {"difference_from_cpu": off}
    for count in SIZES:
        many = VectorEnvironment(task(), count, "torch", "float32", "cuda")
        many.reset(seed=0)
        u = torch.rand(count, 1, device="cuda") * 20.0 - 10.0
        many.step(u)
        torch.cuda.set_sync_debug_mode("error")  # whatever waits for the device raises
        seen, reward, over, late, told = many.step(u)
        torch.cuda.set_sync_debug_mode("default")
        arrays = [seen, reward, over, late, *told.values(), *many.state]
        assert all(x.is_cuda for x in arrays)
        assert all(x.__cuda_array_interface__["data"][0] for x in arrays if x.numel())
        out[str(count)] = rate(partial(many.step, u), torch.cuda.synchronize, count)
    done = sum(int(many.step(u)[4]["_final_obs"].sum()) for _ in range(60))
    out["episodes_that_ended_and_began"] = done
    return out


def on_jax() -> dict[str, Any]:
    import jax
    import jax.numpy as jnp

    from mozzi.gym import VectorEnvironment

    jax.config.update("jax_enable_x64", True)
    wanted = motion("cpu", np.asarray, np.asarray, None)
    found = motion("jax", jnp.asarray, np.asarray, None)
    off = max(float(np.abs(a.astype(float) - b).max()) for a, b in zip(wanted, found))
    out: dict[str, Any] = {"difference_from_cpu": off, "device": str(jax.devices()[0])}
    for count in SIZES:
        many = VectorEnvironment(task(), count, "jax", "float32")
        many.reset(seed=0)
        u = 20.0 * jax.random.uniform(jax.random.key(0), (count, 1), "float32") - 10.0
        many.step(u)
        with jax.transfer_guard("disallow"):  # whatever goes to or comes from the host raises
            seen, reward, over, late, told = many.step(u)
        arrays = [seen, reward, over, late, *told.values(), *many.state]
        assert all(x.device.platform == "gpu" for x in arrays)
        out[str(count)] = rate(
            partial(many.step, u), lambda e=many: jax.block_until_ready(e.state), count
        )
    return out


def ilqr() -> dict[str, Any]:
    """Thousands of swing-ups, by the example itself; costs are those of the CPU's."""
    import jax
    import jax.numpy as jnp

    spec = importlib.util.spec_from_file_location("ilqr_jax", EXAMPLE)
    assert spec is not None and spec.loader is not None
    example = sys.modules["ilqr_jax"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    rng = np.random.default_rng(0)
    x0 = rng.uniform(-1.0, 1.0, (16384, 2))
    u = 0.1 * rng.standard_normal((16384, example.N, 1))
    cpu, gpu = jax.devices("cpu")[0], jax.devices()[0]
    out: dict[str, Any] = {}
    costs = {}
    for name, device, count in (("cpu", cpu, 512), ("gpu", gpu, 1024), ("gpu", gpu, 16384)):
        with jax.default_device(device):
            given = jnp.asarray(x0[:count]), jnp.asarray(u[:count])
            example.ilqr(*given, 40)[2].block_until_ready()
            start = time.perf_counter()
            x, _, costs[name] = example.ilqr(*given, 40)
            x.block_until_ready()
            out[f"{name}, {count}: problems/s"] = count / (time.perf_counter() - start)
            reached = jnp.abs(x[:, -1] - example.goal).max(axis=1) < 0.2
            out[f"{name}, {count}: reached"] = float(reached.mean())
    a, b = np.asarray(costs["cpu"]), np.asarray(costs["gpu"])[:512]
    out["share_of_costs_within_1e-6_of_cpu"] = float(np.mean(np.abs(a - b) < 1e-6 * np.abs(a)))
    return out


def sweeps() -> dict[str, Any]:
    """A sweep on a GPU worker: another process that has the device; reductions on the device."""
    names = {f"{b}.density": mz.Uniform(0.8, 1.2) for b in ARM.bodies}
    names[f"{ARM.joint_names[0]}.damping"] = mz.LogUniform(0.01, 1.0)
    words = "mean,std,min,max,quantiles"
    run = mz.Rollout(ARM, 0.5, 1e-3, target="cuda")
    there = mz.sweep(run, names, samples=2000, seed=1, chunk=700)
    here = mz.sweep(mz.Rollout(ARM, 0.5, 1e-3), names, samples=2000, seed=1)
    out: dict[str, Any] = {
        "difference_from_cpu": {n: float(np.abs(there[n] - here[n]).max()) for n in here}
    }
    a = mz.sweep(run, names, samples=2000, seed=1, reduce=words)
    b = mz.sweep(mz.Rollout(ARM, 0.5, 1e-3), names, samples=2000, seed=1, reduce=words)
    out["difference_of_reductions"] = max(float(np.abs(a[n] - b[n]).max()) for n in b)
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawned) as pool, ThreadPoolExecutor(2) as threads:
        again = mz.sweep(run, names, pool, samples=2000, seed=1, chunk=500)
        other = mz.sweep(run, names, threads, samples=2000, seed=1, chunk=900)
        out["bitwise_on_another_worker"] = all(np.array_equal(again[n], there[n]) for n in there)
        out["bitwise_on_threads"] = all(np.array_equal(other[n], there[n]) for n in there)
        mz.sweep(run, names, pool, samples=run.chunk, seed=2, reduce="mean,std,max")
        start = time.perf_counter()
        n = 4 * run.chunk
        mz.sweep(run, names, pool, samples=n, seed=3, reduce="mean,std,max")
        seconds = time.perf_counter() - start
    steps = run.steps * n
    out |= {"chunk": run.chunk, "samples_per_s": n / seconds, "steps_per_s": steps / seconds,
            "states_GB_per_s": 8e-9 * (ARM.nq + ARM.nv) * steps / seconds}  # fmt: skip
    import cupy

    numbers = cupy.linspace(0.5, 2.0, 2**20)[:, None]
    kernel = mz.compile(mz.forward_dynamics, ARM, "cuda", parameters=[f"{ARM.bodies[3]}.density"])
    zero = cupy.zeros(ARM.nv)
    q = cupy.full(ARM.nq, 0.3)
    found = kernel(q, zero, zero, numbers)
    model = ARM.with_parameters({f"{ARM.bodies[3]}.density": float(numbers[777, 0])})
    wanted = mz.forward_dynamics(model, q.get(), np.zeros(ARM.nv), np.zeros(ARM.nv))
    out["parameters_on_cuda"] = {
        "on_device": isinstance(found, cupy.ndarray),
        "difference": float(np.abs(found[777].get() - wanted).max()),
    }
    return out


def main() -> int:
    result: dict[str, Any] = {}
    parts = {"torch": on_torch, "jax": on_jax, "ilqr": ilqr, "sweep": sweeps}
    for name, part in parts.items():
        start = time.perf_counter()
        try:
            result[name] = part()
        except Exception:
            result[name] = {"error": traceback.format_exc()[-1500:]}
        result[name]["seconds"] = time.perf_counter() - start
        print(json.dumps({name: result[name]}), flush=True)
    return int(any("error" in x for x in result.values()))


if __name__ == "__main__":
    sys.exit(main())
