"""A spacecraft turns itself with its arms: nothing pushes it, so its momentum stays zero.

Two arms swing in loops. Every loop leaves the base turned a little, as a cat turns in its fall.
The method ``momentum`` keeps the spatial momentum to rounding whatever the step is; others keep it
as well as they keep everything. Run it: it prints, and writes spacecraft.html to look at.
"""

from pathlib import Path

import numpy as np

import mozzi as mz
from mozzi.types import Method

hull = mz.Inertia(20.0, (0.0, 0.0, 0.0), np.diag([1.2, 1.0, 0.8]))
link = mz.Inertia(2.0, (0.0, 0.0, 0.4), np.diag([0.11, 0.11, 0.01]))
builder = mz.Builder("spacecraft", gravity=(0.0, 0.0, 0.0)).add("hull", None, mz.Free(), hull)
for side, y in (("left", 0.4), ("right", -0.4)):
    builder.add(f"{side}_upper", "hull", mz.Universal("x", "y").between((0.0, y, 0.2)), link)
    builder.add(f"{side}_lower", f"{side}_upper", mz.Revolute("y").between((0.0, 0.0, 0.8)), link)
craft = builder.build()

arms = slice(6, craft.nv)
phase = np.array([0.0, np.pi / 2, np.pi / 3, np.pi, np.pi / 2, np.pi / 3])


def law(t, q, v):
    """Motors at the arms only: they draw loops."""
    turn = [3.0 * t + p for p in phase]
    goal = 0.7 * (np.array([np.cos(x) for x in turn]) - np.cos(phase))
    speed = -2.1 * np.array([np.sin(x) for x in turn])
    tau = np.zeros(craft.nv, dtype=object)
    tau[arms] = 60.0 * (goal - q[7:]) + 12.0 * (speed - v[arms])
    return tau


def turned(motion: mz.Trajectory) -> float:
    """The angle by which the hull has turned, in degrees."""
    return float(np.degrees(2.0 * np.arccos(min(1.0, abs(motion.q[-1, 6])))))


def run(method: Method, dt: float) -> mz.Trajectory:
    """The motion, from rest."""
    motion = mz.simulate(craft, craft.neutral(), np.zeros(craft.nv), 12.0, dt, method, law)
    size = abs(motion.momentum()).max()
    print(f"{method:9s} dt {dt:g}: hull turned by {turned(motion):.3f}°, momentum below {size:.1e}")
    assert method != "momentum" or size < 1e-11
    return motion


for dt in (1e-2, 2e-3):
    run("momentum", dt)
run("rkmk4", 1e-2)
motion = run("rkmk4", 2e-3)
motion.animate(Path(__file__).with_suffix(".html"))
