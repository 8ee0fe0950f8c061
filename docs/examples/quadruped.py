"""A quadruped that is dropped, stands, is pushed, and trots.

Four feet with dry friction, a PD controller that is compiled with the step, contact by the method
of Moreau and Jean: feet stick or slide, nothing creeps, and the forces of a standing robot carry
its weight to rounding. Diagonal legs that swing in turn make it trot. Run it: it writes
quadruped.html and trot.html.
"""

from pathlib import Path

import numpy as np

import mozzi as mz
from mozzi.model.generate import quadruped

model = quadruped(friction=0.7)
stand = model.configurations["standing"]


def hold(t, q, v):
    """PD control of the legs about the standing configuration; the trunk is free."""
    tau = np.full(model.nv, 0.0, dtype=object)
    tau[6:] = 12.0 * (stand[7:] - q[7:]) - 0.4 * v[6:]
    return tau


q0 = stand.copy()
q0[2] += 0.15 - mz.contact_gaps(model, stand).min()  # the feet are 15 cm above the ground
dropped = mz.simulate(model, q0, np.zeros(model.nv), 2.0, 1e-3, torque=hold, record_every=10)
weight = -model.gravity[2] * model.mass
F = dropped.contact_forces
first = dropped.t[np.argmax(F[:, :, 2].sum(-1) > 0)]
print(f"landed at {first:.2f} s, up to {F[..., 2].max():.0f} N")
print(f"at 2 s it moves at {abs(dropped.v[-1]).max():.1e} and its feet carry", end=" ")
print(f"{F[-1, :, 2].sum():.9f} N of {weight:.9f} N")

v0 = dropped.v[-1].copy()
v0[4] += 0.6  # a push to the side, in m/s
pushed = mz.simulate(model, dropped.q[-1], v0, 2.0, 1e-3, torque=hold, record_every=10)
slides = (pushed.contact_modes == 2).any(axis=0)
lost = pushed.energy_taken()[-1].sum()
print(f"pushed aside it slides on {slides.sum()} feet, loses {lost:.2f} J to friction and impacts")
print(f"and ends {pushed.q[-1, 1] - dropped.q[-1, 1]:.3f} m beside where it stood")



def trot(t, q, v):
    """Diagonal legs swing in turn: thighs go to and fro, legs are bent while they swing."""
    tau = np.full(model.nv, 0.0, dtype=object)
    size = np.minimum(t, 1.0)  # it begins slowly
    for leg, ahead in enumerate((1.0, 1.0, -1.0, -1.0)):  # hind knees bend the other way
        phase = 2 * np.pi * t / 0.3 + (0.0 if leg in (0, 3) else np.pi)
        bend = 0.3 * ahead * size * np.maximum(np.sin(phase), 0.0)
        for k, change in enumerate((0.0, 0.1 * size * np.cos(phase) + bend, -2.0 * bend)):
            n = 3 * leg + k
            tau[6 + n] = 15.0 * (stand[7 + n] + change - q[7 + n]) - 0.4 * v[6 + n]
    return tau


q0[2] -= 0.15  # the feet touch
walked = mz.simulate(model, q0, np.zeros(model.nv), 4.0, 1e-3, torque=trot, record_every=10)
on = walked.contact_forces[200:, :, 2] > 0.0
print(f"it trots {walked.q[-1, 0]:.2f} m in 4 s, {walked.q[-1, 1]:.3f} m to the side;", end=" ")
print(f"diagonal feet touch together {100 * np.mean(on[:, 0] == on[:, 3]):.0f} % of the time")
assert walked.q[-1, 0] > 0.5 and walked.q[-1, 2] > 0.2

worst = max(run.contact_residual.max() for run in (dropped, pushed, walked))
print(f"no step misses the laws of contact by more than {worst:.1e} m/s")
assert worst < 1e-9 and abs(dropped.v[-1]).max() < 1e-2
np.testing.assert_allclose(F[-1, :, 2].sum(), weight, rtol=1e-2)
dropped.animate(Path(__file__).with_name("quadruped.html"))
walked.animate(Path(__file__).with_name("trot.html"))
