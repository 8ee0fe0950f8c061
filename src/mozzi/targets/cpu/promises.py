"""What callers promise of their arguments, and where a kernel looks whether they keep it.

Sums, products, roots and sines of a number that is not finite are not finite. So a result shows
arguments that it is made from by these: it is looked at instead of them, which are more. Arguments
that no result shows are looked at themselves.

Programs promise, too: that what they divide by is not zero (`divide(..., nonzero=True)`: pivots of
a mass matrix). A result shows such quotients, too; in programs that go through memory all results
are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mozzi.program.node import Node, Region
from mozzi.program.program import Loop, Program

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
    if promised and program.rolled and any(map(_promised, _statements_in(program.region))):
        looked = [k for k in range(results.size) if k not in results.constants]
        return Promises((*sorted(promised - inside), *(first[-1] + k for k in looked)), units)
    shown, quotients = _shown(program, first)
    left = sum(1 << k for k in promised - inside)
    left |= (1 << quotients) - 1 << first[-1] if promised else 0
    looked: list[int] = []
    for slot, mask in sorted(
        ((slot, shown.get(value, 0)) for value, slot in results.slots.items()),
        key=lambda x: (-x[1].bit_count(), x[0]),
    ):
        more = mask & left
        if more.bit_count() > 1 or more >> first[-1]:
            looked.append(first[-1] + slot)
            left &= ~more
    finite = [k for k in range(first[-1]) if left >> k & 1]
    return Promises((*finite, *sorted(looked)), units)


def _shown(program: Program, first: list[int]) -> tuple[dict[int, int], int]:
    """Value → slots of the arguments, as bits, without which it would not be finite, and behind
    them the quotients whose divisors are promised not to be zero; how many there are of these.
    """
    found, quotients = dict[int, int](), 0
    for s in program.region.statements:
        if isinstance(s, Node):
            if s.op == "input":
                array, element = s.place
                found[id(s)] = 1 << first[array] + element
            elif s.op in SHOWING or s.op == "div":
                found[id(s)] = 0
                for x in s.args[: 1 if s.op == "div" else None]:
                    found[id(s)] |= found.get(id(x), 0)
            if _promised(s):
                found[id(s)] |= 1 << first[-1] + quotients
                quotients += 1
    return found, quotients


def _promised(s: Node) -> bool:
    """Whether it is a quotient whose divisor is promised not to be zero."""
    return s.op == "div" and s.finite and s.args[1].op != "const"


def _statements_in(region: Region) -> Iterator[Node]:
    """The values of a region, and those of its loops."""
    for s in region.statements:
        if isinstance(s, Node):
            yield s
        elif isinstance(s, Loop):
            for branch in s.branches:
                yield from _statements_in(branch)
