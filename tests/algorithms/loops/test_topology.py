"""Primary and secondary systems: grasp, carry and release without compiling anything."""

import importlib
import warnings

import numpy as np
import pytest
from support.cases import first, normal
from support.cuts import Cuts, sized
from support.mechanics import agree

import mozzi as mz
from mozzi.algorithms.loops import topology
from mozzi.errors import OpenLoopWarning
from mozzi.lie import SE3
from mozzi.model.generate import LINKAGES, chain
from mozzi.simulation.closed_system.closed_system import ClosedSystem

compiling = importlib.import_module("mozzi.compiler")


def two_arms() -> mz.Model:
    """Two arms of six joints, a metre apart."""
    b = mz.Builder("arms")
    for side, x in (("left", -0.5), ("right", 0.5)):
        arm = chain(6, seed=2)
        for body in arm:
            parent = None if body.parent < 0 else f"{side}_{arm.bodies[body.parent]}"
            joint = body.joint
            if parent is None:
                joint = joint.between(SE3.translation(x, 0.0, 0.0))
            b.add(f"{side}_{body.name}", parent, joint, body.inertia)
        b.frame(f"{side}_hand", f"{side}_{arm.bodies[-1]}", (0.0, 0.0, 0.1))
    return b.build()


def bar(mass: float = 0.7) -> mz.Model:
    inertia = mz.Inertia(mass, (0.02, 0.0, 0.01), 0.03 * mass * np.diag([0.2, 1.0, 1.0]))
    return mz.Builder("bar").add("bar", None, mz.Free(), inertia).build()


def grasped(arms: mz.Model, object_: mz.Model) -> tuple:
    """The two systems with both hands on the bar, as attachments and as loops of one tree."""
    rng = np.random.default_rng(3)
    q = arms.random_configuration(rng)
    Q = object_.random_configuration(rng)
    B = mz.pose(object_, Q, "bar")
    ends = {side: np.linalg.inv(B) @ mz.pose(arms, q, f"{side}_hand") for side in ("left", "right")}
    system = ClosedSystem(
        {"arms": (arms, ["left_hand", "right_hand"]), "bar": (object_, ["bar"])}
    )
    one = mz.Builder.of(arms)
    one.add("bar", None, mz.Free(), object_.body("bar").inertia)
    for side, T in ends.items():
        hand = f"{side}_hand"
        system = system.attach(side, ("arms", hand), ("bar", "bar"), mz.Fixed(), None, T)
        one.loop(side, hand, "bar", mz.Fixed(), None, SE3.from_matrix(T))
    return system, one.build(), q, Q


def test_it_moves_as_one_tree_with_loops():
    """Steps A to F on two trees, and articulated bodies of one tree with loops."""
    arms, thing = two_arms(), bar()
    system, one, q, Q = grasped(arms, thing)
    rng = np.random.default_rng(4)
    v = mz.consistent_velocities(one, np.concatenate([q, Q]), rng.normal(size=18))
    tau = rng.normal(size=12)
    both, f = system.distributed_accelerations(
        {"arms": q, "bar": Q}, {"arms": v[:12], "bar": v[12:]}, {"arms": tau}
    )
    forces = np.concatenate([tau, np.zeros(6)])
    a = mz.forward_dynamics(one, np.concatenate([q, Q]), v, forces)
    agree(np.concatenate([both["arms"], both["bar"]]), a, 1e-8)
    lam = np.concatenate([f["left"], f["right"]])
    agree(lam, mz.loop_forces(one, np.concatenate([q, Q]), v, forces), 1e-7)
    same = system.forward_dynamics(
        {"arms": q, "bar": Q}, {"arms": v[:12], "bar": v[12:]}, {"arms": tau}
    )
    agree(np.concatenate([same["arms"], same["bar"]]), a, 1e-12)
    same = system.consistent_velocities({"arms": q, "bar": Q}, {"arms": v[:12], "bar": v[12:]})
    agree(same["arms"], v[:12], 1e-10)


JOINTS = {
    "revolute x": lambda: mz.Revolute("x"),
    "revolute oblique": lambda: mz.Revolute((1, 2, -3)),
    "prismatic y": lambda: mz.Prismatic("y"),
    "universal": lambda: mz.Universal("x", "y"),
    "cylindrical": lambda: mz.Cylindrical("y").between((0.3, -0.2, 0.1), (0.1, 0.2, 0.4)),
    "screw": lambda: mz.Screw((0, 1, 1), pitch=0.2),
    "composite": lambda: mz.Composite(
        mz.Revolute("x").between(None, (0.1, 0.0, 0.3)), mz.Revolute("y")
    ),
}


