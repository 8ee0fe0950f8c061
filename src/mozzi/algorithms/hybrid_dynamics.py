"""Forces at some joints and accelerations at the others, from the other halves: one O(n) recursion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mozzi.algorithms.algorithm import algorithm
from mozzi.algorithms.recursion import joint_vector, per_body
from mozzi.lie import ArticulatedInertia, Twist, Wrench, inverse_spd

__all__ = ["forward_dynamics", "hybrid_dynamics"]


@algorithm(regroup=True)
def hybrid_dynamics(
    model: Any, q: Any, v: Any, tau: Any, a: Any, prescribed: Sequence[str] = (), wrenches: Any = None
) -> Any:
    """(τ, a), both complete: a is given at prescribed joints and τ at the others.

    Articulated bodies, O(n).  Kim Table 4.
    """
    model = model.marked("prescribed", [name in prescribed for name in model.model.joint_names])
    return _hybrid(model, q, v, tau, a, wrenches)


@algorithm(regroup=True)
def forward_dynamics(model: Any, q: Any, v: Any, tau: Any, wrenches: Any = None) -> Any:
    """Accelerations that the joint forces τ produce:  M(q) a = τ − C(q, v) v − g(q) + Σ Jᵢᵀ Wᵢ.

    Articulated bodies, O(n): hybrid dynamics with nothing prescribed.  Kim Table 3.
    """
    model = model.marked("prescribed", [False] * model.nb)
    return _hybrid(model, q, v, tau, None, wrenches)[1]


def _hybrid(model: Any, q: Any, v: Any, tau: Any, a: Any, wrenches: Any) -> tuple[Any, Any]:
    T, U, D, u, n = per_body(model, T="local", U="local", D="local", u="local", n="local")
    V, A, B, I = per_body(model, V=Twist, A=Twist, B=Wrench, I=ArticulatedInertia)
    tau_out, a_out = joint_vector(model, "tau_out"), joint_vector(model, "a_out")
    A[model.world] = model.upward
    for i in model.outward():
        S = i.joint.screws(q[i])
        Sv = S @ v[i]
        T[i] = i.pose(q[i])
        V[i] = T[i].pull(V[i.parent]) + Sv
        n[i] = V[i].cross(Sv) + i.joint.screws_rate(q[i], v[i]) @ v[i]  # η
        B[i] = V[i].cross(i.inertia @ V[i]) - i.frame.push(wrenches[i])
        I[i] = i.inertia.articulated()
    for i in model.inward():
        S = i.joint.screws(q[i])
        if i.prescribed:
            beta = B[i] + I[i] @ (n[i] + S @ a[i])
            Pi = I[i]
        else:
            U[i] = I[i] @ S
            SU = S.T @ U[i]
            D[i] = inverse_spd(
                [[x + i.armature[r] if r == c else x for c, x in enumerate(row)]
                 for r, row in enumerate(SU)]
            )  # fmt: skip
            u[i] = tuple(t - x for t, x in zip(tau[i], S.T @ B[i], strict=True))
            Pi = I[i].project(S, U[i], D[i])
            beta = B[i] + Pi @ n[i] + U[i] @ _apply(D[i], u[i])
        I[i.parent] += T[i].push(Pi)
        B[i.parent] += T[i].push(beta)
    for i in model.outward():
        S = i.joint.screws(q[i])
        X = T[i].pull(A[i.parent]) + n[i]
        if i.prescribed:
            a_i = a[i]
            A[i] = X + S @ a_i
            F = I[i] @ A[i] + B[i]
            tau_out[i] = [x + m * y for x, m, y in zip(S.T @ F, i.armature, a_i, strict=True)]
        else:
            rest = tuple(x - y for x, y in zip(u[i], U[i].T @ X, strict=True))
            a_i = _apply(D[i], rest)
            A[i] = X + S @ a_i
            tau_out[i] = tau[i]
        a_out[i] = a_i
    return tau_out, a_out


def _apply(D: Any, x: Sequence[Any]) -> tuple[Any, ...]:
    """D x of a small matrix."""
    return tuple(sum((d * e for d, e in zip(row, x, strict=True)), 0.0) for row in D)
