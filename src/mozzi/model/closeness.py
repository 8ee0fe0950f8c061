"""Whether two models are the same mechanism to rounding, however their joints were given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from mozzi.model.body import Body
from mozzi.model.content import key_of
from mozzi.model.joints.joint import Joint

if TYPE_CHECKING:
    from mozzi.model.model import Model

__all__ = ["same"]


def same(a: Model, b: Model, tolerance: float) -> bool:
    """Whether all parts agree: numbers to the tolerance (relative where they are above 1), joints
    by what they do, everything else exactly.
    """
    parts, others = a.content(), b.content()
    bodies = cast("tuple[Body, ...]", parts.pop("_bodies"))
    theirs = cast("tuple[Body, ...]", others.pop("_bodies"))
    if len(bodies) != len(theirs) or not near(_keys(parts), _keys(others), tolerance):
        return False
    return all(
        _same_motion(x.joint, y.joint, tolerance)
        and near(key_of(replace(x, joint=y.joint)), key_of(y), tolerance)
        for x, y in zip(bodies, theirs, strict=True)
    )


def _keys(parts: dict[str, object]) -> tuple[object, ...]:
    return tuple((word, key_of(part)) for word, part in parts.items())


def near(a: object, b: object, tolerance: float) -> bool:
    """Whether nested tuples agree."""
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        x, y = cast("Sequence[object]", a), cast("Sequence[object]", b)
        return len(x) == len(y) and all(near(*pair, tolerance) for pair in zip(x, y, strict=True))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
    return a == b


def _same_motion(a: Joint, b: Joint, tolerance: float) -> bool:
    """Of joints of one kind: their poses at rest and their screws there say how they move, while
    frames may stand anywhere on an axis.
    """
    if a.kind != b.kind:
        return False
    at_rest = a.motion(a.neutral()).flatten(), b.motion(b.neutral()).flatten()
    return near(*at_rest, tolerance) and near(_screws(a), _screws(b), tolerance)


def _screws(joint: Joint) -> tuple[object, ...]:
    """Its screws at rest, in the frame of the child."""
    return joint.frame_child.push(joint.screws(joint.neutral())).flatten()
