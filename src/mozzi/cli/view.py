"""``mozzi view FILE``: a mechanism in the browser."""

from __future__ import annotations

import time
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mozzi.cli.console import escape, put
from mozzi.cli.info import Base
from mozzi.cli.prepare import again
from mozzi.cli.robot import Root, open_robot
from mozzi.errors import ConfigurationError, ModelError

if TYPE_CHECKING:
    from mozzi.model import Model
    from mozzi.simulation.trajectories.trajectory import Trajectory

__all__ = ["serve", "view"]


TRAJECTORIES = (".npz", ".csv", ".zarr")


def view(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A .urdf, .xml (MJCF) or .sdf file, a robot's name, or a motion "
                                 "from mozzi simulate: .npz, .csv or .zarr.",
        ),
    ],
    trajectory: Annotated[
        Path | None, typer.Option(help="A motion to replay, from mozzi simulate --out.")
    ] = None,
    base: Annotated[Base, typer.Option(help="How the root is held to the world.")] = Base.fixed,
    root: Root = None,
    skeleton: Annotated[
        bool, typer.Option("--skeleton", help="Draw joints and masses, not the shapes of the file.")
    ] = False,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port; the next free one where it is taken.")
    ] = 8080,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    seconds: Annotated[
        float | None, typer.Option(help="Stop after so many seconds, not at Ctrl-C.")
    ] = None,
) -> None:
    """Show a mechanism in the browser: sliders, frames, joint screws, centre of mass, replay."""
    from mozzi.simulation.trajectories.files import origin
    from mozzi.simulation.trajectories.trajectory import Trajectory

    if trajectory is None and file.suffix in TRAJECTORIES:
        model, motion = replayed(file, None, root)
    elif trajectory is not None and origin(trajectory) is not None:
        model, motion = replayed(trajectory, file, root)
    else:
        model = open_robot(file, base.value, root)
        motion = None if trajectory is None else Trajectory.load(trajectory, model)
    serve(model, motion, not skeleton, host, port, browser, seconds)


def replayed(
    path: Path, file: Path | None, roots: Sequence[Path] | None
) -> tuple[Model, Trajectory]:
    """A motion from mozzi simulate, with its model: of the file that it names, or of another."""
    from mozzi.simulation.trajectories.files import origin
    from mozzi.simulation.trajectories.trajectory import Trajectory

    made = origin(path)
    if made is None:
        raise ConfigurationError(
            f"{path}: does not say which robot it is of; mozzi view ROBOT --trajectory {path}"
        )
    made = made.copy()
    made["roots"] = [*map(str, roots or ()), *made["roots"]]
    own = made["file"]
    if file is not None:
        made["file"] = str(file)
    try:
        model = again(made)
    except ModelError as error:
        if file is None or str(file) == own:
            raise
        raise ConfigurationError(
            f"{path}: is a motion of {own}, which {file} does not replay: {error}"
        ) from None
    return model, Trajectory.load(path, model)


def serve(
    model: Model,
    motion: Trajectory | None,
    shapes: bool = True,
    host: str = "127.0.0.1",
    port: int = 8080,
    browser: bool = True,
    seconds: float | None = None,
) -> None:
    """Show a mechanism until Ctrl-C, or for some seconds."""
    from mozzi.viz.drawing.shapes import drawing
    from mozzi.viz.viewer import Viewer

    drawn = drawing(model, shapes=shapes)
    for fault in drawn.faults:
        put(f"[yellow]note:[/] {escape(fault)}")
    with Viewer(model, drawn, motion, host, port) as viewer:
        put(f"[bold]{viewer.url}[/] shows {escape(model.name)}; Ctrl-C ends it")
        if browser:
            webbrowser.open(viewer.url)
        try:
            end = None if seconds is None else time.monotonic() + seconds
            while end is None or time.monotonic() < end:
                time.sleep(0.1)
        except KeyboardInterrupt:
            put("ended")
