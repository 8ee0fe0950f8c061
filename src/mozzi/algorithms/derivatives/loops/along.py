"""Derivatives of dynamics with loops along one direction.

The equations with multipliers, differentiated as in `first.py`, with one column: the
tree's inverse dynamics and the rows change along the direction at fixed a and λ, and what is left
is solved for with the same matrices.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from mozzi.algorithms.calls.algorithm import Arrays, Options, algorithm
from mozzi.algorithms.calls.inlining import inlined
from mozzi.algorithms.constraints.rows.rows import loop_acceleration, loop_jacobian
from mozzi.algorithms.derivatives.along import (
    forward_dynamics_directional,
    hybrid_dynamics_directional,
    inverse_dynamics_directional,
)
from mozzi.algorithms.derivatives.loops.first import HybridChanges
from mozzi.algorithms.derivatives.loops.solve import constrained_accelerations, constrained_solve
from mozzi.algorithms.kinematics.configuration import rates
from mozzi.algorithms.recursion.containers import ZERO, BlockArray, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.rolled_or_not import ALWAYS_UNROLLED
from mozzi.algorithms.recursion.views import ByBody
from mozzi.errors import LoopError, ShapeError
from mozzi.lie import Inertia, Twist, Wrench
from mozzi.model import Model
from mozzi.program.differentiate import forward
from mozzi.types import Array, Traced

__all__ = ["closed_accelerations", "hybrid_directional", "loop_changes_along", "refuse_geometry"]


@algorithm(threshold=ALWAYS_UNROLLED, loops="honour")
def loop_changes_along(
    model: Mechanism,
    q: BlockArray,
    v: BlockArray,
    a: BlockArray,
    multipliers: BlockArray,
    dq: BlockArray,
    dv: BlockArray,
) -> tuple[Traced, Traced]:
    """The changes of Aᵀ λ and of A a + Ȧ v along dq (on the group) and dv, at fixed a and λ.

    Forward mode through the programs of the rows, O(m d).
    """
    pull, rows = inlined(model, _along, q, v, a, multipliers, dq, dv)
    return pull, rows


def _along(
    model: Model, q: Traced, v: Traced, a: Traced, multipliers: Traced, dq: Traced, dv: Traced
) -> tuple[Traced, Traced]:
    pull = multipliers @ loop_jacobian(model, q)
    rows = loop_acceleration(model, q, v, a)
    along = rates(model, q, dq)
    both = np.concatenate([q, v]), np.concatenate([along, dv])
    return forward(pull, q, along), forward(rows, *both)


@forward_dynamics_directional.recursion_with_loops
def closed_accelerations(
    model: Mechanism, q: BlockArray, v: BlockArray, tau: BlockArray,
    dq: BlockArray | None = None, dv: BlockArray | None = None, dtau: BlockArray | None = None,
    dwrenches: ByBody[Wrench] | None = None, dinertias: ByBody[Inertia] | None = None,
    dh: ByBody[Twist] | None = None, dscrews: BlockArray | None = None,
    dscrew_rates: BlockArray | None = None, wrenches: ByBody[Wrench] | None = None,
) -> BlockArray:  # fmt: skip
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
    left, pulls = joint_vector(model, "left"), joint_vector(model, "pull", pull)
    for i in model.outward():
        left[i] = [t - f + p for t, f, p in zip(dtau[i], force[i], pulls[i], strict=True)]
    return constrained_solve(model, q, left, -rows)[0]


@hybrid_dynamics_directional.with_loops
def hybrid_directional(model: Model, arrays: Arrays, options: Options) -> tuple[Array, ...]:
    """The answer of `hybrid_dynamics_directional` with loops: (∂τ/∂p, ∂a/∂p)."""
    changes = {n: x for n, x in arrays.items() if n.startswith("d")}
    refuse_geometry(model, **changes)
    plain = {n: x for n, x in arrays.items() if n not in changes}
    x = HybridChanges(model, plain, cast("Options", {"resistance": False} | options))
    dq, dv, dtau, da = (
        np.asarray(changes.pop(n, np.zeros(model.nv)), float) for n in ("dq", "dv", "dtau", "da")
    )
    for n, y in (("dtau", dtau), ("da", da)):  # kernels look at the others
        if y.shape[-1:] != (model.nv,):
            raise ShapeError("hybrid_dynamics_directional", n, y.shape, (model.nv,))
    force = inverse_dynamics_directional(model, x.q, x.v, x.a, dq=dq, dv=dv, **changes, **x.given)
    pull, rows = loop_changes_along(model, x.q, x.v, x.a, x.multipliers, dq, dv)
    inputs = (force - pull, rows, dtau * ~x.held, da * x.held)
    return tuple(y[..., 0] for y in x.solve(*(y[..., None] for y in inputs)))


def refuse_geometry(model: Model, **changes: object) -> None:
    """Changes of the geometry would open the loops."""
    given = [n for n in ("dh", "dscrews", "dscrew_rates") if _is_given(changes.get(n))]
    if given:
        raise LoopError(
            f"directional: {', '.join(given)} change the geometry of a tree, and model "
            f"{model.name!r} has loops, which move with it; take mozzi.sensitivity of named "
            "parameters instead"
        )


def _is_given(x: object) -> bool:
    """Whether an optional array was given to an algorithm (a missing one is zero everywhere)."""
    return isinstance(x, (np.ndarray, list, tuple)) or hasattr(x, "array") or hasattr(x, "blocks")
