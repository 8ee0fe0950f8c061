"""Shapes as files give them: fixed to links, with meshes that are looked for and not opened."""

from __future__ import annotations

from dataclasses import dataclass

from mozzi.errors import ModelError
from mozzi.lie import SE3
from mozzi.loaders.source import Notes, Place, Roots
from mozzi.model.shapes import Geometry, Mesh, Role

__all__ = ["ContactData", "ShapeData", "mesh_of", "names_of", "note_fault"]


@dataclass(frozen=True, slots=True)
class ShapeData:
    """A shape fixed to a link; the name is that of the file, or nothing."""

    link: str
    place: Place
    geometry: Geometry
    pose: SE3
    role: Role
    color: tuple[float, ...] | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class ContactData:
    """Two shapes of a description, by their numbers, that may touch."""

    place: Place
    a: int
    b: int
    friction: tuple[float, float]


def mesh_of(uri: str, scale: tuple[float, ...], place: Place, roots: Roots) -> Mesh:
    """The mesh that a file names: where it is below the roots, or why it cannot be read."""
    try:
        path, fault = str(roots.resolve(uri, place)), ""
    except ModelError as error:
        path, fault = uri or "?", str(error)
    x, y, z = scale
    return Mesh(path, (x, y, z), uri, fault)


def note_fault(notes: Notes, place: Place, thing: str, error: ModelError) -> None:
    """A shape that cannot be read is left out: no motion depends on it."""
    fact = str(error).partition(";")[0]
    notes.leave(place, thing, f"cannot be read and is left out: {fact}")


def names_of(shapes: list[ShapeData]) -> list[str]:
    """A name of its own for each: that of the file, where no other has it; with the link's, where
    others have; with a number, where that is not enough.
    """
    given = [shape.name for shape in shapes]
    taken: set[str] = set()
    names: list[str] = []
    for shape in shapes:
        name = shape.name
        if not name or given.count(name) > 1:
            name = f"{shape.link}_{name or shape.role}"
        stem, k = name, 2
        while name in taken:
            name, k = f"{stem}_{k}", k + 1
        taken.add(name)
        names.append(name)
    return names
