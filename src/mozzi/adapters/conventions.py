"""How simulators write the state of a free base: which order, which frame, which point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = ["CONVENTIONS", "Convention", "LayoutName", "rotation", "skew"]

LayoutName: TypeAlias = Literal[
    "mujoco", "pinocchio", "isaaclab", "isaaclab2", "maniskill", "newton", "drake"
]
Frame: TypeAlias = Literal["world", "body"]


@dataclass(frozen=True)
class Convention:
    """The coordinates (position, quaternion) and velocities (linear, angular) of a free base.

    point: whose velocity the linear part is, of the origin of the body or of its centre of mass.
    Where `linear_first` is False, rotations stand before translations, in both.
    """

    quaternion: Literal["wxyz", "xyzw"]
    linear: Frame
    angular: Frame
    point: Literal["origin", "com"] = "origin"
    linear_first: bool = True
    balls: bool = False  # ball joints: a quaternion of this order, body-fixed angular velocity


CONVENTIONS: dict[LayoutName, Convention] = {
    "mujoco": Convention("wxyz", "world", "body", balls=True),
    "pinocchio": Convention("xyzw", "body", "body", balls=True),
    "isaaclab": Convention("xyzw", "world", "world"),
    "isaaclab2": Convention("wxyz", "world", "world"),
    "maniskill": Convention("wxyz", "world", "world", "com"),
    "newton": Convention("xyzw", "world", "world", "com"),
    "drake": Convention("wxyz", "world", "world", linear_first=False),
}


def rotation(x: Real, y: Real, z: Real, w: Real) -> Traced:
    """The matrix of a unit quaternion."""
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.array(rows, dtype=object)


def skew(x: Traced) -> Traced:
    """a ↦ x × a."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]], dtype=object)
