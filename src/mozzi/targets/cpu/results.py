"""Where a body puts its results: every value once, and a map from the elements to the values.

Results of mechanisms are often symmetric, and mostly zeros: talos's mass matrix has 1,444 elements
and 337 values. The body stores a value once, constants are stored once per call, and `unpack` reads
by the map.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from mozzi.program.node import Node
from mozzi.program.program import Buffer, Output
from mozzi.targets.cpu.batch_loop import Operand

__all__ = ["Results"]


@dataclass
class Results:
    """slots: value → its place among the results; buffers: memory of the program that is a result →
    its first place; constants: by place; operands: results with elements, at least one; size: how
    many places there are.
    """

    slots: dict[int, int] = field(default_factory=dict[int, int])
    buffers: dict[int, int] = field(default_factory=dict[int, int])
    copied: list[tuple[Buffer, int]] = field(default_factory=list[tuple[Buffer, int]])
    constants: dict[int, float] = field(default_factory=dict[int, float])
    operands: list[Operand] = field(default_factory=list[Operand])
    size: int = 0

    @staticmethod
    def of(outputs: Sequence[Output]) -> Results:
        found, known = Results(), dict[bytes, int]()
        for x in outputs:
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
