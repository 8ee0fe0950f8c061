"""``mozzi simulate FILE``: the motion of a mechanism."""

from __future__ import annotations

import math
import os
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from mozzi.cli.console import complain, escape, put, stderr, stdout
from mozzi.cli.controllers import Controller, law_of
from mozzi.cli.info import Base
from mozzi.cli.prepare import lifted, touching
from mozzi.cli.robot import File, Root, configuration, inside, open_robot, vector
from mozzi.errors import ConfigurationError, DivergenceWarning
from mozzi.files import make_folder_of
from mozzi.viz.progress import watched

if TYPE_CHECKING:
    from mozzi.model import Model
    from mozzi.simulation.running.simulation import Simulation
    from mozzi.simulation.trajectories.trajectory import Trajectory
    from mozzi.types import Array

__all__ = ["simulate"]

FAILED, INTERRUPTED = 1, 130


def simulate(
    file: File,
    duration: Annotated[float, typer.Option(help="Seconds to simulate.")] = 5.0,
    dt: Annotated[float, typer.Option(help="Seconds per step.")] = 1e-3,
    method: Annotated[
        str | None,
        typer.Option(help="How to integrate; a wrong one lists all. rkmk4 by default, moreau where "
                          "something touches.", show_default=False),
    ] = None,
    q0: Annotated[
        str | None,
        typer.Option("--q0", "--start",
                     help="Where it starts: a configuration of the file by name, 'neutral', nq "
                          "numbers, or joint=number, by commas; 'random' or 'random:SEED'. By "
                          "default where the file puts it."),
    ] = None,
    v0: Annotated[
        str | None, typer.Option(help="How fast it starts: nv numbers, or joint=number, by commas.")
    ] = None,
    base: Annotated[Base, typer.Option(help="How the root is held to the world.")] = Base.fixed,
    root: Root = None,
    lock: Annotated[
        list[str] | None, typer.Option(help="A joint to hold at q0; may be repeated.")
    ] = None,
    controller: Annotated[
        Controller, typer.Option(help="What drives the joints: gravity compensation; hold (the "
                                      "start), pd or computed torque to --target; the actuators of "
                                      "the file.")
    ] = Controller.none,
    target: Annotated[
        str | None,
        typer.Option("--target", "--goal",
                     help="Where a controller goes: like --q0; the start by default."),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="How fast a controller answers, in rad/s: 10 by default; of hold and pd "
                          "on the ground, what the step allows."),
    ] = None,
    limits: Annotated[
        bool, typer.Option(help="Let stops act at the limits of the joints.")
    ] = True,
    resistance: Annotated[
        bool,
        typer.Option(
            "--resistance/--no-resistance",
            help="Whether damping, friction and springs of the file act.",
        ),
    ] = True,
    ground: Annotated[
        bool,
        typer.Option("--ground", help="Stand on a plane z = 0 of the world; a free base that would "
                                      "start in it is lifted."),
    ] = False,
    contacts: Annotated[
        bool,
        typer.Option("--contacts", help="Let shapes touch as an MJCF file lets them: its floor, "
                                        "its pairs, its friction."),
    ] = False,
    touch: Annotated[
        str | None,
        typer.Option(help="Which collision shapes touch the ground, by commas, or 'all'; by "
                          "default those that reach farthest on the base and on the last body of "
                          "every limb."),
    ] = None,
    friction: Annotated[
        float | None,
        typer.Option(help="Coulomb's coefficient between the ground and the shapes; by default "
                          "that of their surfaces in the file, and 0.8 where it says none."),
    ] = None,
    every: Annotated[
        int | None, typer.Option(help="Steps between two records; about 1,000 records by default.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write the trajectory: .npz or .csv.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="A .zarr folder that records go to as they come; the same command goes "
                          "on where it broke off."),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(help="What --out holds besides t, q and v, by commas: a, tau, kinetic, "
                          "potential, momentum, contacts, reactions; all by default, 'none' for "
                          "nothing."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Where to write a plot: .png, .svg or .pdf.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Where to write a page that shows the motion: .html.")
    ] = None,
    view: Annotated[
        bool, typer.Option("--view", help="Replay the motion in the viewer at the end.")
    ] = False,
) -> None:  # fmt: skip
    """Simulate a mechanism from a file and keep the motion: let go, or under a controller.

    Ctrl-C stops it and keeps what was computed.
    """
    from mozzi.simulation.methods import as_method
    from mozzi.simulation.running.simulation import Simulation
    from mozzi.simulation.trajectories.saved_runs import keep_origin

    check_paths(out, plot, page, save)
    if not ground and (touch is not None or friction is not None):
        raise ConfigurationError("--touch and --friction are of the ground; give --ground, too")
    if controller is Controller.none and (target is not None or rate is not None):
        raise ConfigurationError(
            "--target and --rate are of a controller; give --controller hold, pd or computed, too"
        )
    fields = fields_of(record)
    model = open_robot(file, base.value, root, contacts)
    acts = limits and limited(model)
    start = configuration(model, q0, lock or ())
    goal = start if target is None else configuration(model, target, name="target")
    if acts and q0 is None:
        start = inside(model, start)
        goal = start if target is None else goal
    locked = {name: [float(x) for x in start[model.q_slices[name]]] for name in lock or ()
              if name in model.q_slices}  # fmt: skip
    if lock:
        kept = [name for name in model.joint_names if name not in lock]
        whole, model = model, model.lock(lock, start)
        start, goal = (
            [x for name in kept for x in q[whole.q_slices[name]]] for q in (start, goal)
        )
    shapes = touching(model, touch) if ground else None
    if ground:
        model = model.with_ground(shapes, friction=friction)
        start = lifted(model, start)
    speed = vector(v0, [0.0] * model.nv, model.v_slices, "v0", model.nv)
    start, speed = closed(model, start, speed)
    if target is None:
        goal = start
    if every is None:
        ratio = duration / dt if dt > 0.0 else 1.0
        every = max(1, round(ratio / 1000)) if math.isfinite(ratio) else 1
    begin = time.perf_counter()
    run = Simulation(
        model, start, speed, duration, dt, None if method is None else as_method(method),
        torque=law_of(model, controller, goal, rate, dt), record_every=every,
        resistance=resistance, limits=acts, save=save,
    )  # fmt: skip
    if acts:
        put("[yellow]note:[/] stops act at the limits of the joints; --no-limits takes them away")
    if not resistance and resisting(model):
        put(f"[yellow]note:[/] {resisting(model)} in the file are taken out")
    stopped = finish(run, model.name)
    if stopped:
        complain("stopped; what was computed is kept")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", DivergenceWarning)
        motion = run.trajectory(tell=not stopped)
    motion.origin = {
        "file": os.path.abspath(file) if file.exists() else str(file), "base": base.value,
        "roots": [os.path.abspath(x) for x in root or ()], "locked": locked, "ground": ground,
        "contacts": contacts,
        "touch": shapes, "friction": friction,
    }  # fmt: skip
    if save is not None:
        keep_origin(save, motion.origin)
    seconds = time.perf_counter() - begin
    for path in keep(motion, file, out, plot, page, fields):
        put(f"wrote {escape(str(path))}")
    summary(motion, seconds, dt)
    if view and not stopped:
        from mozzi.cli.view import serve

        serve(model, motion)
    if stopped:
        complain(f"stopped at t = {motion.t[-1]:g} s of {duration:g} s")
        raise typer.Exit(INTERRUPTED)
    for warning in told:
        complain(str(warning.message))
    if motion.diverged:
        raise typer.Exit(FAILED)


