"""Contact, friction and limits: problems whose answers are known in closed form.

Bouncing balls, sliding and rolling: any textbook of mechanics. The rimless wheel: McGeer, Passive
dynamic walking, 1990. Two bodies: Newton's law of impact. The sliding rod: Painlevé, 1895; Génot
and Brogliato, 1999.
"""

import math

import numpy as np
import pytest
from support.contact_models import ball, boxes, turned

import mozzi as mz
from mozzi.lie import SE3
from mozzi.lie.vec import Vec3

G = 9.81
EXACT = 1e-10  # of residuals, m/s


@pytest.mark.parametrize(("height", "e"), [(1.0, 0.8), (1.0, 0.0), (0.5, 1.0)])
def test_bouncing_ball(height, e):
    """Apex k is at e^(2k) H; e = 0 rests at once, e = 1 loses nothing over 20 impacts."""
    model, h = ball(restitution=e), 1e-3
    q = model.neutral()
    q[2] = 0.1 + height
    run = mz.simulate(model, q, np.zeros(6), 13.0 if e == 1.0 else 4.0, h)
    z = run.q[:, 2] - 0.1
    assert run.contact_residual.max() < EXACT
    assert z.min() > -1e-12
    tops = [b for a, b, c in zip(z, z[1:], z[2:], strict=False) if a < b >= c]
    if e == 0.0:
        assert abs(run.v[-1]).max() < 1e-12 and z[-1] < 1e-12
    else:
        expected = height * e ** (2.0 * np.arange(1, 6))
        np.testing.assert_allclose(tops[:5], expected, atol=3 * h * math.sqrt(2 * G * height))
    if e == 1.0:
        assert len(tops) >= 20
        np.testing.assert_allclose(tops[19], height, rtol=20 * h)
    balance = run.energy() + run.energy_taken().sum(-1)
    np.testing.assert_allclose(balance, balance[0], atol=0.02 * balance[0])


def test_sliding_block():
    """It stops after v₀²/2μg and does not move any more."""
    model, q = boxes(friction=0.5)
    h, v0 = 1e-3, 2.0
    run = mz.simulate(model, q, [0, 0, 0, v0, 0, 0], 10.0, h, record_every=10)
    assert abs(run.q[-1, 0] - v0**2 / (2 * 0.5 * G)) < 2 * v0 * h
    rest = run.q[run.t > 1.0]
    assert abs(rest - rest[0]).max() < 1e-13  # 1e-12 in 100 s
    assert run.contact_residual.max() < EXACT
    assert (run.contact_modes[run.t < 0.3][1:] == 2).all() and (run.contact_modes[-1] == 1).all()


def test_block_on_an_incline():
    """It sticks where μ ≥ tan θ, and slides with g (sin θ − μ cos θ) elsewhere."""
    model, q = boxes(slope=math.atan(0.5), friction=0.5000001)
    run = mz.simulate(model, q, np.zeros(6), 5.0, 1e-3, record_every=100)
    assert abs(run.q[-1] - q).max() < 5e-14
    model, q = boxes(slope=0.5, friction=0.3)
    run = mz.simulate(model, q, np.zeros(6), 1.0, 1e-3, record_every=100)
    a = G * (math.sin(0.5) - 0.3 * math.cos(0.5))
    np.testing.assert_allclose(run.v[-1, 3], a, rtol=1e-9)


@pytest.mark.parametrize(("v0", "w0", "mu"), [(3.0, 0.0, 0.3), (1.0, -40.0, 0.2)])
def test_slip_to_roll(v0, w0, mu):
    """A sphere that slides rolls in the end, with 5/7 v₀ + 2/7 r ω₀."""
    model, r = ball(friction=mu), 0.1
    q = model.neutral()
    q[2] = r
    run = mz.simulate(model, q, [0, w0, 0, v0, 0, 0], 3.0, 1e-3, record_every=100)
    V = mz.twists(model, run.q, run.v, "mixed")[:, 0]
    np.testing.assert_allclose(V[-1, 3], 5 / 7 * v0 + 2 / 7 * r * w0, rtol=1e-9)
    before = run.t < 0.9 * 2 * (v0 - r * w0) / (7 * mu * G)
    np.testing.assert_allclose(V[before, 3], v0 - mu * G * run.t[before], atol=1e-9)
    assert run.contact_residual.max() < EXACT


