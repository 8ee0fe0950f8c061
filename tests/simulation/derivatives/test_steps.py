"""Linearisation, and derivatives through steps of the integrator."""

import numpy as np
import pytest
from support.cases import first
from support.mechanics import agree, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.model.generate import chain, double_pendulum, random_tree
from mozzi.simulation.derivatives.pullback import Backwards
from mozzi.simulation.derivatives.steps import pullback_kernel, step_jacobians, step_kernel
from mozzi.simulation.forces.resistance import Resistance

METHODS = ["rkmk4", "semi_implicit"]


def differences(function, model, q, v, tau, h=1e-4):
    """The Jacobian of (q, v, τ) ↦ (q′, v′) along the group, by differences of fourth order."""
    n = model.nv
    q1, _ = function(q, v, tau)

    def at(e):
        new = function(value(mz.integrate, model, q, e[:n]), v + e[n : 2 * n], tau + e[2 * n :])
        return np.concatenate([value(mz.difference, model, q1, new[0]), new[1]])

    columns = [
        (8 * (at(h * e) - at(-h * e)) - (at(2 * h * e) - at(-2 * h * e))) / (12 * h)
        for e in np.eye(3 * n)
    ]
    return np.stack(columns, axis=-1)


def sprung(model):
    """With a spring and damper between points of its first and last body."""
    ends = model.bodies[0], model.bodies[-1], (0.1, 0.2, -0.3), (-0.2, 0.1, 0.4)
    return model.with_spring("between", *ends, stiffness=7.0, damping=0.8, length=0.5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", first(1, range(3)))
def test_one_step(method, seed):
    """(A, B) of a step of 0.05 s, which is far from small, on joints of all types."""
    model = sprung(loaded_tree(4, seed))
    q, v, tau, _ = state(model, seed)
    wide = Resistance(slip=0.3)  # which differences can follow
    A, B = step_jacobians(model, q, v, tau, 0.05, method, wide)
    step = step_kernel(model, method, resistance=wide)
    expected = differences(lambda *x: step(*x, 0.05), model, q, v, tau)
    agree(np.concatenate([A, B], axis=1), expected, 1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", first(1, range(3)))
def test_pullbacks_are_transposed_jacobians(method, seed, monkeypatch):
    """Moving, and at rest in the neutral configuration; unrolled and rolled."""
    model = sprung(loaded_tree(4, seed))
    n = model.nv
    q, v, tau, _ = state(model, seed)
    w = np.random.default_rng(seed).normal(size=2 * n)
    for unrolled_bodies in (16, 0):
        monkeypatch.setattr(Backwards, "threshold", unrolled_bodies)
        kernel = pullback_kernel(model, method)
        for x in ((q, v, tau), (model.neutral(), 0.0 * v, 0.0 * tau)):
            A, B = step_jacobians(model, *x, 0.02, method)
            found = kernel(*x, w[:n], w[n:], 0.02)
            agree(np.concatenate(found), w @ np.concatenate([A, B], axis=1), 1e-11)


@pytest.mark.parametrize("seed", first(1, range(4)))
def test_continuous(seed):
    """A and B are the limits of (step − 1) / dt: to first order in dt for the explicit step."""
    model = loaded_tree(4, seed)
    q, v, tau, _ = state(model, seed)
    n = model.nv
    A, B = value(mz.linearize, model, q, v, tau)
    slopes = []
    for dt in (1e-4, 1e-5):
        step, push = step_jacobians(model, q, v, tau, dt, "rkmk4")
        found = np.concatenate([(step - np.eye(2 * n)) / dt, push / dt], axis=1)
        slopes.append(np.abs(found - np.concatenate([A, B], axis=1)).max())
    assert slopes[1] < 0.2 * slopes[0] < 1.0
    for a, b in zip(program_value(mz.linearize, model, q, v, tau, rolled=True), (A, B)):
        agree(a, b)


def test_the_linear_pendulum():
    """A = [[0, 1], [∓ m g l / J, 0]] hanging and upright, B = [0, 1/J]."""
    builder = mz.Builder("pendulum")
    builder.add("rod", None, mz.Revolute("y"), mz.Inertia(2.0, (0, 0, -0.5), np.diag([0.1] * 3)))
    model = builder.build()
    J = 0.1 + 2.0 * 0.25
    for angle, sign in ((0.0, -1.0), (np.pi, 1.0)):
        A, B = mz.linearize(model, [angle], [0.0], [0.0])
        agree(A, [[0.0, 1.0], [sign * 2.0 * 9.81 * 0.5 / J, 0.0]], 1e-12)
        agree(B, [[0.0], [1.0 / J]], 1e-12)
    damped = model.with_dynamics(model.joint_names[0], damping=0.3, stiffness=2.0)
    A, _ = mz.linearize(damped, [0.0], [0.0], [0.0], resistance=True)
    agree(A[1], [-(2.0 * 9.81 * 0.5 + 2.0) / J, -0.3 / J], 1e-12)
    for method in METHODS:
        step, _ = mz.linearize(damped, [0.0], [0.0], [0.0], 1e-6, method, resistance=True)
        agree((step - np.eye(2)) / 1e-6, A, 1e-5)


def test_a_sample_of_a_batch_is_linearised_as_alone():
    model = random_tree(3, 1)
    rng = np.random.default_rng(0)
    q, (v, tau) = model.random_configuration(rng, (4,)), rng.normal(size=(2, 4, model.nv))
    for options in ({}, {"dt": 0.01}):
        A, B = mz.linearize(model, q, v, tau, **options)
        for k in range(4):
            a, b = mz.linearize(model, q[k], v[k], tau[k], **options)
            agree(A[k], a)
            agree(B[k], b)


@pytest.mark.parametrize("method", METHODS)
def test_gradient_through_many_steps(method):
    """Of ½|v|² at the end and of a sum along the way, against differences of whole rollouts."""
    model = random_tree(3, 5, joints=["Revolute", "Spherical"])
    rng = np.random.default_rng(0)
    q0, v0 = model.random_configuration(rng), rng.normal(size=model.nv)
    tau = rng.normal(size=(30, model.nv))

    def cost(q0, v0, tau):
        _, v = mz.rollout(model, q0, v0, tau, 0.01, method)
        return 0.5 * (v[-1] ** 2).sum() + v[10].sum()

    q, v = mz.rollout(model, q0, v0, tau, 0.01, method)
    dq, dv = np.zeros_like(v), np.zeros_like(v)
    dv[-1] += v[-1]
    dv[10] += 1.0
    by_q, by_v, by_tau = mz.rollout_gradient(model, q, v, tau, 0.01, dq, dv, method)
    h, n = 1e-4, model.nv
    for k in range(n):
        e = h * np.eye(n)[k]
        ends = [cost(value(mz.integrate, model, q0, s * e), v0, tau) for s in (1, -1)]
        assert abs(by_q[k] - (ends[0] - ends[1]) / (2 * h)) < 1e-6
        ends = [cost(q0, v0 + s * e, tau) for s in (1, -1)]
        assert abs(by_v[k] - (ends[0] - ends[1]) / (2 * h)) < 1e-6
    direction = rng.normal(size=tau.shape)
    ends = [cost(q0, v0, tau + s * h * direction) for s in (1, -1)]
    assert abs((by_tau * direction).sum() - (ends[0] - ends[1]) / (2 * h)) < 1e-6


def test_rollouts_take_batches():
    model = chain(3, seed=0)
    rng = np.random.default_rng(1)
    q0, v0, tau = rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), rng.normal(size=(5, 2, 3))
    q, v = mz.rollout(model, q0, v0, tau, 0.02)
    grads = mz.rollout_gradient(model, q, v, tau, 0.02, v, 0 * v)
    for k in range(2):
        one = mz.rollout(model, q0[k], v0[k], tau[:, k], 0.02)
        agree(q[:, k], one[0])
        own = mz.rollout_gradient(model, *one, tau[:, k], 0.02, one[1], 0 * one[1])
        for x, y in zip(grads, own):
            agree(x[..., k, :], y)


def test_other_methods_are_refused():
    with pytest.raises(mz.ConfigurationError, match="rkmk4, semi_implicit and moreau"):
        mz.linearize(chain(2), *np.zeros((3, 2)), dt=0.1, method="dopri5")


def test_functions_are_laws_as_they_are_at_each_call():
    """With what they use from outside, by rollouts and their gradients; a `Law` is traced once."""
    model, gains = double_pendulum(), {"kp": 5.0}
    start = model, np.array([0.5, -0.2]), np.zeros(2)
    tau, kept = np.zeros((3, 2)), mz.Law(lambda t, q, v: -gains["kp"] * q)

    def law(t, q, v):
        return -gains["kp"] * q

    for kp in (5.0, 50.0, 5.0):
        gains["kp"] = kp
        fresh = mz.Law(lambda t, q, v, kp=kp: -kp * q)
        q, v, rows = mz.rollout(*start, tau, 0.01, torque=law)
        np.testing.assert_array_equal(q, mz.rollout(*start, tau, 0.01, torque=fresh)[0])
        given = model, q, v, tau, 0.01, np.ones_like(q), np.zeros_like(v)
        found = mz.rollout_gradient(*given, torque=law, rows=rows)[0]
        exact = mz.rollout_gradient(*given, torque=fresh, rows=rows)[0]
        np.testing.assert_array_equal(found, exact)
        assert np.array_equal(mz.rollout(*start, tau, 0.01, torque=kept)[0], q) == (kp == 5.0)
