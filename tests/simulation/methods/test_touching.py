"""Few contacts at high order: dopri5 with events, against answers in closed form."""

import math

import numpy as np
import pytest
from support.cases import first
from support.contact_models import ball, box_inertia, boxes, turned
from truth.test_contact import rimless_wheel

import mozzi as mz
from mozzi.errors import ConfigurationError, ContactWarning, DivergenceWarning
from mozzi.simulation.methods.touching import SLIDES, Touching

G = 9.81
TIGHT = {"rtol": 1e-11, "atol": 1e-13}


@pytest.mark.parametrize(("height", "e"), [(1.0, 0.8), (1.0, 0.0), (0.5, 1.0)])
def test_bouncing_ball(height, e):
    """Times and speeds of all impacts, and rest after infinitely many of them."""
    model = ball(restitution=e)
    q = model.neutral()
    q[2] = 0.1 + height
    run = mz.simulate(model, q, np.zeros(6), 5.0, 0.05, "dopri5", **TIGHT)
    speed = np.array([x.v[5] for x in run.events])
    k = np.arange(1, len(speed) + 1)
    few = min(len(k), 30)
    np.testing.assert_allclose(speed[:few], (e**k * math.sqrt(2 * G * height))[:few], atol=1e-10)
    if 0.0 < e < 1.0:
        rest = math.sqrt(2 * height / G) * (1 + e) / (1 - e)
        assert abs(run.events[-1].t - rest) < 1e-5
        assert abs(run.q[-1, 2] - 0.1) < 1e-10 and abs(run.v[-1]).max() < 1e-10
        np.testing.assert_allclose(run.contact_forces[-1, 0], [0, 0, G], atol=1e-9)
    if e == 1.0:
        np.testing.assert_allclose(run.energy(), run.energy()[0], rtol=1e-12)


@pytest.mark.parametrize("inertia", first(1, [0.01, 1e-5]))
def test_rimless_wheel(inertia):
    """The limit cycle, kept over five impacts, each of which another spoke takes."""
    alpha, slope = math.pi / 8, 0.08
    model, q, v = rimless_wheel(inertia)
    kept = (math.cos(2 * alpha) + inertia) / (1 + inertia)
    gain = 4 * G * math.sin(alpha) * math.sin(slope) / (1 + inertia)
    steady = math.sqrt(kept**2 * gain / (1 - kept**2))
    top = math.sqrt(steady**2 + 2 * G / (1 + inertia) * (math.cos(slope - alpha) - math.cos(slope)))
    run = mz.simulate(model, q, v * top, 5.0, 0.05, "dopri5", **TIGHT)
    after = np.array([x.v[2] for x in run.events])
    assert len(after) >= 5
    np.testing.assert_allclose(after, steady, rtol=2e-9 if inertia > 1e-3 else 5e-9)


@pytest.mark.slow
def test_impacts_that_are_not_solved_are_told():
    """A hub so light that the impulse of a spoke is not found."""
    model, q, v = rimless_wheel(1e-7)
    with pytest.warns(ContactWarning, match=r"'ground:spoke1' are missed by .* at t = 0\.42"):
        mz.simulate(model, q, v * 0.558, 0.45, 0.05, "dopri5", **TIGHT)


def test_events_without_end_are_told(monkeypatch):
    """A ball that is said to slide against its slip, again and again: it ends, and it is told when
    and where, though other events came before.
    """
    model, q = ball(friction=0.3), np.zeros(7)
    q[2], q[6] = 0.1, 1.0
    true = Touching._modes

    def modes(self, q, v, t, forces, near):
        found = true(self, q, v, t, forces, near)
        turned = found[:, :1] == SLIDES
        return np.where(turned & (t > 0.05), found * [1.0, -1.0, -1.0], found)

    monkeypatch.setattr(Touching, "_modes", modes)
    q[2] += 0.02
    with pytest.warns(DivergenceWarning, match=r"at contact 'c' after t = 0\.06\d* s"):
        run = mz.simulate(model, q, [0, 0, 0, 3.0, 0, 0], 1.0, 0.1, "dopri5", **TIGHT)
    assert abs(run.diverged[()] - math.sqrt(2 * 0.02 / G)) < 1e-9
    assert len(run.events) < 200


