"""Runs for sweeps: simulations, and algorithms, of models whose parameters vary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.algorithms.calls.guard import look
from mozzi.checked import checked
from mozzi.compiler import compile
from mozzi.errors import ConfigurationError, ShapeError
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.model.kinds import kinds
from mozzi.model.parameters.named import check_numbers, nominal_numbers, place_of, refused
from mozzi.simulation.checks import positive
from mozzi.simulation.forces.law import Law
from mozzi.simulation.methods import method_for, method_of
from mozzi.simulation.methods.dormand_prince import DormandPrince
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.parameters import names_of
from mozzi.simulation.simulate import simulate
from mozzi.simulation.system import Feedback
from mozzi.simulation.trajectories.dataset import UNITS
from mozzi.simulation.trajectories.trajectory import Trajectory
from mozzi.sweeps.extremes import Reduced
from mozzi.types import Array, ArrayLike, Device, DType, Method

__all__ = ["Evaluation", "Rollout"]

CHUNK_SECONDS = 1.0  # what a chunk may take on one core
STEP_NS = 30.0  # a step of order 4, per degree of freedom
CLOSED, TOUCHING = 5.0, 40.0  # how much more steps take with loops and with contacts
EXTREME_RECORDS = 50  # records for extremes on the way
CHUNK_BYTES_MAX = 2.0**28  # bytes of records of a chunk


@checked
@dataclass(frozen=True, eq=False)
class Rollout:
    """A simulation as a run of `sweep`: chunks of parameters become motions.

    Columns are parameters of the model and arguments of the law, as `simulate` takes them, and
    ``q0`` (n, nq), ``v0`` (n, nv) where starts vary. Results: ``q`` and ``v`` at the end,
    ``q_min``, ``q_max`` and ``v_max`` (of |v|) on the way, ``diverged``, the time at which a
    sample diverged (the duration where it did not); and with ``record`` the motion ``q_record``,
    ``v_record`` (n, times, …). Samples that diverge, or whose numbers no mechanism has (a mass of
    0), are NaN.

    Args:
        model: the mechanism.
        duration: in seconds.
        dt: a step, in seconds.
        q0: (nq,), the start; None: neutral.
        v0: (nv,), likewise; None: at rest.
        torque: as `simulate` takes it.
        method: likewise.
        record: steps from one recorded state to the next; None records none.
        record_dtype: the numbers of records.
        target: "cpu" or "cuda".
        dtype: the numbers of the steps.
        options: further arguments of `simulate`.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> run = mz.Rollout(arm, 0.1, 0.01)
        >>> found = mz.sweep(run, {"link_2.density": [0.8, 1.0, 1.2]})
        >>> found["q"].shape
        (3, 3)
    """

    model: Model
    duration: float
    dt: float
    q0: ArrayLike | None = None
    v0: ArrayLike | None = None
    torque: ArrayLike | Feedback | Law | None = None
    method: Method | OneStep | DormandPrince | None = None
    record: int | None = None
    record_dtype: DType = "float32"
    target: Device = "cpu"
    dtype: DType = "float64"
    options: Mapping[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        as_model(self.model, "Rollout")
        positive(self.duration, "Rollout: duration")
        positive(self.dt, "Rollout: dt")
        starts = {"q0": (self.q0, self.model.nq), "v0": (self.v0, self.model.nv)}
        for name, (x, n) in starts.items():
            if x is not None and np.shape(x) != (n,):
                fact = f"give {n} numbers, or a column {name!r} of the parameters"
                raise ShapeError("Rollout", name, np.shape(x), (n,), fact)
        look("Rollout", self.model, {n: x for n, (x, _) in starts.items() if x is not None})

    @property
    def steps(self) -> int:
        """How many steps a motion has."""
        return max(1, round(self.duration / self.dt))

    @property
    def every(self) -> int:
        """Steps from one look at the state to the next."""
        return self.record or max(1, self.steps // EXTREME_RECORDS)

    @cached_property
    def chunk(self) -> int:
        """How many samples take about a second on a core, and whose records fit."""
        more = TOUCHING if self.model.contacts else CLOSED if self.model.closures else 1.0
        ns = self.steps * STEP_NS * more * max(1, self.model.nv)
        most = CHUNK_SECONDS * 1e9 / ns * (256 if self.target == "cuda" else 1)
        kept = 8 if self._ends_only else self.steps // self.every + 2
        row = 8 * (self.model.nq + self.model.nv) * kept
        return 2 ** int(np.clip(np.log2(max(1.0, min(most, CHUNK_BYTES_MAX / row))), 4, 20))

    @property
    def notes(self) -> dict[str, dict[str, object]]:
        """Axes and names of the results, for stores."""
        q: dict[str, object] = {"axes": ["coordinate"], "names": list(self.model.q_names)}
        v: dict[str, object] = {"axes": ["velocity"], "names": list(self.model.v_names)}
        out: dict[str, dict[str, object]] = {"q": q, "q_min": q, "q_max": q, "v": v, "v_max": v}
        out["q_record"] = {**q, "axes": ["time", "coordinate"]}
        out["v_record"] = {**v, "axes": ["time", "velocity"]}
        out["diverged"] = {"units": "s"}
        return out

    @property
    def labels(self) -> dict[str, tuple[str, Sequence[str] | Array]]:
        """Coordinates of the axes of the results, for stores: by name, the axis and its labels."""
        q, v = kinds(self.model)
        times = np.append(np.arange(0, self.steps, self.every), self.steps) * self.dt
        return {
            "coordinate": ("coordinate", list(self.model.q_names)),
            "velocity": ("velocity", list(self.model.v_names)),
            "q_unit": ("coordinate", [UNITS["q"][kind] for kind in q]),
            "v_unit": ("velocity", [UNITS["v"][kind] for kind in v]),
            "time": ("time", times),
        }

    def check(self, names: Iterable[str]) -> None:
        """Refuse names that are neither of the model nor of the law.

        Args:
            names: of columns.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> mz.Rollout(arm, 0.1, 1e-3).check(["link_3.mass"])
        """
        names_of([n for n in names if n not in ("q0", "v0", "seed")], self.model, self.torque)

    @property
    def _ends_only(self) -> bool:
        """Whether ends and extremes are all there is to find, at the ends of steps."""
        driven = self.options.get("prescribed") or self.options.get("loop_offsets")
        chosen = method_of(method_for(self.model, self.method), {})
        return self.record is None and not driven and not isinstance(chosen, DormandPrince)

    def _unfit(self, given: dict[str, Array], n: int) -> NDArray[np.bool_]:
        """Samples that no mechanism has: the others go on, and these are moved out of their way."""
        own = names_of(given, self.model, self.torque).names
        unfit = np.zeros(n, dtype=bool)
        if own:
            unfit = refused(self.model, own, np.stack([given[name] for name in own], axis=-1))
        if unfit.any():
            for name, x in zip(own, nominal_numbers(self.model, own), strict=True):
                given[name] = np.where(unfit, x, given[name])
        return unfit

    def __call__(self, chunk: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
        given = {n: np.asarray(x, dtype=float) for n, x in chunk.items() if n != "seed"}
        q0, v0 = given.pop("q0", self.q0), given.pop("v0", self.v0)
        n = len(next(iter(chunk.values())))
        unfit = self._unfit(given, n)
        start = (
            np.broadcast_to(self.model.neutral() if q0 is None else q0, (n, self.model.nq)),
            np.zeros(self.model.nv) if v0 is None else v0,
        )
        rule = self.duration, self.dt, self.method, self.torque
        options = {
            "record_every": self.every, "target": self.target, "dtype": self.dtype,
            "parameters": given, **self.options,
        }  # fmt: skip
        if self._ends_only:
            run = cast("Callable[..., Reduced]", Reduced)(self.model, *start, *rule, **options)
            found = run.extremes()
            if unfit.any():
                left = run.place.put(np.where(unfit, np.nan, 0.0))
                found = {k: x + (left if x.ndim == 1 else left[:, None]) for k, x in found.items()}
            return dict(found)
        motion = cast("Callable[..., Trajectory]", simulate)(
            self.model, *start, *rule, **options
        )
        stopped = np.full(n, float(self.duration))
        for sample, time in motion.diverged.items():
            stopped[sample] = time
        stopped[unfit] = np.nan
        whole = (stopped >= self.duration)[:, None]
        out: dict[str, Array] = {
            "q": np.where(whole, motion.q[:, -1], np.nan),
            "v": np.where(whole, motion.v[:, -1], np.nan),
            "q_min": np.where(whole, motion.q.min(axis=1), np.nan),
            "q_max": np.where(whole, motion.q.max(axis=1), np.nan),
            "v_max": np.where(whole, np.abs(motion.v).max(axis=1), np.nan),
            "diverged": stopped,
        }
        if self.record is None:
            return dict(out)
        times = len(range(0, self.steps, self.every)) + 1
        records: dict[str, NDArray[np.generic]] = dict(out)
        for name, x in (("q_record", motion.q), ("v_record", motion.v)):
            padded = np.full((n, times, x.shape[-1]), np.nan, self.record_dtype)
            padded[:, : x.shape[1]] = x[:, :times]
            padded[unfit] = np.nan
            records[name] = padded
        return records


@checked
@dataclass(frozen=True, eq=False)
class Evaluation:
    """An algorithm as a run of `sweep`: columns are its arrays (``q``, ``v``, …) and parameters of
    the model; the results are called ``out``, or ``out0``, ``out1``, … where there are several.

    Args:
        function: an algorithm, such as mz.forward_dynamics.
        model: the mechanism.
        arrays: those that are the same for all samples, by name.
        options: further arguments of the algorithm.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> run = mz.Evaluation(mz.gravity_forces, arm, {"q": arm.neutral()})
        >>> mz.sweep(run, {"link_2.mass": np.linspace(0.5, 2.0, 4)})["out"].shape
        (4, 3)
    """

    function: Algorithm
    model: Model
    arrays: Mapping[str, ArrayLike] = field(default_factory=dict[str, ArrayLike])
    options: Mapping[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        as_model(self.model, "Evaluation")

    def check(self, names: Iterable[str]) -> None:
        """Refuse names that are neither of the model nor of the algorithm's arrays.

        Args:
            names: of columns.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> mz.Evaluation(mz.gravity_forces, arm).check(["q"])
        """
        for name in names:
            if name not in self.function.arrays and name != "seed":
                place_of(self.model, name)

    def __call__(self, chunk: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
        names = [n for n in chunk if n not in self.function.arrays and n != "seed"]
        given = {**self.arrays, **{n: x for n, x in chunk.items() if n in self.function.arrays}}
        missing = [n for n in self.function.required if n not in given]
        if missing:
            raise ConfigurationError(
                f"{self.function.name} takes {missing[0]!r}; give it in arrays, or as a column"
            )
        taken = [n for n in self.function.arrays if n in given]
        options = {**self.options, **{n: True for n in taken if n not in self.function.required}}
        kernel = compile(self.function, self.model, options=options, parameters=names)
        n = len(next(iter(chunk.values())))
        arrays = [np.asarray(given[name], dtype=float) for name in taken]
        if names:
            numbers = np.stack([np.asarray(chunk[x], dtype=float) for x in names], axis=-1)
            arrays.append(check_numbers(self.model, names, numbers))
        found = kernel(*arrays)
        several = cast("tuple[Array, ...]", found if isinstance(found, tuple) else (found,))
        labels = [f"out{k}" for k in range(len(several))] if isinstance(found, tuple) else ["out"]
        return {k: np.broadcast_to(x, (n, *x.shape[1:])) for k, x in zip(labels, several)}
