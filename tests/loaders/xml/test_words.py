"""Misspelt words are errors that name the nearest known one; what is left to others is listed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from loaders.support import joint, link, robot, write

from mozzi.errors import ModelError
from mozzi.loaders import inspect, load
from mozzi.loaders.xml.words import nearest

A, B = link("a"), link("b")
MIMIC = '<mimic joint="k" multipler="-2"/>'
BOX = '<visual><geometry><box siz="1 1 1"/></geometry></visual>'
URDF = {
    "xzy": (robot(A, B, joint(origin='<origin xzy="0 0 1"/>')), "xyz"),
    "multipler": (robot(A, B, link("c"), joint(inside=MIMIC), joint("k", "b", "c")), "multiplier"),
    "axes": (robot(A, B, joint(axis='<axes xyz="0 0 1"/>')), "axis"),
    "jiont": (robot(A, B, "<jiont/>", joint()), "joint"),
    "siz": (robot(link("a", BOX), B, joint()), "size"),
    "lowr": (robot(A, B, joint(inside='<limit lowr="-1" upper="1"/>')), "lower"),
    "inerta": (robot(link("a", "<inerta/>"), B, joint()), "inertial"),
}


def mujoco(before: str = "", body: str = "", after: str = "") -> str:
    inner = '<body><joint/><geom size=".1"/>' + body + "</body>"
    return f"<mujoco>{before}<worldbody>{inner}</worldbody>{after}</mujoco>"


MJCF = {
    "angel": (mujoco('<compiler angel="radian"/>'), "angle"),
    "gravty": (mujoco('<option gravty="0 0 0"/>'), "gravity"),
    "gravityy": (mujoco('<option><flag gravityy="disable"/></option>'), "gravity"),
    "jont": (mujoco("<default><jont damping='1'/></default>"), "joint"),
    "msh": (mujoco("<asset><msh file='x.stl'/></asset>"), "mesh"),
    "posy": (mujoco(body='<frame posy="0 0 1"><body><geom size="1"/></body></frame>'), "pos"),
    "siz": (mujoco(body='<inertial mass="1" pos="0 0 0"/><geom siz="1"/>'), "size"),
    "frictoin": (mujoco(body='<camera frictoin="1"/>'), ""),
    "gaer": (mujoco(after='<actuator><motor joint="x" gaer="2"/></actuator>'), "gear"),
    "qpso": (mujoco(after='<keyframe><key qpso="1"/></keyframe>'), "qpos"),
}


def sdf(inside: str = "", model: str = "", axis: str = "<xyz>0 0 1</xyz>") -> str:
    links = f'<link name="a">{inside}</link><link name="b"/>'
    ends = "<parent>a</parent><child>b</child>"
    hinge = f'<joint name="j" type="revolute">{ends}<axis>{axis}</axis></joint>'
    return f'<sdf version="1.7"><model name="m">{links}{hinge}{model}</model></sdf>'


SDF = {
    "relativ_to": (sdf('<pose relativ_to="b">0 0 0 0 0 0</pose>'), "relative_to"),
    "pos": (sdf("<pos>0 0 1 0 0 0</pos>"), "pose"),
    "xzy": (sdf(axis="<xzy>0 0 1</xzy>"), "xyz"),
    "massa": (sdf("<inertial><massa>5</massa></inertial>"), "mass"),
    "quat_wxyz": (sdf('<pose rotation_format="quat_wxyz">0 0 0 1 0 0 0</pose>'), "quat_xyzw"),
    "jiont": (sdf(model="<jiont/>"), "joint"),
}
FILES = {
    f"{kind} {word}": (text, word, meant)
    for kind, table in (("urdf", URDF), ("xml", MJCF), ("sdf", SDF))
    for word, (text, meant) in table.items()
}


@pytest.mark.parametrize("name", FILES)
def test_a_misspelt_word_is_an_error_that_names_the_nearest(name: str, tmp_path: Path):
    text, word, meant = FILES[name]
    path = write(tmp_path, text, f"robot.{name.split()[0]}")
    with pytest.raises(ModelError) as error:
        load(path)
    said = str(error.value)
    assert word in said and "line" in said
    if meant:
        assert f"did you mean {meant!r}?" in said or f"or {meant}" in said


@pytest.mark.parametrize("name", [n for n in FILES if "quat" not in n and "jiont" not in n])
def test_without_strictness_it_is_noted(name: str, tmp_path: Path):
    text, word, _ = FILES[name]
    path = write(tmp_path, text, f"robot.{name.split()[0]}")
    try:
        report = inspect(path, strict=False)
    except ModelError as error:  # MuJoCo's own check, or a file that misses what it needs
        assert name.startswith("xml") or "has no" in str(error) or "unknown" in str(error)
        return
    assert any(word in note.thing for note in report.oddities)


def test_what_is_left_to_others_passes_and_is_listed(tmp_path: Path):
    more = ['<gazebo reference="a"><x/></gazebo>', '<ros2_control name="c"/>', "<drake:x/>"]
    text = robot(A, B, joint(), *more).replace("<robot ", '<robot xmlns:drake="d" ')
    seen = {note.thing for note in inspect(write(tmp_path, text)).oddities}
    assert {"<x> in <gazebo>", "<ros2_control> in <robot>"} <= seen
    assert any("drake:x" in x for x in seen)


def test_a_quaternion_in_an_origin_of_urdf(tmp_path: Path):
    """URDF 1.2 has quat_xyzw besides rpy."""
    turned = '<origin xyz="0 0 1" quat_xyzw="0 0 0.6 0.8"/>'
    model = load(write(tmp_path, robot(A, B, joint(origin=turned))))
    assert model.joint("j").frame_parent.matrix()[1, 0] == pytest.approx(0.96)
    both = '<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>'
    with pytest.raises(ModelError, match="both rpy and quat_xyzw"):
        load(write(tmp_path, robot(A, B, joint(origin=both))))


def test_frames_attached_in_a_row_take_linear_time(tmp_path: Path):
    """20,000 frames of SDF, each attached to the one before; half of them in half the time."""

    def seconds(n: int) -> float:
        rows = (f'<frame name="f{k}" attached_to="f{k - 1}"/>' for k in range(n - 1, 0, -1))
        text = sdf(model="".join(rows) + '<frame name="f0" attached_to="b"/>')
        start = time.process_time()  # of this process: others may use the machine
        assert len(load(write(tmp_path, text, "r.sdf")).frames) >= n
        return time.process_time() - start

    seconds(100)
    assert seconds(20_000) < 30 * seconds(2_000)


@pytest.mark.parametrize(
    ("folder", "option", "found"),
    [
        ("part", "", True), (".", "", True), ("part", 'meshdir="part"', True),
        ("part/deep", 'meshdir="deep"', False), ("part/deep", 'meshdir="part/deep"', True),
    ],
)  # fmt: skip
def test_meshes_of_included_files_are_looked_for_where_mujoco_looks(
    folder: str, option: str, found: bool, tmp_path: Path
):
    import mujoco

    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "part" / "deep").mkdir(parents=True)
    write(tmp_path / folder, corners, "m.obj")
    inner = f'<compiler {option}/><asset><mesh name="m" file="m.obj"/></asset>'
    write(tmp_path / "part", f"<mujoco>{inner}</mujoco>", "part.xml")
    body = '<worldbody><body><joint/><geom type="mesh" mesh="m"/></body></worldbody>'
    path = write(tmp_path, f'<mujoco><include file="part/part.xml"/>{body}</mujoco>', "main.xml")
    if found:
        theirs = mujoco.MjModel.from_xml_path(str(path))
        assert load(path).mass == pytest.approx(theirs.body_mass[1])
    else:
        with pytest.raises(ValueError):
            mujoco.MjModel.from_xml_path(str(path))
        with pytest.raises(ModelError, match=r"m\.obj"):
            load(path)


def test_nearest_spelling_comes_first():
    assert nearest("angel", ["gravity", "angle", "euler"])[0] == "angle"
    assert len(nearest("x", ["a", "b"])) == 2
