"""Functions that are traced by themselves, once for a model, and then stand anywhere: at numbers,
or in another trace. Inside such a function everything is a graph, which can be differentiated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from mozzi.algorithms.calls.arguments import shape_of
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import JointVector
from mozzi.model import Model
from mozzi.program.inline import inline, traced_apart
from mozzi.program.meaning import MEANING, Run
from mozzi.program.node import Node, active
from mozzi.program.passes import prune
from mozzi.program.program import (
    Buffer,
    Index,
    Input,
    Program,
    load,
    loop,
    store,
    trace,
)
from mozzi.program.scalar import Real
from mozzi.program.settings import settings, tracing
from mozzi.types import Traced

__all__ = ["along_units", "inlined", "loops_over_units", "placed", "units", "whole"]

Traceable: TypeAlias = Callable[..., tuple[Traced, ...]]
"""A function of a model and of traced arrays."""


LONG_WAYS = 250


def inlined(model: Mechanism, make: Traceable, *arrays: BlockArray | Traced) -> tuple[Traced, ...]:
    """The outputs of make(model, arrays…), traced once for a model, at these arrays: numbers, or
    scalars of the present trace. Arguments get their shapes from their names.
    """
    names = list(inspect.signature(make).parameters)[1:]
    plain = [x.array() if isinstance(x, BlockArray) else x for x in arrays]
    return placed(model.model, make, make, names, plain)


def placed(
    model: Model, key: Hashable, make: Traceable, names: Sequence[str | Input],
    arrays: Sequence[Traced],
) -> tuple[Traced, ...]:  # fmt: skip
    """The outputs of make(model, arrays of these names) at these arrays. The program is kept with
    the model; where numbers of the model are traced themselves, it is part of their trace. What is
    no argument of algorithms is told with its shape, as an `Input`.
    """
    if model.nominal is not None:
        return traced_apart(lambda *x: _straight(make, model, x), arrays)
    program = _traced_once(model, key, make, names)
    flat = inline(program, [list(np.ravel(x)) for x in arrays])
    shaped = zip(program.outputs, flat, strict=True)
    return tuple(np.array([*values, None], dtype=object)[:-1].reshape(x.shape)
                 for x, values in shaped)  # fmt: skip


def loops_over_units(model: Mechanism | Model) -> bool:
    """Whether a program has a loop over unit velocities (`along_units`).

    Straight-line code for all directions at once leaves out what a direction does not move, and so
    is faster, but compiles as long as ways to the base are long: beyond so many freedoms on all of
    them together it is a loop, where nobody said that programs shall have loops or not, and where
    numbers of the model are no variables.
    """
    own = model.model if isinstance(model, Mechanism) else model
    if settings().rolled is not None or own.nominal is not None:
        return False
    on_the_way = list[int]()
    for i, parent in enumerate(own.parents):
        before = on_the_way[parent] if parent >= 0 else 0
        on_the_way.append(before + own.body(i).joint.nv)
    return sum(on_the_way) > LONG_WAYS


def along_units(
    model: Mechanism, make: Traceable, *arrays: BlockArray | Traced
) -> tuple[Traced, ...]:
    """The outputs of make(model, arrays…, e_k) for every unit vector e_k of velocities, which make
    a last axis of the results.

    Traced once, and placed once: what depends on the direction is in a loop over k, what does not
    before it. So the program has the size of one direction. At numbers it is run n times.
    """
    names = list(inspect.signature(make).parameters)[1:]
    plain = [x.array() if isinstance(x, BlockArray) else x for x in arrays]
    n = model.model.nv
    if active() is None:
        each = np.eye(n, dtype=object)
        runs = [placed(model.model, make, make, names, [*plain, e]) for e in each]
        return tuple(np.stack(y, axis=-1) for y in zip(*runs, strict=True))
    program = _traced_once(model.model, make, make, names)
    moving = _depending(program, len(names) - 1)
    given = [list(np.ravel(x)) for x in plain]
    run = Run[Real](given, MEANING)
    for s in program.region.statements:
        assert isinstance(s, Node)
        if s not in moving:
            run.values[id(s)] = run.value(s)
    results = [Buffer(x.name, x.size * n, "scratch") for x in program.outputs]
    for k, unit in units(n):
        run.arguments = [*given, list(unit)]
        for s in program.region.statements:
            if isinstance(s, Node) and s in moving:
                run.values[id(s)] = run.value(s)
        for buffer, output in zip(results, program.outputs, strict=True):
            for e, value in enumerate(run.output(output)):
                store(buffer, k, 1, e * n, value)
    return tuple(
        np.array([load(b, None, 0, e) for e in range(b.size)], dtype=object).reshape(*y.shape, n)
        for b, y in zip(results, program.outputs, strict=True)
    )


def units(n: int) -> Iterator[tuple[Index, Traced]]:
    """A loop over the unit vectors of n numbers: yields (k, e_k) once, and what is traced meanwhile
    is the loop.
    """
    table = Buffer("unit", n * n, "table", np.eye(n))
    for _, k in loop(0, n, name="unit"):
        yield k, np.array([load(table, k, n, i) for i in range(n)], dtype=object)


def _depending(program: Program, position: int) -> set[Node]:
    """The values of a straight-line program that depend on one of its arguments."""
    found: set[Node] = set()
    for s in program.region.statements:
        assert isinstance(s, Node)
        if (s.op == "input" and s.place[0] == position) or any(x in found for x in s.args):
            found.add(s)
    return found


def _traced_once(
    model: Model, key: Hashable, make: Traceable, names: Sequence[str | Input]
) -> Program:
    if key not in model.cache:
        inputs = [x if isinstance(x, Input) else Input(x, shape_of(x, model)) for x in names]

        def call(*arrays: Traced) -> tuple[Traced, ...]:
            return _straight(make, model, arrays)

        name = getattr(make, "__name__", "inlined")
        model.cache[key] = prune(trace(call, inputs, name))
    return model.cache[key]


def _straight(make: Traceable, model: Model, arrays: Sequence[Traced]) -> tuple[Traced, ...]:
    """make(model, arrays…) without loops over bodies, which nobody can differentiate."""
    with tracing(replace(settings(), rolled=False)):
        return make(model, *arrays)


def whole(model: Mechanism, x: JointVector) -> Traced:
    """All blocks of a joint vector, one behind the other."""
    entries = [e for k in range(model.nb) for e in x[model.at(k)]]
    return np.array([*entries, None], dtype=object)[:-1]
