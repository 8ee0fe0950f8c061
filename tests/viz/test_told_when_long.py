"""A line says what is compiled when that takes longer than a second."""

import io
import os
import sys
import time

import pytest

import mozzi as mz
from mozzi.model.generate import chain
from mozzi.viz import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_the_line_and_clears_it(monkeypatch):
    monkeypatch.setattr(progress, "LONG", 0.02)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.told_when_long("compiling"):
        time.sleep(0.5)
        assert sys.stderr.getvalue() == "compiling"
    assert sys.stderr.getvalue() == "compiling\r\033[K"


def test_short_work_and_files_show_nothing(monkeypatch):
    for stream in (Terminal(), io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.told_when_long("compiling"):
            pass
        assert stream is None or stream.getvalue() == ""


def test_a_notebook_shows_it_below_its_cell(monkeypatch):
    display = pytest.importorskip("IPython.display")
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html.data)

    def show(html, display_id):
        shown.append(html.data)
        return Handle()

    monkeypatch.setattr(progress, "LONG", 0.02)
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    monkeypatch.setattr(display, "display", show)
    with progress.told_when_long("a & b"):
        time.sleep(0.5)
    assert shown == ["a &amp; b", ""]


def test_compiling_tells_of_itself(monkeypatch):
    monkeypatch.setattr(progress, "LONG", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())

    def slow(q):
        time.sleep(0.3)
        return 2.0 * q

    mz.compile(slow, chain(2, seed=5))
    assert sys.stderr.getvalue() == "mozzi: compiling slow for chain_2_5 …\r\033[K"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    "seconds, line", [(2.5, "mozzi: compiling slow for chain_2_5 …\r\033[K"), (0.0, "")]
)
def test_a_process_on_a_terminal(seconds, line, tmp_path):
    """With the second that it is: shown and cleared, and nothing where it takes less."""
    import pty

    code = (
        "import time, mozzi as mz\nfrom mozzi.model.generate import chain\n"
        f"def slow(q):\n    time.sleep({seconds})\n    return 2.0 * q\n"
        "mz.compile(slow, chain(2, seed=5))"
    )
    child, terminal = pty.fork()
    if child == 0:
        os.environ["MOZZI_CACHE_DIR"] = str(tmp_path)
        os.execv(sys.executable, [sys.executable, "-W", "ignore", "-c", code])
    said = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux says so where the other end is closed
            break
        if not part:
            break
        said += part
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and said.decode() == line
