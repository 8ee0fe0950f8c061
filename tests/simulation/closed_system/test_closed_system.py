"""Systems whose attachments come and go: as one model with loops, whatever is asked of them."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from support.cases import first

import mozzi as mz
from mozzi.lie import SE3
from mozzi.model.generate import chain, four_bar
from mozzi.model.join import joined
from mozzi.simulation.methods.dormand_prince import DormandPrince

BAR = mz.Inertia(0.7, (0.02, 0.0, 0.01), 0.02 * np.diag([0.2, 1.0, 1.0]))


def bar() -> mz.Model:
    return mz.Builder("bar").add("bar", None, mz.Free(), BAR).build()


def arm() -> mz.Model:
    """Three oblique joints, and a hand off the last body's origin."""
    return chain(3, seed=4).with_frame("hand", 2, (0.1, 0.05, 0.3))


@pytest.fixture(scope="module")
def system() -> mz.ClosedSystem:
    """An arm, a bar, and a four-bar linkage, which has a loop of its own."""
    return mz.ClosedSystem(
        {"arm": (arm(), ["hand"]), "bar": (bar(), ["bar"]), "gate": (four_bar(), ["coupler"])}
    )


@pytest.fixture(scope="module")
def held(system: mz.ClosedSystem) -> tuple[mz.ClosedSystem, dict, dict]:
    """The bar in a ball of the hand and in a hinge of the coupler, closed and moving."""
    rng = np.random.default_rng(2)
    gate = mz.assemble(four_bar(), [0.3, 0.5, 1.5])
    q = {"arm": rng.normal(size=3), "bar": bar().random_configuration(rng), "gate": gate}
    hand, B = mz.pose(arm(), q["arm"], "hand"), mz.pose(bar(), q["bar"], "bar")
    plate = mz.pose(four_bar(), gate, "coupler")
    inner = mz.Revolute((1, 2, 2)).motion([0.4]).matrix()
    one = system.attach(
        "ball", ("arm", "hand"), ("bar", "bar"), mz.Spherical(), None, np.linalg.inv(B) @ hand
    )
    end = np.linalg.inv(plate) @ B @ inner
    both = one.attach("hinge", ("bar", "bar"), ("gate", "coupler"), mz.Revolute((1, 2, 2)),
                      None, end)  # fmt: skip
    v = {n: rng.normal(size=m.nv) for n, (m, _) in both.systems.items()}
    return both, q, both.consistent_velocities(q, v)


def flat(system: mz.ClosedSystem, table: dict) -> np.ndarray:
    return np.concatenate([table[n] for n in system.systems], axis=-1)


def test_joined_models_are_the_models_side_by_side():
    parts = {"a": chain(3, seed=1), "b": four_bar()}
    one = joined("both", parts)
    assert one.bodies[0].startswith("a.") and one.loops[0].name.startswith("b.")
    rng = np.random.default_rng(0)
    q = np.concatenate([rng.normal(size=3), mz.assemble(four_bar(), [0.3, 0.5, 1.5])])
    v = mz.consistent_velocities(one, q, rng.normal(size=6))
    a = mz.forward_dynamics(one, q, v, np.zeros(6))
    for model, s in ((parts["a"], slice(0, 3)), (parts["b"], slice(3, 6))):
        own = mz.forward_dynamics(model, q[s], v[s], np.zeros(3))
        np.testing.assert_allclose(a[s], own, rtol=0, atol=1e-10 * np.abs(own).max())
    with pytest.raises(mz.ModelError, match="gravity"):
        joined("both", parts | {"b": four_bar().with_gravity((0, 0, 0))})


@pytest.mark.parametrize(
    "joint",
    [
        mz.Revolute("x").between((0.1, -0.2, 0.3), (0.4, 0.0, 0.2)),
        mz.Spherical().between(None, (0.1, 0.2, 0.3)),
        mz.Composite(mz.Revolute("y").between(None, (0.2, 0.1, 0.0)), mz.Prismatic("x")),
    ],
)
def test_what_is_attached_where_it_is_is_closed(joint: mz.Joint):
    """Whatever frames its joint has, and moves as if it hung there in a tree."""
    rng, one = np.random.default_rng(3), arm()
    both = mz.ClosedSystem({"arm": (one, ["hand"]), "bar": (bar(), ["bar"])})
    q = {"arm": rng.normal(size=3), "bar": bar().random_configuration(rng)}
    held = both.attach("grip", ("arm", "hand"), ("bar", "bar"), joint, at=q)
    assert np.abs(held.residual(q)["grip"]).max() < 1e-12
    C_a, C_b = mz.pose(one, q["arm"], "hand"), mz.pose(bar(), q["bar"], "bar")
    T_b = SE3.from_matrix(np.linalg.inv(C_b) @ C_a) @ joint.motion(joint.neutral())
    frames = SE3.translation(0.1, 0.05, 0.3) @ joint.frame_parent, T_b @ joint.frame_child
    tree = mz.Builder("tree", one.gravity)
    for x in one:
        tree.add(x.name, None if x.parent < 0 else one.bodies[x.parent], x.joint, x.inertia)
    tree = tree.add("bar", one.bodies[2], joint.with_frames(*frames), BAR).build()
    p, u = np.array([*q["arm"], *joint.neutral()]), rng.normal(size=tree.nv)
    exact = mz.forward_dynamics(tree, p, u, np.zeros(tree.nv))
    found = held.forward_dynamics(q, {"arm": u[:3], "bar": mz.twists(tree, p, u)[3]})
    np.testing.assert_allclose(found["arm"], exact[:3], atol=1e-10 * np.abs(exact).max())


