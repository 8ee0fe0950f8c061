# pyright: reportConstantRedefinition=false
"""Derivatives of inverse, forward and hybrid dynamics along one direction, O(n).

How joint forces and accelerations change with an arbitrary scalar p, given how everything they
depend on changes: ∂q (along the group), ∂v, ∂a or ∂τ, external wrenches ∂F, inertias ∂I, and the
geometry of the joints: ∂h = T⁻¹ ∂T besides what ∂q moves, ∂S and ∂Ṡ besides what ∂q and ∂v cause.
Kim, section 4: each recursion is run together with its derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mozzi.algorithms.calls.algorithm import Algorithm, algorithm
from mozzi.algorithms.calls.arguments import given_or_zero
from mozzi.algorithms.calls.held_wrenches import HeldWrenches, carried_back
from mozzi.algorithms.dynamics.forward import forward_dynamics, hybrid_dynamics
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.kinematics.accelerations import stages
from mozzi.algorithms.recursion.articulated import check_inertias, inverse_inertia
from mozzi.algorithms.recursion.blocks import (
    Block,
    apply,
    diagonal_plus,
    minus,
    negated,
    plus,
    product,
    summed,
)
from mozzi.algorithms.recursion.containers import ZERO, BlockArray, Local, joint_vector, per_body
from mozzi.algorithms.recursion.held import free, free_screws, held, held_by, held_screws, merge
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector, PerBody
from mozzi.checked import checked
from mozzi.errors import ConfigurationError
from mozzi.lie import ArticulatedInertia, Inertia, Screws, Twist, Wrench
from mozzi.model import Joint, Model
from mozzi.program.scalar import Real
from mozzi.types import ArrayLike, JointChoice, Rep, Result

__all__ = [
    "directional", "forward_dynamics_directional", "hybrid_dynamics_directional",
    "inverse_dynamics_directional",
]  # fmt: skip


@checked
def directional(
    function: Callable[..., Result],
    model: Model,
    *arrays: ArrayLike,
    **changes: ArrayLike | JointChoice,
) -> Result:
    """The derivative of inverse, forward or hybrid dynamics along given changes, O(n).

    Changes that are not given are zero. Batches broadcast as everywhere. With loops forward and
    hybrid dynamics keep them closed, and dh, dscrews and dscrew_rates are refused. Of the rigid
    equations: without damping, friction and springs.  Kim Tables 5, 6, 7.

    Args:
        function: mz.inverse_dynamics, mz.forward_dynamics or mz.hybrid_dynamics.
        model: the mechanism.
        arrays: what the function takes: q, v and a or tau.
        changes: dq (B, nv), along the group; dv, da or dtau (B, nv); dwrenches (B, nb, 6);
            dinertias (B, nb, 10), of the parameters of each body in its frame; dh (B, nb, 6), the
            twists T⁻¹ ∂T of changes of the geometry, body-fixed; dscrews, dscrew_rates (B, 6, nv),
            body-fixed; and ``wrenches`` and ``prescribed`` of the function.

    Returns:
        What the function returns: (B, nv), or a pair of them.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.neutral(), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dtau = mz.directional(mz.inverse_dynamics, arm, q, v, a, da=v)
        >>> np.allclose(dtau, mz.mass_matrix(arm, q) @ v)
        True
    """
    if not isinstance(function, Algorithm) or function not in _DIRECTIONAL:
        known = ", ".join(f"mz.{f.name}" for f in _DIRECTIONAL)
        name = getattr(function, "__name__", repr(function))
        raise ConfigurationError(f"directional: no recursion for {name}; there is one for {known}")
    return _DIRECTIONAL[function](model, *arrays, **changes)


@algorithm
def inverse_dynamics_directional(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    a: JointVector,
    dq: JointVector | None = None,
    dv: JointVector | None = None,
    da: JointVector | None = None,
    dwrenches: ByBody[Wrench] | None = None,
    dinertias: ByBody[Inertia] | None = None,
    dh: ByBody[Twist] | None = None,
    dscrews: JointVector | None = None,
    dscrew_rates: JointVector | None = None,
    wrenches: ByBody[Wrench] | None = None,
) -> BlockArray:
    """∂τ/∂p of `inverse_dynamics`, with every joint an actuator.

    One Newton–Euler recursion with its derivative, O(n).  Kim Table 5. Of the rigid equations:
    without damping, friction and springs.

    Returns:
        (B, nv): ∂τ along the changes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dtau = mz.inverse_dynamics_directional(arm, q, v, a, da=v)
        >>> np.allclose(dtau, mz.mass_matrix(arm, q) @ v)
        True
    """
    given = _Changes(dq, dv, dscrews, dscrew_rates, dh)
    loads, da = _Loads(wrenches, dwrenches, dinertias), _or_zero(da)
    T, h = per_body(model, "T h", Local[RelativePose], Local[Twist])
    V, dV, A, dA = per_body(model, "V dV A dA", Twist, Twist, Twist, Twist)
    W, dW = per_body(model, "W dW", Wrench, Wrench)
    moved = loads.displacements(model)
    dtau = joint_vector(model, "dtau")
    A[model.world] = model.upward
    for i in model.outward():
        p, x = i.parent, _Joint(i, q, v, given)
        T[i], h[i] = i.pose(q[i]), x.h
        V_p, A_p = T[i].pull(V[p]), T[i].pull(A[p])
        V[i] = V_p + x.Sv  # K37
        dV[i] = T[i].pull(dV[p]) - x.h.cross(V_p) + x.dSv  # K87 of K37
        n, dn = x.bias(V[i], dV[i])
        A[i] = A_p + x.S @ a[i] + n  # K41
        carried_over = T[i].pull(dA[p]) - x.h.cross(A_p)  # K87
        dA[i] = carried_over + x.dS @ a[i] + x.S @ da[i] + dn  # K87 of K41
        I, dI = i.inertia, i.frame.push(loads.dinertias[i])
        W[i] = (I @ A[i]).rate() + V[i].cross(I @ V[i]) - i.frame.push(loads.wrenches[i])  # K42
        own = (dI @ A[i] + I @ dA[i]).rate() + _bias_change(I, dI, V[i], dV[i])
        dW[i] = own - i.frame.push(loads.change(i, moved, x.h, T[i]))  # ∂ of K42
    for i in model.inward():
        x = _Joint(i, q, v, given)
        force = zip(x.dS.T @ W[i], x.S.T @ dW[i], i.armature, da[i], strict=True)
        dtau[i] = [s + t + m * e for s, t, m, e in force]
        W[i.parent] += T[i].push(W[i])  # K42
        dW[i.parent] += T[i].push(dW[i] + h[i].cross(W[i]))  # K88 of K42
    return dtau


@algorithm(loops="honour", tells_open="q v")
def forward_dynamics_directional(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    tau: JointVector,
    dq: JointVector | None = None,
    dv: JointVector | None = None,
    dtau: JointVector | None = None,
    dwrenches: ByBody[Wrench] | None = None,
    dinertias: ByBody[Inertia] | None = None,
    dh: ByBody[Twist] | None = None,
    dscrews: JointVector | None = None,
    dscrew_rates: JointVector | None = None,
    wrenches: ByBody[Wrench] | None = None,
) -> BlockArray:
    """∂a/∂p of `forward_dynamics`.

    Articulated bodies with their derivatives, O(n): `hybrid_dynamics_directional` with nothing
    prescribed.  Kim Table 6. With loops, for changes that keep them closed (others: of the rows as
    they are); along dq = v, dv = a, dtau = τ̇ it is the jerk. Changes of the geometry are for trees.
    Of the rigid equations: without damping, friction and springs.

    Returns:
        (B, nv): ∂a along the changes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.forward_dynamics_directional(arm, q, v, tau, dq=v).shape
        (3,)
    """
    given = _Changes(dq, dv, dscrews, dscrew_rates, dh)
    loads = _Loads(wrenches, dwrenches, dinertias)
    return _hybrid(model, q, v, tau, ZERO, given, _or_zero(dtau), ZERO, loads)[1]


@algorithm(loops="honour")
def hybrid_dynamics_directional(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    tau: JointVector,
    a: JointVector,
    prescribed: JointChoice = (),
    dq: JointVector | None = None,
    dv: JointVector | None = None,
    dtau: JointVector | None = None,
    da: JointVector | None = None,
    dwrenches: ByBody[Wrench] | None = None,
    dinertias: ByBody[Inertia] | None = None,
    dh: ByBody[Twist] | None = None,
    dscrews: JointVector | None = None,
    dscrew_rates: JointVector | None = None,
    wrenches: ByBody[Wrench] | None = None,
) -> tuple[BlockArray, BlockArray]:
    """(∂τ/∂p, ∂a/∂p) of `hybrid_dynamics`; ∂a is read where a is prescribed and ∂τ elsewhere.

    Articulated bodies with their derivatives, O(n).  Kim Table 7. With loops, for changes that
    keep them closed, of everything but the geometry. Of the rigid equations: without damping,
    friction and springs.

    Returns:
        dtau (B, nv): ∂τ along the changes.
        da (B, nv): ∂a along the changes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dtau, da = mz.hybrid_dynamics_directional(arm, q, v, a, a, dq=v)
        >>> da.shape
        (3,)
    """
    given = _Changes(dq, dv, dscrews, dscrew_rates, dh)
    loads = _Loads(wrenches, dwrenches, dinertias)
    view = held_by(model, prescribed)
    return _hybrid(view, q, v, tau, a, given, _or_zero(dtau), _or_zero(da), loads)


_DIRECTIONAL: dict[Algorithm, Algorithm] = {
    inverse_dynamics: inverse_dynamics_directional,
    forward_dynamics: forward_dynamics_directional,
    hybrid_dynamics: hybrid_dynamics_directional,
}


# -- what is given --


def _or_zero(x: JointVector | None) -> JointVector:
    return ZERO if x is None else x


class _Loads:
    """Wrenches on the bodies and their changes, and those of the inertias."""

    def __init__(
        self,
        wrenches: ByBody[Wrench] | None,
        dwrenches: ByBody[Wrench] | None,
        dinertias: ByBody[Inertia] | None,
    ):
        self.rep: Rep = wrenches.rep if isinstance(wrenches, HeldWrenches) else "body"
        self.wrenches = given_or_zero(wrenches, Wrench)
        self.dwrenches = given_or_zero(dwrenches, Wrench)
        self.dinertias = given_or_zero(dinertias, Inertia)

    def displacements(self, model: Mechanism) -> PerBody[Twist] | None:
        """Where those of the bodies are kept, if wrenches do not move along with them."""
        return None if self.rep == "body" else per_body(model, "moved", Twist)

    def change(
        self, i: BodyView, moved: PerBody[Twist] | None, h: Twist, T: RelativePose
    ) -> Wrench:
        """∂ of the body-fixed wrench; h: how the joint is displaced, which adds up in `moved`."""
        if moved is None:
            return self.dwrenches[i]
        moved[i] = T.pull(moved[i.parent]) + h
        back = carried_back(self.wrenches[i], i.frame.pull(moved[i]), self.rep)
        return self.dwrenches[i] + back


# -- the joint and its changes --


class _Changes:
    """What is given of the changes of joints."""

    def __init__(
        self,
        dq: JointVector | None,
        dv: JointVector | None,
        dscrews: JointVector | None,
        dscrew_rates: JointVector | None,
        dh: ByBody[Twist] | None,
    ):
        self.dq, self.dv = _or_zero(dq), _or_zero(dv)
        self.dscrews, self.dscrew_rates = dscrews, dscrew_rates
        self.dh = given_or_zero(dh, Twist)


class _Joint:
    """S, S v and Ṡ v of the joint of a body, with their changes ∂S, ∂(S v), and ∂h."""

    def __init__(self, i: BodyView, q: JointVector, v: JointVector, given: _Changes):
        joint, dq = i.joint, given.dq[i]
        self.joint, self.v, self.dv = joint, v[i], given.dv[i]
        self.S = joint.screws(q[i])
        self.rate = joint.screws_rate(q[i], v[i])
        own = joint.screws_rate(q[i], dq)
        self.more = _given_screws(i, given.dscrew_rates)
        self.h = self.S @ dq + i.frame.push(given.dh[i])  # K89, K90
        self.Sv = self.S @ v[i]
        self.drate = _second_change(joint, self.S, own, self.v, self.dv) + self.more
        self.dS = own + _given_screws(i, given.dscrews)
        self.dSv = self.dS @ v[i] + self.S @ self.dv

    def bias(self, V: Twist, dV: Twist) -> tuple[Twist, Twist]:
        """η = V × S v + Ṡ v, and ∂η."""
        n = V.cross(self.Sv) + self.rate @ self.v
        dn = dV.cross(self.Sv) + V.cross(self.dSv) + self.drate @ self.v + self.rate @ self.dv
        return n, dn


def _given_screws(i: BodyView, array: JointVector | None) -> Screws[Twist]:
    """The columns of a body in an array (6, nv), moved from the body's frame to its joint."""
    if array is None:
        return Screws((Twist.zero(),) * i.joint.nv)
    flat, n = array[i], i.joint.nv
    return Screws(i.frame.push(Twist.unflatten(flat[c::n])) for c in range(n))


