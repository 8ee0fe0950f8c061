"""Wheels of robots from files: formats know nothing of rolling, their models roll all the same."""

from __future__ import annotations

import numpy as np
import pytest

import mozzi as mz

RADIUS, TRACK = 0.1, 0.5

WHEEL = """
<link name="{side}_wheel">
  <inertial><mass value="0.6"/>
    <inertia ixx="2e-3" iyy="2e-3" izz="3e-3" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision name="{side}_tyre"><geometry><cylinder radius="0.1" length="0.04"/></geometry>
  </collision>
  <collision name="{side}_ball"><geometry><sphere radius="0.1"/></geometry></collision>
</link>
<joint name="{side}" type="continuous">
  <parent link="base"/><child link="{side}_wheel"/><axis xyz="0 0 1"/>
  <origin xyz="0 {y} 0.1" rpy="-1.5707963267948966 0 0"/>
</joint>"""

ROBOT = (
    """<robot name="rover"><link name="base">
  <inertial><origin xyz="0.05 0 0.2"/><mass value="8"/>
    <inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    + WHEEL.format(side="left", y=0.5 * TRACK)
    + WHEEL.format(side="right", y=-0.5 * TRACK)
    + """<link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="arm" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <origin xyz="0.1 0 0.4"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  </robot>"""
)


@pytest.fixture(scope="module")
def rover(tmp_path_factory) -> mz.Model:
    """Two wheels that are driven, level as casters would keep it."""
    path = tmp_path_factory.mktemp("rover") / "rover.urdf"
    path.write_text(ROBOT)
    model = mz.load(path, base="free").with_shape(None, mz.Plane(), name="floor")
    with pytest.raises(mz.ModelError, match=r"\(Cylinder\) and 'floor' \(Plane\).*with_shape\("):
        model.with_rolling("left_contact", "left_tyre", "floor")
    model = model.with_loop("level", None, "base", mz.Planar())
    for side in ("left", "right"):
        rim = f"{side}_rim"
        model = model.with_shape(f"{side}_wheel", mz.Disc(RADIUS), name=rim)
        model = model.with_rolling(f"{side}_contact", rim, "floor")
    return model


def test_a_robot_from_a_file_rolls(rover):
    """Wheels at two speeds: it drives in a circle, as its track says."""
    q = mz.assemble(rover, rover.neutral())
    spin = {"left": 3.0, "right": 5.0}
    ahead, turn = RADIUS * 4.0, RADIUS * 2.0 / TRACK
    laws = {name: (lambda t, w=w: w * t) for name, w in spin.items()}
    motion = mz.simulate(
        rover, q, np.zeros(rover.nv), 1.0, 0.01, "semi_implicit", prescribed=laws | {"arm": 0.0}
    )
    angle, way = turn * motion.t, ahead / turn
    path = np.stack([way * np.sin(angle), way * (1.0 - np.cos(angle))], axis=-1)
    assert motion.q[:, :2] == pytest.approx(path, abs=1e-5)
    ball = rover.without_rolling("left_contact").with_rolling("left", "left_ball", "floor")
    assert mz.loop_jacobian(ball, q).shape == mz.loop_jacobian(rover, q).shape


def test_it_finds_its_way(rover):
    """Straight to its side, the arm where it was told."""
    q = mz.assemble(rover, rover.neutral())
    goal = mz.pose(rover, q, "arm") @ mz.SE3.translation(0.0, 0.6, 0.0).matrix()
    found = mz.inverse_kinematics(rover, {"arm": goal}, q).check()
    assert found.path is not None
    step = mz.difference(rover, found.path[:-1], found.path[1:])
    A = mz.loop_jacobian(rover, mz.integrate(rover, found.path[:-1], 0.5 * step))
    assert np.abs(A @ step[..., None]).max() < 1e-8
    assert np.abs(mz.loop_residual(rover, found.path)).max() < 1e-10
