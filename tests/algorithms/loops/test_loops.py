"""Loops, distances and couplings: rows, assembly, constrained dynamics, by their laws."""

import warnings

import numpy as np
import pytest
from support.cases import first
from support.loop_models import (
    closed_tree,
    null_space_accelerations,
    rod,
    slider_crank,
    state,
    stewart,
)  # fmt: skip
from support.mechanics import agree

import mozzi as mz
from mozzi.algorithms.constraints.rows.joints import meet
from mozzi.algorithms.constraints.rows.rows import loop_drift
from mozzi.algorithms.loops.projection import loop_corrections
from mozzi.algorithms.reference.loops import projected_forward_dynamics
from mozzi.compiler import program_of
from mozzi.lie import SE3
from mozzi.model.generate import chain, four_bar, leaning, n_four_bar
from mozzi.model.joints.joint import example_joints
from mozzi.program.meaning import interpret

JOINTS = example_joints()
ENDS = {"bodies": (3, 5), "from the world": (None, 5), "to the world": (5, None)}
CASES = [(label, "bodies") for label in JOINTS] + [
    (label, where)
    for label in ("Spherical-0", "Revolute-1", "Prismatic-0", "Universal-0", "Fixed-0")
    for where in ("from the world", "to the world")
]


@pytest.mark.parametrize("label", JOINTS)
def test_a_loop_counts_the_wrenches_of_its_joint(label: str):
    """What a model counts without looking is what the closure has."""
    loop = mz.Loop("loop", -1, -1, JOINTS[label], SE3.identity(), SE3.identity())
    assert loop.rows == len(meet(JOINTS[label], SE3.identity()).rows)


def slow(*case: str):
    return pytest.param(*case, marks=pytest.mark.slow)


NORMAL = [x if x[0].endswith("-0") and x[1] == "bodies" else slow(*x) for x in CASES]


def rod_and_gears() -> tuple[mz.Model, np.ndarray]:
    """A chain with a massless rod across it and a coupling of two angles, closed at q."""
    tree = chain(6, seed=4)
    q = tree.random_configuration(2)
    C = mz.forward_kinematics(tree, q)
    a, b = (0.1, 0.2, -0.3), (0.4, 0.0, 0.2)
    span = np.linalg.norm(C[5] @ [*b, 1.0] - C[2] @ [*a, 1.0])
    one, other = tree.joint_names[0], tree.joint_names[3]
    builder = mz.Builder.of(tree).distance("rod", tree.bodies[2], tree.bodies[5], a, b, span)
    builder.coupling("gears", {one: 2.0, other: -1.0}, 2.0 * q[0] - q[3])
    return builder.build(), q


@pytest.mark.parametrize("label, where", CASES)
def test_rows_are_the_rates_of_the_residual(label: str, where: str):
    """φ is zero where a loop is closed, and A v is its rate there; rank 6 − that of the screws."""
    joint = JOINTS[label]
    model, q = closed_tree(joint, seed=3, ends=ENDS[where])
    v = np.random.default_rng(1).normal(size=model.nv)
    assert np.abs(mz.loop_residual(model, q)).max(initial=0.0) < 1e-14
    at = lambda h: mz.loop_residual(model, mz.integrate(model, q, h * v))
    agree((at(1e-6) - at(-1e-6)) / 2e-6, mz.loop_jacobian(model, q) @ v, 1e-8)
    if where == "bodies":  # between the world and the body there may be fewer joints
        rank = np.linalg.matrix_rank(mz.loop_jacobian(model, q), tol=1e-8)
        some = joint.screws(joint.random(np.random.default_rng(5))).array()
        assert rank == 6 - np.linalg.matrix_rank(some, tol=1e-8)


