"""Inverse dynamics of what stands on its contacts."""

import numpy as np
import pytest
from support.contact_models import SIZE, boxes

import mozzi as mz
from mozzi.errors import LoopError, ShapeError
from mozzi.model.generate import quadruped


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_box_is_carried(slope):
    """Forces in the cones that carry its weight and what it accelerates by, on any slope."""
    model, q = boxes(slope=slope, friction=0.5)
    v, a = np.zeros(6), np.array([0.0, 0.0, 0.3, 0.2, -0.1, 0.0])
    tau, F, missing = mz.contact_inverse_dynamics(model, q, v, a)
    assert missing[0] < 1e-7 and (tau == 0.0).all()
    left = mz.inverse_dynamics(model, q, v, a, wrenches=mz.contact_wrenches(model, q, F))
    assert abs(left).max() < 1e-7
    R = mz.contact_frames(model, q)[:, :3, :3]
    f = np.einsum("kij,ki->kj", R, F)
    assert (np.hypot(f[:, 0], f[:, 1]) <= 0.5 * f[:, 2] + 1e-9).all()


def test_what_friction_cannot_carry_is_missing():
    """On ice nothing is carried along the slope: what is missing is the weight along it."""
    model, q = boxes(slope=0.4, friction=0.2)
    _, F, missing = mz.contact_inverse_dynamics(model, q, np.zeros(6), np.zeros(6))
    f = np.einsum("kij,ki->kj", mz.contact_frames(model, q)[:, :3, :3], F)
    ratio = np.hypot(f[:, 0], f[:, 1]) / f[:, 2]
    np.testing.assert_allclose(ratio, 0.2, atol=1e-5)
    # the nearest force of the cone to the weight, by which the rest is across its edge
    weight = 9.81 * np.sin(0.4 - np.arctan(0.2))
    np.testing.assert_allclose(missing[0], weight, rtol=0.05)


def test_a_quadruped_stands():
    """The forces of a step at rest are those that carry; motors give what the legs need."""
    model = quadruped()
    q = model.neutral()
    q[2] -= mz.contact_gaps(model, q).min()
    v = np.zeros(model.nv)
    tau, F, missing = mz.contact_inverse_dynamics(model, q, v, v)
    assert missing[0] < 1e-6
    again = mz.inverse_dynamics(model, q, v, v, wrenches=mz.contact_wrenches(model, q, F))
    np.testing.assert_allclose(again, tau, atol=1e-6)
    batch = mz.contact_inverse_dynamics(model, np.tile(q, (3, 1)), v, v)
    np.testing.assert_allclose(batch[0], np.tile(tau, (3, 1)), atol=1e-9)


def test_in_the_air_nothing_carries():
    model, q = boxes()
    q[2] += SIZE[2]
    _, F, missing = mz.contact_inverse_dynamics(model, q, np.zeros(6), np.zeros(6))
    assert (F == 0.0).all() and abs(missing[0] - 9.81) < 1e-12


def test_mistakes():
    model, q = boxes()
    with pytest.raises(ShapeError, match="contact points"):
        mz.contact_wrenches(model, q, np.zeros((2, 3)))
    bar = mz.Builder("bar")
    for k in range(2):
        bar.add(f"b{k}", None, mz.Free(), mz.Inertia(1.0, (0, 0, 0), np.eye(3)))
    closed = bar.build().with_loop("l", "b0", "b1", mz.Revolute("z"), None, None)
    with pytest.raises(LoopError, match="loops"):
        mz.contact_inverse_dynamics(closed, closed.neutral(), *np.zeros((2, 12)))
