"""Changes of constrained dynamics beyond q and v: wrenches, resistance, parameters, time, second
derivatives.
"""

import mpmath
import numpy as np
import pytest
from support.cases import first, normal
from support.closed_motions import ROBOTS, case, directions, panda, shifted
from support.differences import fifty_digits
from support.mechanics import agree

import mozzi as mz
from mozzi.algorithms.derivatives.loops.first import forward_changes
from mozzi.algorithms.derivatives.loops.solve import constrained_solve
from mozzi.algorithms.derivatives.second import tangent_basis
from mozzi.compiler import compile
from mozzi.model.generate import random_tree
from mozzi.program.differentiate import reverse

CASES = [
    "four_bar", "bennett", "slider_crank", "five_bar", "pinned", "universal", "rod", "geared",
    "delta",
]  # fmt: skip
SLOW_DELTA = pytest.param("delta", marks=pytest.mark.slow)  # ten seconds and more to compile


def resisting(model: mz.Model) -> mz.Model:
    """With damping and springs in the joints, and a spring between two bodies."""
    for k, joint in enumerate(model.joint_names):
        if model.joint(joint).nv:
            model = model.with_dynamics(joint, damping=0.3 + 0.1 * k, stiffness=1.0 + k)
    first, last = model.bodies[0], model.bodies[-1]
    ends = (0.1, 0.0, 0.2), (0.0, 0.3, 0.1)
    return model.with_spring("spring", first, last, *ends, stiffness=5.0, damping=0.7, length=0.2)


# -- first derivatives, as computed --


@pytest.mark.parametrize("name", first(3, ["four_bar", "slider_crank", "rod", "pinned"]))
def test_in_all_directions_to_fifty_digits(name):
    """∂a/∂q and ∂a/∂v are those of what forward dynamics computes, also where the loops open."""
    model, q, v, tau = case(name)
    dq, dv, _ = mz.forward_dynamics_derivatives(model, q, v, tau)
    v50, tau50 = ([mpmath.mpf(float(x)) for x in y] for y in (v, tau))
    of_q = lambda y: mz.forward_dynamics.python(model, y, v50, tau50)
    agree(dq, fifty_digits(of_q, model, q), 1e-12)
    q50 = [mpmath.mpf(float(x)) for x in q]
    with mpmath.workdps(50):
        h = mpmath.mpf(10) ** -16
        for k in range(model.nv):
            ends = []
            for s in (h, -h):
                w = [x + (s if n == k else 0) for n, x in enumerate(v50)]
                ends.append(np.asarray(mz.forward_dynamics.python(model, q50, w, tau50)))
            agree(dv[:, k], np.array((ends[0] - ends[1]) / (2 * h), dtype=float), 1e-12)


def test_pinocchio():
    """A panda whose hand is held at a point."""
    pin = pytest.importorskip("pinocchio")
    model, q = panda()
    whole = pin.buildModelFromUrdf(str(ROBOTS / "panda_description/urdf/panda.urdf"))
    fingers = [whole.getJointId(n) for n in whole.names[8:]]
    peer = pin.buildReducedModel(whole, fingers, pin.neutral(whole))
    frame = peer.frames[peer.getFrameId("panda_hand")]
    contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    contacts.append(
        pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, peer, frame.parentJoint, frame.placement,
            pin.ReferenceFrame.LOCAL,
        )
    )  # fmt: skip
    datas.append(contacts[0].createData())
    data, settings = peer.createData(), pin.ProximalSettings(1e-12, 0.0, 1)
    pin.initConstraintDynamics(peer, data, contacts, datas)
    v, tau = np.random.default_rng(0).normal(size=(2, 7))
    v = mz.consistent_velocities(model, q, v)
    pin.constraintDynamics(peer, data, q, v, tau, contacts, datas, settings)
    pin.computeConstraintDynamicsDerivatives(peer, data, contacts, datas, settings)
    found = mz.forward_dynamics_derivatives(model, q, v, tau)
    for x, y in zip(found, (data.ddq_dq, data.ddq_dv, data.ddq_dtau), strict=True):
        agree(x, y, 1e-11)


