"""SDF: poses relative to frames, axes in frames, loops; the same mechanism as in other formats."""

from __future__ import annotations

import math

import numpy as np
import pytest
from loaders.support import mass_matrix, poses, write

import mozzi as mz
from mozzi.errors import ModelError
from mozzi.loaders import inspect, load
from mozzi.loaders.description import Edge
from mozzi.loaders.source import Place
from mozzi.loaders.spanning_tree import turned
from mozzi.model import (
    Box,
    Cylinder,
    Free,
    Prismatic,
    Revolute,
    Screw,
    Sphere,
    Spherical,
    Universal,
)

INERTIA = (
    "<inertial><pose>.1 -.2 .3 .4 .5 -.6</pose><mass>2.5</mass><inertia><ixx>.3</ixx><iyy>.4</iyy>"
    "<izz>.5</izz><ixy>.01</ixy><ixz>-.02</ixz><iyz>.03</iyz></inertia></inertial>"
)


def sdf(*parts: str, version: str = "1.7", words: str = "") -> str:
    """A model, one part per line: the first part is in line 2."""
    inside = "\n".join(parts)
    return f'<sdf version="{version}"><model name="m" {words}>\n{inside}\n</model></sdf>\n'


def link(name: str, pose: str = "", inside: str = INERTIA) -> str:
    return f'<link name="{name}">{pose}{inside}</link>'


def pose(text: str, words: str = "") -> str:
    return f"<pose {words}>{text}</pose>"


def joint(
    name: str, parent: str, child: str, kind: str = "revolute", axis: str = "0 0 1", rest: str = ""
) -> str:
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    turn = f"<axis><xyz>{axis}</xyz></axis>" if axis else ""
    return f'<joint name="{name}" type="{kind}">{ends}{turn}{rest}</joint>'


A, B, C = link("a"), link("b", pose("0 0 1 0 0 0")), link("c", pose("0 0 2 0 0 0"))
J = joint("j", "a", "b")


def read(tmp_path, *parts: str, **options):
    text = {k: options.pop(k) for k in ("version", "words") if k in options}
    return load(write(tmp_path, sdf(*parts, **text), "m.sdf"), **options)


def test_the_same_mechanism_in_three_formats(tmp_path):
    """An arm of two links, written as SDF, URDF and MJCF."""
    numbers = {"ixx": 0.3, "iyy": 0.4, "izz": 0.5, "ixy": 0.01, "ixz": -0.02, "iyz": 0.03}
    tags = "".join(f"<{k}>{v}</{k}>" for k, v in numbers.items())
    inertial = (
        f"<inertial><pose>.1 0 .3 0 0 0</pose><mass>2</mass><inertia>{tags}</inertia></inertial>"
    )
    first = read(
        tmp_path,
        link("upper", pose("1 2 3 .1 .2 .3"), inertial),
        link("lower", pose(".1 .2 .3 -.4 .5 .6", 'relative_to="upper"'), inertial),
        joint("shoulder", "world", "upper", axis="0 1 0"),
        joint("elbow", "upper", "lower", "prismatic", axis="1 1 0"),
    )
    words = " ".join(f'{k}="{v}"' for k, v in numbers.items())
    inertial = f'<inertial><origin xyz=".1 0 .3"/><mass value="2"/><inertia {words}/></inertial>'
    urdf = (
        f'<robot name="m"><link name="world"/><link name="upper">{inertial}</link>'
        f'<link name="lower">{inertial}</link>'
        '<joint name="shoulder" type="continuous"><parent link="world"/><child link="upper"/>'
        '<origin xyz="1 2 3" rpy=".1 .2 .3"/><axis xyz="0 1 0"/></joint>'
        '<joint name="elbow" type="prismatic"><parent link="upper"/><child link="lower"/>'
        '<origin xyz=".1 .2 .3" rpy="-.4 .5 .6"/><axis xyz="1 1 0"/></joint></robot>'
    )
    second = load(write(tmp_path, urdf))
    inertial = '<inertial pos=".1 0 .3" mass="2" fullinertia=".3 .4 .5 .01 -.02 .03"/>'
    mjcf = (
        '<mujoco model="m"><compiler angle="radian" eulerseq="XYZ"/><worldbody>'
        '<body name="upper" pos="1 2 3" euler=".1 .2 .3"><joint name="shoulder" axis="0 1 0"/>'
        f'{inertial}<body name="lower" pos=".1 .2 .3" euler="-.4 .5 .6">'
        f'<joint name="elbow" type="slide" axis="1 1 0"/>{inertial}</body></body>'
        "</worldbody></mujoco>"
    )
    models = [first, second]
    try:
        import mujoco  # noqa: F401

        models.append(load(write(tmp_path, mjcf, "m.xml")))
    except ImportError:
        pass
    q = np.array([0.4, -0.3])
    for model in models:
        assert model.joint_names == ("shoulder", "elbow")
        np.testing.assert_allclose(poses(model, q), poses(first, q), atol=1e-12)
        np.testing.assert_allclose(mass_matrix(model, q), mass_matrix(first, q), atol=1e-12)


