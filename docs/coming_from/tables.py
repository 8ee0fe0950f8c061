"""Names and conventions of other libraries beside those of mozzi.

Each row is (what, theirs, ours): two expressions that `tests/test_coming_from.py` evaluates and
compares, behind the set-up of its table. The pages of the site are written from here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A page: what differs, how both are set up, and the rows."""

    title: str
    needs: str
    differences: str
    setup: str
    rows: tuple[tuple[str, str, str], ...]


PINOCCHIO = Table(
    "Pinocchio", "pinocchio",
    """
| | Pinocchio | mozzi |
|---|---|---|
| six-vectors | (linear, angular) | (angular, linear) |
| free base | q = (position, x y z w); v = (linear, angular), body-fixed | q the same; v = (angular, linear), body-fixed |
| reference frames | `LOCAL`, `WORLD`, `LOCAL_WORLD_ALIGNED` | `rep="body"`, `"spatial"`, `"hybrid"`; also `"mixed"` |
| where results are | in `data`, after the right calls in the right order | returned |
| continuous joints | (cos, sin) | an angle |
| joint order | children by the alphabet | as in the file; `model.q_slices` |
| mimic joints | apart, unless asked | coupled; `load(..., couplings=False)` |
| batches | a loop | leading axes |
| locked joints | `buildReducedModel` | `model.lock(names, q)` |
""",
    """
import numpy as np
import pinocchio as pin
import mozzi as mz

model = pin.buildModelFromUrdf("robot.urdf", pin.JointModelFreeFlyer())
data = model.createData()
robot = mz.load("robot.urdf", base="free")

q = robot.random_configuration(0)                   # the same in both
v, a, tau = np.random.default_rng(1).normal(size=(3, robot.nv))
swap = [3, 4, 5, 0, 1, 2, 6, 7]                     # angular first ↔ linear first
six = [3, 4, 5, 0, 1, 2]
pv, pa, ptau = v[swap], a[swap], tau[swap]          # theirs
tool = model.getFrameId("tool")
pin.computeAllTerms(model, data, q, pv)
pin.updateFramePlacements(model, data)
""",
    (
        ("inverse dynamics", "pin.rnea(model, data, q, pv, pa)[swap]",
         "mz.inverse_dynamics(robot, q, v, a)"),
        ("forward dynamics", "pin.aba(model, data, q, pv, ptau)[swap]",
         "mz.forward_dynamics(robot, q, v, tau)"),
        ("mass matrix", "pin.crba(model, data, q)[np.ix_(swap, swap)]", "mz.mass_matrix(robot, q)"),
        ("its inverse", "pin.computeMinverse(model, data, q)[np.ix_(swap, swap)]",
         "mz.mass_matrix_inverse(robot, q)"),
        ("Coriolis and gravity", "pin.nonLinearEffects(model, data, q, pv)[swap]",
         "mz.bias_forces(robot, q, v)"),
        ("gravity", "pin.computeGeneralizedGravity(model, data, q)[swap]",
         "mz.gravity_forces(robot, q)"),
        ("C v", "(pin.computeCoriolisMatrix(model, data, q, pv) @ pv)[swap]",
         "mz.coriolis_matrix(robot, q, v) @ v"),
        ("pose of a frame", "data.oMf[tool].homogeneous", 'mz.pose(robot, q, "tool")'),
        ("Jacobian, LOCAL", "pin.getFrameJacobian(model, data, tool, pin.LOCAL)[np.ix_(six, swap)]",
         'mz.jacobian(robot, q, "tool", "body")'),
        ("Jacobian, WORLD", "pin.getFrameJacobian(model, data, tool, pin.WORLD)[np.ix_(six, swap)]",
         'mz.jacobian(robot, q, "tool", "spatial")'),
        ("Jacobian, LOCAL_WORLD_ALIGNED",
         "pin.getFrameJacobian(model, data, tool, pin.LOCAL_WORLD_ALIGNED)[np.ix_(six, swap)]",
         'mz.jacobian(robot, q, "tool", "hybrid")'),
        ("its rate, LOCAL",
         "[pin.computeJointJacobiansTimeVariation(model, data, q, pv), "
         "pin.getFrameJacobianTimeVariation(model, data, tool, pin.LOCAL)][1][np.ix_(six, swap)]",
         'mz.jacobian_rate(robot, q, v, "tool", "body")'),
        ("centre of mass", "pin.centerOfMass(model, data, q)", "mz.center_of_mass(robot, q)"),
        ("kinetic energy", "pin.computeKineticEnergy(model, data, q, pv)",
         "mz.kinetic_energy(robot, q, v)"),
        ("potential energy", "pin.computePotentialEnergy(model, data, q)",
         "mz.potential_energy(robot, q)"),
        ("centroidal momentum", "pin.computeCentroidalMomentum(model, data, q, pv).vector[six]",
         "mz.centroidal_momentum(robot, q, v)"),
        ("move along the group", "pin.integrate(model, q, pv)", "mz.integrate(robot, q, v)"),
        ("difference of two configurations",
         "pin.difference(model, q, pin.integrate(model, q, pv))[swap]",
         "mz.difference(robot, q, mz.integrate(robot, q, v))"),
        ("derivatives of inverse dynamics, ∂τ/∂q",
         "pin.computeRNEADerivatives(model, data, q, pv, pa)[0][np.ix_(swap, swap)]",
         "mz.inverse_dynamics_derivatives(robot, q, v, a)[0]"),
        ("derivatives of forward dynamics, ∂a/∂v",
         "pin.computeABADerivatives(model, data, q, pv, ptau)[1][np.ix_(swap, swap)]",
         "mz.forward_dynamics_derivatives(robot, q, v, tau)[1]"),
        ("total mass", "pin.computeTotalMass(model)", "robot.mass"),
    ),
)  # fmt: skip

