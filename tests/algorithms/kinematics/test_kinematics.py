"""Poses, twists, Jacobians: laws, and one result however they are computed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from support.kinematic_models import REPS, branched, every_joint, moved_base, moved_bodies
from support.mechanics import agree, mechanisms, program_value, seeds, state, value

import mozzi as mz
from mozzi.lie import SE3, Rotation, Twist, Vec3
from mozzi.loaders import tables
from mozzi.model import Model
from mozzi.model.generate import chain, random_pose

MODEL = every_joint()


def options_of(name: str, model: Model) -> list[dict]:
    frame = model.frames[-1]
    table = {
        "pose": [{"frame": frame}],
        "product_of_exponentials": [{"form": x} for x in ("joint", "body", "parent", "spatial")],
        "jacobian": [{"frame": frame, "rep": r} for r in REPS],
        "jacobian_rate": [{"frame": frame, "rep": r} for r in REPS],
        "jacobian_partials": [{"frame": frame, "rep": r, "order": 1} for r in REPS],
    }
    plain = ("forward_kinematics", "integrate", "difference", "rates", "body_jacobians")
    return table.get(name) or ([{}] if name in plain else [{"rep": r} for r in REPS])


NAMES = (
    "forward_kinematics", "pose", "product_of_exponentials", "twists", "accelerations", "jerks",
    "jacobian", "jacobian_rate", "jacobian_partials", "system_jacobian", "joint_screws",
    "integrate", "difference", "rates", "body_jacobians",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_rolled_unrolled_and_plain_python_agree(name):
    """One source, three lives: the same numbers."""
    model = branched()
    function = getattr(mz, name)
    q, *vectors = state(model, 3)
    arrays = [q, model.random_configuration(7)] if name == "difference" else [q, *vectors]
    arrays = arrays[: len(function.required)]
    for options in options_of(name, model):
        plain = value(function, model, *arrays, **options)
        plain = plain if isinstance(plain, tuple) else (plain,)
        for rolled in (False, True):
            traced = program_value(function, model, *arrays, rolled=rolled, **options)
            for a, b in zip(plain, traced, strict=True):
                agree(a.ravel(), b.ravel(), 1e-12)


@pytest.mark.parametrize("name", ("forward_kinematics", "twists", "jacobian", "system_jacobian"))
def test_kernels_run_over_batches(name):
    """Called with arrays, an algorithm is a compiled kernel over leading axes."""
    model, function = branched(), getattr(mz, name)
    q = model.random_configuration(0, (2, 3))
    v = np.random.default_rng(0).normal(size=(2, 3, model.nv))
    arrays = [q, v][: len(function.required)]
    options = options_of(name, model)[0]
    out = function(model, *arrays, **options)
    for k in np.ndindex(2, 3):
        agree(out[k], value(function, model, *(x[k] for x in arrays), **options), 1e-12)


@given(mechanisms(), seeds)
def test_the_forms_of_the_product_of_exponentials_agree(model, seed):
    """C(q) by joint frames (3), body-fixed screws (8) and spatial screws (10)."""
    q = state(model, seed)[0]
    C = value(mz.forward_kinematics, model, q)
    for form in ("joint", "body", "parent", "spatial"):
        agree(value(mz.product_of_exponentials, model, q, form=form), C, 1e-12)


def test_products_of_matrix_exponentials():
    """C = exp(Y₁ q₁) … exp(Yᵢ qᵢ) Aᵢ (10) with the exponential (69) of the joints' screws."""
    model = chain(5, seed=3)
    q = state(model, 1)[0]
    Y = value(mz.joint_screws, model, model.neutral(), "spatial")
    A = value(mz.forward_kinematics, model, model.neutral())
    C = value(mz.forward_kinematics, model, q)
    product = SE3.identity()
    for i in range(model.nb):
        X = Twist.unflatten(float(x) for x in Y[:, i])
        product = product @ SE3.exp(X * float(q[i]))
        agree(product.matrix() @ A[i], C[i], 1e-12)


@given(mechanisms(), seeds)
def test_twists_are_jacobians_times_velocities(model, seed):
    """V = J v, in every representation, for all bodies (31) and body by body (17)."""
    q, v, *_ = state(model, seed)
    for rep in REPS:
        V = value(mz.twists, model, q, v, rep)
        J = value(mz.system_jacobian, model, q, rep)
        agree((J @ v).reshape(model.nb, 6), V, 1e-12)
        for i, body in enumerate(model.bodies):
            agree(value(mz.jacobian, model, q, body, rep), J[6 * i : 6 * i + 6], 1e-12)


@given(mechanisms(), seeds)
def test_twists_of_a_body_by_definition(model, seed):
    """V^b = C⁻¹Ċ, V^s = Ċ C⁻¹ (80), by a finite difference along the group."""
    q, v, *_ = state(model, seed)
    h = 1e-6
    C = value(mz.forward_kinematics, model, q)
    ahead, behind = (
        value(mz.forward_kinematics, model, value(mz.integrate, model, q, s * h * v))
        for s in (1.0, -1.0)
    )
    rate = (ahead - behind) / (2 * h)
    inverse = np.linalg.inv(C)
    for rep, hat in (("body", inverse @ rate), ("spatial", rate @ inverse)):
        V = value(mz.twists, model, q, v, rep)
        skew = np.stack([hat[:, 2, 1], hat[:, 0, 2], hat[:, 1, 0]], axis=-1)
        agree(np.concatenate([skew, hat[:, :3, 3]], axis=1), V, 1e-6)


