"""Program differentiation against complex steps, differences with 50 digits, and itself."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from program.recipes import (
    CHOOSING,
    SMOOTH,
    Recipe,
    Unclear,
    points,
    recipes,
    skipping,
    with_bounds,
)
from program.rolled import ROLLED, N, argument

from mozzi.program.differentiate import (
    CHOICE,
    PARTIAL,
    DifferentiationError,
    differentiate_program,
    forward,
    jacobian,
    reverse,
)
from mozzi.program.digest import digest
from mozzi.program.meaning import interpret
from mozzi.program.node import OPERATIONS, Node
from mozzi.program.passes import prune
from mozzi.program.program import Buffer, Input, Program, load, loop, store, trace
from mozzi.program.scalar import atan2, cos, divide, maximum, minimum, select, sin, sqrt

MODES = ("forward", "reverse", "auto")


def evaluate(function, *x):
    """A function of traced arrays, at a point."""
    arrays = [np.asarray(a, float) for a in x]
    inputs = [Input(f"x{n}", a.shape) for n, a in enumerate(arrays)]
    program = trace(lambda *a: np.asarray(function(*a), object), inputs)
    shape = program.outputs[0].shape
    return np.reshape(interpret(program, [list(a.ravel()) for a in arrays])[0], shape)


def complex_step(program: Program, x: list[float]) -> np.ndarray:
    """The Jacobian of the first output with respect to the first input, to rounding."""
    h = 1e-100
    columns = []
    for n in range(len(x)):
        z = [complex(v, h if k == n else 0.0) for k, v in enumerate(x)]
        columns.append([complex(v).imag / h for v in interpret(program, [z])[0]])
    return np.array(columns).T


def test_every_operation_has_derivatives():
    assert PARTIAL.keys() | CHOICE.keys() == OPERATIONS.keys()
    assert not PARTIAL.keys() & CHOICE.keys()
    assert all(len(partials) == OPERATIONS[op] for op, partials in PARTIAL.items())


@pytest.mark.parametrize("mode", MODES)
@skipping
@given(st.data())
def test_jacobian_is_the_complex_step(mode, data):
    """Random functions, differentiated and stepped into the complex plane, to rounding."""
    recipe: Recipe = data.draw(recipes(SMOOTH + CHOOSING, most=20))
    x = data.draw(points(recipe))
    try:
        with_bounds(recipe, x)
        program = recipe.program()
        assume(not any(abs(v) > 1e4 for v in interpret(program, [x])[0]))
    except Unclear:
        assume(False)
    truth = complex_step(program, x)
    derivative = differentiate_program(program, "x", mode=mode)
    assert derivative.outputs[0].shape == (recipe.outputs, recipe.inputs)
    value = np.reshape(interpret(derivative, [x])[0], truth.shape)
    np.testing.assert_allclose(value, truth, rtol=1e-9, atol=1e-9 * (1 + abs(truth).max()))


@skipping
@given(st.data())
def test_second_derivatives_are_differences_with_50_digits(data):
    """The Jacobian of the Jacobian, against a second difference."""
    recipe: Recipe = data.draw(recipes(SMOOTH, most=8))
    x = data.draw(points(recipe))
    try:
        with_bounds(recipe, x)
        program = recipe.program()
    except Unclear:
        assume(False)

    def second(x):
        y = interpret(program, [list(x)])[0]
        return jacobian(jacobian(y, x), x)[-1]

    value = evaluate(second, x)
    with mpmath.workdps(50):
        exact = [mpmath.mpf(v) for v in x]
        h = mpmath.mpf(10) ** -12

        def shifted(i, a, j, b):
            z = list(exact)
            z[i] += a * h
            z[j] += b * h
            return interpret(program, [z])[0][-1]

        for i, j in np.ndindex(value.shape):
            corners = sum(a * b * shifted(i, a, j, b) for a in (1, -1) for b in (1, -1))
            truth = corners / (4 * h * h)
            assume(abs(truth) < 1e5)
            assert abs(value[i, j] - truth) < 1e-6 * (1 + abs(truth))


@skipping
@given(st.data())
def test_forward_and_reverse_are_adjoint(data):
    """ȳᵀ (J ẋ) = (Jᵀ ȳ)ᵀ ẋ."""
    recipe: Recipe = data.draw(recipes(("add", "mul", "sin", "sub", "max", "select"), most=20))
    x = data.draw(points(recipe))
    try:
        with_bounds(recipe, x)
    except Unclear:
        assume(False)
    rng = np.random.default_rng(0)
    dx, weights = rng.normal(size=recipe.inputs), rng.normal(size=recipe.outputs)
    dy = evaluate(lambda x: forward(recipe(x), x, dx), x)
    bar = evaluate(lambda x: reverse(recipe(x), x, weights), x)
    scale = np.abs(weights) @ np.abs(dy) + np.abs(bar) @ np.abs(dx) + 1
    assert abs(weights @ dy - bar @ dx) < 1e-10 * scale


def test_several_directions_at_once():
    """Axes behind those of the inputs are directions, axes before those of the outputs are sums."""

    def function(x):
        return np.array([[x[0] * x[1], sin(x[2])], [x[1], x[0] / x[2]]])

    x = [0.3, -0.7, 1.9]
    J = evaluate(lambda x: jacobian(function(x), x), x)
    assert J.shape == (2, 2, 3)
    directions = np.arange(12.0).reshape(3, 4)
    along = evaluate(lambda x: forward(function(x), x, directions), x)
    np.testing.assert_allclose(along, J @ directions, rtol=1e-14, atol=1e-14)
    weights = np.arange(20.0).reshape(5, 2, 2)
    across = evaluate(lambda x: reverse(function(x), x, weights), x)
    np.testing.assert_allclose(across, np.einsum("kij,ijn->kn", weights, J), rtol=1e-14)


def test_traced_directions():
    """Directions may be traced: the derivative along a motion."""
    rate = evaluate(lambda q, v: forward(np.sin(q), q, v), [0.5, 1.0], [2.0, 3.0])
    np.testing.assert_allclose(rate, np.cos([0.5, 1.0]) * [2.0, 3.0], rtol=1e-15)


def test_with_respect_to_inner_values():
    """Any scalars of the trace are inputs; what they are made from does not count."""

    def function(x):
        s = x * x
        y = s * sin(s) + x
        return np.concatenate([jacobian([y], [s, x]).ravel(), jacobian([y], [x]).ravel()])

    x = 0.7
    s = x * x
    ds = math.sin(s) + s * math.cos(s)
    np.testing.assert_allclose(evaluate(function, x), [ds, 1.0, 1.0 + 2 * x * ds], rtol=1e-15)


def test_zeros_of_structure_are_floats():
    """No node is made for a derivative that is zero whatever the inputs are."""

    def function(x):
        J = jacobian([x[0] * 3.0, x[1] + 2.0, 5.0, select(x[0] < x[1], 1.0, 2.0)], x)
        assert not any(isinstance(value, Node) and value.op != "const" for value in J.ravel())
        return J

    expected = [[3.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    np.testing.assert_array_equal(evaluate(function, [1.0, 2.0]), expected)


def test_sparse_jacobians_cost_what_they_hold():
    """A band of width 2 costs a constant per row, not n."""

    def function(x):
        return jacobian(x[1:] * x[:-1] + np.sin(x[1:]), x)

    for n in (20, 40):
        program = prune(trace(function, [Input("x", (n,))]))
        assert program.operations == {"additions": n - 1, "cos": n - 1}


def test_auto_takes_the_cheaper_mode():
    def costs(function, size: int) -> dict[str, int]:
        program = prune(trace(function, [Input("x", (size,))]))
        return {m: differentiate_program(program, "x", mode=m).flops for m in MODES}

    def one_result(x):
        return sum(sin(a * b) for a in x for b in x)

    def many_results(x):
        return np.array([sin(x[0] * x[0] * k + x[0]) * k for k in range(1, 10)])

    gradient, curve = costs(one_result, 8), costs(many_results, 1)
    assert gradient["auto"] == gradient["reverse"] < gradient["forward"]
    assert curve["auto"] == curve["forward"] < curve["reverse"]


class TestEdges:
    """Where derivatives do not exist, what is given is what the docstring says."""

    def test_kinks_choose_the_first(self):
        for mode in ("forward", "reverse"):
            slopes = evaluate(lambda x: jacobian([abs(x)], [x], mode=mode).ravel(), 0.0)  # noqa: B023
            np.testing.assert_array_equal(slopes, [1.0])
            for function in (minimum, maximum):
                J = evaluate(lambda x: jacobian(function(*x), x, mode=mode), [2.0, 2.0])  # noqa: B023
                np.testing.assert_array_equal(J, [1.0, 0.0])

    def test_sqrt_at_zero_is_infinite_where_it_depends(self):
        program = trace(lambda x: jacobian([sqrt(x[0]), x[1]], x), [Input("x", (2,))])
        with np.errstate(divide="ignore"):
            J = np.array(interpret(program, [[np.float64(0.0), np.float64(1.0)]])[0], float)
        np.testing.assert_array_equal(J, [np.inf, 0.0, 0.0, 1.0])

    def test_forward_does_not_leak_from_the_other_side(self):
        """sqrt(x) at 0 is not chosen; its infinite slope stays out of sight."""

        def function(x):
            return forward(select(x < 1e-3, 2.0 * x, sqrt(x)), x, 1.0)

        program = trace(function, [Input("x", ())])
        with np.errstate(divide="ignore"):
            assert interpret(program, [[np.float64(0.0)]]) == [[2.0]]

    def test_comparisons_have_no_derivative(self):
        def step(x):
            return jacobian([(x[0] < x[1]) * x[0]], x)

        np.testing.assert_array_equal(evaluate(step, [1.0, 2.0]), [[1.0, 0.0]])

    def test_declared_quotients_stay_finite(self):
        """The derivative of a quotient by a pivot is finite by structure as well."""

        def function(x):
            J = jacobian([divide(x[0], x[1], nonzero=True)], x)
            assert all(value.finite for value in J.ravel())
            return J

        trace(function, [Input("x", (2,))])

    def test_undeclared_quotients_do_not(self):
        def function(x):
            J = jacobian([x[0] / x[1]], x)
            assert not any(value.finite for value in J.ravel())
            return J

        trace(function, [Input("x", (2,))])


class TestErrors:
    def test_constants_and_multiples(self):
        for bad in (lambda x: 3.0, lambda x: x * 0.0, lambda x: -x, lambda x: 2.0 * x):
            with pytest.raises(DifferentiationError, match="with respect to"):
                evaluate(lambda x: jacobian([x * x], [bad(x)]), 1.0)  # noqa: B023
        with pytest.raises(DifferentiationError, match="twice"):
            evaluate(lambda x: jacobian([x * x], [x, x]), 1.0)

    def test_shapes(self):
        with pytest.raises(ValueError, match=r"directions have shape \(3,\); inputs .* \(2,\)"):
            evaluate(lambda x: forward(x, x, np.ones(3)), [1.0, 2.0])
        with pytest.raises(ValueError, match=r"weights have shape \(\); outputs .* \(2,\)"):
            evaluate(lambda x: reverse(x, x, 1.0), [1.0, 2.0])
        with pytest.raises(ValueError, match="mode 'sideways'"):
            evaluate(lambda x: jacobian(x, x, mode="sideways"), [1.0, 2.0])  # type: ignore[arg-type]

    @pytest.mark.parametrize("name", ROLLED)
    def test_rolled_programs(self, name: str):
        program = ROLLED[name]().program
        with pytest.raises(TypeError, match=f"'{name}' has loops; .*trace .*unrolled"):
            differentiate_program(program, program.inputs[0].name)

    def test_loads(self):
        def function(q):
            source, total = argument("q", N, 0), Buffer("total", 1, "scratch")
            for _, k in loop(0, N):
                store(total, None, 0, 0, load(total, None, 0, 0) + load(source, k, 1, 0))
            return jacobian(load(total, None, 0, 0) * 2.0, q)

        with pytest.raises(DifferentiationError, match=r"loaded from 'total'.* unrolled"):
            trace(function, [Input("q", (N,))])

    def test_names(self):
        program = trace(lambda q, v: q * v, [Input("q", (2,)), Input("v", (2,))], "power")
        with pytest.raises(ValueError, match="'power' has no 'a' here; it has q, v"):
            differentiate_program(program, ["q", "a"])
        with pytest.raises(ValueError, match="'power' has no 'tau' here; it has out"):
            differentiate_program(program, "q", of="tau")


def test_inside_a_loop():
    """In a branch, derivatives with respect to what it loads; tables are constants."""

    def function(q):
        source, out = argument("q", N, 0), Buffer("out", N, "scratch")
        table = Buffer("table", N, "table", np.arange(1.0, N + 1.0))
        for _, k in loop(0, N):
            x = load(source, k, 1, 0)
            y = load(table, k, 1, 0) * x * x
            store(out, k, 1, 0, jacobian([y], [x])[0, 0])
        return np.array([load(out, None, 0, n) for n in range(N)], object)

    value = interpret(trace(function, [Input("q", (N,))]), [[3.0] * N])[0]
    np.testing.assert_allclose(value, 6.0 * np.arange(1, N + 1))


class TestPrograms:
    def program(self) -> Program:
        def function(q, v, unused):
            return np.outer(q, v), atan2(q[0], v[1]), np.array(1.0)

        inputs = [Input("q", (2,)), Input("v", (3,)), Input("unused", ())]
        return prune(trace(function, inputs, "three"))

    def test_blocks(self):
        derivative = differentiate_program(self.program(), ["v", "q", "unused"])
        assert derivative.name == "three_derivatives"
        assert [(x.name, x.shape) for x in derivative.outputs] == [
            ("d_out0_d_v", (2, 3, 3)), ("d_out0_d_q", (2, 3, 2)), ("d_out0_d_unused", (2, 3)),
            ("d_out1_d_v", (3,)), ("d_out1_d_q", (2,)), ("d_out1_d_unused", ()),
            ("d_out2_d_v", (3,)), ("d_out2_d_q", (2,)), ("d_out2_d_unused", ()),
        ]  # fmt: skip
        q, v = [0.5, -1.0], [1.0, 2.0, 4.0]
        values = interpret(derivative, [q, v, [0.0]])
        np.testing.assert_allclose(np.reshape(values[0], (2, 3, 3))[1], -np.eye(3))
        np.testing.assert_allclose(np.reshape(values[1], (2, 3, 2))[0], np.outer(v, [1.0, 0.0]))
        r = 0.5**2 + 2.0**2
        np.testing.assert_allclose(values[3], [0.0, -0.5 / r, 0.0])
        np.testing.assert_allclose(values[4], [2.0 / r, 0.0])
        assert all(not any(values[k]) for k in (2, 5, 6, 7, 8))

    def test_one_block_is_one_result(self):
        derivative = differentiate_program(self.program(), "q", of="out1")
        assert derivative.single
        assert derivative.outputs[0].shape == (2,)

    def test_the_program_stays_as_it_was(self):
        program = self.program()
        before = digest(program)
        differentiate_program(program, "q")
        assert digest(program) == before

    def test_again(self):
        """Twice: the third derivative of sin is -cos."""
        program = trace(lambda x: sin(x), [Input("x", ())], "sin")
        for _ in range(3):
            program = differentiate_program(program, "x")
        assert math.isclose(interpret(program, [[0.3]])[0][0], -math.cos(0.3))
        assert program.operations == {"cos": 1, "negations": 1}


def test_derivatives_are_named_after_their_values():
    def function(x):
        y = sin(x[0]) * x[1]
        y.name = "torque"
        return forward(y, x, [1.0, 0.0])

    names = {s.name for s in trace(function, [Input("x", (2,))]).region.statements}
    assert {"torque", "d_torque"} <= names


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_deep_graphs(mode):
    """A hundred thousand nodes in a row need no recursion."""

    def function(x):
        y = x[0]
        for _ in range(15_000):  # towards 1 / (1 - x₁ / 2)
            y = y * 0.5 * x[1] + 1.0
        return jacobian([y], x, mode=mode)

    program = prune(trace(function, [Input("x", (2,))]))
    J = interpret(program, [[1.0, 1.0]])[0]
    np.testing.assert_allclose(J, [0.0, 2.0], atol=1e-12)


def test_the_same_derivative_in_cos_and_sin():
    """Derivatives share what the function computed: sin and cos are each taken once."""
    program = trace(lambda x: (sin(x) * cos(x)), [Input("x", ())])
    assert differentiate_program(program, "x").operations["sin"] == 1
