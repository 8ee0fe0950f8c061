"""Derivatives of a step of Moreau and Jean's, through the modes of its contacts.

At a solution the modes are known, and the step is the smooth solution of equations. One Newton step
from the solution, with the impulses held as the point where it starts, has the same value and the
same derivative (implicit differentiation: what multiplies the change of its matrix is zero). That
step is a straight-line program, which is differentiated as it is: forward for Jacobians, reverse
for gradients. Where a mode changes, the derivative is that of the mode which the step takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.kinematics.configuration import difference, integrate
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.program.differentiate import forward, reverse
from mozzi.program.scalar import Real
from mozzi.simulation.derivatives.projection import deviations_closed_again, pull_closing
from mozzi.simulation.forces.resistance import Resistance
from mozzi.simulation.methods.method import as_state
from mozzi.simulation.methods.moreau import Moreau, honoured
from mozzi.simulation.place import named
from mozzi.simulation.projection import closed_again, row_sizes
from mozzi.simulation.system import System
from mozzi.types import Array, Kernel, Traced

__all__ = ["contact_jacobians", "contact_pullback", "solved_step"]


def solved_step(
    model: Model, rule: Moreau, acting: Resistance | None
) -> Kernel[tuple[Array, ...]]:
    """The kernel (q, v, tau, dt) ↦ (q′, v′, force, q, v) of a step that starts from no impulse; the
    last two before the way back onto the loops.
    """
    rule = honoured(model, rule, None, acting)[1]

    def step(q: Traced, v: Traced, tau: Traced, dt: Real) -> tuple[Traced, ...]:
        x = rule.start(System(model), as_state(("q", "v"), (q, v), 0.0))
        new = rule.step(System(model, resistance=acting, tau=tau), x, dt)
        shut = closed_again(model, new, last=True)
        return shut["q"], shut["v"], new["force"], new["q"], new["v"]

    return _kept(model, ("step", rule, acting), step, _shapes(model, "q", "v", "tau", "dt"))


def contact_jacobians(
    model: Model, rule: Moreau, acting: Resistance | None, q: Array, v: Array, tau: Array, dt: float
) -> tuple[Array, Array]:
    """(A, B) of x′ = A x + B u after one step, x = (δ, δv), u = δτ."""
    n = model.nv
    rule = honoured(model, rule, None, acting)[1]
    _, _, force, q1, v1 = solved_step(model, rule, acting)(q, v, tau, dt)

    def tangent(d: Traced, dt: Real, **at: Traced) -> Traced:
        return forward(*_step(model, rule, acting, dt, **at), d)

    shapes = _held(model, rule) | {"d": (3 * n,)}
    kernel = _kept(model, ("tangent", rule, acting), tangent, shapes)
    each = [np.asarray(x)[..., None, :] for x in (q, v, tau, force, q1)]
    columns = kernel(*each[:3], dt, *each[3:], np.zeros(n), np.eye(3 * n))
    J = deviations_closed_again(model, q1, v1, np.swapaxes(columns, -1, -2))
    return J[..., : 2 * n], J[..., 2 * n :]


def contact_pullback(
    model: Model, rule: Moreau, acting: Resistance | None, q: Array, v: Array, tau: Array,
    dq: Array, dv: Array, dt: float,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """(q̄, v̄, τ̄) of the derivatives dq, dv of a number with respect to the state after a step."""
    n = model.nv
    rule = honoured(model, rule, None, acting)[1]
    _, _, force, q1, v1 = solved_step(model, rule, acting)(q, v, tau, dt)
    if closed(model):
        dq, dv = _kept(model, ("closing", rule, acting), partial(_closing, model),
                       _shapes(model, "q", "v", "dq", "dv"))(q1, v1, dq, dv)  # fmt: skip

    def pull(bar: Traced, dt: Real, **at: Traced) -> Traced:
        return reverse(*_step(model, rule, acting, dt, **at), bar)

    shapes = _held(model, rule) | {"bar": (2 * n,)}
    kernel = _kept(model, ("pull", rule, acting), pull, shapes)
    bar = np.concatenate([dq, dv], axis=-1)
    out = kernel(q, v, tau, dt, force, q1, np.zeros(n), bar)
    return out[..., :n], out[..., n : 2 * n], out[..., 2 * n :]


def _closing(
    model: Model, q: Traced, v: Traced, dq: Traced, dv: Traced
) -> tuple[Traced, Traced]:
    return pull_closing(model, q, v, dq, dv)


def _step(
    model: Model, rule: Moreau, acting: Resistance | None, dt: Real, **at: Traced
) -> tuple[Traced, Traced]:
    """(δ′, v′) from the solution, and (δ, v, τ) that they depend on; δ is zero."""
    given = replace(rule, solver="given")
    q = integrate(model, at["q"], at["delta"])
    x = given.start(System(model), as_state(("q", "v"), (q, at["v"]), 0.0)) | {"force": at["force"]}
    new = given.step(System(model, resistance=acting, tau=at["tau"]), x, dt)
    away = difference(model, at["q1"], new["q"])
    return np.concatenate([away, new["v"]]), np.concatenate([at["delta"], at["v"], at["tau"]])


def _held(model: Model, rule: Moreau) -> dict[str, tuple[int, ...]]:
    shapes = _shapes(model, "q", "v", "tau", "dt")
    return shapes | {
        "force": (rule.extra(model)["force"],), "q1": (model.nq,), "delta": (model.nv,),
    }  # fmt: skip


def _shapes(model: Model, *names: str) -> dict[str, tuple[int, ...]]:
    sizes: dict[str, tuple[int, ...]] = {"q": (model.nq,), "dt": ()}
    return {name: sizes.get(name, (model.nv,)) for name in names}


Key: TypeAlias = tuple[str, Moreau, Resistance | None]
Shapes: TypeAlias = dict[str, tuple[int, ...]]


def _kept(
    model: Model, key: Key, function: Callable[..., Traced | tuple[Traced, ...]], shapes: Shapes
) -> Any:
    if row_sizes(model):
        raise ConfigurationError(
            f"model {model.name!r} has loops whose rows depend on each other; steps of moreau have "
            "no derivatives there"
        )
    place = ("contact derivatives", *key)
    if place not in model.cache:
        model.cache[place] = named(function, shapes, model, key[0])
    return model.cache[place]
