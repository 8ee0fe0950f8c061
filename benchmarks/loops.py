"""`python -m benchmarks.loops`: forward dynamics of closed loops beside Pinocchio's, and how a step
of the n-four-bar grows with n.

One thread, float64, batches of 4,096 (n-four-bar: 512). Pinocchio's `constraintDynamics` is called
from Python, and in C++ where a compiler and the headers of Eigen are at hand (`pip install
cmeel-eigen`; it takes a minute to compile). All are measured in turns in one run.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, save
from benchmarks.robots import mozzi_model, pin_model
from mozzi.model.generate import leaning, n_four_bar

BATCH, CLOSED_BATCH, STEPS, DT = 4096, 512, 5, 1e-3
BARS = {"panda": 5.0, "solo12": 4.0}


def best(run: Callable[[], Any], repeat: int = 5) -> float:
    """Seconds of the fastest call."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


# -- beside Pinocchio --


def pinned_panda() -> tuple[mz.Model, np.ndarray, list[str]]:
    """A panda whose hand is held at a point: three rows."""
    tree = mozzi_model("panda")
    q = np.array([0.3, -0.5, 0.2, -1.9, 0.4, 1.7, 0.6])
    at = mz.pose(tree, q, "panda_hand")[:3, 3]
    loop = ("tip", None, "panda_hand", mz.Spherical(), tuple(at))
    return tree.with_loop(*loop), q, ["panda_hand"]


def standing_solo() -> tuple[mz.Model, np.ndarray, list[str]]:
    """A solo12 on four feet that do not slip: twelve rows."""
    tree = model = mozzi_model("solo12")
    q = model.neutral()
    for joint in model.joint_names[1:]:
        q[model.q_slices[joint]] = {"HAA": 0.0, "HFE": 0.8, "KFE": -1.6}[joint[-3:]]
    feet = [frame for frame in model.frames if frame.endswith("_FOOT")]
    for foot in feet:
        at = mz.pose(tree, q, foot)[:3, 3]
        model = model.with_loop(foot.lower(), None, foot, mz.Spherical(), tuple(at))
    return model, q, feet


def pin_in_python(name: str, q: np.ndarray, frames: list[str], calls: int = 2000) -> Any:
    """A function that runs `pin.constraintDynamics` with these frames held, many times."""
    import pinocchio as pin

    model = pin_model(name)
    data = model.createData()
    contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for frame in frames:
        f = model.frames[model.getFrameId(frame)]
        contacts.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, model, f.parentJoint, f.placement,
                pin.ReferenceFrame.LOCAL,
            )
        )  # fmt: skip
        datas.append(contacts[-1].createData())
    pin.initConstraintDynamics(model, data, contacts, datas)
    v = tau = np.zeros(model.nv)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)

    def run() -> None:
        for _ in range(calls):
            pin.constraintDynamics(model, data, q, v, tau, contacts, datas, settings)

    return lambda: best(run, 1) / calls


