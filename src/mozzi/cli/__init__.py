"""The command line: ``mozzi COMMAND``, one file per command.

Exit codes: 0 done, 1 failed, 2 bad usage or bad input.
"""

from __future__ import annotations

import functools
import importlib
import io
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from mozzi import __version__
from mozzi.cli.console import complain
from mozzi.errors import MozziError

__all__ = ["main"]

# A command is a function in the file of its name in this folder, and one line here.  Its docstring
# is its help.  It imports heavy parts when it runs, so that ``mozzi --help`` is quick.
COMMANDS: tuple[str, ...] = (
    "bench",
    "cache",
    "demo",
    "export",
    "info",
    "simulate",
    "sweep",
    "view",
)  # fmt: skip

FAILED, BAD_INPUT = 1, 2


def exit_code(error: MozziError | OSError) -> int:
    """Bad input where the words of the user are to blame, failure otherwise."""
    return BAD_INPUT if isinstance(error, (ValueError, OSError)) else FAILED


def answering(command: Callable[..., object]) -> Callable[..., object]:
    """The command, with errors told in a line instead of a traceback."""

    @functools.wraps(command)
    def run(*args: object, **kwargs: object) -> object:
        try:
            return command(*args, **kwargs)
        except MozziError as error:
            complain(str(error))
            raise typer.Exit(exit_code(error)) from error
        except OSError as error:
            if error.filename is None:
                raise
            complain(f"{error.filename}: {error.strerror}")
            raise typer.Exit(exit_code(error)) from error

    return run


def version(asked: bool) -> None:
    """Print the version and leave."""
    if asked:
        typer.echo(f"mozzi {__version__}")
        raise typer.Exit


def start(
    _version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Kinematics and dynamics of articulated rigid bodies on screws and Lie groups."""


def application() -> typer.Typer:
    """All commands."""
    app = typer.Typer(
        no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
    )
    app.callback()(start)
    for name in COMMANDS:
        command = getattr(importlib.import_module(f"mozzi.cli.{name}"), name)
        app.command(name)(answering(command))
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``mozzi ARGUMENTS`` (of the process, if none are given) and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a mark that a terminal lacks is no failure
    application()(arguments, prog_name="mozzi")
