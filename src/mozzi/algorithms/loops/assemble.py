# pyright: reportConstantRedefinition=false
"""Closing a mechanism: configurations whose loops are closed, and velocities that keep them so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.guard import fitting
from mozzi.algorithms.constraints.close import descend
from mozzi.algorithms.constraints.rank import (
    INDEPENDENT,
    counted,
    lengths,
    pinv,
    scaled,
    what_counts,
)
from mozzi.algorithms.constraints.regions import Stuck
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_residual, loop_rows
from mozzi.algorithms.constraints.single_loops import LARGE
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix
from mozzi.algorithms.dynamics.singular_inertia import moves_without_inertia
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.algorithms.loops.shown import JUDGED, least_share, look_at
from mozzi.algorithms.loops.singular import rank_nearby
from mozzi.algorithms.recursion.articulated import check_inertias, inertias_known
from mozzi.algorithms.recursion.held import held_by
from mozzi.algorithms.recursion.mechanism import mechanism
from mozzi.checked import checked
from mozzi.errors import LoopError, SingularError
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.types import Array, ArrayLike, JointChoice, Seed

__all__ = ["ROUNDED", "Assembly", "assemble", "consistent_velocities", "nearest_velocities"]

DISAGREE = 1e-8
"""Rates of rows over their lengths, beside velocities: what pseudoinverses leave in singular
configurations is less.
"""

STARTS = (0.0, 0.03, 0.1, 0.3, 0.3, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0)  # noise on the guess
MORE_STARTS = (3.0,) * 28  # of large mechanisms, in which a few loops at a time are moved aside
ROUNDED = 1e-6  # what stays open by less (m or rad) is open by rounded numbers


@dataclass(frozen=True)
class Assembly:
    """What `assemble` found, for every sample of the batch.

    q: the closed configuration (the best one, where it could not be closed); closed: whether it
    is; residual: the largest entry of `loop_residual`; rank: of the closure Jacobian A; mobility:
    nv − rank, the degrees of freedom at q; singular: whether a small motion from q raises the rank,
    so that q is a point where branches of motion meet or a motion is only instantaneous;
    margin: the smallest singular value of A that counts, over the largest, with lengths measured by
    the mechanism; iterations: taken.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> found = mz.assemble(bar, bar.neutral(), report=True)
        >>> bool(found.closed), int(found.rank), int(found.mobility)
        (True, 2, 1)
    """

    model: Model
    hold: JointChoice
    q: Array
    closed: NDArray[np.bool_]
    residual: Array
    rank: NDArray[np.int_]
    mobility: NDArray[np.int_]
    singular: NDArray[np.bool_]
    margin: Array
    iterations: NDArray[np.int_]

    @cached_property
    def branch(self) -> NDArray[np.int_]:
        """Which way the mechanism is assembled: +1 or −1, and 0 in a singular configuration.

        The sign of a minor of A: of its first independent rows, and of the first independent
        columns among the joints that are not held. It changes only where that minor vanishes, so
        that configurations with different signs are apart as long as the held joints drive.
        """
        free = ~held_mask(self.model, self.hold)
        A = loop_jacobian(self.model, self.q)[..., free]
        A = A.reshape(self.singular.size, *A.shape[-2:])
        out = np.array([0 if s else _sign(a) for a, s in zip(A, self.singular.ravel())])
        return out.reshape(self.singular.shape)

    def report(self, most: int = 5) -> str:
        """In words: what was closed, and by how much the rest is open, loop by loop.

        Args:
            most: how many to tell of.

        Example:
            >>> bar = mz.load("four_bar.sdf")
            >>> "mobility" in mz.assemble(bar, bar.neutral(), report=True).report()
            True
        """
        closed = self.closed.ravel()
        lines = [f"{int(closed.sum())} of {closed.size} closed"] if closed.size > 1 else []
        q = self.q.reshape(-1, self.q.shape[-1])
        for n in np.flatnonzero(~closed)[:most]:
            r = np.abs(loop_residual(self.model, q[n]))
            gaps = {k: r[s].max(initial=0.0) for k, s in loop_rows(self.model).items()}
            worst = sorted(gaps, key=gaps.__getitem__)[::-1][:3]
            text = ", ".join(f"{k!r} stays open by {gaps[k]:.3g}" for k in worst if gaps[k] > 1e-10)
            lines.append((f"sample {n}: " if closed.size > 1 else "") + text)
        if closed.all():
            ranks = sorted(set(map(int, np.ravel(self.rank))))
            free = sorted(set(map(int, np.ravel(self.mobility))))
            signs = sorted(set(map(int, self.branch.ravel())))
            lines.append(f"rank {ranks}, mobility {free}, branch {signs}")
        return "; ".join(lines)

    def check(self) -> Assembly:
        """Itself where everything is closed; else a `LoopError`.

        Example:
            >>> bar = mz.load("four_bar.sdf")
            >>> mz.assemble(bar, bar.neutral(), report=True).check().q.shape
            (3,)
        """
        if not self.closed.all():
            held = f" with {', '.join(map(str, self.hold))} held" if len(self.hold) else ""
            remedy, worst = "give a nearer guess, or hold fewer joints", float(self.residual.max())
            if worst < ROUNDED:
                remedy = (
                    "where rows contradict each other by that, as numbers rounded in a file make "
                    f"them, take tolerance={10.0 ** np.ceil(np.log10(2.0 * worst)):.0e}"
                )
            raise LoopError(
                f"model {self.model.name!r} cannot be closed near this configuration{held}: "
                f"{self.report()} (m or rad); {remedy}"
            )
        return self


@overload
def assemble(
    model: Model,
    q: ArrayLike,
    hold: JointChoice = (),
    *,
    loop_offsets: ArrayLike | None = None,
    tolerance: float = 1e-10,
    iterations: int = 80,
    report: Literal[False] = False,
    rng: Seed = 0,
) -> Array: ...
@overload
def assemble(
    model: Model,
    q: ArrayLike,
    hold: JointChoice = (),
    *,
    loop_offsets: ArrayLike | None = None,
    tolerance: float = 1e-10,
    iterations: int = 80,
    report: Literal[True],
    rng: Seed = 0,
) -> Assembly: ...
@checked
def assemble(
    model: Model,
    q: ArrayLike,
    hold: JointChoice = (),
    *,
    loop_offsets: ArrayLike | None = None,
    tolerance: float = 1e-10,
    iterations: int = 80,
    report: bool = False,
    rng: Seed = 0,
) -> Array | Assembly:
    """A closed configuration near q, with some joints held where they are.

    Damped least squares along the group, φ(q ⊕ δ) ≈ φ + A δ, by singular values: redundant rows do
    no harm, and steps are the shortest. From a guess at which it gets stuck (all rods in line) it
    starts again a little aside, further and further; of a mechanism of many loops those that are
    stuck alone. Leading axes of q are a batch.

    Cost: a singular value decomposition, O(n³), for each of some five to ten iterations; with more
    than 120 coordinates O(n b²), where loops act on b of them together.

    Args:
        model: the mechanism.
        q (B, nq): configuration to start from.
        hold: joints that stay where they are: names, or pairs (name, number of a coordinate).
        loop_offsets (B, m), optional: what the residual shall be instead of zero, row by row.
        tolerance: the largest residual of a closed configuration.
        iterations: of each descent.
        report: whether to return an `Assembly`, and never raise.
        rng: a seed or generator, for starts aside.

    Returns:
        (B, nq): closed configurations; with ``report`` an `Assembly` instead.

    Raises:
        LoopError: loops stay open; the message says which, and by how much.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q = mz.assemble(bar, [0.3, 0.0, 0.0], hold=bar.joint_names[:1])
        >>> float(q[0]), np.allclose(mz.loop_residual(bar, q), 0.0)
        (0.3, True)
    """
    as_model(model, "assemble")
    start = model.normalize(model.check_configuration(q))
    target = np.zeros(model.row_count)
    if loop_offsets is not None:
        start, target = fitting("assemble", model, q=start, loop_offsets=loop_offsets)
    batch = np.broadcast_shapes(start.shape[:-1], target.shape[:-1])
    size = math.prod(batch)
    rows = np.broadcast_to(start, (*batch, model.nq)).reshape(size, model.nq)
    free = ~held_mask(model, hold)
    target = np.broadcast_to(target, (*batch, model.row_count)).reshape(size, model.row_count)
    rng = np.random.default_rng(rng)
    best, gap = rows.copy(), _gap(model, rows, target)
    steps = np.zeros(len(rows), dtype=int)
    stuck = Stuck(model, len(rows)) if model.nv > LARGE else None
    last = rows.copy()
    for noise in STARTS if stuck is None else (*STARTS, *MORE_STARTS):
        left = np.flatnonzero(gap > tolerance)
        if not len(left):
            break
        aside = rng.normal(size=(len(left), model.nv)) * noise * free
        tried = rows[left]
        if noise > 0.0 and stuck is not None:  # from where they are, but for loops that are stuck
            joints = stuck.joints(left, loop_residual(model, last[left]) - target[left])
            aside *= np.repeat(joints, np.diff(model.v_offsets), axis=-1)
            tried = last[left]
        tried = tried if noise == 0.0 else integrate(model, tried, aside)
        found, used = descend(model, tried, target[left], free, iterations)
        last[left] = found
        gaps = _gap(model, found, target[left])
        better = gaps < gap[left]
        best[left[better]], gap[left[better]] = found[better], gaps[better]
        steps[left] += used
    if model.nv <= LARGE:
        look_at(model, best[(gap <= tolerance) & (target == 0.0).all(-1)][:JUDGED])
    result = _assembly(model, best, gap, target, hold, tolerance, steps, batch, report)
    return result if report else result.check().q


def _gap(model: Model, q: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.abs(loop_residual(model, q) - target).max(-1, initial=0.0)


def held_mask(model: Model, hold: JointChoice) -> np.ndarray:
    """Which velocities belong to joints that are held."""
    names = (hold,) if isinstance(hold, str) else tuple(hold)
    if not all(isinstance(x, str) for x in names):
        return _held_mask(model, names)
    key = held_mask, names
    if key not in model.cache:
        model.cache[key] = _held_mask(model, names)
    return model.cache[key]


def _held_mask(model: Model, hold: JointChoice) -> np.ndarray:
    bodies = held_by(mechanism(model), hold).bodies
    found = np.array([h for body in bodies for h in body.held], dtype=bool)
    found.flags.writeable = False
    return found


def _assembly(
    model: Model,
    q: np.ndarray,
    gap: np.ndarray,
    target: np.ndarray,
    hold: JointChoice,
    tolerance: float,
    steps: np.ndarray,
    batch: tuple[int, ...],
    judge: bool,
) -> Assembly:
    rank, margin, singular = steps * 0, gap * 0.0, np.zeros(len(q), dtype=bool)
    if judge and len(q):
        rank, margin = _rank(scaled(model, loop_jacobian(model, q)))
        singular = (rank < model.nv) & rank_nearby(model, q, rank)[0]
    joints = (hold,) if isinstance(hold, str) else tuple(hold)
    return Assembly(
        model, joints, q.reshape(*batch, model.nq), (gap <= tolerance).reshape(batch),
        gap.reshape(batch), rank.reshape(batch), (model.nv - rank).reshape(batch),
        singular.reshape(batch), margin.reshape(batch), steps.reshape(batch),
    )  # fmt: skip


def _rank(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rank, and the last singular value that counts over the first, of scaled rows."""
    if 0 in A.shape[-2:]:
        return np.zeros(A.shape[:-2], int), np.ones(A.shape[:-2])
    s = np.linalg.svd(A, compute_uv=False)
    keep = counted(s)
    rank = keep.sum(-1)
    last = np.where(keep, s, np.inf).min(-1, initial=np.inf)
    return rank, np.where(rank > 0, last / np.maximum(s[..., 0], 1e-300), 1.0)


