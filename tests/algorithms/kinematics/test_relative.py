"""Relative twists: against the motion of one frame as the other sees it."""

import numpy as np
import pytest
from support.mechanics import agree, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.algorithms.recursion.representations import REPRESENTATIONS


def test_relative_twists_are_what_the_other_frame_sees():
    """V^ = Ċ_ab C_ab⁻¹ of C_ab = C_a⁻¹ C_b is that measured at and resolved in a; any other point
    and axes follow by Ad."""
    model = loaded_tree(5, 3)
    rng = np.random.default_rng(0)
    q, v, h = model.random_configuration(rng), rng.normal(size=model.nv), 1e-6
    a, b, c, d = (model.bodies[k] for k in (4, 2, 1, 3))

    def seen(t: float) -> np.ndarray:
        x = mz.integrate(model, q, t * v)
        return np.linalg.solve(mz.pose(model, x, a), mz.pose(model, x, b))

    S = (seen(h) - seen(-h)) / (2 * h) @ np.linalg.inv(seen(0.0))
    expected = np.r_[S[2, 1], S[0, 2], S[1, 0], S[:3, 3]]
    found = mz.relative_twist(model, q, v, b, a, measured_at=a)
    agree(found, expected, 1e-8)
    elsewhere = mz.relative_twist(model, q, v, b, a, measured_at=c, resolved_in=d)
    A, C, D = (mz.SE3.from_matrix(mz.pose(model, q, x)) for x in (a, c, d))
    V = A.push(mz.Twist.from_array(found))
    agree(elsewhere, mz.SE3(D.R, C.p).pull(V).array())
    agree(mz.relative_twist(model, q, v, b, b), np.zeros(6))
    agree(mz.relative_twist(model, q, v, b), mz.jacobian(model, q, b) @ v)


@pytest.mark.parametrize("names", [(4, 2, 1, 3), (2, 4, 4, None), (3, None, 2, 2), (5, 1, None, 0)])
def test_rates_jacobians_and_their_rates(names):
    """J v is the relative twist, J a + J̇ v its rate, and both are its differences along the motion:
    the four frames move in their own ways."""
    model = loaded_tree(6, 3)
    rng = np.random.default_rng(0)
    q, h = model.random_configuration(rng), 1e-5
    v, a = rng.normal(size=(2, model.nv))
    frame, *others = (None if k is None else model.bodies[k] for k in names)

    def at(t: float) -> np.ndarray:
        x = mz.integrate(model, q, t * v + 0.5 * t * t * a)
        return value(mz.relative_twist, model, x, v + t * a, frame, *others)

    J = value(mz.relative_jacobian, model, q, frame, *others)
    dJ = value(mz.relative_jacobian_rate, model, q, v, frame, *others)
    A = value(mz.relative_acceleration, model, q, v, a, frame, *others)
    agree(J @ v, at(0.0))
    agree(J @ a + dJ @ v, A)
    agree(A, (at(h) - at(-h)) / (2 * h), 1e-7)


def test_the_four_representations_are_special_cases():
    model = loaded_tree(5, 1)
    q, v, a = state(model, 0)[:3]
    body = model.bodies[-1]
    at = {"body": (body, body), "spatial": ("world", "world"), "hybrid": (body, "world")}
    for rep, (measured, resolved) in at.items():
        how = {"measured_at": measured, "resolved_in": resolved}
        A = value(mz.accelerations, model, q, v, a, rep)[-1]
        agree(value(mz.relative_acceleration, model, q, v, a, body, None, **how), A)
        J = value(mz.jacobian, model, q, body, rep)
        agree(value(mz.relative_jacobian, model, q, body, None, **how), J)


def test_power_stays_where_twists_and_wrenches_move():
    model = loaded_tree(5, 2)
    q = state(model, 0)[0]
    V, W = np.random.default_rng(1).normal(size=(2, 6))
    way = (*(model.bodies[k] for k in (4, 1)), *(model.bodies[k] for k in (0, 3)))
    moved = value(mz.move_twist, model, q, V, *way), value(mz.move_wrench, model, q, W, *way)
    agree(moved[0] @ moved[1], V @ W)
    back = (*way[2:], *way[:2])
    agree(value(mz.move_wrench, model, q, moved[1], *back), W)


def test_newton_euler_about_frames_of_a_chain():
    """(63) at frames of a moving mechanism: the body-fixed wrench, moved there."""
    model = loaded_tree(5, 4)
    q, v, a = state(model, 0)[:3]
    body, j, k = (model.bodies[n] for n in (4, 2, 1))
    I = model.body(4).inertia
    V, A = (value(f, model, q, *x, "body")[4] for f, x in
            ((mz.twists, (v,)), (mz.accelerations, (v, a))))  # fmt: skip
    own = mz.newton_euler(I, V, A)
    how = (None, j, k)
    kV = value(mz.relative_twist, model, q, v, body, *how)
    kdV = value(mz.relative_acceleration, model, q, v, a, body, *how)
    kV_j = value(mz.relative_twist, model, q, v, j, *how)
    turning = value(mz.relative_twist, model, q, v, k, j, "world", k)[:3]
    C = {n: value(mz.pose, model, q, n) for n in (body, j, k)}
    pose, axes = np.linalg.solve(C[j], C[body]), C[k][:3, :3].T @ C[j][:3, :3]
    W = mz.newton_euler_in_frame(I, kV, kdV, kV_j, pose, axes, turning)
    agree(W, value(mz.move_wrench, model, q, own, body, body, j, k), 1e-9)


@pytest.mark.parametrize("rolled", [False, True])
@pytest.mark.parametrize("source", REPRESENTATIONS)
def test_whole_chains_between_representations(source, rolled):
    model = loaded_tree(4, 1)
    q, v, a = state(model, 0)[:3]
    for target in REPRESENTATIONS:
        V, U = (value(mz.twists, model, q, v, rep) for rep in (source, target))
        A, B = (value(mz.accelerations, model, q, v, a, rep) for rep in (source, target))
        how = {"source": source, "target": target, "rolled": rolled}
        agree(program_value(mz.convert_twists, model, q, V, **how)[0], U)
        agree(program_value(mz.convert_twist_rates, model, q, V, A, **how)[0], B)
        M = program_value(mz.system_conversion_matrix, model, q, **how)[0]
        agree(M @ V.ravel(), U.ravel())
        W = np.random.default_rng(0).normal(size=V.shape)
        moved = program_value(mz.convert_wrenches, model, q, W, **how)[0]
        agree((moved * U).sum(-1), (W * V).sum(-1))


def test_the_axis_of_a_twist_is_where_velocities_lie_along_it():
    """On the axis the body moves with pitch·speed along it; about it with the speed."""
    model = loaded_tree(5, 3)
    q, v = state(model, 2)[:2]
    for body in model.bodies:
        e, p, pitch, speed = (np.array(x, float) for x in mz.twist_axis.python(model, q, v, body))
        V = value(mz.twists, model, q, v, "spatial")[model.bodies.index(body)]
        if np.isinf(pitch):
            agree(V, np.r_[np.zeros(3), speed * e])
            continue
        agree(V[:3], speed * e)
        agree(V[3:] + np.cross(V[:3], p), pitch * speed * e)
    turned = mz.twist_axis.python(model, q, v, model.bodies[2], model.bodies[2])
    assert float(turned[3]) == 0.0
