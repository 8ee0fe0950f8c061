"""Derivatives of constrained dynamics, against differences along motions that keep loops closed."""

import numpy as np
import pytest
from support.closed_motions import directions, shifted
from support.loop_models import closed_tree, five_bar, motion, state
from support.mechanics import agree

import mozzi as mz

STEP = 1e-5


@pytest.mark.parametrize("joint", [mz.Spherical(), mz.Universal(), mz.Prismatic("x")])
def test_forward_dynamics(joint: mz.Joint):
    """da = ∂a/∂q δ + ∂a/∂v δv along closed motions, and ∂a/∂τ everywhere."""
    model, q = closed_tree(joint, seed=3)
    v, tau = state(model, q)
    dq, dv, dtau = mz.forward_dynamics_derivatives(model, q, v, tau)
    for d in directions(model, q)[:3]:
        ends = [shifted(model, q, v, h, d) for h in (STEP, -STEP)]
        a = [mz.forward_dynamics(model, *x[:2], tau) for x in ends]
        predicted = [dq @ x[2] + dv @ x[3] for x in ends]
        agree((a[0] - a[1]) / (2 * STEP), (predicted[0] - predicted[1]) / (2 * STEP), 2e-6)
    eye = np.eye(model.nv) * 1e-3
    a = mz.forward_dynamics(model, q, v, tau + eye) - mz.forward_dynamics(model, q, v, tau - eye)
    agree(a.T / 2e-3, dtau, 1e-8)


def test_redundant_rows():
    """A planar mechanism in space."""
    model, q, v, _ = motion(3, five_bar())
    tau = np.array([0.3, 0.0, -0.2, 0.0])
    dq, dv, dtau = mz.forward_dynamics_derivatives(model, q, v, tau)
    for d in directions(model, q):
        ends = [shifted(model, q, v, h, d) for h in (STEP, -STEP)]
        a = [mz.forward_dynamics(model, *x[:2], tau) for x in ends]
        predicted = [dq @ x[2] + dv @ x[3] for x in ends]
        agree((a[0] - a[1]) / (2 * STEP), (predicted[0] - predicted[1]) / (2 * STEP), 2e-6)
    agree(mz.loop_jacobian(model, q) @ dtau, np.zeros((5, 4)), 1e-9)


@pytest.mark.parametrize("held", [["left"], ["left", "right"], ["left", "left_rod"]])
def test_hybrid_dynamics(held: list[str]):
    """Both outputs with respect to all four inputs, along motions that keep the loops closed."""
    model, q, v, _ = motion(3, five_bar())
    a = mz.forward_dynamics(model, q, v, np.zeros(4))
    tau = np.array([0.3, 0.1, -0.2, 0.4])
    changes = mz.hybrid_dynamics_derivatives(model, q, v, tau, a, prescribed=held)
    rng = np.random.default_rng(0)
    for d in directions(model, q):
        dtau, dtau_v = rng.normal(size=(2, 4))
        out, ends = [], []
        for h in (STEP, -STEP):
            q1, v1, delta, deltav = shifted(model, q, v, h, d)
            a1 = mz.forward_dynamics(model, q1, v1, h * 10 * dtau_v)  # one that keeps them closed
            tau1 = tau + h * dtau
            out.append(mz.hybrid_dynamics(model, q1, v1, tau1, a1, prescribed=held))
            ends.append((delta, deltav, tau1 - tau, a1 - a))
        step = [(x - y) / (2 * STEP) for x, y in zip(*ends)]
        for k in (0, 1):
            predicted = sum(D @ s for D, s in zip(changes[4 * k : 4 * k + 4], step))
            agree((out[0][k] - out[1][k]) / (2 * STEP), predicted, 3e-6)


@pytest.mark.parametrize("minimize", ["torque", "loop_force"])
@pytest.mark.parametrize("joints", [["left", "right"], ["left", "left_rod", "right"]])
def test_inverse_dynamics(joints: list[str], minimize: str):
    """Torques of actuators with respect to q, v and a, exactly and redundantly actuated."""
    model, q, v, _ = motion(3, five_bar())
    a = mz.forward_dynamics(model, q, v, np.zeros(4))
    given = {"actuated": joints, "minimize": minimize, "weighting": None}
    if len(joints) == 3 and minimize == "torque":
        given["weighting"] = [1.0, 2.0, 3.0]
    changes = mz.inverse_dynamics_derivatives(model, q, v, a, **given)
    rng = np.random.default_rng(0)
    for d in directions(model, q):
        force, out, ends = rng.normal(size=4), [], []
        for h in (STEP, -STEP):
            q1, v1, delta, deltav = shifted(model, q, v, h, d)
            a1 = mz.forward_dynamics(model, q1, v1, h * 10 * force)
            out.append(mz.inverse_dynamics(model, q1, v1, a1, **given))
            ends.append((delta, deltav, a1 - a))
        predicted = [sum(D @ s for D, s in zip(changes, x)) for x in ends]
        agree((out[0] - out[1]) / (2 * STEP), (predicted[0] - predicted[1]) / (2 * STEP), 3e-6)


def test_without_actuators_it_is_the_tree():
    model, q, v, a = motion(3, five_bar())
    tree = model._replace(loops=())
    pairs = zip(*(mz.inverse_dynamics_derivatives(m, q, v, a) for m in (model, tree)))
    for x, y in pairs:
        agree(x, y)


def test_parameters():
    """Sensitivities of constrained accelerations to a mass; the loops stay closed."""
    model, q, v, _ = motion(3, five_bar())
    tau = np.array([0.3, 0.0, -0.2, 0.0])
    change = mz.sensitivity(mz.forward_dynamics, model, ["left_rod.mass"])(q, v, tau)
    ends = []
    for h in (1e-4, -1e-4):
        p = list(model.body("left_rod").inertia.parameters())
        p[0] += h
        heavier = model.with_inertia("left_rod", mz.Inertia.from_parameters(p))
        ends.append(mz.forward_dynamics(heavier, q, v, tau))
    agree(change[..., 0], (ends[0] - ends[1]) / 2e-4, 1e-7)
    assert np.abs(mz.loop_jacobian(model, q) @ change[..., 0]).max() < 1e-9
