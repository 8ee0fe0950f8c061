"""Cases of one law: the first in the normal run, the others with the slow tests."""

from collections.abc import Iterable

import pytest

__all__ = ["first"]


def first(number: int, cases: Iterable) -> list:
    """So many of them are normal; the others are slow, each a few seconds of compiling."""

    def slow(x: object):
        if hasattr(x, "marks"):  # it says so itself
            return x
        return pytest.param(*(x if isinstance(x, tuple) else (x,)), marks=pytest.mark.slow)

    return [x if k < number else slow(x) for k, x in enumerate(cases)]
