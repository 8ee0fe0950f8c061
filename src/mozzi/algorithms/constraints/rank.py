"""What counts as rank: all tolerances of rows.

Rows of loops depend on one another where the mechanism is closed, and only there: where it is open
by d, a row that depends on others when closed has an angle of about d to them. Counted, it asks for
an acceleration along the only direction that is free, of the size of d over d, which is any size.
So rank is a matter of the closed configuration: rows are chosen there (`choice`), and held where
the mechanism is a little open (`rows_kept`). Where it is not known how open it is, what is open
raises what counts as an angle.

Let s be the admittance that a row would have if all its wrenches met their joints squarely, and
Λ_kk the one that it has. Then a pivot of Λ over s is the square of a sine: of the angle between the
row and those before it. Rounding of y leaves ε √(Λ_kk s) of a pivot, and an angle e between axes
that should be parallel e² s. So a pivot vanishes below `TOLERANCE` √(Λ_kk s) + `PARALLEL` s; the
second alone would drop rows that do nothing in a joint of tiny inertia (a rod about its axis),
where s is large and Λ_kk is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.constraints.rows.joints import at_rest
from mozzi.algorithms.constraints.rows.rolling import reach
from mozzi.algorithms.recursion.mechanism import mechanism
from mozzi.lie import Vec3
from mozzi.lie.vec import number
from mozzi.model import Guided, Joint, Model
from mozzi.program.counted_loops import summed
from mozzi.program.scalar import Real, minimum, sqrt
from mozzi.program.settings import settings
from mozzi.types import Array, ArrayLike

__all__ = [
    "STRONG", "cancelled", "counted", "length_of", "lengths", "opening", "pinv", "ranks_of",
    "row_lengths", "scaled", "sines", "smallest_pivot", "surely_regular", "turn", "what_counts",
]  # fmt: skip

TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
"""Of pivots, squares of sines: rows are dependent below an angle of a microradian (or 3e-3)."""

PARALLEL = {"float64": 1e-13, "float32": 1e-6}
"""Squares of angles between what should be parallel: 3e-7 (or 1e-3). In a singular configuration
that was found by closing it, angles are known to the root of rounding only.
"""

CANCELLED = {"float64": 1e-16, "float32": 1e-6}
"""Squares, of what rounding may leave of unit wrenches that cancel, seen by the above."""

OPENING = 10.0
"""Sines of rows that count at an open state, over how far it is open (rad, or lengths of the
mechanism). Dependent rows have sines of about that times the ratio of its longest to its shortest
length.
"""

WIDEST = 1e-2
"""The largest sine that rows must have for that: where a mechanism is open by more than a tenth of
it, rank says nothing about its closed configurations.
"""

STRONG = 1e-2
"""Of the pivots around: a row that has less is looked at again when the others have been."""

SHARE = 1e-9
"""Singular values of rows, over the largest, that count where rows are only solved for: those of
`pinv` and of the search for closed configurations.
"""

COUNTS = 1e-7
"""Singular values of rows measured by the mechanism, over the largest, that count as rank: above
the root of rounding, which is left of them in a singular configuration that was found by closing.
"""

VANISHED = 1e-10
"""Singular values of rows measured by the mechanism, over the largest, that vanish wherever it is
closed, at a configuration that was closed to rounding: rounding is left of those. Of a singular
configuration the root of it is left, 1e-8, since closing converges to that.
"""

CLEAR = 1e-5
"""The same, that are surely different from zero."""

CLOSED_RESIDUAL = 1e-9
"""Residuals, in radians or lengths of the mechanism, of configurations whose rank says whether rows
depend on one another wherever it is closed: at most the angle that `COUNTS` still tells from zero.
"""

NEARBY_RESIDUAL = 1e-8
"""The same, of configurations a small motion aside of a given one, whose residual may itself be
that of a prescribed motion: in a singular configuration closing converges to the root of rounding.
"""

RATE = 1e-6
"""Rates of vanishing singular values along a motion of unit length, over the largest entry of the
rows, that are not rounding: differences over a step of 1e-3 lose three of the fifteen digits, and
the null spaces they are seen in are known to 1e-8.
"""

INDEPENDENT = 1e-6
"""What is left of a row beside those before it, over the largest entry of all, that makes it an
independent one where the mode of an assembly is told: far above rounding, and above what is left
open by closing.
"""

ROUNDING = 1e-14
"""Entries of rows over the largest of all that are rounding: too small to count, or to vanish."""

MANY = 120  # columns of matrices whose singular values take longer than all else
FEW_SAMPLES = 4  # matrices that are looked at one by one

NO_SCALE = 1e-5
"""The largest singular value of scaled rows is taken for no less: rows may vanish, all of them."""

INVERTIBLE = 1e-6
"""Pivots of A_P Λ_P A_Pᵀ, over its diagonal, that leave nine digits of its inverse: the second form
of step D of Rodriguez (`loops/topology.py`).
"""

NO_ENTRY = 1e-9
"""Entries of scaled rows, in all configurations looked at, that are rounding: the row is no row."""

NO_ROW = 1e-20
"""Squares of the lengths of rows of a projector that are zero up to rounding; the others are of
length 1 or less.
"""


# -- pivots --


def cancelled() -> float:
    """`CANCELLED`, for the numbers that are traced."""
    return CANCELLED[settings().dtype]


def smallest_pivot(whole: Real, scale: Real, open2: Real = 0.0) -> Real:
    """The pivot below which a row counts as dependent: whole is Λ_kk, scale its s, open2 what
    `opening` tells.
    """
    near, parallel = TOLERANCE[settings().dtype], PARALLEL[settings().dtype]
    return near * sqrt(whole * scale) + (parallel + open2) * scale


def opening(residual: Sequence[Real], length: Sequence[float]) -> Real:
    """The square of the sine that rows must have at a state with this residual."""

    def square(x: Real, share: float) -> Real:
        return (x * share) * (x * share)

    total = summed(square, residual, [OPENING / size for size in length])
    return minimum(total, WIDEST**2)


def sines(model: Model, residual: np.ndarray) -> Array:
    """The sines that rows must have at states with these residuals, as arrays."""
    rows, _ = lengths(model)
    return np.minimum(OPENING * np.linalg.norm(residual / rows, axis=-1), WIDEST)


# -- singular values --


def scaled(model: Model, A: np.ndarray) -> Array:
    """`loop_jacobian` A with lengths measured by the mechanism, so that its singular values can be
    compared.
    """
    rows, columns = lengths(model)
    return A / rows[:, None] * columns


def counted(s: np.ndarray, least: ArrayLike = 0.0) -> NDArray[np.bool_]:
    """Which singular values of scaled rows count as different from zero, from `COUNTS` of the
    largest (or the share ``least``) on.
    """
    share = np.maximum(COUNTS, np.asarray(least))[..., None]
    return s > share * np.maximum(s[..., :1], NO_SCALE)


def what_counts(
    model: Model, A: Array, least: ArrayLike, free: NDArray[np.bool_] | slice = slice(None)
) -> Array:
    """Rows A of these coordinates without what vanishes where the mechanism is closed: of their
    singular values, as `scaled`, those that count (from the share ``least`` on); with no share,
    without the rows that are rounding. The rank of the rest is seen in any units.
    """
    if 0 in A.shape[-2:]:
        return A
    rows, columns = lengths(model)
    turn = rows[:, None] / columns[free]
    if not np.any(least):
        size = np.abs(A / turn).max(axis=-1, keepdims=True)
        return np.where(size > COUNTS * NO_SCALE, A, 0.0)
    U, s, Vt = np.linalg.svd(A / turn, full_matrices=False)
    return turn * ((U * np.where(counted(s, least), s, 0.0)[..., None, :]) @ Vt)


def ranks_of(A: np.ndarray, least: ArrayLike = 0.0) -> NDArray[np.intp]:
    """By singular values, of scaled rows."""
    if 0 in A.shape[-2:]:
        return np.zeros(A.shape[:-2], dtype=int)
    clear = _clear_rows(A) if np.all(np.asarray(least) <= CLEAR) else None
    if clear is not None:
        return np.array([len(rows) for rows, _ in clear]).reshape(A.shape[:-2])
    return counted(np.linalg.svd(A, compute_uv=False), least).sum(-1)


def surely_regular(A: np.ndarray) -> NDArray[np.bool_]:
    """Whether singular values of scaled rows, at configurations that were found by closing, are
    such that these are not singular by accident.
    """
    if 0 in A.shape[-2:] or _clear_rows(A) is not None:
        return np.ones(A.shape[:-2], dtype=bool)
    s: Array = np.linalg.svd(A, compute_uv=False)
    share = s / np.maximum(s[..., :1], NO_SCALE)
    between = np.logical_and(share <= CLEAR, share >= VANISHED)
    return np.equal(between.sum(axis=-1), 0)


def pinv(A: np.ndarray, scale: ArrayLike = 0.0, least: ArrayLike = 0.0) -> Array:
    """The Moore–Penrose inverse; singular values count from `SHARE` (or the share ``least``) of
    the largest, or of scale.
    """
    if 0 in A.shape[-2:]:
        return np.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]))
    plain = np.all(np.asarray(least) <= CLEAR) and not np.any(scale)
    clear = _clear_rows(A) if plain else None
    if clear is not None:
        return _right_inverse(A, clear)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    share = np.maximum(SHARE, np.asarray(least))[..., None]
    keep = s > share * np.maximum(s[..., :1], np.asarray(scale)[..., None])
    inverse = np.where(keep, 1.0 / np.where(keep, s, 1.0), 0.0)
    return np.swapaxes(Vt, -1, -2) @ (inverse[..., None] * np.swapaxes(U, -1, -2))


Clear = list[tuple[NDArray[np.intp], Array]]


def _clear_rows(A: np.ndarray) -> Clear | None:
    """Of each of a few large matrices the rows that do not vanish, and (A Aᵀ)⁻¹ of these, where all
    their singular values are surely different from zero: shares of the largest above `CLEAR`. None
    where any of them may not be, or matrices are small; what is known without singular values,
    which take longer than all else.
    """
    if A.shape[-1] < MANY or np.prod(A.shape[:-2], dtype=int) > FEW_SAMPLES:
        return None
    found: Clear = []
    for own in A.reshape(-1, *A.shape[-2:]):
        size = np.abs(own).max(axis=-1)
        rows = np.flatnonzero(size > ROUNDING * size.max())
        if not 0 < len(rows) <= A.shape[-1] or size.max() < NO_SCALE:
            return None
        gram = own[rows] @ own[rows].T
        try:
            inverse = cast("Array", np.linalg.inv(gram))
        except np.linalg.LinAlgError:
            return None
        bound = np.abs(gram).sum(axis=-1).max() * np.abs(inverse).sum(axis=-1).max()
        if not bound < CLEAR**-2:  # of the square of the ratio of the largest to the least
            return None
        found.append((rows, inverse))
    return found


def _right_inverse(A: np.ndarray, clear: Clear) -> Array:
    """Aᵀ (A Aᵀ)⁻¹; zero for rows that vanish."""
    flat = A.reshape(-1, *A.shape[-2:])
    out = np.zeros((len(flat), A.shape[-1], A.shape[-2]))
    for x, own, (rows, inverse) in zip(out, flat, clear, strict=True):
        x[:, rows] = own[rows].T @ inverse
    return out.reshape(*A.shape[:-2], *out.shape[-2:])


def lengths(model: Model) -> tuple[Array, Array]:
    """Lengths that rows and velocities are measured in: 1, or a length of the mechanism."""
    key = "lengths of rows and velocities"
    if key not in model.cache:
        model.cache[key] = _lengths(model)
    return model.cache[key]


def _lengths(model: Model) -> tuple[Array, Array]:
    size = length_of(model)
    rows = [x for loop in model.loops for x in row_lengths(loop.joint, size)]
    rows += [size] * len(model.distances)
    turning = [turns for body in model for turns in turn(body.joint)]
    for coupling in model.couplings:
        ends: list[int] = [model.v_slices[joint].start + k for joint, k, _ in coupling.terms]
        rows.append(1.0 if any(turning[k] for k in ends) else size)
    rows += [size] * (3 * len(model.rollings))
    rows += [1.0 for part in model.velocity_rows for _ in range(part.rows)]
    for drive in model.drives:
        if isinstance(drive, Guided):
            rows += row_lengths(drive.loop.joint, size)
            continue
        own = turning[model.v_slices[drive.joint]]
        own = own if drive.component is None else [own[drive.component]]
        rows += [1.0 if turns else size for turns in own]
    found = np.array(rows), np.where(turning, 1.0, size)
    for x in found:
        x.flags.writeable = False
    return found


def turn(joint: Joint) -> list[bool]:
    """Which velocities of a joint turn its body."""
    return [any(number(x) != 0.0 for x in S.ang) for S in joint.screws(joint.neutral())]


def row_lengths(joint: Joint, size: float) -> list[float]:
    """What the rows of a joint that closes a loop are measured in: 1, or a size."""
    wrenches = at_rest(joint).rows
    return [1.0 if any(number(x) != 0.0 for x in W.ang) else size for W in wrenches]


def length_of(model: Model) -> float:
    """A length of the mechanism: the longest lever on a body, between joints or to a loop. Where it
    stands in the world does not matter.
    """
    if length_of not in model.cache:
        model.cache[length_of] = _longest_lever(model)
    return model.cache[length_of]


def _longest_lever(model: Model) -> float:
    bodies = mechanism(model).bodies
    levers = [b.joint.pose(b.joint.neutral()).p for b in bodies]  # of products, inside
    levers += [b.placement.p for b in bodies if b.parent >= 0]
    for loop in model.loops:
        ends = (loop.body_a, loop.placement_a), (loop.body_b, loop.placement_b)
        levers += [P.p for body, P in ends if body >= 0]
    for rod in model.distances:
        ends = (rod.body_a, rod.point_a), (rod.body_b, rod.point_b)
        levers += [p for body, p in ends if body >= 0]
    for name in (x for part in model.rollings for x in (part.shape_a, part.shape_b)):
        shape = model.shape(name)
        levers += [shape.placement.p] if shape.body >= 0 else []
        levers.append(Vec3(reach(shape.geometry), 0.0, 0.0))
    return max((math.hypot(*(number(x) or 0.0 for x in p)) for p in levers), default=0.0) or 1.0
