"""How q ⊕ δ moves with q and with δ: the derivatives of steps on the configuration space."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.recursion.blocks import Block, rows
from mozzi.algorithms.recursion.containers import BlockArray, joint_matrix, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import JointVector
from mozzi.lie.vec import is_zero
from mozzi.model import Joint
from mozzi.program.differentiate import forward, reverse
from mozzi.program.inline import inline
from mozzi.program.passes import prune
from mozzi.program.program import Input, Program, trace
from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = [
    "increment_rates_derivatives", "integrate_derivatives", "pull_increment_rates",
    "pull_integrate", "spring_derivatives",
]  # fmt: skip

Derivatives: TypeAlias = Callable[..., tuple[Traced, ...]]
"""Of a joint, at arrays, by some of them."""


@algorithm
def integrate_derivatives(
    model: Mechanism, q: JointVector, dv: JointVector
) -> tuple[BlockArray, BlockArray]:
    """(X, Y) with  (q ⊕ ε) ⊕ (dv + δ) = (q ⊕ dv) ⊕ (X ε + Y δ)  to first order.

    Joint by joint: Ad of exp(−dv) and dexp of −dv on a motion subgroup, 1 where q ⊕ dv = q + dv.
    """
    X, Y = joint_matrix(model, "X"), joint_matrix(model, "Y")
    for i in model.outward():
        new = i.joint.integrate(q[i], dv[i])
        X[i, i], Y[i, i] = _blocks(i.joint, _moved, q[i], dv[i], new)
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
    """(Xᵀ p, Yᵀ p) of `integrate_derivatives`, of joint vectors. O(n), without X and Y."""
    by_q, by_dv = joint_vector(model, "by_q"), joint_vector(model, "by_dv")
    for i in model.outward():
        p, joint = covector[i], i.joint
        new = joint.integrate(q[i], dv[i])
        flat = joint.flat
        by_q[i], by_dv[i] = (p, p) if flat else _of(joint, _pulled_back, q[i], dv[i], new, p)
    return by_q, by_dv


def pull_increment_rates(
    model: Mechanism, dv: JointVector, v: JointVector, covector: JointVector
) -> tuple[BlockArray, BlockArray]:
    """The transposes of `increment_rates_derivatives`, applied to a joint vector. O(n)."""
    by_dv, by_v = joint_vector(model, "by_dv"), joint_vector(model, "by_v")
    for i in model.outward():
        p, joint = covector[i], i.joint
        still = (0.0,) * joint.nv
        by_dv[i], by_v[i] = (still, p) if joint.flat else _of(joint, _turned_back, dv[i], v[i], p)
    return by_dv, by_v


def spring_derivatives(
    joint: Joint, stiffness: Sequence[Real], rest: Sequence[Real], q: Sequence[Real]
) -> Block:
    """The derivative of `Joint.spring_forces` by q, along the group."""
    n = joint.nv
    if joint.flat or all(map(is_zero, stiffness)):
        return [[stiffness[r] if r == c else 0.0 for c in range(n)] for r in range(n)]
    return rows(_of(joint, _sprung, stiffness, rest, q)[0], n)


# -- programs of one joint, traced once and inlined --


def _blocks(
    joint: Joint, make: Derivatives, *arrays: Sequence[Real]
) -> tuple[Block, Block]:
    n = joint.nv
    if joint.flat:
        one = [[float(r == c) for c in range(n)] for r in range(n)]
        return ([[0.0] * n] * n if make is _turned else one), one
    out = _of(joint, make, *arrays)
    return rows(out[0], n), rows(out[1], n)


_PROGRAMS: dict[Hashable, Program] = {}


def _of(joint: Joint, make: Derivatives, *arrays: Sequence[Real]) -> Sequence[Sequence[Real]]:
    """The derivatives of a joint, by one program for every kind: parameters are inputs, and frames
    do not enter.
    """
    key, given = (make, joint.kind, joint.code), [*map(list, arrays), list(joint.parameters())]
    if key not in _PROGRAMS:
        inputs = [Input(f"x{k}", (len(x),)) for k, x in enumerate(given)]

        def call(*given: Traced) -> tuple[Traced, ...]:
            return make(joint.with_parameters(list(given[-1])), *given[:-1])

        _PROGRAMS[key] = prune(trace(call, inputs, make.__name__))
    return inline(_PROGRAMS[key], given)


def _basis(joint: Joint, q: Sequence[Real]) -> Traced:
    """N(q) (nq, nv)."""
    columns = [joint.rates(q, list(e)) for e in np.eye(joint.nv)]
    return np.array(columns, dtype=object).reshape(joint.nv, joint.nq).T


def _motion(joint: Joint, q: Traced, dv: Traced, new: Traced) -> Sequence[Real]:
    """With which velocity q ⊕ dv moves, of the rates of all that is traced; new is q ⊕ dv, held."""
    return joint.velocities(list(new), joint.integrate(list(q), list(dv)))


def _moved(joint: Joint, q: Traced, dv: Traced, new: Traced) -> tuple[Traced, Traced]:
    v = _motion(joint, q, dv, new)
    return forward(v, q, _basis(joint, list(q))), forward(v, dv, np.eye(joint.nv))


def _turned(joint: Joint, dv: Traced, v: Traced) -> tuple[Traced, Traced]:
    one, rate = np.eye(joint.nv), np.array(joint.increment_rates(list(dv), list(v)), dtype=object)
    return forward(rate, dv, one), forward(rate, v, one)


def _pulled_back(
    joint: Joint, q: Traced, dv: Traced, new: Traced, p: Traced
) -> tuple[Traced, Traced]:
    power = p @ np.array(_motion(joint, q, dv, new), dtype=object)
    return _basis(joint, list(q)).T @ reverse(power, q, 1.0), reverse(power, dv, 1.0)


def _turned_back(joint: Joint, dv: Traced, v: Traced, p: Traced) -> tuple[Traced, Traced]:
    power = p @ np.array(joint.increment_rates(list(dv), list(v)), dtype=object)
    return reverse(power, dv, 1.0), reverse(power, v, 1.0)


def _sprung(joint: Joint, stiffness: Traced, rest: Traced, q: Traced) -> tuple[Traced]:
    force = joint.spring_forces(list(stiffness), list(rest), list(q))
    return (forward(force, q, _basis(joint, list(q))),)
