"""MJCF against MuJoCo itself: the same poses and the same mass matrix."""

from __future__ import annotations

import math
import os
import struct
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from loaders.support import mass_matrix, poses, write

from mozzi.errors import ExtraMissingError, LeftOutWarning, ModelError
from mozzi.loaders import load
from mozzi.model import Box, Composite, Ellipsoid, Fixed, Free, Spherical

mujoco = pytest.importorskip("mujoco")

GEOM = '<geom type="capsule" size=".05 .2" density="900" pos=".1 .02 .03" euler="10 20 30"/>'
MODELS = {
    "hinge": '<body name="a" pos="0 0 1" euler="20 30 40">'
    f'<joint name="j" axis="1 2 3" pos=".1 .2 .3"/>{GEOM}</body>',
    "slide": f'<body name="a" pos="0 1 1"><joint name="j" type="slide" axis="1 0 1"/>{GEOM}</body>',
    "ball": '<body name="a" quat="1 2 3 4">'
    f'<joint name="j" type="ball" pos=".1 0 .2"/>{GEOM}</body>',
    "free": f'<body name="a" pos="1 2 3"><freejoint name="j"/>{GEOM}<body name="b" pos="0 0 .3">'
    f'<joint name="k" axis="0 1 0" armature=".02"/>{GEOM}</body></body>',
    "several": '<body name="a"><joint name="x" type="slide" axis="1 0 0"/>'
    '<joint name="y" axis="0 1 0" pos="0 0 .5" armature=".1"/><joint name="z" axis="1 1 1"/>'
    f'{GEOM}<body name="b" pos=".2 0 .4"><joint name="u" type="ball"/>{GEOM}</body></body>',
    "reference": '<body name="a"><joint name="j" axis="1 2 3" ref="30" pos=".1 .2 .3"/>'
    f'<joint name="k" type="slide" axis="0 1 1" ref=".7"/>{GEOM}</body>',
    "welded": f'<body name="a" pos="0 0 1"><joint name="j" axis="0 1 0"/>{GEOM}'
    f'<body name="tool" pos="0 .1 .4" euler="0 0 30">{GEOM}<site name="tip" pos="0 0 .1"/>'
    "</body></body>",
    "tree": f'<body name="z"><joint axis="0 0 1"/>{GEOM}'
    f'<body name="y" pos="0 0 1"><joint axis="0 1 0"/>{GEOM}</body>'
    f'<body name="x" pos="1 0 0"><joint axis="1 0 0"/>{GEOM}</body></body>',
    "inertial": '<body name="a"><joint name="j" axis="0 1 0"/><inertial pos=".1 .2 .3" mass="2" '
    'fullinertia=".3 .4 .5 .01 .02 .03"/></body>',
    "repeated": '<replicate count="3" offset=".3 0 0" euler="0 20 0">'
    f'<body name="a"><joint name="j" axis="0 1 0"/>{GEOM}</body></replicate>',
    "framed": f'<frame pos="1 2 3" euler="10 20 30"><body name="a"><joint name="j"/>{GEOM}</body>'
    "</frame>",
}


def mjcf(world: str, rest: str = "", option: str = "") -> str:
    return f"<mujoco model='m'>\n{option}\n<worldbody>\n{world}\n</worldbody>\n{rest}\n</mujoco>\n"


