"""Energies, momentum, centre of mass, centroidal map, regressor."""

import numpy as np
import pytest
from support.mechanics import agree, along, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.algorithms.reference.dynamics import ClosedForm
from mozzi.algorithms.reference.matrices import hat

SEEDS = range(4)


def everywhere(algorithm, model, *arrays, **options):
    """The value, after checking that the unrolled and the rolled program agree with it."""
    expected = value(algorithm, model, *arrays, **options)
    for rolled in (False, True):
        agree(program_value(algorithm, model, *arrays, rolled=rolled, **options)[0], expected)
    return expected


@pytest.mark.parametrize("seed", SEEDS)
def test_kinetic_energy(seed):
    """½ vᵀ M v."""
    model = loaded_tree(7, seed)
    q, v, *_ = state(model, seed)
    M = value(mz.mass_matrix, model, q)
    agree(everywhere(mz.kinetic_energy, model, q, v), 0.5 * v @ M @ v)


@pytest.mark.parametrize("seed", SEEDS)
def test_potential_energy(seed):
    """−Σ m gᵀ c, whose derivative is the generalised gravity."""
    model = loaded_tree(7, seed).with_gravity((1.0, 2.0, -9.0))
    q, v, *_ = state(model, seed)
    U = everywhere(mz.potential_energy, model, q, springs=False)
    expected = 0.0
    for C, body in zip(ClosedForm(model, q, v).C, model, strict=True):
        h = C[:3, :3] @ np.array(body.inertia.h.array(), float) + body.inertia.m * C[:3, 3]
        expected -= h @ np.array(model.gravity)
    agree(U, expected)
    rate = along(lambda x: value(mz.potential_energy, model, x, springs=False), model, q, v)
    agree(rate, value(mz.gravity_forces, model, q) @ v, 1e-8)


def test_springs_store_what_they_resist():
    model = loaded_tree(7, 1, joints=["Revolute", "Prismatic", "Cylindrical"])
    q, v, *_ = state(model, 1)
    springs = everywhere(mz.potential_energy, model, q)
    zero = np.zeros(model.nv)
    resist = value(mz.joint_resistance, model, q, zero)
    rate = along(lambda x: value(mz.potential_energy, model, x), model, q, v)
    agree(rate, (value(mz.gravity_forces, model, q) + resist) @ v, 1e-8)
    assert springs > value(mz.potential_energy, model, q, springs=False)


@pytest.mark.parametrize("seed", SEEDS)
def test_momentum(seed):
    """Spatial momenta of the bodies, summed; the linear part is that of the centre of mass."""
    model = loaded_tree(7, seed)
    q, v, *_ = state(model, seed)
    form = ClosedForm(model, q, v)
    Pi = form.Pi
    h = everywhere(mz.momentum, model, q, v)
    agree(h, Pi.reshape(-1, 6).sum(axis=0))
    velocity = along(lambda x: value(mz.center_of_mass, model, x), model, q, v)
    agree(h[3:], model.mass * velocity, 1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_centroidal_momentum_matrix(seed):
    model = loaded_tree(7, seed)
    q, v, *_ = state(model, seed)
    A = everywhere(mz.centroidal_momentum_matrix, model, q)
    c = everywhere(mz.center_of_mass, model, q)
    h = value(mz.momentum, model, q, v)
    agree(A @ v, np.r_[h[:3] - hat(c) @ h[3:], h[3:]])
    agree(A @ v, everywhere(mz.centroidal_momentum, model, q, v))


@pytest.mark.parametrize("seed", SEEDS)
def test_regressor(seed):
    """τ = Y π + armature·a, with the parameters of the bodies in their own frames."""
    model = loaded_tree(6, seed)
    q, v, a, u = state(model, seed)
    pi = np.array([x for body in model for x in body.inertia.parameters()], dtype=float)
    armature = np.array([x for body in model for x in body.dynamics.armature])
    Y = everywhere(mz.inverse_dynamics_regressor, model, q, v, a)
    agree(Y @ pi + armature * a, value(mz.inverse_dynamics, model, q, v, a))
    Y = value(mz.inverse_dynamics_regressor, model, q, v, a, v_ref=u)
    passive = value(mz.passive_inverse_dynamics, model, q, v, u, a)
    agree(Y @ pi + armature * a, passive)


@pytest.mark.parametrize("seed", SEEDS)
def test_closed_forms_are_one_motion(seed):
    """Projection (78), first-order form, momentum form (79) and Lagrange (80) agree."""
    model = loaded_tree(6, seed)
    q, v, tau, _ = state(model, seed)
    form = ClosedForm(model, q, v)
    a = form.accelerations(tau)
    agree(form.euler_jourdain(a), tau)
    rates, twist_rates = form.velocity_form(tau)
    agree(rates, v)
    agree(twist_rates.ravel(), form.twist_rates(a))
    rates, dPi = form.momentum_form(tau)
    agree(rates, v)

    def spatial_momenta(h):
        moved = ClosedForm(model, value(mz.integrate, model, q, h * v), v + h * a)
        return moved.Pi

    h = 1e-6
    if all(body.joint.subgroup for body in model):
        agree((spatial_momenta(h) - spatial_momenta(-h)) / (2 * h), dPi.ravel(), 1e-5)
    assert form.Pi.shape == (6 * model.nb,)
