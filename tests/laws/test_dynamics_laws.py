"""Laws of the dynamics, over random trees of all joint types."""

import numpy as np
from hypothesis import given, settings
from support.mechanics import agree, along, mechanisms, seeds, state, value

import mozzi as mz

few = settings(max_examples=25)


@few
@given(mechanisms(), seeds)
def test_forward_undoes_inverse(model, seed):
    """ID ∘ FD = 1, with armature, resistance and wrenches."""
    q, v, tau, _ = state(model, seed)
    W = np.random.default_rng(seed).normal(size=(model.nb, 6))
    a = value(mz.forward_dynamics, model, q, v, tau, W, resistance=True)
    agree(value(mz.inverse_dynamics, model, q, v, a, W, resistance=True), tau, 1e-9)


@few
@given(mechanisms(), seeds)
def test_power_balance(model, seed):
    """d/dt (kinetic + potential energy) is the power of the joint forces."""
    q, v, tau, _ = state(model, seed)
    a = value(mz.forward_dynamics, model, q, v, tau)
    M, dM = value(mz.mass_matrix, model, q), value(mz.mass_matrix_rate, model, q, v)
    gravity = value(mz.gravity_forces, model, q)
    agree(v @ M @ a + 0.5 * v @ dM @ v + gravity @ v, tau @ v, 1e-9)


@few
@given(mechanisms(), seeds)
def test_energy_is_the_integral_of_its_rate(model, seed):
    """Gravity forces are the derivative of the potential energy, M that of the kinetic one."""
    q, v, u, _ = state(model, seed)
    rate = along(lambda x: value(mz.potential_energy, model, x, springs=False), model, q, v)
    agree(rate, value(mz.gravity_forces, model, q) @ v, 1e-7)
    rate = along(lambda x: value(mz.kinetic_energy, model, x, u), model, q, v)
    agree(rate, 0.5 * u @ value(mz.mass_matrix_rate, model, q, v) @ u, 1e-7)


@few
@given(mechanisms(), seeds)
def test_coriolis_matrix_is_skew_symmetric_against_the_rate(model, seed):
    """Ṁ − 2C is skew, and M a + C v + g is inverse dynamics."""
    q, v, a, _ = state(model, seed)
    C, dM = value(mz.coriolis_matrix, model, q, v), value(mz.mass_matrix_rate, model, q, v)
    agree(dM, C + C.T)
    M, g = value(mz.mass_matrix, model, q), value(mz.gravity_forces, model, q)
    agree(M @ a + C @ v + g, value(mz.inverse_dynamics, model, q, v, a))


@few
@given(mechanisms(), seeds)
def test_mass_matrix_is_positive_definite_and_its_inverse_inverts(model, seed):
    q, *_ = state(model, seed)
    M = value(mz.mass_matrix, model, q)
    if model.nv:
        assert np.linalg.eigvalsh(M).min() > 0.0
    agree(M @ value(mz.mass_matrix_inverse, model, q), np.eye(model.nv), 1e-8)


@few
@given(mechanisms(), seeds)
def test_momentum_changes_by_the_wrench_on_the_whole(model, seed):
    """Without gravity and with no joint to the world transmitting anything, it is conserved."""
    free = mz.Builder("base", gravity=(0.0, 0.0, 0.0))
    inertia = mz.Inertia(1.0, (0.1, 0.0, 0.2), np.eye(3))
    free.add("float", None, mz.Free(), inertia)
    for k, body in enumerate(model):
        name = "float" if body.parent < 0 else f"b{body.parent}"
        free.add(f"b{k}", name, body.joint, body.inertia)
    whole = free.build()
    q, v, tau, _ = state(whole, seed)
    tau[:6] = 0.0
    a = value(mz.forward_dynamics, whole, q, v, tau)
    drift = along(lambda x: value(mz.momentum, whole, x, v), whole, q, v)
    agree(drift + value(mz.momentum, whole, q, a), np.zeros(6), 1e-6)


@few
@given(mechanisms(), seeds)
def test_representations_agree(model, seed):
    q, v, a, _ = state(model, seed)
    W = np.random.default_rng(seed).normal(size=(model.nb, 6))
    tau = value(mz.inverse_dynamics, model, q, v, a, W)
    for rep in ("spatial", "hybrid", "mixed"):
        agree(value(mz.inverse_dynamics, model, q, v, a, W, rep=rep), tau, 1e-11)


@few
@given(mechanisms(), seeds)
def test_the_inertial_frame_does_not_matter(model, seed):
    """Turning the world and gravity with it leaves joint forces as they are."""
    q, v, a, _ = state(model, seed)
    rng = np.random.default_rng(seed)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R *= np.linalg.det(R)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, rng.normal(size=3)
    turned = mz.Builder("turned", gravity=tuple(R @ np.array(model.gravity)))
    for k, body in enumerate(model):
        joint = body.joint.between(T, None) if body.parent < 0 else body.joint
        parent = None if body.parent < 0 else f"b{body.parent}"
        turned.add(f"b{k}", parent, joint, body.inertia, armature=body.dynamics.armature)
    moved = turned.build()
    agree(value(mz.inverse_dynamics, moved, q, v, a), value(mz.inverse_dynamics, model, q, v, a))


@few
@given(mechanisms(), seeds)
def test_regrouped_parameters_change_nothing(model, seed):
    """Base parameters give the same joint forces as the bodies as they are (joint wrenches)."""
    q, v, a, _ = state(model, seed)
    W = value(mz.joint_wrenches, model, q, v, a)
    armature = np.array([x for body in model for x in body.dynamics.armature])
    tau = []
    for k, body in enumerate(model):
        qk = tuple(q[slice(*model.q_offsets[k : k + 2])].tolist())
        S = body.joint.frame_child.push(body.joint.screws(qk)).array()
        tau.append(S.T @ W[k])
    agree(np.concatenate(tau) + armature * a, value(mz.inverse_dynamics, model, q, v, a))
