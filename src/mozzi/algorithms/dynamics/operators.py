"""The spatial operators of a mechanism at a configuration: linear maps that act in O(n).

Rodriguez, Jain, Kreutz-Delgado. Stacked quantities hold six numbers per body, body-fixed, in the
order of the model's bodies: from base to tip, where the paper counts from tip to base, so that its
lower triangular operators are upper triangular here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.dynamics.operational_admittance import UNITS, Compliance, compliances
from mozzi.algorithms.recursion.articulated import articulated, articulated_containers
from mozzi.algorithms.recursion.blocks import diagonal_plus
from mozzi.algorithms.recursion.containers import (
    BlockArray,
    Local,
    body_array,
    joint_array,
    joint_matrix,
    per_body,
)
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose, mechanism
from mozzi.algorithms.recursion.views import JointVector
from mozzi.model import Model
from mozzi.types import Array, ArrayLike

__all__ = ["LinearOperator", "Operators", "operators"]


def operators(model: Model, q: ArrayLike) -> Operators:
    """The spatial operators at q: E_φ, φ, H, M, P, D, G, K, τ̄, E_ψ, ψ, Υ, Ω and what they make.

    ``o = operators(model, q)``; ``o.H @ (o.phi @ f)`` are the joint forces of body wrenches f. All
    have ``@`` (on vectors, matrices of columns, each other), sums, multiples, ``o.psi - 1`` with
    the identity of the right size, ``.T``, ``.shape`` and ``.dense()``.

    Args:
        model: the mechanism.
        q (B, nq): configuration.

    Returns:
        The operators, by their letters; with `mass_matrix`, its factors and its inverse.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> o = mz.operators(arm, arm.neutral())
        >>> np.allclose(o.mass_matrix.dense(), mz.mass_matrix(arm, arm.neutral()))
        True
    """
    return Operators(model, *_blocks(model, q))


class LinearOperator:
    """A linear map, known by what it does. `@` follows NumPy: 1-D arrays are vectors, else the last
    two axes are matrices, behind the batch axes of the configuration."""

    shape: tuple[int, int]

    def apply(self, x: np.ndarray) -> np.ndarray:
        """The image of the columns of x (..., n, k)."""
        raise NotImplementedError

    @property
    def T(self) -> LinearOperator:
        """The transpose."""
        raise NotImplementedError

    @overload
    def __matmul__(self, x: LinearOperator) -> LinearOperator: ...
    @overload
    def __matmul__(self, x: ArrayLike) -> np.ndarray: ...
    def __matmul__(self, x: LinearOperator | ArrayLike) -> LinearOperator | np.ndarray:
        if isinstance(x, LinearOperator):
            return Product(self, x)
        x = np.asarray(x)
        if x.shape[-1 if x.ndim == 1 else -2] != self.shape[1]:
            raise ValueError(f"an operator of shape {self.shape} does not act on {x.shape}")
        return self.apply(x[:, None])[..., 0] if x.ndim == 1 else self.apply(x)

    def __add__(self, other: LinearOperator | float) -> LinearOperator:
        return Sum(self, self._operator(other))

    __radd__ = __add__

    def __sub__(self, other: LinearOperator | float) -> LinearOperator:
        return Sum(self, self._operator(other), -1.0)

    def __rsub__(self, other: float) -> LinearOperator:
        return Sum(self._operator(other), self, -1.0)

    def __mul__(self, scale: float) -> LinearOperator:
        return Multiple(self, float(scale))

    __rmul__ = __mul__

    def __neg__(self) -> LinearOperator:
        return Multiple(self, -1.0)

    def _operator(self, x: LinearOperator | float) -> LinearOperator:
        """A number as that multiple of the identity of the right size: 1 + H φ K."""
        if isinstance(x, LinearOperator):
            return x
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"no identity is added to an operator of shape {self.shape}")
        one = Identity(self.shape[0])
        return one if x == 1 else Multiple(one, float(x))

    def dense(self) -> np.ndarray:
        """The matrix."""
        return self.apply(np.eye(self.shape[1]))


class Identity(LinearOperator):
    """1."""

    def __init__(self, n: int):
        self.shape = (n, n)

    def apply(self, x: np.ndarray) -> np.ndarray:
        return x

    @property
    def T(self) -> LinearOperator:
        return self


@dataclass
class Multiple(LinearOperator):
    """c A."""

    A: LinearOperator
    scale: float

    def __post_init__(self) -> None:
        self.shape = self.A.shape

    def apply(self, x: np.ndarray) -> np.ndarray:
        return self.scale * self.A.apply(x)

    @property
    def T(self) -> LinearOperator:
        return Multiple(self.A.T, self.scale)


@dataclass
class Product(LinearOperator):
    """A B."""

    A: LinearOperator
    B: LinearOperator

    def __post_init__(self) -> None:
        if self.A.shape[1] != self.B.shape[0]:
            raise ValueError(f"operators of shapes {self.A.shape} and {self.B.shape} do not go")
        self.shape = (self.A.shape[0], self.B.shape[1])

    def apply(self, x: np.ndarray) -> np.ndarray:
        return self.A.apply(self.B.apply(x))

    @property
    def T(self) -> LinearOperator:
        return Product(self.B.T, self.A.T)


@dataclass
class Sum(LinearOperator):
    """A ± B."""

    A: LinearOperator
    B: LinearOperator
    sign: float = 1.0

    def __post_init__(self) -> None:
        if self.A.shape != self.B.shape:
            raise ValueError(f"operators of shapes {self.A.shape} and {self.B.shape} do not add")
        self.shape = self.A.shape

    def apply(self, x: np.ndarray) -> np.ndarray:
        return self.A.apply(x) + self.sign * self.B.apply(x)

    @property
    def T(self) -> LinearOperator:
        return Sum(self.A.T, self.B.T, self.sign)


class BlockDiagonal(LinearOperator):
    """One block per body."""

    def __init__(self, blocks: Sequence[np.ndarray]):
        self.blocks = list(blocks)
        self.rows = _slices([b.shape[-2] for b in self.blocks])
        self.cols = _slices([b.shape[-1] for b in self.blocks])
        self.shape = (self.rows[-1].stop, self.cols[-1].stop) if self.blocks else (0, 0)

    def apply(self, x: np.ndarray) -> np.ndarray:
        parts = [b @ x[..., c, :] for b, c in zip(self.blocks, self.cols, strict=True)]
        return np.concatenate(parts, axis=-2)

    @property
    def T(self) -> LinearOperator:
        return BlockDiagonal([np.swapaxes(b, -1, -2) for b in self.blocks])

    def inverse(self) -> BlockDiagonal:
        """Block by block."""
        return BlockDiagonal([np.linalg.inv(b) for b in self.blocks])


@dataclass
class Shift(LinearOperator):
    """E: from every body to its parent, by blocks (0.4), (0.10). Nilpotent."""

    parents: Sequence[int]
    blocks: Sequence[np.ndarray]
    transposed: bool = False

    def __post_init__(self) -> None:
        self.shape = (6 * len(self.parents), 6 * len(self.parents))

    def apply(self, x: np.ndarray) -> np.ndarray:
        return self._pass(x, np.zeros(_batch(x, self.blocks)))

    def solve(self, x: np.ndarray) -> np.ndarray:
        """(1 − E)⁻¹ x, by recursion (0.6)."""
        y = np.array(np.broadcast_to(x, _batch(x, self.blocks)), dtype=float)
        return self._pass(y, y)

    def _pass(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Add E x to y, body by body; where x is y, each body sees what the others have added."""
        bodies = range(len(self.parents))
        for k in bodies if self.transposed else reversed(bodies):
            p, own = self.parents[k], slice(6 * k, 6 * k + 6)
            up = slice(6 * p, 6 * p + 6)
            if p >= 0 and self.transposed:
                y[..., own, :] += np.swapaxes(self.blocks[k], -1, -2) @ x[..., up, :]
            elif p >= 0:
                y[..., up, :] += self.blocks[k] @ x[..., own, :]
        return y

    @property
    def T(self) -> Shift:
        return Shift(self.parents, self.blocks, not self.transposed)


