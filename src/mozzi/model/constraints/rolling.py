# pyright: reportConstantRedefinition=false
"""What ties velocities: rolling without slip, rows that users write, and joints that are driven.

Together with loops, distances and couplings these are the closures of a model. They are data; the
rows they stand for belong to the algorithms (`algorithms/constraints/`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

from mozzi.errors import ModelError
from mozzi.model.constraints.loop import Loop
from mozzi.model.shapes import (
    Capsule,
    Cylinder,
    Disc,
    Ellipsoid,
    Geometry,
    Plane,
    Sphere,
    Torus,
)
from mozzi.types import Traced

if TYPE_CHECKING:
    from mozzi.model.model import Model

__all__ = [
    "Drive", "Guided", "Rolling", "RowFunction", "VelocityRows", "closure_name", "rolling_of",
    "rolls_on", "row_matrix",
]  # fmt: skip

RowFunction: TypeAlias = "Callable[[Model, Traced], object]"
"""A(q) of rows A(q) v = 0: of a model and its traced coordinates (nq,), (m, nv) scalars."""


@final
@dataclass(frozen=True)
class Rolling:
    """Two shapes of two bodies touch in a point, and do not slip there.

    Three rows: the distance of the shapes, along the normal of shape b (position and velocity), and
    the velocities across it, which have no position part. Multipliers are the force on the body of
    shape a along these three directions. ``inside``: shape b is hollow, and a rolls in it.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_shape(None, mz.Plane(), name="floor")
        >>> ball.with_rolling("roll", ball.shapes[0].name, "floor").rollings[0].inside
        False
    """

    name: str
    shape_a: str
    shape_b: str
    inside: bool = False

    @property
    def rows(self) -> int:
        """How many equations it stands for."""
        return 3

    @property
    def positions(self) -> tuple[bool, ...]:
        """Which of its rows have a position part."""
        return (True, False, False)

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        return ("Rolling", self.name, self.shape_a, self.shape_b, self.inside)


@final
@dataclass(frozen=True, eq=False)
class VelocityRows:
    """Rows A(q) v = 0 that a user wrote, without a position part.

    ``function(model, q)`` returns A (m, nv) from traced scalars; ``content`` names what it
    computes, so that models with the same rows are equal.

    Example:
        >>> skate = lambda model, q: mz.jacobian(model, q, "tool")[3:4]
        >>> arm = mz.load("arm.urdf").with_velocity_rows("skate", skate)
        >>> arm.velocity_rows[0].rows
        1
    """

    name: str
    function: RowFunction = field(repr=False)
    rows: int
    content: str = field(repr=False)

    @property
    def positions(self) -> tuple[bool, ...]:
        """Which of its rows have a position part: none."""
        return (False,) * self.rows

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        return ("VelocityRows", self.name, self.rows, self.content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VelocityRows) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def matrix(self, model: Model, q: Traced) -> np.ndarray:
        """A (m, nv) at traced coordinates, checked.

        Args:
            model: the mechanism.
            q: (nq,), traced.
        """
        A = row_matrix(self.name, self.function, model, q)
        if len(A) != self.rows:
            raise ModelError(
                f"velocity rows {self.name!r}: {len(A)} rows for model {model.name!r}, and "
                f"{self.rows} where they were added; add them anew to the changed model"
            )
        return A


@final
@dataclass(frozen=True)
class Drive:
    """A joint, or one coordinate of it, whose motion is given: it follows a law of time.

    A row for each velocity, with a position part; multipliers are the forces of what drives it.
    """

    joint: str
    rows: int
    component: int | None = None

    @property
    def name(self) -> str:
        """Its name among the closures."""
        end = "" if self.component is None else f".{self.component}"
        return f"drive:{self.joint}{end}"

    @property
    def positions(self) -> tuple[bool, ...]:
        """Which of its rows have a position part: all."""
        return (True,) * self.rows

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        return ("Drive", self.joint, self.rows, self.component)


@final
@dataclass(frozen=True)
class Guided:
    """A loop whose residual follows a law of time: rows of ∂φ/∂q, exact also far from zero.

    Multipliers are the forces conjugate to the residual: their power is that of its rate.
    """

    loop: Loop

    @property
    def name(self) -> str:
        """Its name among the closures."""
        return self.loop.name

    @property
    def rows(self) -> int:
        """How many equations it stands for."""
        return self.loop.rows

    @property
    def positions(self) -> tuple[bool, ...]:
        """Which of its rows have a position part: all."""
        return self.loop.positions

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        return ("Guided", self.loop.key)


# -- made and checked --


def closure_name(model: Model, name: object, sort: str) -> str:
    """A name for one more closure of a model; how messages call it."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"{sort} {name!r}: not a name; give a non-empty string")
    if name in {x.name for x in (*model.closures, *model.springs)}:
        raise ModelError(
            f"{sort} {name!r}: a loop, coupling, spring or rolling has this name; give another name"
        )
    return f"{sort} {name!r}"


def rolls_on(a: Geometry, b: Geometry) -> bool:
    """Whether a and b touch in one point that is known, b being the ground."""
    match b:
        case Plane():
            return isinstance(a, (Sphere, Disc, Torus, Ellipsoid))
        case Sphere() | Cylinder() | Capsule() | Torus():
            return isinstance(a, (Sphere, Disc, Torus))
        case Disc():  # two edges that meet have no distance with a derivative
            return isinstance(a, (Sphere, Torus))
        case _:
            return False


def rolling_of(
    model: Model, name: str, shape_a: str, shape_b: str, inside: bool = False
) -> Rolling:
    """A rolling contact of a model, checked."""
    what = closure_name(model, name, "rolling")
    a, b = (model.shape(x) for x in (shape_a, shape_b))
    if not (rolls_on(a.geometry, b.geometry) or rolls_on(b.geometry, a.geometry)):
        kinds = " and ".join(f"{x.name!r} ({type(x.geometry).__name__})" for x in (a, b))
        raise ModelError(
            f"{what}: {kinds} have no single point of contact that is known; spheres, discs and "
            "tori roll on planes, spheres, cylinders, capsules and tori, ellipsoids on planes, "
            "spheres and tori on discs. Give a wheel one more shape for this, Disc(radius) or "
            "Torus(radius, tube), whose axis is z: model.with_shape(body, shape, placement, name)"
        )
    if a.body == b.body:
        raise ModelError(f"{what}: both shapes are on one body and never roll; give two bodies")
    if inside and not isinstance(b.geometry, (Sphere, Cylinder, Capsule)):
        kind = type(b.geometry).__name__
        raise ModelError(
            f"{what}: nothing rolls inside of {shape_b!r} ({kind}); give a Sphere or a Cylinder"
        )
    return Rolling(name, shape_a, shape_b, bool(inside))


def row_matrix(name: str, function: RowFunction, model: Model, q: Traced) -> np.ndarray:
    """A (m, nv) of a function, checked."""
    A = np.asarray(function(model, q), dtype=object)
    A = A[None] if A.ndim == 1 else A
    if A.ndim != 2 or A.shape[1] != model.nv or not len(A):
        raise ModelError(
            f"velocity rows {name!r}: the function returned shape {A.shape}; return (m, nv) "
            f"numbers, nv = {model.nv} for model {model.name!r}"
        )
    return A
