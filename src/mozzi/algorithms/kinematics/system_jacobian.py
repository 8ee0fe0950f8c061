"""The system Jacobian as a product, J = A X, and A as the inverse of 1 − D.

X is block diagonal: the screws of every joint at its own body. A carries twists outward along the
tree; it is (1 − D)⁻¹, where D carries them from each body to its children only, and Dⁿ = 0. In the
spatial representation nothing has to be carried, D is made of ones: so every representation is
carried by going to the spatial one and back. Applied to vectors, each factor is an O(n) recursion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from mozzi.algorithms.calls.algorithm import Algorithm, algorithm
from mozzi.algorithms.calls.guard import fitting
from mozzi.algorithms.recursion.containers import BlockArray, body_array, joint_vector, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.representations import check, convert, from_body
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector, PerBody
from mozzi.checked import checked
from mozzi.errors import ConfigurationError
from mozzi.lie import SE3, Screws, Twist, Wrench
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.program.node import active
from mozzi.types import Array, ArrayLike, Rep, ScrewRep

__all__ = ["Operator", "SystemJacobianFactors", "system_jacobian_factors"]

Moved = TypeVar("Moved", Twist, Wrench)


# -- the actions, O(n) -----------------------------------------------------------------------------


def _poses(model: Mechanism, q: JointVector) -> tuple[PerBody[SE3], PerBody[SE3]]:
    """The pose of every body's joint frame, and of its reference A_i (the body frame at q = 0)."""
    C, A = per_body(model, "C A", SE3, SE3)
    for i in model.outward():
        C[i] = C[i.parent] @ i.pose(q[i])
        A[i] = A[i.parent] @ (i.placement @ i.joint.pose(i.joint.neutral()))
    return C, A


def _to_spatial(x: Moved, C: SE3, A: SE3, i: BodyView, rep: ScrewRep) -> Moved:
    """What is given at body i in a representation, or at the reference, as spatial."""
    if rep == "reference":
        return C.push(A.pull(x))  # Y_i = Ad_{A_i} X_i: MK12, MK28
    return convert(x, C @ i.frame, rep, "spatial")


def _from_spatial(x: Moved, C: SE3, A: SE3, i: BodyView, rep: ScrewRep) -> Moved:
    if rep == "reference":
        return A.push(C.pull(x))
    return convert(x, C @ i.frame, "spatial", rep)


@algorithm
def _carry(
    model: Mechanism, q: JointVector, twists: ByBody[Twist], rep: Rep, screws: ScrewRep
) -> BlockArray:
    """A y: V_i = Σ_{j ≤ i} of y_j.  Müller, Kinematics (24), (33), (44)."""
    C, A = _poses(model, q)
    V, out = per_body(model, "V", Twist), body_array(model, 6)
    for i in model.outward():
        V[i] = V[i.parent] + _to_spatial(twists[i], C[i], A[i], i, screws)
        out[i] = _from_spatial(V[i], C[i], A[i], i, rep)
    return out


@algorithm
def _carry_transposed(
    model: Mechanism, q: JointVector, wrenches: ByBody[Wrench], rep: Rep, screws: ScrewRep
) -> BlockArray:
    """Aᵀ w."""
    C, A = _poses(model, q)
    W, out = per_body(model, "W", Wrench), body_array(model, 6)
    for i in model.outward():
        W[i] = _to_spatial(wrenches[i], C[i], A[i], i, rep)
    for i in model.inward():
        out[i] = _from_spatial(W[i], C[i], A[i], i, screws)
        W[i.parent] += W[i]
    return out


@algorithm
def _release(
    model: Mechanism, q: JointVector, twists: ByBody[Twist], rep: Rep, screws: ScrewRep
) -> BlockArray:
    """A⁻¹ V: what each body adds to its parent.  Müller, Kinematics (25), (34), (45)."""
    C, A = _poses(model, q)
    V, out = per_body(model, "V", Twist), body_array(model, 6)
    for i in model.outward():
        V[i] = _to_spatial(twists[i], C[i], A[i], i, rep)
        out[i] = _from_spatial(V[i] - V[i.parent], C[i], A[i], i, screws)
    return out


