# pyright: reportMatchNotExhaustive=false
"""URDF, read strictly.

Existing readers accept broken files silently: words after a number, two parents, missing masses.
This one refuses what is wrong with file, line and remedy, and notes what is odd.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from mozzi.errors import ModelError
from mozzi.loaders.description import Description, Edge, Link
from mozzi.loaders.geometry import ShapeData, mesh_of, note_fault, surface_of
from mozzi.loaders.source import Notes, Roots
from mozzi.loaders.urdf.joint_types import origin_of, read_joint
from mozzi.loaders.xml.strict import Element
from mozzi.loaders.xml.words import URDF, check_words
from mozzi.model.shapes import Box, Capsule, Cylinder, Geometry, Role, Sphere, as_color
from mozzi.model.surfaces import Surface

__all__ = ["read_urdf"]

WORLD = "world"
Item = TypeVar("Item", Link, Edge)
ZERO = (0.0, 0.0, 0.0)


def read_urdf(
    root: Element, notes: Notes, roots: Roots, *, strict: bool = True
) -> Description:
    """The description in a ``<robot>`` element."""
    _refuse_xacro(root)
    check_words(root, URDF, "URDF", notes, strict=strict)
    name = root.attributes.get("name", "")
    if not name.strip():
        notes.add(root.place, "<robot>", "has no name")
    found = Description(name, root.place, "URDF", notes=notes, by_name=True)
    for element in root:
        if element.tag == "link":
            link = _link(element, notes)
            _once("link", link, found.links)
        elif element.tag == "joint":
            edge = read_joint(element, notes)
            _once("joint", edge, found.edges)
    if not found.links:
        raise root.error("has no links", "give at least one <link>", thing=f"robot {name!r}")
    _world(found)
    _shapes(root, roots, found)
    return found


def _refuse_xacro(root: Element) -> None:
    stack = [root]
    while stack:
        element = stack.pop()
        if element.tag.startswith("xacro:"):
            raise element.error(
                "is a xacro instruction that nobody expanded",
                "expand the file first: load(path, xacro=True), or xacro robot.xacro > robot.urdf",
                thing=f"<{element.tag}>",
            )
        stack.extend(element.children)


def _once(kind: str, item: Item, items: dict[str, Item]) -> None:
    first = items.setdefault(item.name, item)
    if first is not item:
        fact = f"is declared twice, first in line {first.place.line}"
        raise item.place.error(f"{kind} {item.name!r}", fact, "rename or remove one of them")


def _world(found: Description) -> None:
    """A parent ``world`` that nobody declares is the world itself; other undeclared links are
    errors.
    """
    for edge in found.edges.values():
        for role, link in (("parent", edge.parent), ("child", edge.child)):
            if link in found.links:
                continue
            if role == "parent" and link == WORLD:
                fact = f"is not declared and is taken for the world (parent of joint {edge.name!r})"
                found.notes.add(edge.place, f"link {WORLD!r}", fact)
                found.links[WORLD] = Link(WORLD, edge.place)
                found.world = WORLD
                continue
            raise edge.place.error(
                f"joint {edge.name!r}",
                f"its {role} link {link!r} is not declared",
                f"add <link name={link!r}/> or correct the name",
            )


# -- links -------------------------------------------------------------------------------------


def _link(element: Element, notes: Notes) -> Link:
    name = element.string("name")
    inertial = element.find("inertial")
    if inertial is None:
        return Link(name, element.place)
    thing = f"link {name!r}"
    mass = inertial.need("mass").number("value")
    if mass < 0.0:
        fact = f"mass {mass:g} is negative"
        raise inertial.need("mass").error(fact, "give a mass of 0 or more", thing=thing)
    tensor = inertial.need("inertia")
    J = [tensor.number(word) for word in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")]
    return Link.of(name, inertial.place, mass, J, origin_of(inertial))


# -- shapes ------------------------------------------------------------------------------------


ROLES: tuple[Role, ...] = ("visual", "collision")
Materials = dict[str, tuple[float, ...] | None]


def _shapes(root: Element, roots: Roots, found: Description) -> None:
    """The visual and collision shapes of all links; one that is wrong is left out with a note."""
    materials: Materials = {}
    for material in root.all("material"):
        try:
            materials[material.attributes.get("name", "")] = _color(material)
        except ModelError as error:
            note_fault(found.notes, material.place, material.thing, error)
    worn = {x.attributes.get("reference", ""): x for x in root.all("gazebo")
            if any(x.all(word) for word in ("mu1", "mu2", "kp", "kd"))}  # fmt: skip
    for link in root.all("link"):
        name = link.string("name")
        for role in ROLES:
            for element in link.all(role):
                try:
                    shape = _shape(element, name, role, materials, roots)
                    if role == "collision":
                        shape = replace(shape, surface=_surface(element, name, worn, found.notes))
                    found.shapes.append(shape)
                except ModelError as error:
                    note_fault(found.notes, element.place, f"a {role} of link {name!r}", error)


def _color(material: Element) -> tuple[float, ...] | None:
    color = material.find("color")
    return None if color is None else as_color(color.numbers("rgba", 4), material.thing)


def _shape(
    element: Element, link: str, role: Role, materials: Materials, roots: Roots
) -> ShapeData:
    geometry = element.need("geometry")
    if len(geometry.children) != 1:
        fact = f"has {len(geometry.children)} shapes"
        raise geometry.error(fact, "give one", thing=f"<geometry> of link {link!r}")
    material = element.find("material")
    color = None
    if material is not None:
        color = _color(material) or materials.get(material.attributes.get("name", ""))
    name = element.attributes.get("name", "")
    made = _geometry(geometry.children[0], link, roots)
    return ShapeData(link, element.place, made, origin_of(element), role, color, name)


def _surface(
    element: Element, link: str, worn: dict[str, Element], notes: Notes
) -> Surface | None:
    """Of a collision: what it says itself (mu, kp, kd), or what Gazebo is told of its link."""
    own, told = element.find("contact_coefficients"), worn.get(link)
    try:
        if own is not None:
            x = {n: own.number(n) if n in own.attributes else None for n in ("mu", "kp", "kd")}
            return surface_of(x["mu"], x["mu"], 0.0, x["kp"], x["kd"], own)
        if told is not None:
            mu1, mu2, kp, kd = (_told(told.find(n)) for n in ("mu1", "mu2", "kp", "kd"))
            return surface_of(mu1, mu2, 0.0, kp, kd, told)
    except ModelError as error:
        note_fault(notes, element.place, f"the surface of link {link!r}", error)
    return None


def _told(element: Element | None) -> float | None:
    """What Gazebo is told: ``<kp>1e6</kp>``, or as older files write, ``<kp value="1e6"/>``."""
    if element is None:
        return None
    return element.number("value") if "value" in element.attributes else element.content(1)[0]


def _geometry(shape: Element, link: str, roots: Roots) -> Geometry:
    match shape.tag:
        case "box":
            x, y, z = shape.numbers("size", 3)
            return Box((x, y, z))
        case "sphere":
            return Sphere(shape.number("radius"))
        case "cylinder":
            return Cylinder(shape.number("radius"), shape.number("length"))
        case "capsule":
            return Capsule(shape.number("radius"), shape.number("length"))
        case "mesh":
            scale = shape.numbers("scale", 3) if "scale" in shape.attributes else (1.0, 1.0, 1.0)
            return mesh_of(shape.string("filename"), scale, shape.place, roots)
    known = "box, cylinder, capsule, sphere or mesh"
    raise shape.error("is no shape", f"give a {known}", thing=f"<{shape.tag}> of link {link!r}")