def _second_change(
    joint: Joint,
    S: Screws[Twist],
    dS: Screws[Twist],
    v: Sequence[Real],
    dv: Sequence[Real],
) -> Screws[Twist]:
    """∂Ṡ, where Ṡ_c = [S_c, W_c] with the twist W_c = Σ S_k v_k of the later factors k."""
    label = stages(joint)
    changed: list[Twist] = []
    for c in range(joint.nv):
        W, dW = Twist.zero(), Twist.zero()
        for k in range(joint.nv):
            if label[k] > label[c]:
                W, dW = W + S[k] * v[k], dW + dS[k] * v[k] + S[k] * dv[k]
        changed.append(dS[c].cross(W) + S[c].cross(dW))
    return Screws(changed)


def _bias_change(I: Inertia, dI: Inertia, V: Twist, dV: Twist) -> Wrench:
    """∂(V ×* I V)."""
    return dV.cross(I @ V) + V.cross(dI @ V + I @ dV)


# -- articulated bodies and their changes --


def _hybrid(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    tau: JointVector,
    a: JointVector,
    given: _Changes,
    dtau: JointVector,
    da: JointVector,
    loads: _Loads,
) -> tuple[BlockArray, BlockArray]:
    wrenches, dinertias = loads.wrenches, loads.dinertias
    T, h = per_body(model, "T h", Local[RelativePose], Local[Twist])
    n, dn = per_body(model, "n dn", Local[Twist], Local[Twist])
    u, du = per_body(model, "u du", Local[Sequence[Real]], Local[Sequence[Real]])
    U, dU = per_body(model, "U dU", Local[Screws[Wrench]], Local[Screws[Wrench]])
    D, dD = per_body(model, "D dD", Local[Block], Local[Block])
    V, dV, A, dA = per_body(model, "V dV A dA", Twist, Twist, Twist, Twist)
    B, dB = per_body(model, "B dB", Wrench, Wrench)
    moved = loads.displacements(model)
    P, dP = per_body(model, "P dP", ArticulatedInertia, ArticulatedInertia)
    tau_out, a_out = joint_vector(model, "dtau_out"), joint_vector(model, "da_out")
    A[model.world] = model.upward
    check_inertias(model)

    for i in model.outward():
        p, x = i.parent, _Joint(i, q, v, given)
        T[i], h[i] = i.pose(q[i]), x.h
        V_p = T[i].pull(V[p])
        V[i] = V_p + x.Sv  # K37
        dV[i] = T[i].pull(dV[p]) - x.h.cross(V_p) + x.dSv  # K87 of K37
        S, dS = held_screws(i, x.S), held_screws(i, x.dS)
        eta, deta = x.bias(V[i], dV[i])
        n[i] = eta + S @ held(i, a[i])  # K41: η
        dn[i] = deta + dS @ held(i, a[i]) + S @ held(i, da[i])  # ∂ of K41
        I, dI = i.inertia, i.frame.push(dinertias[i])
        P[i], dP[i] = I.articulated(), dI.articulated()
        B[i] = V[i].cross(I @ V[i]) - i.frame.push(wrenches[i])  # K50
        load = loads.change(i, moved, x.h, T[i])
        dB[i] = _bias_change(I, dI, V[i], dV[i]) - i.frame.push(load)  # ∂ of K50

    for i in model.inward():
        x = _Joint(i, q, v, given)
        S, dS = free_screws(i, x.S), free_screws(i, x.dS)
        U[i], dU[i] = P[i] @ S, dP[i] @ S + P[i] @ dS  # K45: Î S
        D[i] = inverse_inertia(i, diagonal_plus(S.T @ U[i], free(i, i.armature)))  # K45: Ψ
        dD[i] = negated(product(D[i], product(summed(dS.T @ U[i], S.T @ dU[i]), D[i])))  # K45
        u[i] = minus(free(i, tau[i]), S.T @ B[i])  # K45: τ − SᵀB̂
        du[i] = minus(free(i, dtau[i]), plus(dS.T @ B[i], S.T @ dB[i]))  # ∂ of K45
        Pi, dPi, beta, dbeta = P[i], dP[i], B[i] + P[i] @ n[i], dB[i] + dP[i] @ n[i] + P[i] @ dn[i]
        if len(S):
            Pi = P[i] - outer(U[i], D[i], U[i])
            mixed = outer(dU[i], D[i], U[i])
            dPi = dP[i] - (outer(U[i], dD[i], U[i]) + mixed)
            e = apply(D[i], minus(u[i], U[i].T @ n[i]))
            de = plus(
                apply(dD[i], minus(u[i], U[i].T @ n[i])),
                apply(D[i], minus(du[i], plus(dU[i].T @ n[i], U[i].T @ dn[i]))),
            )
            beta, dbeta = beta + U[i] @ e, dbeta + dU[i] @ e + U[i] @ de
        P[i.parent] += T[i].push(Pi)  # K49
        dP[i.parent] += T[i].push(dPi + carried(Pi, h[i]))  # K88 of K49
        B[i.parent] += T[i].push(beta)  # K50
        dB[i.parent] += T[i].push(dbeta + h[i].cross(beta))  # K88 of K50

    for i in model.outward():
        x = _Joint(i, q, v, given)
        S, dS = free_screws(i, x.S), free_screws(i, x.dS)
        A_p = T[i].pull(A[i.parent])
        X, dX = A_p + n[i], T[i].pull(dA[i.parent]) - h[i].cross(A_p) + dn[i]
        e = minus(u[i], U[i].T @ X)
        de = minus(du[i], plus(dU[i].T @ X, U[i].T @ dX))
        y, dy = apply(D[i], e), plus(apply(dD[i], e), apply(D[i], de))
        A[i], dA[i] = X + S @ y, dX + dS @ y + S @ dy  # K41
        a_out[i] = merge(i, dy, held(i, da[i]))  # K45
        S, dS = held_screws(i, x.S), held_screws(i, x.dS)
        F, dF = P[i] @ A[i] + B[i], dP[i] @ A[i] + P[i] @ dA[i] + dB[i]
        rotor = [m * y for m, y in zip(held(i, i.armature), held(i, da[i]), strict=True)]
        tau_out[i] = merge(i, free(i, dtau[i]), plus(plus(dS.T @ F, S.T @ dF), rotor))  # K43
    return tau_out, a_out


