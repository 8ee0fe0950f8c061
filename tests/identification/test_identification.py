"""Regressors, base parameters and physical inertias: laws, published counts, and a recovery."""

import numpy as np
import pytest
import sympy

import mozzi as mz
from mozzi.identification.base_parameters import inertial_parameters
from mozzi.model import generate


@pytest.fixture(scope="module")
def floating():
    rng = np.random.default_rng(0)
    bodies = [generate.random_inertia(rng) for _ in range(3)]
    build = mz.Builder("floating").add("base", None, mz.Free(), bodies[0])
    build.add("link", "base", mz.Revolute([0.3, 0.5, 0.8]), bodies[1])
    return build.add("tip", "link", mz.Spherical(), bodies[2]).build()


def state(model, count=None, seed=1):
    rng = np.random.default_rng(seed)
    batch = () if count is None else (count,)
    return model.random_configuration(rng, batch=batch), *rng.standard_normal((2, *batch, model.nv))


@pytest.mark.parametrize("size", ["small", "rolled"])
def test_momenta_and_energies_are_linear_in_the_parameters(floating, size):
    """Of a floating chain with a ball, straight-line and in loops over bodies."""
    model, rolled = floating, size == "rolled"
    q, v, _ = state(model, 3)
    of = lambda f: mz.compile(f, model, rolled=rolled)
    pi = inertial_parameters(model)
    M = mz.mass_matrix(model, q)
    np.testing.assert_allclose(
        of(mz.momentum_regressor)(q, v) @ pi, np.einsum("bij,bj->bi", M, v), rtol=1e-11
    )
    np.testing.assert_allclose(
        of(mz.kinetic_energy_regressor)(q, v) @ pi, mz.kinetic_energy(model, q, v), rtol=1e-12
    )
    np.testing.assert_allclose(
        of(mz.potential_energy_regressor)(q) @ pi,
        mz.potential_energy(model, q, springs=False), rtol=1e-12,
    )  # fmt: skip


def planar(n):
    """A chain in a vertical plane: two parameters show of its first body, three of the others."""
    build = mz.Builder("planar")
    rng = np.random.default_rng(3)
    for k in range(n):
        parent = f"b{k - 1}" if k else None
        end = mz.SE3.translation(0.0, 0.0, 0.5 if k else 0.0)
        joint = mz.Revolute("y").between(end, mz.SE3.identity())
        build.add(f"b{k}", parent, joint, generate.random_inertia(rng))
    return build.build()


@pytest.mark.parametrize(("name", "count"), [("panda", 51), ("ur5", 36), ("kinova", 36)])
def test_as_many_as_the_rank(name, count):
    """As many as the regressor has singular values that are not zero."""
    model = mz.load(name)
    base = mz.base_parameters(model)
    Y = mz.inverse_dynamics_regressor(model, *state(model, 80))
    W = Y.reshape(-1, Y.shape[-1])
    norms = np.linalg.norm(W, axis=0)
    seen = norms > 1e-9 * norms.max()
    s = np.linalg.svd(W[:, seen] / norms[seen], compute_uv=False)
    assert len(base) == int((s > 1e-6 * s[0]).sum()) == count
    tau = Y @ inertial_parameters(model)
    np.testing.assert_allclose(base.regressor(Y) @ base.values(model), tau, atol=1e-9)


def test_combinations_of_a_planar_arm_are_those_of_the_textbook():
    """h and the moment about the joint, with the masses behind carried to its end: of two links
    Jyy₁ + l² m₂, hx₁, hz₁ + l m₂, Jyy₂, hx₂, hz₂.
    """
    model = planar(2)
    base = mz.base_parameters(model)
    assert len(base) == 6
    m1 = {name: sympy.Symbol(name, real=True) for name in base.parameters}
    wanted = {
        m1["b0.Jyy"] + sympy.Rational(1, 4) * m1["b1.mass"],
        m1["b0.hx"],
        m1["b0.hz"] + sympy.Rational(1, 2) * m1["b1.mass"],
        m1["b1.hx"], m1["b1.hz"], m1["b1.Jyy"],
    }  # fmt: skip
    assert {sympy.nsimplify(e) for e in base.symbolic()} == wanted
    assert "b0.Jyy + 0.25*b1.mass" in base.expressions()
    assert "b0.mass" in base.unseen and "b1.Jxx" in base.unseen and "b1.mass" not in base.unseen


def test_base_parameters_do_not_depend_on_the_states(floating):
    """Other random states give the same combinations; a motion in one plane shows fewer."""
    one, other = mz.base_parameters(floating, seed=0), mz.base_parameters(floating, seed=7)
    assert one.independent == other.independent
    np.testing.assert_allclose(one.matrix, other.matrix, atol=1e-7)
    q, v, a = state(floating, 60)
    still = mz.base_parameters(floating, (q, 0.0 * v, 0.0 * a))
    assert len(still) < len(one)
    with pytest.raises(mz.ConfigurationError, match="rows for 30 parameters; give more states"):
        mz.base_parameters(floating, (q[:2], v[:2], a[:2]))


def test_an_arm_is_identified_from_its_motion():
    """Base parameters by least squares from noisy torques; they predict other motions."""
    model = mz.load("ur5")
    base = mz.base_parameters(model)
    rng = np.random.default_rng(0)
    Y = base.regressor(mz.inverse_dynamics_regressor(model, *state(model, 400, seed=5)))
    tau = Y @ base.values(model)
    noisy = tau + 1e-3 * rng.standard_normal(tau.shape)
    found = np.linalg.lstsq(Y.reshape(-1, len(base)), noisy.ravel(), rcond=None)[0]
    fresh = base.regressor(mz.inverse_dynamics_regressor(model, *state(model, 50, seed=6)))
    assert np.abs(fresh @ (found - base.values(model))).max() < 2e-3


def test_any_ten_numbers_are_a_body():
    """One to one, always physical, and as exact as the inverse lets it be."""
    rng = np.random.default_rng(2)
    theta = rng.normal(size=(200, 10))
    ten = mz.from_log_cholesky(theta)
    np.testing.assert_allclose(mz.to_log_cholesky(ten), theta, atol=1e-8)
    for row in ten:
        m, h = row[0], row[1:4]
        J = row[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3)
        c = h / m
        moments = np.linalg.eigvalsh(J - m * (c @ c * np.eye(3) - np.outer(c, c)))
        assert m > 0.0 and moments[0] > 0.0 and moments[0] + moments[1] > moments[2] * (1 - 1e-9)
    body = generate.random_inertia(rng).parameters()
    np.testing.assert_allclose(mz.from_log_cholesky(mz.to_log_cholesky(body)), body, rtol=1e-10)
    with pytest.raises(mz.ConfigurationError, match="no body of positive volume"):
        mz.to_log_cholesky([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 5.0])


def test_physical_inertias_while_tracing():
    """In a compiled function, with its derivative."""
    model = generate.chain(1)
    kernel = mz.compile(lambda theta: mz.from_log_cholesky(theta), model, inputs={"theta": (10,)})
    theta = np.random.default_rng(3).standard_normal((4, 10))
    np.testing.assert_allclose(kernel(theta), mz.from_log_cholesky(theta), rtol=1e-12)
