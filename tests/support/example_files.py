"""The files that examples of docstrings load: an arm, a ball, and a four-bar linkage."""

from __future__ import annotations

from pathlib import Path

INERTIAL = """<inertial><origin xyz="0.1 0.02 0.3"/><mass value="1.5"/>
  <inertia ixx="0.1" iyy="0.12" izz="0.08" ixy="0.01" ixz="0.005" iyz="-0.01"/></inertial>"""
JOINT = """<joint name="joint_{0}" type="{3}"><parent link="{1}"/><child link="link_{0}"/>
  <origin xyz="0.1 0 0.4" rpy="0.1 0.2 0"/><axis xyz="{2}"/>
  <limit lower="-2" upper="2" effort="50" velocity="5"/><dynamics damping="0.1"/></joint>"""
ARM = f"""<robot name="arm"><link name="base"/>
<link name="link_1">{INERTIAL}</link><link name="link_2">{INERTIAL}</link>
<link name="link_3">{INERTIAL}</link><link name="tool"/>
{JOINT.format(1, "base", "0 0 1", "revolute")}
{JOINT.format(2, "link_1", "0 1 0", "revolute")}
{JOINT.format(3, "link_2", "1 0 0", "prismatic")}
<joint name="flange" type="fixed"><parent link="link_3"/><child link="tool"/>
  <origin xyz="0 0 0.2"/></joint></robot>"""

BALL = f"""<robot name="ball"><link name="ball">{INERTIAL}
<collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""

LINK = """<link name="{0}"><pose>{1}</pose><inertial><mass>1</mass>
  <inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>"""
HINGE = """<joint name="{0}_{1}" type="revolute"><parent>{0}</parent><child>{1}</child>
  <pose>{2}</pose><axis><xyz>0 1 0</xyz></axis></joint>"""
FOUR_BAR = f"""<sdf version="1.7"><model name="four_bar">
{LINK.format("crank", "0 0 0 0 0 0")}{LINK.format("coupler", "0.2 0 1 0 0 0")}
{LINK.format("rocker", "2 0 0 0 0 0")}
{HINGE.format("world", "crank", "0 0 0 0 0 0")}{HINGE.format("crank", "coupler", "0 0 0 0 0 0")}
{HINGE.format("world", "rocker", "0 0 0 0 0 0")}{HINGE.format("coupler", "rocker", "0 0 1 0 0 0")}
</model></sdf>"""


def write(folder: Path) -> None:
    """Put them into a folder."""
    for name, text in {"arm.urdf": ARM, "ball.urdf": BALL, "four_bar.sdf": FOUR_BAR}.items():
        (folder / name).write_text(text)
