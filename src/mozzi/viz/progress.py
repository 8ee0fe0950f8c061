# pyright: basic
# (IPython is typed in part)
"""A bar for long work: in a notebook below its cell, in a terminal on stderr, elsewhere none."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from html import escape

__all__ = ["in_notebook", "told_when_long", "watched"]

Tell = Callable[[float], None]
LONG = 1.0  # seconds after which one wants to know what is going on
EVERY = 0.1  # seconds between two pictures of a bar in a notebook


def in_notebook() -> bool:
    """Whether this is a cell of a notebook."""
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def watched(title: str) -> Generator[Tell, None, None]:
    """``with watched("title") as tell: ... tell(share)`` shows the share that is done."""
    with (_in_a_notebook if in_notebook() else _in_a_terminal)(title) as tell:
        yield tell


@contextmanager
def told_when_long(text: str) -> Generator[None, None, None]:
    """``with told_when_long("text"): ...`` shows the text while it takes longer than a second: in a
    notebook below its cell, in a terminal on stderr, elsewhere not.
    """
    notebook = in_notebook()
    if not notebook and not (sys.stderr is not None and sys.stderr.isatty()):
        yield
        return
    clear: list[Callable[[], object]] = []

    def tell() -> None:
        if notebook:
            from IPython.display import HTML, display

            handle = display(HTML(escape(text)), display_id=True)
            assert handle is not None  # a notebook has one
            clear.append(lambda: handle.update(HTML("")))
        else:
            sys.stderr.write(text)
            sys.stderr.flush()
            clear.append(lambda: sys.stderr.write("\r\033[K"))

    timer = threading.Timer(LONG, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for line in clear:
            line()


@contextmanager
def _in_a_notebook(title: str) -> Generator[Tell, None, None]:
    from IPython.display import HTML, display

    start = time.monotonic()
    handle = display(HTML(""), display_id=True)
    assert handle is not None  # a notebook has one
    last = -EVERY

    def tell(share: float) -> None:
        nonlocal last
        now = time.monotonic() - start
        if now - last < EVERY and share < 1.0:
            return
        last = now
        left = now * (1.0 - share) / share if share > 0.0 else 0.0
        bar = f'<progress value="{share:.4f}" max="1" style="width:40%"></progress>'
        handle.update(
            HTML(f"{escape(title)} {bar} {100 * share:.0f} % · {now:.1f} s · {left:.1f} s left")
        )

    yield tell


@contextmanager
def _in_a_terminal(title: str) -> Generator[Tell, None, None]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(highlight=False, stderr=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(title, total=1.0)

        def tell(share: float) -> None:
            bar.update(task, completed=share)

        yield tell
