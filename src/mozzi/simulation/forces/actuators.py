"""The joint forces of a model's actuators, as a law that `simulate` compiles along."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from mozzi.checked import checked
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.program.scalar import Real, maximum, minimum
from mozzi.simulation.forces.resistance import Stops
from mozzi.simulation.system import Feedback
from mozzi.types import Traced

__all__ = ["actuate"]


@checked
def actuate(model: Model, controls: ArrayLike | Feedback) -> Feedback:
    """τ(t, q, v) of the model's actuators, for ``simulate(..., torque=actuate(model, controls))``.

    What all actuators of a joint coordinate exert together is clipped to its effort.

    Cost: O(k) for k actuators, compiled along.

    Args:
        model: the mechanism, with ``model.actuators``.
        controls: one number for each actuator, held; or a function u(t, q, v) of traced scalars
            that returns them.

    Returns:
        A law of torque, as `simulate` takes it.

    Example:
        >>> rod = mz.Inertia(1.0, (0.0, 0.0, -0.5), np.eye(3))
        >>> arm = mz.Builder().add("rod", None, mz.Revolute("x"), rod, joint_name="hinge")
        >>> arm = arm.actuator("motor", "hinge", gear=2.0).build()
        >>> float(mz.actuate(arm, [3.0])(0.0, [0.0], [0.0])[0])
        6.0
    """
    as_model(model, "actuate")
    if not model.actuators:
        raise ConfigurationError(
            f"model {model.name!r} has no actuators; give a torque, or add some by Builder.actuator"
        )
    names = [one.name for one in model.actuators]
    given = controls if callable(controls) else None
    held = np.zeros(0)
    if given is None:
        try:
            held = np.asarray(controls, dtype=float)
        except (TypeError, ValueError):
            raise ConfigurationError("actuate: controls are no numbers; give numbers") from None
        if held.shape != (len(names),):
            raise ConfigurationError(
                f"actuate: controls have shape {held.shape}; give {len(names)} numbers, for "
                f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"
            )
    places = [
        (model.q_slices[one.joint].start + one.component,
         model.v_slices[one.joint].start + one.component)
        for one in model.actuators
    ]  # fmt: skip

    def torque(t: Real, q: Traced, v: Traced) -> Traced:
        u = list(held) if given is None else np.ravel(np.asarray(given(t, q, v), dtype=object))
        if len(u) != len(names):
            raise ConfigurationError(
                f"actuate: the law gives {len(u)} controls; the model has {len(names)} actuators"
            )
        tau = np.full(model.nv, 0.0, dtype=object)
        for one, x, (i, k) in zip(model.actuators, u, places, strict=True):
            b0, b1, b2 = one.bias
            force = one.gain * _clip(x, one.control)
            force = force + b0 + one.gear * (b1 * q[i] + b2 * v[k])
            tau[k] = tau[k] + one.gear * _clip(force, one.force)
        return Stops(effort=True).clip(model, tau)

    return torque


def _clip(x: Real, ends: tuple[float, float]) -> Real:
    low, high = ends
    x = maximum(x, low) if math.isfinite(low) else x
    return minimum(x, high) if math.isfinite(high) else x
