"""The data of a mechanism as the recursions need it: body frames on the joints, base parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mozzi.lie import SE3, Inertia, Rotation, RotationZ, Vec3
from mozzi.lie.vec import number
from mozzi.model.joints.joint import Joint, Prismatic, Revolute

__all__ = ["WORLD", "BodyData", "aligned", "bodies_of", "regrouped", "replace", "tidy_pose"]

WORLD = 0  # bodies are numbered 1, 2, … here; 0 is the world


@dataclass(frozen=True)
class BodyData:
    """What the recursions need of one body.

    The pose in the parent is placement · pose(q), or seat · Tz(rise) · pose(offset + q), the same
    with fewer operations: `placement` is the pose at q = 0.
    """

    name: str
    parent: int
    joint: Joint
    placement: SE3
    inertia: Inertia
    frame: SE3
    armature: tuple[float, ...]
    damping: tuple[float, ...]
    friction: tuple[float, ...]
    stiffness: tuple[float, ...]
    rest: tuple[float, ...]
    q: int
    v: int
    parent_frame: SE3
    seat: SE3
    offset: float = 0.0
    rise: float = 0.0
    marks: tuple[tuple[str, Any], ...] = ()

    @property
    def kind(self) -> tuple[Any, ...]:
        """Bodies of one kind run through the same code when rolled."""
        return (self.joint.kind, self.marks)


def _tidy(x: float, unit: float = 1.0) -> float:
    """Rounding noise of a product of constant rotations is not structure: 1e-17 is 0 and 1 − 1e-16
    is 1.
    """
    for exact in (0.0, 1.0, -1.0):
        if abs(x - exact) < 4e-16 * unit:
            return exact
    return x


def tidy_pose(T: SE3) -> SE3:
    """A constant pose without the rounding noise of its making."""
    R = Rotation(*(_tidy(x) for x in T.R.general().flatten()))
    return SE3(R, Vec3(*(0.0 if abs(x) < 1e-16 else x for x in T.p.flatten())))


def bodies_of(model: Any) -> tuple[BodyData, ...]:
    """The bodies of a model, with their frames on their joints."""
    bodies = []
    q = v = 0
    for k in range(model.nb):
        body = model.body(k)
        joint = body.joint
        onto = SE3.identity() if body.parent < 0 else model.body(body.parent).joint.frame_child
        placement = tidy_pose(onto.inverse() @ joint.frame_parent)
        inertia = joint.frame_child.pull(body.inertia)
        frame = tidy_pose(joint.frame_child.inverse())
        own = body.dynamics
        bodies.append(
            BodyData(
                body.name, body.parent + 1, joint, placement, inertia, frame, own.armature,
                own.damping, own.friction, own.stiffness, own.rest, q, v,
                tidy_pose(onto.inverse()), placement,
            )
        )  # fmt: skip
        q, v = q + joint.nq, v + joint.nv
    return tuple(bodies)


def regrouped(
    bodies: Sequence[BodyData], moments: bool = False
) -> tuple[tuple[BodyData, ...], Inertia]:
    """The same joint forces and accelerations from fewer inertial parameters (base parameters).

    A part that is symmetric about a revolute joint moves as if fixed to the parent: mass m, first
    moment (0, 0, h_z) and rotational inertia diag(c, c, 0) go there, from tip to base, with c such
    that J_yy = 0 remains (or, with ``moments``, the second moment ∫ z² dm = 0). So does the whole
    rotational inertia behind a prismatic joint. Body wrenches change; joint forces, accelerations
    and the momentum of the whole do not. Also returns what has gone to the world.
    """
    inertia = [Inertia.zero(), *(body.inertia for body in bodies)]
    for k in reversed(range(1, len(inertia))):
        body = bodies[k - 1]
        I = inertia[k]
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
    pairs = zip(bodies, inertia[1:], strict=True)
    return tuple(replace(body, inertia=I) for body, I in pairs), inertia[0]


def replace(body: BodyData, **changes: Any) -> BodyData:
    """A changed copy."""
    return BodyData(**(body.__dict__ | changes))


def aligned(bodies: Sequence[BodyData]) -> tuple[BodyData, ...]:
    """The same mechanism with frames slid along and turned about the axes of revolute joints.

    From a revolute axis in general position to the next (of a body with several, to the one that
    carries most) remain a shift along x and a turn about x, then a shift along z and the turn of
    the joint: Denavit and Hartenberg's parameters, half of the operations of a general pose.
    Placements along coordinate axes stay as they are.
    """
    carried = [1] * (len(bodies) + 1)
    for k in reversed(range(1, len(carried))):
        carried[bodies[k - 1].parent] += carried[k]
    normals: dict[int, tuple[int, float, float, float, float]] = {}  # by parent
    for k, body in enumerate(bodies, 1):
        p = body.parent
        if p == WORLD or type(bodies[p - 1].joint) is not Revolute:
            continue
        found = _normal(body)
        if found and (p not in normals or carried[normals[p][0]] < carried[k]):
            normals[p] = (k, *found)
    G = [SE3.identity() for _ in carried]
    for p, (k, alpha, _, _, d) in normals.items():
        P = bodies[k - 1].placement
        slide = P.p.z - d * P.R.general().zz
        G[p] = SE3(RotationZ.angle(alpha), Vec3(0.0, 0.0, slide))
    out = []
    for k, body in enumerate(bodies, 1):
        back = G[body.parent].inverse()
        changes: dict[str, Any] = {"placement": body.placement}
        if body.parent in normals or k in normals:
            changes["placement"] = tidy_pose(back @ body.placement @ G[k])
        changes["seat"] = changes["placement"]
        if body.parent in normals and normals[body.parent][0] == k:
            _, alpha, beta, a, _ = normals[body.parent]
            c, s = math.cos(beta), math.sin(beta)
            R = Rotation(1.0, 0.0, 0.0, 0.0, c, -s, 0.0, s, c)
            rest = SE3(R, Vec3(a, 0.0, 0.0)).inverse() @ changes["placement"]
            Rz = rest.R.general()
            changes |= {
                "seat": SE3(R, Vec3(a, 0.0, 0.0)),
                "offset": math.atan2(Rz.yx, Rz.xx),
                "rise": rest.p.z,
                "marks": (*body.marks, ("aligned", True)),
            }
        if k in normals:
            changes["inertia"] = G[k].pull(body.inertia)
            changes["frame"] = G[k].inverse() @ body.frame
        if body.parent in normals:
            changes["parent_frame"] = back @ body.parent_frame
        out.append(replace(body, **changes))
    return tuple(out)


def _normal(body: BodyData) -> tuple[float, float, float, float] | None:
    """Of a revolute axis in general position to that of its parent (z): the angle of the common
    normal, the angle between the axes, the length of the normal, and how far along the axis of
    the body it ends before the body's frame begins. None for axes that are parallel, nearly so, or
    related by turns about coordinate axes."""
    if type(body.joint) is not Revolute or any(number(x) is None for x in body.placement.flatten()):
        return None
    R, p = body.placement.R.general(), body.placement.p
    if R.flatten().count(0.0) >= 4:
        return None
    sine = math.hypot(R.xz, R.yz)
    if sine < 0.05:
        return None
    alpha, beta = math.atan2(R.xz, -R.yz), math.atan2(sine, R.zz)
    c, s = math.cos(alpha), math.sin(alpha)
    along, across = c * p.x + s * p.y, c * p.y - s * p.x
    return alpha, beta, along, -across / sine
