"""Loops that are closed by products of joints: what a tree does with the product as its joint."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from support.cases import first
from support.differences import fifty_digits
from support.mechanics import agree

import mozzi as mz
from mozzi.algorithms.constraints.rows.joints import meet
from mozzi.algorithms.derivatives.second import tangent_basis
from mozzi.lie import Vec3
from mozzi.model.generate import random_pose
from mozzi.model.joints.axis_screws import unit_screws
from mozzi.model.joints.joint import JOINT_TYPES
from mozzi.program.scalar import cos, sin

AWAY = (0.2, 0.3, 0.4)
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

SIMPLE = {
    "R": lambda rng: mz.Revolute(tuple(rng.normal(size=3))),
    "P": lambda rng: mz.Prismatic(tuple(rng.normal(size=3))),
    "H": lambda rng: mz.Screw(tuple(rng.normal(size=3)), pitch=rng.uniform(0.05, 0.4)),
    "C": lambda rng: mz.Cylindrical(tuple(rng.normal(size=3))),
    "U": lambda rng: mz.Universal(),
    "S": lambda rng: mz.Spherical(),
    "E": lambda rng: mz.Planar(),
}


def product(factors: str, seed: int = 0, between: str = "any") -> mz.Composite:
    """A product of joints, one letter each, with frames between them that are turned and moved at
    random, moved alone, or not at all.
    """
    rng = np.random.default_rng(seed)
    joints = [SIMPLE[letter](rng) for letter in factors]
    if between == "any":
        joints = [j.between(random_pose(rng), random_pose(rng)) for j in joints]
    elif between == "moved":
        joints = [j.between(tuple(0.3 * rng.normal(size=3))) for j in joints]
    return mz.Composite(*joints)


TWO_UNIVERSALS = mz.Composite(mz.Universal(), mz.Universal("y", "z").between(AWAY))
ONE_UNIVERSAL = mz.Composite(mz.Revolute((1, 2, 2)), mz.Universal("x", "z").between(AWAY))
NESTED = mz.Composite(mz.Revolute("y"), product("UR", 3).between(AWAY))
NAMED = {"two universals": TWO_UNIVERSALS, "one universal": ONE_UNIVERSAL, "nested": NESTED}
FAMILIES = [
    "UU", "RU", "RRR", "UPR", "SP", "CU", "HU", "RRRR", "RRRRR", "UPU", "SR", "SU", "RSR", "CC",
    "HH", "HC", "RRP", "RPRPR", "ER", "EU", "RUU", "UHR",
]  # fmt: skip


class Twins(NamedTuple):
    """A body on a joint, as a tree and as a free body that a loop holds; their states in motion."""

    tree: mz.Model
    loop: mz.Model
    q: np.ndarray
    v: np.ndarray
    q_loop: np.ndarray
    v_loop: np.ndarray


def models(joint: mz.Joint) -> tuple[mz.Model, mz.Model]:
    arm = mz.Inertia(1.3, (0.1, -0.05, 0.08), np.diag([0.05, 0.07, 0.09]))
    hand = mz.Inertia(0.8, (-0.06, 0.1, 0.04), np.diag([0.06, 0.08, 0.05]))
    tree, loop = mz.Builder("tree"), mz.Builder("loop")
    for b in (tree, loop):
        b.add("a", None, mz.Revolute((0.0, 0.6, 0.8)), arm, placement=(0.1, 0.2, 0.3))
    tree.add("b", "a", joint, hand)
    loop.add("b", None, mz.Free(), hand).loop("closure", "a", "b", joint)
    return tree.build(), loop.build()


def twins(joint: mz.Joint, count: int, seed: int = 0, angle: float = 3.0) -> Twins:
    """At random angles, and velocities."""
    tree, loop = models(joint)
    rng = np.random.default_rng(seed)
    turns = [max(map(abs, c.ang.array())) > 1e-9 for c in joint.screws(joint.neutral())]
    reach = np.where([True, *turns], angle, 1.0)
    q = mz.integrate(tree, tree.neutral(), rng.uniform(-reach, reach, (count, tree.nv)))
    v = rng.normal(size=(count, tree.nv))
    return Twins(tree, loop, q, v, *as_loop(tree, loop, q, v))


def as_loop(
    tree: mz.Model, loop: mz.Model, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same state with the body free."""
    poses = mz.forward_kinematics(tree, q)[:, 1]
    turned = [mz.SE3.from_matrix(T).R.general().quaternion().array() for T in poses]
    twist = np.einsum("bij,bj->bi", mz.jacobian(tree, q, "b"), v)
    q_loop = np.concatenate([q[:, :1], poses[:, :3, 3], np.array(turned)], axis=1)
    return q_loop, np.concatenate([v[:, :1], twist], axis=1)


