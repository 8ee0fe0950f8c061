"""The same mechanism from fewer numbers: base parameters, and frames along common normals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from mozzi.algorithms.recursion.bodies import BodyData, tidy_pose
from mozzi.lie import SE3, Inertia, Rotation, RotationZ, Vec3
from mozzi.lie.vec import number
from mozzi.model.joints.axes import Prismatic, Revolute
from mozzi.model.model import WORLD

__all__ = ["aligned", "regrouped"]

LEAST_SINE = 0.05  # of the angle between axes whose common normal is well determined


def regrouped(
    bodies: Sequence[BodyData], moments: bool = False
) -> tuple[tuple[BodyData, ...], Inertia]:
    """The same joint forces and accelerations from fewer inertial parameters (base parameters).

    A part that is symmetric about a revolute joint moves as if fixed to the parent: mass m, first
    moment (0, 0, h_z) and rotational inertia diag(c, c, 0) go there, from tip to base, with c such
    that J_yy = 0 remains (or, with ``moments``, the second moment ∫ z² dm = 0). So does the whole
    rotational inertia behind a prismatic joint. Body wrenches change; joint forces, accelerations
    and the momentum of the whole do not. Also returns what has gone to the world.

    What is constant goes: an inertia is the sum of its numbers that are and of those that vary.
    """
    inertia = [*(_some(body.inertia, varies=False) for body in bodies), Inertia.zero()]  # −1: world
    for k, body in reversed(list(enumerate(bodies))):
        I = inertia[k]
        if any(number(x) is None for x in body.placement.flatten()):
            continue
        if type(body.joint) is Revolute:
            J = I.J
            c = 0.5 * (J.xx + J.yy - J.zz) if moments else J.yy
            kept = (J.xx - c, J.xy, J.xz, J.yy - c, J.yz, J.zz)
            if moments:  # exactly: J_zz = J_xx + J_yy
                kept = (*kept[:5], kept[0] + kept[3])
            rest = Inertia.from_parameters((0.0, I.h.x, I.h.y, 0.0, *kept))
            part = Inertia.from_parameters((I.m, 0.0, 0.0, I.h.z, c, 0.0, 0.0, c, 0.0, 0.0))
        elif type(body.joint) is Prismatic:
            part = Inertia.from_parameters((0.0,) * 4 + I.J.flatten())
            rest = Inertia.from_parameters((I.m, *I.h.flatten()) + (0.0,) * 6)
        else:
            continue
        inertia[k] = rest
        inertia[body.parent] += body.placement.push(part)
    pairs = zip(bodies, inertia[:-1], strict=True)
    made = (replace(body, inertia=I + _some(body.inertia, varies=True)) for body, I in pairs)
    return tuple(made), inertia[WORLD]


def _some(I: Inertia, varies: bool) -> Inertia:
    """The numbers of an inertia that vary, or those that do not; zeros for the others."""
    ten = I.parameters()
    return Inertia.from_parameters(x if (number(x) is None) == varies else 0.0 for x in ten)


def aligned(bodies: Sequence[BodyData]) -> tuple[BodyData, ...]:
    """The same mechanism with frames slid along and turned about the axes of revolute joints.

    From a revolute axis in general position to the next (of a body with several, to the one that
    carries most) remain a shift along x and a turn about x, then a shift along z and the turn of
    the joint: Denavit and Hartenberg's parameters, half of the operations of a general pose.
    Placements along coordinate axes stay as they are.
    """
    carried = [1] * (len(bodies) + 1)  # bodies that hang on each; number −1: on the world
    for k, body in reversed(list(enumerate(bodies))):
        carried[body.parent] += carried[k]
    normals: dict[int, tuple[int, CommonNormal]] = {}  # by parent: to which child
    for k, body in enumerate(bodies):
        p = body.parent
        if p == WORLD or type(bodies[p].joint) is not Revolute:
            continue
        normal = common_normal(body)
        if normal and (p not in normals or carried[normals[p][0]] < carried[k]):
            normals[p] = (k, normal)
    G = [SE3.identity() for _ in carried]  # the new frames in the old ones
    for p, (k, normal) in normals.items():
        P = bodies[k].placement
        slide = P.p.z - normal.before * P.R.general().zz
        G[p] = SE3(RotationZ.angle(normal.direction), Vec3(0.0, 0.0, slide))
    out: list[BodyData] = []
    for k, body in enumerate(bodies):
        back = G[body.parent].inverse()
        if body.parent in normals or k in normals:
            placement = tidy_pose(back @ body.placement @ G[k])
            body = replace(body, placement=placement, link=placement)
        if body.parent in normals and normals[body.parent][0] == k:
            body = _along(normals[body.parent][1], body)
        if k in normals:
            frame = G[k].inverse() @ body.frame
            body = replace(body, inertia=G[k].pull(body.inertia), frame=frame)
        if body.parent in normals:
            body = replace(body, parent_frame=back @ body.parent_frame)
        out.append(body)
    return tuple(out)


class CommonNormal(NamedTuple):
    """From the axis of a parent (z) to the revolute axis of a body: Denavit and Hartenberg's
    parameters, and where the normal is.
    """

    direction: float
    """The angle of the normal about the axis of the parent."""
    twist: float
    """The angle between the axes."""
    length: float
    before: float
    """How far along the axis of the body it ends before the body's frame begins."""


def _along(normal: CommonNormal, body: BodyData) -> BodyData:
    """A body whose parent's frame lies on their common normal."""
    c, s = math.cos(normal.twist), math.sin(normal.twist)
    link = SE3(Rotation(1.0, 0.0, 0.0, 0.0, c, -s, 0.0, s, c), Vec3(normal.length, 0.0, 0.0))
    rest = link.inverse() @ body.placement
    R = rest.R.general()
    angle, offset = math.atan2(R.yx, R.xx), rest.p.z
    return replace(body, link=link, joint_angle=angle, joint_offset=offset, aligned=True)


def common_normal(body: BodyData) -> CommonNormal | None:
    """Of a revolute axis in general position to that of its parent. None for axes that are
    parallel, nearly so, or related by turns about coordinate axes.
    """
    if type(body.joint) is not Revolute or any(number(x) is None for x in body.placement.flatten()):
        return None
    R, p = body.placement.R.general(), body.placement.p
    if R.flatten().count(0.0) >= 4:
        return None
    sine = math.hypot(R.xz, R.yz)
    if sine < LEAST_SINE:
        return None
    direction, twist = math.atan2(R.xz, -R.yz), math.atan2(sine, R.zz)
    c, s = math.cos(direction), math.sin(direction)
    x, y, _ = p.floats()
    along, across = c * x + s * y, c * y - s * x
    return CommonNormal(direction, twist, along, -across / sine)
