"""The spatial operators: every lemma of Rodriguez, Jain and Kreutz-Delgado is a test here."""

import doctest
from pathlib import Path

import numpy as np
import pytest
from support.mechanics import agree, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.algorithms.dynamics.operators import Operators, _blocks
from mozzi.algorithms.reference.dynamics import ClosedForm
from mozzi.compiler import program_of
from mozzi.model.generate import chain, random_tree

SEEDS = range(3)


def make(seed, armature=False):
    model = loaded_tree(7, seed) if armature else random_tree(7, seed)
    q, v, *_ = state(model, seed)
    return model, q, v, at(model, q)


def at(model, q):
    """The operators, from the recursion as plain Python."""
    return Operators(model, *value(_blocks, model, q))


def dense(*operators):
    return [x.dense() for x in operators]


@pytest.mark.parametrize("seed", SEEDS)
def test_phi_is_the_resolvent_of_a_nilpotent_operator(seed):
    """φ = (1 − E_φ)⁻¹ = 1 + E_φ + E_φ² + …, (0.6), (0.12); ψ likewise, (0.27)."""
    _, _, _, o = make(seed)
    for E, phi in ((o.E_phi, o.phi), (o.E_psi, o.psi)):
        E, phi = dense(E, phi)
        power, total = np.eye(len(E)), np.eye(len(E))
        for _ in range(7):
            power = power @ E
            total = total + power
        agree(power, 0.0 * power)
        agree(phi, total)


@pytest.mark.parametrize("seed", SEEDS)
def test_twists_forces_and_momenta(seed):
    """V = φᵀ Hᵀ v, T = H φ f (0.14)."""
    model, q, v, o = make(seed)
    agree(o.phi.T @ (o.H.T @ v), value(mz.twists, model, q, v, "body").ravel())
    f = np.random.default_rng(seed).normal(size=6 * model.nb)
    agree(o.H @ (o.phi @ f), ClosedForm(model, q, v).J.T @ f)


@pytest.mark.parametrize("seed", SEEDS)
def test_transposes_and_products_are_those_of_the_matrices(seed):
    _, _, _, o = make(seed, armature=True)
    for x in (o.E_phi, o.phi, o.H, o.M, o.P, o.D, o.G, o.K, o.tau_bar, o.E_psi, o.psi, o.Omega):
        agree(x.T.dense(), x.dense().T)
        y = np.random.default_rng(seed).normal(size=(x.shape[1], 3))
        agree(x @ y, x.dense() @ y)
        agree(x @ y[:, 0], x.dense() @ y[:, 0])
    agree((o.H @ o.phi @ o.K).dense(), o.H.dense() @ o.phi.dense() @ o.K.dense())
    with pytest.raises(ValueError, match="does not act"):
        o.H @ np.zeros(3)
    with pytest.raises(ValueError, match="do not go"):
        o.H @ o.H


@pytest.mark.parametrize("seed", SEEDS)
def test_riccati_equation_of_articulated_inertias(seed):
    """M = P − E_φ (P − P Hᵀ D⁻¹ H P) E_φᵀ, (0.25); D = H P Hᵀ (+ armature), (0.26)."""
    _, _, _, o = make(seed, armature=True)
    M, P, H, E, D, R = dense(o.M, o.P, o.H, o.E_phi, o.D, o.R)
    agree(D, H @ P @ H.T + R)
    agree(M, P - E @ (P - P @ H.T @ np.linalg.inv(D) @ H @ P) @ E.T)


@pytest.mark.parametrize("seed", SEEDS)
def test_definitions(seed):
    """G = P Hᵀ D⁻¹, K = E_φ G, τ = G H, τ̄ = 1 − τ, E_ψ = E_φ τ̄, (0.26)."""
    _, _, _, o = make(seed)
    P, H, D, G, K, E_phi, E_psi, bar = dense(o.P, o.H, o.D, o.G, o.K, o.E_phi, o.E_psi, o.tau_bar)
    agree(G, P @ H.T @ np.linalg.inv(D))
    agree(K, E_phi @ G)
    agree(bar, np.eye(len(bar)) - G @ H)
    agree(E_psi, E_phi @ bar)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("armature", [False, True])
