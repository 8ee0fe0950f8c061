"""python-control and SciPy: the same linear systems, and what is designed on them holds."""

import control
import numpy as np
import pytest
import scipy.signal

import mozzi as mz
from mozzi.model import generate

CART = generate.cart_pole()


def test_an_lqr_by_names_keeps_the_pole_upright():
    system = mz.state_space(CART, CART.neutral(), actuated=["slider"])
    assert system.state_labels == ["d_slider", "d_hinge", "v_slider", "v_hinge"]
    assert system.input_labels == ["tau_slider"] and system.isctime()
    K, _, poles = control.lqr(system, np.diag([1.0, 10.0, 1.0, 1.0]), np.eye(1))
    assert (poles.real < 0.0).all()
    law = lambda t, q, v: mz.array([-(K @ np.concatenate([q, v]))[0], 0.0])
    motion = mz.simulate(CART, [0.0, 0.3], np.zeros(2), 20.0, 0.01, torque=law)
    np.testing.assert_allclose(motion.q[-1], 0.0, atol=1e-3)


def test_one_step_is_the_step_of_simulate():
    """x′ = A x + B u to second order, in both libraries."""
    q, v, tau, e = np.array([0.1, 0.4]), np.array([0.3, -0.2]), np.array([1.0, 0.0]), 1e-4
    system = mz.state_space(CART, q, v, tau, dt=0.01, method="rkmk4")
    other = mz.state_space(CART, q, v, tau, dt=0.01, method="rkmk4", library="scipy")
    assert isinstance(other, scipy.signal.StateSpace) and other.dt == system.dt == 0.01
    for name in "ABCD":
        np.testing.assert_array_equal(getattr(system, name), getattr(other, name))
    run = lambda x, u: mz.simulate(CART, q + x[:2], v + x[2:], 0.01, 0.01, "rkmk4", tau + u)
    rng = np.random.default_rng(0)
    x, u = e * rng.standard_normal(4), e * rng.standard_normal(2)
    ends = [np.concatenate([s.q[-1], s.v[-1]]) for s in (run(x, u), run(-x, -u))]
    np.testing.assert_allclose((ends[0] - ends[1]) / 2, system.A @ x + system.B @ u, atol=1e-11)


def test_what_does_not_fit():
    with pytest.raises(mz.ConfigurationError, match="no joint 'wheel'"):
        mz.state_space(CART, CART.neutral(), actuated=["wheel"])
    with pytest.raises(mz.ConfigurationError, match="without batch axes"):
        mz.state_space(CART, np.zeros((3, 2)))
    with pytest.raises(mz.ConfigurationError, match="give 'control' or 'scipy'"):
        mz.state_space(CART, CART.neutral(), library="slycot")


def test_names_have_no_dots():
    """python-control refuses names with dots, which entries of a free base have."""
    robot = generate.quadruped().with_name("dog.v2")
    system = mz.state_space(robot, robot.neutral(), actuated=[robot.joint_names[0]])
    assert system.name == "dog_v2"
    assert system.ninputs == 6
    assert system.input_labels == [f"tau_{x.replace('.', '_')}" for x in robot.v_names[:6]]
    assert system.nstates == 2 * robot.nv
