"""Kinematics beside Pinocchio, on ten robots: all representations, rates and Hessians."""

from __future__ import annotations

import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.mechanics import agree, value

import mozzi as mz

pin = pytest.importorskip("pinocchio")

ROBOTS = {
    "panda": ("panda_description/urdf/panda.urdf", "fixed"),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "fixed"),
    "kinova": ("kinova_description/robots/kinova.urdf", "fixed"),
    "z1": ("z1_description/urdf/z1.urdf", "fixed"),
    "double_pendulum": ("double_pendulum_description/urdf/double_pendulum.urdf", "fixed"),
    "allegro": ("allegro_hand_description/urdf/allegro_left_hand.urdf", "fixed"),
    "solo12": ("solo_description/robots/solo12.urdf", "free"),
    "anymal_b": ("anymal_b_simple_description/robots/anymal.urdf", "free"),
    "go1": ("go1_description/urdf/go1.urdf", "free"),
    "talos": ("talos_data/robots/talos_reduced.urdf", "free"),
}
FRAMES = {
    "body": pin.ReferenceFrame.LOCAL,
    "spatial": pin.ReferenceFrame.WORLD,
    "hybrid": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
}


def folder() -> Path:
    return Path(sysconfig.get_paths()["purelib"], "cmeel.prefix/share/example-robot-data/robots")


@cache
def pair(name: str) -> tuple[Any, Any]:
    """The robot for mozzi and for Pinocchio."""
    file, base = ROBOTS[name]
    path = folder() / file
    if not path.exists():
        pytest.skip(f"{file} is not among the example robots")
    peer = (
        pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        if base == "free"
        else pin.buildModelFromUrdf(str(path))
    )
    return mz.load(path, base=base), peer


class Peer:
    """Pinocchio's results in mozzi's order: (angular, linear), and the same order of joints."""

    def __init__(self, ours: Any, peer: Any, seed: int):
        rng = np.random.default_rng(seed)
        self.ours, self.model, self.data = ours, peer, peer.createData()
        self.q = ours.random_configuration(rng)
        self.v, self.a = rng.normal(size=(2, ours.nv))
        self.flip = [3, 4, 5, 0, 1, 2]
        self.at_q, self.at_v = np.zeros(peer.nq, dtype=int), np.zeros(peer.nv, dtype=int)
        self.wheels = []
        for name in peer.names[1:]:
            joint = peer.joints[peer.getJointId(name)]
            mine = name if name in ours.joint_names else ours.joint_names[0]
            q, v = ours.q_slices[mine], ours.v_slices[mine]
            if joint.nq == 2 and joint.nv == 1:  # Pinocchio keeps cos and sin of continuous joints
                self.wheels.append((joint.idx_q, q.start))
            else:
                self.at_q[joint.idx_q : joint.idx_q + joint.nq] = range(q.start, q.stop)
            order = np.arange(v.start, v.stop)
            if joint.nv == 6:
                order = order[self.flip]
            self.at_v[joint.idx_v : joint.idx_v + joint.nv] = order
        self.back = np.argsort(self.at_v)
        self.bodies = {
            name: peer.getFrameId(name, pin.FrameType.BODY)
            for name in ours.frames
            if peer.existFrame(name, pin.FrameType.BODY)
        }

    def configuration(self) -> np.ndarray:
        q = self.q[self.at_q].copy()
        for k, own in self.wheels:
            q[k : k + 2] = np.cos(self.q[own]), np.sin(self.q[own])
        return q

    def columns(self, J: np.ndarray) -> np.ndarray:
        """A Jacobian with rows and columns in our order."""
        return np.asarray(J)[self.flip][:, self.back]


@pytest.fixture(params=ROBOTS)
def peer(request) -> Peer:
    return Peer(*pair(request.param), seed=7)


def test_poses(peer):
    """Frame by frame."""
    pin.framesForwardKinematics(peer.model, peer.data, peer.configuration())
    for name, k in peer.bodies.items():
        agree(value(mz.pose, peer.ours, peer.q, name), peer.data.oMf[k].homogeneous, 1e-10)
    poses = value(mz.forward_kinematics, peer.ours, peer.q)
    for i, body in enumerate(peer.ours.bodies):
        if body in peer.bodies:
            agree(poses[i], peer.data.oMf[peer.bodies[body]].homogeneous, 1e-10)


def test_jacobians_and_their_rates(peer):
    """LOCAL is body, WORLD spatial, LOCAL_WORLD_ALIGNED hybrid; mixed takes from two of them."""
    ours, q, v = peer.ours, peer.q, peer.v
    model, data = peer.model, peer.data
    x, u = peer.configuration(), v[peer.at_v]
    pin.computeJointJacobiansTimeVariation(model, data, x, u)
    pin.updateFramePlacements(model, data)
    for name in list(peer.bodies)[-3:]:
        k = peer.bodies[name]
        J = {r: peer.columns(pin.getFrameJacobian(model, data, k, f)) for r, f in FRAMES.items()}
        dJ = {
            r: peer.columns(pin.getFrameJacobianTimeVariation(model, data, k, f))
            for r, f in FRAMES.items()
        }
        J["mixed"] = np.concatenate([J["body"][:3], J["hybrid"][3:]])
        for rep in J:
            agree(value(mz.jacobian, ours, q, name, rep), J[rep], 1e-10)
        for rep in dJ:
            agree(value(mz.jacobian_rate, ours, q, v, name, rep), dJ[rep], 1e-9)


def test_twists_and_accelerations(peer):
    """Rates of body and spatial twists are Pinocchio's; its classical acceleration is hybrid."""
    ours, q, v, a = peer.ours, peer.q, peer.v, peer.a
    model, data = peer.model, peer.data
    pin.forwardKinematics(model, data, peer.configuration(), v[peer.at_v], a[peer.at_v])
    V = {r: value(mz.twists, ours, q, v, r) for r in FRAMES}
    A = {r: value(mz.accelerations, ours, q, v, a, r) for r in FRAMES}
    for i, body in enumerate(ours.bodies):
        if body not in peer.bodies:
            continue
        k = peer.bodies[body]
        for rep, frame in FRAMES.items():
            agree(V[rep][i], pin.getFrameVelocity(model, data, k, frame).vector[peer.flip], 1e-10)
            call = (
                pin.getFrameClassicalAcceleration if rep == "hybrid" else pin.getFrameAcceleration
            )
            agree(A[rep][i], call(model, data, k, frame).vector[peer.flip], 1e-9)


@pytest.mark.parametrize("rep", FRAMES)
def test_kinematic_hessian(peer, rep):
    """∂J/∂q of a body at its joint's frame."""
    ours, model, data = peer.ours, peer.model, peer.data
    pin.computeJointJacobians(model, data, peer.configuration())
    pin.computeJointKinematicHessians(model, data)
    name = ours.joint_names[-1]
    k = model.getJointId(name)
    body = ours.bodies[ours.joint_index(name)]
    H = pin.getJointKinematicHessian(model, data, k, FRAMES[rep])
    H = np.ravel(H).reshape(np.shape(H), order="F")  # its tensors are stored column by column
    H = H[peer.flip][:, peer.back][:, :, peer.back]
    P = value(mz.jacobian_partials, ours, peer.q, body, 1, rep)
    agree(P, H, 1e-9)