@given(mechanisms(), seeds)
def test_frame_invariance(model, seed):
    """Body twists do not see the inertial frame (remark 7), spatial twists not the body frame
    (remark 12); the others move by Ad (20), (35)."""
    S = random_pose(np.random.default_rng(seed))
    q, v, a, _ = state(model, seed)
    base, bodies = moved_base(model, S), moved_bodies(model, S)
    twists = {r: value(mz.twists, model, q, v, r) for r in REPS}
    agree(value(mz.twists, base, q, v, "body"), twists["body"], 1e-12)
    agree(value(mz.twists, bodies, q, v, "spatial"), twists["spatial"], 1e-12)
    agree(value(mz.accelerations, base, q, v, a), value(mz.accelerations, model, q, v, a), 1e-12)
    for i in range(model.nb):
        V, W = (Twist.unflatten(map(float, twists[r][i])) for r in ("body", "spatial"))
        agree(S.pull(V).array(), value(mz.twists, bodies, q, v, "body")[i], 1e-12)
        agree(S.push(W).array(), value(mz.twists, base, q, v, "spatial")[i], 1e-12)


@given(mechanisms(), seeds)
def test_integrate_and_difference_are_inverse(model, seed):
    """q ⊕ (q' ⊖ q) has the pose of q'; q ⊖ q = 0."""
    q0, q1 = (state(model, seed + k)[0] for k in (0, 1))
    dv = value(mz.difference, model, q0, q1)
    there = value(mz.integrate, model, q0, dv)
    agree(value(mz.forward_kinematics, model, there), value(mz.forward_kinematics, model, q1), 1e-9)
    agree(value(mz.difference, model, q0, q0), np.zeros(model.nv), 1e-9)


@pytest.mark.parametrize("source", REPS)
@pytest.mark.parametrize("target", REPS)
def test_conversions_between_all_pairs(source, target):
    """Table 3: twists, rates, wrenches (power stays) and Jacobians, at a frame of the model."""
    model = MODEL
    q, v, a, _ = state(model, 5)
    J = {r: value(mz.jacobian, model, q, "tip", r) for r in (source, target)}
    dJ = {r: value(mz.jacobian_rate, model, q, v, "tip", r) for r in (source, target)}
    names = {"frame": "tip", "source": source, "target": target}
    agree(value(mz.convert_jacobian, model, q, J[source], **names), J[target], 1e-12)
    M = value(mz.conversion_matrix, model, q, **names)
    agree(M @ J[source], J[target], 1e-12)
    agree(value(mz.convert_twist, model, q, J[source] @ v, **names), J[target] @ v, 1e-12)
    rate = {r: J[r] @ a + dJ[r] @ v for r in J}
    converted = value(mz.convert_twist_rate, model, q, J[source] @ v, rate[source], **names)
    agree(converted, rate[target], 1e-12)
    W = np.random.default_rng(0).normal(size=6)
    agree(value(mz.convert_wrench, model, q, W, **names) @ J[target], W @ J[source], 1e-12)
    agree(np.linalg.solve(M.T, W), value(mz.convert_wrench, model, q, W, **names), 1e-9)


def test_joint_screws_of_the_four_representations():
    """⁰X = Ad_R X (56), J^s = Ad_C X (28): diagonal blocks of the system Jacobians."""
    model = branched()
    q = state(model, 2)[0]
    for rep in REPS:
        X = value(mz.joint_screws, model, q, rep)
        J = value(mz.system_jacobian, model, q, rep)
        for i, joint in enumerate(model.joint_names):
            s = model.v_slices[joint]
            agree(X[:, s], J[6 * i : 6 * i + 6, s], 1e-12)


def test_body_jacobians_are_poses_and_shared_columns():
    """Remark 10: the spatial Jacobians of all bodies have the same columns."""
    model = branched()
    q = state(model, 4)[0]
    C, J = value(mz.body_jacobians, model, q)
    agree(C, value(mz.forward_kinematics, model, q))
    tip = value(mz.jacobian, model, q, "tip", "spatial")
    there = np.abs(tip).max(0) > 0
    agree(J[:, there], tip[:, there])


@pytest.mark.parametrize("resolved", ("world", "frame"))
def test_point_jacobian(resolved):
    """ṙ = J v of a point that a frame carries along."""
    model = branched()
    q = state(model, 6)[0]
    x = np.array([0.3, -0.2, 0.5])
    J = value(mz.point_jacobian, model, q, x, "tip", resolved)
    moved = model.with_frame("at", "tip", SE3(Rotation.identity(), Vec3(*map(float, x))))
    rep = "hybrid" if resolved == "world" else "body"
    agree(J, value(mz.jacobian, moved, q, "at", rep)[3:], 1e-12)


