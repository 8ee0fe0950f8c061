"""Where values come from: names and equation numbers, for generated code.

A value that is put into a container is named after it and after its body, and its origin is the
algorithm and the equation in the comment of the line that made it.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import cast

from mozzi.algorithms.recursion.mechanism import RelativePose
from mozzi.lie.vec import Spatial
from mozzi.program.node import Node

__all__ = ["ALGORITHMS", "leaves", "name_origin", "origin_here"]

#: The names of algorithms, by their code.
ALGORITHMS: dict[CodeType, str] = {}

_EQUATION = re.compile(r"#.*?(\([\d.]+[a-z]?\)|\b(?:K|MD|MK|R|P)\d[\d.]*[a-z]?\b)")
_equations: dict[tuple[CodeType, int], str] = {}
_PARTS = {
    "Twist": ("wx", "wy", "wz", "vx", "vy", "vz"),
    "Wrench": ("mx", "my", "mz", "fx", "fy", "fz"),
}


def name_origin(value: object, letter: str, body: str) -> None:
    """Name the values inside what the caller's caller puts into the container of this letter."""
    scalars = leaves(value)
    parts = _PARTS.get(type(value).__name__) or [str(n) for n in range(len(scalars))]
    origin = origin_here(body, 3)
    for x, part in zip(scalars, parts, strict=False):
        if isinstance(x, Node) and not x.name:
            x.name = f"{letter}_{body}_{part}" if len(scalars) > 1 else f"{letter}_{body}"
            x.origin = origin


def origin_here(body: str, depth: int) -> str:
    """The algorithm, the equation and the body of the line that stands this deep in the stack."""
    line = sys._getframe(depth)  # pyright: ignore[reportPrivateUsage]
    return f"{_equation(line)} {body}".rstrip()


def _equation(line: FrameType) -> str:
    """The algorithm being traced, and the equation number in the comment of its present line."""
    key = (line.f_code, line.f_lineno)
    if key not in _equations:
        number = _EQUATION.search(linecache.getline(line.f_code.co_filename, line.f_lineno))
        _equations[key] = f" {number[1]}" if number else ""
    frame: FrameType | None = line
    while frame is not None and frame.f_code not in ALGORITHMS:  # passes and parts of an algorithm
        frame = frame.f_back
    name = line.f_code.co_name.strip("_") if frame is None else ALGORITHMS[frame.f_code]
    return name + _equations[key]


def leaves(value: object) -> list[object]:
    """The scalars inside a value, in order."""
    if isinstance(value, RelativePose):
        return leaves(value.motion)
    if isinstance(value, (tuple, list)):
        return [x for part in cast("Sequence[object]", value) for x in leaves(part)]
    if isinstance(value, Spatial):
        names = [n for cls in type(value).__mro__ for n in getattr(cls, "__slots__", ())]
        return [x for name in names for x in leaves(getattr(value, name))]
    return [value]
