"""A million steps of an environment that nobody trains on: carts with poles, 4,096 at a time."""

import time

import numpy as np

import mozzi as mz
from mozzi.gym import Environment, Task, VectorEnvironment
from mozzi.model import generate

cart = generate.cart_pole()
task = Task(
    cart,
    observation=lambda q, v: mz.array([q[0], np.sin(q[1]), np.cos(q[1]), *v]),
    reward=lambda q, v, u: np.cos(q[1]) - 0.1 * q[0] ** 2 - 0.001 * u[0] ** 2,
    terminated=lambda q, v: np.abs(q[0]) > 3.0,
    actuated=[cart.joint_names[0]],
    actions=(-10.0, 10.0),
    noise=0.1,
    parameters={f"{cart.bodies[1]}.mass": (0.05, 0.5)},  # every episode has its own pole
)

one = Environment(task)
seen, _ = one.reset(seed=0)
seen, reward, terminated, truncated, _ = one.step(np.array([1.0]))

many = VectorEnvironment(task, 4096)
many.reset(seed=0)
rng = np.random.default_rng(0)
episodes, total, start = 0, 0.0, time.perf_counter()
for _ in range(245):
    seen, reward, terminated, truncated, _ = many.step(rng.uniform(-10.0, 10.0, (4096, 1)))
    episodes += int((terminated | truncated).sum())
    total += float(reward.sum())
steps = 245 * 4096
assert steps > 1_000_000 and episodes > 1000 and np.isfinite(seen).all()
print(f"{steps:,} steps, {episodes:,} episodes, mean reward {total / steps:.3f}, "
      f"{steps / (time.perf_counter() - start):,.0f} steps/s")  # fmt: skip
