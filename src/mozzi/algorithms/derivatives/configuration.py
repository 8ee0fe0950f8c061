"""How q ⊕ δ moves with q and with δ: the derivatives of steps on the configuration space."""

from __future__ import annotations

from typing import Any

import numpy as np

from mozzi.algorithms.recursion.algorithm import algorithm
from mozzi.algorithms.recursion.containers import joint_matrix
from mozzi.lie import inverse_spd
from mozzi.program.differentiate import forward
from mozzi.program.meaning import interpret
from mozzi.program.passes import prune
from mozzi.program.program import Input, Program, trace

__all__ = ["increment_rates_derivatives", "integrate_derivatives", "stretch_derivatives"]


@algorithm
def integrate_derivatives(model: Any, q: Any, dv: Any) -> Any:
    """(X, Y) with  (q ⊕ ε) ⊕ (dv + δ) = (q ⊕ dv) ⊕ (X ε + Y δ)  to first order.

    Joint by joint: Ad of exp(−dv) and dexp of −dv on a motion subgroup, 1 where q ⊕ dv = q + dv.
    """
    X, Y = joint_matrix(model, "X"), joint_matrix(model, "Y")
    for i in model.outward():
        X[i, i], Y[i, i] = _blocks(i.joint, _moved, q[i], dv[i])
    return X, Y


@algorithm
def increment_rates_derivatives(model: Any, dv: Any, v: Any) -> Any:
    """The derivatives of `increment_rates` with respect to dv and v."""
    by_dv, by_v = joint_matrix(model, "by_dv"), joint_matrix(model, "by_v")
    for i in model.outward():
        by_dv[i, i], by_v[i, i] = _blocks(i.joint, _turned, dv[i], v[i])
    return by_dv, by_v


def stretch_derivatives(joint: Any, rest: Any, q: Any) -> Any:
    """∂(q ⊖ rest)/∂q of one joint, along the group."""
    return _blocks(joint, _stretched, rest, q)[0]


# -- programs of one joint, traced once and inlined --


def _blocks(joint: Any, make: Any, x: Any, y: Any) -> tuple[Any, Any]:
    n = joint.nv
    if joint.flat:
        one = [[float(r == c) for c in range(n)] for r in range(n)]
        return ([[0.0] * n] * n if make is _turned else one), one
    out = interpret(_program(joint, make), [list(x), list(y), list(joint.parameters())])
    return out[0], out[-1]


_PROGRAMS: dict[tuple[Any, Any], Program] = {}


def _program(joint: Any, make: Any) -> Program:
    """One for every kind of joint: its parameters are inputs, and its frames do not enter."""
    key = (make, joint.kind)
    if key not in _PROGRAMS:
        first = joint.nv if make is _turned else joint.nq
        second = joint.nq if make is _stretched else joint.nv
        sizes = {"x": first, "y": second, "parameters": len(joint.parameters())}
        inputs = [Input(name, (size,)) for name, size in sizes.items()]

        def call(x: Any, y: Any, parameters: Any) -> Any:
            return make(joint.with_parameters(list(parameters)), x, y)

        _PROGRAMS[key] = prune(trace(call, inputs, make.__name__))
    return _PROGRAMS[key]


def _basis(joint: Any, q: Any) -> np.ndarray:
    """N(q) (nq, nv)."""
    columns = [joint.rates(q, list(e)) for e in np.eye(joint.nv)]
    return np.array(columns, dtype=object).reshape(joint.nv, joint.nq).T


def _moved(joint: Any, q: Any, dv: Any) -> tuple[Any, Any]:
    new = np.array(joint.integrate(list(q), list(dv)), dtype=object)
    N = _basis(joint, new)
    back = np.array(inverse_spd((N.T @ N).tolist()), dtype=object) @ N.T  # N⁻¹ from the left
    return back @ forward(new, q, _basis(joint, q)), back @ forward(new, dv, np.eye(joint.nv))


def _turned(joint: Any, dv: Any, v: Any) -> tuple[Any, Any]:
    one, rate = np.eye(joint.nv), np.array(joint.increment_rates(list(dv), list(v)), dtype=object)
    return forward(rate, dv, one), forward(rate, v, one)


def _stretched(joint: Any, rest: Any, q: Any) -> tuple[Any]:
    stretch = np.array(joint.difference(list(rest), list(q)), dtype=object)
    return (forward(stretch, q, _basis(joint, q)),)
