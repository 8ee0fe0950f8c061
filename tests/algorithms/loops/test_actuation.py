"""Inverse dynamics with loops: exact, redundantly actuated, underactuated."""

import numpy as np
import pytest
from support.cuts import Cuts, on_base
from support.loop_models import five_bar, motion
from support.mechanics import agree

import mozzi as mz
from mozzi.model.generate import LINKAGES, n_four_bar, pendulum, random_tree


@pytest.mark.parametrize("joints", [["left", "right"], ["left", "left_rod"]])
def test_exactly_actuated(joints: list[str]):
    """The torques of two actuators move a five-bar as prescribed: ID after FD is the identity."""
    model, q, v, a = motion(3, five_bar())
    tau = mz.inverse_dynamics(model, q, v, a, actuated=joints)
    assert all(t == 0.0 for t, n in zip(tau, model.joint_names) if n not in joints)
    agree(mz.forward_dynamics(model, q, v, tau), a, 1e-9)
    same = mz.inverse_dynamics(model, q, v, a, actuated=joints, minimize="loop_force")
    agree(tau, same, 1e-9)


@pytest.mark.parametrize("minimize", ["torque", "loop_force"])
def test_redundantly_actuated(minimize: str):
    """Of all torques that make the motion these are least, by (62)–(64) and by a dense solution."""
    model, q, v, a = motion(5, five_bar())
    joints = ["left", "left_rod", "right"]
    tau = mz.inverse_dynamics(model, q, v, a, actuated=joints, minimize=minimize)
    agree(mz.forward_dynamics(model, q, v, tau), a, 1e-9)
    # variables (τ_a, λ): least squares among the solutions of τ + Aᵀ λ = τ_r
    A, tau_r = mz.loop_jacobian(model, q), mz.inverse_dynamics(model, q, v, a)
    act = np.array([n in joints for n in model.joint_names])
    E = np.hstack([np.eye(4)[:, act], A.T])
    x, *_ = np.linalg.lstsq(E, tau_r, rcond=1e-9)
    N = np.linalg.svd(E)[2][np.linalg.matrix_rank(E, tol=1e-9) :].T
    part = N[:3] if minimize == "torque" else N[3:]
    s, *_ = np.linalg.lstsq(part, (x[:3] if minimize == "torque" else x[3:]), rcond=1e-9)
    agree((x - N @ s)[:3], tau[act], 1e-8)


def test_weights():
    """A heavy weight leaves an actuator idle."""
    model, q, v, a = motion(5, five_bar())
    joints = ["left", "left_rod", "right"]
    heavy = mz.inverse_dynamics(model, q, v, a, actuated=joints, weighting=[1.0, 1e10, 1.0])
    exact = mz.inverse_dynamics(model, q, v, a, actuated=["left", "right"])
    agree(heavy, exact, 1e-6)


def test_without_a_word_of_actuators_it_is_the_tree():
    model, q, v, a = motion(7)
    tree = model._replace(loops=())
    agree(mz.inverse_dynamics(model, q, v, a), mz.inverse_dynamics(tree, q, v, a))
    least = mz.inverse_dynamics(model, q, v, a, minimize="torque")
    A = mz.loop_jacobian(model, q)
    tau = mz.inverse_dynamics(tree, q, v, a)
    agree(least, tau - A.T @ (np.linalg.pinv(A.T, rcond=1e-9) @ tau), 1e-9)  # (65), (66)


def test_a_sample_of_a_batch_has_the_torques_it_has_alone():
    model, *states = zip(*(motion(seed, five_bar()) for seed in range(3)))
    both, all_of_them = {"actuated": ["left", "right"]}, [np.array(x) for x in states]
    tau = mz.inverse_dynamics(model[0], *all_of_them, **both)
    alone = [mz.inverse_dynamics(model[0], *x, **both) for x in zip(*states)]
    assert np.abs(np.diff(tau, axis=0)).max() > 1e-2
    agree(tau, np.stack(alone))


def test_underactuated_is_refused_with_the_reason():
    model, q, v, a = motion(3, five_bar())
    with pytest.raises(mz.LoopError, match=r"underactuated by left: .* 2 of 3 .*hybrid_dynamics"):
        mz.inverse_dynamics(model, q, v, a, actuated=["left"])
    with pytest.raises(mz.LoopError, match="open its loops"):
        mz.inverse_dynamics(model, q, v, a + 1.0, actuated=["left", "right"])
    with pytest.raises(ValueError, match="minimize 'heat'"):
        mz.inverse_dynamics(model, q, v, a, actuated=["left", "right"], minimize="heat")
    tree = random_tree(3, 0)
    with pytest.raises(ValueError, match="models with loops"):
        mz.inverse_dynamics(tree, tree.neutral(), *np.zeros((2, tree.nv)), actuated=["x"])