def test_lemma_0_1_innovations_factors_of_the_mass_matrix(seed, armature):
    """M = (1 + H φ K) D (1 + H φ K)ᵀ, (0.28)."""
    model, q, _, o = make(seed, armature)
    L, D = dense(o.factor, o.D)
    agree(L @ D @ L.T, value(mz.mass_matrix, model, q))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("armature", [False, True])
def test_lemma_0_2_inverse_factor(seed, armature):
    """(1 + H φ K)⁻¹ = 1 − H ψ K, (0.29)."""
    *_, o = make(seed, armature)
    agree((o.factor @ o.inverse_factor).dense(), np.eye(o.D.shape[0]))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("armature", [False, True])
def test_lemma_0_3_inverse_of_the_mass_matrix(seed, armature):
    """M⁻¹ = (1 − H ψ K)ᵀ D⁻¹ (1 − H ψ K), (0.30)."""
    model, q, _, o = make(seed, armature)
    agree((o.mass_matrix_inverse @ o.mass_matrix).dense(), np.eye(model.nv))
    agree(o.mass_matrix_inverse.dense(), value(mz.mass_matrix_inverse, model, q))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("armature", [False, True])
def test_lemma_0_4(seed, armature):
    """(1 − H ψ K) H φ = H ψ, (0.33)."""
    *_, o = make(seed, armature)
    agree((o.inverse_factor @ o.H @ o.phi).dense(), (o.H @ o.psi).dense())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("armature", [False, True])
def test_lemma_5_decomposition_of_omega(seed, armature):
    """Ω = Υ + ψ̃ᵀ Υ + Υ ψ̃, (.42), with Hᵀ D⁻¹ H = Υ − E_ψᵀ Υ E_ψ, (.41)."""
    *_, o = make(seed, armature)
    Y, H, D, E, psi = dense(o.Upsilon, o.H, o.D, o.E_psi, o.psi)
    agree(H.T @ np.linalg.inv(D) @ H, Y - _diagonal(E.T @ Y @ E))
    strict = psi - np.eye(len(psi))
    full = o.Omega.dense()
    related = (psi != 0.0) | (psi != 0.0).T  # blocks of bodies on one path; see the errata
    agree(full * related, (Y + strict.T @ Y + Y @ strict) * related)
    agree(_diagonal(full), Y)


def _diagonal(A):
    out = np.zeros_like(A)
    for k in range(0, len(A), 6):
        out[k : k + 6, k : k + 6] = A[k : k + 6, k : k + 6]
    return out


def test_lemma_5_is_complete_for_chains_only():
    """Across branches Ω(a, b) = ψᵀ(c, a) Υ(c) ψ(c, b), with c their outermost common body; (.42)
    has no such blocks."""
    builder = mz.Builder("fork")
    inertia = mz.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5]))
    builder.add("c", None, mz.Spherical(), inertia)
    for name in "ab":
        builder.add(name, "c", mz.Revolute((1, 1, 0)).between((0.3, 0.2, 0.1), None), inertia)
    model = builder.build()
    q, *_ = state(model, 2)
    o = at(model, q)
    full, psi, Y = dense(o.Omega, o.psi, o.Upsilon)
    block = psi[:6, 6:12].T @ Y[:6, :6] @ psi[:6, 12:18]
    agree(full[6:12, 12:18], block)
    assert np.abs(block).max() > 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_6(seed):
    """M = P − E_ψ P E_ψᵀ, (.45), and less K R Kᵀ where there is armature R."""
    for armature in (False, True):
        *_, o = make(seed, armature)
        M, P, E, K, R = dense(o.M, o.P, o.E_psi, o.K, o.R)
        agree(M, P - E @ P @ E.T - K @ R @ K.T)


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_7(seed):
    """(.46)–(.49): ψ̃ = ψ E_ψ = E_ψ ψ = ψ − 1, ψ M ψᵀ = P + ψ̃ P + P ψ̃ᵀ (on paths), …"""
    *_, o = make(seed)
    psi, E, M, P, H, D, K, phi = dense(o.psi, o.E_psi, o.M, o.P, o.H, o.D, o.K, o.phi)
    one = np.eye(len(psi))
    strict = psi - one
    agree(psi @ E, strict)  # (.46)
    agree(E @ psi, strict)
    agree(psi @ M @ psi.T, P + strict @ P + P @ strict.T)  # (.47)
    agree(np.linalg.inv(psi) @ phi, one + K @ H @ phi)  # (.48)
    agree(phi @ np.linalg.inv(psi), one + phi @ K @ H)
    agree(H @ psi @ M @ psi.T @ H.T, D)  # (.49)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rolled", [False, True])
