"""Derivatives of dynamics with loops along one direction.

The equations with multipliers, differentiated as in `constrained_derivatives`, with one column: the
tree's inverse dynamics and the rows change along the direction at fixed a and λ, and what is left
is solved for with the same matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mozzi.algorithms.constraints.rows import loop_acceleration, loop_jacobian
from mozzi.algorithms.derivatives.along import (
    forward_dynamics_directional,
    hybrid_dynamics_directional,
    inverse_dynamics_directional,
)
from mozzi.algorithms.derivatives.loops.first import HybridChanges
from mozzi.algorithms.derivatives.loops.solve import constrained_accelerations, constrained_solve
from mozzi.algorithms.derivatives.second import inlined
from mozzi.algorithms.kinematics.configuration import rates
from mozzi.algorithms.recursion.algorithm import algorithm
from mozzi.algorithms.recursion.containers import ZERO, joint_vector
from mozzi.algorithms.recursion.rolling import ALWAYS_UNROLLED
from mozzi.errors import LoopError
from mozzi.program.differentiate import forward

__all__ = ["closed_accelerations", "hybrid_directional", "loop_changes_along", "refuse_geometry"]


@algorithm(threshold=ALWAYS_UNROLLED, loops="honour")
def loop_changes_along(
    model: Any, q: Any, v: Any, a: Any, multipliers: Any, dq: Any, dv: Any
) -> Any:
    """The changes of Aᵀ λ and of A a + Ȧ v along dq (on the group) and dv, at fixed a and λ.

    Forward mode through the programs of the rows, O(m d).
    """
    return inlined(model, _along, q, v, a, multipliers, dq, dv)


def _along(model: Any, q: Any, v: Any, a: Any, multipliers: Any, dq: Any, dv: Any) -> Any:
    pull = multipliers @ loop_jacobian(model, q)
    rows = loop_acceleration(model, q, v, a)
    along = rates(model, q, dq)
    both = np.concatenate([q, v]), np.concatenate([along, dv])
    return forward(pull, q, along), forward(rows, *both)


@forward_dynamics_directional.recursion_with_loops
def closed_accelerations(
    model: Any, q: Any, v: Any, tau: Any, dq: Any = None, dv: Any = None, dtau: Any = None,
    dwrenches: Any = None, dinertias: Any = None, dh: Any = None, dscrews: Any = None,
    dscrew_rates: Any = None, wrenches: Any = None,
) -> Any:  # fmt: skip
    """∂a/∂p of forward dynamics with loops."""
    refuse_geometry(model.model, dh=dh, dscrews=dscrews, dscrew_rates=dscrew_rates)
    zero = joint_vector(model, "zero")
    for i in model.outward():
        zero[i] = ZERO[i]
    a, loops = constrained_accelerations(model, q, v, tau, wrenches)
    tree = {"dwrenches": dwrenches, "dinertias": dinertias, "dh": dh, "wrenches": wrenches}
    force = inverse_dynamics_directional(model, q, v, a, dq=dq, dv=dv, **tree)
    dq, dv, dtau = (zero if x is None else x for x in (dq, dv, dtau))
    pull, rows = loop_changes_along(model, q, v, a, loops, dq, dv)
    left = joint_vector(model, "left")
    for i in model.outward():
        start = model.offset(i, "v")
        own = pull[start : start + i.joint.nv]
        left[i] = [t - f + p for t, f, p in zip(dtau[i], force[i], own, strict=True)]
    return constrained_solve(model, q, left, -rows)[0]


@hybrid_dynamics_directional.with_loops
def hybrid_directional(model: Any, arrays: dict[str, Any], options: dict[str, Any]) -> Any:
    """The answer of `hybrid_dynamics_directional` with loops: (∂τ/∂p, ∂a/∂p)."""
    changes = {n: x for n, x in arrays.items() if n.startswith("d")}
    refuse_geometry(model, **changes)
    plain = {n: x for n, x in arrays.items() if n not in changes}
    x = HybridChanges(model, plain, {"resistance": False} | options)
    dq, dv, dtau, da = (
        np.asarray(changes.pop(n, np.zeros(model.nv)), float) for n in ("dq", "dv", "dtau", "da")
    )
    force = inverse_dynamics_directional(model, x.q, x.v, x.a, dq=dq, dv=dv, **changes, **x.given)
    pull, rows = loop_changes_along(model, x.q, x.v, x.a, x.multipliers, dq, dv)
    inputs = (force - pull, rows, dtau * ~x.held, da * x.held)
    return tuple(y[..., 0] for y in x.solve(*(y[..., None] for y in inputs)))


def refuse_geometry(model: Any, **changes: Any) -> None:
    """Changes of the geometry would open the loops."""
    given = [n for n in ("dh", "dscrews", "dscrew_rates") if _is_given(changes.get(n))]
    if given:
        raise LoopError(
            f"directional: {', '.join(given)} change the geometry of a tree, and model "
            f"{model.name!r} has loops, which move with it; take mozzi.sensitivity of named "
            "parameters instead"
        )


def _is_given(x: Any) -> bool:
    """Whether an optional array was given to an algorithm (a missing one is zero everywhere)."""
    return isinstance(x, (np.ndarray, list, tuple)) or hasattr(x, "array") or hasattr(x, "blocks")
