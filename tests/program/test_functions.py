"""NumPy's functions and mozzi's on traced scalars: values, accuracy and derivatives."""

import jax
import mpmath
import numpy as np
import pytest

import mozzi as mz
from mozzi.model import generate
from mozzi.program import elementary
from mozzi.program.differentiate import differentiate_program
from mozzi.program.meaning import interpret
from mozzi.program.program import Input, trace

ONE = {
    "sin": (-4, 4), "cos": (-4, 4), "tan": (-1.4, 1.4), "arcsin": (-0.99, 0.99),
    "arccos": (-0.99, 0.99), "arctan": (-5, 5), "sinh": (-4, 4), "cosh": (-4, 4),
    "tanh": (-4, 4), "exp": (-4, 4), "expm1": (-4, 4), "log": (0.1, 5), "log1p": (-0.9, 4),
    "log2": (0.1, 5), "log10": (0.1, 5), "exp2": (-3, 3), "sqrt": (0.1, 4), "square": (-3, 3),
    "reciprocal": (0.2, 3), "absolute": (-3, 3), "fabs": (-3, 3), "sign": (-3, 3),
    "deg2rad": (-90, 90), "rad2deg": (-2, 2), "radians": (-90, 90), "degrees": (-2, 2),
    "negative": (-3, 3), "positive": (-3, 3),
}  # fmt: skip
TWO = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin", "hypot",
       "arctan2", "power", "float_power"]  # fmt: skip
MODEL = generate.chain(3)


@pytest.fixture(autouse=True, scope="module")
def double():
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def run(function, x):
    """A function of a vector, traced and interpreted."""
    program = trace(lambda y: function(mz.array(y)), [Input("x", (len(x),))], "f")
    return np.array(interpret(program, [list(x)])[0])


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number_and_their_derivatives(name):
    """Of a traced number, an array of them, and one with plain numbers among them."""
    low, high = ONE[name]
    x = np.random.default_rng(0).uniform(low, high, 7)
    f = getattr(np, name)
    mixed = lambda y: f(mz.array([y[0], float(x[1]), *y[2:]]))
    one = lambda y: mz.array([f(z) for z in y])
    for traced in (f, mixed, one):
        np.testing.assert_allclose(run(traced, x), f(x), rtol=4e-15, atol=1e-15)
    program = trace(lambda y: f(mz.array(y)), [Input("x", (7,))], "f")
    J = np.array(interpret(differentiate_program(program, "x"), [list(x)])[0]).reshape(7, 7)
    slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(np.diag(J), slope, rtol=1e-7, atol=1e-7)


def test_the_rate_of_a_table_at_its_points():
    """That of the ramp which begins there, and not the sum of both that meet."""
    at, values = [0.0, 1.0, 2.0, 4.0], [3.0, -1.0, 0.5, 1.5]
    program = trace(lambda y: np.interp(mz.array(y), at, values), [Input("x", (4,))], "f")
    J = np.array(interpret(differentiate_program(program, "x"), [at])[0]).reshape(4, 4)
    np.testing.assert_allclose(J, np.diag([-4.0, 1.5, 0.5, 0.5]), atol=1e-15)


def test_tables():
    """np.interp between its points, beyond them, and with what is asked for there."""
    x = np.array([-1.0, 0.0, 0.3, 1.0, 1.7, 2.0, 5.0])
    for more in ({}, {"left": -7.0}, {"left": 8.0, "right": 9.0}):
        table = lambda y, more=more: np.interp(y, [0.0, 1.0, 2.0], [3.0, -1.0, 0.5], **more)
        np.testing.assert_allclose(run(table, x), table(x), rtol=1e-14)
        np.testing.assert_allclose(run(lambda y, f=table: mz.array([f(e) for e in y]), x), table(x))
    with pytest.raises(TypeError, match="points xp that rise"):
        run(lambda y: np.interp(y, [0.0, 0.0], [1.0, 2.0]), x)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name):
    x = np.random.default_rng(1).uniform(0.3, 2.0, 8)
    f = getattr(np, name)
    np.testing.assert_allclose(run(lambda y: f(y[:4], y[4:]), x), f(x[:4], x[4:]), rtol=1e-14)
    np.testing.assert_allclose(run(lambda y: f(y, 1.7), x), f(x, 1.7), rtol=1e-14)
    np.testing.assert_allclose(run(lambda y: f(1.7, y), x), f(1.7, x), rtol=1e-14)


