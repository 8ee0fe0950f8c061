"""Derivatives of integration steps: Jacobians of one step, gradients through many.

A step is differentiated as it is computed, stage by stage, so that the derivative is exactly that
of the step and not of the flow it approximates. Deviations of q, and gradients with respect to q,
are along the group. With loops the stages have constrained accelerations, and the step ends back on
the loops, as `simulate` takes it: see `projection_derivatives` for deviations that open them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mozzi.algorithms.derivatives.configuration import (
    increment_rates_derivatives,
    integrate_derivatives,
)
from mozzi.algorithms.derivatives.first import forward_dynamics_derivatives
from mozzi.algorithms.derivatives.inverse_mass import mass_matrix_solve
from mozzi.algorithms.derivatives.loops.first import forward_changes
from mozzi.algorithms.derivatives.loops.solve import (
    constrained_accelerations,
    constrained_gradient,
    constrained_solve,
)
from mozzi.algorithms.derivatives.second import inverse_dynamics_gradient
from mozzi.algorithms.dynamics.forward import forward_dynamics
from mozzi.algorithms.kinematics.configuration import increment_rates, integrate
from mozzi.algorithms.recursion.algorithm import closed
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.program.program import loop
from mozzi.simulation.checks import check_closed
from mozzi.simulation.derivatives.contact import (
    contact_jacobians,
    contact_pullback,
    solved_step,
)
from mozzi.simulation.derivatives.projection import deviations_closed_again, pull_closing
from mozzi.simulation.loop_state import Memory, table
from mozzi.simulation.methods import Moreau, MuntheKaas, SemiImplicit, method_for, method_of
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.methods.moreau import honoured
from mozzi.simulation.methods.tableau import Tableau
from mozzi.simulation.place import named
from mozzi.simulation.projection import closed_again, first_rows, held_rows
from mozzi.simulation.system import System
from mozzi.types import Array, ArrayLike, Method, Target

__all__ = ["pullback_kernel", "rollout", "rollout_gradient", "step_jacobians", "step_kernel"]


def _rule(model: Model, method: Any) -> Any:
    rule = method_of(method_for(model, method), {})
    if not isinstance(rule, (MuntheKaas, SemiImplicit, Moreau)):
        raise ConfigurationError(
            f"method {method!r}: derivatives of steps are there for rkmk4, semi_implicit and moreau"
        )
    if not isinstance(rule, Moreau):
        honoured(model, rule, None, None)  # which refuses contacts
    return rule


# -- Jacobians --


def step_jacobians(
    model: Any, q: Any, v: Any, tau: Any, dt: float, method: Any = None,
    resistance: bool = False,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """(A, B) of x′ = A x + B u after one step, x = (δ, δv), u = δτ held over the step.

    (…, 2 nv, 2 nv) and (…, 2 nv, nv), over leading batch axes. ``resistance``: that of
    `forward_dynamics`.

    With loops A maps deviations that keep them closed to such; one that opens them is taken back
    with the state at the end of the step.
    """
    rule, n = _rule(model, method), model.nv
    q, v, tau = (np.asarray(x, dtype=float) for x in (q, v, tau))
    if closed(model):
        check_closed(model, q, v)
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1])
    start = np.broadcast_to(np.eye(2 * n, 3 * n), (*batch, 2 * n, 3 * n))
    if isinstance(rule, Moreau):
        return contact_jacobians(model, rule, q, v, tau, dt)
    options: dict[str, Any] = {"resistance": True} if resistance else {}
    kept = first_rows(model, q).get("rows")
    options |= {} if kept is None else {"kept": kept}
    if isinstance(rule, SemiImplicit):
        q1, v1, new = _semi_implicit(model, q, v, tau, dt, start, options)
    else:
        q1, v1, new = _munthe_kaas(rule.tableau, model, q, v, tau, dt, start, options)
    new = deviations_closed_again(model, q1, v1, new, kept)
    return new[..., : 2 * n], new[..., 2 * n :]


def _accelerated(
    model: Any, q: Any, v: Any, tau: Any, dq: Any, dv: Any, options: Any
) -> tuple[Any, Any]:
    """a, and how it changes with deviations dq and dv and with τ (the last columns)."""
    n = model.nv
    if "kept" in options:
        others = {"resistance": False} | {k: x for k, x in options.items() if k != "kept"}
        arrays = {"q": q, "v": v, "tau": tau}
        x = forward_changes(model, arrays, others, options["kept"])
        a, a_q, a_v, a_tau = x.a, x.a_q, x.a_v, x.a_tau
    else:
        a_q, a_v, a_tau = forward_dynamics_derivatives(model, q, v, tau, **options)
        a = forward_dynamics(model, q, v, tau, **options)
    change = a_q @ dq + a_v @ dv
    change[..., 2 * n :] += a_tau
    return a, change


def _semi_implicit(model: Any, q: Any, v: Any, tau: Any, h: float, start: Any, options: Any) -> Any:
    """(q′, v′) before they are closed again, and how they change."""
    n = model.nv
    dq, dv = start[..., :n, :], start[..., n:, :]
    a, da = _accelerated(model, q, v, tau, dq, dv, options)
    dv, new = dv + h * da, v + h * a
    X, Y = integrate_derivatives(model, q, h * new)
    changes = np.concatenate([X @ dq + h * (Y @ dv), dv], axis=-2)
    return integrate(model, q, h * new), new, changes


def _munthe_kaas(
    tableau: Tableau, model: Any, q: Any, v: Any, tau: Any, h: float, start: Any, options: Any
) -> Any:
    """(q′, v′) before they are closed again, and how they change."""
    n = model.nv
    dq, dv = start[..., :n, :], start[..., n:, :]
    k: list[tuple[Any, Any]] = []  # rates of the stages, and how they change

    def sums(weights: np.ndarray) -> tuple[Any, Any]:
        used = [(w * h, *x) for w, x in zip(weights, k) if w]
        zero = np.zeros((*start.shape[:-2], 2 * n)), np.zeros(start.shape)
        return (
            sum((w * x for w, x, _ in used), zero[0]),
            sum((w * x for w, _, x in used), zero[1]),
        )

    for row in tableau.A:
        d, dd = sums(row)
        u, du = v + d[..., n:], dv + dd[..., n:, :]
        X, Y = integrate_derivatives(model, q, d[..., :n])
        by_d, by_u = increment_rates_derivatives(model, d[..., :n], u)
        at = integrate(model, q, d[..., :n])
        a, da = _accelerated(model, at, u, tau, X @ dq + Y @ dd[..., :n, :], du, options)
        rate = increment_rates(model, d[..., :n], u)
        changes = [by_d @ dd[..., :n, :] + by_u @ du, da]
        k.append((np.concatenate([rate, a], axis=-1), np.concatenate(changes, axis=-2)))
    d, dd = sums(tableau.b)
    X, Y = integrate_derivatives(model, q, d[..., :n])
    changes = np.concatenate([X @ dq + Y @ dd[..., :n, :], dv + dd[..., n:, :]], axis=-2)
    return integrate(model, q, d[..., :n]), v + d[..., n:], changes


# -- gradients through many steps --


def rollout(
    model: Model, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike, dt: float,
    method: Method | OneStep | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """(q, v) along as many steps as tau has rows.

    With loops, the state is taken back onto them after every step; the first one must be on them.
    Singular configurations on the way are told by `simulate`, not here.

    Args:
        model: the mechanism.
        q0 (B, nq): the configuration at the start.
        v0 (B, nv): the velocities at the start.
        tau: (steps, B, nv), held over each step.
        dt: a step, in seconds.
        method: "rkmk4" or "semi_implicit", or such a method.

    Returns:
        q: (steps + 1, B, nq), and v: (steps + 1, B, nv).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = mz.rollout(arm, arm.neutral(), np.zeros(3), np.zeros((5, 3)), 0.01)
        >>> q.shape, v.shape
        ((6, 3), (6, 3))
    """
    kernel = _cached(model, "step", method)
    tau = np.asarray(tau, dtype=float)
    if closed(model):
        check_closed(model, np.asarray(q0, dtype=float), np.asarray(v0, dtype=float))
    batch = np.broadcast_shapes(np.shape(q0)[:-1], np.shape(v0)[:-1], tau.shape[1:-1])
    q = np.empty((len(tau) + 1, *batch, model.nq))
    v = np.empty((len(tau) + 1, *batch, model.nv))
    q[0], v[0] = q0, v0
    for k, force in enumerate(tau):
        kernel(q[k], v[k], force, dt, out=(q[k + 1], v[k + 1]))
    return q, v


def rollout_gradient(
    model: Model, q: Array, v: Array, tau: ArrayLike, dt: float, dq: Array, dv: Array,
    method: Method | OneStep | None = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The gradient of a cost of the states of a `rollout` with respect to q0, v0 and every tau.

    Reverse mode with one checkpoint per step: only the states are kept, (nq + nv) numbers for each
    step, and the stages of a step are computed again on the way back. What depends on tau directly
    is added by the caller.

    Args:
        model: the mechanism.
        q: (steps + 1, B, nq), as `rollout` gives it.
        v: (steps + 1, B, nv), as `rollout` gives it.
        tau: (steps, B, nv), as `rollout` took it.
        dt: a step, in seconds.
        dq: (steps + 1, B, nv), derivatives of the cost with respect to q, along the group.
        dv: (steps + 1, B, nv), derivatives of the cost with respect to v.
        method: that of the rollout.

    Returns:
        Gradients with respect to q0 (B, nv), v0 (B, nv) and tau (steps, B, nv).

    Example:
        >>> arm, tau = mz.load("arm.urdf"), np.zeros((5, 3))
        >>> q, v = mz.rollout(arm, arm.neutral(), np.zeros(3), tau, 0.01)
        >>> dq0, dv0, dtau = mz.rollout_gradient(arm, q, v, tau, 0.01, np.ones((6, 3)), v)
        >>> dtau.shape
        (5, 3)
    """
    kernel = _cached(model, "pullback", method)
    tau = np.asarray(tau, dtype=float)
    p, r = np.array(dq[-1], dtype=float), np.array(dv[-1], dtype=float)
    out = np.empty((len(tau), *p.shape))
    for k in reversed(range(len(tau))):
        p, r, out[k] = kernel(q[k], v[k], tau[k], p, r, dt)
        p += dq[k]
        r += dv[k]
    return p, r, out


