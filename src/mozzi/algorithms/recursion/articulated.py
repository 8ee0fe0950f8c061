"""Articulated bodies: the inertia that each body shows when what hangs on it moves freely."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mozzi.algorithms.recursion.blocks import diagonal_plus
from mozzi.algorithms.recursion.containers import Local, per_body
from mozzi.algorithms.recursion.held import free, free_screws
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import BodyView, JointVector, PerBody
from mozzi.errors import SingularError
from mozzi.lie import ArticulatedInertia, Screws, Wrench, inverse_spd
from mozzi.lie.small_matrices import Matrix
from mozzi.lie.vec import number
from mozzi.program.scalar import Real

__all__ = [
    "articulated", "articulated_bodies", "articulated_containers", "check_inertias",
    "inverse_inertia",
]  # fmt: skip

ROUNDING = 1e-13


def articulated_containers(
    model: Mechanism,
) -> tuple[PerBody[ArticulatedInertia], PerBody[Screws[Wrench]], PerBody[Matrix]]:
    """The containers of `articulated`: P = Î, U = Î S and D = Ψ, the inverse."""
    return per_body(model, "P U D", ArticulatedInertia, Local[Screws[Wrench]], Local[Matrix])


def articulated(
    model: Mechanism,
    q: JointVector,
    T: PerBody[RelativePose],
    P: PerBody[ArticulatedInertia],
    U: PerBody[Screws[Wrench]],
    D: PerBody[Matrix],
) -> Iterator[tuple[BodyView, ArticulatedInertia]]:
    """Inward: every body with the inertia Π it hands to its parent, P, U = P S and D = Ψ set.

    Ψ = (Sᵀ P S + armature)⁻¹ over the coordinates that are free, Π = P − U Ψ Uᵀ, and P of a parent
    is its inertia and the Π of its children, moved there.  K49, K52; R.39.
    """
    check_inertias(model)
    for i in model.outward():
        P[i] = i.inertia.articulated()  # K49
    for i in model.inward():
        S = free_screws(i, i.joint.screws(q[i]))
        U[i] = P[i] @ S  # K45: Î S
        D[i] = inverse_inertia(i, diagonal_plus(S.T @ U[i], free(i, i.armature)))  # K45: Ψ
        bare = all(number(m) == 0.0 for m in i.armature)
        Pi = P[i].project(S, U[i], D[i], free=bare) if len(S) else P[i]
        yield i, Pi
        P[i.parent] += T[i].push(Pi)  # K49


def articulated_bodies(
    model: Mechanism, q: JointVector
) -> tuple[
    PerBody[RelativePose],
    PerBody[ArticulatedInertia],
    PerBody[Screws[Wrench]],
    PerBody[Matrix],
]:
    """T, P, U and D at q, where both sweeps have nothing else to do."""
    T = per_body(model, "T", Local[RelativePose])
    P, U, D = articulated_containers(model)
    for i in model.outward():
        T[i] = i.pose(q[i])
    for _ in articulated(model, q, T, P, U, D):
        pass
    return T, P, U, D


def inverse_inertia(
    body: BodyView, D: Sequence[Sequence[Real]], whole: Sequence[Sequence[Real]] = ()
) -> Matrix:
    """D⁻¹ of what resists the joint of a body; refused where that is nothing at any state, or what
    rounding leaves of ``whole``, which resists while the joints behind it are held.
    """
    left = (number(row[k]) for k, row in enumerate(D))
    of = (number(row[k]) for k, row in enumerate(whole))
    gone = any(x is not None and y and x <= ROUNDING * y for x, y in zip(left, of, strict=False))
    try:
        if not gone:
            return inverse_spd(D)
    except ZeroDivisionError:  # of numbers: what varies is zero in places at most
        pass
    raise SingularError(
        f"body {body.name!r} has no inertia about its joint that the joints behind it do not take "
        "away, so forces determine no acceleration; give it mass, or its joint armature"
    )


def check_inertias(model: Mechanism) -> None:
    """No body at the end of a chain may be able to move without inertia, wherever it is: of a joint
    whose screws turn with q, in a configuration like any other (Euler's angles are singular at 0).
    """
    parents = {body.parent for body in model.bodies}
    for k, body in enumerate(model.bodies):
        known = all(number(x) is not None for x in body.inertia.flatten())
        if k in parents or all(body.held) or not known:
            continue
        joint = body.joint
        q = joint.neutral() if joint.subgroup else joint.random(np.random.default_rng(0))
        S = free_screws(body, joint.screws([float(x) for x in q]))
        D = np.array(S.T @ (body.inertia.articulated() @ S), dtype=float)
        if not np.linalg.eigvalsh(D + np.diag(free(body, body.armature))).min() > 0.0:
            raise SingularError(
                f"body {body.name!r} has no inertia about its joint, so forces determine no "
                "acceleration; give it mass, or its joint armature"
            )
