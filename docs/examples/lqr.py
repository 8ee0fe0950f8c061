"""Balancing: a cart-pole and an acrobot, held upright by linear-quadratic regulators.

`mz.linearize` with a time step gives x′ = A x + B u of exactly the step that then simulates the
mechanism; the regulator is the solution of the discrete Riccati equation. Each starts away from
the upright position and must come back with one motor for two coordinates.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_discrete_are

import mozzi as mz

DT = 0.01
ROD = mz.Inertia(0.5, (0.0, 0.0, 0.5), np.diag([0.04, 0.04, 0.001]))


def cart_pole() -> mz.Model:
    """A cart on rails along x and a pole on it, which stands at q = 0."""
    builder = mz.Builder("cart-pole")
    cart = mz.Inertia(1.0, (0.0, 0.0, 0.0), 0.01 * np.eye(3))
    builder.add("cart", None, mz.Prismatic("x"), cart, joint_name="rail")
    builder.add("pole", "cart", mz.Revolute("y"), ROD, joint_name="pivot")
    return builder.build()


def acrobot() -> mz.Model:
    """Two rods that stand on each other at q = 0; the motor is between them."""
    builder = mz.Builder("acrobot")
    builder.add("lower", None, mz.Revolute("y"), ROD, joint_name="shoulder")
    builder.add(
        "upper", "lower", mz.Revolute("y"), ROD, joint_name="elbow", placement=(0.0, 0.0, 1.0)
    )
    return builder.build()


def regulator(model: mz.Model, motor: str) -> np.ndarray:
    """K of u = −K (q, v), for the force of one joint."""
    A, B = mz.linearize(model, *np.zeros((3, model.nv)), dt=DT)
    B = B[:, model.v_slices[motor]]
    Q, R = np.diag([10.0] * model.nv + [1.0] * model.nv), np.array([[0.1]])
    P = solve_discrete_are(A, B, Q, R)
    return np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)


def balance(model: mz.Model, motor: str, q: np.ndarray, seconds: float = 8.0) -> np.ndarray:
    """(q, v) along the motion that starts at rest in q."""
    K, v, states = regulator(model, motor), np.zeros(model.nv), []
    for _ in range(round(seconds / DT)):
        tau = np.zeros(model.nv)
        tau[model.v_slices[motor]] = -K @ np.concatenate([q, v])
        q, v = (x[-1] for x in mz.rollout(model, q, v, tau[None], DT))
        states.append(np.concatenate([q, v]))
    return np.array(states)


def main() -> None:
    cases = (cart_pole(), "rail", [0.5, 0.35]), (acrobot(), "elbow", [0.05, -0.12])
    for model, motor, start in cases:
        states = balance(model, motor, np.array(start))
        print(
            f"{model.name}: starts at {start}, moves up to {np.abs(states).max():.2f}, "
            f"ends within {np.abs(states[-1]).max():.1e} of upright"
        )
        assert np.abs(states[-1]).max() < 1e-3


if __name__ == "__main__":
    main()
