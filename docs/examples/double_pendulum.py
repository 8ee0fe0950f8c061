"""A double pendulum from its joint screws, and how soon two that start alike are strangers.

All data are given in one inertial frame: where the bodies are at q = 0, and the screws Y of the two
hinges there. Run it: it prints, and writes double_pendulum.html to look at.
"""

from pathlib import Path

import numpy as np

import mozzi as mz

# A hinge about y through the point p has the screw (e_y, p × e_y).
axis, elbow = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, -1.0])
rod = mz.Inertia(1.0, (0.0, 0.0, -0.5), np.diag([1 / 12, 1 / 12, 1e-3]))
model = (
    mz.Builder("double pendulum")
    .add("upper", None, inertia=rod, reference=np.eye(4), screw=(*axis, 0, 0, 0), rep="spatial")
    .add(
        "lower",
        "upper",
        inertia=rod,
        reference=mz.SE3.translation(*elbow),
        screw=(*axis, *np.cross(elbow, axis)),
        rep="spatial",
    )
    .build()
)

# A thousand of them, the first angles within a millionth of a radian: one call, one kernel.
q0 = np.array([2.0, 1.0]) + 1e-6 * np.linspace(0.0, 1.0, 1000)[:, None] * [1.0, 0.0]
motion = mz.simulate(model, q0, [0.0, 0.0], duration=20.0, dt=1e-3, record_every=20)

spread = np.ptp(motion.q[..., 0], axis=0)
for t in (0, 5, 10, 15, 20):
    print(f"t = {t:2d} s   first angles differ by {spread[motion.t.searchsorted(t)]:.1e} rad")
print(f"energy drift of the worst: {motion.energy_drift().max():.1e}")
assert motion.energy_drift().max() < 1e-6
assert spread[0] < 1.1e-6 and spread[-1] > 1e-3

motion[0].animate(Path(__file__).with_suffix(".html"))
