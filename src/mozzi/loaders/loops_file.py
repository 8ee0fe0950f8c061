"""Loops for formats that know only trees: pairs of frames, in a small YAML file or as a list.

The files of parallel-robot collections look like this; types are 6d (the frames coincide) and 3d
(their origins do). Joints may be replaced by kinds that URDF lacks.

    closed_loop: [[hand_a, hand_b], [foot_a, foot_b]]
    type: [6d, 3d]
    name_mot: [shoulder, elbow]
    joint_name: [ankle]
    joint_type: [SPHERICAL]

Only this much of YAML is read: names, quoted or not, in flat or nested lists.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, cast

from mozzi.errors import ModelError
from mozzi.lie import SE3
from mozzi.loaders.description import IDENTITY, Description, Edge, LoopData
from mozzi.loaders.source import Place, read_bytes
from mozzi.model import Composite, Fixed, Joint, Revolute, Spherical

__all__ = ["Loops", "add_loops"]

Names: TypeAlias = "str | list[Names]"
"""A name, or lists of them."""

Loops = str | os.PathLike[str] | Sequence[tuple[str, str, str]]

KINDS: dict[str, type[Joint]] = {"6d": Fixed, "3d": Spherical}
KEYS = {"closed_loop", "type", "name_mot", "joint_name", "joint_type"}
MAX_BYTES = 2**20
_KEY = re.compile(r"([A-Za-z_]\w*):(?:[ \t]+(.*))?")
_TOKEN = re.compile(
    r"""\s*(?:([\[\],])|"([^"\\]*)"|'([^']*)'|([^\s\[\],'"{}&*!|>%@`#][^\[\],'"{}#]*))"""
)


def add_loops(found: Description, loops: Loops) -> None:
    """Add loops to a description, from a file or from triples (frame, frame, type)."""
    if isinstance(loops, (str, os.PathLike)):
        place = Place(os.fspath(loops))
        table: dict[str, Names] = read_yaml(loops)
    else:
        place = found.place
        for loop in loops:
            if not isinstance(cast(object, loop), (tuple, list)) or len(loop) != 3:
                raise ModelError(
                    f"loops=: {loop!r} is no loop; give a file, or triples "
                    "(frame, frame, '6d' or '3d')"
                )
        table = {
            "closed_loop": [list(loop[:2]) for loop in loops],
            "type": [loop[2] for loop in loops],
        }
    for key in table.keys() - KEYS:
        found.notes.add(place, f"key {key!r}", "is not read")
    _replace_joints(found, table, place)
    pairs = table.get("closed_loop")
    if not isinstance(pairs, list):
        raise place.error("closed_loop", "is missing", "list pairs of frames: [[a, b], [c, d]]")
    kinds = table.get("type", "6d")
    kinds = [kinds] * len(pairs) if isinstance(kinds, str) else kinds
    if len(kinds) != len(pairs):
        fact = f"{len(kinds)} types for {len(pairs)} loops"
        raise place.error("type", fact, "give one type for each loop")
    for pair, kind in zip(pairs, kinds, strict=True):
        frames = [x for x in pair if isinstance(x, str)] if isinstance(pair, list) else []
        if not len(pair) == len(frames) == 2:
            raise place.error("closed_loop", f"{pair!r} is no pair", "give two frames: [a, b]")
        if str(kind).lower() not in KINDS:
            raise place.error("type", f"{kind!r} is unknown", "give 6d or 3d")
        (a, T_a), (b, T_b) = (_frame(found, name, place) for name in frames)
        name = f"{frames[0]} - {frames[1]}"
        joint = KINDS[str(kind).lower()]()
        found.loops.append(LoopData(name, place, a, b, joint, T_a, T_b))


def _frame(found: Description, name: str, place: Place) -> tuple[str, SE3]:
    """A frame: a link, a named frame, or the frame of a joint (that of the link it moves)."""
    if name in found.links:
        return name, IDENTITY
    for frame, link, T in found.frames:
        if frame == name:
            return link, T
    if found.format == "URDF" and name in found.edges:
        return found.edges[name].child, IDENTITY
    raise place.error(f"frame {name!r}", "is not in the robot", "name a link or a joint of it")


def _replace_joints(found: Description, table: dict[str, Names], place: Place) -> None:
    names, kinds = table.get("joint_name", []), table.get("joint_type", [])
    if not isinstance(names, list) or not isinstance(kinds, list) or len(names) != len(kinds):
        raise place.error("joint_name", "does not match joint_type", "give lists of one length")
    for name, kind in zip(names, kinds, strict=True):
        edge = found.edges.get(name) if isinstance(name, str) else None
        if edge is None:
            raise place.error(f"joint {name!r}", "is not in the robot", "name a joint of it")
        T = edge.pose if edge.joint is None else edge.joint.motion(edge.joint.neutral())
        found.edges[edge.name] = _replaced(edge, kind, T, place)


def _replaced(edge: Edge, kind: Names, T: SE3, place: Place) -> Edge:
    word = str(kind).upper()
    if word == "FIXED":
        return replace(edge, joint=None, pose=T, dynamics={}, mimic=None)
    if word == "SPHERICAL":
        return replace(edge, joint=Spherical().between(T), dynamics={}, mimic=None)
    match = re.fullmatch("UJOINT_([XYZ])([XYZ])", word)
    if not match:
        known = "SPHERICAL, FIXED or UJOINT_XY (any two axes)"
        raise place.error(f"joint {edge.name!r}", f"type {kind!r} is unknown", f"give {known}")
    joint = Composite(*(Revolute(axis.lower()) for axis in match.groups())).between(T)
    return replace(edge, joint=joint, dynamics={}, mimic=None)


# -- the needed part of YAML -------------------------------------------------------------------


def read_yaml(path: str | os.PathLike[str]) -> dict[str, Names]:
    """Keys with names or nested lists of names."""
    file = os.fspath(path)
    data = read_bytes(Path(file), "loops file", MAX_BYTES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Place(file).error("file", "is not valid UTF-8", "save it as UTF-8") from None
    table: dict[str, tuple[int, list[str]]] = {}
    key = None
    for i, raw in enumerate(text.splitlines(), 1):
        line = _uncomment(raw).rstrip()
        if not line or line == "---":
            continue
        match = _KEY.fullmatch(line)
        if match:
            key = match.group(1)
            if key in table:
                raise Place(file, i).error(f"key {key!r}", "is given twice", "keep one")
            table[key] = (i, [match.group(2) or ""])
        elif key is not None and (line[0] in " -]"):
            table[key][1].append(line)
        else:
            raise Place(file, i).error(
                f"{line[:40]!r}", "is not 'key: value'", "see docs/loaders.md"
            )
    return {key: _value(lines, Place(file, i)) for key, (i, lines) in table.items()}


def _uncomment(line: str) -> str:
    quote = ""
    for i, c in enumerate(line):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c == "#" and (i == 0 or line[i - 1] in " \t"):
            return line[:i]
    return line


def _value(lines: list[str], place: Place) -> Names:
    text = "\n".join(lines).strip()
    if not text.startswith("- "):
        return _flow(text, place)
    items: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("- "):
            items.append(line.lstrip()[2:])
        else:
            items[-1] += "\n" + line
    return [_flow(item, place) for item in items]


def _flow(text: str, place: Place) -> Names:
    """A name, or a list in brackets."""
    lists: list[list[Names]] = [[]]
    end, wants_item = 0, True
    text = text.rstrip()
    while end < len(text):
        match = _TOKEN.match(text, end)
        if not match:
            raise place.error(f"{text[end : end + 20]!r}", "is not read here", "write plain names")
        end = match.end()
        sign = match.group(1)
        if sign == "[" and wants_item:
            if len(lists) > 3:
                raise place.error("list", "is nested too deep", "give pairs of names")
            lists.append([])
        elif sign == "]" and len(lists) > 1:
            done = lists.pop()
            lists[-1].append(done)
            wants_item = False
        elif sign == "," and not wants_item and len(lists) > 1:
            wants_item = True
        elif sign is None and wants_item:
            word = next(group for group in match.groups()[1:] if group is not None)
            lists[-1].append(word.strip() if match.group(4) else word)
            wants_item = False
        else:
            raise place.error(
                f"{text[:40]!r}", f"{match.group().strip()!r} is misplaced", "correct it"
            )
    if len(lists) != 1 or len(lists[0]) != 1:
        raise place.error(f"{text[:40]!r}", "is not one name or one list", "close the brackets")
    return lists[0][0]
