"""KUKA iiwa with the parameters of Drake's MotionGenesis benchmark."""

import numpy as np
import pytest
from support.mechanics import agree, value

import mozzi as mz

HALF = np.pi / 2
JOINTS = (  # position, roll and yaw (or pitch, where roll is negative) of the joint in its parent
    ((0, 0, 0.1575), 0.0, 0.0, 0.0), ((0, 0, 0.2025), HALF, 0.0, np.pi),
    ((0, 0.2045, 0), HALF, 0.0, np.pi), ((0, 0, 0.2155), HALF, 0.0, 0.0),
    ((0, 0.1845, 0), -HALF, np.pi, 0.0), ((0, 0, 0.2155), HALF, 0.0, 0.0),
    ((0, 0.081, 0), -HALF, np.pi, 0.0),
)  # fmt: skip
LINKS = (  # mass, centre of mass, principal moments there
    (5.76, (0, -0.03, 0.12), (0.033, 0.0333, 0.0123)),
    (6.35, (0.0003, 0.059, 0.042), (0.0305, 0.0304, 0.011)),
    (3.5, (0, 0.03, 0.13), (0.025, 0.0238, 0.0076)),
    (3.5, (0, 0.067, 0.034), (0.017, 0.0164, 0.006)),
    (3.5, (0.0001, 0.021, 0.076), (0.01, 0.0087, 0.00449)),
    (1.8, (0, 0.0006, 0.0004), (0.0049, 0.0047, 0.0036)),
    (1.2, (0, 0, 0.02), (0.001, 0.001, 0.001)),
)


def rotation(roll, pitch, yaw):
    (cr, cp, cy), (sr, sp, sy) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    return np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]]) @ y @ x


@pytest.fixture(scope="module")
def iiwa():
    builder = mz.Builder("iiwa", gravity=(0, 0, -9.8))
    for k, ((p, *angles), (m, c, J)) in enumerate(zip(JOINTS, LINKS, strict=True)):
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = rotation(*angles), p
        joint = mz.Revolute("z").between(T, None)
        inertia = mz.Inertia(m, c, np.diag(J))
        builder.add(f"link{k + 1}", f"link{k}" if k else None, joint, inertia)
    return builder.build()


def test_pose(iiwa):
    """MotionGenesis' rotation and position of the last link, at 60, 30, 60, … degrees."""
    q = np.radians([60, 30, 60, 30, 60, 30, 60])
    T = value(mz.pose, iiwa, q, "link7")
    R = [[-0.5939002959880204, 0.8043869080239565, -0.015625],
         [-0.8043869080239565, -0.5932991120359317, 0.03094940802395521],
         [0.015625, 0.03094940802395527, 0.9993988160479114]]  # fmt: skip
    agree(T[:3, :3], R, 1e-14)
    agree(T[:3, 3], [0.2970356451892219, 0.1727696964662288, 1.154681973689345], 1e-14)
    agree(value(mz.pose, iiwa, np.zeros(7), "link7")[:3, 3], [0, 0, 1.261], 1e-14)


def test_inverse_dynamics(iiwa):
    q = np.radians([60, 30, 60, 30, 60, 30, 60])
    v, a = np.arange(1, 8) / 10, np.arange(7, 0, -1) / 10
    tau = [0.8848188219902595, -30.319570933039056, -4.2607705026577865, -5.11286815690344,
           0.3271237385627991, -0.05536385268411461, 0.0008649076642538973]  # fmt: skip
    for rep in ("body", "spatial", "hybrid", "mixed"):
        agree(value(mz.inverse_dynamics, iiwa, q, v, a, rep=rep), tau, 1e-13)


def test_straight_up(iiwa):
    """Spinning the last axis of the straight arm takes the same torque at every other joint."""
    zero = np.zeros(7)
    a = np.r_[np.zeros(6), 1000.0]
    weightless = iiwa.with_gravity((0, 0, 0))
    agree(value(mz.inverse_dynamics, weightless, zero, zero, a), [1, 0, 1, 0, 1, 0, 1], 1e-13)
