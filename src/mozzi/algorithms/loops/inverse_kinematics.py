# pyright: reportConstantRedefinition=false
"""Inverse kinematics of any mechanism: of trees by the compiled step, with the rows of loops and
couplings beside those of the targets where it has some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import cast

import numpy as np

from mozzi.algorithms.constraints.close import damped_steps
from mozzi.algorithms.constraints.rank import MANY
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_residual, position_rows
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.algorithms.kinematics.inverse_kinematics import (
    InverseKinematicsResult,
    bounds_of,
    descend,
    goals_of,
    solve,
)
from mozzi.algorithms.loops.manoeuvres import STEPS, Target, columns_to, manoeuvre, rows_to
from mozzi.checked import checked
from mozzi.lie import SE3
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.types import Array, ArrayLike, Seed

__all__ = ["CLOSED", "closed_near", "inverse_kinematics"]

CLOSED = 1e-11  # metres or radians by which a loop may be open


@checked
def inverse_kinematics(
    model: Model,
    targets: Mapping[str, ArrayLike | SE3],
    q0: ArrayLike | None = None,
    *,
    limits: bool = True,
    tolerance: float = 1e-8,
    iterations: int = 60,
    restarts: int = 126,
    rng: Seed = 0,
) -> InverseKinematicsResult:
    """Configurations in which the frames named in `targets` have the poses given there.

    Leading axes of targets and of q0 broadcast: many targets, or many starts for one, are solved at
    once. Damped least squares (Levenberg, Marquardt) on the configuration space, within the limits
    of the joints. A row that gets stuck starts again from random configurations, twice as many
    each time, up to `restarts` in all. Nothing is raised when a target is out of reach: see
    `InverseKinematicsResult.report`. Loops are closed. Where a model rolls or has velocity rows,
    a mobile base drives to its target, it does not slide there sideways: ``path`` of the result is
    a manoeuvre from q0 to q whose steps obey A δ = 0, and a target without one is out of reach.

    Cost: some dozens of iterations of O(n d + k³) for k rows of targets, each on the targets that
    are still open, and again from other starts where one fails.

    Args:
        model: the mechanism.
        targets: by frame, a pose (B, 4, 4), or a position (B, 3) that leaves the orientation free.
        q0 (B, nq), optional: where to start; the neutral configuration where not given.
        limits: whether to stay within the limits of the joints.
        tolerance: largest error of a target that is reached, in radians and metres.
        iterations: of each descent.
        restarts: how often to start again.
        rng: a seed or generator, for these starts.

    Returns:
        An `InverseKinematicsResult`: q (B, nq), success (B), the errors of each frame, and the
        ``path`` there (B, n + 1, nq) where rows of velocities ask for one.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> goal = mz.pose(arm, [0.3, 0.2, 0.1], "tool")
        >>> bool(mz.inverse_kinematics(arm, {"tool": goal}).success)
        True
    """
    as_model(model, "inverse_kinematics")
    how = descend_closed if model.closures else descend
    found = solve(model, targets, q0, limits, tolerance, iterations, restarts, rng, how)
    if position_rows(model).all():
        return found
    return _driven(model, found, targets, q0, bounds_of(model, limits), restarts, rng)


def _driven(
    model: Model,
    found: InverseKinematicsResult,
    targets: Mapping[str, ArrayLike | SE3],
    q0: ArrayLike | None,
    bounds: tuple[Array, Array],
    restarts: int,
    rng: Seed,
) -> InverseKinematicsResult:
    """What was found, reached by a manoeuvre from q0 where rows of velocities ask for one."""
    frames, parts, goals = goals_of(model, targets)
    batch, rng = found.success.shape, np.random.default_rng(rng)
    start = np.asarray(model.neutral() if q0 is None else q0, dtype=float)
    start = np.broadcast_to(start, (*batch, model.nq)).reshape(-1, model.nq)
    goals = np.broadcast_to(goals, (*batch, len(frames), 4, 4)).reshape(-1, len(frames), 4, 4)
    none = np.empty((len(start), 0, 4, 4))
    start, open_, _ = closed_near(model, start, none, (), (), bounds, 0.0, 60)
    q, success = found.q.reshape(start.shape).copy(), np.atleast_1d(found.success).ravel().copy()
    path = np.full((len(q), STEPS + 1, model.nq), np.nan)
    for n in np.flatnonzero(success & (np.abs(open_).max(-1, initial=0.0) <= 10.0 * CLOSED)):
        end = Target(goals[n], frames, parts, 0.1 * found.tolerance)
        path[n] = manoeuvre(model, start[n], q[n], end, bounds, restarts, rng)
    success &= np.isfinite(path).all((1, 2))
    q[success] = path[success, -1]
    error = np.abs(rows_to(model, q, goals, frames, parts))
    sizes = [(6 if part == "pose" else 3) for part in parts]
    own = np.split(error, np.cumsum(sizes)[:-1], axis=-1)
    angle = np.stack([np.linalg.norm(x[:, :-3], axis=-1) for x in own], axis=-1)
    distance = np.stack([np.linalg.norm(x[:, -3:], axis=-1) for x in own], axis=-1)
    shape = (*batch, len(frames))
    return replace(
        found, q=q.reshape(*batch, -1), success=success.reshape(batch), angle=angle.reshape(shape),
        distance=distance.reshape(shape), path=path.reshape(*batch, STEPS + 1, model.nq),
    )  # fmt: skip


def descend_closed(
    model: Model,
    q: np.ndarray,
    goals: np.ndarray,
    frames: Sequence[str],
    parts: Sequence[str],
    bounds: tuple[np.ndarray, np.ndarray],
    tolerance: float,
    most: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `descend`, with loops. Where targets and loops disagree, loops are closed from there;
    where they cannot be, the error is large, since what is open is not reached.
    """
    q, r, steps = closed_near(model, q, goals, frames, parts, bounds, 0.1 * tolerance, 2 * most)
    m = r.shape[-1] - model.row_count
    torn = np.flatnonzero(np.abs(r[:, m:]).max(-1, initial=0.0) > CLOSED)
    if len(torn):
        none = np.empty((len(torn), 0, 4, 4))
        q[torn] = closed_near(model, q[torn], none, (), (), bounds, 0.0, most)[0]
        r[torn] = _rows(model, q[torn], goals[torn], frames, parts)
    errors = np.empty((len(q), len(frames), 2))
    at = 0
    for k, part in enumerate(parts):
        wide = 6 if part == "pose" else 3
        own = np.square(r[:, at : at + wide])
        errors[:, k, 0] = own[:, :-3].sum(-1)
        errors[:, k, 1] = own[:, -3:].sum(-1)
        at += wide
    is_open = np.abs(r[:, m:]).max(-1, initial=0.0) > 10.0 * CLOSED
    errors[is_open] = 1e6 + errors[is_open]
    return q, errors, steps


