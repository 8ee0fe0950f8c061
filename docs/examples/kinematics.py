"""Kinematics of a seven-dof arm: poses, Jacobians, their derivatives, and reaching for targets."""

import numpy as np

import mozzi as mz
from mozzi.model import Builder, Revolute

# An arm of seven revolute joints; `mz.load("panda.urdf")` gives one just as well.
builder = Builder("arm")
for k, axis in enumerate("zyzyzyz"):
    parent = f"link{k - 1}" if k else None
    builder.add(
        f"link{k}", parent, Revolute(axis), placement=(0.0, 0.0, 0.2), limits=(-2.8, 2.8)
    )
model = builder.frame("tool", "link6", (0.0, 0.0, 0.1)).build()

# A batch of configurations goes through one compiled kernel.
rng = np.random.default_rng(0)
q = model.random_configuration(rng, 1000)
v = rng.normal(size=(1000, model.nv))
C = mz.forward_kinematics(model, q)  # (1000, 7, 4, 4)
J = mz.jacobian(model, q, "tool", "hybrid")  # (1000, 6, 7)
V = mz.twists(model, q, v, "body")  # (1000, 7, 6)
assert C.shape == (1000, 7, 4, 4) and J.shape == (1000, 6, 7) and V.shape == (1000, 7, 6)

# From twists of all bodies back to joint rates, also where measured twists disagree a little.
noisy = V + 0.01 * rng.normal(size=V.shape)
assert np.allclose(mz.joint_rates(model, q, V), v)
print("rates from noisy twists differ by", np.abs(mz.joint_rates(model, q, noisy) - v).max())

# Second-order kinematics as one kernel: the pose, J, ∂J/∂q and ∂²J/∂q².
second_order = mz.compile(
    lambda q: (
        mz.pose(model, q, "tool"),
        mz.jacobian(model, q, "tool", "hybrid"),
        mz.jacobian_partials(model, q, "tool", 1, "hybrid"),
        mz.jacobian_partials(model, q, "tool", 2, "hybrid"),
    ),
    model,
)
T, J, H, K = second_order(q)
print("second-order kinematics:", T.shape, J.shape, H.shape, K.shape)

# Reach a thousand poses at once, within the limits.
found = mz.inverse_kinematics(model, {"tool": T}, q0=model.random_configuration(rng, 1000))
print(found.report())
assert found.success.mean() > 0.99

# What is out of reach is said in words.
print(mz.inverse_kinematics(model, {"tool": [5.0, 0.0, 0.0]}, restarts=3).report())
