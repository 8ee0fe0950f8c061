"""The mass matrix three ways, its inverse and rate, and the Coriolis matrix."""

import numpy as np
import pytest
from support.cases import first
from support.mechanics import agree, along, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.algorithms.dynamics.operators import Operators, _blocks
from mozzi.algorithms.reference.dynamics import ClosedForm
from mozzi.model.generate import chain, random_tree

ONE_DOF = ["Revolute", "Prismatic", "Screw"]


@pytest.mark.parametrize("seed", range(4))
def test_three_ways(seed):
    """Composite bodies, Jᵀ 𝓜 J (81), and the operators H φ M φᵀ Hᵀ (0.14)."""
    model = loaded_tree(8, seed)
    q, *_ = state(model, seed)
    M = value(mz.mass_matrix, model, q)
    agree(M, ClosedForm(model, q, np.zeros(model.nv)).M)
    agree(M, Operators(model, *value(_blocks, model, q)).mass_matrix.dense())
    agree(M, M.T, 1e-15)
    agree(program_value(mz.mass_matrix, model, q, rolled=True)[0], M)


@pytest.mark.parametrize("seed", range(4))
def test_columns_are_inverse_dynamics(seed):
    """M e_k = τ(q, 0, e_k) − g."""
    model = loaded_tree(5, seed)
    q, *_ = state(model, seed)
    M, g, zero = value(mz.mass_matrix, model, q), value(mz.gravity_forces, model, q), np.zeros
    for k, e in enumerate(np.eye(model.nv)):
        agree(M[:, k], value(mz.inverse_dynamics, model, q, zero(model.nv), e) - g)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rolled", [False, True])
def test_the_inverse_undoes_the_mass_matrix(seed, rolled):
    model = loaded_tree(8, seed)
    q, *_ = state(model, seed)
    M = value(mz.mass_matrix, model, q)
    inverse = program_value(mz.mass_matrix_inverse, model, q, rolled=rolled)[0]
    agree(M @ inverse, np.eye(model.nv), 1e-11)
    agree(inverse, inverse.T, 1e-11)


