"""Mechanisms with loops that tests share."""

from __future__ import annotations

from typing import Any

import numpy as np

import mozzi as mz
from mozzi.lie import SE3, Twist
from mozzi.model import Model
from mozzi.model.generate import four_bar, random_tree


def pose(rng: np.random.Generator) -> SE3:
    """A random pose."""
    return SE3.exp(Twist.from_array(rng.normal(size=6)))


def closed_tree(joint: Any, seed: int = 0, n: int = 6, ends: Any = (3, 5)) -> tuple[Model, Any]:
    """A random tree with a loop closed by this joint, and a configuration in which it is closed."""
    rng = np.random.default_rng(seed)
    tree = random_tree(n, seed)
    q = tree.random_configuration(rng)
    a, b = ends
    C = [np.eye(4) if k is None else mz.forward_kinematics(tree, q)[k] for k in (a, b)]
    P_a = pose(rng)
    own = [0.5 * float(x) if joint.flat else float(x) for x in joint.random(rng)]
    P_b = np.linalg.inv(C[1]) @ C[0] @ P_a.matrix() @ joint.motion(own).matrix()
    return tree.with_loop("closure", a, b, joint, P_a, P_b), q


def state(model: Model, q: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Velocities that keep the loops closed, and joint forces."""
    v, tau = np.random.default_rng(seed).normal(size=(2, model.nv))
    return mz.consistent_velocities(model, q, v), tau


def rod(length: float, mass: float = 1.0) -> mz.Inertia:
    """A slender rod along x."""
    J = mass * length**2 / 12.0
    return mz.Inertia(mass, (length / 2, 0.0, 0.0), np.diag([0.01 * J, J, J]))


def windows(n: int, length: float = 1.0) -> Model:
    """The n-four-bar: n + 1 upright cranks on the ground, and n bars between neighbours (A02).

    In the x–z plane; crank k on (k, 0, 0) points upward at q = 0, and its bar to the right. At q =
    (θ, −θ, θ, −θ, …, θ) all cranks lean by θ to the right and all bars are level.
    """
    up = SE3.from_matrix(np.array([[0.0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1]]).T)
    b = mz.Builder("windows")
    for k in range(n + 1):
        at = SE3.translation(k * length, 0.0, 0.0)
        upward = mz.Revolute("y").between(at, up.inverse())
        b.add(f"crank_{k}", None, upward, rod(length), joint_name=f"crank_{k}")
        if k < n:
            tip = SE3.translation(length, 0.0, 0.0) @ up.inverse()
            b.add(f"bar_{k}", f"crank_{k}", mz.Revolute("y").between(tip), rod(length))
    for k in range(n):
        b.loop(
            f"window_{k}", f"bar_{k}", f"crank_{k + 1}", mz.Revolute("y"), (length, 0, 0),
            (length, 0, 0),
        )  # fmt: skip
    return b.build()


def leaning(model: Model, angle: float) -> np.ndarray:
    """The configuration of `windows` whose cranks lean by an angle."""
    return np.array([angle if "crank" in name else -angle for name in model.joint_names])


def slider_crank(crank: float = 0.4, rod_length: float = 1.1) -> Model:
    """Crank, connecting rod and a slider along x that it drives."""
    b = mz.Builder("slider_crank")
    b.add("crank", None, mz.Revolute("y"), rod(crank))
    b.add("rod", "crank", mz.Revolute("y"), rod(rod_length), placement=(crank, 0, 0))
    block = mz.Inertia(0.7, (0.0, 0.0, 0.0), 0.01 * np.eye(3))
    b.add("slider", None, mz.Prismatic("x"), block)
    return b.loop("pin", "rod", "slider", mz.Revolute("y"), (rod_length, 0, 0)).build()


def motion(seed: int = 0, model: mz.Model | None = None) -> tuple:
    """A mechanism and a motion that keeps it closed."""
    rng = np.random.default_rng(seed)
    model = model or four_bar()
    q = mz.assemble(model, model.random_configuration(rng))
    v = mz.consistent_velocities(model, q, rng.normal(size=model.nv))
    return model, q, v, mz.forward_dynamics(model, q, v, rng.normal(size=model.nv))


def five_bar() -> mz.Model:
    """Two cranks and two rods in a plane: two degrees of freedom."""
    b = mz.Builder("five_bar")
    b.add("left", None, mz.Revolute("y"), rod(0.5))
    b.add("left_rod", "left", mz.Revolute("y"), rod(0.8), placement=(0.5, 0, 0))
    b.add("right", None, mz.Revolute("y"), rod(0.5), placement=(0.6, 0, 0))
    b.add("right_rod", "right", mz.Revolute("y"), rod(0.8), placement=(0.5, 0, 0))
    ends = (0.8, 0, 0), (0.8, 0, 0)
    return b.loop("tip", "left_rod", "right_rod", mz.Revolute("y"), *ends).build()
