"""Toys and machines with impacts and friction, by default at a millisecond: closed answers.

A ball with spin: Garwin, Kinematics of an ultraelastic rough ball, 1969 (without elasticity
across). The dimer: a rod that meets the ground with one end, any textbook. Euler's disc: Moffatt,
Nature 404, 2000. Dominoes: Efthimiou and Johnson, SIAM Review 49, 2007. The impact oscillator: Shaw
and Holmes, 1983. The bouncing ball on a vibrating table: Holmes, 1982. A sphere on a turntable:
Routh, 1905. Billiards: Coriolis, 1835.
"""

import math

import numpy as np
import pytest
from support.contact_models import ball, box_inertia, turned

import mozzi as mz
from mozzi.lie import SE3

G, H = 9.81, 1e-3


@pytest.mark.parametrize("spin", [0.0, 60.0, -60.0])
def test_a_rough_ball_bounces(spin):
    """At its first bounce it grips, u = 5/7 u₀ + 2/7 r ω; then it rolls at every touch: nothing
    changes any more across, and apexes fall by e².
    """
    r, e, u, height = 0.1, 0.7, 1.2, 0.8
    model = ball(friction=5.0, restitution=e)
    q = model.neutral()
    q[2] = r + height
    run = mz.simulate(model, q, [0, spin, 0, u, 0, 0], 1.6, H)
    z = run.q[:, 2] - r
    V = mz.twists(model, run.q, run.v, "mixed")[:, 0]
    fall = math.sqrt(2 * height / G)
    flies = (run.t > 1.2 * fall) & (run.t < fall * (1 + 2 * e + 2 * e * e))
    np.testing.assert_allclose(V[flies, 3], 5 / 7 * u + 2 / 7 * r * spin, rtol=1e-9)
    np.testing.assert_allclose(V[flies, 1], V[flies, 3] / r, rtol=1e-9)
    tops = [b for a, b, c in zip(z, z[1:], z[2:], strict=False) if a < b >= c]
    np.testing.assert_allclose(tops[:3], height * e ** (2.0 * np.arange(1, 4)), rtol=1e-4)
    bounces = run.t[1:][(np.diff(V[:, 5]) > 0.1)][:3]
    expected = fall * (1 + 2 * e * (1 - e ** np.arange(3)) / (1 - e))
    np.testing.assert_allclose(bounces, expected, atol=H + 1e-6)


@pytest.mark.parametrize("e", [0.0, 0.6, 1.0])
def test_a_dimer_meets_the_ground(e):
    """A rod of two masses that falls, tilted, on one end: the impulse (1 + e) w/(1/m + x²/I) at a
    lever x turns it.
    """
    l, tilt, height, r = 0.4, 0.5, 0.6, 0.05
    builder = mz.Builder("dimer")
    I = 2 * 0.5 * l * l
    builder.add("rod", None, mz.Free(), mz.Inertia(1.0, (0, 0, 0), np.diag([1e-3, I, I])))
    for name, x in (("a", l), ("b", -l)):
        builder.shape("rod", mz.Sphere(r), SE3.translation(x, 0.0, 0.0), name=name)
    model = builder.build().with_ground(friction=0.0, restitution=e)
    q = model.neutral()
    q[2], q[3:] = r + l * math.sin(tilt) + height, turned(tilt)
    run = mz.simulate(model, q, np.zeros(6), 0.4, H)
    fall, w = math.sqrt(2 * height / G), math.sqrt(2 * G * height)
    x = l * math.cos(tilt)
    J = (1 + e) * w / (1.0 + x * x / I)
    at = int(np.argmax(run.t > fall + 1.5 * H))
    V = mz.twists(model, run.q[at], run.v[at], "mixed")[0]
    pushed = 3 * H * G if e == 0.0 else 0.0  # by the ground, which it stays on
    np.testing.assert_allclose(V[5], -w + J - G * (run.t[at] - fall), rtol=2e-4, atol=pushed)
    np.testing.assert_allclose(V[1], -x * J / I, rtol=2e-4, atol=pushed * x / I)


