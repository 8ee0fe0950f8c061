"""A push that is found by gradients, though the hand does not touch the puck at first.

A hand pushes a puck, which slides on against dry friction and shall stop at a mark. From no push at
all the derivative of where the puck ends is zero: nothing touches. With softened laws, a contact at
a distance d pushes with κ/d: the gradient tells where to go, and κ falls while the push is found.
The last steps are those of the laws as they are.
"""

import numpy as np

import mozzi as mz
from mozzi.simulation import Moreau

DT, STEPS, PUSH, MARK = 5e-3, 300, 60, 0.7  # s, steps in all and of the push, m

builder = mz.Builder("shuffleboard", gravity=(0, 0, 0))
for name, mass, friction in (("hand", 0.5, 0.0), ("puck", 0.2, 0.2)):
    body = mz.Inertia(mass, (0, 0, 0), 1e-3 * np.eye(3))
    builder.add(name, None, mz.Prismatic("x"), body, friction=friction)
    builder.shape(name, mz.Sphere(0.05), name=f"{name}_ball")
model = builder.build().with_contact("hit", "hand_ball", "puck_ball", friction=0.0)
q0, v0 = np.array([0.0, 0.2]), np.zeros(2)


def end(push, method):
    """Where the puck ends, and the gradient of that with respect to the forces on the hand."""
    tau = np.zeros((STEPS, 2))
    tau[:PUSH, 0] = push
    q, v = mz.rollout(model, q0, v0, tau, DT, method)
    dq = np.zeros((STEPS + 1, 2))
    dq[-1, 1] = 1.0
    by_tau = mz.rollout_gradient(model, q, v, tau, DT, dq, 0.0 * dq, method)[2]
    return q, by_tau[:PUSH, 0]


push = np.zeros(PUSH)
assert not end(push, Moreau())[1].any()  # without smoothing no gradient leads anywhere
for kappa in (1e-2, 1e-3, 1e-4, 0.0):
    method = Moreau(smoothing=kappa)
    for _ in range(12):  # the least change of the push that would lead to the mark, not too far
        q, slope = end(push, method)
        change = slope * (MARK - q[-1, 1]) / (slope @ slope + 1e-9)
        push += change / max(1.0, np.abs(change).max())
    print(f"smoothing {kappa:g} J: the puck stops at {end(push, method)[0][-1, 1]:.6f} m")
q = end(push, Moreau())[0]
print(f"a push of {push.max():.2f} N at most; the puck stops {1e3 * (q[-1, 1] - MARK):+.3f} mm off")
assert abs(q[-1, 1] - MARK) < 1e-6
