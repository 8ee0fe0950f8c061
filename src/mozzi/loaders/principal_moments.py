"""Which inertias a rigid body can have.

A mass is not negative, and the principal moments at the centre of mass satisfy the triangle
inequality: none is larger than the other two together. What moves must have mass: without it the
mass matrix is singular.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mozzi.lie import Inertia

__all__ = ["POINT", "defect", "principal_moments"]

TRIANGLE = 1e-3
"""Relative violation of the triangle inequality that passes for rounding in a file."""

NEGATIVE = 1e-9
"""A principal moment this much below zero, relative to the largest, passes for rounding."""


POINT = 1e-15
"""Square of a radius of gyration, in m², that is none: 30 nm."""


def principal_moments(J: Sequence[float]) -> tuple[float, float, float]:
    """The eigenvalues, ascending, of the symmetric matrix xx, xy, xz, yy, yz, zz."""
    xx, xy, xz, yy, yz, zz = J
    if xy == xz == yz == 0.0:
        a, b, c = sorted((xx, yy, zz))
        return (a, b, c)
    a, b, c = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).tolist()
    return (a, b, c)


def defect(moments: Sequence[float], slack: float = 0.0) -> str | None:
    """What is wrong with principal moments, in words; None if a body can have them.

    ``slack`` is the absolute rounding error of the moments.
    """
    a, b, c = moments
    if a < -(NEGATIVE * max(abs(a), abs(c)) + slack):
        return f"the principal moment of inertia {a:.6g} is negative"
    if c > a + b + TRIANGLE * c + slack:
        return (
            f"principal moments of inertia {a:.6g}, {b:.6g}, {c:.6g} violate the triangle "
            f"inequality: {c:.6g} > {a:.6g} + {b:.6g}"
        )
    return None


def body_defect(inertia: Inertia) -> str | None:
    """What is wrong with the inertia of a whole body, in words."""
    m, x, y, z, xx, xy, xz, yy, yz, zz = inertia.floats()
    if m == 0.0:
        return defect(principal_moments((xx, xy, xz, yy, yz, zz)))
    x, y, z = x / m, y / m, z / m
    central = (
        xx - m * (y * y + z * z), xy + m * x * y, xz + m * x * z,
        yy - m * (x * x + z * z), yz + m * y * z, zz - m * (x * x + y * y),
    )  # fmt: skip
    return defect(principal_moments(central), slack=1e-14 * (abs(xx) + abs(yy) + abs(zz)))


def massless(inertia: Inertia) -> bool:
    """Neither mass nor rotational inertia."""
    return not any(inertia.parameters()) or math.fsum(map(abs, inertia.parameters())) == 0.0