LARGE = [pytest.param(name, marks=pytest.mark.slow) for name in ("pinned", "universal")]


@pytest.mark.parametrize("name", ["four_bar", *LARGE])
def test_programs(name):
    """One program, or the columns as samples of another: the same derivatives."""
    model, q, v, tau = case(name)
    W = np.random.default_rng(0).normal(size=(model.nb, 6))
    arrays = {"q": q, "v": v, "tau": tau, "wrenches": W}
    x = forward_changes(model, arrays, {"resistance": False})
    one = compile(mz.forward_dynamics_derivatives, model, options={"wrenches": True})
    for a, b in zip(one(*arrays.values()), (x.a_q, x.a_v, x.a_tau), strict=True):
        agree(a, b, 1e-11)
    for a, b in zip(
        mz.forward_dynamics_derivatives.python(model, q, v, tau, W), one(*arrays.values())
    ):
        agree(a.astype(float), b, 1e-11)
    wrench = compile(mz.forward_dynamics_wrench_derivatives, model)
    agree(wrench(q), mz.forward_dynamics_wrench_derivatives(model, q), 1e-11)
    for a, b in zip(compile(mz.linearize, model)(q, v, tau), mz.linearize(model, q, v, tau)):
        agree(a, b, 1e-11)


@pytest.mark.parametrize("name", first(4, CASES))
def test_gradients(name):
    """By the adjoint solution, by the matrices, and by reverse mode through the whole program."""
    model, q, v, tau = case(name)
    n, c = model.nv, np.random.default_rng(1).normal(size=model.nv)

    def swept(q, v, tau, c):
        a = mz.forward_dynamics(model, q, v, tau)
        by = reverse(np.dot(a, c), np.concatenate([q, v, tau]), 1.0)
        by_q, by_v, by_tau = np.split(by, [model.nq, model.nq + n])
        return tangent_basis(model, q).T @ by_q, by_v, by_tau

    found = mz.forward_dynamics_gradient(model, q, v, tau, c)
    matrices = mz.forward_dynamics_derivatives(model, q, v, tau)
    through = compile(swept, model, inputs={"c": (n,)})(q, v, tau, c)
    for x, D, y in zip(found, matrices, through, strict=True):
        agree(x, c @ D, 1e-11)
        agree(x, y, 1e-11)


def test_gradients_of_trees():
    model = random_tree(5, 2)
    rng = np.random.default_rng(0)
    q, (v, tau, c) = model.random_configuration(rng), rng.normal(size=(3, model.nv))
    found = mz.forward_dynamics_gradient(model, q, v, tau, c)
    for x, D in zip(found, mz.forward_dynamics_derivatives(model, q, v, tau), strict=True):
        agree(x, c @ D, 1e-11)


def test_empty_batches():
    model, none = case("four_bar")[0], np.zeros((0, 3))
    for D in mz.forward_dynamics_derivatives(model, none, none, none):
        assert D.shape == (0, 3, 3)
    for D in mz.linearize(model, none, none, none, dt=0.01):
        assert D.shape[:2] == (0, 6)
    assert mz.forward_dynamics_hessian(model, *[none] * 4)[0].shape == (0, 3, 3)
    assert mz.directional(mz.forward_dynamics, model, none, none, none, dq=none).shape == (0, 3)


