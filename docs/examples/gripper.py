"""A gripper that holds a box by friction, and drops it where friction is too small.

Two fingers press on a box and lift it. What they can hold is twice the friction of their force: the
same program with a coefficient on either side of that limit. Run it: it writes gripper.html.
"""

from pathlib import Path

import numpy as np

import mozzi as mz

SIDE, MASS, PRESS, RISE = 0.06, 0.4, 5.0, 0.1


def gripper(friction):
    """A lift, two fingers that slide on it, and a box that is free."""
    builder = mz.Builder("gripper")
    light = mz.Inertia(0.2, (0, 0, 0), 1e-3 * np.eye(3))
    builder.add("lift", None, mz.Prismatic("z"), light)
    builder.shape("lift", mz.Box((0.2, 0.04, 0.02)), mz.SE3.translation(0, 0, 0.08), role="visual")
    for name, side in (("left", -1.0), ("right", 1.0)):
        place = (side * (SIDE / 2 + 0.01), 0.0, 0.0)
        builder.add(name, "lift", mz.Prismatic((-side, 0, 0)).between(place, None), light)
        builder.shape(name, mz.Box((0.02, 0.04, 0.05)), name=f"pad_{name}")
    inertia = MASS * SIDE**2 / 6 * np.eye(3)
    builder.add("box", None, mz.Free(), mz.Inertia(MASS, (0, 0, 0), inertia))
    builder.shape("box", mz.Box((SIDE, SIDE, SIDE)), name="block")
    model = builder.build().with_ground("block", height=-SIDE / 2, friction=0.5)
    for name in ("left", "right"):
        model = model.with_contact(f"grip_{name}", f"pad_{name}", "block", friction)
    return model


def lifted(friction):
    """Half a second of closing and lifting, half a second of holding."""
    model = gripper(friction)
    weight = 9.81 * 0.6  # of lift and fingers

    def law(t, q, v):
        """The fingers press; the lift follows a ramp, with what it carries."""
        target = RISE * mz.minimum(t / 0.5, 1.0)
        up = weight + 400.0 * (target - q[0]) - 40.0 * v[0]
        return [up, PRESS, PRESS, *[0.0] * 6]

    return mz.simulate(model, model.neutral(), np.zeros(9), 1.0, 1e-3, torque=law, record_every=10)


limit = MASS * 9.81 / (2 * PRESS)
for friction in (1.5 * limit, 0.5 * limit):
    run = lifted(friction)
    height = run.q[-1, 5]
    held = "holds" if height > 0.5 * RISE else "drops"
    print(f"friction {friction:.2f} (limit {limit:.2f}): it {held} the box", end=", ")
    print(f"which is at {1e3 * height:.1f} mm")
    assert held == ("holds" if friction > limit else "drops")
    assert run.contact_residual.max() < 1e-6
    if held == "holds":
        run.animate(Path(__file__).with_name("gripper.html"))
