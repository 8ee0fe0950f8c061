"""A browser for the tests of pages."""

from collections.abc import Iterator

import pytest
from viz.browser import Browser, executable


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if executable() is None:
        pytest.skip("no Chromium here; install one, or name it in MOZZI_CHROMIUM")
    pytest.importorskip("websockets", reason="drives the browser; comes with viser")
    pytest.importorskip("PIL", reason="reads screenshots; comes with matplotlib")
    page = Browser()
    try:
        yield page
    finally:
        page.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """A page; an error on its console or a request to the network fails the test."""
    chromium.begin()
    yield chromium
    problems, strangers = list(chromium.problems), chromium.strangers()
    chromium.begin()
    assert problems == []
    assert strangers == []