def test_the_world_is_a_frame():
    """It stays where it is."""
    model = branched()
    q = state(model, 1)[0]
    agree(value(mz.pose, model, q, "world"), np.eye(4))
    for rep in REPS:
        agree(value(mz.jacobian, model, q, "world", rep), np.zeros((6, model.nv)))
        for rolled in (False, True):
            (J,) = program_value(mz.jacobian, model, q, rolled=rolled, frame="world", rep=rep)
            agree(J.ravel(), np.zeros(6 * model.nv))


def test_unknown_names_are_refused():
    """Errors name what is unknown."""
    model = branched()
    q = model.neutral()
    with pytest.raises(ValueError, match="no representation 'inertial'"):
        mz.jacobian(model, q, "tip", "inertial")
    with pytest.raises(mz.ModelError, match="no frame 'hand'"):
        mz.pose(model, q, "hand")
    with pytest.raises(ValueError, match="no form"):
        mz.product_of_exponentials(model, q, "cad")
    with pytest.raises(ValueError, match="order 0"):
        mz.jacobian_partials(model, q, "tip", 0)


@pytest.mark.parametrize("rep", REPS)
def test_factors_of_the_system_jacobian(rep):
    """J = A X; A⁻¹ = 1 − D; A = Σ Dᵏ with Dⁿ = 0; transposes; O(n) actions are the matrices'."""
    model = branched()
    q, n = state(model, 3)[0], 6 * model.nb
    y = np.random.default_rng(0).normal(size=n)
    factors = mz.system_jacobian_factors(model, q, rep)
    A, X = factors
    D, a, J = factors.D.matrix(), A.matrix(), value(mz.system_jacobian, model, q, rep)
    agree(A @ X, J)
    agree(np.asarray(A) @ np.asarray(X), J)
    agree(a, np.linalg.inv(np.eye(n) - D))  # (25)
    agree(np.linalg.matrix_power(D, model.nb), np.zeros((n, n)))
    agree(A @ y, a @ y)
    agree(A.T @ y, a.T @ y)
    agree(A.inverse() @ (A @ y), y)
    agree(A.inverse().T @ y, np.linalg.solve(a.T, y), 1e-8)
    agree(X.T @ y, X.matrix().T @ y)
    agree(factors.D.T @ y, D.T @ y)


def test_the_other_factorisations():
    """(32): J^s = A^s Y = A^sb X^b = A^sh X^h; (53): J^m with hybrid screws; (34) inverts."""
    model = chain(4, seed=2)
    q = state(model, 0)[0]
    J = value(mz.system_jacobian, model, q, "spatial")
    C = [SE3.from_matrix(x) for x in value(mz.forward_kinematics, model, q)]
    basis = np.eye(6)
    for screws in ("body", "hybrid", "reference"):
        A, X = mz.system_jacobian_factors(model, q, "spatial", screws)
        agree(A @ X, J)
        agree(A.inverse() @ A, np.eye(6 * model.nb))
    A, _ = mz.system_jacobian_factors(model, q, "spatial", "body")
    for j in range(model.nb):  # (33): the entries of a column are all Ad_{C_j}
        Ad = np.stack([C[j].push(Twist.unflatten(map(float, e))).array() for e in basis], axis=1)
        for i in range(j, model.nb):
            agree(A.matrix()[6 * i : 6 * i + 6, 6 * j : 6 * j + 6], Ad)
    A, X = mz.system_jacobian_factors(model, q, "mixed", "hybrid")
    agree(A @ X, value(mz.system_jacobian, model, q, "mixed"))


def test_screws_at_the_reference_are_the_spatial_ones_there():
    """(12): Y = J^s at the neutral configuration, of products of joints with frames between too,
    and of motion subgroups wherever they are.
    """
    neutral, Y = np.array(MODEL.neutral()), tables.joint_screws(MODEL)
    agree(value(mz.joint_screws, MODEL, neutral).T, Y)
    constant = np.repeat([b.joint.subgroup for b in MODEL], [b.joint.nv for b in MODEL])
    for q, which in (neutral, slice(None)), (state(MODEL, 0)[0], constant):
        X = mz.system_jacobian_factors(MODEL, q, "spatial", "reference").X.matrix()
        agree(X.reshape(MODEL.nb, 6, MODEL.nv).sum(axis=0).T[which], Y[which])


@pytest.mark.parametrize("thing", ["panda.urdf", None, np.zeros(3)])
def test_the_first_argument_is_a_model(thing):
    for options in ({}, {"rep": "body"}):
        with pytest.raises(TypeError, match=r"twists: the first argument is a .*; give a Model"):
            mz.twists(thing, [0.0], [0.0], **options)


def test_wrong_arguments_tell_the_right_ones():
    model = chain(2)
    with pytest.raises(TypeError, match=r"missing .* 'v'; call twists\(model, q, v, rep='body'\)"):
        mz.twists(model, [0.0, 0.0])
    with pytest.raises(TypeError, match=r"twists: got an unexpected keyword argument 'repr'; call"):
        mz.twists(model, [0.0, 0.0], [0.0, 0.0], repr="body")
