"""What a call costs beside what it computes: dispatch, short batches, checks."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import states
from benchmarks.loops import pinned_panda
from benchmarks.robots import mozzi_model
from mozzi.model.generate import delta_robot, four_bar

SHORT = (8, 16, 32, 64, 256)
STEPS = 10  # of a motion whose step and pullback are timed


def seconds(calls: dict[str, Callable[[], Any]], least: float = 0.02, rounds: int = 15) -> Any:
    """Seconds of each call, the best of rounds in which they take turns."""
    count = {}
    for name, call in calls.items():
        call()
        start = time.perf_counter()
        call()
        count[name] = max(1, int(least / (time.perf_counter() - start)))
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(count[name]):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / count[name])
    return best


def one_evaluation() -> dict[str, float]:
    """Inverse dynamics of a panda, microseconds, one evaluation."""
    model = mozzi_model("panda")
    q, v, a = (x[0].copy() for x in states(model, ("q", "v", "a"), 1, "float64"))
    kernel, out = mz.compile(mz.inverse_dynamics, model), np.empty(model.nv)
    small = np.ones(7)
    best = seconds({
        "ufunc us": lambda: kernel.ufunc(q, v, a, out=out),
        "public us": lambda: mz.inverse_dynamics(model, q, v, a),
        "numpy us": lambda: np.negative(small, out=out),
    })  # fmt: skip
    return {name: 1e6 * x for name, x in best.items()}


def short_batches() -> dict[str, Any]:
    """Time of a sample over that in a batch of 4,096."""
    rows = []
    for name in ("inverse_dynamics", "forward_dynamics"):
        model, function = mozzi_model("panda"), getattr(mz, name)
        kernel = mz.compile(function, model)
        ways: dict[str, Any] = {f"{name.replace('_', ' ')}, panda": kernel}
        if name == "inverse_dynamics":
            ways["the same through NumPy"] = kernel.ufunc
        calls, shapes = {}, (*SHORT, 4096)
        for n in shapes:
            arrays = states(model, function.required, n, "float64")
            for way, call in ways.items():
                calls[way, n] = lambda call=call, arrays=arrays: call(*arrays)
        best = seconds(calls)
        for way in ways:
            least = best[way, 4096] / 4096
            rows.append([way, *(float(f"{best[way, n] / n / least:.3g}") for n in SHORT)])
    return {"head": ["samples", *map(str, SHORT)], "rows": rows}


CHECKED = {
    "forward dynamics": ("forward_dynamics", {}),
    "inverse dynamics": ("inverse_dynamics", {}),
    "twists": ("twists", {}),
    "inverse dynamics with wrenches": ("inverse_dynamics", {"wrenches": True}),
    "kinetic energy": ("kinetic_energy", {}),
    "integrate": ("integrate", {}),
    "difference": ("difference", {}),
}


def checks() -> tuple[dict[str, Any], float]:
    """Percent of a batch of 4,096 that looking at the numbers takes, over panda, solo12 and talos;
    and the nanoseconds of a single call.
    """
    rows, single = [], 0.0
    try:
        for label, (name, more) in CHECKED.items():
            shares = []
            for robot in ("panda", "solo12", "talos"):
                model, function = mozzi_model(robot), getattr(mz, name)
                arrays = states(model, function.required, 4096, "float64")
                options = {}
                if more:
                    rng = np.random.default_rng(0)
                    options["wrenches"] = rng.normal(size=(4096, model.nb, 6))
                call = lambda: function(model, *arrays, **options)  # noqa: B023
                shares.append(100 * (_watched(call) - 1))
                if name == "inverse_dynamics" and not more:
                    one = [x[0].copy() for x in arrays]
                    single = max(single, _watched(lambda: function(model, *one), True))  # noqa: B023
            least, most = (round(max(x, 0.0), 1) for x in (min(shares), max(shares)))
            rows.append([label, least, most])
    finally:
        mz.set_checks(True)
    return {"head": ["of a batch of 4,096", "least, %", "most, %"], "rows": rows}, single


def _watched(call: Callable[[], Any], difference: bool = False) -> float:
    """Time with checks over that without, in turns, the median; or nanoseconds they take."""
    many = 200 if difference else 3
    spent: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(41):
        for on, times in spent.items():
            mz.set_checks(on)
            call()
            start = time.perf_counter()
            for _ in range(many):
                call()
            times.append((time.perf_counter() - start) / many)
    looked, plain = (np.array(spent[on]) for on in (True, False))
    if difference:
        return 1e9 * float(np.median(looked - plain))
    return float(np.median(looked / plain))


def singular() -> dict[str, float]:
    """What looking for singular configurations adds to forward dynamics with loops: the most of a
    four-bar and of a panda whose tip is held; one sample, and a sample of 4,096.
    """
    crank = four_bar()
    scenes = [(crank, mz.assemble(crank, np.array([0.7, 0.3, 0.4]))), pinned_panda()[:2]]
    added = {"singular single us": 0.0, "singular sample ns": 0.0}
    for model, q in scenes:
        kernel = mz.compile(mz.forward_dynamics, model)
        for key, n, unit in (("singular single us", 1, 1e6), ("singular sample ns", 4096, 1e9)):
            v = np.zeros((n, model.nv))
            given = [np.tile(q, (n, 1)), v, v]
            if n == 1:
                given = [x[0] for x in given]
            best = seconds({
                "function": lambda given=given: mz.forward_dynamics(model, *given),  # noqa: B023
                "kernel": lambda given=given: kernel(*given),  # noqa: B023
            })  # fmt: skip
            found = unit * (best["function"] - best["kernel"]) / n
            added[key] = max(added[key], found)
    return added


def derivatives_of_loops() -> dict[str, Any]:
    """Microseconds of mechanisms with loops, batches of 4,096 (Delta: 512)."""
    head = ["µs", "forward dynamics", "its derivatives", "one direction",
            "a step of `rkmk4`", "its pullback"]  # fmt: skip
    rows = []
    delta = delta_robot()
    scenes = {
        "panda whose hand is held (3 rows)": (*pinned_panda()[:2], 4096),
        "Delta robot (21 coordinates, 24 rows)": (delta, mz.assemble(delta, delta.neutral()), 512),
    }
    for label, (model, q, n) in scenes.items():
        rng = np.random.default_rng(0)
        near = mz.integrate(model, q, 0.05 * rng.normal(size=(n, model.nv)))
        q = mz.assemble(model, near)
        v = mz.consistent_velocities(model, q, rng.normal(size=(n, model.nv)))
        tau = rng.normal(size=v.shape)
        forces = np.tile(tau, (STEPS, 1, 1))
        Q, V = mz.rollout(model, q, v, forces, 1e-3)
        best = seconds({
            "dynamics": lambda: mz.forward_dynamics(model, q, v, tau),  # noqa: B023
            "derivatives": lambda: mz.forward_dynamics_derivatives(model, q, v, tau),  # noqa: B023
            "direction": lambda: mz.directional(mz.forward_dynamics, model, q, v, tau, dq=v),  # noqa: B023
            "step": lambda: mz.rollout(model, q, v, forces, 1e-3),  # noqa: B023
            "pullback": lambda: mz.rollout_gradient(
                model, Q, V, forces, 1e-3, np.ones_like(V), np.ones_like(V)  # noqa: B023
            ),
        }, rounds=5)  # fmt: skip
        each = [x / (STEPS if name in ("step", "pullback") else 1) for name, x in best.items()]
        rows.append([label, *(float(f"{1e6 * x / n:.2g}") for x in each)])
    return {"head": head, "rows": rows}


_START = """
import time
start = time.perf_counter(); import llvmlite.binding; llvm = time.perf_counter() - start
import mozzi as mz
from benchmarks.robots import mozzi_model
model = mozzi_model("panda")
again = time.perf_counter(); mz.compile(mz.inverse_dynamics, model)
print(llvm, llvm + time.perf_counter() - again)
"""


def warm_start() -> dict[str, float]:
    """Seconds to a kernel that the disk cache has, in a fresh process; of these, llvmlite's."""
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"MOZZI_CACHE_DIR": folder}
        words = [sys.executable, "-W", "ignore", "-c", _START]
        runs = []
        for _ in range(6):
            done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
            runs.append(tuple(map(float, done.stdout.split())))
    llvm, whole = min(runs[1:], key=lambda x: x[1])
    return {"llvmlite s": llvm, "warm start s": whole}


def run() -> dict[str, Any]:
    mz.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        looked, single = checks()
        tables = {"short_batches": short_batches(), "checks": looked,
                  "loops_derivatives": derivatives_of_loops()}  # fmt: skip
        derived = {**one_evaluation(), "check single ns": single, **singular(), **warm_start()}
    return {"tables": tables, "derived": derived}
