"""`python -m benchmarks.gpu_peers`: what other libraries do on the GPU, beside mozzi.

Every peer runs in a process of its own, with mozzi on the same robots, states and batches, in
float32; a peer that fails, or that is not found, is said by name. Times are of calls from Python
until the results are on the device, medians; errors are against mozzi in float64 on the CPU.
`--pack FILE` writes the robots where example-robot-data is installed, `--models FILE` reads them
where the GPU is. What GRiD and CusADi generate is looked for in `out/gpu_peers`, as libraries.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import mozzi as mz
from benchmarks.__main__ import machine, save
from benchmarks.gpu_peers import robots
from benchmarks.gpu_peers.case import FUNCTIONS, OWN, SAMPLES, Call, Case, error, median, results
from benchmarks.gpu_peers.grid import FOLDER as VERSIONS
from benchmarks.gpu_peers.report import spread

PEERS = ("frax", "mjx", "warp", "bard", "grid", "cusadi")
BATCHES = (4096, 65_536, 1_048_576)
ROBOTS = ("panda", "solo12", robots.HELD, "talos")
MOST = {"talos": 65_536}  # of a batch
THREADS = 14
PACKAGES = {"frax": "frax", "mjx": "mujoco-mjx", "warp": "mujoco-warp", "bard": "bard"}


def ours(case: Case, batch: int) -> Call:
    """mozzi on the GPU, or on the CPU where there is none; the model's own coordinates."""
    function: Any = getattr(mz, case.function)
    on_gpu = importlib.util.find_spec("cupy") is not None
    kernel: Any = mz.compile(
        function, case.robot.model, target="cuda" if on_gpu else "cpu", dtype="float32"
    )
    arrays = case.arrays(batch)
    if not on_gpu:
        out = kernel(*arrays)
        run = partial(kernel, *arrays, out=out)
        return Call(run, lambda found: [x[:SAMPLES] for x in results(found, case.function)])
    import cupy

    there = [cupy.asarray(x) for x in arrays]
    out = kernel(*there)

    def timed() -> Any:
        kernel(*there, out=out)
        cupy.cuda.get_current_stream().synchronize()
        return out

    read = lambda found: [cupy.asnumpy(x[:SAMPLES]) for x in results(found, case.function)]
    return Call(timed, read)


def missing(name: str) -> str:
    """What a peer needs and does not find; empty where all is there."""
    peer = importlib.import_module(f"benchmarks.gpu_peers.{name}")
    for package in peer.NEEDS:
        try:
            if importlib.util.find_spec(package) is None:
                return f"no package {package}"
        except ModuleNotFoundError:
            return f"no package {package}"
    return "" if not hasattr(peer, "found") or peer.found() else "not built"


def row(name: str, case: Case, batch: int, make: Callable[[], Call | None]) -> dict[str, Any]:
    """A call measured, and its error; what went wrong where it fails; empty where it has none."""
    found: dict[str, Any] = {
        "who": name, "robot": case.robot.name, "function": case.function, "batch": batch
    }  # fmt: skip
    try:
        call = make()
        if call is None:
            return {}
        found["relative_error"] = error(call.read(call.run()), case.exact())
        took, least, longest = median(call.run)
        found |= {"per_second": batch / took, "fastest": batch / least, "slowest": batch / longest}
    except Exception as wrong:
        found["failed"] = f"{type(wrong).__name__}: {wrong}"[:300]
    print({k: float(f"{x:.3g}") if isinstance(x, float) else x for k, x in found.items()},
          flush=True)  # fmt: skip
    return found


def version(name: str) -> str:
    """Of its package, or of the sources that it was built from."""
    written = VERSIONS / f"{name}.version"
    if written.exists():
        return written.read_text().strip()
    try:
        return importlib.metadata.version(PACKAGES.get(name, name))
    except importlib.metadata.PackageNotFoundError:
        return ""


def makers(peer: Any, cases: list[tuple[Case, int]]) -> list[Callable[[], Call | None]]:
    """What makes the calls of a peer; where XLA compiles for every shape, all side by side, before
    the first is measured.
    """
    if not getattr(peer, "COMPILES_AHEAD", False):
        return [partial(peer.call, *x) for x in cases]
    with ThreadPoolExecutor(THREADS) as pool:
        return [x.result for x in [pool.submit(peer.call, *x) for x in cases]]


def measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """A peer and mozzi in turn, case by case, small batches first."""
    _, models = robots.unpack(options.models)
    peer = importlib.import_module(f"benchmarks.gpu_peers.{name}")
    result: dict[str, Any] = {"version": version(name), "rows": []}
    for robot in (x for x in options.robots if x in peer.ROBOTS):
        cases = [
            (Case(models[robot], function, peer.LAYOUT), batch)
            for batch in options.batches
            for function in options.functions
            if batch <= MOST.get(robot, batch)
        ]
        for (case, batch), make in zip(cases, makers(peer, cases), strict=True):
            theirs = row(name, case, batch, make)
            if theirs:
                own = Case(case.robot, case.function, OWN)
                result["rows"] += [theirs, row("mozzi", own, batch, partial(ours, own, batch))]
                options.part.write_text(json.dumps(result))  # what there is, should time run out
            free_memory()
    return result


def free_memory() -> None:
    """What CuPy and PyTorch keep for themselves is given back."""
    if "cupy" in sys.modules:
        sys.modules["cupy"].get_default_memory_pool().free_all_blocks()
    if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
        sys.modules["torch"].cuda.empty_cache()


def driver_and_gpu() -> dict[str, str]:
    words = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        found = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return {"gpu": "none", "driver": "none"}
    gpu, driver = found.splitlines()[0].split(", ")
    return {"gpu": gpu, "driver": driver}


def in_turn(options: argparse.Namespace, argv: list[str]) -> dict[str, Any]:
    """Every peer in a process of its own; what it had measured counts if it fails."""
    result: dict[str, Any] = {"machine": machine(), **driver_and_gpu(), "absent": {}, "peers": {}}
    result["machine"]["commit"], _ = robots.unpack(options.models)
    for name in options.peers:
        lacks = missing(name)
        if lacks:
            result["absent"][name] = lacks
            print(name, "is not here:", lacks, flush=True)
            continue
        part = Path(tempfile.mkdtemp()) / "part.json"
        words = [sys.executable, "-m", "benchmarks.gpu_peers", *argv, "--one", name, "--part"]
        try:
            environment = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
            subprocess.run(
                [*words, str(part)], check=True, timeout=options.seconds, env=environment
            )
            failed = ""
        except subprocess.TimeoutExpired:
            failed = f"took more than {options.seconds:.0f} s"
        except subprocess.CalledProcessError as wrong:
            failed = f"ended with {wrong.returncode}"
        found = json.loads(part.read_text()) if part.exists() else {"version": "", "rows": []}
        found |= {"failed": failed} if failed else {}
        result["peers"][name] = found
        if options.out:  # what there is so far
            options.out.write_text(json.dumps(result, indent=1) + "\n")
    return result


def joined(paths: list[Path]) -> dict[str, Any]:
    """Runs on one kind of GPU as one: of a case, the last that did not fail."""
    runs = [json.loads(path.read_text()) for path in paths]
    if len({x["gpu"] for x in runs}) > 1:
        raise SystemExit("these runs are of different GPUs")
    result = {**runs[-1], "absent": {}, "peers": {}}
    for name in PEERS:
        parts = [x["peers"][name] for x in runs if name in x["peers"]]
        pairs: dict[Any, tuple[dict[str, Any], ...]] = {}
        for rows in (x["rows"] for x in parts):
            for pair in zip(rows[::2], rows[1::2], strict=True):
                key = tuple(pair[0][x] for x in ("robot", "function", "batch"))
                if key not in pairs or not any("failed" in x for x in pair):
                    pairs[key] = pair
        if pairs:
            version = next(x["version"] for x in parts if x["rows"])
            rows = [x for pair in pairs.values() for x in pair]
            result["peers"][name] = {"version": version, "rows": rows}
        else:
            words = [x.get("failed", "") for x in parts] + [x["absent"].get(name) for x in runs]
            result["absent"][name] = next((x for x in words if x), "not asked for")
    return result


def main(argv: list[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_peers", description=__doc__)
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--out", type=Path, help="write here instead of benchmarks/results")
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    parser.add_argument("--robots", nargs="*", default=ROBOTS, choices=ROBOTS)
    parser.add_argument("--batches", nargs="*", type=int, default=BATCHES)
    parser.add_argument("--functions", nargs="*", default=FUNCTIONS, choices=FUNCTIONS)
    parser.add_argument("--join", nargs="*", type=Path, help="files of several runs, into one")
    parser.add_argument("--seconds", type=float, default=600.0, help="for a peer")
    parser.add_argument("--one", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--part", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.pack:
        robots.pack(options.pack)
    elif options.one:
        options.part.write_text(json.dumps(measured(options.one, options)))
    else:
        result = joined(options.join) if options.join else in_turn(options, argv)
        result["mozzi"] = spread(result["peers"])
        if options.out:
            options.out.write_text(json.dumps(result, indent=1) + "\n")
        else:
            print("saved", save("gpu_peers", result).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
