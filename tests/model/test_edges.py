"""Numbers at the edge: what would overflow or could not be divided by is refused at the door, with
the number and its place; what is just inside gives finite dynamics.
"""

from __future__ import annotations

import numpy as np
import pytest
from loaders.support import joint, link, robot, write

import mozzi as mz
from mozzi.errors import ModelError
from mozzi.lie import Inertia, Vec3
from mozzi.model import Builder, Prismatic, Revolute

ROUND = Inertia(1.0, Vec3(0.1, 0.2, 0.3), 0.1 * np.eye(3))


def inertial(mass: str = "1", ixx: str = "1", iyy: str = "1", xyz: str = "0 0 0") -> str:
    return (
        f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/>'
        f'<inertia ixx="{ixx}" iyy="{iyy}" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def two(inside: str) -> str:
    return robot(link("a"), link("b", inside), joint())


MIMIC = joint("k", "b", "c", inside='<limit lower="-1" upper="1" effort="1" velocity="1"/>{}')
URDF = {
    "moments": (two(inertial(ixx="1e308", iyy="1e308")), "1e308", 4),
    "a moment": (two(inertial(ixx="-1e308")), "1e308", 4),
    "an offset": (two(inertial(xyz="1e154 0 0")), "1e154", 4),
    "a mass": (two(inertial("1e308")), "1e308", 4),
    "a mass of next to nothing": (two(inertial("1e-310")), "1e-310", 4),
    "a moment of next to nothing": (two(inertial("0", "1e-310", "1e-310")), "1e-310", 4),
    "the offset of a joint": (
        robot(link("a"), link("b"), joint(origin='<origin xyz="0 1e160 0"/>')), "1e160", 5,
    ),
    "both together": (two(inertial("1e40", xyz="1e40 0 0")), "too large", 4),
    "a multiplier": (
        robot(
            link("a"), link("b"), link("c"), joint(),
            MIMIC.format('<mimic joint="j" multiplier="1e200"/>'),
        ), "1e200", 7,
    ),
    "an offset of a mimic": (
        robot(
            link("a"), link("b"), link("c"), joint(),
            MIMIC.format('<mimic joint="j" offset="-1e200"/>'),
        ), "1e200", 7,
    ),
    "damping": (
        robot(link("a"), link("b"), joint(inside='<dynamics damping="1e300"/>')), "1e300", 5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", URDF)
def test_a_file_is_refused_with_the_number_and_its_line(name, tmp_path):
    text, number, line = URDF[name]
    with pytest.raises(ModelError) as found:
        mz.load(write(tmp_path, text))
    assert number in str(found.value)
    assert f" line {line})" in str(found.value)


SDF = (
    '<sdf version="1.7"><model name="m">\n<link name="a"/>\n<link name="b"><inertial>{}</inertial>'
    '</link>\n<joint name="j" type="revolute"><parent>a</parent><child>b</child>'
    "<axis><xyz>0 0 1</xyz>{}</axis></joint></model></sdf>"
)


@pytest.mark.parametrize(
    ("inside", "number"),
    [
        ("<mass>1e308</mass>", "1e308"),
        ("<mass>1e-310</mass>", "1e-310"),
        ("<pose>1e154 0 0 0 0 0</pose>", "1e154"),
        ("<inertia><ixx>1e308</ixx></inertia>", "1e308"),
    ],
)
def test_sdf_is_refused_likewise(inside, number, tmp_path):
    with pytest.raises(ModelError, match=rf"{number}.* line 3\)"):
        mz.load(write(tmp_path, SDF.format(inside, ""), "robot.sdf"))


@pytest.mark.parametrize(
    ("words", "inside", "number"),
    [
        ("", '<inertial mass="1e308" pos="0 0 0" diaginertia="1 1 1"/>', "1e308"),
        ("", '<inertial mass="1" pos="1e154 0 0" diaginertia="1 1 1"/>', "1e154"),
        ('pos="1e200 0 0"', '<geom size=".1"/>', "1e200"),
        ("", '<inertial mass="1" pos="0 0 0" diaginertia="1e300 1e300 1e300"/>', "1e300"),
        ("", '<geom size=".1" density="1e300"/>', "1e300"),
    ],
)
def test_mjcf_is_refused_likewise(words, inside, number, tmp_path):
    pytest.importorskip("mujoco")
    text = f'<mujoco><worldbody>\n<body {words}><joint axis="0 1 0"/>{inside}</body></worldbody>'
    with pytest.raises(ModelError, match=rf"{number}.* line 2\)"):
        mz.load(write(tmp_path, text + "</mujoco>", "robot.xml"))


def test_limits_may_be_as_large_as_files_write_them(tmp_path):
    limit = '<limit lower="-1.79769e308" upper="1.79769e308" effort="1e300" velocity="1e300"/>'
    assert mz.load(write(tmp_path, robot(link("a"), link("b"), joint(inside=limit)))).nv == 1
    limit = "<limit><lower>-1.79769e308</lower><upper>1.79769e308</upper></limit>"
    assert mz.load(write(tmp_path, SDF.format("<mass>1</mass>", limit), "robot.sdf")).nv == 1


@pytest.mark.parametrize(
    "add",
    [
        lambda b: b.add("c", "a", Revolute("x"), Inertia(1e308, (0, 0, 0), np.eye(3))),
        lambda b: b.add("c", "a", Revolute("x"), Inertia(1e-310, (0, 0, 0), np.eye(3))),
        lambda b: b.add("c", "a", Revolute("x"), (1.0, (0, 0, 0), np.diag([1e308] * 3))),
        lambda b: b.add("c", "a", Revolute("x"), (1.0, (1e154, 0, 0), np.eye(3))),
        lambda b: b.add("c", "a", Revolute("x"), ROUND, placement=(1e154, 0, 0)),
        lambda b: b.add("c", "a", Revolute("x"), ROUND, armature=1e300),
        lambda b: b.frame("f", "a", (1e154, 0, 0)),
        lambda b: b.coupling("c", {"a": 1e200, "b": 1.0}),
        lambda b: b.spring("s", None, "b", stiffness=1e300),
        lambda b: b.distance("d", None, "b", point_b=(0, 1e200, 0)),
        lambda b: b.loop("l", None, "b", Revolute("z"), (0, 1e200, 0)),
    ],
)
def test_a_builder_refuses_likewise(add):
    builder = Builder().add("a", None, Revolute("z"), ROUND).add("b", "a", Prismatic("y"), ROUND)
    with pytest.raises(ModelError, match=r"too large|too small|not finite"):
        add(builder)


def test_what_is_inside_of_the_bounds_gives_finite_dynamics():
    """Lengths, masses and moments of 1e-20 to 1e20, both ends in one mechanism."""
    small, large = (Inertia(m, (0.1 * r, 0, r), m * r * r * np.eye(3)) for m, r in
                    ((1e-20, 1e-10), (1e20, 1e10)))  # fmt: skip
    model = (
        Builder()
        .add("a", None, Revolute("x"), large)
        .add("b", "a", Revolute("y"), small, placement=(0, 0, 1e-10))
        .add("c", "b", Prismatic((1, 1, 0)), large, placement=(0, 1e10, 0))
        .build()
    )
    q, v = np.array([0.3, -0.4, 0.5]), np.array([0.1, 0.2, 0.3])
    a = mz.forward_dynamics(model, q, v, np.zeros(3))
    assert np.isfinite(a).all()
    assert np.isfinite(mz.inverse_dynamics(model, q, v, a)).all()


@pytest.mark.parametrize("mass", [-1.0, -1, np.float32(-2), np.int64(-3), np.array(-1.0), np.nan])
def test_a_negative_mass_is_refused(mass):
    with pytest.raises(ModelError, match="mass"):
        Inertia(mass, (0, 0, 0), np.eye(3))


def test_an_asymmetric_inertia_is_refused():
    J = np.diag([1.0, 2.0, 2.5])
    J[0, 2], J[2, 0] = 0.1, 0.1 + 1e-9
    assert Inertia(1.0, (0, 0, 0), J).J.xz == pytest.approx(0.1)
    J[2, 0] = -0.1
    with pytest.raises(ModelError, match=r"\(0, 2\) = 0.1 and \(2, 0\) = -0.1"):
        Inertia(1.0, (0, 0, 0), J)
    with pytest.raises(ModelError, match="symmetric"):
        Builder().add("a", None, Revolute("z"), (1.0, (0, 0, 0), J))