MUJOCO = Table(
    "MuJoCo", "mujoco",
    """
| | MuJoCo | mozzi |
|---|---|---|
| quaternions | (w, x, y, z) | (x, y, z, w) |
| free base | qpos = (position, w x y z); qvel = (linear in world axes, angular in body axes) | q = (position, x y z w); v = (angular, linear), both in body axes |
| forces | `qfrc_applied`, along `qvel` | τ, along v |
| inertia of a body | at its centre of mass, in principal axes | at the origin of the body's frame |
| equality constraints | soft, `solref`, `solimp` | exact |
| contact | soft, found by collision detection | rigid (or compliant), between chosen pairs |
| a batch | `mujoco.rollout`, MJX | leading axes |
| start | `qpos0`, keyframes | `model.configurations["start"]`, keyframes by name |
""",
    """
import mujoco
import numpy as np
import mozzi as mz

model = mujoco.MjModel.from_xml_path("robot.xml")
data = mujoco.MjData(model)
robot = mz.load("robot.xml")

q = robot.random_configuration(0)
v, a, tau = np.random.default_rng(1).normal(size=(3, robot.nv))
R = mz.pose(robot, q, "base")[:3, :3]
E = np.eye(8)                                       # qvel = E @ v
E[:6, :6] = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
data.qpos = q[[0, 1, 2, 6, 3, 4, 5, 7, 8]]
data.qvel = E @ v
mujoco.mj_forward(model, data)
site = model.site("tool").id
Jp, Jr = np.zeros((2, 3, model.nv))
mujoco.mj_jacSite(model, data, Jp, Jr, site)
M = np.zeros((model.nv, model.nv))
mujoco.mj_fullM(model, data, M)
R_dot = R @ np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
""",
    (
        ("pose of a frame, position", "data.site('tool').xpos", 'mz.pose(robot, q, "tool")[:3, 3]'),
        ("… and axes", "data.site('tool').xmat.reshape(3, 3)", 'mz.pose(robot, q, "tool")[:3, :3]'),
        ("mass matrix", "E.T @ M @ E", "mz.mass_matrix(robot, q)"),
        ("Jacobian of a frame", "np.vstack([Jr, Jp]) @ E", 'mz.jacobian(robot, q, "tool", "hybrid")'),
        ("gravity forces", "[data.qvel.fill(0), mujoco.mj_forward(model, data), E.T @ data.qfrc_bias][2]",
         "mz.gravity_forces(robot, q)"),
        ("centre of mass", "data.subtree_com[1]", "mz.center_of_mass(robot, q)"),
        ("total mass", "model.body_subtreemass[0]", "robot.mass"),
        ("forward dynamics",
         "[data.qvel.__setitem__(slice(None), E @ v), data.qfrc_applied.__setitem__(slice(None), "
         "np.linalg.solve(E.T, tau)), mujoco.mj_forward(model, data), "
         "np.linalg.solve(E, data.qacc - np.r_[R_dot @ v[3:6], np.zeros(5)])][3]",
         "mz.forward_dynamics(robot, q, v, tau)"),
        ("kinetic energy", "[mujoco.mj_energyVel(model, data), data.energy[1]][1]",
         "mz.kinetic_energy(robot, q, v)"),
        ("potential energy", "[mujoco.mj_energyPos(model, data), data.energy[0]][1]",
         "mz.potential_energy(robot, q)"),
        ("move by v for a time h",
         "[x := data.qpos.copy(), mujoco.mj_integratePos(model, x, np.r_[np.zeros(3), v[:3], "
         "v[6:]], 0.1), x[[4, 5, 6, 3, 7, 8]]][2]",
         "mz.integrate(robot, q, 0.1 * np.r_[v[:3], np.zeros(3), v[6:]])[3:]"),
    ),
)  # fmt: skip

