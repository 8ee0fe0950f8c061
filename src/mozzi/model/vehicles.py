"""Mechanisms that roll: a bicycle, a car, a snakeboard."""

from __future__ import annotations

import math

import numpy as np

from mozzi.lie import SE3, Inertia, Twist, Vec3
from mozzi.model.builder import Builder
from mozzi.model.joints.joint import Revolute
from mozzi.model.joints.spatial import Free
from mozzi.model.model import Model
from mozzi.model.shapes import Capsule, Disc, Plane

__all__ = ["bicycle"]

ACROSS = SE3.exp(Twist(Vec3(-0.5 * math.pi, 0.0, 0.0), Vec3.zero()))
"""Shapes whose axis z lies along y: wheels."""


def bicycle(gravity: float = 9.81) -> Model:
    """The bicycle of the benchmark of Meijaard, Papadopoulos, Ruina and Schwab (2007), with a rigid
    rider and knife-edge wheels that roll on the plane z = 0.

    x points ahead, y to the left, z up, and the frame of the bicycle is at the contact of the rear
    wheel in the neutral configuration: upright, riding along x. Joints: ``frame`` (free),
    ``steer`` (about the axis that points down and ahead, so that a positive angle steers to the
    right), ``rear`` and ``front`` (about y: positive rates ride ahead).
    """
    w, c, tilt = 1.02, 0.08, math.pi / 10.0
    r_R, r_F = 0.3, 0.35
    build = Builder("bicycle", gravity=(0.0, 0.0, -gravity))
    axis = SE3.translation(w + c, 0.0, 0.0) @ SE3.exp(
        Twist(Vec3(0.0, math.pi - tilt, 0.0), Vec3.zero())
    )
    build.add("frame", None, Free(), _part(85.0, (0.3, 0.9), 9.2, 11.0, 2.8, 2.4))
    fork = _part(4.0, (0.9, 0.7), 0.05892, 0.06, 0.00708, -0.00756)
    build.add("fork", "frame", Revolute("z").between(axis, axis), fork, joint_name="steer")
    for name, parent, mass, x, r, across, spin in (
        ("rear", "frame", 2.0, 0.0, r_R, 0.0603, 0.12),
        ("front", "fork", 3.0, w, r_F, 0.1405, 0.28),
    ):
        wheel = Inertia(mass, (0.0, 0.0, 0.0), np.diag([across, spin, across]))
        hub = SE3.translation(x, 0.0, r)
        build.add(f"{name}_wheel", parent, Revolute("y").between(hub), wheel, joint_name=name)
        build.shape(f"{name}_wheel", Disc(r), ACROSS, f"{name}_rim", color=(0.15, 0.15, 0.15))
        build.shape(f"{name}_wheel", Capsule(0.012, 1.8 * r), None, f"{name}_spoke", "visual")
    _bars(build)
    build.shape(None, Plane(), name="ground", role="collision")
    model = build.build().with_rolling("rear_contact", "rear_rim", "ground")
    return model.with_rolling("front_contact", "front_rim", "ground")


def _part(
    mass: float, com: tuple[float, float], xx: float, yy: float, zz: float, xz: float
) -> Inertia:
    """An inertia of the benchmark, whose z points down."""
    x, z = com
    return Inertia(mass, (x, 0.0, z), np.array([[xx, 0.0, -xz], [0.0, yy, 0.0], [-xz, 0.0, zz]]))


def _bars(build: Builder) -> None:
    """What one sees of frame, rider and fork."""
    bars = {
        "frame": [((0.0, 0.3), (0.45, 0.3)), ((0.0, 0.3), (0.3, 0.75)), ((0.45, 0.3), (0.3, 0.75)),
                  ((0.45, 0.3), (0.83, 0.75)), ((0.3, 0.75), (0.83, 0.75)),
                  ((0.3, 0.8), (0.4, 1.3))],
        "fork": [((1.02, 0.35), (0.83, 0.8)), ((0.83, 0.8), (0.7, 0.95))],
    }  # fmt: skip
    for body, lines in bars.items():
        for (x, z), (u, w) in lines:
            long, lean = math.hypot(u - x, w - z), math.atan2(u - x, w - z)
            turn = SE3.exp(Twist(Vec3(0.0, lean, 0.0), Vec3.zero()))
            place = SE3.translation((x + u) / 2, 0.0, (z + w) / 2) @ turn
            build.shape(body, Capsule(0.02, long), place, role="visual", color=(0.2, 0.4, 0.7))
