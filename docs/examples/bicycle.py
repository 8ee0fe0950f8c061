"""A bicycle that rides by itself: where it is stable, how it comes back, and how it is steered.

The bicycle is that of the benchmark of Meijaard, Papadopoulos, Ruina and Schwab (2007), with wheels
that roll without slip on a plane. Run it: it prints, and writes bicycle.html, a page that shows the
ride.
"""

import numpy as np

import mozzi as mz
from mozzi.model.generate import bicycle

model = bicycle()
q = model.neutral()  # upright, ahead along x
print(model, "with the rows", dict(mz.loop_rows(model)))


def riding(speed: float) -> np.ndarray:
    """Straight ahead: the wheels turn as they must."""
    v = np.zeros(model.nv)
    v[3] = speed
    v[model.v_slices["rear"]], v[model.v_slices["front"]] = speed / 0.3, speed / 0.35
    return v


# Between the weave and the capsize speed all deviations from riding upright die out.
for speed in (3.0, 4.29238253634111, 5.0, 6.02426201538837, 8.0):
    values, _ = mz.modes(model, q, riding(speed))
    moving = values[np.abs(values) > 1e-9]
    state = "stable" if moving.real.max() < -1e-9 else "at the limit, or unstable"
    print(f"{speed:5.2f} m/s: {np.round(moving, 4)}, {state}")
stable = mz.modes(model, q, riding(5.0))[0]
assert np.sort(stable.real)[-2] < -0.3  # the last one is the speed itself, which nothing changes

# Pushed sideways at 4.6 m/s it swings, steers into the fall, and rides on, with all its energy.
v = riding(4.6)
v[0] = 0.4  # a lean, in rad/s
v = mz.consistent_velocities(model, q, v)
ride = mz.simulate(model, q, v, 6.0, 0.005, record_every=4)
steer = ride.q[:, model.q_slices["steer"]][:, 0]
print(f"steers by up to {np.degrees(np.abs(steer).max()):.1f} degrees, and in the end by "
      f"{np.degrees(abs(steer[-1])):.2f}; energy to {ride.energy_drift():.1e}")  # fmt: skip
assert np.abs(steer[-30:]).max() < 0.2 * np.abs(steer).max()
assert ride.energy_drift() < 1e-8
assert np.abs(mz.loop_residual(model, ride.q)).max() < 1e-12  # both wheels on the ground

# What the road does: a force at each contact, in the world.
contact = ride.wrenches()["front_contact"]
lift = contact.wrenches[:, 0, 5]
print(f"the front wheel bears {lift.min():.0f} to {lift.max():.0f} N at {contact.points[-1, 0]}")
ride.animate("bicycle.html")

# Ridden: torques at the handlebar that answers the lean, and at the rear wheel.
lean = lambda q: 2.0 * (q[4] * q[5] + q[3] * q[6])  # of the frame, to the right


def rider(t, q, v):
    tau = np.zeros(model.nv, dtype=object)
    tau[model.v_slices["steer"].start] = 60.0 * lean(q) + 15.0 * v[0] - 20.0 * q[7] - 2.0 * v[6]
    tau[model.v_slices["rear"].start] = 8.0 * (3.0 - v[3])
    return tau


v = riding(3.0)  # too slow to ride alone
v[0] = 0.1
v = mz.consistent_velocities(model, q, v)
ridden = mz.simulate(model, q, v, 5.0, 0.005, torque=rider)
print(f"ridden at {ridden.v[-1, 3]:.2f} m/s, leaning by {np.abs(ridden.v[-1, 0]):.1e} rad/s")
assert np.abs(ridden.v[-200:, 0]).max() < 0.05