@pytest.mark.parametrize("name", ["geared", "bennett", SLOW_DELTA])
def test_hybrid_dynamics(name):
    """Both outputs by all inputs along closed motions, with gears and with redundant rows."""
    model, q, v, tau = case(name)
    held, rng = list(model.joint_names[:4:3]), np.random.default_rng(0)
    a = mz.forward_dynamics(model, q, v, 0.0 * tau)
    changes = mz.hybrid_dynamics_derivatives(model, q, v, tau, a, prescribed=held)
    h = 1e-5
    for d in directions(model, q)[:2]:
        dtau, push = rng.normal(size=(2, model.nv))
        out, ends = [], []
        for s in (h, -h):
            q1, v1, delta, deltav = shifted(model, q, v, s, d)
            a1 = mz.forward_dynamics(model, q1, v1, s * 10 * push)  # one that keeps them closed
            tau1 = tau + s * dtau
            out.append(mz.hybrid_dynamics(model, q1, v1, tau1, a1, prescribed=held))
            ends.append((delta, deltav, tau1 - tau, a1 - a))
        step = [(x - y) / (2 * h) for x, y in zip(*ends)]
        for k in (0, 1):
            predicted = sum(D @ s for D, s in zip(changes[4 * k : 4 * k + 4], step))
            agree((out[0][k] - out[1][k]) / (2 * h), predicted, 1e-7)


# -- resistance --


@pytest.mark.parametrize("name", first(1, ["five_bar", "pinned", "delta"]))
def test_resistance(name):
    """Forward dynamics along closed motions; friction is constant where it has a derivative."""
    model, q, v, tau = case(name)
    model = resisting(model).with_dynamics(model.joint_names[0], friction=0.4)
    dq, dv, dtau = mz.forward_dynamics_derivatives(model, q, v, tau, resistance=True)
    plain = mz.forward_dynamics_derivatives(model, q, v, tau)
    assert np.abs(dq - plain[0]).max() > 0.1 and np.abs(dv - plain[1]).max() > 0.1
    agree(dtau, plain[2], 1e-11)
    h = 1e-5
    for d in directions(model, q)[:3]:
        ends = [shifted(model, q, v, s, d) for s in (h, -h)]
        a = [mz.forward_dynamics(model, *x[:2], tau, resistance=True) for x in ends]
        predicted = [dq @ x[2] + dv @ x[3] for x in ends]
        agree((a[0] - a[1]) / (2 * h), (predicted[0] - predicted[1]) / (2 * h), 2e-6)


def test_resistance_of_actuators_and_of_prescribed_joints():
    """Inverse and hybrid dynamics with respect to q and v, along closed motions."""
    model, q, v, tau = case("five_bar")
    model, h = resisting(model), 1e-5
    a = mz.forward_dynamics(model, q, v, tau)
    crank = {"prescribed": ["left"], "resistance": True}
    motors = {"actuated": ["left", "right"], "resistance": True}
    hybrid = mz.hybrid_dynamics_derivatives(model, q, v, tau, a, **crank)
    inverse = mz.inverse_dynamics_derivatives(model, q, v, a, **motors)
    for d in directions(model, q):
        ends = []
        for s in (h, -h):
            q1, v1, *step = shifted(model, q, v, s, d)
            a1 = mz.forward_dynamics(model, q1, v1, tau)
            both = mz.hybrid_dynamics(model, q1, v1, tau, a1, **crank)
            torque = mz.inverse_dynamics(model, q1, v1, a1, **motors)
            ends.append((both, torque, (*step, 0.0 * tau, a1 - a)))
        step = [(x - y) / (2 * h) for x, y in zip(ends[0][2], ends[1][2])]
        for k in (0, 1):
            slope = (ends[0][0][k] - ends[1][0][k]) / (2 * h)
            agree(sum(D @ s for D, s in zip(hybrid[4 * k : 4 * k + 4], step)), slope, 3e-6)
        slope = (ends[0][1] - ends[1][1]) / (2 * h)
        agree(inverse[0] @ step[0] + inverse[1] @ step[1] + inverse[2] @ step[3], slope, 3e-6)


# -- wrenches --


