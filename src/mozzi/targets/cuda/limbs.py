"""How a large straight-line program of a robot with limbs is divided among the warps of a block.

Arms and legs know of each other only through the trunk. Each warp of a block takes some limbs of
the same 32 samples: what depends on their arguments alone; what depends on several warps' limbs,
or on none, every warp computes for itself as far as it needs it, from values that others put into
shared memory before a barrier. A warp then has a fraction of the statements and of the live values,
and samples are spread over as many times more warps.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from mozzi.program.node import Node
from mozzi.program.program import Buffer, Program
from mozzi.targets.cuda.spill import Barrier, Piece

__all__ = ["Side", "divided", "sides_of"]

MOST_SIDES = 4

EVERY, SHARED = -1, -2  # what no limb has to do with, and what several have to do with


@dataclass
class Side:
    """What a warp does: its statements, what of results and for other warps it writes, and the
    values that it has from others, with their places.
    """

    order: list[Node | Barrier] = field(default_factory=list[Node | Barrier])
    pieces: list[Piece] = field(default_factory=list[Piece])
    sent: list[Piece] = field(default_factory=list[Piece])
    received: dict[int, int] = field(default_factory=dict[int, int])


def sides_of(program: Program) -> tuple[int, dict[tuple[int, int], int]]:
    """How many sides there are, and the side of every element of the arguments, by position and
    offset; one side where the program has no limbs, or arguments of which it is not known to which
    limb they belong.
    """
    limbs = cast("dict[str, tuple[int, ...]]", program.notes.get("limbs", {}))
    if any(len(limbs.get(x.name, ())) != x.size for x in program.inputs):
        return 1, {}
    sizes: dict[int, int] = {}
    for x in program.inputs:
        for limb in limbs[x.name]:
            if limb >= 0:
                sizes[limb] = sizes.get(limb, 0) + 1
    many = min(len(sizes), MOST_SIDES)
    if many < 2:
        return 1, {}
    loads, side = [0] * many, {EVERY: EVERY}
    for limb in sorted(sizes, key=lambda k: (-sizes[k], k)):  # the largest to the least loaded
        side[limb] = loads.index(min(loads))
        loads[side[limb]] += sizes[limb]
    return many, {
        (k, j): side[limb]
        for k, x in enumerate(program.inputs)
        for j, limb in enumerate(limbs[x.name])
    }


def divided(
    program: Program, sides: Mapping[tuple[int, int], int], many: int,
    pairs: Mapping[int, tuple[Node, Node]], turned: Container[int] = (),
) -> list[Side]:  # fmt: skip
    """The sides of a program. Phases are numbered by how often a value has passed from a warp to
    others; a barrier is between them. turned: sines and cosines that are there as arguments are.
    """
    order = [s for s in program.region.statements if isinstance(s, Node) and s.op != "const"]
    owner: dict[int, int] = {}
    phase: dict[int, int] = {}
    for s in order:
        if s.op == "input" or id(s) in turned:
            place = s.place if s.op == "input" else s.args[0].place
            owner[id(s)], phase[id(s)] = sides.get(place, EVERY), 0
            continue
        args = [x for x in s.args if x.op != "const"]
        owners = {owner[id(x)] for x in args}
        own = [k for k in owners if k >= 0]
        owner[id(s)] = own[0] if len(own) == 1 else SHARED if own or SHARED in owners else EVERY
        passed = owner[id(s)] == SHARED
        phase[id(s)] = max((phase[id(x)] + (passed and owner[id(x)] >= 0) for x in args), default=0)
    found = [Side() for _ in range(many)]
    need = [set[int]() for _ in range(many)]
    _outputs(program, owner, order, found, need)
    sent: dict[int, int] = {}
    for s in reversed(order):
        for k, side in enumerate(found):
            if id(s) not in need[k] or s.op == "input" or id(s) in turned:
                continue
            for x in (*s.args, *pairs.get(id(s), ())):
                if x.op in ("const", "input") or id(x) in turned:
                    continue
                of = owner[id(x)]
                if of < 0 or of == k:
                    need[k].add(id(x))
                    continue
                need[of].add(id(x))
                side.received[id(x)] = sent.setdefault(id(x), len(sent))
    last = max(phase.values(), default=0)
    values = {id(s): s for s in order}
    for k, side in enumerate(found):
        side.sent = [
            Piece(-1, place, (values[key],)) for key, place in sent.items() if owner[key] == k
        ]
        mine = [
            s for s in order if id(s) in need[k] and s.op != "input" and id(s) not in turned
        ]
        for turn in range(last + 1):
            side.order += [s for s in mine if phase[id(s)] == turn]
            side.order += [Barrier()] if turn < last else []
    return found


def _outputs(
    program: Program, owner: Mapping[int, int], order: Sequence[Node], sides: Sequence[Side],
    need: Sequence[set[int]],
) -> None:  # fmt: skip
    """Who writes which numbers of the results: their owner; of others the one with least to do."""
    loads = [sum(1 for s in order if owner[id(s)] == k) for k in range(len(sides))]
    for k, y in enumerate(program.outputs):
        assert not isinstance(y.values, Buffer)
        for j, x in enumerate(y.values):
            by = owner[id(x)] if x.op != "const" else EVERY
            if by < 0:
                by = loads.index(min(loads))
            sides[by].pieces.append(Piece(k, j, (x,)))
            if x.op != "const":
                need[by].add(id(x))
