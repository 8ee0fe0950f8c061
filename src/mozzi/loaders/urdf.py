"""URDF, read strictly.

Existing readers accept broken files silently: words after a number, two parents, missing masses.
This one refuses what is wrong with file, line and remedy, and notes what is odd.
"""

from __future__ import annotations

import math

from mozzi.errors import ModelError
from mozzi.lie import SE3, Inertia, Sym3
from mozzi.loaders.description import (
    Description,
    Edge,
    Link,
    Mimic,
    pose_of_quaternion,
    pose_of_rpy,
)  # fmt: skip
from mozzi.loaders.geometry import ShapeData, mesh_of, note_fault
from mozzi.loaders.principal_moments import principal_moments
from mozzi.loaders.source import Notes, Roots
from mozzi.loaders.words import URDF, check_words
from mozzi.loaders.xml import Element
from mozzi.model import Free, Joint, Planar, Prismatic, Revolute
from mozzi.model.shapes import Box, Capsule, Cylinder, Geometry, Role, Sphere, as_color

__all__ = ["read_urdf"]

WORLD = "world"
ZERO = (0.0, 0.0, 0.0)

MOVING = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "planar": Planar,
    "floating": Free,
}
KINDS = ("fixed", *MOVING)



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
            edge = _joint(element, notes)
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


def _once(kind: str, item: Link | Edge, items: dict) -> None:
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
    T = _origin(inertial)
    inertia = T.push(Inertia(mass, ZERO, Sym3(*J)))
    if not all(map(math.isfinite, inertia.parameters())):
        raise inertial.error("overflows", "give numbers of a mechanism", thing=thing)
    return Link(name, inertial.place, inertia, principal_moments(J))


def _origin(element: Element) -> SE3:
    origin = element.find("origin")
    if origin is None:
        return SE3.identity()
    xyz = origin.numbers("xyz", 3) if "xyz" in origin.attributes else ZERO
    if "quat_xyzw" in origin.attributes:
        if "rpy" in origin.attributes:
            raise origin.error("has both rpy and quat_xyzw", "keep one of them")
        turn = origin.numbers("quat_xyzw", 4)
        if not any(turn):
            raise origin.error("the quaternion (0, 0, 0, 0) is no rotation", "give a unit one")
        return pose_of_quaternion(xyz, turn)
    rpy = origin.numbers("rpy", 3) if "rpy" in origin.attributes else ZERO
    return pose_of_rpy(xyz, rpy)


# -- joints ------------------------------------------------------------------------------------


def _joint(element: Element, notes: Notes) -> Edge:
    name = element.string("name")
    if "type" not in element.attributes:
        raise element.error("has no type", f"give one of {', '.join(KINDS)}")
    kind = element.string("type")
    if kind not in KINDS:
        raise element.error(f"type {kind!r} is unknown", f"give one of {', '.join(KINDS)}")
    parent = element.need("parent").string("link")
    child = element.need("child").string("link")
    if parent == child:
        raise element.error(f"link {parent!r} is its own parent", "connect two different links")
    T = _origin(element)
    mimic = _mimic(element, kind, notes)
    if kind == "fixed":
        return Edge(name, element.place, parent, child, None, T)
    joint = _moving(element, kind, notes).between(T)
    return Edge(
        name,
        element.place,
        parent,
        child,
        joint,
        dynamics=_dynamics(element, kind, notes),
        mimic=mimic,
    )


def _moving(element: Element, kind: str, notes: Notes) -> Joint:
    if kind == "floating":
        return Free()
    axis = element.find("axis")
    direction: tuple[float, ...] = (1.0, 0.0, 0.0)
    if axis is None:
        notes.add(element.place, element.thing, "has no <axis>; it is (1, 0, 0)")
    else:
        direction = axis.numbers("xyz", 3)
        length = math.hypot(*direction)
        if length == 0.0:
            fact = "axis (0, 0, 0) has no direction"
            raise axis.error(fact, "give a non-zero axis", thing=element.thing)
        if abs(length - 1.0) > 1e-6:
            notes.add(axis.place, element.thing, f"axis of length {length:.6g} is normalised")
    return MOVING[kind](axis=direction)


def _mimic(element: Element, kind: str, notes: Notes) -> Mimic | None:
    mimic = element.find("mimic")
    if mimic is None:
        return None
    if kind == "fixed":
        notes.add(mimic.place, element.thing, "is fixed; its <mimic> is not read")
        return None
    if kind not in ("revolute", "continuous", "prismatic"):
        fact = f"a {kind} joint cannot mimic another"
        raise mimic.error(fact, "remove the <mimic>", thing=element.thing)
    factor = mimic.number("multiplier") if "multiplier" in mimic.attributes else 1.0
    offset = mimic.number("offset") if "offset" in mimic.attributes else 0.0
    return Mimic(mimic.string("joint"), factor, offset, mimic.place)


def _dynamics(element: Element, kind: str, notes: Notes) -> dict[str, float]:
    """Limits, damping and friction, as the model wants them."""
    found: dict[str, float] = {}
    dynamics = element.find("dynamics")
    for word in ("damping", "friction"):
        if dynamics is not None and word in dynamics.attributes:
            found[word] = _not_negative(dynamics, word, element)
    limit = element.find("limit")
    if limit is None:
        if kind in ("revolute", "prismatic"):
            notes.add(
                element.place, element.thing, f"is {kind} and has no <limit>; it is unlimited"
            )
        return found
    for word in ("effort", "velocity"):
        if word in limit.attributes:
            found[word] = _not_negative(limit, word, element)
    given = {word: limit.number(word) for word in ("lower", "upper") if word in limit.attributes}
    if kind not in ("revolute", "prismatic"):
        if given and kind == "continuous":
            fact = "is continuous; its lower and upper limits are not read"
            notes.add(limit.place, element.thing, fact)
        return found
    if not given:
        fact = "its <limit> has neither lower nor upper; it is unlimited"
        notes.add(limit.place, element.thing, fact)
        return found
    lower, upper = given.get("lower", 0.0), given.get("upper", 0.0)
    if lower > upper:
        fact = f"limits reversed, lower {lower:g} > upper {upper:g}"
        raise limit.error(fact, "swap them", thing=element.thing)
    return found | {"lower": lower, "upper": upper}


def _not_negative(element: Element, word: str, joint: Element) -> float:
    value = element.number(word)
    if value < 0.0:
        raise element.error(f"{word} {value:g} is negative", "give 0 or more", thing=joint.thing)
    return value


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
    for link in root.all("link"):
        name = link.string("name")
        for role in ROLES:
            for element in link.all(role):
                try:
                    found.shapes.append(_shape(element, name, role, materials, roots))
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
    return ShapeData(link, element.place, made, _origin(element), role, color, name)


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
