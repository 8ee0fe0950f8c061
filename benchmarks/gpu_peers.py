"""frax, a JAX library of robot dynamics, on the same GPU: run as its documentation says, `jit` of
`vmap`, its products in float32 (JAX's default on this GPU is TF32). Its panda has its own inertias;
talos it reads from the same file.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from benchmarks.gpu_models import Models

BATCH = {"panda": 2**20, "talos": 2**16}


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


def present() -> bool:
    return importlib.util.find_spec("frax") is not None


@cache
def panda() -> Any:
    from frax import load_panda

    return load_panda()


def function(robot: Any, name: str) -> Callable[..., Any] | None:
    """The same function of one sample; None where frax has none."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_default_matmul_precision", "highest")  # else its products are TF32
    up = np.array([0, 0, 9.81, 0, 0, 0], np.float32)
    inverse = lambda q, v, a: robot.rnea(q, v, a, jnp.asarray(up, q.dtype), None)
    forward = lambda q, v, tau: robot.forward_dynamics(q, v, tau, None)
    return {
        "inverse_dynamics": inverse,
        "forward_dynamics": forward,
        "inverse_dynamics_derivatives": jax.jacfwd(inverse, (0, 1, 2)),
        "forward_dynamics_derivatives": jax.jacfwd(forward, (0, 1, 2)),
        "forward_kinematics": robot.joint_to_world_transforms,
        "mass_matrix": robot.crba,
    }.get(name)


@contextmanager
def precision(dtype: str) -> Any:
    """JAX computes in these numbers."""
    import jax

    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", dtype == "float64")
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


def measured(models: Models, case: dict[str, Any], required: Any) -> dict[str, Any]:
    """What frax does in a case: evaluations per second, in the batch that suits it."""
    if not present():
        return {}
    import jax
    from frax.core.robot import Robot

    with precision(case["dtype"]):
        if case["robot"] == "panda":
            robot = panda()
        else:
            robot = Robot(str(models.file(case["robot"])), floating_base="quaternion")
        one = function(robot, case["function"])
        if one is None:
            return {}
        batch = BATCH[case["robot"]]
        arrays = models.arguments(case["robot"], required, 4096, case["dtype"])
        there = [jax.device_put(np.resize(x, (batch, x.shape[1]))) for x in arrays]
        run = jax.jit(jax.vmap(one))
        time = median(lambda: jax.block_until_ready(run(*there)))
    return {"peer": "frax", "peer_batch": batch, "peer_per_second": batch / time}


def simulated(models: Models, steps: int = 20) -> dict[str, Any]:
    """Steps of the classical Runge–Kutta method on frax's forward dynamics of a panda, float32."""
    if not present():
        return {}
    import jax

    forward = function(panda(), "forward_dynamics")
    assert forward is not None

    def step(_: Any, x: Any) -> Any:
        """(q, v) after 1 ms, without torque."""
        h = np.float32(1e-3)
        rate = lambda x: (x[1], forward(*x, 0.0 * x[1]))
        moved = lambda k, h: tuple(a + h * b for a, b in zip(x, k))
        k1 = rate(x)
        k2 = rate(moved(k1, 0.5 * h))
        k3 = rate(moved(k2, 0.5 * h))
        k4 = rate(moved(k3, h))
        return tuple(
            x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip(x, k1, k2, k3, k4)
        )

    batch = 2**18
    there = [
        jax.device_put(np.resize(x, (batch, x.shape[1])))
        for x in models.arguments("panda", ("q", "v"), 4096, "float32")
    ]
    run = jax.jit(jax.vmap(lambda q, v: jax.lax.fori_loop(0, steps, step, (q, v))))
    time = median(lambda: jax.block_until_ready(run(*there)))
    return {"peer": "frax", "peer_batch": batch, "peer_per_second": batch * steps / time}
