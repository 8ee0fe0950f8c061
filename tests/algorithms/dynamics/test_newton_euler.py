"""Newton–Euler of one body: all representations are one equation.  Müller, Dynamics, section 3."""

import numpy as np
import pytest
from support.mechanics import agree

import mozzi as mz
from mozzi.algorithms.recursion.representations import REPRESENTATIONS, convert_rate, from_body
from mozzi.lie import SE3, AccelerationField, Twist, Vec3, Wrench, second_moments
from mozzi.model.generate import random_inertia, random_pose

SEEDS = range(5)


def vector(rng):
    return Vec3(*rng.normal(size=3).tolist())


def motion(seed):
    rng = np.random.default_rng(seed)
    I, C = random_inertia(rng), random_pose(rng)
    return rng, I, C, Twist(vector(rng), vector(rng)), Twist(vector(rng), vector(rng))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rep", REPRESENTATIONS)
def test_representations_agree(seed, rep):
    """(38), (41), (53) and (56), (57) say the same of the same motion."""
    _, I, C, V, dV = motion(seed)
    W = mz.newton_euler(I, V, dV)
    moved = mz.newton_euler(
        I, from_body(V, C, rep), convert_rate(dV, V, C, "body", rep), rep, pose=C
    )
    agree(moved.array(), from_body(W, C, rep).array())


@pytest.mark.parametrize("seed", SEEDS)
def test_newton_and_euler(seed):
    """At the centre of mass: m r̈ = f, and Θ ω̇ + ω × Θ ω = t."""
    rng, _, C, V, dV = motion(seed)
    theta = np.diag(rng.uniform(1, 2, 3))
    I = mz.Inertia(2.0, (0.0, 0.0, 0.0), theta)
    w, dw = V.ang.array(), dV.ang.array()
    W = mz.newton_euler(I, V.array(), dV.array(), "mixed", C)
    agree(W[:3], theta @ dw + np.cross(w, theta @ w))
    agree(W[3:], 2.0 * dV.lin.array())


@pytest.mark.parametrize("seed", SEEDS)
def test_any_reference_point(seed):
    """The equations of the same body at another point of it give the same wrench, moved there."""
    rng, I, _, V, dV = motion(seed)
    T = random_pose(rng)  # another body-fixed frame
    moved = mz.newton_euler(T.pull(I), T.pull(V), T.pull(dV))
    agree(T.push(moved).array(), mz.newton_euler(I, V, dV).array())


@pytest.mark.parametrize("seed", SEEDS)
def test_arbitrary_representation(seed):
    """(60), (61): measured and resolved in a frame j that moves with its own twist."""
    rng, I, C, V, dV = motion(seed)
    C_j, V_j = random_pose(rng), Twist(vector(rng), vector(rng))  # V_j at j, resolved in j
    C_ji = C_j.inverse() @ C
    Vs, dVs = C.push(V), C.push(dV)  # spatial twist and its rate
    jV = C_j.pull(Vs)
    jdV = C_j.pull(dVs) - V_j.cross(jV)
    W = mz.newton_euler_in_frame(I, jV, jdV, V_j, C_ji)
    agree(W.array(), C_ji.push(mz.newton_euler(I, V, dV)).array())


@pytest.mark.parametrize("seed", SEEDS)
def test_arbitrary_representation_resolved_elsewhere(seed):
    """(63), (64): measured at j and resolved in k, which turns relative to j."""
    rng, I, C, V, dV = motion(seed)
    C_j, V_j, w_k = random_pose(rng), Twist(vector(rng), vector(rng)), vector(rng)
    R = random_pose(rng).R  # components in k, of components in j
    turn = SE3(R, Vec3.zero())
    C_ji = C_j.inverse() @ C
    Vs, dVs = C.push(V), C.push(dV)
    jV = C_j.pull(Vs)
    jdV = C_j.pull(dVs) - V_j.cross(jV)
    kV, kV_j = turn.push(jV), turn.push(V_j)
    kdV = turn.push(jdV) - Twist(w_k, Vec3.zero()).cross(kV)  # w_k in k: k relative to j
    W = mz.newton_euler_in_frame(I, kV, kdV, kV_j, C_ji, R, w_k)
    agree(W.array(), turn.push(C_ji.push(mz.newton_euler(I, V, dV))).array())


