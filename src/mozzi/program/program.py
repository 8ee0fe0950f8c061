"""Programs: statements in order over scalar values, with loops over bodies where they are rolled.

A straight-line program has only values (`Node`). A rolled one also has loads, stores and loops:
what crosses an iteration lives in buffers, what a body looks like in tables, and an index is a
loop's variable or a table entry at an index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from mozzi.errors import ConfigurationError
from mozzi.program.executed import executed
from mozzi.program.node import Node, Region, active, constant, intern, trace_into
from mozzi.program.scalar import Real
from mozzi.program.statements import Address, Buffer, Index, Loop, Statement, Store

__all__ = [
    "Address", "Buffer", "Index", "Input", "Loop", "Output", "Program", "Statement", "Store",
    "load", "loop", "store", "trace", "whole_buffer",
]  # fmt: skip


@dataclass(frozen=True)
class Input:
    """An argument of a program: an array of this shape, read-only.

    units: what callers promise, None for nothing: all numbers are finite, and four of them from
    each of these places on are of length 1 (a quaternion).
    """

    name: str
    shape: tuple[int, ...]
    units: tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))


@dataclass(frozen=True, eq=False)
class Output:
    """A result: an array of this shape, as scalars in C order or as a buffer that holds it."""

    name: str
    shape: tuple[int, ...]
    values: tuple[Node, ...] | Buffer

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))


#: What operations are counted as, where it is not their own name.
KINDS = {
    "add": "additions", "sub": "additions", "mul": "multiplications", "div": "divisions",
    "neg": "negations",
}  # fmt: skip


@dataclass(eq=False)
class Program:
    """What a traced function computes."""

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    region: Region
    single: bool  # the function returned one array, not a tuple
    notes: dict[str, object] = field(default_factory=dict[str, object])

    @property
    def lasting_notes(self) -> dict[str, object]:
        """What is noted of a program with other results, too."""
        gone = ("parts", "packings")
        return {name: note for name, note in self.notes.items() if name not in gone}

    @property
    def rolled(self) -> bool:
        return any(not isinstance(s, Node) for s in self.region.statements)

    def buffers(self) -> list[Buffer]:
        """All buffers that statements touch, in order of appearance."""
        seen: dict[int, Buffer] = {}

        def look(region: Region) -> None:
            for s in region.statements:
                if type(s) is Node:
                    if s.op == "load":
                        seen.setdefault(id(s.address.buffer), s.address.buffer)
                elif isinstance(s, Store):
                    seen.setdefault(id(s.buffer), s.buffer)
                elif isinstance(s, Loop):
                    if s.going is not None:
                        seen.setdefault(id(s.going.buffer), s.going.buffer)
                    for branch in s.branches:
                        look(branch)

        look(self.region)
        for output in self.outputs:
            if isinstance(output.values, Buffer):
                seen.setdefault(id(output.values), output.values)
        return list(seen.values())

    def walk(self) -> Iterator[tuple[Statement, Region]]:
        """Every statement with its region, loops before their contents."""
        stack: list[tuple[Statement, Region]] = [
            (s, self.region) for s in reversed(self.region.statements)
        ]
        while stack:
            statement, region = stack.pop()
            yield statement, region
            if isinstance(statement, Loop):
                for branch in reversed(statement.branches):
                    stack.extend((s, branch) for s in reversed(branch.statements))

    def regions(self) -> Iterator[Region]:
        """The region, and those of its loops."""
        stack = [self.region]
        while stack:
            region = stack.pop()
            yield region
            loops = (s for s in region.statements if type(s) is Loop)
            stack.extend(branch for s in loops for branch in s.branches)

    def forget(self) -> None:
        """Take it apart, when nobody needs it any more. Values know their regions and these know
        them: otherwise only a search among all objects would find that they are garbage.
        """
        known = {id(region): region for region in self.regions()}
        for region in tuple(known.values()):
            known |= {id(s.region): s.region for s in region.statements if type(s) is Node}
        for region in known.values():
            region.statements.clear()
            region.table.clear()

    @property
    def operations(self) -> dict[str, int]:
        """How many operations of each kind one evaluation takes.

        Those of a loop's body count as often as it runs (`executed`); `length` counts them once.
        """
        count: Counter[str] = Counter()
        for op, times in executed(self.region).items():
            if times and op not in ("const", "input", "load", "store"):
                count[KINDS.get(op, op)] += times
        return dict(sorted(count.items()))

    @property
    def length(self) -> int:
        """How many operations are written down: a loop's body counts once."""
        own = (s.op for region in self.regions() for s in region.statements if type(s) is Node)
        return sum(op not in ("const", "input", "load") for op in own)

    @property
    def flops(self) -> int:
        """Additions, multiplications, divisions and negations."""
        return flops_of(self.operations)


