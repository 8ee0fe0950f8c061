"""``mozzi demo``: a chaotic mechanism, a robot arm and a quadruped, simulated and shown."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from mozzi.cli.console import escape, put, stdout
from mozzi.errors import ExtraMissingError
from mozzi.viz.progress import watched

if TYPE_CHECKING:
    from mozzi.model import Model
    from mozzi.simulation.trajectories.trajectory import Trajectory
    from mozzi.types import Array

__all__ = ["demo"]

Tell = Callable[[float], None]

SAMPLES, SHOWN = 256, 10
DT = 5e-4


def demo(
    out: Annotated[
        Path, typer.Option(help="The folder to write to; it is made where it is missing.")
    ] = Path("mozzi-demo"),
) -> None:
    """Simulate a chaotic mechanism, an arm and a quadruped; write plots and a page to look at."""
    start = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    chaos, chaos_s = timed(lambda tell: swing(pendulum(), tell), "chaotic pendulums")
    falls, falls_s = timed(lambda tell: drop(arm(), tell), "arm, falling")
    drawn, drawn_s = timed(lambda tell: trace(arm(), tell), "arm, drawing")
    lands, lands_s = timed(land, "quadruped, landing")
    written = [
        chaos[:SHOWN].save(out / "pendulum.npz"),
        drawn.save(out / "arm.npz"),
        page(out / "demo.html", chaos, falls, drawn, lands),
    ]
    missing = ""
    try:
        written += plots(out, chaos, falls)
    except ExtraMissingError as error:
        missing = str(error)
    summary(
        (chaos, chaos_s, f"spread {spread(chaos):.2g} m from 1e-6 rad"),
        (falls, falls_s, "no torque"),
        (drawn, drawn_s, f"computed torque, off by {error_of(drawn):.1e} rad at the end"),
        (lands, lands_s, f"contact laws to {lands.contact_residual.max():.0e} m/s, then rest"),
    )
    for path in written:
        put(f"wrote {escape(str(path))}")
    if missing:
        put(f"[yellow]no plots:[/] {escape(missing)}")
    seconds = time.perf_counter() - start
    put(f"done in {seconds:.1f} s; open {escape(str(out))}/demo.html in a browser")


def timed(run: Callable[[Tell], Trajectory], title: str) -> tuple[Trajectory, float]:
    """What a simulation gives, and how many seconds it took, compilation included."""
    start = time.perf_counter()
    with watched(title) as tell:
        result = run(tell)
    return result, time.perf_counter() - start


# -- the mechanisms --


def pendulum() -> Model:
    """Three rods: a ball joint, then two hinges."""
    import numpy as np

    import mozzi as mz

    rod = mz.Inertia(1.0, (0.0, 0.0, -0.5), np.diag([0.0835, 0.0835, 0.0012]))
    below = mz.SE3.translation(0.0, 0.0, -1.0)
    return (
        mz.Builder("pendulum")
        .add("upper", None, mz.Spherical(), rod)
        .add("middle", "upper", mz.Revolute("y").between(below), rod)
        .add("lower", "middle", mz.Revolute("x").between(below), rod)
        .build()
    )


LINKS = (  # axis, place in the parent, mass, centre of mass, radius of gyration across and along
    ("z", (0.0, 0.0, 0.0), 4.0, (0.0, 0.0, 0.12), 0.09, 0.07),
    ("y", (0.0, 0.0, 0.24), 6.0, (0.0, 0.0, 0.20), 0.14, 0.05),
    ("y", (0.0, 0.0, 0.42), 4.0, (0.0, 0.0, 0.18), 0.12, 0.045),
    ("z", (0.0, 0.0, 0.36), 1.5, (0.0, 0.0, 0.02), 0.05, 0.035),
    ("y", (0.0, 0.0, 0.06), 1.2, (0.0, 0.0, 0.04), 0.04, 0.03),
    ("z", (0.0, 0.0, 0.10), 0.6, (0.02, 0.0, 0.06), 0.03, 0.025),
)


def arm() -> Model:
    """An arm with six hinges and a wrist that meets in no point, as cheap arms are."""
    import numpy as np

    import mozzi as mz

    builder, parent = mz.Builder("arm"), None
    for k, (axis, place, mass, com, across, along) in enumerate(LINKS, 1):
        J = mass * np.diag([across**2, across**2, along**2])
        joint = mz.Revolute(axis).between(mz.SE3.translation(*place))
        builder.add(f"link{k}", parent, joint, mz.Inertia(mass, com, J),
                    joint_name=f"joint{k}", armature=0.05)  # fmt: skip
        parent = f"link{k}"
    return builder.build()


# -- the motions --


def swing(model: Model, tell: Tell) -> Trajectory:
    """Pendulums that start almost alike."""
    import numpy as np

    from mozzi.algorithms.kinematics.configuration import integrate
    from mozzi.simulation import simulate

    apart = np.zeros((SAMPLES, model.nv))
    apart[:, 1] = 2.2 + 1e-6 * np.arange(SAMPLES) / SAMPLES  # about y
    apart[:, 3:] = 0.4, 0.7
    q0 = integrate(model, model.neutral(), apart)
    return simulate(model, q0, np.zeros(model.nv), 14.0, DT, record_every=40, progress=tell)


def drop(model: Model, tell: Tell) -> Trajectory:
    """The arm let go."""
    import numpy as np

    from mozzi.simulation import simulate

    q0 = np.array([0.3, 0.9, 1.1, 0.2, 0.8, 0.0])
    return simulate(model, q0, np.zeros(6), 8.0, DT, record_every=20, progress=tell)


def reference(t: float) -> tuple[Array, Array, Array]:
    """Angles that draw a loop, with their rates and accelerations."""
    import numpy as np

    from mozzi.program.scalar import cos, sin

    middle = np.array([0.0, 0.7, 1.2, 0.0, 0.9, 0.0])
    size = np.array([0.8, 0.25, 0.30, 0.5, 0.4, 1.0])
    speed = np.array([1.0, 2.0, 2.0, 3.0, 1.0, 2.0])
    turn = [w * t for w in speed]
    s, c = np.array([sin(x) for x in turn]), np.array([cos(x) for x in turn])
    return middle + size * s, size * speed * c, -size * speed**2 * s


def trace(model: Model, tell: Tell) -> Trajectory:
    """The arm follows the reference by computed torque, compiled with the step."""
    import numpy as np

    from mozzi.algorithms.dynamics.inverse import inverse_dynamics
    from mozzi.simulation import simulate

    def law(t: float, q: Array, v: Array) -> Array:
        q_ref, v_ref, a_ref = reference(t)
        return inverse_dynamics(model, q, v, a_ref + 100.0 * (q_ref - q) + 20.0 * (v_ref - v))

    q0 = np.array([0.5, 0.2, 0.6, -0.5, 0.2, 0.4])
    return simulate(model, q0, np.zeros(6), 6.3, DT, torque=law, record_every=20, progress=tell)


def land(tell: Tell) -> Trajectory:
    """A quadruped dropped on its feet, its legs held by springs and dampers."""
    import numpy as np

    from mozzi.model.generate.mechanisms import quadruped
    from mozzi.simulation import simulate

    model = quadruped()
    stand = model.configurations["standing"]

    def law(t: float, q: Array, v: Array) -> Array:
        return np.array([0.0] * 6 + list(12.0 * (stand[7:] - q[7:]) - 0.4 * v[6:]), dtype=object)

    q0, v0 = stand.copy(), np.zeros(model.nv)
    q0[2], v0[3:6] = 0.5, (0.3, 0.2, 0.0)
    return simulate(model, q0, v0, 2.0, DT, torque=law, record_every=20, progress=tell)


# -- what is told --


def page(
    path: Path, chaos: Trajectory, falls: Trajectory, drawn: Trajectory, lands: Trajectory
) -> Path:
    from mozzi.viz.page import scene, write_page

    apart = [n * SAMPLES // SHOWN for n in range(SHOWN)]
    note = f"{SHOWN} of {SAMPLES} pendulums whose first angles differ by up to 1e-6 rad"
    return write_page(
        path,
        [
            scene(chaos, "A ball joint and two hinges", note, samples=apart, play=True),
            scene(falls, "An arm that is let go", "no torque: its energy stays", play=True),
            scene(drawn, "An arm under computed torque", "driven: its energy changes", play=True),
            scene(
                lands, "A quadruped that lands", "dry friction; contact forces can be shown",
                play=True,
            ),
        ],
        title="mozzi demo",
    )


def plots(out: Path, chaos: Trajectory, falls: Trajectory) -> list[Path]:
    chaos.plot(out / "pendulum.png")
    falls.plot(out / "arm.png")
    return [out / "pendulum.png", out / "arm.png"]


def spread(x: Trajectory) -> float:
    """How far apart the tips of the samples are at the end, in metres."""
    import numpy as np

    from mozzi.algorithms.kinematics.poses import forward_kinematics

    assert x.model is not None
    T = forward_kinematics(x.model, x.q[:, -1])[:, -1]
    tip = T[:, :3, 3] - T[:, :3, 2]
    return float(np.linalg.norm(tip - tip.mean(axis=0), axis=1).max())


def error_of(x: Trajectory) -> float:
    """How far the arm is off its reference at the end."""
    import numpy as np

    return float(np.abs(x.q[-1] - reference(float(x.t[-1]))[0]).max())


def summary(*rows: tuple[Trajectory, float, str]) -> None:
    import math

    import numpy as np

    table = Table("motion", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("samples", "steps", "seconds", "energy drift"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for x, seconds, note in rows:
        samples = math.prod(x.batch)
        assert x.model is not None
        drift = "driven" if x.driven else f"{np.max(x.energy_drift()):.1e}"
        steps = round(float(x.t[-1]) / DT)
        table.add_row(x.model.name, f"{samples:,}", f"{steps:,}", f"{seconds:.1f}", drift, note)
    stdout.print(table)
