"""Derivatives of what rolls and skates: against differences, in all directions."""

from __future__ import annotations

import numpy as np
import pytest

import mozzi as mz

RNG = np.random.default_rng(3)
BODY = mz.Inertia(1.3, (0.02, -0.01, 0.03), np.diag([0.03, 0.04, 0.05]))


def unicycle() -> tuple[mz.Model, np.ndarray, np.ndarray]:
    """A tilted wheel with a frame that hangs on it, rolling, and a skate on the frame."""
    build = mz.Builder("unicycle")
    build.add("wheel", None, mz.Free(), BODY, joint_name="free")
    build.add("frame", "wheel", mz.Revolute("z").between((0.0, 0.02, 0.1), None), BODY)
    build.shape("wheel", mz.Torus(0.3, 0.05), mz.SE3.translation(0.0, 0.01, 0.0), name="tyre")
    build.shape(None, mz.Plane(), mz.SE3.exp(mz.Twist.unflatten((0.1, 0.2, 0, 0, 0, 0))), "slope")
    model = build.build().with_rolling("rolls", "tyre", "slope")
    model = model.with_velocity_rows(
        "skate", lambda m, q: np.cos(q[7]) * mz.jacobian(m, q, "frame", "body")[3]
    )
    q = mz.assemble(model, model.normalize([0.3, 0.1, 0.4, 0.5, 0.3, 0.2, 0.8, 0.4]))
    return model, q, mz.consistent_velocities(model, q, RNG.normal(size=model.nv))


def differences(function, model, q, h=1e-5):
    """∂f/∂q along the group, of fourth order."""
    columns = []
    for e in np.eye(model.nv):
        f = [function(mz.integrate(model, q, s * h * e)) for s in (-2, -1, 1, 2)]
        columns.append((8.0 * (f[2] - f[1]) - (f[3] - f[0])) / (12.0 * h))
    return np.stack(columns, axis=-1)


@pytest.fixture(scope="module")
def case():
    return unicycle()


def test_forward_dynamics(case):
    """∂a/∂q, ∂a/∂v, ∂a/∂τ in all directions; one direction; a Hessian against its gradient."""
    model, q, v = case
    tau, c = RNG.normal(size=(2, model.nv))
    dq, dv, dtau = mz.forward_dynamics_derivatives(model, q, v, tau)
    by_q = differences(lambda x: mz.forward_dynamics(model, x, v, tau), model, q)
    assert dq == pytest.approx(by_q, abs=1e-6 * np.abs(by_q).max())
    h = 1e-4
    for by, out in (
        (lambda e: mz.forward_dynamics(model, q, v + e, tau), dv),
        (lambda e: mz.forward_dynamics(model, q, v, tau + e), dtau),
    ):
        truth = np.stack([(by(h * e) - by(-h * e)) / (2 * h) for e in np.eye(model.nv)], axis=-1)
        assert out == pytest.approx(truth, abs=1e-7 * (1.0 + np.abs(truth).max()))
    d = RNG.normal(size=(3, model.nv))
    along = mz.forward_dynamics_directional(model, q, v, tau, dq=d[0], dv=d[1], dtau=d[2])
    assert along == pytest.approx(dq @ d[0] + dv @ d[1] + dtau @ d[2], abs=1e-9)
    g_q, g_v, g_tau = mz.forward_dynamics_gradient(model, q, v, tau, c)
    assert g_q == pytest.approx(c @ dq, abs=1e-9)
    assert np.concatenate([g_v, g_tau]) == pytest.approx(c @ np.hstack([dv, dtau]), abs=1e-9)
    H_qq, *_ = mz.forward_dynamics_hessian(model, q, v, tau, c)
    gradient = lambda x: mz.forward_dynamics_gradient(model, x, v, tau, c)[0]
    truth = differences(gradient, model, q)
    assert H_qq == pytest.approx(truth, abs=1e-5 * np.abs(truth).max())


