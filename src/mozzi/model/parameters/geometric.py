# pyright: reportConstantRedefinition=false
"""Geometric parameters: what moves the child of a joint, a factor of a product of joints, or an end
of a loop, by screws U in its frame; and pitches.

    C_pi(q, π) = B_i0 exp(U₁ π₁) … exp(U_λ π_λ) exp(X_i q)            Müller, Dynamics, 6.2

U is a unit screw (x, y, z: shifts; rx, ry, rz: turns), or any: ``screw(0, 0, 1, 0.2, 0, 0)``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from mozzi.errors import ModelError
from mozzi.lie import SE3, Twist, Vec3
from mozzi.model.constraints.loop import Loop
from mozzi.model.joints.composite import Composite
from mozzi.model.joints.joint import Joint
from mozzi.program.scalar import Real

__all__ = ["ENDS", "PLACEMENT", "SCREWS", "moved_joint", "moved_loop", "pitch_of", "split"]

SCREWS = {"rx": 0, "ry": 1, "rz": 2, "x": 3, "y": 4, "z": 5}
PLACEMENT = ("placement.x", "placement.y", "placement.z")
ENDS = ("a", "b")
_ANY = re.compile(r"(.*)\.(screw\([^()]*\))")
_FACTOR = re.compile(r"([1-9]\d*)\.(.*)")


def split(name: str) -> tuple[str, str] | None:
    """The owner and the rest of a name that ends in ``.screw(…)``; None of others."""
    found = _ANY.fullmatch(name)
    return (found[1], found[2].replace(" ", "")) if found else None


def screw_of(what: str) -> Twist | None:
    """The screw that a word stands for."""
    if what in SCREWS:
        return Twist.unflatten(1.0 if n == SCREWS[what] else 0.0 for n in range(6))
    if not what.startswith("screw("):
        return None
    try:
        numbers = [float(x) for x in what[6:-1].split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 6 or not any(numbers) or not all(map(math.isfinite, numbers)):
        raise ModelError(f"{what}: give six numbers (angular, linear), finite and not all zero")
    return Twist.unflatten(numbers)


def pitch_of(joint: Joint, what: str) -> float | None:
    """The pitch that ``pitch`` or ``2.pitch`` (of a factor) names; None where there is none."""
    found = _FACTOR.fullmatch(what)
    if found and isinstance(joint, Composite) and int(found[1]) <= len(joint.factors):
        return pitch_of(joint.factors[int(found[1]) - 1], found[2])
    own = joint.parameters()
    return float(own[0]) if what == "pitch" and hasattr(joint, "pitch") else None


def has(joint: Joint, what: str) -> bool:
    """Whether a joint has this geometric parameter."""
    if what == "pitch" or what.endswith(".pitch"):
        return pitch_of(joint, what) is not None
    found = _FACTOR.fullmatch(what)
    if found is None:
        return what in PLACEMENT or screw_of(what) is not None
    if not isinstance(joint, Composite) or int(found[1]) > len(joint.factors):
        return False
    return found[2] not in PLACEMENT and has(joint.factors[int(found[1]) - 1], found[2])


def moved_joint(joint: Joint, geometry: Mapping[str, Real]) -> Joint:
    """The joint with these geometric parameters, which may be traced."""
    T = joint.frame_parent
    p = [geometry.get(n, x) for n, x in zip(PLACEMENT, T.p, strict=True)]
    joint = joint.at(SE3(T.R, Vec3(*p)), joint.frame_child)
    for what, x in geometry.items():
        factor = _FACTOR.fullmatch(what)
        U = None if factor else screw_of(what)
        if factor:
            joint, shift = _moved(joint, what, x)
            if shift is not None:
                joint = joint.at(joint.frame_parent @ shift, joint.frame_child)
        elif what == "pitch":
            joint = joint.with_parameters((x,))
        elif U is not None:  # B exp(U π), U in the frame of the body, where the joint is neutral
            body = joint.pose(joint.neutral()) @ joint.frame_child.inverse()
            T = joint.frame_parent @ SE3.exp(body.push(U), x)
            joint = joint.at(T, joint.frame_child)
    return joint


def _moved(joint: Joint, what: str, x: Real) -> tuple[Joint, SE3 | None]:
    """A joint with another pitch, its own or that of a factor, or with a factor that is moved by a
    screw in its own frame; and how its frame on the parent is moved, where that is not in it yet.
    """
    found = _FACTOR.fullmatch(what)
    if found and isinstance(joint, Composite):
        k = int(found[1]) - 1
        factor, shift = _moved(joint.factors[k], found[2], x)
        factors = (*joint.factors[:k], factor, *joint.factors[k + 1 :])
        inner = list(joint.inner)
        if k and shift is not None:
            inner[k - 1], shift = inner[k - 1] @ shift, None
        own = (e for part in factors for e in part.parameters())
        return joint.with_parameters([*own, *(e for M in inner for e in M.flatten())]), shift
    if what == "pitch":
        return joint.with_parameters((x,)), None
    U = screw_of(what)
    assert U is not None  # the name has been looked up
    return joint, SE3.exp(U, x)


def moved_loop(loop: Loop, geometry: Mapping[str, Real]) -> Loop:
    """The loop with its ends moved, each in the frame that it places: P exp(U π)."""
    placements = {"a": loop.placement_a, "b": loop.placement_b}
    joint = loop.joint
    for what, x in geometry.items():
        end, _, word = what.partition(".")
        if what == "pitch":
            joint = joint.with_parameters((x,))
        else:
            U = screw_of(word)
            assert U is not None  # the name has been looked up
            placements[end] = placements[end] @ SE3.exp(U, x)
    return replace(
        loop, joint=joint, placement_a=placements["a"], placement_b=placements["b"]
    )
