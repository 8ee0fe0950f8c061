"""The one decision whether a program has loops over bodies (rolled) or is straight-line code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mozzi.model import Distance, Loop, Model
from mozzi.program.settings import settings

__all__ = ["ALWAYS_UNROLLED", "UNROLLED_BODIES", "few_loops", "many_loops", "rolls"]

UNROLLED_BODIES = 40  # a first call still feels immediate: docs/design.md has the figures
ALWAYS_UNROLLED = 10**9  # bodies: of algorithms that are straight-line programs at any size


class Rollable(Protocol):
    """What an algorithm says of itself."""

    threshold: int | None
    loops: str
    rolled_paths: bool
    @property
    def rolled_loops(self) -> Callable[[Model], bool] | None: ...


FEW_LOOPS, FEW_ROWS = 16, 48
SOME_ROWS, SOME_BODIES = 17, 80
"""From so many rows on a mechanism is rolled from so many bodies on only, since straight-line code
runs faster.
"""
MANY_BODIES = 400  # the same, of mechanisms with many loops


def few_loops(model: Model) -> bool:
    """Whether paths of loops are walked in loops of the program: joints and distances close the
    tree, with few rows.
    """
    closing = model.closures
    if not 0 < len(closing) <= FEW_LOOPS or not 0 < model.row_count <= FEW_ROWS:
        return False
    return all(isinstance(part, Loop | Distance) for part in closing)


def many_loops(model: Model) -> bool:
    """Whether there are more: in rolled programs those that are alike are loops, too."""
    return bool(model.closures) and not few_loops(model)


def rolls(model: Model, algorithm: Rollable | None = None, most: int | None = None) -> bool:
    """Whether a model is traced rolled now, by this algorithm (most: from more bodies on).

    As the trace is told to (`Settings.rolled`); else from so many bodies on, which an algorithm may
    say for itself. A few loops with long paths are honoured in rolled programs (`few_loops`), and
    by some algorithms many that are alike (`rolled_loops`); others body by body. Some algorithms
    are straight-line code at any size (`ALWAYS_UNROLLED`); what repeats itself in their long
    programs becomes loops when they are compiled (`program/reroll.py`).
    """
    rolled = settings().rolled
    if algorithm is not None and algorithm.threshold == ALWAYS_UNROLLED:
        return False
    if algorithm is not None and algorithm.loops == "honour":
        if many_loops(model):
            alike, large = algorithm.rolled_loops, model.nb > MANY_BODIES
            return (large if rolled is None else rolled) and alike is not None and alike(model)
        if model.closures and not algorithm.rolled_paths:
            return False
    if rolled is not None:
        return rolled
    own = most if algorithm is None or most is not None else algorithm.threshold
    if own is None:
        rows = algorithm is not None and algorithm.loops == "honour" and model.row_count
        own = SOME_BODIES if rows >= SOME_ROWS else UNROLLED_BODIES
    return model.nb > own
