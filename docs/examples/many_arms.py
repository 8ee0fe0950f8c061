"""Many arms at once, on a GPU where there is one: the state stays there, feedback is compiled in.

Every sample is one thread of the GPU, or one lane of the CPU's vectors. Run it: it prints how fast
it went.
"""

import importlib.util
import time
from typing import Any

import numpy as np

import mozzi as mz
from mozzi.model.generate import chain
from mozzi.program.scalar import sin

arm = chain(7, seed=3)


def law(t, q, v):
    """Follow a slow wave, gravity compensated."""
    return mz.gravity_forces(arm, q) + 60.0 * (0.3 * sin(0.5 * t) - q) - 12.0 * v


def arrays() -> Any:
    """CuPy where it finds a GPU, else NumPy."""
    if importlib.util.find_spec("cupy") is not None:
        import cupy

        if cupy.cuda.is_available():
            return cupy
    return np


xp = arrays()
target, count = ("cpu", 4_096) if xp is np else ("cuda", 1_048_576)

step = mz.stepper(arm, "rkmk4", law, target=target, dtype="float32")
q = xp.asarray(np.random.default_rng(0).uniform(-1.0, 1.0, (count, arm.nq)), "float32")
v = xp.zeros((count, arm.nv), "float32")

q, v = step(q, v, 0.0, 1e-3, 1)  # compiles
start = time.perf_counter()
for t in range(2):
    q, v = step(q, v, float(t), 1e-3, 1000)  # a second of all arms, in one call
off = float(abs(q - 0.3 * np.sin(1.0)).max())  # the result is here: all is done
spent = time.perf_counter() - start

print(f"{count:,} arms, 2,000 steps each, in {spent:.1f} s: {2000 * count / spent:.1e} steps/s")
print(f"from up to 1.3 rad away to {off:.3f} rad")
assert off < 0.5
