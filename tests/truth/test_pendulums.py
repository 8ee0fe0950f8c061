"""Chains of point masses on massless rods, against the textbook equations of motion."""

import numpy as np
import pytest
from support.mechanics import agree, value

import mozzi as mz

G = 9.81


def pendulum(n):
    """n unit masses on unit rods, in the x–z plane; relative angles from hanging."""
    builder = mz.Builder("pendulum", gravity=(0, 0, -G))
    point = mz.Inertia(1.0, (0, 0, -1.0), np.zeros((3, 3)))
    for k in range(n):
        joint = mz.Revolute((0, -1, 0)).between((0, 0, -1.0 if k else 0.0), None)
        builder.add(f"m{k}", f"m{k - 1}" if k else None, joint, point)
    return builder.build()


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_equations_of_motion(n):
    """Σ_j c_ij (θ̈_j cos θ_ij + θ̇_j² sin θ_ij) + c_ii g sin θ_i = 0, with c_ij = n − max(i, j)."""
    model = pendulum(n)
    rng = np.random.default_rng(n)
    theta, omega = rng.uniform(-2, 2, n), rng.normal(size=n)
    count = n - np.maximum.outer(np.arange(n), np.arange(n))
    d = theta[:, None] - theta[None, :]
    right = -(count * np.sin(d)) @ omega**2 - np.diag(count) * G * np.sin(theta)
    alpha = np.linalg.solve(count * np.cos(d), right)
    q, v = np.diff(theta, prepend=0.0), np.diff(omega, prepend=0.0)
    agree(value(mz.forward_dynamics, model, q, v, np.zeros(n)), np.diff(alpha, prepend=0.0), 1e-12)


TWO = {  # at t = 1, 3: absolute angles and velocities, all at π/2 and at rest at t = 0
    1.0: ((-0.625087699806391, -1.034585085680012), (-3.922279572887976, -1.303099248696331)),
    3.0: ((1.785795522077417, 1.118107461205155), (0.327980619514456, -0.504455103945312)),
}


def test_double_pendulum_after_some_seconds():
    """Integrated here with a Runge–Kutta method of order 4, 4000 steps a second."""
    model = pendulum(2)
    kernel = mz.compile(mz.forward_dynamics, model)
    q, v, h = np.array([np.pi / 2, 0.0]), np.zeros(2), 1.0 / 4000
    tau = np.zeros(2)

    def rate(x):
        return np.r_[x[2:], kernel(x[:2], x[2:], tau)]

    x = np.r_[q, v]
    for step in range(1, 12001):
        k1 = rate(x)
        k2 = rate(x + 0.5 * h * k1)
        k3 = rate(x + 0.5 * h * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
        if step * h in TWO:
            theta, omega = TWO[step * h]
            agree(np.cumsum(x[:2]), theta, 1e-9)
            agree(np.cumsum(x[2:]), omega, 1e-9)


def test_heavy_top():
    """ω̇ and the acceleration of the mass at the start of the heavy top benchmark."""
    builder = mz.Builder("top", gravity=(0, 0, -G))
    inertia = mz.Inertia(15.0, (0, 1.0, 0), np.diag([0.234375, 0.46875, 0.234375]))
    builder.add("top", None, mz.Spherical(), inertia)
    model = builder.build()
    w = np.array([0.0, 150.0, -4.61538])
    a = value(mz.forward_dynamics, model, model.neutral(), w, np.zeros(3))
    agree(a, [661.3461692307692, 0.0, 0.0], 1e-13)
    c = np.array([0, 1.0, 0])
    r = np.cross(a, c) + np.cross(w, np.cross(w, c))
    agree(r, [0, -21.3017325444, -30.9608307692308], 1e-12)
    energy = value(mz.kinetic_energy, model, model.neutral(), w)
    agree(energy + value(mz.potential_energy, model, model.neutral()), 5435.6967908655469, 1e-13)
    agree(value(mz.momentum, model, model.neutral(), w)[2], -70.3124296875, 1e-12)
