"""The mass matrix, by composite bodies."""

from __future__ import annotations

from typing import Any

from mozzi.algorithms.algorithm import algorithm
from mozzi.algorithms.recursion import Columns, joint_matrix, per_body
from mozzi.lie import Inertia, Momentum

__all__ = ["mass_matrix"]


@algorithm(regroup=True)
def mass_matrix(model: Any, q: Any) -> Any:
    """Kinetic energy is ½ vᵀ M(q) v.

    Composite bodies, O(n d).  Müller, Dynamics (81); Rodriguez et al. (0.14).
    """
    T, I = per_body(model, T="local", I=Inertia)
    M = joint_matrix(model)
    for i in model.outward():
        T[i] = i.pose(q[i])
        I[i] = i.inertia
    for i in model.inward():
        I[i.parent] += T[i].push(I[i])
    for i in model.inward():
        F = per_body(model, F=Columns(Momentum, i.joint.nv))
        F[i] = I[i] @ i.joint.screws(q[i])
        for j in i.path():
            block = j.joint.screws(q[j]).T @ F[j]  # Sⱼᵀ F, a row per velocity of j
            M[j, i] = block
            M[i, j] = tuple(zip(*block, strict=True))
            F[j.parent] = T[j].push(F[j])
        M[i, i] = _with_armature(M[i, i], i)
    return M


def _with_armature(block: Any, i: Any) -> Any:
    n = i.joint.nv
    return [block[r * n + c] + (i.armature[r] if r == c else 0.0) for r in range(n) for c in range(n)]