def test_poses_relative_to_frames(tmp_path):
    """Links, joints and frames are placed relative to each other, in any order."""
    model = read(
        tmp_path,
        pose("5 0 0 0 0 0"),
        link("b", pose("0 0 1 0 0 0", 'relative_to="f"')),
        '<frame name="f" attached_to="a"><pose relative_to="g">0 1 0 0 0 0</pose></frame>',
        '<frame name="g"><pose>0 0 0 0 0 1.5707963267948966</pose></frame>',
        link("a", pose("1 0 0 0 0 0")),
        joint("i", "world", "a"),
        joint("j", "a", "b", rest=pose("0 0 -.5 0 0 0")),
        '<frame name="tip" attached_to="j"><pose>0 0 .1 0 0 0</pose></frame>',
    )
    a, b = poses(model, np.zeros(2))
    np.testing.assert_allclose(a[:3, 3], [6, 0, 0], atol=1e-12)
    np.testing.assert_allclose(b[:3, 3], [4, 0, 1], atol=1e-12)
    np.testing.assert_allclose(b[:3, 0], [0, 1, 0], atol=1e-12)
    body, T = model.frame("tip")
    assert model.bodies[body] == "b"
    np.testing.assert_allclose(tuple(T.p), (0, 0, -0.4), atol=1e-12)


def test_axes_are_expressed_in_frames(tmp_path):
    """By default in the joint frame; ``expressed_in`` and the older flag name another."""
    turned_b = link("b", pose("0 0 1 1.5707963267948966 0 0"))
    axis = "<axis><xyz {}>0 1 0</xyz>{}</axis>"
    cases = [
        ("1.7", axis.format("", ""), [0, 0, 1]),
        ("1.7", axis.format('expressed_in="__model__"', ""), [0, 1, 0]),
        ("1.7", axis.format('expressed_in="a"', ""), [0, 1, 0]),
        ("1.6", axis.format("", "<use_parent_model_frame>1</use_parent_model_frame>"), [0, 1, 0]),
        ("1.6", axis.format("", ""), [0, 0, 1]),
        ("1.4", axis.format("", ""), [0, 1, 0]),
    ]
    for version, text, direction in cases:
        model = read(
            tmp_path, A, turned_b, joint("j", "a", "b", axis="", rest=text), version=version
        )
        (T0,), (T1,) = poses(model, np.zeros(1)), poses(model, np.ones(1))
        R = T1[:3, :3] @ T0[:3, :3].T
        np.testing.assert_allclose(R @ direction, direction, atol=1e-12)
        axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
        np.testing.assert_allclose(axis, math.sin(1.0) * np.array(direction), atol=1e-12)


