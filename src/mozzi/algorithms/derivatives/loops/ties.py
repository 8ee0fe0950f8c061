# pyright: reportConstantRedefinition=false
"""What loops add to gradients, by a recursion run backwards.

    L = −λᵀ A μ − νᵀ (A a + Ȧ v)                                                             (1)

(less νᵀ φ, where positions are corrected) is a power of the two bodies that a closure ties: a
function of the pose G of its frame B in its frame A, and of the twists V (of v), their rates A (of
v and a) and Λ (of μ) of these bodies. These go outward. What L gains from a unit of each comes
inward, as wrenches H (of V), G (of A) and F (of Λ), and E, what it gains from displacements, by way
of the pose. At a joint, with V⁻, A⁻ and Λ⁻ of the parent, seen from the body,

    H + (S v) ×* G comes to the parent,   ∂L/∂v = Sᵀ (H + (S v) ×* G − V ×* G),   ∂L/∂a = Sᵀ G,
    ∂L/∂q = Sᵀ (E − V⁻ ×* H − A⁻ ×* G − Λ⁻ ×* F).                                            (2)

One small program for all closures of a kind, and O(n).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mozzi.algorithms.constraints.rows.relative_motion import Ends, Moving
from mozzi.algorithms.constraints.rows.rows import tie_rows
from mozzi.algorithms.constraints.symbolic_closures import each_closure
from mozzi.algorithms.derivatives.gradient import turning_screws
from mozzi.algorithms.recursion.blocks import dot, plus
from mozzi.algorithms.recursion.containers import BlockArray, Local, joint_vector, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import BodyView, JointVector, PerBody
from mozzi.lie import SE3, Twist, Vec3, Wrench
from mozzi.model import Distance, Loop, Model
from mozzi.model.model import WORLD
from mozzi.program.differentiate import reverse
from mozzi.program.inline import inline
from mozzi.program.passes import prune
from mozzi.program.program import Input, Program, trace
from mozzi.program.scalar import Real
from mozzi.program.settings import settings, tracing
from mozzi.types import Traced

__all__ = ["loop_power_gradient", "tied_by_frames"]

TWISTS = ("V_a", "V_b", "A_a", "A_b", "L_a", "L_b")


def tied_by_frames(model: Model) -> bool:
    """Whether all closures tie two frames, by numbers that do not vary."""
    return model.nominal is None and all(isinstance(x, Loop | Distance) for x in model.closures)


@dataclass
class _Fields:
    """By bodies: poses, twists V, A and Λ, and what L gains from them, E, F, G and H."""

    T: PerBody[RelativePose]
    V: PerBody[Twist]
    A: PerBody[Twist]
    L: PerBody[Twist]
    E: PerBody[Wrench]
    F: PerBody[Wrench]
    G: PerBody[Wrench]
    H: PerBody[Wrench]


def loop_power_gradient(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, mu: JointVector,
    multipliers: Sequence[Real], covector: Sequence[Real], drift: bool = False, *,
    T: PerBody[RelativePose] | None = None, L: PerBody[Twist] | None = None,
) -> tuple[BlockArray, BlockArray, BlockArray]:  # fmt: skip
    """The gradient of L by q (along the group), v and a; λ (``multipliers``) and ν (``covector``)
    row by row. drift: with −νᵀ φ (`loop_drift`) in L. T, L: poses, and twists of μ, where they are
    known.
    """
    by_q, by_v, by_a = (joint_vector(model, letter) for letter in ("by_q", "by_v", "by_a"))
    V, A = per_body(model, "V A", Twist, Twist)
    poses, twists = T, L
    T = per_body(model, "T", Local[RelativePose]) if poses is None else poses
    L = per_body(model, "L", Twist) if twists is None else twists
    E, F, G, H = per_body(model, "E F G H", Wrench, Wrench, Wrench, Wrench)
    for i in model.outward():
        p, S = i.parent, i.joint.screws(q[i])
        if poses is None:
            T[i] = i.pose(q[i])
        V[i] = T[i].pull(V[p]) + S @ v[i]
        A[i] = T[i].pull(A[p]) + _own(i, q, v, a, V[i])
        if twists is None:
            L[i] = T[i].pull(L[p]) + S @ mu[i]
        E[i] = F[i] = G[i] = H[i] = Wrench.zero()
    _add_gains(model, q, _Fields(T, V, A, L, E, F, G, H), multipliers, covector, drift)
    for i in model.inward():
        p, S = i.parent, i.joint.screws(q[i])
        Sv, Sm = S @ v[i], S @ mu[i]
        H[i] = H[i] + Sv.cross(G[i])
        K = H[i] - V[i].cross(G[i])
        A_p = A[i] - _own(i, q, v, a, V[i])
        turned = E[i] - (V[i] - Sv).cross(H[i]) - A_p.cross(G[i]) - (L[i] - Sm).cross(F[i])
        to_q, to_v = S.T @ turned, S.T @ K  # (2)
        if not i.joint.subgroup:
            more_q, more_v = turning_screws(i.joint, q[i], v[i], a[i], mu[i], K, G[i], F[i])
            to_q, to_v = plus(to_q, more_q), plus(to_v, more_v)
        by_q[i], by_v[i], by_a[i] = to_q, to_v, S.T @ G[i]
        for X in (E, F, G, H):
            X[p] += T[i].push(X[i])
    return by_q, by_v, by_a


def _own(i: BodyView, q: JointVector, v: JointVector, a: JointVector, V: Twist) -> Twist:
    """What a joint adds to the rate of the twist of its parent:  S a + V × S v + Ṡ v."""
    S = i.joint.screws(q[i])
    return S @ a[i] + V.cross(S @ v[i]) + i.joint.screws_rate(q[i], v[i]) @ v[i]


def _add_gains(
    model: Mechanism, q: JointVector, x: _Fields, multipliers: Sequence[Real],
    covector: Sequence[Real], drift: bool,
) -> None:  # fmt: skip
    """What L gains at the bodies that closures tie."""
    for closure, (lam, nu) in each_closure(model, multipliers, covector):
        part = closure.part
        if not part.rows:
            continue
        pair = closure.pair(Moving(q, x.T))
        ends = pair.a, pair.b
        given = [pair.F_a.flatten(), pair.F_b.flatten(), pair.G.flatten()]
        for field in (x.V, x.A, x.L):
            given += [field[i].flatten() for i in ends]
        found = inline(_program(part, pair.carried, drift), [*map(list, given), lam, nu])
        g, *others = (Wrench.unflatten(w) for w in found)
        moved = -pair.F_a.push(pair.G.push(g)), pair.F_b.push(g)
        for k, i in enumerate(ends):
            if i.index != WORLD:
                x.E[i] = x.E[i] + moved[k]
                x.H[i] = x.H[i] + others[k]
                x.G[i] = x.G[i] + others[2 + k]
                x.F[i] = x.F[i] + others[4 + k]


_PROGRAMS: dict[Hashable, Program] = {}


def _program(part: Loop | Distance, carried: bool, drift: bool) -> Program:
    """(F_a, F_b, G, twists, λ, ν) ↦ what L gains from a displacement of B relative to A, in the
    axes of B, and from each of the twists. carried: whether what carries both moves.
    """
    key: Hashable = "distance", part.length if drift and isinstance(part, Distance) else None
    if isinstance(part, Loop):
        key = part.joint.kind, part.joint.code, part.joint.parameters(), carried, drift
    if key not in _PROGRAMS:
        inputs = [Input(name, (12,)) for name in ("F_a", "F_b", "G")]
        inputs += [Input(name, (6,)) for name in TWISTS]
        inputs += [Input(name, (part.rows,)) for name in ("lam", "nu")]

        def make(*arrays: Traced) -> tuple[Traced, ...]:
            return _gains(part, carried, drift, *arrays)

        with tracing(replace(settings(), rolled=False)):
            _PROGRAMS[key] = prune(trace(make, inputs, "ties"))
    return _PROGRAMS[key]


def _gains(
    part: Loop | Distance, carried: bool, drift: bool, F_a: Traced, F_b: Traced, G: Traced,
    *others: Traced,
) -> tuple[Traced, ...]:  # fmt: skip
    twists, (lam, nu) = others[: len(TWISTS)], others[len(TWISTS) :]
    L = _power(part, carried, drift, F_a, F_b, G, twists, lam, nu)
    by = reverse(L, np.concatenate([G, *twists]), 1.0)
    R, by_R, by_p = (x.reshape(3, -1) for x in (G[:9], by[:9], by[9:12]))
    turned: list[Real] = []
    for k in range(3):  # δR = R [δ], column by column
        a, b = (k + 1) % 3, (k + 2) % 3
        turned.append(dot(list(by_R[:, a]), list(R[:, b])) - dot(list(by_R[:, b]), list(R[:, a])))
    g = np.array([*turned, *(R.T @ by_p).ravel()], dtype=object)
    return g, *(by[12 + 6 * k : 18 + 6 * k] for k in range(len(TWISTS)))


def _power(
    part: Loop | Distance, carried: bool, drift: bool, F_a: Traced, F_b: Traced, G: Traced,
    twists: Sequence[Traced], lam: Traced, nu: Traced,
) -> Real:  # fmt: skip
    """(1)."""
    V_a, V_b, A_a, A_b, L_a, L_b = (Twist.unflatten(list(x)) for x in twists)
    frames = SE3.unflatten(list(F_a)), SE3.unflatten(list(F_b))
    ends = Ends(frames, SE3.unflatten(list(G)), (V_a, V_b), carried)
    rows = tie_rows(part, ends, True)
    W_a, W_b = rows.wrenches[0], rows.wrenches[1]
    a, b = _of_points(A_a, V_a), _of_points(A_b, V_b)
    total: Real = 0.0
    if drift:
        total = -dot(list(nu), rows.open_by(True))
    for r, bias in enumerate(rows.bias):
        total = total - lam[r] * (W_a[r].dot(L_a) + W_b[r].dot(L_b))
        total = total - nu[r] * (bias + W_a[r].dot(a) + W_b[r].dot(b))
    return total


def _of_points(A: Twist, V: Twist) -> Twist:
    """(ω̇, r̈), of the rate A of a twist in the body's frame."""
    return Twist(A.ang, A.lin + Vec3.cross(V.ang, V.lin))
