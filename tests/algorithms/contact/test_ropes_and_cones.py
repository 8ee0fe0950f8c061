"""One-sided rows that are no surfaces: ropes and the cones of ball joints."""

import math

import numpy as np
import pytest

import mozzi as mz
from mozzi.errors import ModelError

G = 9.81


def bob():
    """A small ball on a rope of one metre, hung at the origin beside its middle."""
    builder = mz.Builder("bob")
    builder.add("bob", None, mz.Free(), mz.Inertia(2.0, (0, 0, 0), 0.01 * np.eye(3)))
    return builder.build().with_rope("rope", "bob", None, (0, 0, 0), (0, 0, 0), 1.0)


def test_a_rope_gets_taut_and_swings():
    """It falls freely, loses what goes along the rope, and swings on; it is never too long."""
    model = bob()
    q = model.neutral()
    q[0] = 0.6
    run = mz.simulate(model, q, np.zeros(6), 3.0, 0.05, "dopri5", rtol=1e-11, atol=1e-13)
    first = run.events[0]
    assert abs(first.t - math.sqrt(2 * 0.8 / G)) < 1e-10  # at (0.6, 0, −0.8)
    speed = mz.twists(model, first.q, first.v, "mixed")[0, 3:]
    np.testing.assert_allclose(speed, -G * first.t * 0.6 * np.array([0.8, 0, 0.6]), atol=1e-9)
    assert run.contact_gaps.min() > -1e-8
    later = run.t > first.t
    np.testing.assert_allclose(run.energy()[later], run.energy()[-1], rtol=1e-8)
    step = mz.simulate(model, q, np.zeros(6), 3.0, 1e-3)
    assert step.contact_gaps.min() > -5e-5
    assert step.contact_residual.max() < 1e-9
    np.testing.assert_allclose(step.q[-1, :3], run.q[-1, :3], atol=0.02)


def test_a_rope_does_not_push():
    """Slack, it does nothing, where its ends are one point, too."""
    model = bob()
    run = mz.simulate(model, model.neutral(), np.zeros(6), 0.3, 1e-3)
    np.testing.assert_allclose(run.v[-1, 5], -G * 0.3, rtol=1e-12)
    assert (run.contact_forces == 0.0).all()


def test_a_ball_joint_in_its_cone():
    """A pendulum on a ball joint runs into its cone and rests there, at the cone's angle."""
    builder = mz.Builder("pendulum")
    rod = mz.Inertia(1.0, (0, 0, 0.5), 0.02 * np.eye(3))
    builder.add("rod", None, mz.Spherical(), rod, damping=0.3)
    axis = (0.0, 0.6, 0.8)
    model = builder.build().with_cone("cone", "rod", None, (0, 0, 1), axis, angle=0.5)
    v = np.array([0.3, 0.2, 1.0])
    run = mz.simulate(model, model.neutral() * 1.0, v, 12.0, 2e-3, record_every=10)
    z = mz.forward_kinematics(model, run.q)[:, 0, :3, 2]
    angle = np.arccos(np.clip(z @ axis, -1, 1))
    start = math.acos(0.8)
    assert abs(angle[0] - start) < 1e-12  # starts outside: pushed back into it
    np.testing.assert_allclose(run.contact_gaps[:, 0], 0.5 - angle, atol=1e-7)
    assert angle[-1] < 0.5 + 1e-6 and abs(run.v[-1]).max() < 5e-3
    assert run.contact_residual.max() < 1e-9
    assert abs(angle[-1] - 0.5) < 1e-5  # gravity pulls it against the cone
    moment = run.contact_wrenches()[-1, 0, :3]
    weight = mz.gravity_forces(model, run.q[-1])
    np.testing.assert_allclose(moment, weight, atol=5e-2)


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_a_ball_joint_comes_back_from_its_cone(e: float):
    """Newton's law: the angle opens as fast as it closed, times the restitution."""
    builder = mz.Builder("pendulum")
    builder.add("rod", None, mz.Spherical(), mz.Inertia(1.0, (0.1, 0, 0.5), np.diag([3, 2, 1.0])))
    axis, q, v = (0.0, 0.6, 0.8), builder.build().neutral(), np.array([0.7, 0.4, -0.5])
    model = builder.build().with_cone(
        "cone", "rod", None, (0, 0, 1), axis, angle=math.acos(0.8), restitution=e
    )

    def opening(v: np.ndarray) -> float:
        after, before = (mz.integrate(model, q, h * v) for h in (1e-6, -1e-6))
        gaps = mz.contact_gaps(model, np.stack([after, before]))[:, 0]
        return float(gaps[0] - gaps[1]) / 2e-6

    v = v if opening(v) < 0.0 else -v
    assert opening(v) < -0.1
    np.testing.assert_allclose(opening(mz.impact(model, q, v)), -e * opening(v), atol=1e-8)


def test_wrong_ropes_are_refused():
    model = bob()
    with pytest.raises(ModelError, match="both ends"):
        model.with_rope("other", "bob", "bob")
    with pytest.raises(ModelError, match="length"):
        model.with_rope("other", "bob", None, length=-1.0)
    with pytest.raises(ModelError, match="angle"):
        model.with_cone("other", "bob", None, angle=4.0)
    with pytest.raises(ModelError, match="no collision shape"):
        model.with_ground()  # the ends of ropes stand on nothing
