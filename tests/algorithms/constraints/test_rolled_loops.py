"""Rolled programs of mechanisms with many loops that are alike give what straight-line programs
give, and do not grow.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.loop_models import pose
from support.rolled_programs import rolled_as_straight

import mozzi as mz
from mozzi.algorithms.constraints.symbolic_closures import alike
from mozzi.algorithms.loops.projection import loop_corrections
from mozzi.algorithms.loops.rank_warnings import counted_forward_dynamics
from mozzi.compiler import program_of
from mozzi.model.generate import leaning, n_four_bar


def inertia(rng: np.random.Generator) -> mz.Inertia:
    return mz.Inertia(rng.uniform(0.5, 2.0), 0.1 * rng.normal(size=3), np.diag([0.2, 0.25, 0.3]))


def windows(n: int) -> mz.Model:
    return n_four_bar(n)


def necklace(n: int) -> mz.Model:
    """Beads that float, rods between neighbours, and the last of them tied to the first."""
    rng, b = np.random.default_rng(0), mz.Builder("necklace")
    for k in range(n):
        b.add(f"bead_{k}", None, mz.Free(), inertia(rng))
    for k in range(n):
        ends = f"bead_{k}", f"bead_{(k + 1) % n}"
        b.distance(f"rod_{k}", *ends, rng.normal(size=3), rng.normal(size=3), length=1.5)
    return b.build()


def legs(n: int) -> mz.Model:
    """Arms on the ground, of several joints that all differ, each held at its neighbour by a ball
    and beside that by a rod: closed at neutral.
    """
    rng, b = np.random.default_rng(1), mz.Builder("legs", gravity=(0.3, -1.0, -9.0))
    for k in range(n + 1):
        shoulder = mz.Universal().between(pose(rng), pose(rng))
        b.add(f"arm_{k}", None, shoulder, inertia(rng), armature=0.02, damping=0.1)
        elbow = mz.Spherical().between(pose(rng), pose(rng))
        b.add(f"hand_{k}", f"arm_{k}", elbow, inertia(rng), stiffness=0.5)
        slide = mz.Prismatic(rng.normal(size=3)).between(pose(rng))
        b.add(f"thumb_{k}", f"hand_{k}", slide, inertia(rng))
    tree = b.build()
    at = dict(zip(tree.bodies, mz.forward_kinematics(tree, tree.neutral())))

    def seen(body: str, p: np.ndarray) -> np.ndarray:
        return at[body][:3, :3].T @ (p - at[body][:3, 3])

    for k in range(n):
        p, q, along = rng.normal(size=(3, 3))
        ends = f"hand_{k}", f"arm_{k + 1}"
        b.loop(f"ball_{k}", *ends, mz.Spherical(), *(tuple(seen(x, p)) for x in ends))
        ends, far = (f"thumb_{k}", f"hand_{k + 1}"), q + along / np.linalg.norm(along)
        b.distance(f"rod_{k}", *ends, seen(ends[0], q), seen(ends[1], far), length=1.0)
    return b.build()


MAKE = {"windows": lambda: windows(18), "necklace": lambda: necklace(18), "legs": lambda: legs(9)}


def state(model: mz.Model) -> np.ndarray:
    change = 1e-5 * np.random.default_rng(2).normal(size=model.nv)
    if model.name == "n_four_bar":
        return leaning(model, 0.3) + change
    if model.name == "legs":
        return mz.integrate(model, model.neutral(), change)
    return model.random_configuration(3, closed=False)


@pytest.mark.parametrize(
    "name", ["windows", "necklace", pytest.param("legs", marks=pytest.mark.slow)]
)
def test_rolled_and_straight_programs_agree(name: str):
    """Closures of one kind and of two, in a row and in a ring, with numbers that differ."""
    model = MAKE[name]()
    assert alike(model)
    q = state(model)
    v, tau, c = np.random.default_rng(4).normal(size=(3, model.nv))
    rolled_as_straight(counted_forward_dynamics, model, q, v, tau)
    rolled_as_straight(loop_corrections, model, q, v)
    rolled_as_straight(mz.forward_dynamics_gradient, model, q, v, tau, c)


@pytest.mark.slow
def test_they_take_wrenches_resistance_and_prescribed_motions():
    model = legs(9)
    rng, q = np.random.default_rng(5), state(model)
    v, tau = rng.normal(size=(2, model.nv))
    W, U = rng.normal(size=(model.nb, 6)), rng.normal(size=model.row_count)
    given = {"wrenches": True, "loop_accelerations": True, "resistance": True}
    found = [
        mz.compile(mz.forward_dynamics, model, target="interpret", rolled=rolled, options=given)(
            q, v, tau, W, U
        )
        for rolled in (True, False)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=0.0, atol=1e-9 * np.abs(found[1]).max())


def test_rows_that_depend_on_others_are_left_out_as_elsewhere():
    """Windows that lie flat are singular, each of them."""
    model = n_four_bar(18)
    q = leaning(model, np.pi / 2)
    counts = [
        mz.compile(counted_forward_dynamics, model, target="interpret", rolled=rolled)(
            q, np.zeros(model.nv), np.ones(model.nv)
        )[1:]
        for rolled in (True, False)
    ]
    assert counts[0] == counts[1]
    assert counts[0][1] > 0


def test_programs_do_not_grow():
    """The same operations at 18 and 36 windows, which are done as often as there are windows."""
    sizes = [
        program_of(f, n_four_bar(n), rolled=True).length
        for f in (mz.forward_dynamics, mz.forward_dynamics_gradient) for n in (18, 36)
    ]  # fmt: skip
    assert sizes[0] == sizes[1] < 1200
    assert sizes[2] == sizes[3] < 2700


def net(n: int) -> mz.Model:
    """n × n beads: what is left of it when beads are eliminated meets ever more others."""
    rng, b = np.random.default_rng(0), mz.Builder("net")
    for k in range(n * n):
        b.add(f"{k}", None, mz.Free(), inertia(rng))
    for k in range(n * n):
        for other in ([k + 1] if (k + 1) % n else []) + ([k + n] if k + n < n * n else []):
            b.distance(f"{k} {other}", f"{k}", f"{other}", length=1.0)
    return b.build()


def test_what_is_not_alike_is_straight_line_code():
    """Rows that must be chosen, closures that meet many others, long paths, and couplings."""
    spatial = mz.Builder("spatial")
    for k in range(6):  # a planar linkage placed at random: five rows of rank two or three
        spatial.add(f"{k}", f"{k - 1}" if k % 3 else None,
                    mz.Revolute((1.0, 2.0, 3.0)).between((0.3 * k, 0.1, 0.2)),
                    mz.Inertia(1.0, (0.1, 0, 0), np.eye(3)))  # fmt: skip
    for k in (2, 5):
        spatial.loop(f"{k}", None, f"{k}", mz.Revolute((1.0, 2.0, 3.0)), (0.5 * k, 0.2, 0.1))
    assert not alike(spatial.build())
    assert not alike(net(6))


@pytest.mark.slow
def test_many_loops_move_as_their_straight_program_says():
    """410 beads and 202 windows, which are rolled by default: energy is kept at the order of the
    method.
    """
    for model in (necklace(410), n_four_bar(202)):
        q = mz.assemble(model, state(model))
        v = mz.consistent_velocities(model, q, 0.1 * np.ones(model.nv))
        runs = [mz.simulate(model, q, v, 0.02, dt).energy() for dt in (2e-3, 1e-3)]
        drift = [np.abs(E - E[0]).max() for E in runs]
        assert drift[1] < 1e-9 * np.abs(runs[1]).max() or 12 < drift[0] / drift[1] < 20
        a = mz.forward_dynamics(model, q, v, np.zeros(model.nv))
        straight = mz.compile(mz.forward_dynamics, model, rolled=False)
        np.testing.assert_allclose(a, straight(q, v, np.zeros(model.nv)), atol=1e-8)


def gradients(model: mz.Model) -> tuple[list[np.ndarray], tuple[np.ndarray, ...]]:
    """A batch of arguments of the gradient, and what its straight program gives."""
    rng = np.random.default_rng(6)
    q = np.tile(state(model), (37, 1))
    arrays = [q, *rng.normal(size=(3, 37, model.nv))]
    return arrays, mz.compile(mz.forward_dynamics_gradient, model, rolled=False)(*arrays)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-3)])
def test_machine_code_of_them(dtype, tolerance: float):
    """The same in vectors of samples, and in single precision within its accuracy."""
    model = n_four_bar(17)
    arrays, straight = gradients(model)
    kernel = mz.compile(mz.forward_dynamics_gradient, model, dtype=dtype, rolled=True)
    for x, y in zip(kernel(*(x.astype(dtype) for x in arrays)), straight, strict=True):
        np.testing.assert_allclose(x, y, rtol=0.0, atol=tolerance * np.abs(y).max())


@pytest.mark.gpu
@pytest.mark.parametrize("name", list(MAKE))
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 3e-2)])
def test_them_on_a_gpu(name: str, dtype, tolerance: float):
    cupy = pytest.importorskip("cupy")
    model = MAKE[name]()
    arrays, straight = gradients(model)
    kernel = mz.compile(
        mz.forward_dynamics_gradient, model, target="cuda", dtype=dtype, rolled=True
    )
    found = kernel(*(cupy.asarray(x, dtype=dtype) for x in arrays))
    for x, y in zip(found, straight, strict=True):
        np.testing.assert_allclose(x.get(), y, rtol=0.0, atol=tolerance * np.abs(y).max())


@pytest.mark.parametrize(
    ("name", "flat"), [("windows", False), ("windows", True), ("necklace", False), ("legs", False)]
)
def test_rank(name: str, flat: bool):
    """In loops over closures as in straight-line code, also where windows lie flat: one row of each
    depends on the other there. The margin is that of another order.
    """
    model = MAKE[name]()
    q = leaning(model, np.pi / 2) if flat else state(model)
    rolled, straight = (mz.compile(mz.loop_rank, model, rolled=x)(q) for x in (True, False))
    rank = 18 if flat else 36 if name == "windows" else model.row_count
    assert rolled[0] == straight[0] == rank
    assert 0.3 < rolled[1] / straight[1] < 3.0
