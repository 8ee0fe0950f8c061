"""Inverse kinematics of closed mechanisms: what is found is reached, closed, and can be used."""

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import car, delta_robot, four_bar

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


def mobile_arm() -> mz.Model:
    """A cart that cannot slide sideways, with an arm."""
    body = mz.Inertia(1.0, (0.1, 0.0, 0.0), 0.1 * np.eye(3))
    build = mz.Builder("mobile").add("cart", None, mz.Planar(), body, joint_name="base")
    build.add("upper", "cart", mz.Revolute("z").between((0.2, 0.0, 0.3), None), body)
    build.add("fore", "upper", mz.Revolute("z").between((0.5, 0.0, 0.0), None), body)
    build.frame("hand", "fore", mz.SE3.translation(0.4, 0.0, 0.0))
    tree = build.build()
    return tree.with_velocity_rows("no_slide", lambda m, q: mz.jacobian(m, q, "cart", "body")[4])


def slips(model: mz.Model, path: np.ndarray) -> np.ndarray:
    """What the rows of velocities see of each step, halfway."""
    step = mz.difference(model, path[:-1], path[1:])
    A = mz.loop_jacobian(model, mz.integrate(model, path[:-1], 0.5 * step))
    return np.abs((A @ step[..., None])[..., 0])


def test_a_mobile_base_does_not_slide():
    """It is reached by a path along its rows: near targets by rolling, where the tree alone slides,
    far ones too.
    """
    model = mobile_arm()
    q0 = np.array([0.3, -0.2, 0.4, 0.5, -0.9])
    goal = mz.pose(model, q0, "hand")[:3, 3] + np.array([1e-3, 2e-3, 0.0])
    found = mz.inverse_kinematics(model, {"hand": goal}, q0, restarts=0)
    assert found.success and found.path is not None
    assert slips(model, found.path).max() < 1e-9 < 1e-3 < np.abs(found.q - q0).max()
    tree = model.without_velocity_rows("no_slide")
    free = mz.inverse_kinematics(tree, {"hand": goal}, q0, restarts=0)
    assert free.path is None
    assert np.abs(mz.loop_jacobian(model, q0) @ mz.difference(model, q0, free.q)).max() > 1e-4
    far = np.array([[2.0, -1.0, 0.3], [-1.5, 3.0, 0.3]])
    there = mz.inverse_kinematics(model, {"hand": far}, q0)
    assert there.success.all() and there.path is not None
    assert there.path.shape == (2, 33, 5)
    assert mz.pose(model, there.q, "hand")[:, :3, 3] == pytest.approx(far, abs=1e-7)
    assert there.path[:, -1] == pytest.approx(there.q)
    assert there.path[:, 0] == pytest.approx(np.stack([q0, q0]))


def test_manoeuvres():
    """A base alone gets to any pose of its plane, also straight to its side, by a path along its
    rows; a twist along a step is a velocity that they allow all the way. Out of the plane is out of
    reach, and the report says so.
    """
    build = mz.Builder("sled").add("sled", None, mz.Planar(), mz.Inertia(1.0, (0, 0, 0), np.eye(3)))
    edge = lambda m, q: mz.jacobian(m, q, "sled", "body")[4]
    model = build.build().with_velocity_rows("edge", edge)
    poses = [(0.0, 0.0, 1.0), (2.5, 0.0, 0.0), (0.4, -0.3, 0.7), (-1.0, 0.5, -1.2)]
    goals = [mz.SE3.exp(mz.Twist.unflatten((0, 0, w, x, y, 0))).matrix() for w, x, y in poses]
    found = mz.inverse_kinematics(model, {"sled": np.stack(goals)}, np.zeros(3)).check()
    assert found.path is not None
    assert mz.pose(model, found.q, "sled") == pytest.approx(np.stack(goals), abs=1e-7)
    for path in found.path:
        assert slips(model, path).max() < 1e-9
        assert np.abs(mz.difference(model, path[:-1], path[1:])[:, 1]).max() < 1e-9  # exactly so
    up = mz.inverse_kinematics(model, {"sled": [0.0, 0.0, 1.0]}, np.zeros(3), restarts=2)
    assert not up.success and np.isnan(up.path).all() and "ends 1 m" in up.report()


@pytest.mark.slow
def test_a_car_parks():
    """Beside where it stands, all wheels rolling on the ground. What holds halfway holds along the
    way to second order: the motion that the path stands for ends nearer with shorter steps.
    """
    model = car()
    goal = mz.SE3.translation(0.0, 1.5, 0.0).matrix()
    found = mz.inverse_kinematics(model, {"chassis": goal}, model.neutral()).check()
    assert found.path is not None
    assert slips(model, found.path).max() < 1e-9
    assert np.abs(mz.loop_residual(model, found.path)).max() < 1e-10
    assert mz.pose(model, found.q, "chassis") == pytest.approx(goal, abs=1e-7)


def test_wheels_stay_on_the_ground():
    """Rolling has a position part: the targets of a car are met with all wheels on the plane."""
    model = car()
    q0 = model.neutral()
    q0[:2] = 0.3, -0.2
    goal = mz.pose(model, q0, "chassis") @ mz.SE3.translation(0.7, 0.0, 0.0).matrix()
    found = mz.inverse_kinematics(model, {"chassis": goal[:3, 3]}, q0)
    assert found.success
    assert found.q[[0, 1, 8, 10]] == pytest.approx([1.0, -0.2, 0.7 / 0.3, 0.7 / 0.3])  # rolled
    assert np.abs(mz.loop_residual(model, found.q)).max() < 1e-10
    q0[2] = 0.1  # above the ground
    assert mz.assemble(model, q0)[2] == pytest.approx(0.0, abs=1e-9)
    wild = model.random_configuration(1)
    assert np.abs(mz.loop_residual(model, wild)).max() < 1e-9