def compiled_peer(folder: Path) -> Path | None:
    """`constraint_dynamics.cpp` as a program; None, and why, where it cannot be compiled."""
    prefix = Path(sysconfig.get_paths()["purelib"], "cmeel.prefix")
    eigen = prefix / "include" / "eigen3"
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None or not eigen.is_dir():
        missing = "a C++ compiler" if compiler is None else "Eigen (pip install cmeel-eigen)"
        print(f"Pinocchio in C++ is not measured: {missing} is missing")
        return None
    program = folder / "constraint_dynamics"
    defined = ("NDEBUG", "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "BOOST_MPL_LIMIT_LIST_SIZE=30")
    subprocess.run(
        [
            compiler, "-std=c++17", "-O3", "-w", "-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION",
            *(f"-D{x}" for x in defined), f"-I{prefix / 'include'}", f"-I{eigen}",
            str(Path(__file__).with_name("constraint_dynamics.cpp")), f"-L{prefix / 'lib'}",
            "-lpinocchio_default", "-lboost_serialization",
            f"-Wl,-rpath,{prefix / 'lib'}", f"-Wl,-rpath-link,{prefix / 'lib'}",
            "-o", str(program),
        ],
        check=True,
    )  # fmt: skip
    return program


def pin_in_cpp(program: Path, name: str, q: np.ndarray, frames: list[str]) -> Any:
    """A function that measures the C++ program."""
    file = program.with_name(f"{name}.bin")
    pin_model(name).saveToBinary(str(file))
    arguments = [str(program), str(file), "5000", ",".join(frames), *map(repr, q.tolist())]

    def run() -> float:
        done = subprocess.run(arguments, check=True, capture_output=True, text=True)
        return float(done.stdout.split()[0])

    return run


def beside(
    name: str, case: tuple[mz.Model, np.ndarray, list[str]], program: Path | None, rounds: int
) -> dict[str, Any]:
    """ns of one forward dynamics."""
    model, q, frames = case
    peers = {"python": pin_in_python(name, q, frames)}
    if program is not None:
        peers["cpp"] = pin_in_cpp(program, name, q, frames)
    kernel = mz.compile(mz.forward_dynamics, model)
    rng = np.random.default_rng(0)
    near = mz.integrate(model, q, 1e-3 * rng.normal(size=(BATCH, model.nv)))
    v, tau = rng.normal(size=(2, BATCH, model.nv))
    own, others = np.inf, dict.fromkeys(peers, np.inf)
    for _ in range(rounds):
        own = min(own, best(lambda: kernel(near, v, tau)) / BATCH)
        others = {how: min(others[how], measure()) for how, measure in peers.items()}
    return {
        "robot": name, "rows": len(mz.loop_residual(model, q)), "bar": BARS[name],
        "ns": own * 1e9, "pinocchio_ns": {how: x * 1e9 for how, x in others.items()},
        "ratio": {how: x / own for how, x in others.items()},
    }  # fmt: skip


# -- the n-four-bar --


def n_four_bars(n: int, rounds: int) -> dict[str, Any]:
    """µs of forward dynamics and of a step of rkmk4, projection included, and in `simulate`."""
    model = n_four_bar(n)
    q = leaning(model, 0.3)
    start = time.perf_counter()
    forward, step = mz.compile(mz.forward_dynamics, model), mz.stepper(model, "rkmk4")
    made = time.perf_counter() - start
    q = np.repeat(q[None], CLOSED_BATCH, axis=0)
    v = np.zeros((CLOSED_BATCH, model.nv))
    row: dict[str, Any] = {"windows": n, "bodies": model.nb, "made_s": made}
    for name, run, count in (
        ("forward_us", lambda: forward(q, v, v), 1),
        ("step_us", lambda: step(q, v, 0.0, DT, float(STEPS)), STEPS),
    ):
        row[name] = best(run, 3 * rounds) / CLOSED_BATCH / count * 1e6
    alone = best(lambda: step(q[0], v[0], 0.0, DT, float(20 * STEPS)), 3 * rounds)
    row["step_alone_us"] = alone / (20 * STEPS) * 1e6
    start = time.perf_counter()
    mz.simulate(model, q[0], v[0], DT, DT)
    row["simulate_first_s"] = time.perf_counter() - start
    short, long = (
        best(lambda n=n: mz.simulate(model, q[0], v[0], n * DT, DT), rounds) for n in (200, 1200)
    )
    row["simulate_us"] = (long - short) / 1000 * 1e6  # every step is recorded
    for name in ("forward", "step", "step_alone", "simulate"):
        row[f"{name}_ns_a_window"] = row[f"{name}_us"] * 1e3 / n
    return row


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loops", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="alternations of mozzi and peers")
    parser.add_argument("--no-save", action="store_true", help="print only")
    options = parser.parse_args()
    mz.set_num_threads(1)
    result: dict[str, Any] = {"machine": machine(), "beside": [], "windows": []}
    with tempfile.TemporaryDirectory() as folder:
        program = compiled_peer(Path(folder))
        for name, case in (("panda", pinned_panda()), ("solo12", standing_solo())):
            row = beside(name, case, program, options.rounds)
            result["beside"].append(row)
            print(row, flush=True)
    for n in (10, 40, 160):
        row = n_four_bars(n, options.rounds)
        result["windows"].append(row)
        print({k: round(x, 2) for k, x in row.items()}, flush=True)
    if not options.no_save:
        print("saved", save("loops", result).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
