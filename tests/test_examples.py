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
    run(Path(shutil.copy(script, tmp_path)))  # examples write beside themselves


def run(copy: Path) -> None:
    source = str(Path(mozzi.__file__).parents[1])
    env = os.environ | {
        "MPLBACKEND": "Agg",
        "PYTHONPATH": source,
        "PYTHONWARNINGS": "error::Warning:mozzi",
    }
    done = subprocess.run(
        [sys.executable, str(copy)],
        cwd=copy.parent,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads have names on Linux")
def test_distributed_processes_end_without_threads_of_their_group(tmp_path: Path):
    """One that is left takes the GIL of an interpreter that ends, at times, and aborts it."""
    pytest.importorskip("torch", reason="torch is not installed")
    text, end = (FOLDER / "distributed.py").read_text(), "    dist.destroy_process_group()\n"
    assert end in text
    look = """
    from pathlib import Path
    names = [x.read_text() for x in Path("/proc/self/task").glob("*/comm")]
    assert names and not [x for x in names if "gloo" in x or "tcpstore" in x], names
"""
    script = tmp_path / "distributed.py"
    script.write_text(text.replace(end, end + look))
    run(script)