def outer(U: Screws[Wrench], D: Block, W: Screws[Wrench]) -> ArticulatedInertia:
    """U D Wᵀ where U is W, else U D Wᵀ + W D Uᵀ (D is symmetric)."""
    total = ArticulatedInertia.zero()
    for r, row in enumerate(D):
        for c, d in enumerate(row):
            total = total + _dyad(U[r], W[c] * d, U is not W)
    return total


def _dyad(x: Wrench, y: Wrench, both: bool) -> ArticulatedInertia:
    J, H, M = x.ang.outer(y.ang), x.ang.outer(y.lin), x.lin.outer(y.lin)
    if both:
        J, M = J + y.ang.outer(x.ang), M + y.lin.outer(x.lin)
        H = H + y.ang.outer(x.lin)
    return ArticulatedInertia(J.sym(), H, M.sym())


def carried(P: ArticulatedInertia, h: Twist) -> ArticulatedInertia:
    """The change of an articulated inertia that moves along with the twist h:  h ×* P − P h ×."""
    w, u = h.ang.hat(), h.lin.hat()
    J, M = P.J.mat(), P.M.mat()
    Jw, Mw = w @ J + u @ P.H.T, w @ M
    return ArticulatedInertia((Jw + Jw.T).sym(), w @ P.H - P.H @ w + u @ M, (Mw + Mw.T).sym())
