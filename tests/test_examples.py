"""Every example runs, and what it asserts holds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mozzi

FOLDER = Path(__file__).parents[1] / "docs" / "examples"
NEEDS = {"sharding.py": "jax", "ilqr_jax.py": "jax", "distributed.py": "torch"}
NEEDS_ROBOTS = {"adaptive_control.py", "two_pandas.py"}


LONG = {
    "adaptive_control.py", "adaptive_five_bar.py", "bicycle.py", "calibration.py", "gripper.py",
    "heavy_top.py", "ilqr.py", "ilqr_jax.py", "many_arms.py", "passive_walker.py",
    "push_through_contact.py", "quadruped.py", "spacecraft.py", "two_pandas.py",
}  # fmt: skip
"""Run when the site is built, as all of them are."""


def scripts() -> list:
    found = sorted(FOLDER.glob("*.py"))
    slow = lambda path: [pytest.mark.slow] if path.name in LONG else []
    return [pytest.param(path, marks=slow(path), id=path.name) for path in found]


@pytest.mark.parametrize("script", scripts())
def test_example(script: Path, tmp_path: Path):
    if script.name in NEEDS_ROBOTS:
        pytest.importorskip("pinocchio", reason="example-robot-data is not installed")
    if script.name in NEEDS:
        pytest.importorskip(NEEDS[script.name], reason=f"{NEEDS[script.name]} is not installed")
    copy = Path(shutil.copy(script, tmp_path))  # examples write beside themselves
    source = str(Path(mozzi.__file__).parents[1])
    env = os.environ | {
        "MPLBACKEND": "Agg",
        "PYTHONPATH": source,
        "PYTHONWARNINGS": "error::Warning:mozzi",
    }
    done = subprocess.run(
        [sys.executable, str(copy)],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
