"""What a person sees: every body of a robot is in the picture where its pose puts it, all of it is
in the picture, and what cannot be shown is named.
"""

import math
import sysconfig
import warnings
from pathlib import Path

import numpy as np
import pytest

import mozzi as mz
from mozzi.viz.drawing.shapes import drawing
from mozzi.viz.page import scene, write_page

ZOO = Path(sysconfig.get_paths()["purelib"], "cmeel.prefix/share/example-robot-data/robots")

MJCF = """<mujoco model="walker"><compiler angle="radian"/><worldbody>
<body name="trunk" pos="0 0 1"><freejoint/><geom type="box" size=".2 .1 .05" rgba="1 .5 0 1"/>
 <body name="thigh" pos=".15 .1 0"><joint axis="0 1 0.3"/><geom type="capsule" size=".03"
  fromto="0 0 0 0.1 0 -.3"/>
  <body name="shank" pos=".1 0 -.3"><joint axis="0 1 0"/><geom type="cylinder" size=".02 .15"
   pos="0 0 -.15"/><geom type="sphere" size=".04" pos="0 0 -.3"/></body></body></body>
</worldbody></mujoco>"""
SDF = """<sdf version="1.7"><model name="crane"><pose>0.1 0.2 0.3 0 0 0.4</pose><link name="mast">
<inertial><mass>2</mass></inertial><visual name="v"><pose>0 0 0.5 0 0 0</pose><geometry><box><size>
.1 .1 1</size></box></geometry></visual></link><link name="jib"><pose>0 0 1 0 0.5 0</pose>
<visual name="v"><pose>0.4 0 0 0 0 0</pose><geometry><box><size>.8 .05 .05</size></box></geometry>
<material><diffuse>0 0.4 0.8 1</diffuse></material></visual></link>
<joint name="j0" type="fixed"><parent>world</parent><child>mast</child></joint>
<joint name="turn" type="revolute"><parent>mast</parent><child>jib</child><axis><xyz>0 0 1</xyz>
</axis></joint></model></sdf>"""


def four_bar() -> mz.Model:
    """A linkage from shapes that nobody wrote into a file."""
    body = mz.Inertia(1.0, (0.0, 0.0, 0.2), np.eye(3) * 0.02)
    up = mz.SE3.translation(0.0, 0.0, 0.4)
    builder = mz.Builder("four-bar")
    for name, parent, where in (
        ("crank", None, None), ("rod", "crank", up), ("rocker", None, (0.5, 0.0, 0.0)),
    ):  # fmt: skip
        builder.add(name, parent, mz.Revolute("y"), body, placement=where)
        builder.shape(name, mz.Capsule(0.03, 0.4), (0.0, 0.0, 0.2), color=(0.2, 0.5, 0.8))
    builder.loop("pin", "rod", "rocker", mz.Revolute("y"), (0.0, 0.0, 0.5), (0.0, 0.0, 0.4))
    return builder.build()