@dataclass
class Resolvent(LinearOperator):
    """(1 − E)⁻¹ = 1 + E + E² + … (0.6), (0.12), (0.27): acts by a recursion over the bodies."""

    E: Shift

    def __post_init__(self) -> None:
        self.shape = self.E.shape

    def apply(self, x: np.ndarray) -> np.ndarray:
        return self.E.solve(x)

    @property
    def T(self) -> LinearOperator:
        return Resolvent(self.E.T)


class Operators:
    """The operators of a model at a configuration.  Rodriguez et al. (0.4)–(0.34), (.39)–(.43).

    With armature R (a diagonal): D = H P Hᵀ + R, and M is H φ M φᵀ Hᵀ + R; without, as printed.
    """

    def __init__(
        self, model: Model, phi: Array, P: Array, S: Array, G: Array, D: Array, Y: Array
    ):
        spans = [slice(a, b) for a, b in itertools.pairwise(model.v_offsets)]
        armature = [x for body in model for x in body.dynamics.armature]
        # from the frames on the joints to the bodies' own: wrenches by X, twists by its inverse
        # transpose
        frames = [body.frame for body in mechanism(model).bodies]
        X = [frame.pull(UNITS).array() for frame in frames]
        Xt = [np.linalg.inv(x).T for x in X]

        def own(blocks: Array) -> BlockDiagonal:
            return BlockDiagonal([x @ blocks[..., k, :, :] @ x.T for k, x in enumerate(X)])

        self.H = BlockDiagonal(
            [np.swapaxes(x @ S[..., :, s], -1, -2) for x, s in zip(Xt, spans, strict=True)]
        )
        self.G = BlockDiagonal([x @ G[..., :, s] for x, s in zip(X, spans, strict=True)])
        self.M = BlockDiagonal([body.inertia.matrix() for body in model])
        self.P = own(P)
        self.D = BlockDiagonal([D[..., s, s] for s in spans])
        self.R = BlockDiagonal([np.diag(armature[s]) for s in spans])
        self.Upsilon = BlockDiagonal([x @ Y[..., k, :, :] @ x.T for k, x in enumerate(Xt)])
        parents = model.parents
        up = [X[p] if p >= 0 else np.eye(6) for p in parents]
        self.E_phi = Shift(parents, [u @ phi[..., k, :, :] @ Xt[k].T for k, u in enumerate(up)])
        self.tau_bar = BlockDiagonal(
            [np.eye(6) - g @ h for g, h in zip(self.G.blocks, self.H.blocks, strict=True)]
        )
        pairs = zip(self.E_phi.blocks, self.tau_bar.blocks, strict=True)
        self.E_psi = Shift(parents, [f @ t for f, t in pairs])  # R0.26
        self.phi, self.psi = Resolvent(self.E_phi), Resolvent(self.E_psi)  # R0.12, R0.27
        self.K = self.E_phi @ self.G  # R0.26
        self.one = Identity(self.H.shape[0])

    @property
    def mass_matrix(self) -> LinearOperator:
        """H φ M φᵀ Hᵀ + R.  (0.14)"""
        J = self.H @ self.phi
        return J @ self.M @ J.T + self.R

    @property
    def factor(self) -> LinearOperator:
        """L = 1 + H φ K with M = L D Lᵀ: the innovations factor.  (0.28)"""
        return self.one + self.H @ self.phi @ self.K

    @property
    def inverse_factor(self) -> LinearOperator:
        """L⁻¹ = 1 − H ψ K.  (0.29)"""
        return self.one - self.H @ self.psi @ self.K

    @property
    def mass_matrix_inverse(self) -> LinearOperator:
        """(1 − H ψ K)ᵀ D⁻¹ (1 − H ψ K).  (0.30)"""
        L = self.inverse_factor
        return L.T @ self.D.inverse() @ L

    @property
    def Omega(self) -> LinearOperator:
        """ψᵀ Hᵀ D⁻¹ H ψ, with Υ on its diagonal.  (0.34), (.42)"""
        Hpsi = self.H @ self.psi
        return Hpsi.T @ self.D.inverse() @ Hpsi