def test_residuals_and_velocities(held: tuple):
    system, q, v = held
    assert {n: x.shape for n, x in system.residual(q).items()} == {"ball": (3,), "hinge": (5,)}
    assert max(np.abs(x).max() for x in system.residual(q).values()) < 1e-9
    model = system.model
    assert np.abs(mz.loop_jacobian(model, flat(system, q)) @ flat(system, v)).max() < 1e-9
    rates = system.consistent_velocities(q, v, loop_rates={"ball": [0.1, 0.0, -0.2]})
    moved = mz.loop_jacobian(model, flat(system, q)) @ flat(system, rates)
    rows = mz.loop_rows(model)["ball"]
    np.testing.assert_allclose(moved[rows], [0.1, 0.0, -0.2], atol=1e-9)


def test_dynamics_forward_inverse_and_hybrid_agree(held: tuple):
    """With wrenches, in a batch, with loops of a system's own; forces at the arm alone."""
    system, q, v = held
    rng = np.random.default_rng(3)
    tau = {"arm": rng.normal(size=(4, 3))}
    wrenches = {"bar": rng.normal(size=(1, 6))}
    a = system.forward_dynamics(q, v, tau, wrenches)
    assert a["bar"].shape == (4, 6)
    left = mz.loop_acceleration(system.model, *(flat(system, x) for x in (q, v)), flat(system, a))
    assert np.abs(left).max() < 1e-8
    every = [("arm", j) for j in arm().joint_names] + ["bar", "gate"]
    all_of_them = system.inverse_dynamics(q, v, a, every, wrenches, minimize="torque")
    assert all_of_them["arm"].shape == (4, 3)
    two = [("arm", j) for j in arm().joint_names[:2]]  # as many as there are degrees of freedom
    back, again = system.hybrid_dynamics(q, v, tau, a, two, wrenches)
    np.testing.assert_allclose(back["arm"], tau["arm"], atol=1e-7)
    np.testing.assert_allclose(again["bar"], a["bar"], atol=1e-7)


def test_rows_with_a_motion_of_their_own(held: tuple):
    system, q, v = held
    wanted = np.array([0.3, -0.1, 0.2])
    a = system.forward_dynamics(q, v, loop_accelerations={"ball": wanted})
    left = mz.loop_acceleration(system.model, *(flat(system, x) for x in (q, v, a)))
    np.testing.assert_allclose(left[mz.loop_rows(system.model)["ball"]], wanted, atol=1e-9)
    simple = system.without_system("gate")
    q, v = ({n: x[n] for n in simple.systems} for x in (q, v))
    b, f = simple.distributed_accelerations(q, v, loop_accelerations={"ball": wanted})
    c = simple.forward_dynamics(q, v, loop_accelerations={"ball": wanted})
    np.testing.assert_allclose(flat(simple, b), flat(simple, c), atol=1e-8)
    d, lam = simple.accelerations(q, v, loop_accelerations={"ball": wanted})
    np.testing.assert_allclose(flat(simple, d), flat(simple, c), atol=1e-12)
    assert lam.keys() == f.keys()
    for name, x in lam.items():
        np.testing.assert_allclose(f[name], x, atol=1e-8)


