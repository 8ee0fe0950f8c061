# pyright: reportConstantRedefinition=false
"""Derivatives of integration steps: Jacobians of one step, gradients through many.

A step is differentiated as it is computed, stage by stage, so that the derivative is exactly that
of the step and not of the flow it approximates. Deviations of q, and gradients with respect to q,
are along the group. With loops the stages have constrained accelerations, and the step ends back on
the loops, as `simulate` takes it: see `projection.py` for deviations that open them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import cast, overload

import numpy as np

from mozzi.algorithms.calls.algorithm import Arrays, Options
from mozzi.algorithms.calls.guard import look
from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.constraints.row_choice import loop_rank
from mozzi.algorithms.derivatives.configuration import (
    increment_rates_derivatives,
    integrate_derivatives,
)
from mozzi.algorithms.derivatives.first import forward_dynamics_derivatives
from mozzi.algorithms.derivatives.loops.first import forward_changes
from mozzi.algorithms.dynamics.forward import forward_dynamics
from mozzi.algorithms.kinematics.configuration import increment_rates, integrate
from mozzi.algorithms.loops.shown import JUDGED, look_at
from mozzi.checked import checked
from mozzi.errors import ConfigurationError, ShapeError, as_numbers
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.program.scalar import Real
from mozzi.simulation.checks import check_closed, look_at_rank, positive
from mozzi.simulation.derivatives.contact import contact_jacobians, contact_pullback
from mozzi.simulation.derivatives.laws import held_forces, law_kernel, law_pullback
from mozzi.simulation.derivatives.projection import deviations_closed_again
from mozzi.simulation.derivatives.pullback import Backwards
from mozzi.simulation.forces.law import Law, check_traceable, law_digest
from mozzi.simulation.forces.resistance import (
    Limits,
    Resistance,
    Stops,
    resistance_of,
    stops_of,
)
from mozzi.simulation.methods import Moreau, MuntheKaas, SemiImplicit, method_for, method_of
from mozzi.simulation.methods.method import OneStep, as_state
from mozzi.simulation.methods.moreau import honoured
from mozzi.simulation.methods.tableau import Tableau
from mozzi.simulation.place import named
from mozzi.simulation.projection import closed_again, first_rows, held_rows
from mozzi.simulation.system import Feedback, System
from mozzi.simulation.watch import tell_diverged
from mozzi.types import Array, ArrayLike, Kernel, Method, Result, Traced

__all__ = ["pullback_kernel", "rollout", "rollout_gradient", "step_jacobians", "step_kernel"]


def _rule(
    model: Model, method: Method | OneStep | None, acting: Resistance | None, limits: Limits
) -> MuntheKaas | SemiImplicit | Moreau:
    rule = method_of(method_for(model, method), {})
    if not isinstance(rule, (MuntheKaas, SemiImplicit, Moreau)):
        raise ConfigurationError(
            f"method {method!r}: derivatives of steps are there for rkmk4, semi_implicit and moreau"
        )
    if isinstance(rule, MuntheKaas) and rule.state != "velocity":
        raise ConfigurationError(
            f"method {method!r}: state={rule.state!r} has no derivatives of steps; take rkmk4"
        )
    stops = stops_of(limits)
    if isinstance(stops, Stops):
        raise ConfigurationError(
            f"limits {limits!r}: derivatives of steps know rigid stops; take limits='rigid' with "
            "method='moreau', and RigidStops(stiffness=…) where they give way"
        )
    return honoured(model, rule, stops, acting)[1]  # which refuses contacts and stops


# -- Jacobians --


def step_jacobians(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, dt: float,
    method: Method | OneStep | None = None, resistance: bool | Resistance = True,
    limits: Limits = False,
) -> tuple[Array, Array]:  # fmt: skip
    """(A, B) of x′ = A x + B u after one step, x = (δ, δv), u = δτ held over the step.

    (…, 2 nv, 2 nv) and (…, 2 nv, nv), over leading batch axes. ``resistance`` and
    ``limits``: as in `simulate`, the latter rigid ones only.

    With loops A maps deviations that keep them closed to such; one that opens them is taken back
    with the state at the end of the step.
    """
    acting, n = resistance_of(resistance, model), model.nv
    rule = _rule(model, method, acting, limits)
    q, v, tau = (np.asarray(x, dtype=float) for x in (q, v, tau))
    if closed(model):
        check_closed(model, q, v)
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1])
    start = np.broadcast_to(np.eye(2 * n, 3 * n), (*batch, 2 * n, 3 * n))
    if isinstance(rule, Moreau):
        return contact_jacobians(model, rule, acting, q, v, tau, dt)
    kept = first_rows(model, q).get("rows")
    if isinstance(rule, SemiImplicit):
        q1, v1, new = _semi_implicit(model, q, v, tau, dt, start, acting, kept)
    else:
        q1, v1, new = _munthe_kaas(rule.tableau, model, q, v, tau, dt, start, acting, kept)
    new = deviations_closed_again(model, q1, v1, new, kept)
    return new[..., : 2 * n], new[..., 2 * n :]


def _accelerated(
    model: Model, q: Array, v: Array, tau: Array, dq: Array, dv: Array, acting: Resistance | None,
    kept: Array | None,
) -> tuple[Array, Array]:  # fmt: skip
    """a, and how it changes with deviations dq and dv and with τ (the last columns)."""
    n, options, slope = model.nv, {}, np.zeros(v.shape)
    if acting is not None:
        dry, slope = acting.dry(model, v)
        model, tau, options = acting.frictionless(model), tau + dry, {"resistance": True}
    if kept is None:
        a_q, a_v, a_tau = forward_dynamics_derivatives(model, q, v, tau, **options)
        a = forward_dynamics(model, q, v, tau, **options)
    else:
        arrays: Arrays = {"q": q, "v": v, "tau": tau}
        given = cast("Options", {"resistance": False} | options)
        x = forward_changes(model, arrays, given, kept)
        a, a_q, a_v, a_tau = x.a, x.a_q, x.a_v, x.a_tau
    change = a_q @ dq + (a_v + a_tau * slope[..., None, :]) @ dv
    change[..., 2 * n :] += a_tau
    return a, change


def _semi_implicit(
    model: Model, q: Array, v: Array, tau: Array, h: float, start: Array,
    acting: Resistance | None, kept: Array | None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """(q′, v′) before they are closed again, and how they change."""
    n = model.nv
    dq, dv = start[..., :n, :], start[..., n:, :]
    a, da = _accelerated(model, q, v, tau, dq, dv, acting, kept)
    dv, new = dv + h * da, v + h * a
    X, Y = integrate_derivatives(model, q, h * new)
    changes = np.concatenate([X @ dq + h * (Y @ dv), dv], axis=-2)
    return integrate(model, q, h * new), new, changes


def _munthe_kaas(
    tableau: Tableau, model: Model, q: Array, v: Array, tau: Array, h: float, start: Array,
    acting: Resistance | None, kept: Array | None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """(q′, v′) before they are closed again, and how they change."""
    n = model.nv
    dq, dv = start[..., :n, :], start[..., n:, :]
    k: list[tuple[Array, Array]] = []  # rates of the stages, and how they change

    def sums(weights: Array) -> tuple[Array, Array]:
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
        a, da = _accelerated(model, at, u, tau, X @ dq + Y @ dd[..., :n, :], du, acting, kept)
        rate = increment_rates(model, d[..., :n], u)
        changes = [by_d @ dd[..., :n, :] + by_u @ du, da]
        k.append((np.concatenate([rate, a], axis=-1), np.concatenate(changes, axis=-2)))
    d, dd = sums(tableau.b)
    X, Y = integrate_derivatives(model, q, d[..., :n])
    changes = np.concatenate([X @ dq + Y @ dd[..., :n, :], dv + dd[..., n:, :]], axis=-2)
    return integrate(model, q, d[..., :n]), v + d[..., n:], changes


# -- gradients through many steps --


@overload
def rollout(
    model: Model, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike, dt: float,
    method: Method | OneStep | None = None, resistance: bool | Resistance = True, *,
    torque: None = None, t0: float = 0.0, limits: Limits = False,
) -> tuple[Array, Array]: ...  # fmt: skip
@overload
def rollout(
    model: Model, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike, dt: float,
    method: Method | OneStep | None = None, resistance: bool | Resistance = True, *,
    torque: Law | Feedback, t0: float = 0.0,
    limits: Limits = False,
) -> tuple[Array, Array, Array]: ...  # fmt: skip
@checked
def rollout(
    model: Model, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike, dt: float,
    method: Method | OneStep | None = None, resistance: bool | Resistance = True, *,
    torque: Law | Feedback | None = None, t0: float = 0.0,
    limits: Limits = False,
) -> tuple[Array, ...]:  # fmt: skip
    """(q, v) along as many steps as tau has rows.

    With loops, the state is taken back onto them after every step; the first one must be on them.
    Singular configurations of the loops on the way are told by `simulate`, not here; samples that
    end in no state are (`DivergenceWarning`), and are NaN from there on.

    Cost: that of the steps, as of `stepper`; all states are kept.

    Args:
        model: the mechanism.
        q0 (B, nq): the configuration at the start.
        v0 (B, nv): the velocities at the start.
        tau: (steps, B, nv), held over each step.
        dt: a step, in seconds.
        method: "rkmk4", "semi_implicit" or "moreau", or such a method.
        resistance: as in `simulate`.
        torque: a `Law` that acts besides tau, or a function of (t, q, v); sampled at the starts of
            steps. A law is traced once and keeps its kernels, a function is traced at every call.
        t0: the time at the start, in seconds, for the law.
        limits: rigid stops of joints, as in `simulate`, with moreau.

    Returns:
        q: (steps + 1, B, nq), and v: (steps + 1, B, nv); with a law also its rows of state,
        (steps + 1, B, size).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = mz.rollout(arm, arm.neutral(), np.zeros(3), np.zeros((5, 3)), 0.01)
        >>> q.shape, v.shape
        ((6, 3), (6, 3))
    """
    as_model(model, "rollout")
    q0, v0 = _ending_in("rollout", q0=(q0, model.nq), v0=(v0, model.nv))
    (tau,) = _ending_in("rollout", 1, tau=(tau, model.nv))
    positive(dt, "rollout: dt")
    look("rollout", model, {"q0": q0, "v0": v0})
    if closed(model):
        check_closed(model, q0, v0)
    kernel = _cached(model, "step", method, resistance, limits)
    batch = np.broadcast_shapes(q0.shape[:-1], v0.shape[:-1], tau.shape[1:-1])
    q = np.empty((len(tau) + 1, *batch, model.nq))
    v = np.empty((len(tau) + 1, *batch, model.nv))
    q[0], v[0] = q0, v0
    if torque is None:
        for k, force in enumerate(tau):
            kernel(q[k], v[k], force, dt, out=(q[k + 1], v[k + 1]))
        _tell_diverged(model, q, v, dt, t0)
        return q, v
    torque = _as_law(model, torque)
    sample = _of_law(model, torque, law_kernel)
    x = np.empty((len(tau) + 1, *batch, torque.size(model)))
    x[0] = torque.start(model, t0)
    for k, force in enumerate(tau):
        x[k + 1] = sample(t0 + k * dt, q[k], v[k], x[k], dt)
        force = force + held_forces(torque, model, x[k + 1])
        kernel(q[k], v[k], force, dt, out=(q[k + 1], v[k + 1]))
    _tell_diverged(model, q, v, dt, t0)
    return q, v, x


def _tell_diverged(model: Model, q: Array, v: Array, dt: float, t0: float) -> None:
    """Warn of samples that do not end in a state."""
    bad = ~(np.isfinite(q[-1]).all(axis=-1) & np.isfinite(v[-1]).all(axis=-1))
    ended: dict[tuple[int, ...], float] = {}
    for sample in map(tuple, np.argwhere(bad).tolist()):
        own = np.concatenate([x[(slice(None), *sample)] for x in (q, v)], axis=-1)
        ended[sample] = t0 + dt * (np.isfinite(own).all(axis=-1).argmin() - 1)
    remedy = f"take a smaller dt than {dt:g} s"
    tell_diverged(model, ended, bad.shape, np.moveaxis(q, 0, -2), remedy)


def _as_law(model: Model, torque: Law | Feedback) -> Law:
    if isinstance(torque, Law):
        return torque
    return _laws(torque, law_digest(Law(torque), model), model.digest)


@lru_cache(maxsize=32)
def _laws(function: Feedback, as_it_is: str, of: str) -> Law:
    """Functions of callers as laws, as they were traced on a model, kept with their kernels."""
    return Law(function)


def _ending_in(
    function: str, leading: int = 0, **arrays: tuple[ArrayLike, int]
) -> tuple[Array, ...]:
    """Arrays with as many axes before the last, whose length is told."""
    found: list[Array] = []
    for name, (values, length) in arrays.items():
        x = as_numbers(values, function, name)
        if x.ndim <= leading or x.shape[-1] != length:
            axes = f"({'steps, ' * leading}…, {length})"
            raise ShapeError(function, name, x.shape, (length,), f"give {axes}")
        found.append(x)
    return tuple(found)


def _of_law(model: Model, law: Law, make: Callable[[Law, Model], Kernel[Result]]) -> Kernel[Result]:
    """A kernel of a law, made once; checked, so that a line that cannot be traced is named."""
    code = tuple(body.joint.code for body in model)
    key = model.digest, code, model.rows_depend, ("law", make)
    if key not in law.kernels:
        check_traceable(law, model)
        law.kernels[key] = make(law, model)
    return cast("Kernel[Result]", law.kernels[key])


@overload
def rollout_gradient(
    model: Model, q: Array, v: Array, tau: ArrayLike, dt: float, dq: Array, dv: Array,
    method: Method | OneStep | None = None, resistance: bool | Resistance = True, *,
    torque: None = None, rows: None = None, t0: float = 0.0, limits: Limits = False,
) -> tuple[Array, Array, Array]: ...  # fmt: skip
@overload
def rollout_gradient(
    model: Model, q: Array, v: Array, tau: ArrayLike, dt: float, dq: Array, dv: Array,
    method: Method | OneStep | None = None, resistance: bool | Resistance = True, *,
    torque: Law | Feedback, rows: Array, t0: float = 0.0,
    limits: Limits = False,
) -> tuple[Array, Array, Array, dict[str, Array]]: ...  # fmt: skip
@checked
def rollout_gradient(
    model: Model, q: Array, v: Array, tau: ArrayLike, dt: float, dq: Array, dv: Array,
    method: Method | OneStep | None = None, resistance: bool | Resistance = True, *,
    torque: Law | Feedback | None = None, rows: Array | None = None, t0: float = 0.0,
    limits: Limits = False,
) -> tuple[Array, Array, Array] | tuple[Array, Array, Array, dict[str, Array]]:  # fmt: skip
    """The gradient of a cost of the states of a `rollout` with respect to q0, v0 and every tau.

    Reverse mode with one checkpoint per step: only the states are kept, (nq + nv) numbers for each
    step, and the stages of a step are computed again on the way back. What depends on tau directly
    is added by the caller.

    Cost: about that of two to three simulations, however many steps and unknowns there are.

    Args:
        model: the mechanism.
        q: (steps + 1, B, nq), as `rollout` gives it.
        v: (steps + 1, B, nv), as `rollout` gives it.
        tau: (steps, B, nv), as `rollout` took it.
        dt: a step, in seconds.
        dq: (steps + 1, B, nv), derivatives of the cost with respect to q, along the group.
        dv: (steps + 1, B, nv), derivatives of the cost with respect to v.
        method: that of the rollout.
        resistance: that of the rollout.
        torque: that of the rollout.
        rows: (steps + 1, B, size), the rows of state of the law, as `rollout` gives them.
        t0: that of the rollout.
        limits: those of the rollout.

    Returns:
        Gradients with respect to q0 (B, nv), v0 (B, nv) and tau (steps, B, nv); with a law also
        those with respect to its state at the start, by name. A gain that is part of the state and
        stays as it is has the gradient of the whole motion there.

    Example:
        >>> arm, tau = mz.load("arm.urdf"), np.zeros((5, 3))
        >>> q, v = mz.rollout(arm, arm.neutral(), np.zeros(3), tau, 0.01)
        >>> dq0, dv0, dtau = mz.rollout_gradient(arm, q, v, tau, 0.01, np.ones((6, 3)), v)
        >>> dtau.shape
        (5, 3)
    """
    as_model(model, "rollout_gradient")
    positive(dt, "rollout_gradient: dt")
    nq, nv = model.nq, model.nv
    q, v, tau, dq, dv = _ending_in(
        "rollout_gradient", 1, q=(q, nq), v=(v, nv), tau=(tau, nv), dq=(dq, nv), dv=(dv, nv)
    )
    for name, x in {"q": q, "v": v, "dq": dq, "dv": dv}.items():
        if len(x) != len(tau) + 1:
            fact = f"tau has {len(tau)} steps; give {len(tau) + 1} states"
            raise ShapeError("rollout_gradient", name, x.shape, (), fact)
    if q[0].size <= JUDGED * nq and loop_rank not in model.cache:
        look_at(model, q[0])  # for less than a kernel that counts them takes to compile
    else:
        look_at_rank(model, q[0])
    kernel = _cached(model, "pullback", method, resistance, limits)
    p, r = dq[-1].copy(), dv[-1].copy()
    out = np.empty((len(tau), *p.shape))
    if torque is not None:
        if rows is None:
            raise ConfigurationError(
                "rollout_gradient: a law has rows; give rows=, the third result of rollout"
            )
        torque = _as_law(model, torque)
        pull = _of_law(model, torque, law_pullback)
        s = np.zeros((*p.shape[:-1], torque.size(model)))
        for k in reversed(range(len(tau))):
            force = tau[k] + held_forces(torque, model, rows[k + 1])
            p, r, out[k] = kernel(q[k], v[k], force, p, r, dt)
            held_forces(torque, model, s)[...] += out[k]
            by_q, by_v, s = pull(t0 + k * dt, q[k], v[k], rows[k], dt, s)
            p += by_q + dq[k]
            r += by_v + dv[k]
        parts = torque.parts(model, s)
        return p, r, out, {name: parts[name] for name in torque.state}
    for k in reversed(range(len(tau))):
        p, r, out[k] = kernel(q[k], v[k], tau[k], p, r, dt)
        p += dq[k]
        r += dv[k]
    return p, r, out


def _cached(
    model: Model, what: str, method: Method | OneStep | None, resistance: bool | Resistance,
    limits: Limits,
) -> Callable[..., tuple[Array, ...]]:
    key = ("step derivatives", what, method, resistance, limits)
    if key not in model.cache:
        make = step_kernel if what == "step" else pullback_kernel
        model.cache[key] = make(model, method, resistance=resistance, limits=limits)
    return model.cache[key]


def step_kernel(
    model: Model, method: Method | OneStep | None = None, resistance: bool | Resistance = True,
    limits: Limits = False,
) -> Callable[..., tuple[Array, ...]]:  # fmt: skip
    """(q, v, tau, dt) ↦ (q′, v′)."""
    acting = resistance_of(resistance, model)
    rule = _rule(model, method, acting, limits)

    def step(q: Traced, v: Traced, tau: Traced, dt: Real) -> tuple[Traced, Traced]:
        rows, system = first_rows(model, q), System(model, resistance=acting, tau=tau)
        x = rule.start(system, as_state(("q", "v"), (q, v), 0.0) | rows)
        with held_rows(model, x):
            new = rule.step(system, x, dt)
        new = closed_again(model, new, rows.get("rows"), last=True)
        return new["q"], new["v"]

    return named(step, _shapes(model, "q", "v", "tau", "dt"), model, "step")


def pullback_kernel(
    model: Model, method: Method | OneStep | None = None, resistance: bool | Resistance = True,
    limits: Limits = False,
) -> Callable[..., tuple[Array, ...]]:  # fmt: skip
    """(q, v, tau, dq, dv, dt) ↦ (q̄, v̄, τ̄): the derivatives dq, dv of a number with respect to the
    state after a step, turned into those with respect to the state before it and to tau.

    Per stage one forward dynamics, one solution M⁻¹ ā = λ and one gradient of λᵀ τ of inverse
    dynamics: ∂a/∂x of forward dynamics is −M⁻¹ ∂τ/∂x. With loops `constrained_solve` (2) in place
    of both, and the way back onto them behind it. O(n), rolled beyond 40 bodies
    (fixed chains nine, with loops 16).
    """
    acting = resistance_of(resistance, model)
    rule = _rule(model, method, acting, limits)
    if isinstance(rule, Moreau):
        return partial(contact_pullback, model, rule, acting)

    def pullback(
        q: Traced, v: Traced, tau: Traced, dq: Traced, dv: Traced, dt: Real
    ) -> tuple[Traced, Traced, Traced]:
        smooth = model if acting is None else acting.frictionless(model)
        with held_rows(smooth, {"q": q} | first_rows(smooth, q)):
            step = Backwards(model, smooth, acting, q, v, tau, dt)
            if isinstance(rule, SemiImplicit):
                return step.semi_implicit(dq, dv)
            return step.munthe_kaas(rule.tableau, dq, dv)

    shapes = _shapes(model, "q", "v", "tau", "dq", "dv", "dt")
    return named(pullback, shapes, model, "pullback")


def _shapes(model: Model, *names: str) -> dict[str, tuple[int, ...]]:
    sizes = {"q": (model.nq,), "dt": ()}
    return {name: sizes.get(name, (model.nv,)) for name in names}
