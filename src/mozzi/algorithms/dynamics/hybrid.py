"""Forces at some joints and accelerations at the others, from the other halves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mozzi.algorithms.constraints.multipliers import Closing, closing
from mozzi.algorithms.constraints.rows import Moving
from mozzi.algorithms.constraints.solve import MOST
from mozzi.algorithms.dynamics.inverse import resisting
from mozzi.algorithms.dynamics.springs import acting
from mozzi.algorithms.recursion.algorithm import algorithm
from mozzi.algorithms.recursion.articulated import ARTICULATED, articulated
from mozzi.algorithms.recursion.blocks import apply, minus, plus
from mozzi.algorithms.recursion.containers import joint_vector, per_body
from mozzi.algorithms.recursion.held import free, free_screws, held, held_by, held_screws, merge
from mozzi.lie import AccelerationField, Twist, Vec3, Wrench
from mozzi.types import JointChoice

__all__ = ["hybrid_dynamics"]


@algorithm(regroup="moments", loops="honour")
def hybrid_dynamics(
    model: Any, q: Any, v: Any, tau: Any, a: Any, prescribed: JointChoice = (),
    wrenches: Any = None, resistance: bool = False, loop_accelerations: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """(τ, a), both complete: a is given at prescribed coordinates and τ at the others.

    ``prescribed`` lists joints, or pairs (joint, coordinate) of joints with several. Articulated
    bodies, O(n). With nothing prescribed it is forward dynamics, with everything inverse dynamics.
    Loops are kept closed: see `constrained_forward`. Prescribed accelerations that open them are a
    `LoopError`; where they leave several τ, loop forces are of least norm. On arrays, a
    `SingularWarning` tells where loops lose rank, as in `forward_dynamics`.
    Kim Table 4, (72)–(80).

    Returns:
        tau (B, nv): joint forces, all of them.
        a (B, nv): joint accelerations, all of them.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> tau, _ = mz.hybrid_dynamics(arm, q, v, a, a, prescribed=arm.joint_names)
        >>> np.allclose(tau, mz.inverse_dynamics(arm, q, v, a))
        True
    """
    model = held_by(model, prescribed)
    tau_out, a_out = joint_vector(model, "tau_out"), joint_vector(model, "a_out")
    least = model.model.row_count <= MOST
    hybrid(model, q, v, tau, a, wrenches, resistance, a_out, tau_out, loop_accelerations, least)
    return tau_out, a_out


def hybrid(
    model: Any, q: Any, v: Any, tau: Any, a: Any, wrenches: Any, resistance: bool, a_out: Any,
    tau_out: Any = None, loop_accelerations: Any = None, least: bool = False,
) -> Closing | None:  # fmt: skip
    """The recursion: S, τ and a of a joint are split into what is held and what is free.

    Accelerations are A = (ω̇, Rᵀr̈) of the frames' origins, as in inverse dynamics. Returns what
    closes the loops (``least``: by multipliers of least norm).
    """
    T, n, u, w, A, B = per_body(model, T="local", n="local", u="local", w=Vec3, A=Twist, B=Wrench)
    P, U, D = per_body(model, **ARTICULATED)
    A[model.world] = model.upward
    still = Vec3.zero()
    wrenches = acting(model, q, v, wrenches, resistance)

    for i in model.outward():
        p, S = i.parent, i.joint.screws(q[i])
        Sv = S @ v[i]
        T[i] = i.pose(q[i])
        w_p = T[i].unrotate(w[p])
        w[i] = w_p + Sv.ang  # (37)
        swing = T[i].unrotate(AccelerationField(still, w[p], w[p]) @ T[i].p)
        slide = w_p.cross(Sv.lin) + w[i].cross(Sv.lin)
        own = i.joint.screws_rate(q[i], v[i]) @ v[i] + held_screws(i, S) @ held(i, a[i])
        n[i] = Twist(w_p.cross(Sv.ang), swing + slide) + own  # η, and S a where a is given
        bias = AccelerationField(still, w[i], w[i]).wrench(i.inertia, still)
        B[i] = bias - i.frame.push(wrenches[i])

    for i, Pi in articulated(model, q, T, P, U, D):  # (49), (51)
        S = free_screws(i, i.joint.screws(q[i]))
        force = minus(tau[i], resisting(i, q[i], v[i])) if resistance else tau[i]
        u[i] = minus(free(i, force), S.T @ B[i])
        beta = B[i] + Pi @ n[i]
        if len(S):
            beta = beta + U[i] @ apply(D[i], u[i])
        B[i.parent] += T[i].push(beta)  # (50), (52)

    loops = closing(model, Moving(q, T, v, w), n, u, U, D, loop_accelerations)
    sweep = _outward(model, q, T, n, u, U, D, A, loops)
    if loops is not None:
        sweep, loops = _refined(model, q, T, U, D, A, a, list(sweep), loops, least)
    for i, solved in sweep:
        both = merge(i, solved, held(i, a[i]))
        a_out[i] = both
        if tau_out is not None:
            S = held_screws(i, i.joint.screws(q[i]))
            F = plus((P[i] @ S).T @ A[i], S.T @ B[i])  # (43)
            if loops is not None:
                F = minus(F, plus(S.T @ loops.wrench(i), loops.held(i)))  # (79)
            F = plus(F, [m * x for m, x in zip(held(i, i.armature), held(i, a[i]), strict=True)])
            if resistance:
                F = plus(F, held(i, resisting(i, q[i], v[i])))
            tau_out[i] = merge(i, free(i, tau[i]), F)
    return loops


def _outward(
    model: Any, q: Any, T: Any, n: Any, u: Any, U: Any, D: Any, A: Any, loops: Closing | None
) -> Iterator[tuple[Any, Sequence[Any]]]:
    """Every body, with the accelerations of its free coordinates; A set."""
    for i in model.outward():
        X = T[i].pull(A[i.parent]) + n[i]
        if loops is not None:
            u[i] = plus(u[i], loops.force(i))
        solved = apply(D[i], minus(u[i], U[i].T @ X))  # (45)
        A[i] = X + free_screws(i, i.joint.screws(q[i])) @ solved  # (41)
        yield i, solved


def _refined(
    model: Any, q: Any, T: Any, U: Any, D: Any, A: Any, a: Any, found: Sequence[tuple[Any, Any]],
    loops: Closing, least: bool,
) -> tuple[list[tuple[Any, Sequence[Any]]], Closing]:  # fmt: skip
    """The accelerations of the free coordinates and the multipliers, corrected once; A as well."""
    whole, change = per_body(model, whole="local", change=Twist)
    for i, solved in found:
        whole[i] = merge(i, solved, held(i, a[i]))
    more, corrected = loops.missing(model, A, whole), []
    for i, solved in found:
        X = T[i].pull(change[i.parent])
        own = apply(D[i], minus(more.force(i), U[i].T @ X))
        change[i] = X + free_screws(i, i.joint.screws(q[i])) @ own
        corrected.append((i, plus(solved, own)))
    for i, _ in found:
        A[i] = A[i] + change[i]
    return corrected, loops.plus(more, least)