def limited(model: Model) -> bool:
    """Whether a joint has a limit."""
    return any(math.isfinite(x) for body in model
               for x in (*body.dynamics.lower, *body.dynamics.upper))  # fmt: skip


def fields_of(text: str | None) -> tuple[str, ...] | None:
    """What --record asks for; None is everything."""
    from mozzi.simulation.trajectories.files import FIELDS

    if text is None:
        return None
    words = tuple(word.strip() for word in text.split(",") if word.strip() not in ("", "none"))
    for word in words:
        if word not in FIELDS:
            raise ConfigurationError(f"--record: no field {word!r}; give {', '.join(FIELDS)}")
    return words


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
    motion: Trajectory,
    file: Path,
    out: Path | None,
    plot: Path | None,
    page: Path | None,
    fields: tuple[str, ...] | None = None,
) -> list[Path]:
    """Write what was asked for."""
    written: list[Path] = []
    if out is not None:
        written.append(motion.save(out, fields))
    if plot is not None:
        motion.plot(plot)
        written.append(plot)
    if page is not None:
        from mozzi.viz.drawing.shapes import drawing
        from mozzi.viz.page import scene, write_page

        assert motion.model is not None
        drawn = drawing(motion.model)
        for fault in drawn.faults:
            put(f"[yellow]note:[/] {escape(fault)}")
        written.append(write_page(page, [scene(motion, drawn=drawn, play=True)], str(file)))
    return written


def check_paths(
    out: Path | None, plot: Path | None, page: Path | None, save: Path | None = None
) -> None:
    """Before anything is computed: can it be written?"""
    known = (out, (".npz", ".csv")), (plot, (".png", ".svg", ".pdf")), (page, (".html",))
    known = *known, (save, (".zarr",))
    for path, kinds in known:
        if path is None:
            continue
        if path.suffix not in kinds:
            raise ConfigurationError(f"{path}: give a name that ends in {' or '.join(kinds)}")
        make_folder_of(path)
    if plot is not None:
        from mozzi.viz.plot import pyplot

        pyplot()


def closed(
    model: Model, q: Array | list[float], v: Array | list[float]
) -> tuple[Array | list[float], Array | list[float]]:
    """The nearest state in which loops are closed and stay so; told where that is another one."""
    if not model.closures:
        return q, v
    import numpy as np

    from mozzi.algorithms.kinematics.configuration import difference
    from mozzi.algorithms.loops.assemble import ROUNDED, assemble, consistent_velocities

    new = assemble(model, q, tolerance=ROUNDED)
    moved = float(np.abs(difference(model, np.asarray(q, dtype=float), new)).max())
    if moved > 1e-9:
        put(f"[yellow]note:[/] joints moved by up to {moved:.3g} (rad or m) to close the loops")
    return new, consistent_velocities(model, new, v)


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
    energy = x.energy()
    drift = f"{float(np.max(x.energy_drift())):.1e} of the largest kinetic energy"
    steps = math.ceil(float(x.t[-1] - x.t[0]) / dt * (1.0 - 1e-9))
    dt = min(dt, float(x.t[-1] - x.t[0]))
    assert x.model is not None
    rows = (
        ("model", escape(x.model.name)),
        ("method", x.method),
        ("simulated", f"{x.t[-1]:g} s in {steps:,} step{'s'[: steps != 1]} of {dt:g} s"),
        ("took", f"{seconds:.2f} s, compilation included"),
        ("energy", f"{energy[0]:.6g} J to {energy[-1]:.6g} J"),
        ("energy drift", "says nothing: driven or braked" if x.driven else drift),
        ("largest speed", f"{np.nanmax(np.abs(x.v)):.4g} (rad/s or m/s)"),
    )
    for row in rows:
        table.add_row(*row)
    stdout.print(table)
    stderr.file.flush()
