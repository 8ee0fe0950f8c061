"""Accuracy against 50-digit arithmetic, in units of the last place of the natural scale.

Rotations from 1e-12 to π and next to it, translations from 1e-12 to 1e6, drawn independently. The
scale of a result is its size at angles of order one: 1 for rotation matrices, |v| for the
translation of exp(ω, v), |ω| and |v| for log, |η| and |ν| + |v| |η| for dexp((ω, v), (η, ν)), and
so on. The 50-digit numbers come from the same source, which test_groups.py holds to matrix
exponentials and power series.
"""

import math
from collections import defaultdict

import mpmath
import numpy as np
import pytest
from lie.sampling import DIGITS

from mozzi.lie import (
    SE3,
    Quaternion,
    Rotation,
    Twist,
    Vec3,
    cayley,
    dexp,
    dexp_inverse,
    dexp_inverse_rate,
    dexp_rate,
)
from mozzi.lie.series import C0, C1, C2, C3, COT

ULP = 2.0**-52

#: No result is off by more than this many units in the last place.
BOUND = 5.0
#: No coefficient is off by more than this many units in its own last place, for θ ≤ π.
COEFFICIENT_BOUND = 4.0


def batch(x):
    """The same numbers as arrays of one element, which no shortcut recognises as constants."""
    return type(x).unflatten(np.array([e]) for e in x.flatten())


def exact(x):
    return type(x).unflatten(mpmath.mpf(float(e)) for e in x.flatten())


def rounded(x):
    """The nearest doubles."""
    return type(x).unflatten(np.array([float(e)]) for e in x.flatten())


def off(found, reference, scale) -> float:
    """The largest error of an entry, in units in the last place of the scale."""
    pairs = zip(found.flatten(), reference.flatten(), strict=True)
    return max(float(abs(float(np.ravel(a)[0]) - b)) for a, b in pairs) / scale / ULP


def size(v: Vec3) -> float:
    return math.hypot(*map(float, v))


def vector(rng, length: float) -> Vec3:
    v = rng.normal(size=3)
    return Vec3(*map(float, v * (length / np.linalg.norm(v))))


def rotations(rng, n: int):
    """Rotation vectors: of all sizes, of any size, next to π, about coordinate axes."""
    for k in range(n):
        angle = (
            10.0 ** rng.uniform(-12, math.log10(math.pi)),
            rng.uniform(0.0, math.pi),
            math.pi - 10.0 ** rng.uniform(-15, 0),
        )[k % 3]
        axis = np.eye(3)[k % 3] * rng.choice([-1, 1])
        yield Vec3(*map(float, axis * angle)) if k % 10 == 0 else vector(rng, angle)


def sweep(n: int, seed: int) -> dict[str, float]:
    """The worst error of everything over n random arguments."""
    rng = np.random.default_rng(seed)
    worst: dict[str, float] = defaultdict(float)

    def note(name: str, *error: float):
        worst[name] = max(worst[name], *error)

    length = lambda: 10.0 ** rng.uniform(-12, 6)
    for w in rotations(rng, n):
        v, eta, nu = vector(rng, length()), vector(rng, length()), vector(rng, length())
        X, Y, Z = Twist(w, v), Twist(eta, nu), Twist(vector(rng, length()), vector(rng, length()))
        x, y, z = map(exact, (X, Y, Z))
        a, b = size(w), size(v)
        T, R, q = SE3.exp(x), Rotation.exp(x.ang), Quaternion.exp(x.ang)

        for name, found in (("exp", SE3.exp(batch(X))), ("exp of constants", SE3.exp(X))):
            note(
                f"{name}: rotation",
                off(found.R, R, 1.0),
                off(found.R.mat().vee(), R.mat().vee(), a),
            )
            note(f"{name}: translation", off(found.p, T.p, b))
        back = SE3(rounded(R), rounded(T.p)).log()
        note("log: rotation", off(back.ang, x.ang, a))
        note("log: translation", off(back.lin, x.lin, b))
        note("quaternion exp", off(Quaternion.exp(batch(w)), q, 1.0))
        note("quaternion exp", off(Quaternion.exp(batch(w)).vector(), q.vector(), a))
        note("quaternion log", off(rounded(q).log(), x.ang, a))
        note("quaternion of rotation", off(rounded(R).quaternion(), q, 1.0))
        C = cayley(x)
        note("cayley: rotation", off(cayley(batch(X)).R, C.R, 1.0))
        note("cayley: translation", off(cayley(batch(X)).p, C.p, b))
        e, f, g, h = size(eta), size(nu), size(Z.ang), size(Z.lin)
        for f0, f1 in ((dexp, dexp_rate), (dexp_inverse, dexp_inverse_rate)):
            found, reference = f0(batch(X), batch(Y)), f0(x, y)
            note(f"{f0.__name__}: angular", off(found.ang, reference.ang, e))
            note(f"{f0.__name__}: linear", off(found.lin, reference.lin, f + b * e))
            found, reference = f1(batch(X), batch(Z), batch(Y)), f1(x, z, y)
            note(f"{f1.__name__}: angular", off(found.ang, reference.ang, g * e))
            note(f"{f1.__name__}: linear", off(found.lin, reference.lin, g * f + h * e + g * e * b))
    return worst


def coefficients(n: int, seed: int) -> dict[str, float]:
    """The worst relative error of the coefficients over angles up to π."""
    rng = np.random.default_rng(seed)
    functions = {"C0": C0, "C1": C1}
    for name, family in (("C2", C2), ("C3", C3), ("COT", COT)):
        functions.update({name + "′" * k: function for k, function in enumerate(family)})
    worst: dict[str, float] = defaultdict(float)
    for _ in range(n):
        for angle in (10.0 ** rng.uniform(-12, 0.49), rng.uniform(0.0, math.pi)):
            for name, function in functions.items():
                reference = function(mpmath.mpf(angle * angle))
                scale = 1.0 if name in ("C0", "C1") else float(abs(reference))
                error = float(abs(float(function(angle * angle)) - reference)) / scale / ULP
                worst[name] = max(worst[name], error)
    return worst


def check(worst: dict[str, float], bound: float):
    assert {name: f"{x:.2f} ulp" for name, x in worst.items() if x > bound} == {}


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(DIGITS):
        yield


def test_groups_are_accurate():
    """exp, log, dexp, Cayley, quaternions: a few units in the last place everywhere."""
    check(sweep(250, 0), BOUND)


def test_coefficients_are_accurate():
    """Each coefficient to full relative precision on either side of its branch."""
    check(coefficients(150, 0), COEFFICIENT_BOUND)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_groups_are_accurate_everywhere(seed):
    """The same over many more arguments."""
    check(sweep(2500, seed), BOUND)
    check(coefficients(1500, seed), COEFFICIENT_BOUND)