@pytest.mark.parametrize("seed", SEEDS)
def test_special_cases_of_the_arbitrary_one(seed):
    """Spatial: j at rest at the origin; body-fixed: j = i; hybrid: j = i, resolved at rest."""
    _, I, C, V, dV = motion(seed)
    still = Twist.zero()
    spatial = mz.newton_euler_in_frame(I, C.push(V), C.push(dV), still, C)
    agree(spatial.array(), mz.newton_euler(I, C.push(V), C.push(dV), "spatial", C).array())
    one = SE3.identity()
    body = mz.newton_euler_in_frame(I, V, dV, V, one)
    agree(body.array(), mz.newton_euler(I, V, dV).array())
    Vh, dVh = from_body(V, C, "hybrid"), convert_rate(dV, V, C, "body", "hybrid")
    hybrid = mz.newton_euler_in_frame(I, Vh, dVh, Vh, one, C.R, -Vh.ang)
    agree(hybrid.array(), mz.newton_euler(I, Vh, dVh, "hybrid", C).array())


@pytest.mark.parametrize("seed", SEEDS)
def test_field_of_accelerations(seed):
    """The wrench from the field of accelerations, (42), (43), is that of (41)."""
    _, I, _, V, dV = motion(seed)
    w = V.ang
    a = dV.lin + w.cross(V.lin)
    agree(AccelerationField(dV.ang, w, w).wrench(I, a).array(), mz.newton_euler(I, V, dV).array())
    x = Vec3(0.3, -0.2, 0.5)
    field = AccelerationField(dV.ang, w, w)
    agree((field @ x).array(), (dV.ang.cross(x) + w.cross(w.cross(x))).array())


def test_binets_tensor():
    """ϑ = ½ tr(J) 1 − J = ∫ x xᵀ dm of two points."""
    points, masses = np.array([[1.0, 2.0, 0.5], [-0.3, 0.4, 1.0]]), (2.0, 3.0)
    J = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, points, strict=True))
    h = sum(m * x for m, x in zip(masses, points, strict=True))
    I = mz.Inertia.from_parameters((5.0, *h.tolist(), *J[np.triu_indices(3)].tolist()))
    moments = sum(m * np.outer(x, x) for m, x in zip(masses, points, strict=True))
    agree(second_moments(I).array(), moments)


def test_pose_is_needed():
    _, I, _, V, dV = motion(0)
    with pytest.raises(ValueError, match="needs the pose"):
        mz.newton_euler(I, V, dV, "spatial")
    with pytest.raises(ValueError, match="no representation"):
        mz.newton_euler(I, V, dV, "other")


def test_twists_give_a_wrench_and_arrays_its_numbers():
    _, I, _, V, dV = motion(0)
    W = mz.newton_euler(I, V, dV)
    assert isinstance(W, Wrench)
    agree(mz.newton_euler(I, V.array(), dV.array()), W.array())


@pytest.mark.parametrize("rep", REPRESENTATIONS)
def test_matrices_are_taken_as_they_come(rep):
    """A 6×6 inertia and a 4×4 pose say what `Inertia` and `SE3` say."""
    _, I, C, V, dV = motion(7)
    expected = mz.newton_euler(I, V, dV, rep, pose=C).array()
    agree(mz.newton_euler(I.matrix(), V.array(), dV.array(), rep, pose=C.matrix()), expected)
    with pytest.raises(mz.ModelError, match="pose"):
        mz.newton_euler(I, V, dV, rep, pose=2.0 * C.matrix())
