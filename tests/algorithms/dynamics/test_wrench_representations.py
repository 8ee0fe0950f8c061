"""Wrenches in the representation of the caller's choice, on every algorithm that takes them."""

import inspect

import numpy as np
import pytest
from support.loop_models import closed_tree
from support.loop_models import state as loop_state
from support.mechanics import agree, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.algorithms.recursion.representations import REPRESENTATIONS

OTHERS = [rep for rep in REPRESENTATIONS if rep != "body"]


def given(model, q, rep, seed=0):
    """Wrenches in a representation, and the same body-fixed."""
    W = np.random.default_rng(seed).normal(size=(model.nb, 6))
    own = [value(mz.convert_wrench, model, q, w, b, rep, "body")
           for w, b in zip(W, model.bodies, strict=True)]  # fmt: skip
    return W, np.array(own)


def test_every_algorithm_on_wrenches_has_the_option():
    every = [f for n in mz.__all__ if isinstance(f := getattr(mz, n), Algorithm)]
    taking = [f for f in every if "wrenches" in f.arrays and f is not mz.convert_wrenches]
    assert len(taking) >= 12
    for f in taking:
        assert f.defaults["wrenches_rep"] == "body"
        assert inspect.signature(f).parameters["wrenches_rep"].default == "body"
        assert "wrenches_rep: representation that wrenches are given in" in (f.__doc__ or "")


@pytest.mark.parametrize("rolled", [False, True])
@pytest.mark.parametrize("rep", OTHERS)
def test_forces_and_accelerations(rep, rolled):
    model = loaded_tree(5, 2)
    q, v, a, tau = state(model, 1)[:4]
    W, own = given(model, q, rep)
    for f, third in ((mz.inverse_dynamics, a), (mz.forward_dynamics, tau), (mz.joint_wrenches, a)):
        both = [
            program_value(f, model, q, v, third, w, wrenches_rep=r, rolled=rolled)[0]
            for w, r in ((W, rep), (own, "body"))
        ]
        agree(*both, 1e-9)


def along_the_group(f, model, q, h=1e-6):
    """∂f/∂q along the group, by central differences."""
    step = h * np.eye(model.nv)
    pairs = [(mz.integrate(model, q, e), mz.integrate(model, q, -e)) for e in step]
    return np.stack([(f(x) - f(y)) / (2 * h) for x, y in pairs], axis=-1)