def test_degrees_radians_and_quaternions_say_the_same(tmp_path):
    degrees = read(tmp_path, link("a", pose("1 2 3 10 20 30", 'degrees="true"')))
    radians = " ".join(str(math.radians(x)) for x in (10, 20, 30))
    plain = read(tmp_path, link("a", pose(f"1 2 3 {radians}")))
    np.testing.assert_allclose(
        degrees.frame("a")[1].matrix(), plain.frame("a")[1].matrix(), atol=1e-15
    )
    words = 'rotation_format="quat_xyzw"'
    quaternion = read(tmp_path, link("a", pose("1 2 3 0 0 .6 .8", words)))
    np.testing.assert_allclose(quaternion.frame("a")[1].matrix()[0, :2], [0.28, -0.96])
    with pytest.raises(ModelError, match="no rotation"):
        read(tmp_path, link("a", pose("1 2 3 0 0 0 0", words)))


def test_every_kind_of_joint_is_the_joint_it_names(tmp_path):
    second = "<axis2><xyz>1 0 0</xyz></axis2>"
    pitch = "<screw_thread_pitch>6.283185307179586</screw_thread_pitch>"
    kinds = {
        "continuous": (Revolute, joint("j", "a", "b", "continuous")),
        "prismatic": (Prismatic, joint("j", "a", "b", "prismatic")),
        "ball": (Spherical, joint("j", "a", "b", "ball", axis="")),
        "universal": (Universal, joint("j", "a", "b", "universal", rest=second)),
        "screw": (Screw, joint("j", "a", "b", "screw", rest=pitch)),
    }
    for kind, (expected, text) in kinds.items():
        model = read(tmp_path, A, B, text)
        assert type(model.joint("j")) is expected, kind
    assert model.joint("j").pitch == pytest.approx(1.0)
    old = "<thread_pitch>-4</thread_pitch>"  # −2π over metres a turn, as SDFormat defines it
    screw = read(tmp_path, A, B, joint("j", "a", "b", "screw", rest=old)).joint("j")
    assert screw.pitch == pytest.approx(0.25)
    assert read(tmp_path, A, B, joint("j", "a", "b", "fixed", axis="")).nv == 0
    for kind in ("gearbox", "planar", "nonsense"):
        with pytest.raises(ModelError, match=f"{kind}.*line 4"):
            read(tmp_path, A, B, joint("j", "a", "b", kind))


def test_limits_dampers_and_springs_are_those_of_the_file(tmp_path):
    inside = (
        "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>2</upper><effort>-1</effort>"
        "<velocity>3</velocity></limit><dynamics><damping>.1</damping><friction>.2</friction>"
        "<spring_stiffness>4</spring_stiffness><spring_reference>.5</spring_reference></dynamics>"
        "</axis>"
    )
    data = read(tmp_path, A, B, joint("j", "a", "b", axis="", rest=inside)).body("b").dynamics
    assert (data.lower, data.upper, data.effort, data.velocity) == ((-1,), (2,), (math.inf,), (3,))
    values = data.damping, data.friction, data.stiffness, data.rest
    assert values == ((0.1,), (0.2,), (4.0,), (0.5,))


def test_mimics_are_couplings(tmp_path):
    mimic = (
        '<axis><xyz>0 0 1</xyz><mimic joint="j" axis="axis"><multiplier>2</multiplier>'
        "<offset>.5</offset><reference>.1</reference></mimic></axis>"
    )
    model = read(tmp_path, A, B, C, J, joint("k", "b", "c", axis="", rest=mimic), version="1.11")
    (coupling,) = model.couplings
    assert coupling.terms == (("k", 0, 1.0), ("j", 0, -2.0))
    assert coupling.offset == pytest.approx(0.5 - 2 * 0.1)


# -- roots, loops and turned joints ------------------------------------------------------------


def test_base(tmp_path):
    """Without a joint to the world the base is fixed where it stands, or free."""
    parts = (pose("0 0 5 0 0 0"), link("a", pose("0 0 1 0 0 0")), B, J)
    model = read(tmp_path, *parts)
    assert model.nv == 1
    np.testing.assert_allclose(model.frame("a")[1].matrix()[:3, 3], [0, 0, 6])
    free = read(tmp_path, *parts, base="free")
    assert isinstance(free.body("a").joint, Free)
    bolted = (A, B, J, joint("bolt", "world", "a", "fixed", axis=""))
    assert read(tmp_path, *bolted).nv == 1
    assert read(tmp_path, *bolted, base="free").nv == 7
    with pytest.raises(ModelError, match="hang on the world"):
        read(tmp_path, A, joint("i", "world", "a"), base="free")


