"""The SymPy target: expressions equal to what the interpreter computes, and textbook forms."""

import math
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from program.recipes import CHOOSING, SMOOTH, Recipe, Unclear, points, recipes, with_bounds
from program.rolled import ROLLED, arguments

import mozzi as mz
from mozzi.errors import ConfigurationError, ExtraMissingError
from mozzi.model.generate import rcm_arm
from mozzi.program.program import Input, trace
from mozzi.program.scalar import atan2, cos, maximum, minimum, select, sin, sqrt
from mozzi.targets import sympy as target
from mozzi.targets.sympy import SympyKernel, build, exact_number

sympy = pytest.importorskip("sympy")


R = sympy.Rational


def double_pendulum() -> mz.Model:
    """Point masses on two rods that hang down."""
    point = [[0.0] * 3] * 3
    builder = mz.Builder("pendulum")
    builder.add("upper", None, mz.Revolute((0, 1, 0)), mz.Inertia(1.5, (0, 0, -1), point))
    placed = mz.SE3.translation(0, 0, -1)
    lower = mz.Inertia(0.5, (0, 0, -0.75), point)
    builder.add("lower", "upper", mz.Revolute((0, 1, 0)), lower, placement=placed)
    return builder.build()


def test_double_pendulum():
    """The mass matrix and the gravity forces that textbooks print."""
    model = double_pendulum()
    kernel = mz.compile(mz.mass_matrix, model, target="sympy")
    q0, q1 = kernel.symbols["q"]
    m1, m2, l1, l2, g = R(3, 2), R(1, 2), R(1), R(3, 4), R(981, 100)
    c = m2 * l1 * l2 * sympy.cos(q1)
    textbook = sympy.Matrix(
        [[m1 * l1**2 + m2 * (l1**2 + l2**2) + 2 * c, m2 * l2**2 + c], [m2 * l2**2 + c, m2 * l2**2]]
    )
    assert kernel.simplified() == textbook
    kernel = mz.compile(mz.gravity_forces, model, target="sympy")
    lower = g * m2 * l2 * sympy.sin(q0 + q1)
    textbook = sympy.Matrix([g * (m1 + m2) * l1 * sympy.sin(q0) + lower, lower])
    assert kernel.simplified() == textbook


def test_inertial_parameters_may_be_noisy():
    """sin² + cos² are found where the program keeps them apart."""

    def function(q):
        c, s = cos(q), sin(q)
        return (2.0 * c + math.cos(math.pi / 2) * s) * c + s * s * 2.0

    assert build(lambda: trace(function, [Input("q", ())], "f")).simplified() == 2


def test_rcm_arm():
    """C₃ of Müller, Kinematics, 2.5."""
    d2, d3, x3, z3 = R(51, 100), R(43, 100), R(63, 100), R(4, 25)
    numbers = [float(x) for x in (d2, d3, x3, z3)]
    arm = rcm_arm((*numbers[:2], 0.92, 1.13), 0.31, (0.21, 0.12, numbers[2], 0.84, 1.05),
                  (0.11, 0.22, numbers[3], 0.42, 0.33))  # fmt: skip
    kernel = mz.compile(mz.pose, arm, target="sympy", options={"frame": "body_3"})
    q1, q2, q3 = kernel.symbols["q"][:3]
    c, s = sympy.cos(q1 + q2 + q3), sympy.sin(q1 + q2 + q3)
    x = -d2 * sympy.cos(q1) + (d2 + d3) * sympy.cos(q1 + q2) + (x3 - d3) * c
    y = -d2 * sympy.sin(q1) + (d2 + d3) * sympy.sin(q1 + q2) + (x3 - d3) * s
    assert kernel.simplified() == sympy.Matrix(
        [[c, -s, 0, x], [s, c, 0, y], [0, 0, 1, z3], [0, 0, 0, 1]]
    )


def test_symbols_are_named_after_inputs():
    inputs = [Input("q", (2,)), Input("t", ()), Input("W", (2, 2))]
    kernel = SympyKernel(trace(lambda q, t, W: q[1] * t + W[1, 0], inputs, "f"))
    assert str(kernel.expressions) == "W1_0 + q1*t"
    assert kernel.source == "out = W1_0 + q1*t\n"
    assert [str(s) for s in kernel.symbols["W"].ravel()] == ["W0_0", "W0_1", "W1_0", "W1_1"]
    assert kernel.operations == {"additions": 1, "multiplications": 1}
    assert kernel.flops == 2


def test_shapes_of_results():
    def function(x):
        return x, np.outer(x, x), np.multiply.outer(np.outer(x, x), x), x[0]

    vector, matrix, array, scalar = SympyKernel(trace(function, [Input("x", (3,))])).expressions
    assert vector.shape == (3, 1)
    assert matrix.shape == (3, 3)
    assert array.shape == (3, 3, 3)
    assert str(array[0, 1, 2]) == "x0*x1*x2"
    assert scalar.is_Symbol


