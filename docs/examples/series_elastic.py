"""Series-elastic arm: the motor torques for a motion of the links, without feedback.

Between every motor (inertia R, angle θ) and its joint (angle q) is a spring k:

    M(q) a + C v + g = τ = k (θ − q),        R θ̈ + τ = u .

So θ = q + τ/k, and the motor torque u = R (a + τ̈/k) + τ needs the second time derivative of the
joint forces along a motion with jerk j and snap s: `mz.inverse_dynamics_rates`.
Müller, Dynamics, 6.3. The check: u drives links and motors, integrated as one system, along the
motion.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import mozzi as mz

STIFFNESS, ROTOR = 800.0, 0.4  # N m/rad, kg m²


def arm() -> mz.Model:
    """Three revolute joints."""
    builder = mz.Builder("arm")
    for k, axis in enumerate("zyy"):
        link = mz.Inertia(2.0 - 0.4 * k, (0.02, 0.0, 0.15), np.diag([0.02, 0.02, 0.005]))
        parent = f"link{k - 1}" if k else None
        builder.add(f"link{k}", parent, mz.Revolute(axis), link, placement=(0.0, 0.0, 0.3))
    return builder.build()


def motion(t: float) -> list[np.ndarray]:
    """q, v, a, j, s of a slow swing of all joints."""
    rate = np.array([2.0, 1.5, 2.5])
    size = np.array([0.8, 0.5, 0.6])
    return [size * rate**n * np.sin(rate * t + n * np.pi / 2) for n in range(5)]


def feedforward(model: mz.Model, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(θ, θ̇, u) for the motion at time t."""
    q, v, a, j, s = motion(t)
    tau, rate, second = mz.inverse_dynamics_rates(model, q, v, a, j, s)
    u = ROTOR * (a + second / STIFFNESS) + tau
    return q + tau / STIFFNESS, v + rate / STIFFNESS, u


def runge_kutta(
    rate: Callable[[float, np.ndarray], np.ndarray], x: np.ndarray, t: float, h: float
) -> np.ndarray:
    """One classical step of ẋ = rate(t, x)."""
    k1 = rate(t, x)
    k2 = rate(t + h / 2, x + h / 2 * k1)
    k3 = rate(t + h / 2, x + h / 2 * k2)
    k4 = rate(t + h, x + h * k3)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def main() -> None:
    model = arm()
    n = model.nv

    def system(t: float, x: np.ndarray) -> np.ndarray:
        """Links and motors: ẋ of x = (q, v, θ, θ̇)."""
        q, v, theta, turn = x.reshape(4, n)
        tau = STIFFNESS * (theta - q)
        u = feedforward(model, t)[2]
        a = mz.forward_dynamics(model, q, v, tau)
        return np.concatenate([v, a, turn, (u - tau) / ROTOR])

    q, v, *_ = motion(0.0)
    theta, turn, _ = feedforward(model, 0.0)
    x, t, h, worst, bent = np.concatenate([q, v, theta, turn]), 0.0, 1e-3, 0.0, 0.0
    for _ in range(1500):
        x, t = runge_kutta(system, x, t, h), t + h
        worst = max(worst, np.abs(x[:n] - motion(t)[0]).max())
        bent = max(bent, np.abs(x[2 * n : 3 * n] - x[:n]).max())
    print(f"springs bend by up to {bent:.3f} rad, joints leave the motion by {worst:.1e} rad")
    assert worst < 1e-6 < bent


if __name__ == "__main__":
    main()
