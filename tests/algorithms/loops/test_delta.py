"""Clavel's Delta robot: three degrees of freedom out of 24 equations of rank 18."""

from itertools import product

import numpy as np
import pytest
from support.mechanics import agree, value

import mozzi as mz
from mozzi.algorithms.reference.loops import projected_forward_dynamics
from mozzi.model.generate import delta_robot

MOTORS = ["motor_0", "motor_1", "motor_2"]
BASE, ARM, ROD, PLATFORM = 0.2, 0.3, 0.8, 0.06  # of delta_robot


def posed(model: mz.Model, angles: list[float]) -> np.ndarray:
    """The closed configuration with these angles of the motors."""
    q = model.neutral()
    for joint, x in zip(MOTORS, angles, strict=True):
        q[model.q_slices[joint]] = x
    return mz.assemble(model, q, hold=MOTORS)


def moving(model: mz.Model, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A closed configuration, velocities that keep it so, and joint forces."""
    rng = np.random.default_rng(seed)
    q = posed(model, list(rng.uniform(-0.3, 0.5, 3)))
    v, tau = rng.normal(size=(2, model.nv))
    return q, mz.consistent_velocities(model, q, v), tau


def some_spherical(which: tuple[bool, ...]) -> mz.Model:
    """The robot with universal joints at some of the lower ends, spherical ones at the others."""
    full, bare = delta_robot(), delta_robot(redundant=False)
    loops = [a if w else b for a, b, w in zip(full.loops, bare.loops, which, strict=True)]
    return full._replace(loops=loops)


def three_spheres(angles: list[float]) -> np.ndarray:
    """Where the platform is: a rod's length below the three elbows, brought inward by its radius.

    The spheres' differences are planes, which meet in a line; it pierces a sphere twice.
    """
    turns = 2.0 * np.pi / 3.0 * np.arange(3)
    radius = BASE + ARM * np.cos(angles) - PLATFORM
    c = np.stack([radius * np.cos(turns), radius * np.sin(turns), -ARM * np.sin(angles)], -1)
    planes = 2.0 * (c[1:] - c[0])
    point = np.linalg.pinv(planes) @ (np.square(c[1:]).sum(-1) - np.square(c[0]).sum())
    line = np.cross(*planes) / np.linalg.norm(np.cross(*planes))
    b, r = line @ (point - c[0]), np.square(point - c[0]).sum() - ROD**2
    return min((point + s * line for s in np.roots([1.0, 2.0 * b, r])), key=lambda x: x[2])


@pytest.mark.parametrize("angles", [[0.0, 0.0, 0.0], [0.2, -0.3, 0.5], [0.9, 0.4, -0.2]])
@pytest.mark.parametrize("redundant", [True, False])
def test_the_platform_is_where_three_spheres_meet(angles: list[float], redundant: bool):
    """And level."""
    model = delta_robot(redundant=redundant)
    C = mz.forward_kinematics(model, posed(model, angles))[model.index("platform")]
    assert np.allclose(C[:3, 3], three_spheres(angles), atol=1e-9)
    assert np.allclose(C[:3, :3], np.eye(3), atol=1e-9)


def test_rank_and_mobility():
    for redundant, rows in ((True, 24), (False, 18)):
        model = delta_robot(redundant=redundant)
        assert np.abs(mz.loop_residual(model, model.neutral())).max() < 1e-15
        found = mz.assemble(model, moving(model)[0], report=True)
        assert mz.loop_residual(model, found.q).shape == (rows,)
        assert found.closed and found.rank == 18 and found.mobility == 3 and not found.singular
    with pytest.raises(mz.ModelError, match="do not reach"):
        delta_robot(rod=0.3)


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_accelerations_of_any_choice_of_rows(seed: int):
    """The projected form agrees, and dropping any redundant rows changes nothing."""
    model = delta_robot()
    q, v, tau = moving(model, seed)
    a = mz.forward_dynamics(model, q, v, tau)
    agree(a, projected_forward_dynamics(model, q, v, tau), 1e-9)
    agree(mz.loop_acceleration(model, q, v, a), np.zeros(24), 1e-9)
    choices = [w for w in product((True, False), repeat=6) if sum(w) in (0, 3)]
    for which in choices[seed::10]:
        agree(value(mz.forward_dynamics, some_spherical(which), q, v, tau), a, 1e-8)


def test_multipliers_of_least_norm():
    model = delta_robot()
    q, v, tau = moving(model)
    a = mz.forward_dynamics(model, q, v, tau)
    needed = mz.inverse_dynamics(model, q, v, a) - tau
    A = mz.loop_jacobian(model, q)
    lam = mz.loop_forces(model, q, v, tau)
    agree(A.T @ lam, needed, 1e-9)
    agree(lam, np.linalg.pinv(A.T, rcond=1e-9) @ needed, 1e-8)
    assert abs(lam @ A @ v) < 1e-9 * np.abs(lam).max()


def test_three_motors_move_it():
    """Inverse dynamics with the motors alone undoes forward dynamics."""
    model = delta_robot()
    q, v, _ = moving(model, 1)
    tau = np.zeros(model.nv)
    motors = [model.v_slices[joint].start for joint in MOTORS]
    tau[motors] = (1.0, -2.0, 0.5)
    a = mz.forward_dynamics(model, q, v, tau)
    agree(mz.inverse_dynamics(model, q, v, a, actuated=MOTORS), tau, 1e-8)


@pytest.mark.slow
def test_it_falls_and_stays_closed():
    """A fifth of a second without torque: residual, energy, and the same motion with fewer rows."""
    model = delta_robot()
    q = posed(model, [0.0, 0.1, -0.1])
    still = np.zeros(model.nv)
    x = mz.simulate(model, q, still, 0.2, 1e-3, record_every=20)
    assert np.abs(mz.loop_residual(model, x.q)).max() < 1e-10
    assert np.abs(np.einsum("nij,nj->ni", mz.loop_jacobian(model, x.q), x.v)).max() < 1e-10
    assert x.energy_drift() < 1e-9
    y = mz.simulate(delta_robot(redundant=False), q, still, 0.2, 1e-3, record_every=20)
    assert np.abs(x.q - y.q).max() < 1e-8 and np.abs(x.q[-1] - q).max() > 0.1
