"""Quadrupeds dropped in as many ways, a tenth of a second of all of them in one call.

On a GPU a million of them is one launch: python million_quadrupeds.py cuda 1000000. On the CPU it
takes fewer by default.
"""

import sys
import time

import numpy as np

import mozzi as mz
from mozzi.model.generate import quadruped

target = "cuda" if sys.argv[1:2] == ["cuda"] else "cpu"
dtype, bound = ("float32", 1e-4) if target == "cuda" else ("float64", 1e-8)
count = int(sys.argv[2]) if len(sys.argv) > 2 else 4096
model = quadruped()
stand = model.configurations["standing"]


def hold(t, q, v):
    """PD control of the legs about the standing configuration."""
    return np.concatenate([np.zeros(6), 12.0 * (stand[7:] - q[7:]) - 0.4 * v[6:]])


def here(x):
    """An array in the memory of the CPU."""
    return x.get() if target == "cuda" else x


step = mz.stepper(model, torque=hold, target=target, dtype=dtype)
q = np.tile(stand, (count, 1)).astype(dtype)
q[:, 7:] += 0.2 * np.random.default_rng(0).normal(size=(count, 12))
v = np.zeros((count, model.nv), dtype)
step(q[:64], v[:64], 0.0, 1e-3, 1)  # the first call compiles
start = time.perf_counter()
q, v, residual = map(here, step(q, v, 0.0, 1e-3, 100))
seconds = time.perf_counter() - start
print(f"{count:,} quadrupeds, 100 steps each, in {seconds:.2f} s on {target};", end=" ")
print(f"laws of contact hold to {bound:g} m/s for {100 * np.mean(residual < bound):.2f} % of them")
assert np.isfinite(q).all() and np.mean(residual < bound) > 0.99
