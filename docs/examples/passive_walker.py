"""A passive walker that finds its limit cycle: a rimless wheel rolls down a slope on its spokes.

It has no motor. Every spoke that lands takes a part of the speed, the slope gives it back, and from
any start that rolls the wheel comes to the same gait (McGeer, 1990). Contacts are kept by events,
so that the gait is known to nine digits. Run it: it writes passive_walker.html.
"""

import math
from pathlib import Path

import numpy as np

import mozzi as mz

SPOKES, SLOPE, INERTIA, G = 8, 0.08, 0.01, 9.81

builder = mz.Builder("walker", gravity=(G * math.sin(SLOPE), 0.0, -G * math.cos(SLOPE)))
along, up = (mz.Prismatic(axis) for axis in ("x", "z"))
hub = mz.Inertia(1.0, (0, 0, 0), INERTIA * np.eye(3))
builder.add("wheel", None, mz.Composite(along, up, mz.Revolute("y")), hub)
feet = [f"foot{k}" for k in range(SPOKES)]
for k, foot in enumerate(feet):
    angle = 2 * math.pi * k / SPOKES
    tip = mz.SE3.translation(math.sin(angle), 0.0, -math.cos(angle))
    builder.shape("wheel", mz.Sphere(1e-9), tip, name=foot)
    builder.shape("wheel", mz.Sphere(0.03), tip, role="visual")
    spoke = mz.SE3.exp(mz.Twist.from_array([0.0, -angle, 0.0, 0.0, 0.0, 0.0]))
    spoke = spoke @ mz.SE3.translation(0.0, 0.0, -0.5)
    builder.shape("wheel", mz.Cylinder(0.012, 1.0), spoke, role="visual")
walker = builder.build().with_ground(feet, friction=2.0)

alpha = math.pi / SPOKES
kept = (math.cos(2 * alpha) + INERTIA) / (1 + INERTIA)  # of the speed, in an impact
gain = 4 * G * math.sin(alpha) * math.sin(SLOPE) / (1 + INERTIA)  # of its square, in a stride
steady = math.sqrt(kept**2 * gain / (1 - kept**2))
print(f"the gait of theory has {steady:.9f} rad/s after every impact")
for speed in (0.9, 1.6):
    run = mz.simulate(
        walker, [0.0, 1.0, 0.0], [speed, 0.0, speed], 9.0, 0.02, "dopri5", rtol=1e-10, atol=1e-12
    )
    after = np.array([x.v[2] for x in run.events if x.number < 0])
    errors = abs(after - steady)
    print(f"from {speed} rad/s: {', '.join(f'{w:.4f}' for w in after[:5])} … {after[-1]:.6f}")
    ratio = errors[5] / errors[4]
    print(f"  the deviation is multiplied by {ratio:.3f} in a stride, of theory {kept**2:.3f}")
    assert abs(ratio - kept**2) < 0.02 and errors[-1] < 1e-2 * errors[0]
run.animate(Path(__file__).with_name("passive_walker.html"))
