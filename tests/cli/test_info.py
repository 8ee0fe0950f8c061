"""``mozzi info FILE`` tells what is in a file, to people and to programs."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mozzi.cli import application
from mozzi.cli.info import outline, show
from mozzi.cli.simulate import resisting
from mozzi.loaders.report import inspect

INERTIA = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'


def link(name: str, mass: float = 1.0) -> str:
    return f'<link name="{name}"><inertial><mass value="{mass}"/>{INERTIA}</inertial></link>\n'


def joint(name: str, parent: str, child: str, *more: str) -> str:
    """A hinge about z."""
    ends = f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/>'
    limit = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
    return f'<joint name="{name}" type="revolute">{ends}{limit}{"".join(more)}</joint>\n'


GRIPPER = (
    '<robot name="gripper">\n'
    + "".join(link(name) for name in ("base", "palm", "left", "right"))
    + joint("wrist", "base", "palm")
    + joint("left_joint", "palm", "left")
    + joint("right_joint", "palm", "right", '<mimic joint="left_joint" multiplier="-1"/>')
    + "</robot>\n"
)


@pytest.fixture
def gripper(tmp_path: Path) -> Path:
    path = tmp_path / "gripper.urdf"
    path.write_text(GRIPPER, encoding="utf-8")
    return path


def run(*arguments: object):
    return CliRunner().invoke(application(), ["info", *map(str, arguments)])


def test_people_see_bodies_joints_dofs_masses_and_couplings(gripper: Path):
    result = run(gripper)
    assert result.exit_code == 0, result.output
    head, facts, *rows = result.stdout.splitlines()
    assert head.startswith("gripper") and str(gripper) in head
    assert "3 moving bodies · nq 3 · nv 3 · 3 kg" in facts
    table = [row.split() for row in rows]
    assert ["palm", "wrist", "revolute", "1", "1", "-1", "2"] in table
    assert ["└", "right", "right_joint", "revolute", "1", "1", "-1", "2"] in table
    assert any("coupling" in row and "1 left_joint" in row for row in rows)


def test_programs_get_json(gripper: Path):
    result = run(gripper, "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert (data["name"], data["nb"], data["nq"], data["nv"]) == ("gripper", 3, 3, 3)
    assert data["mass"] == pytest.approx(3.0)
    assert [row["body"] for row in data["bodies"]] == ["palm", "left", "right"]
    assert [row["parent"] for row in data["bodies"]] == ["world", "palm", "palm"]
    assert data["bodies"][0]["limits"] == {
        "lower": [-1.0], "upper": [2.0], "velocity": [4.0], "effort": [3.0],
    }  # fmt: skip
    assert len(data["couplings"]) == 1


def test_springs_between_bodies_are_told(gripper: Path, capsys: pytest.CaptureFixture[str]):
    """To people and to programs; no file format brings them, models do."""
    found = inspect(gripper)
    model = found.model.with_spring("s", "left", "right", stiffness=20.0, damping=0.5, length=0.1)
    found = replace(found, model=model)
    show(found)
    assert "spring s: 20 N/m, 0.5 N s/m, 0.1 m, left — right" in capsys.readouterr().out
    assert found.as_dict()["springs"] == [
        {"name": "s", "stiffness": 20.0, "damping": 0.5, "length": 0.1, "bodies": ["left", "right"]}
    ]
    assert resisting(model).endswith("springs between bodies (1)")


def test_no_limit_is_null(gripper: Path):
    gripper.write_text(GRIPPER.replace('type="revolute"', 'type="continuous"'), encoding="utf-8")
    data = json.loads(run(gripper, "--json").stdout)
    assert data["bodies"][0]["limits"]["lower"] == [None]


def test_a_free_base_adds_six_degrees_of_freedom(gripper: Path):
    data = json.loads(run(gripper, "--base", "free", "--json").stdout)
    assert (data["nb"], data["nq"], data["nv"]) == (4, 10, 9)


def test_oddities_are_told(gripper: Path):
    gripper.write_text(GRIPPER.replace('<axis xyz="0 0 1"/>', "", 1), encoding="utf-8")
    assert "odd: joint 'wrist': has no <axis>" in run(gripper).stdout
    (oddity,) = json.loads(run(gripper, "--json").stdout)["oddities"]
    assert oddity["thing"] == "joint 'wrist'"
    assert oddity["line"] == 6


def test_names_with_brackets_are_not_markup(gripper: Path):
    gripper.write_text(GRIPPER.replace('"palm"', '"[red]palm[/]"'), encoding="utf-8")
    assert "[red]palm[/]" in run(gripper).stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("<robot", "not well-formed"),
        (GRIPPER.replace('xyz="0 0 1"', 'xyz="0 0 0"', 1), "joint 'wrist': axis (0, 0, 0)"),
        (GRIPPER.replace('<child link="left"', '<child link="lift"'), "lift"),
    ],
)
def test_bad_files_are_bad_input(gripper: Path, content: str, message: str):
    gripper.write_text(content, encoding="utf-8")
    result = run(gripper)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stdout == ""


def test_a_missing_file_is_bad_input(tmp_path: Path):
    result = run(tmp_path / "nothing.urdf")
    assert result.exit_code == 2
    assert "nothing.urdf" in result.stderr and "does not exist" in result.stderr


def test_a_poor_terminal_is_no_failure(gripper: Path):
    """Marks that an encoding lacks are replaced."""
    code = f"import mozzi.cli; mozzi.cli.main(['info', {str(gripper)!r}])"
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "palm" in done.stdout


def test_a_long_chain_is_no_recursion(tmp_path: Path):
    """Thousands of links print as a straight column."""
    n = 2000
    path = tmp_path / "chain.urdf"
    links = "".join(link(f"l{i}") for i in range(n + 1))
    joints = "".join(joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(n))
    path.write_text(f'<robot name="chain">{links}{joints}</robot>', encoding="utf-8")
    result = run(path)
    assert result.exit_code == 0, result.output
    assert f" l{n} " in result.stdout


def test_outline_indents_at_branches_only():
    """Chains run straight down; the last branch closes its bracket."""
    parents = [-1, 0, 1, 1, 2, 3]
    assert list(outline(parents)) == [
        ("", 0), ("", 1), ("├ ", 2), ("│ ", 4), ("└ ", 3), ("  ", 5),
    ]  # fmt: skip
    assert list(outline([])) == []