def flops_of(operations: Mapping[str, int]) -> int:
    """Of operations by kinds, those of arithmetic."""
    kinds = ("additions", "multiplications", "divisions", "negations")
    return sum(operations.get(kind, 0) for kind in kinds)


def read(position: int, offset: int) -> Node:
    """Element `offset` of input number `position`."""
    node = intern("input", (), True, ("input", position, offset))
    node.place = (position, offset)
    return node


def load(buffer: Buffer, index: Index | None, stride: int, offset: int) -> Node:
    """buffer[index · stride + offset] at this point of the program (never hash-consed: memory
    changes).
    """
    region = active()
    assert region is not None
    node = Node("load", (), True, region)
    node.address = Address(buffer, index, stride, offset)
    region.statements.append(node)
    return node


def store(buffer: Buffer, index: Index | None, stride: int, offset: int, value: Real) -> None:
    """buffer[index · stride + offset] = value, at this point of the program."""
    region = active()
    assert region is not None
    region.statements.append(Store(buffer, index, stride, offset, constant(value)))


def loop(
    start: int | Index,
    stop: int | Node,
    step: int = 1,
    *,
    follow: np.ndarray | None = None,
    which: np.ndarray | None = None,
    branches: int = 1,
    name: str = "k",
    going: Address | None = None,
) -> Iterator[tuple[int, Index]]:
    """Record a loop: yields (branch, variable) once per branch; what is traced meanwhile is that
    branch.
    """
    outer = active()
    assert outer is not None
    variable = Index(name=name)
    regions = [Region(outer) for _ in range(branches)]
    outer.statements.append(
        Loop(variable, start, stop, step, follow, which if branches > 1 else None, regions, going)
    )
    for number, region in enumerate(regions):
        with trace_into(region):
            yield number, variable


def trace(
    function: Callable[..., object],
    inputs: Sequence[Input],
    name: str = "",
) -> Program:
    """The program of a function of arrays: called once with arrays of traced scalars (dtype
    object), or one traced scalar where the shape is ().
    """
    region = Region()
    with trace_into(region):
        arguments: list[Real | np.ndarray] = []
        for position, x in enumerate(inputs):
            array = np.empty(x.shape, dtype=object)
            for offset, place in enumerate(np.ndindex(x.shape)):
                array[place] = value = read(position, offset)
                value.name = x.name + "".join(f"_{n}" for n in place)
            arguments.append(array[()])
        result = function(*arguments)
        several = _several(result)
        single = several is None
        results = [result] if several is None else list(several)
        title = name or function.__name__
        outputs = tuple(
            _output(f"out{k}" if not single else "out", x, title) for k, x in enumerate(results)
        )
    return Program(title, tuple(inputs), outputs, region, single)


def _several(result: object) -> Sequence[object] | None:
    """The results of a function that returned several, else None."""
    return cast("Sequence[object]", result) if isinstance(result, (tuple, list)) else None


def _output(name: str, value: object, function: str) -> Output:
    try:
        array = np.asarray(value, dtype=object)
        values = tuple(constant(x) for x in array.ravel())
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"{function} gives a {type(value).__name__}, which is no array of numbers ({error}); "
            "give an array, or a tuple of arrays"
        ) from None
    return Output(name, array.shape, whole_buffer(values) or values)


def whole_buffer(values: Sequence[Real]) -> Buffer | None:
    """The scratch buffer that these scalars are, element by element, if they are."""
    first = values[0] if len(values) else None
    if not isinstance(first, Node) or first.op != "load" or first.address.buffer.kind != "scratch":
        return None
    buffer = first.address.buffer
    if buffer.size != len(values):
        return None
    same = all(
        isinstance(x, Node) and x.op == "load" and x.address == (buffer, None, 0, n)
        for n, x in enumerate(values)
    )
    return buffer if same else None
