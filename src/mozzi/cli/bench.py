"""``mozzi bench``: how fast this machine is."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from mozzi.cli.console import put, stdout
from mozzi.cli.info import Base
from mozzi.cli.progress import watched
from mozzi.errors import ConfigurationError

if TYPE_CHECKING:
    from mozzi.model import Model

__all__ = ["bench"]

FUNCTIONS = ("forward_kinematics", "inverse_dynamics", "forward_dynamics", "mass_matrix")
STEPS, DT = 20, 1e-3


def bench(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="A .urdf, .xml or .sdf file; an arm if none."),
    ] = None,
    base: Annotated[Base, typer.Option(help="How the root is held to the world.")] = Base.fixed,
    batch: Annotated[int, typer.Option(help="Samples per call.")] = 4096,
    threads: Annotated[int, typer.Option(help="Threads to use.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Measure algorithms and simulation on one mechanism: compile times, nanoseconds, operations.

    ``python -m benchmarks`` in a checkout compares with other libraries.
    """
    import mozzi as mz
    from mozzi.cli.demo import arm
    from mozzi.targets.cpu.threads import get_num_threads

    if batch < 1 or threads < 1:
        raise ConfigurationError("--batch and --threads: give 1 or more")
    model = arm() if file is None else mz.load(file, base.value)
    before = get_num_threads()
    mz.set_num_threads(threads)
    try:
        with watched(model.name) as tell:
            rows = measure(model, batch, tell)
    finally:
        mz.set_num_threads(before)
    if as_json:
        typer.echo(json.dumps({"model": model.name, "batch": batch, "rows": rows}, indent=2))
        return
    put(f"[bold]{escape(model.name)}[/] · nv {model.nv} · {batch:,} samples · {threads} threads")
    table = Table("function", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("compiled in/s", "operations", "ns each", "per second"):
        table.add_column(heading, justify="right")
    for row in rows:
        ns = row["ns"]
        table.add_row(row["function"], f"{row['compile_s']:.2f}", f"{row['operations']:,}",
                      f"{ns:,.0f}", f"{1e9 / ns:.3g}")  # fmt: skip
    stdout.print(table)


def measure(model: Model, batch: int, tell: Callable[[float], None]) -> list[dict[str, Any]]:
    """A row for every function, and one for a step of a simulation."""
    import numpy as np

    import mozzi as mz
    from mozzi.algorithms.recursion.arguments import shape_of
    from mozzi.simulation.kernels import advance_kernel
    from mozzi.simulation.methods import MuntheKaas
    from mozzi.simulation.system import System

    rng = np.random.default_rng(0)
    q, v = model.random_configuration(rng, batch), rng.normal(size=(batch, model.nv))
    rows: list[dict[str, Any]] = []
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
        tell((k + 1) / (len(FUNCTIONS) + 1))
    begin = time.perf_counter()
    kernel = advance_kernel(MuntheKaas(), System(model), {})
    compiled = time.perf_counter() - begin
    ns = best(lambda: kernel(q, v, 0.0, DT, float(STEPS))) / (batch * STEPS) * 1e9
    rows.append(row("step of rkmk4", compiled, kernel, ns))
    tell(1.0)
    return rows


def row(name: str, compiled: float, kernel: Any, ns: float) -> dict[str, Any]:
    return {"function": name, "compile_s": compiled, "operations": kernel.flops, "ns": ns}


def best(run: Callable[[], Any]) -> float:
    """Seconds of the quickest of some runs."""
    run()
    times: list[float] = []
    while len(times) < 5 or (sum(times) < 0.3 and len(times) < 50):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)