def peer_state(model, peer, q) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's qpos, and the matrix that takes velocities from here to MuJoCo's."""
    x = np.array(q, dtype=float)
    P = np.eye(model.nv)
    for j in range(peer.njnt):
        k, d = peer.jnt_qposadr[j], peer.jnt_dofadr[j]
        if peer.jnt_type[j] == 0:
            x[k + 3 : k + 7] = np.roll(q[k + 3 : k + 7], 1)
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, x[k + 3 : k + 7])
            P[d : d + 6, d : d + 6] = 0.0
            P[d : d + 3, d + 3 : d + 6] = R.reshape(3, 3)
            P[d + 3 : d + 6, d : d + 3] = np.eye(3)
        elif peer.jnt_type[j] == 1:
            x[k : k + 4] = np.roll(q[k : k + 4], 1)
    return x, P


def check(path, model=None) -> None:
    model = model or load(path)
    peer = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(peer)
    assert (model.nq, model.nv) == (peer.nq, peer.nv)
    rng = np.random.default_rng(1)
    for _ in range(3):
        q = model.random_configuration(rng)
        x, P = peer_state(model, peer, q)
        data.qpos[:] = x
        mujoco.mj_forward(peer, data)
        M = np.zeros((peer.nv, peer.nv))
        try:
            mujoco.mj_fullM(peer, data, M)
        except TypeError:
            mujoco.mj_fullM(peer, M, data.qM)
        np.testing.assert_allclose(mass_matrix(model, q), P.T @ M @ P, atol=1e-12, rtol=1e-9)
        for name, T in zip(model.bodies, poses(model, q), strict=True):
            known = mujoco.mj_name2id(peer, mujoco.mjtObj.mjOBJ_BODY, name)
            body = data.body(known if known >= 0 else int(name.removeprefix("body_")))
            np.testing.assert_allclose(T[:3, 3], body.xpos, atol=1e-12)
            np.testing.assert_allclose(T[:3, :3].ravel(), body.xmat, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_poses_and_mass_matrix_are_those_of_mujoco(name, tmp_path):
    check(write(tmp_path, mjcf(MODELS[name]), "m.xml"))


def test_the_model_that_comes_with_mujoco():
    """Free, ball and several joints, meshes, a weld, defaults and classes, in one file."""
    path = Path(mujoco.__file__).parent / "testdata" / "model.xml"
    if not path.exists():
        pytest.skip("this mujoco brings no model")
    check(path)


def test_several_joints_on_a_body_are_one_composite(tmp_path):
    model = load(write(tmp_path, mjcf(MODELS["several"]), "m.xml"))
    assert model.bodies == ("a", "b")
    assert model.joint_names == ("x+y+z", "u")
    assert isinstance(model.body("a").joint, Composite)
    assert isinstance(model.body("b").joint, Spherical)
    assert model.body("a").dynamics.armature == (0.0, 0.1, 0.0)


def test_limits_springs_and_gravity_are_those_of_the_file(tmp_path):
    joint = (
        '<joint name="j" range="-90 45" damping=".3" stiffness="2" springref="30" '
        'frictionloss=".1" armature=".01" actuatorfrcrange="-5 5"/>'
    )
    option = '<option gravity="0 1 -3"/>'
    path = write(tmp_path, mjcf(f'<body name="a">{joint}{GEOM}</body>', option=option), "m.xml")
    model = load(path)
    data = model.body("a").dynamics
    assert model.gravity == (0.0, 1.0, -3.0)
    np.testing.assert_allclose([*data.lower, *data.upper], [-np.pi / 2, np.pi / 4])
    np.testing.assert_allclose(data.rest, [np.pi / 6])
    values = (data.damping, data.stiffness, data.friction, data.armature, data.effort)
    assert values == ((0.3,), (2.0,), (0.1,), (0.01,), (5.0,))


def test_gravity_may_be_switched_off(tmp_path):
    option = '<option><flag gravity="disable"/></option>'
    path = write(tmp_path, mjcf(MODELS["hinge"], option=option), "m.xml")
    assert load(path).gravity == (0.0, 0.0, 0.0)


def test_what_a_file_switches_off_does_not_act(tmp_path):
    """Flags of <option>: MuJoCo leaves out what they name, and so does the model."""
    acts = 'damping="1" stiffness="2" frictionloss=".1" range="0 9"'
    joint = f'<joint name="{{}}" axis="0 1 0" {acts}/>'
    world = (
        f'<geom name="g" type="plane" size="1 1 1"/><body name="a">{joint.format("j")}{GEOM}'
        f'<body name="b" pos="0 0 1">{joint.format("k")}{GEOM}</body></body>'
    )
    rest = '<equality><joint joint1="j" joint2="k"/></equality>'
    rest += '<actuator><motor joint="j"/></actuator>'

    def loaded(flags: str, contacts: bool = False):
        text = mjcf(world, rest, f"<option><flag {flags}/></option>")
        return load(write(tmp_path, text, "m.xml"), contacts=contacts)

    def acting(flags: str) -> set[str]:
        model = loaded(flags)
        data = model.body("a").dynamics
        there = {"spring": data.stiffness[0], "damper": data.damping[0],
                 "frictionloss": data.friction[0], "limit": math.isfinite(data.upper[0]),
                 "equality": model.row_count, "actuation": len(model.actuators)}  # fmt: skip
        return {word for word, x in there.items() if x}

    every = acting('energy="enable"')
    assert len(every) == 6
    for word in every:
        assert acting(f'{word}="disable"') == every - {word}
    assert acting('constraint="disable"') == {"spring", "damper", "actuation"}
    assert len(loaded('energy="enable"', contacts=True).contacts) == 2
    assert len(loaded('filterparent="disable"', contacts=True).contacts) == 3
    assert not loaded('contact="disable"', contacts=True).contacts


def test_a_medium_is_told(tmp_path):
    option = '<option density="1.2" viscosity="0" wind="0 0 0"/>'
    with pytest.warns(LeftOutWarning, match="density of <option> is not read") as told:
        load(write(tmp_path, mjcf(MODELS["hinge"], option=option), "m.xml"))
    assert "viscosity" not in str(told[0].message)


def test_the_range_of_a_ball_is_told(tmp_path):
    ball = MODELS["ball"].replace('type="ball"', 'type="ball" range="0 60"')
    with pytest.warns(LeftOutWarning, match="range of a ball joint"):
        load(write(tmp_path, mjcf(ball), "m.xml"))


def test_what_acts_along_world_axes_on_a_free_joint_is_told(tmp_path):
    """MuJoCo's armature, springs and friction, so that a body that turns moves otherwise."""
    free = MODELS["free"].replace('<freejoint name="j"/>', '<joint name="j" type="free"{}/>')
    for word, told in {
        "armature": "its armature resists body-fixed accelerations",
        "frictionloss": "its frictionloss resists body-fixed velocities",
        "stiffness": "its spring resists the screw from rest",
    }.items():
        with pytest.warns(LeftOutWarning, match=told):
            load(write(tmp_path, mjcf(free.format(f' {word}="0.1"')), "m.xml"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(write(tmp_path, mjcf(free.format("")), "m.xml"))


@pytest.mark.parametrize(
    ("joint", "motor", "told"),
    [
        ('stiffness="1" springyield=".1"', "", "springyield is not read"),
        ('actuatorfrcrange="-1 5"', "", "its actuatorfrcrange is from -1 to 5"),
        ("", 'armature=".1"', "actuator 'm' armature is not read"),
        ("", 'damping=".1"', "actuator 'm' damping is not read"),
        ("", 'nsample="9" delay=".01"', "actuator 'm' delay is not read"),
    ],
)
def test_what_a_joint_or_a_motor_does_besides_is_told(tmp_path, joint, motor, told):
    world = MODELS["hinge"].replace('name="j"', f'name="j" {joint}')
    text = mjcf(world, f'<actuator><motor name="m" joint="j" {motor}/></actuator>')
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError:
        pytest.skip("this MuJoCo has no such word")
    with pytest.warns(LeftOutWarning, match=told):
        load(write(tmp_path, text, "m.xml"))


def test_actuators_of_a_disabled_group_do_not_act(tmp_path):
    rest = '<actuator><motor name="m" joint="j" group="2"/><motor name="n" joint="j"/></actuator>'
    text = mjcf(MODELS["hinge"], rest, '<option actuatorgroupdisable="2"/>')
    model = load(write(tmp_path, text, "m.xml"))
    assert [x.name for x in model.actuators] == ["n"]


def test_few_bytes_make_no_large_height_field(tmp_path):
    """Counts in the file, and in the head of a picture."""
    start = time.perf_counter()
    ground = '<geom type="hfield" hfield="h"/>'
    counts = '<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'
    with pytest.raises(ModelError, match="100000 x 100000 heights; give 1 to 4,000,000"):
        load(write(tmp_path, mjcf(ground, counts), "m.xml"))
    head = struct.pack(">4sIIBBBBB", b"IHDR", 60_000, 60_000, 8, 0, 0, 0, 0)
    (tmp_path / "h.png").write_bytes(b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head)
    picture = '<asset><hfield name="h" file="h.png" size="1 1 1 1"/></asset>'
    with pytest.warns(LeftOutWarning, match="60000 x 60000 heights"):
        load(write(tmp_path, mjcf(ground, picture), "m.xml"))
    assert time.perf_counter() - start < 2.0


def test_welded_bodies_and_sites_are_frames(tmp_path):
    model = load(write(tmp_path, mjcf(MODELS["welded"]), "m.xml"))
    assert model.bodies == ("a",)
    assert {"tool", "tip", "world"} <= set(model.frames)
    body, T = model.frame("tip")
    assert body == 0
    np.testing.assert_allclose(tuple(T.p), (0.0, 0.1, 0.5))


def test_free_base(tmp_path):
    bolted = (
        f'<body name="base" pos="0 0 1">{GEOM}<body name="a"><joint name="j"/>{GEOM}</body></body>'
    )
    path = write(tmp_path, mjcf(bolted), "m.xml")
    assert load(path).nv == 1
    model = load(path, base="free")
    assert model.nv == 7
    assert isinstance(model.body("base").joint, Free)
    floating = load(write(tmp_path, mjcf(MODELS["free"]), "f.xml"), base="free")
    assert floating.nv == 7
    hung = write(tmp_path, mjcf(MODELS["hinge"]), "h.xml")
    with pytest.raises(ModelError, match="hang on the world"):
        load(hung, base="free")


# -- equalities --------------------------------------------------------------------------------


def test_connect_and_weld_are_loops(tmp_path):
    """At qpos0 MuJoCo's equalities hold, and so do the loops made of them."""
    bodies = (
        f'<body name="a" pos="0 0 1" euler="10 20 30"><joint name="i" axis="0 1 0"/>{GEOM}</body>'
        f'<body name="b" pos="1 0 1" euler="0 50 0"><joint name="j" axis="0 1 0"/>{GEOM}</body>'
    )
    equalities = (
        '<equality><connect name="c" body1="a" body2="b" anchor=".3 .2 .1"/>'
        '<weld name="w" body1="b" body2="a" anchor=".1 0 .2"/>'
        '<connect name="ground" body1="b" anchor=".5 .5 .5"/></equality>'
    )
    model = load(write(tmp_path, mjcf(bodies, equalities), "m.xml"))
    assert [loop.name for loop in model.loops] == ["c", "w", "ground"]
    assert [type(loop.joint) for loop in model.loops] == [Spherical, Fixed, Spherical]
    where = [*poses(model, model.neutral()), np.eye(4)]
    for loop in model.loops:
        a = where[loop.body_a] @ loop.placement_a.matrix()
        b = where[loop.body_b] @ loop.placement_b.matrix()
        np.testing.assert_allclose(a[:3, 3], b[:3, 3], atol=1e-12)
        if isinstance(loop.joint, Fixed):
            np.testing.assert_allclose(a, b, atol=1e-12)


def test_joint_equalities_are_couplings(tmp_path):
    bodies = MODELS["reference"] + f'<body name="b"><joint name="u" ref="0.5"/>{GEOM}</body>'
    rest = (
        '<equality><joint name="e" joint1="k" joint2="u" polycoef=".1 2 0 0 0"/>'
        '<joint name="f" joint1="u" polycoef=".3 0 0 0 0"/>'
        '<joint name="off" joint1="j" active="false"/></equality>'
    )
    option = '<compiler angle="radian"/>'
    model = load(write(tmp_path, mjcf(bodies, rest, option), "m.xml"))
    first, second = model.couplings
    assert first.terms == (("j+k", 1, 1.0), ("u", 0, -2.0))
    np.testing.assert_allclose(first.offset, 0.1 + 0.7 - 2 * 0.5)
    assert second.terms == (("u", 0, 1.0),)
    np.testing.assert_allclose(second.offset, 0.8)


def test_what_cannot_be_kept_is_refused(tmp_path):
    rest = '<equality><joint joint1="j" polycoef="0 1 2 0 0"/></equality>'
    with pytest.raises(ModelError, match="polynomial of degree 2"):
        load(write(tmp_path, mjcf(MODELS["hinge"], rest), "m.xml"))


# -- files -------------------------------------------------------------------------------------


def stl() -> bytes:
    """A tetrahedron."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *corners[list(f)].ravel(), 0) for f in faces)
    return b"\0" * 80 + struct.pack("<I", len(faces)) + body


MESHED = (
    '<asset><mesh name="part" file="part.stl" scale=".5 .5 .5"/>'
    '<texture name="t" type="2d" file="/etc/passwd"/><material name="m" texture="t"/></asset>'
)


def test_meshes_give_inertia(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "part.stl").write_bytes(stl())
    world = '<body name="a"><joint/><geom type="mesh" mesh="part"/></body>'
    option = '<compiler meshdir="meshes"/><asset><mesh file="part.stl" scale=".5 .5 .5"/></asset>'
    path = write(tmp_path, mjcf(world, option=option), "m.xml")
    check(path)
    (shape,) = load(path).shapes
    assert shape.geometry.file() == (tmp_path / "meshes" / "part.stl").resolve()
    assert shape.geometry.scale == (0.5, 0.5, 0.5)
    np.testing.assert_allclose(shape.placement.matrix(), np.eye(4), atol=1e-7)


def test_shapes_are_those_of_mujoco(tmp_path):
    """Kind, size, place, colour and role of every geom, with defaults, frames and materials; the
    mesh, which does not exist, keeps the place that the file gives it.
    """
    option = (
        '<compiler angle="radian"/><default><mesh scale=".001 .001 .002"/>'
        '<default class="hull"><geom group="3" rgba="1 0 0 .5" type="capsule"/></default></default>'
        '<asset><mesh name="part" file="part.dae"/><material name="paint" rgba=".2 .4 .6 1"/>'
        '<texture name="t" type="2d" builtin="checker" rgb1=".5 1 1" width="8" height="8"/>'
        '<material name="tiled" texture="t" rgba="1 .5 1 1"/>'
        '<hfield name="hill" nrow="2" ncol="3" size="1 2 .5 .1" elevation="0 0 1 0 2 4"/></asset>'
    )
    world = (
        '<geom name="floor" type="plane" size="1 1 1" material="tiled"/>'
        '<geom name="hill" type="hfield" hfield="hill" pos="0 0 -1"/>'
        '<body name="a" pos="0 0 1"><joint axis="1 2 3"/>'
        '<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>'
        '<geom name="hull" class="hull" fromto="0 0 0 .1 .2 .3" size=".05"/>'
        '<geom name="look" type="ellipsoid" size=".1 .2 .3" contype="0" conaffinity="0"'
        ' material="paint"/>'
        '<frame pos="1 2 3" euler="0.3 0.4 0.5"><geom name="skin" type="mesh" mesh="part"'
        ' pos=".1 .2 .3" euler="0.5 0.6 0.7"/><geom name="block" type="box" size="1 2 3"'
        ' pos=".1 .2 .3" euler="0.5 0.6 0.7"/></frame></body>'
    )
    shapes = {x.name: x for x in load(write(tmp_path, mjcf(world, option=option), "m.xml")).shapes}
    assert {n: (x.body, x.role) for n, x in shapes.items()} == {
        "floor": (-1, "both"), "hill": (-1, "both"), "hull": (0, "collision"),
        "look": (0, "visual"), "skin": (0, "both"), "block": (0, "both"),
    }  # fmt: skip
    assert shapes["floor"].color == (0.5, 0.5, 1.0, 1.0)
    assert shapes["hull"].color == (1.0, 0.0, 0.0, 0.5)
    assert shapes["look"].color == (0.2, 0.4, 0.6, 1.0)
    assert shapes["look"].geometry == Ellipsoid((0.1, 0.2, 0.3))
    assert shapes["block"].geometry == Box((2, 4, 6))
    capsule = shapes["hull"].geometry
    assert capsule.radius == 0.05 and capsule.length == pytest.approx(math.sqrt(0.14))
    np.testing.assert_allclose(
        np.array(shapes["hull"].placement.matrix())[:3, 2], -np.array([1, 2, 3]) / math.sqrt(14)
    )
    hill = shapes["hill"].geometry
    np.testing.assert_allclose(hill.heights, [[0, 0.25, 0.5], [0, 0, 0.125]])  # y up
    assert hill.extent == (2.0, 4.0)
    skin = shapes["skin"]
    assert skin.geometry.scale == (0.001, 0.001, 0.002)
    with pytest.raises(ModelError, match=r"mesh 'part.dae': does not exist"):
        skin.geometry.file()
    np.testing.assert_allclose(skin.placement.matrix(), shapes["block"].placement.matrix(),
                               atol=1e-12)  # fmt: skip


def test_pictures_are_never_opened(tmp_path):
    (tmp_path / "part.stl").write_bytes(stl())
    world = '<body name="a"><joint/><geom type="mesh" mesh="part" material="m"/></body>'
    assert load(write(tmp_path, mjcf(world, option=MESHED), "m.xml")).nv == 1


def test_meshes_that_no_inertia_needs_are_never_opened(tmp_path):
    world = (
        '<geom type="mesh" mesh="part"/><body name="a"><joint/><geom type="mesh" mesh="part"/>'
        '<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/></body>'
    )
    assert load(write(tmp_path, mjcf(world, option=MESHED), "m.xml")).nv == 1


@pytest.mark.parametrize("file", ["../part.stl", "{outside}", "link.stl", "/dev/zero.stl"])
def test_meshes_outside_the_roots_are_refused(file, tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    outside = write(tmp_path, stl(), "part.stl")
    os.symlink(outside, inside / "link.stl")
    option = f'<asset><mesh name="part" file="{file.format(outside=outside)}"/></asset>'
    world = '<body name="a"><joint/><geom type="mesh" mesh="part"/></body>'
    path = write(inside, mjcf(world, option=option), "m.xml")
    with pytest.raises(ModelError, match=r"part|link|zero"):
        load(path)
    if "zero" not in file:
        assert load(path, roots=[tmp_path]).nv == 1


def test_includes_are_inserted(tmp_path):
    write(tmp_path, f"<mujocoinclude>{MODELS['hinge']}</mujocoinclude>", "body.xml")
    (tmp_path / "sub").mkdir()
    write(
        tmp_path / "sub",
        '<mujoco><option gravity="0 0 -1"/><include file="more.xml"/></mujoco>',
        "o.xml",
    )
    write(tmp_path / "sub", '<mujoco><compiler angle="radian"/></mujoco>', "more.xml")
    path = write(
        tmp_path, mjcf('<include file="body.xml"/>', '<include file="sub/o.xml"/>'), "m.xml"
    )
    model = load(path)
    assert model.gravity == (0.0, 0.0, -1.0)
    check_against = write(tmp_path, mjcf(MODELS["hinge"], '<compiler angle="radian"/>'), "flat.xml")
    check(check_against, model)


def inside(world: str) -> str:
    return f"<mujoco><worldbody>\n{world}</worldbody></mujoco>"


def moved(joint: str = "<joint/>", shape: str = GEOM, word: str = "") -> str:
    return inside(f"<body {word}>{joint}{shape}</body>")


def inertial(words: str) -> str:
    return f'<inertial pos="0 0 0" {words}/>'


HOSTILE = {
    "include itself": '<mujoco><include file="m.xml"/></mujoco>',
    "include twice": '<mujoco><include file="o.xml"/><include file="o.xml"/></mujoco>',
    "include outside": '<mujoco><include file="/etc/passwd"/></mujoco>',
    "include above": '<mujoco><include file="../../../../etc/hostname"/></mujoco>',
    "include a device": '<mujoco><include file="/dev/zero"/></mujoco>',
    "include nothing": "<mujoco><include/></mujoco>",
    "include missing": '<mujoco><include file="none.xml"/></mujoco>',
    "replicate bomb": inside('<replicate count="900">' * 4 + GEOM + "</replicate>" * 4),
    "replicate much": inside(f'<replicate count="2000000000">{GEOM}</replicate>'),
    "replicate nan": inside(f'<replicate count="nan">{GEOM}</replicate>'),
    "composite": inside('<body><composite type="cable" count="100000 1000 1"/></body>'),
    "flexcomp": inside('<body><flexcomp name="f" type="grid" count="999 999 9"/></body>'),
    "attach": inside('<attach model="x" prefix="p"/>'),
    "entity": '<!DOCTYPE m [<!ENTITY a "b">]>\n<mujoco/>',
    "deep": inside("<body>" * 5000 + "</body>" * 5000),
    "zero quaternion": moved(word='quat="0 0 0 0"'),
    "zero axis": moved('<joint axis="0 0 0"/>'),
    "massless": moved(shape=""),
    "negative mass": moved(shape='<geom size="1" mass="-1"/>'),
    "nan": moved(shape='<geom size="1" mass="nan"/>'),
    "infinite": moved(word='pos="0 0 1e999"'),
    "hexadecimal": moved(word='pos="0 0 0x1"'),
    "triangle": moved(shape=inertial('mass="1" diaginertia="1 1 9"')),
    "range": moved('<joint range="2 1" limited="true"/>'),
    "unknown word": moved('<joint wobble="1"/>'),
    "unknown element": inside("<bogus/>"),
    "unknown section": "<mujoco>\n<robot/></mujoco>",
    "two bodies": inside(f'<body name="a">{GEOM}</body><body name="a">{GEOM}</body>'),
    "two joints": moved('<joint name="a"/><joint name="a"/>'),
    "mesh of unknown kind": '<mujoco><asset><mesh name="m" file="m.dae"/></asset><worldbody>'
    '<body><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>',
    "tendon equality": '<mujoco><equality><tendon tendon1="t"/></equality></mujoco>',
    "quotes": moved('<joint axis="1 0"/>', "", "name='\"/>&lt;'"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_time(name, tmp_path):
    write(tmp_path, "<mujoco/>", "o.xml")
    path = write(tmp_path, HOSTILE[name], "m.xml")
    start = time.process_time()
    with pytest.raises(ModelError, match=r"\.xml line \d+"):
        load(path)
    assert time.process_time() - start < 2.0
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists()


def test_lines_lead_back_to_the_file(tmp_path):
    world = f'<body name="a">\n<joint/>\n{GEOM}\n<body name="b">\n<joint/></body></body>'
    path = write(tmp_path, mjcf(world), "m.xml")
    with pytest.raises(ModelError, match=r"mjMINVAL.*m\.xml line 7"):
        load(path)


def test_nothing_is_written(tmp_path, monkeypatch):
    """MuJoCo logs warnings to a file in the working directory; loading a model must not."""
    monkeypatch.chdir(tmp_path)
    world = '<body name="a"><joint/><joint/><geom size=".1"/></body>'
    (tmp_path / "in").mkdir()
    load(write(tmp_path / "in", mjcf(world), "m.xml"))
    assert os.listdir(tmp_path) == ["in"]


def test_without_mujoco(tmp_path, monkeypatch):
    """The error says which extra to install."""
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ExtraMissingError, match=r"mozzi\[mjcf\]"):
        load(write(tmp_path, mjcf(MODELS["hinge"]), "m.xml"))


def test_names_that_meet(tmp_path):
    """Names made up for joints give way to names in the file."""
    world = (
        f'<body name="a"><joint name="x"/><joint name="y"/>{GEOM}<body name="t">{GEOM}'
        f'<body name="b"><joint name="t_fixed"/>{GEOM}</body></body></body>'
        f'<body name="c"><joint name="x+y"/>{GEOM}</body>'
    )
    model = load(write(tmp_path, mjcf(world), "m.xml"))
    assert model.joint_names == ("x+y_", "t_fixed", "x+y")
