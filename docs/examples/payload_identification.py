"""Identification: mass, centre of mass and inertia of a payload, recovered from joint torques.

The arm is known, what it has gripped is not: the ten inertial parameters of its last body. Joint
forces are linear in them, so one least-squares problem with the derivative of `inverse_dynamics`
with respect to the ten (`mz.sensitivity`) finds them, from torques with noise along a motion that
excites them.
"""

from __future__ import annotations

import numpy as np

import mozzi as mz

TEN = ("mass", "hx", "hy", "hz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")
NOISE = 0.05  # N m


def arm() -> mz.Model:
    """Seven revolute joints with the links of a light arm."""
    builder = mz.Builder("arm")
    for k, axis in enumerate("zyzyzyz"):
        link = mz.Inertia(3.0 - 0.3 * k, (0.01, 0.02, 0.1), np.diag([0.03, 0.03, 0.01]))
        parent = f"link{k - 1}" if k else None
        builder.add(f"link{k}", parent, mz.Revolute(axis), link, placement=(0.0, 0.0, 0.2))
    return builder.build()


def motion(t: np.ndarray, nv: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v and a of a sum of sines."""
    rate, phase = 1.0 + 0.45 * np.arange(nv), 0.7 * np.arange(nv)
    x = rate * t[:, None] + phase
    return np.sin(x), rate * np.cos(x), -(rate**2) * np.sin(x)


def main() -> None:
    model, rng = arm(), np.random.default_rng(0)
    payload = mz.Inertia(1.8, (0.06, -0.04, 0.15), np.diag([0.012, 0.02, 0.016]))
    loaded = model.with_inertia("link6", model.body("link6").inertia + payload)
    q, v, a = motion(np.linspace(0.0, 10.0, 1000), model.nv)
    torques = mz.inverse_dynamics(loaded, q, v, a) + NOISE * rng.normal(size=q.shape)

    kernel = mz.sensitivity(mz.inverse_dynamics, model, [f"link6.{name}" for name in TEN])
    Y = kernel(q, v, a).reshape(-1, 10)
    missing = (torques - mz.inverse_dynamics(model, q, v, a)).ravel()
    found = np.linalg.lstsq(Y, missing, rcond=None)[0]
    deviation = NOISE * np.sqrt(np.diag(np.linalg.inv(Y.T @ Y)))

    true = np.array(payload.parameters(), dtype=float)
    for name, x, y, s in zip(TEN, found, true, deviation, strict=True):
        print(f"{name:>5} {x:9.5f} ± {s:.5f}   (true {y:9.5f})")
    print("centre of mass", np.round(found[1:4] / found[0], 4))
    assert (np.abs(found - true) < 4.5 * deviation).all()


if __name__ == "__main__":
    main()
