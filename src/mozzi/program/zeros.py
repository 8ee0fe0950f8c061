"""Zeros that memory always holds: a rolled program without what they make vanish.

Straight-line code of a planar mechanism has no operations out of the plane, since zeros fold while
they are traced. In a rolled program what crosses an iteration goes through memory, where a zero is
a number like any other. Here all numbers in scratch memory are taken for zero, as they are before
anything is stored; then those to which something else is stored are not, nor what follows from
that, until nothing changes. What is loaded from the others is zero, and folds. Zeros that are
stored where nothing has been stored yet are there already.
"""

from __future__ import annotations

from dataclasses import replace

from mozzi.program.node import Node, Region, constant, operation, trace_into
from mozzi.program.places import Flags, places_of
from mozzi.program.program import Output, Program
from mozzi.program.scalar import Real
from mozzi.program.statements import Buffer, Loop, Store

__all__ = ["fold_zeros"]

#: Operations that make zero of zeros.
KEEPING = ("add", "sub", "neg", "sqrt", "sin", "tanh", "min", "max")


def fold_zeros(program: Program) -> Program:
    """The same program, in which loads of what is always zero are zero."""
    zero, there = _zero_loads(program), _first_zeros(program)
    if not zero and not there:
        return program
    made = _Folded(zero, there)
    region = made.region(program.region, None)
    with trace_into(region):
        outputs = tuple(made.output(x) for x in program.outputs)
    return replace(program, outputs=outputs, region=region)


def _zero_loads(program: Program) -> set[int]:
    """The loads that are zero whenever they are met."""
    if not program.rolled:
        return set()
    places = places_of(program.region)
    statements = [s for s, _ in program.walk() if not isinstance(s, Loop)]
    zero = {id(b): Flags(b.size, True) for b in program.buffers() if b.kind == "scratch"}
    while True:
        vanish, loads, changed = set[int](), set[int](), False
        for s in statements:
            if isinstance(s, Store):
                if id(s.value) not in vanish and zero[id(s.buffer)].any(places[id(s)]):
                    zero[id(s.buffer)].put(places[id(s)], False)
                    changed = True
            elif s.op == "load":
                flags = zero.get(id(s.address.buffer))
                if flags is not None and flags.all(places[id(s)]):
                    vanish.add(id(s))
                    loads.add(id(s))
            elif _vanishes(s, vanish):
                vanish.add(id(s))
        if not changed:
            return loads
        left = vanish  # less and less vanishes: what does not, or is stored by then, stays so
        statements = [s for s in statements if id(s.value if isinstance(s, Store) else s) in left]


def _first_zeros(program: Program) -> set[int]:
    """Stores of zeros to memory to which nothing has been stored before."""
    found, used = set[int](), set[int]()
    for s in program.region.statements:
        stores = [s] if isinstance(s, Store) else _stores(s) if isinstance(s, Loop) else []
        used |= {id(x.buffer) for x in stores if not _is_zero(x)}
        found |= {id(x) for x in stores if id(x.buffer) not in used}
    return found


def _is_zero(s: Store) -> bool:
    return s.value.op == "const" and s.value.value == 0.0


def _stores(loop: Loop) -> list[Store]:
    found: list[Store] = []
    for branch in loop.branches:
        for s in branch.statements:
            found += [s] if isinstance(s, Store) else _stores(s) if isinstance(s, Loop) else []
    return found


def _vanishes(s: Node, zero: set[int]) -> bool:
    """Whether a value is zero where these are."""
    if s.op == "const":
        return s.value == 0.0
    if s.op == "mul":
        a, b = s.args
        return (id(a) in zero and b.finite) or (id(b) in zero and a.finite)
    if s.op == "div":
        return id(s.args[0]) in zero and s.finite
    if s.op == "select":
        return all(id(x) in zero for x in s.args[1:])
    return s.op in KEEPING and all(id(x) in zero for x in s.args)


class _Folded:
    """A program made anew where these loads are zero, and what follows from that, and without
    stores of zeros that are there; the rest stays.

    Values that stay are found by those that are made, and these by them, from where they are on.
    """

    def __init__(self, zero: set[int], there: set[int]):
        self.zero, self.there = zero, there
        self.made: dict[int, Real] = {}  # what is another value now
        self.any = False  # whether some of these are operations, which others may be equal to

    def region(self, old: Region, outer: Region | None) -> Region:
        new, made = Region(outer), self.made
        keys = {id(node): key for key, node in old.table.items()}
        statements, table = new.statements, new.table
        with trace_into(new):
            for s in old.statements:
                if isinstance(s, Node):
                    if id(s) in self.zero:
                        made[id(s)] = 0.0
                    elif any(id(x) in made for x in s.args):
                        made[id(s)] = self._value(s)
                    else:
                        key = keys.get(id(s))
                        if key is not None:
                            known = new.find(key) if self.any else None
                            if known is not None:
                                made[id(s)] = known
                                continue
                            table[key] = s
                        statements.append(s)
                elif isinstance(s, Store):
                    if id(s) in self.there:
                        continue
                    value = made.get(id(s.value))
                    new.statements.append(s if value is None else replace(s, value=constant(value)))
                else:
                    stop = s.stop if isinstance(s.stop, int) else constant(self._now(s.stop))
                    branches = [self.region(branch, new) for branch in s.branches]
                    new.statements.append(replace(s, stop=stop, branches=branches))
        return new

    def _now(self, s: Node) -> Real:
        return self.made.get(id(s), s)

    def _value(self, s: Node) -> Real:
        known = map(self._now, s.args)
        new = operation(s.op, *known, nonzero=s.op == "div" and s.finite)
        self.any = True
        if isinstance(new, Node) and not new.name:
            new.name, new.origin = s.name, s.origin
        return new

    def output(self, output: Output) -> Output:
        if isinstance(output.values, Buffer):
            return output
        values = tuple(constant(self._now(x)) for x in output.values)
        return replace(output, values=values)