@algorithm
def _release_transposed(
    model: Mechanism, q: JointVector, wrenches: ByBody[Wrench], rep: Rep, screws: ScrewRep
) -> BlockArray:
    """A⁻ᵀ w."""
    C, A = _poses(model, q)
    own, W, out = *per_body(model, "own W", Wrench, Wrench), body_array(model, 6)
    for i in model.outward():
        own[i] = W[i] = _to_spatial(wrenches[i], C[i], A[i], i, screws)
    for i in model.inward():
        out[i] = _from_spatial(W[i], C[i], A[i], i, rep)
        W[i.parent] += -own[i]
    return out


@algorithm
def _pass(
    model: Mechanism, q: JointVector, twists: ByBody[Twist], rep: Rep, screws: ScrewRep
) -> BlockArray:
    """D y: the parent's y, carried to the child.  Müller, Kinematics (22), (45)."""
    C, A = _poses(model, q)
    V, out = per_body(model, "V", Twist), body_array(model, 6)
    for i in model.outward():
        V[i] = _to_spatial(twists[i], C[i], A[i], i, rep)
        out[i] = _from_spatial(V[i.parent], C[i], A[i], i, rep)
    return out


@algorithm
def _pass_transposed(
    model: Mechanism, q: JointVector, wrenches: ByBody[Wrench], rep: Rep, screws: ScrewRep
) -> BlockArray:
    """Dᵀ w."""
    C, A = _poses(model, q)
    W, out = per_body(model, "W", Wrench), body_array(model, 6)
    for i in model.outward():
        W[i] = Wrench.zero()
    for i in model.inward():
        out[i] = _from_spatial(W[i], C[i], A[i], i, rep)
        W[i.parent] += _to_spatial(wrenches[i], C[i], A[i], i, rep)
    return out


def _screws(i: BodyView, q: JointVector, C: SE3, A: SE3, screws: ScrewRep) -> Screws[Twist]:
    """The screws of joint i: ⁱX_i, J_iˢ, ⁰X_iⁱ, their mixed form, or Y_i."""
    S = i.joint.screws(q[i])
    return A.push(S) if screws == "reference" else from_body(i.frame.pull(S), C @ i.frame, screws)


@algorithm
def _span(
    model: Mechanism, q: JointVector, v: JointVector, rep: Rep, screws: ScrewRep
) -> BlockArray:
    """X v."""
    C, A = _poses(model, q)
    out = body_array(model, 6)
    for i in model.outward():
        out[i] = _screws(i, q, C[i], A[i], screws) @ v[i]
    return out


@algorithm
def _span_transposed(
    model: Mechanism, q: JointVector, wrenches: ByBody[Wrench], rep: Rep, screws: ScrewRep
) -> BlockArray:
    """Xᵀ w."""
    C, A = _poses(model, q)
    out = joint_vector(model)
    for i in model.outward():
        out[i] = _screws(i, q, C[i], A[i], screws).T @ wrenches[i]
    return out


