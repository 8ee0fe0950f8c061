"""Configurations that bring frames to given poses: damped least squares on the configuration
space, for many targets and starts at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.kinematics.jacobian import columns, frame_screws, rows
from mozzi.algorithms.kinematics.poses import frame_pose
from mozzi.algorithms.recursion.containers import BlockArray, joint_array, joint_configuration
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import BodyView, JointVector, Whole
from mozzi.errors import ConfigurationError
from mozzi.lie import SE3, Rotation, Vec3, solve_spd
from mozzi.model import Model
from mozzi.program.scalar import Real, maximum, minimum, select
from mozzi.types import Array, ArrayLike, Seed, Traced

__all__ = [
    "InverseKinematicsResult", "bounds_of", "descend", "goals_of", "inverse_kinematics_step",
    "solve",
]  # fmt: skip

Part: TypeAlias = Literal["pose", "position"]
"""What of a frame is wanted."""

UNLIMITED = 1e30

Descend: TypeAlias = Callable[
    [
        Model, Array, Array, tuple[str, ...], tuple[Part, ...], tuple[Array, Array], float, int,
    ],
    tuple[Array, Array, NDArray[np.int_]],
]  # fmt: skip
"""(model, q, goals, frames, parts, bounds, tolerance, steps at most) → (q, errors, steps)."""


# -- one step, compiled ----------------------------------------------------------------------------


@algorithm
def inverse_kinematics_step(
    model: Mechanism,
    q: JointVector,
    targets: Whole[Sequence[Real]],
    damping: Whole[Sequence[Real]],
    q_lower: JointVector,
    q_upper: JointVector,
    frames: Sequence[str],
    parts: Sequence[Part],
) -> tuple[BlockArray, Traced, Traced]:
    """One step of Levenberg and Marquardt towards the targets: (new q, errors before and after).

    The error of a frame is (rotation vector to the target, vector to the target), resolved in the
    world; the step is dq = W Jᵀ (J W Jᵀ + λ)⁻¹ e with hybrid Jacobians, where W leaves out joints
    at a limit that the gradient Jᵀ e pushes against. It is taken along the group and clamped.
    Errors are (angle², distance²) for each frame.
    """
    error = [
        _error(targets, k, frame_pose(model, q, f), part)
        for k, (f, part) in enumerate(zip(frames, parts))
    ]
    J = [joint_array(model, 6, "v", letter=f"J{k}") for k in range(len(frames))]
    for k, frame in enumerate(frames):
        for i, S in frame_screws(model, q, frame, "hybrid"):
            J[k][i] = rows(S)
    used = [slice(0, 6) if part == "pose" else slice(3, 6) for part in parts]
    e = [x for own in error for x in own]
    N = joint_array(model, len(e), len(e), letter="N")
    N[()] = [[damping[()][0] if r == c else 0.0 for c in range(len(e))] for r in range(len(e))]
    for i in model.outward():
        free = [_free(x, e, w) for x, w in zip(_stacked(J, used, i), _room(i, q, q_lower, q_upper))]
        old = N[()]
        N[()] = [
            old[r * len(e) + c] + sum((x[r] * x[c] for x in free), 0.0)
            for r in range(len(e))
            for c in range(len(e))
        ]
    flat = N[()]
    matrix = [flat[r * len(e) : (r + 1) * len(e)] for r in range(len(e))]
    y = solve_spd(matrix, [e])[0]
    q_new = joint_configuration(model, "q_new")
    for i in model.outward():
        free = [_free(x, e, w) for x, w in zip(_stacked(J, used, i), _room(i, q, q_lower, q_upper))]
        dq = [sum((a * b for a, b in zip(x, y)), 0.0) for x in free]
        moved = i.joint.integrate(q[i], dq)
        q_new[i] = [
            minimum(maximum(x, low), high) for x, low, high in zip(moved, q_lower[i], q_upper[i])
        ]
    after = [
        _error(targets, k, frame_pose(model, q_new, f), part)
        for k, (f, part) in enumerate(zip(frames, parts))
    ]
    return q_new, _squares(error), _squares(after)


def _error(targets: Whole[Sequence[Real]], k: int, C: SE3, part: Part) -> list[Real]:
    """The rotation vector and the vector from the pose C to the target, in the world."""
    t = targets[()][16 * k : 16 * k + 16]
    lin = [t[3] - C.p.x, t[7] - C.p.y, t[11] - C.p.z]
    if part == "position":
        return lin
    R = Rotation(*t[0:3], *t[4:7], *t[8:11])
    return [*(R @ C.R.general().T).log().flatten(), *lin]


def _squares(errors: list[list[Real]]) -> Traced:
    out = np.empty((len(errors), 2), dtype=object)
    for k, e in enumerate(errors):
        out[k, 0] = Vec3(*e[:-3]).dot(Vec3(*e[:-3])) if len(e) == 6 else 0.0
        out[k, 1] = Vec3(*e[-3:]).dot(Vec3(*e[-3:]))
    return out


def _stacked(J: list[BlockArray], used: list[slice], i: BodyView) -> list[list[Real]]:
    """The columns of joint i in the Jacobians of all frames, one above the other."""
    parts = [columns(jacobian[i]) for jacobian in J]
    return [
        [x for S, rows_ in zip(parts, used) for x in S[c].flatten()[rows_]]
        for c in range(i.joint.nv)
    ]


def _room(
    i: BodyView, q: JointVector, q_lower: JointVector, q_upper: JointVector
) -> list[tuple[Real, Real]]:
    """For each degree of freedom, how far it may go down and up (anywhere, if curved)."""
    if not i.joint.flat:
        return [(1.0, 1.0)] * i.joint.nv
    return [(x - low, high - x) for x, low, high in zip(q[i], q_lower[i], q_upper[i])]


def _free(x: list[Real], e: list[Real], room: tuple[Real, Real]) -> list[Real]:
    """The column, or zero where the gradient pushes against a limit."""
    slope = sum((a * b for a, b in zip(x, e)), 0.0)
    space = select(slope < 0.0, room[0], room[1])
    return [select(space <= 0.0, 0.0, a) for a in x]


# -- the solver ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InverseKinematicsResult:
    """What the solver found: the best configuration for every target, and how near it is.

    Leading axes are those of the targets and of q0. `angle` and `distance` are the errors of each
    frame (…, frames) in radians and metres; `success` says where all are below the tolerance.
    Where the model rolls or has velocity rows, `path` (…, n + 1, nq) leads from q0 to q in n steps
    that obey them: a manoeuvre. It is None for other models, and NaN where none was found.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> target = mz.pose(arm, [0.3, 0.2, 0.1], "tool")
        >>> found = mz.inverse_kinematics(arm, {"tool": target})
        >>> bool(found.success), float(found.distance.max()) < 1e-6
        (True, True)
    """

    model: Model
    frames: tuple[str, ...]
    tolerance: float
    q: Array
    success: NDArray[np.bool_]
    angle: Array
    distance: Array
    iterations: NDArray[np.int_]
    starts: NDArray[np.int_]
    path: Array | None = None

    def report(self, most: int = 5) -> str:
        """What was reached and what was not, and why, in words.

        Args:
            most: how many to tell of.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> found = mz.inverse_kinematics(arm, {"tool": mz.pose(arm, [0.3, 0.2, 0.1], "tool")})
            >>> "reached" in found.report()
            True
        """
        success, total = np.atleast_1d(self.success).ravel(), np.size(self.success)
        lines = [f"{int(success.sum())} of {total} reached within {self.tolerance:g}"]
        q, k = self.q.reshape(total, self.q.shape[-1]), len(self.frames)
        angle, distance = (x.reshape(total, k) for x in (self.angle, self.distance))
        failed = np.flatnonzero(~success)
        for n in failed[:most]:
            parts = [
                f"{frame!r} ends {distance[n, k]:.3g} m and {angle[n, k]:.3g} rad away"
                for k, frame in enumerate(self.frames)
                if max(distance[n, k], angle[n, k]) > self.tolerance
            ]
            held = _at_limits(self.model, q[n])
            why = f"at their limits: {', '.join(held)}" if held else "no joint is at a limit"
            if not parts:
                parts = ["no manoeuvre was found that obeys the rows of velocities on the way"]
            tried = int(self.starts.reshape(-1)[n])
            lines.append(
                f"target {n} is out of reach from {tried} starts: {'; '.join(parts)}; {why}"
            )
        if len(failed) > most:
            lines.append(f"… and {len(failed) - most} more")
        return "\n".join(lines)

    def check(self) -> InverseKinematicsResult:
        """Itself where all targets are reached; else a `ConfigurationError` with the report.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> target = mz.pose(arm, [0.3, 0.2, 0.1], "tool")
            >>> mz.inverse_kinematics(arm, {"tool": target}).check().q.shape
            (3,)
        """
        if not np.all(self.success):
            raise ConfigurationError(self.report())
        return self


def solve(
    model: Model,
    targets: Mapping[str, ArrayLike | SE3],
    q0: ArrayLike | None,
    limits: bool,
    tolerance: float,
    iterations: int,
    restarts: int,
    rng: Seed,
    descend: Descend,
) -> InverseKinematicsResult:
    """The best of several starts for every target, each followed down by ``descend``."""
    frames, parts, goals = goals_of(model, targets)
    rng = np.random.default_rng(rng)
    q = model.check_configuration(model.neutral() if q0 is None else q0)
    batch = _together({"q0": q.shape[:-1], "targets": goals.shape[:-3]})
    total, k = int(np.prod(batch, dtype=int)), len(frames)
    q = np.broadcast_to(q, (*batch, model.nq)).reshape(total, model.nq).copy()
    goals = np.broadcast_to(goals, (*batch, k, 4, 4)).reshape(total, k, 4, 4)
    bounds = bounds_of(model, limits)
    q = np.clip(q, *bounds)
    best, errors = q.copy(), np.full((total, len(frames), 2), np.inf)
    steps, starts = np.zeros(total, dtype=int), np.zeros(total, dtype=int)
    open_rows, each = np.arange(total), 1  # the rows that are not there yet, and starts for each
    while len(open_rows):
        goal = goals[np.repeat(open_rows, each)]
        q, e, used = descend(model, q, goal, frames, parts, bounds, tolerance, iterations)
        e = e.reshape(len(open_rows), each, len(frames), 2)
        least = (np.arange(len(open_rows)), e.sum((2, 3)).argmin(1))
        better = e[least].sum((1, 2)) < errors[open_rows].sum((1, 2))
        at = open_rows[better]
        best[at] = q.reshape(len(open_rows), each, -1)[least][better]
        errors[at] = e[least][better]
        steps[open_rows] += used.reshape(len(open_rows), each).sum(1)
        starts[open_rows] += each
        open_rows = open_rows[errors[open_rows].max((1, 2)) > tolerance**2]
        each = min(2 * each, restarts + 1 - int(starts.max(initial=0)))
        if each < 1:
            break
        q = np.clip(model.random_configuration(rng, len(open_rows) * each, closed=False), *bounds)
    size = np.sqrt(errors)
    shape = (*batch, len(frames))
    return InverseKinematicsResult(
        model, frames, tolerance, best.reshape(*batch, model.nq),
        (size.max((1, 2)) <= tolerance).reshape(batch), size[..., 0].reshape(shape),
        size[..., 1].reshape(shape), steps.reshape(batch), starts.reshape(batch),
    )  # fmt: skip


def descend(
    model: Model,
    q: Array,
    goals: Array,
    frames: tuple[str, ...],
    parts: tuple[Part, ...],
    bounds: tuple[Array, Array],
    tolerance: float,
    most: int,
) -> tuple[Array, Array, NDArray[np.int_]]:
    """Damped least squares from q: where it ends, the errors there, and the steps taken."""
    q, total = q.copy(), len(q)
    errors, steps = np.full((total, len(frames), 2), np.inf), np.zeros(total, dtype=int)
    mu, slow = np.full(total, 0.1), np.zeros(total, dtype=int)
    rows_ = np.arange(total)
    for _ in range(most):
        cost = errors[rows_].sum((1, 2))
        damping = np.where(np.isfinite(cost), mu[rows_] * np.minimum(cost, 1e3), 0.1) + 1e-15
        new, before, after = inverse_kinematics_step(
            model, q[rows_], goals[rows_], damping, *bounds, frames, parts
        )
        old, cost = before.sum((1, 2)), after.sum((1, 2))
        taken = cost < old
        q[rows_[taken]] = new[taken]
        errors[rows_] = np.where(taken[:, None, None], after, before)
        mu[rows_] = np.clip(mu[rows_] * np.where(taken, 0.2, 8.0), 1e-6, 1e6)
        slow[rows_] = np.where(taken & (cost < 0.9 * old), 0, slow[rows_] + 1)
        steps[rows_] += 1
        rows_ = rows_[(errors[rows_].max((1, 2)) > tolerance**2) & (slow[rows_] < 8)]
        if not len(rows_):
            break
    return q, errors, steps


def goals_of(
    model: Model, targets: Mapping[str, ArrayLike | SE3]
) -> tuple[tuple[str, ...], tuple[Part, ...], Array]:
    """The frames, what of them is wanted ("pose", "position"), the poses (…, frames, 4, 4)."""
    if not targets:
        raise ConfigurationError("no targets; give {frame: pose}")
    parts: list[Part] = []
    poses: list[Array] = []
    for frame, value in targets.items():
        model.frame(frame)
        array = np.asarray(value.matrix() if isinstance(value, SE3) else value, dtype=float)
        if not np.isfinite(array).all():
            raise ConfigurationError(f"target of frame {frame!r} is not finite; give numbers")
        if array.shape[-2:] == (4, 4):
            R = array[..., :3, :3]
            skew = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(initial=0.0)
            mirrored = bool((np.linalg.det(R) < 0.0).any())
            if skew > 1e-6 or mirrored:
                fact = "R is a reflection" if mirrored else f"RᵀR differs from 1 by {skew:.1e}"
                raise ConfigurationError(
                    f"target of frame {frame!r}: {fact}; give a rotation matrix"
                )
            parts.append("pose")
            poses.append(array)
        elif array.shape[-1:] == (3,):
            full = np.zeros((*array.shape[:-1], 4, 4)) + np.eye(4)
            full[..., :3, 3] = array
            parts.append("position")
            poses.append(full)
        else:
            raise ConfigurationError(
                f"target of frame {frame!r} has shape {array.shape}; give (…, 4, 4) or (…, 3)"
            )
    batch = _together({f"target of {n!r}": x.shape[:-2] for n, x in zip(targets, poses)})
    stacked = np.stack([np.broadcast_to(x, (*batch, 4, 4)) for x in poses], axis=-3)
    return tuple(targets), tuple(parts), stacked


def _together(batches: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The batch axes of all, or an error that has those of each."""
    try:
        return np.broadcast_shapes(*batches.values())
    except ValueError:
        told = ", ".join(f"{name} {batch}" for name, batch in batches.items() if batch)
        raise ConfigurationError(
            f"inverse_kinematics: batch axes do not broadcast: {told}"
        ) from None


def bounds_of(model: Model, limits: bool) -> tuple[Array, Array]:
    """Lower and upper limits of q, large where there are none."""
    low = np.array([x for body in model for x in body.dynamics.lower], dtype=float)
    high = np.array([x for body in model for x in body.dynamics.upper], dtype=float)
    if not limits:
        low, high = np.full_like(low, -UNLIMITED), np.full_like(high, UNLIMITED)
    return np.maximum(low, -UNLIMITED), np.minimum(high, UNLIMITED)


def _at_limits(model: Model, q: Array) -> list[str]:
    low, high = bounds_of(model, limits=True)
    held = (q <= low + 1e-9) | (q >= high - 1e-9)
    return [name for name, h in zip(model.q_names, held) if h]