@pytest.mark.parametrize("name", [*CASES[:-1], SLOW_DELTA])
def test_wrenches(name):
    """∂a/∂W is exact for any change, keeps the loops closed, and is reciprocal."""
    model, q, v, tau = case(name)
    D = mz.forward_dynamics_wrench_derivatives(model, q)
    W, dW = np.random.default_rng(1).normal(size=(2, model.nb, 6))
    change = mz.forward_dynamics(model, q, v, tau, W + dW) - mz.forward_dynamics(
        model, q, v, tau, W
    )
    agree(np.tensordot(D, dW, 2), change, 1e-9)
    agree(
        mz.loop_jacobian(model, q) @ D.reshape(model.nv, -1),
        0.0 * mz.loop_jacobian(model, q) @ D.reshape(model.nv, -1),
        1e-9,
    )
    J = -mz.inverse_dynamics_wrench_derivatives(model, q).reshape(model.nv, -1).T
    admittance = J @ D.reshape(model.nv, -1)
    agree(admittance, admittance.T, 1e-9)
    assert np.linalg.eigvalsh(admittance).min() > -1e-9 * np.abs(admittance).max()


@pytest.mark.parametrize("minimize", ["torque", "loop_force"])
def test_wrenches_borne_by_actuators(minimize):
    """Also of three actuators for two degrees of freedom; too few are refused."""
    model, q, v, tau = case("five_bar")
    a = mz.forward_dynamics(model, q, v, tau)
    given = {"actuated": ["left", "left_rod", "right"], "minimize": minimize}
    D = mz.inverse_dynamics_wrench_derivatives(model, q, **given)
    W, dW = np.random.default_rng(1).normal(size=(2, model.nb, 6))
    ends = [mz.inverse_dynamics(model, q, v, a, x, **given) for x in (W + dW, W)]
    agree(np.tensordot(D, dW, 2), ends[0] - ends[1], 1e-10)
    batch = mz.inverse_dynamics_wrench_derivatives(model, np.stack([q, q]), **given)
    agree(batch[1], D, 1e-12)
    with pytest.raises(mz.LoopError, match="underactuated"):
        mz.inverse_dynamics_wrench_derivatives(model, q, actuated=["left"])


# -- one direction --


@pytest.mark.parametrize("name", first(4, CASES))
def test_one_direction(name):
    """`directional` and the matrices say the same, of all changes at once."""
    model, q, v, tau = case(name)
    rng = np.random.default_rng(2)
    dq, dv, dtau = rng.normal(size=(3, model.nv))
    W, dW = rng.normal(size=(2, model.nb, 6))
    by_q, by_v, by_tau = mz.forward_dynamics_derivatives(model, q, v, tau, W)
    by_W = mz.forward_dynamics_wrench_derivatives(model, q)
    changes = {"dq": dq, "dv": dv, "dtau": dtau, "wrenches": W, "dwrenches": dW}
    found = mz.directional(mz.forward_dynamics, model, q, v, tau, **changes)
    agree(found, by_q @ dq + by_v @ dv + by_tau @ dtau + np.tensordot(by_W, dW, 2), 1e-10)
    nothing = mz.directional(mz.forward_dynamics, model, q, v, tau)
    agree(nothing, np.zeros(model.nv), 1e-12)