@pytest.mark.parametrize(("slope", "mu"), [(math.pi / 12, 0.5), (0.7, 0.1)])
def test_sphere_on_an_incline(slope, mu):
    """It rolls with 5/7 g sin θ where μ ≥ 2/7 tan θ, and slips with g (sin θ − μ cos θ) else."""
    model = ball(friction=mu, slope=slope)
    q = model.neutral()
    q[:3] = 0.1 * math.sin(slope), 0.0, 0.1 * math.cos(slope)
    run = mz.simulate(model, q, np.zeros(6), 1.0, 1e-3, record_every=100)
    rolls = mu >= 2 / 7 * math.tan(slope)
    a = 5 / 7 * G * math.sin(slope) if rolls else G * (math.sin(slope) - mu * math.cos(slope))
    V = mz.twists(model, run.q[-1], run.v[-1], "mixed")[0, 3:]
    np.testing.assert_allclose(np.linalg.norm(V), a, rtol=1e-7)  # 1e-6 asked


def rimless_wheel(inertia):
    """Eight spokes of length 1 and a unit mass at the hub, on a slope, rolling."""
    slope, joint = 0.08, mz.Planar("y")
    builder = mz.Builder("wheel", gravity=(G * math.sin(slope), 0.0, -G * math.cos(slope)))
    builder.add("wheel", None, joint, mz.Inertia(1.0, (0, 0, 0), inertia * np.eye(3)))
    for k in range(8):
        a = 2 * math.pi * k / 8
        tip = SE3.translation(math.sin(a), 0.0, -math.cos(a))
        builder.shape("wheel", mz.Sphere(1e-9), tip, name=f"spoke{k}")
    model = builder.build().with_ground(friction=2.0)
    up, ahead = (joint.frame_child.R.unrotate(Vec3(*e)) for e in ((0.0, 0, 1), (1.0, 0, 0)))
    return model, np.array([up.x, up.y, 0.0]), np.array([ahead.x, ahead.y, 1.0])


def strides(run, inertia, alpha=math.pi / 8, slope=0.08):
    """The speeds after the impacts of a rimless wheel, from its energy in the middle of strides."""
    E, g = run.energy(), np.array([G * math.sin(slope), 0.0, -G * math.cos(slope)])
    foot = run.contact_gaps.argmin(-1)
    ends = np.flatnonzero(np.diff(foot)) + 1
    middle = (ends[1:] + ends[:-1]) // 2
    frames = mz.contact_frames(run.model, run.q[middle])
    points = frames[np.arange(len(middle)), foot[middle], :3, 3]
    hub = points + np.array([-math.sin(alpha), 0.0, math.cos(alpha)])
    return np.sqrt(2 * (E[middle] + hub @ g) / (1 + inertia))


def test_rimless_wheel():
    """It settles at θ̇ = cot 2α √(4 g/l sin α sin γ) after each impact (less what the inertia of
    the hub changes): every stride, to second order in the step.
    """
    inertia, alpha = 0.01, math.pi / 8
    model, q, v = rimless_wheel(inertia)
    kept = (math.cos(2 * alpha) + inertia) / (1 + inertia)
    gain = 4 * G * math.sin(alpha) * math.sin(0.08) / (1 + inertia)
    steady = math.sqrt(kept**2 * gain / (1 - kept**2))
    lower = math.cos(0.08) - math.cos(alpha - 0.08)  # the hub after an impact
    v = v * math.sqrt(steady**2 - 2 * G * lower / (1 + inertia))
    error = []
    for h in (2e-3, 1e-3):
        run = mz.simulate(model, q, v, 10.0, h)
        error.append(abs(strides(run, inertia) / steady - 1).max())
        assert run.contact_residual.max() < EXACT * 10
    assert error[0] < 2e-4 and error[1] < 5e-5  # 1e-3 asked
    uncut = strides(mz.simulate(model, q, v, 10.0, 1e-3, cut=False), inertia)
    assert abs(uncut / steady - 1).max() < 1.5e-2  # of first order


@pytest.mark.parametrize(("height", "e"), [(1.0, 0.8), (0.5, 1.0)])
def test_bouncing_ball_to_second_order(height, e):
    """Apexes to second order, and the balance of energies with them."""
    model, h = ball(restitution=e), 1e-3
    q = model.neutral()
    q[2] = 0.1 + height
    run = mz.simulate(model, q, np.zeros(6), 4.0, h)
    z = run.q[:, 2] - 0.1
    tops = [b for a, b, c in zip(z, z[1:], z[2:], strict=False) if a < b >= c]
    np.testing.assert_allclose(tops[:5], height * e ** (2.0 * np.arange(1, 6)), atol=2e-5)
    assert z.min() > -1e-12
    balance = run.energy() + run.energy_taken().sum(-1)
    np.testing.assert_allclose(balance, balance[0], rtol=1e-4)


