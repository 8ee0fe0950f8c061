"""A browser for the tests of pages."""

from collections.abc import Iterator

import pytest
from viz.browser import Browser, executable


@pytest.fixture
def browser() -> Iterator[Browser]:
    if executable() is None:
        pytest.skip("no Chromium here; install one, or name it in MOZZI_CHROMIUM")
    pytest.importorskip("websockets", reason="drives the browser; comes with viser")
    pytest.importorskip("PIL", reason="reads screenshots; comes with matplotlib")
    page = Browser()
    try:
        yield page
    finally:
        page.close()