def accelerations(x: Twins) -> tuple[np.ndarray, np.ndarray]:
    """Of the arm and the body, of the tree and of the loop; a warning is an error."""
    push = np.zeros((len(x.q), x.loop.nv))
    push[:, 0] = 1.7
    a = mz.forward_dynamics(x.tree, x.q, x.v, push[:, : x.tree.nv])
    J, rate = mz.jacobian(x.tree, x.q, "b"), mz.jacobian_rate(x.tree, x.q, x.v, "b")
    body = np.einsum("bij,bj->bi", J, a) + np.einsum("bij,bj->bi", rate, x.v)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mz.forward_dynamics(x.loop, x.q_loop, x.v_loop, push)
    return np.concatenate([a[:, :1], body], axis=1), found


def check(joint: mz.Joint, count: int, seed: int = 0) -> None:
    """Closed states read as closed, and move as the tree does where that is well conditioned."""
    x = twins(joint, count, seed)
    assert np.abs(mz.loop_residual(x.loop, x.q_loop)).max() < 1e-13
    S = [np.stack([c.array() for c in joint.screws(q[1:])]) for q in x.q]
    plain = np.linalg.cond(S) < 50.0
    right, found = accelerations(Twins(*x[:2], *(y[plain] for y in x[2:])))
    scale = 1.0 + np.abs(right).max(-1, keepdims=True)
    assert np.abs((found - right) / scale).max() < 1e-9


# -- closed states --


@pytest.mark.parametrize("name", NAMED)
def test_closed_states_at_any_angles(name: str):
    check(NAMED[name], 100)


@pytest.mark.parametrize("factors", first(6, FAMILIES))
def test_closed_states_of_a_family(factors: str):
    check(product(factors, 1), 40)


@pytest.mark.slow
@pytest.mark.parametrize("between", ["any", "moved"])
@pytest.mark.parametrize("factors", FAMILIES)
def test_closed_states_of_many(factors: str, between: str):
    """Eight products of each family."""
    for seed in range(8):
        x = twins(product(factors, seed, between), 40, seed)
        assert np.abs(mz.loop_residual(x.loop, x.q_loop)).max() < 1e-12


def test_factors_that_depend_on_one_another():
    """Universals about one point: four freedoms that move in three ways."""
    x = twins(mz.Composite(mz.Universal(), mz.Universal("y", "z")), 40)
    assert np.abs(mz.loop_residual(x.loop, x.q_loop)).max() < 1e-13
    A = mz.loop_jacobian(x.loop, x.q_loop)
    assert (np.linalg.matrix_rank(A, tol=1e-9) == 3).all()


@pytest.mark.parametrize("factors", first(2, ["HU", "HH", "RHP", "HS"]))
def test_screws_that_turned_often(factors: str):
    x = twins(product(factors, 2), 40, angle=20.0)
    assert np.abs(mz.loop_residual(x.loop, x.q_loop)).max() < 1e-12


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_any_size(size: float):
    """Millimetres, and kilometres; of a leg, too, that slides by a metre."""
    away = tuple(size * np.array(AWAY))
    hand = mz.Universal("y", "z").between(away)
    leg = mz.Composite(mz.Universal(), mz.Prismatic("z").between(away), hand)
    x = twins(leg, 100)
    assert np.abs(mz.loop_residual(x.loop, x.q_loop)).max() < 1e-12 * max(1.0, size)
    x = twins(mz.Composite(mz.Universal(), hand), 100)
    assert np.abs(mz.loop_residual(x.loop, x.q_loop)).max() < 1e-13 * max(1.0, size)


def test_samples_of_a_batch_do_not_see_each_other():
    """Which take different numbers of steps, from different starts."""
    x = twins(TWO_UNIVERSALS, 64)
    q = x.q_loop.copy()
    q[::7, 1:4] += 0.01  # a little open
    q[::11, 1:4] += 2.0  # widely
    found = mz.loop_residual(x.loop, q)
    for k in range(len(q)):
        agree(found[k], mz.loop_residual(x.loop, q[k]), 1e-13)


