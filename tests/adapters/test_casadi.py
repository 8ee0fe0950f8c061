"""CasADi: values and derivatives of both kinds of functions, and what IPOPT finds on them."""

import importlib.util
import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import mozzi as mz
from mozzi.model import generate

MODEL = generate.chain(3, seed=2)
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
KINDS = ("expression", "callback")


def arguments(seed=0):
    return np.random.default_rng(seed).standard_normal((3, 3))


@pytest.mark.parametrize("kind", KINDS)
def test_forward_dynamics_with_first_and_second_derivatives(kind):
    q, v, tau = arguments()
    f = mz.casadi_function(mz.forward_dynamics, MODEL, kind=kind)
    assert f.name_in() == ["q", "v", "tau"]
    np.testing.assert_allclose(f(q, v, tau).full()[:, 0], mz.forward_dynamics(MODEL, q, v, tau))
    x = ca.MX.sym("x", 9)
    y = f(*ca.vertsplit(x, 3))
    at = np.concatenate([q, v, tau])
    J = ca.Function("J", [x], [ca.jacobian(y, x)])(at).full()
    wanted = np.concatenate(mz.forward_dynamics_derivatives(MODEL, q, v, tau), axis=1)
    np.testing.assert_allclose(J, wanted, rtol=1e-9, atol=1e-10)
    weights = np.array([0.3, -1.2, 0.7])
    H = ca.Function("H", [x], [ca.hessian(ca.dot(weights, y), x)[0]])(at).full()
    g = lambda z: weights @ np.concatenate(
        mz.forward_dynamics_derivatives(MODEL, *z.reshape(3, 3)), axis=1
    )
    numeric = np.array([(g(at + 1e-6 * d) - g(at - 1e-6 * d)) / 2e-6 for d in np.eye(9)])
    np.testing.assert_allclose(H, numeric, rtol=1e-6, atol=1e-5 * np.abs(numeric).max())


@pytest.mark.parametrize("kind", KINDS)
def test_matrices_are_ordered_as_casadi_does(kind):
    """A matrix result: its Jacobian runs down the columns, and so does its Hessian's."""
    q = arguments()[0]
    M = mz.casadi_function(mz.mass_matrix, MODEL, kind=kind)
    np.testing.assert_allclose(M(q).full(), mz.mass_matrix(MODEL, q))
    x = ca.MX.sym("q", 3)
    J = ca.Function("J", [x], [ca.jacobian(M(x), x)])(q).full()
    partials = mz.mass_matrix_partials(MODEL, q)
    np.testing.assert_allclose(J, partials.transpose(1, 0, 2).reshape(9, 3), atol=1e-12)
    L = np.random.default_rng(1).standard_normal((3, 3))
    H = ca.Function("H", [x], [ca.hessian(ca.trace(ca.mtimes(L, M(x))), x)[0]])(q).full()
    slope = lambda z: np.einsum("ij,jik->k", L, mz.mass_matrix_partials(MODEL, z))
    numeric = [(slope(q + 1e-6 * d) - slope(q - 1e-6 * d)) / 2e-6 for d in np.eye(3)]
    np.testing.assert_allclose(H, numeric, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_where_a_rotation_vanishes(kind):
    """A ball joint at no increment: the side of a choice that is not taken does not leak."""
    body = mz.Inertia(1.0, (0.1, 0.0, 0.3), np.diag([0.1, 0.2, 0.3]))
    ball = mz.Builder("ball").add("a", None, mz.Spherical(), body).build()
    f = mz.casadi_function(lambda q, dv: mz.integrate(ball, q, dv), ball, kind=kind,
                           inputs={"dv": (3,)})  # fmt: skip
    x = ca.MX.sym("x", 3)
    J = ca.Function("J", [x], [ca.jacobian(f(ball.neutral(), x), x)])(np.zeros(3)).full()
    np.testing.assert_allclose(J, 0.5 * np.eye(4, 3), atol=1e-12)


def test_an_optimum_by_calls_of_machine_code():
    """A rod lifted by the least effort: IPOPT with exact Hessians, the same on both kinds."""
    model, h, N = generate.pendulum(1), 0.1, 10
    found = []
    for kind in KINDS:
        f = mz.casadi_function(mz.forward_dynamics, model, kind=kind)
        problem = ca.Opti()
        q, v, u = (problem.variable(1, N + 1) for _ in range(3))
        for k in range(N):
            problem.subject_to(v[:, k + 1] == v[:, k] + h * f(q[:, k], v[:, k], u[:, k]))
            problem.subject_to(q[:, k + 1] == q[:, k] + h * v[:, k + 1])
        problem.subject_to([q[0] == 0.0, v[0] == 0.0, q[N] == 1.0, v[N] == 0.0])
        problem.minimize(ca.sumsqr(u))
        problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
        solution = problem.solve()
        found.append(np.array([solution.value(problem.f), *solution.value(u)]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-6)


def loaded(name):
    """An example, as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    example = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example


def test_the_optima_of_iterative_lqr_are_those_of_ipopt():
    """The same steps and cost, many at once by the examples and one by one in CasADi."""
    jax = pytest.importorskip("jax")
    before = jax.config.read("jax_enable_x64")
    example, in_jax = loaded("ilqr"), loaded("ilqr_jax")
    x0 = np.array([[0.0, 0.0], [0.5, -0.3]])
    start = 0.1 * np.random.default_rng(0).standard_normal((example.N, 2, 1))
    x, u, best = example.ilqr(x0, start, 60)
    x_jax, _, best_jax = in_jax.ilqr(x0, start.swapaxes(0, 1), 60)
    jax.config.update("jax_enable_x64", before)
    np.testing.assert_allclose(best_jax, best, rtol=1e-5)
    np.testing.assert_allclose(x_jax, x.swapaxes(0, 1), atol=5e-3)
    f = mz.casadi_function(mz.forward_dynamics, example.model)
    rate = lambda y, w: ca.vertcat(y[1], f(y[0], y[1], w))
    h = example.dt
    for k in range(2):
        problem = ca.Opti()
        X, U = problem.variable(2, example.N + 1), problem.variable(1, example.N)
        problem.subject_to(X[:, 0] == x0[k])
        for n in range(example.N):
            k1 = rate(X[:, n], U[n])
            k2 = rate(X[:, n] + 0.5 * h * k1, U[n])
            k3 = rate(X[:, n] + 0.5 * h * k2, U[n])
            k4 = rate(X[:, n] + h * k3, U[n])
            problem.subject_to(X[:, n + 1] == X[:, n] + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
        e = X[:, -1] - example.goal
        problem.minimize(0.5 * ca.bilin(example.final, e, e) + 0.5 * example.R * ca.sumsqr(U))
        problem.set_initial(X, x[:, k].T)
        problem.set_initial(U, u[:, k].T)
        problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
        solution = problem.solve()
        assert best[k] == pytest.approx(solution.value(problem.f), rel=1e-5)
        assert best_jax[k] == pytest.approx(solution.value(problem.f), rel=1e-5)
        np.testing.assert_allclose(solution.value(X), x[:, k].T, atol=5e-3)


def test_what_casadi_has_no_place_for():
    with pytest.raises(mz.ConfigurationError, match=r"shape \(3, 4, 4\); CasADi has matrices"):
        mz.casadi_function(mz.forward_kinematics, MODEL)
    with pytest.raises(mz.ConfigurationError, match="give 'expression' or 'callback'"):
        mz.casadi_function(mz.mass_matrix, MODEL, kind="mx")
