"""What pages say was measured comes from benchmarks/results, or from a cell that ran: a typed time,
rate, share or ratio is refused, unless it is listed here with its reason.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the results are in a checkout only", allow_module_level=True)
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

MADE = {"_build", "api", "coming_from", "study"}  # when the site is built
PAGES = sorted(p for p in DOCS.rglob("*.md") if not MADE & set(p.relative_to(DOCS).parts))
TYPED = re.compile(
    r"(?<![\w.^/(–-])\d(?:[\d,.]*\d)?(?:\s*·\s*10[⁰¹²³⁴⁵⁶⁷⁸⁹]+)?\s?"
    r"(?:ns|µs|us|ms|s|seconds?|minutes?|hours?|times|×(?! ?\w)|%|million|billion|[GT]B/s|/s)(?!\w)"
)

#: Typed numbers that nobody measured: what they are.
CHOSEN = {
    "gpu.md": {"0.5 s": "how long the motions of a benchmark are"},
    "howto/sweep.md": {
        "2.5 %": "the accuracy that quantiles are made with",
        "5 ms": "what a scheduler is given for a message",
    },
    "loaders.md": {"0.1 %": "a tolerance of the loaders"},
    "sharp_bits.md": {"1 ms": "a step, as an example"},
    "theory/contact.md": {"1 ms": "a step, as an example", "2 ms": "a step of an experiment"},
    "theory/cpu_target.md": {
        "20 µs": "a threshold of the library", "0.4 ms": "a threshold of the library",
    },
    "theory/integration.md": {
        "1 ms": "a step of a test", "2 s": "a time of a test", "10 s": "a time of a test",
        "0.1 ms": "a step of a test", "64 times": "a number of the library",
    },
    "theory/loops.md": {
        "1.25 ms": "a step", "5 s": "a time of a test", "1 ms": "a step of a test",
        "0.01 s": "a step",
    },
}  # fmt: skip


def prose(text: str) -> str:
    """A page without its code, its formulas and its tables of results."""
    for pattern in (
        r"^(```+)(?!\w*\{(?:dropdown|note|tip|warning)\}).*?^\1\s*$",
        r"<!-- begin (\w+) -->.*?<!-- end \1 -->", r"\$\$.*?\$\$",
        r"\{\w+\}`[^`]*`( times| billion| million| [µnm]?s| %| [GT]B/s)?",
        r"``[^`]*``", r"`[^`\n]*`", r"\$[^$\n]*\$",
    ):  # fmt: skip
        text = re.sub(pattern, " ", text, flags=re.M | re.S)
    return text


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(DOCS)))
def test_a_page_types_no_measured_number(page: Path):
    chosen = CHOSEN.get(str(page.relative_to(DOCS)), {})
    found = {x.strip() for x in TYPED.findall(prose(page.read_text(encoding="utf-8")))}
    assert found <= chosen.keys(), (
        f"{sorted(found - chosen.keys())}: let a cell measure it, or write "
        "{measured}`{cpu[throughput][inverse_dynamics panda][ns]:.0f} ns` of a kept result"
    )


def test_every_mark_has_a_kept_result():
    from benchmarks import gpu_report, kept

    count = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for mark in re.findall(r"\{measured\}`([^`]*)`", text):
            assert not re.search(r"[{}]", kept.fill(mark)), mark
            count += 1
        for name in re.findall(r"<!-- begin (\w+) -->", text):
            table = gpu_report.TABLES.get(name)
            assert (table(kept.newest("gpu")) if table else kept.table(name)).count("\n") > 1
    assert count > 100


def test_every_table_has_a_name_of_its_own():
    """A page would show another one of the same name."""
    from benchmarks import gpu_report, kept

    names = [*gpu_report.TABLES]
    for kind in kept.KINDS_OF_TABLES:
        names += kept.newest(kind)["tables"]
    assert len(names) == len(set(names)) > 10


def test_a_mark_that_nothing_has_is_refused():
    from benchmarks import kept

    assert kept.fill("{cpu[throughput][inverse_dynamics panda][batch]:,.0f}") == "4,096"
    assert kept.fill("{cpu[throughput][inverse_dynamics panda][batch]:/1e3 .1f}") == "4.1"
    for wrong in ("{cpu[throughput][panda][ns]}", "{cpu[nothing]}", "{nothing[at all]}"):
        with pytest.raises(KeyError):
            kept.fill(wrong)


def test_the_study_of_dynamics_is_that_of_its_results():
    """Its page, which stands in the repository as well, is what the build writes."""
    from benchmarks import kept, study_dynamics

    page = study_dynamics.page(kept.newest("study-dynamics"))
    assert (DOCS / "study" / "dynamics.md").read_text(encoding="utf-8") == page
