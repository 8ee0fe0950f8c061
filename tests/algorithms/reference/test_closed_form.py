"""The closed forms of the papers, in public: each against the recursion of the same name."""

import numpy as np
import pytest
from support.mechanics import agree, loaded_tree, value

import mozzi as mz
from mozzi.model.generate import four_bar

B = 3


@pytest.fixture(scope="module")
def made():
    """A tree of all kinds of joints with rotors, and a batch of states and loads."""
    model = loaded_tree(6, 4)
    rng = np.random.default_rng(0)
    q = model.random_configuration(rng, batch=(B,))
    v, x = rng.normal(size=(2, B, model.nv))
    return model, q, v, x, rng.normal(size=(B, model.nb, 6))


def each(f, model, *arrays, **options):
    """An algorithm as plain Python on every sample."""
    return np.stack([value(f, model, *x, **options) for x in zip(*arrays, strict=True)])


def test_jourdain_and_lagrange(made):
    """(78), (80)–(84) are inverse dynamics, with wrenches in any representation."""
    model, q, v, a, W = made
    form = mz.closed_form(model, q, v)
    how = {"wrenches_rep": "hybrid"}
    agree(form.euler_jourdain(a, W, **how), each(mz.inverse_dynamics, model, q, v, a, W, **how))
    agree(form.lagrange(a), each(mz.inverse_dynamics, model, q, v, a))
    agree(form.M, each(mz.mass_matrix, model, q))
    agree(form.g, each(mz.gravity_forces, model, q))


def test_ploen(made):
    """(24), (28) and (37): M, its rate, and a C for which Ṁ − 2C is skew."""
    model, q, v, *_ = made
    form = mz.closed_form(model, q, v)
    agree(form.dM, each(mz.mass_matrix_rate, model, q, v))
    agree(form.C_skew(), each(mz.coriolis_matrix, model, q, v))
    N = form.dM - 2.0 * form.C_skew(christoffel=False)
    agree(N, -np.swapaxes(N, -1, -2))


def test_states_of_twists_and_of_momenta(made):
    """(q, V) and (q, Π) tell the same state as (q, v): (78) with (111), and (79)."""
    model, q, v, tau, W = made
    form = mz.closed_form(model, q, v)
    a = each(mz.forward_dynamics, model, q, v, tau, W)
    twists = each(mz.twists, model, q, v)
    u, dV = mz.closed_form(model, q, twists=twists).velocity_form(tau, W)
    agree(u, v)
    agree(dV, each(mz.accelerations, model, q, v, a))
    momenta = form.Pi.reshape(B, model.nb, 6)
    agree(momenta.sum(-2), each(mz.momentum, model, q, v))
    u, dPi = mz.closed_form(model, q, momenta=momenta).momentum_form(tau, W)
    agree(u, v)
    rates = np.stack([
        [mz.newton_euler(b.inertia, x, y, "spatial", C) for b, x, y, C in zip(model, *rows)]
        for rows in zip(
            each(mz.twists, model, q, v, rep="spatial"),
            each(mz.accelerations, model, q, v, a, rep="spatial"),
            each(mz.forward_kinematics, model, q), strict=True)
    ])  # fmt: skip
    agree(dPi, rates)


def test_one_sample_and_many_are_the_same(made):
    model, q, v, *_ = made
    whole, one = mz.closed_form(model, q, v), mz.closed_form(model, q[1], v[1])
    for name in ("C", "X", "A", "J", "dJ", "M", "dM", "C_lagrange", "g"):
        agree(getattr(whole, name)[1], getattr(one, name))
    agree(whole.christoffel_binet()[1], one.christoffel_binet())


def test_what_is_refused(made):
    model, q, v, *_ = made
    with pytest.raises(ValueError, match="v, twists= and momenta= each tell a state; give one"):
        mz.closed_form(model, q, v, twists=np.zeros((model.nb, 6)))
    with pytest.raises(mz.ShapeError, match=r"closed_form: v has shape \(2,\)"):
        mz.closed_form(model, q, np.zeros(2))
    bar = four_bar()
    form = mz.closed_form(bar, bar.neutral())
    with pytest.raises(mz.LoopError, match="closed_form: accelerations does not honour loops"):
        form.accelerations(np.zeros(bar.nv))


def test_projected_operators_in_batches():
    """(0.37), with wrenches and without, of a closed mechanism and of its tree."""
    bar = four_bar()
    q = mz.assemble(bar, [[0.3, 0.5, 1.5], [0.5, 0.5, 1.4]])
    v = mz.consistent_velocities(bar, q, np.ones((2, 3)))
    W = np.random.default_rng(0).normal(size=(2, bar.nb, 6))
    tau = np.ones(3)
    for model in (bar, bar.without_loop(bar.loops[0].name)):
        a = mz.forward_dynamics(model, q, v, tau, W, wrenches_rep="spatial")
        got = mz.projected_forward_dynamics(model, q, v, tau, W, wrenches_rep="spatial")
        agree(got, a, 1e-8)
