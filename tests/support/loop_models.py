"""Mechanisms with loops that tests share."""

from __future__ import annotations

import math
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


def denavit(a: float, alpha: float) -> SE3:
    """From one axis to the next: a along x, then the twist α about x."""
    c, s = math.cos(alpha), math.sin(alpha)
    turn = np.array([[1.0, 0, 0, a], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])
    return SE3.from_matrix(turn)


def ring(links: list[tuple[float, float]]) -> mz.Model:
    """A closed ring of revolute joints, link by link (a, α); link 0 is the ground, and the last
    joint closes the loop.
    """
    b = mz.Builder("ring")
    parent, shape = None, denavit(*links[0])
    for k, link in enumerate(links[1:], 1):
        joint = mz.Revolute("z").between(shape)
        inertia = mz.Inertia(1.0, (link[0] / 2, 0.1, 0.05), np.diag([0.02, 0.05, 0.04]))
        b.add(f"link_{k}", parent, joint, inertia)
        parent, shape = f"link_{k}", denavit(*link)
    return b.loop("last", parent, None, mz.Revolute("z"), shape, None).build()


def bennett() -> mz.Model:
    """Bennett's four-bar: (a, α), (b, β) twice with a sin β = b sin α."""
    a, alpha, beta = 1.0, 0.6, 1.1
    b = a * math.sin(beta) / math.sin(alpha)
    return ring([(a, alpha), (b, beta), (a, alpha), (b, beta)])


def bricard() -> mz.Model:
    """Bricard's trihedral linkage: six equal links of twist ±90°, one degree of freedom."""
    return ring([(1.0, (-1) ** k * math.pi / 2) for k in range(6)])


def stewart(turn: float = 0.0) -> tuple[mz.Model, np.ndarray]:
    """Six legs, each of a universal joint, a slide and a ball, and a platform above that is turned
    by an angle: closed at q. The platform's centre of mass is not its middle.
    """
    b = mz.Builder("stewart")
    disk = mz.Inertia(2.0, (0.0, 0.02, 0.01), np.diag([0.05, 0.05, 0.09]))
    c, s = math.cos(turn), math.sin(turn)
    T = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0.7], [0, 0, 0, 1.0]])
    b.add("platform", None, mz.Free(), disk)
    q = [0.0, 0.0, 0.7, 0.0, 0.0, math.sin(turn / 2), math.cos(turn / 2)]
    feet = np.radians([-10.0, 10.0, 110.0, 130.0, 230.0, 250.0])
    balls = np.radians([-50.0, 50.0, 70.0, 170.0, 190.0, 290.0])
    for k, (x, y) in enumerate(zip(feet, balls, strict=True)):
        foot = np.array([0.6 * math.cos(x), 0.6 * math.sin(x), 0.0])
        ball = np.array([0.3 * math.cos(y), 0.3 * math.sin(y), 0.0])
        d = (T @ [*ball, 1.0])[:3] - foot
        length = np.linalg.norm(d)
        z = d / length
        u = np.cross([0.0, 1.0, 0.3], z)
        u /= np.linalg.norm(u)
        R = np.eye(4)
        R[:3, :3], R[:3, 3] = np.stack([u, np.cross(z, u), z], 1), foot
        b.add(f"tube_{k}", None, mz.Universal("x", "y"), rod(0.3), placement=SE3.from_matrix(R))
        b.add(f"piston_{k}", f"tube_{k}", mz.Prismatic("z"), rod(0.3), joint_name=f"leg_{k}")
        b.loop(f"ball_{k}", f"piston_{k}", "platform", mz.Spherical(), None, tuple(ball))
        q += [0.0, 0.0, length]
    return b.build(), np.array(q)


def null_space_accelerations(model: Model, q: Any, v: Any, tau: Any) -> np.ndarray:
    """The accelerations that keep the loops closed and are balanced along all motions, dense:
    a = A⁺ (−Ȧ v) + N (Nᵀ M N)⁻¹ Nᵀ (τ − C v − g − M A⁺ (−Ȧ v)), with A N = 0 by singular values.
    """
    A, M = mz.loop_jacobian(model, q), mz.mass_matrix(model, q)
    drift = mz.loop_acceleration(model, q, v, np.zeros(model.nv))
    N = np.linalg.svd(A)[2][np.linalg.matrix_rank(A, tol=1e-8) :].T
    a = np.linalg.lstsq(A, -drift, rcond=1e-9)[0]
    force = N.T @ (tau - mz.bias_forces(model, q, v) - M @ a)
    return a + N @ np.linalg.solve(N.T @ M @ N, force)
