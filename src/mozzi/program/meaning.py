"""The meaning of a program: run it, statement by statement, on any numbers.

Floats, complex numbers (complex step), `mpmath` numbers (any precision), NumPy arrays (a batch per
scalar) and traced scalars (inlining a program into another trace) all pass. Every other target is
tested against this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, SupportsInt, TypeAlias, TypeVar, cast, overload

import numpy as np

from mozzi.program import scalar
from mozzi.program.node import Node, Region
from mozzi.program.program import Buffer, Index, Loop, Output, Program, Store
from mozzi.program.scalar import Condition, Real

__all__ = ["MEANING", "Numbers", "Run", "interpret"]

N = TypeVar("N")
N_co = TypeVar("N_co", covariant=True)


class Numbers(Protocol[N_co]):
    """A flat sequence of numbers: a list, a tuple, an array."""

    def __len__(self) -> int: ...
    def __getitem__(self, k: int, /) -> N_co: ...


Unary: TypeAlias = Callable[[Real], Real]
Binary: TypeAlias = Callable[[Real, Real], Real]
Ternary: TypeAlias = Callable[[Condition, Real, Real], Real]

MEANING: dict[str, Unary | Binary | Ternary] = {
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
    "exp": scalar.exp,
    "log": scalar.log,
    "tanh": scalar.tanh,
    "lt": lambda a, b: scalar.real(a) < scalar.real(b),
    "le": lambda a, b: scalar.real(a) <= scalar.real(b),
    "select": scalar.select,
    "min": scalar.minimum,
    "max": scalar.maximum,
}


@overload
def interpret(program: Program, arguments: Sequence[Numbers[Real]]) -> list[list[Real]]: ...
@overload
def interpret(
    program: Program,
    arguments: Sequence[Numbers[N]],
    meaning: Mapping[str, Callable[..., N]],
) -> list[list[N]]: ...
def interpret(
    program: Program,
    arguments: Sequence[Numbers[object]],
    meaning: Mapping[str, Callable[..., object]] = MEANING,
) -> Sequence[Sequence[object]]:
    """The outputs, each as a flat list of numbers; arguments are flat sequences of numbers.

    Another table of meanings runs the program on another kind of numbers; its "const" makes one
    of them from a float.
    """
    for x, values in zip(program.inputs, arguments, strict=True):
        if len(values) != x.size:
            raise ValueError(f"argument {x.name!r} has {len(values)} numbers; it takes {x.size}")
    run = Run(arguments, meaning)
    run.region(program.region)
    return [run.output(output) for output in program.outputs]


class Run(Generic[N]):
    """One run of a program; targets that run programs on other arrays override its parts."""

    def __init__(self, arguments: Sequence[Numbers[N]], meaning: Mapping[str, Callable[..., N]]):
        self.arguments = arguments
        self.meaning = meaning
        self.values: dict[int, N] = {}
        self.scratch: dict[int, list[N]] = {}
        self.memory: dict[int, Numbers[N]] = {}  # of all buffers, scratch ones too
        self.indices: dict[int, int] = {}

    def output(self, output: Output) -> list[N]:
        """A result, as a flat list."""
        if isinstance(output.values, Buffer):
            held = self.memory_of(output.values)
            return [held[k] for k in range(len(held))]
        return [self.values[id(x)] for x in output.values]

    def memory_of(self, buffer: Buffer) -> Numbers[N]:
        if id(buffer) not in self.memory:
            if buffer.kind == "table":
                numbers = np.ravel(np.asarray(buffer.data)).tolist()
                self.memory[id(buffer)] = [self.meaning["const"](x) for x in numbers]
            elif buffer.kind == "input":
                self.memory[id(buffer)] = self.arguments[buffer.position]
            else:
                self.scratch[id(buffer)] = [self.meaning["const"](0.0)] * buffer.size
                self.memory[id(buffer)] = self.scratch[id(buffer)]
        return self.memory[id(buffer)]

    def put(self, buffer: Buffer, where: int, value: N) -> None:
        self.memory_of(buffer)
        self.scratch[id(buffer)][where] = value

    def entry(self, table: np.ndarray, at: int) -> int:
        return int(table[at])

    def index(self, index: Index | None) -> int:
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

    def value(self, s: Node) -> N:
        if s.op == "const":
            return self.meaning["const"](s.value)
        if s.op == "input":
            position, offset = s.place
            return self.arguments[position][offset]
        if s.op == "load":
            buffer, index, stride, offset = s.address
            return self.memory_of(buffer)[self.index(index) * stride + offset]
        return self.meaning[s.op](*(self.values[id(x)] for x in s.args))

    def loop(self, loop: Loop) -> None:
        at = loop.start if isinstance(loop.start, int) else self.index(loop.start)
        if loop.follow is not None:
            while at >= loop.stop:
                self.step(loop, at)
                at = int(loop.follow[at])
        else:
            stop = loop.stop if isinstance(loop.stop, int) else self.count(loop.stop)
            for k in range(at, stop, loop.step):
                self.step(loop, k)

    def count(self, stop: Node) -> int:
        """How many steps a value of the program says."""
        return int(cast("SupportsInt", self.values[id(stop)]))

    def step(self, loop: Loop, at: int) -> None:
        self.indices[id(loop.variable)] = at
        self.region(loop.branches[int(loop.which[at]) if loop.which is not None else 0])
