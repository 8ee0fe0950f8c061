"""What a run gives: the trajectory, and what it is asked for afterwards at its records."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mozzi.algorithms.contact.rows import joint_row_count
from mozzi.errors import ConfigurationError
from mozzi.model.parameters.named import geometric
from mozzi.simulation.kernels import AtRecords
from mozzi.simulation.running.records import Shown
from mozzi.simulation.trajectories.reactions import shared_reactions
from mozzi.simulation.trajectories.trajectory import Trajectory
from mozzi.simulation.watch import tell_run
from mozzi.types import Array

if TYPE_CHECKING:
    from mozzi.simulation.running.simulation import Simulation

__all__ = ["acceleration_at", "reactions_at", "trajectory_of"]


def trajectory_of(run: Simulation, tell: bool) -> Trajectory:
    """What was computed so far; told where something is odd in it."""
    x = run.records.shown()
    q, v = x.rows("q"), x.rows("v")
    if tell:
        tell_run(run, x.t, q, v)
    return Trajectory(
        x.t,
        q,
        v,
        run.user,
        _applied(run, x),
        run.method_name,
        run.resistance is not None and run.resistance.springs,
        dict(run.records.diverged),
        list(run.records.events),
        complete=len(x.t) == len(run.grid.t) and not x.last,
        accelerations=partial(acceleration_at, run),
        reactions=partial(reactions_at, run),
        applied=partial(applied_at, run),
        guided=() if run.drives is None else run.drives.guided,
        driven=run.driven(),
        stored=_contact_records(run, x),
        law_state=_law_records(run, x),
        parameters=_samples(run),
    )


def _samples(run: Simulation) -> dict[str, Array]:
    """The numbers of the model, of all samples."""
    return {n: np.broadcast_to(x, run.batch) for n, x in run.varying.values.items()}


def _applied(run: Simulation, x: Shown) -> Array | None:
    """Joint forces that were held over the steps before the records."""
    law = run.torque.own
    if law is not None:
        return law.parts(run.model, x.rows("law"))["tau"]
    return x.rows("tau") if run.torque.sampled else None


def _law_records(run: Simulation, x: Shown) -> dict[str, Array]:
    """The state of a law in the records, by name."""
    law = run.torque.own
    if law is None:
        return {}
    parts = law.parts(run.model, x.rows("law"))
    return {name: parts[name] for name in law.state}


def _contact_records(run: Simulation, x: Shown) -> dict[str, Array]:
    """What the method knows of contacts, by the names it has in a trajectory."""
    if run.touches:
        F = x.rows("contact_force")
        return {
            "contact_forces": F.reshape(*F.shape[:-1], F.shape[-1] // 3, 3),
            "contact_modes": np.nan_to_num(x.rows("modes")).astype(int),
        }
    if not run.contact:
        return {}
    rows = {name: x.rows(name) for name in run.records.rows}
    none = np.zeros((*rows["taken"].shape[:-1], 0))
    forces = rows.get("contact_force", none)
    return {
        "contact_forces": forces.reshape(*forces.shape[:-1], forces.shape[-1] // 3, 3),
        "contact_residual": rows["residual"][..., 0],
        "row_forces": rows.get("force", none),
        "taken": rows["taken"],
    }


def acceleration_at(run: Simulation, x: Trajectory) -> Array:
    """v̇ at the records."""
    return _at_records(run, "acceleration", x)


def reactions_at(run: Simulation, x: Trajectory) -> dict[str, Array]:
    """What loops and drives exert at the records."""
    if geometric(run.model, run.varying.names):
        raise ConfigurationError(
            "forces of loops and drives are not known where parameters move bodies; take "
            "mozzi.loop_forces of a model with these parameters"
        )
    force = _at_records(run, "reactions", x) if run.model.closures else np.zeros(x.v.shape)
    return shared_reactions(run.model, run.user, run.drives, x.t, x.q, force)


def applied_at(run: Simulation, x: Trajectory) -> Array | None:
    """What a law or constant forces apply at the records."""
    if run.torque.law is None and not run.torque.held:
        return None
    return _at_records(run, "applied", x)


def _at_records(run: Simulation, name: AtRecords, x: Trajectory) -> Array:
    t = np.broadcast_to(x.t, x.q.shape[:-1])
    held = run.torque.held or run.torque.own is not None
    forces = [] if not held else [x.tau if x.tau is not None else _held(run)]
    if run.wrenches is not None:
        forces.append(run.wrenches[..., None, :, :])
    if run.varying.numbers is not None:
        forces.append(run.varying.numbers[..., None, :])
    free = name == "applied"
    laws = None if free else run.kernels.touching
    if laws is not None:
        on_a, rows = x.stored["contact_forces"], x.stored.get("row_forces")
        forces.append(on_a.reshape(*on_a.shape[:-2], -1))
        count = joint_row_count(run.model, laws)
        none = np.zeros((*on_a.shape[:-2], 0))
        forces.append(none if rows is None or not count else rows[..., -count:])
    return run.kernels.at_records(name, free)(x.q, x.v, t, *forces)


def _held(run: Simulation) -> Array:
    assert run.torque.constant is not None
    return run.torque.constant[..., None, :]
