"""Bodies that touch: balls, boxes, stacks."""

import math

import numpy as np

import mozzi as mz

SIZE = (0.2, 0.3, 0.1)


def tilted(angle):
    """The pose of a plane that falls along x."""
    T = np.eye(4)
    c, s = math.cos(angle), math.sin(angle)
    T[:3, :3] = [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]
    return T


def turned(angle):
    """The quaternion of a turn about y."""
    return [0.0, math.sin(angle / 2), 0.0, math.cos(angle / 2)]


def ball(friction=0.5, restitution=0.0, radius=0.1, slope=0.0, mass=1.0):
    """A solid sphere on a plane."""
    builder = mz.Builder("ball")
    inertia = 0.4 * mass * radius**2 * np.eye(3)
    builder.add("ball", None, mz.Free(), mz.Inertia(mass, (0, 0, 0), inertia))
    builder.shape("ball", mz.Sphere(radius), name="sphere")
    builder.shape(None, mz.Plane(), tilted(slope), name="plane")
    return builder.build().with_contact("c", "sphere", "plane", friction, restitution)


def box_inertia(mass, size=SIZE):
    """Of a solid box."""
    x, y, z = size
    squares = np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
    return mz.Inertia(mass, (0, 0, 0), squares * mass / 12)


def boxes(masses=(1.0,), slope=0.0, friction=0.8):
    """A stack of boxes on a plane, and where it stands."""
    builder = mz.Builder("boxes")
    for k, mass in enumerate(masses):
        builder.add(f"box{k}", None, mz.Free(), box_inertia(mass))
        builder.shape(f"box{k}", mz.Box(SIZE), name=f"shape{k}")
    builder.shape(None, mz.Plane(), tilted(slope), name="plane")
    model = builder.build().with_contact("c0", "shape0", "plane", friction)
    for k in range(1, len(masses)):
        model = model.with_contact(f"c{k}", f"shape{k}", f"shape{k - 1}", friction)
    q = model.neutral().reshape(-1, 7)
    q[:, :3] = np.outer(0.05 + 0.1 * np.arange(len(masses)), tilted(slope)[:3, 2])
    q[:, 3:] = turned(slope)
    return model, q.ravel()
