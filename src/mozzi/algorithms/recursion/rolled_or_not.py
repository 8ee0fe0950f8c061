"""The one decision whether a program has loops over bodies (rolled) or is straight-line code."""

from __future__ import annotations

from typing import Protocol

from mozzi.model import Distance, Loop, Model
from mozzi.program.settings import settings

__all__ = ["ALWAYS_UNROLLED", "UNROLLED_BODIES", "rolls"]

UNROLLED_BODIES = 40  # a first call still feels immediate: docs/design.md has the figures
ALWAYS_UNROLLED = 10**9  # bodies: of algorithms that are straight-line programs at any size


class Rollable(Protocol):
    """What an algorithm says of itself."""

    threshold: int | None
    loops: str
    rolled_paths: bool


FEW_LOOPS = 4
FEW_ROWS = 16


def few_loops(model: Model) -> bool:
    """Whether paths of loops are walked in loops of the program: joints and distances close the
    tree, with few rows.
    """
    closing = model.closures
    if not 0 < len(closing) <= FEW_LOOPS or not 0 < model.row_count <= FEW_ROWS:
        return False
    return all(isinstance(part, Loop | Distance) for part in closing)


def rolls(model: Model, algorithm: Rollable | None = None, most: int | None = None) -> bool:
    """Whether a model is traced rolled now, by this algorithm (most: from more bodies on).

    As the trace is told to (`Settings.rolled`); else from so many bodies on, which an algorithm may
    say for itself. A few loops with long paths are honoured in rolled programs (`few_loops`), many
    of them body by body, and some algorithms are straight-line code at any size
    (`ALWAYS_UNROLLED`); what repeats itself in their long programs becomes loops when they are
    compiled (`program/reroll.py`).
    """
    if algorithm is not None and algorithm.loops == "honour" and model.closures:
        rollable = algorithm.rolled_paths and few_loops(model)
        if not rollable:
            return False
    if algorithm is not None and algorithm.threshold == ALWAYS_UNROLLED:
        return False
    rolled = settings().rolled
    if rolled is not None:
        return rolled
    own = most if algorithm is None or most is not None else algorithm.threshold
    return model.nb > (UNROLLED_BODIES if own is None else own)
