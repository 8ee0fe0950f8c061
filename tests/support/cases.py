"""Cases of one law: the first in the normal run, the others with the slow tests."""

from collections.abc import Iterable

import pytest

__all__ = ["first"]


def first(number: int, cases: Iterable) -> list:
    """So many of them are normal; the others are slow, each a few seconds of compiling."""
    values = lambda x: x if isinstance(x, tuple) else (x,)
    return [
        x if k < number else pytest.param(*values(x), marks=pytest.mark.slow)
        for k, x in enumerate(cases)
    ]
