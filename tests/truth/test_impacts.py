"""Impacts and friction, more of it: published problems with closed answers.

A ball with spin: Garwin, 1969. Rocking block: Housner, 1963. Newton's cradle as pairs that follow
each other. The dry-friction oscillator: Den Hartog. A ladder that leaves its wall: any textbook.
"""

import math

import numpy as np
import pytest
from support.contact_models import ball, box_inertia

import mozzi as mz
from mozzi.lie import SE3
from mozzi.simulation import RigidStops

G = 9.81


@pytest.mark.parametrize(("mu", "spin"), [(0.05, 0.0), (0.05, 60.0), (2.0, 30.0), (2.0, -80.0)])
def test_a_ball_that_bounces_with_spin(mu, spin):
    """The normal speed is −e times what it was; across, the ball grips (the contact point stops) or
    slides (Δv = μ (1 + e) v_n), as Coulomb's law has it, and keeps its moment about the point.
    """
    e, r, vx, vz = 0.7, 0.1, 1.5, -2.0
    model = ball(friction=mu, restitution=e)
    q = model.neutral()
    q[2] = r
    w, u = (lambda v: (v[1], v[3:]))(mz.impact(model, q, [0, spin, 0, vx, 0, vz]))
    np.testing.assert_allclose(u[2], -e * vz, rtol=1e-12)
    np.testing.assert_allclose(0.4 * r * w + u[0], 0.4 * r * spin + vx, rtol=1e-12)
    slip = vx - r * spin
    if abs(slip) * 2 / 7 <= mu * (1 + e) * -vz:
        np.testing.assert_allclose(u[0] - r * w, 0.0, atol=1e-12)
    else:
        np.testing.assert_allclose(u[0] - vx, -math.copysign(mu * (1 + e) * -vz, slip), rtol=1e-12)