def test_loops(tmp_path):
    """A joint between connected links closes a loop, and holds where the file places the links."""
    parts = [
        link("a", pose("0 0 0 0 0 0")),
        link("b", pose("1 0 0 .1 .2 .3")),
        link("c", pose("1 1 0 0 0 1")),
        joint("i", "world", "a", axis="0 0 1"),
        joint("j", "a", "b", axis="1 0 1"),
        joint("k", "world", "c", axis="0 1 1"),
        joint("close", "c", "b", axis="0 1 0", rest=pose("0 0 .5 0 .3 0")),
        joint("ball", "a", "c", "ball", axis=""),
        joint("weld", "world", "b", "fixed", axis=""),
    ]
    model = read(tmp_path, *parts)
    assert model.joint_names == ("i", "j", "k")
    assert [loop.name for loop in model.loops] == ["close", "ball", "weld"]
    where = [*poses(model, np.zeros(3)), np.eye(4)]
    for loop in model.loops:
        a = where[loop.body_a] @ loop.placement_a.matrix()
        b = where[loop.body_b] @ loop.placement_b.matrix()
        np.testing.assert_allclose(a, b, atol=1e-12)
    assert (
        inspect(write(tmp_path, sdf(*parts), "m.sdf")).as_dict()["loops"][0]["joint"] == "Revolute"
    )


def test_joints_with_forces_close_no_loops(tmp_path):
    """Which joint of a cycle comes last in the file does not decide whether a spring acts: the same
    bodies accelerate alike. What cannot be kept is told.
    """
    spring = (
        "<dynamics><spring_stiffness>30</spring_stiffness><damping>.5</damping></dynamics>"
        "<limit><lower>-1</lower><upper>1</upper></limit>"
    )
    links = [
        link("a", pose("0 0 0 0 0 0")), link("b", pose(".5 0 1 0 0 0")),
        link("c", pose("1 0 0 0 0 0")),
    ]  # fmt: skip
    at = "<pose relative_to='__model__'>{} 0 0 0</pose>"
    sprung = f"<axis><xyz>0 1 0</xyz>{spring}</axis>"
    joints = [
        joint("i", "world", "a", axis="0 1 0", rest=at.format("0 0 0")),
        joint("j", "a", "b", axis="0 1 0", rest=at.format("0 0 1")),
        joint("k", "world", "c", axis="0 1 0", rest=at.format("1 0 0")),
        joint("l", "c", "b", axis="", rest=at.format("1 0 1") + sprung),
    ]
    found = []
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        model = read(tmp_path, *links, *(joints[k] for k in order), version="1.9")
        assert [loop.name for loop in model.loops] in (["j"], ["i"])
        assert model.body("b").dynamics.stiffness == (30.0,)
        q = {"i": 0.3, "j": -0.3, "k": 0.3, "l": -0.3}
        v = {"i": 1.0, "j": -1.0, "k": 1.0, "l": -1.0}
        state = ([x[name] for name in model.joint_names] for x in (q, v))
        a = mz.forward_dynamics(model, *state, np.zeros(model.nv), resistance=True)
        found.append(a[model.joint_names.index("k")])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    everywhere = [x.replace("</xyz></axis>", f"</xyz>{spring}</axis>") for x in joints]
    with pytest.warns(mz.LeftOutWarning, match="'l' closes .* no stiffness, damping, limits"):
        read(tmp_path, *links, *everywhere, version="1.9")


def test_four_bar_without_a_root(tmp_path):
    """Every link is a child; the last joint closes the loop."""
    names = "abcd"
    links = [link(x, pose(f"{i} 0 0 0 0 0")) for i, x in enumerate(names)]
    ring = [joint(f"j{x}{y}", x, y) for x, y in zip(names, "bcda", strict=True)]
    model = read(tmp_path, *links, *ring)
    assert model.bodies == ("b", "c", "d")
    assert [loop.name for loop in model.loops] == ["jda"]


