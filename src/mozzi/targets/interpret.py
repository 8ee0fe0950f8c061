"""The interpreter as a target: slow, on any numbers, and what every other target is tested against.

Arrays of floats and complex numbers run with a NumPy batch for every scalar of the program. Arrays
of objects (`mpmath` numbers, traced scalars) run sample by sample.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from mozzi.errors import ConfigurationError, ShapeError
from mozzi.program.meaning import interpret
from mozzi.program.node import Node, Region
from mozzi.program.program import Index, Input, Loop, Program, Store

__all__ = ["SPELL", "InterpretedKernel", "Names", "build", "integer", "listing"]


class InterpretedKernel:
    """A program, callable: leading axes are batch axes and broadcast.

    operations, flops: what one evaluation takes; source: a listing of the program.
    """

    def __init__(self, program: Program, dtype: str = "float64"):
        self.program = program
        self.dtype = np.dtype(dtype)
        self.name = program.name
        self.inputs, self.outputs = program.inputs, program.outputs
        self.operations, self.flops = program.operations, program.flops

    @property
    def source(self) -> str:
        return listing(self.program)

    def __call__(self, *args: Any) -> Any:
        arrays = _arrays(self.name, self.inputs, args)
        batch = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
        kind = np.result_type(self.dtype, *(a.dtype for a in arrays))
        if kind.kind in "fc" and self.dtype == np.float32:
            kind = np.dtype(np.complex64 if kind.kind == "c" else np.float32)
        alone = kind.kind == "O" or any(_counts(s) for s, _ in self.program.walk())
        results = (self._one_by_one if alone else self._together)(arrays, batch, kind)
        return results[0] if self.program.single else tuple(results)

    def _together(self, arrays: list[np.ndarray], batch: tuple[int, ...], kind: Any) -> list[Any]:
        scalars = [list(np.moveaxis(a.astype(kind), -1, 0)) for a in arrays]
        with np.errstate(all="ignore"):  # as in machine code: a select may drop what is not finite
            values = interpret(self.program, scalars)
        results = []
        for x, numbers in zip(self.outputs, values, strict=True):
            array = np.empty((*batch, x.size), kind)
            for n, value in enumerate(numbers):
                array[..., n] = value
            results.append(array.reshape(batch + x.shape)[()])
        return results

    def _one_by_one(self, arrays: list[np.ndarray], batch: tuple[int, ...], kind: Any) -> list[Any]:
        arrays = [np.broadcast_to(a.astype(kind), batch + a.shape[-1:]) for a in arrays]
        results = [np.empty((*batch, x.size), kind) for x in self.outputs]
        for sample in np.ndindex(batch):
            for array, numbers in zip(
                results, interpret(self.program, [list(a[sample]) for a in arrays]), strict=True
            ):
                for n, value in enumerate(numbers):
                    array[(*sample, n)] = value
        return [a.reshape(batch + x.shape)[()] for a, x in zip(results, self.outputs, strict=True)]

    def __repr__(self) -> str:
        return f"<InterpretedKernel {_signature(self.program)}>"


def build(
    make: Callable[[], Program], dtype: str = "float64", key: str | None = None
) -> InterpretedKernel:
    """The kernel of the program that `make` traces."""
    return InterpretedKernel(make(), dtype)


def _counts(statement: Any) -> bool:
    """Whether this is a loop whose number of steps is a value of the program."""
    return isinstance(statement, Loop) and isinstance(statement.stop, Node)


def _arrays(name: str, inputs: Sequence[Input], args: Sequence[Any]) -> list[np.ndarray]:
    """The arguments as arrays of shape (batch, size), checked."""
    if len(args) != len(inputs):
        names = ", ".join(x.name for x in inputs)
        raise ConfigurationError(f"{len(args)} arguments where {len(inputs)} go: {names}")
    arrays = []
    for x, a in zip(inputs, args, strict=True):
        array = np.asarray(a)
        batch = array.shape[: max(0, array.ndim - len(x.shape))]
        if array.shape[len(batch) :] != x.shape:
            raise ShapeError(name, x.name, array.shape, x.shape)
        arrays.append(array.reshape((*batch, x.size)))
    return arrays


class Names:
    """Readable names, each given once: letters, digits and underscores."""

    def __init__(self, taken: Iterable[str] = ()):
        self.taken = set(taken)
        self.count: dict[str, int] = {}

    def new(self, wish: str) -> str:
        clean = re.sub(r"\W+", "_", wish, flags=re.ASCII).strip("_")[:60]
        if not clean[:1].isalpha():
            clean = f"x{clean}"
        name = clean
        while name in self.taken:
            self.count[clean] = self.count.get(clean, 1) + 1
            name = f"{clean}_{self.count[clean]}"
        self.taken.add(name)
        return name


# How a listing spells an operation.
SPELL: dict[str, str] = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-{}",
    "sqrt": "sqrt({})", "sin": "sin({})", "cos": "cos({})", "atan2": "atan2({}, {})",
    "lt": "{} < {}", "le": "{} <= {}", "select": "{1} if {0} else {2}",
    "min": "min({}, {})", "max": "max({}, {})",
}  # fmt: skip


def listing(program: Program) -> str:
    """A program for reading, in the likeness of Python: a line for each statement."""
    lines = _Listing(program)
    text = [f"{_signature(program)}:", *lines.region(program.region, "    ")]
    for x in program.outputs:
        if isinstance(x.values, tuple):
            text.append(f"    {x.name} = {', '.join(lines.called[id(v)] for v in x.values)}")
        else:
            text.append(f"    {x.name} = {x.values.name}")
    return "\n".join(text) + "\n"


def _signature(program: Program) -> str:
    inputs, outputs = (
        ", ".join(f"{x.name}{list(x.shape) if x.shape else ''}" for x in part)
        for part in (program.inputs, program.outputs)
    )
    return f"{program.name}({inputs}) -> {outputs}"


class _Listing:
    def __init__(self, program: Program):
        self.inputs = program.inputs
        self.names = Names(x.name for x in (*program.inputs, *program.outputs))
        self.called: dict[int, str] = {}

    def region(self, region: Region, margin: str) -> Iterator[str]:
        for s in region.statements:
            if isinstance(s, Loop):
                yield from self.loop(s, margin)
            elif isinstance(s, Store):
                place = _place(s.buffer.name, s.index, s.stride, s.offset)
                yield f"{margin}{place} = {self.called[id(s.value)]}"
            elif s.op == "const":
                self.called[id(s)] = repr(s.value)
            elif s.op == "input":
                position, offset = s.place
                x = self.inputs[position]
                at = ", ".join(map(str, np.unravel_index(offset, x.shape)))
                self.called[id(s)] = f"{x.name}[{at}]" if x.shape else x.name
            else:
                yield f"{margin}{self.value(s)}" + (f"  # {s.origin}" if s.origin else "")

    def value(self, s: Node) -> str:
        if s.op == "load":
            buffer, index, stride, offset = s.address
            text = _place(buffer.name, index, stride, offset)
        else:
            text = SPELL[s.op].format(*(self.called[id(a)] for a in s.args))
        self.called[id(s)] = self.names.new(s.name or f"t{len(self.called)}")
        return f"{self.called[id(s)]} = {text}"

    def loop(self, s: Loop, margin: str) -> Iterator[str]:
        k = s.variable.name
        start = _index(s.start) if isinstance(s.start, Index) else s.start
        if s.follow is not None:
            follow = f"{_array(s.follow)}[{k}]"
            yield f"{margin}for {k} from {start}, then {follow} while {k} >= {s.stop}:"
        else:
            stop = self.called[id(s.stop)] if isinstance(s.stop, Node) else s.stop
            yield f"{margin}for {k} in range({start}, {stop}, {s.step}):"
        for number, branch in enumerate(s.branches):
            inner = margin + "    "
            if s.which is not None:
                yield f"{inner}if {_array(s.which)}[{k}] == {number}:"
                inner += "    "
            yield from self.region(branch, inner)


def _place(name: str, index: Index | None, stride: int, offset: int) -> str:
    return f"{name}[{integer(index, stride, offset, lambda k: k.name, _array)}]"


def _index(index: Index) -> str:
    return integer(index, 1, 0, lambda k: k.name, _array)


def _array(table: np.ndarray) -> str:
    numbers = [str(x) for x in table.ravel()]
    return f"[{' '.join(numbers if len(numbers) <= 8 else [*numbers[:6], '…', numbers[-1]])}]"


def integer(
    index: Index | None,
    stride: int,
    offset: int,
    variable: Callable[[Index], str],
    table: Callable[[np.ndarray], str],
) -> str:
    """index · stride + offset as text, with the names of loop variables and integer tables."""
    if index is None:
        return str(offset)
    if index.table is not None:
        at = integer(index.at, 1, 0, variable, table)
        text = f"{table(index.table)}[{at}]"
    elif index.terms:
        terms = (integer(term, factor, 0, variable, table) for term, factor in index.terms)
        text = " + ".join(terms)
        text = f"({text})" if stride != 1 and " + " in text else text
    else:
        text = variable(index)
    text = text if stride == 1 else f"{stride} * {text}"
    return text if offset == 0 else f"{text} {'+' if offset > 0 else '-'} {abs(offset)}"