@pytest.mark.parametrize("name", ["sinh", "expm1", "log1p"])
def test_what_vanishes_at_zero_keeps_its_digits_and_so_does_its_slope(name):
    """From 1e-300 to 1, against fifty digits; the derivative by program differentiation."""
    f, exact = getattr(elementary, name), getattr(mpmath, name)
    program = trace(f, [Input("x", ())], "f")
    slope = differentiate_program(program, "x")
    for x in [s * 10.0**k for k in (-300, -20, -9, -4, -2, -0.4, -0.2, 0.0) for s in (1, -0.7)]:
        with mpmath.workdps(50):
            wanted, by_x = float(exact(mpmath.mpf(x))), float(mpmath.diff(exact, x, h=1e-18))
        assert interpret(program, [[x]])[0][0] == pytest.approx(wanted, rel=6e-16)
        assert interpret(slope, [[x]])[0][0] == pytest.approx(by_x, rel=2e-15)


def test_choosing_and_reducing():
    x = np.array([0.4, -1.2, 2.5, -0.1])
    pairs = [
        lambda y: np.where(y > 0.0, y, 2.0 * y),
        lambda y: mz.where((y > 0.0) & (y < 1.0) | (y < -1.0), 1.0, y),
        lambda y: mz.where(~(y > 0.0), 1.0, y),
        lambda y: np.clip(y, -0.5, 1.0),
        lambda y: mz.clip(y, -0.5, 1.0),
        lambda y: mz.maximum(mz.minimum(y, 1.0), -0.5),
        lambda y: mz.sign(y) * np.abs(y) ** 1.5,
        lambda y: mz.array([np.max(y), np.min(y), np.sum(y), np.mean(y), np.linalg.norm(y)]),
        lambda y: mz.array([y.max(), y @ y, np.dot(y, y), np.prod(np.cos(y))]),
        lambda y: np.concatenate([y[:2], np.cross(y[:3], y[1:])]),
        lambda y: np.outer(y, np.tanh(y)).ravel(),
        lambda y: 2.0**y + y**-2,
        lambda y: np.einsum("i,j->ij", y, y).ravel(),
    ]
    for f in pairs:
        np.testing.assert_allclose(run(f, x), f(x), rtol=1e-14)


