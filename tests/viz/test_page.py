"""The page of a trajectory: one file that shows the motion."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from viz.browser import executable

import mozzi as mz
from mozzi.model.generate import chain, double_pendulum
from mozzi.viz.drawing.shapes import extent, skeleton
from mozzi.viz.drawing.solids import box, capsule, cone, cylinder, sphere
from mozzi.viz.page import limbs, scene, write_page


@pytest.fixture(scope="module")
def motion() -> mz.Trajectory:
    return mz.simulate(double_pendulum(), [2.0, 1.0], [0.0, 0.0], 2.0, 1e-3, record_every=10)


def test_the_page_is_one_file_without_a_network(tmp_path: Path, motion: mz.Trajectory):
    text = motion.animate(tmp_path / "motion.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|src=|@import|url\(", text)
    data = json.loads(re.search(r'id="scenes">(.*?)</script>', text, re.DOTALL)[1])
    assert data[0]["frames"] == 61 and data[0]["bodies"] == 2
    assert data[0]["step"] == pytest.approx(1 / 30)


def test_names_cannot_break_out_of_the_page(tmp_path: Path):
    model = mz.Builder("</script><script>alert(1)</script>").add(
        "a", None, mz.Revolute("y"), mz.Inertia(1.0, (0, 0, -1), np.eye(3))
    )
    motion = mz.simulate(model.build(), [1.0], [0.0], 0.1, 1e-2)
    text = motion.animate(tmp_path / "motion.html").read_text(encoding="utf-8")
    assert "<script>alert" not in text


def test_a_scene_shows_several_samples():
    batch = mz.simulate(double_pendulum(), [[2.0, 1.0], [2.1, 1.0]], [0.0, 0.0], 0.5, 1e-2)
    shown = scene(batch, samples=[0, 1])
    assert shown["bodies"] == 4
    assert {body for part in shown["parts"] for body in part["bodies"]} == {0, 1, 2, 3}
    assert len({tuple(color) for part in shown["parts"] for color in part["colors"]}) == 2


@pytest.mark.parametrize(
    "made",
    [box((1, 2, 3)), sphere(0.5), capsule((0, 0, 0), (1, 2, 3), 0.2),
     cylinder((0, 0, 1), (2, 0, 0), 0.3), cone((0, 0, 0), (0, 1, 0), 0.2)],
    ids=["box", "sphere", "capsule", "cylinder", "cone"],
)  # fmt: skip
def test_surfaces_are_closed_and_face_outwards(made):
    """The volume under all faces, by the divergence theorem, is that of the solid."""
    points, faces = made
    a, b, c = (points[faces[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
    assert volume > 0.0
    assert np.allclose(np.cross(b - a, c - a).sum(axis=0), 0.0, atol=1e-9)  # closed


def test_a_skeleton_has_a_part_for_every_body():
    model = chain(5, seed=2)
    parts = skeleton(model)
    assert {part.body for part in parts} == set(range(5))
    assert extent(model) > 0.0
    lines, tip = limbs(model, mz.forward_kinematics(model, model.neutral())[None])
    assert lines.shape[0] == 1 and tip.shape == (1, 3)


def test_a_browser_without_webgl_is_told(tmp_path: Path, motion: mz.Trajectory):
    """And stays told while the motion plays."""
    if (chromium := executable()) is None:
        pytest.skip("no Chromium here")
    path = tmp_path / "motion.html"
    motion.animate(path)
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-3d-apis")
    command = [chromium, *flags, f"--user-data-dir={tmp_path / 'user'}", "--dump-dom"]
    shown = subprocess.run(
        [*command, "--virtual-time-budget=2000", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "<output>this browser has no WebGL</output>" in shown.stdout


def test_chromium_shows_the_motion(browser, tmp_path: Path, motion: mz.Trajectory):
    """It loads, draws, its slider moves the mechanism, and the console stays empty."""
    path = write_page(tmp_path / "motion.html", [scene(motion)], "motion")
    browser.open(path.as_uri())
    x, y, width, height = browser.run(
        "(() => { const r = document.querySelector('canvas').getBoundingClientRect();"
        " return [r.x, r.y, r.width, r.height]; })()"
    )
    before = browser.picture((x, y, width, height))
    background = before[2, 2]
    assert (np.abs(before - background).max(axis=-1) > 40).sum() > 500  # something is drawn
    browser.run(
        "(() => { const s = document.querySelector('.time'); s.value = 40;"
        " s.dispatchEvent(new Event('input')); })()"
    )
    assert browser.run("document.querySelector('output').textContent").startswith("t = 1.33 s")
    after = browser.picture((x, y, width, height))
    assert (np.abs(after - before).max(axis=-1) > 40).sum() > 500  # it moved