@pytest.mark.parametrize("name", normal({"revolute oblique", "prismatic y", "universal"}, JOINTS))
def test_joints_of_any_axis_couple_as_loops_of_one_tree(name: str):
    """Frames of the joint included: x, oblique and off-axis, at a state with any joint angle."""
    arms, thing, joint = two_arms(), bar(), JOINTS[name]()
    rng = np.random.default_rng(5)
    q, Q = arms.random_configuration(rng), thing.random_configuration(rng)
    inside = joint.motion([float(x) for x in joint.random(rng)]).matrix()
    # the bar's place of the attachment, such that the joint is closed with these coordinates
    T = np.linalg.inv(mz.pose(thing, Q, "bar")) @ mz.pose(arms, q, "left_hand") @ inside
    system = ClosedSystem({"arms": (arms, ["left_hand"]), "bar": (thing, ["bar"])})
    held = system.attach("grip", ("arms", "left_hand"), ("bar", "bar"), joint, None, T)
    one = mz.Builder.of(arms)
    one.add("bar", None, mz.Free(), thing.body("bar").inertia)
    one = one.loop("grip", "left_hand", "bar", joint, None, SE3.from_matrix(T)).build()
    p = np.concatenate([q, Q])
    v, tau = mz.consistent_velocities(one, p, rng.normal(size=18)), rng.normal(size=12)
    at, rate = {"arms": q, "bar": Q}, {"arms": v[:12], "bar": v[12:]}
    agree(held.residual(at)["grip"], np.zeros(held.model.row_count), 1e-9)
    both, _ = held.distributed_accelerations(at, rate, {"arms": tau})
    a = mz.forward_dynamics(one, p, v, np.concatenate([tau, np.zeros(6)]))
    agree(np.concatenate([both["arms"], both["bar"]]), a, 1e-7)
    agree(held.consistent_velocities(at, rate)["arms"], v[:12], 1e-9)


def test_what_is_open_or_missing_is_told():
    arms, thing = two_arms(), bar()
    system, _, q, Q = grasped(arms, thing)
    at, zero = {"arms": q, "bar": Q}, {"arms": np.zeros(12), "bar": np.zeros(6)}
    system.check_closed(at)
    with pytest.raises(mz.LoopError, match=r"attachment 'left' is open by 2\.00e-01 m"):
        system.check_closed({"arms": q, "bar": Q + np.array([0.2, 0, 0, 0, 0, 0, 0])})
    with pytest.raises(mz.ConfigurationError, match="v: nothing for 'bar'"):
        system.distributed_accelerations(at, {"arms": zero["arms"]})
    there = "tau: no system 'bars'; there are 'bar', 'arms'"
    with pytest.raises(mz.ConfigurationError, match=there):
        system.distributed_accelerations(at, zero, {"bars": zero["bar"]})
    with pytest.raises(mz.ModelError, match="no system 'box'"):
        system.without_system("box")


SMALL = first(1, [(1e-6, 0.2), (1e-3, 0.01), (1e-3, 1e-3), (1e6, 0.2)])


@pytest.mark.parametrize("mass, size", SMALL)
def test_a_small_thing_between_two_arms(mass: float, size: float):
    """Grams and millimetres: admittances of 1e9 beside those of the arms, and both count."""
    inertia = mz.Inertia(mass, (0.1 * size, 0, 0), mass * size**2 * np.diag([0.2, 1.0, 1.0]))
    thing = mz.Builder("thing").add("bar", None, mz.Free(), inertia).build()
    system, one, q, Q = grasped(two_arms(), thing)
    p, rng = np.concatenate([q, Q]), np.random.default_rng(4)
    u, tau = rng.normal(size=18), rng.normal(size=12)
    at = {"arms": q, "bar": Q}
    v = system.consistent_velocities(at, {"arms": u[:12], "bar": u[12:]})
    agree(mz.loop_jacobian(one, p) @ np.concatenate([v["arms"], v["bar"]]), np.zeros(12), 1e-5)
    w = mz.consistent_velocities(one, p, u)
    both, _ = system.distributed_accelerations(at, {"arms": w[:12], "bar": w[12:]}, {"arms": tau})
    a = mz.forward_dynamics(one, p, w, np.concatenate([tau, np.zeros(6)]))
    agree(np.concatenate([both["arms"], both["bar"]]), a, 1e-9)


