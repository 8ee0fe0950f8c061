"""The page of the papers names functions that there are, and tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

import mozzi as mz

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")


def test_what_the_page_names_is_there():
    words = re.findall(r"`([^`]+)`", PAGE)
    assert len(words) > 80
    for word in words:
        if word.startswith(("tests/", "mozzi/")):
            path, _, name = word.partition("::")
            place = ROOT / ("src" if path.startswith("mozzi/") else "") / path
            assert place.exists(), word
            assert not name or f"def {name}(" in place.read_text(encoding="utf-8"), word
            continue
        owner, *rest = re.sub(r"\(.*\)", "", word).split(".")
        thing = getattr(mz, owner)
        for name in rest:
            thing = getattr(thing, name)