def test_hybrid_dynamics_refuses_what_opens_loops():
    """More prescribed than there is freedom (m > n_v): fine where it agrees, refused where not."""
    model, q, v, a = motion(3, five_bar())
    three = ["left", "left_rod", "right"]
    tau, out = mz.hybrid_dynamics(model, q, v, np.zeros(4), a, prescribed=three)
    agree(out, a, 1e-9)
    agree(mz.forward_dynamics(model, q, v, tau), a, 1e-8)
    with pytest.raises(mz.LoopError, match="no motion with these accelerations at left, left_rod"):
        mz.hybrid_dynamics(model, q, v, np.zeros(4), a + np.eye(4)[0], prescribed=three)


def test_many_rows():
    """More rows than multipliers of least norm are found for in a program."""
    model = n_four_bar(9)
    q = mz.assemble(model, np.full(model.nv, 0.0) + 0.1, report=True).q
    v = mz.consistent_velocities(model, q, np.ones(model.nv))
    lam = mz.loop_forces(model, q, v, np.zeros(model.nv))
    a = mz.forward_dynamics(model, q, v, np.zeros(model.nv))
    agree(mz.loop_jacobian(model, q).T @ lam, mz.inverse_dynamics(model, q, v, a), 1e-8)


def test_forces_of_passive_joints():
    """τ_p is given: ID after FD is the identity with any forces in passive joints, and torques
    change with the motion as differences say.
    """
    model, q, v, _ = motion(7, five_bar())
    tau = np.random.default_rng(1).normal(size=model.nv)
    a = mz.forward_dynamics(model, q, v, tau)
    joints = ["left", "right"]
    act = np.array([n in joints for n in model.joint_names])
    given = np.where(act, 99.0, tau)  # not read where an actuator is
    agree(mz.inverse_dynamics(model, q, v, a, actuated=joints, tau=given), tau, 1e-9)
    *_, by_a = mz.inverse_dynamics_derivatives(model, q, v, a, actuated=joints, tau=given)
    more = tau + np.where(act, [0.3, -0.2, 0.1, 0.4], 0.0)
    change = mz.forward_dynamics(model, q, v, more) - a
    agree(by_a @ change, more - tau, 1e-9)
    with pytest.raises(mz.ShapeError, match=r"tau has shape \(3,\)"):
        mz.inverse_dynamics(model, q, v, a, actuated=joints, tau=np.ones(3))
    with pytest.raises(ValueError, match="tau= are for models with loops"):
        rest = np.zeros((3, 4))
        mz.inverse_dynamics(pendulum(4), *rest, tau=np.ones(4))


@pytest.mark.parametrize("minimize", ["torque", "loop_force"])
def test_more_prescribed_than_free(minimize: str):
    """Hybrid dynamics with three joints of a five-bar prescribed: the least of what drives them,
    with the forces that free joints have.
    """
    model, q, v, _ = motion(5, five_bar())
    tau = np.random.default_rng(2).normal(size=model.nv)
    a = mz.forward_dynamics(model, q, v, tau)
    joints = ["left", "left_rod", "right"]
    act = np.array([n in joints for n in model.joint_names])
    weights = {"weighting": [1.0, 4.0, 2.0]} if minimize == "torque" else {}
    options = {"minimize": minimize, **weights}
    found, same = mz.hybrid_dynamics(model, q, v, tau, a, prescribed=joints, **options)
    agree(same, a, 1e-9)
    agree(found[~act], tau[~act], 1e-12)
    agree(mz.forward_dynamics(model, q, v, found), a, 1e-9)
    agree(found, mz.inverse_dynamics(model, q, v, a, actuated=joints, tau=tau, **options), 1e-9)
    plain, _ = mz.hybrid_dynamics(model, q, v, tau, a, prescribed=joints)
    size = lambda x: np.sum(np.array([1.0, 4.0, 2.0]) * x[act] ** 2)
    if minimize == "torque":
        assert size(found) < size(plain)
    else:
        agree(found, plain, 1e-7)


