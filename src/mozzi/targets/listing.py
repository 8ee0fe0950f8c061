"""A program for reading, in the likeness of Python."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mozzi.program.node import Node, Region
from mozzi.program.program import Index, Loop, Program, Store
from mozzi.targets.unique_names import Names, integer

__all__ = ["SPELL", "listing", "signature"]

# How a listing spells an operation.
SPELL: dict[str, str] = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-{}",
    "sqrt": "sqrt({})", "sin": "sin({})", "cos": "cos({})", "atan2": "atan2({}, {})",
    "exp": "exp({})", "log": "log({})", "tanh": "tanh({})",
    "lt": "{} < {}", "le": "{} <= {}", "select": "{1} if {0} else {2}",
    "min": "min({}, {})", "max": "max({}, {})",
}  # fmt: skip


def listing(program: Program) -> str:
    """A program for reading, in the likeness of Python: a line for each statement."""
    lines = _Listing(program)
    text = [f"{signature(program)}:", *lines.region(program.region, "    ")]
    for x in program.outputs:
        if isinstance(x.values, tuple):
            text.append(f"    {x.name} = {', '.join(lines.called[id(v)] for v in x.values)}")
        else:
            text.append(f"    {x.name} = {x.values.name}")
    return "\n".join(text) + "\n"


def signature(program: Program) -> str:
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
