"""How frames give way to wrenches: the operational admittance, by articulated bodies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import final

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.recursion.articulated import articulated_bodies
from mozzi.algorithms.recursion.blocks import Block, transposed
from mozzi.algorithms.recursion.containers import Columns, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import ByBody, JointVector, PerBody
from mozzi.lie import ArticulatedInertia, Mat3, Screws, Sym3, Twist, Vec3, Wrench
from mozzi.lie.so3 import SO3
from mozzi.lie.vec import Spatial
from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = ["Compliance", "compliances", "operational_admittance"]

UNITS = Screws(Wrench.unflatten(1.0 if n == k else 0.0 for n in range(6)) for k in range(6))


@final
class Compliance(Spatial):
    """A symmetric map from wrenches to accelerations: the dual of an articulated inertia.

    With angular and linear parts exchanged it moves and acts as an articulated inertia does.
    """

    __slots__ = ("dual",)
    SIZE = 21

    def __init__(self, dual: ArticulatedInertia):
        self.dual = dual

    @classmethod
    def zero(cls) -> Compliance:
        """Rigidity."""
        return cls(ArticulatedInertia.zero())

    def flatten(self) -> tuple[Real, ...]:
        return self.dual.flatten()

    @classmethod
    def unflatten(cls, scalars: Iterable[Real]) -> Compliance:
        return cls(ArticulatedInertia.unflatten(scalars))

    def array(self) -> np.ndarray:
        swap = [3, 4, 5, 0, 1, 2]
        return self.dual.array()[..., swap, :][..., :, swap]

    def pulled(self, R: SO3, p: Vec3) -> Compliance:
        return Compliance(self.dual.pulled(R, p))

    def __matmul__(self, F: Screws[Wrench]) -> Screws[Twist]:
        """The accelerations that wrenches produce."""
        moved = (self.dual @ Twist(W.lin, W.ang) for W in F.columns)
        return Screws(Twist(x.lin, x.ang) for x in moved)

    def minus(self, S: Screws[Twist], K: Screws[Twist]) -> Compliance:
        """This less Σ (S Kᵀ + K Sᵀ)."""
        pairs = [(_swapped(s), _swapped(k)) for s, k in zip(S, K, strict=True)]

        def entry(i: int, j: int, x: Real) -> Real:
            for s, k in pairs:
                x = x - s[i] * k[j] - k[i] * s[j]
            return x

        A, upper = self.dual, [(i, j) for i in range(3) for j in range(i, 3)]
        J = (entry(i, j, x) for (i, j), x in zip(upper, A.J.flatten(), strict=True))
        H = (entry(n // 3, 3 + n % 3, x) for n, x in enumerate(A.H.flatten()))
        M = (entry(3 + i, 3 + j, x) for (i, j), x in zip(upper, A.M.flatten(), strict=True))
        return Compliance(ArticulatedInertia(Sym3(*J), Mat3(*H), Sym3(*M)))


def _swapped(x: Twist) -> tuple[Real, ...]:
    return (*x.lin, *x.ang)


def compliances(
    model: Mechanism, q: JointVector, T: ByBody[RelativePose], U: ByBody[Screws[Wrench]],
    D: ByBody[Block], Y: PerBody[Compliance],
) -> None:  # fmt: skip
    """Υ: the compliance of each body in its frame, the diagonal of Ω = ψᵀ Hᵀ D⁻¹ H ψ, outward.

    Υ = τ̄ᵀ Υ_p τ̄ + S D⁻¹ Sᵀ with τ̄ = 1 − G Sᵀ, G = U D⁻¹.  Rodriguez et al. (.41), (.43).
    """
    for i in model.outward():
        S = i.joint.screws(q[i])
        X = T[i].pull(Y[i.parent])
        G = U[i] @ D[i]
        XG = X @ G
        Z = [
            [0.5 * (x + d) for x, d in zip(row, own, strict=True)]
            for row, own in zip(G.T @ XG, D[i], strict=True)
        ]
        Y[i] = X.minus(S, XG - S @ Z) if len(S) else X


@algorithm(regroup="moments")
def operational_admittance(model: Mechanism, q: JointVector, frames: Sequence[str]) -> Traced:
    """Λ (6k, 6k) = J M⁻¹ Jᵀ: body-fixed accelerations of k frames, from wrenches on them.

    Articulated bodies: wrenches go inward along the paths of the frames by ψ, and meet the
    compliance Υ of the outermost body that two paths share. O(n + k d + k²): linear in the bodies
    for given frames, without J or M. Frames that are fixed to the world give way by zero.
    Rodriguez et al. (0.34), (.41)–(.43).

    Returns:
        (B, 6 k, 6 k): six rows and columns (angular, linear) for each frame, in its axes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.operational_admittance(arm, q, ["tool", "link_1"]).shape
        (12, 12)
    """
    T, _, U, D = articulated_bodies(model, q)
    Y = per_body(model, "Y", Compliance)
    compliances(model, q, T, U, D, Y)
    reach: list[tuple[int, ByBody[Screws[Wrench]]]] = []
    for name in [frames] if isinstance(frames, str) else frames:
        body, placement = model.model.frame(name)
        x = per_body(model, "x", Columns(Wrench, 6))
        if body >= 0:
            x[model.at(body)] = (model.at(body).frame @ placement).push(UNITS)
        for k in model.path(body):
            S = k.joint.screws(q[k])
            x[k.parent] = T[k].push(x[k] - (U[k] @ D[k]) @ (S.T @ x[k]) if len(S) else x[k])
        reach.append((body, x))
    out = np.full((6 * len(reach), 6 * len(reach)), 0.0, dtype=object)
    for r, (a, x) in enumerate(reach):
        for s, (b, y) in enumerate(reach[: r + 1]):
            shared = [k for k in _path(model, a) if k in _path(model, b)]
            if not shared:
                continue
            c = model.at(shared[0])
            block = x[c].T @ (Y[c] @ y[c])
            out[6 * r : 6 * r + 6, 6 * s : 6 * s + 6] = block
            out[6 * s : 6 * s + 6, 6 * r : 6 * r + 6] = transposed(block)
    return out


def _path(model: Mechanism, k: int) -> list[int]:
    path: list[int] = []
    while k >= 0:
        path.append(k)
        k = model.model.body(k).parent
    return path
