"""Cases of one law: some in the normal run, the others with the slow tests."""

from collections.abc import Container, Iterable

import pytest

__all__ = ["first", "normal"]


def first(number: int, cases: Iterable) -> list:
    """So many of them are normal; the others are slow, each a few seconds of compiling."""
    return [x if k < number else _slow(x) for k, x in enumerate(cases)]


def normal(chosen: Container, cases: Iterable) -> list:
    """Those that are chosen are normal, one for each path through the code."""
    return [x if x in chosen else _slow(x) for x in cases]


def _slow(x: object):
    if hasattr(x, "marks"):  # it says so itself
        return x
    return pytest.param(*(x if isinstance(x, tuple) else (x,)), marks=pytest.mark.slow)