def test_eulers_disc():
    """A thin disc that rolls about its resting centre goes round with Ω² = 4 g/(R sin α), its
    energy being ³⁄₂ m g R sin α.
    """
    R, alpha = 0.1, 0.3
    builder = mz.Builder("disc")
    body = mz.Inertia(1.0, (0, 0, 0), np.diag([0.25, 0.25, 0.5]) * R * R)
    builder.add("disc", None, mz.Free(), body)
    builder.shape("disc", mz.Disc(R), name="rim")
    model = builder.build().with_ground(friction=2.0)
    q = model.neutral()
    q[2], q[3:] = R * math.sin(alpha), turned(alpha)
    turn = math.sqrt(4 * G / (R * math.sin(alpha)))
    v = np.array([turn * math.sin(alpha), 0.0, 0.0, 0.0, 0.0, 0.0])  # about the lowest diameter
    energy = mz.kinetic_energy(model, q, v) + mz.potential_energy(model, q)
    np.testing.assert_allclose(energy, 1.5 * G * R * math.sin(alpha), rtol=1e-12)
    run = mz.simulate(model, q, v, 3 * 2 * math.pi / turn, H)
    np.testing.assert_allclose(run.q[:, 2], q[2], rtol=1e-3)
    np.testing.assert_allclose(run.energy(), energy, rtol=1e-5)
    point = mz.contact_frames(model, run.q)[:, 0, :2, 3]
    angle = np.unwrap(np.arctan2(point[:, 1], point[:, 0]))
    np.testing.assert_allclose(abs(angle[-1] - angle[0]) / run.t[-1], turn, rtol=1e-3)


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_a_domino_meets_the_next(e):
    """Thin dominoes of height l at a distance s: the first meets the second at sin θ = s/l with
    ω² = ω₀² + 3 g/l (1 − cos θ); both turn on with (1 ∓ e)/2 of it.
    """
    l, s, start = 0.2, 0.08, 2.0
    builder = mz.Builder("dominoes")
    for k in range(2):
        joint = mz.Revolute("y").between((s * k, 0.0, 0.0), None)
        rod = mz.Inertia(0.1, (0, 0, l / 2), np.diag([1, 1, 1e-3]) * 0.1 * l * l / 12)
        builder.add(f"domino{k}", None, joint, rod)
    builder.shape("domino0", mz.Sphere(1e-9), SE3.translation(0, 0, l), name="edge")
    face = np.eye(4)
    face[:3, :3] = [[0, 0, -1], [0, 1, 0], [1, 0, 0]]
    builder.shape("domino1", mz.Plane(), face, name="face")
    model = builder.build().with_contact("c", "edge", "face", 0.0, e)
    run = mz.simulate(model, [0.0, 0.0], [start, 0.0], 0.3, H)
    theta = math.asin(s / l)
    w = math.sqrt(start**2 + 3 * G / l * (1 - math.cos(theta)))
    at = int(np.argmax(run.v[:, 1] > 0.1))
    angle = np.linspace(0.0, theta, 20001)
    time = np.trapezoid(1 / np.sqrt(start**2 + 3 * G / l * (1 - np.cos(angle))), angle)
    assert run.t[at - 1] <= time + 1e-5 and run.t[at] >= time - 1e-5
    after = run.t[at] - time
    pull = 1.5 * G / l * np.sin([theta, 0.0])  # of each, where nothing pushes
    if e > 0.0:
        expected = 0.5 * w * np.array([1 - e, 1 + e]) + pull * after
        np.testing.assert_allclose(run.v[at], expected, atol=2e-3 * w)
    else:  # they go on together
        expected = 0.5 * w + pull.mean() * after
        np.testing.assert_allclose(run.v[at], expected, atol=2e-3 * w)


def test_an_impact_oscillator():
    """A mass on a spring whose rest is at a stop: half a period between impacts, speeds eᵏ v₀."""
    k, e, v0 = 100.0, 0.8, 1.0
    builder = mz.Builder("mass", gravity=(0, 0, 0))
    body = mz.Inertia(1.0, (0, 0, 0), np.eye(3))
    builder.add("m", None, mz.Prismatic("x"), body, stiffness=k, limits=(0.0, 1.0))
    model, w = builder.build(), math.sqrt(k)
    stop = mz.simulation.RigidStops(restitution=e)
    run = mz.simulate(model, [0.0], [v0], 2.0, H, "moreau", limits=stop)
    bounces = np.flatnonzero(np.diff(run.v[:, 0]) > 0.1)
    assert len(bounces) == 6
    half = math.pi / w
    np.testing.assert_allclose(run.t[1:][bounces], half * np.arange(1, 7), atol=H + 2e-5)
    tops = [run.q[a:b, 0].max() for a, b in zip([0, *bounces], bounces, strict=False)]
    np.testing.assert_allclose(tops, v0 / w * e ** np.arange(6), rtol=1e-4)


