"""τ, τ̇ and τ̈ along a motion."""

import itertools

import mpmath
import numpy as np
import pytest
from support.differences import moved
from support.mechanics import agree, loaded_tree, program_value, value

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model.generate import chain


def motion(seed, n=5):
    model = loaded_tree(n, seed)
    rng = np.random.default_rng(seed)
    return model, model.random_configuration(rng), *rng.normal(size=(4, model.nv))


@pytest.mark.parametrize("seed", range(6))
def test_first_rate(seed):
    """τ̇ is the directional derivative along (v, a, j)."""
    model, q, v, a, j, s = motion(seed)
    tau, rate, _ = value(mz.inverse_dynamics_rates, model, q, v, a, j, s)
    agree(tau, value(mz.inverse_dynamics, model, q, v, a))
    expected = value(mz.inverse_dynamics_directional, model, q, v, a, dq=v, dv=a, da=j)
    agree(rate, expected)


@pytest.mark.parametrize("seed", range(6))
def test_second_rate(seed):
    """τ̈ is the rate of τ̇(q, v, a, j) along (v, a, j, s), to 50 digits."""
    model, q, v, a, j, s = motion(seed, 4)
    found = value(mz.inverse_dynamics_rates, model, q, v, a, j, s)[2]
    with mpmath.workdps(50):
        h = mpmath.mpf(10) ** -16
        ends = []
        for t in (h, -h):
            x = [[mpmath.mpf(e) for e in y] for y in (q, v, a, j, s)]
            at = moved(model, x[0], [t * e for e in x[1]])
            later = [[e + t * d for e, d in zip(y, z)] for y, z in itertools.pairwise(x[1:])]
            ends.append(mz.inverse_dynamics_rates.python(model, at, *later, x[4])[1])
        agree(found, np.array((ends[0] - ends[1]) / (2 * h), dtype=float), 1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_rolled_is_unrolled(seed):
    model, *x = motion(seed, 6)
    expected = value(mz.inverse_dynamics_rates, model, *x)
    for rolled in (False, True):
        out = program_value(mz.inverse_dynamics_rates, model, *x, rolled=rolled)
        for a, b in zip(out, expected):
            agree(a, b)
    for a, b in zip(mz.inverse_dynamics_rates(model, *x), expected):
        agree(a, b)


def test_at_rest_only_the_snap_and_the_jerk_remain():
    """From rest without gravity τ = 0, τ̇ = M j and τ̈ = M s."""
    model, q, _, _, j, s = motion(2)
    model = model.with_gravity((0.0, 0.0, 0.0))
    zero = np.zeros(model.nv)
    tau, rate, second = value(mz.inverse_dynamics_rates, model, q, zero, zero, j, s)
    M = value(mz.mass_matrix, model, q)
    agree(tau, zero)
    agree(rate, M @ j)
    agree(second, M @ s)


def test_cost_grows_with_the_number_of_bodies():
    a, b, c = (
        program_of(mz.inverse_dynamics_rates, chain(n), rolled=False).flops for n in (8, 16, 32)
    )
    assert abs((c - b) / (b - a) - 2.0) < 0.1