def ring_of_five(size: float, mass: float) -> tuple[mz.Model, np.ndarray]:
    """A five-bar linkage of this size and these masses, closed."""
    corners = size * np.array([[0.0, 0.0], [1.0, 0.3], [1.6, 1.2], [0.7, 1.9], [-0.3, 1.1]])

    def at(k: int, n: int) -> tuple[float, ...]:
        return (*(corners[k] - corners[n]).tolist(), 0.0)

    link = mz.Inertia(mass, (0.3 * size, 0.2 * size, 0.0), 0.1 * mass * size**2 * np.eye(3))
    builder = mz.Builder("five", gravity=(0.0, -9.81, 0.0))
    for k in range(4):
        parent = str(k - 1) if k else None
        builder.add(str(k), parent, mz.Revolute("z"), link, placement=at(k, max(0, k - 1)))
    builder.loop("ring", "3", None, mz.Revolute("z"), at(4, 3), at(4, 0))
    return builder.build(), np.zeros(4)


@pytest.mark.parametrize(("size", "mass"), [(1.0, 1.0), (1e-3, 1e-6), (100.0, 1e4)])
def test_too_few_actuators_are_refused_at_any_scale(size: float, mass: float):
    """Forces and accelerations are measured by the mechanism: of a milligram on millimetres all
    torques are below 1e-6 N m, and any of them passed for a balance.
    """
    model, q = ring_of_five(size, mass)
    v = mz.consistent_velocities(model, q, [1.0, 0.5, -0.5, 0.2])
    a = mz.consistent_accelerations(model, q, v, [3.0, -2.0, 1.0, 4.0])
    with pytest.raises(mz.LoopError, match="underactuated by 0:"):
        mz.inverse_dynamics(model, q, v, a, actuated=["0"])
    one = mz.compile(mz.inverse_dynamics, model, options={"actuated": ["0"]})
    assert not np.isfinite(one(q, v, a)).any()
    tau = mz.inverse_dynamics(model, q, v, a, actuated=["0", "1"])
    two = mz.compile(mz.inverse_dynamics, model, options={"actuated": ["0", "1"]})
    agree(two(q, v, a) / np.abs(tau).max(), tau / np.abs(tau).max(), 1e-9)
    agree(mz.forward_dynamics(model, q, v, tau), a, 1e-9)
    with pytest.raises(mz.LoopError, match="open its loops"):
        mz.inverse_dynamics(model, q, v, a + 1e-4 * np.eye(4)[0], actuated=["0", "1"])


@pytest.mark.parametrize("joints", [None, 3])
@pytest.mark.parametrize("name", ["planar_4", "spherical_4", "sarrus"])
def test_programs_share_as_arrays_do(name: str, joints: int | None):
    """Of linkages at random in space, some of whose rows are rounding: these count as none
    (compiled torques of a plate on four cranks were 30 times too large).
    """
    linkage = on_base(LINKAGES[name](0), mz.Revolute((1.0, 2.0, 3.0)))
    model, q, v = Cuts(linkage, 0).cut("joint_2")
    a = mz.forward_dynamics(model, q, v, np.ones(model.nv))
    some = None if joints is None else [*model.joint_names[:joints]]
    for weights in (None, np.linspace(0.1, 10.0, joints or model.nv)):
        how = {"minimize": "torque", "actuated": some, "weighting": weights}
        tau = mz.inverse_dynamics(model, q, v, a, **how)
        agree(mz.compile(mz.inverse_dynamics, model, options=how)(q, v, a), tau, 1e-9)
        agree(mz.forward_dynamics(model, q, v, tau), a, 1e-9)


def test_least_torques_of_all_joints_take_operations_in_proportion_to_loops():
    """Where all joints have actuators nothing is dense."""
    how = {"minimize": "torque"}
    counts = [
        sum(mz.compile(mz.inverse_dynamics, n_four_bar(n), options=how, target="interpret")
            .operations.values()) / n
        for n in (3, 6, 12)
    ]  # fmt: skip
    assert max(counts) < 1.1 * min(counts)


@pytest.mark.parametrize("small", [0.1, 1e-9])
def test_weights_are_arrays_to_their_last_digit(small: float):
    """Called, compiled and swept, after a run with weights that are hardly others."""
    model, q, v, a = motion(5, five_bar())
    for weights in np.ones(3), np.array([1.0, 1.0 + small, 1.0]):
        joints = ["left", "left_rod", "right"]
        given = {"actuated": joints, "minimize": "torque", "weighting": weights}
        tau = mz.inverse_dynamics(model, q, v, a, **given)
        kernel = mz.compile(mz.inverse_dynamics, model, options=given)
        run = mz.Evaluation(mz.inverse_dynamics, model, {"v": v, "a": a}, given)
        for found in kernel(q, v, a), run({"q": q[None]})["out"][0]:
            np.testing.assert_allclose(found, tau, rtol=0, atol=1e-12 * np.abs(tau).max())
