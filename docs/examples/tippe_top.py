"""A tippe top: spun fast enough, a ball that is heavy below turns over and stands on its head.

Only the friction of its sliding point does it: without friction it would never turn. The centre of
mass rises, and the energy that takes comes from the spin. Run it: it writes tippe_top.html.
"""

from pathlib import Path

import numpy as np

import mozzi as mz

RADIUS, LOW, MASS, SPIN = 0.02, 0.004, 0.02, 180.0

builder = mz.Builder("tippe top")
moments = 0.4 * MASS * RADIUS**2 * np.diag([1.0, 1.0, 1.05])
builder.add("top", None, mz.Free(), mz.Inertia(MASS, (0, 0, -LOW), moments))
builder.shape("top", mz.Sphere(RADIUS), name="ball")
builder.shape("top", mz.Cylinder(0.003, 0.02), mz.SE3.translation(0, 0, 0.025), name="stem",
              role="visual")  # fmt: skip
top = builder.build().with_ground("ball", friction=0.1)

q = mz.integrate(top, top.neutral(), np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]))  # a little aside
q[2] = RADIUS
R = mz.forward_kinematics(top, q)[0, :3, :3]
w = R.T @ [0.0, 0.0, SPIN]  # about the vertical through the centre of mass
v = np.r_[w, np.cross(w, [0.0, 0.0, LOW])]
run = mz.simulate(top, q, v, 5.0, 2e-4, record_every=50)
axis = mz.forward_kinematics(top, run.q)[:, 0, 2, 2]  # up: 1, turned over: −1
over = run.t[np.argmax(axis < 0.0)]
rise = mz.potential_energy(top, run.q[-1]) - mz.potential_energy(top, run.q[0])
friction = run.energy_taken()[-1, 1]
print(f"it is on its side at {over:.2f} s, and at the end its axis points {axis[-1]:+.3f} up")
height = 1e3 * rise / (MASS * 9.81)
print(f"its centre of mass rose by {height:.1f} mm, and {friction:.3f} J are heat")
print(f"no step misses the laws of contact by more than {run.contact_residual.max():.1e} m/s")
assert axis[0] > 0.99 and axis[-1] < -0.9 and run.contact_residual.max() < 1e-9
assert np.diff(run.energy()).max() < 1e-5 * run.energy()[0]
run.animate(Path(__file__).with_name("tippe_top.html"))
