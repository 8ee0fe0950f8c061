"""Screws and the groups of rigid motions, over scalars of any kind."""

from mozzi.lie.acceleration_field import (
    AccelerationField,
    field_pullback,
    linear_moments,
    second_moments,
)
from mozzi.lie.axis import ScrewAxis
from mozzi.lie.cayley import cayley, cayley_inverse, dcayley, dcayley_inverse
from mozzi.lie.dexp import (
    dexp,
    dexp_dual,
    dexp_inverse,
    dexp_inverse_dual,
    dexp_inverse_rate,
    dexp_rate,
)
from mozzi.lie.inertia import ArticulatedInertia, Inertia
from mozzi.lie.quaternion import Quaternion
from mozzi.lie.screw import Momentum, Screws, Twist, Wrench
from mozzi.lie.se3 import SE3
from mozzi.lie.small_matrices import inverse_spd, solve_spd
from mozzi.lie.so3 import Rotation, RotationZ
from mozzi.lie.vec import Mat3, Sym3, Vec3

__all__ = [
    "SE3",
    "AccelerationField",
    "ArticulatedInertia",
    "Inertia",
    "Mat3",
    "Momentum",
    "Quaternion",
    "Rotation",
    "RotationZ",
    "ScrewAxis",
    "Screws",
    "Sym3",
    "Twist",
    "Vec3",
    "Wrench",
    "cayley",
    "cayley_inverse",
    "dcayley",
    "dcayley_inverse",
    "dexp",
    "dexp_dual",
    "dexp_inverse",
    "dexp_inverse_dual",
    "dexp_inverse_rate",
    "dexp_rate",
    "field_pullback",
    "inverse_spd",
    "linear_moments",
    "second_moments",
    "solve_spd",
]
