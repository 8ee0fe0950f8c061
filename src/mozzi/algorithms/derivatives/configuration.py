"""How q ⊕ δ moves with q and with δ: the derivatives of steps on the configuration space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.recursion.blocks import Block, apply, rows, transposed
from mozzi.algorithms.recursion.containers import BlockArray, joint_matrix, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import JointVector
from mozzi.lie import inverse_spd
from mozzi.lie.vec import is_zero
from mozzi.model import Joint
from mozzi.program.differentiate import forward
from mozzi.program.meaning import interpret
from mozzi.program.passes import prune
from mozzi.program.program import Input, Program, trace
from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = [
    "increment_rates_derivatives", "integrate_derivatives", "pull_increment_rates",
    "pull_integrate", "spring_derivatives",
]  # fmt: skip

Derivatives: TypeAlias = Callable[[Joint, Traced, Traced], tuple[Traced, ...]]


@algorithm
def integrate_derivatives(
    model: Mechanism, q: JointVector, dv: JointVector
) -> tuple[BlockArray, BlockArray]:
    """(X, Y) with  (q ⊕ ε) ⊕ (dv + δ) = (q ⊕ dv) ⊕ (X ε + Y δ)  to first order.

    Joint by joint: Ad of exp(−dv) and dexp of −dv on a motion subgroup, 1 where q ⊕ dv = q + dv.
    """
    X, Y = joint_matrix(model, "X"), joint_matrix(model, "Y")
    for i in model.outward():
        X[i, i], Y[i, i] = _blocks(i.joint, _moved, q[i], dv[i])
    return X, Y


@algorithm
def increment_rates_derivatives(
    model: Mechanism, dv: JointVector, v: JointVector
) -> tuple[BlockArray, BlockArray]:
    """The derivatives of `increment_rates` with respect to dv and v."""
    by_dv, by_v = joint_matrix(model, "by_dv"), joint_matrix(model, "by_v")
    for i in model.outward():
        by_dv[i, i], by_v[i, i] = _blocks(i.joint, _turned, dv[i], v[i])
    return by_dv, by_v


def pull_integrate(
    model: Mechanism, q: JointVector, dv: JointVector, covector: JointVector
) -> tuple[BlockArray, BlockArray]:
    """(Xᵀ p, Yᵀ p) of `integrate_derivatives`, of joint vectors. O(n)."""
    return _pulled(model, _moved, q, dv, covector)


def pull_increment_rates(
    model: Mechanism, dv: JointVector, v: JointVector, covector: JointVector
) -> tuple[BlockArray, BlockArray]:
    """The transposes of `increment_rates_derivatives`, applied to a joint vector. O(n)."""
    return _pulled(model, _turned, dv, v, covector)


def _pulled(
    model: Mechanism, make: Derivatives, x: JointVector, y: JointVector, covector: JointVector
) -> tuple[BlockArray, BlockArray]:
    by_x, by_y = joint_vector(model, "by_x"), joint_vector(model, "by_y")
    for i in model.outward():
        X, Y = _blocks(i.joint, make, x[i], y[i])
        by_x[i], by_y[i] = apply(transposed(X), covector[i]), apply(transposed(Y), covector[i])
    return by_x, by_y


def spring_derivatives(
    joint: Joint, stiffness: Sequence[Real], rest: Sequence[Real], q: Sequence[Real]
) -> Block:
    """The derivative of `Joint.spring_forces` by q, along the group."""
    n = joint.nv
    if joint.flat or all(map(is_zero, stiffness)):
        return [[stiffness[r] if r == c else 0.0 for c in range(n)] for r in range(n)]
    return _blocks(joint, _sprung, (*stiffness, *rest), q)[0]


# -- programs of one joint, traced once and inlined --


def _blocks(
    joint: Joint, make: Derivatives, x: Sequence[Real], y: Sequence[Real]
) -> tuple[Block, Block]:
    n = joint.nv
    if joint.flat:
        one = [[float(r == c) for c in range(n)] for r in range(n)]
        return ([[0.0] * n] * n if make is _turned else one), one
    out = interpret(_program(joint, make), [list(x), list(y), list(joint.parameters())])
    return rows(out[0], n), rows(out[-1], n)


_PROGRAMS: dict[tuple[Derivatives, object], Program] = {}


def _program(joint: Joint, make: Derivatives) -> Program:
    """One for every kind of joint: its parameters are inputs, and its frames do not enter."""
    key = (make, joint.kind)
    if key not in _PROGRAMS:
        q, v = joint.nq, joint.nv
        first = v if make is _turned else v + q if make is _sprung else q
        second = q if make is _sprung else v
        sizes = {"x": first, "y": second, "parameters": len(joint.parameters())}
        inputs = [Input(name, (size,)) for name, size in sizes.items()]

        def call(x: Traced, y: Traced, parameters: Traced) -> tuple[Traced, ...]:
            return make(joint.with_parameters(list(parameters)), x, y)

        _PROGRAMS[key] = prune(trace(call, inputs, make.__name__))
    return _PROGRAMS[key]


def _basis(joint: Joint, q: Sequence[Real]) -> Traced:
    """N(q) (nq, nv)."""
    columns = [joint.rates(q, list(e)) for e in np.eye(joint.nv)]
    return np.array(columns, dtype=object).reshape(joint.nv, joint.nq).T


def _moved(joint: Joint, q: Traced, dv: Traced) -> tuple[Traced, Traced]:
    new = np.array(joint.integrate(list(q), list(dv)), dtype=object)
    N = _basis(joint, list(new))
    back = np.array(inverse_spd((N.T @ N).tolist()), dtype=object) @ N.T  # N⁻¹ from the left
    return back @ forward(new, q, _basis(joint, list(q))), back @ forward(new, dv, np.eye(joint.nv))


def _turned(joint: Joint, dv: Traced, v: Traced) -> tuple[Traced, Traced]:
    one, rate = np.eye(joint.nv), np.array(joint.increment_rates(list(dv), list(v)), dtype=object)
    return forward(rate, dv, one), forward(rate, v, one)


def _sprung(joint: Joint, spring: Traced, q: Traced) -> tuple[Traced]:
    stiffness, rest = list(spring[: joint.nv]), list(spring[joint.nv :])
    force = np.array(joint.spring_forces(stiffness, rest, list(q)), dtype=object)
    return (forward(force, q, _basis(joint, list(q))),)
