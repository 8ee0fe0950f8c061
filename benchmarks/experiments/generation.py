"""Code for the CPU with one thing changed: what it costs to do without it.

Every change is made in a process of its own, without a disk cache: `python -m
benchmarks.experiments.generation CHANGE` prints what its kernels take, as JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import mozzi as mz
import mozzi.compiler
from benchmarks.__main__ import nanoseconds, states
from benchmarks.robots import mozzi_model
from mozzi.targets.cpu import assembler, batch_loop, ir, jit, outline, unpack

build = importlib.import_module("mozzi.targets.cpu.build")  # the module, not its function

Case = tuple[str, str]
MAIN: list[Case] = [
    ("inverse_dynamics", "panda"), ("forward_dynamics", "panda"), ("forward_dynamics", "solo12"),
    ("forward_dynamics", "talos"), ("forward_dynamics", "chain300"),
]  # fmt: skip
DERIVATIVES = ("forward_dynamics_derivatives", "talos")
MASS = ("mass_matrix", "talos")
BATCH = {"chain300": 256, "talos": 1024, "mass_matrix": 4096}


def _set(owner: Any, name: str, value: Any) -> None:
    """Another value of a name that is there: of one that is gone nothing would be measured."""
    getattr(owner, name)
    setattr(owner, name, value)


def _host(cpu: str, features: str) -> None:
    """Compile for another machine."""
    triple, _, _, version = assembler.host()
    for module in (assembler, jit):
        _set(module, "host", lambda: (triple, cpu, features, version))


def _everything(program: Any) -> dict[int, list[tuple[int, int]]]:
    scratch = [b for b in program.buffers() if b.kind == "scratch" and b.size]
    return {id(b): [(0, b.size)] for b in scratch}


def _unaligned() -> None:
    close = ir.Body._close

    def plain(self: Any, *arguments: str) -> None:
        close(self, *arguments)
        functions = self.module.functions
        functions[:] = [x.replace(' "stackrealign"', "") for x in functions]

    _set(ir.Body, "_close", plain)


def _mergeable() -> None:
    store = ir.Body._store
    _set(ir.Body, "_store", lambda self, at, value, kind: store(self, at, value, ""))


def _straight() -> None:
    _set(mozzi.compiler, "CPU_COLUMNS", 1 << 60)
    _set(build, "rerolled", lambda program: program)


CHANGES: dict[str, tuple[Callable[[], Any], list[Case]]] = {
    "as it is": (lambda: None, [*MAIN, DERIVATIVES, MASS]),
    "256-bit vectors": (lambda: _set(jit, "lanes", lambda d: 4 if d == "float64" else 8), MAIN),
    "without scheduling": (lambda: _set(build, "schedule", lambda program: program), MAIN),
    **{f"code generation level {n}": (partial(_set, assembler, "LEVEL", n), MAIN)
       for n in (0, 1, 3)},
    **{f"`{x}`": (lambda x=x: jit.binding().set_option("", x), MAIN)
       for x in ("-enable-misched=false", "-pre-RA-sched=list-ilp")},
    "all memory cleared": (lambda: _set(ir, "unwritten", _everything), MAIN[-1:]),
    "stacks not realigned": (_unaligned, MAIN),
    "compiled for AVX2": (lambda: _host("haswell", "+avx,+avx2,+fma"), MAIN),
    "compiled for SSE2, no FMA": (lambda: _host("x86-64", ""), MAIN),
    "nothing outlined": (lambda: _set(outline, "LONG_PROGRAM", 1e9), MAIN[3:4]),
    "stores that LLVM may merge": (_mergeable, [MASS]),
    "never past the caches": (lambda: _set(batch_loop, "STREAM_BYTES", 1 << 60), [MASS]),
    "by halves of lines": (lambda: _set(unpack, "LONG_ROW", 1 << 60), [MASS]),
    "values kept from function to function": (lambda: _set(ir, "RELOAD", 1 << 60),
                                              [DERIVATIVES]),
    "straight-line": (_straight, [DERIVATIVES]),
}  # fmt: skip
TABLE = [x for x in CHANGES if CHANGES[x][1] in (MAIN, MAIN[-1:]) or x == "as it is"]


def measured(change: str, rounds: int = 8) -> dict[str, dict[str, float]]:
    """Nanoseconds of an evaluation, seconds to trace and compile, operations; by case."""
    make, cases = CHANGES[change]
    mz.set_num_threads(1)
    make()
    mz.compile(mz.gravity_forces, mozzi_model("ur5"))  # llvmlite is imported and set up
    found = {}
    for name, robot in cases:
        model, function = mozzi_model(robot), getattr(mz, name)
        batch = BATCH.get(name) or BATCH.get(robot, 4096)
        start = time.perf_counter()
        kernel = mz.compile(function, model)
        seconds = time.perf_counter() - start
        arrays = states(model, function.required, batch, "float64")
        ns = min(nanoseconds(kernel, arrays, batch) for _ in range(rounds))
        found[f"{name} {robot}"] = {"ns": ns, "compile_s": seconds, "flops": kernel.flops}
    return found


def in_process(change: str) -> dict[str, dict[str, float]]:
    """The same in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.experiments.generation", change]
    env = os.environ | {"MOZZI_CACHE": "0"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def run() -> dict[str, Any]:
    """All changes; the sources as they are come first and last, the faster counts."""
    found = {change: in_process(change) for change in CHANGES}
    again = in_process("as it is")
    for case, row in found["as it is"].items():
        row["ns"] = min(row["ns"], again[case]["ns"])
        row["compile_s"] = min(row["compile_s"], again[case]["compile_s"])
    label = [f"{a} {b}" for a, b in MAIN]
    head = ["", *(f"{b} {a.split('_')[0]}" for a, b in MAIN)]
    rows = [[x, *(_digits(found[x].get(case)) for case in label)] for x in TABLE]
    usual = found["as it is"]
    without = [found["without scheduling"][x]["ns"] / usual[x]["ns"] - 1 for x in label]
    loose = [found["stacks not realigned"][x]["ns"] / usual[x]["ns"] - 1 for x in label]
    derivatives, mass = (" ".join(case) for case in (DERIVATIVES, MASS))
    written = mozzi_model("talos").nv ** 2 * 8  # bytes of a mass matrix
    each = [usual[x]["compile_s"] / usual[x]["flops"] * 1e6 for x in label[:-1]]
    return {
        "tables": {"cpu_options": {"head": head, "rows": rows}},
        "changes": found,
        "derived": {
            "scheduling low": 100 * min(without), "scheduling high": 100 * max(without),
            "alignment": 100 * max(loose),
            "compile us low": min(each), "compile us high": max(each),
            "reload long us":
                found["values kept from function to function"][derivatives]["ns"] / 1e3,
            "talos columns us": usual[derivatives]["ns"] / 1e3,
            "talos columns s": usual[derivatives]["compile_s"],
            "talos straight us": found["straight-line"][derivatives]["ns"] / 1e3,
            "talos straight s": found["straight-line"][derivatives]["compile_s"],
            "both GB/s": written / usual[mass]["ns"],
            "cached GB/s": written / found["never past the caches"][mass]["ns"],
            "halves GB/s": written / found["by halves of lines"][mass]["ns"],
        },
    }  # fmt: skip


def _digits(row: dict[str, float] | None) -> float | None:
    return None if row is None else round(row["ns"], 1 if row["ns"] < 100 else None)


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1])))