@pytest.mark.parametrize("joint", first(1, [
    mz.Spherical().between(None, (0.1, 0.2, 0.3)), mz.Fixed(), mz.Revolute((1, 2, 2)),
    mz.Universal("x", "y"), mz.Screw("y", pitch=0.3), mz.Planar("x"),
]))  # fmt: skip
@pytest.mark.parametrize("far", [0.0, 0.3])
def test_residuals_have_the_rates_that_are_asked_for(joint: mz.Joint, far: float):
    """φ̇ and φ̈ against differences of φ, where attachments move: closed, and open by an offset."""
    rng = np.random.default_rng(5)
    both = mz.ClosedSystem({"arm": (arm(), ["hand"]), "bar": (bar(), ["bar"])})
    q = {"arm": rng.normal(size=3), "bar": bar().random_configuration(rng)}
    held = both.attach("grip", ("arm", "hand"), ("bar", "bar"), joint, at=q)
    q["bar"] = mz.integrate(bar(), q["bar"], far * rng.normal(size=6))
    rate, more = rng.normal(size=(2, held.model.row_count))
    v = {"arm": rng.normal(size=3), "bar": rng.normal(size=6)}
    v = held.consistent_velocities(q, v, loop_rates={"grip": rate})
    asked = {"loop_accelerations": {"grip": more}}
    a = held.forward_dynamics(q, v, **asked)
    p, u, w = (flat(held, x) for x in (q, v, a))

    def phi(t: float) -> np.ndarray:
        now = mz.integrate(held.model, p, t * u + 0.5 * t * t * w)
        return held.residual(held.parts(now, "q"))["grip"]

    h = 1e-3
    before, now, after = (phi(k * h) for k in (-1, 0, 1))
    np.testing.assert_allclose((after - before) / (2 * h), rate, atol=2e-4)
    np.testing.assert_allclose((after - 2 * now + before) / h**2, more, atol=2e-3)
    same, multipliers = held.accelerations(q, v, **asked)
    np.testing.assert_allclose(flat(held, same), w, atol=1e-9)
    _, back = held.hybrid_dynamics(q, v, {}, a, "arm", **asked)
    np.testing.assert_allclose(flat(held, back), w, atol=1e-9)
    force = held.loop_forces(q, v, **asked)["grip"]
    left = mz.inverse_dynamics(bar(), q["bar"], v["bar"], a["bar"])  # what moves the bar
    C, k = mz.pose(bar(), q["bar"], "bar"), force.bodies.index("bar.bar")
    moment = force.wrenches[k, :3] + np.cross(force.points[k] - C[:3, 3], force.wrenches[k, 3:])
    acting = np.concatenate([C[:3, :3].T @ moment, C[:3, :3].T @ force.wrenches[k, 3:]])
    np.testing.assert_allclose(acting, left, atol=1e-9)
    if far == 0.0:
        other, f = held.distributed_accelerations(q, v, **asked)
        np.testing.assert_allclose(flat(held, other), w, atol=1e-9)
        np.testing.assert_allclose(f["grip"], multipliers["grip"], atol=1e-8)


def test_forces_are_world_wrenches_in_balance(held: tuple):
    """What acts on the bar, with its weight, is what it accelerates by."""
    system, q, v = held
    found = system.loop_forces(q, v)
    a = system.forward_dynamics(q, v)
    total = np.zeros(3)
    for name in ("ball", "hinge"):
        x = found[name]
        assert "bar.bar" in x.bodies
        total += x.wrenches[x.bodies.index("bar.bar"), 3:]
    whole = system.model
    p = flat(system, q)
    acceleration = mz.accelerations(whole, p, flat(system, v), flat(system, a))
    k = whole.index("bar.bar")
    R, w = mz.forward_kinematics(whole, p)[k, :3, :3], mz.twists(whole, p, flat(system, v))[k]
    com = np.array([0.02, 0.0, 0.01])
    rate = acceleration[k, 3:] + np.cross(w[:3], w[3:])  # of the origin, in body axes
    rate = rate + np.cross(acceleration[k, :3], com) + np.cross(w[:3], np.cross(w[:3], com))
    np.testing.assert_allclose(total, 0.7 * (R @ rate - [0, 0, -9.81]), atol=1e-8)


def test_assemble_closes_what_is_apart(held: tuple):
    system, q, _ = held
    away = q | {"bar": mz.integrate(bar(), q["bar"], 0.03 * np.arange(6))}
    with pytest.raises(mz.LoopError, match=r"attachment 'ball' is open by .* more than 0\.0001"):
        system.check_closed(away)
    near = system.assemble(away, hold=["gate"])
    system.check_closed(near, 1e-9)
    np.testing.assert_allclose(near["gate"], q["gate"])


def test_names_that_there_are_none_of(held: tuple):
    system, q, v = held
    with pytest.raises(mz.ConfigurationError, match="q: nothing for 'gate'"):
        system.forward_dynamics({n: q[n] for n in ("arm", "bar")}, v)
    with pytest.raises(mz.ConfigurationError, match="wrenches: no system 'bars'; there are 'bar'"):
        system.forward_dynamics(q, v, wrenches={"bars": np.zeros((1, 6))})
    with pytest.raises(mz.ConfigurationError, match="loop_accelerations: no attachment 'bell'"):
        system.forward_dynamics(q, v, loop_accelerations={"bell": np.zeros(3)})
    with pytest.raises(mz.ConfigurationError, match=r"tau of 'arm' has shape \(4,\)"):
        system.forward_dynamics(q, v, {"arm": np.zeros(4)})
    with pytest.raises(mz.ModelError, match=r"no joint 'arm\.elbow'"):
        system.hybrid_dynamics(q, v, {}, v, ["arm.elbow"])
    with pytest.raises(mz.UnknownNameError, match="no attachment 'x' to detach"):
        system.detach("x")
    with pytest.raises(mz.LoopError, match="'gate' by itself does not honour loops"):
        system.distributed_accelerations(q, v)
    place = r"no closure frame \('world', 'table'\); there are .* and \('world', ''\)"
    with pytest.raises(mz.ModelError, match=place):  # it was the world's origin, without a word
        system.attach("x", ("world", "table"), ("bar", "bar"))
    with pytest.raises(mz.ModelError, match=r"'hnad'\); there are \('arm', 'hand'\)"):
        system.attach("x", ("arm", "hnad"), ("bar", "bar"))
    with pytest.raises(mz.ConfigurationError, match="attachment 'x': at: no system 'amr'; there"):
        system.attach("x", ("arm", "hand"), ("bar", "bar"), at={**q, "amr": q["arm"]})
    with pytest.raises(mz.ModelError, match="there is no system"):
        mz.ClosedSystem({})
    moving = system.simulate(q, v, 1e-3, 1e-3)
    with pytest.raises(mz.UnknownNameError, match="no system 'arms' in phase 0; it has 'arm',"):
        moving.q("arms")