def robot(name: str, folder: Path) -> mz.Model:
    texts = {"walker": ("walker.xml", MJCF), "crane": ("crane.sdf", SDF)}
    if name == "four-bar":
        return four_bar()
    if name in texts:
        path = folder / texts[name][0]
        path.write_text(texts[name][1], encoding="utf-8")
        return mz.load(path)
    if not (ZOO / name).exists():
        pytest.skip("example-robot-data is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mz.load(ZOO / name, base="free" if "solo" in name else "fixed")


def seen(points: np.ndarray, data: dict, width: float, height: float) -> np.ndarray:
    """Where a pinhole camera puts points: written down a second time, from the numbers of the
    scene alone.
    """
    az, el, half = data["azimuth"], data["elevation"], 0.36
    back = np.array([math.cos(el) * math.cos(az), math.cos(el) * math.sin(az), math.sin(el)])
    right = np.array([-math.sin(az), math.cos(az), 0.0])
    eye = np.array(data["center"]) + back * data["radius"] / math.sin(half)
    axes = np.stack([right, np.cross(back, right), back], axis=1)
    x, y, z = ((points - eye) @ axes).T
    scale = 0.5 * min(width, height) / math.tan(half)
    return np.stack([width / 2 - scale * x / z, height / 2 + scale * y / z], axis=1)


FAST = ["walker", "four-bar", "panda_description/urdf/panda.urdf"]
SLOW = ["crane", "solo_description/robots/solo12.urdf", "ur_description/urdf/ur5_robot.urdf",
        "talos_data/robots/talos_reduced.urdf", "anymal_b_simple_description/robots/anymal.urdf",
        "tiago_description/robots/tiago.urdf"]  # fmt: skip


@pytest.mark.parametrize(
    "name", [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)
def test_every_body_is_where_its_pose_puts_it(name, browser, tmp_path):
    """The silhouette of each body alone: its edges are those of its triangles, moved by its pose
    and projected; and nothing of the robot is outside of the picture.
    """
    model = robot(name, tmp_path)
    q = model.random_configuration(4)
    poses = mz.forward_kinematics(model, q)
    motion = mz.Trajectory(np.zeros(1), q[None], np.zeros((1, model.nv)), model)
    drawn = drawing(model)
    assert drawn.faults == ()
    data = scene(motion, drawn=drawn)
    browser.open(write_page(tmp_path / "page.html", [data]).as_uri())
    clip = browser.run(
        "(() => { const r = document.querySelector('canvas').getBoundingClientRect();"
        " return [r.x, r.y, r.width, r.height]; })()"
    )
    bodies = sorted({part.body for part in drawn.parts})
    assert len(bodies) > 1
    for body in bodies[:: 1 + len(bodies) // 12]:
        browser.run(f"scenes[0].only = {body}; scenes[0].draw()")
        picture = browser.picture(tuple(clip))
        red = (picture[..., 0] > 200) & (picture[..., 1] < 100)
        points = np.concatenate([part.vertices for part in drawn.parts if part.body == body])
        T = np.eye(4) if body < 0 else poses[body]
        flat = seen(points @ T[:3, :3].T + T[:3, 3], data, clip[2], clip[3])
        assert (flat > 0.0).all() and (flat < np.array(clip[2:])).all()
        rows, columns = np.nonzero(red)
        assert len(rows), f"body {body} is not in the picture"
        found = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        np.testing.assert_allclose(found, [*flat.min(axis=0), *flat.max(axis=0)], atol=2.5)


def test_the_camera_holds_the_whole_motion_and_follows_a_base(browser, tmp_path):
    """A body that falls 20 m: all of it is in the picture; followed, it stays in the middle."""
    model = robot("walker", tmp_path)
    q0 = model.neutral()
    q0[2] = 30.0
    motion = mz.simulate(model, q0, np.zeros(model.nv), 2.0, 1e-2)
    browser.open(motion.animate(tmp_path / "fall.html").as_uri())
    browser.run("scenes[0].stop()")
    assert browser.run("scenes[0].follow") is True  # it travels far
    size = browser.run("[scenes[0].canvas.clientWidth, scenes[0].canvas.clientHeight]")
    for frame in (0, 30, 60):
        place = browser.run(
            f"(() => {{ const s = scenes[0]; s.show({frame}); const at = 12 * {frame} *"
            " s.data.bodies; return s.project([s.poses[at + 3], s.poses[at + 7],"
            " s.poses[at + 11]]); })()"
        )
        assert np.abs(np.array(place[:2]) - np.array(size) / 2).max() < 0.35 * size[1]
        wide = browser.run(
            "(() => { const s = scenes[0]; s.follow = false; const at = 12 * s.frame *"
            " s.data.bodies; const p = s.project([s.poses[at + 3], s.poses[at + 7],"
            " s.poses[at + 11]]); s.follow = true; return p; })()"
        )
        assert 0 < wide[1] < size[1]


def test_switches_draw_their_marks(browser, tmp_path):
    """Frames, screws with their pitch, centre of mass, loops and springs come and go."""
    model = four_bar().with_spring("spring", "crank", None, (0, 0, 0.4), (0.3, 0.2, 0.6), 10.0)
    q = mz.assemble(model, model.neutral() + 0.2)
    motion = mz.Trajectory(np.zeros(1), q[None], np.zeros((1, model.nv)), model)
    path = motion.animate(tmp_path / "page.html", wrenches=np.ones((3, 6)))
    browser.open(path.as_uri())
    names = browser.run("[...document.querySelectorAll('.switches input')].map(x => x.name)")
    assert names == ["floor", "axes", "body frames", "joint screws", "centre of mass", "loops",
                     "springs", "forces"]  # fmt: skip
    for name in names:
        before = browser.picture()
        browser.run(f"document.querySelector('.switches input[name=\"{name}\"]').click()")
        assert (np.abs(browser.picture() - before).max(axis=-1) > 30).sum() > 30, name
    words = browser.run("[...document.querySelectorAll('.labels span')].map(x => x.textContent)")
    assert "crank: turns" in words and "pin" in words and "spring" in words


@pytest.mark.parametrize("kind", ["stl", "obj", "dae", "glb"])
def test_meshes_have_their_colours_on_the_screen(kind, browser, tmp_path):
    """Of every format: the colours that the file has, in the picture; an .stl has none, and takes
    that of the shape.
    """
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("collada", reason="the extra viz is not installed")
    green, blue = [20, 200, 40, 255], [30, 60, 230, 255]
    parts = [trimesh.creation.box((0.4, 0.4, 0.4)), trimesh.creation.box((0.4, 0.4, 0.4))]
    parts[1].apply_translation((0.6, 0.0, 0.0))
    for part, color in zip(parts, (green, blue), strict=True):
        material = trimesh.visual.material.PBRMaterial(baseColorFactor=color)
        if kind == "obj":
            material = trimesh.visual.material.SimpleMaterial(diffuse=color)
        uv = np.zeros((len(part.vertices), 2))
        part.visual = trimesh.visual.TextureVisuals(uv=uv, material=material)
    path = tmp_path / f"mesh.{kind}"
    if kind == "dae":
        path.write_bytes(trimesh.exchange.dae.export_collada(parts))
    elif kind == "stl":
        trimesh.util.concatenate(parts).export(path)
    else:
        trimesh.Scene(parts).export(path)
    builder = mz.Builder("mesh")
    builder.add("a", None, mz.Revolute("y"), mz.Inertia(1.0, (0.0, 0.0, 0.2), np.eye(3) * 0.02))
    own = (0.8, 0.1, 0.1) if kind == "stl" else None
    builder.shape("a", mz.Mesh(path), color=own)
    model = builder.build()
    assert drawing(model).faults == ()
    motion = mz.Trajectory(np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1)), model)
    browser.open(motion.animate(tmp_path / "page.html").as_uri())
    rgb = browser.picture()
    r, g, b = (rgb[..., k] for k in range(3))
    counts = [
        int((r > 60 + np.maximum(g, b)).sum()), int((g > 60 + np.maximum(r, b)).sum()),
        int((b > 60 + np.maximum(r, g)).sum()),
    ]  # fmt: skip
    if kind == "stl":
        assert counts[0] > 3000 and counts[1] < 500
    else:
        assert counts[1] > 1500 and counts[2] > 1500


def test_what_cannot_be_shown_is_named_on_the_page(browser, tmp_path):
    builder = mz.Builder("half")
    body = mz.Inertia(1.0, (0.0, 0.0, 0.2), np.eye(3) * 0.02)
    builder.add("a", None, mz.Revolute("y"), body)
    builder.add("b", "a", mz.Revolute("y"), body, placement=(0.0, 0.0, 0.4))
    builder.shape("a", mz.Box((0.1, 0.1, 0.4)), (0.0, 0.0, 0.2))
    builder.shape("b", mz.Mesh(tmp_path / "gone.stl"), name="skin")
    model = builder.build()
    motion = mz.Trajectory(np.zeros(1), np.zeros((1, 2)), np.zeros((1, 2)), model)
    with pytest.warns(mz.NotShownWarning, match=r"shape 'skin' is not shown: .*gone.stl"):
        path = motion.animate(tmp_path / "page.html")
    browser.open(path.as_uri())
    text = browser.run("document.querySelector('.faults').textContent")
    assert "skin" in text and "does not exist" in text
    assert {part.body for part in drawing(model).parts} == {0, 1}  # complete all the same


def test_energy_is_shown_where_it_means_something(tmp_path):
    model = four_bar()
    q0 = mz.assemble(model, model.neutral() + 0.2)
    free = mz.simulate(model, q0, np.zeros(3), 0.1, 1e-3)
    driven = mz.simulate(model, q0, np.zeros(3), 0.1, 1e-3, torque=np.ones(3))
    assert not free.driven and driven.driven
    assert scene(free)["energy"]["label"].startswith("energy error")
    assert scene(driven)["energy"] is None
    assert mz.Trajectory.load(driven.save(tmp_path / "x.npz"), model).driven


def test_a_phone_shows_the_whole_page(browser, tmp_path):
    """A narrow window: nothing is wider than it, and the picture holds the robot."""
    model = four_bar()
    q = mz.assemble(model, model.neutral() + 0.2)
    motion = mz.Trajectory(np.zeros(1), q[None], np.zeros((1, 3)), model)
    path = motion.animate(tmp_path / "page.html")
    browser.call("Emulation.setDeviceMetricsOverride", width=360, height=740,
                 deviceScaleFactor=2, mobile=True)  # fmt: skip
    try:
        browser.open(path.as_uri())
        assert browser.run("document.documentElement.scrollWidth") <= 360
        assert browser.run("document.querySelector('canvas').clientWidth") > 300
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")


def test_a_gif_shows_the_shapes(tmp_path):
    from PIL import Image

    model = four_bar()
    q0 = mz.assemble(model, model.neutral() + 0.2)
    motion = mz.simulate(model, q0, np.zeros(3), 0.4, 1e-2)
    with Image.open(motion.animate(tmp_path / "x.gif")) as picture:
        assert picture.n_frames == 11
        pixels = np.asarray(picture.convert("RGB"), dtype=int)
    blue = (pixels[..., 2] - pixels[..., 0]) > 40
    assert blue.mean() > 0.01
