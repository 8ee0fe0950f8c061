"""Orders, invariants and damping of the integrators."""

import math

import numpy as np
import pytest
from simulation.mechanisms import apart, floating, slider, state

import mozzi as mz
from mozzi.model import example_joints
from mozzi.simulation import GeneralizedAlpha, Moreau, MuntheKaas
from mozzi.simulation.methods.tableau import DOPRI5, EULER, MIDPOINT, RK4

H = 1e-30


@pytest.mark.parametrize("joint", example_joints().values(), ids=repr)
def test_increments_move_with_the_velocity(joint):
    """Where δ̇ = increment_rates(δ, v), the velocity of q ⊕ δ(t) is v.  Müller, Dynamics (89)."""
    rng = np.random.default_rng(joint.nv)
    q = tuple(float(x) for x in joint.random(rng))
    for size in (0.0, 1e-6, 0.7):
        d = size * rng.normal(size=joint.nv)
        v = [float(x) for x in rng.normal(size=joint.nv)]
        rate = joint.increment_rates([float(x) for x in d], v)
        moved = joint.integrate(q, [x + 1j * H * r for x, r in zip(d, rate, strict=True)])
        still = joint.integrate(q, [float(x) for x in d])
        T = np.array(joint.pose(moved).matrix(), dtype=complex)
        V = joint.screws(still) @ v
        hat = np.zeros((4, 4))
        hat[:3, :3], hat[:3, 3] = V.ang.hat().array(), V.lin.array()
        assert np.allclose(T.imag / H, T.real @ hat, atol=1e-12)


@pytest.mark.parametrize("tableau", [EULER, MIDPOINT, RK4, DOPRI5], ids=lambda x: x.name)
def test_tableaus_satisfy_the_order_conditions(tableau):
    """Σ b c^(k−1) = 1/k up to the order, and the weights of the error sum to nothing."""
    for k in range(1, tableau.order + 1):
        assert tableau.b @ tableau.c ** (k - 1) == pytest.approx(1.0 / k, abs=1e-14)
    if tableau.order >= 4:
        assert tableau.b @ tableau.A @ tableau.c == pytest.approx(1.0 / 6.0)
        assert tableau.b @ tableau.A @ tableau.A @ tableau.c == pytest.approx(1.0 / 24.0)
    if tableau.error is not None:
        assert abs(tableau.error.sum()) < 1e-15
    if tableau.dense is not None:
        assert tableau.dense.sum(axis=1) == pytest.approx(tableau.b, abs=1e-12)


ORDERS = {
    "euler": (MuntheKaas(EULER), 1, 2e-3),
    "semi_implicit": ("semi_implicit", 1, 2e-3),
    "midpoint": (MuntheKaas(MIDPOINT), 2, 5e-3),
    "generalized_alpha": ("generalized_alpha", 2, 5e-3),
    "generalized_alpha_0": (GeneralizedAlpha(rho=0.0), 2, 2e-3),
    "momentum": ("momentum", 2, 5e-3),
    "rkmk4": ("rkmk4", 4, 2e-2),
    "dopri5_fixed": (MuntheKaas(DOPRI5), 5, 8e-3),
}


@pytest.mark.parametrize("name", ORDERS)
def test_order_by_slope(name):
    """Halving the step divides the error by 2^order, on a tree with balls, planes and a free base,
    with a rotor, under gravity and a torque that depends on everything.
    """
    method, order, dt = ORDERS[name]
    model = floating((0.3, 0.0, -9.81)).with_dynamics("arm", armature=0.3)
    q, v = state(model, speed=4.0)
    law = lambda t, q, v: -0.2 * v + np.sin(3.0 * t)
    run = lambda h, m: mz.simulate(model, q, v, 0.64, h, m, law, record_every=10**6)
    exact = mz.simulate(model, q, v, 0.64, 0.64, "dopri5", law, rtol=1e-13, atol=1e-14)
    errors = [apart(model, run(h, method), exact) for h in (dt, dt / 2, dt / 4)]
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert slopes[-1] == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize(("cut", "order"), [(False, 1), (True, 2)])
def test_order_of_moreau_by_slope(cut, order):
    """Where nothing touches: steps that may be cut take inertial forces in their middle, and are of
    second order as long as no law looks at velocities.
    """
    model = floating((0.3, 0.0, -9.81)).with_dynamics("arm", armature=0.3)
    q, v = state(model)
    law = lambda t, q, v: np.sin(3.0 * t) + 0.0 * v
    run = lambda h: mz.simulate(model, q, v, 0.64, h, Moreau(cut=cut), law, record_every=10**6)
    exact = mz.simulate(model, q, v, 0.64, 0.64, "dopri5", law, rtol=1e-12, atol=1e-13)
    near, nearer = (apart(model, run(h), exact) for h in (2e-3, 1e-3))
    assert math.log2(near / nearer) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("rtol", [1e-5, 1e-8, 1e-11])