def test_a_ball_keeps_time_with_its_table():
    """A ball on a table that moves with A sin ω t bounces once a period at the phase φ with
    cos φ = π g (1 − e)/((1 + e) A ω²).
    """
    e, w = 0.6, 2 * math.pi * 4.0
    A = 1.2 * math.pi * G * (1 - e) / (1 + e) / w**2
    phase = math.acos(1 / 1.2)
    builder = mz.Builder("table")
    builder.add("table", None, mz.Prismatic("z"), mz.Inertia(1.0, (0, 0, 0), np.eye(3)))
    builder.add("ball", None, mz.Prismatic("z"), box_inertia(1.0))
    builder.shape("table", mz.Plane(), name="top")
    builder.shape("ball", mz.Sphere(0.01), name="ball")
    model = builder.build().with_contact("c", "ball", "top", 0.0, e)
    T = 2 * math.pi / w
    meets = G * T / (1 + e)  # relative to the table, before the impact; after it, e times
    q = np.array([A * math.sin(phase), A * math.sin(phase) + 0.01])
    v = np.array([A * w * math.cos(phase), A * w * math.cos(phase) + e * meets])
    assert abs(v[1] - G * T / 2) < 1e-9  # what a flight of a period takes
    driven = {model.joint_names[0]: lambda t: A * np.sin(w * t + phase)}
    run = mz.simulate(model, q, v, 8.5 * T, H, prescribed=driven)
    bounces = run.t[1:][np.diff(run.v[:, 1]) > 0.2]
    np.testing.assert_allclose(bounces, T * np.arange(1, 9), atol=2 * H)


def test_a_sphere_on_a_turntable():
    """It rolls in a circle with ²⁄₇ of the rate of the table, for any start."""
    r, rate = 0.05, 3.0
    builder = mz.Builder("turntable")
    builder.add("table", None, mz.Revolute("z"), mz.Inertia(1.0, (0, 0, 0), np.eye(3)))
    body = mz.Inertia(1.0, (0, 0, 0), 0.4 * r * r * np.eye(3))
    builder.add("ball", None, mz.Free(), body)
    builder.shape("table", mz.Plane(), name="top")
    builder.shape("ball", mz.Sphere(r), name="ball")
    model = builder.build().with_contact("c", "ball", "top", 2.0)
    q = model.neutral()
    p, u = np.array([0.4, 0.1]), np.array([0.2, 0.3])
    q[1:4] = *p, r
    slip = u - rate * np.array([-p[1], p[0]])  # of the centre against the table below it
    v = np.array([rate, -slip[1] / r, slip[0] / r, 0.0, *u, 0.0])
    run = mz.simulate(model, q, v, 5.0, H, prescribed={model.joint_names[0]: lambda t: rate * t})
    speed = 2 / 7 * rate
    centre = p + np.array([-u[1], u[0]]) / speed
    away = run.q[:, 1:3] - centre
    angle = np.unwrap(np.arctan2(away[:, 1], away[:, 0]))
    np.testing.assert_allclose(np.linalg.norm(away, axis=1), np.linalg.norm(u) / speed, rtol=1e-6)
    np.testing.assert_allclose(angle - angle[0], speed * run.t, atol=1e-4)


def test_a_billiard_ball_with_side():
    """While it slides its path is a parabola, the force keeps its direction; then it rolls with
    5/7 u + 2/7 r ω × n, straight on.
    """
    r, mu, u, w = 0.03, 0.2, np.array([1.0, 0.0]), np.array([15.0, -10.0])
    model = ball(friction=mu, radius=r)
    q = model.neutral()
    q[2] = r
    run = mz.simulate(model, q, [*w, 0.0, *u, 0.0], 1.0, H)
    turned_by = r * np.array([w[1], -w[0]])  # r ω × n
    slip = u - turned_by
    stop = 2 / 7 * np.linalg.norm(slip) / (mu * G)
    slides = run.t < stop
    t = run.t[slides, None]
    path = u * t - 0.5 * mu * G * t**2 * slip / np.linalg.norm(slip)
    np.testing.assert_allclose(run.q[slides, :2], path, atol=1e-6)
    V = mz.twists(model, run.q[-1], run.v[-1], "mixed")[0]
    np.testing.assert_allclose(V[3:5], 5 / 7 * u + 2 / 7 * turned_by, rtol=1e-6)
