# pyright: reportConstantRedefinition=false
"""What people write for a frame, a point, an axis or an inertia, read once and checked.

Everything that enters a model passes through here, so that inside a model every number is a finite
Python float and every rotation matrix is a rotation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import SupportsFloat, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from mozzi.errors import ModelError, known
from mozzi.lie import SE3, Inertia, Rotation, RotationZ, Sym3, Vec3

__all__ = [
    "IDENTITY",
    "LARGEST",
    "SMALLEST",
    "Axis",
    "InertiaLike",
    "PoseLike",
    "VectorLike",
    "as_axis",
    "as_inertia",
    "as_number",
    "as_pose",
    "as_vector",
    "inertia_key",
    "is_identity",
    "pose_key",
    "rotation_to",
]

VectorLike: TypeAlias = Vec3 | ArrayLike
"""What is read as a vector."""
Axis: TypeAlias = str | Sequence[float] | np.ndarray | Vec3
"""What is read as a direction: a name such as "x" or "-z", or a vector."""
RotationLike: TypeAlias = Rotation | RotationZ | ArrayLike
PoseLike: TypeAlias = SE3 | Vec3 | ArrayLike | tuple[RotationLike, VectorLike] | None
"""What is read as a pose: see `as_pose`."""
InertiaLike: TypeAlias = Inertia | ArrayLike | tuple[float, VectorLike, Sym3 | ArrayLike] | None
"""What is read as an inertia: see `as_inertia`."""

IDENTITY_ENTRIES = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
AXES = {
    "x": (1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "-z": (0.0, 0.0, -1.0),
}

LARGEST = 1e50
"""No length, mass, moment, coefficient or other number of a mechanism is larger: products of six
of them still are finite.
"""
SMALLEST = 1e-100
"""No mass and no moment of inertia but zero is smaller: one can divide by them."""

ORTHOGONAL = 1e-6
"""A matrix whose RᵀR is this near the identity is taken for a rotation and made one; others are
refused.
"""


def _pose(entries: Sequence[float]) -> SE3:
    return SE3(Rotation(*entries[:9]), Vec3(*entries[9:]))


IDENTITY = _pose(IDENTITY_ENTRIES)


def pose_key(T: SE3) -> tuple[float, ...]:
    """Twelve numbers: the rotation matrix row by row, then the position."""
    return T.floats()


def is_identity(T: SE3) -> bool:
    """Whether T is the identity exactly."""
    return pose_key(T) == IDENTITY_ENTRIES


def _bounded(values: Iterable[float], what: str) -> None:
    """Refuse numbers whose products would not be finite."""
    for value in values:
        if not abs(value) <= LARGEST:
            raise ModelError(
                f"{what}: {value:g} is too large; give numbers of a mechanism, {LARGEST:g} at most"
            )


def as_number(x: object, what: str) -> float:
    """A finite float that one can calculate with."""
    try:
        value = float(cast("SupportsFloat", x))
    except (TypeError, ValueError):
        raise ModelError(f"{what}: {x!r} is not a number; give a finite number") from None
    if not math.isfinite(value):
        raise ModelError(f"{what}: {value} is not finite; give a finite number")
    _bounded((value,), what)
    return value + 0.0  # -0.0 becomes 0.0, so that equal models have equal digests


def as_vector(
    x: VectorLike | Iterable[float], size: int, what: str, *, direction: bool = False
) -> tuple[float, ...]:
    """A tuple of so many finite floats that one can calculate with; of a direction the length does
    not matter.
    """
    try:
        values = tuple(float(value) + 0.0 for value in cast("Iterable[SupportsFloat]", x))
    except (TypeError, ValueError):
        raise ModelError(
            f"{what}: {x!r} is not {size} numbers; give {size} finite numbers"
        ) from None
    if len(values) != size:
        raise ModelError(
            f"{what}: {len(values)} numbers where {size} are needed; give {size} numbers"
        )
    if not all(map(math.isfinite, values)):
        raise ModelError(f"{what}: {values} is not finite; give finite numbers")
    if not direction:
        _bounded(values, what)
    return values


def as_axis(axis: Axis, what: str) -> tuple[float, float, float]:
    """A unit vector from a direction: "x", "y", "z" (or "-x", ...) or any non-zero vector."""
    if isinstance(axis, str):
        if axis not in AXES:
            raise ModelError(
                f"{what}: axis {axis!r} is unknown; give one of {known(axis, AXES)} or a vector"
            )
        return AXES[axis]
    x, y, z = as_vector(axis, 3, f"{what}: axis", direction=True)
    largest = max(abs(x), abs(y), abs(z))
    if largest == 0.0:
        raise ModelError(f"{what}: axis (0, 0, 0) has no direction; give a non-zero axis")
    x, y, z = x / largest, y / largest, z / largest  # no overflow or underflow in the squares
    norm = math.sqrt(x * x + y * y + z * z)
    return (x / norm, y / norm, z / norm)


def rotation_to(axis: Sequence[float]) -> Rotation:
    """The rotation R with R z = axis that turns least (for the axis −z, about x)."""
    x, y, z = axis
    s = (
        1.0 if z >= 0.0 else -1.0
    )  # turn z to s·axis, in the upper half space, then flip y and z if s = −1
    x, y, z = s * x, s * y, s * z
    f = 1.0 / (1.0 + z)
    entries = (1.0 - x * x * f, -x * y * f, x, -x * y * f, 1.0 - y * y * f, y, -x, -y, z)
    flips = (1.0, s, s) * 3
    return Rotation(*(flip * entry + 0.0 for flip, entry in zip(flips, entries, strict=True)))


def _as_rotation(R: Sequence[float], what: str) -> tuple[float, ...]:
    """The nine entries of a rotation; entries with rounding errors are brought back to SO(3)."""
    a, b, c, d, e, f, g, h, i = R
    xx, yy, zz = (
        a * a + d * d + g * g - 1.0,
        b * b + e * e + h * h - 1.0,
        c * c + f * f + i * i - 1.0,
    )
    xy, xz, yz = a * b + d * e + g * h, a * c + d * f + g * i, b * c + e * f + h * i
    error = max(abs(xx), abs(yy), abs(zz), abs(xy), abs(xz), abs(yz))
    if not error <= ORTHOGONAL:
        raise ModelError(
            f"{what}: RᵀR differs from the identity by {error:.1e}; give a rotation matrix"
        )
    if a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) < 0.0:
        raise ModelError(
            f"{what}: the matrix mirrors (determinant −1); give a right-handed rotation"
        )
    if error < 1e-15:
        return tuple(R)
    rows = (
        (a, b, c),
        (d, e, f),
        (g, h, i),
    )  # one Newton step to the nearest rotation: R (3 − RᵀR) / 2
    return tuple(
        value + 0.0
        for u, v, w in rows
        for value in (
            u - (u * xx + v * xy + w * xz) / 2.0,
            v - (u * xy + v * yy + w * yz) / 2.0,
            w - (u * xz + v * yz + w * zz) / 2.0,
        )
    )


def as_pose(x: PoseLike, what: str = "pose") -> SE3:
    """A pose from None (the identity), an `SE3`, a 4×4 matrix, a pair (R, p), or a position (three
    numbers).
    """
    if x is None:
        return IDENTITY
    if isinstance(x, SE3):
        entries = [float(entry) + 0.0 for entry in pose_key(x)]
    elif isinstance(x, (tuple, list)) and len(cast("tuple[object, ...]", x)) == 2:
        R, p = cast("tuple[RotationLike, VectorLike]", x)
        R = R.array() if isinstance(R, (Rotation, RotationZ)) else np.asarray(R, dtype=float)
        if R.shape != (3, 3):
            raise ModelError(f"{what}: rotation of shape {R.shape}; give a 3×3 matrix")
        position = as_vector(p, 3, f"{what}: position")
        entries = [*(float(r) + 0.0 for r in np.ravel(R)), *position]
    else:
        entries = _entries_of_array(cast("VectorLike", x), what)
    if not all(map(math.isfinite, entries)):
        raise ModelError(f"{what}: not finite; give finite numbers")
    _bounded(entries[9:], f"{what}: position")
    return _pose((*_as_rotation(entries[:9], what), *entries[9:]))


def _entries_of_array(x: VectorLike, what: str) -> list[float]:
    try:
        matrix = np.asarray(x.floats() if isinstance(x, Vec3) else x, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: {x!r} is no pose; give an SE3, a 4×4 matrix or (R, p)") from None
    if matrix.shape == (3,):
        return [*IDENTITY_ENTRIES[:9], *(float(value) + 0.0 for value in matrix)]
    if matrix.shape != (4, 4):
        raise ModelError(
            f"{what}: shape {matrix.shape} is no pose; give an SE3, a 4×4 matrix or (R, p)"
        )
    if not np.array_equal(matrix[3], (0.0, 0.0, 0.0, 1.0)):
        raise ModelError(f"{what}: last row {matrix[3]} of a pose; it must be (0, 0, 0, 1)")
    return [float(value) + 0.0 for value in (*matrix[:3, :3].ravel(), *matrix[:3, 3])]


def inertia_key(inertia: Inertia) -> tuple[float, ...]:
    """The ten numbers of an inertia."""
    return inertia.floats()


def as_inertia(x: InertiaLike, what: str = "inertia") -> Inertia:
    """An inertia of floats from None (massless), an `Inertia`, a 6×6 matrix, ten numbers, or
    (mass, com, inertia).
    """
    if x is None:
        return Inertia.zero()
    if isinstance(x, Inertia):
        return _with_weight(as_vector(inertia_key(x), 10, what), what)
    if isinstance(x, (tuple, list)) and len(cast("tuple[object, ...]", x)) == 3:
        mass, com, rotational = cast("tuple[float, VectorLike, Sym3 | ArrayLike]", x)
        mass, com = as_number(mass, f"{what}: mass"), as_vector(com, 3, f"{what}: com")
        return as_inertia(Inertia(mass, com, rotational), what)
    try:
        array = np.asarray(cast("ArrayLike", x), dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: {x!r} is no inertia; give an Inertia or a 6×6 matrix") from None
    if array.shape == (10,):
        return _with_weight(as_vector(array, 10, what), what)
    if array.shape == (6, 6):
        if not np.isfinite(array).all():
            raise ModelError(f"{what}: not all numbers are finite; give finite numbers")
        try:
            return as_inertia(Inertia.from_matrix(array), what)
        except ValueError as error:
            raise ModelError(f"{what}: {error}") from None
    raise ModelError(
        f"{what}: shape {array.shape}; give an Inertia, a 6×6 matrix or ten parameters"
    )


def _with_weight(ten: tuple[float, ...], what: str) -> Inertia:
    """The inertia of ten bounded numbers; a mass or moment that one cannot divide by is refused."""
    for word, k in (("mass", 0), ("Jxx", 4), ("Jyy", 7), ("Jzz", 9)):
        value = ten[k]
        if 0.0 < abs(value) < SMALLEST:
            raise ModelError(
                f"{what}: {word} {value:g} is too small to divide by; give 0, or {SMALLEST:g} or "
                "more"
            )
    return Inertia.from_parameters(ten)
