"""A bar for long work, on stderr; nothing where stderr is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from mozzi.cli.console import stderr

__all__ = ["watched"]


@contextmanager
def watched(title: str) -> Generator[Callable[[float], None], None, None]:
    """``with watched("title") as tell: ... tell(share)`` shows the share that is done."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as bar:
        task = bar.add_task(title, total=1.0)

        def tell(share: float) -> None:
            bar.update(task, completed=share)

        yield tell
