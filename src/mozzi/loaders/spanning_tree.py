"""From a graph of joints to a tree and the loops that close it.

SDF lets joints connect links in any way. Joints that give a link its only parent span the tree; a
joint between links that are connected already closes a loop; and a joint whose child has a parent,
but whose parent hangs on nothing, is turned round.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from mozzi.errors import ModelError
from mozzi.lie import SE3, Rotation, Vec3
from mozzi.loaders.description import IDENTITY, Edge, LoopData
from mozzi.loaders.source import Notes
from mozzi.model import Fixed, Joint, Prismatic, Revolute, Screw, Spherical

__all__ = ["split", "turned"]

FORCES = "stiffness", "damping", "friction"
HALF_TURN = SE3(Rotation(1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0), Vec3.zero())


def split(
    edges: Iterable[Edge], links: Iterable[str], notes: Notes
) -> tuple[dict[str, Edge], list[LoopData]]:
    """The joints that span a tree, in the order of the file, and those that close loops.

    Loops have no coordinates on which springs, dampers, friction, limits or a mimic could act.
    Where a joint with a force (or a mimic) would close one, another joint of its cycle does, unless
    more joints would be turned round for it; what is lost all the same is told.
    """
    order, names = list(edges), list(links)
    chosen, turns = _tree(order, names)
    if any(_acts(edge) for edge in order if edge.name not in chosen):
        with suppress(ModelError):  # such a tree has joints that cannot be turned round
            another = _tree(sorted(order, key=lambda edge: not _acts(edge)), names)
            if len(another[1].items) <= len(turns.items):
                chosen, turns = another
    notes.items += turns.items
    for edge in order:
        lost = _lost(edge) if edge.name not in chosen else ()
        if lost:
            fact = f"closes a loop, which has no {', '.join(lost)}"
            notes.leave(edge.place, f"joint {edge.name!r}", fact)
    tree = {edge.name: chosen[edge.name] for edge in order if edge.name in chosen}
    return tree, [_loop(edge) for edge in order if edge.name not in chosen]


def _acts(edge: Edge) -> bool:
    """Whether there is something on a joint that a motion meets."""
    return edge.mimic is not None or any(np.any(edge.dynamics.get(word, 0.0)) for word in FORCES)


def _lost(edge: Edge) -> list[str]:
    """What of a joint a loop does not have, by name."""
    found = [word for word in FORCES if np.any(edge.dynamics.get(word, 0.0))]
    if any(np.any(np.isfinite(edge.dynamics.get(word, np.inf))) for word in ("lower", "upper")):
        found.append("limits")
    return found if edge.mimic is None else [*found, "mimic"]


def _tree(order: list[Edge], links: list[str]) -> tuple[dict[str, Edge], Notes]:
    """Joints that span a tree, the first ones if they can, and which of them are turned round."""
    above = {name: name for name in links}

    def root(name: str) -> str:
        while above[name] != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    notes = Notes()
    chosen: dict[str, Edge] = {}
    waiting = order
    while waiting:
        left: list[Edge] = []
        for edge in waiting:
            if root(edge.child) == edge.child and root(edge.parent) != edge.child:
                above[edge.child] = edge.parent
                chosen[edge.name] = edge
            elif root(edge.child) != root(edge.parent):
                left.append(edge)
        if len(left) < len(waiting):
            waiting = left
            continue
        k, edge = next(
            ((k, edge) for k, edge in enumerate(left) if root(edge.parent) == edge.parent),
            (0, left[0]),
        )
        if root(edge.parent) != edge.parent:
            fact = f"both {edge.parent!r} and {edge.child!r} hang on other links"
            raise edge.place.error(
                f"joint {edge.name!r}", fact, "turn joints so that one root is left"
            )
        above[edge.parent] = edge.child
        chosen[edge.name] = turned(edge)
        fact = f"is turned round: {edge.parent!r} hangs on {edge.child!r}"
        notes.add(edge.place, f"joint {edge.name!r}", fact)
        waiting = left[:k] + left[k + 1 :]
    return chosen, notes


def turned(edge: Edge) -> Edge:
    """The joint with parent and child exchanged, and the same coordinate.

    F_p T(q) F_c⁻¹ inverted is F_c T(−q) F_p⁻¹, and T(−q) is T(q) seen after half a turn about x.
    For ball joints there is no such view: the coordinates are those of the parent in the child.
    """
    ends = {"parent": edge.child, "child": edge.parent}
    if edge.joint is None:
        return replace(edge, pose=edge.pose.inverse(), **ends)
    joint: Joint = edge.joint
    if isinstance(joint, (Revolute, Prismatic, Screw)):
        flipped = joint.with_frames(joint.frame_child @ HALF_TURN, joint.frame_parent @ HALF_TURN)
    elif isinstance(joint, Spherical):
        flipped = joint.with_frames(joint.frame_child, joint.frame_parent)
    else:
        kind = type(joint).__name__
        fact = f"a {kind} joint cannot be turned round, and child {edge.child!r} has a parent"
        raise edge.place.error(
            f"joint {edge.name!r}", fact, "exchange parent and child in the file"
        )
    return replace(edge, joint=flipped, **ends)


def _loop(edge: Edge) -> LoopData:
    joint, a, b = Fixed(), edge.pose, IDENTITY
    if edge.joint is not None:
        joint = edge.joint.with_frames(None, None)
        a, b = edge.joint.frame_parent, edge.joint.frame_child
    return LoopData(edge.name, edge.place, edge.parent, edge.child, joint, a, b)
