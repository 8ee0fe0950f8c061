"""A program inside another trace, or without its loops.

Loops are unrolled, but for those that fill nothing but memory which counts as a constant where
derivatives are taken (`Buffer.held`): they stay loops, and their memory stays memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from mozzi.program.executed import executed
from mozzi.program.meaning import MEANING, Numbers, Run, interpret
from mozzi.program.node import Node, Region, active, trace_into
from mozzi.program.program import Address, Buffer, Index, Loop, Program, Store, load, loop, store
from mozzi.program.scalar import Real, divide

__all__ = ["Inlined", "inline", "stays", "traced_apart", "unrolled_size"]


def inline(program: Program, arguments: Sequence[Numbers[Real]]) -> list[list[Real]]:
    """The outputs of a program, each as a flat list, at numbers or at scalars of a trace."""
    if active() is None:
        return interpret(program, arguments)
    run = Inlined(arguments)
    run.region(program.region)
    return [run.output(output) for output in program.outputs]


def traced_apart(
    function: Callable[..., tuple[np.ndarray, ...]], arrays: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """function(*arrays), traced as if the scalars in the arrays depended on nothing: what it
    differentiates by them does not see how they came to be. Other values of this trace are seen.
    """
    inner = Region(active())
    known: dict[Node, Real] = {}
    fresh = [np.empty(x.shape, dtype=object) for x in arrays]
    for new, old in zip(fresh, arrays, strict=True):
        for place in np.ndindex(old.shape):
            new[place] = node = Node("input", (), True, inner)
            node.place = (-1, len(known))
            known[node] = old.item(place)
    with trace_into(inner):
        results = function(*fresh)
    run = Inlined((), {x: x for x in _used(inner)} | known)
    run.region(inner)

    def here(x: Real) -> Real:
        return run.values.get(id(x), x) if isinstance(x, Node) else x

    return tuple(
        np.array([here(x) for x in y.ravel().tolist()], dtype=object).reshape(y.shape)
        for y in results
    )


def _used(region: Region) -> Iterator[Node]:
    """The values that statements of a region read."""
    for s in region.statements:
        if isinstance(s, Loop):
            for branch in s.branches:
                yield from _used(branch)
        elif isinstance(s, Store):
            yield s.value
        else:
            yield from s.args


def stays(s: Loop) -> bool:
    """Whether a loop fills nothing but memory that counts as a constant, and reads at places that
    vary from nothing but that and tables.
    """
    return s.follow is None and isinstance(s.stop, int) and all(map(_holds, s.branches))


def unrolled_size(program: Program) -> int:
    """How many statements a program has without its loops, but for those that stay."""
    others = Region()
    others.statements = [
        s for s in program.region.statements if not (isinstance(s, Loop) and stays(s))
    ]
    return executed(others).total()


def _holds(region: Region) -> bool:
    for s in region.statements:
        if isinstance(s, Loop):
            good = stays(s)
        elif isinstance(s, Store):
            good = s.buffer.held
        else:
            at = s.address if s.op == "load" else None
            good = at is None or at.at is None or at.buffer.held or at.buffer.kind == "table"
        if not good:
            return False
    return True


class Inlined(Run[Real]):
    """A run on traced scalars, which keeps what is known of divisors.

    known: values that the program has from elsewhere, and what they are here.
    """

    def __init__(
        self, arguments: Sequence[Numbers[Real]], known: Mapping[Node, Real] | None = None
    ):
        super().__init__(arguments, MEANING)
        self.values |= {id(node): x for node, x in (known or {}).items()}
        self.kept: dict[int, Buffer] = {}
        self.variables: dict[int, Index] = {}  # of loops that stay

    def value(self, s: Node) -> Real:
        if s.op == "div":
            a, b = (self.values[id(x)] for x in s.args)
            return divide(a, b, nonzero=s.finite)
        if s.op == "load":
            buffer, index, stride, offset = s.address
            if buffer.held or self._varies(index):
                return load(self._memory(buffer), *self._place(index, stride, offset))
        return super().value(s)

    def region(self, region: Region) -> None:
        for s in region.statements:
            if isinstance(s, Node):
                self.values[id(s)] = self.value(s)
            elif isinstance(s, Loop):
                self._again(s) if stays(s) else self.loop(s)
            elif s.buffer.held:
                at = self._place(s.index, s.stride, s.offset)
                store(self._memory(s.buffer), *at, self.values[id(s.value)])
            else:
                where = self.index(s.index) * s.stride + s.offset
                self.put(s.buffer, where, self.values[id(s.value)])

    def _again(self, s: Loop) -> None:
        """The same loop, in this trace."""
        assert isinstance(s.stop, int)
        start = s.start if isinstance(s.start, int) else self._index(s.start)
        going = s.going
        if going is not None:
            at = self._place(going.at, going.stride, going.offset)
            going = Address(self._memory(going.buffer), *at)
        for k, variable in loop(
            start, s.stop, s.step, which=s.which, branches=len(s.branches), name=s.variable.name,
            going=going,
        ):  # fmt: skip
            self.variables[id(s.variable)] = variable
            self.region(s.branches[k])
        del self.variables[id(s.variable)]

    def _memory(self, buffer: Buffer) -> Buffer:
        """Where the memory of the program is in this trace; tables stay what they are."""
        if buffer.kind == "table":
            return buffer
        new = Buffer(buffer.name, buffer.size, buffer.kind, held=buffer.held)
        return self.kept.setdefault(id(buffer), new)

    def _place(
        self, index: Index | None, stride: int, offset: int
    ) -> tuple[Index | None, int, int]:
        """Where an address is in this trace: index, stride and offset."""
        if self._varies(index):
            return self._index(index), stride, offset
        return None, 0, self.index(index) * stride + offset

    def _varies(self, index: Index | None) -> bool:
        """Whether an index depends on the variables of loops that stay."""
        if index is None:
            return False
        if index.terms:
            return any(self._varies(term) for term, _ in index.terms)
        return self._varies(index.at) if index.table is not None else id(index) in self.variables

    def _index(self, index: Index | None) -> Index:
        """The same index, by the variables of this trace."""
        assert index is not None
        if index.table is not None:
            return Index(index.table, self._index(index.at), name=index.name)
        if index.terms:
            return Index(terms=tuple((self._index(t), n) for t, n in index.terms), name=index.name)
        return self.variables[id(index)]