@pytest.mark.parametrize("name", NAMED)
def test_open_loops_are_open_along_their_rows(name: str):
    """The screws of the joint leave nothing to do, at the pose that is found."""
    rng, joint = np.random.default_rng(0), NAMED[name]
    for _ in range(10):
        aside = mz.SE3.translation(*(0.01 * rng.normal(size=3)))
        G = joint.pose(rng.uniform(-3.0, 3.0, joint.nq).tolist()) @ aside
        met = meet(joint, G)
        e = met.error(G).array()
        assert 1e-4 < np.linalg.norm(e) < 0.1
        assert np.abs(np.stack([c.array() for c in met.S]) @ e).max() < 1e-7


def test_open_loops_are_told():
    """By calls, where no pose of the joint is found."""
    x = twins(TWO_UNIVERSALS, 1)
    q = x.q_loop[0].copy()
    q[1] += 1.0
    with pytest.warns(mz.OpenLoopWarning, match="open by"):
        mz.forward_dynamics(x.loop, q, x.v_loop[0], np.zeros(x.loop.nv))


# -- derivatives --


@pytest.mark.parametrize("factors", first(1, ["UU", "HU", "SP"]))
def test_derivatives_to_fifty_digits(factors: str):
    """∂φ/∂q and ∂a/∂q: what stands behind the search is all that derivatives see."""
    x = twins(TWO_UNIVERSALS if factors == "UU" else product(factors), 1, 4)
    q, v, tau = x.q_loop[0], x.v_loop[0], np.linspace(-1.0, 1.0, x.loop.nv)
    residual = lambda y: mz.loop_residual.python(x.loop, y)
    agree(mz.loop_jacobian(x.loop, q), fifty_digits(residual, x.loop, q), 1e-12)
    a_q, a_v, _ = mz.forward_dynamics_derivatives(x.loop, q, v, tau)
    motion = lambda y: mz.forward_dynamics.python(x.loop, y, list(v), list(tau))
    agree(a_q, fifty_digits(motion, x.loop, q), 1e-10)
    mu = np.linspace(0.5, -1.5, x.loop.nv)
    by_q, by_v, _ = mz.forward_dynamics_gradient(x.loop, q, v, tau, mu)
    agree(by_q, mu @ a_q, 1e-11)
    agree(by_v, mu @ a_v, 1e-11)


def test_sensitivity():
    """To where a factor stands and how the loop is placed, by differences."""
    x = twins(TWO_UNIVERSALS, 1, 4)
    q, v, tau, h = x.q_loop[0], x.v_loop[0], np.ones(x.loop.nv), 1e-4
    kernel = mz.sensitivity(mz.loop_residual, x.loop, ["closure.a.x", "closure.b.rz"])
    found = kernel(q)
    for k, e in enumerate(h * np.eye(2)):
        ends = [np.asarray(kernel.value(q, parameters=kernel.nominal + y)) for y in (e, -e)]
        agree(found[:, k], (ends[0] - ends[1]) / (2 * h), 1e-7)
    kernel = mz.sensitivity(mz.forward_dynamics, x.loop, ["closure.a.x", "b.mass"])
    found = kernel(q, v, tau)
    for k, e in enumerate(h * np.eye(2)):
        ends = [kernel.value(q, v, tau, parameters=kernel.nominal + y) for y in (e, -e)]
        agree(found[:, k], (ends[0] - ends[1]) / (2 * h), 1e-6)


# -- motions --


@pytest.mark.parametrize("factors", first(1, ["UU", "HU", "RRR"]))
def test_energy_of_motions(factors: str):
    """Lost at the order of the method, fourth; and the motion is that of the tree."""
    x = twins(TWO_UNIVERSALS if factors == "UU" else product(factors), 4, 2)
    lost = []
    for h in (0.005, 0.0025):
        run = mz.simulate(x.loop, x.q_loop, 0.5 * x.v_loop, 0.4, h)
        E = run.energy()
        lost.append(np.abs(E[:, -1] - E[:, 0]).max())
        assert np.abs(mz.loop_residual(x.loop, run.q[:, -1])).max() < 1e-9
    assert np.log2(lost[0] / lost[1]) > 3.7
    right = mz.simulate(x.tree, x.q, 0.5 * x.v, 0.4, h)
    agree(run.q[:, -1, 0], right.q[:, -1, 0], 1e-6)


