# pyright: reportConstantRedefinition=false
"""Coriolis and centrifugal forces as a matrix, and the Christoffel symbols behind it.

Of the matrices C with C v = Coriolis forces, this is Christoffel's: C = Σ Γ_k v_k, for which Ṁ − 2C
is skew-symmetric. In Ploen's form (37), C = Jᵀ (𝓜 J̇ + C̄ J) with a skew-symmetric C̄ᵢ(Vᵢ) for each
body, it belongs to

    C̄ = [[[ϑω], [h][ω]], [−[ω][h], m[ω]]],        ϑ = ½ tr(J) 1 − J = ∫ x xᵀ dm,

where his Proposition 1 has [ω]J + J[ω] = [(tr(J) 1 − J) ω] in place of [ϑω]: it differs by
½ tr(J) [ω], which vanishes on ω, so that C v and the skew-symmetry are the same, but C is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import final

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.inlining import along_units, loops_over_units
from mozzi.algorithms.dynamics.mass_matrix import second_moments_flow
from mozzi.algorithms.recursion.blocks import summed, transposed
from mozzi.algorithms.recursion.containers import (
    BlockArray,
    Columns,
    Local,
    joint_array,
    joint_matrix,
    per_body,
)
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import JointVector
from mozzi.lie import SE3, Inertia, Mat3, Momentum, Screws, Twist, Vec3
from mozzi.lie.so3 import SO3
from mozzi.lie.vec import Spatial
from mozzi.model import Model
from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = ["christoffel", "coriolis_matrix"]


@final
class Flow(Spatial):
    """How mass flows: N = ∫ ẋ xᵀ dm and p = ∫ ẋ dm over the points x of a set of bodies.

    As a 6×6 matrix it is B = [[tr(N) 1 − N, 0], [−[p], 0]], with B + Bᵀ the rate of the inertia;
    of one body B = ½ (V×* I + (I V)×̄* − I V×).
    """

    __slots__ = ("N", "p")
    SIZE = 12

    def __init__(self, N: Mat3, p: Vec3):
        self.N, self.p = N, p

    @classmethod
    def of(cls, I: Inertia, V: Twist) -> Flow:
        """The flow of a body."""
        return cls(second_moments_flow(I, V), V.lin * I.m + V.ang.cross(I.h))

    @classmethod
    def zero(cls) -> Flow:
        """Rest."""
        return cls(Mat3.zero(), Vec3.zero())

    def flatten(self) -> tuple[Real, ...]:
        return self.N.flatten() + self.p.flatten()

    @classmethod
    def unflatten(cls, scalars: Iterable[Real]) -> Flow:
        s = tuple(scalars)
        return cls(Mat3(*s[:9]), Vec3(*s[9:]))

    def __add__(self, other: Flow) -> Flow:
        return Flow(self.N + other.N, self.p + other.p)

    def pushed(self, R: SO3, p: Vec3) -> Flow:
        N, lin = R.congruence(self.N), R.rotate(self.p)
        return Flow(N if p.vanishes() else N + lin.outer(p), lin)

    def __matmul__(self, S: Screws[Twist]) -> Screws[Momentum]:
        """B S."""
        trace = self.N.xx + self.N.yy + self.N.zz
        return Screws(
            Momentum(x.ang * trace - self.N @ x.ang, x.ang.cross(self.p)) for x in S.columns
        )

    def transpose(self, S: Screws[Twist]) -> Screws[Momentum]:
        """Bᵀ S: pure moments."""
        trace = self.N.xx + self.N.yy + self.N.zz
        return Screws(
            Momentum(x.ang * trace - self.N.T @ x.ang + self.p.cross(x.lin), Vec3.zero())
            for x in S.columns
        )


@algorithm(regroup=True)
def coriolis_matrix(model: Mechanism, q: JointVector, v: JointVector) -> BlockArray:
    """C(q, v) with C v the Coriolis and centrifugal forces and Ṁ − 2C skew-symmetric.

    Composite bodies and the flow of their mass, O(n d). C is linear in v: C = Σ_k Γ_··k v_k with
    the symbols of `christoffel`.  Ploen (37); Müller, Dynamics (84), (85).

    Returns:
        (B, nv, nv): C; rows are forces, columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> moving = mz.bias_forces(arm, q, v) - mz.gravity_forces(arm, q)
        >>> np.allclose(mz.coriolis_matrix(arm, q, v) @ v, moving)
        True
    """
    T, dS = per_body(model, "T dS", Local[RelativePose], Local[Screws[Twist]])
    V, I, B = per_body(model, "V I B", Twist, Inertia, Flow)
    C = joint_matrix(model, "C")
    for i in model.outward():
        S = i.joint.screws(q[i])
        T[i] = i.pose(q[i])
        V[i] = T[i].pull(V[i.parent]) + S @ v[i]  # K37
        dS[i] = V[i].cross(S) + i.joint.screws_rate(q[i], v[i])  # of P37: J̇
        I[i], B[i] = i.inertia, Flow.of(i.inertia, V[i])  # of P37: 𝓜, C̄
    for i in model.inward():
        I[i.parent] += T[i].push(I[i])  # of P37: 𝓜
        B[i.parent] += T[i].push(B[i])  # of P37: C̄, and half of 𝓜˙
    for i in model.inward():
        S = i.joint.screws(q[i])
        kind = Columns(Momentum, len(S))
        F, G, H = per_body(model, "F G H", kind, kind, kind)
        F[i], G[i], H[i] = I[i] @ dS[i] + B[i] @ S, I[i] @ S, B[i].transpose(S)  # P37
        for j in i.path():
            Sj = j.joint.screws(q[j])
            C[i, j] = transposed(summed(dS[j].T @ G[j], Sj.T @ H[j]))  # P37: Sᵢᵀ(I Ṡⱼ + B Sⱼ)
            C[j, i] = Sj.T @ F[j]  # P37: Sⱼᵀ (I Ṡᵢ + B Sᵢ)
            for X in (F, G, H):
                X[j.parent] = T[j].push(X[j])  # P37
    return C


@algorithm(regroup=True)
def christoffel(model: Mechanism, q: BlockArray) -> BlockArray | Traced:
    """Γ (nv, nv, nv):  C(q, v)_ij = Σ_k Γ_ijk v_k, so that bias forces are Σ Γ_ijk v_j v_k + g.

    Composite bodies, O(n d²): with m the outermost of i, j, k, and +1 where k is not outside j,
    Γ_ijk = ½ Jᵢᵀ (J_k×* I_m J_j + J_j×* I_m J_k ± I_m (J_k × J_j)), in spatial screws.
    Symmetric in j, k where v are coordinate rates (Γ_ijk = ½ (∂_k M_ij + ∂_j M_ik − ∂_i M_jk));
    within Planar, Spherical, Free, … the velocities are no rates, Γ is the Levi-Civita connection
    in their basis, and Γ_ijk − Γ_ikj = Σ_l M_il c^l_kj with the structure constants of the joint.
    M is that of the bodies here: armature adds R a to the forces, no matter how a joint moves, and
    has no part in Γ.  Müller, Dynamics (86), (87).

    Returns:
        (B, nv, nv, nv): Γ_ijk; i is the force, j and k the velocities.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.christoffel(arm, q) @ v, mz.coriolis_matrix(arm, q, v))
        True
    """
    if not model.rolled and loops_over_units(model):
        return along_units(model, _matrix, q)[0]  # Γ_ijk = C(q, e_k)_ij
    C, I = per_body(model, "C I", SE3, Inertia)
    J, dJ = per_body(model, "J dJ", Local[Screws[Twist]], Local[tuple[Screws[Twist], ...]])
    G = joint_array(model, "v", "v", "v", letter="G")
    for i in model.outward():
        S, n = i.joint.screws(q[i]), i.joint.nv
        C[i] = C[i.parent] @ i.pose(q[i])
        I[i] = C[i].push(i.inertia)
        J[i] = C[i].push(S)
        units = [[1.0 if r == k else 0.0 for r in range(n)] for k in range(n)]
        dJ[i] = tuple(C[i].push(i.joint.screws_rate(q[i], e)) for e in units)
    for m in model.inward():
        I[m.parent] += I[m]  # MD86
    for m in model.inward():
        for a in m.path():
            for b in a.path():
                for i, j, k in ((m, b, a), (a, b, m), (b, a, m)):
                    G[i, j, k] = _symbols(I[m], J[i], J[j], J[k], outside=True)  # MD86
                for i, j, k in ((m, a, b), (a, m, b), (b, m, a)):
                    G[i, j, k] = _symbols(I[m], J[i], J[j], J[k], outside=False)  # MD86
        for a in m.path():
            for i, j in ((a, m), (m, a)):  # joint screws that depend on their own coordinates
                G[i, j, j] = _symbols(I[m], J[i], J[j], J[j], outside=False, own=dJ[j])
    return G


def _matrix(model: Model, q: Traced, v: Traced) -> tuple[Traced, ...]:
    return (coriolis_matrix(model, q, v),)


def _symbols(
    I: Inertia, Ji: Screws[Twist], Jj: Screws[Twist], Jk: Screws[Twist], outside: bool,
    own: Sequence[Screws[Twist]] | None = None,
) -> list[Real]:  # fmt: skip
    """A block of symbols: I is the composite inertia of the outermost of the bodies i, j, k;
    outside: k is outside j."""
    hi, hj, hk = I @ Ji, I @ Jj, I @ Jk
    block: list[Real] = []
    for i, x in enumerate(Ji):
        for j, y in enumerate(Jj):
            for k, z in enumerate(Jk):
                turned = hi[i].dot(y.cross(z) if outside else z.cross(y))
                gamma = 0.5 * (hj[j].dot(x.cross(z)) + hk[k].dot(x.cross(y)) + turned)  # MD86
                block.append(gamma + hi[i].dot(own[k][j]) if own else gamma)
    return block
