"""A four-bar linkage: closed, driven through a turn, let go, and improved by its derivatives.

A loop is a joint between two bodies of a tree. The rocker is closed to the coupler by a hinge, in
space: five equations, of which two count, and nobody has to choose which. Run it: it prints.
"""

import numpy as np

import mozzi as mz

rod = lambda length: mz.Inertia(
    length, (length / 2, 0.0, 0.0), np.diag([1e-3, length**3 / 12, length**3 / 12])
)
model = (
    mz.Builder("four-bar")
    .add("crank", None, mz.Revolute("y"), rod(1.0))
    .add("coupler", "crank", mz.Revolute("y"), rod(2.0), placement=(1.0, 0.0, 0.0))
    .add("rocker", None, mz.Revolute("y"), rod(1.8), placement=(2.2, 0.0, 0.0))
    .loop("pin", "coupler", "rocker", mz.Revolute("y"), (2.0, 0.0, 0.0), (1.8, 0.0, 0.0))
    .build()
)

# A turn of the crank, in steps that follow one branch: each is closed from the one before.
angles = np.linspace(0.0, 2.0 * np.pi, 361)
q = np.array([0.0, -1.0, -2.0])
turn = np.empty((361, 3))
for k, angle in enumerate(angles):
    q = turn[k] = mz.assemble(model, [angle, *q[1:]], hold=["crank"])
found = mz.assemble(model, turn[90], report=True)
print(f"{mz.loop_residual(model, q).size} rows of rank {found.rank}, mobility {found.mobility}")
assert found.rank == 2 and found.mobility == 1 and not found.singular
assert abs(mz.loop_residual(model, turn)).max() < 1e-10

# The torque that turns the crank evenly, 3 rad/s: one call for the whole turn.
v = mz.consistent_velocities(model, turn, [3.0, 0.0, 0.0], hold=["crank"])
zero = np.zeros_like(v)
torque, a = mz.hybrid_dynamics(model, turn, v, zero, zero, prescribed=["crank"])
same = mz.inverse_dynamics(model, turn, v, a, actuated=["crank"])
work = np.trapezoid(torque[:, 0], angles)
print(f"torque between {torque[:, 0].min():.2f} and {torque[:, 0].max():.2f} Nm; work {work:.1e} J")
assert abs(same - torque).max() < 1e-9 * abs(torque).max()
assert abs(work) < 1e-3 * abs(torque[:, 0]).max()  # gravity and inertia give back what they take

# What the pin bears, and how that and the acceleration change with the state: exact derivatives.
force = mz.loop_forces(model, turn, v, torque)
da_dq, da_dv, da_dtau = mz.forward_dynamics_derivatives(model, turn, v, torque)
print(f"the pin bears up to {np.linalg.norm(force, axis=1).max():.1f} N")
step = 1e-6 * v[90]  # along the motion the loop stays closed
ahead, behind = (
    mz.forward_dynamics(model, turn[90] + sign * step, v[90], torque[90]) for sign in (1.0, -1.0)
)
assert abs(da_dq[90] @ step - (ahead - behind) / 2).max() < 1e-9

# Let go: ten seconds, the loop closed to rounding, the energy kept.
motion = mz.simulate(model, turn[60], zero[0], duration=10.0, dt=1e-3, record_every=10)
print(
    f"after 10 s: loop open by {abs(mz.loop_residual(model, motion.q)).max():.0e} m, "
    f"energy off by {motion.energy_drift():.0e}"
)
assert abs(mz.loop_residual(model, motion.q)).max() < 1e-10
assert motion.energy_drift() < 1e-8
