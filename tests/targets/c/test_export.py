"""``mozzi export``: files that a C compiler takes, or an error that says what to do."""

import inspect
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

import mozzi as mz
from mozzi.cli import application
from mozzi.cli.export import functions, parsed, write

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")

ARM = """
<robot name="arm">
  <link name="base"><inertial><mass value="3"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0 0 0.5"/><mass value="2"/>
    <inertia ixx="0.2" iyy="0.2" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.1 0 0.4"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0.005" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="9" velocity="9"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 1" rpy="0.3 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-2" upper="2" effort="9" velocity="9"/></joint>
</robot>
"""


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return path


def run(*arguments: object):
    return CliRunner().invoke(application(), ["export", *map(str, arguments)])


def compiled_and_run(folder: Path) -> subprocess.CompletedProcess:
    sources = [path.name for path in folder.glob("*.c")]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]
    command = [str(COMPILER), *flags, *sources, "-lm", "-o", "main"]
    build = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert build.returncode == 0, build.stderr
    return subprocess.run([str(folder / "main")], capture_output=True, text=True)


@needs_compiler
@pytest.mark.parametrize(
    ("function", "options"),
    [
        ("inverse_dynamics", ()),
        ("inverse_dynamics", ("--dtype", "float")),
        ("inverse_dynamics", ("--rolled",)),
        ("inverse_dynamics", ("--rolled", "--dtype", "float32")),
        ("inverse_dynamics", ("--option", "wrenches=true")),
        ("forward_dynamics", ("--free-base",)),
        ("forward_dynamics", ("--rolled", "--base", "free")),
        ("mass_matrix", ("--rolled",)),
        ("jacobian", ("--option", "frame=lower", "--option", "rep=spatial")),
        ("integrate", ("--free-base",)),
    ],
    ids=str,
)
def test_it_compiles_and_agrees(arm: Path, tmp_path: Path, function: str, options: tuple):
    out = tmp_path / "out"
    result = run(arm, "--function", function, "--target", "c", "-o", out, *options)
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in out.iterdir()) == [
        f"{function}.c", f"{function}.h", f"test_{function}.c",
    ]  # fmt: skip
    test = compiled_and_run(out)
    assert test.returncode == 0, test.stdout
    assert test.stdout == f"{function}: 5 samples, all agree\n"
    real = "float" if "--dtype" in options else "double"
    assert f"const {real} q[" in (out / f"{function}.h").read_text()
    assert ("for (int" in (out / f"{function}.c").read_text()) == ("--rolled" in options)


def test_values_keep_the_names_of_their_bodies(arm: Path, tmp_path: Path):
    assert run(arm, "-o", tmp_path / "out", "--name", "arm_torques").exit_code == 0
    source = (tmp_path / "out" / "arm_torques.c").read_text()
    assert "void arm_torques(" in source
    assert "_lower_" in source
    assert "lower */" in source


def test_the_same_in_every_run(arm: Path, tmp_path: Path):
    for folder in ("one", "two"):
        assert run(arm, "-o", tmp_path / folder).exit_code == 0
    for path in (tmp_path / "one").iterdir():
        assert path.read_text() == (tmp_path / "two" / path.name).read_text()


def test_files_are_replaced_whole(tmp_path: Path):
    """What was there is replaced; nothing temporary stays; a failure leaves what was there."""
    write(tmp_path, {"a.c": "1\n", "a.h": "1\n"})
    write(tmp_path, {"a.c": "2\n", "a.h": "2\n"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a.c": "2\n", "a.h": "2\n",
    }  # fmt: skip
    with pytest.raises(UnicodeEncodeError):
        write(tmp_path, {"a.c": "3\n", "a.h": "é\n"})
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["2\n", "2\n"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--function", "inverse_dynamicz"), "no function 'inverse_dynamicz' to export; there are"),
        (("--function", "jacobian"), "jacobian needs frame: add --option frame="),
        (("--option", "wings=2"), "inverse_dynamics has the options"),
        (("--option", "wrenches"), "give NAME=VALUE"),
        (("--option", "wrenches=3"), "wrenches is an array; give wrenches=true"),
        (("--target", "fortran"), "fortran"),
        (("--dtype", "half"), "half"),
    ],
    ids=str,
)
def test_bad_usage(arm: Path, tmp_path: Path, options: tuple, message: str):
    result = run(arm, "-o", tmp_path / "out", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "out").exists()


def test_the_error_lists_the_functions(arm: Path):
    message = run(arm, "--function", "fly").stderr
    assert all(name in message for name in ("inverse_dynamics", "forward_dynamics", "mass_matrix"))
    assert {"inverse_dynamics", "forward_dynamics", "mass_matrix"} <= functions().keys()


def test_bad_files(arm: Path, tmp_path: Path):
    assert run(tmp_path / "none.urdf").exit_code == 2
    result = run(arm, "-o", arm / "out")
    assert result.exit_code == 2
    assert "Not a directory" in result.stderr


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True), ("False", False), ("3", 3), ("0.5", 0.5), ("hand", "hand"),
        ("a,b", ("a", "b")), ("a,", ("a",)),
    ],
)  # fmt: skip
def test_values_of_options(text: str, value: object):
    assert parsed(text) == value


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("how", ["--rolled", "--unrolled"])
@pytest.mark.parametrize("function", functions())
def test_every_function(arm: Path, tmp_path: Path, function: str, how: str):
    """Everything that can be exported compiles and agrees, with a free base."""
    values = {"frame": "lower", "frames": "lower,upper", "source": "body", "target": "spatial"}
    needs = [n for n, x in functions()[function].defaults.items() if x is inspect.Parameter.empty]
    options = [word for n in needs for word in ("--option", f"{n}={values[n]}")]
    out = tmp_path / "out"
    result = run(arm, "--function", function, "-o", out, how, "--free-base", *options)
    assert result.exit_code == 0, (result.stderr, result.exception)
    test = compiled_and_run(out)
    assert test.returncode == 0, test.stdout


def test_the_header_says_what_it_is_for(arm: Path, tmp_path: Path):
    """Robot, gravity, units, version, and every entry of arguments and results by joint."""
    assert run(arm, "--out", tmp_path / "code", "--function", "inverse_dynamics").exit_code == 0
    text = (tmp_path / "code" / "inverse_dynamics.h").read_text(encoding="ascii")
    model = mz.load(arm)
    for word in (f"robot {model.name!r}", "Gravity: (0, 0, -9.81)", "Units: m, kg, s, rad",
                 f"mozzi {mz.__version__}", "argument q[", "argument v[", "result"):  # fmt: skip
        assert word in text
    for k, name in enumerate(model.v_names):
        assert text.count(f"[{k}] {name}\n") >= 3
