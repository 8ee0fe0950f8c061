"""sin, cos and atan2 of the CPU target: at most 2 ulp everywhere, against many digits."""

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf
from targets.cpu.machines import MACHINES, older

from mozzi.program.program import Input, trace
from mozzi.program.scalar import atan2, cos, sin
from mozzi.targets.cpu.build import compile_cpu

DTYPES = ("float64", "float32")


CASES = [(dtype, machine) for machine in ("this", *MACHINES) for dtype in DTYPES]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def compiled(request):
    """A compiler for this machine or an older one."""
    dtype, machine = request.param
    with pytest.MonkeyPatch.context() as patch:
        if machine != "this":
            older(machine, patch)
        yield lambda program: compile_cpu(program, dtype)


@pytest.fixture(scope="module")
def sincos(compiled):
    return compiled(trace(lambda x: (sin(x), cos(x)), [Input("x", ())]))


@pytest.fixture(scope="module")
def angle(compiled):
    return compiled(trace(lambda y, x: atan2(y, x), [Input("y", ()), Input("x", ())]))


def ulps(found, exact, dtype):
    """Distances in units of the last place of the exact value."""
    unit = np.spacing(np.abs(np.array([float(x) for x in exact]).astype(dtype))).astype(float)
    return np.array(
        [
            abs(float((mpf(float(x)) - y) / mpf(u)))
            for x, y, u in zip(found, exact, unit, strict=True)
        ]
    )


def worst(kernel, x):
    dtype = kernel.dtype
    x = np.asarray(x).astype(dtype)
    with mp.workprec(1300):
        exact = [(mpmath.sin(mpf(float(v))), mpmath.cos(mpf(float(v)))) for v in x]
        s, c = kernel(x)
        errors = ulps(s, [e[0] for e in exact], dtype), ulps(c, [e[1] for e in exact], dtype)
    return max(e.max() for e in errors)


@pytest.mark.parametrize("size", [1.0, 10.0, 1e3, 1e5, 1e9, 1e12])
def test_sin_and_cos_of_uniform_angles(sincos, size):
    assert worst(sincos, np.random.default_rng(0).uniform(-size, size, 600)) < 1.9


def test_sin_and_cos_of_all_magnitudes(sincos):
    rng = np.random.default_rng(1)
    most = 308 if sincos.dtype == np.float64 else 38
    x = 10.0 ** rng.uniform(-most - 10, most, 1000) * rng.choice([-1, 1], 1000)
    assert worst(sincos, x) < 1.9


def test_sin_and_cos_near_multiples_of_a_quarter_turn(sincos):
    """Where the result is as small as it gets, and the angle's reduction shows."""
    rng = np.random.default_rng(2)
    n = np.r_[np.arange(1, 200), rng.integers(1, 2**16, 200), rng.integers(1, 2**29, 200)]
    with mp.workprec(200):
        near = np.array([float(int(k) * mp.pi / 2) for k in n]).astype(sincos.dtype)
    assert worst(sincos, near) < 1.9
    assert worst(sincos, np.nextafter(near, sincos.dtype.type(0))) < 1.9


def test_sin_and_cos_of_notorious_angles(sincos):
    limits = [y for n in (12, 16, 20, 30) for y in (2.0**n, np.nextafter(2.0**n, 1e300))]
    x = [*limits, 1e22, 0.5, np.pi / 4, 2.0**127]
    if sincos.dtype == np.float64:
        # the double nearest to a multiple of π/2 of all (Muller), and the largest one
        x += [6381956970095103 * 2.0**797, np.finfo(float).max, 1e300, 2.0**1000]
    assert worst(sincos, x) < 1.9


def test_sin_and_cos_of_zeros_and_tiny_and_infinite_angles(sincos):
    tiny = np.finfo(sincos.dtype).smallest_subnormal
    with np.errstate(invalid="ignore"):
        s, c = sincos(np.array([0.0, -0.0, tiny, -tiny, np.inf, -np.inf, np.nan], sincos.dtype))
    np.testing.assert_array_equal(s, [0.0, -0.0, tiny, -tiny, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(np.signbit(s[:4]), [False, True, False, True])
    np.testing.assert_array_equal(c, [1, 1, 1, 1, np.nan, np.nan, np.nan])


def test_huge_angles_do_not_disturb_their_neighbours(sincos):
    x = np.random.default_rng(3).uniform(-3, 3, 64).astype(sincos.dtype)
    want = sincos(x)
    mixed = x.copy()
    mixed[::5] = 1e30
    found = sincos(mixed)
    keep = np.arange(64) % 5 != 0
    for a, b in zip(found, want, strict=True):
        np.testing.assert_array_equal(a[keep], b[keep])


def test_symmetry(sincos):
    x = np.random.default_rng(4).uniform(0, 100, 1000).astype(sincos.dtype)
    (s, c), (t, d) = sincos(x), sincos(-x)
    np.testing.assert_array_equal(s, -t)
    np.testing.assert_array_equal(c, d)


def exact_angles(y, x):
    with mp.workprec(200):
        return [mpmath.atan2(mpf(float(a)), mpf(float(b))) for a, b in zip(y, x, strict=True)]


@pytest.mark.parametrize("kind", ["normal", "wide", "diagonal", "subnormal"])
def test_atan2(angle, kind):
    rng = np.random.default_rng(5)
    n, dtype = 1500, angle.dtype
    most = 308 if dtype == np.float64 else 38
    y, x = rng.normal(size=(2, n))
    if kind == "wide":
        y, x = rng.choice([-1, 1], (2, n)) * 10.0 ** rng.uniform(-most - 5, most, (2, n))
    if kind == "diagonal":
        x = y * rng.choice([1, -1, 2, -2, 0.5, -0.5], n) * (1 + 1e-3 * rng.normal(size=n))
    if kind == "subnormal":
        y, x = rng.integers(1, 9, (2, n)) * float(np.finfo(dtype).smallest_subnormal)
    y, x = y.astype(dtype), x.astype(dtype)
    keep = (y != 0) & (x != 0)
    y, x = y[keep], x[keep]
    assert ulps(angle(y, x), exact_angles(y, x), dtype).max() < 1.9


def test_atan2_of_zeros_and_infinities(angle):
    values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], angle.dtype)
    y, x = (a.ravel() for a in np.meshgrid(values, values))
    found, want = angle(y, x), np.arctan2(y, x)
    np.testing.assert_allclose(found, want, rtol=2 * np.finfo(angle.dtype).eps)
    sure = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(found[sure]), np.signbit(want[sure]))