def _cached(model: Any, what: str, method: Any) -> Any:
    key = ("step derivatives", what, method)
    if key not in model.cache:
        make = step_kernel if what == "step" else pullback_kernel
        model.cache[key] = make(model, method)
    return model.cache[key]


def step_kernel(model: Any, method: Any = None, target: Target = "cpu") -> Any:
    """(q, v, tau, dt) ↦ (q′, v′)."""
    rule = _rule(model, method)
    if isinstance(rule, Moreau):
        return _Solved(solved_step(model, rule))

    def step(q: Any, v: Any, tau: Any, dt: Any) -> Any:
        x = {"t": 0.0, "q": q, "v": v} | first_rows(model, q)
        with held_rows(model, x):
            new = rule.step(System(model, tau=tau), x, dt)
        new = closed_again(model, new, x.get("rows"), last=True)
        return new["q"], new["v"]

    return named(step, _shapes(model, "q", "v", "tau", "dt"), model, "step", target)


def pullback_kernel(model: Any, method: Any = None, target: Target = "cpu") -> Any:
    """(q, v, tau, dq, dv, dt) ↦ (q̄, v̄, τ̄): the derivatives dq, dv of a number with respect to the
    state after a step, turned into those with respect to the state before it and to tau.

    Per stage one forward dynamics, one solution M⁻¹ ā = λ and one gradient of λᵀ τ of inverse
    dynamics: ∂a/∂x of forward dynamics is −M⁻¹ ∂τ/∂x. With loops `constrained_solve` (2) in place
    of both.
    """
    rule = _rule(model, method)
    if isinstance(rule, Moreau):
        return partial(_pull_contact, model, rule)

    def pullback(q: Any, v: Any, tau: Any, dq: Any, dv: Any, dt: Any) -> Any:
        with held_rows(model, {"q": q} | first_rows(model, q)):
            if isinstance(rule, SemiImplicit):
                return _pull_semi_implicit(model, q, v, tau, dq, dv, dt)
            return _pull_munthe_kaas(rule.tableau, model, q, v, tau, dq, dv, dt)

    shapes = _shapes(model, "q", "v", "tau", "dq", "dv", "dt")
    return named(pullback, shapes, model, "pullback", target)


