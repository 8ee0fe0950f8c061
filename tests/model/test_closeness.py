"""One mechanism given in several ways is one model to rounding; another one is not."""

import numpy as np

import mozzi as mz
from mozzi.lie import SE3, Rotation, Vec3
from mozzi.model.generate import random_inertia, random_pose


def built(turn: float = 0.0, shift: float = 0.0, pitch: float = 0.3, mass: float = 1.0):
    """Frames of the hinge turned about and shifted along its axis, on both sides."""
    rng = np.random.default_rng(5)
    G = SE3(Rotation.about(Vec3(0.0, 0.0, 1.0), turn), Vec3(0.0, 0.0, shift))
    b = mz.Builder("one")
    for k, joint in enumerate((mz.Revolute((1, 2, 3)), mz.Screw("x", pitch=pitch))):
        placed = joint.between(random_pose(rng), random_pose(rng))
        placed = placed.at(placed.frame_parent @ G, placed.frame_child @ G)
        b.add(f"b{k}", f"b{k - 1}" if k else None, placed, random_inertia(rng, mass))
    return b.build()


def test_frames_may_stand_anywhere_on_their_axes():
    one, other = built(), built(0.7, -0.4)
    assert one != other and one.close_to(other) and other.close_to(one)
    q, v, a = np.array([0.3, -0.8]), np.array([0.5, 1.2]), np.array([-0.4, 0.9])
    tau = [mz.inverse_dynamics(m, q, v, a) for m in (one, other)]
    np.testing.assert_allclose(*tau, rtol=1e-12)


def test_other_mechanisms_are_others():
    one = built()
    for other in (
        built(pitch=0.300001), built(mass=1.00001), one.with_gravity((0, 0, -9.80)),
        one.with_dynamics(one.joint_names[0], damping=0.1), one.without_body("b1"),
    ):  # fmt: skip
        assert not one.close_to(other)
    assert built(pitch=0.300001).close_to(one, tolerance=1e-4)
