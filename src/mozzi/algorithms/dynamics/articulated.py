"""Articulated bodies: the inertia that each body shows when what hangs on it moves freely."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mozzi.errors import ModelError, SingularError
from mozzi.lie import ArticulatedInertia, Screws, inverse_spd
from mozzi.lie.vec import number

__all__ = ["apply", "articulated", "columns", "held_by", "with_armature"]


def articulated(model: Any, q: Any, T: Any, P: Any, U: Any, D: Any) -> Iterator[tuple[Any, Any]]:
    """Inward: every body with the inertia Π it hands to its parent, P, U = P S and D⁻¹ set.

    D = Sᵀ P S + armature over the coordinates that are free, Π = P − U D⁻¹ Uᵀ, and P of a parent
    is its inertia and the Π of its children, moved there.  Kim (49), (51); Rodriguez et al. (.39).
    """
    _check(model)
    for i in model.outward():
        P[i] = i.inertia.articulated()
    for i in model.inward():
        S = columns(i.joint.screws(q[i]), i.held, False)
        U[i] = P[i] @ S
        D[i] = inverse_spd(with_armature(S.T @ U[i], i))
        bare = all(number(m) == 0.0 for m in i.armature)
        Pi = P[i].project(S, U[i], D[i], free=bare) if len(S) else P[i]
        yield i, Pi
        P[i.parent] += T[i].push(Pi)


def held_by(model: Any, prescribed: Sequence[Any]) -> Any:
    """The mechanism whose bodies know which of their coordinates are held: `i.held`.

    prescribed: names of joints, or pairs (name, number of a coordinate).
    """
    names = model.model.joint_names
    held = [[False] * body.joint.nv for body in model.bodies]
    for item in [prescribed] if isinstance(prescribed, str) else prescribed:
        joint, k = item if isinstance(item, (tuple, list)) else (item, None)
        if joint not in names:
            known = ", ".join(names[:8])
            raise ModelError(f"model {model.model.name!r} has no joint {joint!r}; it has {known}")
        own = held[names.index(joint)]
        if k is not None and not 0 <= k < len(own):
            raise ModelError(f"joint {joint!r} has coordinates 0 to {len(own) - 1}, no {k!r}")
        for n in range(len(own)) if k is None else (k,):
            own[n] = True
    return model.marked("held", [tuple(own) for own in held])


def columns(S: Screws, held: Sequence[bool], which: bool) -> Screws:
    """The columns of S that are held, or those that are not."""
    return Screws(column for column, h in zip(S, held, strict=True) if h is which)


def with_armature(D: Sequence[Sequence[Any]], i: Any) -> list[list[Any]]:
    """D plus the armature of the coordinates that are free."""
    armature = [m for m, h in zip(i.armature, i.held, strict=True) if not h]
    return [
        [x + armature[r] if r == c else x for c, x in enumerate(row)] for r, row in enumerate(D)
    ]


def apply(D: Sequence[Sequence[Any]], x: Sequence[Any]) -> tuple[Any, ...]:
    """D x of a small matrix."""
    return tuple(sum((d * e for d, e in zip(row, x, strict=True)), 0.0) for row in D)


def _check(model: Any) -> None:
    """No body at the end of a chain may be able to move without inertia."""
    parents = {body.parent for body in model.bodies}
    for k, body in enumerate(model.bodies, 1):
        held = dict(body.marks)["held"]
        if k in parents or all(held) or any(number(x) is None for x in body.inertia.flatten()):
            continue
        S = columns(body.joint.screws(body.joint.neutral()), held, False)
        D = np.array(S.T @ (body.inertia.articulated() @ S), dtype=float)
        free = [m for m, h in zip(body.armature, held, strict=True) if not h]
        if not np.linalg.eigvalsh(D + np.diag(free)).min() > 0.0:
            raise SingularError(
                f"body {body.name!r} has no inertia about its joint, so forces determine no "
                "acceleration; give it mass, or its joint armature"
            )


ARTICULATED = {"P": ArticulatedInertia, "U": "local", "D": "local"}
