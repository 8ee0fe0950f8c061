"""Mechanisms that roll: a bicycle, and a car that steers."""

from __future__ import annotations

import math

import numpy as np

from mozzi.lie import SE3, Inertia, Twist, Vec3
from mozzi.model.builder import Builder
from mozzi.model.joints.axes import Revolute
from mozzi.model.joints.spatial import Free
from mozzi.model.model import Model
from mozzi.model.shapes import Box, Capsule, Disc, Plane

__all__ = ["bicycle", "car"]

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


def car(length: float = 2.4, width: float = 1.4, radius: float = 0.3) -> Model:
    """A car on four wheels that roll on the plane z = 0; its front axle turns as a whole.

    x points ahead, z up, and the frame of the chassis is above the middle of the rear axle at the
    ground. Joints: ``chassis`` (free), ``steer`` (of the front axle, about z), and the wheels
    ``front_left``, … (about y: positive rates ride ahead). Twelve rows of rank nine leave two
    degrees of freedom: how fast it rides and how fast it steers.
    """
    build = Builder("car")
    box = 1.2 * length, width, 0.5
    inertia = 900.0 / 12.0 * np.diag([width**2 + 0.25, box[0] ** 2 + 0.25, box[0] ** 2 + width**2])
    build.add("chassis", None, Free(), Inertia(900.0, (0.5 * length, 0.0, 0.6), inertia))
    beam = Inertia(40.0, (0.0, 0.0, 0.0), np.diag([8.0, 1.0, 8.0]))
    at = SE3.translation(length, 0.0, radius)
    build.add("axle", "chassis", Revolute("z").between(at), beam, joint_name="steer")
    middle = SE3.translation(0.5 * length, 0.0, 2.0 * radius + 0.1)
    build.shape("chassis", Box(box), middle, "body", "visual", (0.7, 0.2, 0.2))
    build.shape("axle", Box((0.1, width, 0.1)), None, "beam", "visual", (0.4, 0.4, 0.4))
    build.shape(None, Plane(), name="ground", role="collision")
    wheel = Inertia(20.0, (0.0, 0.0, 0.0), np.diag([0.5, 0.9, 0.5]))
    names = [f"{end}_{side}" for end in ("front", "rear") for side in ("left", "right")]
    for name in names:
        parent, x, z = ("axle", 0.0, 0.0) if "front" in name else ("chassis", 0.0, radius)
        y = 0.5 * width if "left" in name else -0.5 * width
        hub = SE3.translation(x, y, z)
        build.add(f"{name}_wheel", parent, Revolute("y").between(hub), wheel, joint_name=name)
        build.shape(f"{name}_wheel", Disc(radius), ACROSS, name, color=(0.15, 0.15, 0.15))
    model = build.build()
    for name in names:
        model = model.with_rolling(f"{name}_contact", name, "ground")
    return model


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
