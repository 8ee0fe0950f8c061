"""Torques by name: what a robot is told to do, as laws that are compiled along with its motion."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from mozzi.errors import ConfigurationError

if TYPE_CHECKING:
    from mozzi.model import Model
    from mozzi.simulation.system import Feedback
    from mozzi.types import Array

__all__ = ["Controller", "law_of"]


class Controller(StrEnum):
    """What drives the joints."""

    none = "none"
    gravity = "gravity"
    hold = "hold"
    pd = "pd"
    computed = "computed"
    actuators = "actuators"


RATE = 10.0
"""How fast controllers answer where nothing is said, in rad/s."""
NEAR = 1e-3
"""The gap (m) up to which a contact carries beside the one that the ground meets first."""
STEADY = 0.4
"""Of a step: the time in which the dampers of a robot that stands may act, so that they do not
overshoot in a step.
"""


def law_of(
    model: Model, controller: Controller, target: Array | list[float], rate: float | None, dt: float
) -> Feedback | None:
    """The law τ(t, q, v), or None where nothing drives.

    gravity: what gravity takes. hold, pd: that, and springs and dampers to the target, as stiff
    as makes every joint alone swing at ``rate`` (rad/s), critically damped; of a robot that stands
    on its contacts, what carries it there, and springs as stiff as steps of dt allow. computed:
    computed torque to the target, with the poles −rate. actuators: those of the file, with controls
    at which position servos ask for the target. A free base is never driven. ``rate`` is an
    argument of the law, which may vary from sample to sample.
    """
    if controller is Controller.none:
        return None
    if rate is not None and not rate > 0.0:
        raise ConfigurationError(f"--rate {rate}: give a positive number of rad/s")
    import numpy as np

    import mozzi as mz

    if controller is Controller.actuators:
        return mz.actuate(model, [
            one.gear * np.asarray(target).item(model.q_slices[one.joint].start + one.component)
            if one.kind == "position" else 0.0
            for one in model.actuators
        ])  # fmt: skip
    driven = np.ones(model.nv)
    for body in model:
        if type(body.joint).__name__ == "Free":
            driven[model.v_slices[body.joint_name]] = 0.0
    whole = mz.mass_matrix(model, target)
    M = np.diag(np.diagonal(whole))
    springs = controller in (Controller.hold, Controller.pd)
    bears = carried(model, target) if springs and model.contacts else None
    if rate is None:
        rate = RATE
        if bears is not None:
            answers = np.linalg.eigvals(np.linalg.solve(whole, M * driven)).real.max()
            rate = STEADY / (dt * float(answers))
    poles = rate

    def law(t: float, q: Array, v: Array, rate: float = poles) -> Array:
        away = mz.difference(model, q, target)
        if controller is Controller.gravity:
            tau = mz.gravity_forces(model, q)
        elif controller is Controller.computed:
            a = rate * rate * away - 2.0 * rate * v
            tau = mz.inverse_dynamics(tree, q, v, a)
        else:
            hold = mz.gravity_forces(model, q) if bears is None else bears
            tau = hold + M @ (rate * rate * away - 2.0 * rate * v)
        return tau * driven

    none = dict.fromkeys(("loops", "distances", "couplings", "rollings", "velocity_rows"), ())
    tree = model._replace(**none) if model.closures else model  # pyright: ignore[reportPrivateUsage]
    return law


def carried(model: Model, q: Array | list[float]) -> Array | None:
    """The joint forces that carry a free base that rests at q, or comes down to rest from there:
    pressed up by the contacts that meet first, along their normals; None where the base is not
    free.
    """
    import numpy as np

    import mozzi as mz

    if type(model.body(0).joint).__name__ != "Free":
        return None
    gaps = mz.contact_gaps(model, q)
    near = np.flatnonzero(gaps < gaps.min() + NEAR)
    still = np.zeros(model.nv)
    weight = mz.inverse_dynamics(model, q, still, still)
    normals = mz.contact_frames(model, q)[..., :3, 2]
    unit = np.eye(len(normals))[near][:, :, None] * normals
    pushes = mz.contact_wrenches(model, q, unit)
    J = weight - mz.inverse_dynamics(model, q, still, still, wrenches=pushes)
    force = np.zeros(len(near))
    presses = np.ones(len(near), dtype=bool)
    while presses.any():  # the least forces; what would pull is left out
        force[:] = 0.0
        force[presses] = np.linalg.lstsq(J[presses][:, :6].T, weight[:6], rcond=None)[0]
        if force.min() >= 0.0:
            break
        presses &= force > 0.0
    return weight - force @ J
