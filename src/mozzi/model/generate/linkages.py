"""Linkages without an order: bodies and joints, of which any may close a loop.

A model is a tree and loops; where a linkage is cut into them is a choice that its motion does not
depend on. A `Linkage` leaves it open, and `model` makes it. The overconstrained linkages of the
books are in `rings` and `six_bars`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mozzi.errors import ModelError
from mozzi.lie import SE3, Inertia, Rotation, Vec3
from mozzi.model.builder import Builder
from mozzi.model.generate.mechanisms import random_inertia, random_pose
from mozzi.model.joints.axes import Fixed, Prismatic, Revolute, Screw, Universal
from mozzi.model.joints.joint import Joint
from mozzi.model.joints.spatial import Spherical
from mozzi.model.model import GRAVITY, Model

__all__ = ["GROUND", "Axis", "Linkage", "LinkageJoint", "LinkageSpring", "between", "ring"]

GROUND = "ground"
HALF_TURN = SE3(Rotation(1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0), Vec3.zero())
EXCHANGE = SE3(Rotation(0.0, 0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, 0.0), Vec3.zero())  # x ↔ z


@dataclass(frozen=True)
class LinkageJoint:
    """A joint from body a to body b, with its frames on both."""

    name: str
    a: str
    b: str
    joint: Joint

    def turned(self) -> LinkageJoint:
        """The same joint, from b to a.

        F_a T(q) F_b⁻¹ inverted is F_b T(q)⁻¹ F_a⁻¹. T(q)⁻¹ is T(q) seen after half a turn about x
        of joints about an axis; T of the opposite angles in the opposite order of universal ones;
        and T of the inverse rotation of balls.
        """
        joint, seen = self.joint, SE3.identity()
        if isinstance(joint, (Revolute, Prismatic, Screw)):
            seen = HALF_TURN
        elif isinstance(joint, Universal):
            seen = EXCHANGE
        elif not isinstance(joint, (Spherical, Fixed)):
            kind = type(joint).__name__
            raise ModelError(f"joint {self.name!r}: a {kind} joint cannot be turned round")
        frames = joint.frame_child @ seen, joint.frame_parent @ seen
        return LinkageJoint(self.name, self.b, self.a, joint.with_frames(*frames))


def between(
    name: str, a: str, b: str, joint: Joint, frame: SE3, at: Mapping[str, SE3]
) -> LinkageJoint:
    """A joint whose two frames coincide in the world, in a configuration of the bodies."""
    own = at[a].inverse() @ frame, at[b].inverse() @ frame
    return LinkageJoint(name, a, b, joint.with_frames(*own))


@dataclass(frozen=True)
class LinkageSpring:
    """A spring between points of two bodies."""

    name: str
    a: str
    b: str
    point_a: Vec3
    point_b: Vec3
    stiffness: float
    length: float = 0.0


@dataclass(frozen=True)
class Linkage:
    """Bodies by name (besides "ground"), joints between any two of them, and springs."""

    name: str
    bodies: Mapping[str, Inertia]
    joints: tuple[LinkageJoint, ...]
    springs: tuple[LinkageSpring, ...] = ()

    def model(self, cut: Sequence[str] = (), gravity: Sequence[float] = GRAVITY) -> Model:
        """The linkage as a tree whose loops these joints close; where they are not enough, the
        last joints on the way around close the others.
        """
        for name in cut:
            if name not in {x.name for x in self.joints}:
                raise ModelError(f"linkage {self.name!r} has no joint {name!r} to cut")
        builder = Builder(self.name, gravity)
        ordered = [x for x in self.joints if x.name not in cut]
        reached, closing = {GROUND}, [x for x in self.joints if x.name in cut]
        while ordered:
            k = next((k for k, x in enumerate(ordered) if {x.a, x.b} & reached), None)
            if k is None:
                break
            edge = ordered.pop(k)
            if edge.a in reached and edge.b in reached:
                closing.append(edge)
                continue
            edge = edge if edge.a in reached else edge.turned()
            parent = None if edge.a == GROUND else edge.a
            builder.add(edge.b, parent, edge.joint, self.bodies[edge.b], joint_name=edge.name)
            reached.add(edge.b)
        missing = set(self.bodies) - reached
        if missing:
            raise ModelError(
                f"linkage {self.name!r}: {', '.join(sorted(missing))} hang on nothing when "
                f"{', '.join(cut)} are cut; cut fewer joints"
            )
        for edge in closing:
            a, b = (None if x == GROUND else x for x in (edge.a, edge.b))
            joint = edge.joint
            bare = joint.with_frames(None, None)
            builder.loop(edge.name, a, b, bare, joint.frame_parent, joint.frame_child)
        for x in self.springs:
            a, b = (None if name == GROUND else name for name in (x.a, x.b))
            ends = (tuple(map(float, p)) for p in (x.point_a, x.point_b))
            builder.spring(x.name, a, b, *ends, stiffness=x.stiffness, length=x.length)
        return builder.build()


# -- rings of joints about axes --

Axis = tuple[Sequence[float], Sequence[float]]
"""A point and a direction."""


def ring(
    name: str, axes: Sequence[Axis], seed: int = 0, kinds: Sequence[type[Joint]] | None = None,
    stiffness: float = 0.0,
) -> Linkage:  # fmt: skip
    """A ring of bodies on these axes, in the configuration q = 0: body k lies between axes k and
    k + 1, and the ground between the last and the first. Placed at random, with random bodies.
    With a stiffness, a spring holds the middle body where it is.
    """
    rng = np.random.default_rng(seed)
    n, place = len(axes), random_pose(rng)
    points = [place @ Vec3(*map(float, p)) for p, _ in axes]
    frames = [
        place @ SE3(_frame(e), Vec3(*map(float, p))) @ _about_z(rng.uniform(-math.pi, math.pi))
        for p, e in axes
    ]
    names = [GROUND, *(f"link_{k}" for k in range(1, n))]
    at, bodies = {GROUND: SE3.identity()}, dict[str, Inertia]()
    for k in range(1, n):
        middle = (points[k - 1] + points[k]) * 0.5
        at[names[k]] = SE3(random_pose(rng).R, middle)
        bodies[names[k]] = random_inertia(rng)
    joints: list[LinkageJoint] = []
    for k in range(n):
        a, b = names[k], names[(k + 1) % n]
        joint = (kinds[k] if kinds else Revolute)()
        joints.append(between(f"joint_{k + 1}", a, b, joint, frames[k], at))
    springs: list[LinkageSpring] = []
    if stiffness:
        middle, here = names[n // 2], Vec3.zero()
        held = LinkageSpring("spring", GROUND, middle, at[middle].p, here, stiffness)
        springs.append(held)
    return Linkage(name, bodies, tuple(joints), tuple(springs))


def _frame(e: Sequence[float]) -> Rotation:
    """A rotation that takes z to e."""
    z = np.asarray(e, dtype=float) / np.linalg.norm(e)
    x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.8 else [1.0, 0.0, 0.0], z)
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z], axis=1)
    return Rotation(*R.ravel().tolist())


def _about_z(angle: float) -> SE3:
    return SE3(Rotation.about(Vec3(0.0, 0.0, 1.0), angle), Vec3.zero())
