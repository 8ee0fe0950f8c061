"""Passes over programs: what nobody uses goes."""

from __future__ import annotations

from dataclasses import replace

from mozzi.program.node import Node, Region
from mozzi.program.places import Flags, places_of
from mozzi.program.program import Buffer, Program, Store

__all__ = ["prune"]


def prune(program: Program) -> Program:
    """The same program without values nobody uses, and without stores nobody reads."""
    used = _Used(program)
    return replace(program, region=used.kept(program.region, None))


class _Used:
    """What the results of a program are made of: values, and places of memory."""

    def __init__(self, program: Program):
        self.live: set[int] = set()
        self.places = places_of(program.region)
        self.read = {id(b): Flags(b.size, False) for b in program.buffers()}
        for output in program.outputs:
            if isinstance(output.values, Buffer):
                self.read[id(output.values)].put(slice(None), True)
            else:
                self.live.update(id(x) for x in output.values)
        self.left: list[Store] = []
        while True:
            self.left.clear()
            self._mark(program.region)
            if not any(map(self._is_read, self.left)):  # by a loop, the round before
                break

    def _mark(self, region: Region) -> None:
        """From the end on."""
        for s in reversed(region.statements):
            if isinstance(s, Node):
                if id(s) in self.live:
                    self.live.update(map(id, s.args))
                    if s.op == "load":
                        self.read[id(s.address.buffer)].put(self.places[id(s)], True)
            elif isinstance(s, Store):
                if self._is_read(s):
                    self.live.add(id(s.value))
                else:
                    self.left.append(s)
            else:
                if isinstance(s.stop, Node):
                    self.live.add(id(s.stop))
                if s.going is not None:
                    self.read[id(s.going.buffer)].put(slice(None), True)
                for branch in reversed(s.branches):
                    self._mark(branch)

    def _is_read(self, s: Store) -> bool:
        return self.read[id(s.buffer)].any(self.places[id(s)])

    def kept(self, region: Region, outer: Region | None) -> Region:
        """A region without the rest."""
        kept = Region(outer)
        kept.table = region.table
        for s in region.statements:
            if isinstance(s, Node):
                if id(s) in self.live:
                    kept.statements.append(s)
            elif isinstance(s, Store):
                if self._is_read(s):
                    kept.statements.append(s)
            else:
                branches = [self.kept(b, kept) for b in s.branches]
                if any(b.statements for b in branches):
                    kept.statements.append(replace(s, branches=branches))
        return kept
