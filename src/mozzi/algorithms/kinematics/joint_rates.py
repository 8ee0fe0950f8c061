"""Joint velocities and accelerations from the twists of all bodies: overall inverse kinematics."""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.kinematics.accelerations import accelerations
from mozzi.algorithms.recursion.articulated import ROUNDING
from mozzi.algorithms.recursion.blocks import Block, apply, diagonal_plus, minus
from mozzi.algorithms.recursion.containers import BlockArray, Local, joint_vector, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.representations import check, to_body, turning
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector
from mozzi.errors import ConfigurationError, SingularError, known
from mozzi.lie import SE3, ArticulatedInertia, Mat3, Screws, Sym3, Twist, Wrench, inverse_spd
from mozzi.model import Composite, Model
from mozzi.program.scalar import Real
from mozzi.types import Rep, Residual

__all__ = ["joint_accelerations", "joint_rates"]

T = TypeVar("T")
Weights: TypeAlias = ByBody[Sequence[Real]]
"""Of every entry of a body's twist."""


@algorithm
def joint_rates(
    model: Mechanism,
    q: JointVector,
    twists: ByBody[Twist],
    rep: Rep = "body",
    weights: Weights | None = None,
    residual: Residual = "absolute",
    regularization: float = 0.0,
) -> BlockArray:
    """v with V = J v, from the twists V of all bodies; where they disagree, the least squares.

    residual="absolute" minimises Σ_i |V_i − J_i v|² in the coordinates of the representation, each
    entry weighted by `weights` (nb, 6): the normal equations are those of a mechanism whose bodies
    have these weights as inertias, and are solved in O(n) as forward dynamics is.
    residual="relative" minimises the squares of V_i − V_p − J_ii v_i in body frames, joint by
    joint: Müller, Kinematics (26), (34). `regularization` is added to the squares of v: give some
    where weights leave joints unobserved, or where coordinates of a joint move its body alike.

    Returns:
        (B, nv): joint velocities.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.joint_rates(arm, q, mz.twists(arm, q, v)), v)
        True
    """
    if residual not in _SOLVE:
        raise ConfigurationError(f"residual {residual!r}; there are {known(residual, _SOLVE)}")
    if not regularization:
        _check_seen(model.model.nominal or model.model)
    return _SOLVE[residual](model, q, twists, check(rep), weights, regularization)


def _check_seen(model: Model) -> None:
    """Twists tell the velocities of every joint."""
    for body in model:
        joint = body.joint
        if joint.mobility < joint.nv:
            raise SingularError(
                f"joint {body.joint_name!r} has {joint.nv} coordinates that move its body in "
                f"{joint.mobility} ways only, so twists determine no velocities; leave out a "
                "factor, or give regularization="
            )


@algorithm
def joint_accelerations(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    twist_rates: ByBody[Twist],
    rep: Rep = "body",
    weights: Weights | None = None,
    residual: Residual = "absolute",
    regularization: float = 0.0,
) -> BlockArray:
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

    def __init__(self, V: ByBody[Twist], W: BlockArray):
        self.V, self.W = V, W

    def __getitem__(self, i: BodyView) -> Twist:
        return self.V[i] - Twist.unflatten(self.W[i])


def _spd(
    i: BodyView, S: Screws[Twist], W: ArticulatedInertia, regularization: float
) -> tuple[Screws[Wrench], Block]:
    """W S and (Sᵀ W S + regularization)⁻¹; none where screws of a product depend on each other."""
    U = W @ S
    least = ROUNDING if isinstance(i.joint, Composite) else 0.0
    return U, inverse_spd(diagonal_plus(S.T @ U, [regularization] * len(S)), least)


def _weight(w: Sequence[Real] | None) -> ArticulatedInertia:
    x = (1.0,) * 6 if w is None else w
    return ArticulatedInertia(Sym3.diagonal(*x[:3]), Mat3.zero(), Sym3.diagonal(*x[3:]))


def _observed(
    model: Mechanism,
    q: JointVector,
    twists: ByBody[Twist],
    rep: Rep,
    weights: Weights | None,
    i: BodyView,
    C: SE3,
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
    model: Mechanism,
    q: JointVector,
    twists: ByBody[Twist],
    rep: Rep,
    weights: Weights | None,
    regularization: float,
) -> BlockArray:
    T, S = per_body(model, "T S", Local[RelativePose | _Stay], Local[Screws[Twist]])
    U, D, u = per_body(model, "U D u", Local[Screws[Wrench]], Local[Block], Local[Sequence[Real]])
    C, V, b, I = per_body(model, "C V b I", SE3, Twist, Wrench, ArticulatedInertia)
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
        U[i], D[i] = _spd(i, S[i], I[i], regularization)
        u[i] = tuple(S[i].T @ b[i])
        I[i.parent] += T[i].push(I[i].project(S[i], U[i], D[i]))
        b[i.parent] += T[i].push(b[i] - U[i] @ apply(D[i], u[i]))
    for i in model.outward():
        X = T[i].pull(V[i.parent])
        v[i] = rate = apply(D[i], minus(u[i], U[i].T @ X))
        V[i] = X + S[i] @ rate
    return v


class _Stay:
    """The transformation of spatial quantities from body to body: none."""

    __slots__ = ()

    def pull(self, x: T) -> T:
        return x

    push = pull


_STAY = _Stay()


def _relative(
    model: Mechanism,
    q: JointVector,
    twists: ByBody[Twist],
    rep: Rep,
    weights: Weights | None,
    regularization: float,
) -> BlockArray:
    C, V = per_body(model, "C V", SE3, Twist)  # V: at the joint frames
    v = joint_vector(model, "v")
    for i in model.outward():
        T = i.pose(q[i])
        C[i] = C[i.parent] @ T
        W, seen = _observed(model, q, twists, rep, weights, i, C[i])
        V[i] = i.frame.push(seen)
        X = i.frame.pull(i.joint.screws(q[i]))
        U, D = _spd(i, X, W, regularization)
        v[i] = apply(D, U.T @ i.frame.pull(V[i] - T.pull(V[i.parent])))  # MK26
    return v


Solve: TypeAlias = Callable[
    [Mechanism, JointVector, ByBody[Twist], Rep, Weights | None, float], BlockArray
]

_SOLVE: dict[Residual, Solve] = {"absolute": _absolute, "relative": _relative}
