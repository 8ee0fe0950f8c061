"""`Law`: a controller that is sampled, with a state of its own.

A law is traced once and compiled along with the steps. Its state goes from step to step as one row
of numbers: what the caller named, the joint forces that are held, and the time of the next sample.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np

from mozzi.checked import checked
from mozzi.errors import ConfigurationError, MozziError
from mozzi.model import Model
from mozzi.program.arrays import TracedArray, traced_array
from mozzi.program.digest import digest
from mozzi.program.scalar import Condition, Real, select
from mozzi.simulation.parameters import SampledLaw, Varying, check_law
from mozzi.simulation.place import named
from mozzi.simulation.system import Feedback, Forces, System, as_forces
from mozzi.types import Array, ArrayLike, Traced

__all__ = ["DUE", "HELD", "Law", "check_traceable", "law_digest", "plainly"]

Sampled: TypeAlias = Callable[..., object]
HELD, DUE = "tau", "due"  # what a state holds besides the caller's


@checked
class Law(SampledLaw):
    """A feedback law that is sampled at the start of steps and held between samples.

    A controller as computers run it: with integrators, filters and delay lines, and a clock of its
    own. A law without a state, ``mz.Law(function)``, is a plain law that is held over each step.

    Args:
        function: τ = function(t, q, v) where there is no state; with one,
            (τ, new) = function(t, q, v, x, h), where x has the state by name, new holds the next
            state by the same names, and h is the time between two samples, in seconds. Traced, as
            laws of `simulate` are.
        state: the state at the start, by name: numbers or arrays.
        period: seconds from one sample to the next; at each step where it is not given. Samples
            are taken at the starts of steps.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> def pid(t, q, v, x, h):
        ...     error = 0.3 - q
        ...     total = x["total"] + h * error
        ...     return 9.0 * error - 2.0 * v + 4.0 * total, {"total": total}
        >>> law = mz.Law(pid, state={"total": np.zeros(3)}, period=0.01)
        >>> motion = mz.simulate(arm, arm.neutral(), np.zeros(3), 0.1, 1e-3, torque=law)
        >>> motion.law_state["total"].shape
        (101, 3)
    """

    def __init__(
        self,
        function: Sampled,
        state: Mapping[str, ArrayLike] | None = None,
        period: float | None = None,
    ):
        if period is not None and not 0.0 < period < math.inf:
            raise ConfigurationError(f"Law: period {period!r}: give a positive time in seconds")
        self.function, self.period = function, period
        self.kernels: dict[object, object] = {}  # of this law, by model and purpose
        self.state = {}
        for name, value in (state or {}).items():
            try:
                self.state[name] = np.array(value, dtype=float)
            except (TypeError, ValueError):
                raise ConfigurationError(f"Law: state {name!r} holds no numbers") from None
            if name in (HELD, DUE) or not np.isfinite(self.state[name]).all():
                fact = "that name is taken" if name in (HELD, DUE) else "is not finite"
                raise ConfigurationError(f"Law: state {name!r}: {fact}; give another")

    def __repr__(self) -> str:
        every = "" if self.period is None else f" every {self.period:g} s"
        name = getattr(self.function, "__name__", "?")
        return f"<Law {name} with {', '.join(self.state) or 'no state'}{every}>"

    def _shapes(self, model: Model) -> dict[str, tuple[int, ...]]:
        """The parts of a row of state: the caller's, held joint forces, the next sample's time."""
        own = {name: x.shape for name, x in self.state.items()}
        return own | {HELD: (model.nv,)} | ({} if self.period is None else {DUE: ()})

    def size(self, model: Model) -> int:
        """How many numbers a row of state has.

        Args:
            model: the mechanism.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> law = mz.Law(lambda t, q, v, x, h: (-v, x), {"x": 0.0})
            >>> law.size(arm)
            4
        """
        return sum(math.prod(shape) for shape in self._shapes(model).values())

    def start(self, model: Model, t: float = 0.0) -> Array:
        """The row of state at the start, (size,).

        Args:
            model: the mechanism.
            t: the time at the start, in seconds.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> law = mz.Law(lambda t, q, v, x, h: (-v, x), {"x": 0.0})
            >>> law.start(arm).shape
            (4,)
        """
        parts = [x.ravel() for x in self.state.values()] + [np.zeros(model.nv)]
        return np.concatenate(parts + ([] if self.period is None else [np.array([t])]))

    def parts(self, model: Model, row: Array) -> dict[str, Array]:
        """The parts of rows of state, by name, and "tau", the joint forces that are held.

        Args:
            model: the mechanism.
            row (B, size): rows of state.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> law = mz.Law(lambda t, q, v, x, h: (-v, x), {"x": 0.0})
            >>> sorted(law.parts(arm, law.start(arm)))
            ['tau', 'x']
        """
        out: dict[str, Array] = {}
        first = 0
        for name, shape in self._shapes(model).items():
            size = math.prod(shape)
            out[name] = row[..., first : first + size].reshape((*row.shape[:-1], *shape))
            first += size
        return out

    def held(self, model: Model, row: Traced) -> Traced:
        """The joint forces in a row of state, while tracing.

        Args:
            model: the mechanism.
            row: (size,), traced.

        Example:
            >>> arm, law = mz.load("arm.urdf"), mz.Law(lambda t, q, v: 1.0 - v)
            >>> law.held(arm, law.start(arm)).shape
            (3,)
        """
        return cast("Traced", self.parts(model, cast(Array, row))[HELD])

    def sample(
        self, model: Model, t: Real, q: Traced, v: Traced, row: Traced, dt: Real
    ) -> tuple[Traced, Traced]:
        """(τ, row) from here to the next step, while tracing.

        Args:
            model: the mechanism.
            t: the time at the start of the step.
            q: (nq,), traced.
            v: (nv,), traced.
            row: (size,), traced.
            dt: the step, in seconds.
        """
        x = self.parts(model, cast(Array, row))
        h = dt if self.period is None else self.period
        tau, new = self._called(model, t, traced_array(q), traced_array(v), x, h)
        if self.period is not None:
            due = x[DUE].item() <= t + 1e-6 * dt  # a step that begins with the sample takes it
            later = np.array(x[DUE].item() + self.period, dtype=object)
            new = {n: _picked(due, y, x[n]) for n, y in (new | {HELD: tau, DUE: later}).items()}
            return new[HELD], np.concatenate([y.ravel() for y in new.values()])
        return tau, np.concatenate([y.ravel() for y in (new | {HELD: tau}).values()])

    def _called(
        self, model: Model, t: Real, q: TracedArray, v: TracedArray, x: Mapping[str, Array], h: Real
    ) -> tuple[Traced, dict[str, Traced]]:
        """What the function gives, if it fits."""
        if not self.state:
            return as_forces(cast(Forces, self.function(t, q, v)), model), {}
        given = {n: traced_array(x[n]) if x[n].ndim else x[n].item() for n in self.state}
        found = self.function(t, q, v, given, h)
        pair = cast("tuple[object, ...]", found) if isinstance(found, tuple) else ()
        if len(pair) != 2 or not isinstance(pair[1], Mapping):
            raise ConfigurationError(
                "Law: the function has a state; return (forces, {name: next state})"
            )
        tau = as_forces(cast(Forces, pair[0]), model)
        after = cast("Mapping[str, object]", pair[1])
        if set(after) != set(self.state):
            raise ConfigurationError(
                f"Law: the function returned the states {sorted(after)}; return those of state=, "
                f"{sorted(self.state)}"
            )
        new: dict[str, Traced] = {}
        for name, value in self.state.items():
            new[name] = np.asarray(after[name], dtype=object)
            if new[name].shape != value.shape:
                raise ConfigurationError(
                    f"Law: the next state {name!r} has shape {new[name].shape}; it began with "
                    f"{value.shape}"
                )
        return tau, new


def _picked(due: Condition, a: Traced, b: Array) -> Traced:
    """a where a sample is due, else b."""
    pairs = zip(a.ravel(), b.ravel(), strict=True)
    return np.array([select(due, x, y) for x, y in pairs], dtype=object).reshape(b.shape)


def check_traceable(
    law: Feedback | Law, model: Model, varying: Varying | None = None
) -> None:
    """Raise where a law cannot be traced: a `ConfigurationError` that names the line and what to
    write there, or says that the law is no function of its arguments.
    """
    if len({law_digest(law, model, varying) for _ in range(2)}) > 1:
        error = ValueError(  # traced, a random number would be one and the same at every step
            "it gives other forces when it is asked again at the same t, q and v (a random "
            "number, a clock, a counter?); draw numbers before, or say trace=False"
        )
        raise _untraceable(error) from error


def law_digest(law: Feedback | Law, model: Model, varying: Varying | None = None) -> str:
    """The digest of a law as it is now, which has to be traceable."""
    check_law(law)
    system = System(model, varying=varying)

    def plain(t: Real, q: Traced, v: Traced, **more: Traced) -> Traced:
        bound = system.on(more).bound(law, more)
        assert not isinstance(bound, Law)
        return as_forces(bound(t, traced_array(q), traced_array(v)), model)

    def sampled(
        t: Real, q: Traced, v: Traced, x: Traced, dt: Real, **more: Traced
    ) -> tuple[Traced, Traced]:
        bound = system.on(more).bound(law, more)
        assert isinstance(bound, Law)
        return bound.sample(model, t, q, v, x, dt)

    shapes: dict[str, tuple[int, ...]] = {"t": (), "q": (model.nq,), "v": (model.nv,)}
    if varying is not None and varying.count:
        shapes["parameters"] = (varying.count,)
    if isinstance(law, Law):
        shapes |= {"x": (law.size(model),), "dt": ()}
    traced = sampled if isinstance(law, Law) else plain
    try:
        return digest(named(traced, shapes, model, "torque", target="interpret").program)
    except MozziError:
        raise
    except Exception as error:
        raise _untraceable(error) from error


def _untraceable(error: Exception) -> ConfigurationError:
    return ConfigurationError(f"torque: the law cannot be traced: {plainly(error)}")


def plainly(error: BaseException) -> str:
    """An error in a function of the caller: which line, what is wrong with it, what to write."""
    own = str(Path(__file__).parents[2])
    skipped = (own, str(Path(np.__file__).parent))
    frames = traceback.extract_tb(error.__traceback__)
    users = [f for f in frames if not f.filename.startswith(skipped)]
    what = f"{type(error).__name__}: {error}"
    if "which has no callable" in str(error):
        what += (
            "; an array that mixes plain numbers with traced scalars is made by mz.array([…])"
        )
    if not users:
        return what
    last = users[-1]
    text = f" `{last.line}`" if last.line else ""
    return f"line {last.lineno} of {Path(last.filename).name}{text}: {what}"
