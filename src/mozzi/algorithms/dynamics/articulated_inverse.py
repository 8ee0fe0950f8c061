# pyright: reportConstantRedefinition=false
"""The inverse of the mass matrix by articulated bodies: O(n) a column, however deep the tree.

M⁻¹ = (1 − HψK)ᵀ D⁻¹ (1 − HψK): inward by 1 − HψK, outward by its transpose.  Rodriguez et al.
(0.30), (.40). `InverseMass` has the factors themselves, which are fewer operations in trees that
are not deep.
"""

from __future__ import annotations

from mozzi.algorithms.recursion.articulated import articulated_bodies
from mozzi.algorithms.recursion.blocks import Block, apply, minus, rows, transposed
from mozzi.algorithms.recursion.containers import (
    BlockArray,
    Columns,
    joint_array,
    joint_matrix,
    per_body,
)
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import BodyView, JointVector, PerBody
from mozzi.lie import Screws, Twist, Wrench
from mozzi.lie.small_matrices import Matrix
from mozzi.model.model import WORLD

__all__ = ["DEEP", "ArticulatedInverse", "depth"]

DEEP = 40  # joints from a tip to the base, where both are loops: a chain of 100 takes half the time


def depth(model: Mechanism) -> int:
    """The most joints from a tip to the base."""
    found = [0]
    for body in model.bodies:
        found.append(found[body.parent - WORLD] + 1)
    return max(found)


class ArticulatedInverse:
    """M⁻¹ at q, applied to vectors and matrices, or as a matrix."""

    def __init__(
        self, model: Mechanism, q: JointVector, T: PerBody[RelativePose],
        U: PerBody[Screws[Wrench]], D: PerBody[Matrix],
    ):  # fmt: skip
        self.model, self.q, self.T, self.U, self.D = model, q, T, U, D

    @classmethod
    def at(cls, model: Mechanism, q: JointVector) -> ArticulatedInverse:
        """Of articulated bodies that nobody has found yet."""
        T, _, U, D = articulated_bodies(model, q)
        return cls(model, q, T, U, D)

    def vector(self, x: JointVector) -> BlockArray:
        """M⁻¹ x of a joint vector, O(n)."""
        return self.motion(x)[0]

    def motion(self, x: JointVector) -> tuple[BlockArray, PerBody[Twist]]:
        """M⁻¹ x of a joint vector, and the twists of the bodies, were these joint velocities."""
        model, T, U, D = self.model, self.T, self.U, self.D
        z, A = per_body(model, "z A", Wrench, Twist)
        nu, out = (joint_array(model, "v", letter=letter) for letter in ("nu", "a"))
        for i in model.outward():
            z[i] = Wrench.zero()
        for i in model.inward():
            nu[i] = apply(D[i], minus(x[i], self._screws(i).T @ z[i]))  # R0.30
            z[i.parent] += T[i].push(z[i] + U[i] @ nu[i])  # R0.30
        for i in model.outward():
            A_p = T[i].pull(A[i.parent])
            out[i] = minus(nu[i], apply(D[i], U[i].T @ A_p))  # R0.30
            A[i] = A_p + self._screws(i) @ out[i]  # K41
        return out, A

    def times_each(self, *Xs: BlockArray, sign: float = 1.0) -> list[BlockArray]:
        """± M⁻¹ X of joint matrices, O(n²): `vector` for the columns of one joint at a time."""
        return [self._times(X, sign) for X in Xs]

    def _times(self, X: BlockArray, sign: float) -> BlockArray:
        model, T, U = self.model, self.T, self.U
        out = joint_matrix(model, "a")
        for j in model.outward():
            n = j.joint.nv
            wrenches = Columns(Wrench, n)
            z, A = per_body(model, "z A", wrenches, Columns(Twist, n))
            nu = joint_array(model, "v", n, letter="nu")
            for i in model.outward():
                z[i] = wrenches.zero()
            for i in model.inward():
                x = rows(X[i, j], i.joint.nv)
                left = [
                    [sign * e - f for e, f in zip(row, of_z, strict=True)]
                    for row, of_z in zip(x, self._screws(i).T @ z[i], strict=True)
                ]
                nu_i = self._answered(i, left)
                nu[i] = nu_i  # R0.30
                z[i.parent] += T[i].push(z[i] + U[i] @ nu_i)  # R0.30
            for i in model.outward():
                A[i], out[i, j] = self._carried(i, A[i.parent], rows(nu[i], i.joint.nv))
        return out

    def matrix(self) -> BlockArray:
        """M⁻¹, O(n²), joint by joint."""
        model, T, U, D = self.model, self.T, self.U, self.D
        X = joint_matrix(model, "Minv")
        for j in model.outward():
            n = j.joint.nv
            z, A = per_body(model, "z A", Columns(Wrench, n), Columns(Twist, n))
            nu = joint_array(model, "v", n, letter="nu")
            nu[j] = D[j]  # R0.30
            z[j.parent] = T[j].push(U[j] @ D[j])  # R0.30
            for k in j.parent.path():
                nu_k = self._answered(k, [[-e for e in row] for row in self._screws(k).T @ z[k]])
                nu[k] = nu_k  # R0.30
                z[k.parent] = T[k].push(z[k] + U[k] @ nu_k)  # R0.30
            for i in model.until(j):
                A[i], a = self._carried(i, A[i.parent], rows(nu[i], i.joint.nv))
                X[i, j] = a  # R0.30
                X[j, i] = transposed(a)  # R0.30
        return X

    def _answered(self, i: BodyView, forces: Block) -> Block:
        """D⁻¹ of what is left of forces at a joint, a column each."""
        return transposed([apply(self.D[i], e) for e in transposed(forces)])

    def _carried(self, i: BodyView, A: Screws[Twist], nu: Block) -> tuple[Screws[Twist], Block]:
        """The accelerations of a body whose parent has A, and of its joint: R0.30, K41."""
        A_p = self.T[i].pull(A)
        pairs = zip(transposed(nu), transposed(self.U[i].T @ A_p), strict=True)
        a = transposed([minus(column, apply(self.D[i], e)) for column, e in pairs])
        return A_p + self._screws(i) @ a, a

    def _screws(self, i: BodyView) -> Screws[Twist]:
        return i.joint.screws(self.q[i])
