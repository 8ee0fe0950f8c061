# pyright: reportConstantRedefinition=false
"""Closures that are alike, as rolled programs see them: one symbolic closure for all of a kind.

Windows in a row, feet on one ground: closures of a kind tie bodies of the same kinds by the same
joint, and their paths to the base run through joints of the same kinds. One *symbolic closure*
stands for them; what differs between them comes from tables. The bodies on its paths have *places*,
a parent before its children, and what a closure does at a place is done at that body of the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Never, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.constraints.overconstrained import overconstrained
from mozzi.algorithms.constraints.rows.relative_motion import Moving, Pair, Rows
from mozzi.algorithms.constraints.rows.rows import pair_of, tie_rows
from mozzi.algorithms.constraints.sparse import elimination
from mozzi.algorithms.recursion.bodies import Kind
from mozzi.algorithms.recursion.containers import ZERO
from mozzi.algorithms.recursion.mechanism import Body, Mechanism, SymbolicBody, mechanism
from mozzi.algorithms.recursion.rolled_or_not import many_loops
from mozzi.algorithms.recursion.views import ByBody
from mozzi.lie import SE3, Twist
from mozzi.lie.vec import number
from mozzi.model import Distance, Loop, Model
from mozzi.model.model import WORLD
from mozzi.program.counted_loops import in_memory
from mozzi.program.program import Buffer, Index, load, loop
from mozzi.program.scalar import Real

__all__ = [
    "Closures", "Elimination", "SymbolicClosure", "alike", "closures_by_kinds", "each_closure",
]  # fmt: skip

Ids = NDArray[np.intp]

MOST_PLACES = 8  # bodies on the paths of a closure
MOST_KINDS = 4  # of closures
MOST_NEIGHBOURS = 4  # of a closure when it is eliminated
MOST_STEPS = 12  # kinds of steps of the elimination


# -- which closures are alike --


@dataclass(frozen=True)
class Closures:
    """Closures of one kind.

    members: their numbers among all; first: of their rows; slots (closures, places): the bodies of
    their paths; kinds and parents (places): of these; ends: the places of a and b; numbers
    (closures, 26): frames A and B on the joints of these, and how far they are from them.
    """

    part: Loop | Distance
    members: Ids
    first: Ids
    slots: Ids
    kinds: tuple[Kind, ...]
    parents: tuple[int, ...]
    ends: tuple[int, int]
    numbers: NDArray[np.float64]

    def each(self, model: Mechanism) -> Iterator[SymbolicClosure]:
        """Record a loop over them; yields one closure, for all."""
        for _, k in loop(0, len(self.members), name="closure"):
            yield SymbolicClosure(model, self, k)


def alike(model: Model) -> bool:
    """Whether all closures of a model are of a few kinds, with short paths, each meeting a few
    others, and with rows that are independent of one another.
    """
    key = "closures are alike"
    if key not in model.cache:
        model.cache[key] = model.nominal is None and _few_kinds(model)
    return model.cache[key] and not overconstrained(model)


def _few_kinds(model: Model) -> bool:
    kinds = closures_by_kinds(mechanism(model, rolled=True, regroup="moments"))
    return kinds is not None and len(kinds) <= MOST_KINDS and Elimination(kinds).short


def closures_by_kinds(model: Mechanism) -> list[Closures] | None:
    """The closures of a mechanism; None where some have long paths, or do not tie two frames."""
    groups: dict[object, list[tuple[Loop | Distance, int, int, list[int], list[float]]]] = {}
    shapes: dict[object, tuple[tuple[Kind, ...], tuple[int, ...], tuple[int, int]]] = {}
    first = 0
    for n, part in enumerate(model.model.closures):
        if not isinstance(part, Loop | Distance) or not part.rows:
            return None
        path = _path(model, part)
        if path is None:
            return None
        place = {index: k for k, index in enumerate(path)} | {WORLD: WORLD}
        kinds = tuple(model.at(k).kind for k in path)
        parents = tuple(place[model.at(k).parent.index] for k in path)
        ends = place[part.body_a], place[part.body_b]
        key = _tie(part), kinds, parents, ends
        groups.setdefault(key, []).append(
            (part, n, first, [model.at(k).slot for k in path], _numbers(model, part))
        )
        shapes[key] = kinds, parents, ends
        first += part.rows
    found: list[Closures] = []
    for key, members in groups.items():
        parts, n, start, slots, numbers = zip(*members, strict=True)
        of = Closures(parts[0], _ids(n), _ids(start), _ids(slots), *shapes[key], np.array(numbers))
        found.append(of)
    return found


def _ids(x: Sequence[int] | Sequence[Sequence[int]]) -> Ids:
    return np.array(x, dtype=np.intp)


def _path(model: Mechanism, part: Loop | Distance) -> list[int] | None:
    """The bodies that carry the ends of a closure, the base first; None of many."""
    bodies: set[int] = set()
    for end in (part.body_a, part.body_b):
        for i in model.at(end).path():
            bodies.add(i.index)
            if len(bodies) > MOST_PLACES:
                return None
    return sorted(bodies)


def _tie(part: Loop | Distance) -> tuple[object, ...]:
    """What decides the code of a closure."""
    if isinstance(part, Distance):
        return "distance", part.length
    return "loop", part.joint.kind, part.joint.code, part.joint.parameters()


def _numbers(model: Mechanism, part: Loop | Distance) -> list[float]:
    pair = pair_of(model, part, Moving(ZERO, cast("ByBody[Never]", ZERO)))
    own = [x for F in (pair.F_a, pair.F_b) for x in (*F.R.general().flatten(), *F.p)]
    return [number(x) or 0.0 for x in (*own, *(pair.levers[i.index] for i in (pair.a, pair.b)))]


# -- one of them, for all --


class PathBody(SymbolicBody):
    """A body on a path of a symbolic closure; index: its place."""

    def __init__(self, closure: SymbolicClosure, place: int):
        slots = np.ascontiguousarray(closure.kind.slots[:, place])
        at = Index(slots, closure.number, name="body")
        super().__init__(closure.model, at, closure.kind.kinds[place])
        self.closure, self.index = closure, place

    @property
    def parent(self) -> PathBody | Body:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.closure.at(self.closure.kind.parents[self.index])

    def path(self) -> Iterator[PathBody]:
        """This body, its parent, and so on to the base."""
        body: PathBody | Body = self
        while isinstance(body, PathBody):
            yield body
            body = body.parent


class SymbolicClosure:
    """One closure, for all of a kind: bodies by their places, frames from tables."""

    rolled = False  # its paths are short

    def __init__(self, model: Mechanism, kind: Closures, k: Index):
        self.model, self.kind, self.number = model, kind, k
        self._bodies = [PathBody(self, place) for place in range(len(kind.kinds))]

    @property
    def part(self) -> Loop | Distance:
        return self.kind.part

    @property
    def upward(self) -> Twist:
        return self.model.upward

    def at(self, index: int) -> PathBody | Body:
        """The body at a place."""
        return self.model.world if index == WORLD else self._bodies[index]

    @cached_property
    def numbers(self) -> list[Real]:
        """Numbers of the closure: constants where all of the kind agree."""
        return [_entry(column, self.number) for column in self.kind.numbers.T]

    def pair(self, move: Moving) -> Pair:
        """The two frames that it ties."""
        return _SymbolicPair(self, move)

    def rows(self, move: Moving) -> Rows:
        """Its rows."""
        return tie_rows(self.part, self.pair(move), move.v is not None)

    @cached_property
    def first(self) -> Index:
        """The number of its first row."""
        return Index(self.kind.first, self.number, name="row")

    def of(self, vector: Buffer) -> list[Real]:
        """Its rows of all rows."""
        return [load(vector, self.first, 1, r) for r in range(self.part.rows)]


def _entry(column: NDArray[np.float64], k: Index) -> Real:
    if (column == column[0]).all():
        return float(column[0])
    return load(Buffer("closures", len(column), "table", np.ascontiguousarray(column)), k, 1, 0)


class _SymbolicPair(Pair):
    """The frames of a symbolic closure."""

    def __init__(self, closure: SymbolicClosure, move: Moving):
        self.model, self.move = closure, move
        self.a, self.b = (closure.at(k) for k in closure.kind.ends)
        own = closure.numbers
        self.F_a, self.F_b = SE3.unflatten(own[:12]), SE3.unflatten(own[12:24])
        self._far = own[24:]
        self._find_paths()

    @property
    def levers(self) -> Mapping[int, Real]:
        return {i.index: far for i, far in zip((self.a, self.b), self._far, strict=True)}


@dataclass
class StraightClosure:
    """One closure as it is."""

    model: Mechanism
    part: Loop | Distance

    def pair(self, move: Moving) -> Pair:
        """The two frames that it ties."""
        return pair_of(self.model, self.part, move)


def each_closure(
    model: Mechanism, *vectors: Sequence[Real]
) -> Iterator[tuple[SymbolicClosure | StraightClosure, list[list[Real]]]]:
    """The closures of a mechanism, all of which tie frames, in turn, with their rows of vectors."""
    if model.rolled and many_loops(model.model):
        kinds = closures_by_kinds(model)
        assert kinds is not None
        memory = [in_memory("rows", x) for x in vectors]
        for kind in kinds:
            for c in kind.each(model):
                yield c, [c.of(x) for x in memory]
        return
    start = 0
    for part in model.model.closures:
        assert isinstance(part, Loop | Distance)
        rows = slice(start, start + part.rows)
        yield StraightClosure(model, part), [list(x[rows]) for x in vectors]
        start = rows.stop


# -- in which order they are eliminated --


class Elimination:
    """In which order closures are eliminated, and what each meets then: closures of all kinds, by
    their numbers among all.
    """

    def __init__(self, kinds: Sequence[Closures]):
        count = sum(len(kind.members) for kind in kinds)
        self.kind_of: Ids = np.zeros(count, dtype=np.intp)
        self.number: Ids = np.zeros(count, dtype=np.intp)
        paths: list[list[int]] = [[] for _ in range(count)]
        for n, kind in enumerate(kinds):
            self.kind_of[kind.members], self.number[kind.members] = n, np.arange(len(kind.members))
            for k, slots in zip(kind.members, kind.slots.tolist(), strict=True):
                paths[k] = slots
        steps = elimination(paths)
        at = {k: n for n, (k, _) in enumerate(steps)}
        self.order = [k for k, _ in steps]
        self.around = [sorted(around, key=at.__getitem__) for _, around in steps]
        self.paths = paths

    @cached_property
    def keys(self) -> list[tuple[int, ...]]:
        """Steps with the same one run through the same code."""
        pairs = zip(self.order, self.around, strict=True)
        return [tuple(int(self.kind_of[x]) for x in (k, *around)) for k, around in pairs]

    @property
    def short(self) -> bool:
        """Whether it is a loop of few kinds of steps, each short."""
        most = max(map(len, self.around), default=0)
        return most <= MOST_NEIGHBOURS and len(set(self.keys)) <= MOST_STEPS