@dataclass(frozen=True)
class _Solved:
    """A step of moreau without its forces."""

    kernel: Any

    def __call__(self, *arrays: Any, out: tuple[Any, Any] | None = None) -> tuple[Any, Any]:
        q, v = self.kernel(*arrays)[:2]
        if out is not None:
            out[0][...], out[1][...] = q, v
        return q, v


def _pull_contact(
    model: Any, rule: Moreau, q: Any, v: Any, tau: Any, dq: Any, dv: Any, dt: Any
) -> tuple[Any, Any, Any]:
    return contact_pullback(model, rule, q, v, tau, dq, dv, dt)


def _shapes(model: Any, *names: str) -> dict[str, tuple[int, ...]]:
    sizes = {"q": (model.nq,), "dt": ()}
    return {name: sizes.get(name, (model.nv,)) for name in names}


def _accelerations(model: Any, q: Any, v: Any, tau: Any) -> tuple[Any, Any]:
    """(a, λ) of forward dynamics; λ is empty for trees."""
    if closed(model):
        return constrained_accelerations(model, q, v, tau)
    return forward_dynamics(model, q, v, tau), np.empty(0, dtype=object)


def _pull_dynamics(model: Any, q: Any, v: Any, a: Any, loops: Any, bar: Any) -> tuple[Any, ...]:
    """(q̄, v̄, τ̄) of forward dynamics from ā; loops: the multipliers of a."""
    if closed(model):
        force, rows = constrained_solve(model, q, bar)
        by_q, by_v = constrained_gradient(model, q, v, a, loops, force, rows)
    else:
        force = mass_matrix_solve(model, q, bar)
        by_q, by_v, _ = inverse_dynamics_gradient(model, q, v, a, force)
    return -by_q, -by_v, force


