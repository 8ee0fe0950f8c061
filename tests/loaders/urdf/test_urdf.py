"""URDF: every feature against Pinocchio, or against what the format says."""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np
import pytest
from loaders.support import SQUARE, compare, joint, link, poses, robot, write

from mozzi.errors import ExtraMissingError, ModelError, UnphysicalWarning
from mozzi.loaders import inspect, load
from mozzi.model import Box, Cylinder, Free, Planar, Prismatic, Revolute, Sphere

A, B, C = link("a"), link("b"), link("c")
SKEW = (
    '<inertial><origin xyz=".1 -.2 .3" rpy=".4 .5 -.6"/><mass value="2.5"/>'
    '<inertia ixx=".3" iyy=".4" izz=".5" ixy=".01" ixz="-.02" iyz=".03"/></inertial>'
)
TILTED = '<origin xyz=".5 .6 -.7" rpy="-1.1 .2 2.3"/>'


def pinocchio(path, base="fixed"):
    pin = pytest.importorskip("pinocchio")
    if base == "free":
        return pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    return pin.buildModelFromUrdf(str(path))


def agree(path, base="fixed") -> None:
    model, peer = load(path, base), pinocchio(path, base)
    q = model.random_configuration(np.random.default_rng(3))
    assert max(compare(model, peer, q).values()) < 1e-12


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
@pytest.mark.parametrize("axis", ["1 0 0", "0 -1 0", "0 0 1", "0 0 -1", ".6 0 .8", "-1 2 -3"])
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_a_joint_along_any_axis_moves_as_in_pinocchio(kind, axis, base, tmp_path):
    arm = joint(kind=kind, axis=f'<axis xyz="{axis}"/>', origin=TILTED)
    agree(write(tmp_path, robot(A, link("b", SKEW), arm)), base)


def test_free_joint_in_the_file(tmp_path):
    path = write(tmp_path, robot(A, link("b", SKEW), joint(kind="floating", origin=TILTED)))
    agree(path)
    assert isinstance(load(path).body("b").joint, Free)


def test_planar_joint_moves_in_the_plane_normal_to_its_axis(tmp_path):
    arm = joint(kind="planar", axis='<axis xyz="0 1 0"/>', inside="")
    model = load(write(tmp_path, robot(A, B, arm)))
    assert isinstance(model.body("b").joint, Planar)
    (T,) = poses(model, np.array([0.3, 0.4, 0.5]))
    assert T[1, 3] == pytest.approx(0.0)
    assert math.hypot(T[0, 3], T[2, 3] - 1.0) == pytest.approx(0.5)
    np.testing.assert_allclose(T[:3, :3] @ [0, 1, 0], [0, 1, 0], atol=1e-15)


def test_fixed_links_become_part_of_their_parent(tmp_path):
    """Masses add up, and every link stays a frame."""
    parts = [link(name, SKEW) for name in ("root", "arm", "flange", "tool", "tip")]
    parts += [
        joint("m", "root", "flange", "fixed", origin=TILTED),
        joint("j", "flange", "arm", origin=TILTED),
        joint("f", "arm", "tool", "fixed", origin=TILTED),
        joint("g", "tool", "tip", "fixed", origin=TILTED),
    ]
    path = write(tmp_path, robot(*parts))
    agree(path)
    agree(path, "free")
    model, peer = load(path), pinocchio(path)
    assert model.bodies == ("arm",)
    assert set(model.frames) == {"root", "arm", "flange", "tool", "tip"}
    for name in model.frames:
        body, T = model.frame(name)
        frame = peer.frames[peer.getFrameId(name)]
        assert body == frame.parentJoint - 1
        np.testing.assert_allclose(T.matrix(), frame.placement.homogeneous, atol=1e-14)
    assert model.mass == pytest.approx(7.5)
    assert load(path, "free").bodies == ("root", "arm")


def test_order_is_that_of_pinocchio(tmp_path):
    """Depth first; joints of one parent sorted by name, byte by byte."""
    names = ["b", "B", "a10", "a9", "\u00e9", "_", "a"]
    parts = [A, *(link(f"l{n}") for n in names), *(link(f"m{n}") for n in names)]
    parts += [joint(n, "a", f"l{n}") for n in names]
    parts += [joint(f"{n}2", f"l{n}", f"m{n}", "continuous") for n in names]
    path = write(tmp_path, robot(*parts))
    assert load(path).joint_names == tuple(pinocchio(path).names)[1:]


