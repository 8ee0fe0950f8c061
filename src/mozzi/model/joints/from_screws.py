# pyright: reportConstantRedefinition=false
"""From joint screws to joints: which joint has these screws, and where it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from mozzi.errors import ModelError
from mozzi.lie import SE3, Rotation, Twist, Vec3
from mozzi.model.frames import as_vector, is_identity, rotation_to
from mozzi.model.joints.axes import Prismatic, Revolute, Screw
from mozzi.model.joints.composite import Composite
from mozzi.model.joints.joint import Joint

__all__ = ["ScrewLike", "infer", "place"]

ScrewLike: TypeAlias = Twist | ArrayLike | Sequence[Twist | ArrayLike]
"""One screw, or several (rows)."""
UNIT = 1e-6
"""How far from unit length a screw may be."""
AGREE = 1e-9
"""How far the screws of a joint may be from the screws it is given (relative to the lengths in
them).
"""


def screw_list(screw: ScrewLike, what: str) -> list[tuple[float, ...]]:
    """Unit six-vectors from one or several (rows)."""
    rows = cast("Sequence[Twist | ArrayLike]", screw) if _is_list(screw) else [screw]
    numbers = [x.floats() if isinstance(x, Twist) else cast("ArrayLike", x) for x in rows]
    return [_unit(as_vector(row, 6, f"{what}: screw"), what) for row in numbers]


def _is_list(screw: ScrewLike) -> bool:
    try:
        parts = cast("Sequence[Twist | Sequence[float]]", screw)
        return any(isinstance(x, Twist) or len(x) > 0 for x in parts)
    except TypeError:
        return False


def _unit(X: tuple[float, ...], what: str) -> tuple[float, ...]:
    norm = math.sqrt(sum(x * x for x in X[:3])) or math.sqrt(sum(x * x for x in X[3:]))
    if norm == 0.0:
        raise ModelError(f"{what}: screw (0, 0, 0, 0, 0, 0) has no axis; give a unit screw")
    if abs(norm - 1.0) > UNIT:
        part = "angular" if any(X[:3]) else "linear"
        raise ModelError(
            f"{what}: the {part} part of screw {X} has length {norm:.6g}; divide the screw by it"
        )
    return tuple(x / norm for x in X) if norm != 1.0 else X


def infer(X: Sequence[float]) -> Joint:
    """The joint with one degree of freedom that moves along a unit screw:  T(q) = exp(X q)."""
    w, v = Vec3(*X[:3]), Vec3(*X[3:])
    if w.vanishes():
        frame = SE3(rotation_to(v.floats()), Vec3.zero())
        return Prismatic().at(frame, frame)
    pitch = float(w.dot(v))
    p = Vec3(*(x + 0.0 for x in w.cross(v)))  # the point of the axis next to the origin
    size = max(1.0, *map(abs, X[3:]))
    joint = Revolute() if abs(pitch) <= 1e-12 * size else Screw(pitch=pitch)
    frame = SE3(rotation_to(w.floats()), p)
    return joint.at(frame, frame)


def place(joint: Joint | None, screw: ScrewLike, what: str) -> Joint:
    """The joint that moves along the given screws at q = 0, with T(0) = 1.

    Without a joint the screws make one: T(q) = exp(X₁ q₁) exp(X₂ q₂) ... A joint in its canonical
    frame is moved to where the screws are; a joint that has been given frames must have these
    screws already.
    """
    screws = screw_list(screw, what)
    if joint is None:
        factors = [infer(X) for X in screws]
        return factors[0] if len(factors) == 1 else Composite(*factors)
    if joint.nv != len(screws):
        name = type(joint).__name__
        raise ModelError(
            f"{what}: {len(screws)} screws for {name}, which has {joint.nv}; give {joint.nv}"
        )
    moved = joint
    if is_identity(joint.frame_parent) and is_identity(joint.frame_child):
        frame = infer(screws[0]).frame_child if joint.nv == 1 else _locate(joint, screws)
        moved = joint.at(frame @ joint.pose(joint.neutral()).inverse(), frame)
    reference = moved.motion(moved.neutral())
    if max(map(abs, np.ravel(reference.matrix() - np.eye(4)))) > AGREE:
        raise ModelError(
            f"{what}: a joint given with a screw must be the identity at q = 0; use reference="
        )
    own = moved.frame_child.push(moved.screws(moved.neutral())).array()
    given = np.array(screws).T
    error = float(np.abs(own - given).max())
    if error > AGREE * max(1.0, float(np.abs(given).max())):
        raise ModelError(
            f"{what}: the screws of {joint!r} differ from the given ones by {error:.2e}; "
            "correct the screws, or leave the joint out to have it made from them"
        )
    return moved


def _locate(joint: Joint, screws: Sequence[Sequence[float]]) -> SE3:
    """The frame F with Ad_F (canonical screws) = screws, if there is one; the best fit if not."""
    own = joint.screws(joint.neutral()).array().T
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for Z, X in zip(own, np.asarray(screws), strict=True):
        part = slice(0, 3) if Z[:3].any() else slice(3, 6)
        pairs.append((Z[part], X[part]))
    H = sum(np.outer(x, z) for z, x in pairs)
    U, sigma, Vt = np.linalg.svd(H)
    if sigma[1] < 1e-6:  # one direction only: turn least
        R = rotation_to(tuple(pairs[0][1])).array()
    else:
        R = U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))]) @ Vt
    rows, rest = [np.zeros((1, 3))], [np.zeros(1)]
    for Z, X in zip(own, np.asarray(screws), strict=True):
        x, y, z = X[:3]  # p × w = −[w] p
        rows.append(np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]))
        rest.append(X[3:] - R @ Z[3:])
    p = np.linalg.lstsq(np.vstack(rows), np.concatenate(rest), rcond=1e-9)[0]
    return SE3(Rotation.from_array(R), Vec3(*(float(x) for x in p)))
