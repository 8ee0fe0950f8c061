"""Calls with options that were made before are found by their form: names and words, not numbers.

To bind arguments, look at their kinds and find the kernel takes Python ten times as long as the
kernel of a small robot takes. A call that differs from an earlier one in the numbers of its arrays
alone was looked at then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Form", "Known", "form_of"]

WORDS = (str, bool, int, type(None))


class Form(NamedTuple):
    """What two calls have in common that the same kernel answers, and the arrays of this one, with
    their names.
    """

    key: Hashable
    names: list[str]
    arrays: list[Any]


class Known(NamedTuple):
    """What is known of calls of a form: the names of arrays in the order of the algorithm, where
    they are among those given, its options, and the kernel, where that alone answers.
    """

    names: tuple[str, ...]
    order: tuple[int, ...]
    others: Mapping[str, object]
    kernel: Callable[..., Any] | None


def form_of(
    parameters: Sequence[tuple[str, bool]], arrays: Collection[str], args: Sequence[object],
    options: Mapping[str, object],
) -> Form | None:  # fmt: skip
    """The form of a call with NumPy's arrays, words, names and whole numbers; None of others.

    parameters: the names of positional ones, and whether they are arrays. arrays: the names of all
    that are.
    """
    if len(args) > len(parameters):
        return None
    key: list[object] = [len(args)]
    names: list[str] = []
    given: list[Any] = []
    named = [(name, is_array, x) for (name, is_array), x in zip(parameters, args)]
    for name, x in options.items():
        key.append(name)
        named.append((name, name in arrays, x))
    for name, is_array, x in named:
        if is_array and type(x) is np.ndarray:
            names.append(name)
            given.append(x)
            key.append(np.ndarray)
        elif (is_array and x is not None) or not _add(key, x):
            return None
    return Form(tuple(key), names, given)


def _add(key: list[object], x: object) -> bool:
    """Add a word, or a list of words, to a key: 1 is not True there, nor a list a tuple."""
    kind = type(x)
    key.append(kind)
    if kind in WORDS:
        key.append(x)
        return True
    if (kind is list or kind is tuple) and all(type(e) is str for e in x):  # type: ignore[attr-defined]
        key.append(tuple(x))  # type: ignore[arg-type]
        return True
    return False
