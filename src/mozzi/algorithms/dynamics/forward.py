# pyright: reportConstantRedefinition=false
"""Forward and hybrid dynamics: one recursion, Kim's Tables 3 and 4.

Some coordinates may be *held*: their accelerations are given, and their forces wanted (Table 4).
Where nothing is held it is Table 3. Loops answer between the sweeps, in one place (`closed_by`).

    Kim            η   B̂    Î    ÎS   Ψ     τ − SᵀB̂   Π    β      Ad V̇_λ + η   V̇
    Featherstone   c   p^A  I^A  U    D⁻¹   u         I^a  p^a    a′           a
    here           n   B    P    U    D     u         Pi   beta   X            A = (ω̇, Rᵀr̈)

With A in place of V̇ (derived in `kinematics/motion.py`) n and B differ from η and B̂ by terms of
ω × v, and of V only the angular half w is needed. D holds Ψ, the inverse, with armature. What the
table gathers over children a body scatters to its parent here. Two signs of the table are
misprinted: docs/errata.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.arguments import NoBlocks
from mozzi.algorithms.constraints.multipliers import Multipliers, loop_multipliers
from mozzi.algorithms.constraints.rows.relative_motion import Moving
from mozzi.algorithms.constraints.symbolic_closures import alike
from mozzi.algorithms.dynamics.newton_euler import gyroscopic
from mozzi.algorithms.dynamics.resistance import resisting
from mozzi.algorithms.dynamics.springs import applied
from mozzi.algorithms.kinematics.motion import carried
from mozzi.algorithms.recursion.articulated import articulated, articulated_containers
from mozzi.algorithms.recursion.blocks import apply, minus, plus
from mozzi.algorithms.recursion.containers import ZERO, BlockArray, Local, joint_vector, per_body
from mozzi.algorithms.recursion.held import free, free_screws, held, held_by, held_screws, merge
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector, PerBody
from mozzi.lie import ArticulatedInertia, Screws, Twist, Vec3, Wrench
from mozzi.lie.small_matrices import Matrix
from mozzi.program.scalar import Real
from mozzi.types import ArrayLike, JointChoice, Minimize

__all__ = ["Sweeps", "at_rest", "forward", "forward_dynamics", "hybrid", "hybrid_dynamics"]

REST: ByBody[Twist] = NoBlocks(Twist)

Accelerations = Iterator[tuple[BodyView, Sequence[Real]]]
"""Every body with the accelerations of its free coordinates."""


class Sweeps:
    """The first two sweeps, of the tree as if it were open, and the third: see above."""

    T: PerBody[RelativePose]
    w: PerBody[Vec3]
    n: PerBody[Twist]
    A: PerBody[Twist]
    B: PerBody[Wrench]
    B_own: PerBody[Wrench]
    P: PerBody[ArticulatedInertia]
    U: PerBody[Screws[Wrench]]
    D: PerBody[Matrix]
    u: PerBody[Sequence[Real]]

    def __init__(
        self, model: Mechanism, q: JointVector, v: JointVector, tau: JointVector,
        a: JointVector = ZERO, wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
    ):  # fmt: skip
        self.model, self.q, self.v, self.tau, self.a = model, q, v, tau, a
        self.wrenches, self.resistance = wrenches, resistance
        T, n = per_body(model, "T n", Local[RelativePose], Local[Twist])
        u, w = per_body(model, "u w", Local[Sequence[Real]], Vec3)
        A, B, B_own = per_body(model, "A B B", Twist, Wrench, Wrench)
        P, U, D = articulated_containers(model)
        self.T, self.n, self.u, self.w = T, n, u, w
        self.A, self.B, self.B_own = A, B, B_own
        self.P, self.U, self.D = P, U, D
        A[model.world] = model.upward
        F_ext = applied(model, q, v, wrenches, resistance)

        for i in model.outward():
            S = i.joint.screws(q[i])
            T[i] = i.pose(q[i])
            w[i], coriolis = carried(T[i], Twist.zero(), w[i.parent], S @ v[i])  # K37
            own = i.joint.screws_rate(q[i], v[i]) @ v[i] + held_screws(i, S) @ held(i, a[i])
            n[i] = coriolis + own  # K41: η = ad_V S q̇ + Ṡ q̇, and S q̈ where q̈ is given
            B[i] = B_own[i] = gyroscopic(i.inertia, w[i]) - F_ext[i]  # K50: −ad*_V I V − F_ext

        for i, Pi in articulated(model, q, T, P, U, D):  # Î, Ψ and Π: K49, K52
            S = free_screws(i, i.joint.screws(q[i]))
            u[i] = minus(free(i, self.force(i)), S.T @ B[i])  # K45: τ − SᵀB̂
            beta = B[i] + Pi @ n[i]  # with Π = Î − U Ψ Uᵀ: B̂ + Î η − U Ψ Uᵀ η
            beta = beta + U[i] @ apply(D[i], u[i]) if len(S) else beta
            B[i.parent] += T[i].push(beta)  # K50, K53

    def force(self, i: BodyView) -> Sequence[Real]:
        """τ, less the resistance of the joint."""
        if not self.resistance:
            return self.tau[i]
        return minus(self.tau[i], resisting(i, self.q[i], self.v[i]))

    def outward(
        self, A: PerBody[Twist], n: ByBody[Twist], u: Callable[[BodyView], Sequence[Real]]
    ) -> Accelerations:
        """The third sweep, linear in (A of the world, η, u): sets A."""
        for i in self.model.outward():
            X = self.T[i].pull(A[i.parent]) + n[i]
            solved = apply(self.D[i], minus(u(i), self.U[i].T @ X))  # K45
            A[i] = X + free_screws(i, i.joint.screws(self.q[i])) @ solved  # K41
            yield i, solved

    def held_force(self, i: BodyView, loops: Multipliers | None) -> Sequence[Real]:
        """τ at the held coordinates: Sᵀ F, and what rotors and resistance take."""
        S = held_screws(i, i.joint.screws(self.q[i]))
        F = plus((self.P[i] @ S).T @ self.A[i], S.T @ self.B[i])  # K43
        if loops is not None:
            F = minus(F, plus(S.T @ loops.wrench(i), loops.held(i)))  # K79
        rotors = zip(held(i, i.armature), held(i, self.a[i]), strict=True)
        F = plus(F, [m * x for m, x in rotors])
        return plus(F, held(i, resisting(i, self.q[i], self.v[i]))) if self.resistance else F


def closed_by(
    x: Sweeps, rates: BlockArray | None, least: bool
) -> tuple[Accelerations, Multipliers | None]:
    """The third sweep, and what closes the loops: steps B to F of Rodriguez, K67 to K69, K76.

    rates: prescribed accelerations of the rows; least: multipliers of least norm.
    """
    move = Moving(x.q, x.T, x.v, x.w)
    loops = loop_multipliers(
        x.model, move, n=x.n, u=x.u, U=x.U, D=x.D, accelerations=rates
    )  # λ
    if loops is None:
        return x.outward(x.A, x.n, lambda i: x.u[i]), None
    corrected, total = _closed(x, loops, x.A, x.n, x.u, x.a)
    total = total.shortest() if least else total
    return ((i, corrected[i]) for i in x.model.outward()), total


def _closed(
    x: Sweeps, loops: Multipliers, A: PerBody[Twist], n: ByBody[Twist], u: ByBody[Sequence[Real]],
    given: JointVector,
) -> tuple[PerBody[Sequence[Real]], Multipliers]:  # fmt: skip
    """The third sweep with loops, of (A of the world, η, u): the accelerations of free coordinates,
    and what closes the loops. Sets A. given: the accelerations of those that are held.
    """
    a, own, dA = per_body(
        x.model, "a own dA", Local[Sequence[Real]], Local[Sequence[Real]], Twist
    )
    for i, solved in x.outward(A, n, lambda i: plus(u[i], loops.force(i))):
        own[i], a[i] = solved, merge(i, solved, held(i, given[i]))
    # once more, for what rounding has left of the rows: the same sweep, without η and gravity
    more = loops.missing(x.model, A, a)
    corrected = per_body(x.model, "corrected", Local[Sequence[Real]])
    for i, change in x.outward(dA, REST, more.force):
        corrected[i] = plus(own[i], change)
    for i in x.model.outward():
        A[i] = A[i] + dA[i]
    return corrected, loops.plus(more)


def at_rest(
    x: Sweeps, loops: Multipliers, tau: JointVector, rates: Sequence[Real] | None = None
) -> tuple[BlockArray, PerBody[Twist], Multipliers]:
    """(μ, twists of μ, ν) with M μ = τ + Aᵀ ν and A μ = 0 (or rates), by the articulated bodies and
    the factors that sweeps at this configuration have left: forces at rest, without gravity.
    """
    mu = joint_vector(x.model, "mu")
    u, Du = per_body(x.model, "u Du", Local[Sequence[Real]], Local[Sequence[Real]])
    A, B = per_body(x.model, "A B", Twist, Wrench)
    for i in x.model.outward():
        B[i] = Wrench.zero()
    for i in x.model.inward():
        S = free_screws(i, i.joint.screws(x.q[i]))
        u[i] = minus(free(i, tau[i]), S.T @ B[i])  # K45
        Du[i] = apply(x.D[i], u[i])
        B[i.parent] += x.T[i].push(B[i] + x.U[i] @ Du[i] if len(S) else B[i])  # K50, K53
    corrected, total = _closed(x, loops.at_rest(x.model, Du, rates), A, REST, u, ZERO)
    for i in x.model.outward():
        mu[i] = corrected[i]
    return mu, A, total


def forward(
    x: Sweeps, rates: BlockArray | None = None, least: bool = False
) -> tuple[BlockArray, Multipliers | None]:
    """Accelerations where nothing is held, and what closes the loops."""
    a_out = joint_vector(x.model, "a_out")
    sweep, loops = closed_by(x, rates, least)
    for i, solved in sweep:
        a_out[i] = solved  # K45
    return a_out, loops


def hybrid(
    x: Sweeps, rates: BlockArray | None = None, least: bool = False
) -> tuple[BlockArray, BlockArray, Multipliers | None]:
    """Forces and accelerations, both complete, and what closes the loops."""
    tau_out, a_out = joint_vector(x.model, "tau_out"), joint_vector(x.model, "a_out")
    sweep, loops = closed_by(x, rates, least)
    for i, solved in sweep:
        a_out[i] = merge(i, solved, held(i, x.a[i]))  # K45
        tau_out[i] = merge(i, free(i, x.tau[i]), x.held_force(i, loops))  # K43
    return tau_out, a_out, loops


@algorithm(regroup="moments", loops="honour", rolled_paths=True, rolled_loops=alike)
def forward_dynamics(
    model: Mechanism, q: JointVector, v: JointVector, tau: JointVector,
    wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
    loop_accelerations: BlockArray | None = None,
) -> BlockArray:  # fmt: skip
    """Accelerations that the joint forces τ produce:  M(q) a = τ − C(q, v) v − g(q) + Σ Jᵢᵀ Wᵢ.

    Articulated bodies, O(n): `hybrid_dynamics` with nothing prescribed. Damping, friction and
    springs, of the joints and between bodies, act on request (``resistance``). With loops,
    A a + Ȧ v = 0 holds (or = ``loop_accelerations``, where rows have a prescribed motion), and
    Aᵀ λ acts besides τ. Where the loops lose rank, dependent rows are left out, accelerations stay
    finite, and called with arrays it issues a `SingularWarning`. Compiled kernels cannot warn:
    `loop_rank` is there for them.
    Kim Table 3, (67)–(69); Rodriguez et al. (.39), (.40), steps A–F.

    Returns:
        (B, nv): joint accelerations, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> np.allclose(mz.forward_dynamics(arm, q, v, mz.inverse_dynamics(arm, q, v, a)), a)
        True
    """
    x = Sweeps(model, q, v, tau, wrenches=wrenches, resistance=resistance)
    return forward(x, loop_accelerations)[0]


@algorithm(regroup="moments", loops="honour", rolled_paths=True)
def hybrid_dynamics(
    model: Mechanism, q: JointVector, v: JointVector, tau: JointVector, a: JointVector,
    prescribed: JointChoice = (), wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
    loop_accelerations: BlockArray | None = None, minimize: Minimize | None = None,
    weighting: ArrayLike | None = None,
) -> tuple[BlockArray, BlockArray]:  # fmt: skip
    """(τ, a), both complete: a is given at prescribed coordinates and τ at the others.

    ``prescribed`` lists joints, or pairs (joint, coordinate) of joints with several. Articulated
    bodies, O(n). With nothing prescribed it is forward dynamics, with everything inverse dynamics.
    Loops are kept closed: see `constraints/multipliers.py`. Prescribed accelerations that open them
    are a `LoopError`; where they leave several τ (more are prescribed than are free to move), loop
    forces are of least norm, or what ``minimize`` says has the least squares. On arrays,
    a `SingularWarning` tells where loops lose rank, as in `forward_dynamics`.
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
    x = Sweeps(held_by(model, prescribed), q, v, tau, a, wrenches, resistance)
    tau_out, a_out, _ = hybrid(x, loop_accelerations, least=True)
    return tau_out, a_out