def test_joints_are_turned_round_where_needed(tmp_path):
    """A child with a parent, whose second parent hangs on nothing, carries that one."""
    parts = (A, B, C, J, joint("k", "c", "b", axis="1 0 0"))
    path = write(tmp_path, sdf(*parts), "m.sdf")
    model = load(path)
    assert model.parents == (-1, 0)
    assert not model.loops
    assert any("turned round" in note.fact for note in inspect(path).oddities)
    with pytest.raises(ModelError, match="cannot be turned"):
        second = "<axis2><xyz>1 0 0</xyz></axis2>"
        read(tmp_path, A, B, C, J, joint("k", "c", "b", "universal", rest=second))


@pytest.mark.parametrize("made", [Revolute((1, 2, 3)), Prismatic("x"), Screw("y", pitch=0.3)])
def test_a_turned_joint_has_the_inverse_motion(made):
    """T_cp(q) = T_pc(q)⁻¹ at every q."""
    first = made.between((0.1, 0.2, 0.3), (0.3, -0.4, 0.5))
    edge = Edge("j", Place("f"), "p", "c", first)
    back = turned(edge)
    assert (back.parent, back.child) == ("c", "p")
    assert back.joint is not None
    product = first.motion((0.7,)) @ back.joint.motion((0.7,))
    np.testing.assert_allclose(product.matrix(), np.eye(4), atol=1e-15)


# -- what is wrong -----------------------------------------------------------------------------


