"""Derivatives of inverse, forward and hybrid dynamics, three ways each."""

import itertools

import numpy as np
import pytest
from support.cases import first
from support.differences import complex_columns, complex_steps, fifty_digits
from support.mechanics import agree, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.algorithms.derivatives.second import tangent_basis
from mozzi.algorithms.dynamics.articulated_inverse import DEEP, depth
from mozzi.algorithms.recursion.mechanism import mechanism
from mozzi.compiler import program_of
from mozzi.model.generate import JOINTS, chain, random_tree
from mozzi.program.differentiate import jacobian
from mozzi.program.meaning import interpret

DYNAMICS = {
    "inverse": (mz.inverse_dynamics, mz.inverse_dynamics_derivatives),
    "forward": (mz.forward_dynamics, mz.forward_dynamics_derivatives),
}
both = pytest.mark.parametrize("which", DYNAMICS)


def wrenches(model, seed=0):
    return np.random.default_rng(seed).normal(size=(model.nb, 6))


# -- differences --


@both
@pytest.mark.parametrize("seed", range(6))
def test_complex_steps(which, seed):
    """Trees of all joints, with armature and external wrenches."""
    function, derivatives = DYNAMICS[which]
    model = loaded_tree(5, seed)
    q, v, x, _ = state(model, seed)
    W = wrenches(model)
    dq, dv, dx = value(derivatives, model, q, v, x, W)
    agree(dq, complex_steps(lambda y: function.python(model, y, v, x, W), model, q), 1e-11)
    agree(dv, complex_columns(lambda y: function.python(model, q, y, x, W), v), 1e-11)
    agree(dx, complex_columns(lambda y: function.python(model, q, v, y, W), x), 1e-11)


