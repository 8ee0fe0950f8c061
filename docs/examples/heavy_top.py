"""The heavy top of the Lie group integrator literature, by every method.

A top of 15 kg is held at a point, spins with 150 rad/s and precesses. Its state at t = 0.2 s is
known to 16 digits; the methods differ in how fast they come there. Run it: it prints a table.
"""

import numpy as np

import mozzi as mz
from mozzi.simulation import METHODS
from mozzi.types import Method

body = mz.Inertia(15.0, (0.0, 1.0, 0.0), np.diag([0.234375, 0.46875, 0.234375]))
top = mz.Builder("heavy top").add("top", None, mz.Spherical(), body).build()
start, spin = top.neutral(), np.array([0.0, 150.0, -4.61538])
known = np.array([0.6055505613771198, 0.5989576817949191, -0.5239830274300032])  # of its centre


def error(method: Method, steps: int) -> float:
    """How far the centre of mass is from where it should be."""
    motion = mz.simulate(top, start, spin, 0.2, 0.2 / steps, method, record_every=steps)
    return float(np.linalg.norm(mz.center_of_mass(top, motion.q[-1]) - known))


print("error of the centre of mass at t = 0.2 s, in metres")
print(f"{'steps':>18s} {'250':>9s} {'500':>9s} {'1000':>9s}   order")
for method in METHODS:
    errors = [error(method, steps) for steps in (250, 500, 1000)]
    slope = "adaptive" if method == "dopri5" else f"{np.log2(errors[1] / errors[2]):.2f}"
    print(f"{method:>18s}", *(f"{e:9.1e}" for e in errors), f"  {slope}")

motion = mz.simulate(top, start, spin, 2.0, 1e-3, "dopri5", rtol=1e-12, atol=1e-13)
spread = np.ptp(motion.momentum()[:, 2])
print(f"over 2 s dopri5 keeps the energy to {motion.energy_drift():.1e}, the momentum about the")
print(f"vertical to {spread:.1e} of 70 N m s, and the spin to {np.ptp(motion.v[:, 1]):.1e} rad/s")
assert motion.energy_drift() < 1e-10 and spread < 1e-8
