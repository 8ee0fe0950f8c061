"""Inverse kinematics of closed mechanisms: what is found is reached, closed, and can be used."""

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import delta_robot, four_bar

INERTIA = mz.Inertia(1.0, (0.0, 0.0, 0.1), 0.01 * np.eye(3))


def hand() -> mz.Model:
    """An oblique arm whose two fingers are geared, as those of a gripper."""
    builder = mz.Builder("hand")
    axes = ((0, 0, 1), (0, 1, 0.2), (1, 0, 0), (0, 1, 0), (1, 0.3, 0), (0, 1, 0))
    for k, axis in enumerate(axes):
        parent = f"l{k - 1}" if k else None
        builder.add(f"l{k}", parent, mz.Revolute(axis), INERTIA, placement=(0, 0.02, 0.3),
                    limits=(-2.6, 2.6))  # fmt: skip
    for k, side in enumerate((1.0, -1.0)):
        builder.add(f"f{k}", "l5", mz.Prismatic((0, side, 0)), INERTIA, placement=(0, 0, 0.2),
                    limits=(0.0, 0.04))  # fmt: skip
    builder.coupling("gear", {"f1": 1.0, "f0": -1.0})
    return builder.frame("tip", "f1", (0, 0, 0.05)).build()


@pytest.mark.parametrize(
    ("model", "frame", "part"),
    [(four_bar(), None, 3), (delta_robot(), None, 3), (hand(), "tip", 4)],
    ids=("four-bar", "delta", "hand"),
)
def test_what_is_reached_is_closed(model, frame, part):
    """Targets that closed configurations reach, from closed starts: at 1e-8, loops closed, within
    limits; and `simulate` takes what comes out.
    """
    frame = frame or model.bodies[-1]
    T = mz.pose(model, model.random_configuration(1, 20), frame)
    goal = T if part == 4 else T[..., :3, 3]
    found = mz.inverse_kinematics(model, {frame: goal}, model.random_configuration(2, 20))
    assert found.success.mean() >= 0.95, found.report()
    q = found.q[found.success]
    reached = mz.pose(model, q, frame)
    assert np.abs((reached - T[found.success])[..., :3, 3]).max() < 1e-7
    assert np.abs(mz.loop_residual(model, q)).max() < 1e-9
    low = np.array([x for body in model for x in body.dynamics.lower])
    high = np.array([x for body in model for x in body.dynamics.upper])
    assert (q >= low - 1e-9).all() and (q <= high + 1e-9).all()
    mz.simulate(model, q[0], np.zeros(model.nv), 2e-3, 1e-3)


def test_out_of_reach_is_told_and_still_closed():
    model = four_bar()
    frame = model.bodies[-1]
    found = mz.inverse_kinematics(model, {frame: [50.0, 0.0, 0.0]}, restarts=3)
    assert not found.success
    assert "out of reach" in found.report()
    assert np.abs(mz.loop_residual(model, found.q)).max() < 1e-6


def test_a_frame_that_no_loop_moves_comes_with_closed_loops():
    """The arm reaches its target; the fingers, which are not asked about, stay geared."""
    model = hand()
    T = mz.pose(model, model.random_configuration(3), "l5")
    found = mz.inverse_kinematics(model, {"l5": T}).check()
    assert found.q[6] == pytest.approx(found.q[7], abs=1e-12)
