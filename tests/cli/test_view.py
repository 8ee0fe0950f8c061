"""``mozzi view FILE`` serves a page until it is told to stop."""

from pathlib import Path

import pytest
from cli.test_simulate import pendulum  # noqa: F401
from typer.testing import CliRunner

import mozzi as mz
from mozzi.cli import application

pytest.importorskip("viser", reason="the extra viz is not installed")


def run(*arguments: object):
    options = ["--no-browser", "--seconds", 0.3, "--port", 8471]
    return CliRunner().invoke(application(), ["view", *map(str, [*arguments, *options])])


def test_a_page_is_served(pendulum: Path, tmp_path: Path):  # noqa: F811
    model = mz.load(pendulum)
    path = mz.simulate(model, [1.0, 0.0], [0.0, 0.0], 0.1, 1e-2).save(tmp_path / "x.npz")
    for options in ([], ["--trajectory", path], ["--skeleton"]):
        result = run(pendulum, *options)
        assert result.exit_code == 0, result.output
        assert "http://127.0.0.1:" in result.stdout


def test_a_trajectory_of_another_mechanism_is_refused(pendulum: Path, tmp_path: Path):  # noqa: F811
    path = mz.simulate(mz.load(pendulum), [1.0, 0.0], [0.0, 0.0], 0.1, 1e-2)
    path = path.save(tmp_path / "x.npz")
    text = pendulum.read_text(encoding="utf-8").replace('mass value="1"', 'mass value="2"')
    pendulum.write_text(text, encoding="utf-8")
    result = run(pendulum, "--trajectory", path)
    assert result.exit_code == 2 and "other data" in result.stderr
