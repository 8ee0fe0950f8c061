"""The examples of derivatives run, and their assertions hold."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


@pytest.mark.parametrize("name", ["calibration", "payload_identification", "lqr", "series_elastic"])
def test_example(name, capsys):
    pytest.importorskip("scipy")
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out
