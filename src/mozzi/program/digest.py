"""A name for what a program computes: the values behind its outputs, whatever their order.

Two programs have the same digest where the same operations on the same operands lead to their
outputs. The order in which statements stand does not matter, nor do names, nor values that no
output needs. What lies in memory has a version: the stores that have made it so far, in order; a
load is an operation on the version that it sees.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import cast

import numpy as np

from mozzi.program.node import Node, Region
from mozzi.program.program import Buffer, Index, Loop, Program, Store

__all__ = ["digest"]

COMMUTING = ("add", "mul")


def digest(program: Program, digits: int = 17) -> str:
    """The digest of a program; constants count to so many significant digits."""
    walk = _Walk(digits)
    walk.region(program.region)
    outputs = [
        (x.shape, walk.version(x.values))
        if isinstance(x.values, Buffer)
        else (x.shape, *map(walk.value, x.values))
        for x in program.outputs
    ]
    return _hash([(x.name, x.shape) for x in program.inputs], outputs)


def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


class _Walk:
    """Digests of values, indices and memory, as statements go by."""

    def __init__(self, digits: int):
        self.digits = digits
        self.known: dict[int, str] = {}  # by id of a Node, Index or array
        self.memory: dict[int, str] = {}  # by id of a Buffer: its version
        self.kept: list[object] = []  # what ids refer to stays alive
        self.variables = 0

    def region(self, region: Region) -> None:
        for statement in region.statements:
            if isinstance(statement, Node):
                self.value(statement)
            elif isinstance(statement, Store):
                at = (self.index(statement.index), statement.stride, statement.offset)
                before, value = self.version(statement.buffer), self.value(statement.value)
                self.memory[id(statement.buffer)] = _hash("store", before, at, value)
            else:
                self.loop(statement)

    def loop(self, loop: Loop) -> None:
        """What a loop leaves in memory: of what it found there, and of its branches."""
        head = (
            self.index(loop.start),
            self.value(loop.stop) if isinstance(loop.stop, Node) else loop.stop,
            loop.step,
            self.array(loop.follow),
            self.array(loop.which),
        )
        self.known[id(loop.variable)] = _hash("variable", self.variables)
        self.variables += 1
        touched = {id(b): b for b in _touched(loop.branches)}
        before = {key: self.version(b) for key, b in touched.items()}
        branches: list[list[str]] = []
        for branch in loop.branches:
            for key, version in before.items():
                self.memory[key] = _hash("entry", version)
            self.region(branch)
            branches.append(sorted(self.memory[key] for key in touched))
        self.variables -= 1
        for key, version in before.items():
            own = [self.memory[key]] if len(loop.branches) == 1 else []
            self.memory[key] = _hash("loop", head, branches, version, own)

    def value(self, value: Node) -> str:
        found = self.known.get(id(value))
        if found is None:
            operands = [self.value(x) for x in value.args]
            if value.op in COMMUTING:
                operands.sort()
            found = _hash(value.op, operands, self.payload(_own(value)))
            self.known[id(value)] = found
            self.kept.append(value)
        return found

    def payload(self, value: object) -> object:
        if isinstance(value, tuple):
            return tuple(self.payload(x) for x in cast("tuple[object, ...]", value))
        if isinstance(value, Buffer):
            return self.version(value)
        if isinstance(value, Index):
            return self.index(value)
        if isinstance(value, float):
            return float(f"{value:.{self.digits - 1}e}")
        return value

    def version(self, buffer: Buffer) -> str:
        if id(buffer) not in self.memory:
            self.kept.append(buffer)
            data = self.array(buffer.data)
            self.memory[id(buffer)] = _hash(buffer.kind, buffer.size, data, buffer.position)
        return self.memory[id(buffer)]

    def index(self, index: Index | int | None) -> object:
        if not isinstance(index, Index):
            return index
        if index.table is not None:
            return ("at", self.array(index.table), self.index(index.at))
        if index.terms:
            return ("sum", [(self.index(x), factor) for x, factor in index.terms])
        return self.known[id(index)]

    def array(self, data: np.ndarray | None) -> object:
        if data is None:
            return None
        if data.dtype.kind == "f":
            return [self.payload(float(x)) for x in data]
        return data.tolist()


def _own(value: Node) -> object:
    """What a value says beside its operation and operands."""
    if value.op == "const":
        return value.value
    if value.op == "input":
        return value.place
    return tuple(value.address) if value.op == "load" else None


def _touched(branches: Iterable[Region]) -> Iterable[Buffer]:
    """The buffers that a loop's branches store to."""
    for branch in branches:
        for statement in branch.statements:
            if isinstance(statement, Store):
                yield statement.buffer
            elif isinstance(statement, Loop):
                yield from _touched(statement.branches)
