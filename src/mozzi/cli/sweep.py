"""``mozzi sweep FILE``: a simulation over many samples of what varies."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from mozzi.cli.console import complain, put, stderr
from mozzi.cli.controllers import Controller, law_of
from mozzi.cli.info import Base
from mozzi.cli.robot import File, Root, configuration, open_robot
from mozzi.errors import ConfigurationError, ExtraMissingError
from mozzi.files import make_folder_of

if TYPE_CHECKING:
    import numpy as np

    from mozzi.sweeps.rollout import Rollout
    from mozzi.sweeps.sweep import Progress, Swept
    from mozzi.types import Method

__all__ = ["sweep"]

TRIED = 64  # samples by which a dry run measures
FAILED, INTERRUPTED = 1, 130


def sweep(
    file: File,
    vary: Annotated[
        list[str],
        typer.Option(help="What varies, and how: link3.mass=uniform(0.8,1.2), normal(mean,"
                          "deviation), loguniform(low,high), choice(...), linspace(low,high,n) or "
                          "numbers; may be repeated."),
    ],
    samples: Annotated[
        float | None, typer.Option(help="How many samples, such as 1e6, of distributions.")
    ] = None,
    duration: Annotated[float, typer.Option(help="Seconds to simulate.")] = 2.0,
    dt: Annotated[float, typer.Option(help="Seconds per step.")] = 1e-3,
    method: Annotated[
        str | None, typer.Option(help="How to integrate, as in mozzi simulate.", show_default=False)
    ] = None,
    q0: Annotated[
        str | None, typer.Option("--q0", "--start", help="Where it starts, as in mozzi simulate.")
    ] = None,
    controller: Annotated[
        Controller, typer.Option(help="What drives the joints, as in mozzi simulate; it knows the "
                                      "robot of the file.")
    ] = Controller.none,
    goal: Annotated[
        str | None, typer.Option("--goal", help="Where a controller goes: like --q0; the start by "
                                                "default.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="How fast a controller answers, in rad/s; may be varied: "
                                        "--vary rate=uniform(5,20).")
    ] = None,
    base: Annotated[Base, typer.Option(help="How the root is held to the world.")] = Base.fixed,
    root: Root = None,
    reduce: Annotated[
        str, typer.Option(help="What is kept of the samples instead of their results, by commas: "
                               "count, mean, std, min, max, quantiles, histogram.")
    ] = "",
    record: Annotated[
        int | None, typer.Option(help="Record the motions, every so many steps.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="Where results go: a zarr folder; a sweep that was stopped "
                                       "goes on from there.")
    ] = None,
    rows: Annotated[
        Path | None, typer.Option(help="Where to write a row per sample: .parquet or .csv.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Where to write a page with plots: .html; beside the store "
                                       "by default.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="The address of a Dask scheduler, tcp://host:8786.")
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Processes on this machine; 0 for this one, with its threads.")
    ] = 0,
    chunk: Annotated[int | None, typer.Option(help="Samples of a job.", show_default=False)] = None,
    seed: Annotated[int, typer.Option(help="For what is drawn.")] = 0,
    target: Annotated[str, typer.Option(help="Where it runs: cpu or cuda.")] = "cpu",
    dtype: Annotated[str, typer.Option(help="The numbers of the steps.")] = "float64",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would cost, and do nothing.")
    ] = False,
) -> None:  # fmt: skip
    """Simulate many samples of a mechanism whose parameters vary, here or on a cluster.

    Results do not depend on chunks and workers. With --store, Ctrl-C and kill lose nothing: the
    same command goes on.
    """
    from mozzi.sweeps.rollout import Rollout
    from mozzi.sweeps.rows import check_format
    from mozzi.sweeps.sweep import sweep as run_sweep
    from mozzi.types import Device, DType

    model = open_robot(file, base.value, root)
    varied = varied_of(vary)
    start = configuration(model, q0)
    there = start if goal is None else configuration(model, goal, name="goal")
    law = law_of(model, controller, there, rate, dt)
    run = Rollout(
        model, duration, dt, start, None, law, _method(method), record,
        target=_word(target, Device), dtype=_word(dtype, DType),
    )  # fmt: skip
    count = None if samples is None else count_of(samples)
    if rows is not None:
        check_format(rows)  # before the work
    for path in (rows, report):
        if path is not None and not dry_run:
            make_folder_of(path)
    if dry_run:
        tell_cost(run, varied, count, chunk, max(1, workers))
        return
    start = time.perf_counter()
    try:
        with engine(scheduler, workers) as executor, bar(model.name) as tell:
            found = run_sweep(
                run, varied, executor, chunk, store, seed, samples=count,
                reduce=reduce, progress=tell,
            )  # fmt: skip
    except KeyboardInterrupt:
        kept = "the same command goes on from what is in the store"
        complain(f"stopped; {kept if store is not None else 'nothing is kept: --store keeps it'}")
        raise typer.Exit(INTERRUPTED) from None
    seconds = time.perf_counter() - start
    n = found.table.size
    put(f"{n:,} samples in {seconds:.1f} s, {n / seconds:,.0f} a second")
    tell_results(found)
    if rows is not None:
        put(f"rows in {escape(str(found.save(rows)))}")
    if store is not None:
        put(f"results in {escape(str(store))}")
        report = report or store.with_suffix(".html")
    if report is not None:
        from mozzi.viz.sweep_page import write_page

        put(f"report in {escape(str(write_page(found, report, run, seconds)))}")
    if found.failures:
        raise typer.Exit(FAILED)


def varied_of(vary: list[str]) -> dict[str, object]:
    """What varies, by name."""
    out: dict[str, object] = {}
    for text in vary:
        name, equals, how = text.partition("=")
        if not equals or not name.strip():
            raise ConfigurationError(f"--vary {text!r}: write name=uniform(low,high)")
        if name.strip() in out:
            raise ConfigurationError(f"--vary {text!r}: {name.strip()!r} varies already")
        out[name.strip()] = how
    return out


def count_of(samples: float) -> int:
    """How many samples a number such as 1e6 says."""
    if not (math.isfinite(samples) and samples == int(samples)):
        raise ConfigurationError(f"--samples {samples:g}: give a whole number")
    return int(samples)


def _method(name: str | None) -> Method | None:
    from mozzi.simulation.methods import as_method

    return None if name is None else as_method(name)


def _word(text: str, kind: Any) -> Any:
    from mozzi.types import words

    if text not in words(kind):
        raise ConfigurationError(f"{text!r}: give {' or '.join(words(kind))}")
    return text


@contextmanager
def engine(scheduler: str | None, workers: int) -> Generator[object | None]:
    """Where jobs run."""
    if scheduler is not None:
        try:
            from distributed import Client
        except ImportError:
            raise ExtraMissingError("--scheduler needs Dask: pip install mozzi[cluster]") from None
        try:
            client = Client(scheduler, timeout=10)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"no Dask scheduler at {scheduler!r} ({error}); start one: dask scheduler"
            ) from None
        with client:
            yield client
    elif workers:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:  # threads do not fork
            yield pool
    else:
        yield None


@contextmanager
def bar(name: str) -> Generator[Any]:
    """A bar with throughput and the time that is left."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[rate]} a second, {task.fields[left]} left"), TimeElapsedColumn(),
    )  # fmt: skip
    with Bar(*columns, console=stderr) as shown:
        task = shown.add_task(escape(name), total=None, rate="-", left="-")

        def tell(now: Progress) -> None:
            shown.update(
                task, total=now.samples, completed=now.done, rate=f"{now.rate:,.0f}",
                left=lasting(now.left),
            )  # fmt: skip

        yield tell


