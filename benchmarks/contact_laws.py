"""By how much steps of robots that touch miss the laws of contact.

Half a second each of robots that are dropped, of those that stand (a second later), and of standing
ones whose base is pushed; from other random numbers than those that anything was chosen by. Of
MuJoCo: the velocity by which contacts penetrate, or slip while their force is inside its cone, at
the end of a step.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks import contact
from mozzi.algorithms.contact.step import SolverName
from mozzi.simulation import Moreau

SEED = 20261116
SAMPLES = {"solo12": 512, "talos": 256, "panda": 512}
PUSH = {"solo12": 0.5, "talos": 0.2}  # m/s and rad/s


def residuals(
    name: str, model: mz.Model, q: np.ndarray, solver: SolverName
) -> dict[str, np.ndarray]:
    """Of every sample and step, (B, steps), scene by scene."""
    arm = name == "panda"
    run = partial(
        mz.simulate, model, duration=0.5, dt=contact.DT, method=Moreau(solver=solver, cut=False),
        torque=contact.controller(name, model, q), limits="rigid" if arm else False, resistance=arm,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mz.ContactWarning)
        dropped = run(*contact.states(name, model, q, SEED, SAMPLES[name]))
        if arm:
            return {"in its limits": dropped.contact_residual}
        settled = run(dropped.q[:, -1], dropped.v[:, -1])
        at, v = settled.q[:, -1], settled.v[:, -1]
        standing = run(at, v)
        kick = np.zeros_like(v)
        kick[:, :6] = PUSH[name] * np.random.default_rng(SEED + 1).normal(size=(len(v), 6))
        pushed = run(at, v + kick)
    found = {"dropped": dropped, "pushed": pushed, "standing": standing}
    return {scene: motion.contact_residual for scene, motion in found.items()}


def their_residuals(other: Any, full: np.ndarray) -> np.ndarray:
    """Of MuJoCo, of samples over half a second, step by step."""
    import mujoco

    data, out, force = mujoco.MjData(other), [], np.zeros(6)
    lin = np.zeros((3, other.nv))
    for state in full:
        mujoco.mj_setState(other, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        for _ in range(500):
            mujoco.mj_step(other, data)
            worst = 0.0
            for k, c in enumerate(data.contact):
                body = int(other.geom_bodyid[c.geom2 if c.geom1 == 0 else c.geom1])
                mujoco.mj_contactForce(other, data, k, force)
                mujoco.mj_jac(other, data, lin, None, c.pos, body)
                w = c.frame.reshape(3, 3) @ (lin @ data.qvel)
                sign = 1.0 if c.geom1 == 0 else -1.0
                inside = np.hypot(*force[1:3]) < 0.99 * c.friction[0] * force[0]
                slip = np.hypot(*w[1:]) if inside else 0.0
                worst = max(worst, slip, -sign * w[0] if c.dist <= 0.0 else 0.0)
            out.append(worst)
    return np.array(out)
