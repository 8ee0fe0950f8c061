"""`python -m benchmarks.memory`: what arrays and memory cost, every case in a process of its own.

Cases as data. Arrays: a call that makes its results beside one that writes into `out=`, medians in
a fresh process on one thread, in turns; `bar` is the most that the first may take in units of the
second. Every algorithm on solo12, and some on other robots and in larger batches. `first_ns` is the
first call, which takes its memory from the system.
`bound_ns` is with the last result still there when the next one is made, which takes turns between
two blocks of memory, and so less of them from caches.
Resident memory: the most that a process held (over what it held before) while a kernel was traced
and compiled, and then while it was called.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, save, states
from benchmarks.robots import mozzi_model
from mozzi.algorithms.calls.algorithm import Algorithm

LARGE = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "mass_matrix_inverse",
    "body_jacobians", "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
)  # fmt: skip
#: What a robot without loops and contacts has none of, and what takes several rates at once.
OTHERWISE = ("contact", "impact", "loop", "jacobian_derivatives", "twist_derivatives",
             "joint_force_derivatives")  # fmt: skip
STATES = {"q", "q0", "q1", "v", "a", "j", "s", "tau", "p", "dv", "v_ref", "a_ref", "covector"}


def every_algorithm() -> list[str]:
    """The public algorithms whose arguments are configurations and joint vectors."""
    found = []
    for name in mz.__all__:
        function = getattr(mz, name)
        if isinstance(function, Algorithm) and STATES.issuperset(function.required):
            given = list(inspect.signature(function).parameters.values())
            more = given[len(function.required) + 1 :]
            if not name.startswith(OTHERWISE) and all(x.default is not x.empty for x in more):
                found.append(name)
    return found


ARRAYS = [
    {"robot": "solo12", "function": name, "batch": 1024, "bar": 1.2} for name in every_algorithm()
]
ARRAYS += [
    {"robot": robot, "function": name, "batch": batch, "bar": 1.2}
    for robot, batch in (("panda", 1024), ("solo12", 4096), ("talos", 1024), ("talos", 4096))
    for name in LARGE
]
RESIDENT = [
    {"robot": robot, "function": name, "batch": 4096}
    for robot in ("panda", "talos")
    for name in ("inverse_dynamics", "forward_dynamics", "forward_dynamics_derivatives")
]
RESIDENT += [
    {"robot": "chain 10000", "function": f"{which}_dynamics", "batch": 1, "bar_mb": 300}
    for which in ("inverse", "forward")
]


def model_of(name: str) -> Any:
    """A robot of the benchmarks, or "chain N"."""
    if name.startswith("chain "):
        from mozzi.model.generate import chain

        return chain(int(name.split()[1]), seed=0)
    return mozzi_model(name)


def arrays(case: dict[str, Any]) -> dict[str, Any]:
    """Nanoseconds per evaluation with new results and with reused ones."""
    mz.set_num_threads(1)
    model, function = model_of(case["robot"]), getattr(mz, case["function"])
    kernel, batch = mz.compile(function, model), case["batch"]
    inputs = states(model, function.required, batch, "float64")

    def median(call: Any, keep: bool, count: int = 9) -> float:
        times, result = [], None
        for _ in range(count):
            start = time.perf_counter()
            if keep:
                result = call()
            else:
                call()
            times.append(time.perf_counter() - start)
        del result
        return float(np.median(times)) / batch * 1e9

    new = lambda: kernel(*inputs)
    first, out = median(new, False, 1), new()
    reuse = lambda: kernel(*inputs, out=out)
    turns = [(median(new, False), median(new, True), median(reuse, False)) for _ in range(5)]
    made, bound, reused = map(min, zip(*turns, strict=True))
    found = {"first_ns": first, "new_ns": made, "bound_ns": bound, "out_ns": reused}
    return {**case, **found, "ratio": made / reused}


def peak_mb() -> float:
    """The most resident memory of this process so far."""
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6


def resident(case: dict[str, Any]) -> dict[str, Any]:
    """Megabytes of the process, of tracing and compiling, and of calls."""
    mz.compile(mz.gravity_forces, model_of("chain 2"))  # llvmlite is imported and set up
    start = peak_mb()
    model, function = model_of(case["robot"]), getattr(mz, case["function"])
    loaded = peak_mb()
    kernel = mz.compile(function, model)
    compiled = peak_mb()
    inputs = states(model, function.required, case["batch"], "float64")
    for _ in range(3):
        kernel(*inputs)
    called = peak_mb()
    return {
        **case, "process_mb": start, "model_mb": loaded - start, "compile_mb": compiled - loaded,
        "calls_mb": called - compiled, "peak_mb": called,
    }  # fmt: skip


MEASURES = {"arrays": (ARRAYS, arrays), "resident": (RESIDENT, resident)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--only", default="", help="the parts and cases whose name holds this")
    parser.add_argument("--no-save", action="store_true", help="print only")
    parser.add_argument("--piece", action="store_true", help="add to what this commit has today")
    parser.add_argument("--one", nargs=2, metavar=("PART", "CASE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        part, case = options.one
        print(json.dumps(MEASURES[part][1](json.loads(case))))
        return 0
    here = machine()
    for part, (cases, _) in MEASURES.items():
        piece = options.piece
        for case in cases:
            if options.only not in f"{part} {case['function']} {case['robot']}":
                continue
            command = [sys.executable, "-W", "ignore", "-m", __spec__.name, "--one", part]
            done = subprocess.run(
                [*command, json.dumps(case)], capture_output=True, text=True, check=True,
                env=os.environ | ({"MOZZI_CACHE": "0"} if part == "resident" else {}),
            )  # fmt: skip
            row = json.loads(done.stdout)
            figures = {k: round(x, 2) if isinstance(x, float) else x for k, x in row.items()}
            print(part, figures, flush=True)
            if not options.no_save:  # row by row: all of them take minutes
                kind = {"arrays": "arrays", "resident": "memory"}[part]
                save(kind, {"machine": here, part: [row]}, piece)
                piece = True
    return 0


if __name__ == "__main__":
    sys.exit(main())