def lasting(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def tell_cost(
    run: Rollout, varied: Mapping[str, object], samples: int | None, chunk: int | None, cores: int
) -> None:
    """What a sweep would take, from a few samples of it."""
    from mozzi.sweeps.table import table_of

    run.check(varied)
    table = table_of(varied, samples, 0)
    some = table.rows(0, min(table.size, TRIED))
    start = time.perf_counter()
    run(some)
    first = time.perf_counter() - start
    start = time.perf_counter()
    results = run(some)
    each = (time.perf_counter() - start) / (some.stop - some.start)
    size = sum(x.nbytes for x in results.values()) / (some.stop - some.start)
    per_job = chunk or min(table.size, run.chunk)
    put(f"{table.size:,} samples of {run.steps:,} steps in {-(-table.size // per_job):,} jobs of "
        f"{per_job:,}")  # fmt: skip
    took = lasting(table.size * each / cores)
    put(f"compiled in {first:.1f} s; {1e6 * each:,.0f} µs a sample here; {took} on {cores} "
        f"{'cores' if cores > 1 else 'process'}")  # fmt: skip
    put(f"{size * table.size / 1e9:,.3f} GB of results without --reduce")


def tell_results(found: Swept) -> None:
    """What came out, in a few lines."""
    import numpy as np

    if found.bad:
        put(f"[yellow]{found.bad:,} samples diverged[/], the first: {found.lost[0]}")
    for failure in found.failures[:5]:
        put(f"[red]samples {failure.start} to {failure.stop} failed:[/] {escape(failure.error)}")
    for name in found:
        x = np.asarray(found[name], dtype=float)
        if x.shape[:1] == (found.table.size,) and not name.endswith("_record"):
            good = x[np.isfinite(x).reshape(len(x), -1).all(axis=1)]
            if len(good):
                put(f"{name}: mean {_short(good.mean(0))}, from {_short(good.min(0))} to "
                    f"{_short(good.max(0))}")  # fmt: skip
        elif not name.endswith(("histogram", "edges")):
            put(f"{name}: {_short(x)}")


def _short(x: np.ndarray) -> str:
    import numpy as np

    return np.array2string(np.asarray(x), precision=4, threshold=8, separator=", ")