def test_a_rocking_block():
    """Housner's block: tilted by θ₀ it falls back after p⁻¹ arcosh(1/(1 − θ₀/α)) and goes on with
    1 − ³⁄₂ sin² α of its speed, without sliding.
    """
    b, h = 0.1, 0.4  # half width and half height
    R, alpha = math.hypot(b, h), math.atan2(b, h)
    builder = mz.Builder("block")
    builder.add("block", None, mz.Planar("y"), box_inertia(1.0, (2 * b, 0.2, 2 * h)))
    for name, x in (("left", -b), ("right", b)):
        builder.shape("block", mz.Sphere(1e-9), SE3.translation(x, 0.0, -h), name=name)
    model = builder.build().with_ground(friction=5.0)
    tilt = 0.05
    for sign in (1.0, -1.0):
        q = model.neutral()
        q[2] = sign * tilt
        lift = -mz.contact_gaps(model, q).min()
        for k in range(2):
            probe = q.copy()
            probe[k] += 1e-3
            rate = (mz.contact_gaps(model, probe).min() + lift) / 1e-3
            if abs(rate) > 0.5:
                q[k] += lift / rate
        run = mz.simulate(model, q, np.zeros(3), 1.0, 2e-5, record_every=5)
        w = abs(run.v[:, 2])
        at = int(np.argmax(w[: len(w) // 2]))
        p = math.sqrt(3 * G / (4 * R))
        peak = p * math.sqrt(2 * (math.cos(alpha - tilt) - math.cos(alpha)))
        np.testing.assert_allclose(w[at], peak, rtol=2e-3)
        np.testing.assert_allclose(w[at + 2 : at + 6].max() / w[at], 1 - 1.5 * math.sin(alpha) ** 2,
                                   rtol=1e-2)  # fmt: skip


@pytest.mark.parametrize("e", [1.0, 0.5])
@pytest.mark.parametrize("stops", [True, False])
def test_a_ball_between_two_walls(e, stops):
    """It comes back with e times its speed, wherever in a step it meets: also where that is the end
    of one, to rounding, as for speeds and distances in round numbers.
    """
    builder = mz.Builder("ball")
    limits = {"lower": (-0.9,), "upper": (0.9,)} if stops else {}
    body = mz.Inertia(1.0, (0, 0, 0), 0.004 * np.eye(3))
    builder.add("ball", None, mz.Prismatic("x"), body, **limits)
    builder.shape("ball", mz.Sphere(0.1), name="ball")
    for x, angle in ((-1.0, 0.5 * math.pi), (1.0, -0.5 * math.pi)):
        wall = SE3.translation(x, 0, 0) @ SE3.exp(mz.Twist.screw((0, 1, 0)), angle)
        builder.shape(None, mz.Plane(), wall, name=f"{x:+}")
    model = builder.build()
    for wall in () if stops else ("-1.0", "+1.0"):
        model = model.with_contact(wall, "ball", wall, restitution=e)
    near = np.array([0.0, 1e-17, 1e-16, 1e-14, 1e-12, 1e-11, 1e-9, -1e-16, -1e-13, -1e-9, 4e-4])
    kinds = {"limits": RigidStops(restitution=e)} if stops else {}
    run = mz.simulate(model, near[:, None], [3.0], 0.6, 1e-3, method="moreau", **kinds)
    np.testing.assert_allclose(run.v[:, -1, 0], -3.0 * e, rtol=3e-6)
    np.testing.assert_allclose(run.q[:, -1, 0], 0.9 - e * (0.9 + near), atol=1e-5)


def test_newtons_cradle():
    """Balls a little apart hand their speed on: with e = 1 the last one leaves with all of it."""
    builder = mz.Builder("cradle", gravity=(0, 0, 0))
    n = 4
    for k in range(n):
        body = mz.Inertia(0.3, (0, 0, 0), 1e-3 * np.eye(3))
        builder.add(f"b{k}", None, mz.Prismatic("x"), body)
        builder.shape(f"b{k}", mz.Sphere(0.05), name=f"s{k}")
    model = builder.build()
    for k in range(1, n):
        model = model.with_contact(f"c{k}", f"s{k - 1}", f"s{k}", 0.0, 1.0)
    q = np.array([-0.3, 0.0, 0.11, 0.22])
    run = mz.simulate(model, q, [1.0, 0, 0, 0], 1.0, 1e-3)
    np.testing.assert_allclose(run.v[-1], [0, 0, 0, 1.0], atol=1e-12)


def test_an_oscillator_with_dry_friction():
    """Every half period it loses 2 μ g/ω² of its amplitude, and stops where the spring is weaker
    than friction: exactly.
    """
    k, m, b = 400.0, 1.0, 4.0
    builder = mz.Builder("mass", gravity=(0, 0, 0))
    builder.add("m", None, mz.Prismatic("x"), mz.Inertia(m, (0, 0, 0), np.eye(3)), friction=b,
                stiffness=k)  # fmt: skip
    model = builder.build()
    run = mz.simulate(model, [0.105], [0.0], 2.0, 2e-5, "moreau", record_every=10)
    x = run.q[:, 0]
    turns = [c for a, c, d in zip(x, x[1:], x[2:], strict=False) if (c - a) * (d - c) < 0]
    step = 2 * b / k
    np.testing.assert_allclose(np.abs(turns[:4]), 0.105 - step * np.arange(1, 5), atol=2e-4)
    np.testing.assert_allclose(abs(x[-1]), 0.105 - 5 * step, atol=2e-4)
    assert (run.v[-100:] == 0.0).all() and len(set(x[-100:])) == 1


def test_a_block_on_a_shaking_plane():
    """It sticks while a ω² ≤ μ g, and slides else with μ g at most."""
    for amplitude, moves in ((0.9, False), (1.1, True)):
        builder = mz.Builder("table")
        builder.add("table", None, mz.Prismatic("x"), mz.Inertia(1.0, (0, 0, 0), np.eye(3)))
        builder.add("block", None, mz.Free(), box_inertia(1.0))
        builder.shape("table", mz.Plane(), name="top")
        builder.shape("block", mz.Box((0.2, 0.3, 0.1)), name="box")
        model = builder.build().with_contact("c", "box", "top", 0.4)
        q = model.neutral()
        q[3] = 0.05
        w = 8.0
        a = amplitude * 0.4 * G / w**2

        def drive(t, a=a, w=w):
            return a * (1.0 - np.cos(w * t))

        driven = {model.joint_names[0]: drive}
        run = mz.simulate(model, q, np.zeros(7), 1.0, 1e-3, prescribed=driven)
        gone = abs((run.q[:, 1] - q[1]) - (run.q[:, 0] - q[0])).max()
        assert (gone > 1e-3) == moves, gone


def test_a_ladder_leaves_its_wall():
    """Without friction it leaves the wall at two thirds of its height."""
    length, start = 2.0, 1.2
    builder = mz.Builder("ladder")
    rod = mz.Inertia(1.0, (0, 0, 0), length**2 / 12 * np.eye(3))
    builder.add("rod", None, mz.Planar("y"), rod)
    for name, z in (("top", 0.5 * length), ("foot", -0.5 * length)):
        builder.shape("rod", mz.Sphere(1e-9), SE3.translation(0.0, 0.0, z), name=name)
    wall = np.eye(4)
    wall[:3, :3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
    builder.shape(None, mz.Plane(), wall, name="wall")
    builder.shape(None, mz.Plane(), name="floor")
    model = builder.build()
    for end, plane in (("top", "wall"), ("foot", "floor")):
        model = model.with_contact(end, end, plane, 0.0)
    q = model.neutral()
    q[2] = -(math.pi / 2 - start)
    for _ in range(4):  # onto wall and floor
        gaps = mz.contact_gaps(model, q)
        moved = [mz.contact_gaps(model, q + d) for d in 1e-6 * np.eye(3)[:2]]
        q[:2] -= np.linalg.solve(((np.array(moved) - gaps) / 1e-6).T, gaps)
    run = mz.simulate(model, q, np.zeros(3), 1.5, 1e-4)
    at = int(np.argmax(run.contact_forces[1:, 0, 0] == 0.0)) + 1  # nothing pushes any more
    height = mz.pose(model, run.q[at], "rod")[2, 3] * 2
    np.testing.assert_allclose(height, 2 / 3 * length * math.sin(start), rtol=1e-2)


def test_a_rod_between_points_that_are_one():
    """Nothing is told of its direction: finite, and assembled to its length."""
    builder = mz.Builder("two")
    for name in ("a", "b"):
        builder.add(name, None, mz.Free(), mz.Inertia(1.0, (0, 0, 0), 0.1 * np.eye(3)))
    model = builder.build().with_distance("rod", "a", "b", (0, 0, 0), (0, 0, 0), 1.0)
    q, still = model.neutral(), np.zeros(12)
    with pytest.warns(mz.OpenLoopWarning):
        assert np.isfinite(mz.forward_dynamics(model, q, still, still)).all()
    q = mz.assemble(model, q)
    assert abs(mz.loop_residual(model, q)).max() < 1e-10