def test_rows_that_do_not_fit_an_attachment(held: tuple):
    """Neither one number for all rows nor those of another attachment, whichever way is asked."""
    system, q, v = held
    simple = system.without_system("gate")
    q, v = ({n: x[n] for n in simple.systems} for x in (q, v))
    for ask in (simple.forward_dynamics, simple.accelerations, simple.distributed_accelerations):
        for wrong in (np.ones(4), np.ones(1), 1.0):
            with pytest.raises(mz.ShapeError, match="loop_accelerations: that of 'ball' has shape"):
                ask(q, v, loop_accelerations={"ball": wrong})
        with pytest.raises(mz.ConfigurationError, match="no attachment 'bell'; there are 'ball'"):
            ask(q, v, loop_accelerations={"bell": np.ones(3)})
    two = {"ball": np.ones((2, 3)), "again": np.ones((3, 3))}
    part = simple.attachments[0]
    twice = simple.attach("again", part.a, part.b, part.joint, None, part.placement_b)
    with pytest.raises(mz.ConfigurationError, match=r"\(2,\) of 'ball', \(3,\) of 'again'"):
        twice.forward_dynamics(q, v, loop_accelerations=two)


def test_tables_of_arrays_by_body(held: tuple):
    system, _, _ = held
    W = np.arange(2.0 * system.model.nb * 6).reshape(2, system.model.nb, 6)
    table = system.parts(W, "b")
    assert [x.shape for x in table.values()] == [(2, 3, 6), (2, 1, 6), (2, 3, 6)]
    np.testing.assert_array_equal(system.whole("wrenches", table, "b"), W)
    with pytest.raises(mz.ShapeError, match=r"last axes are \(7, 6\)"):
        system.parts(np.zeros(system.model.nv), "b")


@pytest.mark.parametrize("count", [1, 2, 20])
def test_one_array_of_a_table(count: int):
    """What a table says, however it says it: by a program for few systems, by NumPy for many."""
    models = {f"s{k}": chain(k % 3 + 1, seed=k) for k in range(count)}
    system = mz.ClosedSystem({name: (model, []) for name, model in models.items()})
    rng = np.random.default_rng(0)
    for lead in ((), (3,), (2, 1)):
        table = {n: rng.normal(size=(*lead, m.nv)) for n, m in models.items()}
        wanted = np.concatenate([*table.values()], axis=-1)
        again = {n: table[n] for n in reversed(table)}
        lists = {n: x.tolist() for n, x in table.items()}
        wide = {n: np.stack([x, 0.0 * x], axis=-1)[..., 0] for n, x in table.items()}
        for given in (table, again, lists, wide, {**table, "s0": table["s0"].astype("f4")}):
            off = np.abs(system.whole("v", given) - wanted).max()
            assert off == 0.0 or (off < 1e-6 and given["s0"].dtype == "f4")
        some = {n: x for n, x in table.items() if n == "s0"}
        padded = np.concatenate([table["s0"], np.zeros((*lead, wanted.shape[-1] - 1))], axis=-1)
        np.testing.assert_array_equal(system.whole("tau", some), padded)
        for name, x in system.parts(wanted).items():
            np.testing.assert_array_equal(x, table[name])
    one = system.whole("v", {n: np.ones(m.nv, int) for n, m in models.items()})
    assert (one == 1.0).all()
    one[:] = 7.0  # an array of one's own
    assert (system.whole("tau", None) == 0.0).all()
    with pytest.raises(mz.ConfigurationError, match="v of 's0' has shape"):
        system.whole("v", {**table, "s0": np.zeros(models["s0"].nv + 1)})
    for wrong in ("abc", [[1.0], [2.0, 3.0]], np.zeros(1, complex), object()):
        with pytest.raises(mz.KindError, match=r"v of 's0' is .*; give an array of real numbers"):
            system.whole("v", {**table, "s0": wrong})
    for wrong in (None, 3, [1.0], np.zeros(3), "s0"):
        with pytest.raises(mz.KindError, match=r"v is .*; give a dict: the name of a system"):
            system.whole("v", wrong)  # type: ignore[arg-type]


def test_systems_are_kept_as_what_they_are(held: tuple):
    system, q, v = held
    system.residual(q)
    assert repr(system) == "<ClosedSystem arm, bar, gate; attached: ball, hinge>"
    again = pickle.loads(pickle.dumps(system))
    assert again.attachments == system.attachments and again.model == system.model
    np.testing.assert_array_equal(again.energy(q, v), system.energy(q, v))