def test_nothing_is_compiled_when_the_topology_changes(monkeypatch: pytest.MonkeyPatch):
    """Grasp, exchange the object for one of the same kind, release: the programs stay."""
    arms, light = two_arms(), bar()
    system, _, q, Q = grasped(arms, light)
    heavy = bar(3.0)
    zero = {"arms": np.zeros(12), "bar": np.zeros(6)}
    for thing in (light, heavy):
        grasp = system.with_system("bar", thing, ["bar"])
        grasp.distributed_accelerations({"arms": q, "bar": Q}, zero)
    for joint in (mz.Spherical(), mz.Planar()):  # of each kind once, wherever it is
        kind = system.detach("left").detach("right")
        kind = kind.attach("kind", ("world", ""), ("bar", "bar"), joint, at={"bar": Q})
        kind.distributed_accelerations({"arms": q, "bar": Q}, zero)
    made: list[str] = []
    monkeypatch.setattr(compiling, "compile", lambda *a, **k: made.append("a kernel"))
    for thing in (light, heavy, light):
        with_thing = system.with_system("bar", thing, ["bar"])
        one_hand = with_thing.detach("left")
        free = one_hand.detach("right")
        end, B = system.attachments[0].placement_b, mz.pose(light, Q, "bar")
        ends = ("arms", "left_hand"), ("bar", "bar")
        hinged = free.attach("hook", *ends, mz.Spherical(), None, end)
        pinned = free.attach("table", ("world", ""), ("bar", "bar"), mz.Planar(), B)
        for state in (with_thing, one_hand, free, hinged, pinned, free.without_system("bar")):
            at, rate = ({n: x[n] for n in state.systems} for x in ({"arms": q, "bar": Q}, zero))
            a, _ = state.distributed_accelerations(at, rate)
            assert np.isfinite(a["arms"]).all()
    assert not made


def test_released_it_falls():
    arms, thing = two_arms(), bar()
    system, _, q, Q = grasped(arms, thing)
    free = system.detach("left").detach("right")
    zero = {"arms": np.zeros(12), "bar": np.zeros(6)}
    a, f = free.distributed_accelerations({"arms": q, "bar": Q}, zero)
    assert f == {}
    agree(a["arms"], mz.forward_dynamics(arms, q, zero["arms"], zero["arms"]))
    agree(a["bar"], mz.forward_dynamics(thing, Q, zero["bar"], zero["bar"]))
    with pytest.raises(mz.ModelError, match="no attachment 'left'"):
        free.detach("left")
    with pytest.raises(mz.ModelError, match="no closure frame"):
        free.attach("x", ("arms", "elbow"), ("bar", "bar"))


def test_a_grasp_with_rows_that_are_there_twice_stays_so_where_it_is_open():
    """The same grasp given twice, a little apart: of the order of what is open."""
    arms, thing = two_arms(), bar()
    system, _, q, Q = grasped(arms, thing)
    rng = np.random.default_rng(1)
    v = {"arms": rng.normal(size=arms.nv), "bar": rng.normal(size=thing.nv)}
    v = system.consistent_velocities({"arms": q, "bar": Q}, v)
    exact, _ = system.distributed_accelerations({"arms": q, "bar": Q}, v)
    part = system.attachments[0]
    twice = system.attach("again", part.a, part.b, part.joint, part.placement_a, part.placement_b)
    for d in (1e-9, 1e-7, 1e-5):
        near = {"arms": q + d * rng.normal(size=len(q)), "bar": Q}
        a, _ = twice.distributed_accelerations(near, v)
        assert np.abs(a["arms"] - exact["arms"]).max() < 1e3 * d * np.abs(exact["arms"]).max()


DEPENDENT = [(name, s) for s in (1.0, 1e-3) for name in LINKAGES]


@pytest.mark.parametrize(
    ("name", "s"), normal({("planar_4", 1.0), ("spherical_4", 1.0), ("sarrus", 1e-3)}, DEPENDENT)
)
@pytest.mark.parametrize("d", [0.0, 1e-9, 1e-5])
def test_linkages_with_dependent_rows(name: str, s: float, d: float):
    """Planar ones at random in space, where rows across the plane are zero up to rounding, and
    others; closed, and open by d; of any size.
    """
    model, q, _ = Cuts(sized(LINKAGES[name](1), s)).cut("joint_2")
    loop, tree = model.loops[0], model.without_loop("joint_2")
    tree = tree.with_frame("a", tree.bodies[loop.body_a], loop.placement_a)
    tree = tree.with_frame("b", tree.bodies[loop.body_b], loop.placement_b)
    rng = np.random.default_rng(0)
    v = mz.consistent_velocities(model, q, rng.normal(size=model.nv))
    tau, aside = rng.normal(size=(2, model.nv))
    system = ClosedSystem({"tree": (tree, ["a", "b"])})
    system = system.attach("cut", ("tree", "a"), ("tree", "b"), loop.joint, at={"tree": q})
    a, _ = system.distributed_accelerations({"tree": q + d * aside}, {"tree": v}, {"tree": tau})
    exact = mz.forward_dynamics(model, q, v, tau)
    assert np.abs(a["tree"] - exact).max() < (300.0 * d + 1e-11) * (1.0 + np.abs(exact).max())


