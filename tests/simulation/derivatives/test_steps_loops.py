"""Derivatives of steps and rollouts of mechanisms with loops."""

import numpy as np
import pytest
from support.cases import first, normal
from support.closed_motions import CASES, case, tangents
from support.mechanics import agree

import mozzi as mz
from mozzi.algorithms.recursion import rolled_or_not
from mozzi.model.generate import chain, n_four_bar, random_tree
from mozzi.simulation import Moreau
from mozzi.simulation.derivatives import pullback
from mozzi.simulation.derivatives.pullback import Backwards
from mozzi.simulation.derivatives.steps import pullback_kernel, step_jacobians, step_kernel
from mozzi.simulation.projection import row_sizes

METHODS = ["rkmk4", "semi_implicit"]
WITH_MOREAU = [*METHODS, "moreau"]
LONG = ("composite", "delta")  # ten seconds and more to compile
MOST = [pytest.param(x, marks=pytest.mark.slow) if x in LONG else x for x in CASES]
USUAL = ("four_bar", "five_bar", "bennett")
DT = 0.01


def differences(step, model, q, v, tau, d, h):
    """How (q, v, τ) ↦ (q′, v′) changes along a direction, by differences of fourth order."""
    n = model.nv
    q1, _ = step(q, v, tau)

    def at(e):
        new = step(mz.integrate(model, q, e[:n]), v + e[n : 2 * n], tau + e[2 * n :])
        return np.concatenate([mz.difference(model, q1, new[0]), new[1]])

    return (8 * (at(h * d) - at(-h * d)) - (at(2 * h * d) - at(-2 * h * d))) / (12 * h)


