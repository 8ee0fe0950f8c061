"""The one decision whether a program has loops over bodies (rolled) or is straight-line code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mozzi.model import Distance, Loop, Model
from mozzi.model.model import WORLD
from mozzi.program.settings import settings

__all__ = [
    "ALWAYS_UNROLLED", "UNROLLED_BODIES", "few_loops", "fixed_chain", "long_paths", "many_loops",
    "rolls",
]  # fmt: skip

UNROLLED_BODIES = 40  # a first call still feels immediate: docs/design.md has the figures
ALWAYS_UNROLLED = 10**9  # bodies: of algorithms that are straight-line programs at any size


class Rollable(Protocol):
    """What an algorithm says of itself."""

    threshold: int | None
    loops: str
    rolled_paths: bool
    rolled_chains: bool
    @property
    def rolled_loops(self) -> Callable[[Model], bool] | None: ...


FEW_LOOPS, FEW_ROWS = 16, 48
MORE_LOOPS, MORE_ROWS = 128, 384
"""The same where paths are long: many loops in series on one chain, whose rows all meet."""
LONG_PATH = 24  # bodies from the ends of a closure to the base, on average
SOME_ROWS, SOME_BODIES = 17, 80
"""From so many rows on a mechanism is rolled from so many bodies on only, since straight-line code
runs faster.
"""
MANY_BODIES = 400  # the same, of mechanisms with many loops
FREE = 6  # velocities of a first joint that lets a mechanism float


def few_loops(model: Model) -> bool:
    """Whether paths of loops are walked in loops of the program: joints and distances close the
    tree, with few rows.
    """
    closing, rows = model.closures, model.row_count
    if not 0 < len(closing) <= MORE_LOOPS or not 0 < rows <= MORE_ROWS:
        return False
    if not all(isinstance(part, Loop | Distance) for part in closing):
        return False
    return (len(closing) <= FEW_LOOPS and rows <= FEW_ROWS) or long_paths(model)


def long_paths(model: Model) -> bool:
    """Whether many bodies carry the ends of closures, on average: rows travel through all of them,
    and those of one chain meet.
    """
    key = "closures have long paths"
    if key not in model.cache:
        depth = {WORLD: 0}
        for k, body in enumerate(model):
            depth[k] = depth[body.parent] + 1
        ends = [(x.body_a, x.body_b) for x in model.closures if isinstance(x, Loop | Distance)]
        model.cache[key] = sum(max(map(depth.__getitem__, x)) for x in ends) > LONG_PATH * len(ends)
    return model.cache[key]


def many_loops(model: Model) -> bool:
    """Whether there are more: in rolled programs those that are alike are loops, too."""
    return bool(model.closures) and not few_loops(model)


def fixed_chain(model: Model) -> bool:
    """Whether every body hangs on the one before, and the first one not freely."""
    key = "is a fixed chain"
    if key not in model.cache:
        model.cache[key] = (
            model.nb > 0
            and model.body(0).joint.nv < FREE
            and all(body.parent == k - 1 for k, body in enumerate(model))
        )
    return model.cache[key]


def rolls(model: Model, algorithm: Rollable | None = None, most: int | None = None) -> bool:
    """Whether a model is traced rolled now, by this algorithm (most: from more bodies on).

    As the trace is told to (`Settings.rolled`); else from so many bodies on, which an algorithm may
    say for itself. A few loops with long paths are honoured in rolled programs (`few_loops`), and
    by some algorithms many that are alike (`rolled_loops`); others body by body. Some are rolled
    for shorter chains already (`Settings.chains`): straight-line code has the first bodies
    for next to nothing, and loops cost the same a body at every length. Some algorithms
    are straight-line code at any size (`ALWAYS_UNROLLED`); what repeats itself in their long
    programs becomes loops when they are compiled (`program/reroll.py`).
    """
    rolled = settings().rolled
    if algorithm is not None and algorithm.threshold == ALWAYS_UNROLLED:
        return False
    if algorithm is not None and algorithm.loops == "honour":
        if many_loops(model):
            alike = algorithm.rolled_loops
            large = model.nb > (MANY_BODIES if most is None else most)
            return (large if rolled is None else rolled) and alike is not None and alike(model)
        if model.closures and not algorithm.rolled_paths:
            return False
    if rolled is not None:
        return rolled
    own = most if algorithm is None or most is not None else algorithm.threshold
    if own is None:
        rows = algorithm is not None and algorithm.loops == "honour" and model.row_count
        own = SOME_BODIES if rows >= SOME_ROWS else UNROLLED_BODIES
    if algorithm is not None and algorithm.rolled_chains and own < SOME_BODIES:
        own = min(own, settings().chains) if fixed_chain(model) else own
    return model.nb > own
