"""Second derivatives of inverse and forward dynamics, contracted with a covector.

λᵀ τ(q, v, a) is one number, so its gradient costs a small multiple of τ (reverse mode), and its
Hessian one more sweep for every coordinate (forward mode): of all orders of sweeps this one takes
the fewest operations. Derivatives with respect to q are iterated along the group,

    H_ij = ∂_j ∂_i f,   ∂_i f = d f(q ⊕ t e_i) / dt  at t = 0,

which is symmetric where the coordinates of q are numbers (revolute, prismatic, …); on the groups
of spherical, planar and free joints ∂_j ∂_i − ∂_i ∂_j is the derivative along their bracket.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.inlining import along_units, inlined, loops_over_units
from mozzi.algorithms.derivatives.first import inverse_changes, unbalanced
from mozzi.algorithms.dynamics.column_loops import loops_over_columns
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.dynamics.inverse_mass import InverseMass
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix
from mozzi.algorithms.kinematics.configuration import rates
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.rolled_or_not import ALWAYS_UNROLLED
from mozzi.model import Model
from mozzi.program.counted_loops import each_row, product, total
from mozzi.program.differentiate import forward, reverse
from mozzi.types import Traced

__all__ = [
    "forward_dynamics_hessian", "inverse_dynamics_hessian", "mirrored", "tangent_basis",
    "tangent_pull",
]  # fmt: skip

FEW_VELOCITIES = 12  # what is done with every row of more of them is a loop


@algorithm(threshold=ALWAYS_UNROLLED)
def inverse_dynamics_hessian(
    model: Mechanism, q: BlockArray, v: BlockArray, a: BlockArray, covector: BlockArray
) -> tuple[Traced, Traced, Traced, Traced]:
    """(H_qq, H_qv, H_vv, H_qa) of λᵀ τ of `inverse_dynamics`; H_xy[i, j] = ∂²/∂x_i ∂y_j.

    τ is linear in a, with the mass matrix as derivative: H_va = H_aa = 0. Forward over reverse
    mode, O(n²). Of the rigid equations: without damping, friction and springs.

    Returns:
        H_qq (B, nv, nv): rows are the first variable, columns the second.
        H_qv (B, nv, nv): likewise.
        H_vv (B, nv, nv): likewise.
        H_qa (B, nv, nv): likewise.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> H_qq, *_ = mz.inverse_dynamics_hessian(arm, q, v, a, v)
        >>> H_qq.shape
        (3, 3)
    """
    H_qq, H_qv, H_vv, H_qa = _hessian_of(model, q, v, a, covector)
    return H_qq, H_qv, H_vv, H_qa


@algorithm(regroup=True, threshold=ALWAYS_UNROLLED, loops="honour")
def forward_dynamics_hessian(
    model: Mechanism, q: BlockArray, v: BlockArray, tau: BlockArray, covector: BlockArray
) -> tuple[Traced, Traced, Traced, Traced]:
    """(H_qq, H_qv, H_vv, H_qτ) of λᵀ a of `forward_dynamics`; H_xy[i, j] = ∂²/∂x_i ∂y_j.

    a is linear in τ: H_vτ = H_ττ = 0. From the Hessian H of inverse dynamics at the same motion,
    contracted with μ = M⁻¹ λ:  H_qq = −(H_qq + H_qa ∂a/∂q + (H_qa ∂a/∂q)ᵀ),
    H_qv = −(H_qv + H_qa ∂a/∂v),  H_vv = −H_vv,  H_qτ = −H_qa M⁻¹. With loops: the same with the
    multipliers beside a, `loops/second.py`. Of the rigid equations: without damping, friction
    and springs.

    Returns:
        H_qq (B, nv, nv): rows are the first variable, columns the second.
        H_qv (B, nv, nv): likewise.
        H_vv (B, nv, nv): likewise.
        H_qtau (B, nv, nv): likewise.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> H_qq, *_ = mz.forward_dynamics_hessian(arm, q, v, tau, v)
        >>> H_qq.shape
        (3, 3)
    """
    inverse = InverseMass(model, mass_matrix(model, q))
    a = inverse.solution(unbalanced(model, q, v, tau))
    mu = -inverse.solution(covector).array()  # so that nothing below changes its sign
    if loops_over_units(model):
        qq, vq, aq, dq = along_units(model, _along_q, q, v, a, mu)
        vv, dv = along_units(model, _along_v, q, v, a, mu)
        return _of_forward(model, inverse, (qq, vq.T, vv, aq.T), dq, dv)
    dq, dv, _ = inverse_changes(model, q, v, a)
    hessians = inlined(model, _hessian, q, v, a, mu)
    return _of_forward(model, inverse, hessians, dq.array(), dv.array())


def _of_forward(
    model: Mechanism, inverse: InverseMass, hessians: Sequence[Traced], dq: Traced, dv: Traced
) -> tuple[Traced, Traced, Traced, Traced]:
    """From the Hessians of inverse dynamics contracted with −μ:  H_qτ = H_qa M⁻¹,
    H_qq − H_qτ ∂τ/∂q − (H_qτ ∂τ/∂q)ᵀ  and  H_qv − H_qτ ∂τ/∂v,  as ∂a/∂q = −M⁻¹ ∂τ/∂q; row by row,
    in a loop where there are many.
    """
    qq, qv, vv, qa = hessians
    in_memory = loops_over_units(model)
    many = in_memory or (loops_over_columns(model) and model.nv > FEW_VELOCITIES)

    def solution(of_qa: Traced) -> tuple[Traced]:
        return (inverse.solution(BlockArray(model, "x", ("v",), of_qa)).array(),)

    def rows(of_qa: Traced, of_qv: Traced) -> tuple[Traced, ...]:
        (x,) = solution(of_qa)
        return x, x @ dq, of_qv - x @ dv

    if in_memory:
        (across,) = each_row(solution, qa)
        turned, qv = product(across, dq), total((1.0, qv), (-1.0, product(across, dv)))
    else:
        across, turned, qv = each_row(rows, qa, qv, looped=many)
    changes = (1.0, qq), (-1.0, turned), (-1.0, turned.T)
    return total(*changes) if many else qq - turned - turned.T, qv, vv, across


def tangent_basis(model: Model, q: Traced) -> Traced:
    """N(q) (nq, nv): the rates of the coordinates for each unit velocity."""
    N = np.full((model.nq, model.nv), 0.0, dtype=object)
    for j, own, column in _joint_tangents(model, q):
        N[own, j] = column
    return N


def tangent_pull(model: Model, q: Traced, covector: Traced) -> Traced:
    """N(q)ᵀ of a covector (nq), joint by joint."""
    out = np.full(model.nv, 0.0, dtype=object)
    for j, own, column in _joint_tangents(model, q):
        out[j] = np.dot(column, covector[own])
    return out


def _joint_tangents(model: Model, q: Traced) -> Iterator[tuple[int, slice, Traced]]:
    """Velocities, the coordinates of their joint, and the rates of these."""
    for body, k, j in zip(model, model.q_offsets, model.v_offsets, strict=False):
        own = slice(k, k + body.joint.nq)
        for c in range(body.joint.nv):
            unit = [float(c == i) for i in range(body.joint.nv)]
            yield j + c, own, np.array(body.joint.rates(list(q[own]), unit), dtype=object)


# -- programs, traced once for a model and inlined where they are used --


def _gradients(
    model: Model, q: Traced, v: Traced, a: Traced, covector: Traced
) -> tuple[Traced, Traced, Traced, Traced]:
    """Of λᵀ τ with respect to q, v and a, the last of them M λ; and τ."""
    tau = inverse_dynamics(model, q, v, a)
    every = reverse(np.dot(tau, covector), np.concatenate([q, v, a]), 1.0)
    by_q, by_v, by_a = np.split(every, [model.nq, model.nq + model.nv])
    return tangent_pull(model, q, by_q), by_v, by_a, tau


def _hessian_of(model: Mechanism, *arrays: BlockArray | Traced) -> tuple[Traced, ...]:
    """The four Hessians, as straight-line code or as loops over directions."""
    if not loops_over_units(model):
        return inlined(model, _hessian, *arrays)
    qq, vq, aq, _ = along_units(model, _along_q, *arrays)
    vv, _ = along_units(model, _along_v, *arrays)
    return qq, vq.T, vv, aq.T


def _along_q(
    model: Model, q: Traced, v: Traced, a: Traced, covector: Traced, dq: Traced
) -> tuple[Traced, ...]:
    """The changes of the gradients of λᵀ τ with respect to q, v and a, and of τ, along dq."""
    every = np.concatenate(_gradients(model, q, v, a, covector))
    changes = forward(every, q, rates(model, q, dq))
    return tuple(np.split(changes, 4))


def _along_v(
    model: Model, q: Traced, v: Traced, a: Traced, covector: Traced, dv: Traced
) -> tuple[Traced, ...]:
    """The changes of the gradient with respect to v, and of τ, along dv."""
    _, by_v, _, tau = _gradients(model, q, v, a, covector)
    return tuple(np.split(forward(np.concatenate([by_v, tau]), v, dv), 2))


def _hessian(model: Model, q: Traced, v: Traced, a: Traced, covector: Traced) -> tuple[Traced, ...]:
    by_q, by_v, by_a, _ = _gradients(model, q, v, a, covector)
    N = tangent_basis(model, q)
    qq, vq = forward(by_q, q, N), forward(by_v, q, N)
    vv = forward(by_v, v, np.eye(model.nv))
    if all(body.joint.flat for body in map(model.body, range(model.nb))):
        qq = mirrored(qq)
    qa = forward(by_a, q, N).T
    return qq, vq.T, mirrored(vv), qa


def mirrored(H: Traced) -> Traced:
    """A symmetric matrix from its upper half: the lower need not be computed."""
    return np.triu(H) + np.triu(H, 1).T
