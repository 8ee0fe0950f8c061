"""`python -m benchmarks.gpu_contact`: robots that touch, whole motions in one launch on a GPU.

solo12 on its four feet and talos on the eight corners of its soles under PD control, dropped and
pushed as in `benchmarks.contact`, steps of 1 ms: how many steps a second, by how much laws are
missed, and how far the motions are from those of the CPU in float64. `--pack FILE` writes the
models where example-robot-data is installed, `--models FILE` reads them where the GPU is.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks import contact
from benchmarks.__main__ import machine
from mozzi.simulation import Moreau

BARS = {"solo12": 100e6, "talos": 10e6}
RUNS = {
    "solo12": ((2**16, 100), (2**16, 500), (2**20, 100), (2**20, 500)),
    "talos": ((2**16, 100), (2**16, 500), (2**18, 100)),
}  # samples and steps
MJX_SAMPLES = 2**15
BOUNDS = (1e-6, 1e-5, 1e-4, 1e-3)
Robots = dict[str, tuple[mz.Model, np.ndarray, np.ndarray, np.ndarray]]


def robots_here() -> Robots:
    """Models, how they stand, and 4,096 states."""
    robots: Robots = {}
    for name in BARS:
        model, q = contact.MODELS[name]()
        robots[name] = model, q, *contact.states(name, model, q)
    return robots


def compiled(name: str, robots: Robots, solver: Any, dtype: Any) -> tuple[Any, float]:
    """The kernel of steps for the GPU, and the seconds that its compiler took."""
    model, q = robots[name][:2]
    law, method = contact.controller(name, model, q), Moreau(solver=solver)
    kernel: Any = mz.stepper(model, method, law, resistance=False, target="cuda", dtype=dtype)
    begin = time.perf_counter()
    print(name, solver, dtype, kernel.report(), flush=True)
    return kernel, time.perf_counter() - begin


def given(cupy: Any, robots: Robots, name: str, samples: int, steps: int, dtype: str) -> list[Any]:
    """The arguments of a kernel: samples over and over, all arrays (N, …)."""
    own = [np.resize(x, (samples, x.shape[1])).astype(dtype) for x in robots[name][2:]]
    numbers = (np.full(samples, x, dtype) for x in (0.0, contact.DT, steps))
    return [cupy.asarray(x) for x in (*own, *numbers)]


def agreement(cupy: Any, name: str, robots: Robots, kernel: Any) -> dict[str, Any]:
    """How far 20 steps are from those of the CPU in float64, over the largest velocity."""
    model, q = robots[name][:2]
    arrays = given(cupy, robots, name, 1024, 20, kernel.dtype.name)
    found = [cupy.asnumpy(x) for x in kernel(*arrays)]
    on_cpu = mz.stepper(model, "moreau", contact.controller(name, model, q), resistance=False)
    exact = on_cpu(*(cupy.asnumpy(x).astype(float) for x in arrays[:2]), 0.0, contact.DT, 20.0)
    off = np.abs(found[1] - exact[1]).max(-1) / np.abs(exact[1]).max()
    row = {
        "robot": name, "dtype": kernel.dtype.name, "most": float(off.max()),
        "99 %": float(np.quantile(off, 0.99)), "median": float(np.median(off)),
        "largest residual": float(found[2].max()),
    }  # fmt: skip
    print(row, flush=True)
    return row


def rates(cupy: Any, name: str, robots: Robots, solver: str, made: Any) -> list[dict[str, Any]]:
    """Steps a second in float32."""
    kernel, took = made
    rows = []
    for samples, steps in RUNS[name]:
        arrays = given(cupy, robots, name, samples, steps, "float32")
        out = kernel(*arrays)
        run = partial(kernel, *arrays, out=out)
        wait = cupy.cuda.get_current_stream().synchronize
        wait()
        pace = samples * steps / contact.best(lambda run=run, wait=wait: (run(), wait()), 2)
        missed = cupy.asnumpy(out[2])[:, 0]
        row = {
            "robot": name, "solver": solver, "dtype": "float32", "samples": samples,
            "steps": steps, "steps_per_second": pace, "bar": BARS[name],
            "missed: median": float(np.median(missed)), "missed: most": float(missed.max()),
            **{f"motions below {x:g}": float(np.mean(missed < x)) for x in BOUNDS},
            "not finite": int(np.sum(~np.isfinite(cupy.asnumpy(out[0])).all(-1))),
            "compile s": took, **kernel.report(),
        }  # fmt: skip
        print(row, flush=True)
        rows.append(row)
    cupy.get_default_memory_pool().free_all_blocks()
    return rows


def mjx_rates(name: str, robots: Robots) -> list[dict[str, Any]]:
    """MJX on the same mechanism, controller and states, float32: with the iterations that MuJoCo
    takes by default, and with the few that are usual on GPUs.
    """
    import jax
    from mujoco import mjx

    model, q, Q, V = robots[name]
    A, B = Q.copy(), V.copy()
    A[:, 3:7] = Q[:, [6, 3, 4, 5]]
    R = mz.pose(model, Q, model.bodies[0])[:, :3, :3]
    B[:, :3], B[:, 3:6] = np.einsum("nij,nj->ni", R, V[:, 3:6]), V[:, :3]
    rows = []
    for iterations, searches in ((100, 50), (4, 8)):
        other = contact.theirs(name, model, "newton")
        other.qpos_spring[7:] = q[7:]
        other.opt.iterations, other.opt.ls_iterations = iterations, searches
        there, data = mjx.put_model(other), mjx.make_data(other)

        def motion(qpos: Any, qvel: Any, there: Any = there, data: Any = data) -> Any:
            start = data.replace(qpos=qpos, qvel=qvel)
            step = lambda now, _: (mjx.step(there, now), None)
            end = jax.lax.scan(step, start, length=50)[0]
            return end.qpos, end.qvel

        run = jax.jit(jax.vmap(motion))
        put = [jax.device_put(np.resize(x, (MJX_SAMPLES, x.shape[1])).astype("f4")) for x in (A, B)]
        jax.block_until_ready(run(*put))
        took = contact.best(lambda run=run, put=put: jax.block_until_ready(run(*put)), 3)
        row = {"robot": name, "iterations": iterations, "line searches": searches,
               "samples": MJX_SAMPLES, "steps_per_second": MJX_SAMPLES * 50 / took}  # fmt: skip
        print("mjx", row, flush=True)
        rows.append(row)
    return rows


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_contact", description=__doc__)
    parser.add_argument("--pack", type=Path, help="write the models to this file, and end")
    parser.add_argument("--models", type=Path, help="the file to read them from")
    parser.add_argument("--robots", nargs="*", choices=BARS, default=list(BARS))
    parser.add_argument("--solvers", nargs="*", default=["robust"])
    parser.add_argument("--mjx", nargs="*", choices=BARS, default=[], help="robots that MJX moves")
    parser.add_argument("--save", type=Path, help="write what was found to this file, as JSON")
    options = parser.parse_args(argv)
    if options.pack:
        options.pack.write_bytes(pickle.dumps((machine()["commit"], robots_here())))
        return 0
    import cupy

    robots: Robots
    if options.models:
        commit, robots = pickle.loads(options.models.read_bytes())
    else:
        commit, robots = machine()["commit"], robots_here()
    cases = [(name, solver, "float32") for name in options.robots for solver in options.solvers]
    cases += [(name, "robust", "float64") for name in options.robots]
    runs, near = list[dict[str, Any]](), list[dict[str, Any]]()
    with ThreadPoolExecutor() as pool:
        coming = [pool.submit(compiled, name, robots, *how) for name, *how in cases]
        for (name, solver, dtype), future in zip(cases, coming, strict=True):
            made = future.result()
            if solver == "robust":
                near.append(agreement(cupy, name, robots, made[0]))
            if dtype == "float32":
                runs += rates(cupy, name, robots, solver, made)
    theirs = [row for name in options.mjx for row in mjx_rates(name, robots)]
    if options.save:
        gpu = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        where = machine() | {"gpu": gpu, "commit": commit}
        found = {"machine": where, "rates": runs, "agreement": near, "mjx": theirs}
        options.save.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
