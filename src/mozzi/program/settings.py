"""How a program is traced: what holds for all that is traced meanwhile, in this thread."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["Settings", "settings", "tracing"]


@dataclass(frozen=True)
class Settings:
    """Settings of a trace."""

    rolled: bool | None = None
    """Loops over bodies (True), straight-line code (False), or as sizes say (None)."""
    dtype: str = "float64"
    """The numbers that the program will run on, which decides what rounding leaves."""
    columns: int = 20
    """Products of joint matrices are loops over columns for mechanisms of more bodies than this: a
    target may say from when on a loop is faster than straight-line code, which it fetches once for
    every use."""
    chains: int = 1_000_000
    """Gradients of fixed chains of more bodies than this are rolled, if those of other mechanisms
    are not yet: a target may say where loops are as good as straight-line code."""
    varied: object = None
    """The model whose numbers are traced, where one stands for that with the numbers as they
    are."""


class _Now(threading.local):
    settings = Settings()


_now = _Now()


def settings() -> Settings:
    """The settings of the present trace."""
    return _now.settings


@contextmanager
def tracing(settings: Settings) -> Generator[None]:
    """Trace with these settings."""
    before, _now.settings = _now.settings, settings
    try:
        yield
    finally:
        _now.settings = before
