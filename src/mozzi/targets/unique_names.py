"""Names and integers in generated text: what C, CUDA and listings share.

A value brings the name that it wishes (`Node.name`, which
`algorithms/recursion/names_in_generated_code.py` gives it); here it becomes a word that is nowhere
else in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from mozzi.program.program import Index

__all__ = ["Names", "integer"]


class Names:
    """Readable names, each given once: letters, digits and underscores."""

    def __init__(self, taken: Iterable[str] = ()):
        self.taken = set(taken)
        self.count: dict[str, int] = {}

    def new(self, wish: str) -> str:
        clean = re.sub(r"\W+", "_", wish, flags=re.ASCII).strip("_")[:60]
        if not clean[:1].isalpha():
            clean = f"x{clean}"
        name = clean
        while name in self.taken:
            self.count[clean] = self.count.get(clean, 1) + 1
            name = f"{clean}_{self.count[clean]}"
        self.taken.add(name)
        return name


def integer(
    index: Index | None,
    stride: int,
    offset: int,
    variable: Callable[[Index], str],
    table: Callable[[np.ndarray], str],
) -> str:
    """index · stride + offset as text, with the names of loop variables and integer tables."""
    if index is None:
        return str(offset)
    if index.table is not None:
        at = integer(index.at, 1, 0, variable, table)
        text = f"{table(index.table)}[{at}]"
    elif index.terms:
        terms = (integer(term, factor, 0, variable, table) for term, factor in index.terms)
        text = " + ".join(terms)
        text = f"({text})" if stride != 1 and " + " in text else text
    else:
        text = variable(index)
    text = text if stride == 1 else f"{stride} * {text}"
    return text if offset == 0 else f"{text} {'+' if offset > 0 else '-'} {abs(offset)}"
