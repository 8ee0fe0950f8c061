"""`Task`: a mechanism with what an agent does, sees and earns, traced and compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np
from gymnasium.spaces import Box

from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.algorithms.loops.shown import look_at
from mozzi.compiler import compile
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.program.arrays import traced_array
from mozzi.program.program import Input, trace
from mozzi.program.scalar import Condition, Real, select
from mozzi.simulation.forces.actuators import actuate
from mozzi.simulation.forces.law import plainly
from mozzi.simulation.forces.resistance import Limits, Resistance
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.stepper import stepper
from mozzi.types import Array, ArrayLike, DType, Kernel, Method, Target, Traced

__all__ = ["Task"]

Arrays: TypeAlias = Callable[..., ArrayLike | Traced]
"""Joint forces or observations, of traced arrays."""

Number: TypeAlias = Callable[..., Real]
"""A number, of traced arrays."""

Comparison: TypeAlias = Callable[..., Condition]
"""Whether something holds, of traced arrays."""

Range: TypeAlias = tuple[float, float]
Kernels: TypeAlias = tuple[
    Kernel[Array], Kernel[tuple[Array, Array]], Kernel[tuple[Array, Array, Array]]
]
"""(control, step, observe)."""


def _whole_state(q: Traced, v: Traced) -> Traced:
    """What is seen unless told."""
    return np.concatenate([q, v])


class Task:
    """What an agent does with a mechanism, sees of it and earns, as traced functions.

    Args:
        model: the mechanism.
        observation: what is seen, of (q, v): an array of numbers. All of q and v unless told.
        reward: a number, of (q, v, u) behind the step that the action u made.
        terminated: a comparison, of (q, v): where it holds the episode ends. None: never.
        control: joint forces (nv), of (q, v, u), held over the step. Unless told, actions are
            controls of the model's actuators; of a model without actuators, shares in [−1, 1] of
            the efforts of the actuated joints.
        actuated: names of joints that actions drive, where there is no `control`; all that have
            one coordinate, unless told.
        actions: (low, high), each a number or an array: the space of actions.
        start: (q, v) at which episodes start; the neutral one at rest unless told.
        noise: how far from there, at random: uniform in ±noise along each velocity, for q and v.
        dt: a step of the integrator, in seconds.
        substeps: steps of the integrator for one action.
        duration: seconds until an episode is truncated.
        method: as in `simulate`; semi_implicit unless told, moreau where the model has contacts.
        resistance, limits: as in `simulate`.
        parameters: numbers of the model that differ from episode to episode, by name, with the
            ends of their ranges: ``{"pole.mass": (0.5, 2.0)}``.
    """

    def __init__(
        self,
        model: Model,
        *,
        reward: Number,
        observation: Arrays | None = None,
        terminated: Comparison | None = None,
        control: Arrays | None = None,
        actuated: Sequence[str] | None = None,
        actions: tuple[ArrayLike, ArrayLike] | None = None,
        start: tuple[ArrayLike, ArrayLike] | None = None,
        noise: float = 0.0,
        dt: float = 0.005,
        substeps: int = 4,
        duration: float = 10.0,
        method: Method | OneStep | None = None,
        resistance: bool | Resistance = True,
        limits: Limits = False,
        parameters: Mapping[str, Range] | None = None,
    ):
        self.model, self.dt, self.substeps = model, float(dt), int(substeps)
        if not (dt > 0.0 and substeps >= 1 and duration >= dt * substeps):
            raise ConfigurationError(
                f"Task: {duration:g} s are no step of dt = {dt:g} s and substeps = {substeps}; "
                "give dt > 0, substeps from 1 on, and a duration of dt · substeps or more"
            )
        if not 0.0 <= noise < np.inf:
            raise ConfigurationError(f"Task: noise {noise:g}; give 0 or more")
        self.limit = round(duration / (dt * substeps))
        if method is None and not model.contacts:
            method = "semi_implicit"
        self.method: Method | OneStep | None = method
        self.resistance: bool | Resistance = resistance
        self.limits: Limits = limits
        self.ranges = dict(parameters or {})
        q, v = (model.neutral(), np.zeros(model.nv)) if start is None else start
        self.start = np.array(q, dtype=float), np.array(v, dtype=float)
        self.noise = float(noise)
        self._observation: Arrays = observation or _whole_state
        self._reward, self._terminated = reward, terminated
        self._control, low, high = self._acting(control, actuated, actions)
        self.low, self.high = (np.atleast_1d(np.asarray(x, dtype=float)) for x in (low, high))
        if not (self.low <= self.high).all():
            raise ConfigurationError(f"Task: actions from {low} to {high}; give low ≤ high")
        self._check()

    def _acting(
        self, control: Arrays | None, actuated: Sequence[str] | None,
        actions: tuple[ArrayLike, ArrayLike] | None,
    ) -> tuple[Arrays, ArrayLike, ArrayLike]:  # fmt: skip
        """Joint forces of (q, v, u), and the ends of u."""
        model = self.model
        if control is not None:
            if actions is None:
                raise ConfigurationError("Task: control goes with actions=(low, high)")
            return control, *actions
        if model.actuators and actuated is None:
            ends = np.array([one.control for one in model.actuators])
            if actions is None and not np.isfinite(ends).all():
                raise ConfigurationError(
                    "Task: some actuators have no range of control; give actions=(low, high)"
                )
            low, high = (ends[:, 0], ends[:, 1]) if actions is None else actions

            def driven(q: Traced, v: Traced, u: Traced) -> Traced:
                def held(t: Real, q: Traced, v: Traced) -> Traced:
                    return u

                return np.asarray(actuate(model, held)(0.0, q, v))

            return driven, low, high
        if actuated is None:
            actuated = [b.joint_name for b in model if b.joint.nv == 1]
        places = [int(model.v_slices[name].start) for name in actuated]
        efforts = [e for b in model for e in b.dynamics.effort]
        missing = [n for n, k in zip(actuated, places) if not math.isfinite(efforts[k])]
        if missing and actions is None:
            raise ConfigurationError(
                f"Task: joint {missing[0]!r} has no effort limit; give actions=(low, high) in N or "
                "N m, or control="
            )
        scale = [1.0 if actions is not None else efforts[k] for k in places]
        ends = actions or (-np.ones(len(places)), np.ones(len(places)))

        def shared(q: Traced, v: Traced, u: Traced) -> Traced:
            tau = np.zeros(model.nv, dtype=object)
            for k, size, x in zip(places, scale, u, strict=True):
                tau[k] = size * x
            return tau

        whole = np.zeros(len(places))
        return shared, whole + np.asarray(ends[0]), whole + np.asarray(ends[1])

    def _check(self) -> None:
        """The functions, traced once: what does not fit is told by its line."""
        model, many = self.model, len(self.low)
        sizes = [Input("q", (model.nq,)), Input("v", (model.nv,)), Input("u", (many,))]
        try:
            tau = trace(self.controlled, sizes, "control")
            seen = trace(self.seen, sizes, "observe")
        except Exception as error:
            raise ConfigurationError(f"Task: {plainly(error)}") from error
        if tau.outputs[0].shape != (model.nv,):
            raise ConfigurationError(
                f"Task: control gives shape {tau.outputs[0].shape}; give nv = {model.nv} forces"
            )
        self.observed = seen.outputs[0].shape
        if seen.outputs[1].shape != () or seen.outputs[2].shape != ():
            raise ConfigurationError("Task: reward and terminated give one number each")

    def controlled(self, q: Traced, v: Traced, u: Traced) -> Traced:
        """Joint forces of an action, while tracing."""
        return np.asarray(self._control(*map(traced_array, (q, v, u))), dtype=object)

    def seen(self, q: Traced, v: Traced, u: Traced) -> tuple[Traced, Real, Real]:
        """(observation, reward, whether it ends), while tracing."""
        q, v, u = map(traced_array, (q, v, u))
        ends = 0.0 if self._terminated is None else select(self._terminated(q, v), 1.0, 0.0)
        seen = np.atleast_1d(np.asarray(self._observation(q, v), dtype=object))
        return seen, self._reward(q, v, u), ends

    def kernels(self, target: Target, dtype: DType) -> Kernels:
        """(control, step, observe) for a target."""
        model, many = self.model, len(self.low)
        inputs = {"q": (model.nq,), "v": (model.nv,), "u": (many,)}

        def control(q: Traced, v: Traced, u: Traced) -> Traced:
            return self.controlled(q, v, u)

        def observe(q: Traced, v: Traced, u: Traced) -> tuple[Traced, Real, Real]:
            return self.seen(q, v, u)

        look_at(model, self.start[0])  # kernels know what was shown before they are made
        step = stepper(
            model, self.method, held=True, resistance=self.resistance, limits=self.limits,
            target=target, dtype=dtype, parameters=list(self.ranges),
        )  # fmt: skip
        acting = compile(control, model, target, dtype, inputs=inputs)
        seeing = compile(observe, model, target, dtype, inputs=inputs)
        return cast("Kernels", (acting, step, seeing))

    def starts(self, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        """States at which episodes start, (count, nq) and (count, nv)."""
        model = self.model
        off = rng.uniform(-self.noise, self.noise, (2, count, model.nv))
        q = np.broadcast_to(self.start[0], (count, model.nq))
        return integrate(model, q, off[0]), self.start[1] + off[1]

    def draws(self, rng: np.random.Generator, count: int) -> Array:
        """Parameters of the model for episodes, (count, p)."""
        ends = np.array([*self.ranges.values()]).reshape(-1, 2)
        return rng.uniform(ends[:, 0], ends[:, 1], (count, len(ends)))

    def action_space(self, dtype: DType, many: tuple[int, ...] = ()) -> Box:
        """The space of actions, of one environment or of many."""
        low, high = (np.broadcast_to(x, (*many, len(x))) for x in (self.low, self.high))
        return Box(low.astype(dtype), high.astype(dtype), dtype=np.dtype(dtype).type)

    def observation_space(self, dtype: DType, many: tuple[int, ...] = ()) -> Box:
        """The space of observations, of one environment or of many."""
        return Box(-np.inf, np.inf, (*many, *self.observed), dtype=np.dtype(dtype).type)
