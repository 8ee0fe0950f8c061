"""The site as a browser shows it, where it is built (docs/_build/html, or MOZZI_SITE): every page
at the width of a phone and of a desk, light and dark; every motion plays.
"""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from viz.browser import Browser, executable, wait

SITE = Path(os.environ.get("MOZZI_SITE", Path(__file__).parents[1] / "docs" / "_build" / "html"))
if not (SITE / "index.html").exists():
    pytest.skip("the site is not built", allow_module_level=True)
if executable() is None:
    pytest.skip("there is no Chromium", allow_module_level=True)

PAGES = sorted(
    p for p in SITE.rglob("*.html") if not {"_modules", "_static"} & set(p.relative_to(SITE).parts)
)
TOP = [p for p in PAGES if "api" not in p.relative_to(SITE).parts]  # the reference: one look each
PLAYING = [p for p in PAGES if "srcdoc=" in p.read_text(encoding="utf-8")]


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.close()


def look(browser: Browser, page: Path, width: int, scheme: str) -> np.ndarray:
    """A page without complaints, and a picture of it."""
    browser.begin()
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.call("Emulation.setDeviceMetricsOverride", **size)
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.call("Emulation.setEmulatedMedia", features=media)
    browser.open(page.as_uri())
    assert browser.run("document.querySelector('[role=main]') !== null")
    picture = browser.picture()
    assert not browser.problems, browser.problems
    assert not browser.strangers(), browser.strangers()
    return picture


@pytest.mark.parametrize("page", TOP, ids=lambda p: str(p.relative_to(SITE)))
def test_a_page_in_two_widths_and_two_lights(browser: Browser, page: Path):
    """Pages of the first level in all four ways, others on a dark phone and a light desk."""
    for width in (390, 1400):
        if page.parent == SITE or width < 600:
            assert look(browser, page, width, "dark").mean() < 128
        if page.parent == SITE or width > 600:
            assert look(browser, page, width, "light").mean() > 128
        wide = browser.run("document.documentElement.scrollWidth")
        assert wide <= width, f"{width} points hold it without scrolling aside; it has {wide}"
        broken = browser.run(
            "[...document.images].filter(x => x.complete && !x.naturalWidth).map(x => x.src)"
        )
        assert not broken


def test_the_reference_opens(browser: Browser):
    for page in PAGES:
        if page not in TOP:
            look(browser, page, 1280, "light")


@pytest.mark.parametrize("page", PLAYING, ids=lambda p: str(p.relative_to(SITE)))
def test_every_motion_plays(browser: Browser, page: Path):
    """The clock of each motion on a page goes on, and its canvas is drawn on."""
    look(browser, page, 1280, "light")
    count = browser.run("document.querySelectorAll('iframe[srcdoc]').length")
    for k in range(count):
        frame = f"document.querySelectorAll('iframe[srcdoc]')[{k}]"
        browser.run(f"{frame}.scrollIntoView()")
        clock = f"{frame}.contentDocument.querySelector('output').textContent"
        wait(lambda: browser.run(f"{frame}.contentDocument.querySelector('canvas') !== null"))  # noqa: B023
        before = browser.run(clock)
        end = time.monotonic() + 20
        while browser.run(clock) == before and time.monotonic() < end:
            time.sleep(0.1)
        assert browser.run(clock) != before, f"motion {k} of {count} stands still at {before}"
    assert not browser.problems, browser.problems


def test_search_finds_a_function(browser: Browser):
    """The index is read from the page itself, so that it works without a server."""
    look(browser, SITE / "search.html", 1280, "light")
    browser.open((SITE / "search.html").as_uri() + "?q=forward_dynamics")
    wait(lambda: browser.run("document.querySelectorAll('.search li').length") > 0, 30)


@pytest.mark.parametrize("page", sorted((SITE / "tutorials").glob("*.html")), ids=lambda p: p.stem)
def test_a_tutorial_has_a_picture_and_a_motion(page: Path):
    text = page.read_text(encoding="utf-8")
    assert "srcdoc=" in text and "<img " in text
