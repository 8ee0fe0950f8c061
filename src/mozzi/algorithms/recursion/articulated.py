"""Articulated bodies: the inertia that each body shows when what hangs on it moves freely."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mozzi.algorithms.recursion.blocks import diagonal_plus
from mozzi.algorithms.recursion.bodies import BodyData
from mozzi.algorithms.recursion.containers import Local, per_body
from mozzi.algorithms.recursion.held import free, free_screws
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import BodyView, JointVector, PerBody
from mozzi.errors import SingularError
from mozzi.lie import ArticulatedInertia, Screws, Twist, Wrench, inverse_spd
from mozzi.lie.small_matrices import Matrix
from mozzi.lie.vec import number
from mozzi.model import Composite, Model
from mozzi.program.scalar import Real
from mozzi.types import Array

__all__ = [
    "articulated", "articulated_bodies", "articulated_containers", "check_inertias",
    "inertias_known", "inverse_inertia",
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
            # the screws of a product depend on one another in places: no rounded inverse there
            return inverse_spd(D, ROUNDING if isinstance(body.joint, Composite) else 0.0)
    except ZeroDivisionError:  # of numbers: what varies is zero in places at most
        pass
    raise SingularError(
        f"body {body.name!r} has no inertia about its joint that the joints behind it do not take "
        "away, so forces determine no acceleration; give it mass, or its joint armature"
    )


def check_inertias(model: Mechanism) -> None:
    """Nothing may be able to move without inertia wherever it is: looked at in one configuration,
    which is like any other, with numbers.
    """
    held = [h for body in model.bodies for h in body.held]
    if inertias_known(model.model, held, model.rotors):
        return
    if all(_known(body) for body in model.bodies):
        rng = np.random.default_rng(0)
        q = [[float(x) for x in body.joint.random(rng)] for body in model.bodies]
        if not all(map(_resists, model.bodies, q)):
            _check_tree(model.bodies, q, model.rotors)
        model.model.cache[check_inertias, tuple(held), model.rotors] = True


def inertias_known(model: Model, held: Sequence[bool], rotors: bool = True) -> bool:
    """Whether nothing moves without inertia, as `check_inertias` has found."""
    return (check_inertias, tuple(held), rotors) in model.cache


def _known(body: BodyData) -> bool:
    own = *body.inertia.flatten(), *body.armature, *body.joint.parameters()
    numbers = *own, *body.placement.flatten()
    return all(number(x) is not None for x in numbers)


def _resists(body: BodyData, q: Sequence[float]) -> bool:
    """Whether a body has inertia about its joint by itself: what hangs on it adds to that."""
    D = _about(body, body.inertia.articulated(), free_screws(body, body.joint.screws(q)))
    return _regular(D, D)


def _about(body: BodyData, P: ArticulatedInertia, S: Screws[Twist]) -> Array:
    """Sᵀ P S + armature."""
    D = np.array(diagonal_plus(S.T @ (P @ S), free(body, body.armature)), dtype=float)
    return D.reshape(len(S), len(S))


def _regular(D: Array, whole: Array) -> bool:
    """Whether D has an inverse, beside what rounding leaves of ``whole``."""
    if len(D) == 1:
        return bool(D[0, 0] > ROUNDING * whole[0, 0])
    root = np.sqrt(np.maximum(np.diag(whole), np.finfo(float).tiny))
    return bool((np.linalg.eigvalsh(D / np.outer(root, root)) > ROUNDING).all())


def _check_tree(
    bodies: Sequence[BodyData], q: Sequence[Sequence[float]], rotors: bool
) -> None:
    """K49, K52 on numbers, and beside Î the inertia of all that a body carries, held."""
    P = [body.inertia.articulated() for body in bodies]
    whole = [body.inertia.articulated() for body in bodies]
    for k, body in reversed([*enumerate(bodies)]):
        S, Pi = free_screws(body, body.joint.screws(q[k])), P[k]
        if len(S):
            D = _about(body, Pi, S)
            if not _regular(D, _about(body, whole[k], S)):
                raise _singular(body, S, rotors)
            bare = not any(body.armature)
            Pi = Pi.project(S, Pi @ S, np.linalg.inv(D).tolist(), free=bare)
        if body.parent >= 0:
            T = body.placement @ body.joint.pose(q[k])
            P[body.parent] = P[body.parent] + T.push(Pi)
            whole[body.parent] = whole[body.parent] + T.push(whole[k])


def _singular(body: BodyData, S: Screws[Twist], rotors: bool) -> SingularError:
    rank = np.linalg.matrix_rank(np.array([X.flatten() for X in S], dtype=float))
    told = "or {} armature" if rotors else "for momenta of bodies do not tell how rotors turn"
    if rank < len(S):
        return SingularError(
            f"joint {body.name!r} has {len(S)} coordinates that move its body in {rank} ways only, "
            f"so forces determine no accelerations; leave out a factor, {told.format('give it')}"
        )
    return SingularError(
        f"body {body.name!r} has no inertia about its joint that the joints behind it do not take "
        f"away, so forces determine no acceleration; give it mass, {told.format('its joint')}"
    )
