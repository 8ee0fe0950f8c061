"""`python -m benchmarks.derivatives`: derivatives beside Pinocchio, and gradients through steps.

Cases as data, as in `benchmarks.cases`: `bar` is the ratio to reach at a batch of 4,096 in float64
on one thread, the most seconds to trace and compile without a cache, or the most that a gradient
may cost in units of the simulation it goes through.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import compile_time, machine, operations, save, throughput
from benchmarks.robots import mozzi_model

THROUGHPUT = [
    {
        "function": f"{which}_dynamics_derivatives",
        "robot": robot,
        "peer": "rnea_derivatives" if which == "inverse" else "aba_derivatives",
        "bar": bar,
    }
    for robot, bars in (("panda", (6, 6)), ("solo12", (4, 15)), ("talos", (2.5, 8)))
    for which, bar in zip(("inverse", "forward"), bars, strict=True)
]

COMPILE = [
    {"function": f"{which}_dynamics_derivatives", "robot": robot, "bar": bar}
    for robot, bar in (("panda", 2.0), ("talos", 15.0))
    for which in ("inverse", "forward")
]

#: Additions, multiplications, divisions and negations of unrolled programs.
OPERATIONS = [
    {"function": "inverse_dynamics_derivatives", "robot": "panda", "bar": 3006},
    {"function": "forward_dynamics_derivatives", "robot": "panda", "bar": 5067},
    {"function": "hybrid_dynamics_derivatives", "robot": "panda", "bar": 5067},
    {"function": "inverse_dynamics_gradient", "robot": "panda", "bar": 1876},
    {"function": "inverse_dynamics_hessian", "robot": "panda", "bar": 9453},
    {"function": "forward_dynamics_hessian", "robot": "panda", "bar": 15731},
    {"function": "inverse_dynamics_rates", "robot": "panda", "bar": 4721},
    {"function": "inverse_dynamics_derivatives", "robot": "solo12", "bar": 5581},
    {"function": "inverse_dynamics_derivatives", "robot": "talos", "bar": 24144},
]

#: What else costs, without a peer.
ALONE = [
    {"function": name, "robot": "panda", "peer": None}
    for name in (
        "inverse_dynamics", "inverse_dynamics_gradient", "inverse_dynamics_hessian",
        "forward_dynamics_hessian", "inverse_dynamics_rates", "mass_matrix_partials", "linearize",
    )
]  # fmt: skip

GRADIENT = [{"robot": "panda", "steps": 100, "batch": batch, "bar": 6} for batch in (1, 256, 4096)]


def gradient(case: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Simulation and gradient, beside the simulation alone; the best of each counts."""
    model, steps, batch = mozzi_model(case["robot"]), case["steps"], case["batch"]
    rng = np.random.default_rng(0)
    q0, v0 = model.random_configuration(rng, batch=(batch,)), rng.normal(size=(batch, model.nv))
    tau = rng.normal(size=(steps, batch, model.nv))
    best = {"simulation": np.inf, "gradient": np.inf}
    for _ in range(rounds + 1):
        start = time.perf_counter()
        q, v = mz.rollout(model, q0, v0, tau, 0.002)
        middle = time.perf_counter()
        mz.rollout_gradient(model, q, v, tau, 0.002, v, v)
        best["simulation"] = min(best["simulation"], middle - start)
        best["gradient"] = min(best["gradient"], time.perf_counter() - middle)
    bytes_kept = q.nbytes + v.nbytes
    cost = (best["simulation"] + best["gradient"]) / best["simulation"]
    return {
        **case, "cost": cost, "kept_bytes_per_step": bytes_kept / (steps + 1) / batch,
        **{f"{n}_s": x for n, x in best.items()},
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.derivatives", description=__doc__)
    parser.add_argument("--only", default="", help="run the parts and cases whose name holds this")
    parser.add_argument("--rounds", type=int, default=5, help="alternations of mozzi and peer")
    parser.add_argument("--no-save", action="store_true", help="print only")
    parser.add_argument("--piece", action="store_true", help="add to what this commit has today")
    options = parser.parse_args()
    mz.set_num_threads(1)
    result: dict[str, Any] = {"machine": machine()}
    parts: dict[str, Any] = {
        "operations": (OPERATIONS, operations),
        "throughput": (THROUGHPUT + ALONE, lambda case: throughput(case, options.rounds)),
        "compile": (COMPILE, compile_time),
        "gradient": (GRADIENT, lambda case: gradient(case, options.rounds)),
    }
    for part, (cases, measure) in parts.items():
        for case in cases:
            label = f"{part} {case.get('function', '')} {case['robot']}"
            if options.only in label:
                row = measure(case)
                result.setdefault(part, []).append(row)
                figures = {k: round(x, 3) for k, x in row.items() if isinstance(x, (int, float))}
                print(label, json.dumps(figures), flush=True)
    if not options.no_save:
        print("saved", save("derivatives", result, options.piece).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
