"""Loops in motion: every integrator ends its steps on them; linkages that move by wonder."""

import numpy as np
import pytest
from support.loop_models import (
    bennett,
    bricard,
    closed_tree,
    rod,
    slider_crank,
    state,
)  # fmt: skip
from support.mechanics import agree

import mozzi as mz
from mozzi.lie import SE3
from mozzi.model.generate import four_bar, leaning, n_four_bar
from mozzi.simulation.methods import METHODS


@pytest.mark.parametrize("make, size, rank", [(bennett, 3, 2), (bricard, 5, 4)])
def test_linkages_that_move_against_the_count(make, size: int, rank: int):
    """Five rows on n − 1 joints leave nothing by count; the linkages have one degree of freedom."""
    model = make()
    for seed in range(6):
        found = mz.assemble(model, model.random_configuration(seed), report=True)
        if found.closed and not found.singular and found.mobility == 1:
            break
    assert (model.nv, int(found.rank), int(found.mobility)) == (size, rank, 1)
    q = found.q
    v = mz.consistent_velocities(model, q, np.ones(model.nv))
    assert np.abs(v).max() > 0.1
    tau = np.arange(1.0, model.nv + 1.0)
    a = mz.forward_dynamics(model, q, v, tau)
    A, M = mz.loop_jacobian(model, q), mz.mass_matrix(model, q)
    Vt = np.linalg.svd(A)[2]
    n = Vt[-1]  # the one motion: its equation of motion has no multipliers
    left = M @ a + mz.bias_forces(model, q, v) - tau
    assert abs(n @ left) < 1e-8 * np.abs(left).max()
    assert np.abs(mz.loop_acceleration(model, q, v, a)).max() < 1e-8 * np.abs(a).max()
    x = mz.simulate(model, q, v, 1.0, 1e-3, record_every=50)
    assert np.abs(mz.loop_residual(model, x.q)).max() < 1e-10
    assert np.ptp(x.q[:, 0]) > 0.1


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_a_four_bar_closed(method: str):
    """The residual stays below 1e-10 over ten seconds."""
    model = four_bar()
    q = mz.assemble(model, [0.3, 0.5, 1.5], hold=["crank"])
    v = mz.consistent_velocities(model, q, [2.0, 0.0, 0.0])
    x = mz.simulate(model, q, v, 10.0, 2e-3, method=method, record_every=25)
    assert np.abs(mz.loop_residual(model, x.q)).max() < 1e-10
    speed = (mz.loop_jacobian(model, x.q) @ x.v[..., None])[..., 0]
    assert np.abs(speed).max() < 1e-7
    if method == "rkmk4":
        assert np.ptp(x.energy()) < 1e-6


@pytest.mark.slow
def test_a_hundred_thousand_steps():
    model = four_bar()
    q = mz.assemble(model, [0.3, 0.5, 1.5], hold=["crank"])
    v = mz.consistent_velocities(model, q, [2.0, 0.0, 0.0])
    x = mz.simulate(model, q, v, 100.0, 1e-3, record_every=1000)
    assert x.complete and np.abs(mz.loop_residual(model, x.q)).max() < 1e-10
    assert np.ptp(x.energy()) < 1e-6


def test_the_order_of_the_integrator_stays():
    """Projection does not cost the fourth order of the motion on the loops."""
    model = slider_crank()
    q = mz.assemble(model, [0.9, -1.2, 1.2], hold=["crank"])
    v = mz.consistent_velocities(model, q, [3.0, 0.0, 0.0])
    ends = [mz.simulate(model, q, v, 0.8, 0.8 / n).q[-1] for n in (40, 80, 160, 1280)]
    errors = [np.abs(x - ends[-1]).max() for x in ends[:-1]]
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(slopes - 4.0) < 0.4), slopes


def test_free_bodies_with_loops_in_space():
    """A quaternion joint in a loop: closed along the motion, energy kept."""
    model, q = closed_tree(mz.Spherical(), seed=11)
    v, _ = state(model, q)
    x = mz.simulate(model, q, 0.3 * v, 0.2, 1e-3, record_every=20)
    assert np.abs(mz.loop_residual(model, x.q)).max() < 1e-11
    energy = x.energy()
    assert np.ptp(energy) < 1e-6 * (1.0 + np.abs(energy).max())


def test_windows_as_absolute_coordinates():
    """One window with every rod free and every hinge a loop leans as the tree with one loop."""
    tree = n_four_bar(1)
    b = mz.Builder("absolute")
    for body in tree:
        b.add(body.name, None, mz.Free(), rod(1.0))
    for body in tree:
        parent = tree.bodies[body.parent] if body.parent >= 0 else None
        b.loop(f"hinge_{body.name}", parent, body.name, body.joint)
    for loop in tree.loops:
        ends = (tree.bodies[k] for k in (loop.body_a, loop.body_b))
        b.loop(loop.name, *ends, loop.joint, loop.placement_a, loop.placement_b)
    absolute = b.build()
    q, v = leaning(tree, 0.3), leaning(tree, 0.9)

    def lifted(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        poses = [SE3.from_matrix(T) for T in mz.forward_kinematics(tree, q)]
        Q = [[*T.p.flatten(), *T.R.quaternion().flatten()] for T in poses]
        return np.ravel(Q), mz.twists(tree, q, v).ravel()

    own = mz.simulate(tree, q, v, 0.3, 1e-3).q[-1]
    x = mz.simulate(absolute, *lifted(q, v), 0.3, 1e-3)
    agree(
        mz.forward_kinematics(absolute, x.q[-1]), mz.forward_kinematics(tree, own), 1e-8
    )
