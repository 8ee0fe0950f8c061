# pyright: reportConstantRedefinition=false, reportMatchNotExhaustive=false
"""SDF: links and joints placed by poses relative to named frames.

One model, by itself or in a world. A joint whose child is already connected closes a loop.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from mozzi.errors import ModelError, known
from mozzi.lie import SE3, Vec3
from mozzi.loaders.description import (
    IDENTITY,
    Description,
    Edge,
    Link,
    Mimic,
    pose_of_quaternion,
    pose_of_rpy,
)
from mozzi.loaders.geometry import ShapeData, mesh_of, note_fault, surface_of
from mozzi.loaders.source import Notes, Roots
from mozzi.loaders.spanning_tree import split
from mozzi.loaders.xml.strict import Element
from mozzi.loaders.xml.words import SDF, check_words
from mozzi.model import Composite, Joint, Prismatic, Revolute, Screw, Spherical, Universal
from mozzi.model.frames import as_axis, rotation_to
from mozzi.model.shapes import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Geometry,
    Plane,
    Role,
    Sphere,
    as_color,
)
from mozzi.model.surfaces import Surface

__all__ = ["read_sdf"]

MODEL, WORLD = "__model__", "world"
KINDS = ("revolute", "continuous", "prismatic", "screw", "ball", "universal", "revolute2", "fixed")
UNLIMITED = 1e16  # what SDF writes for no limit, before 1.10
INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)  # and from then on
ZERO = (0.0, 0.0, 0.0)


def read_sdf(
    root: Element, notes: Notes, roots: Roots, *, strict: bool = True
) -> Description:
    """The description in an ``<sdf>`` element."""
    check_words(root, SDF, "SDF", notes, strict=strict)
    version = _version(root)
    model, gravity = _model(root)
    found = Description(model.string("name"), model.place, "SDF", notes=notes, gravity=gravity)
    for tag in ("include", "model"):
        for element in model.all(tag):
            raise element.error("models inside models are not read", "flatten the file: gz sdf -p")
    if model.find("static") is not None and _flag(model.need("static")):
        raise model.need("static").error("nothing moves", "set <static>false</static>", model.thing)
    if model.attributes.get("placement_frame"):
        raise model.error("placement_frame is not read", "give the pose of the model frame")
    frames = _Frames(model, version)
    for element in model.all("link"):
        _once(element, found.links)
        found.links[element.string("name")] = _link(element, notes, version)
    if not found.links:
        raise model.error("has no links", "give at least one <link>")
    for element in model.all("frame"):
        link, T = frames.attached(element.string("name"), element)
        found.frames.append((element.string("name"), link, T))
    _joints(model, frames, version, found)
    _shapes(model, roots, frames, found)
    if found.world is None:
        found.root_pose = frames.model_pose @ frames.pose(_root(found), model)
    return found


def _version(root: Element) -> tuple[int, int]:
    text = root.string("version")
    match = re.fullmatch(r"([0-9])\.([0-9]{1,2})", text)
    if not match or match.group(1) != "1":
        raise root.error(f"version {text!r} is not known", "give a version 1.x, such as 1.7")
    return int(match.group(1)), int(match.group(2))


def _model(root: Element) -> tuple[Element, tuple[float, ...] | None]:
    world = root.find("world")
    holder = world if world is not None else root
    gravity = None
    if world is not None:
        element = world.find("gravity")
        gravity = None if element is None else element.content(3)
        if world.all("include"):
            raise world.all("include")[0].error("other files are not read", "write the model here")
    models = holder.all("model")
    if len(models) != 1:
        names = ", ".join(repr(m.attributes.get("name", "")) for m in models) or "none"
        raise holder.error(f"has {len(models)} models ({names})", "give a file with one <model>")
    return models[0], gravity


def _root(found: Description) -> str:
    children = {edge.child for edge in found.edges.values()}
    return next((name for name in found.links if name not in children), next(iter(found.links)))


def _once(element: Element, items: Mapping[str, Link | Element]) -> None:
    name = element.string("name")
    if name in (MODEL, WORLD):
        raise element.error(f"the name {name!r} is reserved", "choose another")
    if name in items:
        fact = f"is declared twice, first in line {items[name].place.line}"
        raise element.error(fact, "rename or remove one of them")


def _flag(element: Element) -> bool:
    text = element.text.strip().lower()
    if text not in ("true", "false", "1", "0"):
        raise element.error(f"{text!r} is neither true nor false", "write true or false")
    return text in ("true", "1")


def _value(
    element: Element | None, tag: str, default: float, *, limit: bool = False
) -> float:
    child = None if element is None else element.find(tag)
    if child is not None and limit and INFINITE.fullmatch(child.text.strip()):
        return float(child.text)
    return default if child is None else child.content(1, limit=limit)[0]


# -- poses -------------------------------------------------------------------------------------


def _read_pose(element: Element | None) -> SE3:
    if element is None:
        return SE3.identity()
    way = element.attributes.get("rotation_format", "euler_rpy")
    if way not in ("euler_rpy", "quat_xyzw"):
        raise element.error(f"rotation_format {way!r} is not known", "give euler_rpy or quat_xyzw")
    if way == "quat_xyzw":
        x = element.content(7)
        if not any(x[3:]):
            raise element.error(
                "the quaternion (0, 0, 0, 0) is no rotation", "give a unit quaternion"
            )
        return pose_of_quaternion(x[:3], x[3:])
    if not element.text.strip():
        return SE3.identity()
    x = element.content(6)
    angles = x[3:]
    degrees = element.attributes.get("degrees", "false")
    if degrees not in ("true", "1", "false", "0"):
        raise element.error(f"degrees={degrees!r} is neither true nor false", "write true or false")
    if degrees in ("true", "1"):
        angles = tuple(math.radians(a) for a in angles)
    return pose_of_rpy(x[:3], angles)


@dataclass(slots=True)
class _Frame:
    element: Element
    base: str
    T: SE3
    attached: str | None
    """The frame it moves with; None for links."""


class _Frames:
    """The named frames of a model; poses are in the model frame, at zero joint angles."""

    def __init__(self, model: Element, version: tuple[int, int]) -> None:
        self.frames: dict[str, _Frame] = {}
        self.links: dict[str, str] = {}  # the link that a frame is fixed to, where known
        self.known: dict[str, SE3] = {MODEL: SE3.identity()}
        self.model_pose = _read_pose(model.find("pose"))
        self.known[WORLD] = self.model_pose.inverse()
        links = model.all("link")
        first = links[0].string("name") if links else MODEL
        canonical = model.attributes.get("canonical_link") or first
        names = [x.string("name") for x in links]
        if links and canonical not in names:
            fact = f"canonical_link {canonical!r} does not exist"
            raise model.error(fact, f"name a link of the model: {known(canonical, names)}")
        for tag in ("link", "frame", "joint"):
            for element in model.all(tag):
                name = element.string("name")
                if name in self.frames:
                    if version >= (1, 7) or tag == "frame":
                        other = self.frames[name].element
                        fact = f"shares its name with {other.thing} in line {other.place.line}"
                        raise element.error(fact, "names are unique in a model: rename one")
                    continue
                self._add(element, tag, name, canonical)

    def _add(self, element: Element, tag: str, name: str, canonical: str) -> None:
        pose = element.find("pose")
        attached = None
        base = MODEL
        if tag == "frame":
            attached = element.attributes.get("attached_to") or canonical
            base = element.attributes.get("attached_to") or MODEL
        elif tag == "joint":
            attached = base = _text(element, "child")
        if pose is not None:
            base = pose.attributes.get("relative_to") or pose.attributes.get("frame") or base
        self.frames[name] = _Frame(element, base, _read_pose(pose), attached)

    def pose(self, name: str, user: Element) -> SE3:
        """The pose of a frame in the model frame."""
        chain: dict[str, None] = {}  # in order; looked up at once
        while name not in self.known:
            frame = self.frames.get(name)
            if frame is None:
                fact = f"frame {name!r} does not exist"
                raise user.error(fact, "name a link, joint or frame of the model, or __model__")
            if name in chain:
                names = list(chain)
                loop = " → ".join([*names[names.index(name) :], name])
                raise frame.element.error(f"its pose refers to itself: {loop}", "break the circle")
            chain[name] = None
            name, user = frame.base, frame.element
        T = self.known[name]
        for name in reversed(chain):
            T = T @ self.frames[name].T
            self.known[name] = T
        return T

    def attached(self, name: str, user: Element) -> tuple[str, SE3]:
        """The link that a frame is fixed to, and its pose in that link."""
        T, start = self.pose(name, user), name
        chain: dict[str, None] = {}
        while name != WORLD and name not in self.links:
            frame = self.frames.get(name)
            if frame is None or name in chain:
                fact = f"frame {start!r} is not fixed to a link"
                raise user.error(fact, "attach it to a link of the model")
            chain[name] = None
            if frame.attached is None:
                break
            name = frame.attached
        link = self.links.get(name, name)
        self.links.update(dict.fromkeys(chain, link))
        return link, self.pose(link, user).inverse() @ T


def _text(element: Element, tag: str) -> str:
    child = element.need(tag)
    found = child.text.strip()
    if not found:
        raise child.error("is empty", "name a link", thing=f"<{tag}> of {element.thing}")
    if "::" in found:
        raise child.error(f"{found!r} is in another model", "flatten the file: gz sdf -p")
    return found


# -- links -------------------------------------------------------------------------------------


def _link(element: Element, notes: Notes, version: tuple[int, int]) -> Link:
    name = element.string("name")
    inertial = element.find("inertial")
    if inertial is None:
        fact = "has no <inertial>; SDF gives it the mass 1 and the moments 1"
        notes.add(element.place, element.thing, fact)
        return Link.of(name, element.place, 1.0, (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
    if inertial.attributes.get("auto") in ("true", "1"):
        raise inertial.error("auto='true' is not read", "give mass and inertia", element.thing)
    mass = _value(inertial, "mass", 1.0)
    if mass < 0.0:
        raise inertial.error(
            f"mass {mass:g} is negative", "give a mass of 0 or more", element.thing
        )
    tensor = inertial.find("inertia")
    defaults = {"ixx": 1.0, "ixy": 0.0, "ixz": 0.0, "iyy": 1.0, "iyz": 0.0, "izz": 1.0}
    J = [_value(tensor, word, default) for word, default in defaults.items()]
    pose = inertial.find("pose")
    relative = None if pose is None else pose.attributes.get("relative_to")
    if relative and relative != name:
        raise inertial.error(f"pose relative to {relative!r}", "give it in the link", element.thing)
    return Link.of(name, inertial.place, mass, J, _read_pose(pose))


# -- joints ------------------------------------------------------------------------------------


def _joints(model: Element, frames: _Frames, version: tuple[int, int], found: Description) -> None:
    """The joints, of which some close loops."""
    seen: dict[str, Element] = {}
    edges: list[Edge] = []
    for element in model.all("joint"):
        _once(element, seen)
        seen[element.string("name")] = element
        parent, _ = frames.attached(_text(element, "parent"), element)
        child, _ = frames.attached(_text(element, "child"), element)
        if child == WORLD:
            raise element.error("the world cannot be a child", "swap parent and child")
        if parent == child:
            raise element.error(f"link {parent!r} is its own parent", "connect two different links")
        if parent == WORLD and WORLD not in found.links:
            found.links[WORLD] = Link(WORLD, element.place)
            found.world = WORLD
        edges.append(_edge(element, parent, child, frames, version, found.notes))
    found.edges, found.loops = split(edges, found.links, found.notes)


def _edge(
    element: Element,
    parent: str,
    child: str,
    frames: _Frames,
    version: tuple[int, int],
    notes: Notes,
) -> Edge:
    name, kind = element.string("name"), element.string("type")
    if kind not in KINDS:
        raise element.error(f"type {kind!r} is not read", f"give one of {', '.join(KINDS)}")
    T = frames.pose(name, element)
    if name in frames.frames and frames.frames[name].element is not element:  # named like a link
        T = frames.pose(child, element) @ _read_pose(element.find("pose"))
    T_parent = frames.pose(parent, element).inverse() @ T
    T_child = frames.pose(child, element).inverse() @ T
    if kind == "fixed":
        return Edge(name, element.place, parent, child, None, T_parent @ T_child.inverse())
    axes = [
        _axis(element, tag, T, frames, version)
        for tag in ("axis", "axis2")[: {"ball": 0, "universal": 2, "revolute2": 2}.get(kind, 1)]
    ]
    joint = _joint(element, kind, axes).between(T_parent, T_child)
    dynamics, mimic = _dynamics(element, kind, joint, notes)
    return Edge(name, element.place, parent, child, joint, IDENTITY, dynamics, mimic)


def _joint(element: Element, kind: str, axes: list[tuple[float, ...]]) -> Joint:
    if kind in ("revolute", "continuous"):
        return Revolute(axis=axes[0])
    if kind == "prismatic":
        return Prismatic(axis=axes[0])
    if kind == "ball":
        return Spherical()
    if kind == "screw":
        return Screw(axis=axes[0], pitch=_pitch(element))
    if abs(Vec3(*axes[0]).dot(Vec3(*axes[1]))) < 1e-9:
        return Universal(axis=axes[0], second=axes[1])
    return Composite(Revolute(axis=axes[0]), Revolute(axis=axes[1]))


def _pitch(element: Element) -> float:
    """Metres per radian. The old ``thread_pitch`` counts radians per metre, with the opposite
    sign.
    """
    pitch = element.find("screw_thread_pitch")
    if pitch is not None:
        return pitch.content(1)[0] / (2.0 * math.pi)
    old = _value(element, "thread_pitch", 1.0)
    if old == 0.0:
        raise element.error("thread_pitch 0 is no screw", "give <screw_thread_pitch>")
    return -1.0 / old


def _axis(
    element: Element, tag: str, T: SE3, frames: _Frames, version: tuple[int, int]
) -> tuple[float, ...]:
    """The direction of an axis in the joint frame."""
    axis = element.need(tag)
    xyz = axis.find("xyz")
    direction = (0.0, 0.0, 1.0) if xyz is None else xyz.content(3)
    if not any(direction):
        fact = f"{tag} (0, 0, 0) has no direction"
        raise axis.error(fact, "give a non-zero axis", element.thing)
    expressed = None if xyz is None else xyz.attributes.get("expressed_in")
    old = axis.find("use_parent_model_frame")
    if version < (1, 5) or (old is not None and _flag(old)):
        expressed = expressed or MODEL
    if not expressed:
        return direction
    R = frames.pose(expressed, axis).R
    in_model = R.rotate(Vec3(*direction))
    return T.R.unrotate(in_model).floats()


def _dynamics(
    element: Element, kind: str, joint: Joint, notes: Notes
) -> tuple[dict[str, tuple[float, ...]], Mimic | None]:
    """Limits, damping, friction and springs of the axes, as the model wants them."""
    found: dict[str, list[float]] = {}
    mimic = None
    for tag in ("axis", "axis2")[: joint.nv if kind != "ball" else 0]:
        axis = element.need(tag)
        limit, dynamics = axis.find("limit"), axis.find("dynamics")
        lower = _value(limit, "lower", -math.inf, limit=True)
        upper = _value(limit, "upper", math.inf, limit=True)
        lower = -math.inf if lower <= -UNLIMITED or kind == "continuous" else lower
        upper = math.inf if upper >= UNLIMITED or kind == "continuous" else upper
        if lower > upper:
            fact = f"limits reversed, lower {lower:g} > upper {upper:g}"
            raise axis.error(fact, "swap them", element.thing)
        if lower == math.inf or upper == -math.inf:
            fact = f"no position is from {lower:g} to {upper:g}"
            raise axis.error(fact, "give limits with room between them", element.thing)
        values = {"lower": lower, "upper": upper}
        for word in ("effort", "velocity"):
            value = _value(limit, word, -1.0, limit=True)  # SDF writes −1 for no limit
            values[word] = math.inf if value < 0.0 else value
        for word, tag_name in (
            ("damping",) * 2,
            ("friction",) * 2,
            ("stiffness", "spring_stiffness"),
        ):
            values[word] = _value(dynamics, tag_name, 0.0)
            if values[word] < 0.0:
                raise axis.error(
                    f"{tag_name} {values[word]:g} is negative", "give 0 or more", element.thing
                )
        values["rest"] = _value(dynamics, "spring_reference", 0.0)
        for word, value in values.items():
            found.setdefault(word, []).append(value)
        mimic = _mimic(axis, element, mimic)
    return {word: tuple(values) for word, values in found.items()}, mimic


def _mimic(axis: Element, joint: Element, found: Mimic | None) -> Mimic | None:
    """follower = multiplier · (leader − reference) + offset."""
    mimic = axis.find("mimic")
    if mimic is None:
        return found
    if axis.tag != "axis" or mimic.attributes.get("axis", "axis") != "axis":
        raise mimic.error("a second axis cannot mimic", "mimic first axes only", joint.thing)
    multiplier, offset = _value(mimic, "multiplier", 1.0), _value(mimic, "offset", 0.0)
    offset -= multiplier * _value(mimic, "reference", 0.0)
    return Mimic(mimic.string("joint"), multiplier, offset, mimic.place)


# -- shapes ------------------------------------------------------------------------------------


ROLES: tuple[Role, ...] = ("visual", "collision")


def _shapes(model: Element, roots: Roots, frames: _Frames, found: Description) -> None:
    """The visual and collision shapes of all links; one that is wrong is left out with a note."""
    for link in model.all("link"):
        name = link.string("name")
        for role in ROLES:
            for element in link.all(role):
                try:
                    shape = _shape(element, name, role, roots, frames)
                except ModelError as error:
                    note_fault(found.notes, element.place, f"{role} of link {name!r}", error)
                    continue
                if shape is None:
                    continue
                if role == "collision":
                    try:
                        shape = replace(shape, surface=_surface(element))
                    except ModelError as error:
                        what = f"the surface of link {name!r}"
                        note_fault(found.notes, element.place, what, error)
                found.shapes.append(shape)


def _shape(
    element: Element, link: str, role: Role, roots: Roots, frames: _Frames
) -> ShapeData | None:
    geometry = element.need("geometry")
    if not geometry.children or geometry.children[0].tag == "empty":
        return None
    material = element.find("material")
    color = None if material is None else material.find("diffuse") or material.find("ambient")
    rgba = None
    if color is not None:
        rgba = as_color((*color.content(len(color.text.split())), 1.0)[:4], element.thing)
    pose = element.find("pose")
    T = _read_pose(pose)
    base = None if pose is None else pose.attributes.get("relative_to")
    if base:
        T = frames.pose(link, element).inverse() @ frames.pose(base, element) @ T
    made, turned = _geometry(geometry.children[0], roots)
    name = element.attributes.get("name", "")
    return ShapeData(link, element.place, made, T @ turned, role, rgba, name)


def _surface(element: Element) -> Surface | None:
    """mu and mu2 of ODE, the coefficient of restitution, kp and kd."""
    surface = element.find("surface")
    if surface is None:
        return None
    words = ("friction ode mu", "friction ode mu2", "bounce restitution_coefficient",
             "contact ode kp", "contact ode kd")  # fmt: skip
    mu, mu2, e, kp, kd = (_number_at(surface, *path.split()) for path in words)
    return surface_of(mu, mu2, e or 0.0, kp, kd, surface)


def _number_at(element: Element, *path: str) -> float | None:
    """The number in an element below another, where it is there."""
    at: Element | None = element
    for tag in path:
        at = None if at is None else at.find(tag)
    return None if at is None else at.content(1)[0]


def _geometry(shape: Element, roots: Roots) -> tuple[Geometry, SE3]:
    """A geometry and the pose of its own frame."""
    match shape.tag:
        case "box":
            x, y, z = shape.need("size").content(3)
            return Box((x, y, z)), IDENTITY
        case "sphere":
            return Sphere(*shape.need("radius").content(1)), IDENTITY
        case "cylinder" | "capsule":
            make = Cylinder if shape.tag == "cylinder" else Capsule
            (radius,), (length,) = (shape.need(word).content(1) for word in ("radius", "length"))
            return make(radius, length), IDENTITY
        case "ellipsoid":
            x, y, z = shape.need("radii").content(3)
            return Ellipsoid((x, y, z)), IDENTITY
        case "plane":
            normal = shape.find("normal")
            axis = (0.0, 0.0, 1.0) if normal is None else as_axis(normal.content(3), shape.thing)
            return Plane(), SE3(rotation_to(axis), Vec3(*ZERO))
        case "mesh":
            scale = shape.find("scale")
            factors = (1.0, 1.0, 1.0) if scale is None else scale.content(3)
            uri = shape.need("uri")
            return mesh_of(uri.text.strip(), factors, uri.place, roots), IDENTITY
    known = "box, sphere, cylinder, capsule, ellipsoid, plane or mesh"
    raise shape.error(f"<{shape.tag}> is not read", f"give a {known}")
