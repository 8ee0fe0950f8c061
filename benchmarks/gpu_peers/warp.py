"""MuJoCo Warp: kernels of Warp, captured as a CUDA graph and replayed, as its authors run them.

Contacts and constraints are off, and have no room, so that its solver is not run. Forward dynamics
is `forward` with the torques as applied forces, inverse dynamics is `inverse`; the mass matrix is
`kinematics`, `com_pos`, `crb`. It has no derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gpu_peers.case import DERIVATIVES, SAMPLES, Call, Case
from benchmarks.gpu_peers.mjx import model_of
from benchmarks.gpu_peers.robots import FREE

NEEDS = ("mujoco", "warp", "mujoco_warp")
LAYOUT = "mujoco"
ROBOTS = FREE


def full(model: Any, rows: np.ndarray) -> np.ndarray:
    """Mass matrices from MuJoCo's compressed lower triangles."""
    found = np.zeros((len(rows), model.nv, model.nv), rows.dtype)
    for i in range(model.nv):
        for k in range(model.M_rownnz[i]):
            at = model.M_rowadr[i] + k
            j = model.M_colind[at]
            found[:, i, j] = found[:, j, i] = rows[:, at]
    return found


def call(case: Case, batch: int) -> Call | None:
    import mujoco_warp
    import warp

    if case.function in DERIVATIVES:
        return None
    here = model_of(case.robot.mjcf)
    model = mujoco_warp.put_model(here)
    data = mujoco_warp.make_data(here, nworld=batch, nconmax=0, njmax=0)  # no room for constraints
    last = "qacc" if case.function == "inverse_dynamics" else "qfrc_applied"
    for name, x in zip(("qpos", "qvel", last), case.arrays(batch), strict=False):
        warp.copy(getattr(data, name), warp.array(x, dtype=warp.float32))

    def work() -> None:
        if case.function == "inverse_dynamics":
            mujoco_warp.inverse(model, data)
        elif case.function == "forward_dynamics":
            mujoco_warp.forward(model, data)
        else:
            mujoco_warp.kinematics(model, data)
            mujoco_warp.com_pos(model, data)
            mujoco_warp.crb(model, data)

    work()
    warp.synchronize()
    graph = None
    if warp.get_device().is_cuda:
        with warp.ScopedCapture() as capture:
            work()
        graph = capture.graph

    def run() -> Any:
        warp.capture_launch(graph) if graph is not None else work()
        warp.synchronize()
        return data

    def read(found: Any) -> list[np.ndarray]:
        if case.function == "mass_matrix":
            M = found.M.numpy()[:SAMPLES]  # dense, or compressed rows
            dense = M.ndim == 3 and M.shape[1] >= here.nv
            return [M[:, : here.nv, : here.nv] if dense else full(here, M.reshape(len(M), -1))]
        name = "qfrc_inverse" if case.function == "inverse_dynamics" else "qacc"
        return [getattr(found, name).numpy()[:SAMPLES]]

    return Call(run, read)
