"""Scalar functions mean the same on every kind of number."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mozzi.program import scalar
from mozzi.program.program import Input, trace

NUMBERS = st.floats(-10, 10).filter(lambda x: abs(x) > 1e-3)


@given(NUMBERS, NUMBERS)
def test_atan2_of_complex_numbers_keeps_a_complex_step(y: float, x: float):
    """∂ atan2(y, x) = (x dy − y dx) / (x² + y²), with a step that no sum would keep."""
    h = 1e-200
    r = x * x + y * y
    assert math.isclose(scalar.atan2(y + 1j * h, x).imag / h, x / r, rel_tol=1e-14)
    assert math.isclose(scalar.atan2(y, x + 1j * h).imag / h, -y / r, rel_tol=1e-14)


@given(NUMBERS, NUMBERS)
def test_atan2_of_complex_batches_and_mpmath(y: float, x: float):
    step = y + 1e-30j
    batch = scalar.atan2(np.array([step, y]), np.array([x, x]))
    np.testing.assert_allclose(batch.real, math.atan2(y, x), rtol=1e-15)
    np.testing.assert_allclose(batch.imag, [1e-30 * x / (x * x + y * y), 0.0], rtol=1e-14)
    with mpmath.workdps(50):
        exact = scalar.atan2(mpmath.mpc(y, 1e-30), mpmath.mpf(x))
    assert math.isclose(exact.imag, batch.imag[0], rel_tol=1e-14)


def test_atan2_continues_analytically():
    """tan(atan2(y, x)) = y / x also far from the real axis."""
    y, x = 0.3 + 0.2j, 1.1 - 0.4j
    angle = scalar.atan2(y, x)
    assert abs(np.tan(angle) - y / x) < 1e-15


@pytest.mark.parametrize("kind", [float, complex, np.float32, mpmath.mpf, np.array])
def test_functions_keep_the_kind(kind: type):
    x = kind(0.25)
    for function, value in [(scalar.sqrt, 0.5), (scalar.sin, math.sin(0.25))]:
        assert abs(function(x) - value) < 1e-7
        assert isinstance(function(x), type(x) if kind is not np.array else np.generic)


def test_comparisons_look_at_real_parts():
    a, b = np.array([1 + 5j, 2.0]), np.array([2 - 5j, 1.0])
    np.testing.assert_array_equal(scalar.minimum(a, b), [1 + 5j, 1.0])
    np.testing.assert_array_equal(scalar.maximum(a, b), [2 - 5j, 2.0])
    assert scalar.maximum(mpmath.mpc(1, 9), mpmath.mpc(2, 0)) == 2


def test_functions_take_arrays_of_traced_scalars():
    program = trace(lambda q: np.sin(q) + scalar.cos(q), [Input("q", (3,))], "sum")
    assert program.operations == {"additions": 3, "cos": 3, "sin": 3}
