"""What a type checker says about users' programs is part of the API."""

import ast
import json
import shutil
import subprocess
import sys
import tomllib
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


ANY_USES = 300  # in all of src, at most
BASIC = 26  # files that speak to packages without types, at most


def test_any_is_rare_in_the_sources():
    """A word of its own in code, not in comments or strings; "Any" under another name is none."""
    found: dict[str, int] = {}
    for path in sorted((SOURCES / "mozzi").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        uses = [x for x in ast.walk(tree) if isinstance(x, ast.Name) and x.id == "Any"]
        aliased = [
            x.lineno for x in ast.walk(tree)
            if isinstance(x, ast.Assign) and isinstance(x.value, ast.Name) and x.value.id == "Any"
        ]  # fmt: skip
        assert not aliased, (path, aliased)
        found[path.name] = len(uses)
    assert sum(found.values()) <= ANY_USES, sorted(found.items(), key=lambda x: -x[1])[:20]


def test_all_sources_are_strict_but_for_files_that_say_why():
    """Rooms and files of the package are in pyright's list; those that opt out tell the reason."""
    settings = tomllib.loads((HERE.parent.parent / "pyproject.toml").read_text("utf-8"))
    strict = {x.removeprefix("src/mozzi/") for x in settings["tool"]["pyright"]["strict"]}
    here = SOURCES / "mozzi"
    parts = {x.name for x in here.iterdir() if x.suffix == ".py" or (x / "__init__.py").exists()}
    assert parts <= strict, parts - strict
    basic = [
        path for path in sorted(here.rglob("*.py"))
        if path.read_text(encoding="utf-8").startswith("# pyright: basic")
    ]  # fmt: skip
    for path in basic:
        reason = path.read_text(encoding="utf-8").splitlines()[1]
        assert reason.startswith("# (") and reason.endswith(")"), path
    assert len(basic) <= BASIC, basic


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
