"""What a file's mechanism looks like."""

from pathlib import Path

import numpy as np
import pytest

import mozzi as mz
from mozzi.viz.drawing.shapes import drawing

MOMENTS = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
INERTIAL = f'<inertial><mass value="1"/>{MOMENTS}</inertial>'
ROBOT = """<robot name="shapes">
<link name="base"/>
<link name="arm">{inertial}
  <visual><origin xyz="0 0 0.5"/><geometry><box size="0.1 0.2 1.0"/></geometry>
    <material name="red"><color rgba="1 0 0 1"/></material></visual></link>
<link name="tip">{inertial}
  <visual><geometry><mesh filename="none.dae"/></geometry></visual>
  <collision><geometry><sphere radius="0.2"/></geometry></collision></link>
<link name="flag">{inertial}
  <visual><geometry><cylinder radius="0.1" length="0.4"/></geometry></visual></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
<joint name="slide" type="continuous"><origin xyz="0 0 1"/><parent link="arm"/><child link="tip"/>
  <axis xyz="0 1 0"/></joint>
<joint name="weld" type="fixed"><origin xyz="0 0 0.3"/><parent link="tip"/><child link="flag"/></joint>
</robot>"""  # noqa: E501


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    path = tmp_path / "shapes.urdf"
    path.write_text(ROBOT.format(inertial=INERTIAL), encoding="utf-8")
    return path


def test_shapes_sit_on_their_bodies(robot: Path):
    """Visual shapes with their colours; collision shapes where the visual ones cannot be read;
    what is welded moves with its body.
    """
    model = mz.load(robot)
    arm, flag, tip = drawing(model).parts
    assert (arm.body, tip.body, flag.body) == (0, 1, 1)
    assert arm.color == (1, 0, 0)
    assert np.allclose([arm.vertices.min(axis=0), arm.vertices.max(axis=0)],
                       [[-0.05, -0.1, 0.0], [0.05, 0.1, 1.0]])  # fmt: skip
    assert np.linalg.norm(tip.vertices, axis=1) == pytest.approx(0.2)
    assert flag.vertices[:, 2].min() == pytest.approx(0.1)
    assert flag.vertices[:, 2].max() == pytest.approx(0.5)


def test_a_file_without_shapes_is_drawn_as_a_skeleton(tmp_path: Path):
    path = tmp_path / "bare.urdf"
    text = f'<robot name="bare"><link name="a"/><link name="b">{INERTIAL}</link>'
    text += '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    path.write_text(text, encoding="utf-8")
    assert {part.body for part in drawing(mz.load(path)).parts} == {0}


def test_meshes_are_read_with_trimesh(tmp_path: Path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((1.0, 2.0, 3.0)).export(tmp_path / "box.stl")
    text = ROBOT.format(inertial=INERTIAL).replace(
        '<box size="0.1 0.2 1.0"/>', '<mesh filename="box.stl" scale="0.1 0.1 0.1"/>'
    )
    path = tmp_path / "shapes.urdf"
    path.write_text(text, encoding="utf-8")
    part = drawing(mz.load(path)).parts[0]
    assert np.ptp(part.vertices, axis=0) == pytest.approx([0.1, 0.2, 0.3])
