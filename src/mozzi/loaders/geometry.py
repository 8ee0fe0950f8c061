"""Shapes as files give them: fixed to links, with meshes that are looked for and not opened."""

from __future__ import annotations

from dataclasses import dataclass

from mozzi.errors import ModelError
from mozzi.lie import SE3
from mozzi.loaders.source import Notes, Place, Roots
from mozzi.loaders.xml.strict import Element
from mozzi.model.shapes import Geometry, Mesh, Role
from mozzi.model.surfaces import Surface

__all__ = ["ContactData", "ShapeData", "mesh_of", "names_of", "note_fault", "surface_of"]


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
    surface: Surface | None = None


@dataclass(frozen=True, slots=True)
class ContactData:
    """Two shapes of a description, by their numbers, that may touch."""

    place: Place
    a: int
    b: int
    friction: tuple[float, float]


def surface_of(
    mu: float | None, mu2: float | None, restitution: float, kp: float | None, kd: float | None,
    element: Element,
) -> Surface | None:  # fmt: skip
    """A surface of what a file says, checked; None where it says nothing that counts."""
    for name, x in (("mu", mu), ("mu2", mu2), ("kp", kp), ("kd", kd)):
        if x is not None and x < 0.0:
            raise element.error(f"{name} {x:g} is negative", "give 0 or more")
    if not 0.0 <= restitution <= 1.0:
        raise element.error(f"restitution {restitution:g}", "give a number from 0 to 1")
    one, two = (mu2 if mu is None else mu), (mu if mu2 is None else mu2)
    friction = None if one is None or two is None else (one, two)
    if friction is not None and min(friction) == 0.0:
        friction = (0.0, 0.0)
    k = kp if kp else None
    if friction is None and restitution == 0.0 and k is None:
        return None
    return Surface(friction, restitution, k, None if k is None else kd or 0.0)


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
