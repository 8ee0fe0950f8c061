"""exp, log and tanh of the CPU target: at most 2 ulp everywhere, against many digits."""

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf
from targets.cpu.machines import MACHINES, older

from mozzi.program.program import Input, trace
from mozzi.program.scalar import exp, log, tanh
from mozzi.targets.cpu.build import compile_cpu

CASES = [(d, m) for m in ("this", *MACHINES) for d in ("float64", "float32")]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def kernel(request):
    """All three, for this machine or an older one."""
    dtype, machine = request.param
    with pytest.MonkeyPatch.context() as patch:
        if machine != "this":
            older(machine, patch)
        program = trace(lambda x: (exp(x), log(x), tanh(x)), [Input("x", ())])
        yield compile_cpu(program, dtype)


def worst(kernel, which, x):
    """The largest distance from the exact value, in units of its last place."""
    x = np.asarray(x).astype(kernel.dtype)
    function = (mpmath.exp, mpmath.log, mpmath.tanh)[which]
    with mp.workprec(300):
        exact = [function(mpf(float(v))) for v in x]
        unit = np.spacing(np.abs(np.array([float(y) for y in exact]).astype(kernel.dtype)))
        return max(
            abs(float((mpf(float(a)) - b) / mpf(float(u))))
            for a, b, u in zip(kernel(x)[which], exact, unit, strict=True)
        )


def test_exp(kernel):
    rng = np.random.default_rng(0)
    low, high = (-745.0, 709.0) if kernel.dtype == np.float64 else (-103.0, 88.0)
    assert worst(kernel, 0, rng.uniform(-1.0, 1.0, 300)) < 1.5
    assert worst(kernel, 0, rng.uniform(low, high, 500)) < 1.5  # subnormal results too
    assert worst(kernel, 0, 10.0 ** rng.uniform(-30, -1, 100)) < 1.0


def test_log(kernel):
    rng = np.random.default_rng(1)
    most = 300 if kernel.dtype == np.float64 else 37
    assert worst(kernel, 1, rng.uniform(0.5, 2.0, 300)) < 1.5
    assert worst(kernel, 1, 1.0 + 10.0 ** rng.uniform(-6, -1, 200)) < 1.5
    assert worst(kernel, 1, 10.0 ** rng.uniform(-most, most, 300)) < 1.5
    assert worst(kernel, 1, [7 * np.finfo(kernel.dtype).smallest_subnormal]) < 1.5


def test_tanh(kernel):
    rng = np.random.default_rng(2)
    assert worst(kernel, 2, rng.uniform(-1.0, 1.0, 400)) < 2.0
    assert worst(kernel, 2, rng.uniform(-25.0, 25.0, 300)) < 2.0
    assert worst(kernel, 2, 10.0 ** rng.uniform(-30, 0, 200)) < 2.0


def test_the_ends(kernel):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e4, -1e4], kernel.dtype)
    with np.errstate(all="ignore"):
        found = kernel(x)
        for y, f in zip(found, (np.exp, np.log, np.tanh), strict=True):
            np.testing.assert_allclose(y[:6], f(x)[:6], rtol=2e-7)
    assert found[0][6] == 0.0 and np.isnan(found[1][6]) and found[2][6] == -1.0
    np.testing.assert_array_equal(np.signbit(found[2][:2]), [False, True])