DRAKE = Table(
    "Drake", "pydrake",
    """
| | Drake | mozzi |
|---|---|---|
| six-vectors | (angular, linear) | (angular, linear) |
| quaternions | (w, x, y, z) | (x, y, z, w) |
| floating base | q = (w x y z, position); v = (angular, linear), both in world axes | q = (position, x y z w); v = (angular, linear), both in body axes |
| state | a `Context` of a plant in a diagram | arrays |
| bias | `CalcBiasTerm` (Coriolis alone) | `bias_forces` (Coriolis and gravity) |
| sign of gravity | `CalcGravityGeneralizedForces`: the force that acts | `gravity_forces`: the force that holds |
| other numbers | `AutoDiffXd`, `Expression` | traced programs; exact derivatives |
""",
    """
import numpy as np
from pydrake.all import JacobianWrtVariable, MultibodyForces, MultibodyPlant, Parser
import mozzi as mz

plant = MultibodyPlant(0.0)
Parser(plant).AddModels("robot.urdf")
plant.Finalize()
context = plant.CreateDefaultContext()
robot = mz.load("robot.urdf", base="free")

q = robot.random_configuration(0)
v, a, tau = np.random.default_rng(1).normal(size=(3, robot.nv))
R = mz.pose(robot, q, "base")[:3, :3]
E = np.eye(8)                                       # their v = E @ v
E[:3, :3] = E[3:6, 3:6] = R
plant.SetPositions(context, q[[6, 3, 4, 5, 0, 1, 2, 7, 8]])
plant.SetVelocities(context, E @ v)
tool, world = plant.GetFrameByName("tool"), plant.world_frame()
W = R @ np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
E_dot_v = np.r_[W @ v[:3], W @ v[3:6], 0, 0]
forces = MultibodyForces(plant)
plant.CalcForceElementsContribution(context, forces)
""",
    (
        ("pose of a frame", "tool.CalcPoseInWorld(context).GetAsMatrix4()", 'mz.pose(robot, q, "tool")'),
        ("mass matrix", "E.T @ plant.CalcMassMatrix(context) @ E", "mz.mass_matrix(robot, q)"),
        ("gravity", "-E.T @ plant.CalcGravityGeneralizedForces(context)", "mz.gravity_forces(robot, q)"),
        ("Coriolis and gravity, at a = 0",
         "E.T @ (plant.CalcBiasTerm(context) - plant.CalcGravityGeneralizedForces(context) + "
         "plant.CalcMassMatrix(context) @ E_dot_v)", "mz.bias_forces(robot, q, v)"),
        ("Jacobian of a frame",
         "plant.CalcJacobianSpatialVelocity(context, JacobianWrtVariable.kV, tool, np.zeros(3), "
         "world, world) @ E", 'mz.jacobian(robot, q, "tool", "hybrid")'),
        ("inverse dynamics",
         "E.T @ plant.CalcInverseDynamics(context, E @ a + E_dot_v, forces)",
         "mz.inverse_dynamics(robot, q, v, a)"),
        ("centre of mass", "plant.CalcCenterOfMassPositionInWorld(context)",
         "mz.center_of_mass(robot, q)"),
        ("kinetic energy", "plant.EvalKineticEnergy(context)", "mz.kinetic_energy(robot, q, v)"),
        ("potential energy", "plant.EvalPotentialEnergy(context)", "mz.potential_energy(robot, q)"),
        ("momentum about the centre of mass",
         "plant.CalcSpatialMomentumInWorldAboutPoint(context, "
         "plant.CalcCenterOfMassPositionInWorld(context)).get_coeffs()",
         "mz.centroidal_momentum(robot, q, v)"),
        ("total mass", "plant.CalcTotalMass(context)", "robot.mass"),
    ),
)  # fmt: skip

