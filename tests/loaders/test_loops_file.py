"""Loops of parallel robots, from a YAML file beside the URDF or from triples."""

from __future__ import annotations

import numpy as np
import pytest
from loaders.support import joint, link, poses, robot, write

from mozzi.errors import ModelError
from mozzi.loaders import load
from mozzi.loaders.loops_file import read_yaml
from mozzi.model import Composite, Fixed, Spherical


@pytest.fixture
def urdf(tmp_path):
    """Two arms of two links on one base; their tips can meet."""
    parts = [link("base")]
    for side, x in (("left", -0.5), ("right", 0.5)):
        origin = f'<origin xyz="{x} 0 0"/>'
        parts += [link(f"{side}_upper"), link(f"{side}_lower"), link(f"{side}_tip", "")]
        parts += [
            joint(f"{side}_hip", "base", f"{side}_upper", origin=origin),
            joint(f"{side}_knee", f"{side}_upper", f"{side}_lower"),
            joint(f"{side}_end", f"{side}_lower", f"{side}_tip", "fixed"),
        ]
    return write(tmp_path, robot(*parts))


STYLES = {
    "flow": "closed_loop: [['left_tip', 'right_tip'], [left_knee, base]]\ntype: ['6d', '3d']\n",
    "spread": (
        '# pairs\nclosed_loop:\n  [\n    ["left_tip", "right_tip"], # tips\n'
        '    ["left_knee", "base"],\n  ]\ntype: ["6d", "3D"]\n\nname_mot:\n  [\n    left_hip,\n'
        "  ]\n"
    ),
    "block": (
        "---\nclosed_loop:\n- [left_tip, right_tip]\n- [left_knee, base]\ntype:\n  - 6d\n  - 3d\n"
    ),
    "Windows": "closed_loop: [[left_tip, right_tip],\r\n  [left_knee, base]]\r\ntype: [6d, 3d]\r\n",
}


@pytest.mark.parametrize("style", STYLES)
def test_every_style_of_the_file_closes_the_same_loops(style, urdf, tmp_path):
    model = load(urdf, loops=write(tmp_path, STYLES[style], "robot.yaml"))
    assert [type(loop.joint) for loop in model.loops] == [Fixed, Spherical]
    first, second = model.loops
    assert (first.body_a, first.body_b) == (model.index("left_lower"), model.index("right_lower"))
    np.testing.assert_allclose(first.placement_a.matrix()[:3, 3], [0, 0, 1])
    assert (second.body_a, second.body_b) == (model.index("left_lower"), -1)


def test_triples_say_what_a_file_says(urdf, tmp_path):
    text = "closed_loop: [[left_tip, right_tip]]\ntype: 3d\n"
    model = load(urdf, loops=write(tmp_path, text, "robot.yaml"))
    assert load(urdf, loops=[("left_tip", "right_tip", "3d")]) == model
    where = poses(model, model.neutral())
    (loop,) = model.loops
    gap = where[loop.body_a] @ loop.placement_a.matrix() - (
        where[loop.body_b] @ loop.placement_b.matrix()
    )
    np.testing.assert_allclose(gap[:3, 3], [-1, 0, 0])


def test_joints_of_other_kinds(urdf, tmp_path):
    text = (
        "closed_loop: [[left_tip, right_tip]]\ntype: [6d]\n"
        "joint_name: [left_knee, right_knee, left_hip]\n"
        "joint_type: [SPHERICAL, UJOINT_ZY, FIXED]\n"
    )
    model = load(urdf, loops=write(tmp_path, text, "robot.yaml"))
    assert isinstance(model.joint("left_knee"), Spherical)
    assert isinstance(model.joint("right_knee"), Composite)
    assert model.nv == 1 + 3 + 2
    plain = load(urdf)
    for name in ("left_lower", "right_lower"):
        here = poses(model, model.neutral())[model.index(name)]
        np.testing.assert_allclose(
            here, poses(plain, plain.neutral())[plain.index(name)], atol=1e-15
        )


WRONG = {
    "nothing": ("", "closed_loop"),
    "no loops": ("type: [6d]", "closed_loop"),
    "a name": ("closed_loop: left_tip", "closed_loop"),
    "three": ("closed_loop: [[a, b, c]]", "no pair"),
    "deep": ("closed_loop: [[[[a]]]]", "deep"),
    "unknown frame": ("closed_loop: [[left_tip, nowhere]]", "nowhere"),
    "unknown type": ("closed_loop: [[left_tip, right_tip]]\ntype: [5d]", "5d"),
    "too few types": ("closed_loop: [[left_tip, right_tip]]\ntype: [6d, 6d]", "2 types"),
    "open bracket": ("closed_loop: [[left_tip, right_tip]", "brackets"),
    "two values": ("closed_loop: [a] [b]", "misplaced"),
    "no comma": ("closed_loop: [[left_tip] [right_tip]]", "misplaced"),
    "mapping": ("closed_loop: {a: b}", "not read"),
    "anchor": ("closed_loop: &x [a, b]", "not read"),
    "tag": ("closed_loop: !!python/object:os.system [a, b]", "not read"),
    "twice": ("type: [6d]\ntype: [6d]", "twice"),
    "no key": ("[a, b]", "key: value"),
    "unknown joint": ("closed_loop: []\njoint_name: [x]\njoint_type: [FIXED]", "'x'"),
    "unknown kind": ("closed_loop: []\njoint_name: [left_hip]\njoint_type: [WAVY]", "WAVY"),
    "unequal": ("closed_loop: []\njoint_name: [left_hip]\njoint_type: []", "joint_type"),
}


@pytest.mark.parametrize("name", WRONG)
def test_broken_files_are_refused(name, urdf, tmp_path):
    text, fact = WRONG[name]
    path = write(tmp_path, text, "robot.yaml")
    with pytest.raises(ModelError, match=r"robot\.yaml line \d+\)") as caught:
        load(urdf, loops=path)
    assert fact in str(caught.value)


def test_broken_arguments_are_refused(urdf, tmp_path):
    for loops in (["left_tip"], [("left_tip", "right_tip")], tmp_path, tmp_path / "none.yaml"):
        with pytest.raises(ModelError):
            load(urdf, loops=loops)


def test_what_is_read_is_what_yaml_reads(tmp_path):
    yaml = pytest.importorskip("yaml")
    for text in STYLES.values():
        assert read_yaml(write(tmp_path, text, "robot.yaml")) == yaml.safe_load(text)