def test_hybrid_and_inverse_dynamics(case):
    """Prescribed and actuated joints beside rolling: what one function asks the other gives."""
    model, q, v = case
    tau = np.zeros(model.nv)
    tau[6] = 0.7
    a = mz.forward_dynamics(model, q, v, tau)
    force, same = mz.hybrid_dynamics(model, q, v, np.zeros(7), a, prescribed=["frame"])
    assert same == pytest.approx(a, abs=1e-10)
    assert force == pytest.approx(tau, abs=1e-10)
    lam = mz.loop_forces(model, q, v, tau)
    balance = mz.inverse_dynamics(model, q, v, a) - tau - mz.loop_jacobian(model, q).T @ lam
    assert balance == pytest.approx(0.0, abs=1e-10)
    assert lam @ (mz.loop_jacobian(model, q) @ v) == pytest.approx(0.0, abs=1e-12)  # no work
    assert mz.inverse_dynamics(model, q, v, a, actuated=["frame"]) == pytest.approx(tau, abs=1e-9)
    with pytest.raises(mz.LoopError, match="open its loops"):
        mz.inverse_dynamics(model, q, v, a + 1.0, actuated=["frame"])
    by = mz.hybrid_dynamics_derivatives(model, q, v, tau, a, prescribed=["frame"])
    h = 1e-5
    e = np.eye(7)[6]
    out = [mz.hybrid_dynamics(model, q, v, tau, a + s * h * e, prescribed=["frame"])
           for s in (-1, 1)]  # fmt: skip
    assert by[3] @ e == pytest.approx((out[1][0] - out[0][0]) / (2 * h), abs=1e-6)


@pytest.mark.parametrize("method", ["rkmk4", "semi_implicit"])
def test_steps(case, method):
    """Jacobians of a step along deviations that the rows allow, and gradients through several."""
    model, q, v = case
    dt, n = 0.01, model.nv
    tau = RNG.normal(size=n)
    A, B = mz.linearize(model, q, v, tau, dt=dt, method=method)
    N = mz.allowed_deviations(model, q, v)
    assert N.shape == (2 * n, 2 * n - 1 - 4)  # a position row and four of velocities

    def stepped(x, u=0.0):
        after = mz.rollout(
            model, mz.integrate(model, q, x[:n]), v + x[n:], (tau + u)[None], dt, method=method
        )
        return after[0][-1], after[1][-1]

    q1, v1 = stepped(np.zeros(2 * n))
    h = 1e-5

    def moved(x, u=0.0):
        a, b = stepped(h * x, h * u), stepped(-h * x, -h * u)
        both = [np.concatenate([mz.difference(model, q1, y[0]), y[1] - v1]) for y in (a, b)]
        return (both[0] - both[1]) / (2 * h)

    for x in N.T:
        assert A @ x == pytest.approx(moved(x), abs=2e-6)
    assert B[:, 6] == pytest.approx(moved(np.zeros(2 * n), np.eye(n)[6]), abs=2e-6)
    torques = np.tile(tau, (4, 1))
    qs, vs = mz.rollout(model, q, v, torques, dt, method=method)
    bar_q, bar_v = np.zeros((5, n)), np.zeros((5, n))
    bar_q[-1], bar_v[-1] = RNG.normal(size=(2, n))
    seen = bar_q, bar_v
    to_q, to_v, to_tau = mz.rollout_gradient(model, qs, vs, torques, dt, *seen, method=method)

    def cost(x, u=0.0):
        start = mz.integrate(model, q, x[:n]), v + x[n:]
        end = mz.rollout(model, *start, torques + u, dt, method=method)
        return bar_q[-1] @ mz.difference(model, qs[-1], end[0][-1]) + bar_v[-1] @ end[1][-1]

    for x in N.T[::3]:
        slope = (cost(h * x) - cost(-h * x)) / (2 * h)
        assert np.concatenate([to_q, to_v]) @ x == pytest.approx(slope, abs=3e-6)
    u = np.zeros((4, n))
    u[1, 6] = 1.0
    assert to_tau[1, 6] == pytest.approx((cost(0 * N[:, 0], h * u) - cost(0 * N[:, 0], -h * u))
                                         / (2 * h), abs=1e-6)  # fmt: skip
