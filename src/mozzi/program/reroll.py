"""Long straight-line programs as loops: what repeats itself is there once.

Mechanisms of many equal parts (windows in a row, the bodies of a closed chain) are traced part by
part, and give the same statements again and again, with other numbers and other operands. Such a
stretch becomes a loop over its repetitions: numbers that differ are a table, and what crosses from
one repetition to another, or out of the loop, has a place in scratch memory. The operations are the
same, in the same order; a program is as long as what differs in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, groupby, pairwise
from typing import TypeAlias, cast

import numpy as np

from mozzi.program.node import Node, Region
from mozzi.program.passes import prune
from mozzi.program.program import (
    Address,
    Buffer,
    Index,
    Loop,
    Output,
    Program,
    Store,
)
from mozzi.program.repetition import Run, Stretch

__all__ = ["rerolled"]

LONG_RUN = 20_000  # statements of a run that would compile for a second: the program is looked at
NO_RUN = 256  # statements of a run that is left as it is
WORTH = 0.5  # of a run that must repeat itself
COPIED = 32  # values, one after the other, that are stored in a loop
OUTSIDE = ("const", "input", "load")  # before all loops of a run: memory does not change in it

Source: TypeAlias = tuple[Buffer, int]
"""An element of a buffer."""

Column: TypeAlias = tuple[Node, ...] | None
"""An operand in all repetitions; None where it is of the repetition."""


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
    return prune(replace(program, outputs=tuple(outputs), region=region))


def _long(region: Region) -> bool:
    loops = (s for s in region.statements if isinstance(s, Loop))
    return len(region.statements) >= LONG_RUN or any(_long(b) for s in loops for b in s.branches)


def _pieces(region: Region) -> Iterator[list[Node] | list[Store] | Loop]:
    """Runs of values and of stores, and loops, in order."""
    for kind, own in groupby(region.statements, type):
        if kind is Loop:
            yield from cast("Iterator[Loop]", own)
        elif kind is Store:
            yield list(cast("Iterator[Store]", own))
        else:
            yield list(cast("Iterator[Node]", own))


# -- loops --


class _Rerolling:
    """new: old value → the one that takes its place; made: values that loops make; slots: where
    these are, and copies of others that loops read. loaded: loads that are seen in the region that
    is being made, and when; written: when buffers were last stored to.
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
        self.loaded: dict[int, int] = {}
        self.written: dict[int, int] = {}
        self.clock = 0
        self.program = program

    @cached_property
    def uses(self) -> dict[int, set[int]]:
        """By first statements of long runs (0: all else), the values that they use."""
        found: dict[int, set[int]] = {0: set()}

        def look(region: Region) -> None:
            for piece in _pieces(region):
                if isinstance(piece, Loop):
                    found[0].add(id(piece.stop))
                    for branch in piece.branches:
                        look(branch)
                    continue
                long = len(piece) >= NO_RUN and isinstance(piece[0], Node)
                used = found.setdefault(id(piece[0]) if long else 0, set())
                used.update(map(id, chain.from_iterable(map(_operands, piece))))

        look(self.program.region)
        for y in self.program.outputs:
            found[0].update(() if isinstance(y.values, Buffer) else map(id, y.values))
        return found

    def region(self, region: Region, outer: Region | None) -> Region:
        out = Region(outer)
        for piece in _pieces(region):
            self.clock += 1
            if isinstance(piece, Loop):
                stop = self.seen(piece.stop, out) if isinstance(piece.stop, Node) else piece.stop
                before = self.loaded
                changed = set[int]().union(*map(_written, piece.branches))
                self.written |= dict.fromkeys(changed, self.clock)  # the round before, too
                branches: list[Region] = []
                for branch in piece.branches:
                    self.loaded = dict(before)
                    branches.append(self.region(branch, out))
                self.loaded = before
                out.statements.append(replace(piece, stop=stop, branches=branches))
            elif isinstance(piece[0], Store):
                self._stores(cast("list[Store]", piece), out)
            else:
                self._run(cast("list[Node]", piece), out)
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

    def _source(self, x: Node) -> Source | None:
        """Where this value is still to be had in memory, if it is."""
        if id(x) in self.made:
            return self.memory, self.slots[id(x)]
        if x.op == "input":
            position, offset = x.place
            return (self.arguments[position], offset) if position >= 0 else None
        if id(x) not in self.loaded or x.address.at is not None:
            return None
        buffer = x.address.buffer
        changed = self.written.get(id(buffer), 0) > self.loaded[id(x)]
        return None if changed else (buffer, x.address.offset)

    def _stores(self, stores: Sequence[Store], out: Region) -> None:
        """Where values that lie in a row in one buffer, or one number, go to a row in another: a
        loop.
        """
        rows: list[list[tuple[Store, Source | None]]] = []
        for s in stores:
            source = self._source(s.value)
            if not rows or not _follows(s, source, *rows[-1][-1]):
                rows.append([])
            rows[-1].append((s, source))
            self.written[id(s.buffer)] = self.clock
        for row in rows:
            if len(row) < COPIED:
                out.statements += [replace(s, value=self.seen(s.value, out)) for s, _ in row]
                continue
            k, inner, first = Index(name="copied"), Region(out), row[0][0]
            value, places = first.value, [source for _, source in row if source is not None]
            if places:
                value = _load(_progression(places[0][0], [n for _, n in places], k), inner)
            inner.statements.append(Store(first.buffer, k, 1, first.offset, value))
            out.statements.append(Loop(k, 0, len(row), 1, None, None, [inner]))

    def _run(self, statements: list[Node], out: Region) -> None:
        self.loaded |= {id(s): self.clock for s in statements if s.op == "load"}
        straight = [s for s in statements if s.op not in OUTSIDE]
        run = Run(straight) if len(straight) >= NO_RUN else None
        found = [] if run is None else run.stretches()
        if run is None or sum(x.length * x.count for x in found) < WORTH * len(straight):
            self._straight(statements, out)
            return
        out.statements += [s for s in statements if s.op in OUTSIDE]
        others = (x for key, x in self.uses.items() if key != id(statements[0]))
        columns = self._places(run, found, set[int]().union(*others), out)
        done = 0
        for part, own in zip(found, columns, strict=True):
            self._straight(straight[done : part.start], out)
            self._loop(straight, part, own, out)
            done = part.end
        self._straight(straight[done:], out)

    def _places(
        self, run: Run, found: Sequence[Stretch], elsewhere: set[int], out: Region
    ) -> list[list[Column]]:
        """Slots of values that leave their repetition, and of others that differ between some and
        are not in memory; the operands of all stretches.
        """
        for part, leaving in zip(found, run.leaving(found, elsewhere), strict=True):
            for t in range(part.start, part.end, part.length):
                for j in leaving:
                    self._give(run.statements[t + j])
            self.made.update(map(id, run.statements[part.start : part.end]))
        columns = [run.columns(part) for part in found]
        before: dict[int, Node] = {}
        for column in chain.from_iterable(columns):
            if column is None or column[0].op == "const" or len(set(map(id, column))) == 1:
                continue
            if self._row(column) is None:
                before |= {id(x): x for x in column if id(x) not in self.made}
        for x in before.values():
            self._give(x)
        here = {id(s) for s in run.statements}
        for x in before.values():
            if id(x) not in here:
                self._copied(x, out)
        return columns

    def _row(self, column: Sequence[Node]) -> tuple[Buffer, list[int]] | None:
        """The buffer that all of these are elements of, and which."""
        sources = [self._source(x) for x in column]
        known = [x for x in sources if x is not None and sources[0] and x[0] is sources[0][0]]
        return (known[0][0], [place for _, place in known]) if len(known) == len(column) else None

    def _give(self, x: Node) -> None:
        if id(x) not in self.slots:
            self.slots[id(x)] = self.memory.size
            self.memory.size += 1

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

    def _loop(
        self, run: Sequence[Node], part: Stretch, columns: Sequence[Column], out: Region
    ) -> None:
        k, inner = Index(name="repeated"), Region(out)
        own = run[part.start : part.start + part.length]
        after = run[part.start + part.length : part.start + 2 * part.length]
        inside: dict[int, Node] = {}
        loaded: dict[object, Node] = {}
        operands = iter(columns)
        for s, next_one in zip(own, after, strict=True):
            args: list[Node] = []
            for x in s.args:
                column = next(operands)
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
            places = [self.slots.get(id(x), -1) for x in column]
            at = _progression(*(self._row(column) or (self.memory, places)), k)
        if key not in loaded:
            loaded[key] = _load(at, inner)
        return loaded[key]


def _written(region: Region) -> set[int]:
    """Buffers that are stored to."""
    found = {id(s.buffer) for s in region.statements if isinstance(s, Store)}
    loops = (s for s in region.statements if isinstance(s, Loop))
    return found.union(*(_written(b) for s in loops for b in s.branches))


def _follows(s: Store, source: Source | None, last: Store, before: Source | None) -> bool:
    """Whether a store is the next of a row."""
    if s.buffer is not last.buffer or s.index is not None or last.index is not None:
        return False
    if s.offset != last.offset + 1:
        return False
    if source is None or before is None:
        return s.value is last.value and s.value.op == "const"
    return source[0] is before[0] and source[0] is not s.buffer


def _operands(s: Node | Store) -> tuple[Node, ...]:
    return s.args if isinstance(s, Node) else (s.value,)


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
