"""Systems whose attachments come and go: as one model with loops, whatever is asked of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from support.attached_systems import BAR, arm, bar, flat
from support.cases import first

import mozzi as mz
from mozzi.lie import SE3
from mozzi.model.generate import chain, four_bar, random_pose
from mozzi.model.join import joined


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
    """With wrenches, in a batch, with loops of a system's own: forces at the arm alone come back
    from the motion they make, and motors everywhere make it with less.
    """
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
    again = system.forward_dynamics(q, v, all_of_them, wrenches)
    np.testing.assert_allclose(flat(system, again), flat(system, a), atol=1e-7)
    assert (np.square(flat(system, all_of_them)).sum(-1) < np.square(tau["arm"]).sum(-1)).all()
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


def test_a_mechanism_whose_own_loop_is_open_is_refused(held: tuple):
    """As by `simulate` of the mechanism itself: it was moved to where the loop is closed, and its
    velocities to those that keep it so.
    """
    system, q, v = held
    for x in (system, system.detach("ball").detach("hinge")):
        away = x.assemble(q) | {"gate": q["gate"] + [0.0, 0.2, 0.0]}
        gap = np.abs(mz.loop_residual(four_bar(), away["gate"])).max()
        with pytest.raises(mz.LoopError, match=r"is open by .* more than 0\.0001"):
            x.simulate(away, v, 2e-3, 1e-3)
    with pytest.raises(mz.LoopError, match=rf"loop 'gate.closure' is open by {gap:.2e} \(m or rad"):
        x.check_closed(away)
    with pytest.raises(mz.LoopError, match=r"loop 'gate.closure' opens at .* call consistent_vel"):
        x.simulate(q, v | {"gate": np.array([1.0, 5.0, -3.0])}, 2e-3, 1e-3)
    x.simulate(q, v | {"gate": 1e-5 + v["gate"]}, 2e-3, 1e-3)
    for small in (0.5e-4, 2e-4):
        x.check_closed(q | {"gate": q["gate"] + [0.0, small, 0.0]}, 4.0 * small)


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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_products_that_are_asked_for_nothing_are_attached(seed: int):
    """Six rows of rank four, with those of the residual where that has a rate: none of them counts
    that the joint does not have. A rate of zero changes nothing, in a call and in a motion.
    """
    rng = np.random.default_rng(seed)
    joint = mz.Composite(
        *(mz.Revolute(axis).between(random_pose(rng), random_pose(rng)) for axis in "xy")
    )
    system = mz.ClosedSystem({"arm": (arm(), ["hand"]), "bar": (bar(), ["bar"])})
    q = {"arm": rng.normal(size=3), "bar": bar().random_configuration(rng)}
    held = system.attach("grip", ("arm", "hand"), ("bar", "bar"), joint, at=q)
    v = held.consistent_velocities(q, {"arm": rng.normal(size=3), "bar": rng.normal(size=6)})
    a, _ = held.accelerations(q, v)
    b, _ = held.accelerations(q, v, loop_accelerations={"grip": np.zeros(6)})
    np.testing.assert_allclose(flat(held, b), flat(held, a), rtol=1e-9, atol=1e-9)
    law = {"grip": lambda t: [0.0] * 6}
    free = held.simulate(q, v, 0.02, 0.01, method="semi_implicit")
    asked = held.simulate(q, v, 0.02, 0.01, method="semi_implicit", loop_offsets=law)
    ends = (flat(held, motion.end[1]) for motion in (asked, free))
    np.testing.assert_allclose(*ends, rtol=1e-5, atol=1e-5)
