"""Programs as users write them: pyright finds nothing here, in strict mode."""

from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import mozzi as mz

Array = NDArray[np.float64]

# -- models

arm = mz.load("arm.urdf")
assert_type(arm, mz.Model)
walker = mz.load(Path("walker.xml"), base="free", physical="warn")
builder = mz.Builder("pendulum", gravity=(0.0, 0.0, -9.81))
rod = mz.Inertia(1.0, (0.0, 0.0, -0.5), np.diag([0.1, 0.1, 0.01]))
builder.add("rod", None, mz.Revolute("x"), rod, damping=0.1)
pendulum = builder.build()
assert_type(pendulum.nq, int)
assert_type(pendulum.joint_names, tuple[str, ...])
assert_type(pendulum.q_slices["rod"], slice)
closed = arm.with_loop("bar", "link_2", None, mz.Spherical())
heavy = arm.with_gravity((0.0, 0.0, -25.0)).with_name("heavy")

q = arm.random_configuration(0, batch=100)
v, a, tau = np.zeros(arm.nv), [0.0] * arm.nv, np.zeros((100, arm.nv))
assert_type(arm.neutral(), Array)
assert_type(q, Array)

# -- kinematics

assert_type(mz.forward_kinematics(arm, q), Array)
assert_type(mz.pose(arm, q, "tool"), Array)
assert_type(mz.jacobian(arm, q, frame="tool", rep="hybrid"), Array)
assert_type(mz.jacobian_partials(arm, q, "tool", order=2), Array)
poses, columns = mz.body_jacobians(arm, q)
assert_type(columns, Array)
found = mz.inverse_kinematics(arm, {"tool": np.eye(4)}, q, tolerance=1e-6)
assert_type(found, mz.InverseKinematicsResult)
assert_type(found.success, NDArray[np.bool_])

# -- dynamics

assert_type(mz.inverse_dynamics(arm, q, v, a), Array)
assert_type(mz.inverse_dynamics(arm, q, v, a, actuated=["joint_1"], minimize="loop_force"), Array)
assert_type(mz.forward_dynamics(arm, q, v, tau, wrenches=np.zeros((arm.nb, 6))), Array)
forces, accelerations = mz.hybrid_dynamics(arm, q, v, tau, a, prescribed=["joint_1"])
assert_type(forces, Array)
dq, dv, dtau = mz.forward_dynamics_derivatives(arm, q, v, tau)
assert_type(dtau, Array)
assert_type(mz.assemble(closed, q), Array)
assert_type(mz.assemble(closed, q, hold="joint_1", report=True), mz.Assembly)
assert_type(mz.directional(mz.inverse_dynamics, arm, q, v, a, dq=v), Array)
assert_type(mz.sensitivity(mz.pose, arm, ["link_1.mass"], frame="tool"), mz.Sensitivity)
A, B = mz.linearize(arm, q, v, tau, dt=0.01, method="semi_implicit")

# -- programs

kernel = mz.compile(mz.inverse_dynamics, arm)
assert_type(kernel(q, v, a), Array)
assert_type(kernel.source, str)
assert_type(sum(kernel.operations.values()), int)


def both(q: Array, v: Array) -> tuple[Array, Array]:
    return mz.mass_matrix(arm, q), mz.bias_forces(arm, q, v)


M, h = mz.compile(both, arm, target="interpret", dtype="float32")(q, v)
assert_type(M, Array)
assert_type(mz.compile(mz.inverse_dynamics, arm, target="c").source, str)

# -- motions


def brake(t: float, q: Array, v: Array) -> Array:
    return -0.1 * v


motion = mz.simulate(arm, q, v, 1.0, 1e-3, method="rkmk4", torque=brake)
assert_type(motion, mz.Trajectory)
assert_type(motion.q, Array)
assert_type(motion.energy(), Array)
assert_type(motion.save("motion.npz"), Path)
assert_type(mz.Trajectory.load("motion.npz", model=arm).t, Array)
states, speeds = mz.rollout(arm, q[0], v, tau, 0.01)
assert_type(mz.stepper(arm, "rkmk4")(q, v, 0.0, 0.01, 10), tuple[Array, Array])

pair = mz.ClosedSystem({"arm": (arm, ["tool"]), "other": (arm, ["tool"])})
two = {"arm": q, "other": q}
held = pair.attach("grip", ("arm", "tool"), ("other", "tool"), mz.Spherical(), at=two)
assert_type(held.forward_dynamics(two, two)["arm"], Array)
assert_type(held.loop_forces(two, two)["grip"].wrenches, Array)
moved = held.simulate(
    two, two, 1.0, 1e-3, lambda t, q, v: {"arm": -t * v["arm"]},
    [(0.5, lambda system, q: system.detach("grip")),
     (lambda t, q, v: q["arm"][..., 0] - 0.1 * t, lambda system, q: system)],
)  # fmt: skip
assert_type(moved.q("arm"), Array)
assert_type(moved[0].taken, Array)