LOWER = "<axis><limit><lower>{}</lower></limit></axis>"
WRONG = {
    "no version": ('<sdf><model name="m"/></sdf>', "version"),
    "future version": ('<sdf version="2.0"><model name="m"/></sdf>', "2.0"),
    "no model": ('<sdf version="1.7"/>', "0 models"),
    "two models": ('<sdf version="1.7"><model name="a"/><model name="b"/></sdf>', "2 models"),
    "no links": (sdf(), "no links"),
    "nested model": (sdf(A, '<model name="x"/>'), "inside models"),
    "include": (sdf(A, "<include><uri>model://x</uri></include>"), "inside models"),
    "merged include": (sdf(A, '<include merge="true"><uri>x</uri></include>'), "inside models"),
    "canonical link": (sdf(A, words='canonical_link="x"'), "'x' does not exist; name a link"),
    "static": (sdf(A, "<static>true</static>"), "nothing moves"),
    "placement": (sdf(A, words='placement_frame="a"'), "placement_frame"),
    "two links": (sdf(A, A), "shares its name"),
    "link and joint": (sdf(A, B, joint("a", "a", "b")), "shares its name"),
    "two roots": (sdf(A, B), "not connected"),
    "unknown child": (sdf(A, joint("j", "a", "x")), "'x'"),
    "unknown parent": (sdf(A, joint("j", "x", "a")), "'x'"),
    "child is the world": (sdf(A, joint("j", "a", "world")), "cannot be a child"),
    "own parent": (sdf(A, joint("j", "a", "a")), "its own parent"),
    "other model": (sdf(A, joint("j", "x::y", "a")), "another model"),
    "reserved name": (sdf(link("world")), "reserved"),
    "no axis": (sdf(A, B, joint("j", "a", "b", axis="")), "no <axis>"),
    "zero axis": (sdf(A, B, joint("j", "a", "b", axis="0 0 0")), "no direction"),
    "unknown frame": (sdf(link("a", pose("0 0 0 0 0 0", 'relative_to="x"'))), "'x'"),
    "circle of frames": (
        sdf(
            link("a", pose("0 0 0 0 0 0", 'relative_to="b"')),
            link("b", pose("0 0 0 0 0 0", 'relative_to="a"')),
            J,
        ),
        "refers to itself",
    ),
    "frame on nothing": (
        sdf(A, '<frame name="f" attached_to="g"/>', '<frame name="g" attached_to="f"/>'),
        "refers to itself",
    ),
    "short pose": (sdf(link("a", pose("0 0 0"))), "3 words"),
    "negative mass": (sdf(link("a", "", "<inertial><mass>-1</mass></inertial>")), "negative"),
    "mass nan": (sdf(link("a", "", "<inertial><mass>nan</mass></inertial>")), "finite"),
    "automatic inertia": (sdf(link("a", "", '<inertial auto="true"/>')), "auto"),
    "massless": (
        sdf(
            A,
            link(
                "b",
                "",
                "<inertial><mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia>"
                "</inertial>",
            ),
            J,
        ),
        "has mass",
    ),
    "limits": (
        sdf(
            A,
            B,
            joint(
                "j",
                "a",
                "b",
                axis="",
                rest="<axis><limit><lower>1</lower><upper>0</upper></limit></axis>",
            ),
        ),
        "reversed",
    ),
    "limits at one end": (
        sdf(A, B, joint("j", "a", "b", axis="", rest=LOWER.format("inf"))),
        "no position is from inf to inf",
    ),
    "limit nan": (
        sdf(A, B, joint("j", "a", "b", axis="", rest=LOWER.format("nan"))),
        "finite",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_broken_files_are_refused(name, tmp_path):
    text, fact = WRONG[name]
    with pytest.raises(ModelError, match=r"m\.sdf line \d+\)") as caught:
        load(write(tmp_path, text, "m.sdf"))
    assert fact in str(caught.value)


def test_a_link_without_inertial_has_unit_mass(tmp_path):
    """So the format says; it is noted."""
    path = write(tmp_path, sdf(A, link("b", inside=""), J), "m.sdf")
    assert load(path).mass == 1.0
    assert any("no <inertial>" in note.fact for note in inspect(path).oddities)


@pytest.mark.parametrize("words", [("-inf", "inf"), ("-Infinity", "+INF"), ("-1e16", "1e16")])
def test_infinity_is_no_limit(words, tmp_path):
    """SDF writes so from 1.10 on, and ``gz sdf -p`` does; before, numbers that are large or −1."""
    low, high = words
    most = high if "e" not in high else "-1"
    limit = f"<lower>{low}</lower><upper>{high}</upper><effort>{most}</effort>"
    axis = f"<axis><xyz>0 0 1</xyz><limit>{limit}<velocity>2</velocity></limit></axis>"
    model = read(tmp_path, A, B, joint("j", "a", "b", axis="", rest=axis), version="1.10")
    own = model.body("b").dynamics
    assert own.lower == (-math.inf,) and own.upper == (math.inf,)
    assert own.effort == (math.inf,) and own.velocity == (2.0,)


def test_world_with_gravity(tmp_path):
    text = sdf(A, B, J).replace("<model", "<world name='w'><gravity>0 0 -1</gravity><model")
    text = text.replace("</model>", "</model></world>")
    assert load(write(tmp_path, text, "m.world")).gravity == (0.0, 0.0, -1.0)


def test_shapes(tmp_path):
    def visual(shape: str) -> str:
        return f'<visual name="v">{pose("1 2 3 0 0 0")}<geometry>{shape}</geometry></visual>'

    inside = (
        visual("<box><size>1 2 3</size></box>")
        + visual("<sphere><radius>.5</radius></sphere>")
        + visual("<cylinder><radius>.5</radius><length>2</length></cylinder>")
        + visual("<mesh><uri>model://m/x.stl</uri><scale>1 1 2</scale></mesh>")
        + visual("<empty/>")
    )
    shapes = load(write(tmp_path, sdf(link("a", "", inside)), "m.sdf")).shapes
    assert [s.geometry for s in shapes[:3]] == [Box((1, 2, 3)), Sphere(0.5), Cylinder(0.5, 2.0)]
    assert [s.name for s in shapes] == ["a_v", "a_v_2", "a_v_3", "a_v_4"]
    assert all(tuple(s.placement.p) == (1.0, 2.0, 3.0) for s in shapes)
    with pytest.raises(ModelError, match="does not exist"):
        shapes[3].geometry.file()