@pytest.mark.parametrize("name", first(1, ["five_bar", "universal", "delta"]))
def test_one_direction_of_hybrid_dynamics(name):
    """The matrices, and differences where wrenches and inertias change."""
    model, q, v, tau = case(name)
    rng = np.random.default_rng(2)
    a = mz.forward_dynamics(model, q, v, tau)
    held = [model.joint_names[0]]
    dq = directions(model, q).T @ rng.normal(size=len(directions(model, q)))
    dv, dtau, da = rng.normal(size=(3, model.nv))
    W, dW = rng.normal(size=(2, model.nb, 6))
    by = mz.hybrid_dynamics_derivatives(model, q, v, tau, a, prescribed=held, wrenches=W)
    run = lambda **changes: mz.directional(
        mz.hybrid_dynamics, model, q, v, tau, a, prescribed=held, wrenches=W, **changes
    )
    found = run(dq=dq, dv=dv, dtau=dtau, da=da)
    for k in (0, 1):
        parts = zip(by[4 * k : 4 * k + 4], (dq, dv, dtau, da), strict=True)
        agree(found[k], sum(D @ x for D, x in parts), 1e-10)
    ends = [
        mz.hybrid_dynamics(model, q, v, tau, a, prescribed=held, wrenches=W + s * dW)
        for s in (1, -1)
    ]
    for x, y, z in zip(run(dwrenches=dW), *ends, strict=True):
        agree(x, (y - z) / 2, 1e-9)
    dinertias = np.zeros((model.nb, 10))
    dinertias[0, 0], dinertias[1, 1], dinertias[1, 7] = 1.0, 0.1, 0.05
    ends = []
    for s in (1e-4, -1e-4):
        other = model
        for name, change in zip(model.bodies, dinertias, strict=True):
            ten = np.array(model.body(name).inertia.parameters(), dtype=float) + s * change
            other = other.with_inertia(name, mz.Inertia.from_parameters(ten))
        ends.append(mz.hybrid_dynamics(other, q, v, tau, a, prescribed=held, wrenches=W))
    for x, y, z in zip(run(dinertias=dinertias), *ends, strict=True):
        agree(x, (y - z) / 2e-4, 1e-6)


def test_changes_of_the_geometry_are_refused():
    model, q, v, tau = case("four_bar")
    for change in ({"dh": np.zeros((3, 6))}, {"dscrews": np.zeros((6, 3))}):
        with pytest.raises(mz.LoopError, match=r"geometry.*sensitivity"):
            mz.directional(mz.forward_dynamics, model, q, v, tau, **change)
        with pytest.raises(mz.LoopError, match=r"geometry.*sensitivity"):
            mz.directional(mz.hybrid_dynamics, model, q, v, tau, tau, **change)


@pytest.mark.parametrize("name", normal({"four_bar", "slider_crank", "five_bar"}, CASES[:-1]))
def test_jerk(name):
    """The change of a along the motion, with torques that change too."""
    model, q, v, tau = case(name)
    rate = np.random.default_rng(3).normal(size=model.nv)
    a = mz.forward_dynamics(model, q, v, tau)
    j = mz.directional(mz.forward_dynamics, model, q, v, tau, dq=v, dv=a, dtau=rate)
    h = 1e-3

    def moved(s: float):
        """The state at the time s, to fourth order: backwards it runs with −v."""
        force = lambda t, q, v: tau + (t if s > 0 else -t) * rate
        x = mz.simulate(model, q, v if s > 0 else -v, abs(s), abs(s) / 2, torque=force)
        return x.q[-1], x.v[-1] * np.sign(s)

    at = {k: mz.forward_dynamics(model, *moved(k * h), tau + k * h * rate) for k in (-2, -1, 1, 2)}
    agree(j, (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h), 1e-6)


@pytest.mark.parametrize("name", [*CASES[:-1], SLOW_DELTA])
def test_rows_of_the_jerk(name):
    """d/dt (A a + Ȧ v) = 0: what keeps the accelerations on the loops."""
    model, q, v, tau = case(name)
    a = mz.forward_dynamics(model, q, v, tau)
    j = mz.directional(mz.forward_dynamics, model, q, v, tau, dq=v, dv=a, dtau=tau)
    ends = []
    for s in (1e-5, -1e-5):
        q1 = mz.integrate(model, q, s * v + 0.5 * s * s * a)
        ends.append(mz.loop_acceleration(model, q1, v + s * a, a + s * j))
    agree((ends[0] - ends[1]) / 2e-5, 0.0 * ends[0], 1e-7)