def test_adaptive_errors_follow_the_tolerance(rtol):
    model = floating((0.0, 0.0, -9.81))
    q, v = state(model)
    exact = mz.simulate(model, q, v, 1.0, 1.0, "dopri5", rtol=1e-13, atol=1e-14)
    x = mz.simulate(model, q, v, 1.0, 1.0, "dopri5", rtol=rtol, atol=1e-2 * rtol)
    assert 1e-3 * rtol < apart(model, x, exact) < 1e3 * rtol


def test_dense_output_is_accurate_between_the_steps():
    """Records between steps are on the motion, to about the tolerance."""
    model = floating((0.0, 0.0, -9.81))
    q, v = state(model)
    fine = mz.simulate(model, q, v, 0.5, 1e-3, rtol=1e-9, atol=1e-11, method="dopri5")
    exact = mz.simulate(model, q, v, 0.5, 1e-3)
    assert abs(mz.difference(model, fine.q, exact.q)).max() < 1e-7
    assert abs(fine.v - exact.v).max() < 1e-6


@pytest.mark.parametrize("method", ["rkmk4", "semi_implicit", "momentum", "generalized_alpha"])
def test_quaternions_stay_unit(method):
    model = floating()
    x = mz.simulate(model, *state(model), 1.0, 1e-3, method, record_every=100)
    norms = np.linalg.norm(x.q[:, 3:7], axis=-1)
    assert abs(norms - 1.0).max() < 1e-15


def test_momentum_is_kept_to_rounding():
    """Nothing pushes a free tree: its spatial momentum stays, whatever the step."""
    model = floating()
    q, v = state(model)
    for dt in (1e-2, 1e-3):
        x = mz.simulate(model, q, v, 2.0, dt, "momentum")
        p = x.momentum()
        assert abs(p - p[0]).max() < 2e-13 * abs(p).max()
    coarse = mz.simulate(model, q, v, 2.0, 1e-2, "rkmk4").momentum()
    assert abs(coarse - coarse[0]).max() > 1e-9  # what other methods do


def test_momentum_about_a_vertical_hinge_is_kept_under_gravity():
    """A screw that stays in space has its row of the balance to itself."""
    body = mz.Inertia(1.0, (0.2, 0.0, -0.4), np.diag([0.1, 0.2, 0.3]))
    model = (
        mz.Builder("governor")
        .add("post", None, mz.Revolute("z"), body)
        .add("arm", "post", mz.Revolute("x").between((0.3, 0.0, 0.0)), body)
        .build()
    )
    x = mz.simulate(model, [0.3, 1.0], [3.0, -1.0], 2.0, 1e-2, "momentum")
    Lz = x.momentum()[:, 2]
    assert abs(Lz - Lz[0]).max() < 1e-13 * abs(Lz[0]) + 1e-13


def test_momentum_changes_by_the_wrench():
    """Gravity on a free tree: ṗ = m g, exactly, for any step."""
    model = floating((0.0, 0.0, -9.81))
    x = mz.simulate(model, *state(model), 1.0, 1e-2, "momentum")
    p = x.momentum()[:, 3:]
    fall = np.outer(x.t, [0.0, 0.0, -9.81 * model.mass])
    assert np.allclose(p - p[0], fall, atol=1e-11)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 1.0])
def test_generalized_alpha_damps_high_frequencies_by_rho(rho):
    """An oscillation that steps cannot resolve shrinks by ρ∞ in every step."""
    model = slider(stiffness=1e10)
    x = mz.simulate(model, [1e-3], [0.0], 400.0, 1.0, "generalized_alpha", rho=rho, resistance=True)
    size = np.abs(x.q[:, 0]) / np.maximum(x.t if rho < 1.0 else 1.0, 1.0)  # n ρⁿ: a double one
    if rho == 0.0:
        assert size[-1] < 1e-12
    else:
        seen = (size[300:].max() / size[100:200].max()) ** (1 / 200)
        assert seen == pytest.approx(rho, abs=0.01)


@pytest.mark.parametrize("method", ["rkmk4", "dopri5", "momentum", "generalized_alpha"])
def test_models_that_are_traced_rolled(method):
    """Large models run through loops over bodies, and through the same equations."""
    from mozzi.model.generate import chain

    model = chain(45, seed=3)
    q = model.random_configuration(0)
    x = mz.simulate(model, q, np.zeros(model.nv), 0.02, 1e-3, method)
    exact = mz.simulate(model, q, np.zeros(model.nv), 0.02, 2e-4, "rkmk4")
    assert apart(model, x, exact) < 1e-2 * abs(exact.v[-1]).max()


def test_semi_implicit_keeps_the_energy_of_an_oscillator_near():
    model = slider(stiffness=8.0)
    x = mz.simulate(
        model, [1.0], [0.0], 200 * math.pi, 0.05, "semi_implicit", resistance=True, record_every=20
    )
    E = x.energy()
    assert abs(E / E[0] - 1.0).max() < 0.06
