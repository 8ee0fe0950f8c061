"""`python -m benchmarks.first_calls`: how long first calls take, each in a process of its own with
an empty cache.

A first call traces, compiles and runs; importing and loading the robot are not counted. `wall_s` is
what a user waits, and `bar_s` what that may be: measure on a quiet machine. `cpu_s` is processor
time of all threads (LLVM works on several), which others on the machine change less.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, save, states
from benchmarks.robots import mozzi_model

ALGORITHMS = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "mass_matrix_inverse", "body_jacobians",
    "inverse_dynamics_derivatives", "forward_dynamics_derivatives", "hybrid_dynamics_derivatives",
    "inverse_dynamics_gradient", "forward_dynamics_gradient", "inverse_dynamics_hessian",
    "forward_dynamics_hessian", "christoffel", "mass_matrix_partials",
    "mass_matrix_inverse_partials", "simulate", "simulate generalized_alpha",
)  # fmt: skip
CASES = [
    {"robot": robot, "call": call, "bar_s": 2.0}
    for robot in ("panda", "solo12", "talos")
    for call in ALGORITHMS
]
GRADIENTS = "inverse_dynamics_gradient", "forward_dynamics_gradient"
CASES += [{"robot": "chain 100", "call": call, "bar_s": 2.0} for call in GRADIENTS]
CASES += [{"robot": "chain 1000", "call": call, "bar_s": 4.0} for call in GRADIENTS]
CASES += [
    {"robot": "windows 100", "call": call, "bar_s": 2.0}
    for call in ("forward_dynamics", "forward_dynamics_gradient")
]
CASES += [
    {"robot": "windows 500", "call": call, "bar_s": 4.0}
    for call in ("forward_dynamics", "forward_dynamics_gradient")
]
CASES += [
    {"robot": f"tied chain {n}", "call": call, "bar_s": bar}
    for n, bar in ((100, 2.0), (1000, 4.0))
    for call in ("forward_dynamics", "forward_dynamics_gradient")
]
CASES += [{"robot": f"windows {n}", "call": "simulate", "bar_s": 5.0} for n in (50, 100, 160)]
CASES += [
    {"robot": f"closed chain {n}", "call": "forward_dynamics", "bar_s": bar}
    for n, bar in ((100, 2.0), (500, 5.0))
]


def model_of(name: str) -> tuple[Any, np.ndarray | None]:
    """A robot of the benchmarks, "chain N", "windows N", "closed chain N" or "tied chain N" (ten
    loops in series), and a configuration where a random one would be open.
    """
    from mozzi.model.generate import chain, leaning, n_four_bar

    *kind, count = name.split()
    if kind == ["chain"]:
        return chain(int(count), seed=0), None
    if kind == ["windows"]:
        model = n_four_bar(int(count))
        return model, leaning(model, 0.3)
    if kind == ["closed", "chain"]:
        tree = chain(int(count), seed=0)
        tip = tree.bodies[-1]
        at = mz.compile(mz.pose, tree, options={"frame": tip})(tree.neutral())[:3, 3]
        return tree.with_loop("tip", None, tip, mz.Spherical(), tuple(at)), tree.neutral()
    if kind == ["tied", "chain"]:
        model = tree = chain(int(count), seed=0)
        at = mz.forward_kinematics(tree, tree.neutral())
        for k in range(0, tree.nb, tree.nb // 10):
            seen = at[k][:3, :3].T @ (at[k + 3] - at[k])[:3, 3]
            ends = tree.bodies[k], tree.bodies[k + 3]
            model = model.with_loop(f"ball_{k}", *ends, mz.Spherical(), tuple(seen))
        return model, tree.neutral()
    return mozzi_model(name), None


def first_call(case: dict[str, Any]) -> dict[str, Any]:
    """Seconds of one first call, in this process."""
    model, q = model_of(case["robot"])
    name, *method = case["call"].split()
    function = getattr(mz, name)
    names = ("q", "v") if name == "simulate" else function.required
    arrays = [x[0] for x in states(model, names, 1, "float64")] if q is None else [
        q if n == "q" else np.zeros(model.nv) for n in names
    ]  # fmt: skip
    more: dict[str, Any] = {}
    if name == "simulate":
        arrays[1] = np.zeros(model.nv)
        more = {"duration": 0.01, "dt": 1e-3} | ({"method": method[0]} if method else {})
    start, spent = time.perf_counter(), time.process_time()
    function(model, *arrays, **more)
    wall, cpu = time.perf_counter() - start, time.process_time() - spent
    return {**case, "wall_s": wall, "cpu_s": cpu, "within": wall <= case["bar_s"]}


def measured(case: dict[str, Any]) -> dict[str, Any]:
    """A case in a fresh process, with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.first_calls", "--one",
             json.dumps(case)],
            capture_output=True, text=True, check=True,
            env=os.environ | {"MOZZI_CACHE_DIR": folder, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_calls", description=__doc__)
    parser.add_argument("--only", default="", help="the cases whose name holds this")
    parser.add_argument("--no-save", action="store_true", help="print only")
    parser.add_argument("--one", metavar="CASE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(first_call(json.loads(options.one))))
        return 0
    rows: list[dict[str, Any]] = []
    for case in CASES:
        if options.only in f"{case['robot']} {case['call']}":
            rows.append(measured(case))
            print({k: round(x, 2) if isinstance(x, float) else x for k, x in rows[-1].items()},
                  flush=True)  # fmt: skip
    over = [f"{x['robot']} {x['call']} ({x['wall_s']:.1f} s)" for x in rows if not x["within"]]
    count = {"calls": len(rows), "within": len(rows) - len(over)}
    print(count, "over:", ", ".join(over))
    if not options.no_save:
        result = {"machine": machine(), "count": count, "over": ", ".join(over), "calls": rows}
        print("saved", save("first_calls", result).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
