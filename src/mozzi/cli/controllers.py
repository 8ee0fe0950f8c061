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


def law_of(
    model: Model, controller: Controller, target: Array | list[float], rate: float
) -> Feedback | None:
    """The law τ(t, q, v), or None where nothing drives.

    gravity: what gravity takes. hold, pd: that, and springs and dampers to the target, as stiff
    as makes every joint alone swing at ``rate`` (rad/s), critically damped. computed: computed
    torque to the target, with the poles −rate. actuators: those of the file, with controls at which
    position servos ask for the target. A free base is never driven.
    """
    if controller is Controller.none:
        return None
    if not rate > 0.0:
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
    M = np.diag(np.diagonal(mz.mass_matrix(model, target)))

    def law(t: float, q: Array, v: Array) -> Array:
        away = mz.difference(model, q, target)
        if controller is Controller.gravity:
            tau = mz.gravity_forces(model, q)
        elif controller is Controller.computed:
            a = rate * rate * away - 2.0 * rate * v
            tau = mz.inverse_dynamics(tree, q, v, a)
        else:
            tau = mz.gravity_forces(model, q) + M @ (rate * rate * away - 2.0 * rate * v)
        return tau * driven

    none = dict.fromkeys(("loops", "distances", "couplings", "rollings", "velocity_rows"), ())
    tree = model._replace(**none) if model.closures else model  # pyright: ignore[reportPrivateUsage]
    return law
