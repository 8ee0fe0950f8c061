"""Twists, Jacobians and joint forces to any order: against motions q(t) in 60 digits."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from support.cases import first
from support.differences import moved
from support.mechanics import agree, loaded_tree, program_value

import mozzi as mz

REPS = ("body", "spatial", "hybrid", "mixed")
N = 4


@cache
def motion(seed: int) -> tuple[mz.Model, np.ndarray, np.ndarray]:
    model = loaded_tree(4, seed)
    rng = np.random.default_rng(seed)
    return model, model.random_configuration(rng), rng.normal(size=(N, model.nv))


def rate(function, model, q, rates):
    """d/dt of a function of (q, rates[:-1]) along the motion, by differences in 50 digits."""
    with mpmath.workdps(50):
        h, ends = mpmath.mpf(10) ** -16, []
        for t in (h, -h):
            x = [[mpmath.mpf(float(e)) for e in row] for row in rates]
            at = moved(model, [mpmath.mpf(float(e)) for e in q], [t * e for e in x[0]])
            later = [[e + t * d for e, d in zip(y, z, strict=True)] for y, z in pairwise(x)]
            ends.append(function(at, np.array(later, dtype=object), t))
        return np.array((ends[0] - ends[1]) / (2 * h), dtype=float)


@pytest.mark.parametrize("rep", REPS)
@pytest.mark.parametrize("seed", first(1, range(2)))
def test_each_order_is_the_rate_of_the_one_before(seed, rep):
    """dV⁽ᵏ⁾/dt = V⁽ᵏ⁺¹⁾ and the first is `twists`: by induction all are what they say."""
    model, q, rates = motion(seed)
    found = mz.twist_derivatives(model, q, rates, order=N, rep=rep)
    agree(found[:, 0], mz.twists(model, q, rates[0], rep=rep))
    agree(found[:, 1], mz.accelerations(model, q, rates[0], rates[1], rep=rep))
    agree(found[:, 2], mz.jerks(model, q, *rates[:3], rep=rep))

    def before(at, later, t):
        return mz.twist_derivatives.python(model, at, later, order=N - 1, rep=rep)

    agree(found[:, 1:], rate(before, model, q, rates), 1e-11)


@pytest.mark.parametrize("rep", REPS)
@pytest.mark.parametrize("seed", first(1, range(2)))
def test_derivatives_of_jacobians_are_rates_of_those_before(seed, rep):
    model, q, rates = motion(seed)
    frame = model.bodies[-1]
    found = mz.jacobian_derivatives(model, q, rates[:3], frame, order=3, rep=rep)
    agree(found[0], mz.jacobian(model, q, frame, rep=rep))
    agree(found[1], mz.jacobian_rate(model, q, rates[0], frame, rep=rep))

    def before(at, later, t):
        return mz.jacobian_derivatives.python(model, at, later, frame, order=2, rep=rep)

    agree(found[1:], rate(before, model, q, rates[:3]), 1e-11)
    k = list(model.bodies).index(frame)  # V̈ = J j + 2 J̇ a + J̈ v
    V = mz.twist_derivatives(model, q, rates[:3], order=3, rep=rep)[k, 2]
    agree(V, found[0] @ rates[2] + 2 * found[1] @ rates[1] + found[2] @ rates[0])


@pytest.mark.parametrize("rep", REPS)
@pytest.mark.parametrize("seed", first(1, range(2)))
def test_forces_under_wrenches_that_change(seed, rep):
    """τ⁽ᵏ⁺¹⁾ is the rate of τ⁽ᵏ⁾, with wrenches that change in any representation."""
    model, q, rates = motion(seed)
    W = np.random.default_rng(9).normal(size=(model.nb, N - 1, 6))
    found = mz.joint_force_derivatives(model, q, rates, W, order=N, wrenches_rep=rep)
    body = [
        mz.convert_wrench(model, q, W[k, 0], name, rep, "body")
        for k, name in enumerate(model.bodies)
    ]
    agree(found[0], mz.inverse_dynamics(model, q, rates[0], rates[1], wrenches=np.array(body)))

    def before(at, later, t):
        at_t = np.array(W, dtype=object)
        at_t = at_t[:, :-1] + t * at_t[:, 1:]
        python = mz.joint_force_derivatives.python
        return python(model, at, later, at_t, order=N - 1, wrenches_rep=rep)

    agree(found[1:], rate(before, model, q, rates), 1e-10)
    if rep == "body":
        free = mz.joint_force_derivatives(model, q, rates[:4], order=4)
        agree(free, np.array(mz.inverse_dynamics_rates(model, q, *rates[:4])))


def test_rolled_is_unrolled_and_batches():
    model, q, rates = motion(1)
    V = mz.twist_derivatives(model, q, rates, order=N, rep="hybrid")
    tau = mz.joint_force_derivatives(model, q, rates, order=N)
    options = {"order": N, "rolled": True}
    agree(program_value(mz.joint_force_derivatives, model, q, rates, **options)[0], tau)
    options["rep"] = "hybrid"
    agree(program_value(mz.twist_derivatives, model, q, rates, **options)[0], V)
    options["frame"] = frame = model.bodies[-1]
    J = mz.jacobian_derivatives(model, q, rates, frame, order=N, rep="hybrid")
    agree(program_value(mz.jacobian_derivatives, model, q, rates, **options)[0], J)
    agree(mz.joint_force_derivatives(model, np.stack([q, q]), rates, order=N)[1], tau)


def test_what_does_not_fit():
    model, q, rates = motion(0)
    with pytest.raises(ValueError, match="order 1"):
        mz.joint_force_derivatives(model, q, rates[:1], order=1)
    with pytest.raises(mz.ShapeError, match="rates"):
        mz.twist_derivatives(model, q, rates, order=2)
