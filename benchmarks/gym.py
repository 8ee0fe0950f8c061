"""`python -m benchmarks.gym`: environment steps per second beside gymnasium's on MuJoCo, one robot.

The double pendulum on a cart of gymnasium (InvertedDoublePendulum-v5), from the same file, with the
same number of substeps (5 of 10 ms, order 4 in both): one environment, and many in one call.
MuJoCo's own `rollout` (its threads, no rewards, no resets) is the peer of many.
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


def many_of_mozzi(count: int) -> float:
    many = VectorEnvironment(task(), count)
    many.reset(seed=0)
    actions = np.zeros((count, 1))
    return rate(lambda: many.step(actions), count)


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
    given = parser.parse_args()
    figures = {
        "gymnasium on MuJoCo, one": one_of_gymnasium(),
        "mozzi.gym, one": one_of_mozzi(),
        f"MuJoCo rollout, {given.batch}": many_of_mujoco(given.batch),
        f"mozzi.gym, {given.batch}": many_of_mozzi(given.batch),
    }
    for name, value in figures.items():
        print(f"{name:32} {value:14,.0f} environment steps/s")
    if given.save:
        save("gym", {"machine": machine(), "steps_per_second": figures})


if __name__ == "__main__":
    main()