TOOLBOX = Table(
    "Robotics Toolbox for Python", "roboticstoolbox",
    """
| | Robotics Toolbox | mozzi |
|---|---|---|
| a robot is | a table of Denavit–Hartenberg parameters, or an `ERobot` | bodies and joints; `mz.load`, or `Builder` with poses and screws |
| six-vectors | (linear, angular) | (angular, linear) |
| Jacobians | `jacob0`: world axes at the tool; `jacobe`: tool axes | `rep="hybrid"`, `rep="body"` |
| link inertia | `I` at the centre of mass, `r` the centre of mass | `Inertia(m, com, I)` |
| motor | `Jm`, `G`, `B`, `Tc` | `armature` (G² Jm), `damping` (G² B), `friction` (G Tc) |
| free bases, loops, contact | no | yes |
""",
    """
import numpy as np
import roboticstoolbox as rtb
import mozzi as mz

links = [
    rtb.RevoluteMDH(m=2.0, r=[0.1, 0.02, 0.05], I=[0.02, 0.03, 0.04, 0.001, 0, 0.002]),
    rtb.RevoluteMDH(a=0.5, alpha=0.7, d=0.1, m=1.0, r=[0.0, 0.2, 0.01], I=[0.01, 0.02, 0.015, 0, 0, 0]),
    rtb.RevoluteMDH(a=0.3, alpha=-0.4, d=0.2, m=0.6, r=[0.05, 0, 0.1], I=[0.01, 0.01, 0.005, 0, 0, 0]),
]
arm = rtb.DHRobot(links, gravity=[0, 0, -9.81])

builder, parent = mz.Builder("arm"), None
for k, link in enumerate(links):
    c, n = np.cos(link.alpha), np.sin(link.alpha)
    R = np.array([[1, 0, 0], [0, c, -n], [0, n, c]])
    place = mz.SE3.from_matrix(R, R @ [link.a, 0, link.d])
    builder.add(f"{k}", parent, mz.Revolute("z"), mz.Inertia(link.m, link.r, link.I), placement=place)
    parent = f"{k}"
robot = builder.build()

q, v, a, tau = np.random.default_rng(1).normal(size=(4, 3))
six = [3, 4, 5, 0, 1, 2]
""",
    (
        ("pose of the last link", "arm.fkine(q).A", 'mz.pose(robot, q, "2")'),
        ("Jacobian in world axes", "arm.jacob0(q)[six]", 'mz.jacobian(robot, q, "2", "hybrid")'),
        ("Jacobian in tool axes", "arm.jacobe(q)[six]", 'mz.jacobian(robot, q, "2", "body")'),
        ("inverse dynamics", "arm.rne(q, v, a)", "mz.inverse_dynamics(robot, q, v, a)"),
        ("gravity", "arm.gravload(q)", "mz.gravity_forces(robot, q)"),
        ("mass matrix", "arm.inertia(q)", "mz.mass_matrix(robot, q)"),
        ("C v", "arm.coriolis(q, v) @ v", "mz.coriolis_matrix(robot, q, v) @ v"),
        ("forward dynamics", "arm.accel(q, v, tau)", "mz.forward_dynamics(robot, q, v, tau)"),
    ),
)  # fmt: skip