@pytest.mark.parametrize("label, where", NORMAL)
def test_accelerations_keep_loops_closed(label: str, where: str):
    """φ(q ⊕ (h v + ½ h² a)) is of third order, and what acts besides τ are forces of the rows."""
    model, q = closed_tree(JOINTS[label], seed=3, ends=ENDS[where])
    v, tau = state(model, q)
    a = mz.forward_dynamics(model, q, v, tau)
    h = 1e-3
    at = lambda h: mz.loop_residual(model, mz.integrate(model, q, h * v + 0.5 * h * h * a))
    scale = 1.0 + np.abs(a).max() + np.abs(v).max() ** 4
    assert np.abs(at(h) + at(-h)).max(initial=0.0) / h**2 < 2e-5 * scale
    A = mz.loop_jacobian(model, q)
    lam = mz.loop_forces(model, q, v, tau)
    agree(mz.inverse_dynamics(model, q, v, a), tau + A.T @ lam, 1e-9)
    assert abs(lam @ A @ v) < 1e-9 * (1.0 + np.abs(lam).max(initial=0.0))  # they do no work


def test_the_interpreter_says_the_same():
    model, q = closed_tree(mz.Universal(), seed=5)
    v, tau = state(model, q)
    program = program_of(mz.forward_dynamics, model)
    agree(interpret(program, [q, v, tau])[0], mz.forward_dynamics(model, q, v, tau), 1e-11)


def test_rods_and_couplings():
    """Distances and couplings are kept by the accelerations, and do no work."""
    model, q = rod_and_gears()
    assert list(mz.loop_rows(model)) == ["rod", "gears"]
    assert np.abs(mz.loop_residual(model, q)).max() < 1e-14
    v, tau = state(model, q)
    A = mz.loop_jacobian(model, q)
    at = lambda x: mz.loop_residual(model, mz.integrate(model, q, x))
    agree((at(1e-6 * tau) - at(-1e-6 * tau)) / 2e-6, A @ tau, 1e-8)
    a = mz.forward_dynamics(model, q, v, tau)
    h = 1e-4
    bend = at(h * v + 0.5 * h * h * a) + at(-h * v + 0.5 * h * h * a)
    assert np.abs(bend).max() / h**2 < 1e-5 * np.abs(a).max()
    lam = mz.loop_forces(model, q, v, tau)
    agree(mz.inverse_dynamics(model, q, v, a), tau + A.T @ lam)


@pytest.mark.parametrize("turn", first(1, [0.4, 0.0, -1.0]))
def test_rows_that_meet_in_one_joint(turn: float):
    """Six balls on a platform whose free joint couples rows that share no coordinate."""
    model, q = stewart(turn)
    assert np.abs(mz.loop_residual(model, q)).max() < 1e-15
    v, tau = state(model, q)
    a = mz.forward_dynamics(model, q, v, tau)
    agree(a, null_space_accelerations(model, q, v, tau), 1e-11)
    assert np.abs(mz.loop_acceleration(model, q, v, a)).max() < 1e-12
    legs = [f"leg_{k}" for k in range(6)]
    _, moved = mz.hybrid_dynamics(model, q, v, tau, tau, prescribed=legs)
    assert np.abs(mz.loop_acceleration(model, q, v, moved)).max() < 1e-12
    held = np.isin(model.v_names, legs)
    A = mz.loop_jacobian(model, q)
    drift = mz.loop_acceleration(model, q, v, tau * held)
    agree(moved[~held], np.linalg.solve(A[:, ~held], -drift), 1e-10)


def test_prescribed_motion():
    """Rheonomic rows: A a + Ȧ v is what is prescribed, and so is A v."""
    model, q = rod_and_gears()
    _, tau = state(model, q)
    rates, rise = np.array([0.3, -0.7]), np.array([1.5, -2.0])
    v = mz.consistent_velocities(model, q, tau, loop_rates=rates)
    A = mz.loop_jacobian(model, q)
    agree(A @ v, rates)
    still = mz.forward_dynamics(model, q, v, tau)
    a = mz.forward_dynamics(model, q, v, tau, loop_accelerations=rise)
    agree(A @ (a - still), rise)
    moved = mz.assemble(model, q, loop_offsets=1e-2 * rates)
    agree(mz.loop_residual(model, moved), 1e-2 * rates)


def test_gauss():
    """Of all accelerations that keep the loops closed, a is nearest to the free ones in M."""
    model, q = closed_tree(mz.Cylindrical(), seed=7)
    v, tau = state(model, q)
    tree = model._replace(loops=())
    a, free = (mz.forward_dynamics(m, q, v, tau) for m in (model, tree))
    M, A = mz.mass_matrix(model, q), mz.loop_jacobian(model, q)
    _, _, Vt = np.linalg.svd(A)
    allowed = Vt[np.linalg.matrix_rank(A) :]
    assert np.abs(allowed @ M @ (a - free)).max() < 1e-9 * np.abs(M @ a).max()


