"""Which values of a large straight-line program are in registers, and which are kept in memory.

Compilers of GPUs lose sight of programs with a thousand live values: ptxas gave the derivatives of
a humanoid's forward dynamics, of which 2,400 are live at once, 116 kB of local memory a thread. So
the program itself says what leaves the registers: where there are more values than these, the one
whose next use is furthest away (Bélády 1966), into a slot of memory, from which it is fetched
before that use. A result is written once all of a piece of it is there; arguments are read where
they are used, and read again later.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from mozzi.program.node import Node

__all__ = ["Barrier", "Compute", "Fetch", "Keep", "Piece", "Plan", "allocate"]

NEVER = 1 << 60


class Piece(NamedTuple):
    """Neighbouring numbers of a result, from `first` on, that are written together."""

    output: int
    first: int
    values: tuple[Node, ...]


class Compute(NamedTuple):
    """Compute a value (of a sine and a cosine computed together, the first)."""

    value: Node


class Keep(NamedTuple):
    """Copy a value from its register to a slot."""

    value: Node
    slot: int


class Fetch(NamedTuple):
    """Copy a value from its slot to a register; an argument (slot −1) from where it was given."""

    value: Node
    slot: int


class Barrier(NamedTuple):
    """Wait for the other warps of a block."""


Step: TypeAlias = Compute | Keep | Fetch | Piece | Barrier


@dataclass
class Plan:
    """What a thread does, one step after the other, and how many slots it needs."""

    steps: list[Step] = field(default_factory=list[Step])
    slots: int = 0

    @property
    def instructions(self) -> float:
        """About how many: of four operations two are fused into one; a number of a piece is put
        into shared memory, taken from there and written.
        """
        weight = {Compute: 0.75, Keep: 1.0, Fetch: 1.0, Piece: 0.0, Barrier: 0.0}
        written = sum(3 * len(s.values) for s in self.steps if isinstance(s, Piece))
        return written + sum(weight[type(s)] for s in self.steps)


def allocate(
    order: Sequence[Node | Barrier],
    pieces: Sequence[Piece],
    registers: int,
    pairs: Mapping[int, tuple[Node, Node]],
    given: Container[int] = (),
) -> Plan:
    """The plan of statements in this order, for so many values in registers. given: values that are
    in memory as arguments are.
    """
    events = list(_events(order, pieces, pairs))
    uses: dict[int, list[int]] = {}
    for at, (_, used, _) in enumerate(events):
        for x in used:
            uses.setdefault(id(x), []).append(at)
    for places in uses.values():
        places.reverse()  # the next use is the last entry
    plan = Plan()
    held: dict[int, Node] = {}  # in registers
    slot: dict[int, int] = {}  # in memory
    free: list[int] = []
    furthest: list[tuple[int, int, int]] = []
    turn: dict[int, int] = {}  # in which values came: of equals the first, in every process

    def next_use(x: Node, now: int) -> int:
        places = uses.get(id(x), [])
        while places and places[-1] <= now:
            places.pop()
        return places[-1] if places else NEVER

    for now, (step, used, made) in enumerate(events):
        for x in used:
            if id(x) not in held:
                lies = x.op == "input" or id(x) in given
                plan.steps.append(Fetch(x, -1 if lies else slot[id(x)]))
                held[id(x)] = x
        plan.steps.append(step)
        for x in made:
            held[id(x)] = x
        for x in (*used, *made):
            again = next_use(x, now)
            if again == NEVER:
                held.pop(id(x), None)
                if id(x) in slot:
                    heapq.heappush(free, slot.pop(id(x)))
            elif x.op not in ("lt", "le"):  # no number: stays
                heapq.heappush(furthest, (-again, turn.setdefault(id(x), len(turn)), id(x)))
        while len(held) > registers and furthest:
            again, _, key = heapq.heappop(furthest)
            if key not in held or -again != uses[key][-1]:
                continue
            x = held.pop(key)
            if x.op != "input" and key not in given and key not in slot:
                slot[key] = heapq.heappop(free) if free else plan.slots
                plan.slots = max(plan.slots, slot[key] + 1)
                plan.steps.append(Keep(x, slot[key]))
    return plan


def _events(
    order: Sequence[Node | Barrier],
    pieces: Sequence[Piece],
    pairs: Mapping[int, tuple[Node, Node]],
) -> Iterator[tuple[Compute | Piece | Barrier, tuple[Node, ...], tuple[Node, ...]]]:
    """Steps with what they use and make; a piece comes when the last of its numbers is there."""
    waiting: list[int] = []
    waits: dict[int, list[int]] = {}
    for k, piece in enumerate(pieces):
        missing = {id(x): x for x in piece.values if x.op not in ("const", "input")}
        waiting.append(len(missing))
        for key in missing:
            waits.setdefault(key, []).append(k)
        if not missing:
            yield piece, _distinct(piece.values), ()
    done: set[int] = set()
    for s in order:
        if isinstance(s, Barrier):
            yield s, (), ()
            continue
        if id(s) in done:
            continue
        made = pairs.get(id(s), (s,))
        done.update(map(id, made))
        yield Compute(s), _distinct(s.args), made
        for k in (k for x in made for k in waits.get(id(x), ())):
            waiting[k] -= 1
            if waiting[k] == 0:
                yield pieces[k], _distinct(pieces[k].values), ()


def _distinct(values: Sequence[Node]) -> tuple[Node, ...]:
    return tuple({id(x): x for x in values if x.op != "const"}.values())