def test_inverse_of_a_mechanism_in_several_pieces():
    """Trees that share nothing but the world do not see each other."""
    model = random_tree(10, 6)
    roots = [k for k in range(model.nb) if model.parents[k] < 0]
    if len(roots) < 2:
        builder = mz.Builder("two")
        for k in range(2):
            builder.add(f"b{k}", None, mz.Spherical(), mz.Inertia(1.0, (0.1, 0, 0), np.eye(3)))
        model = builder.build()
    q, *_ = state(model, 0)
    inverse = value(mz.mass_matrix_inverse, model, q)
    agree(inverse, np.linalg.inv(value(mz.mass_matrix, model, q)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rolled", [False, True])
def test_rate(seed, rolled):
    """Ṁ = J̇ᵀ 𝓜 J + Jᵀ 𝓜 J̇, Ploen (28), and the derivative of M along the motion."""
    model = loaded_tree(7, seed)
    q, v, *_ = state(model, seed)
    dM = program_value(mz.mass_matrix_rate, model, q, v, rolled=rolled)[0]
    agree(dM, ClosedForm(model, q, v).dM)
    agree(dM, along(lambda x: value(mz.mass_matrix, model, x), model, q, v), 1e-8)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rolled", [False, True])
def test_coriolis_matrix(seed, rolled):
    """C v are the Coriolis forces, Ṁ − 2C is skew, and C is Jᵀ (𝓜 J̇ + C̄ J), Ploen (37)."""
    model = loaded_tree(7, seed)
    q, v, *_ = state(model, seed)
    C = program_value(mz.coriolis_matrix, model, q, v, rolled=rolled)[0]
    bias, gravity = value(mz.bias_forces, model, q, v), value(mz.gravity_forces, model, q)
    agree(C @ v, bias - gravity)
    N = value(mz.mass_matrix_rate, model, q, v) - 2.0 * C
    agree(N, -N.T)
    agree(C, ClosedForm(model, q, v).C_skew())


def test_coriolis_matrix_is_linear_in_the_velocity():
    model = random_tree(6, 8)
    q, v, u, _ = state(model, 3)
    C = [value(mz.coriolis_matrix, model, q, x) for x in (v, u, 2.0 * v - 3.0 * u)]
    agree(C[2], 2.0 * C[0] - 3.0 * C[1])


def test_ploens_matrix_differs_where_three_axes_meet():
    """His [ω]J + J[ω] and Binet's [ϑω] give the same C v and skew-symmetry, but not the same C."""
    model = chain(5, seed=1)
    q, v, *_ = state(model, 1)
    form = ClosedForm(model, q, v)
    ploen, ours = form.C_skew(christoffel=False), form.C_skew()
    agree(ploen @ v, ours @ v)
    N = form.dM - 2.0 * ploen
    agree(N, -N.T)
    assert np.abs(ploen - ours).max() > 0.1


def test_the_matrix_of_84_is_not_skew():
    """Müller's (84) gives C v, but no skew-symmetric Ṁ − 2C."""
    model = chain(5, seed=1)
    q, v, *_ = state(model, 1)
    form = ClosedForm(model, q, v)
    agree(form.C_lagrange @ v, form.C_skew() @ v)
    N = form.dM - 2.0 * form.C_lagrange
    assert np.abs(N + N.T).max() > 0.1


@pytest.mark.parametrize("rolled", first(1, [False, True]))
@pytest.mark.parametrize("seed", first(1, range(3)))
def test_christoffel_symbols_make_the_coriolis_matrix(seed, rolled):
    model = random_tree(5, seed)
    q, v, *_ = state(model, seed)
    G = program_value(mz.christoffel, model, q, rolled=rolled)[0]
    agree(G @ v, value(mz.coriolis_matrix, model, q, v))


@pytest.mark.parametrize("seed", range(3))
def test_christoffel_symbols_are_derivatives_of_the_mass_matrix(seed):
    """Γ_ijk = ½ (∂_k M_ij + ∂_j M_ik − ∂_i M_jk), for joints of one degree of freedom."""
    model = random_tree(5, seed, joints=[*ONE_DOF, "Universal"])
    q, *_ = state(model, seed)
    units = np.eye(model.nv)
    dM = np.array([along(lambda x: value(mz.mass_matrix, model, x), model, q, e) for e in units])
    G = 0.5 * (np.einsum("kij->ijk", dM) + np.einsum("jik->ijk", dM) - dM)
    agree(value(mz.christoffel, model, q), G, 1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_christoffel_symbols_in_closed_form(seed):
    """Müller's (86) with r, s = max, min(j, k), and (87) with its linear part corrected."""
    model = random_tree(7, seed, joints=ONE_DOF)
    q, *_ = state(model, seed)
    G = value(mz.christoffel, model, q)
    agree(G, G.transpose(0, 2, 1))
    form = ClosedForm(model, q, np.zeros(model.nv))
    agree(form.christoffel(), G)
    agree(form.christoffel_binet(), G)


def test_christoffel_symbols_of_a_ball_are_a_connection():
    """Within joints whose velocities are no rates, Γ_ijk − Γ_ikj = Σ M_il c^l_kj."""
    builder = mz.Builder("top")
    inertia = mz.Inertia(2.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5]))
    builder.add("top", None, mz.Spherical(), inertia)
    model = builder.build()
    q, *_ = state(model, 0)
    G, M = value(mz.christoffel, model, q), value(mz.mass_matrix, model, q)
    cross = np.array([[np.cross(x, y) for y in np.eye(3)] for x in np.eye(3)])  # [k, j, l]
    agree(G - G.transpose(0, 2, 1), np.einsum("il,kjl->ijk", M, cross))


@pytest.mark.parametrize("seed", range(3))
def test_closed_symbols_of_any_joints(seed):
    """(86) and Binet's (87), for free bases, balls, planes, cardan joints and composites: the
    connection of the recursion, in a batch."""
    model = random_tree(6, seed)
    inertia = mz.Inertia(2.0, (0.1, 0.3, 0.2), np.diag([0.3, 0.4, 0.5]))
    floating = mz.Builder("floating").add("hull", None, mz.Free(), inertia).build()
    for m in (model, floating):
        q = m.random_configuration(seed, batch=(2,))
        form = mz.closed_form(m, q)
        G = np.stack([value(mz.christoffel, m, x) for x in q])
        agree(form.christoffel(), G)
        agree(form.christoffel_binet(), G)


def test_christoffel_with_armature_on_a_ball_joint():
    """Γ_ijk − Γ_ikj = Σ_l M_il c^l_kj with the M of the bodies: armature has no part in Γ."""
    model = random_tree(3, seed=5, joints=[mz.Spherical])
    rotors = model.with_dynamics(model.joint_names[1], armature=0.7)
    q = model.random_configuration(1)
    G = mz.christoffel(rotors, q)
    agree(G, mz.christoffel(model, q))
    c = np.zeros((model.nv,) * 3)  # [e_k, e_j] = c^l_kj e_l of so(3), for every ball
    for s in model.v_slices.values():
        for k, j, m in np.array([(0, 1, 2), (1, 2, 0), (2, 0, 1)]) + s.start:
            c[m, k, j], c[m, j, k] = 1.0, -1.0
    expected = np.einsum("il,lkj->ijk", mz.mass_matrix(model, q), c)
    agree(G - G.transpose(0, 2, 1), expected)
    v = np.random.default_rng(2).normal(size=model.nv)
    forces = mz.bias_forces(rotors, q, v) - mz.gravity_forces(rotors, q)
    agree(G @ v @ v, forces)
