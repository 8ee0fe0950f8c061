# pyright: reportConstantRedefinition=false
"""Inverse kinematics of any mechanism: of trees by the compiled step, with the rows of loops and
couplings beside those of the targets where it has some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from mozzi.algorithms.constraints.rank import pinv
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_residual, position_rows
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.algorithms.kinematics.inverse_kinematics import (
    InverseKinematicsResult,
    descend,
    solve,
)
from mozzi.algorithms.kinematics.jacobian import jacobian
from mozzi.algorithms.kinematics.poses import pose
from mozzi.lie import SE3
from mozzi.model import Model
from mozzi.types import Array, ArrayLike, Seed

__all__ = ["CLOSED", "closed_near", "inverse_kinematics"]

CLOSED = 1e-11  # metres or radians by which a loop may be open


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
    steps obey them, A δ = 0: a mobile base drives to its target, it does not slide there sideways
    (nor does it plan manoeuvres: what needs some counts as out of reach).

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
        An `InverseKinematicsResult`: q (B, nq), success (B), and the errors of each frame.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> goal = mz.pose(arm, [0.3, 0.2, 0.1], "tool")
        >>> bool(mz.inverse_kinematics(arm, {"tool": goal}).success)
        True
    """
    how = descend_closed if model.closures else descend
    return solve(model, targets, q0, limits, tolerance, iterations, restarts, rng, how)


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
        N: Array = J @ np.swapaxes(J, 1, 2)
        least = ROUNDING * np.trace(N, axis1=1, axis2=2) + 1e-18
        damping = mu[going] * np.minimum(cost, 1e3) + least
        N += damping[:, None, None] * np.eye(J.shape[1])
        y = cast("Array", np.linalg.solve(N, r[going][..., None])[..., 0])
        step = np.einsum("nmv,nm->nv", J, y)
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


def _rows(
    model: Model, q: np.ndarray, goals: np.ndarray, frames: Sequence[str], parts: Sequence[str]
) -> np.ndarray:
    """What is missing, (n, m + rows of loops): rotation and way to each target, −φ of the loops."""
    rows: list[Array] = []
    for k, (frame, part) in enumerate(zip(frames, parts, strict=True)):
        C, goal = cast("Array", pose(model, q, frame)), goals[:, k]
        if part == "pose":
            rows.append(_rotation_vector(goal[:, :3, :3] @ np.swapaxes(C[:, :3, :3], 1, 2)))
        rows.append(goal[:, :3, 3] - C[:, :3, 3])
    return np.concatenate([*rows, -loop_residual(model, q)], axis=-1)


def _columns(
    model: Model, q: np.ndarray, frames: Sequence[str], parts: Sequence[str]
) -> np.ndarray:
    own = [
        jacobian(model, q, frame, "hybrid")[:, 0 if part == "pose" else 3 :]
        for frame, part in zip(frames, parts, strict=True)
    ]
    A, positions = loop_jacobian(model, q), position_rows(model)
    J = np.concatenate([*own, A * positions[:, None]], axis=1)
    if frames and not positions.all():  # steps that roll: without what rows of velocities forbid
        sliding = A[:, ~positions]
        J = J - J @ pinv(sliding) @ sliding
    return J


def _against(
    model: Model, q: np.ndarray, slope: np.ndarray, bounds: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """The degrees of freedom at a limit that the slope pushes against, (n, nv)."""
    out = np.zeros(slope.shape, dtype=bool)
    low, high = bounds
    for body, i, k in zip(model, model.q_offsets, model.v_offsets, strict=False):
        if body.joint.flat:
            for n in range(body.joint.nv):
                x, push = q[:, i + n], slope[:, k + n]
                out[:, k + n] = ((x <= low[i + n]) & (push < 0.0)) | (
                    (x >= high[i + n]) & (push > 0.0)
                )
    return out


def _rotation_vector(R: np.ndarray) -> np.ndarray:
    """log of rotations (n, 3, 3), also near half a turn: by the nearest quaternion."""
    trace = np.trace(R, axis1=1, axis2=2)
    K = np.empty((len(R), 4, 4))
    K[:, :3, :3] = R + np.swapaxes(R, 1, 2) - trace[:, None, None] * np.eye(3)
    skew = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], -1)
    K[:, :3, 3] = K[:, 3, :3] = skew
    K[:, 3, 3] = trace
    x = np.linalg.eigh(K)[1][:, :, -1]
    x = x * np.where(x[:, 3:] < 0.0, -1.0, 1.0)
    s = np.linalg.norm(x[:, :3], axis=1)
    angle = 2.0 * np.arctan2(s, x[:, 3])
    small = s < 1e-7  # where the quaternion has lost the digits that the matrix has
    factor = np.where(small, 0.0, angle / np.where(small, 1.0, s))
    return np.where(small[:, None], 0.5 * skew, factor[:, None] * x[:, :3])
