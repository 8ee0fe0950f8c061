"""Gauss and Newton along the group: from a configuration to one whose loops are closed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.constraints.rank import MANY, SHARE
from mozzi.algorithms.constraints.regions import band_of, solve_along
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_residual, position_rows
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.model import Model
from mozzi.types import Array

__all__ = ["damped_steps", "descend"]

LONGEST = 0.7  # the longest step, in radians or metres
LEAST = 1e-12  # of the largest square: what is added where rows may depend on one another


def descend(
    model: Model, q: Array, target: Array, free: NDArray[np.bool_], most: int,
    enough: float = 1e-15,
) -> tuple[Array, NDArray[np.intp]]:  # fmt: skip
    """Levenberg and Marquardt, sample by sample at once: where it ends, and the steps taken.

    Damped by |r|, which keeps steps quadratic, and away from what singular values of the size of
    |r| ask for: of rows that depend on others where they are closed, along the free motion.

    enough: the largest residual with which a sample is closed (rad or m).
    """
    q, mu = q.copy(), np.full(len(q), 1e-2)
    positions = position_rows(model)[:, None]  # others do not say where bodies are
    r = loop_residual(model, q) - target
    steps, going = np.zeros(len(q), dtype=int), np.arange(len(q))
    slow = np.zeros(len(q), dtype=int)
    for _ in range(most):
        if not len(going):
            break
        A = loop_jacobian(model, q[going]) * positions * free
        cost = np.square(r[going]).sum(-1)
        damping = mu[going] * np.minimum(np.sqrt(cost), 1.0)
        step = -_damped(model, A, r[going], damping)
        longest = np.abs(step)
        if model.nv <= MANY:  # of many loops one that is far must not hold up all others
            longest = longest.max(-1, initial=0.0, keepdims=True)
        step *= np.minimum(1.0, LONGEST / np.maximum(longest, 1e-300))
        new = integrate(model, q[going], step)
        s = loop_residual(model, new) - target[going]
        after = np.square(s).sum(-1)
        taken = after < cost
        at = going[taken]
        q[at], r[at] = new[taken], s[taken]
        mu[going] = np.clip(mu[going] * np.where(taken, 0.2, 6.0), 1e-9, 1e6)
        slow[going] = np.where(taken & (after < 0.95 * cost), 0, slow[going] + 1)
        steps[going] += 1
        going = going[(np.abs(r[going]).max(-1, initial=0.0) > enough) & (slow[going] < 8)]
    return q, steps


def _damped(model: Model, A: Array, r: Array, damping: Array) -> Array:
    """Aᵀ (A Aᵀ + μ)⁻¹ r by singular values; those that count as zero take no part. Of many
    coordinates by `damped_steps`.
    """
    if A.shape[-1] > MANY:
        return damped_steps(model, A, r, damping)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    keep = s > SHARE * s[..., :1]
    factor = np.where(keep, s, 0.0) / np.where(keep, s * s + damping[..., None], 1.0)
    return np.einsum("...rv,...r,...mr,...m->...v", Vt, factor, U, r, optimize=True)


def damped_steps(model: Model, A: Array, r: Array, damping: Array) -> Array:
    """Aᵀ (A Aᵀ + μ)⁻¹ r = (Aᵀ A + μ)⁻¹ Aᵀ r of rows of a model, along the band of their
    coordinates: rounding moves it where A does not see it.
    """
    size = np.abs(A)
    largest = size.sum(axis=-1).max(axis=-1, initial=0.0) * size.sum(axis=-2).max(axis=-1)
    return solve_along(band_of(model), A, r, np.maximum(damping, LEAST * largest))
