"""Every block of code on the site runs: as a cell or a program when it is built, or where there is
what it needs, and then what it printed there is kept; the few others are checked here.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from mozzi.loaders.loops_file import read_yaml

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the results are in a checkout only", allow_module_level=True)
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from benchmarks import pages  # noqa: E402

MADE = {"_build", "api", "coming_from"}  # when the site is built, and run by tests of their own
PAGES = sorted(p for p in DOCS.rglob("*.md") if not MADE & set(p.relative_to(DOCS).parts))
RUN = {"{code-cell}", "{needs}", "{run}"}
NO_CODE = {"{toctree}", "{dropdown}", "{include}", "{eval-rst}"}

#: Blocks that are shown and not run: what they are.
SHOWN = {
    ("design.md", ""): "a drawing",
    ("loaders.md", "yaml"): "read below",
    ("gpu.md", "sh"): "commands of the benchmarks, looked up below",
    ("start/install.md", "sh"): "the command of tests/cli/test_demo.py",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(DOCS)))
def test_every_block_runs(page: Path):
    """No Python is shown that does not run; with prompts it is run by docs/_extensions/prompts."""
    text = page.read_text(encoding="utf-8")
    for ticks, word, body in re.findall(r"^(```+)([^\s`]*)[^\n]*\n(.*?)^\1\s*$", text, re.M | re.S):
        if ticks == "````":
            assert word == "{dropdown}"
            assert set(re.findall(r"^```(\S+)", body, re.M)) == {"{run}"}
        elif word == "python":
            assert body.startswith(">>> "), f"{page.name}: a block that nothing runs: {body[:200]}"
        elif word not in RUN | NO_CODE:
            assert (page.relative_to(DOCS).as_posix(), word) in SHOWN, f"{word}: {body[:200]}"


@pytest.mark.parametrize("name", pages.programs())
def test_what_needs_a_device_ran_on_one(name: str):
    """Its text is that which ran, and something was printed that tells it."""
    needs, blocks = pages.programs()[name]
    kept = pages.shown(name, blocks)
    assert kept["commit"] and kept["machine"]
    assert all(x["output"] for x in kept["blocks"])
    assert ("NVIDIA" in kept["machine"]) == ("cuda" in needs)


def test_another_text_is_refused():
    name, (_, blocks) = next(iter(pages.programs().items()))
    with pytest.raises(KeyError, match=r"another text.*benchmarks\.pages"):
        pages.shown(name, [*blocks[:-1], blocks[-1] + "\nprint('other')"])


def test_loops_of_the_page_of_files(tmp_path: Path):
    (text,) = re.findall(r"^```yaml\n(.*?)^```", (DOCS / "loaders.md").read_text(), re.M | re.S)
    (tmp_path / "loops.yaml").write_text(text)
    found = read_yaml(tmp_path / "loops.yaml")
    assert len(found["closed_loop"]) == len(found["type"]) == 2


def test_commands_of_benchmarks_are_there():
    named = {
        name
        for page in PAGES
        for name in re.findall(r"python -m benchmarks\.(\w+)", page.read_text(encoding="utf-8"))
    }
    there = {p.stem for p in (ROOT / "benchmarks").iterdir()}
    assert named and named <= there