def test_what_was_there_before_is_not_compiled_again(held: tuple):
    system, _, _ = held
    part = system.attachments[-1]
    again = system.detach(part.name).attach(
        part.name, part.a, part.b, part.joint, part.placement_a, part.placement_b
    )
    assert again.model is system.model


def test_released_and_caught_at_times(held: tuple):
    """Energy stays between changes; a stop that is open is refused with the distance."""
    system, q, v = held
    small = system.without_system("gate")
    q, v = ({n: x[n] for n in small.systems} for x in (q, v))
    part = small.attachments[0]
    v = small.consistent_velocities(q, v)

    def caught(x: mz.ClosedSystem, q: dict) -> mz.ClosedSystem:
        return x.attach("stop", ("world", ""), ("arm", "hand"), mz.Free())

    motion = small.simulate(
        q, v, 0.3, 2e-3, changes=[(0.1, lambda x, q: x.detach(part.name)), (0.2, caught)]
    )
    assert [round(float(x.t[0]), 9) for x in motion] == [0.0, 0.1, 0.2]
    assert motion[1].system.attachments == () and len(motion) == 3
    E = motion.energy()
    assert np.abs(E - E[0]).max() < 1e-6  # a stop that is a free joint stops nothing
    drop = motion[1].v["bar"][0]
    np.testing.assert_allclose(drop, motion[0].v["bar"][-1], atol=1e-12)
    fixed = lambda x, q: x.attach("stop", ("world", ""), ("bar", "bar"), placement_a=np.eye(4))
    with pytest.raises(mz.LoopError, match=r"attachment 'stop' is open by"):
        small.simulate(q, v, 0.2, 2e-3, changes=[(0.1, fixed)])
    with pytest.raises(mz.ConfigurationError, match="give them in order"):
        same = lambda x, q: x
        small.simulate(q, v, 0.2, 2e-3, changes=[(0.1, same), (0.05, same)])


def test_a_catch_on_an_event():
    """A bar falls by half a metre, and is caught in a hinge: what it keeps is the momentum about
    the axis.
    """
    free = mz.ClosedSystem({"bar": (bar(), ["bar"])})
    q = {"bar": np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0])}
    v = {"bar": np.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.0])}
    motion = free.simulate(
        q, v, 1.0, 0.01,
        changes=[(
            lambda t, q, v: q["bar"][..., 2],
            lambda x, q: x.attach("pin", ("world", ""), ("bar", "bar"), mz.Spherical()),
        )],
    )  # fmt: skip
    when = motion[1].t[0]
    E = motion[0].trajectory.energy()
    assert np.abs(E - E[0]).max() < 1e-6
    k = np.abs(motion[0].q["bar"][-1, 2])
    assert k < 1e-9 and 0.25 < when < math.sqrt(2 * 0.55 / 9.81)
    assert float(motion[1].taken) > 0.5 * float(E[0])
    after = motion[1]
    assert np.abs(after.q["bar"][..., :3]).max() < 1e-9
    E = after.trajectory.energy()
    assert np.abs(E - E[0]).max() < 1e-6
    never = lambda t, q, v: t + 1.0, lambda x, q: x
    assert len(free.simulate(q, v, 1.0, 0.01, changes=[never], method="rkmk4")) == 1


@pytest.mark.parametrize(("method", "every"), first(3, [
    ("rkmk4", 7), ("semi_implicit", 1), ("moreau", 1), ("rkmk4", 1), ("generalized_alpha", 1),
    ("momentum", 1),
]))  # fmt: skip
def test_events_by_methods_of_constant_step(method: str, every: int):
    """The last step ends at the event, so that the order of the method stays: a bar that falls and
    turns under a law is caught by a hinge, and let go when it has swung through.
    """
    free = mz.ClosedSystem({"bar": (bar(), ["bar"])})
    q = {"bar": np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0])}
    v = {"bar": np.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.0])}
    changes = [
        (lambda t, q, v: q["bar"][..., 2],
         lambda x, q: x.attach("pin", ("world", ""), ("bar", "bar"), mz.Spherical(), at=q)),
        (lambda t, q, v: v["bar"][..., 1] - 2.0, lambda x, q: x.detach("pin")),
    ]  # fmt: skip
    law = lambda t, q, v: {"bar": -0.1 * v["bar"]}
    right = free.simulate(q, v, 0.8, 0.01, law, changes, method="dopri5", rtol=1e-11, atol=1e-12)
    ends = []
    for h in (0.01, 0.005):
        x = free.simulate(q, v, 0.8, h, law, changes, method=method, record_every=every)
        assert len(x) == len(right) == 3
        assert abs(x[0].q["bar"][-1, 2]) < 1e-13
        times = [abs(a.t[-1] - b.t[-1]) for a, b in zip(x[:2], right[:2], strict=True)]
        ends.append([*times, np.abs(x.end[0]["bar"] - right.end[0]["bar"]).max()])
    off, half = np.array(ends)
    order = {"rkmk4": 4, "generalized_alpha": 2, "momentum": 2}.get(method, 1)
    assert np.all((half < 1e-9) | (off / half > 0.7 * 2**order)), (off, half)


