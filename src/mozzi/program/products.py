"""Programs of derivatives times vectors: what frameworks with automatic differentiation ask for.

Straight-line programs are continued with their own derivative. Programs with loops over bodies are
unrolled first; loops whose results count as constants stay (`inline`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from mozzi.program.differentiate import DifferentiationError, continued, forward, reverse
from mozzi.program.inline import Inlined
from mozzi.program.node import Node, constant, trace_into
from mozzi.program.passes import prune
from mozzi.program.program import Buffer, Input, Loop, Output, Program, read, trace

__all__ = ["pullback", "pullback_arrays", "pushforward", "pushforward_arrays", "unrolled"]

Results: TypeAlias = Sequence[Input] | Sequence[Output]
Arrays: TypeAlias = tuple[tuple[Input, ...], tuple[Input, ...]]


def pushforward_arrays(inputs: Sequence[Input], outputs: Results, wrt: Sequence[int]) -> Arrays:
    """The arguments and results of a `pushforward`, by the arguments and results of its program."""
    moved = tuple(Input(f"d_{inputs[k].name}", inputs[k].shape) for k in wrt)
    return (*inputs, *moved), tuple(Input(f"d_{y.name}", y.shape) for y in outputs)


def pullback_arrays(inputs: Sequence[Input], outputs: Results, wrt: Sequence[int]) -> Arrays:
    """The arguments and results of a `pullback`, by the arguments and results of its program."""
    weights = tuple(Input(f"bar_{y.name}", y.shape) for y in outputs)
    return (*inputs, *weights), tuple(Input(f"bar_{inputs[k].name}", inputs[k].shape) for k in wrt)


def pushforward(program: Program, wrt: Sequence[int]) -> Program:
    """(x…, ẋ…) ↦ ẏ… = (∂y/∂x) ẋ, for the inputs with these numbers; linear in ẋ."""
    return _product(program, wrt, forwards=True)


def pullback(program: Program, wrt: Sequence[int]) -> Program:
    """(x…, ȳ…) ↦ x̄… = (∂y/∂x)ᵀ ȳ, for the inputs with these numbers; linear in ȳ."""
    return _product(program, wrt, forwards=False)


def _product(program: Program, wrt: Sequence[int], forwards: bool) -> Program:
    program = unrolled(program)
    arrays = pushforward_arrays if forwards else pullback_arrays
    inputs, results = arrays(program.inputs, program.outputs, wrt)
    with trace_into(continued(program.region)) as region:
        y = [v for output in program.outputs for v in _values(output)]
        x = [read(k, n) for k in wrt for n in range(program.inputs[k].size)]
        first = len(program.inputs)
        given = [read(first + k, n) for k, s in enumerate(inputs[first:]) for n in range(s.size)]
        found = forward(y, x, given) if forwards else reverse(y, x, given)
        found = list(map(constant, np.ravel(found)))
    ends = np.cumsum([s.size for s in results])
    outputs = tuple(
        Output(s.name, s.shape, tuple(found[end - s.size : end])) for s, end in zip(results, ends)
    )
    name = f"{program.name}_{'pushforward' if forwards else 'pullback'}"
    return prune(Program(name, inputs, outputs, region, False, program.lasting_notes))


def _values(output: Output) -> tuple[Node, ...]:
    assert not isinstance(output.values, Buffer)
    return output.values


def unrolled(program: Program) -> Program:
    """The same program without loops, but for those whose results count as constants."""
    if not program.rolled:
        return program
    for s, _ in program.walk():
        if isinstance(s, Loop) and isinstance(s.stop, Node):
            raise DifferentiationError(
                f"program {program.name!r} takes as many steps as its argument says; say how many "
                "when it is made: stepper(…, steps=10)"
            )

    def function(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        run = Inlined([np.ravel(x) for x in arrays])
        run.region(program.region)
        results: list[np.ndarray] = []
        for output in program.outputs:
            flat = np.empty(output.size, dtype=object)
            flat[:] = run.output(output)
            results.append(flat.reshape(output.shape))
        return tuple(results)

    flat = prune(trace(function, program.inputs, program.name))
    outputs = tuple(
        Output(old.name, old.shape, new.values)
        for old, new in zip(program.outputs, flat.outputs, strict=True)
    )
    return Program(flat.name, flat.inputs, outputs, flat.region, program.single, program.notes)
