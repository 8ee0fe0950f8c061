"""Passes over programs: what nobody uses goes."""

from __future__ import annotations

from dataclasses import replace

from mozzi.program.node import Node, Region
from mozzi.program.places import Flags, Places, places_of
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
        self.places = places_of(program.region) if program.rolled else {}
        self.read = {id(b): Flags(b.size, False) for b in program.buffers()}
        for output in program.outputs:
            if isinstance(output.values, Buffer):
                self.read[id(output.values)].put(slice(None), True)
            else:
                self.live.update(id(x) for x in output.values)
        self.more = True
        while self.more:  # what a loop reads before it is written, the round before
            self.more = False
            self._mark(program.region)

    def _mark(self, region: Region) -> None:
        """From the end on."""
        for s in reversed(region.statements):
            if isinstance(s, Node):
                if id(s) in self.live:
                    self.live.update(map(id, s.args))
                    if s.op == "load":
                        self._reads(s.address.buffer, self.places[id(s)])
            elif isinstance(s, Store):
                if self._is_read(s):
                    self.live.add(id(s.value))
            else:
                if isinstance(s.stop, Node):
                    self.live.add(id(s.stop))
                if s.going is not None:
                    self._reads(s.going.buffer, slice(None))
                for branch in reversed(s.branches):
                    self._mark(branch)

    def _reads(self, buffer: Buffer, places: Places) -> None:
        read = self.read[id(buffer)]
        if not read.all(places):
            read.put(places, True)
            self.more = True

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
