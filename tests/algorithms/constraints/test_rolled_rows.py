"""Rolled programs of mechanisms with loops give what straight-line programs give."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.cases import first
from support.loop_models import bennett, closed_tree, pose
from support.rolled_programs import rolled_as_straight

import mozzi as mz
from mozzi.algorithms.constraints.row_choice import kept_rows
from mozzi.algorithms.loops.projection import loop_corrections
from mozzi.algorithms.loops.rank_warnings import (
    counted_forward_dynamics,
    counted_hybrid_dynamics,
    counted_loop_forces,
)
from mozzi.compiler import program_of
from mozzi.model.generate import chain

JOINTS = {
    "revolute": (mz.Revolute((0.2, 0.5, 0.7)), (4, 8)),
    "spherical to the world": (mz.Spherical(), (None, 8)),
    "universal": (mz.Universal(), (8, 2)),
    "composite": (mz.Composite(mz.Revolute("z"), mz.Prismatic("x")), (5, 7)),
    "fixed": (mz.Fixed(), (8, None)),
}


def closed_chain(n: int) -> mz.Model:
    tree = chain(n, seed=0)
    at = mz.pose(tree, tree.neutral(), frame=tree.bodies[-1])[:3, 3]
    return tree.with_loop("tip", None, tree.bodies[-1], mz.Spherical(), tuple(at))


def several() -> mz.Model:
    """A free base, a chain of joints of many kinds, and three closures whose paths overlap."""
    rng = np.random.default_rng(2)
    kinds = [mz.Free(), mz.Revolute((1.0, 0.4, 0.2)), mz.Prismatic((0.1, 0.9, 0.3)),
             mz.Composite(mz.Revolute("x"), mz.Revolute("y")).between(pose(rng), pose(rng)),
             mz.Revolute("z"), mz.Spherical(), mz.Cylindrical((0.3, 0.1, 0.8)), mz.Revolute("x"),
             mz.Revolute("y")]  # fmt: skip
    b = mz.Builder("several")
    for k, joint in enumerate(kinds):
        J = mz.Inertia(1.0 + 0.1 * k, rng.normal(size=3) * 0.1, np.diag([1.0, 1.2, 1.3]))
        b.add(f"{k}", f"{k - 1}" if k else None, joint, J, placement=pose(rng), armature=0.01 * k)
    b.add("side", "2", mz.Revolute("y"), mz.Inertia(1.0, (0.1, 0, 0), np.eye(3)))
    b.loop("far", "1", "8", mz.Spherical(), pose(rng), pose(rng))
    b.loop("side", "side", "6", mz.Universal(), pose(rng), pose(rng))
    return b.distance("rod", None, "7", (0.3, 0.1, 0.2), (0.1, 0.2, 0.3), length=1.0).build()


def ladder(n: int, every: int) -> mz.Model:
    """A chain with balls between a body and the third behind it: rows enough for factors in
    loops.
    """
    tree = chain(n, seed=0)
    at = mz.forward_kinematics(tree, tree.neutral())
    b, poses = tree, dict(zip(tree.bodies, at, strict=True))
    for k in range(0, n - 3, every):
        low, high = tree.bodies[k], tree.bodies[k + 3]
        R, p = poses[low][:3, :3], poses[low][:3, 3]
        seen = R.T @ (poses[high][:3, 3] - p)
        b = b.with_loop(f"ball_{k}", low, high, mz.Spherical(), tuple(seen))
    return b


def parallelograms() -> mz.Model:
    """Four of them in space, each on the one before: twenty rows, twelve of which depend on
    others.
    """
    b = mz.Builder("parallelograms")
    rod, z = mz.Inertia(1.0, (0.5, 0, 0), np.diag([0.01, 0.1, 0.1])), mz.Revolute((0.3, 0.2, 1.0))
    down = None
    for k in range(4):
        b.add(f"left_{k}", down, z.between((0.4, 0.1 * k, 0.2)), rod)
        b.add(f"right_{k}", down, z.between((0.4, 0.1 * k + 0.7, 0.2)), rod)
        b.add(f"bar_{k}", f"left_{k}", z.between((1.0, 0.1, 0.0)), rod)
        b.loop(f"pin_{k}", f"bar_{k}", f"right_{k}", z, (0.0, 0.7, 0.0), (1.0, 0.1, 0.0))
        down = f"bar_{k}"
    return b.build()


def model_of(name: str) -> tuple[mz.Model, np.ndarray]:
    rng = np.random.default_rng(3)
    if name in JOINTS:
        joint, ends = JOINTS[name]
        model, q = closed_tree(joint, 1, 9, ends)
        return model, mz.integrate(model, q, 1e-5 * rng.normal(size=model.nv))
    if name == "ladder":
        model = ladder(30, 4)
        return model, 1e-4 * rng.normal(size=model.nq)
    model = {"several": several, "bennett": bennett}[name]()
    return model, model.random_configuration(rng, closed=False)


@pytest.mark.parametrize(
    "name",
    ["bennett", "spherical to the world", *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("revolute", "universal", "composite", "fixed", "several", "ladder")
    )],
)
def test_rolled_and_straight_programs_agree(name: str):
    model, q = model_of(name)
    v, tau, a = np.random.default_rng(4).normal(size=(3, model.nv))
    rolled_as_straight(mz.loop_residual, model, q)
    rolled_as_straight(mz.loop_jacobian, model, q)
    rolled_as_straight(mz.loop_acceleration, model, q, v, a)
    rolled_as_straight(kept_rows, model, q)
    rolled_as_straight(mz.loop_rank, model, q)
    rolled_as_straight(loop_corrections, model, q, v)
    rolled_as_straight(mz.forward_dynamics_gradient, model, q, v, tau, a)
    held = model.joint_names[-1:]
    every = q, v, tau, a

    def but_left_out(of: Callable, n: int, **options: object) -> Callable:
        """Without the count of rows left out: straight-line code knows of some that they are
        zero, and does not count these.
        """
        return lambda q, v, tau, a: of(model, *(q, v, tau, a)[:n], **options)[:-1]

    rolled_as_straight(but_left_out(counted_forward_dynamics, 3), model, *every)
    rolled_as_straight(but_left_out(counted_loop_forces, 3), model, *every)
    rolled_as_straight(but_left_out(counted_hybrid_dynamics, 4, prescribed=held), model, *every)


@pytest.mark.parametrize(
    "kind", first(1, ["Screw", "PlanarScrew", "Prismatic", "Universal", "Composite"])
)
def test_a_closure_is_carried_by_joints_of_any_kind(kind: str):
    """Whatever a joint says of its screws: a constant, or a function of its pitch."""
    tree = chain(6, kind)
    q = tree.random_configuration(np.random.default_rng(1))
    at = mz.pose(tree, q, frame=tree.bodies[-1])
    model = tree.with_loop("tip", None, tree.bodies[-1], mz.Spherical(), at)
    v, tau = np.random.default_rng(2).normal(size=(2, model.nv))
    rolled_as_straight(mz.forward_dynamics, model, q, v, tau)
    rolled_as_straight(mz.forward_dynamics_gradient, model, q, v, tau, v)


def test_factors_in_loops_are_those_of_straight_programs():
    """Of rows of which eight count."""
    model, q = parallelograms(), np.tile([0.4, 0.4, -0.4], 4)
    v, tau, c = np.random.default_rng(4).normal(size=(3, model.nv))
    rolled_as_straight(mz.forward_dynamics, model, q, v, tau)
    rolled_as_straight(mz.forward_dynamics_gradient, model, q, v, tau, c)
    for rolled in (True, False):
        assert mz.compile(mz.loop_rank, model, target="interpret", rolled=rolled)(q)[0] == 8


def test_rolled_programs_do_not_grow_and_their_work_does_linearly():
    sizes = (45, 90, 180)
    programs = [program_of(mz.forward_dynamics, closed_chain(n)) for n in sizes]
    lengths, counts = [p.length for p in programs], [p.flops for p in programs]
    assert max(lengths) - min(lengths) < 0.01 * min(lengths)
    assert (counts[2] - counts[1]) / (counts[1] - counts[0]) == pytest.approx(2.0, rel=0.05)
    straight = [
        mz.compile(mz.forward_dynamics, closed_chain(n), target="interpret", rolled=False).flops
        for n in (5, 10, 20)
    ]
    assert (straight[2] - straight[1]) / (straight[1] - straight[0]) == pytest.approx(2.0, rel=0.05)


def test_gradients_of_long_closed_chains_are_short_programs():
    model, rng = closed_chain(45), np.random.default_rng(5)
    q = model.neutral()
    v, tau, c, e = rng.normal(size=(4, 45))
    kernel = mz.compile(mz.forward_dynamics_gradient, model)
    length = program_of(mz.forward_dynamics_gradient, model).length
    assert length < 8_000  # a straight-line program of it has ten times as many
    dq, dv, dtau = kernel(q, v, tau, c)
    accelerations, h = mz.compile(mz.forward_dynamics, model), 1e-5
    for gradient, along in (
        (dq, lambda s: (q + s * e, v, tau)),
        (dv, lambda s: (q, v + s * e, tau)),
        (dtau, lambda s: (q, v, tau + s * e)),
    ):
        up, down, more, less = (c @ accelerations(*along(s)) for s in (h, -h, 2 * h, -2 * h))
        slope = (8.0 * (up - down) - (more - less)) / (12.0 * h)
        assert gradient @ e == pytest.approx(slope, rel=1e-6)


def test_a_long_closed_chain_moves_as_its_straight_program_says():
    model = closed_chain(45)
    q = model.neutral()
    rng = np.random.default_rng(0)
    v, tau = mz.consistent_velocities(model, q, rng.normal(size=45)), rng.normal(size=45)
    a = mz.forward_dynamics(model, q, v, tau)
    straight = mz.compile(mz.forward_dynamics, model, rolled=False)(q, v, tau)
    np.testing.assert_allclose(a, straight, rtol=0.0, atol=1e-9 * np.abs(a).max())
    assert np.abs(mz.loop_acceleration(model, q, v, a)).max() < 1e-9 * np.abs(a).max()
    run = mz.simulate(model, q, np.zeros(45), 0.05, 1e-3)
    energy = run.energy()
    assert np.abs(energy - energy[0]).max() < 1e-7 * np.abs(energy[0])


def test_many_loops_in_series_are_rolled_and_right():
    """Eighteen balls on one chain: a program that hardly grows with the chain, and accelerations
    that satisfy M a = τ − h + Aᵀ λ and A a + Ȧ v = 0.
    """
    model = ladder(90, 5)
    assert len(model.loops) == 18
    q, rng = model.neutral(), np.random.default_rng(0)
    v = mz.consistent_velocities(model, q, 0.1 * rng.standard_normal(model.nv))
    tau = rng.standard_normal(model.nv)
    A, rest = mz.loop_jacobian(model, q), np.zeros(model.nv)
    K = np.block([[mz.mass_matrix(model, q), A.T], [A, np.zeros((len(A), len(A)))]])
    needed = -mz.loop_acceleration(model, q, v, rest)
    exact = np.linalg.solve(K, np.r_[tau - mz.bias_forces(model, q, v), needed])[: model.nv]
    a = mz.forward_dynamics(model, q, v, tau)
    assert np.abs(a - exact).max() < 1e-10 * np.abs(exact).max()
    length = program_of(mz.forward_dynamics, model).length
    assert program_of(mz.forward_dynamics, ladder(180, 10)).length < 1.1 * length < 4e4