def test_defaults(tmp_path):
    """No origin is the identity, no axis is x, and inertia without origin is at the link frame."""
    path = write(tmp_path, robot(A, link("b", SQUARE), joint(axis="", origin="")))
    model = load(path)
    (T,) = poses(model, np.array([0.3]))
    np.testing.assert_allclose(T[:3, :3] @ [1, 0, 0], [1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(T[:3, 3], 0.0)
    assert any("no <axis>" in note.fact for note in inspect(path).oddities)


def test_limits_and_dampers_are_those_of_the_file(tmp_path):
    inside = (
        '<limit lower="-.5" upper="1.5" effort="7" velocity="3"/>'
        '<dynamics damping=".2" friction=".1"/><safety_controller k_velocity="1"/>'
        '<calibration rising="0"/>'
    )
    path = write(tmp_path, robot(A, B, joint(inside=inside)))
    data = load(path).body("b").dynamics
    values = data.lower, data.upper, data.effort, data.velocity, data.damping, data.friction
    assert values == ((-0.5,), (1.5,), (7.0,), (3.0,), (0.2,), (0.1,))
    odd = {note.thing for note in inspect(path).oddities}
    assert odd == {"<safety_controller> in <joint>", "<calibration> in <joint>"}


@pytest.mark.parametrize("inside", ["", '<limit effort="1" velocity="1"/>'])
def test_joints_without_limits_are_unlimited(inside, tmp_path):
    path = write(tmp_path, robot(A, B, joint(inside=inside)))
    data = load(path).body("b").dynamics
    assert (data.lower, data.upper) == ((-math.inf,), (math.inf,))
    assert any("unlimited" in note.fact for note in inspect(path).oddities)


def test_mimics_are_couplings(tmp_path):
    """q = multiplier · q(leader) + offset stays in the model; nv counts both joints."""
    mimic = '<mimic joint="k" multiplier="-2" offset=".5"/>'
    parts = [A, B, C, joint("j", inside=mimic), joint("k", "b", "c", "prismatic")]
    model = load(write(tmp_path, robot(*parts)))
    assert model.nv == 2
    (coupling,) = model.couplings
    assert coupling.terms == (("j", 0, 1.0), ("k", 0, 2.0))
    assert coupling.offset == 0.5
    assert isinstance(model.joint("j"), Revolute)
    assert isinstance(model.joint("k"), Prismatic)


def test_chains_of_mimics(tmp_path):
    parts = [A, B, C, link("d")]
    parts += [joint("j", "a", "b"), joint("k", "b", "c", inside='<mimic joint="j"/>')]
    parts += [joint("l", "c", "d", inside='<mimic joint="k" multiplier="0"/>')]
    model = load(write(tmp_path, robot(*parts)))
    assert [c.joints for c in model.couplings] == [("k", "j"), ("l",)]


def test_undeclared_world(tmp_path):
    path = write(tmp_path, robot(B, joint(parent="world", origin=TILTED)))
    model = load(path)
    assert model.bodies == ("b",)
    assert model.frame("world")[0] == -1
    with pytest.raises(ModelError, match="hang on the world"):
        load(path, base="free")


def test_rotor_inertias_are_not_read(tmp_path):
    transmission = (
        '<transmission name="t"><joint name="j"/><actuator name="m">'
        "<mechanicalReduction>100</mechanicalReduction></actuator></transmission>"
    )
    plain = load(write(tmp_path, robot(A, B, joint())))
    assert load(write(tmp_path, robot(A, B, joint(), transmission), "t.urdf")) == plain


def test_xml_with_a_robot_is_urdf(tmp_path):
    assert load(write(tmp_path, robot(A, B, joint()), "robot.xml")).nv == 1


# -- shapes and files --------------------------------------------------------------------------


def visual(shape: str, rest: str = "", role: str = "visual") -> str:
    return f'<{role} name="v">{rest}<geometry>{shape}</geometry></{role}>'


def test_shapes(tmp_path):
    inside = (
        visual('<box size="1 2 3"/>', '<origin xyz="1 2 3"/><material name="red"/>')
        + visual('<sphere radius=".5"/>')
        + visual('<cylinder radius=".5" length="2"/>', role="collision")
        + visual(
            '<mesh filename="m.stl" scale="1 1 2"/>',
            '<material name="x"><color rgba="0 1 0 1"/></material>',
        )
    )
    paint = '<material name="red"><color rgba="1 0 0 .5"/></material>'
    model = load(write(tmp_path, robot(link("a", inside), paint)))
    shapes = model.shapes
    box, ball, mesh, cylinder = (s.geometry for s in shapes)
    assert (box, ball, cylinder) == (Box((1, 2, 3)), Sphere(0.5), Cylinder(0.5, 2.0))
    assert mesh.scale == (1.0, 1.0, 2.0)
    assert [s.role for s in shapes] == ["visual"] * 3 + ["collision"]
    assert [s.color for s in shapes] == [(1.0, 0.0, 0.0, 0.5), None, (0.0, 1.0, 0.0, 1.0), None]
    assert tuple(shapes[0].placement.p) == (1.0, 2.0, 3.0)
    assert [s.name for s in shapes] == ["a_v", "a_v_2", "a_v_3", "a_v_4"]


def package(tmp_path, uri: str):
    """A package with a robot that shows one mesh; returns the shape's mesh."""
    home = tmp_path / "ws" / "arm_description"
    (home / "urdf").mkdir(parents=True)
    (home / "meshes").mkdir()
    write(home, "<package><name>arm</name></package>", "package.xml")
    write(home / "meshes", "solid", "m.stl")
    write(tmp_path, "secret", "secret.stl")
    (home / "meshes" / "leak.stl").symlink_to(tmp_path / "secret.stl")
    text = robot(link("a", visual(f'<mesh filename="{uri}"/>')))
    return home, write(home / "urdf", text)


@pytest.mark.parametrize(
    "uri",
    [
        "package://arm_description/meshes/m.stl",
        "package://arm/meshes/m.stl",
        "../meshes/m.stl",
        "file://{home}/meshes/m.stl",
        "{home}/meshes/m.stl",
        "package://arm/../arm_description/meshes/m.stl",
    ],
)
def test_meshes_below_the_package_are_found(uri, tmp_path):
    home, path = package(tmp_path, uri.format(home=tmp_path / "ws" / "arm_description"))
    (shape,) = load(path).shapes
    assert shape.geometry.file() == (home / "meshes" / "m.stl").resolve()


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1:9/m.stl",
        "https://example.invalid/m.stl",
        "ftp://127.0.0.1/m.stl",
        "package://other/m.stl",
        "package://",
        "package://arm/",
        "package://arm/none.stl",
        "package://arm/meshes",
        "package://arm/../../secret.stl",
        "package://arm/meshes/leak.stl",
        "../../../secret.stl",
        "file:///etc/passwd",
        "/dev/zero",
        "file:///dev/random",
        "a&#0;b.stl".replace("&#0;", "%00"),
    ],
)
def test_meshes_elsewhere_are_not(uri, tmp_path):
    """The robot loads, since dynamics needs no mesh; asking for the mesh is an error."""
    _, path = package(tmp_path, uri)
    assert load(path).nv == 0
    (shape,) = load(path).shapes
    with pytest.raises(ModelError, match=r"mesh .* line 3"):
        shape.geometry.file()
    assert any(uri in note.thing for note in inspect(path).oddities)


