"""What a robot file says besides its mechanism: start poses, named states, actuators; and where
robots and their packages are found.
"""

import math
import os
import sysconfig
import warnings
from pathlib import Path

import numpy as np
import pytest
from loaders.support import write

import mozzi as mz
from mozzi.errors import LeftOutWarning, ModelError
from mozzi.loaders import load

ZOO = Path(sysconfig.get_paths()["purelib"], "cmeel.prefix/share/example-robot-data/robots")

MJCF = """<mujoco model="two"><compiler angle="radian"/>
<default><position kp="30" kv="2"/><default class="strong"><motor gear="50" ctrlrange="-1 1"/>
</default></default>
<worldbody>
<geom name="floor" type="plane" size="1 1 1"/>
<body name="trunk" pos="0 0 1" quat="0.6 0 0.8 0"><freejoint name="root"/>
 <inertial mass="3" pos="0.1 0 0" diaginertia=".1 .2 .25"/>
 <body name="leg" pos="0 .2 0"><joint name="hip" axis="0 1 0.2" ref="0.3"/>
  <inertial mass="1" pos="0 0 -.2" diaginertia=".02 .02 .01"/>
  <body name="foot" pos="0 0 -.4"><joint name="knee" axis="1 0 0"/>
   <joint name="slide" type="slide" axis="0 0 1"/>
   <inertial mass=".5" pos="0 0 -.1" diaginertia=".01 .01 .005"/></body></body></body>
</worldbody>
<actuator><position name="hip servo" joint="hip" forcerange="-20 20" gear="2"/>
<motor name="knee motor" joint="knee" class="strong"/>
<velocity name="slider" joint="slide" kv="5"/>
<muscle name="muscle" joint="hip"/></actuator>
<sensor><jointpos joint="hip"/></sensor>
<keyframe><key name="crouch" qpos="1 2 3  0 1 0 0  0.5  0.6 0.07"/><key qpos="0 0 0 1 0 0 0 0 0 0"/>
</keyframe></mujoco>"""
WITHOUT_MUSCLE = MJCF.replace('<muscle name="muscle" joint="hip"/>', "")


@pytest.fixture
def two(tmp_path) -> Path:
    return write(tmp_path, MJCF, "two.xml")


def quiet(path, **options) -> mz.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        return load(path, **options)


def test_bodies_start_where_the_file_puts_them(two):
    """MuJoCo's own forward kinematics at qpos0 and at a keyframe is that of the named states."""
    mujoco = pytest.importorskip("mujoco")
    model = quiet(two)
    assert list(model.configurations) == ["start", "crouch", "key_1"]
    theirs = mujoco.MjModel.from_xml_string(WITHOUT_MUSCLE)
    data = mujoco.MjData(theirs)
    for name, qpos in (("start", theirs.qpos0), ("crouch", theirs.key_qpos[0])):
        data.qpos[:] = qpos
        mujoco.mj_forward(theirs, data)
        T = mz.forward_kinematics(model, model.configurations[name])
        for k, body in enumerate(model.bodies):
            np.testing.assert_allclose(T[k, :3, 3], data.body(body).xpos, atol=1e-12)
            np.testing.assert_allclose(T[k, :3, :3].ravel(), data.body(body).xmat, atol=1e-12)
    assert model.neutral()[2] == 0.0  # as before


def test_actuators_drive_as_in_mujoco(two):
    """Joint forces of all actuators at a state and controls, clipped ones too, against MuJoCo."""
    mujoco = pytest.importorskip("mujoco")
    model = quiet(two)
    assert [x.name for x in model.actuators] == ["hip servo", "knee motor", "slider"]
    assert [x.kind for x in model.actuators] == ["position", "motor", "velocity"]
    theirs = mujoco.MjModel.from_xml_string(WITHOUT_MUSCLE)
    data = mujoco.MjData(theirs)
    q = model.configurations["crouch"]
    v = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, -0.7, 0.8, 0.9])
    data.qpos[:] = theirs.key_qpos[0]
    data.qvel[:] = [*v[3:6], *v[:3], *v[6:]]
    for controls in ([0.9, 0.5, -0.3], [40.0, 7.0, 2.0], [-40.0, -7.0, 0.0]):
        data.ctrl[:] = controls
        mujoco.mj_forward(theirs, data)
        tau = mz.actuate(model, controls)(0.0, q, v)
        np.testing.assert_allclose(np.asarray(tau, float)[6:], data.qfrc_actuator[6:], atol=1e-12)
        assert not np.any(np.asarray(tau, float)[:6])


