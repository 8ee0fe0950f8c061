"""A panda from its URDF file: let go, held by a PD law, and led by computed torque.

The file gives its joints some damping, which acts; let go, it is taken out, and the energy stays.

Laws are functions of (t, q, v) on traced scalars; they are compiled together with the dynamics and
the integrator. Run it: it prints, and writes panda.html to look at.
"""

import sysconfig
from pathlib import Path

import numpy as np

import mozzi as mz
from mozzi.viz.page import scene, write_page

FILE = Path(
    sysconfig.get_paths()["purelib"],
    "cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf",
)
whole = mz.load(FILE)
fingers = [joint for joint in whole.joint_names if "finger" in joint]
panda = whole.lock(fingers, whole.neutral())
home = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
start, rest = home + 0.3, np.zeros(7)


def pd(t, q, v):
    """Springs and dampers on every joint, and what gravity needs."""
    return mz.gravity_forces(panda, q) - 100.0 * (q - home) - 20.0 * v


def computed_torque(t, q, v):
    """A circle in joint space; the error obeys ë + 20 ė + 100 e = 0."""
    turn = 2.0 * t
    goal = home + 0.4 * np.array([np.sin(turn)] * 7)
    speed = 0.8 * np.array([np.cos(turn)] * 7)
    pull = -1.6 * np.array([np.sin(turn)] * 7)
    wanted = pull + 20.0 * (speed - v) + 100.0 * (goal - q)
    return mz.inverse_dynamics(panda, q, v, wanted, resistance=True)


falls = mz.simulate(panda, start, rest, 3.0, 5e-4, record_every=20, resistance=False)
held = mz.simulate(panda, start, rest, 3.0, 5e-4, torque=pd, record_every=20)
led = mz.simulate(panda, start, rest, 3.0, 5e-4, torque=computed_torque, record_every=20)

error = abs(led.q[-1] - home - 0.4 * np.sin(2.0 * led.t[-1])).max()
print(f"let go:   energy drift {falls.energy_drift():.1e}")
print(f"PD law:   {abs(held.q[-1] - home).max():.1e} rad from home")
print(f"led:      {error:.1e} rad from the circle")
assert falls.energy_drift() < 1e-6 and error < 1e-9

scenes = [
    scene(x, title, play=True)
    for x, title in ((falls, "let go"), (held, "PD"), (led, "computed torque"))
]
write_page(Path(__file__).with_suffix(".html"), scenes, "panda")
