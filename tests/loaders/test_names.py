"""Robots by name: what a package of descriptions has on this machine, and what it cannot fetch."""

import importlib
import sys
from pathlib import Path

import pytest

import mozzi as mz
from mozzi.loaders import names

ROBOT = """<robot name="toy"><link name="base"/><link name="arm"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j"
type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""


@pytest.fixture
def descriptions(tmp_path: Path, monkeypatch):
    """A package like robot_descriptions, with a robot that is there and one that is not."""
    package = tmp_path / "robot_descriptions"
    package.mkdir()
    (tmp_path / "toy.urdf").write_text(ROBOT, encoding="utf-8")
    table = "DESCRIPTIONS = {'toy_description': 0, 'far_description': 0, 'odd_description': 0}"
    texts = {
        "__init__": "", "_descriptions": table, "odd_description": "XML = 1",
        "toy_description": f"URDF_PATH = {str(tmp_path / 'toy.urdf')!r}",
        "far_description": "raise OSError('could not resolve host')",
    }  # fmt: skip
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    for name in [n for n in sys.modules if n.split(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    names._descriptions.cache_clear()
    yield
    names._descriptions.cache_clear()
    for name in [n for n in sys.modules if n.split(".")[0] == "robot_descriptions"]:
        del sys.modules[name]


def test_a_description_that_is_here_is_loaded(descriptions):
    assert mz.load("toy_description").joint_names == ("j",)


def test_one_that_cannot_be_fetched_says_so(descriptions):
    """The reason of the package, and what to do."""
    with pytest.raises(mz.ModelError, match=r"could not fetch it \(could not resolve host\); c"):
        mz.load("far_description")
    with pytest.raises(mz.ModelError, match="gives no URDF or MJCF; give a file"):
        mz.load("odd_description")
    with pytest.raises(mz.ModelError, match="did you mean 'toy_description'"):
        mz.load("toy_descriptio")


def test_robots_in_sdf_have_names_and_states():
    """Cassie is the SDF file that its package means by that name, and stands as its SRDF says."""
    if "cassie" not in names.known():
        pytest.skip("example-robot-data with cassie is not installed")
    with pytest.warns(mz.LeftOutWarning):
        cassie = mz.load("cassie", base="free")
    assert (cassie.nv, len(cassie.loops)) == (28, 4) and "standing" in cassie.configurations
