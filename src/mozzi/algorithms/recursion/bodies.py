"""The data of a mechanism as the recursions need it: body frames on the joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mozzi.lie import SE3, Inertia, Rotation, Vec3
from mozzi.lie.vec import number
from mozzi.model import Model
from mozzi.model.joints.joint import Joint
from mozzi.program.scalar import Real

__all__ = ["BodyData", "Kind", "bodies_of", "by_structure", "tidy_pose"]

Kind = tuple[object, bool, tuple[bool, ...], object]
"""Bodies of one kind run through the same code when rolled."""


@dataclass(frozen=True)
class BodyData:
    """What the recursions need of one body. Bodies are numbered as in the model, 0, 1, …, and −1 is
    the world.

    The pose in the parent is placement · pose(q). Where ``aligned``, it is made with fewer
    operations: link · Tz(joint_offset) · Rz(joint_angle + q), and `placement` is that at q = 0.
    Otherwise `link` is the placement.
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
    link: SE3
    joint_angle: float = 0.0
    joint_offset: float = 0.0
    aligned: bool = False
    held: tuple[bool, ...] = ()
    """Which coordinates have prescribed accelerations (hybrid dynamics)."""
    structure: object = None
    """What else bodies of its kind have in common: see `by_structure`."""

    @property
    def kind(self) -> Kind:
        """Bodies of one kind run through the same code when rolled."""
        return (self.joint.kind, self.joint.code), self.aligned, self.held, self.structure


def by_structure(bodies: Sequence[BodyData], most: int) -> tuple[BodyData, ...]:
    """Bodies whose kinds also tell which of their numbers are zeros and ones, in as much detail as
    gives at most so many kinds: what one kind has in common folds.
    """

    def world(body: BodyData) -> object:
        return body.parent < 0

    def axes(body: BodyData) -> object:
        """Which axes of the joint are axes of the parent."""
        return world(body), _exact(body.link.R.flatten(), (0.0, 1.0, -1.0))

    def all_zeros(body: BodyData) -> object:
        return axes(body), _exact((*body.link.p, *body.inertia.flatten()), (0.0,))

    for detail in (all_zeros, axes, world):
        found = [detail(body) for body in bodies]
        kinds = {(body.kind, x) for body, x in zip(bodies, found, strict=True)}
        if len(kinds) <= most:
            pairs = zip(bodies, found, strict=True)
            return tuple(replace(body, structure=x) for body, x in pairs)
    return tuple(bodies)


def _exact(numbers: Sequence[Real], among: Sequence[float]) -> tuple[float | None, ...]:
    """The numbers that are one of these, None for the others."""
    known = map(number, numbers)
    return tuple(x if x in among else None for x in known)


def _tidy(x: Real, exact: Sequence[float], noise: float) -> Real:
    """Rounding noise of a product of constant rotations is not structure: 1e-17 is 0 and 1 − 1e-16
    is 1. Numbers that vary stay.
    """
    known = number(x)
    return x if known is None else next((e for e in exact if abs(known - e) < noise), known)


def tidy_pose(T: SE3) -> SE3:
    """A pose without the rounding noise of its making, where it is constant."""
    R = Rotation(*(_tidy(x, (0.0, 1.0, -1.0), 4e-16) for x in T.R.general().flatten()))
    return SE3(R, Vec3(*(_tidy(x, (0.0,), 1e-16) for x in T.p)))


def bodies_of(model: Model) -> tuple[BodyData, ...]:
    """The bodies of a model, with their frames on their joints."""
    bodies: list[BodyData] = []
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
                body.name, body.parent, joint, placement, inertia, frame, own.armature,
                own.damping, own.friction, own.stiffness, own.rest, q, v,
                tidy_pose(onto.inverse()), placement, held=(False,) * joint.nv,
            )
        )  # fmt: skip
        q, v = q + joint.nq, v + joint.nv
    return tuple(bodies)