def test_a_model_without_loops_is_its_tree():
    """Removing the loops gives the accelerations of the tree, and one that moves all gives them."""
    model, q = closed_tree(mz.Free(), seed=7)
    v, tau = state(model, q)
    tree = model._replace(loops=())
    agree(mz.forward_dynamics(model, q, v, tau), mz.forward_dynamics(tree, q, v, tau))
    assert mz.loop_residual(tree, q).shape == (0,)
    assert mz.loop_jacobian(tree, q).shape == (0, tree.nv)


@pytest.mark.parametrize("label", ["Spherical-0", "Universal-0", "Revolute-1", "Planar-0"])
def test_the_projected_form(label: str):
    """(0.37): the recursion's twin, made of dense operators."""
    model, q = closed_tree(JOINTS[label], seed=3)
    v, tau = state(model, q)
    agree(projected_forward_dynamics(model, q, v, tau), mz.forward_dynamics(model, q, v, tau), 1e-9)


def test_redundant_rows_change_nothing():
    """A planar mechanism in space: five rows of rank two, and the accelerations of two rows."""
    q = mz.assemble(four_bar(), [0.3, 0.5, 1.5], hold=["crank"])
    wide, tilt = [], SE3.exp(mz.Twist.unflatten((0.3, -0.8, 0.5, 0.0, 0.0, 0.0)))
    for joint in (mz.Revolute("y"), mz.Spherical(), mz.Cylindrical("y"), mz.Fixed()):
        b = mz.Builder("planar")
        b.add("crank", None, mz.Revolute("y").between(tilt), rod(1.0))
        b.add("coupler", "crank", mz.Revolute("y"), rod(2.0), placement=(1, 0, 0))
        base = tilt @ SE3.translation(2.2, 0, 0)
        b.add("rocker", None, mz.Revolute("y").between(base), rod(1.8))
        if isinstance(joint, mz.Fixed):  # twice the same loop
            b.loop("again", "coupler", "rocker", mz.Revolute("y"), (2, 0, 0), (1.8, 0, 0))
            joint = mz.Spherical()
        b.loop("closure", "coupler", "rocker", joint, (2, 0, 0), (1.8, 0, 0))
        model = b.build()
        v = mz.consistent_velocities(model, q, [1.0, 2.0, 3.0])
        report = mz.assemble(model, q, report=True)
        assert (report.rank, report.mobility, bool(report.singular)) == (2, 1, False)
        wide.append(mz.forward_dynamics(model, q, v, [1.0, 0.2, -0.4]))
        lam = mz.loop_forces(model, q, v, [1.0, 0.2, -0.4])
        A = mz.loop_jacobian(model, q)
        need = mz.inverse_dynamics(model, q, v, wide[-1]) - [1.0, 0.2, -0.4]
        agree(lam, np.linalg.pinv(A.T, rcond=1e-9) @ need, 1e-8)  # of least norm
    for other in wide[1:]:
        agree(other, wide[0], 1e-10)


def test_absolute_and_relative_coordinates():
    """Every body on a free joint, every joint a loop: the same motion."""
    model = slider_crank()
    q = mz.assemble(model, [0.9, -1.2, 1.2], hold=["crank"])
    v = mz.consistent_velocities(model, q, [1.0, 0.0, 0.0])
    tau = np.array([0.3, 0.0, -0.2])
    C, V = mz.forward_kinematics(model, q), mz.twists(model, q, v)
    a = mz.forward_dynamics(model, q, v, tau)
    b = mz.Builder("absolute")
    for body in model:
        b.add(body.name, None, mz.Free(), body.inertia)
    for body in model:
        parent = model.bodies[body.parent] if body.parent >= 0 else None
        b.loop(f"at_{body.name}", parent, body.name, body.joint)
    for loop in model.loops:
        ends = (model.bodies[k] for k in (loop.body_a, loop.body_b))
        b.loop(loop.name, *ends, loop.joint, loop.placement_a, loop.placement_b)
    absolute = b.build()
    poses = [SE3.from_matrix(T) for T in C]
    Q = np.concatenate([[*T.p.flatten(), *T.R.quaternion().flatten()] for T in poses])
    assert np.abs(mz.loop_residual(absolute, Q)).max() < 1e-14
    assert np.abs(mz.loop_jacobian(absolute, Q) @ V.ravel()).max() < 1e-13
    A = mz.accelerations(model, q, v, a)
    torque = np.zeros((3, 6))  # the joint forces as wrenches on both bodies
    y = np.array([0.0, 1.0, 0.0])
    torque[0, :3] = tau[0] * y
    torque[2, 3:] = tau[2] * np.array([1.0, 0.0, 0.0])
    out = mz.forward_dynamics(absolute, Q, V.ravel(), np.zeros(18), wrenches=torque)
    agree(out.reshape(3, 6), A, 1e-10)