def _sign(A: np.ndarray) -> int:
    """The sign of the minor of the first independent rows and columns."""
    rows = _independent(A)
    columns = _independent(A[rows].T)
    return int(np.sign(np.linalg.det(A[np.ix_(rows, columns)]))) if rows else 1


def _independent(A: np.ndarray) -> list[int]:
    """The first rows that are independent of those before them."""
    size = np.abs(A).max(initial=0.0)
    chosen: list[int] = []
    basis = np.zeros((0, A.shape[1]))
    for k, row in enumerate(A):
        rest = row - basis.T @ (basis @ row)
        rest = rest - basis.T @ (basis @ rest)
        length = np.linalg.norm(rest)
        if length > INDEPENDENT * size:
            chosen.append(k)
            basis = np.vstack([basis, rest / length])
    return chosen


@checked
def consistent_velocities(
    model: Model, q: ArrayLike, v: ArrayLike, hold: JointChoice = (), *,
    loop_rates: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """The velocities nearest to v that keep the loops closed, A v = 0 (or = ``loop_rates``).

    Nearest in kinetic energy, ½ (v′ − v)ᵀ M (v′ − v): what an impulse in the loops leaves of v.
    O(n³), on arrays.

    Args:
        model: the mechanism.
        q (B, nq): a closed configuration.
        v (B, nv): joint velocities.
        hold: joints that keep their velocity: names, or pairs (name, number of a coordinate).
        loop_rates (B, m), optional: what A v shall be; 0 where not given.

    Returns:
        (B, nv): velocities.

    Raises:
        LoopError: no velocities with these held keep the loops closed.
        SingularError: something moves without inertia, so that none are nearest.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> v = mz.consistent_velocities(bar, bar.neutral(), [1.0, 0.0, 0.0])
        >>> np.allclose(mz.loop_jacobian(bar, bar.neutral()) @ v, 0.0)
        True
    """
    as_model(model, "consistent_velocities")
    rates = {} if loop_rates is None else {"loop_rates": loop_rates}
    q, v, *given = fitting("consistent_velocities", model, q=q, v=v, **rates)
    least = least_share(model, q) if loop_rates is None else 0.0  # offsets are no opening
    return nearest_velocities(model, q, v, hold, given[0] if given else None, least)


def nearest_velocities(
    model: Model, q: Array, v: Array, hold: JointChoice, loop_rates: Array | None,
    least: Array | float, what: str = "velocities",
) -> Array:  # fmt: skip
    """`consistent_velocities` of arrays that fit; or accelerations, with rates that are those of
    rows that turn. least: the share from which singular values count (`least_share`).
    """
    A: Array = loop_jacobian(model, q)
    M: Array = mass_matrix(model, q)
    free = ~held_mask(model, hold)
    if not inertias_known(model, (~free).tolist()):
        check_inertias(held_by(mechanism(model), hold))
    U = np.zeros(model.row_count) if loop_rates is None else loop_rates
    needed = U - (A @ v[..., None])[..., 0]
    L = _root(model, q, M[..., free, :][..., :, free], what)
    rows, columns = lengths(model)
    some = what_counts(model, A[..., free], least, free) / rows[:, None]
    B = np.swapaxes(np.linalg.solve(L, np.swapaxes(some, -1, -2)), -1, -2)
    y = pinv(B) @ (needed / rows)[..., None]
    change = np.zeros((*np.broadcast_shapes(needed.shape[:-1], v.shape[:-1]), model.nv))
    change[..., free] = np.linalg.solve(np.swapaxes(L, -1, -2), y)[..., 0]
    out = v + change
    left = np.abs(((A @ out[..., None])[..., 0] - U) / rows).max(-1, initial=0.0)
    size = 1.0 + np.abs(v / columns).max(-1, initial=0.0) + np.abs(U / rows).max(-1, initial=0.0)
    if (left > (DISAGREE + least) * size).any():
        some, keep, remedy = " with these held", "keep its loops closed", "hold fewer joints"
        if free.all():
            some, keep, remedy = "", "move its rows so", "give rates of loops that agree"
        raise LoopError(
            f"model {model.name!r}: no {what}{some} {keep}; rows disagree by {left.max():.3g}; "
            f"{remedy}"
        )
    return out


def _root(model: Model, q: Array, M: Array, what: str) -> NDArray[np.floating]:
    """L of M = L Lᵀ, or which sample can move without inertia."""
    try:
        return np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        for at in np.ndindex(*q.shape[:-1]):
            moves = moves_without_inertia(model, q[at])
            if moves is not None:
                raise SingularError(
                    f"consistent_{what}: the mass matrix of {model.name!r} is singular at q"
                    f"{f' of sample {[*at]}' if at else ''}: {moves!r} can move without inertia "
                    f"there, so no {what} are nearest; give its body inertia about the joint, "
                    "or the joint armature"
                ) from None
        raise