# -- operators -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Operator:
    """A linear map between joint velocities (nv,) and twists of all bodies (6 nb,).

    `F @ x` applies it in O(n), over leading batch axes of x and of the configuration. `F.T` is its
    transpose, `F @ G` the product, `F.inverse()` the inverse where there is one, and `F.matrix()`
    (or `numpy.asarray(F)`) the matrix.
    """

    model: Model
    q: Array
    options: dict[str, str]
    action: Algorithm
    dual: Algorithm
    columns: int
    inverse_pair: tuple[Algorithm, Algorithm] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the matrix, behind the batch axes of the configuration."""
        return (*np.shape(self.q)[:-1], self._rows, self.columns)

    @property
    def _rows(self) -> int:
        return self.model.nv if self.action is _span_transposed else 6 * self.model.nb

    @property
    def T(self) -> Operator:
        """The transpose."""
        pair = None if self.inverse_pair is None else (self.inverse_pair[1], self.inverse_pair[0])
        head = self.model, self.q, self.options
        return Operator(*head, self.dual, self.action, self._rows, pair)

    def inverse(self) -> Operator:
        """A⁻¹ of A, in O(n) as well."""
        if self.inverse_pair is None:
            raise TypeError("this factor has no inverse; A has one")
        pair = self.action, self.dual
        return Operator(self.model, self.q, self.options, *self.inverse_pair, self.columns, pair)

    def __matmul__(self, other: Operator | ArrayLike) -> Array:
        if isinstance(other, Operator):
            return np.moveaxis(self._apply(self.q[..., None, :], _rows(other.matrix())), -1, -2)
        return self._apply(self.q, np.asarray(other))

    def _apply(self, q: Array, x: Array) -> Array:
        if x.shape[-1:] != (self.columns,):
            raise ConfigurationError(
                f"a vector of shape {x.shape}; this factor takes (..., {self.columns})"
            )
        joints = self.action is _span
        y = x if joints else x.reshape((*x.shape[:-1], self.model.nb, 6))
        y = self.action(self.model, q, y, **self.options)
        return y if self.action is _span_transposed else y.reshape((*y.shape[:-2], self._rows))

    def matrix(self) -> Array:
        """The matrix."""
        unit = np.eye(self.columns)
        if active() is not None:
            return np.stack([self @ e for e in unit], axis=-1)
        return np.moveaxis(self._apply(self.q[..., None, :], unit), -1, -2)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.asarray(self.matrix(), dtype=dtype)


def _rows(M: Array) -> Array:
    return np.ascontiguousarray(np.moveaxis(M, -1, -2))


class SystemJacobianFactors(NamedTuple):
    """J = A X, and A⁻¹ = 1 − D (in the representation of the twists)."""

    A: Operator
    X: Operator

    @property
    def D(self) -> Operator:
        """The nilpotent matrix with A = 1 + D + D² + …, for screws in the twists' own form."""
        A, rep = self.A, self.A.options["rep"]
        own = {"rep": rep, "screws": rep}
        return Operator(A.model, A.q, own, _pass, _pass_transposed, A.columns)


@checked
def system_jacobian_factors(
    model: Model, q: ArrayLike, rep: Rep = "body", screws: ScrewRep | None = None
) -> SystemJacobianFactors:
    """The factors of the system Jacobian, J = A X, as operators that act in O(n).

    X holds the joints' screws in the representation `screws` (by default that of the twists), or
    at the reference configuration ("reference": Y_i; where the screws of a joint depend on its q,
    as those of products do, S(q) seen from there). So rep="spatial" with screws "body",
    "hybrid" and "reference" are the three forms of Müller, Kinematics (MK), 32; rep="mixed" with
    screws "hybrid" is MK53; the default is MK23, MK43. `A.inverse()` is MK25, MK34, MK45; `.D` is
    MK22, MK45.

    Args:
        model: the mechanism.
        q (B, nq): configuration.
        rep: representation of the twists: "body", "spatial", "hybrid" or "mixed".
        screws: representation of the joints' screws: one of these, or "reference"; None: as rep.

    Returns:
        (A, X): operators (6 nb, 6 nb) and (6 nb, nv) with ``@``, `inverse` and `matrix`.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> A, X = mz.system_jacobian_factors(arm, arm.neutral())
        >>> np.allclose(A @ X, mz.system_jacobian(arm, arm.neutral()))
        True
    """
    as_model(model, "system_jacobian_factors")
    check(rep)
    screws = check(rep) if screws is None else screws
    if screws != "reference":
        check(screws)
    options = {"rep": rep, "screws": screws}
    if active() is None:
        (q,) = fitting("system_jacobian_factors", model, q=q)
    q = np.asarray(q)
    pair = _release, _release_transposed
    A = Operator(model, q, options, _carry, _carry_transposed, 6 * model.nb, pair)
    return SystemJacobianFactors(A, Operator(model, q, options, _span, _span_transposed, model.nv))
