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
    while True:
        before = len(live), len(read)
        _mark(program.region, live, read)
        if before == (len(live), len(read)) or not program.rolled:
            break  # without loops nothing is read later than it is written
    region = _keep(program.region, None, live, read)
    return Program(
        program.name, program.inputs, program.outputs, region, program.single, program.notes
    )


def _mark(region: Region, live: set[int], read: set[int]) -> None:
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
            if isinstance(s.stop, Node):
                live.add(id(s.stop))
            if s.going is not None:
                read.add(id(s.going.buffer))
            for branch in reversed(s.branches):
                _mark(branch, live, read)


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
