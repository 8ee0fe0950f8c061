"""Group states of an SRDF file: named configurations of a robot."""

from __future__ import annotations

import os
from pathlib import Path

from mozzi.errors import ModelError
from mozzi.loaders.description import Description
from mozzi.loaders.source import Notes, Place
from mozzi.loaders.xml.strict import Element, read_xml

__all__ = ["add_states", "beside"]


def beside(path: Path, name: str) -> Path | None:
    """The SRDF file of a robot: in its folder or in the folder ``srdf`` of its package, called like
    the file or like the robot.
    """
    folder = Path(os.path.realpath(path)).parent
    for place in (folder, folder / "srdf", folder.parent / "srdf"):
        for stem in dict.fromkeys((path.stem, name)):
            found = place / f"{stem}.srdf"
            if stem and found.is_file():
                return found
    return None


def add_states(found: Description, file: Path, asked: bool) -> None:
    """Add the group states of a file. A file that nobody asked for is noted where it is wrong."""
    notes = found.notes
    try:
        root = read_xml(file, Notes())
        if root.tag != "robot":
            raise root.error("is no SRDF", "give a file with <robot> and <group_state>")
        states = [_state(element, found) for element in root.all("group_state")]
    except ModelError as error:
        if asked:
            raise
        notes.leave(Place(str(file), 0), "SRDF file", f"cannot be read: {error}")
        return
    for name, joints in states:
        title, k = name, 2
        while title in found.states:
            title, k = f"{name}_{k}", k + 1
        found.states[title] = joints


def _state(element: Element, found: Description) -> tuple[str, dict[str, tuple[float, ...]]]:
    joints: dict[str, tuple[float, ...]] = {}
    for joint in element.all("joint"):
        name = joint.string("name")
        values = joint.numbers("value", len(joint.string("value").split()))
        if name in found.edges or name == "root_joint":
            joints[name] = values
        else:
            fact = f"its state {element.string('name')!r} is for another robot"
            found.notes.add(joint.place, f"joint {name!r}", fact)
    return element.string("name"), joints
