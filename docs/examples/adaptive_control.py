"""Adaptive tracking of a panda that does not know its payload.

Slotine and Li (1987): with s = v − v_r the distance from the reference velocity v_r = v_d − λ e,
the law

    τ = Y(q, v, v_r, a_r) π̂ − K s,      π̂̇ = −Γ Yᵀ s

makes the function  V = ½ sᵀ M s + ½ (π̂ − π)ᵀ Γ⁻¹ (π̂ − π)  fall, V̇ = −sᵀ K s: because Ṁ − 2C is
skew-symmetric, for the C that `passive_inverse_dynamics` and its regressor share. The payload's ten
inertial parameters π̂ start at zero; everything else about the arm is known, so that the first term
is `passive_inverse_dynamics` of the empty arm plus the payload's part of the regressor.

Run it: it prints the errors and saves adaptive_control.svg where it runs.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import numpy as np

import mozzi as mz

PANDA = Path(
    sysconfig.get_paths()["purelib"],
    "cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf",
)
PAYLOAD = mz.Inertia(2.5, (0.05, -0.03, 0.12), np.diag([0.02, 0.03, 0.015]))
LAMBDA, GAIN = 6.0, 12.0
#: How fast each of the ten parameters adapts: in proportion to what it may be.
GAMMA = np.array([20.0, *[0.4] * 3, *[0.05] * 6])


def arm(path: Path = PANDA) -> mz.Model:
    """The panda with its fingers locked."""
    model = mz.load(path)
    return model.lock([joint for joint in model.joint_names if "finger" in joint])


def desired(t: float, q0: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A motion that excites all joints: position, velocity, acceleration."""
    n = np.arange(len(q0))
    w, size = 0.8 + 0.25 * n, 0.35 / (1.0 + 0.1 * n)
    q = q0 + size * (1.0 - np.cos(w * t))
    return q, size * w * np.sin(w * t), size * w**2 * np.cos(w * t)


def simulate(model: mz.Model, duration: float = 12.0, dt: float = 2e-3) -> dict[str, np.ndarray]:
    """The closed loop, integrated by the classical Runge–Kutta method."""
    last = model.nb - 1
    loaded = model.with_inertia(last, model.body(last).inertia + PAYLOAD)
    forward = mz.compile(mz.forward_dynamics, loaded)
    passive = mz.compile(mz.passive_inverse_dynamics, model)
    regressor = mz.compile(mz.inverse_dynamics_regressor, model, options={"v_ref": True})
    masses = mz.compile(mz.mass_matrix, loaded)
    truth = np.array(PAYLOAD.parameters(), dtype=float)
    q0 = np.array([0.0, -0.4, 0.2, -1.8, 0.1, 1.6, 0.5])

    def closed_loop(t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q, v, estimate = x[:7], x[7:14], x[14:]
        qd, vd, ad = desired(t, q0)
        e, de = q - qd, v - vd
        v_ref, a_ref = vd - LAMBDA * e, ad - LAMBDA * de
        s = v - v_ref
        Y = regressor(q, v, a_ref, v_ref)[:, 10 * last :]
        tau = passive(q, v, v_ref, a_ref) + Y @ estimate - GAIN * s
        rates = np.concatenate([v, forward(q, v, tau), -GAMMA * (Y.T @ s)])
        return rates, s, e

    x = np.concatenate([q0 + 0.1, np.zeros(7), np.zeros(10)])
    kept: dict[str, list] = {"t": [], "error": [], "lyapunov": [], "mass": []}
    for step in range(round(duration / dt) + 1):
        t = step * dt
        k1, s, e = closed_loop(t, x)
        off = x[14:] - truth
        kept["t"].append(t)
        kept["error"].append(np.linalg.norm(e))
        kept["lyapunov"].append(0.5 * s @ masses(x[:7]) @ s + 0.5 * off @ (off / GAMMA))
        kept["mass"].append(x[14])
        k2 = closed_loop(t + dt / 2, x + dt / 2 * k1)[0]
        k3 = closed_loop(t + dt / 2, x + dt / 2 * k2)[0]
        k4 = closed_loop(t + dt, x + dt * k3)[0]
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return {name: np.array(values) for name, values in kept.items()}


def plot(history: dict[str, np.ndarray], path: Path) -> None:
    """Tracking error and Lyapunov function, falling."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 3, figsize=(11, 3.2))
    axes[0].semilogy(history["t"], history["error"])
    axes[0].set_title("tracking error |q − q_d|")
    axes[1].semilogy(history["t"], history["lyapunov"])
    axes[1].set_title("Lyapunov function")
    axes[2].plot(history["t"], history["mass"])
    axes[2].axhline(float(PAYLOAD.m), color="k", lw=0.5)
    axes[2].set_title("estimated mass of the payload, kg")
    for axis in axes:
        axis.set_xlabel("t, s")
    fig.tight_layout()
    fig.savefig(path)
    plt.close(fig)


def main() -> int:
    history = simulate(arm())
    start, end = history["lyapunov"][0], history["lyapunov"][-1]
    print(f"tracking error {history['error'][0]:.3f} → {history['error'][-1]:.2e} rad")
    print(f"Lyapunov function {start:.3f} → {end:.3f}, never rising by more than "
          f"{max(np.diff(history['lyapunov']).max(), 0.0):.1e}")  # fmt: skip
    print(f"payload 2.5 kg, estimated {history['mass'][-1]:.3f} kg")
    plot(history, Path("adaptive_control.svg"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
