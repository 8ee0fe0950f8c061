"""Every command has help, an exit code that tells, and messages without tracebacks."""

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import mozzi
from mozzi.cli import COMMANDS, answering, application
from mozzi.errors import ExtraMissingError, ModelError, SingularError


def run(*arguments: str):
    return CliRunner().invoke(application(), list(arguments))


def failing_with(error: Exception):
    """The result of a command that raises."""
    app = typer.Typer()

    def command() -> None:
        raise error

    app.command()(answering(command))
    return CliRunner().invoke(app, [])


def test_version():
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"mozzi {mozzi.__version__}\n")


def test_help_lists_the_commands():
    result = run("--help")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_unknown_commands_and_options_are_bad_usage():
    assert run("fly").exit_code == 2
    assert run("info", "--wings").exit_code == 2
    assert run("info").exit_code == 2


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ModelError("joint 'elbow': axis (0, 0, 0) has no direction"), 2, "joint 'elbow'"),
        (FileNotFoundError(2, "No such file or directory", "a.urdf"), 2, "a.urdf: No such file"),
        (SingularError("the mass matrix is not positive definite"), 1, "not positive definite"),
        (ExtraMissingError("viser is missing; pip install 'mozzi[viz]'"), 1, "mozzi[viz]"),
    ],
)
def test_errors_are_told_in_a_line(error: Exception, code: int, message: str):
    result = failing_with(error)
    assert result.exit_code == code
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_bugs_are_not_hidden():
    result = failing_with(RuntimeError("a bug"))
    assert isinstance(result.exception, RuntimeError)


def test_help_imports_no_heavy_part():
    code = (
        "import sys, mozzi.cli\n"
        "try: mozzi.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'llvmlite', 'matplotlib', 'viser', 'mujoco'}\n"
        "print('heavy:', *heavy & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].strip() == "heavy:"
