"""Adaptive tracking of a five-bar linkage, a closed chain, that does not know what it carries.

The law of Slotine and Li on the constraint manifold: two cranks are driven, the two rods between
them are passive, and the loop bears what it bears. References are those of the cranks, taken onto
the loop at the configuration as it is,

    A v_r = 0,    A a_r + Ȧ v_r = 0,

and with s = v − v_r the torques of the cranks are what they bear of Y π̂, less K s,

    τ = Y_a(q, v, v_r, a_r) π̂ − K s_a,      π̂̇ = −Γ Y_aᵀ s ,

where `actuated=` makes the regressor Y of the tree that of the actuators. Loop forces do no work on
s, so that V = ½ sᵀ M s + ½ (π̂ − π)ᵀ Γ⁻¹ (π̂ − π) falls: V̇ = −s_aᵀ K s_a, as on a tree.

Run it: it prints the errors.
"""

from __future__ import annotations

import sys

import numpy as np

import mozzi as mz

PAYLOAD = mz.Inertia(0.8, (0.7, 0.05, 0.1), np.diag([0.01, 0.02, 0.015]))
CRANKS = ("left", "right")
LAMBDA, GAIN = 5.0, 6.0
#: How fast each of the ten parameters adapts: in proportion to what it may be.
GAMMA = np.array([6.0, *[2.0] * 3, *[0.3] * 6])


def rod(length: float, mass: float = 1.0) -> mz.Inertia:
    J = mass * length**2 / 12.0
    return mz.Inertia(mass, (length / 2, 0.02, 0.0), np.diag([0.05 * J, J, J]))


def five_bar() -> mz.Model:
    """Two cranks and two rods in a plane: two degrees of freedom."""
    b = mz.Builder("five_bar")
    b.add("left", None, mz.Revolute("y"), rod(0.5))
    b.add("left_rod", "left", mz.Revolute("y"), rod(0.8), placement=(0.5, 0, 0))
    b.add("right", None, mz.Revolute("y"), rod(0.5), placement=(0.6, 0, 0))
    b.add("right_rod", "right", mz.Revolute("y"), rod(0.8), placement=(0.5, 0, 0))
    ends = (0.8, 0, 0), (0.8, 0, 0)
    return b.loop("tip", "left_rod", "right_rod", mz.Revolute("y"), *ends).build()


def desired(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cranks: position, velocity, acceleration."""
    w, size = np.array([2.0, 2.7]), np.array([0.25, -0.2])
    start = np.array([-2.2, -0.9])
    return start + size * (1 - np.cos(w * t)), size * w * np.sin(w * t), size * w**2 * np.cos(w * t)


def simulate(duration: float = 4.0, dt: float = 4e-3) -> dict[str, np.ndarray]:
    """The closed loop, by the classical Runge–Kutta method and a step back onto the loop."""
    known = five_bar()
    body = known.bodies.index("left_rod")
    loaded = known.with_inertia("left_rod", known.body("left_rod").inertia + PAYLOAD)
    how = {"actuated": CRANKS}
    forward = mz.compile(mz.forward_dynamics, loaded)
    passive = mz.compile(mz.passive_inverse_dynamics, known, options=how)
    regressor = mz.compile(mz.inverse_dynamics_regressor, known, options={**how, "v_ref": True})
    masses = mz.compile(mz.mass_matrix, loaded)
    truth = np.array(PAYLOAD.parameters(), dtype=float)
    cranks = [known.v_slices[name].start for name in CRANKS]

    def law(t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        qd, vd, ad = desired(t)
        e, de = q[cranks] - qd, v[cranks] - vd
        ref, rate = np.zeros(4), np.zeros(4)
        ref[cranks], rate[cranks] = vd - LAMBDA * e, ad - LAMBDA * de
        v_ref = mz.consistent_velocities(known, q, ref, hold=CRANKS)
        a_ref = mz.consistent_accelerations(known, q, v, rate, hold=CRANKS, v_ref=v_ref)
        return e, v_ref, a_ref

    def closed_loop(t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q, v, estimate = x[:4], x[4:8], x[8:]
        e, v_ref, a_ref = law(t, q, v)
        s = v - v_ref
        Y = regressor(q, v, a_ref, v_ref)[:, 10 * body : 10 * body + 10]
        tau = passive(q, v, v_ref, a_ref) + Y @ estimate
        tau[cranks] -= GAIN * s[cranks]
        rates = np.concatenate([v, forward(q, v, tau), -GAMMA * (Y.T @ s)])
        return rates, s, e

    start = desired(0.0)[0] + np.array([0.2, -0.15])
    q0 = mz.assemble(known, [start[0], 1.2, start[1], -1.2], hold=CRANKS)
    x = np.concatenate([q0, np.zeros(4), np.zeros(10)])
    kept: dict[str, list[float]] = {"t": [], "error": [], "lyapunov": [], "open": []}
    for step in range(round(duration / dt) + 1):
        t = step * dt
        k1, s, e = closed_loop(t, x)
        off = x[8:] - truth
        kept["t"].append(t)
        kept["error"].append(float(np.linalg.norm(e)))
        kept["lyapunov"].append(float(0.5 * s @ masses(x[:4]) @ s + 0.5 * off @ (off / GAMMA)))
        kept["open"].append(float(np.abs(mz.loop_residual(known, x[:4])).max()))
        k2 = closed_loop(t + dt / 2, x + dt / 2 * k1)[0]
        k3 = closed_loop(t + dt / 2, x + dt / 2 * k2)[0]
        k4 = closed_loop(t + dt, x + dt * k3)[0]
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        x[:4] = mz.assemble(known, x[:4])
        x[4:8] = mz.consistent_velocities(known, x[:4], x[4:8])
    return {name: np.array(values) for name, values in kept.items()}


def main() -> int:
    history = simulate()
    start, end = history["lyapunov"][0], history["lyapunov"][-1]
    print(f"tracking error {history['error'][0]:.3f} → {history['error'][-1]:.2e} rad")
    print(f"Lyapunov function {start:.3f} → {end:.3f}, never rising by more than "
          f"{max(np.diff(history['lyapunov']).max(), 0.0):.1e}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
