"""What drives a mechanism: nothing, numbers, or a law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mozzi.errors import ConfigurationError, warn
from mozzi.model import Model
from mozzi.program.scalar import Real
from mozzi.simulation.forces.law import Law, check_traceable
from mozzi.simulation.parameters import Varying
from mozzi.simulation.system import Feedback
from mozzi.types import Array, ArrayLike, Traced

__all__ = ["Torque", "torque_of"]


@dataclass
class Torque:
    """Joint forces over time.

    law: traced and compiled along. constant: (B, nv). rows: (B, steps, nv). call: a Python
    function that is called before every step. own: a law with a state of its own.
    """

    law: Feedback | None = None
    constant: Array | None = None
    rows: Array | None = None
    call: Feedback | None = None
    own: Law | None = None

    @property
    def held(self) -> bool:
        """Whether kernels take the joint forces as an input."""
        return self.sampled or self.constant is not None

    @property
    def sampled(self) -> bool:
        """Whether they change from step to step."""
        return self.rows is not None or self.call is not None

    def plain(self, model: Model, t: float, q: Array, v: Array) -> Array | Feedback | None:
        """All of them as numbers, or as a law: what shows which joints have some."""
        if self.own is not None:
            law, row = self.own, self.own.start(model, t).astype(object)

            def sampled(t: Real, q: Traced, v: Traced) -> Traced:
                return law.sample(model, t, q, v, row, 1.0)[0]

            return sampled
        if self.law is not None:
            return self.law
        return self.rows if self.rows is not None else self.at(0, t, q, v)

    def at(self, step: int, t: float, q: Array, v: Array) -> Array | None:
        """What is held over a step."""
        if self.call is not None:
            value = np.asarray(self.call(t, q, v), dtype=float)
            try:
                forces = np.broadcast_to(value, v.shape)
            except ValueError:
                raise ConfigurationError(
                    f"torque: the law returned shape {value.shape} for v of shape {v.shape}"
                ) from None
            lost = step == 0 and not np.isfinite(forces).all()
            if lost and np.isfinite(q).all() and np.isfinite(v).all():
                raise ConfigurationError(
                    f"torque: the law returned numbers that are not finite at t = {t:g} s; return "
                    "finite ones"
                )
            return forces
        if self.rows is not None:
            return self.rows[..., min(step, self.rows.shape[-2] - 1), :]
        return self.constant


def torque_of(
    torque: ArrayLike | Feedback | Law | None,
    model: Model,
    batch: tuple[int, ...],
    steps: int,
    trace: bool | None,
    target: str,
    varying: Varying,
) -> Torque:
    """What a caller means by a torque; on targets other than the CPU a law must be traced."""
    if torque is None:
        return Torque()
    if isinstance(torque, Law):
        if trace is False:
            raise ConfigurationError("torque: a Law is traced; give a function with trace=False")
        check_traceable(torque, model, varying)
        return Torque(own=torque)
    if callable(torque):
        return _law(torque, model, trace, target, varying)
    try:
        tau = np.asarray(torque, dtype=float)
    except (TypeError, ValueError):
        raise ConfigurationError("torque: give numbers or a function of (t, q, v)") from None
    if not np.isfinite(tau).all():
        raise ConfigurationError("torque holds numbers that are not finite; give finite ones")
    over_time = tau.ndim == len(batch) + 2
    shape = (*batch, steps, model.nv) if over_time else (*batch, model.nv)
    try:
        if tau.shape[-1:] != (model.nv,):
            raise ValueError
        tau = np.broadcast_to(tau, shape)
    except ValueError:
        raise ConfigurationError(
            f"torque has shape {tau.shape}; give {(*batch, model.nv)} for a constant or "
            f"{(*batch, steps, model.nv)} for a row per step"
        ) from None
    return Torque(rows=tau) if over_time else Torque(constant=tau)


def _law(
    law: Feedback, model: Model, trace: bool | None, target: str, varying: Varying
) -> Torque:
    python = f"target {target!r} calls no Python between steps; write the law on traced scalars"
    if trace is False and target != "cpu":
        raise ConfigurationError(f"torque: trace=False, but {python}")
    if trace is False:
        return Torque(call=varying.arrays(law))

    try:
        check_traceable(law, model, varying)
    except ConfigurationError as error:
        if error.__cause__ is None:
            raise
        if target != "cpu":
            raise ConfigurationError(f"{error}; and {python}") from error.__cause__
        if trace:
            raise
        warn(
            f"{error}; it is called from Python before every step, which is slow, and its torque "
            "is held over the step. Write it on traced scalars, or pass trace=False to keep it so",
        )
        return Torque(call=varying.arrays(law))
    return Torque(law=law)
