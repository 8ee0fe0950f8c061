"""The meaning of a program: run it, statement by statement, on any numbers.

Floats, complex numbers (complex step), `mpmath` numbers (any precision), NumPy arrays (a batch per
scalar) and traced scalars (inlining a program into another trace) all pass. Every other target is
tested against this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mozzi.program import scalar
from mozzi.program.node import Node, Region
from mozzi.program.program import Buffer, Index, Loop, Program, Store

__all__ = ["MEANING", "Run", "interpret"]

MEANING: dict[str, Callable[..., Any]] = {
    "const": lambda x: x,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sqrt": scalar.sqrt,
    "sin": scalar.sin,
    "cos": scalar.cos,
    "atan2": scalar.atan2,
    "lt": lambda a, b: scalar.real(a) < scalar.real(b),
    "le": lambda a, b: scalar.real(a) <= scalar.real(b),
    "select": scalar.select,
    "min": scalar.minimum,
    "max": scalar.maximum,
}


def interpret(
    program: Program,
    arguments: Sequence[Any],
    meaning: Mapping[str, Callable[..., Any]] = MEANING,
) -> list[list[Any]]:
    """The outputs, each as a flat list of numbers; arguments are flat sequences of numbers.

    Another table of meanings runs the program on another kind of numbers; its "const" makes one
    of them from a float.
    """
    for x, values in zip(program.inputs, arguments, strict=True):
        if len(values) != x.size:
            raise ValueError(f"argument {x.name!r} has {len(values)} numbers; it takes {x.size}")
    run = Run(arguments, meaning)
    run.region(program.region)
    results = []
    for output in program.outputs:
        if isinstance(output.values, Buffer):
            results.append(list(run.memory_of(output.values)))
        else:
            results.append([run.values[id(x)] for x in output.values])
    return results


class Run:
    """One run of a program; targets that run programs on other arrays override its pieces."""

    def __init__(self, arguments: Sequence[Any], meaning: Mapping[str, Callable[..., Any]]):
        self.arguments = arguments
        self.meaning = meaning
        self.values: dict[int, Any] = {}
        self.memory: dict[int, Any] = {}
        self.indices: dict[int, int] = {}

    def memory_of(self, buffer: Buffer) -> Any:
        if id(buffer) not in self.memory:
            if buffer.kind == "table":
                numbers = np.ravel(np.asarray(buffer.data)).tolist()
                self.memory[id(buffer)] = [self.meaning["const"](x) for x in numbers]
            elif buffer.kind == "input":
                self.memory[id(buffer)] = self.arguments[buffer.position]
            else:
                self.memory[id(buffer)] = [self.meaning["const"](0.0)] * buffer.size
        return self.memory[id(buffer)]

    def put(self, buffer: Buffer, where: Any, value: Any) -> None:
        self.memory_of(buffer)[where] = value

    def entry(self, table: np.ndarray, at: Any) -> Any:
        return int(table[at])

    def index(self, index: Index | None) -> Any:
        if index is None:
            return 0
        if index.table is not None:
            return self.entry(index.table, self.index(index.at))
        if index.terms:
            return sum(factor * self.index(term) for term, factor in index.terms)
        return self.indices[id(index)]

    def region(self, region: Region) -> None:
        for s in region.statements:
            if isinstance(s, Node):
                self.values[id(s)] = self.value(s)
            elif isinstance(s, Store):
                where = self.index(s.index) * s.stride + s.offset
                self.put(s.buffer, where, self.values[id(s.value)])
            else:
                self.loop(s)

    def value(self, s: Node) -> Any:
        if s.op == "const":
            return self.meaning["const"](s.value)
        if s.op == "input":
            position, offset = s.value
            return self.arguments[position][offset]
        if s.op == "load":
            buffer, index, stride, offset = s.value
            return self.memory_of(buffer)[self.index(index) * stride + offset]
        return self.meaning[s.op](*(self.values[id(x)] for x in s.args))

    def loop(self, loop: Loop) -> None:
        at = loop.start if isinstance(loop.start, int) else self.index(loop.start)
        if loop.follow is not None:
            while at >= loop.stop:
                self.step(loop, at)
                at = int(loop.follow[at])
        else:
            stop = loop.stop if isinstance(loop.stop, int) else int(self.values[id(loop.stop)])
            for k in range(at, stop, loop.step):
                self.step(loop, k)

    def step(self, loop: Loop, at: int) -> None:
        self.indices[id(loop.variable)] = at
        self.region(loop.branches[int(loop.which[at]) if loop.which is not None else 0])
