"""What users get wrong: pyright reports each line that ends with a comment, and no other."""

import numpy as np

import mozzi as mz

arm = mz.load("arm.urdf")
q, v, a = arm.neutral(), np.zeros(arm.nv), np.zeros(arm.nv)

mz.inverse_dynamics(arm, q, v)  # an argument is missing
mz.inverse_dynamics(q, v, a)  # a model is missing
mz.inverse_dynamics("arm.urdf", q, v, a)  # a path is no model
mz.inverse_dynamics(arm, q, v, a, rep="world")  # no such representation
mz.inverse_dynamics(arm, q, v, a, wrench=np.zeros((arm.nb, 6)))  # no such keyword
mz.inverse_dynamics(arm, q, v, a, minimize="torques")  # no such choice
mz.inverse_dynamics(arm, q, v, None)  # None is no array
mz.inverse_dynamicz(arm, q, v, a)  # no such function
mz.pose(arm, q)  # a frame is missing
mz.pose(arm, q, 3)  # a number is no frame
mz.jacobian(arm, q, "tool", rep=1)  # a number is no representation
mz.product_of_exponentials(arm, q, form="local")  # no such form
mz.point_jacobian(arm, q, [0.0, 0.0, 1.0], "tool", resolved="body")  # no such axes
mz.joint_rates(arm, q, np.zeros((arm.nb, 6)), residual="least")  # no such squares
mz.forward_dynamics(arm, q, v, a, resistance="yes")  # a word is no truth value
mz.hybrid_dynamics(arm, q, v, a, a, prescribed=3)  # a number is no joint
mz.hybrid_dynamics(arm, q, v, a, a).T  # a tuple is no array
dq, dv = mz.inverse_dynamics_derivatives(arm, q, v, a)  # three results in two names
mz.assemble(arm, q).closed  # an array has no such field
mz.assemble(arm, q, report=True).shape  # a report has no shape
mz.inverse_kinematics(arm, {"tool": np.eye(4)}).found  # no such field
mz.load("arm.urdf", base="floating")  # no such base
mz.load("arm.urdf", free=True)  # no such keyword
mz.load(3)  # a number is no path
mz.compile(mz.mass_matrix, arm, target="gpu")  # no such target
mz.compile(mz.mass_matrix, arm, dtype="double")  # no such number type
mz.compile(arm, mz.mass_matrix)  # the wrong way round
mz.compile(mz.hybrid_dynamics, arm)(q, v, a, a).shape  # a tuple has no shape
mz.simulate(arm, q, v, 1.0, 1e-3, method="rk4")  # no such method
mz.simulate(arm, q, v, 1.0)  # a time step is missing
mz.simulate(arm, q, v, 1.0, 1e-3, torqe=a)  # no such keyword
mz.simulate(arm, q, v, 1.0, 1e-3, "dopri5", rtol="small")  # a word is no number
mz.simulate(arm, q, v, 1.0, 1e-3).positions  # no such field
mz.simulate(arm, q, v, 1.0, 1e-3, target="jax")  # no such device
mz.linearize(arm, q, v, a, method="euler")  # no such method
mz.Revolute(axis="z", pitch=0.1)  # no such keyword
mz.Builder("arm").add("link", None, "revolute")  # a word is no joint
arm.dof  # no such field
arm.gravity = (0.0, 0.0, 0.0)  # models are immutable
arm.nq = 3  # nor is what follows from their content to be set
arm.with_loop("bar", "link_1", "link_2")  # a joint is missing
text: str = mz.kinetic_energy(arm, q, v)  # an array is no text
