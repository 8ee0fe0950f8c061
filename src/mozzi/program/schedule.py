"""The order of statements: few values live at once, and calls where nothing is live.

Between two stores or loops, values may be computed in any order that respects their operands. A
run is taken in the order in which it was traced, sweep by sweep; or depth first from its results,
each operand just before it is used, where that takes fewer values from one block of statements to
another: mechanisms with many loops, whose rows are then eliminated while their bodies are at hand.

Within that order sines, cosines, arctangents and exponentials come first, in phases (those that
depend on no other, then the next): they are calls, and a call in the middle of a computation pushes
all live values out of the registers. A statement that ends the lives of operands comes as soon as
it can.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

from mozzi.program.node import Node, Region
from mozzi.program.program import Buffer, Loop, Program

__all__ = ["CALLS", "depth_first", "live_values", "schedule"]

CALLS = ("sin", "cos", "atan2", "exp", "log", "tanh")
NO_PHASE = 1 << 60  # after all phases
BLOCK_SIZE = 400  # statements


def schedule(program: Program) -> Program:
    """The same program with its statements in a better order."""
    kept = {id(x) for y in program.outputs if not isinstance(y.values, Buffer) for x in y.values}
    region = _region(program.region, None, kept)
    return Program(
        program.name, program.inputs, program.outputs, region, program.single, program.notes
    )


def depth_first(program: Program) -> Program:
    """The same straight-line program, each result with what it needs just before it."""
    kept = {id(x) for y in program.outputs if not isinstance(y.values, Buffer) for x in y.values}
    region = Region(None)
    region.table = program.region.table
    region.statements += _depth_first(
        [s for s in program.region.statements if isinstance(s, Node)], kept
    )
    return Program(
        program.name, program.inputs, program.outputs, region, program.single, program.notes
    )


def _region(region: Region, outer: Region | None, kept: set[int]) -> Region:
    ordered = Region(outer)
    ordered.table = region.table
    run: list[Node] = []
    for s in region.statements:
        if isinstance(s, Node):
            run.append(s)
            continue
        ordered.statements += _order(run, kept)
        run = []
        if isinstance(s, Loop):
            branches = [_region(b, ordered, kept) for b in s.branches]
            s = replace(s, branches=branches)
        ordered.statements.append(s)
    ordered.statements += _order(run, kept)
    return ordered


def _order(run: list[Node], kept: set[int]) -> list[Node]:
    """The traced order or the depth-first one, whichever carries less between blocks."""
    if len(run) <= 2:
        return run
    chosen = _blocks([run])
    if len(run) > 2 * BLOCK_SIZE:
        deep = _depth_first(run, kept)
        other = _blocks([deep[k : k + BLOCK_SIZE] for k in range(0, len(deep), BLOCK_SIZE)])
        chosen = min(chosen, other, key=lambda x: _carried(x[0]))
    return _early_ends(*chosen, kept)


def _blocks(parts: Sequence[list[Node]]) -> tuple[list[Node], list[int]]:
    """In every part the phases of calls, then the rest; in blocks that nothing runs ahead of."""
    order: list[Node] = []
    blocks: list[int] = []
    for part in parts:
        phase = _phases(part)
        groups: dict[int, list[Node]] = {} if phase else {NO_PHASE: part}
        for s in part if phase else ():
            groups.setdefault(phase.get(id(s), NO_PHASE), []).append(s)
        for _, group in sorted(groups.items()):
            for k in range(0, len(group), BLOCK_SIZE):
                own = group[k : k + BLOCK_SIZE]
                blocks += [blocks[-1] + 1 if blocks else 0] * len(own)
                order += own
    return order, blocks


def _operands(run: Sequence[Node]) -> list[Sequence[int]]:
    """For every statement the places of its operands among them, ascending."""
    place = {id(s): n for n, s in enumerate(run)}
    found: list[Sequence[int]] = []
    for s in run:
        own = [place[id(x)] for x in s.args if id(x) in place]
        found.append(own if len(own) < 2 else sorted(set(own)))
    return found


def _depth_first(run: Sequence[Node], kept: set[int]) -> list[Node]:
    """Every result with what it needs before it, as far as that is not there yet; of two operands
    the one that was traced later first, so that what a sweep passes by is made when it passes.
    """
    operands = _operands(run)
    used = {m for own in operands for m in own}
    waiting = [True] * len(run)
    order: list[Node] = []
    for root, s in enumerate(run):
        if not waiting[root] or (root in used and id(s) not in kept):
            continue
        waiting[root] = False
        path = [(root, [m for m in operands[root] if waiting[m]])]
        while path:
            n, left = path[-1]
            if not left:
                order.append(run[n])
                path.pop()
                continue
            m = left.pop()
            if waiting[m]:
                waiting[m] = False
                path.append((m, [k for k in operands[m] if waiting[k]]))
    return order


def _carried(order: Sequence[Node]) -> int:
    """How often a block of statements uses a value of an earlier block."""
    block = {id(s): n // BLOCK_SIZE for n, s in enumerate(order) if s.op not in ("const", "input")}
    count = 0
    for now, start in enumerate(range(0, len(order), BLOCK_SIZE)):
        used = {id(x) for s in order[start : start + BLOCK_SIZE] for x in s.args}
        count += sum(block.get(x, now) < now for x in used)
    return count


def _phases(run: Sequence[Node]) -> dict[int, int]:
    """For calls and what they need: how many calls come before them on the longest path."""
    if not any(s.op in CALLS for s in run):
        return {}
    depth: dict[int, int] = {}
    for s in run:
        most = 0
        for x in s.args:
            most = max(most, depth.get(id(x), 0) + (x.op in CALLS))
        depth[id(s)] = most
    phase: dict[int, int] = {}
    for s in reversed(run):
        if s.op in CALLS:
            phase[id(s)] = min(phase.get(id(s), NO_PHASE), depth[id(s)])
        if id(s) in phase:
            for x in s.args:
                phase[id(x)] = min(phase.get(id(x), NO_PHASE), phase[id(s)])
    return phase


def _early_ends(run: Sequence[Node], blocks: Sequence[int], kept: set[int]) -> list[Node]:
    """The order in which statements that end lives come as soon as they can in their block."""
    operands = _operands(run)
    users: list[list[int]] = [[] for _ in run]
    for n, own in enumerate(operands):
        for m in own:
            users[m].append(n)
    waiting = list(map(len, operands))
    left = [len(u) + (id(s) in kept) for u, s in zip(users, run, strict=True)]
    held = [s.op not in ("const", "input") for s in run]  # what takes a register
    ends = [0] * len(run)
    done = [False] * len(run)
    heaps: list[list[tuple[int, int]]] = [[] for _ in range(blocks[-1] + 1)]
    for n in range(len(run)):
        if waiting[n] == 0:
            heaps[blocks[n]].append((0, n))
    order: list[Node] = []
    for heap in heaps:
        heapq.heapify(heap)
        while heap:
            score, n = heapq.heappop(heap)
            if done[n] or -score != ends[n]:
                continue
            done[n] = True
            order.append(run[n])
            for m in users[n]:
                waiting[m] -= 1
                if held[n] and left[n] == 1:
                    ends[m] += 1
                if waiting[m] == 0:
                    heapq.heappush(heaps[blocks[m]], (-ends[m], m))
            for m in operands[n]:
                left[m] -= 1
                if left[m] == 1 and held[m]:
                    for last in (u for u in users[m] if not done[u]):  # one; none where m is kept
                        ends[last] += 1
                        if waiting[last] == 0:
                            heapq.heappush(heaps[blocks[last]], (-ends[last], last))
    return order


def live_values(program: Program) -> int:
    """The most values live at once in the outermost region, constants and inputs aside."""
    last: dict[int, int] = {}
    statements = [s for s in program.region.statements if isinstance(s, Node)]
    for n, s in enumerate(statements):
        for x in s.args:
            last[id(x)] = n
    live: set[int] = set()
    most = 0
    for n, s in enumerate(statements):
        if s.op not in ("const", "input") and id(s) in last:
            live.add(id(s))
        live.difference_update(id(x) for x in s.args if last[id(x)] == n)
        most = max(most, len(live))
    return most
