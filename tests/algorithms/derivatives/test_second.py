"""Hessians contracted with a covector, and partial derivatives of M and M⁻¹."""

import numpy as np
import pytest
from support.cases import first
from support.differences import complex_columns, complex_steps, fifty_digits
from support.mechanics import agree, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model.generate import chain, random_tree

CASES = {
    "inverse": (mz.inverse_dynamics_derivatives, mz.inverse_dynamics_hessian),
    "forward": (mz.forward_dynamics_derivatives, mz.forward_dynamics_hessian),
}


@pytest.mark.parametrize("which", CASES)
@pytest.mark.parametrize("seed", range(4))
def test_hessians_are_derivatives_of_contracted_jacobians(which, seed):
    """H_xy[i, j] = ∂_yj ∂_xi (λᵀ f), by complex steps through the analytic first order."""
    first, second = CASES[which]
    model = loaded_tree(4, seed)
    q, v, x, covector = state(model, seed)

    def gradient(k, *arrays):
        return covector @ np.array(first.python(model, *arrays)[k], dtype=object)

    qq, qv, vv, qx = value(second, model, q, v, x, covector)
    agree(qq, complex_steps(lambda y: gradient(0, y, v, x), model, q), 1e-10)
    agree(qv, complex_columns(lambda y: gradient(0, q, y, x), v), 1e-10)
    agree(vv, complex_columns(lambda y: gradient(1, q, y, x), v), 1e-10)
    agree(qx, complex_columns(lambda y: gradient(0, q, v, y), x), 1e-10)


def test_hessians_to_fifty_digits():
    """On a chain of spherical and revolute joints, at rest and moving."""
    model = random_tree(3, 4, joints=["Spherical", "Revolute"])
    q, v, a, covector = state(model, 0)
    for velocity in (v, 0.0 * v):
        qq, _, _, qa = value(mz.inverse_dynamics_hessian, model, q, velocity, a, covector)

        def gradient(y, k=0, velocity=velocity):
            D = mz.inverse_dynamics_derivatives.python(model, y, velocity, a)
            return covector @ np.array(D[k], dtype=object)

        agree(qq, fifty_digits(gradient, model, q), 1e-11)
        agree(qa.T, fifty_digits(lambda y: gradient(y, 2), model, q), 1e-11)


@pytest.mark.parametrize("angle", [0.0, 1e-9, np.pi - 1e-9, np.pi])
def test_hessians_of_spherical_joints_near_their_poles(angle):
    """φ → 0 and π, at rest and moving, compiled."""
    model = random_tree(2, 2, joints=["Spherical"])
    s, c = np.sin(angle / 2), np.cos(angle / 2)
    q = np.tile([0.6 * s, 0.0, 0.8 * s, c], 2)
    _, v, a, covector = state(model, 0)
    for velocity in (v, 0.0 * v):
        found = mz.inverse_dynamics_hessian(model, q, velocity, a, covector)

        def gradient(y, velocity=velocity):
            D = mz.inverse_dynamics_derivatives.python(model, y, velocity, a)
            return covector @ np.array(D[0], dtype=object)

        agree(found[0], fifty_digits(gradient, model, q), 1e-11)
        assert all(np.isfinite(x).all() for x in found)


@pytest.mark.parametrize("seed", range(3))
def test_gradients(seed):
    """(∂τ/∂q)ᵀ λ, (∂τ/∂v)ᵀ λ and M λ."""
    model = loaded_tree(6, seed)
    q, v, a, covector = state(model, seed)
    found = mz.inverse_dynamics_gradient(model, q, v, a, covector)
    for x, D in zip(found, value(mz.inverse_dynamics_derivatives, model, q, v, a)):
        agree(x, D.T @ covector)


def test_kernels_take_batches():
    model = random_tree(3, 1)
    rng = np.random.default_rng(0)
    q, (v, x, c) = model.random_configuration(rng, (4,)), rng.normal(size=(3, 4, model.nv))
    for _, second in CASES.values():
        out = second(model, q, v, x, c)
        for k in range(4):
            for a, b in zip(out, value(second, model, q[k], v[k], x[k], c[k])):
                agree(a[k], b, 1e-9)


def test_a_hessian_is_linear_in_the_covector_and_symmetric_for_flat_coordinates():
    model = chain(5, seed=3)
    q, v, a, covector = state(model, 0)
    once = value(mz.inverse_dynamics_hessian, model, q, v, a, covector)
    twice = value(mz.inverse_dynamics_hessian, model, q, v, a, 2.0 * covector)
    for x, y in zip(once, twice):
        agree(2.0 * x, y)
    agree(once[0], once[0].T)
    agree(once[2], once[2].T)