def _pull_semi_implicit(
    model: Any, q: Any, v: Any, tau: Any, dq: Any, dv: Any, h: Any
) -> tuple[Any, Any, Any]:
    a, loops = _accelerations(model, q, v, tau)
    new = v + h * a
    X, Y = integrate_derivatives(model, q, h * new)
    dq, dv = pull_closing(model, integrate(model, q, h * new), new, dq, dv)
    bar = dv + h * (Y.T @ dq)
    by_q, by_v, by_tau = _pull_dynamics(model, q, v, a, loops, h * bar)
    return X.T @ dq + by_q, bar + by_v, by_tau


def _pull_munthe_kaas(
    tableau: Tableau, model: Any, q: Any, v: Any, tau: Any, dq: Any, dv: Any, h: Any
) -> tuple[Any, Any, Any]:
    n, s = model.nv, tableau.stages
    k = Memory("k", (s, 2 * n + model.row_count), 0.0)  # rates of the stages, and multipliers

    def stage(i: Any) -> tuple[np.ndarray, np.ndarray]:
        """The weights of a stage and where it is evaluated."""
        weights = table("A", tableau.A, i) * h
        used = [j for j in range(s) if tableau.A[:, j].any()]
        return weights, sum((k.get_row(j)[: 2 * n] * weights[j] for j in used), np.zeros(2 * n))

    for _, i in loop(0, s, name="stage"):
        _, d = stage(i)
        u = v + d[n:]
        a, loops = _accelerations(model, integrate(model, q, d[:n]), u, tau)
        k.set_row(i, np.concatenate([increment_rates(model, d[:n], u), a, loops]))

    step = h * sum(k.get_row(j)[: 2 * n] * b for j, b in enumerate(tableau.b) if b)
    X, Y = integrate_derivatives(model, q, step[:n])
    dq, dv = pull_closing(model, integrate(model, q, step[:n]), v + step[n:], dq, dv)
    bar = np.concatenate([Y.T @ dq, dv])
    k_bar = Memory("k_bar", (s, 2 * n), np.array([bar * (b * h) for b in tableau.b]))
    q_bar, v_bar = Memory("q_bar", n, X.T @ dq), Memory("v_bar", n, dv)
    tau_bar = Memory("tau_bar", n, 0.0)

    for _, i in loop(s - 1, -1, -1, name="stage"):
        weights, d = stage(i)
        u, rate_bar = v + d[n:], k_bar.get_row(i)
        at, (a, loops) = integrate(model, q, d[:n]), np.split(k.get_row(i)[n:], [n])
        by_q, by_v, by_tau = _pull_dynamics(model, at, u, a, loops, rate_bar[n:])
        by_d, by_u = increment_rates_derivatives(model, d[:n], u)
        X, Y = integrate_derivatives(model, q, d[:n])
        u_bar = by_v + by_u.T @ rate_bar[:n]
        d_bar = np.concatenate([Y.T @ by_q + by_d.T @ rate_bar[:n], u_bar])
        q_bar.set(q_bar.get() + X.T @ by_q)
        v_bar.set(v_bar.get() + u_bar)
        tau_bar.set(tau_bar.get() + by_tau)
        for j in range(s):
            if tableau.A[:, j].any():
                k_bar.set_row(j, k_bar.get_row(j) + d_bar * weights[j])
    return q_bar.get(), v_bar.get(), tau_bar.get()
