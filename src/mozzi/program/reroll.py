"""Long straight-line programs as loops: what repeats itself is there once.

Mechanisms of many equal parts (windows in a row, the bodies of a closed chain) are traced part by
part, and give the same statements again and again, with other numbers and other operands. Such a
stretch becomes a loop over its repetitions: numbers that differ are a table, and what crosses from
one repetition to another, or out of the loop, has a place in scratch memory. The operations are the
same, in the same order; a program is as long as what differs in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mozzi.program.node import Node, Region
from mozzi.program.program import (
    Address,
    Buffer,
    Index,
    Loop,
    Output,
    Program,
    Store,
)

__all__ = ["rerolled"]

LONG_RUN = 20_000  # statements of a run that is looked through: they would compile for a second
SHORTEST = 24  # statements of one repetition
REPEATED = 4  # times, at least
GRAM = 16  # statements by which repetitions are found
LOOKED = 6  # lengths of a repetition that are tried at a place
WORTH = 0.5  # of a run that must repeat itself
OUTSIDE = ("const", "input", "load")  # before all loops of a run: memory does not change in it


@dataclass(frozen=True)
class Stretch:
    """So many repetitions of so many statements, from a place of a run on."""

    start: int
    length: int
    count: int


def rerolled(program: Program) -> Program:
    """The same program, with loops for what repeats itself in long runs of statements."""
    if not _long(program.region):
        return program
    making = _Rerolling(program)
    region = making.region(program.region, None)
    if not making.memory.size:
        return program
    outputs: list[Output] = []
    for y in program.outputs:
        values = y.values
        if not isinstance(values, Buffer):
            values = tuple(making.seen(x, region) for x in values)
        outputs.append(Output(y.name, y.shape, values))
    return replace(program, outputs=tuple(outputs), region=region)


def _long(region: Region) -> bool:
    loops = (s for s in region.statements if isinstance(s, Loop))
    return len(region.statements) >= LONG_RUN or any(_long(b) for s in loops for b in s.branches)


# -- what repeats itself --


def stretches(run: Sequence[Node]) -> list[Stretch]:
    """By operations, and by which operands are of the same repetition."""
    place = {id(s): n for n, s in enumerate(run)}
    codes: dict[object, int] = {}
    code = np.array(
        [codes.setdefault((s.op, *(x.op == "const" for x in s.args)), len(codes)) for s in run]
    )
    found: list[Stretch] = []
    end = 0
    for n, lengths in sorted(_lengths(code).items()):
        if n < end:
            continue
        whole, shortest = max((_count(code, n, k) * k, -k) for k in lengths)
        for part in _alike(run, place, n, -shortest, whole // -shortest) if whole else ():
            found.append(part)
            end = part.start + part.length * part.count
    return found


def _lengths(code: NDArray[np.intp]) -> dict[int, list[int]]:
    """Places at which as many repetitions seem to begin, and lengths that these may have: the same
    statements follow at all their beginnings.
    """
    grams = np.zeros(len(code), dtype=np.uint64)
    for k in range(GRAM):
        grams = grams * np.uint64(1_000_003) + np.append(code[k:], np.zeros(k)).astype(np.uint64)
    order = np.argsort(grams, kind="stable")
    found: dict[int, list[int]] = {}
    for k in range(1, LOOKED + 1):
        n, length = order[:-k], order[k:] - order[:-k]
        inside = (length >= SHORTEST) & (n + REPEATED * length <= len(code))
        n, length = n[inside], length[inside]
        for t in range(1, REPEATED):
            same = grams[n + t * length] == grams[n]
            n, length = n[same], length[same]
        for place, own in zip(n.tolist(), length.tolist(), strict=True):
            found.setdefault(place, []).append(own)
    return found


def _count(code: NDArray[np.intp], n: int, length: int) -> int:
    """How many repetitions of this length begin at a place; 0 where they are too few."""
    few = (REPEATED - 1) * length
    if n + few + length > len(code) or (code[n : n + few] != code[n + length :][:few]).any():
        return 0
    other = np.flatnonzero(code[n:-length] != code[n + length :])
    return (int(other[0]) if len(other) else len(code) - length - n) // length + 1


def _alike(
    run: Sequence[Node], place: dict[int, int], start: int, length: int, count: int
) -> Iterator[Stretch]:
    """Of repetitions, those in a row whose operands come from the same places inside them."""
    shapes: list[list[int]] = []
    for first in range(start, start + length * count, length):
        own = run[first : first + length]
        shapes.append([max(-1, place.get(id(x), -1) - first) for s in own for x in s.args])
    t = 0
    while t < count:
        end = t + 1
        while end < count and shapes[end] == shapes[t]:
            end += 1
        if end - t >= REPEATED:
            yield Stretch(start + t * length, length, end - t)
        t = end


# -- loops --


class _Rerolling:
    """new: old value → the one that takes its place; made: values that loops make; slots: where
    these are, and copies of others that loops read.
    """

    def __init__(self, program: Program):
        self.memory = Buffer("repeated", 0, "scratch")
        self.arguments = [
            Buffer(x.name, x.size, "input", position=k) for k, x in enumerate(program.inputs)
        ]
        self.new: dict[int, Node] = {}
        self.slots: dict[int, int] = {}
        self.made: set[int] = set()
        self.loads: dict[tuple[int, int], Node] = {}
        self.program = program

    @cached_property
    def users(self) -> dict[int, list[int]]:
        """Value → the statements that use it; −1: it is a result."""
        users: dict[int, list[int]] = {}
        for s, _ in self.program.walk():
            for x in _operands(s):
                users.setdefault(id(x), []).append(id(s))
        for y in self.program.outputs:
            for x in () if isinstance(y.values, Buffer) else y.values:
                users.setdefault(id(x), []).append(-1)
        return users

    def region(self, region: Region, outer: Region | None) -> Region:
        out = Region(outer)
        run: list[Node] = []
        for s in region.statements:
            if isinstance(s, Node):
                run.append(s)
                continue
            self._run(run, out)
            run = []
            if isinstance(s, Store):
                out.statements.append(replace(s, value=self.seen(s.value, out)))
            else:
                stop = self.seen(s.stop, out) if isinstance(s.stop, Node) else s.stop
                branches = [self.region(b, out) for b in s.branches]
                out.statements.append(replace(s, stop=stop, branches=branches))
        self._run(run, out)
        return out

    def seen(self, x: Node, out: Region) -> Node:
        """A value as what comes next in this region sees it: loaded, where a loop has made it."""
        if id(x) not in self.made:
            return self.new.get(id(x), x)
        key = id(out), id(x)
        if key not in self.loads:
            at = Address(self.memory, None, 0, self.slots[id(x)])
            self.loads[key] = _load(at, out)
        return self.loads[key]

    def _run(self, run: list[Node], out: Region) -> None:
        straight = [s for s in run if s.op not in OUTSIDE]
        found = stretches(straight) if len(straight) >= LONG_RUN else []
        if sum(x.length * x.count for x in found) < WORTH * len(straight):
            found = []
        if found:
            out.statements += [s for s in run if s.op in OUTSIDE]
            for x in self._places(straight, found):
                self._copied(x, out)
        done = 0
        for part in found:
            self._straight(straight[done : part.start], out)
            self._loop(straight, part, out)
            done = part.start + part.length * part.count
        self._straight(straight[done:] if found else run, out)

    def _places(self, run: Sequence[Node], found: Sequence[Stretch]) -> list[Node]:
        """Slots: of values that leave their repetition, and of others that differ between some.
        Those of the latter that come from before the run.
        """
        home: dict[int, tuple[int, int]] = {}
        for number, part in enumerate(found):
            for t, own in _repetitions(run, part):
                home |= {id(s): (number, t) for s in own}
        for part in found:
            leaving = sorted({
                j for _, own in _repetitions(run, part) for j, s in enumerate(own)
                if any(home.get(u) != home[id(s)] for u in self.users.get(id(s), ()))
            })  # fmt: skip
            for _, own in _repetitions(run, part):
                for j in leaving:
                    self._give(own[j])
        self.made |= home.keys()
        before = dict[int, Node]()
        for part in found:
            for column in _columns(run, part):
                if column is None or column[0].op == "const" or self._argument(column) is not None:
                    continue
                if len({id(x) for x in column}) > 1:
                    for x in column:
                        self._give(x)
                        before[id(x)] = x
        here = {id(s) for s in run} | self.made
        return [x for x in before.values() if id(x) not in here]

    def _give(self, x: Node) -> None:
        if id(x) not in self.slots:
            self.slots[id(x)] = self.memory.size
            self.memory.size += 1

    def _argument(self, column: Sequence[Node]) -> Buffer | None:
        """The argument of the program that all of these are elements of."""
        position = column[0].place[0] if column[0].op == "input" else -1
        same = position >= 0 and all(x.op == "input" and x.place[0] == position for x in column)
        return self.arguments[position] if same else None

    def _copied(self, x: Node, out: Region) -> None:
        """A copy, in its slot, of a value that loops read."""
        if id(x) in self.slots:
            own = self.new.get(id(x), x)
            out.statements.append(Store(self.memory, None, 0, self.slots[id(x)], own))

    def _straight(self, run: Sequence[Node], out: Region) -> None:
        for s in run:
            args = tuple(self.seen(x, out) for x in s.args)
            new = s
            if any(a is not b for a, b in zip(args, s.args, strict=True)):
                new = self.new[id(s)] = _like(s, args, out)
            out.statements.append(new)
            self._copied(s, out)

    def _loop(self, run: Sequence[Node], part: Stretch, out: Region) -> None:
        k, inner = Index(name="repeated"), Region(out)
        own = run[part.start : part.start + part.length]
        after = run[part.start + part.length : part.start + 2 * part.length]
        inside: dict[int, Node] = {}
        loaded: dict[object, Node] = {}
        columns = iter(_columns(run, part))
        for s, next_one in zip(own, after, strict=True):
            args: list[Node] = []
            for x in s.args:
                column = next(columns)
                args.append(inside[id(x)] if column is None else self._operand(
                    column, k, loaded, inner, out))  # fmt: skip
            new = inside[id(s)] = _like(s, tuple(args), inner)
            inner.statements.append(new)
            if id(s) in self.slots:
                first = self.slots[id(s)]
                stride = self.slots[id(next_one)] - first
                inner.statements.append(Store(self.memory, k, stride, first, new))
        out.statements.append(Loop(k, 0, part.count, 1, None, None, [inner]))

    def _operand(
        self, column: tuple[Node, ...], k: Index, loaded: dict[object, Node], inner: Region,
        out: Region,
    ) -> Node:  # fmt: skip
        """What a repetition takes from outside."""
        if column[0].op == "const":
            data = np.array([x.value for x in column])
            key: object = data.tobytes()
            if (data == data[0]).all():
                return column[0]
            at = Address(Buffer("numbers", len(data), "table", data), k, 1, 0)
        else:
            key = tuple(map(id, column))
            if len(set(key)) == 1:
                return self.seen(column[0], out)
            argument = self._argument(column)
            places = [self.slots[id(x)] if argument is None else x.place[1] for x in column]
            at = _progression(argument or self.memory, places, k)
        if key not in loaded:
            loaded[key] = _load(at, inner)
        return loaded[key]


def _operands(s: Node | Store | Loop) -> tuple[Node, ...]:
    if isinstance(s, Node):
        return s.args
    if isinstance(s, Store):
        return (s.value,)
    return (s.stop,) if isinstance(s.stop, Node) else ()


def _repetitions(run: Sequence[Node], part: Stretch) -> Iterator[tuple[int, Sequence[Node]]]:
    for t in range(part.count):
        first = part.start + t * part.length
        yield t, run[first : first + part.length]


def _columns(run: Sequence[Node], part: Stretch) -> Iterator[tuple[Node, ...] | None]:
    """Operand by operand: its values in all repetitions; None where it is of the repetition."""
    own = {id(s) for s in run[part.start : part.start + part.length]}
    for j in range(part.start, part.start + part.length):
        every = run[j : j + part.length * part.count : part.length]
        for c, x in enumerate(run[j].args):
            yield None if id(x) in own else tuple(s.args[c] for s in every)


def _progression(buffer: Buffer, places: Sequence[int], k: Index) -> Address:
    """Places in memory by repetitions: strides where they are, else a table."""
    stride = places[1] - places[0]
    if all(b - a == stride for a, b in pairwise(places)):
        return Address(buffer, k, stride, places[0])
    return Address(buffer, Index(np.array(places), k, name="place"), 1, 0)


def _like(s: Node, args: tuple[Node, ...], region: Region) -> Node:
    new = Node(s.op, args, s.finite, region)
    new.name, new.origin = s.name, s.origin
    return new


def _load(at: Address, region: Region) -> Node:
    node = Node("load", (), True, region)
    node.address = at
    region.statements.append(node)
    return node
