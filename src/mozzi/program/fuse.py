"""Loops that go through the same iterations, as one: sweeps of several recursions at once.

Two sweeps outward, one behind the other, take each body's pose and screws from memory twice, and
what the first leaves for the second goes through memory. As one sweep they take them once. They
may be one where no iteration of the second touches what a later iteration of the first touches,
but for what both only read; what stands between them goes before them or behind them. Numbers that
the first has stored or loaded are not loaded again, and what both compute is computed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from mozzi.program.node import Node, Region, constant, intern, operation, trace_into
from mozzi.program.places import Flags, Places, places_of
from mozzi.program.program import Program, load
from mozzi.program.scalar import Real
from mozzi.program.statements import Address, Buffer, Index, Loop, Statement, Store

__all__ = ["fuse"]

FAR = 4  # loops over the same iterations that a loop may become one with, counted backwards
MUCH = 1000  # statements that stand between them
FEW_TURNS = 8  # of loops in which loops are fused, with the loops around them

Access: TypeAlias = Node | Store
Key: TypeAlias = tuple[object, ...]
Turns: TypeAlias = list[dict[int, int]]
"""What the variables of the loops around may be, one turn after the other."""


def fuse(program: Program) -> Program:
    """The same program with fewer loops; the old one is gone."""
    if program.rolled:
        _Fusing(places_of(program.region)).region(program.region, [{}])
    return program


class _Fusing:
    """places: those of every load and store, by its id."""

    def __init__(self, places: dict[int, Places]):
        self.places = places
        self.touched: dict[int, _Touched] = {}
        self.branches: dict[int, _Branch] = {}
        self.gone: list[Loop] = []  # so that nothing else gets their ids

    def region(self, region: Region, turns: Turns) -> None:
        """Fuse the loops of a region, and of loops in it that turn a few times."""
        statements = region.statements
        for s in statements:
            if isinstance(s, Loop) and _counted(s):
                every = _iterations(s)
                if len(turns) * len(every) <= FEW_TURNS:
                    for number, branch in enumerate(s.branches):
                        taken = _taken(s, number).tolist()
                        inside = [{**t, id(s.variable): k} for t in turns for k in taken]
                        self.region(branch, inside)
        k = 0
        while k < len(statements):
            second = statements[k]
            if isinstance(second, Loop) and _counted(second):
                alike = [j for j in range(max(0, k - MUCH), k) if _alike(statements[j], second)]
                if any(self._are_one(statements, j, k, turns) for j in alike[-FAR:]):
                    continue  # where it was, the next one is now
            k += 1

    def _are_one(self, statements: list[Statement], j: int, k: int, turns: Turns) -> bool:
        """Make the loops at j and k one, if they may be."""
        first, second = statements[j], statements[k]
        assert isinstance(first, Loop) and isinstance(second, Loop)
        whole, behind = _Touched(), _Touched()  # with the first loop, and without
        whole.add(self._touched(first))
        before, after = list[Statement](), list[Statement]()
        for s in statements[j + 1 : k]:
            if isinstance(s, Node):
                needs = whole.needed_by(s, self.places)
            else:
                needs = self._touched(s).needs(whole)
            if needs:
                for x in (whole, behind):
                    x.look(s, self.places) if isinstance(s, Node) else x.add(self._touched(s))
                after.append(s)
            else:
                before.append(s)
        if self._touched(second).needs(behind) or not self._in_order(first, second, turns):
            return False
        for number, (branch, other) in enumerate(zip(first.branches, second.branches, strict=True)):
            known = self.branches.get(id(branch))
            if known is None:
                known = _Branch(self.places, branch, first, _taken(first, number), turns)
                self.branches[id(branch)] = known
            known.take(other, second.variable)
        statements[j : k + 1] = [*before, first, *after]
        self._touched(first).add(self._touched(second))
        self.gone.append(second)
        return True

    def _touched(self, s: Statement) -> _Touched:
        found = self.touched.get(id(s))
        if found is None:
            found = self.touched[id(s)] = _Touched()
            found.look(s, self.places)
        return found

    def _in_order(self, first: Loop, second: Loop, turns: Turns) -> bool:
        """Whether what an iteration of the second touches, no later one of the first does, but for
        what both read.
        """
        a, b = (_Sweep(x, self.places, turns) for x in (first, second))
        for key in a.sizes.keys() & b.sizes.keys():
            for t in range(len(turns)):
                stored, loaded = (a.last(kind, key, t) for kind in ("store", "load"))
                stores, loads = (b.first(kind, key, t) for kind in ("store", "load"))
                if (stored > np.minimum(stores, loads)).any() or (loaded > stores).any():
                    return False
        return True


def _counted(s: Loop) -> bool:
    """Whether its iterations are known, and the same whatever loops around it do."""
    return (
        isinstance(s.start, int) and isinstance(s.stop, int) and s.follow is None
        and s.going is None
    )  # fmt: skip


def _iterations(s: Loop) -> np.ndarray:
    assert isinstance(s.start, int) and isinstance(s.stop, int)
    return np.arange(s.start, s.stop, s.step)


def _taken(s: Loop, number: int) -> np.ndarray:
    """The iterations that take a branch."""
    every = _iterations(s)
    return every if s.which is None else every[s.which[every] == number]


def _alike(s: Statement, other: Loop) -> bool:
    """Whether both go through the same iterations, with the same branches."""
    if not isinstance(s, Loop) or not _counted(s) or len(s.branches) != len(other.branches):
        return False
    if (s.start, s.stop, s.step) != (other.start, other.stop, other.step):
        return False
    if s.which is None or other.which is None:
        return s.which is other.which
    return bool(np.array_equal(s.which, other.which))


def _accesses(region: Region) -> Iterator[Access]:
    """Loads and stores of memory that changes."""
    for s in region.statements:
        if isinstance(s, Loop):
            for branch in s.branches:
                yield from _accesses(branch)
        elif (isinstance(s, Store) or s.op == "load") and _address(s).buffer.kind == "scratch":
            yield s


def _address(s: Access) -> Address:
    return Address(s.buffer, s.index, s.stride, s.offset) if isinstance(s, Store) else s.address


class _Touched:
    """What statements make, use, load and store."""

    def __init__(self) -> None:
        self.makes, self.uses = set[int](), set[int]()
        self.loads: dict[int, Flags] = {}
        self.stores: dict[int, Flags] = {}

    def look(self, s: Statement, places: dict[int, Places]) -> None:
        if isinstance(s, Loop):
            if isinstance(s.stop, Node):
                self.uses.add(id(s.stop))
            if s.going is not None:
                self._note(self.loads, s.going.buffer, slice(None))
            for branch in s.branches:
                for x in branch.statements:
                    self.look(x, places)
                self.makes.difference_update(map(id, branch.statements))  # nobody else sees these
        elif isinstance(s, Store):
            self.uses.add(id(s.value))
            self._note(self.stores, s.buffer, places[id(s)])
        else:
            self.makes.add(id(s))
            self.uses.update(map(id, s.args))
            if s.op == "load" and s.address.buffer.kind == "scratch":
                self._note(self.loads, s.address.buffer, places[id(s)])

    @staticmethod
    def _note(found: dict[int, Flags], buffer: Buffer, where: Places) -> None:
        if id(buffer) not in found:
            found[id(buffer)] = Flags(buffer.size, False)
        found[id(buffer)].put(where, True)

    def needs(self, other: _Touched) -> bool:
        """Whether this cannot go before the other one."""
        pairs = (self.loads, other.stores), (self.stores, other.stores), (self.stores, other.loads)
        shared = ((a[key].array, b[key].array) for a, b in pairs for key in a.keys() & b.keys())
        return not self.uses.isdisjoint(other.makes) or any(bool((x & y).any()) for x, y in shared)

    def needed_by(self, s: Node, places: dict[int, Places]) -> bool:
        """Whether a value uses what these make, or store."""
        if s.op == "load" and id(s.address.buffer) in self.stores:
            return self.stores[id(s.address.buffer)].any(places[id(s)])
        return any(id(x) in self.makes for x in s.args)

    def add(self, other: _Touched) -> None:
        self.makes |= other.makes
        self.uses |= other.uses
        for own, more in ((self.loads, other.loads), (self.stores, other.stores)):
            for key, flags in more.items():
                own.setdefault(key, Flags(len(flags.each), False)).array |= flags.array


class _Sweep:
    """When a loop touches which places: the first and the last of its iterations that do."""

    def __init__(self, s: Loop, places: dict[int, Places], turns: Turns):
        self.every, self.places, self.turns = _iterations(s), places, turns
        self.variable = id(s.variable)
        self.sizes: dict[int, int] = {}
        self.found: dict[tuple[str, int], list[tuple[Access, np.ndarray]]] = {}
        for number, branch in enumerate(s.branches):
            when = np.arange(len(self.every))
            if s.which is not None:
                when = when[s.which[self.every] == number]
            for x in _accesses(branch):
                buffer = _address(x).buffer
                self.sizes[id(buffer)] = max(1, buffer.size)
                kind = "store" if isinstance(x, Store) else "load"
                self.found.setdefault((kind, id(buffer)), []).append((x, when))

    def first(self, kind: str, key: int, turn: int) -> np.ndarray:
        found = np.full(self.sizes[key], len(self.every))
        for where, when in self._each(kind, key, turn):
            found[where] = np.minimum(found[where], when)
        return found

    def last(self, kind: str, key: int, turn: int) -> np.ndarray:
        found = np.full(self.sizes[key], -1)
        for where, when in self._each(kind, key, turn, ascending=True):
            found[where] = np.maximum(found[where], when)
        return found

    def _each(
        self, kind: str, key: int, turn: int, ascending: bool = False
    ) -> Iterator[tuple[Places, np.ndarray | int]]:
        """Places and iterations; of places that are met again the one that shall count last."""
        order = 1 if ascending else -1
        for x, when in self.found.get((kind, key), ()):
            known = {**self.turns[turn], self.variable: self.every[when]}
            where = _where(_address(x), known)
            if where is None:  # in a loop inside: at any time
                yield self.places[id(x)], len(self.every) - 1 if ascending else 0
            else:
                yield np.broadcast_to(where, when.shape)[::order], when[::order]


def _where(at: Address, known: dict[int, int | np.ndarray]) -> int | np.ndarray | None:
    """The places of an address, by what variables are; None where one is not known."""
    if at.at is None:
        return at.offset
    index = _value(at.at, known)
    return None if index is None else index * at.stride + at.offset


def _value(index: Index, known: dict[int, int | np.ndarray]) -> int | np.ndarray | None:
    if index.table is not None:
        assert index.at is not None
        at = _value(index.at, known)
        return None if at is None else index.table[at]
    if not index.terms:
        return known.get(id(index))
    total: int | np.ndarray = 0
    for term, factor in index.terms:
        part = _value(term, known)
        if part is None:
            return None
        total = total + part * factor
    return total


class _Branch:
    """A branch of a first loop, behind which those of others come, by the variable of the first."""

    def __init__(
        self, places: dict[int, Places], branch: Region, first: Loop, taken: np.ndarray,
        turns: Turns,
    ):  # fmt: skip
        self.places, self.branch, self.taken, self.turns = places, branch, taken, turns
        self.variable = first.variable
        self.indices: dict[int, Index] = {}
        self.old: list[Index] = []  # so that no other one gets their ids
        self.keys: dict[int, Key] = {}
        self.where: dict[Key, list[int | np.ndarray | None]] = {}
        self.made: dict[int, Real] = {}
        self.held: dict[int, dict[Key, tuple[Address, Real]]] = {}
        """Numbers that memory holds at the end of it, by buffer and place."""
        for s in branch.statements:
            if isinstance(s, Loop):
                self._forget_stored(s)
            elif isinstance(s, Store):
                self._stored(_address(s), s.value)
            elif s.op == "load":
                self._of(s.address).setdefault(self._key(s.address), (s.address, s))

    def take(self, other: Region, variable: Index) -> None:
        """All of another branch, with this variable. What the region around computes may stand
        behind the loop: it is not looked up there.
        """
        self.indices, self.made = {id(variable): self.variable}, {}
        self.old.append(variable)
        around, self.branch.outer = self.branch.outer, None
        with trace_into(self.branch):
            for s in other.statements:
                if isinstance(s, Loop):
                    self._loop(s, self.branch)
                    self._forget_stored(s)
                elif isinstance(s, Store):
                    self._stored(*self._store(s, self.branch))
                elif s.op == "load":
                    self.made[id(s)] = self._load(s)
                else:
                    self._value(s)
        self.branch.outer = around

    def _loop(self, s: Loop, outer: Region) -> None:
        """A loop of the other branch, with loads of its own."""
        start = s.start if isinstance(s.start, int) else self._index(s.start)
        stop = s.stop if isinstance(s.stop, int) else constant(self._now(s.stop))
        going = None if s.going is None else self._address(s.going)
        branches = [Region(outer) for _ in s.branches]
        outer.statements.append(replace(s, start=start, stop=stop, going=going, branches=branches))
        for branch, other in zip(branches, s.branches, strict=True):
            with trace_into(branch):
                for x in other.statements:
                    if isinstance(x, Loop):
                        self._loop(x, branch)
                    elif isinstance(x, Store):
                        self._store(x, branch)
                    elif x.op == "load":
                        self.made[id(x)] = self._new_load(x)
                    else:
                        self._value(x)

    # -- statements --

    def _value(self, s: Node) -> None:
        if s.op == "input":
            new = intern("input", (), True, ("input", *s.place))
            new.place = s.place
        elif s.op == "const":
            new = s.value
        else:
            args = map(self._now, s.args)
            new = operation(s.op, *args, nonzero=s.op == "div" and s.finite)
        self.made[id(s)] = new
        if isinstance(new, Node) and not new.name:
            new.name, new.origin = s.name, s.origin

    def _now(self, s: Node) -> Real:
        return self.made.get(id(s), s)

    def _store(self, s: Store, region: Region) -> tuple[Address, Real]:
        at, value = self._address(_address(s)), constant(self._now(s.value))
        new = Store(*at, value)
        self.places[id(new)] = self.places[id(s)]
        region.statements.append(new)
        return at, value

    def _load(self, s: Node) -> Real:
        at = self._address(s.address)
        key, held = self._key(at), self._of(at)
        if key not in held:
            held[key] = at, self._new_load(s)
        return held[key][1]

    def _new_load(self, s: Node) -> Node:
        new = load(*self._address(s.address))
        self.places[id(new)] = self.places[id(s)]
        new.name, new.origin = s.name, s.origin
        return new

    # -- what memory holds --

    def _of(self, at: Address) -> dict[Key, tuple[Address, Real]]:
        return self.held.setdefault(id(at.buffer), {})

    def _stored(self, at: Address, value: Real) -> None:
        """From here on memory holds this, and perhaps no longer what it held."""
        key, held = self._key(at), self._of(at)
        for other, (there, _) in list(held.items()):
            if other != key and not self._apart(at, there):
                del held[other]
        held[key] = at, value

    def _forget_stored(self, s: Loop) -> None:
        for branch in s.branches:
            for x in _accesses(branch):
                if isinstance(x, Store):
                    self.held.pop(id(x.buffer), None)

    def _apart(self, at: Address, there: Address) -> bool:
        """Whether two addresses are never one place in the same iteration."""
        if at.stride == there.stride and self._key(at)[1] == self._key(there)[1]:
            return at.offset != there.offset
        pairs = zip(self._places(at), self._places(there), strict=True)
        return not any(a is None or b is None or bool(np.any(a == b)) for a, b in pairs)

    def _places(self, at: Address) -> list[int | np.ndarray | None]:
        """Where an address is in every iteration, turn by turn."""
        key = self._key(at)
        if key not in self.where:
            turns = ({**t, id(self.variable): self.taken} for t in self.turns)
            self.where[key] = [_where(at, known) for known in turns]
        return self.where[key]

    # -- indices --

    def _address(self, at: Address) -> Address:
        return at if at.at is None else at._replace(at=self._index(at.at))

    def _index(self, index: Index) -> Index:
        new = self.indices.get(id(index))
        if new is None:
            new = index
            if index.table is not None:
                assert index.at is not None
                new = replace(index, at=self._index(index.at))
            elif index.terms:
                new = replace(index, terms=tuple((self._index(t), n) for t, n in index.terms))
            self.indices[id(index)] = new
            self.old.append(index)
        return new

    def _key(self, at: Address) -> Key:
        """The same for addresses that are one place."""
        return id(at.buffer), self._key_of(at.at), at.stride, at.offset

    def _key_of(self, index: Index | None) -> Key:
        if index is None:
            return ()
        key = self.keys.get(id(index))
        if key is None:
            if index.table is not None:
                key = "entry", index.table.tobytes(), self._key_of(index.at)
            elif index.terms:
                key = "sum", *((self._key_of(t), n) for t, n in index.terms)
            else:
                key = "variable", id(index)
            self.keys[id(index)] = key
            self.old.append(index)
        return key