def test_solve_with_pivots_that_vanish():
    """Where the first pivot is zero, of a generic matrix, and with several right-hand sides."""
    rng = np.random.default_rng(3)
    for n in (1, 2, 4):
        A, B = rng.standard_normal((n, n)), rng.standard_normal((n, 2))
        A[0, 0] = 0.0 if n > 1 else A[0, 0]
        x = np.concatenate([A.ravel(), B.ravel()])
        f = lambda y, n=n: mz.solve(y[: n * n].reshape(n, n), y[n * n :].reshape(n, 2)).ravel()
        np.testing.assert_allclose(run(f, x), np.linalg.solve(A, B).ravel(), rtol=1e-12)
        g = lambda y, n=n: np.linalg.inv(y[: n * n].reshape(n, n)).ravel()
        np.testing.assert_allclose(run(g, x), np.linalg.inv(A).ravel(), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(mz.solve(A, B), np.linalg.solve(A, B))
    with pytest.raises(ValueError, match=r"A has shape \(2, 3\)"):
        run(lambda y: mz.solve(y[:6].reshape(2, 3), y[:2]), x)


def test_what_is_not_traced_is_refused_by_name():
    x = np.ones(3)
    for f, number in (np.log, 0.0), (np.sqrt, -1.0), (np.exp, 1e3):
        told = f"np.{f.__name__} of what does not depend on .*: math .* error"
        with pytest.raises(ValueError, match=told):
            run(lambda x, f=f, y=number: f(0.0 * x + y), np.ones(2))
    with pytest.raises(TypeError, match=r"np.cbrt of a traced scalar; traced are absolute, add"):
        run(np.cbrt, x)
    with pytest.raises(TypeError, match=r"write mz.where\(condition, a, b\) instead of"):
        run(lambda y: y if y[0] > 0.0 else -y, x)
    with pytest.raises(TypeError, match=r"np.zeros_like\(q\)"):
        run(lambda y: np.zeros(3).__iadd__(y), x)


@pytest.mark.parametrize("target", ["cpu", "interpret", "jax"])
def test_a_function_of_a_caller_on_every_target(target):
    """The same function on numbers and compiled, calling an algorithm on the way."""
    model = generate.chain(3)

    def function(q, v):
        g = mz.gravity_forces(model, q)
        return np.tanh(g) + np.maximum(v, 0.0) * np.exp(-q), np.linalg.norm(np.log1p(q * q))

    q, v = np.random.default_rng(4).standard_normal((2, 5, 3))
    found = mz.compile(function, model, target)(q, v)
    wanted = [function(a, b) for a, b in zip(q, v, strict=True)]
    np.testing.assert_allclose(found[0], [w[0] for w in wanted], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found[1], [w[1] for w in wanted], rtol=1e-12)


@pytest.mark.parametrize(
    "function",
    [
        lambda model, q, v: mz.bias_forces(model, q, v),
        lambda q, *, v: mz.bias_forces(MODEL, q, v),
        lambda q, v, k=1.0: k * mz.bias_forces(MODEL, q, v),
        lambda q, v, wrenches=None, **others: mz.bias_forces(MODEL, q, v, wrenches),
    ],
)
def test_a_function_is_what_its_arguments_say(function):
    """The model by its name, arguments that have names only, and defaults, which stay."""
    q, v = np.random.default_rng(2).normal(size=(2, MODEL.nv))
    expected = mz.bias_forces(MODEL, q, v)
    assert np.abs(mz.compile(function, MODEL)(q, v) - expected).max() < 1e-13
    heavier = mz.compile(function, MODEL, parameters=[f"{MODEL.bodies[-1]}.mass"])(q, v, [9.0])
    assert np.abs(heavier - expected).max() > 1e-3


@pytest.mark.parametrize(
    "function",
    [
        lambda q, v: np.maximum(np.outer(q, v), 0.1),
        lambda q, v: np.where(np.kron(q, v) > 0.0, np.kron(q, v), 0.1),
        lambda q, v: np.linalg.inv(np.linalg.outer(q, v) + np.eye(3)),
        lambda q, v: np.linalg.norm(np.outer(q, v) + np.eye(3)),
        lambda q, v: np.linalg.norm(np.outer(q, v) + np.eye(3), "fro"),
        lambda q, v: np.maximum(np.split(np.concatenate([q, v]), 2)[1], 0.1),
    ],
)
def test_what_numpy_makes_of_traced_arrays_is_traced(function):
    """Products and norms of matrices, too, which NumPy makes of plain arrays."""
    q, v = np.random.default_rng(3).normal(size=(2, MODEL.nv))
    assert np.abs(mz.compile(function, MODEL)(q, v) - function(q, v)).max() < 1e-13


@pytest.mark.parametrize("name", ["det", "svd", "eigvalsh", "cholesky", "pinv"])
def test_what_lapack_does_is_refused_by_name(name):
    with pytest.raises(TypeError, match=f"np.linalg.{name} of a traced array"):
        mz.compile(lambda q: getattr(np.linalg, name)(mz.mass_matrix(MODEL, q)), MODEL)
