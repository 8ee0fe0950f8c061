"""Platforms on legs at random, as linkages: more rows than they have freedoms to take, where the
axes of their legs are parallel or meet.
"""

from __future__ import annotations

import numpy as np

from mozzi.lie import SE3
from mozzi.model import Joint, Prismatic, Revolute, Spherical, Universal
from mozzi.model.generate.linkages import GROUND, Linkage, between
from mozzi.model.generate.mechanisms import random_inertia, random_pose

Leg = list[tuple[type[Joint], np.ndarray, np.ndarray, np.ndarray]]
"""Joints from the ground to the platform: kind, point, axis, and a second axis at right angles."""


def platform(name: str, legs: list[Leg], rng: np.random.Generator) -> Linkage:
    """Bodies at random on these legs, in the configuration where all joints are neutral."""
    place = random_pose(rng)
    at = {GROUND: SE3.identity(), "platform": random_pose(rng)}
    joints = []
    for i, leg in enumerate(legs):
        links = [GROUND, *(f"link_{i}_{k}" for k in range(1, len(leg))), "platform"]
        at |= {x: random_pose(rng) for x in links[1:-1]}
        for k, (kind, point, z, x) in enumerate(leg):
            frame = np.eye(4)
            frame[:3] = np.c_[x, np.cross(z, x), z, point]
            ends = f"joint_{i}_{k}", links[k], links[k + 1]
            joints.append(between(*ends, kind(), place @ SE3.from_matrix(frame), at))
    bodies = {x: random_inertia(rng) for x in at if x != GROUND}
    return Linkage(name, bodies, tuple(joints))


def _axes(rng: np.random.Generator, z: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """An axis, at random unless given, and one at right angles to it."""
    z = rng.normal(size=3) if z is None else z
    z = z / np.linalg.norm(z)
    x = np.cross(z, rng.normal(size=3))
    return z, x / np.linalg.norm(x)


def _ends(rng: np.random.Generator, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Where a leg stands on the ground, and where it bears the platform."""
    a, b = 2.0 * np.pi * k / n + rng.normal(scale=[0.3, 0.5])
    z = rng.normal(scale=0.2, size=2)
    return (
        np.array([np.cos(a), np.sin(a), z[0]]),
        np.array([np.cos(b) / 2.0, np.sin(b) / 2.0, 1.2 + z[1]]),
    )


def planar(seed: int, n: int) -> Linkage:
    """n-RRR, all axes parallel: rank 2 a leg but the first."""
    rng = np.random.default_rng(seed)
    legs: list[Leg] = []
    for k in range(n):
        p, q = _ends(rng, k, n)
        points = p, 0.8 * p + rng.normal(scale=0.4, size=3), q
        legs.append([(Revolute, x, *_axes(rng, np.eye(3)[2])) for x in points])
    return platform("planar", legs, rng)


def spherical(seed: int, n: int) -> Linkage:
    """n-RRR, all axes through one point."""
    rng = np.random.default_rng(seed)
    legs: list[Leg] = []
    for _ in range(n):
        axes = [_axes(rng) for _ in range(3)]
        legs.append([(Revolute, rng.normal() * z, z, x) for z, x in axes])
    return platform("spherical", legs, rng)


def tripteron(seed: int, n: int) -> Linkage:
    """n-PRRR, the axes of a leg parallel: the platform does not turn."""
    rng = np.random.default_rng(seed)
    legs: list[Leg] = []
    for k in range(n):
        p, q = _ends(rng, k, n)
        points = [p, p + rng.normal(scale=0.3, size=3), (p + q) / 2.0 + rng.normal(size=3), q]
        axes = _axes(rng)
        legs.append([(Prismatic if x is p else Revolute, x, *axes) for x in points])
    return platform("tripteron", legs, rng)


def universal(seed: int, n: int) -> Linkage:
    """n-UPU, whose outer and inner axes are parallel: the platform does not turn."""
    rng = np.random.default_rng(seed)
    legs: list[Leg] = []
    for k in range(n):
        p, q = _ends(rng, k, n)
        z, x = _axes(rng)
        slides = Prismatic, (p + q) / 2.0, *_axes(rng, q - p)
        legs.append([(Universal, p, z, x), slides, (Universal, q, x, z)])
    return platform("universal", legs, rng)


def struts(seed: int, n: int) -> Linkage:
    """n-SPS: every leg turns about itself."""
    rng = np.random.default_rng(seed)
    legs: list[Leg] = []
    for k in range(n):
        p, q = _ends(rng, k, n)
        slides = Prismatic, (p + q) / 2.0, *_axes(rng, q - p)
        legs.append([(Spherical, p, *_axes(rng)), slides, (Spherical, q, *_axes(rng))])
    return platform("struts", legs, rng)