@pytest.mark.parametrize(("b", "torque"), [(50.0, 0.0), (0.5, 0.4999), (0.5, -0.3)])
def test_dry_joint(b, torque):
    """ω = ω₀ − (b − T)/I t until rest; then it rests, exactly."""
    inertia, w0, h = 0.02, 2.0, 1e-3
    builder = mz.Builder("disc")
    disc = mz.Inertia(1.0, (0, 0, 0), inertia * np.eye(3))
    builder.add("disc", None, mz.Revolute((0.6, 0.0, 0.8)), disc, friction=b)
    model = builder.build()
    run = mz.simulate(
        model, [0.3], [w0], 0.4, h, "moreau", torque=np.array([torque]), resistance=True
    )
    w = np.maximum(w0 - (b - torque) / inertia * run.t, 0.0)
    np.testing.assert_allclose(run.v[:, 0], w, atol=b * h / inertia)
    if torque != 0.4999:
        rest = run.q[run.t > 0.3]
        assert (rest == rest[0]).all() and (run.v[-1] == 0.0).all()


@pytest.mark.parametrize("hours", [0.01, pytest.param(1.0, marks=pytest.mark.slow)])
def test_an_arm_held_by_friction_does_not_move(hours):
    """Not by one ulp: an arm of three joints under gravity, below the limit of its friction."""
    builder = mz.Builder("arm")
    for k, axis in enumerate(["y", (0.6, 0.8, 0.0), "x"]):
        joint = mz.Revolute(axis).between((0.3, 0.1, 0.2) if k else None, None)
        inertia = mz.Inertia(1.0, (0.1, 0.05, -0.1), 0.01 * np.eye(3))
        builder.add(f"link{k}", f"link{k - 1}" if k else None, joint, inertia, friction=20.0)
    model = builder.build()
    q = np.array([0.3, -0.7, 0.0])
    run = mz.simulate(
        model, q, np.zeros(3), 3600 * hours, 1e-3, "moreau", resistance=True, record_every=6000
    )
    assert (run.q == q).all() and (run.v == 0.0).all()


@pytest.mark.parametrize(
    ("m1", "m2", "u1", "u2", "e"), [(1.0, 1.0, 1.0, 0.0, 0.7), (1.0, 1000.0, 1.0, -0.1, 0.3)]
)
def test_two_balls(m1, m2, u1, u2, e):
    """Momentum is kept and the relative speed is −e times what it was."""
    builder = mz.Builder("balls", gravity=(0, 0, 0))
    for name, mass in (("a", m1), ("b", m2)):
        inertia = mz.Inertia(mass, (0, 0, 0), 0.004 * mass * np.eye(3))
        builder.add(name, None, mz.Free(), inertia)
        builder.shape(name, mz.Sphere(0.1), name=f"sphere_{name}")
    model = builder.build().with_contact("c", "sphere_a", "sphere_b", restitution=e)
    q, v = model.neutral(), np.zeros(12)
    q[7], v[3], v[9] = 0.5, u1, u2
    w = mz.simulate(model, q, v, 1.0, 1e-3, record_every=100).v[-1]
    assert abs(m1 * w[3] + m2 * w[9] - m1 * u1 - m2 * u2) < 1e-12
    assert abs((w[9] - w[3]) - e * (u1 - u2)) < 1e-12


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_painleves_rod(side):
    """A rod that slides on its lower end with μ > 4/3: an answer, finite, that makes no energy."""
    builder = mz.Builder("rod", gravity=(0, 0, -10.0))
    rod = mz.Inertia(1.0, (0, 0, 0), np.diag([1 / 12, 1 / 12, 1e-4]))
    builder.add("rod", None, mz.Free(), rod)
    for name, z in (("lower", -0.5), ("upper", 0.5)):
        builder.shape("rod", mz.Sphere(1e-9), SE3.translation(0, 0, z), name=name)
    model = builder.build().with_ground(friction=1.5)
    angle = side * (math.pi / 2 - 0.9424777960769379)
    q = model.neutral()
    q[2], q[3:] = 0.5 * math.cos(angle), turned(angle)
    back = mz.SE3.from_array(mz.pose(model, q, "rod")).R.unrotate(Vec3(-4.0, 0.0, 0.0))
    run = mz.simulate(model, q, [0, 0, 0, *back], 0.5, 1e-4)
    assert np.isfinite(run.q).all()
    assert run.contact_residual.max() < EXACT
    E = run.energy()
    assert np.diff(E).max() < 1e-9 * E[0]


