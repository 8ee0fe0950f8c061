"""The page of the papers names functions that there are, and tests that there are, for every number
of an equation; the page of errata, tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mozzi as mz

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
LAST = {  # the numbers of each paper's equations: how they are written, and from where to where
    "kinematics": [("", 1, 82)],
    "multibody dynamics": [("", 1, 120)],
    "Rodriguez": [("0.", 1, 37), (".", 38, 50)],
    "Ploen": [("", 1, 38)],
    "Kim": [("", 1, 92)],
}


def rows() -> list[list[str]]:
    """The entries of all tables: equations, what, functions, tests."""
    lines = [x for x in PAGE.splitlines() if x.startswith("| ") and "| equations" not in x]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_row_names_functions_and_tests_that_are_there():
    assert len(rows()) > 80
    for equations, _, functions, tests in rows():
        found = re.findall(r"`([^`]+)`", functions)
        assert found, equations
        for name in found:
            thing: object = mz
            for part in name.split("."):
                thing = getattr(thing, part)
        held = re.findall(r"`([^`]+)`", tests)
        assert held, equations
        for path, name in (x.split("::") for x in held):
            text = (ROOT / path).read_text(encoding="utf-8")
            assert f"def {name}(" in text, (equations, path, name)


def test_every_erratum_is_shown_by_a_test_that_is_there():
    text = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    last = [x.strip("|").split("|")[-1] for x in text.splitlines() if x.startswith("| ")]
    shown = [x for x in last if "shown by" not in x]
    files = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    assert len(shown) > 50
    for cell in shown:
        named = re.findall(r"`([^`]+)`", cell)
        assert named or "same" in cell, cell
        for path, _, name in (x.rpartition("::") for x in named):
            whole = name.endswith(".py")  # a file, all of it
            at, what = (name, "def test_") if whole else (path, f"def {name}(")
            own = [text for file, text in files.items() if file.as_posix().endswith(at)]
            assert any(what in text for text in own), (at, what)


@pytest.mark.parametrize("paper", LAST)
def test_no_equation_is_missing(paper: str):
    """Each number stands in a table, or among those that define, derive or count."""
    part = next(x for x in re.split(r"^## ", PAGE, flags=re.M)[1:] if paper in x.splitlines()[0])
    first = [x.strip("|").split("|")[0] for x in part.splitlines() if x.startswith("| ")]
    said = [x for x in part.splitlines() if re.match(r"(Defines|Derives|Notation|Counts):", x)]
    text = " ".join([*first, *said])
    for prefix, low, high in LAST[paper]:
        number = rf"\({re.escape(prefix)}(\d+)\)"
        there: set[int] = set()
        for a, b in re.findall(rf"{number}(?:–{number})?", text):
            there |= set(range(int(a), int(b or a) + 1))
        assert set(range(low, high + 1)) <= there, sorted(set(range(low, high + 1)) - there)
