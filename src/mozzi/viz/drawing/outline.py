"""Mechanisms as indented lists: who hangs on whom, and by what joint."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mozzi.model import Joint

__all__ = ["limits", "outline", "type_of"]


def outline(parents: Sequence[int]) -> Iterator[tuple[str, int]]:
    """(indentation, body) of all bodies, depth first; the world is −1."""
    children: dict[int, list[int]] = {}
    for i, parent in enumerate(parents):
        children.setdefault(parent, []).append(i)
    stack = [("", "", -1)]
    while stack:
        first, rest, i = stack.pop()
        if i >= 0:
            yield first, i
        below = children.get(i, [])
        if len(below) == 1:
            stack.append((rest, rest, below[0]))
        else:
            branches = [(rest + "├ ", rest + "│ ", k) for k in below[:-1]]
            branches += [(rest + "└ ", rest + "  ", k) for k in below[-1:]]
            stack += reversed(branches)


def type_of(joint: Joint) -> str:
    return type(joint).__name__.lower()


def limits(values: Sequence[float]) -> str:
    """Limits in short; nothing where no coordinate has one."""
    if not any(map(math.isfinite, values)):
        return ""
    return " ".join(f"{x:.4g}" if math.isfinite(x) else "—" for x in values)
