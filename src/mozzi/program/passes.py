"""Passes over programs: what nobody uses goes."""

from __future__ import annotations

from dataclasses import replace

from mozzi.program.node import Node, Region
from mozzi.program.program import Buffer, Program, Store

__all__ = ["prune"]


def prune(program: Program) -> Program:
    """The same program without values nobody uses, and without stores nobody reads."""
    live: set[int] = set()
    read: set[int] = set()
    for output in program.outputs:
        if isinstance(output.values, Buffer):
            read.add(id(output.values))
        else:
            live.update(id(x) for x in output.values)
    late = True
    while late:  # what a loop reads before it is written, the round before
        passed: set[int] = set()
        _mark(program.region, live, read, passed)
        late = not passed.isdisjoint(read)
    region = _keep(program.region, None, live, read)
    return Program(
        program.name, program.inputs, program.outputs, region, program.single, program.notes
    )


def _mark(region: Region, live: set[int], read: set[int], passed: set[int]) -> None:
    """From the end on; passed: buffers that nobody was seen to read when a store was met."""
    for s in reversed(region.statements):
        if isinstance(s, Node):
            if id(s) in live:
                live.update(map(id, s.args))
                if s.op == "load":
                    read.add(id(s.address.buffer))
        elif isinstance(s, Store):
            if id(s.buffer) in read:
                live.add(id(s.value))
            else:
                passed.add(id(s.buffer))
        else:
            if isinstance(s.stop, Node):
                live.add(id(s.stop))
            if s.going is not None:
                read.add(id(s.going.buffer))
            for branch in reversed(s.branches):
                _mark(branch, live, read, passed)


def _keep(region: Region, outer: Region | None, live: set[int], read: set[int]) -> Region:
    kept = Region(outer)
    kept.table = region.table
    for s in region.statements:
        if isinstance(s, Node):
            if id(s) in live:
                kept.statements.append(s)
        elif isinstance(s, Store):
            if id(s.buffer) in read:
                kept.statements.append(s)
        else:
            branches = [_keep(b, kept, live, read) for b in s.branches]
            if any(b.statements for b in branches):
                kept.statements.append(replace(s, branches=branches))
    return kept
