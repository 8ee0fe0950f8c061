"""Dynamics in momenta: (q, Π) and (q, p) move as (q, v) does, in O(n), and keep what floats."""

import numpy as np
import pytest
from support.loop_models import closed_tree
from support.loop_models import state as loop_state
from support.mechanics import agree, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.algorithms.recursion.representations import REPRESENTATIONS
from mozzi.compiler import program_of
from mozzi.model.generate import chain


@pytest.mark.parametrize("rolled", [False, True])
@pytest.mark.parametrize("seed", [0, 3])
def test_the_momentum_form_is_forward_dynamics(seed, rolled):
    """(79): v of Π, and Π̇ the wrenches that these accelerations need; rotors included."""
    model = loaded_tree(6, seed)
    q, v, tau, _ = state(model, seed)
    W = np.random.default_rng(seed).normal(size=(model.nb, 6))
    Pi = program_value(mz.momenta, model, q, v, rolled=rolled)[0]
    form = mz.closed_form(model, q, v)
    agree(Pi.ravel(), form.Pi)
    u, dPi = program_value(mz.momentum_dynamics, model, q, Pi, tau, W, rolled=rolled)
    agree(u, v, 1e-9)
    agree(dPi, form.momentum_form(tau, W)[1], 1e-8)


@pytest.mark.parametrize("rolled", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_hamiltons_equations(seed, rolled):
    """p = M v and ṗ = M a + Ṁ v, with wrenches, gravity, rotors and resistance."""
    model = loaded_tree(6, seed)
    q, v, tau, _ = state(model, seed)
    W = np.random.default_rng(seed).normal(size=(model.nb, 6))
    p = program_value(mz.joint_momenta, model, q, v, rolled=rolled)[0]
    M, dM = value(mz.mass_matrix, model, q), value(mz.mass_matrix_rate, model, q, v)
    agree(p, M @ v)
    how = {"resistance": True}
    u, rate = program_value(mz.hamiltonian_dynamics, model, q, p, tau, W, rolled=rolled, **how)
    agree(u, v, 1e-9)
    a = value(mz.forward_dynamics, model, q, v, tau, W, **how)
    agree(rate, M @ a + dM @ v, 1e-8)


@pytest.mark.parametrize("rep", REPRESENTATIONS)
def test_momenta_in_every_representation(rep):
    model = loaded_tree(4, 2)
    q, v, *_ = state(model, 0)
    Pi = value(mz.momenta, model, q, v, rep)
    agree(Pi, value(mz.convert_wrenches, model, q, value(mz.momenta, model, q, v, "body"),
                    "body", rep))  # fmt: skip
    twice = (Pi * value(mz.twists, model, q, v, rep)).sum()
    rotors = sum(m * x * x for m, x in
                 zip((m for b in model for m in b.dynamics.armature), v, strict=True))  # fmt: skip
    agree(0.5 * (twice + rotors), value(mz.kinetic_energy, model, q, v))


def test_the_total_changes_by_applied_wrenches_alone():
    """Σ Π̇ is the weight and the wrenches on all bodies, of a base that floats."""
    model = _ship(gravity=(0.1, 0.2, -9.0))
    q, v, tau, _ = state(model, 0)
    W = np.random.default_rng(0).normal(size=(model.nb, 6))
    tau[:6] = 0.0
    Pi = value(mz.momenta, model, q, v)
    how = {"wrenches_rep": "spatial"}
    _, dPi = mz.momentum_dynamics.python(model, q, Pi, tau, W, **how)
    c, g = value(mz.center_of_mass, model, q), model.mass * np.array(model.gravity)
    agree(np.array(dPi, float).sum(0), W.sum(0) + np.r_[np.cross(c, g), g], 1e-9)


@pytest.mark.parametrize("name", ["momentum_dynamics", "hamiltonian_dynamics", "joint_momenta"])
def test_costs_are_linear(name):
    """Operations at three sizes: each further body costs the same."""
    flops = [program_of(getattr(mz, name), chain(n), rolled=False).flops for n in (10, 20, 40)]
    assert flops[2] - flops[1] <= 2.05 * (flops[1] - flops[0])


def test_loops_are_honoured_or_refused():
    model, q = closed_tree(mz.Universal(), seed=3)
    v, tau = loop_state(model, q)
    Pi = mz.momenta(model, q, v)
    u, dPi = mz.momentum_dynamics.python(model, q, Pi, tau)
    agree(np.array(u, float), v, 1e-8)
    a = mz.forward_dynamics(model, q, v, tau)
    agree(np.array(dPi, float), value(mz.momentum_rates, model, q, v, a), 1e-7)
    with pytest.raises(mz.LoopError, match="hamiltonian_dynamics does not honour loops"):
        mz.hamiltonian_dynamics(model, q, v, tau)


# -- in simulation --


def _ship(gravity=(0.0, 0.0, 0.0)) -> mz.Model:
    b = mz.Builder("ship", gravity=gravity)
    b.add("hull", None, mz.Free(), mz.Inertia(2.0, (0.1, 0.0, 0.2), np.diag([0.3, 0.4, 0.5])))
    ball = mz.Spherical().between((0.2, 0.1, 0.0))
    b.add("arm", "hull", ball, mz.Inertia(1.0, (0.0, 0.3, 0.0), np.diag([0.2, 0.1, 0.2])))
    hinge = mz.Revolute((1, 2, 2)).between((0.0, 0.5, 0.0))
    b.add("hand", "arm", hinge, mz.Inertia(0.5, (0.1, 0.1, 0.1), 0.05 * np.eye(3)))
    return b.build().with_dynamics("hand", armature=0.1)


def test_simulation_in_momenta_keeps_the_momentum():
    """To rounding, where velocities lose it with the order of the method; energy alike."""
    model = _ship()
    q, v = state(model, 1)[:2]
    drift, energy = {}, {}
    for form in ("momentum", "velocity"):
        path = mz.simulate(model, q, v, 1.0, 0.02, "rkmk4", state=form, resistance=False)
        h = mz.momentum(model, path.q, path.v)
        drift[form], energy[form] = np.abs(h - h[0]).max(), path.energy_drift()
    assert drift["momentum"] < 1e-12 < 1e-9 < drift["velocity"]
    assert energy["momentum"] < 1e-4


@pytest.mark.slow
def test_simulation_in_momenta_is_of_order_four():
    model = _ship(gravity=(0.0, 0.0, -9.81))
    q, v = state(model, 1)[:2]
    ends = [
        mz.simulate(model, q, v, 0.4, h, "rkmk4", state="momentum", resistance=False).v[-1]
        for h in (0.02, 0.01, 0.00125)
    ]
    errors = [np.linalg.norm(x - ends[2]) for x in ends[:2]]
    assert abs(np.log2(errors[0] / errors[1]) - 4.0) < 0.25


@pytest.mark.slow
def test_simulation_in_momenta_with_loops_and_drives():
    """A closed mechanism moves as it does in velocities, and its energy stays."""
    model, q = closed_tree(mz.Revolute(), seed=1)
    v, _ = loop_state(model, q)
    v = 0.3 * mz.consistent_velocities(model, q, v)
    one, two = (
        mz.simulate(model, q, v, 0.1, 0.002, "rkmk4", state=s, resistance=False)
        for s in ("momentum", "velocity")
    )
    agree(one.v[-1], two.v[-1], 1e-5)
    assert np.abs(mz.loop_residual(model, one.q)).max() < 1e-8


def test_what_is_refused_of_states():
    model = _ship()
    q, v = model.neutral(), np.zeros(model.nv)
    with pytest.raises(mz.ConfigurationError, match="there are 'velocity' and 'momentum'"):
        mz.simulate(model, q, v, 0.1, 0.01, "rkmk4", state="momenta")
    from mozzi.simulation import MuntheKaas

    with pytest.raises(mz.ConfigurationError, match="state='momentum' has no derivatives"):
        mz.rollout(model, q, v, np.zeros((2, model.nv)), 0.01, method=MuntheKaas(state="momentum"))