@pytest.mark.parametrize(("v0", "w0", "mu"), [(3.0, 0.0, 0.3), (1.0, -40.0, 0.2)])
def test_slip_to_roll(v0, w0, mu):
    """The slip ends at 2 (v₀ − r ω₀)/7 μ g, and what rolls then goes on."""
    model, r = ball(friction=mu), 0.1
    q = model.neutral()
    q[2] = r
    run = mz.simulate(model, q, [0, w0, 0, v0, 0, 0], 3.0, 0.1, "dopri5", **TIGHT)
    assert len(run.events) == 1
    assert abs(run.events[0].t - 2 * (v0 - r * w0) / (7 * mu * G)) < 1e-10
    V = mz.twists(model, run.q, run.v, "mixed")[:, 0]
    np.testing.assert_allclose(V[-1, 3], 5 / 7 * v0 + 2 / 7 * r * w0, rtol=1e-10)
    assert (run.contact_modes[run.t < run.events[0].t] == 2).all() and run.contact_modes[-1] == 1


def test_sliding_block():
    """Four corners that slide, stop and rest: twelve rows of rank six."""
    model, q = boxes(friction=0.5)
    run = mz.simulate(model, q, [0, 0, 0, 2.0, 0, 0], 1.0, 0.1, "dopri5", **TIGHT)
    np.testing.assert_allclose(run.q[-1, 0], 2.0**2 / (2 * 0.5 * G), rtol=1e-9)
    assert abs(run.v[-1]).max() < 1e-9
    np.testing.assert_allclose(run.contact_forces[-1].sum(0), [0, 0, G], atol=1e-8)


def test_block_on_an_incline():
    """It sticks where μ ≥ tan θ, and slides from rest elsewhere."""
    model, q = boxes(slope=math.atan(0.5), friction=0.5000001)
    run = mz.simulate(model, q, np.zeros(6), 1.0, 0.5, "dopri5")
    assert abs(run.q[-1] - q).max() < 1e-11
    model, q = boxes(slope=0.5, friction=0.3)
    run = mz.simulate(model, q, np.zeros(6), 1.0, 0.5, "dopri5")
    a = G * (math.sin(0.5) - 0.3 * math.cos(0.5))
    np.testing.assert_allclose(run.v[-1, 3], a, rtol=1e-9)


def test_samples_do_not_see_each_other():
    """A batch gives what its samples give, and users' events are found beside contacts."""
    model = ball(restitution=0.7)
    q = np.tile(model.neutral(), (2, 1))
    q[:, 2] = 0.6, 0.9
    apex = lambda t, q, v: v[..., 5]
    run = mz.simulate(model, q, np.zeros((2, 6)), 1.5, 0.1, "dopri5", events=[apex])
    for k in range(2):
        one = mz.simulate(model, q[k], np.zeros(6), 1.5, 0.1, "dopri5")
        np.testing.assert_allclose(run.q[k], one.q, atol=1e-9)
        tops = [x.q[2] - 0.1 for x in run.events if x.sample == (k,) and x.number == 0]
        tops = [z for z in tops if z > 1e-3][:2]
        np.testing.assert_allclose(tops, (q[k, 2] - 0.1) * 0.7 ** np.array([2.0, 4.0]), rtol=1e-8)


def test_compliant_contacts_are_refused():
    model = ball().without_contact("c")
    model = model.with_contact("soft", "sphere", "plane", stiffness=1e4)
    with pytest.raises(ConfigurationError, match="compliant"):
        mz.simulate(model, model.neutral(), np.zeros(6), 0.1, 0.1, "dopri5")