@pytest.mark.parametrize(
    "rep",
    [x if x == "hybrid" else pytest.param(x, marks=pytest.mark.slow) for x in REPRESENTATIONS],
)
def test_derivatives_hold_wrenches_as_they_are_given(rep):
    """Against differences: a wrench fixed in space is no wrench that moves along."""
    model = loaded_tree(4, 3)
    q, v, a, tau = state(model, 1)[:4]
    W, _ = given(model, q, rep)
    how = {"wrenches": W, "wrenches_rep": rep}
    rng = np.random.default_rng(5)
    dq, lam = rng.normal(size=(2, model.nv))
    dW = rng.normal(size=W.shape)
    pairs = (
        (mz.inverse_dynamics, mz.inverse_dynamics_derivatives, mz.inverse_dynamics_gradient,
         mz.inverse_dynamics_directional, a),
        (mz.forward_dynamics, mz.forward_dynamics_derivatives, mz.forward_dynamics_gradient,
         mz.forward_dynamics_directional, tau),
    )  # fmt: skip
    for f, derivatives, gradient, directional, x in pairs:
        truth = along_the_group(lambda at, f=f, x=x: f(model, at, v, x, **how), model, q)
        size = np.abs(truth).max()
        agree(derivatives(model, q, v, x, **how)[0] / size, truth / size, 1e-6)
        agree(gradient(model, q, v, x, lam, **how)[0] / size, truth.T @ lam / size, 1e-6)
        change = f(model, q, v, x, W + dW, wrenches_rep=rep) - f(model, q, v, x, **how)
        got = directional(model, q, v, x, dq=dq, dwrenches=dW, **how)
        agree(got / size, (truth @ dq + change) / size, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rep", OTHERS)
@pytest.mark.parametrize("rolled", [False, True])
def test_derivatives_as_programs(rep, rolled):
    model = loaded_tree(4, 1)
    q, v, a, tau = state(model, 1)[:4]
    W, _ = given(model, q, rep)
    lam = np.random.default_rng(0).normal(size=model.nv)
    calls = (
        (mz.inverse_dynamics_derivatives, (a, W)), (mz.inverse_dynamics_gradient, (a, lam, W)),
        (mz.forward_dynamics_derivatives, (tau, W)), (mz.bias_forces, (W,)),
    )  # fmt: skip
    for f, rest in calls:
        got = program_value(f, model, q, v, *rest, wrenches_rep=rep, rolled=rolled)
        plain = f.python(model, q, v, *rest, wrenches_rep=rep)
        for x, y in zip(got, plain if isinstance(plain, tuple) else (plain,), strict=True):
            agree(x, np.array(y, dtype=float), 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("rep", OTHERS)
def test_with_loops(rep):
    """Forward dynamics, its derivatives and loop forces of a closed mechanism."""
    model, q = closed_tree(mz.Universal(), seed=3)
    v, tau = loop_state(model, q)
    W, own = given(model, q, rep)
    for f in (mz.forward_dynamics, mz.loop_forces):
        agree(f(model, q, v, tau, W, wrenches_rep=rep), f(model, q, v, tau, own), 1e-8)
    how = {"prescribed": [model.joint_names[0]]}
    a = mz.forward_dynamics(model, q, v, tau, W, wrenches_rep=rep)
    got = mz.hybrid_dynamics(model, q, v, tau, a, wrenches=W, wrenches_rep=rep, **how)
    for x, y in zip(got, mz.hybrid_dynamics(model, q, v, tau, a, wrenches=own, **how), strict=True):
        agree(x, y, 1e-7)
    dq = mz.consistent_velocities(model, q, np.ones(model.nv))
    h = 1e-5
    ends = [mz.assemble(model, mz.integrate(model, q, s * h * dq)) for s in (1.0, -1.0)]
    at = [mz.forward_dynamics(model, x, mz.consistent_velocities(model, x, v), tau, W,
                              wrenches_rep=rep) for x in ends]  # fmt: skip
    dv = (mz.consistent_velocities(model, ends[0], v)
          - mz.consistent_velocities(model, ends[1], v)) / (2 * h)  # fmt: skip
    moved = mz.difference(model, ends[1], ends[0]) / (2 * h)
    x, y, _ = mz.forward_dynamics_derivatives(model, q, v, tau, W, wrenches_rep=rep)
    truth = (at[0] - at[1]) / (2 * h)
    agree((x @ moved + y @ dv) / np.abs(truth).max(), truth / np.abs(truth).max(), 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("sprung", [False, True])
def test_in_simulation_they_are_constant_as_they_are_given(sprung):
    """Under wrenches that are fixed in space, the momentum grows by them: Π̇ˢ = Wˢ (MD36)."""
    b = mz.Builder("ship", gravity=(0.0, 0.0, 0.0))
    b.add("hull", None, mz.Free(), mz.Inertia(2.0, (0.1, 0.0, 0.2), np.diag([0.3, 0.4, 0.5])))
    ball = mz.Spherical().between((0.2, 0.1, 0.0))
    b.add("arm", "hull", ball, mz.Inertia(1.0, (0.0, 0.3, 0.0), np.diag([0.2, 0.1, 0.2])))
    hinge = mz.Revolute((1, 2, 2)).between((0.0, 0.5, 0.0))
    b.add("hand", "arm", hinge, mz.Inertia(0.5, (0.1, 0.1, 0.1), 0.05 * np.eye(3)))
    model = b.build()
    if sprung:
        model = model.with_spring("s", model.bodies[0], model.bodies[2], stiffness=3.0, damping=1.0)
    q, v = state(model, 0)[:2]
    W = 0.1 * np.random.default_rng(0).normal(size=(model.nb, 6))
    path = mz.simulate(model, q, v, 0.2, 0.005, wrenches=W, wrenches_rep="spatial")
    h = mz.momentum(model, path.q, path.v)
    agree(h[-1] - h[0], 0.2 * W.sum(axis=0), 1e-6)
    step = mz.stepper(model, wrenches=True, wrenches_rep="spatial")
    x, u = step(q, v, 0.0, W, 0.005, 40)
    agree(x, path.q[-1], 1e-9)
    agree(u, path.v[-1], 1e-9)


def test_sensitivities_take_them_too():
    """∂τ/∂(a placement) of a wrench that stays where it is, against differences."""
    model = loaded_tree(3, 2, joints=[mz.Revolute])
    q, v, a = state(model, 0)[:3]
    W, _ = given(model, q, "spatial")
    name = f"{model.joint_names[1]}.x"
    how = {"wrenches_rep": "spatial"}
    kernel = mz.sensitivity(mz.inverse_dynamics, model, [name], wrenches=True, **how)
    h = 1e-6
    ends = [kernel.value(q, v, a, W, parameters=kernel.nominal + s * h) for s in (1.0, -1.0)]
    agree(kernel(q, v, a, W)[:, 0], (ends[0] - ends[1]) / (2 * h), 1e-7)
    agree(kernel.value(q, v, a, W), mz.inverse_dynamics(model, q, v, a, W, **how))
