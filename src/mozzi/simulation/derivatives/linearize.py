# pyright: reportPrivateUsage=false
"""Linear state-space models of a mechanism near a motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import NotImplementedType
from typing import cast

import numpy as np

from mozzi.algorithms.calls.algorithm import Arrays, Options, algorithm
from mozzi.algorithms.contact.gaps import contact_gaps
from mozzi.algorithms.derivatives.first import forward_dynamics_derivatives
from mozzi.algorithms.recursion.containers import BlockArray, joint_matrix, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import JointVector
from mozzi.errors import ConfigurationError, ContactWarning, warn
from mozzi.lie import Screws, Twist, inverse_spd
from mozzi.model import Composite, Joint, Model
from mozzi.program.scalar import Real
from mozzi.simulation.checks import positive
from mozzi.simulation.derivatives.steps import step_jacobians
from mozzi.simulation.forces.resistance import Limits, Resistance, resistance_of
from mozzi.simulation.methods.method import OneStep
from mozzi.types import Array, Method, Traced

__all__ = ["linearize"]

NEAR = 1e-6  # m: what is nearer touches


@algorithm(regroup=True, threshold=20, loops="honour")
def linearize(
    model: Mechanism, q: JointVector, v: JointVector, tau: JointVector, dt: float | None = None,
    method: Method | OneStep | None = None, resistance: bool = True, limits: Limits = False,
) -> tuple[Traced, Traced]:  # fmt: skip
    """(A, B) of ẋ = A x + B u near a motion, with x = (δ, δv) and u = δτ.

    (2 nv, 2 nv) and (2 nv, nv); δ is the deviation on the group, q ⊕ δ. From
    `forward_dynamics_derivatives`:  δ̇ = δv − [v, δ] (0 where q̇ = v),
    δv̇ = ∂a/∂q δ + ∂a/∂v δv + M⁻¹ u.  Müller, Dynamics 6.1.

    With a time step ``dt``, of x′ = A x + B u after one step of the integrator ``method`` (rkmk4;
    moreau where the model has contacts) with τ held: exactly the derivative of that step, not of
    the flow it approximates. With loops, (A, B) are meant for deviations that keep them closed; one
    step takes others back onto the loops. Contacts act in steps only.

    What resists in the model acts as it does in `simulate`, dry friction with the slope of its
    slip; ``resistance=False`` takes it out. ``limits="rigid"``: of a step of moreau, with the
    limits of joints as stops.

    Returns:
        A (B, 2 nv, 2 nv): rows and columns are (δ, δv).
        B (B, 2 nv, nv): rows are (δ, δv), columns the entries of τ.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> A, B = mz.linearize(arm, q, v, tau)
        >>> A.shape, B.shape
        ((6, 6), (6, 3))
    """
    if dt is not None:
        raise ConfigurationError(
            "linearize: a step of the integrator is linearized on arrays only; call it outside the "
            "function that is traced, or leave out dt"
        )
    slope = np.zeros(model.nv)
    if resistance and any(any(body.friction) for body in model.bodies):
        tau, slope, model = _dry(model, v, tau)
    changes = forward_dynamics_derivatives(model, q, v, tau, resistance=resistance)
    a_q, a_v, a_tau = (_array(x) for x in changes)
    a_v = a_v + a_tau * slope
    n = model.nv
    A = np.block([[_turns(model, q, v).array(), np.eye(n).astype(object)], [a_q, a_v]])
    return A, np.block([[np.zeros((n, n)).astype(object)], [a_tau]])


def _array(x: BlockArray | Traced) -> Traced:
    return x.array() if isinstance(x, BlockArray) else x


@linearize.on_arrays
def of_a_step(
    model: Model, arrays: Arrays, options: Options
) -> tuple[Array, Array] | NotImplementedType:
    """The answer where a time step is given, from the integrator."""
    dt = options["dt"]
    q, v, tau = (arrays[n] for n in ("q", "v", "tau"))
    if dt is None:
        if model.contacts and (contact_gaps(model, q) < NEAR).any():
            warn(
                f"linearize: model {model.name!r} touches something there, and contacts act in "
                "steps only; give dt, or take them out with model.without_contact(name)",
                ContactWarning,
            )
        return NotImplemented
    positive(dt, "linearize: dt")
    method, limits = options["method"], cast("Limits", options["limits"])
    return step_jacobians(model, q, v, tau, dt, method, options["resistance"], limits)


@linearize.with_loops
def with_loops(model: Model, arrays: Arrays, options: Options) -> tuple[Array, Array]:
    """From derivatives that are made of several programs."""
    q, v, tau = (np.asarray(arrays[n], dtype=float) for n in ("q", "v", "tau"))
    acting = resistance_of(options["resistance"], model)
    given, slope, of = {}, np.zeros(v.shape), model
    if acting is not None:
        dry, slope = acting.dry(model, v)
        of, tau, given = acting.frictionless(model), tau + dry, {"resistance": True}
    a_q, a_v, a_tau = forward_dynamics_derivatives(of, q, v, tau, **given)
    a_v = a_v + a_tau * slope[..., None, :]
    n = model.nv
    A, B = np.zeros((*a_q.shape[:-2], 2 * n, 2 * n)), np.zeros((*a_q.shape[:-2], 2 * n, n))
    A[..., :n, :n], A[..., :n, n:] = _turns(model, q, v), np.eye(n)
    A[..., n:, :n], A[..., n:, n:], B[..., n:, :] = a_q, a_v, a_tau
    return A, B


def _dry(
    model: Mechanism, v: JointVector, tau: JointVector
) -> tuple[BlockArray, Traced, Mechanism]:
    """Joint forces with dry friction in them, its slope in v, and the mechanism without it."""
    drive, slope = joint_vector(model, "drive"), joint_vector(model, "slope")
    for i in model.outward():
        slips = [Resistance().slipping(f, x) for f, x in zip(i.friction, v[i], strict=True)]
        drive[i] = [t + force for t, (force, _) in zip(tau[i], slips, strict=True)]
        slope[i] = [by_v for _, by_v in slips]
    smooth = tuple(replace(b, friction=(0.0,) * b.joint.nv) for b in model.bodies)
    return drive, slope.array(), Mechanism(model.model, smooth, model.rolled, model.fixed)


@algorithm
def _turns(model: Mechanism, q: JointVector, v: JointVector) -> BlockArray:
    """δ ↦ −[v, δ]."""
    turn = joint_matrix(model, "turn")
    for i in model.outward():
        turn[i, i] = brackets(i.joint, q[i], v[i])
    return turn


def brackets(joint: Joint, q: Sequence[Real], v: Sequence[Real]) -> list[list[Real]]:
    """δ ↦ −[v, δ] among the velocities of a joint, factor by factor."""
    if isinstance(joint, Composite):
        return _diagonal([brackets(f, x, u) for f, x, u in joint._parts(q, v)])
    n = joint.nv
    if joint.flat or not joint.subgroup:
        return [[0.0] * n for _ in range(n)]
    S = joint.screws(q)
    V = S @ v
    columns = [coordinates(S, S[c].cross(V)) for c in range(n)]
    return [list(row) for row in zip(*columns, strict=True)]


def coordinates(S: Screws[Twist], X: Twist) -> list[Real]:
    """The coefficients of a twist in a basis of screws."""
    D = inverse_spd([[_dot(x, y) for y in S] for x in S])
    b = [_dot(x, X) for x in S]
    return [sum((d * e for d, e in zip(row, b, strict=True)), 0.0) for row in D]


def _dot(X: Twist, Y: Twist) -> Real:
    return X.ang.dot(Y.ang) + X.lin.dot(Y.lin)


def _diagonal(blocks: Sequence[list[list[Real]]]) -> list[list[Real]]:
    width = sum(len(block) for block in blocks)
    rows: list[list[Real]] = []
    start = 0
    for block in blocks:
        for row in block:
            rows.append([0.0] * start + row + [0.0] * (width - start - len(row)))
        start += len(block)
    return rows