@pytest.mark.parametrize("joints", [["crank"], ["rocker"], ["crank", "coupler"]])
def test_hybrid_dynamics_with_loops(joints: list[str]):
    """(τ, a) satisfy the equations of motion and the loops, whatever was prescribed."""
    model = four_bar()
    q = mz.assemble(model, [0.3, 0.5, 1.5], hold=["crank"])
    v = mz.consistent_velocities(model, q, [1.0, 0.0, 0.0])
    tau = np.array([1.0, 0.2, -0.4])
    wanted = mz.forward_dynamics(model, q, v, np.array([3.0, -1.0, 0.7]))  # agrees with the loops
    tau_out, a = mz.hybrid_dynamics(model, q, v, tau, wanted, prescribed=joints)
    held = np.array([name in joints for name in model.joint_names])
    agree(a, wanted, 1e-9)  # of one degree of freedom: prescribed and consistent is complete
    agree(tau_out[~held], tau[~held])
    A = mz.loop_jacobian(model, q)
    need = mz.inverse_dynamics(model, q, v, a) - tau_out
    lam, *_ = np.linalg.lstsq(A.T, need, rcond=1e-9)
    agree(A.T @ lam, need, 1e-9)


def test_single_precision():
    """Redundant rows are found dependent in float32 as well."""
    model = four_bar()
    q = mz.assemble(model, [0.3, 0.5, 1.5], hold=["crank"])
    tilted = mz.Builder("tilted")
    tilt = SE3.exp(mz.Twist.unflatten((0.3, -0.8, 0.5, 0.0, 0.0, 0.0)))
    for body in model:
        parent = None if body.parent < 0 else model.bodies[body.parent]
        joint = body.joint.between(tilt) if parent is None else body.joint
        tilted.add(body.name, parent, joint, body.inertia)
    ends = (2.0, 0.0, 0.0), (1.8, 0.0, 0.0)
    model = tilted.loop("closure", "coupler", "rocker", mz.Revolute("y"), *ends).build()
    v = mz.consistent_velocities(model, q, [1.0, 0.0, 0.0])
    tau = np.array([1.0, 0.2, -0.4])
    single = mz.compile(mz.forward_dynamics, model, dtype="float32")
    a = single(*(x.astype(np.float32) for x in (q, v, tau)))
    agree(a, mz.forward_dynamics(model, q, v, tau), 1e-4)


@pytest.mark.parametrize("function", [mz.forward_dynamics, loop_corrections, mz.loop_rank])
def test_uncoupled_loops_cost_linearly(function):
    """Windows in a row: the operations per window do not grow with their number."""
    programs = (program_of(function, n_four_bar(n)) for n in (4, 8, 12))
    counts = [sum(program.operations.values()) for program in programs]
    assert counts[2] - counts[1] == pytest.approx(counts[1] - counts[0], rel=0.02)


