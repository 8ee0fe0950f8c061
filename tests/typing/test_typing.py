"""What a type checker says about users' programs is part of the API."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mozzi

HERE = Path(__file__).parent
SOURCES = Path(mozzi.__file__).parent.parent
PROGRAMS = ["right.py", "wrong.py"]
EXAMPLES = sorted((HERE.parent.parent / "docs" / "examples").glob("*.py"))


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, str]]:
    """What pyright finds in the two files, in strict mode, and in the examples: line → message."""
    project = tmp_path_factory.mktemp("programs")
    for path in (*(HERE / name for name in PROGRAMS), *EXAMPLES):
        shutil.copy(path, project)
    settings = {
        "strict": PROGRAMS, "pythonVersion": "3.11", "extraPaths": [str(SOURCES)],
        "reportMissingImports": "none",
    }  # fmt: skip
    (project / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, "--project", str(project)], capture_output=True, text=True, check=False
    )
    names = [*PROGRAMS, *(path.name for path in EXAMPLES)]
    found: dict[str, dict[int, str]] = {name: {} for name in names}
    for x in json.loads(done.stdout)["generalDiagnostics"]:
        found[Path(x["file"]).name][x["range"]["start"]["line"] + 1] = x["message"]
    return found


def test_right_programs_are_clean(reports: dict[str, dict[int, str]]):
    assert not reports["right.py"], reports["right.py"]


def test_the_examples_of_the_docs_are_clean(reports: dict[str, dict[int, str]]):
    found = {path.name: reports[path.name] for path in EXAMPLES if reports[path.name]}
    assert EXAMPLES and not found, found


def test_every_wrong_line_is_an_error_and_no_other(reports: dict[str, dict[int, str]]):
    lines = (HERE / "wrong.py").read_text(encoding="utf-8").splitlines()
    wrong = {n for n, line in enumerate(lines, 1) if "  # " in line}
    found = reports["wrong.py"]
    assert len(wrong) > 30
    missed = [lines[n - 1] for n in sorted(wrong - found.keys())]
    assert not missed, "not reported:\n" + "\n".join(missed)
    assert not found.keys() - wrong, {n: found[n] for n in sorted(found.keys() - wrong)}
