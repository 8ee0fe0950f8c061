"""Functions that are traced by themselves, once for a model, and then stand anywhere: at numbers,
or in another trace. Inside such a function everything is a graph, which can be differentiated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from mozzi.algorithms.calls.arguments import shape_of
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import JointVector
from mozzi.model import Model
from mozzi.program.meaning import interpret
from mozzi.program.passes import prune
from mozzi.program.program import Input, Program, trace, traced_apart
from mozzi.program.settings import settings, tracing
from mozzi.types import Traced

__all__ = ["inlined", "placed", "whole"]

Traceable: TypeAlias = Callable[..., tuple[Traced, ...]]
"""A function of a model and of traced arrays."""


def inlined(model: Mechanism, make: Traceable, *arrays: BlockArray | Traced) -> tuple[Traced, ...]:
    """The outputs of make(model, arrays…), traced once for a model, at these arrays: numbers, or
    scalars of the present trace. Arguments get their shapes from their names.
    """
    names = list(inspect.signature(make).parameters)[1:]
    plain = [x.array() if isinstance(x, BlockArray) else x for x in arrays]
    return placed(model.model, make, make, names, plain)


def placed(
    model: Model, key: Hashable, make: Traceable, names: Sequence[str], arrays: Sequence[Traced]
) -> tuple[Traced, ...]:
    """The outputs of make(model, arrays of these names) at these arrays. The program is kept with
    the model; where numbers of the model are traced themselves, it is part of their trace.
    """
    if model.nominal is not None:
        return traced_apart(lambda *x: make(model, *x), arrays)
    program = _traced_once(model, key, make, names)
    flat = interpret(program, [list(np.ravel(x)) for x in arrays])
    shaped = zip(program.outputs, flat, strict=True)
    return tuple(np.array([*values, None], dtype=object)[:-1].reshape(x.shape)
                 for x, values in shaped)  # fmt: skip


def _traced_once(model: Model, key: Hashable, make: Traceable, names: Sequence[str]) -> Program:
    if key not in model.cache:
        inputs = [Input(name, shape_of(name, model)) for name in names]

        def call(*arrays: Traced) -> tuple[Traced, ...]:
            with tracing(replace(settings(), rolled=False)):
                return make(model, *arrays)

        name = getattr(make, "__name__", "inlined")
        model.cache[key] = prune(trace(call, inputs, name))
    return model.cache[key]


def whole(model: Mechanism, x: JointVector) -> Traced:
    """All blocks of a joint vector, one behind the other."""
    entries = [e for k in range(model.nb) for e in x[model.at(k)]]
    return np.array([*entries, None], dtype=object)[:-1]