@pytest.mark.parametrize(
    ("joint", "seed", "n", "ends"),
    [
        (mz.Fixed(), 896711, 6, (2, 5)),
        (mz.Fixed(), 320012, 8, (0, 4)),
        (mz.Screw(pitch=-1.2), 469758, 6, (1, 3)),
    ],
    ids=["across translations", "across a slide", "beside a plane"],
)
def test_rows_that_cancel_are_no_rows(joint, seed, n, ends):
    """What the joints between the ends do not feel, joints before them do not feel either: the
    wrenches of both ends cancel, up to rounding.
    """
    model, q = closed_tree(joint, seed, n, ends)
    v, tau = state(model, q)
    rank = np.linalg.matrix_rank(mz.loop_jacobian(model, q), tol=1e-12)
    assert rank < len(mz.loop_residual(model, q)) and mz.loop_rank(model, q)[0] == rank
    agree(mz.forward_dynamics(model, q, v, tau), projected_forward_dynamics(model, q, v, tau))


def test_drift_is_the_residual_to_second_order():
    """Where a loop is a little open; and a hinge that is met the wrong way round is no NaN."""
    for joint in (mz.Revolute("z"), mz.Spherical(), mz.Cylindrical(), mz.Fixed(), mz.Universal()):
        model, q = closed_tree(joint)
        aside = np.random.default_rng(1).normal(size=model.nv)
        for size in (1e-2, 1e-4):
            near = mz.integrate(model, q, size * aside)
            apart = loop_drift(model, near) - mz.loop_residual(model, near)
            assert np.abs(mz.loop_residual(model, near)).max() > 0.1 * size
            assert np.abs(apart).max() < 30.0 * size**3
    body = mz.Inertia(1.0, (0.0, 0.0, 0.0), np.eye(3))
    hinge = mz.Builder("door").add("door", None, mz.Revolute("x"), body).build()
    model = hinge.with_loop("wrong", None, "door", mz.Revolute("z"))
    assert mz.loop_residual(model, [np.pi]) == pytest.approx([np.pi, 0.0, 0.0, 0.0, 0.0])


def test_a_batch_is_its_samples():
    model = four_bar()
    q = mz.assemble(model, model.random_configuration(1, (2, 3)))
    assert np.abs(mz.loop_residual(model, q)).max() < 1e-12
    v = mz.consistent_velocities(model, q, np.ones((2, 3, 3)))
    a = mz.forward_dynamics(model, q, v, np.zeros(3))
    lam = mz.loop_forces(model, q, v, np.zeros((2, 3, 3)))
    for k in np.ndindex(2, 3):
        agree(a[k], mz.forward_dynamics(model, q[k], v[k], np.zeros(3)))
        agree(lam[k], mz.loop_forces(model, q[k], v[k], np.zeros(3)))


# -- assembly --------------------------------------------------------------------------------------


def test_assembly_tells_what_it_found():
    """Two ways to assemble a four-bar over one crank; both closed, on different branches."""
    model = four_bar()
    found = [mz.assemble(model, [0.3, s * 0.5, s * 1.5], ["crank"], report=True) for s in (1, -1)]
    assert all(x.closed and x.residual < 1e-14 and x.q[0] == 0.3 for x in found)
    assert [int(x.rank) for x in found] == [2, 2] and [int(x.mobility) for x in found] == [1, 1]
    assert found[0].branch == -found[1].branch != 0
    flat = mz.assemble(model, model.neutral())  # all rods in line: a guess that does not help
    assert np.abs(mz.loop_residual(model, flat)).max() < 1e-12


def test_a_singular_configuration_is_told():
    """A flat parallelogram may become a parallelogram or an antiparallelogram."""
    model = four_bar(1.0, 2.0, 1.0, 2.0)
    flat = mz.assemble(model, [0.0, 0.0, 0.0], report=True)
    assert flat.singular and flat.mobility == 2 and flat.branch == 0
    up = mz.assemble(model, [1.5, -1.5, 1.5], report=True)
    assert not up.singular and up.mobility == 1
    with pytest.warns(mz.SingularWarning, match="have rank 1 there and 2 in closed"):
        a = mz.forward_dynamics(model, flat.q, [1.0, -1.0, 1.0], [0.1, 0.2, 0.3])
    assert np.isfinite(a).all()