@pytest.mark.parametrize("method", [
    "dopri5", "rkmk4", "generalized_alpha", "momentum", DormandPrince(1e-9, 1e-10),
])  # fmt: skip
def test_events_in_a_batch(method: str | DormandPrince):
    """Each sample changes at its own time, and moves as it does alone: some bars are caught where
    they come through a plane and let go at a time, one never comes.
    """
    free = mz.ClosedSystem({"bar": (bar(), ["bar"])})
    heights = np.array([0.5, 0.3, 20.0, 0.45]).reshape(2, 2)
    q = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (2, 2, 1))
    q[..., 2] = heights
    v = {"bar": np.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.0])}
    compiled = []

    def law(t, q, v):
        compiled.append(1)
        return {"bar": -0.1 * (1.0 - t * t) * v["bar"]}

    changes = [
        (lambda t, q, v: q["bar"][..., 2] + 0.02 * t,
         lambda x, q: x.attach("pin", ("world", ""), ("bar", "bar"), mz.Spherical(),
                               placement_b=[0.0, 0.0, 0.0])),
        (0.4, lambda x, q: x.detach("pin")),
    ]  # fmt: skip
    given = {"method": method, "tolerance": 0.05, "wrenches": {"bar": np.full((2, 1, 1, 6), 0.1)}}
    all_ = free.simulate({"bar": q}, v, 0.5, 0.01, law, changes, **given)
    calls = len(compiled)
    assert all_.batch == (2, 2) and len(all_.samples) == 4 and len(all_) == 3
    assert all_.changed.shape == (2, 2, 2) and np.isnan(all_.changed[1, 0]).all()
    falls = np.sqrt(2.0 * heights / 9.81)
    assert np.abs(all_.changed[..., 0] - falls)[[0, 0, 1], [0, 1, 1]].max() < 0.05
    np.testing.assert_allclose(all_.changed[[0, 0, 1], [0, 1, 1], 1], 0.4)
    for k in ((0, 1), (1, 0)):
        one = {n: x for n, x in given.items() if n != "wrenches"}
        alone = free.simulate({"bar": q[k]}, v, 0.5, 0.01, law, changes, **one,
                              wrenches={"bar": np.full((1, 6), 0.1)})
        n = len(alone.t)
        np.testing.assert_allclose(all_.t[k][:n], alone.t, rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(all_.q("bar")[k][:n], alone.q("bar"), rtol=0.0, atol=1e-13)
        assert np.isnan(all_.t[k][n:]).all() and np.isnan(all_.v("bar")[k][n:]).all()
        np.testing.assert_allclose(all_.end[1]["bar"][k], alone.end[1]["bar"], atol=1e-13)
        np.testing.assert_allclose(all_.energy()[k][:n], alone.energy(), atol=1e-12)
    assert calls < 4 * (len(compiled) - calls)  # what is compiled is compiled once for all samples
    with pytest.raises(mz.ConfigurationError, match=r"phases\.samples\[i\]\[k\]"):
        all_[0]


@pytest.mark.parametrize("method", ["dopri5", "rkmk4"])
def test_the_next_zero_is_another_one(method: str):
    """What begins at an event has passed it, whatever the last digit of its time: a second change
    that waits for the same function does not come at once.
    """
    free, same = mz.ClosedSystem({"bar": (bar(), ["bar"])}), lambda x, q: x
    through = lambda t, q, v: q["bar"][..., 2]
    rng = np.random.default_rng(0)
    for height in rng.uniform(0.1, 0.5, size=6):
        q = {"bar": np.array([0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0])}
        v = {"bar": rng.normal(size=6)}
        x = free.simulate(q, v, 0.6, 0.02, changes=[(through, same)] * 2, method=method)
        assert len(x) == 2 and -1e-13 < x[0].q["bar"][-1, 2] <= 0.0
    with pytest.raises(mz.ConfigurationError, match=r"duration -0\.1 is not positive"):
        free.simulate(q, v, -0.1, 0.02)


def test_what_simulate_cannot_use_is_named(system: mz.ClosedSystem):
    q = {n: m.neutral() for n, (m, _) in system.systems.items()}
    q["gate"] = mz.assemble(four_bar(), [0.3, 0.5, 1.5])
    v = {n: np.zeros(m.nv) for n, (m, _) in system.systems.items()}
    run = lambda when, change=lambda system, q: system, method="rkmk4", **options: system.simulate(
        q, v, 2e-3, 1e-3, changes=[(when, change)], method=method, **options
    )
    for event, words in (
        (lambda t, q, v: "no", "what event <lambda> gives is 'no'; give a number for each sample"),
        (lambda t, q, v: None, "gives is None"),
        (lambda t, q, v: q["arm"][..., 0] > 1.0, "z - h, not z < h"),  # no zero to be found
        (lambda t, q, v: np.zeros(7), r"gives has shape \(7,\)"),
    ):
        for method in ("rkmk4", "dopri5"):
            with pytest.raises(mz.ConfigurationError, match=words):
                run(event, method=method)
    for when, change, words in (
        ("soon", lambda system, q: system, "when of a change is 'soon'"),
        (1e-3, "open", "a change is 'open'; give a function"),
        (1e-3, lambda system, q: None, "what the change at t = 0.001 s gives is None"),
    ):
        with pytest.raises(mz.KindError, match=words):
            run(when, change)
    for options, words in (
        ({"torque": lambda t, q, v: None}, "what torque gives is None"),
        ({"wrenches": np.zeros((7, 6))}, "give a table by system"),
        ({"t0": "now"}, "t0 is 'now'"),
    ):
        with pytest.raises(mz.KindError, match=words):
            run(1e-3, **options)
    with pytest.raises(mz.ConfigurationError, match=r"save what phases have: phases\[0\]"):
        run(1e-3, save="motion.npz")
    many = q | {"arm": np.zeros((2, 3)), "bar": np.stack([q["bar"]] * 3)}
    words = r"q: the batch axes \(2,\) of 'arm', \(3,\) of 'bar', .* do not broadcast"
    for changes in ([], [(lambda t, q, v: t - 1.0, lambda system, q: system)]):
        with pytest.raises(mz.ConfigurationError, match=words):
            system.simulate(many, v, 2e-3, 1e-3, changes=changes)
    with pytest.raises(mz.ShapeError, match=r"at of 'arm' has shape .* one by one"):
        system.attach("grip", ("arm", "hand"), ("bar", "bar"), at=many)


def test_a_law_of_tables_in_a_batch(held: tuple):
    """Motors of the arm hold it where it is, of three samples at once."""
    system, q, v = held
    small = system.without_system("gate").detach("ball")
    q, v = ({n: np.tile(x[n], (3, 1)) for n in small.systems} for x in (q, v))
    goal = q["arm"][0]

    def law(t, q, v):
        return {"arm": -200.0 * (q["arm"] - goal) - 20.0 * v["arm"]}

    motion = small.simulate(q, v, 0.05, 1e-3, law)
    assert motion.q("arm").shape == (3, 51, 3)
    end, _ = motion.end
    one = mz.simulate(arm(), q["arm"][0], v["arm"][0], 0.05, 1e-3,
                      torque=lambda t, q, v: -200.0 * (q - goal) - 20.0 * v)  # fmt: skip
    np.testing.assert_allclose(end["arm"][1], one.q[-1], atol=1e-10)


def test_a_place_is_a_pose():
    free = mz.ClosedSystem({"bar": (bar(), ["bar"])})
    pinned = free.attach("pin", ("world", ""), ("bar", "bar"), placement_a=SE3.translation(0, 0, 1))
    pinned.check_closed({"bar": [0, 0, 1, 0, 0, 0, 1]})
    for wrong in ({"tolerance": -1.0}, {"loop_offsets": {"pin": np.full(6, np.nan)}}):
        with pytest.raises(mz.LoopError, match="'pin' is open by"):
            pinned.check_closed({"bar": [0, 0, 1, 0, 0, 0, 1]}, **wrong)
    q = {"bar": bar().random_configuration(1)}
    free.attach("here", ("world", ""), ("bar", "bar"), at=q).check_closed(q, 1e-12)
    with pytest.raises(mz.ModelError, match="give placement_b, or at; not both"):
        free.attach("here", ("world", ""), ("bar", "bar"), placement_b=(0, 0, 1), at=q)


@pytest.fixture(scope="module")
def gripped() -> tuple[mz.ClosedSystem, dict, dict]:
    """A bar in a ball at the end of a lever, moving."""
    rng, lever = np.random.default_rng(0), chain(1, seed=4).with_frame("hand", 0, (0.1, 0.05, 0.3))
    free = mz.ClosedSystem({"arm": (lever, ["hand"]), "bar": (bar(), ["bar"])})
    q = {"arm": rng.normal(size=1), "bar": bar().random_configuration(rng)}
    v = {"arm": rng.normal(size=1), "bar": rng.normal(size=6)}
    held = free.attach("grip", ("arm", "hand"), ("bar", "bar"), mz.Spherical(), at=q)
    return held, q, held.consistent_velocities(q, v)


@pytest.mark.parametrize("method", ["rkmk4", pytest.param("dopri5", marks=pytest.mark.slow)])
def test_attachments_that_follow_a_law(gripped: tuple, method: str):
    """A ball that is moved in the hand: the same motion whether or not something happens on the
    way, at a time or on an event, and the law is kept until it is let go.
    """
    held, q, v = gripped
    law = lambda t: [0.05 * t * t, 0.02 * t, 0.0]
    given = {"method": method, "loop_offsets": {"grip": law}}
    one = held.simulate(q, v, 0.06, 2e-3, **given)
    for when in (0.03, lambda t, q, v: t - 0.03):
        two = held.simulate(q, v, 0.06, 2e-3, changes=[(when, lambda x, q: x)], **given)
        assert len(two) == 2
        np.testing.assert_allclose(two.end[0]["bar"], one.end[0]["bar"], atol=1e-8)
        np.testing.assert_allclose(held.residual(two.end[0])["grip"], law(0.06), atol=1e-10)
    drop = lambda x, q: x.detach("grip")
    let_go = held.simulate(q, v, 0.06, 2e-3, changes=[(0.03, drop)], **given)
    np.testing.assert_allclose(let_go[1].v["bar"][0], let_go[0].v["bar"][-1], atol=1e-12)
    E = let_go[1].trajectory.energy()
    assert np.abs(E - E[0]).max() < 1e-6


def test_laws_of_what_is_not_there(gripped: tuple):
    """Those of attachments that come later wait for them; of what never comes, they are refused."""
    held, q, v = gripped
    later = lambda x, q: x.attach("late", ("arm", "hand"), ("bar", "bar"), mz.Spherical(), at=q)
    law = lambda t: [0.1 * (t - 0.01) ** 2, 0.0, 0.0]
    motion = held.detach("grip").simulate(
        q, v, 0.02, 1e-3, changes=[(0.01, later)], loop_offsets={"late": law}
    )
    left = motion[1].system.residual(motion.end[0])["late"]
    np.testing.assert_allclose(left, [1e-5, 0.0, 0.0], atol=1e-12)
    joint, start = "arm.joint_0", float(q["arm"][0])
    driven = held.simulate(q, v, 0.02, 1e-3, prescribed={joint: lambda t: start + 0.3 * t},
                           changes=[(0.01, lambda x, q: x.detach("grip"))])  # fmt: skip
    np.testing.assert_allclose(driven.q("arm")[:, 0], start + 0.3 * driven.t, atol=1e-12)
    for options, words in (
        ({"loop_offsets": {"gripp": law}}, "loop_offsets: no attachment 'gripp'; there are 'grip'"),
        ({"prescribed": {"arm.elbow": law}}, "prescribed: no joint 'arm.elbow'; there are 'arm.j"),
        ({"loop_offsets": [law]}, "give a table by attachment"),
    ):
        with pytest.raises(mz.ConfigurationError, match=words):
            held.simulate(q, v, 2e-3, 1e-3, changes=[(1e-3, lambda x, q: x)], **options)


def test_changes_at_one_time_come_one_after_the_other(gripped: tuple):
    """A thing that is stopped and let go at once has been stopped, as if a moment lay between; a
    change may come at the start; no samples are refused, with events too.
    """
    held, q, v = gripped
    free = held.detach("grip")
    stop = lambda x, q: x.attach("pin", ("world", ""), ("bar", "bar"), mz.Spherical(), at=q)
    drop = lambda x, q: x.detach("pin")
    ends, taken = [], []
    for wait in (0.0, 1e-9):
        x = free.simulate(q, v, 0.04, 2e-3, changes=[(0.02, stop), (0.02 + wait, drop)],
                          method="rkmk4")  # fmt: skip
        ends.append(np.concatenate([x.end[1]["arm"], x.end[1]["bar"]]))
        taken.append(sum(float(phase.taken) for phase in x))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)
    assert taken[0] > 1e-3 and abs(taken[0] - taken[1]) < 1e-9
    first = free.simulate(q, v, 0.01, 1e-3, changes=[(0.0, stop)])
    assert len(first) == 1 and float(first[0].taken) > 1e-3
    none = {n: np.zeros((0, len(x))) for n, x in q.items()}
    rest = {n: np.zeros((0, len(x))) for n, x in v.items()}
    for when in (1e-3, lambda t, q, v: t - 1e-3):
        with pytest.raises(mz.ConfigurationError, match="hold no sample"):
            free.simulate(none, rest, 2e-3, 1e-3, changes=[(when, lambda x, q: x)])


