"""Accelerations, jerks and derivatives of Jacobians: against 50-digit finite differences, and the
bracket identities they are made of."""

from __future__ import annotations

import itertools

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import first
from support.kinematic_models import (
    REPS,
    apart,
    branched,
    every_joint,
    exact,
    time_derivatives,
)
from support.mechanics import agree, program_value, seeds, state, value

import mozzi as mz
from mozzi.algorithms.kinematics.accelerations import stages
from mozzi.algorithms.reference.kinematics import acceleration_sum, jerk_sum
from mozzi.lie import Twist
from mozzi.model.generate import chain

# Constants of a model are floats: its rotations are rotations to 1e-16, and no more.
TIGHT = 1e-12


@pytest.fixture(autouse=True)
def fifty_digits():
    with mp.workdps(50):
        yield


@pytest.mark.parametrize("rep", REPS)
def test_time_derivatives_of_twists(rep):
    """V̇ and V̈ are the derivatives of V in its own representation, for joints of every class."""
    model = every_joint()
    q, v, a, j = (exact(x) for x in state(model, 1))
    first, second = time_derivatives(
        lambda q, v: mz.twists.python(model, q, v, rep), model, q, v, a, j
    )
    assert apart(mz.accelerations.python(model, q, v, a, rep), first) < TIGHT
    assert apart(mz.jerks.python(model, q, v, a, j, rep), second) < TIGHT


@pytest.mark.parametrize("rep", REPS)
def test_time_derivatives_of_jacobians(rep):
    """J̇ is the derivative of J along the motion, for joints of every class."""
    model = every_joint(1)
    q, v, a, j = (exact(x) for x in state(model, 2))
    first, _ = time_derivatives(
        lambda q, v: mz.jacobian.python(model, q, "tip", rep), model, q, v, a, j
    )
    assert apart(mz.jacobian_rate.python(model, q, v, "tip", rep), first) < TIGHT


@pytest.mark.parametrize(("order", "rep"), first(9, itertools.product((1, 2, 3), REPS)))
def test_partial_derivatives(rep, order):
    """∂ᵛ⁺¹J is the derivative of ∂ᵛJ along the group, the new index last."""
    model = branched() if order < 3 else chain(3, mz.Spherical, seed=1)
    frame = "tip" if order < 3 else model.bodies[-1]
    q, h = exact(state(model, 3)[0]), mp.mpf(10) ** -12

    def below(q):
        if order == 1:
            return mz.jacobian.python(model, q, frame, rep)
        return mz.jacobian_partials.python(model, q, frame, order - 1, rep)

    P = mz.jacobian_partials.python(model, q, frame, order, rep)
    assert P.shape == (6, *(model.nv,) * (order + 1))
    for k in range(0, model.nv, 1 if order < 3 else 2):
        e = exact(np.eye(model.nv)[k]) * h
        ahead, behind = (below(mz.integrate.python(model, q, s * e)) for s in (1, -1))
        assert apart(P[..., k], (ahead - behind) / (2 * h)) < TIGHT


@pytest.mark.parametrize("rep", REPS)
def test_second_order_rolled(rep):
    """Second derivatives of a chain through loops over its bodies are the unrolled ones."""
    model = chain(4, seed=3)
    q = state(model, 1)[0]
    options = {"frame": model.bodies[-1], "rep": rep, "order": 2}
    unrolled, rolled = (
        program_value(mz.jacobian_partials, model, q, rolled=r, **options)[0] for r in (False, True)
    )
    agree(unrolled.ravel(), rolled.ravel(), 1e-12)


@pytest.mark.parametrize("rep", REPS)
def test_recursions_are_the_explicit_sums(rep):
    """O(n) recursions against sums over joints, (6) … (33)."""
    model = branched()
    q, v, a, j = state(model, 5)
    for body in ("b5", "side"):
        k = model.index(body)
        agree(value(acceleration_sum, model, q, v, a, body, rep),
              value(mz.accelerations, model, q, v, a, rep)[k], TIGHT)  # fmt: skip
        agree(value(jerk_sum, model, q, v, a, j, body, rep),
              value(mz.jerks, model, q, v, a, j, rep)[k], TIGHT)  # fmt: skip


