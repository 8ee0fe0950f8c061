"""The viewer: a page with sliders, through viser."""

import math
from contextlib import nullcontext

import numpy as np
import pytest
from viz.browser import wait

import mozzi as mz
from mozzi.model.generate import chain, double_pendulum, four_bar
from mozzi.viz.drawing.marks import marks, screw_axes
from mozzi.viz.viewer import HALF, Viewer, from_sliders, quaternion, ranges

pytest.importorskip("viser", reason="the extra viz is not installed")


def mixed() -> mz.Model:
    body = mz.Inertia(1.0, (0.1, 0.0, -0.3), np.eye(3) * 0.02)
    below = mz.SE3.translation(0.0, 0.0, -0.5)
    return (
        mz.Builder("mixed")
        .add("a", None, mz.Free(), body)
        .add("b", "a", mz.Screw("x", pitch=0.2).between(below), body)
        .add("c", "b", mz.Prismatic("y").between(below), body, limits=(-0.1, 0.3))
        .add("d", "c", mz.Spherical().between(below), body)
        .build()
    )


def test_every_degree_of_freedom_has_a_slider():
    model = mixed()
    labels = [label for label, _, _ in ranges(model)]
    assert len(labels) == model.nv and len(set(labels)) == model.nv
    assert labels[:6] == [f"a {x}" for x in ("turn x", "turn y", "turn z", "x", "y", "z")]
    assert (-0.1, 0.3) in [(low, high) for _, low, high in ranges(model)]
    q = from_sliders(model, np.linspace(-0.3, 0.3, model.nv))
    model.check_configuration(q)


def test_screw_axes_have_the_pitch_of_the_joints():
    """z of a screw's frame is its axis, in the inertial frame; the pitch is that of its twist."""
    model = mixed()
    q = model.random_configuration(3)
    axes = screw_axes(model, q)
    assert [pitch for _, pitch in axes][6:8] == [pytest.approx(0.2), math.inf]
    J = mz.jacobian(model, q, "d", "spatial")
    for column, (T, pitch) in zip(J.T, axes, strict=True):
        z, p = T[:3, 2], T[:3, 3]
        twist = np.r_[0 * z, z] if math.isinf(pitch) else np.r_[z, np.cross(p, z) + pitch * z]
        assert np.allclose(column, twist, atol=1e-12)


def test_quaternions_are_those_of_the_rotations():
    rng = np.random.default_rng(0)
    for _ in range(20):
        T = np.array(mz.SE3.exp(mz.Twist.unflatten(rng.normal(size=6).tolist())).matrix(), float)
        w, x, y, z = quaternion(T[:3, :3])
        R = np.array(mz.Rotation.from_quaternion(mz_quaternion(x, y, z, w)).array(), dtype=float)
        assert np.allclose(R, T[:3, :3], atol=1e-12)


def mz_quaternion(x: float, y: float, z: float, w: float):
    from mozzi.lie.quaternion import Quaternion

    return Quaternion(x, y, z, w)


def test_a_trajectory_is_replayed():
    model = double_pendulum()
    motion = mz.simulate(model, [1.0, 0.0], [0.0, 0.0], 0.5, 1e-2)
    with Viewer(model, trajectory=motion, port=8391) as viewer:
        viewer.clock.value = 0.3
        viewer._seek()
        assert np.array_equal(viewer.q, motion.q[30])
        viewer.playing.value = True
        wait(lambda: not np.array_equal(viewer.q, motion.q[30]))


def test_sliders_follow_a_replay():
    """Also where the motion leaves what sliders reach by themselves: a base that falls 5 m."""
    model = mixed()
    motion = mz.simulate(model, model.neutral(), np.zeros(model.nv), 1.0, 0.01)
    with Viewer(model, trajectory=motion, port=8137) as viewer:
        for time in (1.0, 0.4):
            viewer.clock.value = time
            k = round(time / 0.01)
            wait(lambda k=k: np.allclose(viewer.q, motion.q[k]))
            shown = [slider.value for slider in viewer.sliders]
            assert np.allclose(from_sliders(model, shown), motion.q[k], atol=1e-9)
        assert viewer.sliders[5].min < motion.q[-1, 2] < -4.0


def test_chromium_shows_the_robot_and_a_slider_moves_it(browser):
    """The page loads, shows the robot, a slider moves it, and the console stays without errors."""
    model = chain(4, seed=1)
    with Viewer(model, port=8392) as viewer:
        browser.open(viewer.url)
        wait(lambda: browser.run("document.querySelectorAll('[role=slider]').length") >= model.nv)
        scene = (0.0, 160.0, 640.0, 540.0)  # beside the controls and below the notices
        shown = steady(browser, scene)
        for handle in viewer.bodies:
            handle.visible = False
        hidden = changed(browser, scene, shown)
        for handle in viewer.bodies:
            handle.visible = True
        again = changed(browser, scene, hidden)
        browser.run("document.querySelectorAll('[role=slider]')[1].focus()")
        browser.press("ArrowRight", 200)
        wait(lambda: abs(viewer.q[1]) > 0.3)
        changed(browser, scene, again)
        assert viewer.sliders[1].value == pytest.approx(viewer.q[1])
        before = steady(browser, scene)
        for label in ("body frames", "joint screws", "centre of mass"):
            find = f"[...document.querySelectorAll('label')].find(x => x.textContent == '{label}')"
            assert label not in viewer.drawn
            browser.run(f"{find}.click()")
            wait(lambda label=label: label in viewer.drawn)
        changed(browser, scene, before)