def test_velocities_that_open_an_attachment_are_told_of():
    """Rows of a linkage that depend on one another contradict each other there: what was answered
    was that of other rows than `forward_dynamics` keeps, without a word.
    """
    model, q, v = Cuts(LINKAGES["bennett"](0)).cut("joint_4")
    loop = model.loops[0]
    tree = model.without_loop(loop.name)
    for name, body, T in ("a", loop.body_a, loop.placement_a), ("b", loop.body_b, loop.placement_b):
        tree = tree.with_frame(name, body if body >= 0 else None, T)
    system = ClosedSystem({"tree": (tree, ["a", "b"])})
    system = system.attach("pin", ("tree", "a"), ("tree", "b"), loop.joint)
    rng = np.random.default_rng(0)
    still, bad = np.zeros(model.nv), rng.normal(size=model.nv)
    rate = np.abs(mz.loop_jacobian(model, q) @ bad).max()
    told = f"attachment 'pin' opens at {rate:.3g} .* with these velocities"
    with pytest.warns(OpenLoopWarning, match=told):
        system.distributed_accelerations({"tree": q}, {"tree": bad})
    with pytest.warns(OpenLoopWarning, match="opens at .* in 1 of 3 samples"):
        system.distributed_accelerations({"tree": q}, {"tree": np.array([v, bad, still])})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rest = {"tree": mz.gravity_forces(tree, q)}
        for speed in (0.0, 1e-9, 1.0, 1e3):
            system.distributed_accelerations({"tree": q}, {"tree": speed * v})
        system.distributed_accelerations({"tree": q}, {"tree": 1e-15 * bad}, rest)
        pushed = {"pin": np.zeros(loop.rows)}  # a motion of its own
        system.distributed_accelerations({"tree": q}, {"tree": v}, loop_accelerations=pushed)


def test_both_forms_of_step_d(monkeypatch: pytest.MonkeyPatch):
    """With Λ_S of the bar and with its M_S: the same motion, of a batch too; the second form is
    taken where both hands hold it, and not where a table does.
    """
    arms, thing = two_arms(), bar()
    system, _, q, Q = grasped(arms, thing)
    rng = np.random.default_rng(2)
    v = {"arms": rng.normal(size=(3, 12)), "bar": rng.normal(size=(3, 6))}
    at = {"arms": q, "bar": Q}
    v = system.consistent_velocities(at, v)
    tau = {"arms": rng.normal(size=(3, 12))}
    with monkeypatch.context() as patch:
        patch.setattr(topology, "_multipliers", None)
        second = system.distributed_accelerations(at, v, tau)
    monkeypatch.setattr(topology, "_by_secondary", lambda *a: None)
    first_form = system.distributed_accelerations(at, v, tau)
    for x, y in zip(first_form, second, strict=True):
        for name in x:
            agree(x[name], y[name], 1e-8)


def test_systems_have_names():
    with pytest.raises(TypeError, match=r"give \{name: \(model, frames\)\}"):
        mz.ClosedSystem(chain(2))  # type: ignore[arg-type]
    arm = chain(2)
    for wrong in (arm, (arm,), (arm, "body_1"), ("arm", ["body_1"]), None):
        with pytest.raises(mz.ModelError, match=r"system 'arm' .*give \(model, \[names of frames"):
            mz.ClosedSystem({"arm": wrong})  # type: ignore[dict-item]
    with pytest.raises(mz.ModelError, match="system 1: its name is a word, not int"):
        mz.ClosedSystem({1: (arm, ["body_1"])})  # type: ignore[dict-item]


def test_a_system_that_cannot_move():
    """A bar on a rock, which has a frame and no joint: as on the world."""
    inertia = mz.Inertia(0.7, (0.02, 0.0, 0.01), 0.02 * np.eye(3))
    rock = mz.Builder("rock").add("rock", None, mz.Fixed(), inertia).frame("top", "rock", (0, 0, 1))
    both = mz.ClosedSystem({"rock": (rock.build(), ["top"]), "bar": (bar(), ["bar"])})
    q = {"rock": np.zeros(0), "bar": bar().random_configuration(1)}
    held = both.attach("hinge", ("rock", "top"), ("bar", "bar"), mz.Revolute("x"), at=q)
    v = held.consistent_velocities(q, {"rock": np.zeros(0), "bar": np.ones(6)})
    on_world = both.attach("hinge", ("world", ""), ("bar", "bar"), mz.Revolute("x"), (0, 0, 1),
                           held.attachments[0].placement_b)  # fmt: skip
    exact = on_world.forward_dynamics(q, v)["bar"]
    agree(held.distributed_accelerations(q, v)[0]["bar"], exact, 1e-9)
    agree(held.forward_dynamics(q, v)["bar"], exact, 1e-9)