def test_operational_admittance(seed, rolled):
    """Λ = J M⁻¹ Jᵀ, at bodies of one path and of different branches, and at a frame."""
    model = loaded_tree(8, seed)
    model = model.with_frame("tool", model.bodies[-1], (0.1, -0.2, 0.3))
    q, *_ = state(model, seed)
    frames = [model.bodies[-1], "tool", model.bodies[4], model.bodies[5]]
    J = np.vstack([value(mz.jacobian, model, q, frame, "body") for frame in frames])
    expected = J @ np.linalg.solve(value(mz.mass_matrix, model, q), J.T)
    got = program_value(mz.operational_admittance, model, q, frames=frames, rolled=rolled)[0]
    agree(got, expected)


@pytest.mark.parametrize("rolled", [False, True])
def test_admittance_of_the_world(rolled):
    """Frames that are fixed to the world give way by zero, and change nothing of others."""
    model = chain(3).with_frame("wall", "world", (0.1, 0.2, 0.3))
    q, *_ = state(model, 0)
    frames = ["wall", model.bodies[-1], "world"]
    got = program_value(mz.operational_admittance, model, q, frames=frames, rolled=rolled)[0]
    expected = np.zeros((18, 18))
    alone = program_value(mz.operational_admittance, model, q, frames=frames[1:2], rolled=rolled)
    expected[6:12, 6:12] = alone[0]
    agree(got, expected)


def test_admittance_costs_linearly():
    """For given frames, each further body costs the same."""
    flops = []
    for n in (10, 20, 40):
        model = chain(n)
        options = {"frames": [model.bodies[-1]]}
        flops.append(program_of(mz.operational_admittance, model, options=options).flops)
    assert flops[2] - flops[1] <= 2.2 * (flops[1] - flops[0])


def test_batches():
    """One set of operators for a batch of configurations, from the compiled recursion."""
    model = random_tree(4, 1)
    q = model.random_configuration(0, batch=(5,))
    v = np.random.default_rng(0).normal(size=(5, model.nv, 1))
    o = mz.operators(model, q)
    V = o.phi.T @ (o.H.T @ v)
    for k in range(5):
        agree(V[k, :, 0], value(mz.twists, model, q[k], v[k, :, 0], "body").ravel())


def test_sums_and_multiples_as_papers_write_them():
    """1 is the identity of the right size; E_ψ ψ = ψ − 1 = ψ E_ψ; (1 − H ψ K)(1 + H φ K) = 1."""
    model = random_tree(4, seed=2)
    q = model.random_configuration(np.random.default_rng(0), (2,))
    o = mz.operators(model, q)
    psi, phi = o.psi.dense(), o.phi.dense()
    agree((o.psi - 1).dense(), psi - np.eye(psi.shape[-1]))
    agree((o.E_psi @ o.psi).dense(), (o.psi - 1).dense())
    agree((o.psi @ o.E_psi).dense(), (o.psi - 1).dense())
    agree((2.0 * o.phi - o.psi * 0.5 + 3).dense(), 2 * phi - 0.5 * psi + 3 * np.eye(len(psi[0])))
    agree((-o.phi).T.dense(), -np.swapaxes(phi, -1, -2))
    one = (1 - o.H @ o.psi @ o.K) @ (1 + o.H @ o.phi @ o.K)
    agree(one.dense(), np.broadcast_to(np.eye(model.nv), (2, model.nv, model.nv)))
    with pytest.raises(ValueError, match="no identity"):
        o.H + 1


def test_every_lemma_is_a_line_of_the_page():
    """docs/theory/operators.md, run as it stands."""
    page = Path(__file__).parents[3] / "docs" / "theory" / "operators.md"
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert found.attempted > 50 and found.failed == 0


def test_velocities_are_needed_for_a_and_b():
    model = chain(2)
    with pytest.raises(ValueError, match=r"operators\(model, q, v\) has them"):
        _ = mz.operators(model, model.neutral()).a