@pytest.mark.parametrize("masses", [(1.0,), (1.0, 1.0)])
def test_rest(masses):
    """Nothing moves, and the corner forces carry the weight without a moment."""
    model, q = boxes(masses)
    run = mz.simulate(model, q, np.zeros(model.nv), 2.0, 2e-3, record_every=10)
    check_rest(run, masses)


@pytest.mark.slow
@pytest.mark.parametrize("masses", [(1000.0, 1.0), (1.0, 1000.0), (1.0,) * 10])
def test_rest_of_stacks(masses):
    """Ten boxes, and boxes of mass 1 and 1000 on each other, over 10 s."""
    model, q = boxes(masses)
    run = mz.simulate(model, q, np.zeros(model.nv), 10.0, 2e-3, record_every=50)
    check_rest(run, masses)


def check_rest(run, masses):
    assert abs(run.v[-1]).max() < 1e-10
    assert abs(run.q[-1] - run.q[0]).max() < 1e-9
    F = run.contact_forces[-1, :4]
    p = mz.contact_frames(run.model, run.q[-1])[:4, :3, 3]
    weight = G * sum(masses)
    np.testing.assert_allclose(F.sum(0), [0.0, 0.0, weight], atol=1e-9 * weight)
    np.testing.assert_allclose(np.cross(p, F).sum(0), 0.0, atol=1e-9 * weight)


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_joint_at_its_stop(e):
    """A pendulum meets its stop with the speed that energy gives, and rests on it in the end."""
    builder = mz.Builder("pendulum")
    bob = mz.Inertia(1.0, (0, 0, -1.0), 1e-3 * np.eye(3))
    builder.add("bob", None, mz.Revolute("y"), bob, limits=(0.5, 3.0))
    model, h = builder.build(), 1e-3
    limits = mz.simulation.RigidStops(e) if e else "rigid"
    run = mz.simulate(model, [1.5], [0.0], 12.0, h, "moreau", limits=limits)
    w = -math.sqrt(2 * G * (math.cos(0.5) - math.cos(1.5)) / 1.001)
    at = int(np.argmax(np.diff(run.v[:, 0]) > 0.5))
    assert abs(run.v[at, 0] - w) < 2 * h * G
    later = run.v[at + 1 : at + 4, 0]
    np.testing.assert_allclose(later.max(), -e * w, atol=3 * h * G)
    assert run.q.min() > 0.5 - 1e-12
    assert abs(run.q[-1, 0] - 0.5) < 1e-9 and abs(run.v[-1, 0]) < 1e-9


@pytest.mark.parametrize("damping", [0.0, 30.0])
def test_stops_that_give_way(damping):
    """A pendulum on a stop of stiffness k sinks in by its moment over k; a mass that runs into one
    leaves it, where a damped spring would pull, slower by exp(−2 ζ arccos ζ/√(1 − ζ²)).
    """
    k, m, u = 4e4, 1.0, -0.7
    stop = mz.simulation.RigidStops(stiffness=k, damping=damping)
    builder = mz.Builder("cart", gravity=(0, 0, 0))
    body = mz.Inertia(m, (0, 0, 0), 0.01 * np.eye(3))
    builder.add("cart", None, mz.Prismatic((0.6, 0.0, 0.8)), body, limits=(0.0, 9.0))
    model = builder.build()
    run = mz.simulate(model, [0.0], [u], 0.05, 2e-6, "moreau", limits=stop, record_every=100)
    w = math.sqrt(k / m)
    z = damping / (2 * m * w)
    e = math.exp(-2 * z * math.acos(z) / math.sqrt(1 - z * z))
    np.testing.assert_allclose(run.v[-1, 0], -e * u, rtol=1e-3)
    builder = mz.Builder("pendulum")
    bob = mz.Inertia(1.0, (0, 0, -1.0), 1e-3 * np.eye(3))
    builder.add("bob", None, mz.Revolute("y"), bob, limits=(0.5, 3.0), friction=1e-3)
    model = builder.build()
    soft = mz.simulation.RigidStops(stiffness=1e5, damping=1e3)
    rest = mz.simulate(model, [0.5], [0.0], 3.0, 1e-3, "moreau", limits=soft).q[-1, 0]
    np.testing.assert_allclose(0.5 - rest, G * math.sin(rest) / 1e5, rtol=1e-4, atol=2e-8)
