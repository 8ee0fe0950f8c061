"""What springs between bodies add to the derivatives of inverse dynamics.

Inverse dynamics holds −Jᵀ W of a spring. With W fixed to the bodies its derivative is that of any
external wrench; what remains is −Jᵀ δW. A unit motion of coordinate k carries the ends of the
spring along with the spatial screw X_k, and their velocities with ω_k × ẋ and the field Ψ̇_k. Forces
are in inertial axes, so that fixed to a body they change by δf − ω_k × f.
"""

from __future__ import annotations

from collections.abc import Sequence

from mozzi.algorithms.dynamics.springs import ends, line, point_velocity
from mozzi.algorithms.recursion.blocks import Block
from mozzi.algorithms.recursion.containers import BlockArray, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector, PerBody
from mozzi.lie import SE3, Screws, Twist, Vec3, Wrench
from mozzi.model import Spring

__all__ = ["SpringPowers", "add_spring_changes"]


def add_spring_changes(
    model: Mechanism,
    T: ByBody[RelativePose],
    X: ByBody[Sequence[Screws[Twist]]],
    V: ByBody[Twist],
    dq: BlockArray,
    dv: BlockArray,
) -> None:
    """Add −Jᵀ ∂W/∂q and −Jᵀ ∂W/∂v to blocks of joint matrices. O(d²) per spring.

    Containers of poses T in the parents, of joints X = (S, Ψ̇, …) and of twists V, body-fixed.
    """
    C = per_body(model, "C", SE3)
    for i in model.outward():
        C[i] = C[i.parent] @ T[i]
    for spring, a, p_a, b, p_b in ends(model):
        at = [
            (end.index, sign, C[end] @ p, point_velocity(C[end], V[end], p))
            for end, sign, p in ((a, -1.0, p_a), (b, 1.0, p_b))
        ]
        force = _Force(spring, at[1][2] - at[0][2], at[1][3] - at[0][3])
        moving = [end for end in at if end[0] >= 0]
        for end_k, s_k, x_k, u_k in moving:
            for k in model.path(end_k):
                turns: list[Vec3] = []
                by_q: list[Vec3] = []
                by_v: list[Vec3] = []
                for column, drift in zip(C[k].push(X[k][0]), C[k].push(X[k][1]), strict=True):
                    moved = _field(column, x_k) * s_k
                    turned = (column.ang.cross(u_k) + _field(drift, x_k)) * s_k
                    turns.append(column.ang.cross(force.f))
                    by_q.append(force.change(moved, turned))
                    by_v.append(force.change(None, moved))
                for end_j, s_j, x_j, _ in moving:
                    own = [f - w for f, w in zip(by_q, turns, strict=True)]
                    own = own if end_j == end_k else by_q
                    for j in model.path(end_j):
                        J = [_field(column, x_j) * -s_j for column in C[j].push(X[j][0])]
                        _add(dq, j, k, [[x.dot(f) for f in own] for x in J])
                        _add(dv, j, k, [[x.dot(f) for f in by_v] for x in J])


class _Force:
    """f = −k d + k ℓ₀ n − c ℓ̇ n on body b, and how it changes with d and u = ḋ."""

    def __init__(self, spring: Spring, d: Vec3, u: Vec3):
        self.spring, self.u = spring, u
        _, self.n, self.reciprocal = line(d)
        self.rate = self.n.dot(u)
        push = spring.stiffness * spring.length - spring.damping * self.rate
        self.f = self.n * push - d * spring.stiffness
        self.push = push

    def change(self, d: Vec3 | None, u: Vec3) -> Vec3:
        """δf of changes δd (None: zero) and δu."""
        n, c = self.n, self.spring.damping
        if d is None:
            return n * (-c * n.dot(u))
        turn = (d - n * n.dot(d)) * self.reciprocal  # δn
        rate = turn.dot(self.u) + n.dot(u)  # δℓ̇
        return turn * self.push - d * self.spring.stiffness - n * (c * rate)

    def powers(self, y: Vec3) -> tuple[Vec3, Vec3]:
        """∂/∂u and ∂/∂d of −f · y."""
        n, c, k = self.n, self.spring.damping, self.spring.stiffness
        along = n.dot(y)
        by_n = self.u * (c * along) - y * self.push
        return n * (c * along), y * k + (by_n - n * n.dot(by_n)) * self.reciprocal


class SpringPowers:
    """How the power −f · y of springs, were bodies to move with twists Λ, answers to all it is made
    of: y = ḋ of Λ, d of the poses, u = ḋ of the twists V. That of Λ is the wrench itself.
    """

    def __init__(
        self, model: Mechanism, T: ByBody[RelativePose], q: JointVector, v: JointVector,
        L: ByBody[Twist],
    ):  # fmt: skip
        """H is what belongs to V, E what belongs to poses."""
        self.model, self.T = model, T
        C, E, H = per_body(model, "C E H", SE3, Wrench, Wrench)
        V, before = per_body(model, "V V_p", Twist, Twist)
        self.E: PerBody[Wrench] = E
        self.H: PerBody[Wrench] = H
        self.before: PerBody[Twist] = before
        for i in model.outward():
            C[i] = C[i.parent] @ T[i]
            before[i] = T[i].pull(V[i.parent])
            V[i] = before[i] + i.joint.screws(q[i]) @ v[i]
            E[i], H[i] = Wrench.zero(), Wrench.zero()
        for spring, a, p_a, b, p_b in ends(model):
            x_a, x_b = C[a] @ p_a, C[b] @ p_b
            u, y = (
                point_velocity(C[b], X[b], p_b) - point_velocity(C[a], X[a], p_a) for X in (V, L)
            )
            force = _Force(spring, x_b - x_a, u)
            by_u, by_d = force.powers(y)
            for i, p, sign in ((a, p_a, -1.0), (b, p_b, 1.0)):
                if i is model.world:
                    continue
                on_d, on_u, on_y = (C[i].R.unrotate(x * sign) for x in (by_d, by_u, -force.f))
                H[i] += Wrench(p.cross(on_u), on_u)
                turned = _field(V[i], p).cross(on_u) + _field(L[i], p).cross(on_y)
                E[i] += Wrench(p.cross(on_d) + turned, on_d)

    def passed(self, i: BodyView) -> tuple[Wrench, Wrench]:
        """The powers of a unit displacement of a body by its joint, and of a unit of its velocity,
        with all that hangs on it; they go on to its parent.
        """
        E, H = self.E[i], self.H[i]
        self.E[i.parent] += self.T[i].push(E)
        self.H[i.parent] += self.T[i].push(H)
        return E - self.before[i].cross(H), H


def _field(V: Twist, x: Vec3) -> Vec3:
    """The velocity at x of a twist, both in the same frame."""
    return V.lin + V.ang.cross(x)


def _add(M: BlockArray, j: BodyView, k: BodyView, block: Block) -> None:
    flat = [x for row in block for x in row]
    M[j, k] = [x + y for x, y in zip(M[j, k], flat, strict=True)]