def test_parameters_vary():
    """Masses of two balls that meet, from sample to sample: momentum is kept and the relative speed
    is −e times what it was.
    """
    e, masses = 0.7, np.array([1.0, 3.0, 0.2])
    builder = mz.Builder("balls", gravity=(0, 0, 0))
    for name in "ab":
        body = mz.Inertia(1.0, (0, 0, 0), 0.004 * np.eye(3))
        builder.add(name, None, mz.Prismatic("x"), body)
        builder.shape(name, mz.Sphere(0.1), name=f"sphere_{name}")
    model = builder.build().with_contact("c", "sphere_a", "sphere_b", 0.0, e)
    run = mz.simulate(
        model, [0.0, 0.5], [1.0, 0.0], 1.0, 0.1, "dopri5", parameters={"a.mass": masses}, **TIGHT
    )
    w = run.v[:, -1]
    np.testing.assert_allclose(masses * w[:, 0] + w[:, 1], masses, atol=1e-12)
    np.testing.assert_allclose(w[:, 1] - w[:, 0], e, atol=1e-12)


def table_and_ball(e):
    """A table that moves up and down, and a ball on it."""
    builder = mz.Builder("table")
    for name in ("table", "ball"):
        body = mz.Inertia(1.0, (0, 0, 0), np.eye(3))
        builder.add(name, None, mz.Prismatic("z"), body)
    builder.shape("table", mz.Plane(), name="top")
    builder.shape("ball", mz.Sphere(0.01), name="ball")
    return builder.build().with_contact("c", "ball", "top", 0.0, e)


def test_a_driven_table():
    """A ball on a table that moves with A sin ω t bounces once a period (Holmes, 1982)."""
    e, w = 0.6, 2 * math.pi * 4.0
    A = 1.2 * math.pi * G * (1 - e) / (1 + e) / w**2
    phase, T = math.acos(1 / 1.2), 2 * math.pi / w
    model = table_and_ball(e)
    q = A * math.sin(phase) + np.array([0.0, 0.01])
    v = A * w * math.cos(phase) + np.array([0.0, e * G * T / (1 + e)])
    driven = {model.joint_names[0]: lambda t: A * np.sin(w * t + phase)}
    run = mz.simulate(model, q, v, 4.5 * T, 0.01, "dopri5", prescribed=driven, **TIGHT)
    times = [x.t for x in run.events if x.t > 0.1 * T]
    np.testing.assert_allclose(times, T * np.arange(1, 5), atol=1e-7)
    np.testing.assert_allclose(run.q[:, 0], A * np.sin(w * run.t + phase), atol=1e-10)


def test_a_table_falls_away():
    """A ball leaves it where its acceleration passes −g, and rides until then."""
    model, A, w = table_and_ball(0.0), 0.1, 12.0
    driven = {model.joint_names[0]: lambda t: A * np.sin(w * t)}
    start = [0.0, 0.01], [A * w, A * w]
    run = mz.simulate(model, *start, 0.2, 0.01, "dopri5", prescribed=driven, **TIGHT)
    leaves = math.asin(G / (A * w**2)) / w
    assert abs(run.events[0].t - leaves) < 1e-8
    assert (run.contact_modes[:, 0] == (run.t < leaves)).all()
    up = A * math.sin(w * leaves) + A * w * math.cos(w * leaves) * (run.t - leaves)
    free = 0.01 + up - G / 2 * (run.t - leaves) ** 2
    flies = run.t > leaves
    np.testing.assert_allclose(run.q[flies, 1], free[flies], atol=1e-9)


