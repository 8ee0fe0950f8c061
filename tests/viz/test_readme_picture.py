"""The picture of the README is what `mozzi demo` shows."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from viz.browser import executable

IMAGES = Path(__file__).parents[2] / "docs" / "images"
if not IMAGES.is_dir():
    pytest.skip("the picture is in a checkout only", allow_module_level=True)
if executable() is None:
    pytest.skip("there is no Chromium", allow_module_level=True)


@pytest.mark.slow
def test_the_picture_is_current():
    """Up to fonts, and to pendulums that are chaotic: `python docs/images/make.py` makes it."""
    Image = pytest.importorskip("PIL.Image")
    kept = np.asarray(Image.open(IMAGES / "demo.png").convert("RGB"), dtype=float)
    found = runpy.run_path(str(IMAGES / "make.py"))["picture"]().astype(float)
    assert abs(len(found) - len(kept)) < 12 and found.shape[1] == kept.shape[1]
    rows = min(len(found), len(kept))
    assert abs(found[:rows] - kept[:rows]).mean() < 4.0
