"""Each row of the tables for users of other libraries: both sides are run, and agree."""

import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "coming_from"
if not FOLDER.is_dir():
    pytest.skip("the site is in a checkout only", allow_module_level=True)
sys.path.insert(0, str(FOLDER))

from tables import TABLES  # noqa: E402

ROWS = [(name, k) for name, table in TABLES.items() for k in range(len(table.rows))]


@pytest.fixture(scope="module")
def spaces():
    return {}


@pytest.mark.parametrize(("name", "k"), ROWS, ids=lambda x: str(x))
@pytest.mark.filterwarnings("ignore")
def test_both_sides_agree(name, k, spaces, monkeypatch):
    table = TABLES[name]
    pytest.importorskip(table.needs)
    monkeypatch.chdir(FOLDER)
    if name not in spaces:
        spaces[name] = {}
        exec(table.setup, spaces[name])
    what, theirs, ours = table.rows[k]
    theirs, ours = (np.asarray(eval(x, spaces[name]), dtype=float) for x in (theirs, ours))
    assert theirs.shape == ours.shape and ours.size, what
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * (1 + np.abs(theirs).max()))