@algorithm
def _blocks(model: Mechanism, q: JointVector) -> tuple[BlockArray, ...]:
    """φ to the parent, P, S, G, D and Υ of every body, in frames on the joints.  (.39), (.41)"""
    T, Y = per_body(model, "T Y", Local[RelativePose], Compliance)
    P, U, D = articulated_containers(model)
    phi, P_, Y_ = (body_array(model, 6, 6, letter=x) for x in ("phi", "P", "Y"))
    S_, G_ = joint_array(model, 6, "v", letter="S"), joint_array(model, 6, "v", letter="G")
    D_ = joint_matrix(model, "D")
    for i in model.outward():
        T[i] = i.pose(q[i])
    for _ in articulated(model, q, T, P, U, D):
        pass
    compliances(model, q, T, U, D, Y)
    for i in model.outward():
        S = i.joint.screws(q[i])
        phi[i] = T[i].push(UNITS).array()
        P_[i], Y_[i] = P[i].array(), Y[i].array()
        S_[i], G_[i] = S.array(), (U[i] @ D[i]).array()
        D_[i, i] = diagonal_plus(S.T @ U[i], i.armature)
    return phi, P_, S_, G_, D_, Y_


def _slices(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum([0, *sizes])
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]


def _batch(x: np.ndarray, blocks: Sequence[np.ndarray]) -> tuple[int, ...]:
    """The shape of the result: the batch axes of the configuration and of x meet."""
    batch = np.broadcast_shapes(x.shape[:-2], *(b.shape[:-2] for b in blocks))
    return (*batch, *x.shape[-2:])