ROUNDING = 1e-13
"""Share of J Jᵀ below which rows are dependent: they are damped, so that it can be solved."""


def closed_near(
    model: Model,
    q: np.ndarray,
    goals: np.ndarray,
    frames: Sequence[str],
    parts: Sequence[str],
    bounds: tuple[np.ndarray, np.ndarray],
    tolerance: float,
    most: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Levenberg and Marquardt within bounds, on the rows of targets and loops together: e ≈ J δ,
    −φ ≈ A δ. Where it ends, the rows (n, m + rows of loops) there, and the steps taken.
    """
    q, total = q.copy(), len(q)
    steps, going = np.zeros(total, dtype=int), np.arange(total)
    mu, slow = np.full(total, 0.1), np.zeros(total, dtype=int)
    r = _rows(model, q, goals, frames, parts)
    m = r.shape[-1] - model.row_count
    for _ in range(most):
        cost = np.square(r[going]).sum(-1)
        J = _columns(model, q[going], frames, parts)
        slope = np.einsum("nmv,nm->nv", J, r[going])
        J = J * ~_against(model, q[going], slope, bounds)[:, None, :]
        damping = mu[going] * np.minimum(cost, 1e3)
        if model.nv > MANY and not frames:  # rows of loops alone, which act on few coordinates each
            step = damped_steps(model, J, r[going], damping)
        else:
            step = _damped(J, r[going], damping)
        new = np.clip(integrate(model, q[going], step), *bounds)
        s = _rows(model, new, goals[going], frames, parts)
        after = np.square(s).sum(-1)
        taken = after < cost
        q[going[taken]], r[going[taken]] = new[taken], s[taken]
        mu[going] = np.clip(mu[going] * np.where(taken, 0.2, 8.0), 1e-9, 1e6)
        slow[going] = np.where(taken & (after < 0.9 * cost), 0, slow[going] + 1)
        steps[going] += 1
        far = np.abs(r[going, :m]).max(-1, initial=0.0) > tolerance
        open_ = np.abs(r[going, m:]).max(-1, initial=0.0) > CLOSED
        going = going[(far | open_) & (slow[going] < 8)]
        if not len(going):
            break
    return q, r, steps


def _damped(J: Array, r: Array, damping: Array) -> Array:
    """Jᵀ (J Jᵀ + μ)⁻¹ r."""
    N: Array = J @ np.swapaxes(J, 1, 2)
    least = ROUNDING * np.trace(N, axis1=1, axis2=2) + 1e-18
    N += (damping + least)[:, None, None] * np.eye(J.shape[1])
    y = cast("Array", np.linalg.solve(N, r[..., None])[..., 0])
    return np.einsum("nmv,nm->nv", J, y)


def _rows(
    model: Model, q: np.ndarray, goals: np.ndarray, frames: Sequence[str], parts: Sequence[str]
) -> np.ndarray:
    """What is missing, (n, m + rows of loops): rotation and way to each target, −φ of the loops."""
    return np.concatenate([rows_to(model, q, goals, frames, parts), -loop_residual(model, q)], -1)


def _columns(
    model: Model, q: np.ndarray, frames: Sequence[str], parts: Sequence[str]
) -> np.ndarray:
    own = columns_to(model, q, frames, parts)
    A = loop_jacobian(model, q) * position_rows(model)[:, None]
    return np.concatenate([own, A], axis=1)


def _against(
    model: Model, q: np.ndarray, slope: np.ndarray, bounds: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """The degrees of freedom at a limit that the slope pushes against, (n, nv)."""
    out = np.zeros(slope.shape, dtype=bool)
    flat = [body.joint.flat for body in model]
    i, k = (
        np.array([x for at, own in zip(pairwise(offsets), flat, strict=True) if own
                  for x in range(*at)], dtype=np.intp)
        for offsets in (model.q_offsets, model.v_offsets)
    )  # fmt: skip
    low, high = bounds
    x, push = q[:, i], slope[:, k]
    out[:, k] = ((x <= low[i]) & (push < 0.0)) | ((x >= high[i]) & (push > 0.0))
    return out
