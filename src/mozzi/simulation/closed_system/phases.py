"""Motions in phases, between which attachments of a `ClosedSystem` come and go: what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, overload

import numpy as np

from mozzi.algorithms.loops.topology import State
from mozzi.errors import ConfigurationError, UnknownNameError, known
from mozzi.simulation.closed_system.attached import Parts
from mozzi.simulation.forces.drives import Prescribed, TimeLaw
from mozzi.simulation.forces.resistance import Limits, Resistance
from mozzi.simulation.methods.dormand_prince import DormandPrince
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.methods.options import MethodOptions
from mozzi.simulation.trajectories.trajectory import Trajectory
from mozzi.types import Array, ArrayLike, Device, DType, Method, Rep

if TYPE_CHECKING:
    from mozzi.simulation.closed_system.closed_system import ClosedSystem

__all__ = ["Change", "Phase", "Phases", "SystemOptions", "When", "WholeOptions"]

When: TypeAlias = Callable[[Array, Parts, Parts], Array | float]
"""An event: the change comes where this function of (t, q, v), by system, crosses zero."""

Change = tuple[float | When, Callable[["ClosedSystem", Parts], "ClosedSystem"]]
"""When, and what becomes of the system in a configuration."""


class MotionOptions(MethodOptions, total=False):
    """Options of `simulate` for all phases."""

    method: Method | OneStep | DormandPrince | None
    wrenches_rep: Rep
    resistance: bool | Resistance
    limits: Limits
    prescribed: Prescribed
    loop_offsets: Mapping[str, TimeLaw]
    record_every: int
    t0: float
    trace: bool | None
    target: Device
    dtype: DType


class SystemOptions(MotionOptions, total=False):
    """The same with wrenches (B, nb, 6) by system."""

    wrenches: State


class WholeOptions(MotionOptions, total=False):
    """The same with the wrenches of the whole mechanism."""

    wrenches: ArrayLike


@dataclass(frozen=True)
class Phase:
    """The motion of a system between two changes.

    taken: the kinetic energy (B) that the change at its begin has taken.
    """

    system: ClosedSystem
    trajectory: Trajectory
    taken: Array

    @property
    def t(self) -> Array:
        """The times (n)."""
        return self.trajectory.t

    @property
    def q(self) -> dict[str, Array]:
        """Configurations (B, n, nq), by system."""
        return self.system.parts(self.trajectory.q, "q")

    @property
    def v(self) -> dict[str, Array]:
        """Velocities (B, n, nv), by system."""
        return self.system.parts(self.trajectory.v)


@dataclass(frozen=True)
class Phases(Sequence[Phase]):
    """The phases of a motion, one after the other: the end of one is the time of the next.

    Where changes come on events, samples of a batch change each at its own time: ``samples`` holds
    the phases of each, in the order of `batch`, and arrays of all have as many records as the
    sample with most of them, NaN behind the end of others.
    """

    phases: tuple[Phase, ...]
    samples: tuple[Phases, ...] = ()
    batch: tuple[int, ...] = ()

    @overload
    def __getitem__(self, k: int) -> Phase: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[Phase, ...]: ...
    def __getitem__(self, k: int | slice) -> Phase | tuple[Phase, ...]:
        if self.samples:
            raise ConfigurationError(
                "phases: samples change each at its own time; take phases.samples[i][k], or "
                "phases.t, q(system), v(system), energy() and end of all"
            )
        return self.phases[k]

    def __len__(self) -> int:
        """How many; of samples that change each at its own time, the most."""
        return max(map(len, self.samples)) if self.samples else len(self.phases)

    def __iter__(self) -> Iterator[Phase]:
        return iter(self[:])

    @property
    def t(self) -> Array:
        """The times of all phases (n); those of changes are there twice, before and after. (B, n)
        where samples change each at its own time.
        """
        if self.samples:
            return self._all([x.t for x in self.samples])
        return np.concatenate([x.t for x in self.phases])

    @property
    def changed(self) -> Array:
        """The times of changes that happened (k), or (B, k) with NaN where one did not."""
        if self.samples:
            return self._all([x.changed for x in self.samples])
        return np.array([x.t[0] for x in self.phases[1:]])

    def q(self, system: str) -> Array:
        """Configurations (B, n, nq) of a system at these times.

        Args:
            system: its name; it must be there in all phases.
        """
        if self.samples:
            return self._all([x.q(system) for x in self.samples])
        self._refuse_absent(system)
        return np.concatenate([x.q[system] for x in self.phases], axis=-2)

    def v(self, system: str) -> Array:
        """Velocities (B, n, nv) of a system at these times.

        Args:
            system: its name; it must be there in all phases.
        """
        if self.samples:
            return self._all([x.v(system) for x in self.samples])
        self._refuse_absent(system)
        return np.concatenate([x.v[system] for x in self.phases], axis=-2)

    def _refuse_absent(self, system: str) -> None:
        """Raise where a system is not there in all phases."""
        for k, phase in enumerate(self.phases):
            if system not in phase.system.systems:
                there = known(system, phase.system.systems)
                raise UnknownNameError(f"phases: no system {system!r} in phase {k}; it has {there}")

    def energy(self) -> Array:
        """Kinetic and potential energy (B, n)."""
        if self.samples:
            return self._all([x.energy() for x in self.samples])
        return np.concatenate([x.trajectory.energy() for x in self.phases], axis=-1)

    @property
    def end(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """The last state (q, v), by system."""
        if self.samples:
            ends = [x.end for x in self.samples]
            there = [n for n in ends[0][0] if all(n in q for q, _ in ends)]
            q, v = ({n: self._all([e[k][n] for e in ends]) for n in there} for k in (0, 1))
            return q, v
        last = self.phases[-1]
        q, v = ({n: x[..., -1, :] for n, x in table.items()} for table in (last.q, last.v))
        return q, v

    def _all(self, arrays: Sequence[Array]) -> Array:
        """Arrays of the samples as one, with as many records as the longest."""
        most = max(map(len, arrays))
        out = np.full((len(arrays), most, *arrays[0].shape[1:]), np.nan)
        for row, x in zip(out, arrays, strict=True):
            row[: len(x)] = x
        return out.reshape(*self.batch, *out.shape[1:])
