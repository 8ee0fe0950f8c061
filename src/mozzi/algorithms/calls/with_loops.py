"""What happens to a call when the model has loops, distances or couplings.

The algorithms of the tree stand below what answers for loops (`loops/`, `derivatives/loops/`) and
do not know it: what answers registers itself with the algorithm that it answers for
(`@forward_dynamics.with_loops`, `@forward_dynamics.recursion_with_loops`). The first call that
meets a model with loops loads all of it here; then `Algorithm.__call__` asks it before it compiles
its own recursion. What else happens is declared with the algorithm: `@algorithm(loops=…)` is
"honour" (the recursion itself keeps loops closed), "tree" (it is about the tree, loops or not), or
"refuse".
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from mozzi.errors import ConfigurationError, LoopError
from mozzi.model import Closure, Model
from mozzi.types import ArrayLike

__all__ = ["closed", "met_loops", "refuse_choices", "refuse_loops", "tell_open"]


def closed(model: Model) -> tuple[Closure, ...]:
    """What ties the tree of a model: its loops, distances and couplings, what rolls, what is
    driven.
    """
    return model.closures


def met_loops(model: Model) -> bool:
    """Whether a model has loops; then what answers for them is loaded, and registers itself."""
    if not closed(model):
        return False
    _load_answers()
    return True


@cache
def _load_answers() -> None:
    from mozzi.algorithms.derivatives.loops import (
        along,
        first,
        gradient,
        hybrid,
        parameters,
        second,
    )
    from mozzi.algorithms.loops import actuation, forces, passive, rank_warnings, shares_in_programs

    del along, first, gradient, hybrid, parameters, second
    del actuation, forces, passive, rank_warnings, shares_in_programs


def tell_open(function: str, model: Model, q: ArrayLike, v: ArrayLike | None = None) -> None:
    """Warn where the loops of a model are widely open at q, or opened by v, on arrays."""
    from mozzi.algorithms.loops.open_loops import tell_open

    tell_open(function, model, q, v)


def refuse_loops(model: Model, function: str) -> None:
    """Raise where a function that does not honour loops meets some."""
    names = [x.name for x in closed(model)]
    if names:
        raise LoopError(
            f"{function} does not honour loops and couplings, and model {model.name!r} has some "
            f"({', '.join(names[:4])}); call it on a model without them"
        )


def refuse_choices(model: Model, function: str, options: Mapping[str, object]) -> None:
    """Raise where a choice among what loops leave open meets a model without loops."""
    given = [f"{word}=" for word in ("minimize", "weighting") if options.get(word) is not None]
    if given and not closed(model):
        raise ConfigurationError(
            f"{function}: {' and '.join(given)} are for models with loops, and {model.name!r} has "
            "none: there is one answer"
        )
