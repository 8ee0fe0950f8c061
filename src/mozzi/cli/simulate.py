"""``mozzi simulate FILE``: the motion of a mechanism."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from mozzi.cli.console import complain, put, stderr, stdout
from mozzi.cli.info import Base
from mozzi.cli.progress import watched
from mozzi.errors import ConfigurationError, DivergenceWarning, known

if TYPE_CHECKING:
    from mozzi.model import Model
    from mozzi.simulation.simulate import Simulation
    from mozzi.simulation.trajectory import Trajectory

__all__ = ["simulate"]

FAILED, INTERRUPTED = 1, 130


def simulate(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A .urdf, .xml (MJCF) or .sdf file.")
    ],
    duration: Annotated[float, typer.Option(help="Seconds to simulate.")] = 5.0,
    dt: Annotated[float, typer.Option(help="Seconds per step.")] = 1e-3,
    method: Annotated[str, typer.Option(help="How to integrate; a wrong one lists all.")] = "rkmk4",
    q0: Annotated[
        str | None,
        typer.Option(help="Where it starts: nq numbers, or joint=number, by commas; "
                          "'random' or 'random:SEED'. The rest is neutral."),
    ] = None,
    v0: Annotated[
        str | None, typer.Option(help="How fast it starts: nv numbers, or joint=number, by commas.")
    ] = None,
    base: Annotated[Base, typer.Option(help="How the root is held to the world.")] = Base.fixed,
    lock: Annotated[
        list[str] | None, typer.Option(help="A joint to hold at q0; may be repeated.")
    ] = None,
    resistance: Annotated[
        bool,
        typer.Option(
            "--resistance/--no-resistance",
            help="Whether damping, friction and springs of the file act.",
        ),
    ] = True,
    every: Annotated[
        int | None, typer.Option(help="Steps between two records; about 1,000 records by default.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write the trajectory: .npz or .csv.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Where to write a plot: .png, .svg or .pdf.")
    ] = None,
    view: Annotated[
        Path | None, typer.Option(help="Where to write a page that shows the motion: .html.")
    ] = None,
) -> None:  # fmt: skip
    """Simulate a mechanism from a file, without torque, and keep the motion.

    Ctrl-C stops it and keeps what was computed.
    """
    from mozzi.loaders import load
    from mozzi.simulation.methods import as_method
    from mozzi.simulation.simulate import Simulation

    check_paths(out, plot, view)
    model = load(file, base.value)
    start = configuration(model, q0, lock or ())
    if lock:
        kept = [name for name in model.joint_names if name not in lock]
        whole, model = model, model.lock(lock, start)
        start = [x for name in kept for x in start[whole.q_slices[name]]]
    speed = vector(v0, [0.0] * model.nv, model.v_slices, "v0", model.nv)
    start, speed = closed(model, start, speed)
    if every is None:
        ratio = duration / dt if dt > 0.0 else 1.0
        every = max(1, round(ratio / 1000)) if math.isfinite(ratio) else 1
    begin = time.perf_counter()
    run = Simulation(
        model, start, speed, duration, dt, as_method(method), record_every=every,
        resistance=resistance,
    )
    if not resistance and resisting(model):
        put(f"[yellow]note:[/] {resisting(model)} in the file are taken out")
    stopped = finish(run, model.name)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", DivergenceWarning)
        motion = run.trajectory()
    seconds = time.perf_counter() - begin
    for path in keep(motion, file, out, plot, view):
        put(f"wrote {escape(str(path))}")
    summary(motion, seconds, dt)
    if stopped:
        complain(f"stopped at t = {motion.t[-1]:g} s of {duration:g} s; what was computed is kept")
        raise typer.Exit(INTERRUPTED)
    for warning in told:
        complain(str(warning.message))
    if motion.diverged:
        raise typer.Exit(FAILED)


def finish(run: Simulation, title: str) -> bool:
    """Run to the end; whether somebody pressed Ctrl-C before."""
    try:
        with watched(title) as tell:
            for share in run.run():
                tell(share)
    except KeyboardInterrupt:
        return True
    return False


def keep(
    motion: Trajectory, file: Path, out: Path | None, plot: Path | None, view: Path | None
) -> list[Path]:
    """Write what was asked for."""
    written: list[Path] = []
    if out is not None:
        written.append(motion.save(out))
    if plot is not None:
        motion.plot(plot)
        written.append(plot)
    if view is not None:
        from mozzi.viz.page import scene, write_page
        from mozzi.viz.shapes import drawing

        assert motion.model is not None
        drawn = drawing(motion.model)
        for fault in drawn.faults:
            put(f"[yellow]note:[/] {escape(fault)}")
        written.append(write_page(view, [scene(motion, drawn=drawn, play=True)], str(file)))
    return written


def check_paths(out: Path | None, plot: Path | None, view: Path | None) -> None:
    """Before anything is computed: can it be written?"""
    known = (out, (".npz", ".csv")), (plot, (".png", ".svg", ".pdf")), (view, (".html",))
    for path, kinds in known:
        if path is None:
            continue
        if path.suffix not in kinds:
            raise ConfigurationError(f"{path}: give a name that ends in {' or '.join(kinds)}")
        if not path.parent.is_dir():
            raise ConfigurationError(f"{path}: there is no folder {path.parent}; make it first")
    if plot is not None:
        from mozzi.viz.plot import pyplot

        pyplot()


def configuration(model: Model, text: str | None, lock: Sequence[str]) -> Any:
    """The configuration that --q0 means; what is locked is never random."""
    if text is not None and text.partition(":")[0] == "random":
        seed = text.partition(":")[2] or "0"
        if not seed.isdigit():
            raise ConfigurationError(f"--q0 {text!r}: give random:SEED with a whole number")
        q, neutral = model.random_configuration(int(seed)), model.neutral()
        for joint in lock:
            if joint in model.q_slices:
                q[model.q_slices[joint]] = neutral[model.q_slices[joint]]
        return q
    return vector(text, model.neutral().tolist(), model.q_slices, "q0", model.nq)


def closed(model: Model, q: Any, v: Any) -> tuple[Any, Any]:
    """The nearest state in which loops are closed and stay so; told where that is another one."""
    if not (model.loops or model.distances or model.couplings):
        return q, v
    import numpy as np

    from mozzi.algorithms.kinematics.configuration import difference
    from mozzi.algorithms.loops.assemble import assemble, consistent_velocities

    new = assemble(model, q)
    moved = float(np.abs(difference(model, np.asarray(q, dtype=float), new)).max())
    if moved > 1e-9:
        put(f"[yellow]note:[/] joints moved by up to {moved:.3g} (rad or m) to close the loops")
    return new, consistent_velocities(model, new, v)


def vector(text: str | None, start: list[float], slices: Any, name: str, size: int) -> list[float]:
    """Numbers by commas, all of them or joint=number."""
    values = list(start)
    if not text:
        return values
    items = [item.strip() for item in text.split(",") if item.strip()]
    named = [item for item in items if "=" in item]
    try:
        if not named:
            values = [float(item) for item in items]
        for item in named:
            joint, _, number = item.rpartition("=")
            where = slices[joint.strip()]
            if where.stop - where.start != 1:
                raise ConfigurationError(
                    f"--{name} {item!r}: joint {joint!r} has {where.stop - where.start} numbers; "
                    "give all numbers instead"
                )
            values[where.start] = float(number)
    except KeyError as error:
        wrong = error.args[0]
        raise ConfigurationError(
            f"--{name}: no joint {wrong!r}; there are {known(wrong, slices)}"
        ) from None
    except ValueError as error:
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(f"--{name} {text!r}: give numbers by commas") from None
    if len(named) not in (0, len(items)):
        raise ConfigurationError(f"--{name} {text!r}: give all numbers, or joint=number for some")
    if len(values) != size:
        raise ConfigurationError(f"--{name}: {len(values)} numbers; the model takes {size}")
    return values


def resisting(model: Model) -> str:
    """How many joints have damping, friction or springs, and how many springs are between points;
    nothing where none are.
    """
    joints = [model.body(name).dynamics for name in model.bodies]
    n = sum(any((*x.damping, *x.friction, *x.stiffness)) for x in joints)
    found = [f"damping, friction or springs of joints ({n})"] if n else []
    found += [f"springs between bodies ({len(model.springs)})"] if model.springs else []
    return " and ".join(found)


def summary(x: Trajectory, seconds: float, dt: float) -> None:
    import numpy as np

    table = Table(show_header=False, box=box.SIMPLE_HEAD, pad_edge=False)
    energy, drift = x.energy(), float(np.max(x.energy_drift()))
    steps = round(float(x.t[-1] - x.t[0]) / dt)
    assert x.model is not None
    rows = (
        ("model", escape(x.model.name)),
        ("method", x.method),
        ("simulated", f"{x.t[-1]:g} s in {steps:,} steps of {dt:g} s"),
        ("took", f"{seconds:.2f} s, compilation included"),
        ("energy", f"{energy[0]:.6g} J to {energy[-1]:.6g} J"),
        ("energy drift", f"{drift:.1e} of the largest kinetic energy"),
        ("largest speed", f"{np.nanmax(np.abs(x.v)):.4g} (rad/s or m/s)"),
    )
    for row in rows:
        table.add_row(*row)
    stdout.print(table)
    stderr.file.flush()