def test_declared_roots(tmp_path):
    _, path = package(tmp_path, "package://other/m.stl")
    other = tmp_path / "elsewhere" / "other"
    other.mkdir(parents=True)
    write(other, "solid", "m.stl")
    for roots in (tmp_path / "elsewhere", [other], (str(other),)):
        (shape,) = load(path, roots=roots).shapes
        assert shape.geometry.file() == (other / "m.stl").resolve()


def test_xacro_only_when_asked(tmp_path):
    pytest.importorskip("xacrodoc")
    text = robot(
        '<xacro:property name="m" value="3"/>',
        A,
        link("b", SQUARE.replace('"1"', '"${m}"', 1)),
        joint(),
    ).replace('name="r"', 'name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"')
    path = write(tmp_path, text, "robot.urdf.xacro")
    with pytest.raises(ModelError, match="xacro=True"):
        load(path)
    model = load(path, xacro=True)
    assert model.mass == pytest.approx(3.0)
    with pytest.raises(ModelError, match="xacro"):
        load(write(tmp_path, text.replace("${m}", "${1/0}"), "bad.xacro"), xacro=True)


def test_without_xacro(tmp_path, monkeypatch):
    """The error says which extra to install."""
    monkeypatch.setitem(sys.modules, "xacrodoc", None)
    with pytest.raises(ExtraMissingError, match=r"mozzi\[xacro\]"):
        load(write(tmp_path, robot(A)), xacro=True)


@pytest.mark.parametrize(
    ("text", "c", "s"),
    [
        ("1.5707963267948966", 0, 1),
        ("3.141592653589793116", -1, 0),
        ("-4.7123889803", None, None),
        ("1.57079632679", None, None),
        ("-0", 1, 0),
        ("1e16", None, None),
    ],
)
def test_quarter_turns_have_exact_zeros(text, c, s, tmp_path):
    """The double next to a multiple of π/2 is that multiple; other angles are as written."""
    origin = f'<origin xyz="0 0 1" rpy="{text} 0 0"/>'
    model = load(write(tmp_path, robot(A, B, joint(origin=origin))))
    R = np.array(model.body("b").joint.frame_parent.matrix(), dtype=float)[:3, :3]
    if c is None:
        c, s = math.cos(float(text)), math.sin(float(text))
    np.testing.assert_array_equal(R, [[1, 0, 0], [0, c, -s], [0, s, c]])


@pytest.mark.parametrize(("size", "told"), [("1.4e-20", False), ("1e-6", True)])
def test_rounding_of_a_point_is_no_inertia(size, told, tmp_path):
    """Files of icub have points with products of 1e-20 kg m²; those of 1e-6 are wrong."""
    zeros = 'ixx="0" iyy="0" izz="0" ixy="0" iyz="0"'
    point = (
        f'<inertial><origin xyz="0 .1 .2"/><mass value=".3"/><inertia {zeros} ixz="{size}"/>'
        "</inertial>"
    )
    tip = joint("fixed_to", parent="b", child="c", kind="fixed")
    path = write(tmp_path, robot(A, B, link("c", point), joint(), tip))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        load(path)
    assert [w.category for w in found] == [UnphysicalWarning] * told
