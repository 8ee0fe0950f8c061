"""Actuators: motors and servos that turn controls into joint forces."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import final

__all__ = ["Actuator"]

Range = tuple[float, float]
FREE = (-math.inf, math.inf)


@final
@dataclass(frozen=True)
class Actuator:
    """A motor or a servo on a joint coordinate, as MuJoCo defines them.

    With x = gear·q and u the control, clipped to ``control``, it exerts the force
    f = gain·u + bias₀ + bias₁·x + bias₂·ẋ, clipped to ``force``, and the joint force gear·f.
    A motor has gain 1 and no bias; a position servo gain kp and bias (0, −kp, −kv); a velocity
    servo gain kv and bias (0, 0, −kv).

    Example:
        >>> arm = mz.Builder().add("rod", None, mz.Revolute("x"), joint_name="hinge")
        >>> arm = arm.actuator("servo", "hinge", gain=80.0, bias=(0.0, -80.0, -2.0)).build()
        >>> arm.actuators[0].gain, float(mz.actuate(arm, [0.5])(0.0, [0.0], [0.0])[0])
        (80.0, 40.0)
    """

    name: str
    joint: str
    component: int = 0
    gear: float = 1.0
    gain: float = 1.0
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    control: Range = FREE
    force: Range = FREE

    @property
    def kind(self) -> str:
        """What it is: ``"motor"``, ``"position"`` or ``"velocity"`` servo, or ``"general"``."""
        if not any(self.bias):
            return "motor"
        if self.bias[0] == 0.0 and self.bias[1] == -self.gain:
            return "position"
        if self.bias[:2] == (0.0, 0.0) and self.bias[2] == -self.gain:
            return "velocity"
        return "general"

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        return ("Actuator", *(getattr(self, part.name) for part in fields(self)))
