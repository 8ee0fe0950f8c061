# pyright: reportConstantRedefinition=false
"""Manoeuvres: paths of mechanisms whose velocities are tied, from a configuration to a target.

A wheel that does not slide sideways takes no direction away from where a mechanism can be, only
from where it can go at once. A path of n steps δ_k from q_k to q_{k+1} = q_k ⊕ δ_k is looked for,
with

    A(q_k ⊕ δ_k/2) δ_k = 0  for rows of velocities,   φ(q_k) = 0  for rows of positions,

and the target reached by q_n. These are fewer equations than unknowns; damped steps of Newton's
method change the path as little as they can, in the sum of squares of the changes of its steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_residual, position_rows
from mozzi.algorithms.kinematics.configuration import difference, integrate
from mozzi.algorithms.kinematics.jacobian import jacobian
from mozzi.algorithms.kinematics.poses import pose
from mozzi.model import Model
from mozzi.types import Array

__all__ = ["STEPS", "Target", "columns_to", "manoeuvre", "rows_to"]

STEPS = 32  # of a path
TRIES = 12  # first guesses at most
NEWTON = 80  # steps of Newton's method for each
SLIP, OPEN = 1e-10, 1e-11  # what a path leaves of rows of velocities, and of positions
DIFFERENCE = 1e-5  # of central differences, in radians or metres


class Target(NamedTuple):
    """Where frames shall be: poses (frames, 4, 4), what of them counts, and how nearly."""

    goals: Array
    frames: Sequence[str]
    parts: Sequence[str]
    tolerance: float


def manoeuvre(
    model: Model, start: Array, end: Array, target: Target, bounds: tuple[Array, Array],
    restarts: int, rng: np.random.Generator,
) -> Array:  # fmt: skip
    """A path (STEPS + 1, nq) from a start to the target, first guessed toward a configuration that
    reaches it: straight there, then with swings to the sides that grow. NaN where none is found.
    """
    share = np.linspace(0.0, 1.0, STEPS + 1)[:, None]
    way = difference(model, start, end)
    swings = np.sin(np.pi * share * np.arange(1, 4))  # (n + 1, 3): none at the ends
    for k in range(min(restarts + 1, TRIES)):
        swing = swings @ rng.normal(size=(3, model.nv)) * (0.15 * k)
        path = integrate(model, start, share * way + swing)
        path, there = _bent(model, np.clip(path, *bounds), target, bounds)
        if there:
            return path
    return np.full((STEPS + 1, model.nq), np.nan)


def _bent(
    model: Model, path: Array, target: Target, bounds: tuple[Array, Array]
) -> tuple[Array, bool]:
    """A path bent until it obeys the rows and reaches the target, and whether it does."""
    n, nv = STEPS, model.nv
    share = np.arange(1, n + 1) / n
    near = np.minimum(share[:, None], share)  # changes of steps are least in this metric
    r, mu, slow = _misses(model, path, target), 0.1, 0
    for _ in range(NEWTON):
        if _obeys(model, r, target):
            return path, True
        cost = float(r @ r)
        J = _slopes(model, path, target)
        J = J * ~_held(model, path[1:], (J.T @ r).reshape(n, nv), bounds).ravel()
        W = np.einsum("kl,mlv->mkv", near, J.reshape(-1, n, nv)).reshape(len(J), -1)
        N: Array = J @ W.T
        least = 1e-13 * np.trace(N) + 1e-18
        N[np.diag_indices_from(N)] += mu * min(cost, 1e3) + least
        y = cast("Array", np.linalg.solve(N, r))
        change = (y @ W).reshape(n, nv)
        new = path.copy()
        new[1:] = np.clip(integrate(model, path[1:], change), *bounds)
        s = _misses(model, new, target)
        after = float(s @ s)
        slow = 0 if after < 0.9 * cost else slow + 1
        if after < cost:
            path, r, mu = new, s, max(0.2 * mu, 1e-9)
        else:
            mu = min(8.0 * mu, 1e6)
        if slow > 8:
            break
    return path, _obeys(model, r, target)


def _slips(model: Model, a: Array, b: Array) -> Array:
    """A δ (…, m) of the rows of velocities, halfway on the steps from a to b."""
    step = difference(model, a, b)
    A = cast("Array", loop_jacobian(model, integrate(model, a, 0.5 * step)))
    return (A[..., ~position_rows(model), :] @ step[..., None])[..., 0]


def _misses(model: Model, path: Array, target: Target) -> Array:
    """What is missing of all equations, one behind the other."""
    phi = cast("Array", loop_residual(model, path[1:]))[:, position_rows(model)]
    there = rows_to(model, path[-1:], target.goals[None], target.frames, target.parts)
    return np.concatenate([-_slips(model, path[:-1], path[1:]).ravel(), -phi.ravel(), there[0]])


def _obeys(model: Model, r: Array, target: Target) -> bool:
    m = STEPS * int((~position_rows(model)).sum())
    k = STEPS * model.row_count
    slip, phi, there = (np.abs(x).max(initial=0.0) for x in np.split(r, [m, k]))
    return bool(slip <= SLIP and phi <= OPEN and there <= target.tolerance)


def _slopes(model: Model, path: Array, target: Target) -> Array:
    """The derivative (equations, STEPS · nv) by changes of q_1 … q_n, as `_misses` has them."""
    n, nv = STEPS, model.nv
    a, b = path[:-1], path[1:]
    units = DIFFERENCE * np.eye(nv)[:, None, :]

    def by(which: int) -> Array:
        """∂ slip/∂ one end of each step, (n, m, nv)."""
        sides: list[Array] = []
        for h in (units, -units):
            ends = [a, b]
            ends[which] = integrate(model, ends[which], h)
            sides.append(_slips(model, *np.broadcast_arrays(*ends)))
        return np.moveaxis((sides[0] - sides[1]) / (2.0 * DIFFERENCE), 0, -1)

    first, second = by(0), by(1)
    m = first.shape[1]
    slip = np.zeros((n, m, n, nv))
    k = np.arange(n)
    slip[k, :, k] = second
    slip[k[1:], :, k[:-1]] = first[1:]
    positions = position_rows(model)
    phi = np.zeros((n, int(positions.sum()), n, nv))
    phi[k, :, k] = cast("Array", loop_jacobian(model, b))[:, positions]
    there = columns_to(model, path[-1:], target.frames, target.parts)[0]
    last = np.zeros((len(there), n, nv))
    last[:, -1] = there
    return np.concatenate([x.reshape(-1, n * nv) for x in (slip, phi, last)])


def _held(
    model: Model, q: Array, slope: Array, bounds: tuple[Array, Array]
) -> NDArray[np.bool_]:
    """Which coordinates (n, nv) are at a limit that the slope pushes against."""
    out = np.zeros(slope.shape, dtype=bool)
    for body, i, k in zip(model, model.q_offsets, model.v_offsets, strict=False):
        if body.joint.flat:
            at, own = slice(i, i + body.joint.nv), slice(k, k + body.joint.nv)
            low, high = (q[:, at] <= bounds[0][at]), (q[:, at] >= bounds[1][at])
            out[:, own] = (low & (slope[:, own] < 0.0)) | (high & (slope[:, own] > 0.0))
    return out


# -- what targets ask for --


def rows_to(
    model: Model, q: Array, goals: Array, frames: Sequence[str], parts: Sequence[str]
) -> Array:
    """What is missing, (n, m): rotation and way to each target, in world axes."""
    rows: list[Array] = []
    for k, (frame, part) in enumerate(zip(frames, parts, strict=True)):
        C, goal = cast("Array", pose(model, q, frame)), goals[:, k]
        if part == "pose":
            rows.append(_rotation_vector(goal[:, :3, :3] @ np.swapaxes(C[:, :3, :3], 1, 2)))
        rows.append(goal[:, :3, 3] - C[:, :3, 3])
    return np.concatenate([*rows, np.empty((len(q), 0))], axis=-1)


def columns_to(model: Model, q: Array, frames: Sequence[str], parts: Sequence[str]) -> Array:
    """Its derivative along velocities, (n, m, nv), less its sign."""
    own = [
        cast("Array", jacobian(model, q, frame, "hybrid"))[:, 0 if part == "pose" else 3 :]
        for frame, part in zip(frames, parts, strict=True)
    ]
    return np.concatenate([*own, np.empty((len(q), 0, model.nv))], axis=1)


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
