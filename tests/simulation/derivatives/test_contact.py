"""Derivatives of steps with contact, through their modes, against differences of the step."""

import warnings

import numpy as np
import pytest
from scipy.linalg import null_space
from support.cases import first
from support.contact_models import ball, boxes

import mozzi as mz
from mozzi.errors import ConfigurationError
from mozzi.simulation import Moreau

H = 1e-3


def differences(model, q, v, tau, e=1e-6):
    """∂(δ′, v′)/∂(δ, v, τ) of a step, by central differences along the group."""
    n = model.nv
    columns = []
    for k in range(3 * n):
        ends = []
        for s in (e, -e):
            x = s * np.eye(3 * n)[k]
            start = mz.integrate(model, q, x[:n])
            Q, V = mz.rollout(model, start, v + x[n : 2 * n], (tau + x[2 * n :])[None], H)
            ends.append((Q[1], V[1]))
        (a, u), (b, w) = ends
        columns.append(np.r_[mz.difference(model, b, a), u - w] / (2 * e))
    return np.array(columns).T


STATES = {  # gap, velocity: sliding, sticking, open
    "slides": (-1e-4, [0.2, 5.0, 0.1, 2.0, 1.0, -0.5]),
    "sticks": (-1e-4, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    "lands": (1e-4, [0.0, 1.0, 0.0, 0.1, 0.0, -0.5]),
    "flies": (0.1, [0.2, 5.0, 0.1, 2.0, 1.0, -0.5]),
}


@pytest.mark.parametrize("state", STATES)
def test_a_ball(state):
    """One contact in each of its modes."""
    model = ball(friction=0.3)
    gap, v = STATES[state]
    q = model.neutral()
    q[2] = 0.1 + gap
    tau = 0.1 * np.random.default_rng(0).normal(size=6)
    A, B = mz.linearize(model, q, np.array(v), tau, dt=H)
    D = differences(model, q, np.array(v), tau)
    np.testing.assert_allclose(np.c_[A, B], D, atol=1e-6 * abs(D).max())


@pytest.mark.parametrize("speed", [0.0, 1.0])
def test_a_box_on_four_corners(speed):
    """Twelve rows of rank six: forces are not unique, motion and its derivative are."""
    model, q = boxes()
    q[2] -= 1e-4
    v, tau = np.array([0, 0, 0, speed, 0.3 * speed, 0]), np.zeros(6)
    A, B = mz.linearize(model, q, v, tau, dt=H)
    D = differences(model, q, v, tau)
    np.testing.assert_allclose(np.c_[A, B], D, atol=1e-5 * abs(D).max())


def test_gradients_of_rollouts():
    """Through ten steps with contact, against differences; a batch gives what its samples give."""
    model = ball(friction=0.3)
    rng = np.random.default_rng(1)
    q = model.neutral()
    q[2] = 0.1 - 1e-5
    v, tau = np.array([0.0, 3.0, 0.0, 1.0, 0.2, 0.0]), 0.1 * rng.normal(size=(10, 6))
    Q, V = mz.rollout(model, q, v, tau, H)
    dQ, dV = np.zeros((11, 6)), np.zeros((11, 6))
    dQ[-1], dV[-1] = rng.normal(size=(2, 6))
    _, by_v, by_tau = mz.rollout_gradient(model, Q, V, tau, H, dQ, dV)

    def cost(v, tau):
        a, b = mz.rollout(model, q, v, tau, H)
        return dQ[-1] @ mz.difference(model, Q[-1], a[-1]) + dV[-1] @ (b[-1] - V[-1])

    e = 1e-6
    for k in range(6):
        x = e * np.eye(6)[k]
        slope = (cost(v + x, tau) - cost(v - x, tau)) / (2 * e)
        np.testing.assert_allclose(by_v[k], slope, atol=1e-6)
    x = np.zeros_like(tau)
    x[4, 3] = e
    np.testing.assert_allclose(
        by_tau[4, 3], (cost(v, tau + x) - cost(v, tau - x)) / (2 * e), atol=1e-8
    )


METHODS = {"rigid": Moreau(), "cut": Moreau(cut=True), "smooth": Moreau(smoothing=1e-3)}


def check_finite(model, q, v, method, limits=False):
    """Both derivatives of a step."""
    n, tau = model.nv, np.zeros(model.nv)
    A, B = mz.linearize(model, q, v, tau, dt=H, method=method, limits=limits)
    assert np.isfinite(A).all() and np.isfinite(B).all()
    Q, V = mz.rollout(model, q, v, tau[None], H, method, limits=limits)
    ones = np.ones((2, n))
    for by in mz.rollout_gradient(model, Q, V, tau[None], H, ones, ones, method, limits=limits):
        assert np.isfinite(by).all()


@pytest.mark.parametrize("method", METHODS)
def test_finite_everywhere(method):
    """Also at exact touch, at rest, with nothing to divide by, and far inside."""
    model = ball(friction=0.3, restitution=0.5)
    q = model.neutral()
    for z in (0.1, 0.0, -1.0):
        q[2] = z
        for v in (np.zeros(6), [0.0, 0.0, 0.0, 0.0, 0.0, -1.0]):
            check_finite(model, q, np.array(v), METHODS[method])


PAIRS = {
    "spheres": (mz.Sphere(0.1), mz.Sphere(0.2)), "capsules": (mz.Capsule(0.1, 0.3),) * 2,
    "box": (mz.Sphere(0.1), mz.Box((0.2, 0.3, 0.4))), "boxes": (mz.Box((0.2, 0.3, 0.4)),) * 2,
}  # fmt: skip


@pytest.mark.parametrize("kind", first(2, ["rope", "capsules", "box", "spheres", "cone", "boxes"]))
def test_finite_where_centres_coincide(kind):
    """Bodies inside each other, parallel capsules, a rope of no length, axes that are one."""
    builder = mz.Builder("pair", gravity=(0, 0, 0))
    for k, name in enumerate("ab"):
        builder.add(name, None, mz.Free(), mz.Inertia(1.0, (0, 0, 0), 0.1 * np.eye(3)))
        if kind in PAIRS:
            builder.shape(name, PAIRS[kind][k], name=f"shape_{name}")
    model = builder.build()
    if kind in PAIRS:
        model = model.with_contact("c", "shape_a", "shape_b", 0.5)
    elif kind == "rope":
        model = model.with_rope("c", "a", "b", (0, 0, 0), (0, 0, 0), 0.1)
    else:
        model = model.with_cone("c", "a", "b", "z", "z", 0.5)
    q = model.neutral()
    check_finite(model, q, np.zeros(12), Moreau())
    q[7] = 0.2 if kind == "capsules" else 0.3  # touching along a line; beside
    check_finite(model, q, np.zeros(12), Moreau())


def test_finite_at_limits():
    """At a stop, at rest, with dry friction: modes meet there."""
    builder = mz.Builder("arm", gravity=(0, 0, 0))
    arm = mz.Inertia(1.0, (0.1, 0, 0), 0.1 * np.eye(3))
    builder.add("arm", None, mz.Revolute("z"), arm, limits=(0.0, 1.0), friction=1.0)
    model = builder.build()
    for method in METHODS.values():
        for q in (0.0, 1.0, 0.5, -0.1):
            check_finite(model, np.array([q]), np.zeros(1), method, "rigid")


def test_smoothing_sees_what_does_not_touch():
    """Without it, a ball above the ground has the derivative of a free one; with κ it is pushed by
    κ/gap at the end of the step, and κ → 0 leads back.
    """
    model, z = ball(friction=0.3), 0.01
    q = model.neutral()
    q[2] = 0.1 + z
    still = np.zeros(6)
    A = mz.linearize(model, q, still, still, dt=H)[0]
    assert A[11, 5] == 0.0
    for kappa in (1e-2, 1e-4, 1e-6):
        run = mz.simulate(model, q, still, H, H, smoothing=kappa)
        force, gap = run.contact_forces[-1, 0, 2], run.contact_gaps[-1, 0]
        np.testing.assert_allclose(force * gap, kappa, rtol=1e-9)
        A = mz.linearize(model, q, still, still, dt=H, method=Moreau(smoothing=kappa))[0]
        np.testing.assert_allclose(A[11, 5], -H * kappa / z**2, rtol=0.2)
    rest = q.copy()
    rest[2] = 0.1 - 1e-6
    exact = mz.linearize(model, rest, still, still, dt=H)[0]
    rest[2] = 0.1
    near = mz.linearize(model, rest, still, still, dt=H, method=Moreau(smoothing=1e-10))[0]
    assert abs(near - exact)[6:, 6:].max() < 1e-2


def test_what_smoothing_is_not():
    with pytest.raises(ConfigurationError, match="joules"):
        Moreau(smoothing=-1.0)
    with pytest.raises(ConfigurationError, match="rigid"):
        mz.rollout(ball(), ball().neutral(), np.zeros(6), np.zeros((1, 6)), H, limits=True)


def test_contacts_are_not_ignored():
    """A method that does not know them is refused."""
    model = ball()
    with pytest.raises(ConfigurationError, match="does not know contacts"):
        mz.linearize(model, model.neutral(), np.zeros(6), np.zeros(6), dt=H, method="rkmk4")
    assert Moreau().order == 1


def test_dampers_and_friction_of_joints():
    """A leg that drags its foot, with a damper, a spring and dry friction in its joints."""
    builder = mz.Builder("leg")
    rod = mz.Inertia(1.0, (0.0, 0.0, -0.2), 0.02 * np.eye(3))
    up = mz.Prismatic("z").between((0.0, 0.0, 0.6), None)
    builder.add("slide", None, up, rod, damping=0.5)
    builder.add("thigh", "slide", mz.Revolute("y"), rod, friction=0.2, stiffness=3.0)
    shin = mz.Revolute("y").between((0.0, 0.0, -0.4), None)
    builder.add("shin", "thigh", shin, rod, damping=0.1)
    builder.shape("shin", mz.Sphere(0.05), mz.SE3.translation(0.0, 0.0, -0.4), name="foot")
    model = builder.build().with_ground(friction=0.2)
    q, v, tau = np.array([0.0, 0.5, -0.9]), np.array([0.0, 1.0, 0.3]), np.array([0.0, 0.1, 0.0])
    q[0] -= mz.contact_gaps(model, q)[0] + 1e-4
    A, B = mz.linearize(model, q, v, tau, dt=H)
    D = differences(model, q, v, tau)
    np.testing.assert_allclose(np.c_[A, B], D, atol=1e-6 * abs(D).max())


def closed_leg(closure):
    """Two arms and a coupler, closed by a rod, or by a hinge beside one that rubs, standing on the
    ground: a loop and a contact; where it is.
    """
    builder = mz.Builder("bar")
    for name, x in (("left", -0.2), ("right", 0.2)):
        joint = mz.Revolute("y").between((x, 0.0, 0.5), None)
        builder.add(name, None, joint, mz.Inertia(0.5, (0, 0, -0.15), 0.01 * np.eye(3)))
    joint = mz.Revolute("y").between((0.0, 0.0, -0.3), None)
    rod = mz.Inertia(1.0, (0.2, 0.0, 0.0), 0.02 * np.eye(3))
    builder.add("coupler", "left", joint, rod, friction=0.1 if closure == "hinge" else 0.0)
    ends = (0, 0, -0.3), (0.45, 0.0, 0.02)
    if closure == "rod":
        builder.distance("close", "right", "coupler", *ends, 0.15)
    else:
        builder.loop("close", "right", "coupler", mz.Revolute("y"), *ends)
    builder.shape("coupler", mz.Sphere(0.05), mz.SE3.translation(0.2, 0.0, 0.0), name="foot")
    model = builder.build()
    q = mz.assemble(model, np.array([0.2, 0.6, -0.2]), hold=["left"])
    height = mz.contact_gaps(model.with_ground(), q)[0] + 1e-5  # the foot is just inside
    friction = 0.3 if closure == "rod" else 0.05  # more would jam what moves in one way
    return model.with_ground(height=height, friction=friction), q


@pytest.mark.parametrize("closure", ["rod", "hinge"])
@pytest.mark.parametrize("speed", [0.0, 0.4])
def test_loops(speed, closure):
    """A mechanism with a loop that slides on the ground, along deviations that keep it closed."""
    model, q = closed_leg(closure)
    N = null_space(mz.loop_jacobian(model, q))
    v = N @ np.full(N.shape[1], -speed)
    tau = np.array([0.1, 0.0, -0.05])
    A, B = mz.linearize(model, q, v, tau, dt=H)
    n, e = model.nv, 1e-6
    assert mz.rollout(model, q, v, tau[None], H)[0].shape == (2, n)

    def after(d, u, t):
        start = mz.integrate(model, q, N @ d)
        start = mz.assemble(model, start, hold=["left"])
        w = v + u
        w = w - np.linalg.pinv(mz.loop_jacobian(model, start)) @ mz.loop_jacobian(model, start) @ w
        return start, w, mz.rollout(model, start, w, (tau + t)[None], H)

    zero = np.zeros(n)
    for k in range(N.shape[1] + n):
        ends = []
        for s in (e, -e):
            d = s * np.eye(N.shape[1])[k] if k < N.shape[1] else np.zeros(N.shape[1])
            t = s * np.eye(n)[k - N.shape[1]] if k >= N.shape[1] else zero
            ends.append(after(d, zero, t))
        (q_a, v_a, (Qa, Va)), (q_b, v_b, (Qb, Vb)) = ends
        found = np.r_[mz.difference(model, Qb[1], Qa[1]), Va[1] - Vb[1]] / (2 * e)
        x = np.r_[mz.difference(model, q_b, q_a), v_a - v_b] / (2 * e)
        u = zero if k < N.shape[1] else np.eye(n)[k - N.shape[1]]
        np.testing.assert_allclose(A @ x + B @ u, found, atol=2e-5 * max(1.0, abs(A).max()))
    rng = np.random.default_rng(0)
    dq, dv = rng.normal(size=(2, n))
    Q, V = mz.rollout(model, q, v, tau[None], H)
    zeros = np.zeros(n)
    by_q, by_v, by_tau = mz.rollout_gradient(
        model, Q, V, tau[None], H, np.array([zeros, dq]), np.array([zeros, dv])
    )
    bar = np.r_[dq, dv]
    np.testing.assert_allclose(np.r_[by_q, by_v], bar @ A, atol=1e-8 * abs(A).max())
    np.testing.assert_allclose(by_tau[0], bar @ B, atol=1e-9)


def test_linearized_flows_that_touch_are_told():
    """In continuous time contacts do not act: a ball at rest would fall."""
    body = mz.Inertia(1.0, (0, 0, 0), 0.01 * np.eye(3))
    ball = mz.Builder().add("ball", None, mz.Free(), body).shape("ball", mz.Sphere(0.1)).build()
    ball, still = ball.with_ground(), np.zeros(6)
    with pytest.warns(mz.ContactWarning, match="linearize: .*give dt"):
        mz.linearize(ball, [0, 0, 0.1, 0, 0, 0, 1], still, still)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mz.linearize(ball, [0, 0, 0.2, 0, 0, 0, 1], still, still)
        mz.linearize(ball, [0, 0, 0.1, 0, 0, 0, 1], still, still, dt=1e-3)
