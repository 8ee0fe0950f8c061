"""`python -m benchmarks.gradients`: gradients of fixed chains as straight-line code and as loops
over bodies, in turns: how long they take, and how long they take to make.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import mozzi as mz
from benchmarks.__main__ import machine, nanoseconds, save, states
from mozzi.compiler import program_of
from mozzi.model.generate import chain
from mozzi.targets.cpu.build import compile_cpu

SIZES = (10, 14, 20, 40)
NAMES = {"λᵀτ": "inverse_dynamics_gradient", "λᵀa": "forward_dynamics_gradient"}
BATCH, ROUNDS = 512, 40


def _made(name: str, bodies: int, rolled: bool) -> tuple[Any, float]:
    """The kernel, and seconds that tracing and compiling took."""
    start = time.perf_counter()
    program = program_of(getattr(mz, name), chain(bodies), rolled=rolled)
    kernel = compile_cpu(program)
    return kernel, time.perf_counter() - start


def main() -> int:
    mz.set_num_threads(1)
    compile_cpu(program_of(mz.inverse_dynamics, chain(2)))  # the compiler itself
    rows: list[list[object]] = []
    ratios: list[float] = []
    for letter, name in NAMES.items():
        for bodies in SIZES:
            arguments = states(chain(bodies), getattr(mz, name).required, BATCH, "float64")
            made = {rolled: _made(name, bodies, rolled) for rolled in (False, True)}
            best = dict.fromkeys(made, float("inf"))
            for _ in range(ROUNDS):
                for rolled, (kernel, _) in made.items():
                    best[rolled] = min(best[rolled], nanoseconds(kernel, arguments, BATCH, 1))
            ratios.append(best[True] / best[False])
            seconds = [float(f"{made[rolled][1]:.2g}") for rolled in (False, True)]
            numbers = [round(best[False]), round(best[True]), float(f"{ratios[-1]:.3g}")]
            rows.append([letter, bodies, *numbers, *seconds])
            print(rows[-1], flush=True)
    head = ["", "bodies", "straight (ns)", "loops (ns)", "ratio", "to make (s)", "loops (s)"]
    result = {
        "machine": machine(), "command": "python -m benchmarks.gradients",
        "tables": {"gradients_as_loops": {"head": head, "rows": rows}},
        "slower": {"least": min(ratios), "most": max(ratios)},
    }  # fmt: skip
    print("saved", save("gradients", result).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
