"""What a simulation leaves behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.algorithms.calls.guard import unchecked
from mozzi.algorithms.constraints.rows.rows import loop_rows
from mozzi.algorithms.contact.gaps import contact_gaps, contact_points
from mozzi.algorithms.contact.inverse import contact_wrenches
from mozzi.algorithms.dynamics.energy import kinetic_energy, momentum, potential_energy
from mozzi.algorithms.kinematics.poses import forward_kinematics
from mozzi.algorithms.loops.wrenches import LoopWrench, drive_wrenches, loop_wrenches
from mozzi.checked import checked
from mozzi.errors import ConfigurationError, again
from mozzi.model import Model
from mozzi.simulation.methods.dormand_prince import Event
from mozzi.simulation.parameters import Varying
from mozzi.types import Array, ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

__all__ = ["Interrupted", "Origin", "Sample", "Trajectory"]

Sample: TypeAlias = int | tuple[int, ...] | slice | NDArray[np.int_] | NDArray[np.bool_]
"""Which of a batch: as an index of its axes."""


class Origin(TypedDict):
    """How the command line made a model, so that it can be made again."""

    file: str
    base: Literal["fixed", "free"]
    roots: list[str]
    locked: dict[str, list[float]]
    """Joints that are held, and where."""
    contacts: bool
    ground: bool
    touch: list[str] | None
    friction: float | None


@dataclass(eq=False)
class Trajectory:
    """A motion at the times t (n,): q (B, n, nq), v (B, n, nv), a (B, n, nv).

    B are the batch axes of the initial state (none for one motion). Where a sample diverged, its
    numbers are NaN behind ``diverged[sample]``, the last time at which it was finite. ``events``
    are the zeros that dopri5 found; a terminal one leaves NaN behind it, too.

    Example:
        >>> motion = mz.simulate(mz.load("arm.urdf"), np.zeros(3), np.zeros(3), 0.1, 1e-3)
        >>> motion.q.shape, motion.v.shape, motion.energy().shape
        ((101, 3), (101, 3), (101,))
    """

    t: Array
    q: Array
    v: Array
    model: Model | None = None
    tau: Array | None = None
    method: str = ""
    springs: bool = True
    diverged: dict[tuple[int, ...], float] = field(default_factory=dict[tuple[int, ...], float])
    events: list[Event] = field(default_factory=list[Event])
    complete: bool = True
    accelerations: Callable[[Trajectory], Array] | None = field(default=None, repr=False)
    reactions: Callable[[Trajectory], dict[str, Array]] | None = field(default=None, repr=False)
    applied: Callable[[Trajectory], Array | None] | None = field(default=None, repr=False)
    stored: dict[str, Array] = field(default_factory=dict[str, Array], repr=False)
    law_state: dict[str, Array] = field(default_factory=dict[str, Array], repr=False)
    """The state of a `Law` at the times, by name, (B, n, …)."""
    guided: tuple[str, ...] = ()
    """Loops that follow a law of time."""
    driven: bool = False
    """Whether anything but gravity and springs does work: torques, wrenches, friction, stops."""
    parameters: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """Numbers of the model that differ from sample to sample, (B,) by name."""
    origin: Origin | None = None
    """How the model was made, where the command line made it."""

    def __repr__(self) -> str:
        batch = "×".join(map(str, self.batch)) + " samples, " if self.batch else ""
        name = f"{self.model.name!r}, " if self.model is not None else ""
        return f"<Trajectory {name}{batch}{len(self.t)} times to {self.t[-1]:g} s>"

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, sample: Sample) -> Trajectory:
        """The motion of one sample of a batch, or of some of them."""
        if not self.batch:
            raise ConfigurationError("this trajectory is one motion; it has no samples to choose")
        flags = np.full(self.batch, np.inf)
        for where, time in self.diverged.items():
            flags[where] = time
        chosen = flags[sample]
        numbers = {name: x[sample] for name, x in self.parameters.items()}
        model = self.model
        if model is not None and numbers and np.ndim(next(iter(numbers.values()))) == 0:
            model = model.with_parameters({name: float(x) for name, x in numbers.items()})
            numbers = {}
        return Trajectory(
            self.t, self.q[sample], self.v[sample], model,
            None if self.tau is None else self.tau[sample], self.method, self.springs,
            {tuple(map(int, k)): float(chosen[tuple(k)]) for k in np.argwhere(np.isfinite(chosen))},
            complete=self.complete,
            stored={name: x[sample] for name, x in self.derived().items()},
            applied=lambda _: None if (tau := self.joint_forces()) is None else tau[sample],
            reactions=lambda _: {name: x[sample] for name, x in self.all_reactions().items()},
            law_state={name: x[sample] for name, x in self.law_state.items()},
            guided=self.guided,
            driven=self.driven,
            parameters=numbers,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, object]:
        """What travels to other processes, and into copies: everything that the run knows how to
        compute, computed; the run, with its kernels and laws, stays behind.
        """
        self.derived()
        self.joint_forces()
        self.all_reactions()
        state: dict[str, object] = {**self.__dict__, "stored": dict(self.stored)}
        return state | dict.fromkeys(("accelerations", "reactions", "applied"))

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch axes."""
        return self.q.shape[:-2]

    # -- what follows from it ------------------------------------------------------------------

    @property
    def a(self) -> Array:
        """Accelerations, (B, n, nv). Contacts, rigid stops and friction that sticks push as they
        did in the last step: not at all at the start of moreau.
        """
        make = self.accelerations
        return self._get("a", lambda: None if make is None else make(self))

    def joint_forces(self) -> Array | None:
        """The joint forces that were applied, (B, n, nv): given, sampled, or what the law says in
        the records; None where nothing was. Not those of springs, friction and stops.

        Example:
            >>> motion = mz.simulate(mz.load("arm.urdf"), np.zeros(3), np.zeros(3), 0.1, 1e-3)
            >>> motion.joint_forces() is None  # nothing was applied
            True
        """
        if self.tau is None and "tau" not in self.stored and self.applied is not None:
            found = self.applied(self)
            if found is not None:
                self.stored["tau"] = found
        return self.tau if self.tau is not None else self.stored.get("tau")

    @property
    def loop_forces(self) -> Array:
        """Multipliers of the rows of loops, rolling and velocity rows, (B, n, m), of least norm:
        rows as `loop_rows` tells, `loop_wrenches` makes world wrenches of them. Of a loop that
        follows a law, conjugate to its residual. What touches pushes as in `a`.
        """
        return self._reaction("loop_forces")

    @property
    def drive_forces(self) -> dict[str, Array]:
        """What drives joints that follow a law, by joint: (B, n, nv of the joint). What touches
        pushes as in `a`.
        """
        found = self.all_reactions()
        return {n.removeprefix("drive:"): x for n, x in found.items() if n.startswith("drive:")}

    def drive_power(self) -> Array:
        """The power that driven joints and moving closures bring in, (B, n).

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> turn = {"joint_1": lambda t: 2.0 * t}
            >>> motion = mz.simulate(arm, np.zeros(3), [2, 0, 0], 0.1, 1e-3, prescribed=turn)
            >>> motion.drive_power().shape
            (101,)
        """
        return self._reaction("drive_power")

    def drive_work(self) -> Array:
        """The work of the drives since the start, (B, n): with it the energy is balanced where
        nothing else drives or brakes, to the order of the method. Records must be dense enough to
        integrate the power over them (polynomials of degree five; with moreau trapezoids).

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> turn = {"joint_1": lambda t: 2.0 * t}
            >>> motion = mz.simulate(arm, np.zeros(3), [2, 0, 0], 0.1, 1e-3, prescribed=turn)
            >>> motion.drive_work().shape
            (101,)
        """
        from mozzi.simulation.trajectories.reactions import integral

        P = self.drive_power()
        if self.method == "moreau":
            out = np.zeros(P.shape)
            out[..., 1:] = np.cumsum(0.5 * (P[..., 1:] + P[..., :-1]) * np.diff(self.t), axis=-1)
            return out
        return integral(self.t, P)

    def wrenches(self) -> dict[str, LoopWrench]:
        """What loops, rolling contacts, velocity rows and drives exert on the bodies, by name (of a
        drive, that of its joint): world wrenches (B, n, k, 6) at points (B, n, k, 3), as
        `loop_wrenches` tells them.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> turn = {"joint_1": lambda t: 2.0 * t}
            >>> motion = mz.simulate(arm, np.zeros(3), [2, 0, 0], 0.1, 1e-3, prescribed=turn)
            >>> list(motion.wrenches())
            ['joint_1']
        """
        model = self._model()
        found = dict(loop_wrenches(model, self.q, self.loop_forces))
        moved = {name: self.loop_forces[..., loop_rows(model)[name]] for name in self.guided}
        for name, force in (moved | self.drive_forces).items():
            found[name] = drive_wrenches(model, self.q, name, force)
        return found

    @property
    def reactions_known(self) -> bool:
        """Whether what closures and drives exert has been computed."""
        return "drive_power" in self.stored

    def all_reactions(self) -> dict[str, Array]:
        """What closures and drives exert, computed once: "loop_forces", "drive_power", and what
        drives a joint as "drive:joint".

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> turn = {"joint_1": lambda t: 2.0 * t}
            >>> motion = mz.simulate(arm, np.zeros(3), [2, 0, 0], 0.1, 1e-3, prescribed=turn)
            >>> motion.all_reactions()["drive_power"].shape
            (101,)
        """
        if not self.reactions_known and self.reactions is not None:
            with np.errstate(all="ignore"):
                self.stored |= self.reactions(self)
        return {n: x for n, x in self.stored.items()
                if n in ("loop_forces", "drive_power") or n.startswith("drive:")}  # fmt: skip

    def _reaction(self, name: str) -> Array:
        found = self.all_reactions()
        if name not in found:
            raise ConfigurationError(f"this trajectory holds no {name}; simulate again")
        return found[name]

    @property
    def contact_forces(self) -> Array:
        """On the bodies of shapes a, in world axes, in the last step, (B, n, k, 3)."""
        return self._contact("contact_forces")

    @property
    def contact_residual(self) -> Array:
        """The largest velocity by which a step since the record before missed a law of contact, dry
        friction or limits, (B, n).
        """
        return self._contact("contact_residual")

    @property
    def contact_gaps(self) -> Array:
        """Signed distances of the contact points, (B, n, k)."""
        return self._get("contact_gaps", lambda: self._of(contact_gaps, self.q))

    @property
    def contact_modes(self) -> Array:
        """0 open, 1 sticking, 2 sliding, (B, n, k)."""
        return self._get("contact_modes", self._modes)

    def energy_taken(self) -> Array:
        """What impacts (first) and friction (second) took since the start, (B, n, 2): with it the
        energy is balanced, to the order of the method.

        Example:
            >>> ball = mz.load("ball.urdf", base="free").with_ground()
            >>> motion = mz.simulate(ball, [0, 0, 0.1, 0, 0, 0, 1], np.zeros(6), 0.05, 1e-3)
            >>> motion.energy_taken().shape
            (51, 2)
        """
        return self._contact("taken")

    def contact_wrenches(self) -> Array:
        """What the contacts exert on every body, body-fixed, (B, n, nb, 6).

        Example:
            >>> ball = mz.load("ball.urdf", base="free").with_ground()
            >>> motion = mz.simulate(ball, [0, 0, 0.1, 0, 0, 0, 1], np.zeros(6), 0.05, 1e-3)
            >>> motion.contact_wrenches().shape
            (51, 1, 6)
        """
        return contact_wrenches(self._model(), self.q, self.contact_forces)

    @property
    def known_contact_forces(self) -> Array | None:
        """`contact_forces` where there are some, else None."""
        if "contact_forces" not in self.stored:
            return None
        forces = self.stored["contact_forces"]
        return forces if forces.shape[-2] else None

    def _contact(self, name: str) -> Array:
        if name not in self.stored:
            raise ConfigurationError(
                f"this trajectory holds no contacts; they come with method='moreau', not "
                f"{self.method!r}"
            )
        return self.stored[name]

    def _modes(self) -> Array:
        rows, model = self._contact("row_forces"), self._model()
        modes: list[np.ndarray] = []
        start = 0
        for contact, part in zip(model.contacts, contact_points(model).values(), strict=True):
            size = 3 if contact.friction[0] or f"{contact.name}.friction" in self.parameters else 1
            for _ in range(part.start, part.stop):
                x = rows[..., start : start + size]
                slides = np.linalg.norm(x[..., 1:], axis=-1) >= x[..., 0] * (1.0 - 1e-9)
                modes.append(np.where(x[..., 0] <= 0.0, 0, np.where(slides, 2, 1)))
                start += size
        return np.stack(modes, axis=-1) if modes else np.zeros((*rows.shape[:-1], 0), dtype=int)

    def kinetic_energy(self) -> Array:
        """½ vᵀ M v, (B, n).

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> x = mz.simulate(arm, arm.neutral(), np.zeros(3), 0.1, 0.01)
            >>> x.kinetic_energy().shape
            (11,)
        """
        return self._get("kinetic", lambda: self._of(kinetic_energy, self.q, self.v))

    def potential_energy(self) -> Array:
        """Of gravity, and of the model's springs unless they were taken out, (B, n).

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> x = mz.simulate(arm, arm.neutral(), np.zeros(3), 0.1, 0.01)
            >>> x.potential_energy().shape
            (11,)
        """
        return self._get(
            "potential", lambda: self._of(potential_energy, self.q, springs=self.springs)
        )

    def energy(self) -> Array:
        """Kinetic and potential energy, (B, n): constant where nothing drives or brakes.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> x = mz.simulate(arm, arm.neutral(), np.zeros(3), 0.1, 0.01)
            >>> x.energy().shape
            (11,)
        """
        return self.kinetic_energy() + self.potential_energy()

    def momentum(self) -> Array:
        """Angular and linear momentum of all bodies about the inertial origin, (B, n, 6).

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> x = mz.simulate(arm, arm.neutral(), np.zeros(3), 0.1, 0.01)
            >>> x.momentum().shape
            (11, 6)
        """
        return self._get("momentum", lambda: self._of(momentum, self.q, self.v))

    def poses(self) -> Array:
        """Poses of all bodies, (B, n, nb, 4, 4).

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> x = mz.simulate(arm, arm.neutral(), np.zeros(3), 0.1, 0.01)
            >>> x.poses().shape
            (11, 3, 4, 4)
        """
        return self._of(forward_kinematics, self.q)

    def energy_drift(self) -> Array:
        """The largest change of the energy, over the largest kinetic energy, (B,).

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> x = mz.simulate(arm, arm.neutral(), np.zeros(3), 0.1, 0.01)
            >>> bool(x.energy_drift() >= 0.0)
            True
        """
        E, T = self.energy(), self.kinetic_energy()
        with np.errstate(invalid="ignore", divide="ignore"):
            change: Array = np.nanmax(np.abs(E - E[..., :1]), axis=-1)
            scale: Array = np.maximum(np.nanmax(T, axis=-1), np.abs(E[..., 0]))
            return np.where(scale > 0.0, change / scale, change)

    def _at(self, index: NDArray[np.int_]) -> Trajectory:
        """Some of the records of one motion."""
        return Trajectory(
            self.t[index], self.q[index], self.v[index], self.model, springs=self.springs
        )

    def _of(self, function: Algorithm, *arrays: ArrayLike, **options: object) -> Array:
        """A function of the model of every sample."""
        numbers = np.stack([*self.parameters.values()], axis=-1) if self.parameters else None
        varying = Varying(self._model(), tuple(self.parameters), (), numbers)
        with unchecked():
            return varying.of(function, *arrays, **options)

    def _model(self) -> Model:
        if self.model is None:
            raise ConfigurationError(
                "this trajectory has no model; load it with Trajectory.load(path, model=model)"
            )
        return self.model

    def _get(self, name: str, make: Callable[[], Array | None]) -> Array:
        if name not in self.stored:
            with np.errstate(all="ignore"), unchecked():  # NaN behind the end of a motion
                value = make()
            if value is None:
                raise ConfigurationError(f"this trajectory holds no {name}")
            self.stored[name] = value
        return self.stored[name]

    def derived(self) -> dict[str, Array]:
        """Everything that is not yet computed, computed where the model is known.

        Example:
            >>> motion = mz.simulate(mz.load("arm.urdf"), np.zeros(3), np.zeros(3), 0.1, 1e-3)
            >>> motion.derived()["kinetic"].shape
            (101,)
        """
        if self.model is not None:
            self.energy()
            self.momentum()
        if self.accelerations is not None:
            self._get("a", lambda: self.a)
        return self.stored

    # -- files, pictures -----------------------------------------------------------------------

    @checked
    def save(self, path: str | os.PathLike[str], fields: Sequence[str] | None = None) -> Path:
        """Write the trajectory with its energies and momentum to .npz or .csv.

        Atomically: the file is there complete, or as it was before.

        Args:
            path: the file.
            fields: what is written besides t, q and v: some of a, tau, kinetic, potential,
                momentum, contacts, reactions; all that there is where not given (reactions of
                closures and drives where they have been looked at).

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> x = mz.simulate(arm, arm.neutral(), np.zeros(3), 0.1, 0.01)
            >>> x.save("motion.npz").name
            'motion.npz'
        """
        from mozzi.simulation.trajectories.files import save

        return save(self, Path(path), fields)

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str], model: Model | None = None) -> Trajectory:
        """Read what `save`, or ``simulate(save=…)``, wrote; ``model`` gives back what needs the
        mechanism, such as poses.

        Args:
            path: the file.
            model: the mechanism.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> x = mz.simulate(arm, arm.neutral(), np.zeros(3), 0.1, 0.01)
            >>> mz.Trajectory.load(x.save("again.npz"), arm).q.shape
            (11, 3)
        """
        from mozzi.simulation.trajectories.files import load

        return load(Path(path), model)

    @checked
    def plot(
        self, path: str | os.PathLike[str] | None = None, sample: Sample | None = None
    ) -> Figure:
        """A matplotlib figure of coordinates, velocities, energies and drift; saved where a path
        is given. Needs the extra ``viz``.

        Args:
            path: the file.
            sample: which of a batch.

        Example:
            >>> motion = mz.simulate(mz.load("arm.urdf"), np.zeros(3), np.zeros(3), 0.1, 1e-3)
            >>> figure = motion.plot()  # of matplotlib
        """
        from mozzi.viz.plot import plot

        return plot(self, path, sample)

    def _repr_html_(self) -> str:
        """The motion as a page that plays, in a notebook."""
        from mozzi.viz.notebook import trajectory_html

        return trajectory_html(self)

    def to_xarray(self) -> Dataset:
        """The motion as an `xarray.Dataset`, with joints by name, units and times as coordinates.

        Variables: q, v, and where they are known a, tau, kinetic, potential, momentum, contact
        forces and gaps, and the states of a law; along "sample" (of a batch), "time", and
        "coordinate" or "velocity", which have the names of the joints'. Needs the extra
        ``xarray``; ``.to_dataframe()`` gives pandas.

        Example:
            >>> motion = mz.simulate(mz.load("arm.urdf"), np.zeros(3), np.zeros(3), 0.1, 1e-3)
            >>> motion.to_xarray().q.sel(coordinate="joint_2").shape
            (101,)
        """
        from mozzi.simulation.trajectories.dataset import to_xarray

        return to_xarray(self)

    @checked
    def animate(
        self,
        path: str | os.PathLike[str],
        sample: Sample | None = None,
        fps: float = 30.0,
        wrenches: ArrayLike | None = None,
    ) -> Path:
        """Write a moving picture of the model's shapes: ``.html`` is a page of its own, ``.gif``
        needs the extra ``viz``. What cannot be shown is named in a `NotShownWarning`.

        The forces of contacts can be shown on the page, as arrows from where they act.

        Args:
            path: the file.
            sample: which of a batch.
            fps: pictures per second.
            wrenches: (nb, 6) or (n, nb, 6), body-fixed, that the page can show as forces.

        Example:
            >>> motion = mz.simulate(mz.load("arm.urdf"), np.zeros(3), np.zeros(3), 0.1, 1e-3)
            >>> motion.animate("motion.html").name
            'motion.html'
        """
        from mozzi.viz.animate import animate

        return animate(self, Path(path), sample, fps, wrenches)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `simulate`; `trajectory` is what was computed until then.

    Example:
        >>> try:
        ...     motion = mz.simulate(mz.load("arm.urdf"), np.zeros(3), np.zeros(3), 0.01, 1e-3)
        ... except mz.Interrupted as stop:
        ...     motion = stop.trajectory
        >>> len(motion.t)
        11
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        super().__init__(
            f"stopped at t = {trajectory.t[-1]:g} s; what was computed is the trajectory of this "
            "error: except mozzi.Interrupted as stop: stop.trajectory"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return again, (type(self), self.args, self.__dict__)
