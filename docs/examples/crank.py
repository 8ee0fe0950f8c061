"""A slider-crank whose crank turns at constant speed: the torque of the motor, and its work.

The caller writes where the crank is, a function of time; its velocity and acceleration follow by
differentiation, and the motor's torque is in the trajectory. Run it: it prints, and writes
crank.png.
"""

import matplotlib.pyplot as plt
import numpy as np

import mozzi as mz

rod = lambda m, L: mz.Inertia(m, (L / 2, 0, 0), np.diag([1e-3, m * L**2 / 12, m * L**2 / 12]))
piston = mz.Inertia(1.0, (0, 0, 0), 1e-3 * np.eye(3))
model = (
    mz.Builder("slider-crank")
    .add("crank", None, mz.Revolute("y"), rod(0.5, 0.3))
    .add("rod", "crank", mz.Revolute("y"), rod(0.8, 0.9), placement=(0.3, 0, 0))
    .add("slider", None, mz.Prismatic("x"), piston, placement=(0, 0, 0.1))
    .loop("pin", "rod", "slider", mz.Revolute("y"), (0.9, 0, 0), (0, 0, 0))
    .build()
)
speed = 6.0
q = mz.assemble(model, [0.0, -0.3, 1.1], hold=["crank"])
turn = mz.simulate(
    model, q, np.zeros(3), 2.0 * np.pi / speed, 1e-3, prescribed={"crank": lambda t: speed * t}
)
torque = turn.drive_forces["crank"][:, 0]
print(f"{len(turn)} records, torque between {torque.min():.2f} and {torque.max():.2f} N m")
assert np.allclose(turn.q[:, 0], speed * turn.t) and np.allclose(turn.v[:, 0], speed)

# The same torque as inverse dynamics asks of the crank alone; what the work makes of the energy.
same = mz.inverse_dynamics(model, turn.q, turn.v, turn.a, actuated=["crank"])[:, 0]
gain = turn.energy() - turn.energy()[0]
print(f"work {turn.drive_work()[-1]:.1e} J in a turn; energy off by "
      f"{np.abs(gain - turn.drive_work()).max():.1e} of {np.ptp(gain):.2f} J")  # fmt: skip
assert np.abs(torque - same).max() < 1e-9
assert np.abs(gain - turn.drive_work()).max() < 1e-6 * np.ptp(gain)
pin = turn.wrenches()["pin"]
bears = np.linalg.norm(pin.wrenches[:, 1, 3:], axis=-1)
print(f"the pin pushes the {pin.bodies[1]} with up to {bears.max():.1f} N")

figure, (top, bottom) = plt.subplots(2, sharex=True, figsize=(6, 5))
angle = np.degrees(turn.q[:, 0])
top.plot(angle, torque)
top.set(ylabel="motor torque / N m")
bottom.plot(angle, gain, label="energy")
bottom.plot(angle, turn.drive_work(), "--", label="work of the motor")
bottom.set(xlabel="crank / degrees", ylabel="J")
bottom.legend()
figure.savefig("crank.png", dpi=120)