@both
@pytest.mark.parametrize("name", sorted(JOINTS))
def test_every_joint_to_fifty_digits(which, name):
    """A chain of two joints of one type, behind a joint that turns."""
    function, derivatives = DYNAMICS[which]
    model = random_tree(3, 5, joints=[name])
    q, v, x, _ = state(model, 4)
    dq = value(derivatives, model, q, v, x)[0]
    agree(dq, fifty_digits(lambda y: function.python(model, y, v, x), model, q), 1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_hybrid_dynamics(seed):
    """Both outputs with respect to q, v and both inputs, for mixed prescriptions."""
    model = loaded_tree(4, seed)
    q, v, tau, a = state(model, seed)
    rng = np.random.default_rng(seed)
    joints = [n for n in model.joint_names if model.joint(n).nv]
    prescribed = [n for n in joints if rng.random() < 0.4]
    prescribed += [(n, 0) for n in joints if rng.random() < 0.4]
    options = {"prescribed": prescribed, "wrenches": wrenches(model)}
    found = value(mz.hybrid_dynamics_derivatives, model, q, v, tau, a, **options)

    def run(*arrays):
        return np.array(mz.hybrid_dynamics.python(model, *arrays, **options), dtype=object)

    by_q = complex_steps(lambda y: run(y, v, tau, a), model, q)
    by_v = complex_columns(lambda y: run(q, y, tau, a), v)
    by_tau = complex_columns(lambda y: run(q, v, y, a), tau)
    by_a = complex_columns(lambda y: run(q, v, tau, y), a)
    for k, expected in enumerate((by_q, by_v, by_tau, by_a)):
        agree(found[k], expected[0], 1e-10)
        agree(found[4 + k], expected[1], 1e-10)


def test_hybrid_dynamics_between_its_extremes():
    """With nothing prescribed it is forward dynamics, with everything inverse dynamics."""
    model = loaded_tree(5, 3)
    q, v, tau, a = state(model, 1)
    joints = [n for n in model.joint_names if model.joint(n).nv]
    free = value(mz.hybrid_dynamics_derivatives, model, q, v, tau, a)
    for x, y in zip(free[4:7], value(mz.forward_dynamics_derivatives, model, q, v, tau)):
        agree(x, y)
    agree(free[2], np.eye(model.nv))
    held = value(mz.hybrid_dynamics_derivatives, model, q, v, tau, a, prescribed=joints)
    expected = value(mz.inverse_dynamics_derivatives, model, q, v, a)
    for k, y in zip((0, 1, 3), expected):
        agree(held[k], y)
    agree(held[7], np.eye(model.nv))


@both
@pytest.mark.parametrize("seed", first(1, range(4)))
def test_damping_and_springs(which, seed):
    """With resistance, whose friction is constant near v, on joints of all types."""
    function, derivatives = DYNAMICS[which]
    model = loaded_tree(5, seed)
    q, v, x, _ = state(model, seed)
    options = {"resistance": True}
    dq, dv, _ = value(derivatives, model, q, v, x, **options)
    run = lambda *arrays: function.python(model, *arrays, **options)
    agree(dq, fifty_digits(lambda y: run(y, v, x), model, q), 1e-10)
    h = 0.5 * np.abs(v).min()  # quadratic in v while no velocity changes its sign
    ends = [[run(q, v + sign * h * e, x) for e in np.eye(model.nv)] for sign in (1, -1)]
    agree(dv, np.subtract(*ends).astype(float).T / (2 * h), 1e-8)
    out = program_value(derivatives, model, q, v, x, rolled=True, **options)
    agree(out[0], dq)
    agree(out[1], dv)


@pytest.mark.parametrize("seed", range(3))
def test_wrenches(seed):
    """Joint forces and accelerations are affine in the external wrenches."""
    model = loaded_tree(6, seed)
    q, v, tau, a = state(model, seed)
    W = wrenches(model)
    for function, derivative, x in (
        (mz.inverse_dynamics, mz.inverse_dynamics_wrench_derivatives, a),
        (mz.forward_dynamics, mz.forward_dynamics_wrench_derivatives, tau),
    ):
        D = value(derivative, model, q)
        change = value(function, model, q, v, x, W) - value(function, model, q, v, x)
        agree(np.einsum("ijk,jk->i", D, W), change)
        agree(program_value(derivative, model, q, rolled=True)[0], D)


# -- program differentiation --


@both
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("seed", range(3))
def test_recursions_agree_with_program_differentiation(which, mode, seed):
    function, derivatives = DYNAMICS[which]
    model = loaded_tree(4, seed)
    x = state(model, seed)[:3]
    names = ("q", "v", "a" if which == "inverse" else "tau")

    def traced(q, v, y):
        out = function(model, q, v, y)
        by_q, by_v, by_y = (jacobian(out, z, mode) for z in (q, v, y))
        return by_q @ tangent_basis(model, q), by_v, by_y

    shapes = {n: (len(y),) for n, y in zip("qvy", x)}
    program = program_of(traced, model, rolled=False, inputs=shapes)
    n = model.nv
    expected = [np.array(y, float).reshape(n, n) for y in interpret(program, x)]
    for y, z in zip(value(derivatives, model, **dict(zip(names, x))), expected):
        agree(y, z, 1e-10)


# -- one source, three lives --


@pytest.mark.parametrize("seed", first(0, range(4)))
def test_rolled_is_unrolled(seed):
    model = loaded_tree(4, seed)
    q, v, x, y = state(model, seed)
    joints = [n for n in model.joint_names if model.joint(n).nv]
    for algorithm, arrays, options in (
        (mz.inverse_dynamics_derivatives, (q, v, x), {}),
        (mz.forward_dynamics_derivatives, (q, v, x), {}),
        (mz.hybrid_dynamics_derivatives, (q, v, x, y), {"prescribed": joints[::2]}),
    ):
        expected = value(algorithm, model, *arrays, **options)
        for rolled in (False, True):
            out = program_value(algorithm, model, *arrays, rolled=rolled, **options)
            for a, b in zip(out, expected, strict=True):
                agree(a, b)


@both
def test_kernels(which):
    """Compiled, over a batch; rolled where the model is large."""
    derivatives = DYNAMICS[which][1]
    for model in (random_tree(3, 1), chain(22, seed=2)):
        rng = np.random.default_rng(0)
        q, (v, x) = model.random_configuration(rng, (3,)), rng.normal(size=(2, 3, model.nv))
        out = derivatives(model, q, v, x)
        for k in range(3):
            for a, b in zip(out, value(derivatives, model, q[k], v[k], x[k])):
                agree(a[k], b, 1e-8 if model.nb > 10 else 1e-10)


# -- laws --


def deep(joints, n=44):
    """A chain that carries a branch at every fifth body, more than `DEEP` joints deep."""
    rng = np.random.default_rng(7)
    builder = mz.Builder("deep")
    for k in range(n):
        body = mz.Inertia(1.0, 0.1 * rng.normal(size=3), np.diag(rng.uniform(1.0, 1.5, 3)))
        parent = None if k == 0 else f"{k - 1}"
        joint = joints[k % len(joints)]
        frame = mz.SE3.exp(mz.Twist.from_array(0.3 * rng.normal(size=6)))
        builder.add(f"{k}", parent, joint.between(frame), body, armature=0.1)
        if k % 5 == 0:
            builder.add(f"twig {k}", f"{k}", mz.Revolute("y").between(frame), body)
    return builder.build()


@pytest.mark.parametrize("joints", [(mz.Revolute("x"),), (mz.Spherical(), mz.Prismatic("y"))])
def test_derivatives_of_deep_trees_cancel(joints):
    """The same law where M⁻¹ is applied by articulated bodies: rolled, beyond 40 joints deep."""
    model = deep(joints)
    assert depth(mechanism(model, rolled=True)) > DEEP
    q, v, tau, _ = state(model, 0)
    a = mz.forward_dynamics(model, q, v, tau)
    tau_q, tau_v, M = mz.inverse_dynamics_derivatives(model, q, v, a)
    a_q, a_v, a_tau = mz.forward_dynamics_derivatives(model, q, v, tau)
    agree(tau_q, -M @ a_q, 1e-9)
    agree(tau_v, -M @ a_v, 1e-9)
    agree(M @ a_tau, np.eye(model.nv), 1e-9)


def test_operations_of_long_chains_grow_with_their_square():
    counts = [program_of(mz.forward_dynamics_derivatives, chain(n)).flops for n in (50, 100, 200)]
    assert all(4.2 * a > b for a, b in itertools.pairwise(counts))


@pytest.mark.parametrize("seed", range(3))
def test_forward_and_inverse_derivatives_cancel(seed):
    """τ(q, v, a(q, v, τ)) = τ:  ∂τ/∂q + M ∂a/∂q = 0, ∂τ/∂v + M ∂a/∂v = 0, M ∂a/∂τ = 1."""
    model = loaded_tree(6, seed)
    q, v, tau, _ = state(model, seed)
    a = value(mz.forward_dynamics, model, q, v, tau)
    tau_q, tau_v, M = value(mz.inverse_dynamics_derivatives, model, q, v, a)
    a_q, a_v, a_tau = value(mz.forward_dynamics_derivatives, model, q, v, tau)
    agree(tau_q, -M @ a_q, 1e-9)
    agree(tau_v, -M @ a_v, 1e-9)
    agree(M @ a_tau, np.eye(model.nv), 1e-9)
    agree(M, value(mz.mass_matrix, model, q))


def test_damping_forces_of_motion_give_twice_the_rate_of_the_mass_matrix():
    """∂τ/∂v + (∂τ/∂v)ᵀ = 2 Ṁ for coordinates that are numbers (a Helmholtz condition)."""
    model = random_tree(6, 2, joints=["Revolute", "Prismatic", "Universal", "Screw"])
    q, v, a, _ = state(model, 0)
    dv = value(mz.inverse_dynamics_derivatives, model, q, v, a)[1]
    agree(dv + dv.T, 2.0 * value(mz.mass_matrix_rate, model, q, v))


def test_gravity_is_the_gradient_of_a_potential():
    """At rest ∂τ/∂q is symmetric, for coordinates that are numbers."""
    model = random_tree(6, 2, joints=["Revolute", "Prismatic", "Universal", "Screw"])
    q, zero = state(model, 0)[0], np.zeros(model.nv)
    dq = value(mz.inverse_dynamics_derivatives, model, q, zero, zero)[0]
    agree(dq, dq.T)


def test_a_floating_mechanism_does_not_feel_where_it_is():
    """Columns of the position of a free base are exactly zero, and so are those of its attitude
    without gravity."""
    model = random_tree(5, 1, joints=["Revolute"])
    builder = mz.Builder("floating", gravity=(0.0, 0.0, 0.0))
    builder.add("base", None, mz.Free(), mz.Inertia(2.0, (0.1, 0, 0), np.eye(3)))
    builder.add("arm", "base", mz.Revolute("y"), mz.Inertia(1.0, (0, 0, 0.3), 0.1 * np.eye(3)))
    model = builder.build()
    q, v, a, _ = state(model, 0)
    dq = value(mz.inverse_dynamics_derivatives, model, q, v, a)[0]
    assert not dq[:, :6].any()
    a_q = value(mz.forward_dynamics_derivatives, model, q, v, a)[0]
    assert not a_q[:, :6].any()


# -- degenerate states --


def _degenerate():
    rng = np.random.default_rng(0)
    arm = random_tree(4, 9, joints=["Revolute"])
    yield "at rest", arm, arm.random_configuration(rng), np.zeros(arm.nv)
    aligned = chain(5, seed=1)
    yield "neutral", aligned, np.zeros(aligned.nq), rng.normal(size=aligned.nv)
    builder = mz.Builder("parallel axes")
    for k in range(3):
        parent = f"link{k - 1}" if k else None
        inertia = mz.Inertia(1.0, (0.2, 0, 0), 0.01 * np.eye(3))
        builder.add(f"link{k}", parent, mz.Revolute("z"), inertia, placement=(0.3, 0, 0))
    stretched = builder.build()
    yield "stretched", stretched, np.zeros(3), rng.normal(size=3)
    spherical = random_tree(3, 2, joints=["Spherical"])
    one = np.tile([0.0, 0.0, 0.0, 1.0], 3)
    yield "φ = 0", spherical, one, rng.normal(size=9)
    yield "φ = 0 at rest", spherical, one, np.zeros(9)
    for angle in (1e-12, 1e-7, 1e-3, np.pi - 1e-9, np.pi):
        s, c = np.sin(angle / 2), np.cos(angle / 2)
        q = np.tile([0.6 * s, 0.0, 0.8 * s, c], 3)
        yield f"φ = {angle:g}", spherical, q, rng.normal(size=9)


@both
@pytest.mark.parametrize("case", list(_degenerate()), ids=lambda case: case[0])
def test_degenerate_states(which, case):
    """Zero velocity, aligned and parallel axes, spherical joints at φ → 0 and π: exact, finite, and
    the compiled kernel says the same."""
    function, derivatives = DYNAMICS[which]
    _, model, q, v = case
    x = np.random.default_rng(5).normal(size=model.nv)
    dq, dv, dx = value(derivatives, model, q, v, x)
    agree(dq, fifty_digits(lambda y: function.python(model, y, v, x), model, q), 1e-11)
    agree(dv, complex_columns(lambda y: function.python(model, q, y, x), v), 1e-11)
    for a, b in zip(derivatives(model, q, v, x), (dq, dv, dx)):
        agree(a, b)


#: Operations of chains of seven revolute bodies in general position, unrolled: not to be exceeded.
FLOPS = {
    "inverse_dynamics_derivatives": 4921,
    "forward_dynamics_derivatives": 7339,
    "inverse_dynamics_gradient": 1894,
    "inverse_dynamics_hessian": 14409,
    "forward_dynamics_hessian": 22552,
    "inverse_dynamics_rates": 5898,
    "mass_matrix_partials": 3586,
}


@pytest.mark.parametrize("name", FLOPS)
def test_operations(name):
    assert program_of(getattr(mz, name), chain(7), rolled=False).flops <= FLOPS[name]


def test_fewer_operations_than_program_differentiation():
    """The recursion over pairs of joints takes less than sweeps through the program of τ."""
    model = chain(7)

    def swept(q, v, a):
        tau = mz.inverse_dynamics(model, q, v, a)
        return jacobian(tau, q), jacobian(tau, v), mz.mass_matrix(model, q)

    swept_flops = program_of(swept, model, rolled=False).flops
    assert 1.5 * program_of(mz.inverse_dynamics_derivatives, model).flops < swept_flops


def test_few_bodies_with_many_freedoms_are_rolled():
    """Jacobians of ball joints in a row are short programs, which grow with nothing, and
    derivatives all the same; those of hinges are straight.
    """
    for function in (mz.inverse_dynamics_derivatives, mz.forward_dynamics_derivatives):
        models = chain(18, mz.Spherical()), chain(24, mz.Spherical()), chain(36, mz.Revolute("x"))
        short, long, hinges = (program_of(function, model).length for model in models)
        assert long <= short < hinges / 5
    q, v, x, _ = state(models[0], 0)
    h, d = 1e-6, np.random.default_rng(1).normal(size=models[0].nv)
    ahead, behind = (
        mz.inverse_dynamics(models[0], mz.integrate(models[0], q, e * d), v, x) for e in (h, -h)
    )
    dq, *_ = mz.inverse_dynamics_derivatives(models[0], q, v, x)
    agree(dq @ d, (ahead - behind) / (2.0 * h), 1e-6)
