"""`python -m benchmarks.gym`: environment steps per second beside gymnasium's on MuJoCo, one robot.

The double pendulum on a cart of gymnasium (InvertedDoublePendulum-v5), from the same file, with the
same number of substeps (5 of 10 ms, order 4 in both): one environment, and many in one call.
MuJoCo's own `rollout` (its threads, no rewards, no resets) and an environment on MJX (rewards and
resets as here, one compiled function) are the peers of many. `--device cuda` measures many on a
GPU: mozzi with PyTorch and JAX, and MJX, in float32.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
from mujoco import rollout

import mozzi as mz
from benchmarks.__main__ import machine, save
from mozzi.gym import Environment, Task, VectorEnvironment

FILE = Path(gymnasium.__file__).parent / "envs/mujoco/assets/inverted_double_pendulum.xml"


def task() -> Task:
    """What gymnasium's environment of this robot does, sees and earns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mz.load(FILE)

    def tip(q):
        return mz.array([q[0] + 0.6 * (np.sin(q[1]) + np.sin(q[1] + q[2])),
                         0.6 * (np.cos(q[1]) + np.cos(q[1] + q[2]))])  # fmt: skip

    def reward(q, v, u):
        x, y = tip(q)
        speed = 1e-3 * v[1] ** 2 + 5e-3 * v[2] ** 2
        return 10.0 - 0.01 * x**2 - (y - 2.0) ** 2 - speed

    return Task(
        model, reward=reward, terminated=lambda q, v: tip(q)[1] <= 1.0, noise=0.1,
        observation=lambda q, v: np.concatenate([q[:1], np.sin(q[1:]), np.cos(q[1:]), v]),
        dt=0.01, substeps=5, duration=50.0, method="rkmk4",
    )  # fmt: skip


def rate(step: Callable[[], object], count: int, seconds: float = 2.0) -> float:
    """Environment steps per second, the best of five runs."""
    best = 0.0
    for _ in range(5):
        start, runs = time.perf_counter(), 0
        while time.perf_counter() - start < seconds / 5:
            step()
            runs += 1
        best = max(best, runs * count / (time.perf_counter() - start))
    return best


def one_of_gymnasium() -> float:
    peer = gymnasium.make("InvertedDoublePendulum-v5")
    peer.reset(seed=0)
    action = np.zeros(1)

    def step() -> None:
        if peer.step(action)[2]:
            peer.reset()

    return rate(step, 1)


def one_of_mozzi() -> float:
    own = Environment(task())
    own.reset(seed=0)
    action = np.zeros(1)

    def step() -> None:
        if own.step(action)[2]:
            own.reset()

    return rate(step, 1)


def many_of_mozzi(count: int, target: str = "cpu", dtype: str = "float64",
                  device: str | None = None) -> float:  # fmt: skip
    many = VectorEnvironment(task(), count, target, dtype, device)  # type: ignore[arg-type]
    many.reset(seed=0)
    actions = np.zeros((count, 1), dtype)
    if target == "torch":
        import torch

        tensor = torch.as_tensor(actions, device=device)
        wait = torch.cuda.synchronize if device else lambda: None
        return rate(lambda: (many.step(tensor), wait()), count)
    if target == "jax":
        import jax

        there = jax.device_put(actions)
        return rate(lambda: jax.block_until_ready(many.step(there)[:4]), count)
    return rate(lambda: many.step(actions), count)


def many_of_mjx(count: int) -> float:
    """The same environment on MJX: five steps, observation, reward, resets, in one function."""
    import jax
    import jax.numpy as jnp
    from mujoco import mjx

    model = mjx.put_model(mujoco.MjModel.from_xml_path(str(FILE)))
    first = mjx.make_data(model)

    def step(data, start, u):
        data = data.replace(ctrl=u)
        data = jax.lax.fori_loop(0, 5, lambda _, x: mjx.step(model, x), data)
        q, v = data.qpos, data.qvel
        x = q[0] + 0.6 * (jnp.sin(q[1]) + jnp.sin(q[1] + q[2]))
        y = 0.6 * (jnp.cos(q[1]) + jnp.cos(q[1] + q[2]))
        speed = 1e-3 * v[1] ** 2 + 5e-3 * v[2] ** 2
        reward = 10.0 - 0.01 * x**2 - (y - 2.0) ** 2 - speed
        seen = jnp.concatenate([q[:1], jnp.sin(q[1:]), jnp.cos(q[1:]), v])
        over = y <= 1.0
        data = data.replace(qpos=jnp.where(over, start, q), qvel=jnp.where(over, 0.0 * v, v))
        return data, seen, reward, over

    start = 0.1 * jax.random.uniform(jax.random.key(0), (count, 3))
    state = [jax.vmap(lambda q: first.replace(qpos=q))(start)]
    u = jnp.zeros((count, 1))
    run = jax.jit(jax.vmap(step))

    def once() -> None:
        state[0], *found = run(state[0], start, u)
        jax.block_until_ready(found)

    once()
    return rate(once, count)


def many_of_mujoco(count: int) -> float:
    model = mujoco.MjModel.from_xml_path(str(FILE))
    threads = [mujoco.MjData(model) for _ in range(2)]
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = np.zeros((count, size))
    state[:, 1:] = 0.01
    control = np.zeros((count, 5, 1))
    return rate(lambda: rollout.rollout(model, threads, state, control), count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    given = parser.parse_args()
    n = given.batch
    if given.device == "cuda":
        figures = {
            f"mozzi.gym, torch, {n}": many_of_mozzi(n, "torch", "float32", "cuda"),
            f"mozzi.gym, jax, {n}": many_of_mozzi(n, "jax", "float32"),
            f"MJX, {n}": many_of_mjx(n),
        }
    else:
        figures = {
            "gymnasium on MuJoCo, one": one_of_gymnasium(),
            "mozzi.gym, one": one_of_mozzi(),
            f"MuJoCo rollout, {n}": many_of_mujoco(n),
            f"mozzi.gym, {n}": many_of_mozzi(n),
            f"mozzi.gym, jax, float32, {n}": many_of_mozzi(n, "jax", "float32"),
            f"MJX, float32, {n}": many_of_mjx(n),
        }
    for name, value in figures.items():
        print(f"{name:32} {value:14,.0f} environment steps/s", flush=True)
    if given.save:
        save("gym" if given.device == "cpu" else "gym-gpu",
             {"machine": machine(), "steps_per_second": figures})  # fmt: skip


if __name__ == "__main__":
    main()
