# pyright: reportConstantRedefinition=false
"""Derivatives of a step of Moreau and Jean's, through the modes of its contacts.

At a solution the modes are known, and the step is the smooth solution of equations. One Newton step
from the solution, with the impulses held as the point where it starts, has the same value and the
same derivative (implicit differentiation: what multiplies the change of its matrix is zero). That
step is a straight-line program, which is differentiated as it is: forward for Jacobians, reverse
for gradients. Where a mode changes, the derivative is that of the mode which the step takes. A step
that is cut at an impact is two parts, and what is left of it for the second depends on the state:
so the derivative knows when the impact is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.kinematics.configuration import difference, integrate
from mozzi.algorithms.recursion.containers import joint_configuration, joint_vector
from mozzi.algorithms.recursion.mechanism import mechanism
from mozzi.model import Model
from mozzi.program.differentiate import forward, reverse
from mozzi.program.scalar import Real
from mozzi.simulation.derivatives.projection import deviations_closed_again, pull_closing
from mozzi.simulation.forces.resistance import Resistance
from mozzi.simulation.methods.method import as_state, one_number
from mozzi.simulation.methods.moreau import Moreau
from mozzi.simulation.place import named
from mozzi.simulation.projection import first_rows, held_rows, row_sizes
from mozzi.simulation.system import System
from mozzi.types import Array, Traced

__all__ = ["contact_jacobians", "contact_pullback"]


@dataclass
class Solved:
    """A part of a step that is solved: where it starts, and where it ends, with its impulses.

    rows: those that count where the loops depend on one another, chosen where the step starts.
    """

    q: Array
    v: Array
    left: Array
    first: float
    impulses: Array
    q1: Array
    v1: Array
    rest: Array
    rows: dict[str, Array]

    @property
    def held(self) -> tuple[Array, ...]:
        """What its derivatives are taken at, behind q, v, tau and dt."""
        return *self.rows.values(), self.left, np.asarray(self.first), self.impulses, self.q1


def solved_parts(
    model: Model, rule: Moreau, acting: Resistance | None, q: Array, v: Array, tau: Array, dt: float
) -> list[Solved]:
    """The parts of a step: one, or two where it is cut for any sample."""

    def part(tau: Traced, dt: Real, left: Real, first: Real, **at: Traced) -> tuple[Traced, ...]:
        system = System(model, resistance=acting, tau=tau)
        with held_rows(model, at):
            x = as_state(("q", "v"), (at["q"], at["v"]), 0.0)
            new, rest = rule.part(system, x, dt, left, first, None)
        return new["q"], new["v"], new["force"], one_number(rest)

    kernel = _kept(model, ("part", rule, acting), part, _of_parts(model))
    left, rows = np.asarray(dt, dtype=float), first_rows(model, q)
    out: list[Solved] = []
    for first in (1.0, 0.0):
        found = kernel(q, v, tau, dt, *rows.values(), left, first)
        q1, v1, impulses, rest = (np.asarray(x) for x in found)
        batch = rest.shape[:-1]
        rows = {n: np.broadcast_to(x, (*batch, x.shape[-1])) for n, x in rows.items()}
        out.append(Solved(q, v, left, first, impulses, q1, v1, rest[..., 0], rows))
        q, v, left = q1, v1, rest[..., 0]
        if not (left > 0.0).any():
            break
    return out


def contact_jacobians(
    model: Model, rule: Moreau, acting: Resistance | None, q: Array, v: Array, tau: Array, dt: float
) -> tuple[Array, Array]:
    """(A, B) of x′ = A x + B u after one step, x = (δ, δv), u = δτ."""
    n = model.nv

    def tangent(d: Traced, dt: Real, left: Real, first: Real, **at: Traced) -> Traced:
        return forward(*_part(model, rule, acting, dt, left, first, **at), d)

    shapes = _held(model, rule) | {"d": (3 * n + 1,)}
    kernel = _kept(model, ("tangent", rule, acting), tangent, shapes)
    J: Array = np.zeros(0)
    q1, v1 = q, v
    parts = solved_parts(model, rule, acting, q, v, tau, dt)
    for part in parts:
        each = [np.asarray(x)[..., None, :] for x in (part.q, part.v, tau)]
        held = [x[..., None, :] if x.ndim > part.rest.ndim else x[..., None] for x in part.held]
        columns = kernel(*each, dt, *held, np.zeros(n), np.eye(3 * n + 1))
        new = np.swapaxes(columns, -1, -2)  # of (δ, v, left) by (δ, v, left, τ)
        if part.first == 1.0:
            J, q1, v1 = np.delete(new, 2 * n, axis=-1), part.q1, part.v1
            continue
        on = new[..., : 2 * n + 1] @ J
        on[..., 2 * n :] += new[..., 2 * n + 1 :]
        cut = part.left > 0.0
        J = np.where(cut[..., None, None], on, J)
        q1, v1 = (np.where(cut[..., None], a, b) for a, b in ((part.q1, q1), (part.v1, v1)))
    J = deviations_closed_again(model, q1, v1, J[..., : 2 * n, :], parts[0].rows.get("rows"))
    return J[..., : 2 * n], J[..., 2 * n :]


def contact_pullback(
    model: Model, rule: Moreau, acting: Resistance | None, q: Array, v: Array, tau: Array,
    dq: Array, dv: Array, dt: float,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """(q̄, v̄, τ̄) of the derivatives dq, dv of a number with respect to the state after a step."""
    n = model.nv
    parts = solved_parts(model, rule, acting, q, v, tau, dt)
    if closed(model):
        q1, v1 = parts[0].q1, parts[0].v1
        for part in parts[1:]:
            cut = (part.left > 0.0)[..., None]
            q1, v1 = np.where(cut, part.q1, q1), np.where(cut, part.v1, v1)
        shapes = _shapes(model, "q", "v", "dq", "dv") | _row_shapes(model)
        kernel = _kept(model, ("closing", rule, acting), partial(_closing, model), shapes)
        dq, dv = kernel(q1, v1, dq, dv, *parts[0].rows.values())

    def pull(bar: Traced, dt: Real, left: Real, first: Real, **at: Traced) -> Traced:
        return reverse(*_part(model, rule, acting, dt, left, first, **at), bar)

    shapes = _held(model, rule) | {"bar": (2 * n + 1,)}
    kernel = _kept(model, ("pull", rule, acting), pull, shapes)
    bar = np.concatenate([dq, dv, np.zeros((*np.shape(dq)[:-1], 1))], axis=-1)
    by_tau: Array = np.zeros(n)
    for part in reversed(parts):
        out = kernel(part.q, part.v, tau, dt, *part.held, np.zeros(n), bar)
        own = part.left > 0.0
        by_tau = by_tau + np.where(own[..., None], out[..., 2 * n + 1 :], 0.0)
        bar = np.where(own[..., None], out[..., : 2 * n + 1], bar)
    return bar[..., :n], bar[..., n : 2 * n], by_tau


def _closing(model: Model, **at: Traced) -> tuple[Traced, Traced]:
    view = mechanism(model, regroup="moments")
    given = (joint_vector(view, name, at[name]) for name in ("v", "dq", "dv"))
    with held_rows(model, at):
        by_q, by_v = pull_closing(view, joint_configuration(view, "q", at["q"]), *given)
    return by_q.array(), by_v.array()


def _part(
    model: Model, rule: Moreau, acting: Resistance | None, dt: Real, left: Real, first: Real,
    **at: Traced,
) -> tuple[Traced, Traced]:  # fmt: skip
    """(δ′, v′, what is left) from the solution, and (δ, v, left, τ) that they depend on; δ is
    zero.
    """
    given = replace(rule, solver="given")
    q = integrate(model, at["q"], at["delta"])
    x = as_state(("q", "v"), (q, at["v"]), 0.0)
    system = System(model, resistance=acting, tau=at["tau"])
    with held_rows(model, at):
        new, rest = given.part(system, x, dt, left, first, at["impulses"])
    away = difference(model, at["q1"], new["q"])
    inputs = [at["delta"], at["v"], one_number(left), at["tau"]]
    return np.concatenate([away, new["v"], one_number(rest)]), np.concatenate(inputs)


def _of_parts(model: Model) -> Shapes:
    of_step = _shapes(model, "q", "v", "tau", "dt")
    return of_step | _row_shapes(model) | _shapes(model, "left", "first")


def _held(model: Model, rule: Moreau) -> Shapes:
    return _of_parts(model) | {
        "impulses": (rule.extra(model).get("force", 0),), "q1": (model.nq,), "delta": (model.nv,),
    }  # fmt: skip


def _row_shapes(model: Model) -> Shapes:
    return {name: (size,) for name, size in row_sizes(model).items()}


def _shapes(model: Model, *names: str) -> Shapes:
    sizes: Shapes = {"q": (model.nq,), "dt": (), "left": (), "first": ()}
    return {name: sizes.get(name, (model.nv,)) for name in names}


Key: TypeAlias = tuple[str, Moreau, Resistance | None]
Shapes: TypeAlias = dict[str, tuple[int, ...]]


def _kept(
    model: Model, key: Key, function: Callable[..., Traced | tuple[Traced, ...]], shapes: Shapes
) -> Any:
    place = ("contact derivatives", *key)
    if place not in model.cache:
        model.cache[place] = named(function, shapes, model, key[0])
    return model.cache[place]
