"""Where commands print: results go to stdout, everything else to stderr."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.markup import escape

__all__ = ["complain", "put", "stderr", "stdout"]

# Tables fit the terminal; in a file or a pipe nothing is cut.
stdout = Console(highlight=False, width=None if sys.stdout.isatty() else 10_000)
stderr = Console(highlight=False, stderr=True)


def put(markup: str) -> None:
    """A line of the result, however long."""
    stdout.print(markup, soft_wrap=True)


def complain(message: str) -> None:
    """Say what went wrong, and what to do about it."""
    stderr.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
