"""Joint forces from accelerations: the recursive Newton–Euler algorithm."""

from __future__ import annotations

from typing import Any

from mozzi.algorithms.algorithm import algorithm
from mozzi.algorithms.recursion import joint_vector, per_body
from mozzi.lie import Twist, Wrench

__all__ = ["inverse_dynamics"]


@algorithm(regroup=True)
def inverse_dynamics(model: Any, q: Any, v: Any, a: Any, wrenches: Any = None) -> Any:
    """Joint forces that produce the accelerations a:  τ = M(q) a + C(q, v) v + g(q) − Σ Jᵢᵀ Wᵢ.

    Recursive Newton–Euler in body-fixed twists, O(n).  Kim Table 2; Müller, Dynamics (66), (67).
    """
    T, V, A, W = per_body(model, T="local", V=Twist, A=Twist, W=Wrench)
    tau = joint_vector(model)
    A[model.world] = model.upward
    for i in model.outward():
        p, S = i.parent, i.joint.screws(q[i])
        Sv = S @ v[i]
        T[i] = i.pose(q[i])
        V[i] = T[i].pull(V[p]) + Sv  # (37)
        A[i] = T[i].pull(A[p]) + S @ a[i] + V[i].cross(Sv) + i.joint.screws_rate(q[i], v[i]) @ v[i]  # (41)
        W[i] = (i.inertia @ A[i]).rate() + V[i].cross(i.inertia @ V[i]) - i.frame.push(wrenches[i])  # (42)
    for i in model.inward():
        S = i.joint.screws(q[i])
        tau[i] = [x + m * y for x, m, y in zip(S.T @ W[i], i.armature, a[i], strict=True)]
        W[i.parent] += T[i].push(W[i])
    return tau