# -- targets --


@cache
def moving() -> tuple[mz.Model, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """States, and accelerations on the CPU."""
    x = twins(product("HU"), 8)
    tau = np.ones((8, x.loop.nv))
    return x.loop, x.q_loop, x.v_loop, tau, mz.forward_dynamics(x.loop, x.q_loop, x.v_loop, tau)


def test_accelerations_in_the_interpreter():
    model, *arrays, a = moving()
    agree(mz.compile(mz.forward_dynamics, model, target="interpret")(*arrays), a, 1e-12)


def test_accelerations_in_single_precision():
    model, *arrays, a = moving()
    found = mz.compile(mz.forward_dynamics, model, dtype="float32")(*arrays)
    agree(found, a, 1e-3)


def test_accelerations_in_jax():
    """And their derivatives, forwards and backwards."""
    jax = pytest.importorskip("jax")
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    model, *arrays, a = moving()
    f = mz.compile(mz.forward_dynamics, model, target="jax")
    agree(f(*arrays), a, 1e-12)
    q, v, tau = (x[0] for x in arrays)
    both = [way(lambda p: f(p, v, tau))(q) for way in (jax.jacfwd, jax.jacrev)]
    N = np.array(tangent_basis(model, q), dtype=float)
    for found in both:
        agree(found @ N, mz.forward_dynamics_derivatives(model, q, v, tau)[0], 1e-11)
    jax.config.update("jax_enable_x64", before)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
def test_accelerations_in_c(tmp_path: Path):
    model, *arrays, a = moving()
    code = mz.compile(mz.forward_dynamics, model, target="c")
    (tmp_path / f"{code.name}.c").write_text(code.source)
    (tmp_path / f"{code.name}.h").write_text(code.header)
    words = [COMPILER, "-O1", "-shared", "-fPIC", f"{code.name}.c", "-lm", "-o", "made.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    function = getattr(ctypes.CDLL(str(tmp_path / "made.so")), code.name)
    for k in range(len(a)):
        given = [np.ascontiguousarray(x[k]) for x in arrays]
        out = np.empty(model.nv)
        function(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*given, out)))
        agree(out, a[k], 1e-12)


def test_a_rod_between_two_balls_is_a_rod():
    """A product with as many velocities as directions need not move in all of them: a rod turns
    about itself with either ball. It moves as the distance that it keeps.
    """
    ball = mz.Spherical()
    rod = mz.Composite(ball, ball.between((1.3, 0.0, 0.0)))
    assert (rod.nv, rod.mobility) == (6, 5)
    inertia = mz.Inertia(1.2, (0.1, 0.0, -0.2), np.diag([0.2, 0.1, 0.15]))
    b = mz.Builder("rod").add("crank", None, mz.Revolute((1, 2, 2)), inertia)
    tree = b.add("thing", None, mz.Free(), inertia).build()
    ends = (0.4, 0.2, 0.3), (-0.2, 0.1, 0.0)
    tied = tree.with_loop("rod", "crank", "thing", rod, *ends)
    apart = tree.with_distance("rod", "crank", "thing", *ends, 1.3)
    rng = np.random.default_rng(2)
    q = mz.assemble(apart, tree.random_configuration(rng))
    v = mz.consistent_velocities(apart, q, rng.normal(size=tree.nv))
    tau = rng.normal(size=tree.nv)
    agree(mz.loop_residual(tied, q), np.zeros(6))
    agree(mz.forward_dynamics(tied, q, v, tau), mz.forward_dynamics(apart, q, v, tau))
    assert mz.loop_rank(tied, q)[0] == 1.0
    one, two = (mz.simulate(m, q, v, 1.0, 2e-3) for m in (tied, apart))
    agree(one.q[-1], two.q[-1], 1e-8)
    assert np.ptp(one.energy()) < 1e-5


