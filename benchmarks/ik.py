"""`python -m benchmarks.ik`: inverse kinematics of panda beside a loop on Pinocchio.

Random targets within reach, random starts, limits kept, 1e-8 in metres and radians. The peer is the
damped Gauss–Newton loop of Pinocchio's example, on the frame's Jacobian, clamped to the limits,
with the same number of restarts.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, save
from benchmarks.robots import mozzi_model, pin_model

FRAME = "panda_hand"
TOLERANCE = 1e-8


def peer_solve(pin: Any, model: Any, data: Any, frame: int, goal: Any, q: np.ndarray) -> bool:
    """One descent: `pin.log6` error, damped least squares, clamped steps."""
    low, high = model.lowerPositionLimit, model.upperPositionLimit
    before, stuck = np.inf, 0
    for _ in range(60):
        pin.framesForwardKinematics(model, data, q)
        e = pin.log6(data.oMf[frame].actInv(goal)).vector
        size = e @ e
        if max(e[:3] @ e[:3], e[3:] @ e[3:]) < TOLERANCE**2:
            return True
        stuck = 0 if size < 0.9 * before else stuck + 1
        if stuck > 8:
            return False
        before = size
        J = pin.computeFrameJacobian(model, data, q, frame, pin.ReferenceFrame.LOCAL)
        y = np.linalg.solve(J @ J.T + (0.1 * size + 1e-12) * np.eye(6), e)
        q = np.clip(pin.integrate(model, q, J.T @ y), low, high)
    return False


def peer(targets: np.ndarray, starts: np.ndarray, restarts: int) -> tuple[float, float]:
    """Success rate and seconds per target."""
    import pinocchio as pin

    model = pin_model("panda")
    data, frame = model.createData(), model.getFrameId(FRAME)
    rng, reached = np.random.default_rng(0), 0
    begin = time.perf_counter()
    for T, q in zip(targets, starts, strict=True):
        goal = pin.SE3(T)
        for _ in range(restarts + 1):
            if peer_solve(pin, model, data, frame, goal, q):
                reached += 1
                break
            q = rng.uniform(model.lowerPositionLimit, model.upperPositionLimit)
    return reached / len(targets), (time.perf_counter() - begin) / len(targets)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ik", description=__doc__)
    parser.add_argument("--targets", type=int, default=4096)
    parser.add_argument("--peer-targets", type=int, default=100)
    parser.add_argument("--restarts", type=int, default=126)
    parser.add_argument("--no-save", action="store_true")
    options = parser.parse_args()
    model = mozzi_model("panda")
    T = mz.pose(model, model.random_configuration(1, options.targets), FRAME)
    q0 = model.random_configuration(2, options.targets)
    mz.inverse_kinematics(model, {FRAME: T[:2]}, q0[:2])  # compiled
    begin = time.perf_counter()
    found = mz.inverse_kinematics(model, {FRAME: T}, q0, restarts=options.restarts)
    seconds = (time.perf_counter() - begin) / options.targets
    n = options.peer_targets
    rate, peer_seconds = peer(T[:n], q0[:n], options.restarts)
    result = {
        "machine": machine(), "robot": "panda", "frame": FRAME, "tolerance": TOLERANCE,
        "restarts": options.restarts, "targets": options.targets,
        "success": float(found.success.mean()), "us_per_target": seconds * 1e6,
        "steps_per_target": float(found.iterations.mean()),
        "peer_success": rate, "peer_us_per_target": peer_seconds * 1e6,
        "ratio": peer_seconds / seconds,
    }  # fmt: skip
    print(json.dumps({k: x for k, x in result.items() if k != "machine"}, indent=1))
    if not options.no_save:
        print("saved", save("ik", result).name)


if __name__ == "__main__":
    main()
