"""Joints that Pinocchio has as well move as they do there."""

from __future__ import annotations

import numpy as np
import pytest

from mozzi.model import Free, Joint, Planar, Revolute, Spherical

pin = pytest.importorskip("pinocchio")

SWAP = [3, 4, 5, 0, 1, 2]  # Pinocchio's twists are (linear, angular)


def coordinates(joint: Joint, q: np.ndarray) -> np.ndarray:
    """q as Pinocchio writes it: a planar angle is a point on the circle."""
    if isinstance(joint, Planar):
        return np.array([q[0], q[1], np.cos(q[2]), np.sin(q[2])])
    return q


CASES = [
    (Free(), lambda: pin.JointModelFreeFlyer(), SWAP),
    (Spherical(), lambda: pin.JointModelSpherical(), [0, 1, 2]),
    (Planar(), lambda: pin.JointModelPlanar(), [0, 1, 2]),
    (Revolute(), lambda: pin.JointModelRZ(), [0]),
]


@pytest.mark.parametrize(("joint", "peer", "order"), CASES, ids=lambda x: repr(x)[:12])
def test_poses_screws_and_group_operations(joint, peer, order):
    model = pin.Model()
    model.addJoint(0, peer(), pin.SE3.Identity(), "joint")
    data = model.createData()
    rng = np.random.default_rng(0)
    for _ in range(5):
        q0, q1 = (np.array(joint.random(rng)) for _ in range(2))
        v = rng.normal(size=joint.nv)
        p0, p1 = coordinates(joint, q0), coordinates(joint, q1)
        pin.forwardKinematics(model, data, p0, v[np.argsort(order)] if joint.nv == 6 else v)
        np.testing.assert_allclose(joint.pose(q0).matrix(), data.oMi[1].homogeneous, atol=1e-14)
        twist = (joint.screws(q0) @ v).array()
        np.testing.assert_allclose(twist[SWAP], data.v[1].vector, atol=1e-14)
        moved = pin.integrate(model, p0, v[order])
        mine = coordinates(joint, np.array(joint.integrate(q0, v)))
        np.testing.assert_allclose(mine, moved, atol=1e-13)
        away = pin.difference(model, p0, p1)
        if isinstance(joint, Revolute):
            away = q1 - q0
        np.testing.assert_allclose(np.array(joint.difference(q0, q1))[order], away, atol=1e-12)