def test_programs_of_one_direction():
    """The kernel of any target: here interpreted, in a function of its own."""
    model, q, v, tau = case("slider_crank")

    def jerk(q, v, tau):
        a = mz.forward_dynamics(model, q, v, tau)
        return mz.directional(mz.forward_dynamics, model, q, v, tau, dq=v, dv=a)

    a = mz.forward_dynamics(model, q, v, tau)
    expected = mz.directional(mz.forward_dynamics, model, q, v, tau, dq=v, dv=a)
    for target in ("cpu", "interpret"):
        agree(compile(jerk, model, target)(q, v, tau), expected, 1e-12)


# -- parameters --


@pytest.mark.parametrize("name", first(1, ["five_bar", "universal"]))
def test_inertial_parameters(name):
    """Constrained forward and hybrid dynamics, against models built anew."""
    model, q, v, tau = case(name)
    a = mz.forward_dynamics(model, q, v, tau)
    held = {"prescribed": [model.joint_names[0]]}
    parameters_agree(mz.forward_dynamics, model, (q, v, tau), {})
    parameters_agree(mz.hybrid_dynamics, model, (q, v, tau, a), held)


@pytest.mark.parametrize("name", ["bennett", SLOW_DELTA])
def test_inertial_parameters_with_redundant_rows(name):
    """Against the same program with other numbers."""
    model, q, v, tau = case(name)
    second, last = model.bodies[1], model.bodies[-1]
    kernel = mz.sensitivity(mz.forward_dynamics, model, [f"{second}.Jyy", f"{last}.mass"])
    found = kernel(q, v, tau)
    for k, e in enumerate(1e-5 * np.eye(2)):
        ends = [kernel.value(q, v, tau, parameters=kernel.nominal + s * e) for s in (1, -1)]
        agree(found[:, k], (ends[0] - ends[1]) / 2e-5, 1e-6)
    agree(mz.loop_jacobian(model, q) @ found, np.zeros((model.row_count, 2)), 1e-8)


@pytest.mark.parametrize("minimize", ["torque", "loop_force"])
def test_inertial_parameters_of_actuated_inverse_dynamics(minimize):
    model, q, v, tau = case("five_bar")
    a = mz.forward_dynamics(model, q, v, tau)
    three = {"actuated": ["left", "left_rod", "right"], "minimize": minimize}
    for options in (three, {"actuated": ["left", "right"]}):
        parameters_agree(mz.inverse_dynamics, model, (q, v, a), options)
    parameters_agree(mz.inverse_dynamics, model, (q, v, a), {})


def parameters_agree(function, model, arrays, options) -> None:
    second, last = model.bodies[1], model.bodies[-1]
    names = [f"{second}.mass", f"{last}.hx", f"{second}.Jyy"]
    found = mz.sensitivity(function, model, names, **options)(*arrays)
    found = found if isinstance(found, tuple) else (found,)
    for k, name in enumerate(names):
        ends = []
        for h in (1e-4, -1e-4):
            body, what = name.rsplit(".", 1)
            ten = list(model.body(body).inertia.parameters())
            ten[{"mass": 0, "hx": 1, "Jyy": 7}[what]] += h
            other = model.with_inertia(body, mz.Inertia.from_parameters(ten))
            out = function(other, *arrays, **options)
            ends.append(out if isinstance(out, tuple) else (out,))
        for x, y, z in zip(found, *ends, strict=True):
            agree(x[..., k], (y - z) / 2e-4, 1e-6)


def test_geometric_parameters_of_actuated_inverse_dynamics():
    """The rows move with the geometry; numbers of the caller, and a batch."""
    model, q, v, tau = case("five_bar")
    a = mz.forward_dynamics(model, q, v, tau)
    names = [f"{model.joint_names[1]}.x", "left_rod.mass", f"{model.joint_names[2]}.ry"]
    for minimize in ("torque", "loop_force"):
        given = {"actuated": ["left", "left_rod", "right"], "minimize": minimize}
        kernel = mz.sensitivity(mz.inverse_dynamics, model, names, **given)
        found = kernel(q, v, a)
        agree(kernel.value(q, v, a), mz.inverse_dynamics(model, q, v, a, **given), 1e-11)
        for k, e in enumerate(1e-7 * np.eye(3)):
            ends = [kernel.value(q, v, a, parameters=kernel.nominal + s * e) for s in (1, -1)]
            agree(found[:, k], (ends[0] - ends[1]) / 2e-7, 1e-6)
        agree(kernel(np.stack([q, q]), v, a)[1], found, 1e-12)


