"""bard, a PyTorch library: eager, as its authors run dynamics; `update_kinematics` counts with
each function. Its products are in float32, PyTorch's default. It has no derivatives of its own:
PyTorch differentiates backwards through it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_peers.case import DERIVATIVES, SAMPLES, Call, Case
from benchmarks.gpu_peers.robots import FREE

NEEDS = ("bard", "torch")
LAYOUT = "pinocchio"
ROBOTS = FREE


def call(case: Case, batch: int) -> Call | None:
    import bard
    import torch

    if case.function in DERIVATIVES:
        return None
    path = Path(tempfile.mkdtemp()) / "robot.urdf"
    path.write_text(case.robot.urdf)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = bard.build_model_from_urdf(str(path), floating_base=case.robot.free)
    model.to(dtype=torch.float32, device=device)
    data = bard.create_data(model, max_batch_size=batch)
    arrays = case.arrays(batch)
    if case.robot.free:  # w x y z
        arrays[0] = arrays[0][:, [0, 1, 2, 6, 3, 4, 5, *range(7, arrays[0].shape[1])]]
    q, *rest = (torch.from_numpy(np.ascontiguousarray(x)).to(device) for x in arrays)
    functions: dict[str, Any] = {
        "inverse_dynamics": bard.rnea,
        "forward_dynamics": bard.aba,
        "mass_matrix": lambda model, data: bard.crba(model, data),
    }
    function = functions[case.function]

    def run() -> Any:
        with torch.no_grad():
            bard.update_kinematics(model, data, q, *rest[:1])
            found = function(model, data, *rest[1:])
        if device == "cuda":
            torch.cuda.synchronize()
        return found

    return Call(run, lambda found: [found[:SAMPLES].cpu().numpy()])
