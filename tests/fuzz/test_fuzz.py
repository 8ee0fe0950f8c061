"""A short run of the fuzzer, and what it found before."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.__main__ import FOUND, KINDS, case
from fuzz.judge import judge

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_seeds(kind, tmp_path: Path, record_property):
    """Files grown at random, of which every second or so is broken: none surprises."""
    cases = [case(seed, kind, tmp_path) for seed in range(150)]
    record_property("cases", len(cases))
    assert {"refused"} < set(cases)


def kept() -> list[Path]:
    return sorted(path for path in FOUND.glob("*") if path.suffix in KINDS.values())


@pytest.mark.parametrize("path", kept(), ids=lambda path: path.name)
def test_what_was_found_before(path: Path):
    judge(path, path.name.partition("_")[0], right=False)