def test_the_rank_that_the_dynamics_counts():
    """`loop_rank` is the rank by singular values; its margin falls before the rank does."""
    for model, q in (closed_tree(mz.Universal(), seed=3), rod_and_gears(), (n_four_bar(3), None)):
        q = leaning(model, 0.7) if q is None else q
        rank, margin = mz.loop_rank(model, q)
        assert rank == np.linalg.matrix_rank(mz.loop_jacobian(model, q), tol=1e-9)
        assert 1e-3 < margin <= 1.0
    model = n_four_bar(2)
    rank, margin = mz.loop_rank(model, [leaning(model, np.pi / 2 - x) for x in (0.1, 1e-3, 0.0)])
    assert rank.tolist() == [4.0, 4.0, 2.0]
    assert margin[0] == pytest.approx(100.0 * margin[1], rel=0.05) and margin[2] > 0.01
    assert mz.loop_rank(chain(3), np.zeros(3)) == (0.0, 1.0)


def test_a_simulation_tells_where_it_is_singular():
    """A flat parallelogram may go on as two mechanisms: told with the time and the ranks."""
    model = four_bar(1.0, 2.0, 1.0, 2.0)
    with pytest.warns(mz.SingularWarning, match=r"t = 0 s: its loops have rank 1 there and 2"):
        mz.simulate(model, [0.0, 0.0, 0.0], [1.0, -1.0, 1.0], 0.1, 1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", mz.SingularWarning)
        mz.simulate(model, [0.1, -0.1, 0.1], [1.0, -1.0, 1.0], 0.1, 1e-2)


def test_what_cannot_be_closed_says_by_how_much():
    with pytest.raises(mz.LoopError, match=r"crank, rocker held: 'closure' stays open by 0\.0\d"):
        mz.assemble(four_bar(), [0.3, 0.5, 1.5], hold=["crank", "rocker"])
    report = mz.assemble(four_bar(), [0.3, 0.5, 1.5], hold=["crank", "rocker"], report=True)
    assert not report.closed and 0.02 < report.residual < 0.03
    model = four_bar()
    q = mz.assemble(model, [0.3, 0.5, 1.5])
    with pytest.raises(mz.LoopError, match="no velocities with these held"):
        mz.consistent_velocities(model, q, [1.0, 1.0, 1.0], hold=["crank", "rocker"])
    with pytest.raises(mz.ModelError, match="no joint 'knee'"):
        mz.assemble(model, q, hold=["knee"])


def test_the_parallelogram_leans_on():
    model = n_four_bar(3)
    q = leaning(model, 0.4)
    assert np.abs(mz.loop_residual(model, q)).max() < 1e-15


@pytest.mark.parametrize("n", [3, 60])
def test_a_tree_has_no_rows(n: int):
    """Also where it is large enough to be rolled."""
    tree = chain(n, seed=1)
    q, v, a = tree.random_configuration(0), np.ones(n), np.ones(n)
    assert mz.loop_residual(tree, q).shape == mz.loop_acceleration(tree, q, v, a).shape == (0,)
    assert mz.loop_jacobian(tree, q).shape == (0, n)


def test_velocities_of_what_moves_without_inertia():
    """Nearest in kinetic energy is nothing where there is none: which joint, at which sample."""
    point = mz.Inertia(1.0, (0.0, 0.0, 0.0), np.zeros((3, 3)))
    b = mz.Builder("pulled in").add("arm", None, mz.Revolute("z"), mz.Inertia.zero())
    b = b.add("mass", "arm", mz.Prismatic("x"), point)
    model = b.build(physical=False).with_coupling("gear", {"arm": 1.0, "mass": -1.0})
    assert mz.consistent_velocities(model, [1.0, 1.0], [1.0, 2.0]).shape == (2,)
    with pytest.raises(mz.SingularError, match=r"sample \[1\]: 'arm' can move without inertia"):
        mz.consistent_velocities(model, [[1.0, 1.0], [0.0, 0.0]], [1.0, 2.0])
    planes = mz.Composite(mz.Planar("y"), mz.Planar("x").between((0.1, 0.2, 0.3)))
    tree = mz.Builder("planes").add("a", None, planes, mz.Inertia(1.0, (0, 0, 0), np.eye(3)))
    closed = tree.build().with_loop("ball", None, "a", mz.Spherical())
    with pytest.raises(mz.SingularError, match="joint 'a' has 6 coordinates"):
        mz.consistent_velocities(closed, np.zeros(6), np.ones(6))