@pytest.mark.parametrize("shape", ["box", "cylinder"])
def test_tumbling_bodies(shape):
    """What is thrown on a rough ground lands on corners, edges and faces, sticks and slides: what
    is closed touches, whatever face looks down, energy falls, and the motion is that of moreau.
    """
    geometry = {"box": mz.Box((0.2, 0.3, 0.1)), "cylinder": mz.Cylinder(0.1, 0.2)}[shape]
    builder = mz.Builder("thrown").add("body", None, mz.Free(), box_inertia(1.0))
    model = builder.shape("body", geometry, name="skin").build().with_ground(friction=0.4)
    rng = np.random.default_rng(5)
    q = model.random_configuration(rng, (24,))
    q[:, :3] = 0.0, 0.0, 0.25
    v = rng.normal(size=(24, 6))
    run = mz.simulate(model, q, v, 0.35, 0.01, "dopri5", rtol=1e-9, atol=1e-11)
    assert not run.diverged
    assert abs(run.contact_gaps[run.contact_modes > 0]).max() < 1e-7
    assert np.diff(run.energy(), axis=-1).max() < 1e-8
    other = mz.simulate(model, q, v, 0.35, 5e-4, record_every=20)
    apart = np.sort(abs(run.q - other.q)[..., :3].max((1, 2)))
    assert apart[16] < 1e-3 and apart[-1] < 0.02  # impacts in a row are of first order


def test_a_slip_that_begins():
    """A rod whose tip sticks until it leans too far: then it slides at once, from no speed."""
    builder = mz.Builder("rod").add("rod", None, mz.Planar("y"), box_inertia(1.0, (0.02, 0.02, 1)))
    builder.shape("rod", mz.Sphere(1e-3), mz.SE3.translation(0, 0, -0.5), name="tip")
    model = builder.build().with_ground(["tip"], friction=0.3)
    joint = model.body(0).joint
    up = joint.frame_child.R.unrotate(mz.lie.Vec3(0.0, 0.0, 0.501))
    run = mz.simulate(model, [up.x, up.y, 0.0], [0.0, 0.0, 0.1], 1.2, 0.01, "dopri5", **TIGHT)
    assert len(run.events) < 12


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("method", ["moreau", "dopri5"])
def test_a_rod_lies_across_a_block(method, order):
    """Both of its ends stand out: edges of the block carry it by the law of the lever."""
    builder = mz.Builder("rod").add("rod", None, mz.Free(), box_inertia(1.0, (0.1, 0.1, 0.8)))
    builder.shape("rod", mz.Capsule(0.05, 0.8), name="rod")
    builder.shape(None, mz.Box((0.2, 0.2, 0.2)), name="block")
    model = builder.build().with_contact("c", *("rod", "block")[::order], friction=0.6)
    q = np.array([0.03, 0.0, 0.17, *turned(math.pi / 2)])  # along x, two centimetres above
    run = mz.simulate(model, q, np.zeros(6), 0.5, 2e-3, method)
    np.testing.assert_allclose(run.q[-1], [0.03, 0.0, 0.15, *q[3:]], atol=1e-9)
    left, right = order * run.contact_forces[-1, :, 2]
    np.testing.assert_allclose([left, right], [0.35 * G, 0.65 * G], rtol=1e-6)


def test_what_is_nearest_may_jump():
    """Rods that tumble over a block change the points that they meet it with; energy falls."""
    builder = mz.Builder("rod").add("rod", None, mz.Free(), box_inertia(1.0, (0.1, 0.1, 0.8)))
    builder.shape("rod", mz.Capsule(0.05, 0.8), name="rod")
    builder.shape(None, mz.Box((0.2, 0.2, 0.2)), name="block")
    model = builder.build().with_contact("c", "rod", "block", friction=0.6)
    rng = np.random.default_rng(0)
    q = model.random_configuration(rng, (32,))
    q[:, :3] = 0.1 * rng.normal(size=(32, 3)) * [1, 1, 0] + [0, 0, 0.6]
    v = rng.normal(size=(32, 6))
    run = mz.simulate(model, q, v, 0.5, 0.05, "dopri5", rtol=1e-9, atol=1e-11)
    assert not run.diverged and np.diff(run.energy(), axis=-1).max() < 1e-7
    assert abs(run.contact_gaps[run.contact_modes > 0]).max() < 1e-6
    other = mz.simulate(model, q, v, 0.5, 5e-4, record_every=100)
    assert abs(run.q - other.q)[..., :3].max() < 0.01
