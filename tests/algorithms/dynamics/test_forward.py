"""Forward and hybrid dynamics against the mass matrix, and as each other's extreme cases."""

import numpy as np
import pytest
from support.mechanics import agree, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.algorithms.reference.dynamics import ClosedForm
from mozzi.compiler import program_of
from mozzi.model.generate import JOINTS, chain, random_tree


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rolled", [False, True])
def test_forward_dynamics_solves_the_equations_of_motion(seed, rolled):
    """M a = τ − C v − g + Σ Jᵀ W."""
    model = loaded_tree(8, seed)
    q, v, tau, _ = state(model, seed)
    W = np.random.default_rng(seed).normal(size=(model.nb, 6))
    form = ClosedForm(model, q, v)
    expected = form.accelerations(tau + form.J.T @ W.ravel())
    agree(program_value(mz.forward_dynamics, model, q, v, tau, W, rolled=rolled)[0], expected, 1e-9)


@pytest.mark.parametrize("name", sorted(JOINTS))
def test_every_joint_accelerates_as_its_closed_form(name):
    model = random_tree(4, 3, joints=[name])
    q, v, tau, _ = state(model, 2)
    agree(value(mz.forward_dynamics, model, q, v, tau), ClosedForm(model, q, v).accelerations(tau))


def _subsets(model, rng):
    """Nothing, everything, whole joints, and single coordinates of joints."""
    joints = [n for n in model.joint_names if model.joint(n).nv]
    some = [n for n in joints if rng.random() < 0.5]
    parts = [(n, int(rng.integers(model.joint(n).nv))) for n in joints if rng.random() < 0.5]
    return [], joints, some, parts, [*some, *parts]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("which", range(5))
def test_hybrid_dynamics_with_any_coordinates_prescribed(seed, which):
    """Given a where prescribed and τ elsewhere, the rest of a motion (q, v, a, τ) comes back."""
    model = loaded_tree(6, seed)
    q, v, a, _ = state(model, seed)
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(model.nb, 6))
    tau = value(mz.inverse_dynamics, model, q, v, a, W, resistance=True)
    prescribed = _subsets(model, rng)[which]
    held = np.zeros(model.nv, bool)
    for item in prescribed:
        name, k = item if isinstance(item, tuple) else (item, None)
        own = np.arange(model.nv)[model.v_slices[name]]
        held[own if k is None else own[k]] = True
    tau_in, a_in = np.where(held, np.nan, tau), np.where(held, a, np.nan)
    options = {"prescribed": prescribed, "resistance": True}
    for rolled in (False, True):
        out = program_value(
            mz.hybrid_dynamics, model, q, v, tau_in, a_in, W, rolled=rolled, **options
        )
        agree(out[0], tau, 1e-9)
        agree(out[1], a, 1e-9)


def test_inputs_that_are_not_given_are_not_read():
    """NaN in τ at prescribed joints, and in a at the others, does not spread (see above), and the
    compiled kernel agrees."""
    model = random_tree(5, 7)
    q, v, a, _ = state(model, 1)
    tau = value(mz.inverse_dynamics, model, q, v, a)
    name = next(n for n in model.joint_names if model.joint(n).nv)
    held = np.zeros(model.nv, bool)
    held[model.v_slices[name]] = True
    out = mz.hybrid_dynamics(
        model, q, v, np.where(held, np.nan, tau), np.where(held, a, np.nan), prescribed=[name]
    )
    agree(out[0], tau, 1e-9)
    agree(out[1], a, 1e-9)


def test_wrong_prescriptions_are_named():
    model = chain(2)
    zero = np.zeros(2)
    with pytest.raises(mz.ModelError, match="no joint 'knee'"):
        mz.hybrid_dynamics(model, zero, zero, zero, zero, prescribed=["knee"])
    with pytest.raises(mz.ModelError, match="coordinates 0 to 0"):
        mz.hybrid_dynamics(model, zero, zero, zero, zero, prescribed=[(model.joint_names[0], 1)])


def test_a_body_without_inertia_is_named():
    builder = mz.Builder("massless")
    builder.add("arm", None, mz.Revolute("y"), mz.Inertia(1.0, (0.1, 0, 0), np.eye(3)))
    builder.add("tip", "arm", mz.Revolute("z"), mz.Inertia(0.0, (0, 0, 0), np.zeros((3, 3))))
    model = builder.build()
    with pytest.raises(mz.SingularError, match="'tip' has no inertia"):
        mz.forward_dynamics(model, *np.zeros((3, 2)))
    geared = model.with_dynamics(model.joint_names[1], armature=0.1)
    assert np.isfinite(mz.forward_dynamics(geared, *np.zeros((3, 2)))).all()


@pytest.mark.parametrize("n", [7, 20])
def test_hybrid_costs_no_more_than_forward(n):
    model = chain(n)
    forward = program_of(mz.forward_dynamics, model).flops
    for prescribed in (model.joint_names[::2], model.joint_names[1::2], model.joint_names):
        hybrid = program_of(mz.hybrid_dynamics, model, options={"prescribed": prescribed}).flops
        assert hybrid <= 1.1 * forward


def test_eulers_angles_are_a_joint():
    """Three hinges z, x, z are singular where all are zero, and a joint elsewhere: a top moves on
    them as in a ball.
    """
    top = mz.Inertia(1.0, (0.02, 0.0, 0.3), np.diag([0.1, 0.12, 0.03]))
    angles = mz.Composite(mz.Revolute("z"), mz.Revolute("x"), mz.Revolute("z"))
    by_angles = mz.Builder("angles").add("top", None, angles, top).build()
    in_a_ball = mz.Builder("ball").add("top", None, mz.Spherical(), top).build()
    q, v = np.array([0.1, 0.8, 0.2]), np.array([2.0, 0.5, 9.0])
    R = mz.SE3.from_matrix(mz.pose(by_angles, q, "top")).R
    ball = np.array([float(x) for x in R.quaternion().flatten()])
    one = mz.simulate(by_angles, q, v, 0.2, 1e-3)
    other = mz.simulate(in_a_ball, ball, mz.twists(by_angles, q, v)[0, :3], 0.2, 1e-3)
    same = mz.pose(in_a_ball, other.q[-1], "top")
    np.testing.assert_allclose(mz.pose(by_angles, one.q[-1], "top"), same, atol=1e-8)


@pytest.mark.parametrize("axis", [(0, 0, 1), (0.3, 0.5, 0.7)])
def test_what_turns_without_turning_mass_is_named(axis):
    """A body without mass on an axis, and a heavy one on it about the same axis: the second gives
    way to whatever turns the first, at any state.
    """
    heavy = mz.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.2, 0.25]))
    model = (
        mz.Builder().add("light", None, mz.Revolute(axis), mz.Inertia.zero())
        .add("heavy", "light", mz.Revolute(axis), heavy).build()
    )  # fmt: skip
    zero = np.zeros(2)
    for call in (
        lambda: mz.forward_dynamics(model, zero, zero, zero),
        lambda: mz.mass_matrix_inverse(model, zero),
        lambda: mz.forward_dynamics_derivatives(model, zero, zero, zero),
        lambda: mz.simulate(model, zero, zero, 0.1, 0.01),
    ):
        with pytest.raises(mz.SingularError, match="body 'light' has no inertia"):
            call()
    with pytest.raises(mz.SingularError, match="forces determine no acceleration"):
        mz.simulate(model, zero, zero, 0.1, 0.01, "generalized_alpha")
