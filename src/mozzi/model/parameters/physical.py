"""Which inertias rigid bodies can have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mozzi.lie import Inertia
from mozzi.model.frames import inertia_key

if TYPE_CHECKING:
    from mozzi.model.model import Model

__all__ = ["singular_joints", "unphysical", "unphysical_numbers"]

TOLERANCE = 1e-6
"""Relative. Files carry rounded numbers, and a flat plate has principal moments with a + b = c
exactly.
"""


def unphysical(inertias: Sequence[Inertia]) -> dict[int, str]:
    """The indices of inertias that no rigid body has, and why.

    A rigid body is a distribution of positive mass: m ≥ 0, and the principal moments a ≤ b ≤ c at
    its centre of mass satisfy a ≥ 0 and a + b ≥ c. No mass at all is allowed.
    """
    return unphysical_numbers([inertia_key(inertia) for inertia in inertias]) if inertias else {}


def unphysical_numbers(parameters: ArrayLike) -> dict[int, str]:
    """The same of rows of ten numbers."""
    faults: dict[int, str] = {}
    parameters = np.asarray(parameters, dtype=float)
    m, h, J = parameters[:, 0], parameters[:, 1:4], parameters[:, 4:]
    full = J[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.where(m[:, None] > 0.0, h / m[:, None], 0.0)
    shift = (h * c).sum(1)[:, None, None] * np.eye(3) - h[:, :, None] * c[:, None, :]
    moments = np.linalg.eigvalsh(full - shift)
    scale = np.abs(full).max(axis=(1, 2)) * TOLERANCE
    for i in np.flatnonzero(
        (m < 0.0)
        | ((m == 0.0) & (h != 0.0).any(axis=1))
        | (moments[:, 0] < -scale)
        | (moments[:, 0] + moments[:, 1] < moments[:, 2] - scale)
    ):
        a, b, d = moments[i]
        if m[i] < 0.0:
            faults[int(i)] = f"mass {m[i]:.6g} is negative"
        elif m[i] == 0.0 and h[i].any():
            faults[int(i)] = "no mass, but a first moment"
        elif a < -scale[i]:
            faults[int(i)] = f"principal moment {a:.6g} at the centre of mass is negative"
        else:
            faults[int(i)] = (
                f"principal moments {a:.6g} + {b:.6g} < {d:.6g} violate the triangle inequality"
            )
    return faults


def singular_joints(model: Model, q: ArrayLike | None = None) -> tuple[str, ...]:
    """The joints with a motion that nothing resists, for which forward dynamics has no answer.

    Such a joint moves bodies without inertia about its axes (massless, or a point on the axis) and
    has no armature. Articulated inertias from the tips inward, at q (None: a generic one).
    """
    if q is None:
        q = model.random_configuration(0, closed=False)
    at = np.asarray(q, dtype=float)
    inertia = [body.inertia.matrix() for body in model]
    found: list[str] = []
    for i in reversed(range(model.nb)):
        body = model.body(i)
        joint, x = body.joint, [float(e) for e in at[model.q_slices[body.joint_name]]]
        S = joint.frame_child.push(joint.screws(x)).array()
        U = inertia[i] @ S
        D = S.T @ U + np.diag(body.dynamics.armature)
        size = max(1e-300, np.abs(S).max() ** 2 * np.abs(inertia[i]).max(), np.abs(D).max())
        values, vectors = np.linalg.eigh(D)
        good = values > 1e-12 * size
        if not good.all():
            found.append(body.joint_name)
        if body.parent >= 0:
            inverse = (vectors[:, good] / values[good]) @ vectors[:, good].T
            Ad = joint.motion(x).inverse().Ad()
            inertia[body.parent] += Ad.T @ (inertia[i] - U @ inverse @ U.T) @ Ad
    return tuple(reversed(found))
