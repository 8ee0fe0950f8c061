"""What callers promise of their arguments, and where a kernel looks whether they keep it.

Sums, products, roots and sines of a number that is not finite are not finite. So a result shows
arguments that it is made from by these: it is looked at instead of them, which are more. Arguments
that no result shows are looked at themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mozzi.program.node import Node
from mozzi.program.program import Program

if TYPE_CHECKING:
    from mozzi.targets.cpu.results import Results

__all__ = ["Promises", "promises"]

SHOWING = ("add", "sub", "mul", "neg", "sqrt", "sin", "cos")


@dataclass(frozen=True)
class Promises:
    """In slots of the structure of arrays, arguments before results: what is finite, and where
    quadruples of unit length begin.
    """

    finite: tuple[int, ...]
    units: tuple[int, ...]


def promises(program: Program, results: Results) -> Promises:
    """What callers of a program promise, and where it is looked at."""
    first = [0]
    for x in program.inputs:
        first.append(first[-1] + x.size)
    given = list(zip(first[:-1], program.inputs, strict=True))
    units = tuple(at + k for at, x in given if x.units is not None for k in x.units)
    inside = {k + i for k in units for i in range(4)}
    promised = {at + k for at, x in given if x.units is not None for k in range(x.size)}
    finite = promised - inside
    looked: list[int] = []
    shown = _shown(program, first)
    for slot, mask in sorted(
        ((slot, shown.get(value, 0)) for value, slot in results.slots.items()),
        key=lambda x: (-x[1].bit_count(), x[0]),
    ):
        if mask.bit_count() < 2:
            break
        more = {k for k in finite if mask >> k & 1}
        if len(more) > 1:
            looked.append(first[-1] + slot)
            finite -= more
    return Promises((*sorted(finite), *sorted(looked)), units)


def _shown(program: Program, first: list[int]) -> dict[int, int]:
    """Value → slots of the arguments, as bits, without which it would not be finite."""
    found: dict[int, int] = {}
    for s in program.region.statements:
        if isinstance(s, Node):
            if s.op == "input":
                array, element = s.place
                found[id(s)] = 1 << first[array] + element
            elif s.op in SHOWING or s.op == "div":
                found[id(s)] = 0
                for x in s.args[: 1 if s.op == "div" else None]:
                    found[id(s)] |= found.get(id(x), 0)
    return found
