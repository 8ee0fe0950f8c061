"""Parallel robots as linkages: a platform on many legs, of which any joint may be cut."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from mozzi.lie import SE3, Rotation, Vec3
from mozzi.model.generate.linkages import GROUND, Linkage, LinkageSpring, between
from mozzi.model.generate.mechanisms import random_inertia, random_pose
from mozzi.model.joints.axes import Prismatic, Revolute, Universal
from mozzi.model.joints.joint import Joint
from mozzi.model.joints.spatial import Spherical

__all__ = ["delta", "stewart"]

Places = Mapping[str, Sequence[float] | np.ndarray]
"""Bodies → where they are."""

Parts = Sequence[tuple[str, str, str, Joint, tuple[np.ndarray, np.ndarray, np.ndarray]]]
"""Joints: name, bodies a and b, kind, and (where, its axis z, its axis x) in the world."""

Springs = Sequence[tuple[str, np.ndarray, np.ndarray]]
"""Bodies, where the ground holds them, and the point of the body that it holds."""


def delta(seed: int = 0) -> Linkage:
    """Clavel's robot with universal joints at both ends of its six rods, in random position: 24
    rows of rank 18, three degrees of freedom. A spring holds the platform.
    """
    rng = np.random.default_rng(seed + 8000)
    base, arm, rod = rng.uniform(0.15, 0.25), rng.uniform(0.25, 0.35), rng.uniform(0.7, 0.9)
    platform, width = rng.uniform(0.05, 0.1), rng.uniform(0.1, 0.2)
    lift = rng.uniform(-0.3, 0.3)
    up = np.array([0.0, 0.0, 1.0])
    reach = base + arm * math.cos(lift) - platform
    low = arm * math.sin(lift) - math.sqrt(rod**2 - reach**2)
    places: dict[str, np.ndarray] = {"platform": low * up}
    parts: list[tuple[str, str, str, Joint, tuple[np.ndarray, np.ndarray, np.ndarray]]] = []
    for k, turn in enumerate((0.0, 2.0 * math.pi / 3.0, 4.0 * math.pi / 3.0)):
        out = np.array([math.cos(turn), math.sin(turn), 0.0])
        along = np.cross(up, out)
        shoulder = base * out
        elbow = shoulder + arm * (math.cos(lift) * out + math.sin(lift) * up)
        wrist = platform * out + low * up
        across = np.cross(along, (wrist - elbow) / rod)
        places[f"arm_{k}"] = 0.5 * (shoulder + elbow)
        parts.append((f"motor_{k}", GROUND, f"arm_{k}", Revolute(), (shoulder, along, out)))
        for side, y in (("left", 0.5 * width), ("right", -0.5 * width)):
            name, aside = f"rod_{k}_{side}", y * along
            places[name] = 0.5 * (elbow + wrist) + aside
            for end, other, p in (("elbow", f"arm_{k}", elbow), ("wrist", "platform", wrist)):
                where = p + aside, along, across
                parts.append((f"{end}_{k}_{side}", other, name, Universal(), where))
    springs = [("platform", low * up, low * up)]
    return _assembled("delta", places, parts, springs, 4000.0, rng)


def stewart(seed: int = 0) -> Linkage:
    """Six legs, each of a universal joint, a slide and a ball, and a platform, in random position.
    Springs hold the platform along the legs.
    """
    rng = np.random.default_rng(seed + 9000)
    height, spread = rng.uniform(0.6, 0.9), rng.uniform(0.2, 0.35)
    feet = np.radians([-10.0, 10.0, 110.0, 130.0, 230.0, 250.0]) + rng.uniform(-0.1, 0.1, 6)
    balls = np.radians([-50.0, 50.0, 70.0, 170.0, 190.0, 290.0]) + rng.uniform(-0.1, 0.1, 6)
    places: dict[str, np.ndarray] = {"platform": np.array([0.0, 0.0, height])}
    parts: list[tuple[str, str, str, Joint, tuple[np.ndarray, np.ndarray, np.ndarray]]] = []
    springs: list[tuple[str, np.ndarray, np.ndarray]] = []
    for k, (s, t) in enumerate(zip(feet, balls, strict=True)):
        foot = np.array([0.6 * math.cos(s), 0.6 * math.sin(s), 0.0])
        ball = np.array([spread * math.cos(t), spread * math.sin(t), height])
        leg = (ball - foot) / np.linalg.norm(ball - foot)
        level = np.array([-math.sin(s), math.cos(s), 0.0])
        first = level - leg * (leg @ level)
        first /= np.linalg.norm(first)
        across = np.cross(first, leg)
        tube, piston = f"tube_{k}", f"piston_{k}"
        places |= {tube: foot + 0.1 * leg, piston: ball - 0.1 * leg}
        parts += [
            (f"foot_{k}", GROUND, tube, Universal(), (foot, first, across)),
            (f"slide_{k}", tube, piston, Prismatic(), (foot, leg, first)),
            (f"ball_{k}", piston, "platform", Spherical(), (ball, leg, first)),
        ]
        springs.append(("platform", foot, ball))
    return _assembled("stewart", places, parts, springs, 2000.0, rng)


def _assembled(
    name: str, places: Places, parts: Parts, springs: Springs, stiffness: float,
    rng: np.random.Generator,
) -> Linkage:  # fmt: skip
    """The linkage with bodies and joints where they are, placed at random, with random bodies."""
    place = random_pose(rng)
    at = {GROUND: SE3.identity()}
    for body, p in places.items():
        at[body] = SE3(random_pose(rng).R, place @ Vec3(*map(float, p)))
    joints = tuple(
        between(what, a, b, joint, place @ _frame(*where), at) for what, a, b, joint, where in parts
    )
    held: list[LinkageSpring] = []
    for k, (body, *ends) in enumerate(springs):
        point_a, point_b = (place @ Vec3(*map(float, p)) for p in ends)
        length = float(np.linalg.norm(ends[1] - ends[0]))
        own = at[body].inverse() @ point_b
        held.append(LinkageSpring(f"spring_{k}", GROUND, body, point_a, own, stiffness, length))
    bodies = {body: random_inertia(rng, 0.5, 0.1) for body in places}
    return Linkage(name, bodies, joints, tuple(held))


def _frame(p: np.ndarray, z: np.ndarray, x: np.ndarray) -> SE3:
    R = np.stack([x, np.cross(z, x), z], axis=1)
    return SE3(Rotation(*R.ravel().tolist()), Vec3(*map(float, p)))
