"""Derivatives of hybrid and inverse dynamics with loops, in programs.

Hybrid dynamics as in `first.py`: the equations of motion, differentiated at fixed a and λ, are once
more those of hybrid dynamics, at rest and without gravity, so that every column is one more
solution with the same factors, and of the same rows. Inverse dynamics of which some joints are
actuated is differentiated as a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from mozzi.algorithms.calls.arguments import Blocks
from mozzi.algorithms.calls.held_wrenches import HeldWrenches
from mozzi.algorithms.calls.inlining import placed
from mozzi.algorithms.derivatives.along import (
    hybrid_dynamics_directional,
    inverse_dynamics_directional,
)
from mozzi.algorithms.derivatives.first import (
    inverse_dynamics_derivatives,
    inverse_dynamics_wrench_derivatives,
    wrench_changes,
)
from mozzi.algorithms.derivatives.hybrid import hybrid_dynamics_derivatives
from mozzi.algorithms.derivatives.loops.along import loop_changes_along, refuse_geometry
from mozzi.algorithms.derivatives.loops.first import loop_changes
from mozzi.algorithms.derivatives.loops.solve import constrained_hybrid, constrained_hybrid_solve
from mozzi.algorithms.derivatives.second import tangent_basis
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.loops.actuation import actuated_mask, sharing_of
from mozzi.algorithms.loops.assemble import held_mask
from mozzi.algorithms.loops.shares_in_programs import Sharing
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import ByBody
from mozzi.lie import Inertia, Twist, Wrench
from mozzi.model import Model
from mozzi.program.differentiate import forward
from mozzi.types import ArrayLike, JointChoice, Minimize, Traced

__all__ = [
    "closed_hybrid_derivatives", "closed_hybrid_directional", "shared_derivatives",
    "shared_wrench_derivatives",
]  # fmt: skip


class _Hybrid:
    """Hybrid dynamics with loops at one state, and how its outputs (τ, a) change."""

    def __init__(
        self, model: Model, q: Traced, v: Traced, tau: Traced, a: Traced, prescribed: JointChoice,
        given: Mapping[str, object],
    ):  # fmt: skip
        self.model, self.q, self.prescribed = model, q, prescribed
        self.held = held_mask(model, prescribed)
        _, self.a, self.multipliers = constrained_hybrid.python(
            model, q, v, tau, a, prescribed=prescribed, **given
        )

    def solve(
        self, f: Traced, g: Traced | None = None, tau: Traced | float = 0.0,
        a: Traced | float = 0.0,
    ) -> tuple[Traced, Traced]:  # fmt: skip
        """(dτ, da) of changes f of τ_r − Aᵀ λ and g of A a + Ȧ v at fixed a and λ, and of inputs:
        τ at free coordinates and a at held ones.
        """
        inputs = np.where(self.held, 0.0, tau), np.where(self.held, a, 0.0)
        rows = {} if g is None else {"loop_accelerations": -g}
        force, da = constrained_hybrid_solve.python(
            self.model, self.q, inputs[0] - f, inputs[1], prescribed=self.prescribed, **rows
        )
        return np.where(self.held, force + f, inputs[0]), da


@hybrid_dynamics_derivatives.recursion_with_loops
def closed_hybrid_derivatives(
    model: Mechanism, q: BlockArray, v: BlockArray, tau: BlockArray, a: BlockArray,
    prescribed: JointChoice = (), wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
) -> tuple[Traced, ...]:  # fmt: skip
    """Both outputs of hybrid dynamics with loops by q, v, τ and a, on scalars."""
    of, at, u = model.model, q.array(), v.array()
    given = {"resistance": resistance, **_acting(wrenches=wrenches)}
    x = _Hybrid(of, at, u, tau.array(), a.array(), prescribed, given)
    f_q, f_v, _ = inverse_dynamics_derivatives.python(of, at, u, x.a, **given)
    pull, g_q, g_v = loop_changes.python(of, at, u, x.a, x.multipliers)
    none, each = np.zeros(of.nv).astype(object), np.eye(of.nv).astype(object)
    by = [
        [x.solve(f, g) for f, g in zip((f_q - pull).T, g_q.T, strict=True)],
        [x.solve(f, g) for f, g in zip(f_v.T, g_v.T, strict=True)],
        [x.solve(none, tau=e) for e in each],
        [x.solve(none, a=e) for e in each],
    ]
    return tuple(np.stack([pair[k] for pair in column], -1) for k in (0, 1) for column in by)


@hybrid_dynamics_directional.recursion_with_loops
def closed_hybrid_directional(
    model: Mechanism, q: BlockArray, v: BlockArray, tau: BlockArray, a: BlockArray,
    prescribed: JointChoice = (), dq: BlockArray | None = None, dv: BlockArray | None = None,
    dtau: BlockArray | None = None, da: BlockArray | None = None,
    dwrenches: ByBody[Wrench] | None = None, dinertias: ByBody[Inertia] | None = None,
    dh: ByBody[Twist] | None = None, dscrews: BlockArray | None = None,
    dscrew_rates: BlockArray | None = None, wrenches: ByBody[Wrench] | None = None,
) -> tuple[Traced, Traced]:  # fmt: skip
    """(∂τ/∂p, ∂a/∂p) of hybrid dynamics with loops, on scalars."""
    refuse_geometry(model.model, dh=dh, dscrews=dscrews, dscrew_rates=dscrew_rates)
    of, at, u = model.model, q.array(), v.array()
    none = np.zeros(of.nv).astype(object)
    by_q, by_v, by_tau, by_a = (none if y is None else y.array() for y in (dq, dv, dtau, da))
    given = _acting(wrenches=wrenches)
    changes = given | _acting(dwrenches=dwrenches, dinertias=dinertias)
    x = _Hybrid(of, at, u, tau.array(), a.array(), prescribed, given)
    force = inverse_dynamics_directional.python(of, at, u, x.a, dq=by_q, dv=by_v, **changes)
    pull, rows = loop_changes_along.python(of, at, u, x.a, x.multipliers, by_q, by_v)
    return x.solve(force - pull, rows, by_tau, by_a)


def _acting(**optional: ByBody[Wrench] | ByBody[Inertia] | None) -> dict[str, object]:
    """Optional arrays of the caller, where they were given, and how."""
    out: dict[str, object] = {}
    for name, x in optional.items():
        if isinstance(x, HeldWrenches):
            out |= {name: x.given.array(), "wrenches_rep": x.rep}
        elif isinstance(x, Blocks):
            out[name] = x.blocks.array()
    return out


@inverse_dynamics_derivatives.recursion_with_loops
def shared_derivatives(
    model: Mechanism, q: BlockArray, v: BlockArray, a: BlockArray,
    wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
    actuated: JointChoice | None = None, minimize: Minimize | None = None,
    weighting: ArrayLike | None = None, tau: BlockArray | None = None,
) -> tuple[BlockArray | Traced, ...]:  # fmt: skip
    """(∂τ/∂q, ∂τ/∂v, ∂τ/∂a) with loops, on scalars: of the tree, or of what some joints bear."""
    if actuated is None and minimize is None:
        tree = inverse_dynamics_derivatives.function(
            model, q, v, a, wrenches=wrenches, resistance=resistance
        )
        return cast("tuple[BlockArray, ...]", tree)
    acting = _acting(wrenches=wrenches)
    rep = acting.pop("wrenches_rep", "body")
    arrays = {"q": q.array(), "v": v.array(), "a": a.array()} | cast("dict[str, Traced]", acting)
    arrays |= {} if tau is None else {"tau": tau.array()}
    how: dict[str, object] = {"resistance": resistance, "actuated": actuated, "minimize": minimize}
    how |= {"wrenches_rep": rep} if acting else {}
    weights = None if weighting is None else tuple(np.ravel(weighting).tolist())

    def make(of: Model, *given: Traced) -> tuple[Traced, ...]:
        x = dict(zip(arrays, given, strict=True))
        out = inverse_dynamics(of, **x, **how, weighting=weights)
        each = np.eye(of.nv)
        return (
            forward(out, x["q"], tangent_basis(of, x["q"])),
            forward(out, x["v"], each), forward(out, x["a"], each),
        )  # fmt: skip

    named = actuated if actuated is None or isinstance(actuated, str) else tuple(actuated)
    key = (shared_derivatives, tuple(arrays), rep, resistance, named, minimize, weights)
    return placed(model.model, key, make, tuple(arrays), tuple(arrays.values()))


@inverse_dynamics_wrench_derivatives.recursion_with_loops
def shared_wrench_derivatives(
    model: Mechanism, q: BlockArray, actuated: JointChoice | None = None,
    minimize: Minimize | None = None, weighting: ArrayLike | None = None,
) -> BlockArray | Traced:  # fmt: skip
    """∂τ/∂W with loops, on scalars: of the tree, or what some joints bear of every wrench."""
    tree = wrench_changes(model, q)
    if actuated is None and minimize is None:
        return tree
    whole = tree.array()
    mask = actuated_mask(model.model, actuated)
    x = Sharing(model.model, q.array(), mask, sharing_of(minimize), weighting)
    columns = [x.checked(column) for column in whole.reshape(len(mask), -1).T]
    return np.stack(columns, axis=-1).reshape(whole.shape)
