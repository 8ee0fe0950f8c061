"""Mechanisms, exact arithmetic and finite differences for the tests of kinematics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath as mp
import numpy as np

import mozzi as mz
from mozzi.lie import SE3
from mozzi.model import Builder, Composite, Model, Revolute, Spherical, Universal, example_joints
from mozzi.model.generate import random_pose

REPS = ("body", "spatial", "hybrid", "mixed")


def every_joint(seed: int = 0) -> Model:
    """A tree with joints of every registered class (redundant ones left out), frames anywhere."""
    rng = np.random.default_rng(seed)
    builder, names = Builder("every_joint"), [None]
    for name, joint in example_joints().items():
        if joint.nv and not _redundant(joint):
            parent = names[int(rng.integers(max(0, len(names) - 3), len(names)))]
            builder.add(name, parent, joint.between(random_pose(rng), random_pose(rng)))
            names.append(name)
    return builder.frame("tip", names[-1], random_pose(rng)).build(physical=False)


def _redundant(joint: Any) -> bool:
    q = [float(x[0]) for x in joint.random(np.random.default_rng(0), (1,))]
    S = np.array(joint.screws(q).array(), dtype=float)
    return np.linalg.svd(S, compute_uv=False).min() < 1e-9


def branched(seed: int = 0) -> Model:
    """A small tree with joints that commute, that do not, and that are products."""
    rng = np.random.default_rng(seed)
    builder = Builder("branched")
    joints = [
        Revolute(), Spherical(), Universal(), mz.Prismatic(),
        Composite(Spherical(), Revolute("x").between(random_pose(rng), random_pose(rng))),
        mz.Cylindrical(),
    ]  # fmt: skip
    for k, joint in enumerate(joints):
        parent = f"b{k - 1}" if k else None
        builder.add(f"b{k}", parent, joint.between(random_pose(rng), random_pose(rng)))
    builder.add("side", "b2", Revolute())
    return builder.frame("tip", "b5", random_pose(rng)).build(physical=False)


def moved_base(model: Model, S: SE3) -> Model:
    """The same mechanism in another inertial frame: C' = S C."""
    bodies = [
        replace(body, joint=body.joint.between(S, None)) if body.parent < 0 else body
        for body in model
    ]
    return Model(model.name, bodies, model._frames)


def moved_bodies(model: Model, S: SE3) -> Model:
    """The same mechanism with other body frames: C' = C S."""
    back = S.inverse()
    bodies = []
    for body in model:
        onto = None if body.parent < 0 else back
        bodies.append(replace(body, joint=body.joint.between(onto, back)))
    frames = [(name, b, back @ T if b >= 0 else T) for name, b, T in model._frames]
    return Model(model.name, bodies, frames)


def exact(x: Any) -> np.ndarray:
    """The same numbers in 50 digits."""
    out = np.empty(np.shape(x), dtype=object)
    for place in np.ndindex(out.shape):
        out[place] = mp.mpf(float(np.asarray(x)[place]))
    return out


def apart(a: Any, b: Any) -> float:
    """The largest difference, relative to the largest entry (or to 1)."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape, (a.shape, b.shape)
    top = max([1.0, *(abs(float(x)) for x in a.ravel())])
    return max((abs(float(x)) for x in (a - b).ravel()), default=0.0) / top


def motion(model: Model, q: np.ndarray, v: Any, a: Any, j: Any, t: Any) -> tuple[Any, Any]:
    """(q, v) at the time t of the motion from q with v(t) = v + a t + j t²/2: Runge–Kutta steps
    whose error is far below what is compared, since t is tiny."""
    from mozzi.algorithms.kinematics.configuration import rates

    def speed(s: Any) -> Any:
        return v + a * s + j * (s * s / 2)

    k1 = rates.python(model, q, speed(0 * t))
    k2 = rates.python(model, q + k1 * (t / 2), speed(t / 2))
    k3 = rates.python(model, q + k2 * (t / 2), speed(t / 2))
    k4 = rates.python(model, q + k3 * t, speed(t))
    return q + (k1 + 2 * k2 + 2 * k3 + k4) * (t / 6), speed(t)


def time_derivatives(f: Any, model: Model, q: Any, v: Any, a: Any, j: Any) -> tuple[Any, Any]:
    """First and second derivative of f(q, v) along that motion, by five points in 50 digits."""
    h = mp.mpf(10) ** -8
    x = {k: f(*motion(model, q, v, a, j, k * h)) for k in (-2, -1, 0, 1, 2)}
    first = (8 * (x[1] - x[-1]) - (x[2] - x[-2])) / (12 * h)
    second = (16 * (x[1] + x[-1]) - (x[2] + x[-2]) - 30 * x[0]) / (12 * h * h)
    return first, second
