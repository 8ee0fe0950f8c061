"""Inverse kinematics: reach what can be reached, stay within limits, say what cannot be reached."""

from __future__ import annotations

import numpy as np
import pytest
from support.kinematic_models import branched
from support.mechanics import agree, program_value

import mozzi as mz
from mozzi.algorithms.kinematics.inverse_kinematics import inverse_kinematics_step
from mozzi.lie import SE3, Rotation, Vec3
from mozzi.model import Builder, Free, Revolute, Spherical


def arm(limit: float = 2.6) -> mz.Model:
    """A 7-dof arm with limits."""
    builder, axes = Builder("arm"), "zyzyzyz"
    for k, axis in enumerate(axes):
        builder.add(
            f"link{k}", f"link{k - 1}" if k else None, Revolute(axis),
            placement=(0.05 * (k % 2), 0.0, 0.25), limits=(-limit, limit),
        )  # fmt: skip
    return builder.frame("tool", "link6", (0.0, 0.0, 0.1)).build(physical=False)


ARM = arm()


def test_random_starts_reach_what_is_within_reach():
    """≥ 99 % of random targets from random starts at 1e-8, within the limits."""
    T = mz.pose(ARM, ARM.random_configuration(1, 300), "tool")
    found = mz.inverse_kinematics(ARM, {"tool": T}, ARM.random_configuration(2, 300))
    assert found.success.mean() >= 0.99
    reached = mz.pose(ARM, found.q, "tool")[found.success]
    assert np.abs(reached - T[found.success]).max() < 3e-8
    assert np.abs(found.q).max() <= 2.6


def test_several_frames_at_once():
    """Two hands and a floating base."""
    builder = Builder("two").add("base", None, Free())
    for side in ("left", "right"):
        for k, axis in enumerate("yxzy"):
            parent = f"{side}{k - 1}" if k else "base"
            builder.add(f"{side}{k}", parent, Revolute(axis), placement=(0.1, 0.1, 0.2))
    model = builder.build(physical=False)
    q = model.random_configuration(3, 20)
    targets = {f: mz.pose(model, q, f) for f in ("base", "left3", "right3")}
    found = mz.inverse_kinematics(model, targets, model.random_configuration(4, 20))
    assert found.success.all(), found.report()
    assert found.angle.shape == found.distance.shape == (20, 3)
    for frame, T in targets.items():
        agree(mz.pose(model, found.q, frame), T, 1e-7)
    agree(np.linalg.norm(found.q[:, 3:7], axis=1), np.ones(20), 1e-9)


def test_positions_leave_the_orientation_free():
    """A target of three numbers."""
    p = mz.pose(ARM, ARM.random_configuration(5, 10), "tool")[:, :3, 3]
    found = mz.inverse_kinematics(ARM, {"tool": p})
    assert found.check() is found
    agree(mz.pose(ARM, found.q, "tool")[:, :3, 3], p, 1e-7)


def test_many_starts_for_one_target():
    """Leading axes broadcast, and every start comes to the target."""
    T = mz.pose(ARM, ARM.random_configuration(6), "tool")
    found = mz.inverse_kinematics(ARM, {"tool": T}, ARM.random_configuration(7, (2, 5)))
    assert found.q.shape == (2, 5, ARM.nq)
    assert found.success.shape == (2, 5) and found.success.all()
    agree(mz.pose(ARM, found.q, "tool"), np.broadcast_to(T, (2, 5, 4, 4)), 1e-7)


def test_out_of_reach_is_reported():
    """Nothing is raised; the report names frame, distance and limits."""
    far = SE3(Rotation.identity(), Vec3(9.0, 0.0, 0.0))
    found = mz.inverse_kinematics(ARM, {"tool": far}, restarts=2)
    assert not found.success
    assert 7.0 < float(found.distance[0]) < 9.0
    assert "0 of 1 reached" in found.report() and "'tool' ends" in found.report()
    with pytest.raises(mz.ConfigurationError, match="out of reach from 3 starts"):
        found.check()


def test_limits_are_kept_and_named():
    """A target behind a limit ends at the limit, and the report says so."""
    model = Builder("one").add("link", None, Revolute("z"), limits=(-1.0, 1.0)).build()
    turned = mz.pose(model, np.array([1.5]), "link")
    found = mz.inverse_kinematics(model, {"link": turned}, restarts=3)
    agree(found.q, [1.0], 1e-12)
    assert "at their limits: link" in found.report()
    free = mz.inverse_kinematics(model, {"link": turned}, limits=False)
    assert free.success and abs(free.q[0] - 1.5) < 1e-7


def test_bad_targets_are_refused():
    """What is wrong is named."""
    mirrored = np.diag([1.0, 1.0, -1.0, 1.0])
    for target, words in (
        ({}, "no targets"),
        ({"tool": np.eye(3)[0] * np.nan}, "not finite"),
        ({"tool": mirrored}, "rotation matrix"),
        ({"tool": np.eye(2)}, "shape"),
    ):
        with pytest.raises(mz.ConfigurationError, match=words):
            mz.inverse_kinematics(ARM, target)
    with pytest.raises(mz.ModelError, match="no frame 'hand'"):
        mz.inverse_kinematics(ARM, {"hand": np.eye(4)})


@pytest.mark.parametrize("model", (ARM, branched()), ids=("arm", "branched"))
def test_a_step_rolled_and_unrolled(model):
    """One source: loops over bodies give the step of straight-line code."""
    frames = (model.frames[-1], model.bodies[2])
    q = model.random_configuration(0)
    T = mz.forward_kinematics.python(model, model.random_configuration(1))[:2].astype(float)
    bound = np.full(model.nq, 3.0)
    a, b = (
        program_value(
            inverse_kinematics_step, model, q, T, np.array(0.1), -bound, bound,
            rolled=rolled, frames=frames, parts=("pose", "position"),
        )
        for rolled in (False, True)
    )  # fmt: skip
    for x, y in zip(a, b, strict=True):
        agree(x, y, 1e-10)


def test_ball_joints():
    """On a manifold that is not flat."""
    builder = Builder("balls")
    for k in range(3):
        builder.add(f"b{k}", f"b{k - 1}" if k else None, Spherical(), placement=(0.0, 0.0, 0.4))
    model = builder.frame("end", "b2", (0.0, 0.0, 0.4)).build(physical=False)
    T = mz.pose(model, model.random_configuration(8, 30), "end")
    found = mz.inverse_kinematics(model, {"end": T}, model.random_configuration(9, 30))
    assert found.success.all(), found.report()


@pytest.mark.parametrize("target", [np.zeros((0, 3)), np.zeros((2, 0, 4, 4))])
def test_no_targets_are_an_empty_batch(target):
    found = mz.inverse_kinematics(ARM, {"tool": target})
    batch = target.shape[: -1 if target.shape[-1] == 3 else -2]
    assert found.q.shape == (*batch, 7) and found.success.shape == batch
    assert found.report().startswith("0 of 0 reached")
