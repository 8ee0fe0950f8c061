"""The interpreter as a target: batches, kinds of numbers, and a listing to read."""

import math

import mpmath
import numpy as np
import pytest
from program.rolled import ROLLED, arguments, powers

from mozzi.errors import ConfigurationError
from mozzi.program.meaning import interpret
from mozzi.program.node import OPERATIONS
from mozzi.program.program import Input, Program, trace
from mozzi.program.scalar import atan2, cos, maximum, select, sin, sqrt
from mozzi.targets.interpret import InterpretedKernel, build
from mozzi.targets.listing import SPELL
from mozzi.targets.unique_names import Names


def program() -> Program:
    def function(q, v, s):
        T = np.array([[cos(q[0]), -sin(q[0]) * s], [v[1] / v[0], atan2(q[1], v[0])]])
        return T, maximum(q[1], v[1]) * 2.0

    return trace(function, [Input("q", (2,)), Input("v", (2,)), Input("s", ())], "example")


def means(q, v, s):
    T = np.array([[np.cos(q[0]), -np.sin(q[0]) * s], [v[1] / v[0], np.arctan2(q[1], v[0])]])
    return T, max(q[1], v[1]) * 2.0


@pytest.mark.parametrize(
    "shapes", [((), (), ()), ((4,), (4,), (4,)), ((3, 1), (4,), ()), ((0,), (), (0,))], ids=str
)
def test_leading_axes_broadcast(shapes):
    rng = np.random.default_rng(0)
    sizes = ((2,), (2,), ())
    q, v, s = (rng.uniform(0.5, 2, b + x) for b, x in zip(shapes, sizes, strict=True))
    T, m = InterpretedKernel(program())(q, v, s)
    batch = np.broadcast_shapes(*shapes)
    assert np.shape(T) == (*batch, 2, 2)
    assert np.shape(m) == batch
    q, v = np.broadcast_to(q, (*batch, 2)), np.broadcast_to(v, (*batch, 2))
    s = np.broadcast_to(s, batch)
    for n in np.ndindex(batch):
        T_n, m_n = means(q[n], v[n], s[n])
        np.testing.assert_allclose(T[n], T_n, rtol=1e-14)
        np.testing.assert_allclose(m[n], m_n, rtol=1e-14)


def test_lists_and_integers():
    T, m = InterpretedKernel(program())([0, 1], [2, 4], 3)
    np.testing.assert_allclose(T, [[1, 0], [2, math.atan2(1, 2)]])
    assert m == 8


def test_kinds_of_numbers():
    """float32 stays float32 where asked, complex numbers are complex, objects stay objects."""
    q, v = np.array([[0.5, 0.25]]), np.array([[2.0, 4.0]])
    kernel = InterpretedKernel(program())
    assert kernel(q, v, 1.0)[0].dtype == np.float64
    assert kernel(q.astype(np.float32), v, 1.0)[0].dtype == np.float64
    small = InterpretedKernel(program(), "float32")
    assert small(q, v, 1.0)[0].dtype == np.float32
    assert small(q + 0j, v, 1.0)[0].dtype == np.complex64
    assert kernel(q + 0j, v, 1.0)[0].dtype == np.complex128


def test_complex_step_over_a_batch():
    q = np.array([[0.5, 0.25], [1.5, -0.25]])
    T, m = InterpretedKernel(program())(q + np.array([1e-30j, 0]), [2.0, 4.0], 1.0)
    np.testing.assert_allclose(T[:, 0, 0].imag / 1e-30, -np.sin(q[:, 0]), rtol=1e-15)
    np.testing.assert_allclose(m.imag, 0.0)
    T, _ = InterpretedKernel(program())(q + np.array([0, 1e-30j]), [2.0, 4.0], 1.0)
    np.testing.assert_allclose(T[:, 1, 1].imag / 1e-30, 2.0 / (4.0 + q[:, 1] ** 2), rtol=1e-14)


def test_fifty_digits():
    with mpmath.workdps(50):
        q = np.array([[mpmath.mpf(1) / 3, mpmath.mpf(1) / 7]] * 3)
        T, _ = InterpretedKernel(program())(q, [mpmath.mpf(2), mpmath.mpf(4)], 1.0)
        assert T.shape == (3, 2, 2)
        assert all(abs(T[n, 0, 0] - mpmath.cos(mpmath.mpf(1) / 3)) < 1e-49 for n in range(3))