def test_costs():
    """A gradient takes at most 2.5 times the operations of τ, a Hessian as many per direction as
    about two τ."""
    model = chain(7)
    tau = program_of(mz.inverse_dynamics, model).flops
    assert program_of(mz.inverse_dynamics_gradient, model).flops <= 2.5 * tau
    assert program_of(mz.inverse_dynamics_hessian, model).flops <= 2 * 14 * tau


# -- M and M⁻¹ --


@pytest.mark.parametrize("seed", first(2, range(4)))
def test_partial_derivatives_of_the_mass_matrix(seed):
    model = loaded_tree(4, seed)
    q, v, *_ = state(model, seed)
    dM = value(mz.mass_matrix_partials, model, q)
    agree(dM, complex_steps(lambda y: mz.mass_matrix.python(model, y), model, q), 1e-11)
    agree(dM @ v, value(mz.mass_matrix_rate, model, q, v))
    agree(program_value(mz.mass_matrix_partials, model, q, rolled=True)[0], dM)


@pytest.mark.parametrize("seed", first(1, range(4)))
def test_partial_derivatives_and_rate_of_the_inverse(seed):
    """∂(M⁻¹) = −M⁻¹ ∂M M⁻¹, contracted with v the rate."""
    model = loaded_tree(4, seed)
    q, v, *_ = state(model, seed)
    dX = value(mz.mass_matrix_inverse_partials, model, q)
    expected = complex_steps(lambda y: mz.mass_matrix_inverse.python(model, y), model, q)
    agree(dX, expected, 1e-9)
    agree(dX @ v, value(mz.mass_matrix_inverse_rate, model, q, v), 1e-9)
    agree(program_value(mz.mass_matrix_inverse_partials, model, q, rolled=True)[0], dX, 1e-9)


@pytest.mark.parametrize(
    "function", [mz.inverse_dynamics_hessian, mz.forward_dynamics_hessian, mz.christoffel]
)
def test_loops_over_directions_compute_what_straight_lines_do(function, monkeypatch):
    """Joints of all kinds, on three targets; and the program has one direction, not all."""
    from mozzi.algorithms.calls import inlining

    model = loaded_tree(6, 3)
    q, v, a, covector = state(model, 3)
    given = {"q": q, "v": v, "a": a, "tau": a, "covector": covector}
    args = [given[name] for name in function.required]
    exact = mz.compile(function, model, rolled=False)(*args)
    flat = program_of(function, model, rolled=False).length
    monkeypatch.setattr(inlining, "LONG_WAYS", 0)
    if function is not mz.forward_dynamics_hessian:  # its products of matrices are dense then
        assert program_of(function, model).length < flat
    for found in (
        mz.compile(function, model)(*args),
        mz.compile(function, model, target="interpret")(*args),
        function.python(model, *args),
    ):
        both = zip(found, exact) if isinstance(exact, tuple) else [(found, exact)]
        for x, y in both:
            agree(np.asarray(x, dtype=float), y, 1e-11)


@pytest.mark.parametrize(
    "bodies, joints", [(7, ("Revolute", "Universal", "Spherical")), (22, ("Revolute", "Prismatic"))]
)
def test_partial_derivatives_of_the_inverse_in_loops(bodies, joints):
    """Loops over directions, rows and columns, with ∂M from straight-line code and from loops over
    bodies, compute what the other programs do."""
    function, model = mz.mass_matrix_inverse_partials, random_tree(bodies, 2, joints=joints)
    q = model.random_configuration(0)
    assert program_of(function, model).rolled
    exact = mz.compile(function, model, rolled=bodies > 20)(q)
    agree(function(model, q), exact, 1e-11)


@pytest.mark.slow
def test_rows_of_hessians_in_loops():
    """Where rows are many, what M⁻¹ and the derivatives of τ do to them is a loop, and computes
    what straight-line code does."""
    model = random_tree(7, 5, joints=("Spherical", "Revolute"))
    function, args = mz.forward_dynamics_hessian, state(model, 1)
    assert model.nv > 12 and program_of(function, model).rolled
    straight = mz.compile(function, model, rolled=False)(*args)
    for x, y in zip(function(model, *args), straight):
        agree(x, y, 1e-10)
