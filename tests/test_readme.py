"""The programs in the README run as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mozzi

README = Path(__file__).parents[1] / "README.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)


def test_there_is_a_program():
    assert PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_programs_run(program: str, tmp_path: Path):
    env = os.environ | {"PYTHONPATH": str(Path(mozzi.__file__).parents[1])}
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