def test_traced_scalars_inline():
    kernel = InterpretedKernel(program())
    outer = trace(lambda q, v: kernel(q, v, 1.0)[0] * 2.0, [Input("q", (2,)), Input("v", (2,))])
    assert outer.outputs[0].shape == (2, 2)
    values = interpret(outer, [[0.5, 0.25], [2.0, 4.0]])[0]
    np.testing.assert_allclose(values, 2 * means([0.5, 0.25], [2.0, 4.0], 1.0)[0].ravel())


def test_not_finite_is_no_error():
    """The interpreter computes as machine code does: select drops what is not finite."""

    def function(x):
        return select(x < 1e-9, 1.0, sin(x) / x), sqrt(x - 1.0)

    with np.errstate(all="raise"):
        kept, root = InterpretedKernel(trace(function, [Input("x", ())]))([0.0, 0.5])
    np.testing.assert_allclose(kept, [1.0, np.sin(0.5) / 0.5])
    assert np.isnan(root).all()


@pytest.mark.parametrize("name", ROLLED)
def test_loops(name: str):
    rolled = ROLLED[name]()
    x = [arguments(rolled.program, seed) for seed in range(3)]
    kernel = InterpretedKernel(rolled.program)
    shaped = [
        np.reshape(np.stack(a), (3, *i.shape))
        for a, i in zip(zip(*x, strict=True), kernel.inputs, strict=True)
    ]
    results = kernel(*shaped)
    results = [results] if rolled.program.single else results
    for n in range(3):
        for value, truth in zip(results, rolled.means(*x[n]), strict=True):
            np.testing.assert_allclose(value[n], truth, rtol=1e-14)


def test_a_number_of_steps_given_at_run_time():
    np.testing.assert_allclose(InterpretedKernel(powers())([2.0, 3.0], 5.0), [32.0, 243.0])


def test_errors():
    kernel = InterpretedKernel(program())
    with pytest.raises(ConfigurationError, match="2 arguments where 3 go: q, v, s"):
        kernel([0, 1], [2, 4])
    with pytest.raises(ValueError, match=r"q has shape \(3,\); give an array whose last axes"):
        kernel([0, 1, 2], [2, 4], 3)
    with pytest.raises(ValueError, match=r"v has shape \(\)"):
        kernel([0, 1], 2, 3)


class TestListing:
    def test_every_operation_has_a_spelling(self):
        assert SPELL.keys() == OPERATIONS.keys()

    def test_straight_line(self):
        def function(x):
            y = sin(x[0]) * 2.0
            y.name, y.origin = "y", "example (3)"
            return y - select(x[0] < x[1], x[1], 0.5)

        kernel = build(lambda: trace(function, [Input("x", (2,))], "f"))
        assert kernel.source == (
            "f(x[2]) -> out:\n"
            "    t2 = sin(x[0])\n"
            "    y = 2.0 * t2  # example (3)\n"
            "    t5 = x[0] < x[1]\n"
            "    t7 = x[1] if t5 else 0.5\n"
            "    t8 = y - t7\n"
            "    out = t8\n"
        )
        assert kernel.operations == {
            "additions": 1, "lt": 1, "multiplications": 1, "select": 1, "sin": 1,
        }  # fmt: skip
        assert kernel.flops == 2

    @pytest.mark.parametrize("name", ROLLED)
    def test_loops(self, name: str):
        program = ROLLED[name]().program
        source = InterpretedKernel(program).source
        assert source.startswith(f"{name}(")
        assert "    for " in source
        assert max(map(len, source.splitlines())) < 100

    def test_run_time_steps(self):
        assert "for k in range(0, count, 1):" in InterpretedKernel(powers()).source


def test_names_are_given_once():
    names = Names(["for"])
    wishes = ["V_left arm_wz", "V_left arm_wz", "V_left_arm_wz_2", "1", "", "for", "é"]
    given = [names.new(wish) for wish in wishes]
    assert given[0] == "V_left_arm_wz"
    assert given[1] == "V_left_arm_wz_2"
    assert len({*given, "for"}) == len(wishes) + 1
    assert all(name.isidentifier() and name.isascii() for name in given)
