"""`python -m benchmarks`: measure mozzi beside Pinocchio in one run, and keep the results as dated
JSON.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.cases import COMPILE, OPERATIONS, THROUGHPUT
from benchmarks.peers import peer
from benchmarks.robots import mozzi_model, pin_model

RESULTS = Path(__file__).parent / "results"


def states(model: Any, names: tuple[str, ...], batch: int, dtype: str) -> list[np.ndarray]:
    """Random arguments of these names."""
    from mozzi.algorithms.calls.arguments import shape_of

    rng = np.random.default_rng(0)
    arrays = []
    for name in names:
        if name.startswith("q"):
            arrays.append(model.random_configuration(rng, batch=(batch,)).astype(dtype))
        else:
            arrays.append(rng.normal(size=(batch, *shape_of(name, model))).astype(dtype))
    return arrays


def nanoseconds(kernel: Any, arguments: list[np.ndarray], batch: int, repeat: int = 5) -> float:
    """ns per evaluation of a kernel, best of `repeat`, output reused."""
    out = kernel(*arguments)
    best = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        kernel(*arguments, out=out)
        best = min(best, time.perf_counter() - start)
    return best / batch * 1e9


def throughput(case: dict[str, Any], rounds: int) -> dict[str, Any]:
    """One case: mozzi and the peer measured alternately; the best of each counts."""
    batch = case.get("batch", 4096)
    model, function = mozzi_model(case["robot"]), getattr(mz, case["function"])
    names = function.required
    kernels = {d: mz.compile(function, model, dtype=d) for d in ("float64", "float32")}
    inputs = {d: states(model, names, batch, d) for d in kernels}
    measure = peer(case["peer"], pin_model(case["robot"]), batch)[0] if case["peer"] else None
    best = {"float64": np.inf, "float32": np.inf, "peer": np.inf}
    for _ in range(rounds):
        for d, kernel in kernels.items():
            best[d] = min(best[d], nanoseconds(kernel, inputs[d], batch))
        if measure:
            best["peer"] = min(best["peer"], measure())
    result = {**case, "batch": batch, "ns": best["float64"], "ns_float32": best["float32"]}
    result["float32_gain"] = best["float64"] / best["float32"]
    if measure:
        result |= {"peer_ns": best["peer"], "ratio": best["peer"] / best["float64"]}
    return result


def latency(rounds: int) -> dict[str, Any]:
    """One evaluation from Python: kernel handle and public function beside pin.rnea."""
    import pinocchio as pin

    model, peer_model = mozzi_model("panda"), pin_model("panda")
    data = peer_model.createData()
    q, v, a = (x[0].copy() for x in states(model, ("q", "v", "a"), 1, "float64"))
    kernel = mz.compile(mz.inverse_dynamics, model)
    calls = {
        "kernel": lambda: kernel(q, v, a),
        "function": lambda: mz.inverse_dynamics(model, q, v, a),
        "pin.rnea": lambda: pin.rnea(peer_model, data, q, v, a),
    }
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds * 3):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(2000):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / 2000 * 1e9)
    ratios = {f"{n}_ratio": best[n] / best["pin.rnea"] for n in ("kernel", "function")}
    return {**{f"{n}_ns": x for n, x in best.items()}, **ratios}


def threads(rounds: int) -> dict[str, Any]:
    """Two threads against one on a batch of 65,536."""
    model, batch = mozzi_model("panda"), 65536
    result: dict[str, Any] = {"batch": batch}
    for name in ("inverse_dynamics", "forward_dynamics"):
        function = getattr(mz, name)
        kernel = mz.compile(function, model)
        inputs = states(model, function.required, batch, "float64")
        best = {1: np.inf, 2: np.inf}
        for _ in range(rounds):
            for n in best:
                mz.set_num_threads(n)
                best[n] = min(best[n], nanoseconds(kernel, inputs, batch, repeat=30))
        result[name] = {"one_ns": best[1], "two_ns": best[2], "ratio": best[1] / best[2]}
    mz.set_num_threads(1)
    return result


_COLD = """
import sys, time, mozzi as mz
from benchmarks.robots import mozzi_model
model, function = mozzi_model(sys.argv[1]), getattr(mz, sys.argv[2])
mz.compile(mz.inverse_dynamics, mozzi_model("ur5"))  # llvmlite is imported and set up
start = time.perf_counter(); mz.compile(function, model); print(time.perf_counter() - start)
"""


def compile_time(case: dict[str, Any]) -> dict[str, Any]:
    """Seconds to trace and compile in a fresh process: without a cache, then with a warm one."""
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"MOZZI_CACHE_DIR": folder}
        command = [sys.executable, "-c", _COLD, case["robot"], case["function"]]
        runs = [
            float(
                subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
            )
            for _ in range(3)
        ]
    return {**case, "cold_s": runs[0], "warm_s": min(runs[1:]), "warm_bar": 0.1}


def operations(case: dict[str, Any]) -> dict[str, Any]:
    """Operation counts of an unrolled program."""
    from mozzi.compiler import program_of

    program = program_of(getattr(mz, case["function"]), mozzi_model(case["robot"]), rolled=False)
    return {**case, "flops": program.flops, "operations": program.operations}


def machine() -> dict[str, Any]:
    """Where and with what this was measured."""
    import llvmlite

    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=Path(__file__).parent
    ).stdout.strip()
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        cpu = next(
            (x.split(":")[1].strip() for x in info.open() if x.startswith("model name")), cpu
        )
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit, "cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version(),
        "numpy": np.__version__, "llvmlite": llvmlite.__version__,
    }  # fmt: skip


def save(name: str, result: dict[str, Any], piece: bool = False) -> Path:
    """Write a result as dated JSON, atomically; a piece is added to the others of its day, machine
    and commit, in the place of rows of the same names.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{datetime.date.today().isoformat()}-{name}.json"
    if piece and path.exists():
        before = json.loads(path.read_text())
        same = ("commit", "cpu", "python", "numpy", "llvmlite")
        if all(before["machine"][x] == result["machine"][x] for x in same):
            result = _joined(before, result)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(result, indent=1) + "\n")
    temporary.replace(path)
    return path


