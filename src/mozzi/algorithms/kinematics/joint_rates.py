"""Joint velocities and accelerations from the twists of all bodies: overall inverse kinematics."""

from __future__ import annotations

from typing import Any

from mozzi.algorithms.kinematics.accelerations import accelerations
from mozzi.algorithms.recursion.algorithm import algorithm
from mozzi.algorithms.recursion.containers import joint_vector, per_body
from mozzi.algorithms.recursion.representations import check, to_body, turning
from mozzi.errors import known
from mozzi.lie import SE3, ArticulatedInertia, Mat3, Sym3, Twist, Wrench, inverse_spd
from mozzi.types import Rep, Residual

__all__ = ["joint_accelerations", "joint_rates"]


@algorithm
def joint_rates(
    model: Any,
    q: Any,
    twists: Any,
    rep: Rep = "body",
    weights: Any = None,
    residual: Residual = "absolute",
    regularization: float = 0.0,
) -> Any:
    """v with V = J v, from the twists V of all bodies; where they disagree, the least squares.

    residual="absolute" minimises Σ_i |V_i − J_i v|² in the coordinates of the representation, each
    entry weighted by `weights` (nb, 6): the normal equations are those of a mechanism whose bodies
    have these weights as inertias, and are solved in O(n) as forward dynamics is.
    residual="relative" minimises the squares of V_i − V_p − J_ii v_i in body frames, joint by
    joint: Müller, Kinematics (26), (34). `regularization` is added to the squares of v: give some
    where weights leave joints unobserved.

    Returns:
        (B, nv): joint velocities.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.joint_rates(arm, q, mz.twists(arm, q, v)), v)
        True
    """
    if residual not in _SOLVE:
        raise ValueError(f"residual {residual!r}; there are {known(residual, _SOLVE)}")
    return _SOLVE[residual](model, q, twists, check(rep), weights, regularization)


@algorithm
def joint_accelerations(
    model: Any,
    q: Any,
    v: Any,
    twist_rates: Any,
    rep: Rep = "body",
    weights: Any = None,
    residual: Residual = "absolute",
    regularization: float = 0.0,
) -> Any:
    """a with V̇ = J a + J̇ v, from the rates V̇ of the twists of all bodies, as `joint_rates`.

    Müller, Dynamics (11).

    Returns:
        (B, nv): joint accelerations.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> np.allclose(mz.joint_accelerations(arm, q, v, mz.accelerations(arm, q, v, a)), a)
        True
    """
    rest = joint_vector(model, "rest")
    known = accelerations(model, q, v, rest, rep)
    return joint_rates(
        model, q, _Difference(twist_rates, known), rep, weights, residual, regularization
    )


class _Difference:
    """A body array of twists minus another."""

    def __init__(self, V: Any, W: Any):
        self.V, self.W = V, W

    def __getitem__(self, i: Any) -> Twist:
        return self.V[i] - Twist.unflatten(self.W[i])


def _spd(S: Any, W: Any, regularization: float) -> tuple[Any, Any]:
    """W S and (Sᵀ W S + regularization)⁻¹."""
    U = W @ S
    D = [[x + regularization if r == c else x for c, x in enumerate(row)]
         for r, row in enumerate(S.T @ U)]  # fmt: skip
    return U, inverse_spd(D)


def _apply(D: Any, x: Any) -> list[Any]:
    return [sum((d * e for d, e in zip(row, x)), 0.0) for row in D]


def _weight(w: Any) -> ArticulatedInertia:
    x = (1.0,) * 6 if w is None else w
    return ArticulatedInertia(Sym3.diagonal(*x[:3]), Mat3.zero(), Sym3.diagonal(*x[3:]))


def _observed(
    model: Any, q: Any, twists: Any, rep: Rep, weights: Any, i: Any, C: SE3
) -> tuple[ArticulatedInertia, Twist]:
    """The weights and the twist of body i, body-fixed in the user's frame."""
    F = C @ i.frame
    V = to_body(twists[i], F, rep)
    W = _weight(None if weights is None else weights[i])
    if weights is not None and rep in ("hybrid", "mixed"):
        turned = turning(F.R).pull(W)
        W = turned if rep == "hybrid" else ArticulatedInertia(W.J, W.H, turned.M)
    return W, V


def _absolute(
    model: Any, q: Any, twists: Any, rep: Rep, weights: Any, regularization: float
) -> Any:
    T, S, U, D, u = per_body(model, T="local", S="local", U="local", D="local", u="local")
    C, V, b, I = per_body(model, C=SE3, V=Twist, b=Wrench, I=ArticulatedInertia)
    v = joint_vector(model, "v")
    for i in model.outward():
        pose = i.pose(q[i])
        C[i] = C[i.parent] @ pose
        if rep == "spatial":
            S[i], T[i] = C[i].push(i.joint.screws(q[i])), _STAY
            I[i], seen = _weight(None if weights is None else weights[i]), twists[i]
        else:
            S[i], T[i] = i.joint.screws(q[i]), pose
            W, seen = _observed(model, q, twists, rep, weights, i, C[i])
            I[i], seen = i.frame.push(W), i.frame.push(seen)
        b[i] = I[i] @ seen
    for i in model.inward():
        U[i], D[i] = _spd(S[i], I[i], regularization)
        u[i] = tuple(S[i].T @ b[i])
        I[i.parent] += T[i].push(I[i].project(S[i], U[i], D[i]))
        b[i.parent] += T[i].push(b[i] - U[i] @ _apply(D[i], u[i]))
    for i in model.outward():
        X = T[i].pull(V[i.parent])
        v[i] = rate = _apply(D[i], [x - y for x, y in zip(u[i], U[i].T @ X)])
        V[i] = X + S[i] @ rate
    return v


class _Stay:
    """The transformation of spatial quantities from body to body: none."""

    __slots__ = ()

    def pull(self, x: Any) -> Any:
        return x

    push = pull


_STAY = _Stay()


def _relative(
    model: Any, q: Any, twists: Any, rep: Rep, weights: Any, regularization: float
) -> Any:
    C, V = per_body(model, C=SE3, V=Twist)  # V: at the joint frames
    v = joint_vector(model, "v")
    for i in model.outward():
        T = i.pose(q[i])
        C[i] = C[i.parent] @ T
        W, seen = _observed(model, q, twists, rep, weights, i, C[i])
        V[i] = i.frame.push(seen)
        X = i.frame.pull(i.joint.screws(q[i]))
        U, D = _spd(X, W, regularization)
        v[i] = _apply(D, U.T @ i.frame.pull(V[i] - T.pull(V[i.parent])))  # MK26
    return v


_SOLVE = {"absolute": _absolute, "relative": _relative}