def test_forces_with_springs_are_those_of_the_motion():
    """What a hinge bears of a bar on a spring: with resistance that of the trajectory, without it
    that of the rigid equations; inverse and hybrid dynamics likewise.
    """
    swing = mz.Builder("swing").add("arm", None, mz.Revolute("y"), BAR, stiffness=40.0).build()
    free = mz.ClosedSystem({"arm": (swing, ["arm"]), "bar": (bar(), ["bar"])})
    q = {"arm": np.array([0.3]), "bar": bar().random_configuration(2)}
    held = free.attach("grip", ("arm", "arm"), ("bar", "bar"), at=q)
    v = held.consistent_velocities(q, {"arm": np.ones(1), "bar": np.zeros(6)})
    run = held.simulate(q, v, 1e-3, 1e-3)[0].trajectory
    a = held.forward_dynamics(q, v, resistance=True)
    for resistance, same in ((True, True), (False, False)):
        found = held.loop_forces(q, v, resistance=resistance)["grip"].wrenches
        exact = mz.loop_wrenches(held.model, run.q[0], run.loop_forces[0])["grip"].wrenches
        assert np.allclose(found, exact, atol=1e-9) is same
        back = held.inverse_dynamics(q, v, a, "arm", resistance=resistance)["arm"]
        assert np.allclose(back, 0.0, atol=1e-9) is same
        tau, _ = held.hybrid_dynamics(q, v, {}, a, "arm", resistance=resistance)
        assert np.allclose(tau["arm"], 0.0, atol=1e-9) is same
