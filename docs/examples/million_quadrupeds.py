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
count = int(sys.argv[2]) if len(sys.argv) > 2 else 4096
model = quadruped()
stand = model.configurations["standing"]


def hold(t, q, v):
    """PD control of the legs about the standing configuration."""
    return np.concatenate([np.zeros(6), 12.0 * (stand[7:] - q[7:]) - 0.4 * v[6:]])


step = mz.stepper(model, torque=hold, target=target)
q = np.tile(stand, (count, 1))
q[:, 7:] += 0.2 * np.random.default_rng(0).normal(size=(count, 12))
start = time.perf_counter()
q, v, residual = (np.asarray(x) for x in step(q, np.zeros((count, model.nv)), 0.0, 1e-3, 100.0))
seconds = time.perf_counter() - start
print(f"{count:,} quadrupeds, 100 steps each, in {seconds:.2f} s on {target};", end=" ")
print(f"laws of contact hold to 1e-8 m/s for {100 * np.mean(residual < 1e-8):.2f} % of them")
assert np.isfinite(q).all() and np.mean(residual < 1e-8) > 0.99