def steady(browser, clip):
    """A picture that no longer changes."""
    last = browser.picture(clip)

    def same():
        nonlocal last
        now = browser.picture(clip)
        still = np.abs(now - last).max() < 8 and now.std() > 1.0
        last = now
        return still

    wait(same, 60.0)
    return last


def changed(browser, clip, before):
    """A steady picture that differs from the one before."""
    wait(lambda: (np.abs(browser.picture(clip) - before).max(axis=-1) > 30).sum() > 150, 30.0)
    return steady(browser, clip)


def test_forces_of_contacts_are_arrows_where_they_act():
    """From where the box touches, along the forces, the longest with its size; none where a slider
    has moved the box away from the motion.
    """
    from support.contact_models import boxes

    model, q = boxes()
    motion = mz.simulate(model, q, np.zeros(6), 0.02, 2e-3)
    with Viewer(model, trajectory=motion, port=8396) as viewer:
        viewer.shown.add("contact forces")
        viewer.clock.value = 0.01
        viewer._seek()
        (lines, _) = viewer.drawn["contact forces"]
        arrows = np.asarray(lines.points, dtype=float)
        k = int(np.searchsorted(motion.t, 0.01))
        assert np.allclose(sorted(arrows[:, 0].tolist()),
                           sorted(mz.contact_frames(model, q)[:, :3, 3].tolist()), atol=1e-6)
        along = arrows[:, 1] - arrows[:, 0]
        force = motion.contact_forces[k]
        assert force[:, 2].min() > 0.0  # on the box, which moves
        scale = np.linalg.norm(along) / np.linalg.norm(force)
        assert np.allclose(along, scale * force, atol=1e-6)
        viewer.sliders[5].value = 0.5
        viewer._moved(5)
        assert viewer.drawn["contact forces"] == []


def test_a_slider_moves_a_closed_mechanism_along_its_loops():
    """The joint that is moved goes where it is put, the others follow, and loops stay closed."""
    model = four_bar()
    with Viewer(model, port=8394) as viewer:
        for angle in (0.2, 0.4, 0.7):
            target = viewer.start[0] + angle
            viewer.sliders[0].value = target
            viewer._moved(0)
            assert viewer.q[0] == pytest.approx(viewer.sliders[0].value, abs=1e-9)
            assert np.abs(mz.loop_residual(model, viewer.q)).max() < 1e-9
            assert [s.value for s in viewer.sliders] == pytest.approx(viewer.q, abs=1e-2)
        viewer.reset()
        assert np.allclose(viewer.q, viewer.start)


def test_chromium_moves_the_time_line(browser):
    """The time slider takes the robot to the record of its time, and play goes on from there."""
    model = double_pendulum()
    motion = mz.simulate(model, [1.0, 0.0], [0.0, 0.0], 1.0, 1e-2)
    with Viewer(model, trajectory=motion, port=8395) as viewer:
        browser.open(viewer.url)
        count = model.nv + 2  # joints, time, speed
        wait(lambda: browser.run("document.querySelectorAll('[role=slider]').length") >= count)
        scene = (0.0, 160.0, 640.0, 540.0)
        before = steady(browser, scene)
        browser.run("document.querySelectorAll('[role=slider]')[0].focus()")  # the replay is first
        browser.press("ArrowRight", 400)
        wait(lambda: viewer.clock.value > 0.1)
        changed(browser, scene, before)
        k = int(np.searchsorted(motion.t, viewer.clock.value))
        assert np.array_equal(viewer.q, motion.q[k])
        find = "[...document.querySelectorAll('label')].find(x => x.textContent == 'play')"
        browser.run(f"{find}.click()")
        wait(lambda: viewer.playing.value and not np.array_equal(viewer.q, motion.q[k]))


def test_twist_axes_are_marks_of_what_moves():
    """Next to every body, on the line that its twist has; none where nothing moves."""
    model = four_bar()
    q = mz.assemble(model, model.neutral() + 0.2)
    v = mz.consistent_velocities(model, q, np.ones(model.nv))
    assert "twist axes" not in {mark.name for mark in marks(model, q[None], v=0.0 * v[None])}
    mark = next(m for m in marks(model, q[None], v=v[None]) if m.name == "twist axes")
    assert len(mark.labels) == model.nb and "m/rad" in mark.labels[0]
    for k, (a, b) in enumerate(mark.segments[0]):
        e, p, _, _ = mz.twist_axis(model, q, v, model.bodies[k])
        for x in (a, b):
            assert np.abs(np.cross(e, x - p)).max() < 1e-9


class Phone:
    """What a viewer asks of a client: the camera of a window, higher than wide."""

    class camera:
        image_width, image_height = 390, 844
        position = look_at = np.zeros(3)

    atomic = staticmethod(nullcontext)


def test_on_a_phone_all_is_above_the_panel():
    """The ball around the robot is within the width of the window, and its middle in the upper
    half, where no panel lies.
    """
    with Viewer(four_bar(), port=0) as viewer:
        viewer._fit(Phone)
        ahead = Phone.camera.look_at - Phone.camera.position
        distance = np.linalg.norm(ahead)
        ahead = ahead / distance
        side = np.cross(ahead, [0.0, 0.0, 1.0])
        side, up = side / np.linalg.norm(side), np.cross(side / np.linalg.norm(side), ahead)
        middle = viewer.middle - Phone.camera.position
        depth, half = middle @ ahead, math.tan(HALF)
        assert abs(middle @ side) < 1e-9 * distance
        assert viewer.size / depth < 1.1 * half * 390 / 844  # the width holds it
        assert 0.3 < middle @ up / depth / half < 0.7
