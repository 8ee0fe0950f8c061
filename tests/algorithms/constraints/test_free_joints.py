"""A joint of six freedoms transmits nothing: rows end there, and what stands on what does not
matter.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.cases import first
from support.cuts import Cuts, doubled
from support.loop_models import null_space_accelerations, rod, state

import mozzi as mz
from mozzi.algorithms.constraints.overconstrained import overconstrained
from mozzi.algorithms.loops.assemble import held_mask
from mozzi.compiler import program_of
from mozzi.lie import SE3
from mozzi.model.generate import delta


def composed() -> mz.Composite:
    """Six freedoms that are no basis vectors, with frames between the factors."""
    return mz.Composite(mz.Translation3(), mz.Spherical().between((0.0, 0.1, 0.0), (0.0, 0.1, 0.0)))


def stacked(
    n: int, free_on_each_other: bool = True, free: mz.Joint | None = None
) -> tuple[mz.Model, np.ndarray]:
    """Stewart platforms whose legs stand on the one below; the platforms themselves are free, in
    coordinates relative to the one below or to the world.
    """
    free = free or mz.Free()
    b, q, below = mz.Builder("stack"), [], None
    disk = mz.Inertia(2.0, (0.0, 0.02, 0.01), np.diag([0.05, 0.05, 0.09]))
    feet = np.radians([-10.0, 10.0, 110.0, 130.0, 230.0, 250.0])
    balls = np.radians([-50.0, 50.0, 70.0, 170.0, 190.0, 290.0])
    for s in range(n):
        b.add(f"platform_{s}", below if free_on_each_other else None, free, disk)
        q += [0.0, 0.0, 0.7 if free_on_each_other else 0.7 * (s + 1), 0.0, 0.0, 0.0, 1.0]
        for k, (x, y) in enumerate(zip(feet, balls, strict=True)):
            foot = np.array([0.6 * math.cos(x), 0.6 * math.sin(x), 0.0])
            ball = np.array([0.3 * math.cos(y), 0.3 * math.sin(y), 0.0])
            d = ball + np.array([0.0, 0.0, 0.7]) - foot
            length = float(np.linalg.norm(d))
            z = d / length
            u = np.cross([0.0, 1.0, 0.3], z)
            u /= np.linalg.norm(u)
            R = np.eye(4)
            R[:3, :3], R[:3, 3] = np.stack([u, np.cross(z, u), z], 1), foot
            tube, piston = f"tube_{s}_{k}", f"piston_{s}_{k}"
            b.add(tube, below, mz.Universal("x", "y"), rod(0.3), placement=SE3.from_matrix(R))
            b.add(piston, tube, mz.Prismatic("z"), rod(0.3))
            b.loop(f"ball_{s}_{k}", piston, f"platform_{s}", mz.Spherical(), None, tuple(ball))
            q += [0.0, 0.0, length]
        below = f"platform_{s}"
    return b.build(), np.array(q)


def on_rods(n: int, free_on_each_other: bool, free: mz.Joint) -> mz.Model:
    """The same with rods for legs. All joints are in one place, away from which it is closed."""
    b, below = mz.Builder("stack on rods"), None
    disk = mz.Inertia(2.0, (0.0, 0.02, 0.01), np.diag([0.05, 0.05, 0.09]))
    feet = np.radians([-10.0, 10.0, 110.0, 130.0, 230.0, 250.0])
    balls = np.radians([-50.0, 50.0, 70.0, 170.0, 190.0, 290.0])
    for s in range(n):
        b.add(f"platform_{s}", below if free_on_each_other else None, free, disk)
        for k, (x, y) in enumerate(zip(feet, balls, strict=True)):
            foot = 0.6 * np.array([math.cos(x), math.sin(x), 0.0])
            ball = 0.3 * np.array([math.cos(y), math.sin(y), 0.0])
            length = float(np.linalg.norm(ball + np.array([0.0, 0.0, 0.7]) - foot))
            b.distance(f"rod_{s}_{k}", below, f"platform_{s}", foot, ball, length=length)
        below = f"platform_{s}"
    return b.build()


SIX_FREEDOMS = {
    "free": mz.Free,
    "cylinders": lambda: mz.Composite(*(mz.Cylindrical(axis) for axis in "xyz")),
    "framed": composed,
    "ball first": lambda: mz.Composite(mz.Spherical(), mz.Translation3()),
    "plane": lambda: mz.Composite(mz.Planar("z"), mz.Prismatic("z"), mz.Universal("x", "y")),
}


def two_deltas() -> tuple[mz.Model, np.ndarray]:
    """One robot, with each of its loops given twice: 40 rows."""
    model, q, _ = Cuts(delta(), 0, doubled).cut("motor_1")
    return model, q


@pytest.mark.parametrize("free_on_each_other", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_platforms_on_platforms_cost_linearly(free_on_each_other: bool):
    """Operations of one more platform: the same for the third and the fourth."""
    counts = [
        program_of(mz.forward_dynamics, stacked(n, free_on_each_other)[0]).flops for n in (2, 3, 4)
    ]
    assert counts[2] - counts[1] <= 1.001 * (counts[1] - counts[0])


@pytest.mark.parametrize("free_on_each_other", [True, False])
@pytest.mark.parametrize("free", SIX_FREEDOMS)
def test_operations_are_linear_in_platforms_however_they_stand(free: str, free_on_each_other: bool):
    """From one to six on rods, by any six freedoms: the third takes what each further one does."""
    models = [on_rods(n, free_on_each_other, SIX_FREEDOMS[free]()) for n in range(1, 7)]
    assert not any(map(overconstrained, models))
    counts = [program_of(mz.forward_dynamics, model).flops for model in models]
    more = np.diff(counts)
    assert counts[0] < more[0] and np.ptp(more) <= 0.002 * more[0]


@pytest.mark.slow
@pytest.mark.parametrize("free_on_each_other", [True, False])
@pytest.mark.parametrize("free", SIX_FREEDOMS)
def test_operations_are_linear_in_platforms_on_legs(free: str, free_on_each_other: bool):
    models = [stacked(n, free_on_each_other, SIX_FREEDOMS[free]())[0] for n in range(1, 7)]
    assert not any(map(overconstrained, models))
    more = np.diff([program_of(mz.forward_dynamics, model).flops for model in models])
    assert np.ptp(more) <= 0.02 * more[0]


def test_any_six_freedoms_transmit_nothing():
    """Of a composite, too: one more platform takes what the one before took, and moves as by the
    null space.
    """
    models = [stacked(n, free=composed()) for n in (1, 2, 3)]
    counts = [program_of(mz.forward_dynamics, model).flops for model, _ in models]
    assert counts[2] - counts[1] <= 1.03 * (counts[1] - counts[0])
    model, q = models[1]
    v, tau = state(model, q)
    exact = null_space_accelerations(model, q, v, tau)
    a = np.array(mz.forward_dynamics.python(model, q, v, tau), dtype=float)
    assert np.abs(a - exact).max() < 1e-9 * np.abs(exact).max()


SLIDES = [
    (mz.loop_forces, {}), (mz.hybrid_dynamics, {"prescribed": "piston"}),
    (mz.forward_dynamics_gradient, {}),
    (mz.inverse_dynamics, {"actuated": "piston", "minimize": "loop_force"}),
    (mz.inverse_dynamics, {"actuated": "piston"}),
]  # fmt: skip


@pytest.mark.parametrize(("algorithm", "given"), first(1, SLIDES))
def test_algorithms_with_multipliers_cost_linearly(algorithm, given):
    """Multipliers of least norm, too: one more platform takes what the one before took, where rows
    of legs are chosen by loops as well (of inverse dynamics from the fourth on).
    """
    counts = []
    first_one = 4 if algorithm is mz.inverse_dynamics else 2  # the very first is on the ground
    for n in range(first_one, first_one + 3):
        model = stacked(n)[0]
        pistons = tuple(x for x in model.joint_names if "piston" in x)
        options = {k: pistons if x == "piston" else x for k, x in given.items()}
        counts.append(program_of(algorithm, model, options=options).flops)
    assert counts[2] - counts[1] <= 1.03 * (counts[1] - counts[0])


@pytest.mark.slow
@pytest.mark.parametrize("free_on_each_other", [True, False])
def test_the_rank_of_many_platforms_costs_linearly(free_on_each_other: bool):
    """From where they are looked at one after the other: legs of a platform are one block."""
    models = [stacked(n, free_on_each_other) for n in (6, 7, 8)]
    counts = [program_of(mz.loop_rank, model).flops for model, _ in models]
    assert counts[2] - counts[1] <= 1.01 * (counts[1] - counts[0]) < 0.3 * counts[0]
    model, q = models[0]
    assert mz.loop_rank(model, q)[0] == np.linalg.matrix_rank(mz.loop_jacobian(model, q))


@pytest.mark.parametrize("make", first(0, [two_deltas, lambda: stacked(3)]))
def test_multipliers_of_many_rows_are_of_least_norm(make):
    """More than forty rows, of which many depend on others; those of hybrid dynamics as well."""
    model, q = make()
    v, tau = state(model, q)
    a, A = mz.forward_dynamics(model, q, v, tau), mz.loop_jacobian(model, q)
    force = mz.inverse_dynamics(model, q, v, a) - tau
    exact = np.linalg.lstsq(A.T, force, rcond=1e-9)[0]
    found = mz.loop_forces(model, q, v, tau)
    assert np.abs(found - exact).max() < 1e-12 * np.abs(exact).max()
    held = model.joint_names[: model.nv // 3]
    free = ~held_mask(model, held)
    lam = np.linalg.lstsq(A[:, free].T, force[free], rcond=1e-9)[0]
    exact = np.where(free, tau, force + tau - A.T @ lam)
    found, _ = mz.hybrid_dynamics(model, q, v, tau, a, prescribed=held)
    assert np.abs(found - exact).max() < 1e-11 * np.abs(exact).max()


def test_rows_that_end_at_a_free_joint_are_all_that_matters():
    """Accelerations are those of the null space, on two platforms."""
    model, q = stacked(2)
    v, tau = state(model, q)
    a = mz.forward_dynamics.python(model, q, v, tau)
    exact = null_space_accelerations(model, q, v, tau)
    assert np.abs(np.array(a, dtype=float) - exact).max() < 1e-9 * np.abs(exact).max()


@pytest.mark.slow
def test_five_platforms_compile():
    model, q = stacked(5)
    v, tau = state(model, q)
    exact = null_space_accelerations(model, q, v, tau)
    a = mz.forward_dynamics(model, q, v, tau)
    assert np.abs(a - exact).max() < 1e-8 * np.abs(exact).max()
