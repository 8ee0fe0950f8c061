"""Driven joints and closures that move: laws of time, what they exert, and their work."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from support.cases import first

import mozzi as mz
from mozzi.model.generate import four_bar

BODY = mz.Inertia(1.3, (0.1, -0.05, 0.2), np.diag([0.03, 0.04, 0.05]))
SECOND_ORDER = ("generalized_alpha", "momentum")


def balance(motion: mz.Trajectory) -> float:
    """By how much energy and the work of the drives differ, over how much the energy changes."""
    E = motion.energy()
    assert np.ptp(E) > 0.05  # the drives do work
    return np.abs(E - E[..., :1] - motion.drive_work()).max() / np.ptp(E)


def pendulum_on_a_base() -> mz.Model:
    build = mz.Builder("carried").add("base", None, mz.Free(), BODY, joint_name="base")
    build.add("arm", "base", mz.Revolute("y").between((0.1, 0.0, 0.3), None), BODY)
    build.add("tip", "arm", mz.Universal().between((0.2, 0.1, 0.0), None), BODY)
    return build.build()


def path(t):
    """A pose: (position, quaternion), which need not be of unit length."""
    turn = 0.7 * np.sin(2.0 * t)
    return [0.3 * np.sin(t), 0.2 * t, 0.1 * t * t, 0.0, 0.6 * np.sin(turn), 0.8 * np.sin(turn),
            np.cos(turn) + 0.1 * t * 0.0]  # fmt: skip


@pytest.mark.parametrize(
    "method", first(2, ["rkmk4", "dopri5", "generalized_alpha", "momentum"])
)
def test_base_that_moves_by_a_law(method):
    """The base is where the law says, its velocities are the law's, the drive exerts what hybrid
    dynamics asks for, and its work is what the energy gains.
    """
    model = pendulum_on_a_base()
    q0 = model.neutral()
    motion = mz.simulate(
        model, q0, np.zeros(model.nv), 1.0, 0.005, method=method, prescribed={"base": path}
    )
    truth = np.array([np.array(path(t), dtype=float) for t in motion.t])
    assert motion.q[:, :7] == pytest.approx(truth, abs=1e-12)
    force = motion.drive_forces["base"]
    assert force.shape == (len(motion), 6)
    tau, a = mz.hybrid_dynamics(
        model, motion.q, motion.v, np.zeros(model.nv), motion.a, prescribed=["base"]
    )
    assert force == pytest.approx(tau[:, :6], abs=1e-9)
    assert motion.a == pytest.approx(a, abs=1e-9)
    h = motion.t[1]
    rate = mz.difference(model, motion.q[:-2], motion.q[2:])[:, :6] / (2.0 * h)
    assert motion.v[1:-1, :6] == pytest.approx(rate, abs=2e-4)
    assert balance(motion) < (4e-3 if method in SECOND_ORDER else 3e-6)


def test_order_of_the_energy_balance():
    """With the work of the drives the energy is balanced to the order of the method."""
    model, errors = pendulum_on_a_base(), []
    for dt in (0.04, 0.02):
        motion = mz.simulate(
            model, model.neutral(), np.zeros(model.nv), 1.0, dt, prescribed={"base": path}
        )
        errors.append(balance(motion))
    assert 3.5 < np.log2(errors[0] / errors[1]) < 7.0


@pytest.mark.parametrize(
    "method", ["rkmk4", "dopri5", "generalized_alpha", "momentum", "semi_implicit", "moreau"]
)
def test_crank(method):
    """A four-bar whose crank follows a law: torque of inverse dynamics, closed, balanced."""
    model = four_bar()
    q = mz.assemble(model, [0.3, 0.5, 1.5], hold=["crank"])
    law = lambda t: 0.3 + 3.0 * t + 0.2 * np.sin(2.0 * t)
    options = {"resistance": False, "method": method}
    motion = mz.simulate(model, q, np.zeros(3), 2.0, 0.005, prescribed={"crank": law}, **options)
    assert motion.q[:, 0] == pytest.approx(law(motion.t), abs=1e-13)
    assert motion.v[:, 0] == pytest.approx(3.0 + 0.4 * np.cos(2.0 * motion.t), abs=1e-12)
    assert np.abs(mz.loop_residual(model, motion.q)).max() < 1e-13
    torque = mz.inverse_dynamics(model, motion.q, motion.v, motion.a, actuated=["crank"])[:, 0]
    assert motion.drive_forces["crank"][:, 0] == pytest.approx(torque, abs=1e-10)
    assert motion.loop_forces.shape == (len(motion), 5)
    assert motion.model is model
    found = motion.wrenches()
    assert found["crank"].bodies == ("crank", "world")  # the motor, and where it stands
    assert found["crank"].wrenches[:, 0, :3] @ [0, 1, 0] == pytest.approx(torque, abs=1e-10)
    assert found[model.loops[0].name].wrenches.shape == (len(motion), 2, 6)
    assert balance(motion) < (1e-2 if method == "moreau" else 1e-6)


def test_batches_samples_and_one_coordinate():
    """Samples differ in what is free; one coordinate of a joint may be driven alone."""
    build = mz.Builder("slide").add("cart", None, mz.Translation2(), BODY, joint_name="cart")
    build.add("arm", "cart", mz.Revolute("z"), BODY, joint_name="arm")
    model = build.build()
    q = np.zeros((3, 3))
    q[:, 2] = [0.0, 0.5, 1.0]
    laws = {("cart", 1): lambda t: 0.3 * np.sin(3.0 * t)}
    motion = mz.simulate(model, q, np.zeros(3), 0.5, 0.01, prescribed=laws)
    assert motion.q[..., 1] == pytest.approx(np.tile(0.3 * np.sin(3.0 * motion.t), (3, 1)))
    assert motion.drive_forces["cart.1"].shape == (3, 51, 1)
    pushes = motion.wrenches()["cart.1"].wrenches  # along y, on the cart and back on the world
    assert pushes[:, :, 0, 4] == pytest.approx(motion.drive_forces["cart.1"][..., 0])
    assert motion[1].drive_forces["cart.1"] == pytest.approx(motion.drive_forces["cart.1"][1])
    assert balance(motion[2]) < 1e-7


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_reactions_are_kept_in_files(tmp_path, suffix):
    model = four_bar()
    q = mz.assemble(model, [[0.3, 0.5, 1.5]] * 2, hold=["crank"])
    motion = mz.simulate(
        model, q, np.zeros(3), 0.1, 0.01, prescribed={"crank": lambda t: 0.3 + np.tanh(t)}
    )
    path = motion.save(tmp_path / f"motion{suffix}", fields=["a", "reactions"])
    again = mz.Trajectory.load(path, model)
    assert again.drive_forces["crank"] == pytest.approx(motion.drive_forces["crank"])
    assert again.loop_forces == pytest.approx(motion.loop_forces)
    assert again[1].drive_work() == pytest.approx(motion[1].drive_work())
    assert again.wrenches()["crank"].wrenches == pytest.approx(motion.wrenches()["crank"].wrenches)


# -- closures that move --


def closures(which: str):
    """(model, q0, name, law): a chain of three bodies whose tip is tied by something that moves."""
    build = mz.Builder(which)
    build.add("a", None, mz.Revolute("x"), BODY, joint_name="a")
    build.add("b", "a", mz.Revolute("y").between((0.1, 0.2, 0.5), None), BODY, joint_name="b")
    build.add("c", "b", mz.Revolute("x").between((0.0, 0.1, 0.6), None), BODY, joint_name="c")
    build.add("d", "c", mz.Spherical().between((0.1, 0.0, 0.5), None), BODY, joint_name="d")
    build.shape("d", mz.Sphere(0.2), name="ball").shape(None, mz.Plane(), name="floor")
    model = build.build()
    q = np.array([0.4, 0.5, 0.9, 0.0, 0.0, 0.0, 1.0])
    if which == "distance":
        model = model.with_distance("tie", None, "d", (0.5, 0.5, 0.2), (0.1, 0.0, 0.1), 1.1)
        law = lambda t: 0.1 * np.sin(3.0 * t)
    elif which == "coupling":
        model = model.with_coupling("tie", {"a": 1.0, "b": -2.0}, -0.6)
        law = lambda t: 0.3 * np.sin(3.0 * t)
    elif which == "ball":  # a socket that runs around
        model = model.with_loop("tie", None, "d", mz.Spherical(), (0.2, 0.3, 1.2), (0.1, 0.2, 0.1))
        law = lambda t: [0.2 * np.sin(2.0 * t), 0.1 * np.sin(3.0 * t), 0.1 * t]
    elif which == "hinge":  # which also turns away
        model = model.with_loop("tie", None, "d", mz.Revolute("z"), (0.2, 0.3, 1.2))
        law = lambda t: [0.3 * np.sin(2.0 * t), 0.2 * t, 0.1 * t, 0.1 * np.sin(3.0 * t), 0.0]
    elif which == "rolling":  # on a belt that runs and rises
        q = mz.assemble(model.with_rolling("tie", "ball", "floor"), q)
        model = model.with_rolling("tie", "ball", "floor")
        law = lambda t: [0.05 * np.sin(3.0 * t), 0.4 * t * t, 0.1 * np.sin(t)]
    else:
        row = lambda model, q: mz.jacobian(model, q, "d", "body")[[3, 0]]
        model = model.with_velocity_rows("tie", row)
        law = lambda t: [0.3 * np.sin(3.0 * t), 0.2 * t]
    return model, mz.assemble(model, q), law


@pytest.mark.parametrize(
    "which", first(3, ["distance", "coupling", "hinge", "ball", "rolling", "velocity"])
)
def test_closures_that_move(which):
    """Residuals follow the law, velocities are the rates of coordinates, and the energy is
    balanced with the work of the closure: to the order of the method.
    """
    model, q, law = closures(which)
    errors, gaps = [], []
    for dt in (0.02, 0.01):
        motion = mz.simulate(
            model, q, np.zeros(model.nv), 0.4, dt, loop_offsets={"tie": law}, resistance=False
        )
        wanted = np.array([np.ravel(law(t)) for t in motion.t], dtype=float)
        rows = mz.loop_residual(model, motion.q)
        if which == "velocity":
            rate = np.einsum("tmv,tv->tm", mz.loop_jacobian(model, motion.q), motion.v)
            truth = [0.9 * np.cos(3.0 * motion.t), np.full(len(motion), 0.2)]
            assert rate == pytest.approx(np.stack(truth, axis=-1), abs=1e-11)
        elif which == "rolling":
            assert rows[:, 0] == pytest.approx(wanted[:, 0], abs=1e-12)
        else:
            assert rows == pytest.approx(wanted, abs=1e-12)
        rate = mz.difference(model, motion.q[:-2], motion.q[2:]) / (2.0 * dt)
        gaps.append(np.abs(motion.v[1:-1] - rate).max())
        errors.append(balance(motion))
    assert errors[1] < 1e-4
    assert np.log2(errors[0] / errors[1]) > 3.3
    assert gaps[1] < 0.3 * gaps[0]  # of differences, not of the motion
    assert motion.loop_forces.shape == (len(motion), model.row_count)
    if which in ("ball", "hinge"):
        check_world_wrench(motion)


def check_world_wrench(motion: mz.Trajectory) -> None:
    """Of a loop with a law: at the loop, in balance, and its power is that of the law."""
    model = motion.model
    bodies, points, wrenches = motion.wrenches()["tie"]
    assert bodies == ("world", "d")
    force = wrenches[..., 3:]
    about = wrenches[..., :3] + np.cross(points, force)
    assert np.concatenate([about.sum(-2), force.sum(-2)], axis=-1) == pytest.approx(0.0, abs=1e-10)
    V = mz.twists(model, motion.q, motion.v, "hybrid")[:, 3]
    arm = points[:, 1] - mz.forward_kinematics(model, motion.q)[:, 3, :3, 3]
    speed = V[:, 3:] + np.cross(V[:, :3], arm)
    power = (wrenches[:, 1, :3] * V[:, :3]).sum(-1) + (force[:, 1] * speed).sum(-1)
    assert power == pytest.approx(motion.drive_power(), abs=1e-9)


def test_laws_are_kept_with_saved_runs(tmp_path):
    """A store knows the laws it was made with, and its reactions follow from it."""
    model, q, law = closures("hinge")
    run = lambda law: mz.simulate(
        model, q, np.zeros(model.nv), 0.05, 0.01, loop_offsets={"tie": law},
        save=tmp_path / "run.zarr",
    )  # fmt: skip
    motion = run(law)
    assert motion.model is model
    check_world_wrench(motion)
    assert mz.Trajectory.load(tmp_path / "run.zarr", model).guided == ("tie",)
    with pytest.raises(mz.ConfigurationError, match="holds a run with other drives"):
        run(lambda t: [x + t**3 for x in law(t)])


# -- what is refused --


def test_laws_that_nothing_can_follow():
    """A base that is driven sideways though it cannot slide; a slider beyond its reach; a law
    without a rate at the start."""
    build = mz.Builder("sled").add("sled", None, mz.Planar(), BODY, joint_name="base")
    sled = build.build().with_velocity_rows(
        "edge", lambda m, q: mz.jacobian(m, q, "sled", "body")[4]
    )
    run = lambda law: mz.simulate(sled, np.zeros(3), np.zeros(3), 0.1, 0.01, prescribed=law)
    assert len(run({"base": lambda t: [t * t, 0.0, 0.0]})) == 11
    with pytest.raises(mz.LoopError, match=r"at t = 0\.01 they miss 'base' by"):
        run({"base": lambda t: [0.0, t * t, 0.0]})
    with pytest.raises(mz.ConfigurationError, match="joint 'base' has no rate at the start"):
        run({"base": lambda t: [np.sqrt(t), 0.0, 0.0]})
    with pytest.raises(mz.ConfigurationError, match=r"give a dict or None \(prescribed"):
        run(["base"])
    model = four_bar()
    q = mz.assemble(model, [0.3, 0.5, 1.5], hold=["crank"])
    with pytest.raises(mz.LoopError, match="no motion does what the laws"):
        mz.simulate(model, q, np.zeros(3), 3.0, 0.01, prescribed={model.joint_names[2]: lambda t:
                    q[2] + 3.0 * t})  # fmt: skip


def test_refusals():
    model = four_bar()
    q = mz.assemble(model, [0.3, 0.5, 1.5], hold=["crank"])
    run = lambda **options: mz.simulate(model, q, np.zeros(3), 0.1, 0.01, **options)

    with pytest.raises(mz.ConfigurationError, match="joint 'crank' cannot be traced"):
        run(prescribed={"crank": lambda t: math.sin(t)})
    with pytest.raises(mz.ConfigurationError, match="gives 2 numbers; it takes 1"):
        run(prescribed={"crank": lambda t: [t, t]})
    with pytest.raises(mz.ConfigurationError, match=r"starts 0\.3 away from its law"):
        run(prescribed={"crank": lambda t: t})
    with pytest.raises(mz.ModelError, match="no joint 'crnak'"):
        run(prescribed={"crnak": lambda t: t})
    with pytest.raises(mz.ModelError, match="no loop 'nothing'"):
        run(loop_offsets={"nothing": lambda t: t})
    with pytest.raises(mz.ConfigurationError, match="gives 1 numbers; it takes 5"):
        run(loop_offsets={model.loops[0].name: lambda t: t})
    law = {"crank": lambda t: 0.3 + t}
    for torque in ([1.0, 0.0, 0.0], np.ones((10, 3)), lambda t, q, v: -v):
        with pytest.raises(mz.ConfigurationError, match="is driven by a law of time and has a"):
            run(prescribed=law, torque=torque)
    assert len(run(prescribed=law, torque=[0.0, 1.0, 0.0])) == 11
    with pytest.raises(mz.ConfigurationError, match="driven twice"):
        run(prescribed={"crank": lambda t: 0.3 + t, ("crank", 0): lambda t: t})


@pytest.mark.parametrize("target", ["cpu", "interpret", "c"])
def test_stepper_takes_laws(target):
    """The same steps on every target."""
    model = four_bar()
    q = mz.assemble(model, [0.3, 0.5, 1.5], hold=["crank"])
    laws = {"prescribed": {"crank": lambda t: 0.3 + np.sin(t)}}
    v = mz.consistent_velocities(model, q, [1.0, 0.0, 0.0], hold=["crank"])
    if target == "c":
        assert "sin" in mz.stepper(model, "semi_implicit", **laws, target="c").source
        return
    step = mz.stepper(model, "semi_implicit", **laws, target=target)
    found = step(q, v, 0.0, 0.01, 5)
    truth = mz.simulate(model, q, v, 0.05, 0.01, "semi_implicit", resistance=True, **laws)
    assert np.asarray(found[0]) == pytest.approx(truth.q[-1], abs=1e-6)


@pytest.mark.parametrize("method", ["rkmk4", "dopri5", "moreau"])
def test_laws_that_jump_are_told(method):
    """Of what a jump takes, forces and work know nothing, and dopri5 nothing at all."""
    rod = mz.Inertia(1.0, (0, 0, -0.5), 0.1 * np.eye(3))
    cart = mz.Builder().add("cart", None, mz.Prismatic("x"), rod)
    cart = cart.add("rod", "cart", mz.Revolute("y"), rod).build()

    def told(law) -> list[str]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            mz.simulate(cart, [0, 0], [0, 0], 0.5, 0.01, method, prescribed={"cart": law})
        return [str(x.message).split(";")[0] for x in found if x.category is mz.StiffWarning]

    over = ", which dopri5 steps over" if method == "dopri5" else ""
    kink, start = "its velocity jumps by 2 at t = 0.2 s", "the law of joint 'cart': "
    assert told(lambda t: np.interp(t, [0.0, 0.2, 0.5], [0.0, 0.0, 0.6])) == [start + kink + over]
    jump = "its position jumps by 0.3 at t = 0.123 s"
    assert told(lambda t: mz.where(t > 0.123, 0.3, 0.0)) == [start + jump + over]
    for smooth in (lambda t: mz.where(t > 0.1, (t - 0.1) ** 2, 0.0), lambda t: np.sin(300.0 * t),
                   lambda t: 0.1 * np.tanh(500.0 * (t - 0.2)) - 0.1 * np.tanh(-100.0)):  # fmt: skip
        assert not told(smooth)


def test_driven_samples_that_end_at_an_event():
    """Each follows its law up to its own end, and what comes behind it is not looked at."""
    model = mz.Builder("two").add("crank", None, mz.Revolute("y"), BODY)
    model = model.add("tip", "crank", mz.Revolute("y").between((0.5, 0.0, 0.0)), BODY).build()
    event = lambda t, q, v: q[..., 1] - 0.2
    event.terminal = True
    q0, v0 = np.array([[0.0, 0.15], [0.0, 0.1]]), np.zeros((2, 2))
    v0[:, 1] = 0.5
    motion = mz.simulate(model, q0, v0, 1.0, 0.01, method="dopri5", events=[event],
                         prescribed={"crank": lambda t: 0.3 * t})  # fmt: skip
    ended = np.isnan(motion.q).any(axis=-1)
    assert len(motion.events) == 2 and ended[0, -1] and not ended[1].any()
    there = np.where(ended, np.nan, 0.3 * motion.t)
    np.testing.assert_allclose(motion.q[..., 0], there, atol=1e-9)
