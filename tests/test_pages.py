"""The programs on the pages of docs/ run as they stand there, one after the other.

Pages are run when the site is built; these here are also run where nobody builds it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.cases import first

import mozzi

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [
    "laws.md", "data.md", "control.md", "index.md", "notebooks.md", "layouts.md", "learning.md",
]  # fmt: skip
TORCH = ["howto/pytorch.md"]


@pytest.mark.parametrize("page", TORCH + first(3, PAGES))  # the site runs all of them
def test_the_programs_of_a_page_run(page: str, tmp_path: Path):
    if page in TORCH:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    text = (DOCS / page).read_text(encoding="utf-8")
    cell = r"^```(?:python|\{code-cell\}|\{needs\} torch)\n((?::\w+:[^\n]*\n)*)(.*?)^```"
    cells = re.findall(cell, text, re.M | re.S)
    program = "\n".join(code for _, code in cells)
    assert program
    env = os.environ | {"PYTHONPATH": str(Path(mozzi.__file__).parents[1]), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
