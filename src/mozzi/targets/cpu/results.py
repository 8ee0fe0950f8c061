"""Where a body puts its results: every value once, and a map from the elements to the values.

Results of mechanisms are often symmetric, and mostly zeros: talos's mass matrix has 1,444 elements
and 337 values. The body stores a value once, constants are stored once per call, and `unpack` reads
by the map. What a result reads from memory of the program, behind all that is written there, stays
where it is.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from mozzi.program.node import Node
from mozzi.program.program import Buffer, Loop, Program, Statement, Store
from mozzi.targets.cpu.batch_loop import Operand

__all__ = ["Results"]


@dataclass
class Results:
    """slots: value → its place among the results; read: values that a result reads from memory in
    the end; buffers: memory of the program that is a result →
    its first place; constants: by place; operands: results with elements, at least one; size: how
    many places there are.
    """

    slots: dict[int, int] = field(default_factory=dict[int, int])
    buffers: dict[int, int] = field(default_factory=dict[int, int])
    read: set[int] = field(default_factory=set[int])
    copied: list[tuple[Buffer, int]] = field(default_factory=list[tuple[Buffer, int]])
    constants: dict[int, float] = field(default_factory=dict[int, float])
    operands: list[Operand] = field(default_factory=list[Operand])
    size: int = 0

    @staticmethod
    def of(program: Program) -> Results:
        found, known = Results(read=_read_in_the_end(program)), dict[bytes, int]()
        for x in program.outputs:
            if isinstance(x.values, Buffer):
                first = found._buffer(x.values, x.size)
                table = None
            else:
                places = [found._value(value, known) for value in x.values]
                first = places[0] if places else 0
                plain = places == list(range(first, first + len(places)))
                table = None if plain else tuple(places)
            if x.size:
                found.operands.append(Operand(x.shape, first, table))
        found.operands = found.operands or [Operand((), 0)]
        found.size = max(1, found.size)
        return found

    def _buffer(self, buffer: Buffer, size: int) -> int:
        first = self.buffers.get(id(buffer))
        if first is None:
            first, self.size = self.size, self.size + size
            if buffer.kind == "scratch":
                self.buffers[id(buffer)] = first
            else:
                self.copied.append((buffer, first))
        return first

    def _value(self, value: Node, known: dict[bytes, int]) -> int:
        if id(value) in self.read:
            buffer = value.address.buffer
            return self._buffer(buffer, buffer.size) + value.address.offset
        slot = self.slots.get(id(value))
        bits = struct.pack("d", value.value) if value.op == "const" else b""
        if slot is None and bits in known:
            slot = known[bits]
        if slot is None:
            slot, self.size = self.size, self.size + 1
            if value.op == "const":
                self.constants[slot] = value.value
                known[bits] = slot
            else:
                self.slots[id(value)] = slot
        return slot


def _read_in_the_end(program: Program) -> set[int]:
    """Values of results that are read from memory behind all that is written there."""
    written: dict[int, int] = {}
    for n, s in enumerate(program.region.statements):
        for buffer in _written(s):
            written[buffer] = n
    wanted = {id(v) for x in program.outputs if not isinstance(x.values, Buffer) for v in x.values}
    return {
        id(s)
        for n, s in enumerate(program.region.statements)
        if isinstance(s, Node) and s.op == "load" and id(s) in wanted
        and s.address.buffer.kind == "scratch" and s.address.at is None
        and written.get(id(s.address.buffer), n) < n
    }  # fmt: skip


def _written(s: Statement) -> set[int]:
    """The memory that a statement writes to."""
    if isinstance(s, Store):
        return {id(s.buffer)}
    if not isinstance(s, Loop):
        return set()
    inside = (x for branch in s.branches for x in branch.statements)
    return {buffer for x in inside for buffer in _written(x)}

