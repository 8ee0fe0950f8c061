"""Friction, restitution and stiffness of shapes, as SDF and URDF files say them."""

import numpy as np
import pytest

import mozzi as mz
from mozzi.loaders import inspect
from mozzi.model import Surface

SDF = """<sdf version="1.9"><model name="ball"><link name="ball">
  <inertial><mass>1</mass><inertia><ixx>0.004</ixx><iyy>0.004</iyy><izz>0.004</izz></inertia></inertial>
  <collision name="shell"><geometry><sphere><radius>0.1</radius></sphere></geometry>
    <surface>
      <friction><ode><mu>0.6</mu><mu2>0.4</mu2><slip1>0.01</slip1></ode><torsional/></friction>
      <bounce><restitution_coefficient>{e}</restitution_coefficient></bounce>
      <contact><ode><kp>{kp}</kp><kd>20</kd><max_vel>0.1</max_vel></ode></contact>
    </surface></collision>
</link></model></sdf>"""
URDF = """<robot name="r">
  <link name="a"><inertial><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision name="foot"><geometry><sphere radius="0.1"/></geometry></collision>
    <visual><geometry><sphere radius="0.1"/></geometry></visual></link>
  <link name="b"><collision name="other"><geometry><sphere radius="0.1"/></geometry>
    <contact_coefficients mu="0.5" kp="1e5" kd="3"/></collision></link>
  <joint name="j" type="fixed"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/></joint>
  <gazebo reference="a"><mu1>{mu1}</mu1><mu2>0.9</mu2><kp>1e12</kp><kd>1</kd>
    <minDepth>1e-3</minDepth><material>Gazebo/Grey</material></gazebo>
  <gazebo><plugin name="p" filename="x"/></gazebo>
</robot>"""


def loaded(folder, text, name):
    path = folder / name
    path.write_text(text)
    report = inspect(path, base="free")
    return report.model, " ".join(map(str, report.oddities))


@pytest.mark.parametrize(("e", "kp"), [(0.5, 1e5), (0.0, 1e5), (0.0, 1e12)])
def test_sdf(tmp_path, e, kp):
    """Numbers that have a meaning become the surface, and contacts take it; others are named."""
    model, said = loaded(tmp_path, SDF.format(e=e, kp=kp), "ball.sdf")
    assert model.shape("shell").surface == Surface((0.6, 0.4), e, kp, 20.0)
    contact = model.with_ground().contacts[0]
    assert contact.friction == (0.6, 0.4) and contact.restitution == e
    soft = e == 0.0 and kp < 1e11
    assert (contact.stiffness, contact.damping) == ((kp, 20.0) if soft else (None, None))
    for word in ("slip1", "torsional", "max_vel"):
        assert f"<{word}>" in said
    rigid = model.with_ground(friction=1.0, restitution=0.0).contacts[0]
    assert rigid.friction == (1.0, 1.0) and rigid.stiffness is None


def test_it_falls_as_its_file_says(tmp_path):
    """A ball of an SDF file comes back with its restitution."""
    model, _ = loaded(tmp_path, SDF.format(e=0.5, kp=1e12), "ball.sdf")
    q = model.neutral()
    q[2] = 0.1
    v = mz.impact(model.with_ground(), q, [0, 0, 0, 0, 0, -2.0])
    np.testing.assert_allclose(v[5], 1.0, rtol=1e-12)


def test_urdf(tmp_path):
    """What Gazebo is told of a link, and coefficients of a collision; the rest is named."""
    model, said = loaded(tmp_path, URDF.format(mu1=0.7), "r.urdf")
    assert model.shape("foot").surface == Surface((0.7, 0.9), 0.0, 1e12, 1.0)
    assert model.shape("other").surface == Surface((0.5, 0.5), 0.0, 1e5, 3.0)
    by_name = {c.shape_a: c for c in model.with_ground().contacts}
    assert by_name["foot"].friction == (0.7, 0.9) and by_name["foot"].stiffness is None
    assert by_name["other"].friction == (0.5, 0.5) and by_name["other"].stiffness == 1e5
    for word in ("minDepth", "material", "plugin"):
        assert f"<{word}> in <gazebo>" in said
    moved = model.with_shape(None, mz.Plane(), name="floor", surface=Surface((0.2, 2.0)))
    assert moved.with_contact("c", "foot", "floor").contacts[0].friction == (0.2, 0.9)
    assert moved.shape("foot").surface == model.shape("foot").surface  # copies keep it
    assert moved.digest != model.with_shape(None, mz.Plane(), name="floor").digest


def test_older_files_of_gazebo(tmp_path):
    """Numbers as attributes: the same surface."""
    text = URDF.format(mu1=0.7)
    for word, x in (("mu1", "0.7"), ("mu2", "0.9"), ("kp", "1e12"), ("kd", "1")):
        text = text.replace(f"<{word}>{x}</{word}>", f'<{word} value="{x}"/>')
    model, _ = loaded(tmp_path, text, "r.urdf")
    assert 'kd value="1"' in text
    assert model.shape("foot").surface == Surface((0.7, 0.9), 0.0, 1e12, 1.0)


def test_what_is_wrong_is_left_out(tmp_path):
    """A negative coefficient is told; the shape stays."""
    model, said = loaded(tmp_path, URDF.format(mu1=-0.7), "r.urdf")
    assert model.shape("foot").surface is None and "negative" in said
    assert model.with_ground("foot").contacts[0].friction == (0.8, 0.8)
