"""Where commands print: results go to stdout, everything else to stderr."""

from __future__ import annotations

import sys
import unicodedata

from rich import markup
from rich.console import Console

__all__ = ["complain", "escape", "put", "stderr", "stdout", "visible"]

# Tables fit the terminal; in a file or a pipe nothing is cut.
TERMINAL = sys.stdout is not None and sys.stdout.isatty()  # None: closed, or without a console
stdout = Console(highlight=False, width=None if TERMINAL else 10_000)
stderr = Console(highlight=False, stderr=True)


def visible(text: str) -> str:
    """Text of a file with what a terminal would obey (controls, also U+0080 to U+009F, and marks
    that turn the direction of writing) spelled out.
    """
    return "".join(
        f"\\x{ord(c):02x}" if unicodedata.category(c) == "Cc"
        else f"\\u{ord(c):04x}" if unicodedata.category(c) in ("Cf", "Zl", "Zp", "Cs")
        else c
        for c in text
    )  # fmt: skip


def escape(text: str) -> str:
    """Text of a file, for a line with markup."""
    return markup.escape(visible(text))


def put(line: str) -> None:
    """A line of the result, however long, with markup."""
    stdout.print(line, soft_wrap=True)


def complain(message: str) -> None:
    """Say what went wrong, and what to do about it."""
    lines = "\n".join(escape(line) for line in message.split("\n"))
    stderr.print(f"[bold red]error:[/] {lines}", soft_wrap=True)