def _joined(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Two pieces of one result: rows by their names, the later in the place of the earlier."""
    name = lambda row: tuple(row.get(x) for x in ("function", "robot", "batch", "steps"))
    joined = before | now
    for part, rows in now.items():
        if isinstance(rows, list) and part in before:
            joined[part] = [*{name(x): x for x in (*before[part], *rows)}.values()]
    return joined


def limits(result: dict[str, Any], options: argparse.Namespace) -> int:
    """The machine's own figures, and what share of them each case of throughput reaches."""
    from benchmarks.derivatives import THROUGHPUT as DERIVATIVES
    from benchmarks.limits import bandwidth, share, vector_throughput, writing

    result["limits"] = {
        "operations_per_s": vector_throughput(), "written_bytes_per_s": writing(),
        **{f"bytes_per_s_{size >> 10}_kB": bandwidth(size) for size in (2**15, 2**20, 2**26)},
    }
    print("machine", {k: f"{x:.3g}" for k, x in result["limits"].items()}, flush=True)
    for case in (*THROUGHPUT, *DERIVATIVES):
        if options.only not in f"{case['function']} {case['robot']}":
            continue
        model, function = mozzi_model(case["robot"]), getattr(mz, case["function"])
        kernel, batch = mz.compile(function, model), case.get("batch", 4096)
        arrays = states(model, function.required, batch, "float64")
        ns = min(nanoseconds(kernel, arrays, batch) for _ in range(options.rounds))
        few = [x[:64].copy() for x in arrays]  # their results stay in the caches
        near = min(nanoseconds(kernel, few, 64, 100) for _ in range(options.rounds))
        written = kernel.dtype.itemsize * sum(x.size for x in kernel.outputs)
        row = {**case, "batch": batch, "ns": ns, "in_caches_ns": near, "bytes_written": written}
        row |= share(kernel, batch, ns)
        result.setdefault("shares", []).append(row)
        figures = {k: round(x, 2) for k, x in row.items() if isinstance(x, float)}
        print(case["function"], case["robot"], figures, flush=True)
    if not options.no_save:
        print("saved", save("limits", result, options.piece).name)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", default="", help="run the parts and cases whose name holds this")
    parser.add_argument("--rounds", type=int, default=5, help="alternations of mozzi and peer")
    parser.add_argument("--no-save", action="store_true", help="print only")
    parser.add_argument("--piece", action="store_true", help="add to what this commit has today")
    parser.add_argument("--limits", action="store_true", help="throughput as a share of limits")
    options = parser.parse_args()
    mz.set_num_threads(1)
    result: dict[str, Any] = {"machine": machine()}
    if options.limits:
        return limits(result, options)
    parts: dict[str, Any] = {
        "operations": (OPERATIONS, operations),
        "throughput": (THROUGHPUT, lambda case: throughput(case, options.rounds)),
        "compile": (COMPILE, compile_time),
    }
    for part, (cases, measure) in parts.items():
        for case in cases:
            label = f"{part} {case['function']} {case['robot']}"
            if options.only in label:
                row = measure(case)
                result.setdefault(part, []).append(row)
                figures = {k: round(x, 3) for k, x in row.items() if isinstance(x, (int, float))}
                print(label, figures, flush=True)
    for part, measure in (("latency", latency), ("threads", threads)):
        if options.only in part:
            result[part] = measure(options.rounds)
            print(part, json.dumps(result[part]), flush=True)
    if not options.no_save:
        print("saved", save("cpu", result, options.piece).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