def test_motors_of_one_joint_exert_its_effort_at_most(tmp_path):
    """actuatorfrcrange, of what all of them exert together."""
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><body><joint name="j" actuatorfrcrange="-4 4"/><geom size="1"/>
    </body></worldbody><actuator><motor joint="j" gear="3"/><motor joint="j"/></actuator>
    </mujoco>"""
    path = tmp_path / "m.xml"
    path.write_text(text)
    model, theirs = mz.load(path), mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    for controls in ([1.0, 0.5], [1.0, 1.5], [-2.0, 0.5]):
        data.ctrl[:] = controls
        mujoco.mj_forward(theirs, data)
        tau = np.asarray(mz.actuate(model, controls)(0.0, [0.0], [0.0]), float)
        np.testing.assert_allclose(tau, data.qfrc_actuator, atol=1e-12)


def test_a_servo_holds_its_target(two):
    """Position servos, compiled along, bring the joint to where gear·q is the control."""
    model = quiet(two).lock("root").with_gravity((0, 0, 0))
    law = mz.actuate(model, [0.4, 0.0, 0.0])
    motion = mz.simulate(model, np.zeros(3), np.zeros(3), 6.0, 1e-3, torque=law, record_every=100)
    assert motion.q[-1, 0] == pytest.approx(0.2, abs=1e-3)
    ramp = mz.actuate(model, lambda t, q, v: [0.1 * t, 0.0, 0.0])
    moved = mz.simulate(model, np.zeros(3), np.zeros(3), 1.0, 1e-3, torque=ramp)
    assert moved.q[-1, 0] > 0.01
    with pytest.raises(mz.ConfigurationError, match=r"controls have shape \(2,\); give 3 numbers"):
        mz.actuate(model, [1.0, 2.0])
    with pytest.raises(mz.ConfigurationError, match="has no actuators"):
        mz.actuate(mz.Builder("x").build(), [])


def test_what_is_left_out_is_named_once(two):
    with pytest.warns(LeftOutWarning) as told:
        load(two)
    (warning,) = told
    text = str(warning.message)
    assert "actuator 'muscle' is not read" in text and "<sensor> sensors are not read" in text
    assert "(line 17)" in text and Path(warning.filename) == Path(__file__)


ARM = """<robot name="arm"><link name="base"/><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="b">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
</link>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
<joint name="k" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
<mimic joint="j" multiplier="-2" offset="0.1"/></joint></robot>"""
SRDF = """<robot name="arm"><group name="all"><joint name="j"/></group>
<group_state name="home" group="all"><joint name="j" value="0.5"/></group_state>
<group_state name="away" group="all"><joint name="j" value="0.7"/><joint name="none" value="1"/>
</group_state></robot>"""


def test_group_states_of_an_srdf(tmp_path):
    """The one beside the file or in the package is found; followers follow; or it is named."""
    (tmp_path / "urdf").mkdir()
    (tmp_path / "srdf").mkdir()
    path = write(tmp_path / "urdf", ARM, "arm.urdf")
    other = write(tmp_path, SRDF, "other.srdf")
    assert not load(path).configurations
    named = load(path, srdf=other)
    np.testing.assert_allclose(named.configurations["home"], [0.5, -0.9])
    write(tmp_path / "srdf", SRDF, "arm.srdf")
    found = load(path)
    assert list(found.configurations) == ["home", "away"]
    np.testing.assert_allclose(found.configurations["away"], [0.7, -1.3])
    mz.simulate(found, found.configurations["home"], [0.0, 0.0], 0.01, 1e-2)
    write(tmp_path / "srdf", "<robot", "arm.srdf")
    with pytest.warns(LeftOutWarning, match="SRDF file cannot be read"):
        assert not load(path).configurations
    with pytest.raises(ModelError, match="well-formed"):
        load(path, srdf=tmp_path / "srdf" / "arm.srdf")


def test_couplings_on_request(tmp_path):
    path = write(tmp_path, ARM, "arm.urdf")
    assert len(load(path).couplings) == 1
    alone = load(path, couplings=False)
    assert not alone.couplings and alone == load(path).without_coupling("k")
    mz.simulate(alone, [0.5, 0.5], [0.0, 0.0], 0.01, 1e-2)


def test_an_sdf_model_starts_at_its_pose(tmp_path):
    text = """<sdf version="1.7"><model name="box"><pose>1 2 3 0 0 1.5707963267948966</pose>
    <link name="a"><pose>0.5 0 0 0 0 0</pose></link></model></sdf>"""
    path = write(tmp_path, text, "m.sdf")
    model = load(path, base="free")
    q = model.configurations["start"]
    half = math.sqrt(0.5)
    np.testing.assert_allclose(q, [1.0, 2.5, 3.0, 0.0, 0.0, half, half], atol=1e-12)
    assert model.neutral()[0] == 0.0


# -- robots and packages -------------------------------------------------------------------------


def test_robots_by_name():
    pytest.importorskip("pinocchio", reason="example-robot-data is not installed")
    if not ZOO.exists():
        pytest.skip("example-robot-data is not installed")
    assert quiet("panda").nv == 9 and quiet("ur5").nv == 6
    assert quiet("solo12", base="free").nv == 18
    assert "standing" in quiet("solo12").configurations
    with pytest.raises(ModelError, match=r"robot 'pandda': .* did you mean 'panda'"):
        load("pandda")


def test_a_missing_file_is_not_a_line(tmp_path):
    with pytest.raises(ModelError) as caught:
        load(tmp_path / "none.urdf")
    assert "does not exist" in str(caught.value) and "line" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "below"),
    [("ROS_PACKAGE_PATH", ""), ("ROS_PACKAGE_PATH", "repo/deep"), ("AMENT_PREFIX_PATH", "share")],
)
def test_packages_of_the_environment(variable, below, tmp_path, monkeypatch):
    shape = '<visual><geometry><mesh filename="package://looks/x.stl"/></geometry></visual>'
    path = write(tmp_path, ARM.replace('<link name="base"/>', f'<link name="base">{shape}</link>'))
    home = tmp_path / "ws" / below / "looks"
    home.mkdir(parents=True)
    write(home, "<package><name>looks</name></package>", "package.xml")
    write(home, "solid", "x.stl")
    monkeypatch.delenv(variable, raising=False)
    (lost,) = load(path).shapes
    assert "does not exist below" in lost.geometry.fault
    monkeypatch.setenv(variable, os.pathsep.join(["/nowhere", str(tmp_path / "ws")]))
    (shape,) = load(path).shapes
    assert shape.geometry.file() == (home / "x.stl").resolve()


def test_a_free_base_of_sdf_starts_where_its_pose_puts_it(tmp_path):
    """Whatever frames and shapes the file has besides."""
    path = tmp_path / "cart.sdf"
    path.write_text(
        '<sdf version="1.7"><model name="cart"><pose>0.1 0.2 0.3 0 0 0</pose><link name="body">'
        "<inertial><mass>2</mass></inertial><collision name='hull'><geometry><sphere><radius>0.1"
        "</radius></sphere></geometry></collision></link></model></sdf>", encoding="utf-8",
    )  # fmt: skip
    model = load(path, base="free")
    assert model.joint_names == ("root_joint",)
    assert model.configurations["start"][:3].tolist() == [0.1, 0.2, 0.3]