@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_expressions_have_the_value_of_the_program(data):
    recipe: Recipe = data.draw(recipes(SMOOTH + CHOOSING, most=8))
    x = data.draw(points(recipe))
    try:
        truth, bounds = with_bounds(recipe, x)
    except Unclear:
        assume(False)
    kernel = SympyKernel(recipe.program())
    at = {s: sympy.Float(v, 40) for s, v in zip(kernel.symbols["x"], x, strict=True)}
    for e, exact, bound in zip(kernel.expressions, truth, bounds, strict=True):
        value = sympy.N(e.subs(at), 30)
        assert abs(float(value) - float(exact)) <= 4 * bound + 1e-14 * abs(float(exact))


@pytest.mark.parametrize("name", ROLLED)
def test_loops(name: str):
    """Rolled programs run their loops on symbols: branches are known then, comparisons are not."""
    rolled = ROLLED[name]()
    kernel = SympyKernel(rolled.program)
    x = arguments(rolled.program)
    at = {
        s: v
        for symbols, values in zip(kernel.symbols.values(), x, strict=True)
        for s, v in zip(symbols.ravel(), values, strict=True)
    }
    results = [kernel.expressions] if rolled.program.single else kernel.expressions
    for result, truth in zip(results, rolled.means(*x), strict=True):
        values = np.array(result.subs(at), dtype=float).reshape(truth.shape)
        np.testing.assert_allclose(values, truth, rtol=1e-12)


def test_call_with_symbols_and_numbers():
    kernel = SympyKernel(
        trace(lambda q, v: sin(q[0]) * v, [Input("q", (2,)), Input("v", (2,))], "f")
    )
    theta, w = sympy.symbols("theta w")
    result = kernel([theta, 0], sympy.Matrix([w, 2 * w]))
    assert result == sympy.Matrix([w * sympy.sin(theta), 2 * w * sympy.sin(theta)])
    assert kernel([sympy.pi / 2, 0], [3, 4]) == sympy.Matrix([3, 4])
    with pytest.raises(ConfigurationError, match="'v' has 3 numbers; it takes 2"):
        kernel([theta, 0], [1, 2, 3])
    with pytest.raises(ConfigurationError, match="1 arguments where 2 go: q, v"):
        kernel([theta, 0])


def test_choices():
    def function(x):
        below = x[0] < x[1]
        chosen = select(below, x[0], x[1] * 2.0)
        return chosen, minimum(x[0], 1.0), maximum(x[0], x[1]), below * x[1]

    kernel = SympyKernel(trace(function, [Input("x", (2,))]))
    assert kernel([1, 3]) == (1, 1, 3, 3)
    assert kernel([4, 3]) == (6, 1, 4, 0)
    choice, low, high, _ = kernel.expressions
    assert isinstance(choice, sympy.Piecewise)
    assert isinstance(low, sympy.Min)
    assert isinstance(high, sympy.Max)


def test_all_functions():
    def function(x, y):
        return sqrt(x) + atan2(y, x) / cos(y)

    x, y = sympy.symbols("x y", real=True)
    kernel = SympyKernel(trace(function, [Input("x", ()), Input("y", ())]))
    assert kernel(x, y) == sympy.sqrt(x) + sympy.atan2(y, x) / sympy.cos(y)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2.0, "2"), (-0.5, "-1/2"), (1 / 3, "1/3"), (0.1 + 0.2, "3/10"), (0.0825, "33/400"),
        (9.80665, "196133/20000"), (math.sqrt(0.5), "sqrt(2)/2"), (-math.sqrt(3) / 2, "-sqrt(3)/2"),
        (1.23456789012, "30864197253/25000000000"), (0.0, "0"), (math.inf, "oo"),
        (-math.inf, "-oo"), (math.pi, "3.1415926535897931"),
    ],
)  # fmt: skip
def test_constants_are_exact_where_they_stand_for_something(number: float, text: str):
    assert str(exact_number(number)) == text
    assert float(exact_number(number)) == pytest.approx(number, rel=1e-15)


def test_noise_is_zero_only_in_simplified_forms():
    kernel = SympyKernel(trace(lambda x: x + math.cos(math.pi / 2), [Input("x", ())], "f"))
    assert kernel.expressions != kernel.symbols["x"][()]
    assert kernel.simplified() == kernel.symbols["x"][()]


def test_missing_package(monkeypatch):
    """Without SymPy the error says what to install."""
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(ExtraMissingError, match=r"pip install 'mozzi\[sympy\]'"):
        build(lambda: trace(lambda x: x, [Input("x", ())]))


def test_importing_the_target_does_not_import_sympy():
    assert not any(value is sympy for value in vars(target).values())
