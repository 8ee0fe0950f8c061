"""Mechanisms from tables of numbers, and the numbers of a mechanism: joint screws and
Denavit–Hartenberg.

`Builder` takes the three forms of Müller, Kinematics: joint frames (3), body-fixed screws (8) and
spatial screws (10). The functions here take whole chains at once, and read the data of every form
back from a model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from mozzi.errors import ModelError, known
from mozzi.lie import SE3, Rotation, Vec3
from mozzi.model.builder import Builder
from mozzi.model.frames import IDENTITY, InertiaLike, PoseLike, VectorLike, as_number
from mozzi.model.joints.axes import Prismatic, Revolute
from mozzi.model.joints.from_screws import ScrewLike
from mozzi.model.joints.joint import Joint
from mozzi.model.model import GRAVITY, Model
from mozzi.types import Placing, words

__all__ = [
    "from_dh",
    "from_screws",
    "joint_frames",
    "joint_screws",
    "reference_poses",
]

REPS = words(Placing)


def from_screws(
    screws: Sequence[ScrewLike],
    references: Sequence[PoseLike] | None = None,
    *,
    rep: Placing = "spatial",
    parents: Sequence[int] | None = None,
    inertias: Sequence[InertiaLike] | None = None,
    names: Sequence[str] | None = None,
    name: str = "screws",
    gravity: VectorLike = GRAVITY,
) -> Model:
    """A mechanism from one screw (or list of screws) and one reference pose for every body.

    ``rep`` says what they are: "spatial" Yᵢ and Aᵢ (10), "body" ⁱXᵢ and Bᵢ, or "parent" ⁱ⁻¹X̄ᵢ and
    Bᵢ (8). Without references they are the identity; without ``parents`` (indices, −1 for the
    world) the bodies form a chain.
    """
    n = len(screws)
    given = {"references": references, "parents": parents, "inertias": inertias, "names": names}
    for what, values in given.items():
        if values is not None and len(values) != n:
            raise ModelError(f"{name!r}: {len(values)} {what} for {n} screws; give {n}")
    labels = [f"body_{i + 1}" for i in range(n)] if names is None else list(names)
    builder = Builder(name, gravity)
    for i, screw in enumerate(screws):
        parent = i - 1 if parents is None else int(parents[i])
        if not -1 <= parent < n:
            raise ModelError(
                f"body {labels[i]!r}: parent {parent}; give an index from -1 to {n - 1}"
            )
        builder.add(
            labels[i],
            None if parent < 0 else labels[parent],
            None,
            None if inertias is None else inertias[i],
            reference=None if references is None else references[i],
            screw=screw,
            rep=rep,
        )
    return builder.build()


def from_dh(
    table: Iterable[Sequence[float]],
    convention: str = "standard",
    *,
    joints: str | None = None,
    inertias: Sequence[InertiaLike] | None = None,
    names: Sequence[str] | None = None,
    name: str = "dh",
    gravity: VectorLike = GRAVITY,
) -> Model:
    """A chain from a Denavit–Hartenberg table with rows (a, alpha, d, theta), angles in radians.

    - ``"standard"`` (distal):  C = Rz(θ) Tz(d) Tx(a) Rx(α), the joint moves along z of the frame
      before it;
    - ``"modified"`` (proximal, Craig):  C = Rx(α) Tx(a) Rz(θ) Tz(d), the joint moves along z of
      the body's own frame.

    ``joints`` is a string such as "RRPRRR", revolute by default: q adds to θ, or to d for a
    prismatic joint (P). ``inertias`` are in the frames of the table.
    """
    rows = [tuple(row) for row in table]
    n = len(rows)
    if convention not in ("standard", "modified"):
        raise ModelError(f"convention {convention!r}; choose 'standard' or 'modified'")
    kinds = "R" * n if joints is None else joints.upper()
    if len(kinds) != n or set(kinds) - {"R", "P"}:
        raise ModelError(f"joints {joints!r} for {n} rows; give {n} letters R or P")
    for what, values in (("inertias", inertias), ("names", names)):
        if values is not None and len(values) != n:
            raise ModelError(f"{name!r}: {len(values)} {what} for {n} rows; give {n}")
    labels = [f"body_{i + 1}" for i in range(n)] if names is None else list(names)
    builder = Builder(name, gravity)
    for i, row in enumerate(rows):
        if len(row) != 4:
            raise ModelError(
                f"row {i + 1} of the table has {len(row)} numbers; give (a, alpha, d, theta)"
            )
        a, alpha, d, theta = (as_number(x, f"row {i + 1} of the table") for x in row)
        joint: Joint = Revolute() if kinds[i] == "R" else Prismatic()
        along_z = SE3(_rotation_z(theta), Vec3(0.0, 0.0, d))
        along_x = SE3(_rotation_x(alpha), Vec3(a, 0.0, 0.0))
        if convention == "standard":
            joint = joint.between(None, (along_z @ along_x).inverse())
        else:
            joint = joint.between(along_x @ along_z, None)
        inertia = None if inertias is None else inertias[i]
        builder.add(labels[i], labels[i - 1] if i else None, joint, inertia)
    return builder.build()


def _rotation_x(angle: float) -> Rotation:
    c, s = _turn(angle)
    return Rotation(1.0, 0.0, 0.0, 0.0, c, -s, 0.0, s, c)


def _rotation_z(angle: float) -> Rotation:
    c, s = _turn(angle)
    return Rotation(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)


def _turn(angle: float) -> tuple[float, float]:
    """Cosine and sine, exact at multiples of a right angle (as a float can be)."""
    quarters = angle / (math.pi / 2.0)
    nearest = round(quarters)
    if abs(quarters - nearest) < 1e-15 * max(1.0, abs(quarters)):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[nearest % 4]
    return math.cos(angle), math.sin(angle)


def _references(model: Model) -> tuple[list[SE3], list[SE3]]:
    """Bᵢ and Aᵢ."""
    B = [body.joint.motion(body.joint.neutral()) for body in model]
    A: list[SE3] = []
    for i, T in enumerate(B):
        parent = model.parents[i]
        A.append(T if parent < 0 else A[parent] @ T)
    return B, A


def reference_poses(model: Model, rep: Placing = "spatial") -> np.ndarray:
    """The poses (nb, 4, 4) of the bodies at q = 0: Aᵢ in the inertial frame (11), or Bᵢ in the
    parent ("body")."""
    _check(rep)
    B, A = _references(model)
    poses = A if rep == "spatial" else B
    return np.array([T.matrix() for T in poses]).reshape(-1, 4, 4)


def joint_screws(model: Model, rep: Placing = "spatial") -> np.ndarray:
    """The screws (nv, 6) of the joints at q = 0, one row for every degree of freedom.

    "spatial": Yⱼ in the inertial frame (12); "body": ʲXⱼ in the frame of the body (5); "parent":
    ʲ⁻¹X̄ⱼ (7).
    """
    _check(rep)
    B, A = _references(model)
    rows: list[object] = []
    for i, body in enumerate(model):
        joint = body.joint
        X = joint.frame_child.push(joint.screws(joint.neutral()))
        move = {"body": IDENTITY, "parent": B[i], "spatial": A[i]}[rep]
        rows += [column.flatten() for column in move.push(X)]
    return np.array(rows, dtype=float).reshape(-1, 6)


def joint_frames(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """The joint frames S_{i−1,i} on the parents and S_{i,i} on the bodies, (nb, 4, 4) each (3)."""
    pairs = [(b.joint.frame_parent.matrix(), b.joint.frame_child.matrix()) for b in model]
    return (
        np.array([a for a, _ in pairs]).reshape(-1, 4, 4),
        np.array([b for _, b in pairs]).reshape(-1, 4, 4),
    )


def _check(rep: str) -> None:
    if rep not in REPS:
        raise ModelError(f"rep {rep!r}; choose one of {known(rep, REPS)}")
