"""Friction, leaving and coming to rest: more problems with closed answers.

A ball that leaves a sphere: Newton's Principia onwards, any textbook (cos θ = 2/3 sliding, 10/17
rolling). The oscillator on a belt: Den Hartog, Mechanical Vibrations. Friction that differs along
two axes: Moreau's principle of greatest dissipation. Infinitely many impacts: Zeno's ball.
"""

import math

import numpy as np
import pytest
from support.contact_models import ball, box_inertia, boxes, tilted, turned

import mozzi as mz
from mozzi.lie import SE3

G = 9.81


@pytest.mark.parametrize(("friction", "leaves"), [(0.0, 2 / 3), (20.0, 10 / 17)])
def test_a_ball_leaves_a_sphere(friction, leaves):
    """Released near the top it slides off where cos θ = 2/3, and rolls off where cos θ = 10/17."""
    R, r, start = 1.0, 0.1, 0.02
    builder = mz.Builder("dome")
    inertia = mz.Inertia(1.0, (0, 0, 0), 0.4 * r * r * np.eye(3))
    builder.add("ball", None, mz.Free(), inertia)
    builder.shape("ball", mz.Sphere(r), name="ball")
    builder.shape(None, mz.Sphere(R), name="dome")
    model = builder.build().with_contact("c", "ball", "dome", friction)
    q = model.neutral()
    q[:3] = (R + r) * math.sin(start), 0.0, (R + r) * math.cos(start)
    run = mz.simulate(model, q, np.zeros(6), 2.5, 5e-4)
    push = np.linalg.norm(run.contact_forces[:, 0], axis=-1)
    at = int(np.flatnonzero(push > 0.0)[-1])
    cosine = run.q[at, 2] / np.linalg.norm(run.q[at, :3])
    np.testing.assert_allclose(cosine, leaves * math.cos(start), atol=1e-2)
    balance = (run.energy() + run.energy_taken().sum(-1))[:at]
    assert abs(balance - balance[0]).max() < 0.02


def test_friction_that_differs_along_two_axes():
    """A block slides with −g (μ₁² w₁, μ₂² w₂)/√(μ₁² w₁² + μ₂² w₂²): not against its velocity."""
    model, q = boxes()
    model = model.without_contact("c0").with_contact("c0", "shape0", "plane", (0.6, 0.2))
    v = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 0.0])
    h = 1e-6
    a = (mz.simulate(model, q, v, h, h).v[-1] - v)[3:5] / h
    mu, w = np.array([0.6, 0.2]), v[3:5]
    np.testing.assert_allclose(a, -G * mu**2 * w / np.linalg.norm(mu * w), rtol=1e-4)


def test_up_an_incline_and_down_again():
    """A block thrown up stops after v²/2g(sin θ + μ cos θ) and comes back slower by
    √((sin θ − μ cos θ)/(sin θ + μ cos θ)).
    """
    slope, mu, v0, h = 0.6, 0.3, 3.0, 1e-3
    model, q = boxes(slope=slope, friction=mu)
    up, down = (math.sin(slope) + s * mu * math.cos(slope) for s in (1.0, -1.0))
    run = mz.simulate(model, q, [0, 0, 0, -v0, 0, 0], 2.5, h)
    along = (run.q[:, :3] - q[:3]) @ tilted(slope)[:3, 0]
    np.testing.assert_allclose(-along.min(), v0**2 / (2 * G * up), atol=2 * v0 * h)
    back = int(np.argmax((run.t > 0.6) & (along >= 0.0)))
    np.testing.assert_allclose(run.v[back, 3], v0 * math.sqrt(down / up), rtol=2e-3)


def test_an_oscillator_on_a_belt():
    """A mass on a spring rides on a belt until k x = μ m g, and swings ever after about that place
    with the amplitude v/ω: as fast as the belt where it is fastest.
    """
    m, k, mu, speed = 1.0, 100.0, 0.4, 0.3
    builder = mz.Builder("belt")
    belt = mz.Inertia(1.0, (0, 0, 0), np.eye(3))
    builder.add("belt", None, mz.Prismatic("x"), belt)
    builder.add("slide", None, mz.Prismatic("x"), mz.Inertia(1e-6, (0, 0, 0), 1e-6 * np.eye(3)),
                stiffness=k)  # fmt: skip
    body = mz.Prismatic("z").between((0.0, 0.0, 0.05), None)
    builder.add("mass", "slide", body, box_inertia(m))
    builder.shape("belt", mz.Plane(), name="top")
    builder.shape("mass", mz.Sphere(0.05), name="foot")
    model = builder.build().with_contact("c", "foot", "top", mu)
    driven = {model.joint_names[0]: lambda t: speed * t}
    q, v = np.zeros(3), np.array([speed, speed, 0.0])
    run = mz.simulate(model, q, v, 4.0, 2e-4, prescribed=driven, record_every=5)
    x, middle, w = run.q[:, 1], mu * m * G / k, math.sqrt(k / m)
    rides = run.t < 0.95 * middle / speed
    np.testing.assert_allclose(x[rides], speed * run.t[rides], atol=1e-9)
    later = x[run.t > middle / speed + 0.1]
    np.testing.assert_allclose(later.max(), middle + speed / w, rtol=2e-3)
    np.testing.assert_allclose(later.min(), middle - speed / w, rtol=2e-3)
    np.testing.assert_allclose(run.v[:, 1].max(), speed, rtol=1e-3)


@pytest.mark.parametrize("cut", [False, True])
def test_infinitely_many_impacts_end(cut):
    """A ball rests from √(2H/g) (1 + e)/(1 − e) on, to the order of the method, and for good."""
    e, height, h = 0.5, 0.5, 1e-3
    model = ball(restitution=e)
    q = model.neutral()
    q[2] = 0.1 + height
    run = mz.simulate(model, q, np.zeros(6), 2.0, h, cut=cut)
    end = math.sqrt(2 * height / G) * (1 + e) / (1 - e)
    moving = run.t[abs(run.v[:, 5]) > 1e-9].max()
    assert abs(moving - end) < 0.03
    rest = run.q[run.t > end + 0.05]
    assert (abs(rest - rest[0]) < 1e-12).all() and abs(rest[0, 2] - 0.1) < 1e-6


def test_a_jammed_rod_stops_in_no_time():
    """Painlevé's rod, pushed along with μ > 4/3 at an angle where sliding has no solution: its foot
    stops at once, by an impact without a collision (Génot and Brogliato, 1999).
    """
    builder = mz.Builder("rod", gravity=(0, 0, -10.0))
    rod = mz.Inertia(1.0, (0, 0, 0), np.diag([1 / 12, 1 / 12, 1e-4]))
    builder.add("rod", None, mz.Free(), rod)
    builder.shape("rod", mz.Sphere(1e-9), SE3.translation(0, 0, -0.5), name="foot")
    model = builder.build().with_ground(friction=1.8)
    angle = -(math.pi / 2 - 0.95)
    stopped = []
    for side in (1.0, -1.0):
        q = model.neutral()
        q[2], q[3:] = 0.5 * math.cos(angle), turned(side * angle)
        R = mz.pose(model, q, "rod")[:3, :3]
        v = np.r_[0.0, 0.0, 0.0, R.T @ [-1.0, 0.0, 0.0]]
        run = mz.simulate(model, q, v, 1e-4, 1e-4)
        assert run.contact_residual.max() < 1e-9 and np.diff(run.energy())[0] < 1e-12
        stopped.append(run.contact_modes[-1, 0] == 1)
    assert stopped.count(True) == 1  # into its way it jams, the other way it slides
