# pyright: reportPrivateUsage=false
"""From names to bodies: what was added, in the order of the tree, on the bodies that carry it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

from mozzi.errors import ModelError, UnphysicalWarning, warn
from mozzi.lie import SE3
from mozzi.model.actuator import Actuator
from mozzi.model.building.collected import Collected, Part
from mozzi.model.constraints.loop import Coupling, Distance, Loop, Spring
from mozzi.model.content import Configuration
from mozzi.model.frames import IDENTITY, as_pose
from mozzi.model.interface.parts import WORLD
from mozzi.model.joints.joint import Joint
from mozzi.model.parameters.physical import unphysical
from mozzi.model.shapes import Shape
from mozzi.types import Physical

__all__ = [
    "Where", "absolute_joints", "check_physical", "checked_coupling", "configuration_of",
    "drives_something", "loop_at", "order_of", "shape_at", "span_at",
]  # fmt: skip

Span = TypeVar("Span", Distance, Spring)
Where = dict[str, tuple[int, SE3]]
"""On which body something is, and its pose there, by name."""


def order_of(given: Collected) -> list[Part]:
    """Bodies, then frames, as they were added; but what carries others before them."""
    order: list[Part] = []
    done: set[str] = set()
    known = given._parts | given._frames
    for part in known.values():
        path: list[Part] = []
        here: set[str] = set()
        while part.name not in done:
            path.append(part)
            here.add(part.name)
            parent = part.parent
            if given._is_world(parent) or parent in done:
                break
            if parent in here:
                cycle = " → ".join(repr(p.name) for p in reversed(path))
                raise ModelError(f"{cycle} carry each other; close the cycle with a loop")
            if parent not in known:
                sort = "body" if part.name in given._parts else "frame"
                raise ModelError(
                    f"{sort} {part.name!r}: parent {parent!r} is unknown; "
                    "add it, or name one that exists"
                )
            part = known[parent]  # type: ignore
        order += reversed(path)
        done |= here
    return order


def absolute_joints(order: list[Part]) -> dict[str, Joint]:
    """The joints that were given in the inertial frame, brought to the frames of their bodies
    (10)–(12).
    """
    if all(part.spatial is None for part in order):
        return {}
    joints: dict[str, Joint] = {}
    A: dict[str | None, SE3] = {}
    for part in order:
        A_p = A.get(part.parent, IDENTITY)
        A_i = part.spatial
        if A_i is None:
            A_i = A_p @ part.joint.motion(part.joint.neutral())
        else:
            joints[part.name] = part.joint.between(A_p.inverse(), A_i.inverse())
        A[part.name] = A_i
    return joints


def check_physical(given: Collected, order: list[Part], physical: Physical) -> None:
    if physical not in (True, False, "warn"):
        raise ModelError(f"physical={physical!r}; choose True, False or 'warn'")
    if physical is False:
        return
    faults = unphysical([part.inertia for part in order])
    if not faults:
        return
    lines = [f"body {order[i].name!r}: {fault}" for i, fault in faults.items()]
    if physical == "warn":
        warn(
            f"model {given.name!r} has unphysical inertias: " + "; ".join(lines),
            UnphysicalWarning,
        )
        return
    more = f" ({len(lines) - 1} more bodies are unphysical)" if len(lines) > 1 else ""
    raise ModelError(f"{lines[0]}; correct the inertia, or build with physical='warn'{more}")


def _at(
    given: Collected, name: str | None, where: Where, what: str
) -> tuple[int, SE3]:
    if name in where:
        return where[name]
    if given._is_world(name):
        return WORLD, IDENTITY
    raise ModelError(
        f"{what}: body {name!r} is unknown; name a body, a frame, or None for the world"
    )


def loop_at(
    given: Collected, loop: Loop, a: str | None, b: str | None, where: Where
) -> Loop:
    i, T_a = _at(given, a, where, f"loop {loop.name!r}")
    j, T_b = _at(given, b, where, f"loop {loop.name!r}")
    placements = T_a @ loop.placement_a, T_b @ loop.placement_b
    return Loop(loop.name, i, j, loop.joint, *placements)


def span_at(
    given: Collected, part: Span, a: str | None, b: str | None, where: Where
) -> Span:
    """A distance or spring between the points of the bodies that carry its ends."""
    what = f"{type(part).__name__.lower()} {part.name!r}"
    (i, T_a), (j, T_b) = (_at(given, end, where, what) for end in (a, b))
    p, r = (
        (T @ SE3.translation(*x)).p.floats()
        for T, x in ((T_a, part.point_a), (T_b, part.point_b))
    )
    return replace(part, body_a=i, body_b=j, point_a=p, point_b=r)


def drives_something(given: Collected, actuator: Actuator, joints: dict[str, Joint]) -> bool:
    """Whether an actuator drives something: not, where its joint is locked."""
    what, joint = f"actuator {actuator.name!r}", joints.get(actuator.joint)
    if joint is None:
        if actuator.joint in given._joints:
            return False
        raise ModelError(f"{what}: joint {actuator.joint!r} is unknown; name a joint")
    if not joint.flat:
        raise ModelError(f"{what}: joint {actuator.joint!r} has no linear coordinates")
    if not 0 <= actuator.component < joint.nv:
        raise ModelError(
            f"{what}: joint {actuator.joint!r} has no coordinate {actuator.component}; "
            f"it has {joint.nv}"
        )
    return True


def configuration_of(
    given: Collected, state: Configuration, joints: dict[str, Joint]
) -> Configuration:
    """A named configuration of joints that move, checked."""
    kept: list[tuple[str, tuple[float, ...]]] = []
    for name, values in state.joints:
        joint = joints.get(name)
        if joint is None:
            if name in given._joints:  # locked or fixed: it has no coordinates
                continue
            raise ModelError(
                f"configuration {state.name!r}: joint {name!r} is unknown; name a joint"
            )
        if len(values) != joint.nq:
            raise ModelError(
                f"configuration {state.name!r}: joint {name!r} has {joint.nq} coordinates; "
                f"{len(values)} are given"
            )
        kept.append((name, tuple(map(float, joint.normalize(values)))))
    return replace(state, joints=tuple(kept))


def shape_at(
    given: Collected, shape: Shape, body: str | None, where: Where
) -> Shape:
    """A shape on the body that carries it."""
    i, T = _at(given, body, where, f"shape {shape.name!r}")
    return shape.on(i, shape.placement if T is IDENTITY else as_pose(T @ shape.placement))


def checked_coupling(coupling: Coupling, joints: dict[str, Joint]) -> Coupling:
    what = f"coupling {coupling.name!r}"
    for name, k, _ in coupling.terms:
        if name not in joints:
            raise ModelError(
                f"{what}: joint {name!r} is unknown or fixed; name a joint that moves"
            )
        joint = joints[name]
        if not 0 <= k < joint.nq:
            raise ModelError(f"{what}: joint {name!r} has no coordinate {k}; it has {joint.nq}")
        if not joint.flat:
            raise ModelError(
                f"{what}: joint {name!r} ({type(joint).__name__}) has no linear coordinates"
            )
    if not all(map(math.isfinite, (c for _, _, c in coupling.terms))):
        raise ModelError(f"{what}: coefficients are not finite; give finite numbers")
    return coupling
