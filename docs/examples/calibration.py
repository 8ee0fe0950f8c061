"""Calibration: the geometry of an arm, recovered from noisy poses of its tool.

Every joint of the true arm sits a little off its nominal place: by up to 3 mm and 0.5° across its
axis. (Along and about the axis nothing can be told from the joint's own zero.) Measured are 60
poses of the tool, with noise. Gauss–Newton on the 28 parameters needs the derivative of the pose
with respect to all of them, at parameters that change: `mz.sensitivity`.

    B_i(π) = B_i0 exp(U₁ π₁) … exp(U₄ π₄)            Müller, Dynamics, 6.2
"""

from __future__ import annotations

import numpy as np

import mozzi as mz

AXES = "zyzyzyz"
ACROSS = {"z": ("x", "y", "rx", "ry"), "y": ("x", "z", "rx", "rz")}
NOISE = {"position": 1e-4, "orientation": 2e-4}  # metres, radians


def arm() -> mz.Model:
    """Seven revolute joints, and a tool off the last axis."""
    builder = mz.Builder("arm")
    for k, axis in enumerate(AXES):
        parent = f"link{k - 1}" if k else None
        shift = (0.02 * k, 0.01, 0.2)
        builder.add(f"link{k}", parent, mz.Revolute(axis), placement=shift, joint_name=f"joint{k}")
    return builder.frame("tool", "link6", (0.05, 0.1, 0.15)).build()


def measure(poses: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Poses with noise."""
    measured = poses.copy()
    measured[..., :3, 3] += NOISE["position"] * rng.normal(size=(*poses.shape[:-2], 3))
    for T in measured:
        turn = mz.Twist.from_array([*(NOISE["orientation"] * rng.normal(size=3)), 0.0, 0.0, 0.0])
        T[:3, :3] = mz.SE3.exp(turn).matrix().astype(float)[:3, :3] @ T[:3, :3]
    return measured


def calibrate(
    kernel: mz.Sensitivity, q: np.ndarray, measured: np.ndarray, iterations: int = 6
) -> tuple[np.ndarray, np.ndarray]:
    """The parameters that fit best, and their standard deviations."""
    weights = np.empty((3, 4))
    weights[:, :3], weights[:, 3] = 1.0 / NOISE["orientation"], 1.0 / NOISE["position"]
    weights[:, :3] /= np.sqrt(2.0)  # every turn moves two columns of the rotation
    found, J = kernel.nominal, np.empty((0, len(kernel.names)))
    for _ in range(iterations):
        residual = (measured - kernel.value(q, parameters=found))[:, :3] * weights
        J = kernel(q, parameters=found)[:, :3] * weights[..., None]
        J = J.reshape(-1, len(kernel.names))
        found = found + np.linalg.lstsq(J, residual.ravel(), rcond=None)[0]
    return found, np.sqrt(np.diag(np.linalg.inv(J.T @ J)))


def main() -> None:
    model, rng = arm(), np.random.default_rng(0)
    names = [f"joint{k}.{p}" for k, axis in enumerate(AXES) for p in ACROSS[axis]]
    kernel = mz.sensitivity(mz.pose, model, names, frame="tool")
    spread = [0.003 if p.rpartition(".")[2] in "xyz" else 0.009 for p in names]
    true = rng.uniform(-1.0, 1.0, len(names)) * spread
    q = rng.uniform(-2.5, 2.5, (60, model.nq))
    measured = measure(kernel.value(q, parameters=true), rng)

    found, deviation = calibrate(kernel, q, measured)
    error = np.abs(found - true)
    fresh = rng.uniform(-2.5, 2.5, (1000, model.nq))

    def miss(parameters: np.ndarray) -> float:
        gap = kernel.value(fresh, parameters=parameters) - kernel.value(fresh, parameters=true)
        return float(np.linalg.norm(gap[:, :3, 3], axis=1).max())

    print(f"tool misses by up to {1e3 * miss(kernel.nominal):.2f} mm before calibration,")
    print(f"{1e3 * miss(found):.3f} mm after it; largest error of a parameter {error.max():.2e},")
    print(f"{(error / deviation).max():.1f} standard deviations")
    assert (error < 4.5 * deviation).all()
    assert miss(found) < 0.05 * miss(kernel.nominal)


if __name__ == "__main__":
    main()
