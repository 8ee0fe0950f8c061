"""Joints of URDF: an ``<axis>`` becomes a joint and its screw; mimics, limits, resistance."""

from __future__ import annotations

import math

from mozzi.errors import nearest
from mozzi.lie import SE3
from mozzi.loaders.description import Edge, Mimic, pose_of_quaternion, pose_of_rpy
from mozzi.loaders.source import Notes
from mozzi.loaders.xml.strict import Element
from mozzi.model import Free, Joint, Planar, Prismatic, Revolute

__all__ = ["origin_of", "read_joint"]

ZERO = (0.0, 0.0, 0.0)

ALONG_AN_AXIS = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "planar": Planar,
}
KINDS = ("fixed", *ALONG_AN_AXIS, "floating")


def origin_of(element: Element) -> SE3:
    """The pose in an ``<origin>``."""
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


def read_joint(element: Element, notes: Notes) -> Edge:
    """The edge in a ``<joint>`` element."""
    name = element.string("name")
    if "type" not in element.attributes:
        raise element.error("has no type", f"give one of {', '.join(KINDS)}")
    kind = element.string("type")
    if kind not in KINDS:
        known = ", ".join(nearest(kind, KINDS))
        raise element.error(f"type {kind!r} is unknown", f"give one of {known}")
    parent = element.need("parent").string("link")
    child = element.need("child").string("link")
    if parent == child:
        raise element.error(f"link {parent!r} is its own parent", "connect two different links")
    T = origin_of(element)
    mimic = _mimic(element, kind, notes)
    if kind == "fixed":
        return Edge(name, element.place, parent, child, None, T)
    joint = _joint_of_axis(element, kind, notes).between(T)
    return Edge(
        name,
        element.place,
        parent,
        child,
        joint,
        dynamics=_dynamics(element, kind, notes),
        mimic=mimic,
    )


def _joint_of_axis(element: Element, kind: str, notes: Notes) -> Joint:
    """The joint along the ``<axis>``: its screw is made of the axis in
    `model/joints/axis_screws.py`.
    """
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
    return ALONG_AN_AXIS[kind](axis=direction)


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
            found[word] = _not_negative(limit, word, element, limit=True)
    given = {
        word: limit.number(word, limit=True)
        for word in ("lower", "upper")
        if word in limit.attributes
    }
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


def _not_negative(
    element: Element, word: str, joint: Element, *, limit: bool = False
) -> float:
    value = element.number(word, limit=limit)
    if value < 0.0:
        raise element.error(f"{word} {value:g} is negative", "give 0 or more", thing=joint.thing)
    return value