# -- second derivatives --


@pytest.mark.parametrize("name", first(4, CASES))
def test_hessians(name):
    """Differences of the first derivatives: in all directions, of redundant rows in closed ones."""
    model, q, v, tau = case(name)
    n, h = model.nv, 1e-5
    c = np.random.default_rng(5).normal(size=n)
    qq, qv, vv, qt = mz.forward_dynamics_hessian(model, q, v, tau, c)
    agree(vv, vv.T, 1e-10)
    moves = directions(model, q)[:3] if name in ("bennett", "delta") else np.eye(n)

    def gradient(dq, dv):
        q1 = mz.integrate(model, q, dq)
        return [c @ D for D in mz.forward_dynamics_derivatives(model, q1, v + dv, tau)]

    zero = np.zeros(n)
    for d in moves:
        slopes = [(x - y) / (2 * h) for x, y in zip(gradient(h * d, zero), gradient(-h * d, zero))]
        for x, y in zip((qq @ d, d @ qv, d @ qt), slopes, strict=True):
            agree(x, y, 1e-6)
        slopes = [(x - y) / (2 * h) for x, y in zip(gradient(zero, h * d), gradient(zero, -h * d))]
        for x, y in zip((qv @ d, vv @ d, 0.0 * d), slopes, strict=True):
            agree(x, y, 1e-6)
    batch = mz.forward_dynamics_hessian(model, np.stack([q, q]), v, tau, c)
    agree(batch[0][1], qq, 1e-12)


# -- what speaks of the tree --


def test_functions_of_the_tree():
    """Named after what is true of the tree, and the same with loops as without."""
    model, q, v, _ = case("five_bar")
    tree = model._replace(loops=())
    a, j, s, c = np.random.default_rng(0).normal(size=(4, model.nv))
    for name, arrays in {
        "inverse_dynamics_rates": (q, v, a, j, s),
        "inverse_dynamics_gradient": (q, v, a, c),
        "inverse_dynamics_hessian": (q, v, a, c),
        "inverse_dynamics_wrench_derivatives": (q,),
        "mass_matrix_partials": (q,),
        "mass_matrix_inverse_partials": (q,),
        "mass_matrix_inverse_rate": (q, v),
    }.items():
        ends = [getattr(mz, name)(m, *arrays) for m in (model, tree)]
        pairs = zip(*ends) if isinstance(ends[0], tuple) else [ends]
        for x, y in pairs:
            agree(x, y, 1e-13)
    dq, dv, da = np.random.default_rng(1).normal(size=(3, model.nv))
    ends = [
        mz.directional(mz.inverse_dynamics, m, q, v, a, dq=dq, dv=dv, da=da) for m in (model, tree)
    ]
    agree(*ends, 1e-13)


def test_solutions_with_loops():
    """M x = f + Aᵀ κ with A x = g: of least kinetic energy, and κ is zero where rows depend."""
    for name in ("five_bar", "bennett"):
        model, q, _, _ = case(name)
        A, M = mz.loop_jacobian(model, q), mz.mass_matrix(model, q)
        f, x = np.random.default_rng(0).normal(size=(2, model.nv))
        found, k = constrained_solve(model, q, f, A @ x)
        agree(M @ found, f + A.T @ k, 1e-10)
        agree(A @ found, A @ x, 1e-10)
        rank = np.linalg.matrix_rank(A, tol=1e-9)
        assert np.count_nonzero(k) == rank < len(k)