def test_accelerations_are_jacobian_and_rate():
    """V̇ = J a + J̇ v at every body."""
    model = every_joint(2)
    q, v, a, _ = state(model, 0)
    for rep in REPS:
        A = value(mz.accelerations, model, q, v, a, rep)
        for i in (3, model.nb // 2, model.nb - 1):
            J = value(mz.jacobian, model, q, model.bodies[i], rep)
            dJ = value(mz.jacobian_rate, model, q, v, model.bodies[i], rep)
            agree(J @ a + dJ @ v, A[i], TIGHT)


twist = st.tuples(*[st.floats(-3, 3)] * 6).map(Twist.unflatten)


@given(twist, twist, twist)
def test_jacobi_identity(X, Y, Z):
    """[X, [Y, Z]] + [Y, [Z, X]] + [Z, [X, Y]] = 0  (Müller, Dynamics (116))."""
    total = X.cross(Y.cross(Z)) + Y.cross(Z.cross(X)) + Z.cross(X.cross(Y))
    agree(total.array(), np.zeros(6), 1e-12)


@settings(max_examples=25)
@given(seeds)
def test_bracket_identities(seed):
    """∂J_j/∂q_k = [J_j, J_k] for j < k in body (5), [J_k, J_j] for k < j in spatial form (15)."""
    model = chain(5, seed=seed % 50)
    q, frame = state(model, seed)[0], model.bodies[-1]
    P = {r: value(mz.jacobian_partials, model, q, frame, 1, r) for r in ("body", "spatial")}
    J = {r: value(mz.jacobian, model, q, frame, r) for r in P}
    for j, k in itertools.product(range(5), repeat=2):
        a, b = (Twist.unflatten(map(float, J["body"][:, n])) for n in (j, k))
        agree(P["body"][:, j, k], a.cross(b).array() * (k > j), 1e-12)
        a, b = (Twist.unflatten(map(float, J["spatial"][:, n])) for n in (k, j))
        agree(P["spatial"][:, j, k], a.cross(b).array() * (k < j), 1e-12)


@settings(max_examples=10)
@given(seeds)
def test_derivatives_with_respect_to_one_dof_joints_commute(seed):
    """∂²J/∂q_k∂q_l is symmetric where the joints have one degree of freedom (12), (20)."""
    model = chain(4, seed=seed % 50)
    q = state(model, seed)[0]
    for rep in REPS:
        H = value(mz.jacobian_partials, model, q, model.bodies[-1], 2, rep)
        agree(H, np.swapaxes(H, -1, -2), 1e-12)


def test_directions_of_one_joint_do_not_commute():
    """Along the group ∂_l ∂_k − ∂_k ∂_l is the derivative along the bracket of the directions."""
    model = chain(2, mz.Spherical, seed=4)
    q, frame = state(model, 0)[0], model.bodies[-1]
    P = value(mz.jacobian_partials, model, q, frame, 1, "spatial")
    H = value(mz.jacobian_partials, model, q, frame, 2, "spatial")
    for k, l in itertools.combinations(range(3), 2):
        bracket = np.cross(np.eye(3)[k], np.eye(3)[l])  # [e_k, e_l] of the first joint's directions
        along = P[:, :, :3] @ bracket
        agree(H[:, :, l, k] - H[:, :, k, l], along, 1e-12)


def test_stages_of_joints():
    """Most joints move in one subgroup; a universal joint in two, one behind the other."""
    inner = mz.Composite(mz.Spherical(), mz.Universal())
    assert stages(mz.Free()) == (0,) * 6
    assert stages(mz.Universal()) == (0, 1)
    assert stages(inner) == (0, 0, 0, 1, 2)
    assert stages(mz.Composite(mz.Revolute(), inner)) == (0, 1, 1, 1, 2, 3)
