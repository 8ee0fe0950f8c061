"""Where the buffers of a program are in scratch memory: those that are needed at different times
share their places, so that more of what is needed fits the cache.
"""

from __future__ import annotations

from collections.abc import Collection, Container

from mozzi.program.program import Buffer, Loop, Program, Statement, Store

__all__ = ["shared_memory"]


def shared_memory(
    program: Program, buffers: Collection[Buffer], alone: Container[int]
) -> tuple[dict[int, int], int]:
    """The first slot of every buffer, by its id, and how many slots there are. Those in `alone`,
    which must be zero when the program begins, share with no other.
    """
    needed = dict[int, tuple[int, int]]()  # from which statement to which
    for n, s in enumerate(program.region.statements):
        for key in _touched(s):
            needed[key] = needed.get(key, (n, n))[0], n
    always = -1, len(program.region.statements)
    times = {id(b): always if id(b) in alone else needed[id(b)] for b in buffers}
    slots, size, taken = dict[int, int](), 0, list[tuple[int, int, int]]()
    for buffer in sorted(buffers, key=lambda b: times[id(b)]):
        begins, ends = times[id(buffer)]
        taken = sorted(x for x in taken if x[2] >= begins)  # first slot, behind the last, until
        at = 0
        for first, behind, _ in taken:
            if at + buffer.size <= first:
                break
            at = max(at, behind)
        slots[id(buffer)] = at
        taken.append((at, at + buffer.size, ends))
        size = max(size, at + buffer.size)
    return slots, size


def _touched(s: Statement) -> set[int]:
    """The buffers that a statement loads from or stores to, by id."""
    if isinstance(s, Loop):
        found = {key for branch in s.branches for x in branch.statements for key in _touched(x)}
        return found if s.going is None else found | {id(s.going.buffer)}
    if isinstance(s, Store):
        return {id(s.buffer)}
    return {id(s.address.buffer)} if s.op == "load" else set()