EXUDYN = Table(
    "Exudyn", "exudyn",
    """
| | Exudyn | mozzi |
|---|---|---|
| a mechanism is | items of a `MainSystem`: nodes, objects, markers, constraints; or a `Robot` / kinematic tree | an immutable `Model` in minimal coordinates, with loops |
| closed loops | redundant coordinates and Lagrange multipliers | loops of a tree, rows chosen by rank |
| rotations of a free body | Euler parameters, Tait–Bryan angles or Lie group nodes | quaternions, integrated on the group |
| integrators | generalised α, implicit trapezoidal, explicit Runge–Kutta | Munthe-Kaas of order 4, Dormand–Prince, generalised α on the group, Moreau's for contact |
| inertia of a link | at the centre of mass | `Inertia(m, com, J)` takes the same |
| Jacobian rows | (translation, rotation) | (angular, linear) |
| flexible bodies | yes | no |
""",
    """
import exudyn as exu
import numpy as np
from exudyn.kinematicTree import KinematicTree66
from exudyn.robotics import Robot, RobotLink
import mozzi as mz

COM, J = [0.1, 0.02, -0.03], np.diag([0.02, 0.03, 0.04])
T = np.eye(4)
T[:3] = [[1, 0, 0, 0.4], [0, 0.8, -0.6, 0.1], [0, 0.6, 0.8, 0.2]]
theirs = Robot(gravity=[0, 0, -9.81])
builder, parent = mz.Builder("arm"), None
for k, (kind, joint) in enumerate((("Rz", mz.Revolute("z")), ("Rx", mz.Revolute("x")), ("Ry", mz.Revolute("y")))):
    theirs.AddLink(RobotLink(mass=1.0 + k, COM=COM, inertia=J, preHT=T, jointType=kind))
    builder.add(f"{k}", parent, joint, mz.Inertia(1.0 + k, COM, J), placement=mz.SE3.from_matrix(T))
    parent = f"{k}"
robot = builder.build()
tree = theirs.GetKinematicTree66()

q, v, tau = np.random.default_rng(1).normal(size=(3, 3))
six = [3, 4, 5, 0, 1, 2]
""",
    (
        ("pose of the last link", "np.array(theirs.JointHT(q)[-1])", 'mz.pose(robot, q, "2")'),
        ("Jacobian", "theirs.Jacobian(theirs.JointHT(q))[six]", 'mz.jacobian(robot, q, "2", "hybrid")'),
        ("mass matrix", "tree.ComputeMassMatrixAndForceTerms(q, v)[0]", "mz.mass_matrix(robot, q)"),
        ("Coriolis and gravity", "tree.ComputeMassMatrixAndForceTerms(q, v)[1]",
         "mz.bias_forces(robot, q, v)"),
        ("forward dynamics", "tree.ForwardDynamicsCRB(q, v, tau)", "mz.forward_dynamics(robot, q, v, tau)"),
    ),
)  # fmt: skip

TABLES = {
    "pinocchio": PINOCCHIO, "mujoco": MUJOCO, "drake": DRAKE, "robotics_toolbox": TOOLBOX,
    "exudyn": EXUDYN,
}  # fmt: skip
