"""``mozzi bench``: how fast this machine is."""

from __future__ import annotations

import functools
import importlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, NotRequired, TypedDict

import typer
from rich import box
from rich.table import Table

from mozzi.cli.console import escape, put, stdout
from mozzi.cli.info import Base
from mozzi.cli.robot import Root, open_robot
from mozzi.errors import ConfigurationError
from mozzi.viz.progress import watched

if TYPE_CHECKING:
    from mozzi.model import Model

__all__ = ["bench"]

FUNCTIONS = ("forward_kinematics", "inverse_dynamics", "forward_dynamics", "mass_matrix")
STEPS, DT = 20, 1e-3


def bench(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]",
                       help="A .urdf, .xml or .sdf file, or a robot's name; an arm if none."),
    ] = None,
    base: Annotated[Base, typer.Option(help="How the root is held to the world.")] = Base.fixed,
    root: Root = None,
    batch: Annotated[int, typer.Option(help="Samples per call.")] = 4096,
    threads: Annotated[int, typer.Option(help="Threads to use.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Measure algorithms and simulation on one mechanism: compile times, nanoseconds, operations.

    Beside them stand Pinocchio and MuJoCo, where they are installed and read the file: one call
    from Python for every sample, as programs call them.
    """
    import mozzi as mz
    from mozzi.cli.demo import arm
    from mozzi.targets.cpu.calls.threads import get_num_threads

    if batch < 1 or threads < 1:
        raise ConfigurationError("--batch and --threads: give 1 or more")
    model = arm() if file is None else open_robot(file, base.value, root)
    before = get_num_threads()
    mz.set_num_threads(threads)
    try:
        with watched(model.name) as tell:
            rows = measure(model, batch, tell)
            peers = {} if file is None else others(model, file, base.value)
    finally:
        mz.set_num_threads(before)
    if as_json:
        told = {"model": model.name, "batch": batch, "rows": rows, "peers": peers}
        typer.echo(json.dumps(told, indent=2))
        return
    put(f"[bold]{escape(model.name)}[/] · nv {model.nv} · {batch:,} samples · {threads} threads")
    table = Table("function", box=box.SIMPLE_HEAD, pad_edge=False)
    headings = ["compiled in/s", "operations", "ns each", "per second", "ns, one call"]
    for heading in (*headings, *(f"{peer} ns" for peer in peers)):
        table.add_column(heading, justify="right")
    for row in rows:
        ns, single = row["ns"], row.get("single_ns")
        beside = [times.get(row["function"]) for times in peers.values()]
        table.add_row(row["function"], f"{row['compile_s']:.2f}", f"{row['operations']:,}",
                      f"{ns:,.0f}", f"{1e9 / ns:.3g}",
                      *(f"{x:,.0f}" if x else "" for x in (single, *beside)))  # fmt: skip
    stdout.print(table)
    if file is not None and not peers:
        put("no peers: neither pinocchio nor mujoco is installed and reads the file")


class Row(TypedDict):
    """What was measured of one function."""

    function: str
    compile_s: float
    operations: int
    ns: float
    single_ns: NotRequired[float]


def measure(model: Model, batch: int, tell: Callable[[float], None]) -> list[Row]:
    """A row for every function, and one for a step of a simulation."""
    import numpy as np

    import mozzi as mz
    from mozzi.algorithms.calls.arguments import shape_of
    from mozzi.simulation.kernels import advance_kernel
    from mozzi.simulation.methods import MuntheKaas
    from mozzi.simulation.system import System

    rng = np.random.default_rng(0)
    q, v = model.random_configuration(rng, batch), rng.normal(size=(batch, model.nv))
    rows: list[Row] = []
    for k, name in enumerate(FUNCTIONS):
        function = getattr(mz, name)
        begin = time.perf_counter()
        kernel = mz.compile(function, model)
        compiled = time.perf_counter() - begin
        inputs = [
            q if n == "q" else v if n == "v" else rng.normal(size=(batch, *shape_of(n, model)))
            for n in function.required
        ]
        ns = best(functools.partial(kernel, *inputs)) / batch * 1e9
        rows.append(row(name, compiled, kernel, ns))
        one = [np.ascontiguousarray(x[0]) for x in inputs]
        rows[-1]["single_ns"] = best(functools.partial(kernel, *one)) * 1e9
        tell((k + 1) / (len(FUNCTIONS) + 1))
    begin = time.perf_counter()
    kernel = advance_kernel(MuntheKaas(), System(model), {})
    compiled = time.perf_counter() - begin
    ns = best(lambda: kernel(q, v, 0.0, DT, float(STEPS))) / (batch * STEPS) * 1e9
    rows.append(row("step of rkmk4", compiled, kernel, ns))
    tell(1.0)
    return rows


def others(model: Model, file: Path, base: str) -> dict[str, dict[str, float]]:
    """Nanoseconds of one call of the peers that are installed and read the file."""
    from mozzi.loaders.names import find

    path = str(find(file))
    found: dict[str, dict[str, float]] = {}
    for name, measured in (("pinocchio", pinocchio), ("mujoco", mujoco)):
        try:
            peer = importlib.import_module(name)
        except ImportError:
            continue
        try:
            found[name] = measured(peer, path, base, model.nv)
        except Exception as error:  # whatever a peer may say of somebody's file
            put(f"[yellow]note:[/] {name} cannot be compared: {escape(str(error)[:200])}")
    return found


def pinocchio(pin: ModuleType, path: str, base: str, nv: int) -> dict[str, float]:
    """Of Pinocchio: calls as its documentation has them."""
    import numpy as np

    root = (pin.JointModelFreeFlyer(),) if base == "free" else ()
    model = pin.buildModelFromUrdf(path, *root)
    if model.nv != nv:
        raise ConfigurationError(f"it reads a model with nv = {model.nv}, not {nv}")
    data, rng = model.createData(), np.random.default_rng(0)
    q = pin.neutral(model)
    v, a = rng.normal(size=(2, nv))
    calls = {
        "forward_kinematics": lambda: pin.forwardKinematics(model, data, q),
        "inverse_dynamics": lambda: pin.rnea(model, data, q, v, a),
        "forward_dynamics": lambda: pin.aba(model, data, q, v, a),
        "mass_matrix": lambda: pin.crba(model, data, q),
    }
    return {name: best(call) * 1e9 for name, call in calls.items()}


def mujoco(mj: ModuleType, path: str, base: str, nv: int) -> dict[str, float]:
    """Of MuJoCo: the functions of its pipeline that compute the same."""
    model = mj.MjModel.from_xml_path(path)
    if model.nv != nv:
        raise ConfigurationError(f"it reads a model with nv = {model.nv}, not {nv}")
    data = mj.MjData(model)
    calls = {
        "forward_kinematics": lambda: mj.mj_kinematics(model, data),
        "inverse_dynamics": lambda: mj.mj_inverse(model, data),
        "forward_dynamics": lambda: mj.mj_forward(model, data),
        "mass_matrix": lambda: mj.mj_crb(model, data),
    }
    return {name: best(call) * 1e9 for name, call in calls.items()}


def row(name: str, compiled: float, kernel: object, ns: float) -> Row:
    flops = int(getattr(kernel, "flops", 0))
    return {"function": name, "compile_s": compiled, "operations": flops, "ns": ns}


def best(run: Callable[[], object]) -> float:
    """Seconds of the quickest of some runs."""
    run()
    times: list[float] = []
    while len(times) < 5 or (sum(times) < 0.3 and len(times) < 50):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)