@pytest.mark.parametrize("method", WITH_MOREAU)
@pytest.mark.parametrize("name", normal(USUAL, MOST))
def test_one_step_along_closed_motions(name, method):
    """(A, B) against differences of the step that `simulate` takes; its ends are on the loops."""
    model, q, v, tau = case(name)
    n = model.nv
    A, B = mz.linearize(model, q, v, tau, dt=DT, method=method)
    AB = np.concatenate([A, B], axis=1)
    kernel = step_kernel(model, method)
    step = lambda *x: kernel(*x, DT)
    motions = tangents(model, q, v)
    moves = np.zeros((3 * n, motions.shape[1] + n))
    moves[: 2 * n, :-n], moves[2 * n :, -n:] = motions, np.eye(n)
    for d in moves.T[:: max(1, len(moves.T) // 8)]:
        agree(AB @ d, differences(step, model, q, v, tau, d, 1e-3), 1e-9)
    q1, v1 = step(q, v, tau)
    for start, end in ((q, q1), (v, v1)):
        assert np.abs(start - end).max() > 1e-3
    whole = Moreau(cut=False) if method == "moreau" else method
    simulated = mz.simulate(model, q, v, DT, DT, method=whole, torque=tau)
    agree(mz.difference(model, simulated.q[-1], q1), np.zeros(n), 1e-13)
    agree(simulated.v[-1], v1, 1e-13)
    agree(mz.loop_jacobian(model, q1) @ AB[:n], np.zeros((model.row_count, 3 * n)), 1e-11)


@pytest.mark.parametrize("name", normal({*CASES} - {"panda", "geared", "universals", *LONG}, CASES))
def test_deviations_of_velocities_end_on_the_loops(name):
    """A δv′ + ∂(A v′)/∂q δ′ = 0, also where what came in opened the loops."""
    model, q, v, tau = case(name)
    n = model.nv
    AB = np.concatenate(step_jacobians(model, q, v, tau, DT), axis=1)
    q1, v1 = step_kernel(model)(q, v, tau, DT)
    for column in AB.T[::3]:
        d = column / np.abs(column).max()
        ends = []
        for h in (1e-5, -1e-5):
            A = mz.loop_jacobian(model, mz.integrate(model, q1, h * d[:n]))
            ends.append(A @ (v1 + h * d[n:]))
        agree((ends[0] - ends[1]) / 2e-5, np.zeros_like(ends[0]), 1e-8)


@pytest.mark.parametrize("method", WITH_MOREAU)
@pytest.mark.parametrize(
    "name", first(2, ["slider_crank", "windows", "pinned", "universal", "composite"])
)
def test_one_step_along_motions_that_open_the_loops(name, method):
    """It is the derivative of what is computed also there: the end of the step closes them."""
    model, q, v, tau = case(name)
    n = model.nv
    A, _ = step_jacobians(model, q, v, tau, DT, method)
    kernel = step_kernel(model, method)
    step = lambda *x: kernel(*x, DT)
    rng = np.random.default_rng(4)
    for _ in range(3):
        d = np.concatenate([rng.normal(size=2 * n), np.zeros(n)])
        assert np.abs(mz.loop_jacobian(model, q) @ d[:n]).max() > 0.1
        agree(A @ d[: 2 * n], differences(step, model, q, v, tau, d, 3e-4), 1e-8)


@pytest.mark.parametrize("method", WITH_MOREAU)
@pytest.mark.parametrize("name", normal(USUAL, MOST))
def test_pullbacks_are_transposed_jacobians(name, method):
    """Moving, and at rest; in all directions."""
    model, q, v, tau = case(name)
    n = model.nv
    w = np.random.default_rng(1).normal(size=2 * n)
    kernel = pullback_kernel(model, method)
    for x in ((q, v, tau), (q, 0.0 * v, 0.0 * tau)):
        A, B = step_jacobians(model, *x, DT, method)
        found = kernel(*x, w[:n], w[n:], DT)
        agree(np.concatenate(found), w @ np.concatenate([A, B], axis=1), 1e-11)


@pytest.mark.parametrize(
    "name", ["four_bar", "pinned", pytest.param("delta", marks=pytest.mark.slow)]
)
def test_gradient_through_many_steps(name):
    """Of a cost at the end and of one along the way, along a closed motion and all torques."""
    model, q0, v0, _ = case(name)
    rng = np.random.default_rng(0)
    n, steps = model.nv, 20
    tau, direction = rng.normal(size=(2, steps, n))
    weight = rng.normal(size=n)

    def rolled(q0, v0, tau):
        return mz.rollout(model, q0, v0, tau, DT)

    q, v = rolled(q0, v0, tau)
    for k in range(steps + 1):
        agree(mz.loop_residual(model, q[k]), np.zeros(len(mz.loop_residual(model, q[k]))), 1e-11)
    simulated = mz.simulate(model, q0, v0, steps * DT, DT, torque=tau)
    agree(simulated.v, v, 1e-10)

    def cost(q1, v1):
        return 0.5 * (v1[-1] ** 2).sum() + weight @ mz.difference(model, q[7], q1[7])

    dq, dv = np.zeros_like(v), np.zeros_like(v)
    dv[-1], dq[7] = v[-1], weight
    by_q, by_v, by_tau = mz.rollout_gradient(model, q, v, tau, DT, dq, dv)
    h = 1e-4
    ends = [cost(*rolled(q0, v0, tau + s * h * direction)) for s in (1, -1)]
    agree((by_tau * direction).sum(), (ends[0] - ends[1]) / (2 * h), 1e-7)
    d = tangents(model, q0, v0) @ rng.normal(size=2 * (tangents(model, q0, v0).shape[1] // 2))
    ends, sizes = [], []
    for s in (h, -h):
        start = mz.assemble(model, mz.integrate(model, q0, s * d[:n]), tolerance=1e-13)
        rate = mz.consistent_velocities(model, start, v0 + s * d[n:])
        ends.append(cost(*rolled(start, rate, tau)))
        sizes.append((mz.difference(model, q0, start), rate - v0))
    predicted = [by_q @ x + by_v @ y for x, y in sizes]
    agree((ends[0] - ends[1]) / (2 * h), (predicted[0] - predicted[1]) / (2 * h), 1e-6)


def test_the_four_bar_as_a_system_of_one_coordinate():
    """A conservative step of rkmk4 nearly keeps the phase volume of the one degree of freedom."""
    model, q, v, _ = case("four_bar")
    A, _ = mz.linearize(model, q, v, np.zeros(3), dt=1e-3)
    T = tangents(model, q, v)
    q1, v1 = step_kernel(model)(q, v, np.zeros(3), 1e-3)
    T1 = tangents(model, q1, v1)
    moved = A @ T
    inner = np.linalg.lstsq(T1, moved, rcond=None)[0]
    agree(T1 @ inner, moved, 1e-8)  # from closed deviations to closed deviations
    inertia = [z[:3] @ mz.mass_matrix(model, x) @ z[:3] for z, x in ((T[:, 0], q), (T1[:, 0], q1))]
    volume = np.linalg.det(inner) * inertia[1] / inertia[0]
    assert abs(volume - 1.0) < 1e-9


def test_resistance():
    """Damping and springs in a linearised step, against the law written as torques."""
    model, q, v, tau = case("five_bar")
    for joint in model.joint_names:
        model = model.with_dynamics(joint, damping=0.3, stiffness=2.0)
    n = model.nv
    A, B = mz.linearize(model, q, v, tau, dt=1e-3, resistance=True)
    T = tangents(model, q, v)
    for d in T.T:
        ends = []
        for h in (1e-4, -1e-4):
            start = mz.assemble(model, mz.integrate(model, q, h * d[:n]), tolerance=1e-13)
            rate = mz.consistent_velocities(model, start, v + h * d[n:])
            x = mz.simulate(model, start, rate, 1e-3, 1e-3, torque=tau, resistance=True)
            change = np.concatenate([start - q, rate - v])
            ends.append((np.concatenate([x.q[-1], x.v[-1]]), A @ change))
        agree((ends[0][0] - ends[1][0]) / 2e-4, (ends[0][1] - ends[1][1]) / 2e-4, 1e-6)
    continuous, push = mz.linearize(model, q, v, tau, resistance=True)
    free, _ = mz.linearize(model, q, v, tau, resistance=False)
    assert np.abs(continuous - free).max() > 0.1
    agree((A @ T - T) / 1e-3, continuous @ T, 0.05)
    agree(B / 1e-3, push, 0.05)


def test_a_sample_of_a_batch_is_linearised_as_alone():
    model, q, v, tau = case("five_bar")
    ends = mz.simulate(model, q, v, 0.03, DT, torque=tau)
    q, v = ends.q, ends.v
    A, B = mz.linearize(model, q, v, tau, dt=DT)
    for k in range(len(q)):
        a, b = mz.linearize(model, q[k], v[k], tau, dt=DT)
        agree(A[k], a)
        agree(B[k], b)


def test_open_loops_are_refused():
    model, q, v, tau = case("four_bar")
    with pytest.raises(mz.LoopError, match=r"'closure' is open .*assemble"):
        mz.rollout(model, model.neutral(), v, tau[None], DT)
    with pytest.raises(mz.LoopError, match=r"'closure' opens .*consistent_velocities"):
        mz.linearize(model, q, np.ones(3), tau, dt=DT)


def tied(model, joint, other=None, seed=0):
    """A tree whose last body is tied to another one (None: to the world) as it is at some q."""
    q = model.random_configuration(seed)
    poses = mz.forward_kinematics(model, q)
    start = np.eye(4) if other is None else np.linalg.inv(poses[other])
    at = mz.SE3.from_matrix(start @ poses[-1])
    return model.with_loop("tie", model.nb - 1, other, joint, None, at), q


def planar(n):
    b = mz.Builder("planar")
    rod = mz.Inertia(1.0, (0.5, 0.0, 0.0), np.diag([0.01, 0.1, 0.1]))
    for k in range(n):
        at = mz.SE3.translation(1.0, 0.0, 0.0) if k else mz.SE3.identity()
        b.add(f"b{k}", f"b{k - 1}" if k else None, mz.Revolute("z").between(at), rod)
    return b.build()


KINDS = (mz.Revolute, mz.Prismatic, mz.Spherical)
LARGE = {
    "ball": lambda: tied(chain(18, seed=2), mz.Spherical()),
    "inner": lambda: tied(chain(18, seed=3), mz.Universal(), other=4),
    "overconstrained": lambda: tied(planar(18), mz.Revolute("z")),
    "tree": lambda: tied(random_tree(18, 5, joints=KINDS), mz.Cylindrical("y"), other=3),
    "windows": lambda: (n_four_bar(9), n_four_bar(9).random_configuration(1)),
}
LONG_STEPS = [("overconstrained", "rkmk4"), ("tree", "rkmk4")]


SHORT_STEPS = [(x, "semi_implicit") for x in LARGE if x != "inner"]


@pytest.mark.parametrize(
    ("name", "method"),
    normal(SHORT_STEPS + LONG_STEPS, [(x, method) for method in METHODS for x in LARGE]),
)
def test_large_mechanisms_step_backwards_in_loops(name, method, monkeypatch):
    """Rolled over bodies, and over loops that are alike: the transposed Jacobians of the step."""
    monkeypatch.setattr(pullback, "ALIKE_BODIES", 10)
    monkeypatch.setattr(rolled_or_not, "FEW_LOOPS", 8)
    model, q = LARGE[name]()
    rng = np.random.default_rng(0)
    v = mz.consistent_velocities(model, q, 0.5 * rng.normal(size=model.nv))
    tau, p, r = rng.normal(size=(3, model.nv))
    assert rolled_or_not.rolls(model, Backwards, 10 if name == "windows" else None)
    found = pullback_kernel(model, method)(q, v, tau, p, r, DT)
    A, B = step_jacobians(model, q, v, tau, DT, method)
    agree(np.concatenate(found), np.concatenate([p, r]) @ np.concatenate([A, B], axis=1), 1e-9)


def test_a_large_batch_is_looked_at_in_machine_code(monkeypatch):
    """Singular values of every start took a hundred times as long as the steps."""
    model = n_four_bar(3)
    q = np.tile(model.random_configuration(1), (3, 40, 1))
    v, tau = np.zeros((3, 40, model.nv)), np.zeros((2, 40, model.nv))
    found = mz.rollout_gradient(model, q, v, tau, DT, q[..., : model.nv], v)

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("singular values of a batch")

    monkeypatch.setattr(np.linalg, "svd", refused)
    again = mz.rollout_gradient(model, q, v, tau, DT, q[..., : model.nv], v)
    for x, y in zip(found, again, strict=True):
        agree(x, y, 1e-14)


@pytest.mark.parametrize("method", first(1, ("semi_implicit", "rkmk4")))
def test_a_step_backwards_costs_the_same_a_body_with_loops(method):
    """O(n), counted: from straight-line code of ten bodies to loops over a hundred."""
    each = []
    for n in (10, 20, 40, 100):
        model, _ = tied(chain(n, seed=1), mz.Spherical())
        each.append(sum(pullback_kernel(model, method).operations.values()) / n)
    middle = (max(each) + min(each)) / 2
    assert max(each) < 1.1 * middle and min(each) > 0.9 * middle


def test_a_linkage_that_rubs():
    """A step of moreau of an overconstrained linkage with dry friction, along its motion and by
    torques, against differences.
    """
    model, q, v, tau = case("bennett")
    model = model.with_dynamics(model.joint_names[0], friction=0.05)
    assert row_sizes(model)
    n, method = model.nv, Moreau()
    AB = np.concatenate(mz.linearize(model, q, v, tau, dt=1e-3, method=method), axis=1)
    kernel, smooth = (step_kernel(model, method, resistance=x) for x in (True, False))
    assert np.abs(kernel(q, v, tau, 1e-3)[1] - smooth(q, v, tau, 1e-3)[1]).max() > 1e-6
    motions = tangents(model, q, v)
    moves = np.zeros((3 * n, motions.shape[1] + n))
    moves[: 2 * n, :-n], moves[2 * n :, -n:] = motions, np.eye(n)
    for d in moves.T:
        agree(AB @ d, differences(lambda *x: kernel(*x, 1e-3), model, q, v, tau, d, 1e-5), 1e-8)
