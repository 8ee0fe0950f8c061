"""``mozzi demo`` and ``mozzi bench`` work with nothing at hand."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import mozzi as mz
from mozzi.cli import application
from mozzi.cli.demo import arm, pendulum, reference


def test_the_demo_writes_what_it_says(tmp_path: Path):
    pytest.importorskip("matplotlib")
    result = CliRunner().invoke(application(), ["demo", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    names = {"arm.npz", "arm.png", "demo.html", "pendulum.npz", "pendulum.png"}
    assert set(os.listdir(tmp_path / "demo")) == names
    assert all(str(tmp_path / "demo" / name) in result.stdout for name in names)
    assert "energy drift" in result.stdout and "no plots" not in result.stdout
    motion = mz.Trajectory.load(tmp_path / "demo" / "arm.npz", model=arm())
    assert abs(motion.q[-1] - reference(float(motion.t[-1]))[0]).max() < 1e-6


def test_the_demo_needs_no_extra(tmp_path: Path):
    """Without matplotlib, viser and trimesh it says so, and does the rest."""
    hide = """
import sys
class Hidden:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in ("matplotlib", "viser", "trimesh", "PIL"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
import mozzi.cli.demo as demo
demo.SAMPLES, demo.SHOWN = 20, 4
from mozzi.cli import main
main()
"""
    out = tmp_path / "demo"
    command = [sys.executable, "-c", hide, "demo", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "no plots" in done.stdout and "mozzi[viz]" in done.stdout
    assert set(os.listdir(out)) == {"arm.npz", "demo.html", "pendulum.npz"}


def test_the_mechanisms_of_the_demo_are_what_they_seem():
    assert (pendulum().nq, pendulum().nv) == (6, 5)
    model = arm()
    assert model.nv == 6 and np.linalg.eigvalsh(mz.mass_matrix(model, np.zeros(6))).min() > 0.0


def test_bench_measures(tmp_path: Path):
    result = CliRunner().invoke(application(), ["bench", "--batch", "64", "--json"])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["rows"]
    assert {"inverse_dynamics", "step of rkmk4"} <= {row["function"] for row in rows}
    assert all(row["ns"] > 0.0 and row["operations"] > 0 for row in rows)
    table = CliRunner().invoke(application(), ["bench", "--batch", "64"])
    assert "ns each" in table.stdout
    assert CliRunner().invoke(application(), ["bench", "--batch", "0"]).exit_code == 2
