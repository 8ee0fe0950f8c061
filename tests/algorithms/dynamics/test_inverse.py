"""Inverse dynamics in four representations, against closed forms and against each other."""

import numpy as np
import pytest
from support.mechanics import agree, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.algorithms.reference.dynamics import ClosedForm
from mozzi.compiler import program_of
from mozzi.model.generate import JOINTS, chain, random_tree

REPS = ("body", "spatial", "hybrid", "mixed")


@pytest.mark.parametrize("rep", REPS)
@pytest.mark.parametrize("seed", range(4))
def test_every_representation_is_the_projection_of_newton_euler(seed, rep):
    """τ = Jᵀ (𝓜 V̇ − bᵀ 𝓜 V − W), Müller (78)."""
    model = loaded_tree(8, seed)
    q, v, a, _ = state(model, seed)
    W = np.random.default_rng(seed).normal(size=(model.nb, 6))
    tau = ClosedForm(model, q, v).euler_jourdain(a, W)
    agree(value(mz.inverse_dynamics, model, q, v, a, W, rep=rep), tau)


@pytest.mark.parametrize("rep", REPS)
@pytest.mark.parametrize("rolled", [False, True])
def test_rolled_is_unrolled(rep, rolled):
    model = random_tree(14, 5)
    q, v, a, _ = state(model, 1)
    W = np.random.default_rng(1).normal(size=(model.nb, 6))
    expected = value(mz.inverse_dynamics, model, q, v, a, W, rep=rep)
    agree(
        program_value(mz.inverse_dynamics, model, q, v, a, W, rep=rep, rolled=rolled)[0], expected
    )


@pytest.mark.parametrize("name", sorted(JOINTS))
def test_every_joint(name):
    """Each joint type in the middle of a chain, where it moves and is moved."""
    model = random_tree(4, 3, joints=[name])
    q, v, a, _ = state(model, 2)
    form = ClosedForm(model, q, v)
    agree(value(mz.inverse_dynamics, model, q, v, a), form.lagrange(a))


def test_unknown_representation():
    model = chain(2)
    with pytest.raises(ValueError, match="no representation 'bodily'"):
        mz.inverse_dynamics(model, *np.zeros((3, 2)), rep="bodily")


@pytest.mark.parametrize("seed", range(3))
def test_bias_and_gravity(seed):
    model = loaded_tree(7, seed)
    q, v, *_ = state(model, seed)
    zero = np.zeros(model.nv)
    bias, gravity = value(mz.bias_forces, model, q, v), value(mz.gravity_forces, model, q)
    agree(bias, value(mz.inverse_dynamics, model, q, v, zero))
    agree(gravity, value(mz.inverse_dynamics, model, q, zero, zero))
    agree(program_value(mz.gravity_forces, model, q, rolled=True)[0], gravity)
    agree(program_value(mz.bias_forces, model, q, v, rolled=True)[0], bias)


@pytest.mark.parametrize("seed", range(3))
def test_joint_wrenches_hold_their_joints(seed):
    """Joint forces are the parts of the joint wrenches along the joint screws."""
    model = random_tree(7, seed)
    q, v, a, _ = state(model, seed)
    W = value(mz.joint_wrenches, model, q, v, a)
    S = ClosedForm(model, q, v).X
    agree(S.T @ W.ravel(), value(mz.inverse_dynamics, model, q, v, a))
    agree(program_value(mz.joint_wrenches, model, q, v, a, rolled=True)[0], W)


def test_joint_wrench_of_a_hanging_body():
    """At rest the joint of the last body carries its weight, at its centre of mass."""
    model = chain(3, seed=4)
    q = model.neutral()
    zero = np.zeros(model.nv)
    W = value(mz.joint_wrenches, model, q, zero, zero)[-1]
    C, body = ClosedForm(model, q, zero).C[-1], model.body(2)
    force = -body.inertia.m * C[:3, :3].T @ np.array(model.gravity)
    com = np.array(body.inertia.h.array(), float) / body.inertia.m
    agree(W, np.r_[np.cross(com, force), force])


@pytest.mark.parametrize("rolled", [False, True])
def test_resistance_is_added_on_request(rolled):
    """damping·v + friction·sign(v) + stiffness·(q ⊖ rest)."""
    model = loaded_tree(9, 2)
    q, v, a, _ = state(model, 5)
    r = value(mz.joint_resistance, model, q, v)
    flat = [k for k, body in enumerate(model) if body.joint.flat and body.joint.nv]
    assert flat
    for k in flat:
        own, d = slice(*model.v_offsets[k : k + 2]), model.body(k).dynamics
        stretch = q[slice(*model.q_offsets[k : k + 2])] - d.rest
        agree(r[own], d.damping * v[own] + d.friction * np.sign(v[own]) + d.stiffness * stretch)
    without = value(mz.inverse_dynamics, model, q, v, a)
    with_it = program_value(mz.inverse_dynamics, model, q, v, a, rolled=rolled, resistance=True)
    agree(with_it[0], without + r)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rolled", [False, True])
def test_passive_inverse_dynamics(seed, rolled):
    """M a_ref + C v_ref + g with the C of coriolis_matrix, without forming it.  Ploen (37)."""
    model = loaded_tree(7, seed)
    q, v, a, u = state(model, seed)
    form = ClosedForm(model, q, v)
    expected = form.M @ a + form.C_skew() @ u + form.g
    agree(program_value(mz.passive_inverse_dynamics, model, q, v, u, a, rolled=rolled)[0], expected)


def test_passive_costs_little_more_than_inverse():
    model = chain(7)
    inverse = program_of(mz.inverse_dynamics, model).flops
    assert program_of(mz.passive_inverse_dynamics, model).flops <= 1.3 * inverse


def test_cost_is_linear():
    """Each further body adds the same number of operations."""
    flops = [program_of(mz.inverse_dynamics, chain(n)).flops for n in (10, 20, 40)]
    assert flops[2] - flops[1] <= 2.2 * (flops[1] - flops[0])