@pytest.mark.parametrize("again", ["SS", "EE", "SR", "RRRRRRR"])
def test_products_whose_factors_repeat_motions(again: str):
    """Factors about one point, in one plane, or about one axis ask what one of them asks."""
    joint = mz.Composite(*(SIMPLE[letter](np.random.default_rng(1)) for letter in again))
    one = SIMPLE[again[0]](np.random.default_rng(1))
    assert joint.mobility == one.nv
    inertia = mz.Inertia(1.2, (0.1, 0.0, -0.2), np.diag([0.2, 0.1, 0.15]))
    b = mz.Builder("twice").add("a", None, mz.Free(), inertia)
    tree = b.add("b", "a", one.between(AWAY), inertia).build()
    rng = np.random.default_rng(3)
    q, v = tree.random_configuration(rng), rng.normal(size=tree.nv)
    loose = mz.Builder("loose").add("a", None, mz.Free(), inertia)
    loose = loose.add("b", None, mz.Free(), inertia).build()
    poses, turns = mz.forward_kinematics(tree, q), mz.twists(tree, q, v)
    at = np.concatenate([x for T in poses for x in (T[:3, 3], quaternion(T))])
    closed = loose.with_loop("joint", "a", "b", joint.between(AWAY))
    a = mz.forward_dynamics(closed, at, turns.ravel(), np.zeros(12)).reshape(2, 6)
    free = mz.forward_dynamics(tree, q, v, np.zeros(tree.nv))
    agree(a, mz.accelerations(tree, q, v, free))


def quaternion(T: np.ndarray) -> np.ndarray:
    """(x, y, z, w) of the rotation of a pose."""
    return np.array([float(x) for x in mz.SE3.from_matrix(T).R.quaternion().flatten()])


def test_loops_closed_by_joints_that_users_add():
    """A cam that slides as it turns, and a hinge about its own x: as a joint of a tree, and as what
    closes two free bodies.
    """

    class Cam(mz.Joint):
        nq = nv = 1
        q_names, v_names, subgroup = ("angle",), ("rate",), False

        def pose(self, q):
            turned = mz.SE3.exp(mz.Twist.from_array([0, 0, 1.0, 0, 0, 0]), q[0])
            return turned @ mz.SE3.translation(0.3 * sin(q[0]), 0.0, 0.0)

        def screws(self, q):
            slide = 0.3 * cos(q[0])
            turn = Vec3(slide, 0.3 * sin(q[0]), 0.0)
            return mz.Screws([mz.Twist(Vec3(0.0, 0.0, 1.0), turn)])

        def screws_rate(self, q, v):
            turn = Vec3(-0.3 * sin(q[0]) * v[0], 0.3 * cos(q[0]) * v[0], 0.0)
            return mz.Screws([mz.Twist(Vec3.zero(), turn)])

    class Hinge(mz.Joint):
        nq = nv = 1
        q_names, v_names = ("angle",), ("rate",)
        constant = unit_screws(0)

        def pose(self, q):
            return mz.SE3.exp(mz.Twist.from_array([1.0, 0, 0, 0, 0, 0]), q[0])

    for name in ("Cam", "Hinge"):
        JOINT_TYPES.pop(name)
    inertia = mz.Inertia(1.2, (0.1, 0.0, -0.2), np.diag([0.2, 0.1, 0.15]))
    rng = np.random.default_rng(3)
    for kind in (Cam, Hinge):
        joint = kind().between(AWAY, random_pose(rng))
        b = mz.Builder("tree").add("a", None, mz.Free(), inertia)
        tree = b.add("b", "a", joint, inertia).build()
        q, v = tree.random_configuration(rng), rng.normal(size=tree.nv)
        b = mz.Builder("loose").add("a", None, mz.Free(), inertia)
        closed = b.add("b", None, mz.Free(), inertia).loop("joint", "a", "b", joint).build()
        T, V = mz.forward_kinematics(tree, q), mz.twists(tree, q, v)
        at = np.concatenate([x for C in T for x in (C[:3, 3], quaternion(C))])
        assert mz.loop_residual(closed, at).shape == (closed.row_count,) == (6,)
        agree(mz.loop_residual(closed, at), np.zeros(6))
        away = mz.integrate(closed, at, np.array([0.1, 0.2, 0.3, 0, 0, 0] + [0.0] * 6))
        assert np.abs(mz.loop_residual(closed, away)).max() > 0.01
        a = mz.forward_dynamics(closed, at, V.ravel(), np.zeros(12)).reshape(2, 6)
        free = mz.forward_dynamics(tree, q, v, np.zeros(tree.nv))
        agree(a, mz.accelerations(tree, q, v, free))
