"""Pinocchio says the same, on robots of example-robot-data, fixed and floating."""

import sysconfig
from pathlib import Path

import numpy as np
import pytest
from support.mechanics import agree, value

import mozzi as mz

pin = pytest.importorskip("pinocchio")
ROBOTS = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix/share/example-robot-data/robots"

#: Robots by what they are: arms, hands, quadrupeds, humanoids.
FILES = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "z1": "z1_description/urdf/z1.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "allegro": "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "anymal": "anymal_c_simple_description/urdf/anymal.urdf",
    "anymal_b": "anymal_b_simple_description/robots/anymal.urdf",
    "a1": "a1_description/urdf/a1.urdf",
    "go1": "go1_description/urdf/go1.urdf",
    "go2": "go2_description/urdf/go2.urdf",
    "b1": "b1_description/urdf/b1.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "tiago": "tiago_description/robots/tiago.urdf",
    "icub": "icub_description/robots/icub_reduced.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "laikago": "laikago_description/urdf/laikago.urdf",
    "bolt": "bolt_description/robots/bolt.urdf",
    "simple_humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "double_pendulum": "double_pendulum_description/urdf/double_pendulum.urdf",
}
names = [name for name in FILES if (ROBOTS / FILES[name]).exists()]

pytestmark = pytest.mark.filterwarnings("ignore::mozzi.errors.UnphysicalWarning")


def test_there_are_enough():
    assert len(names) >= 15


def both(name, base):
    """The robot in mozzi and in Pinocchio, with maps of q and v from ours to theirs."""
    path = str(ROBOTS / FILES[name])
    model = mz.load(path, base=base)
    model = model._replace(couplings=())  # Pinocchio's joints that mimic others move on their own
    peer = (
        pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
        if base == "free"
        else pin.buildModelFromUrdf(path)
    )
    q_map, v_map = [], []
    for joint in list(peer.names)[1:]:
        theirs = peer.joints[peer.getJointId(joint)]
        ours = model.joint_names[0] if joint == "root_joint" else joint
        q, v = model.q_slices[ours], model.v_slices[ours]
        own = np.arange(model.nq)[q], np.arange(model.nv)[v]
        if joint == "root_joint":
            own = own[0], own[1][[3, 4, 5, 0, 1, 2]]  # their twists are (linear, angular)
        q_map.append((theirs, own[0]))
        v_map.append((theirs, own[1]))
    return model, peer, q_map, v_map


def theirs_q(peer, q_map, q):
    out = pin.neutral(peer)
    for joint, own in q_map:
        x = q[own]
        if joint.nq == 2 and len(own) == 1:  # unbounded revolute joints are (cos, sin) there
            x = np.array([np.cos(x[0]), np.sin(x[0])])
        out[joint.idx_q : joint.idx_q + joint.nq] = x
    return out


def order(peer, v_map):
    index = np.zeros(peer.nv, int)
    for joint, own in v_map:
        index[joint.idx_v : joint.idx_v + joint.nv] = own
    return index


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("name", names)
def test_dynamics(name, base):
    """Inverse, forward, M, M⁻¹, C, gravity, energies, momenta, admittance: 1e-10 relative."""
    model, peer, q_map, v_map = both(name, base)
    data = peer.createData()
    rng = np.random.default_rng(len(name))
    q, v, a, tau = model.random_configuration(rng), *rng.normal(size=(3, model.nv))
    P = order(peer, v_map)
    qp, vp, ap, tp = theirs_q(peer, q_map, q), v[P], a[P], tau[P]
    armature = np.array([x for body in model for x in body.dynamics.armature])
    peer.armature = armature[P]

    agree(value(mz.inverse_dynamics, model, q, v, a)[P], pin.rnea(peer, data, qp, vp, ap))
    agree(value(mz.forward_dynamics, model, q, v, tau)[P], pin.aba(peer, data, qp, vp, tp))
    M = pin.crba(peer, data, qp)
    M = np.triu(M) + np.triu(M, 1).T
    agree(value(mz.mass_matrix, model, q)[np.ix_(P, P)], M)
    Minv = pin.computeMinverse(peer, data, qp)
    Minv = np.triu(Minv) + np.triu(Minv, 1).T
    agree(value(mz.mass_matrix_inverse, model, q)[np.ix_(P, P)], Minv)
    C = pin.computeCoriolisMatrix(peer, data, qp, vp)
    agree(value(mz.coriolis_matrix, model, q, v)[np.ix_(P, P)] @ vp, C @ vp)
    if base == "fixed":
        agree(value(mz.coriolis_matrix, model, q, v)[np.ix_(P, P)], C)
    gravity = pin.computeGeneralizedGravity(peer, data, qp)
    agree(value(mz.gravity_forces, model, q)[P], gravity)
    agree(value(mz.bias_forces, model, q, v)[P], pin.nonLinearEffects(peer, data, qp, vp))
    agree(value(mz.kinetic_energy, model, q, v), pin.computeKineticEnergy(peer, data, qp, vp))
    agree(value(mz.center_of_mass, model, q), pin.centerOfMass(peer, data, qp))
    A = pin.ccrba(peer, data, qp, vp)[[3, 4, 5, 0, 1, 2]]
    agree(value(mz.centroidal_momentum_matrix, model, q)[:, P], A)
    frame = model.bodies[-1]
    J = pin.computeFrameJacobian(peer, data, qp, peer.getFrameId(frame), pin.LOCAL)
    J = J[[3, 4, 5, 0, 1, 2]]
    admittance = value(mz.operational_admittance, model, q, [frame])
    agree(admittance, J @ np.linalg.solve(M, J.T), 1e-9)
