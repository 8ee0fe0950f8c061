"""Laws of time: joints that are driven, and closures whose residuals follow a law.

A caller writes positions alone, as functions of t. They are traced once; rates and accelerations
follow by differentiation, and all of it is compiled along with the steps. Driven joints are rows
like those of loops: their multipliers are what the drives exert.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.constraints.row_choice import loop_rank
from mozzi.algorithms.constraints.rows.rows import (
    loop_jacobian,
    loop_residual,
    loop_rows,
    position_rows,
)
from mozzi.algorithms.kinematics.configuration import difference
from mozzi.algorithms.loops.assemble import consistent_velocities
from mozzi.algorithms.loops.shown import show
from mozzi.errors import (
    ConfigurationError,
    LoopError,
    ModelError,
    StiffWarning,
    known,
    warn,
)
from mozzi.lie.small_matrices import solve_spd
from mozzi.lie.vec import number
from mozzi.model import Drive, Guided, Joint, Model
from mozzi.program.arrays import traced_array
from mozzi.program.differentiate import DifferentiationError, forward
from mozzi.program.digest import digest
from mozzi.program.inline import inline
from mozzi.program.passes import prune
from mozzi.program.program import Input, Program, trace
from mozzi.program.scalar import Real
from mozzi.simulation.forces.law import plainly
from mozzi.simulation.parameters import check_arguments
from mozzi.simulation.place import named
from mozzi.simulation.system import Feedback, as_forces
from mozzi.types import Array, ArrayLike, Traced

__all__ = ["Drives", "Prescribed", "TimeLaw", "driven"]

TimeLaw: TypeAlias = Callable[..., object] | float
"""Positions as a function of t, or a number that stays."""

Prescribed: TypeAlias = Mapping[str, TimeLaw] | Mapping[tuple[str, int], TimeLaw]
"""Laws by joint, or by joint and number of a coordinate."""

OPEN = 1e-6  # a start that is away from its law by more is no accident
LOOKED_TIMES, WORST, HALVINGS = 4096, 16, 20  # how jumps of laws are looked for
MISSED = 1e-6  # what steps leave of rows that can be met is far smaller


def driven(
    model: Model, joints: tuple[tuple[str, int | None], ...], loops: tuple[str, ...]
) -> Model:
    """The model with rows for joints that are driven (all coordinates, or the one of a number), and
    with rows of ∂φ/∂q for loops whose residual φ moves; the same one for the same joints and loops.
    """
    key = "driven", joints, loops
    if key not in model.cache:
        guided = [x for x in model.loops if x.name in loops]
        drives: list[Drive | Guided] = [Guided(x) for x in guided]
        for joint, component in joints:
            n = model.joint(joint).nv if component is None else 1
            drives.append(Drive(joint, n, component))
        left = [x for x in model.loops if x.name not in loops]
        made = model._replace(loops=left, drives=drives)  # pyright: ignore[reportPrivateUsage]
        model.cache[key] = made
    return model.cache[key]


class Drives:
    """The laws of a simulation: the model with the rows they stand for, and what they ask of them
    at a time.
    """

    def __init__(
        self,
        model: Model,
        prescribed: Prescribed | None,
        loop_offsets: Mapping[str, TimeLaw] | None,
    ):
        self.user = model
        self.joints: dict[tuple[str, int | None], TimeLaw] = {}
        given = cast("Mapping[str | tuple[str, int], TimeLaw]", prescribed or {})
        for key, law in given.items():
            joint, component = key if isinstance(key, tuple) else (key, None)
            self._check_joint(joint, component)
            self.joints[joint, component] = law
        self.loops = dict(loop_offsets or {})
        there = {x.name: x for x in model.closures}
        for name in self.loops:
            if name not in there:
                raise ModelError(
                    f"loop_offsets: model {model.name!r} has no loop {name!r}; it has "
                    f"{known(name, tuple(there)) if there else 'none'}"
                )
        self.model = driven(model, tuple(self.joints), tuple(self.loops))
        self.rows = loop_rows(self.model)
        self.program = self._traced()
        self._kernel = named(self._all, {"t": ()}, model, "laws")

    def _check_joint(self, joint: str, component: int | None) -> None:
        kind = self.user.joint(joint)
        if component is not None and not (kind.flat and 0 <= component < kind.nv):
            raise ConfigurationError(
                f"prescribed: joint {joint!r} has no coordinate {component} of its own; drive the "
                "whole joint"
            )
        whole = joint in {j for j, k in self.joints if k is None}
        if whole or (component is None and joint in {j for j, _ in self.joints}):
            raise ConfigurationError(f"prescribed: joint {joint!r} is driven twice")

    @property
    def guided(self) -> tuple[str, ...]:
        """The loops (joints that close the tree) that follow a law."""
        return tuple(x.name for x in self.model.drives if isinstance(x, Guided))

    @property
    def content(self) -> str:
        """What names the laws: equal ones have equal content."""
        return f"{self.model.digest} {digest(self.program)}"

    # -- what they ask --

    def _traced(self) -> Program:
        """t ↦ (coordinates of driven joints, offsets, rates and accelerations of all rows)."""

        def laws(t: Real) -> tuple[Traced, ...]:
            model, m = self.model, self.model.row_count
            positions = position_rows(model).astype(float)  # others follow the rate alone
            q = np.array([*model.neutral()], dtype=object)
            offsets, U = (np.full(m, 0.0, dtype=object) for _ in range(2))
            for (joint, component), law in self.joints.items():
                at = model.q_slices[joint]
                kind = model.joint(joint)
                what = f"prescribed: the law of joint {joint!r}"
                size = kind.nq if component is None else 1
                x = _numbers(law, t, size, what)
                if component is None:
                    x = np.array(kind.normalize(list(x)) if kind.quaternions else x, dtype=object)
                    q[at] = x
                    rows = self.rows[f"drive:{joint}"]
                    U[rows] = _velocities(kind, x, _rate(x, t))
                else:
                    q[at.start + component] = x[0]
                    U[self.rows[f"drive:{joint}.{component}"]] = _rate(x, t)
            for name, law in self.loops.items():
                rows = self.rows[name]
                size = rows.stop - rows.start
                x = _numbers(law, t, size, f"loop_offsets: the law of loop {name!r}")
                offsets[rows], U[rows] = x * positions[rows], _rate(x, t)
            return q, offsets, U, _rate(U, t)

        try:
            return prune(trace(laws, [Input("t", ())], "laws"))
        except DifferentiationError as error:
            raise ConfigurationError(f"laws of time: cannot be differentiated: {error}") from error

    def _all(self, t: Real) -> tuple[Traced, ...]:
        flat = inline(self.program, [[t]])
        return tuple(np.array([*x, None], dtype=object)[:-1] for x in flat)

    def at(self, t: Real) -> dict[str, Traced]:
        """What rows shall be at a time of the trace: arguments of `loop_corrections`."""
        q, offsets, U, _ = self._all(t)
        return {"loop_offsets": offsets, "loop_rates": U, "q_ref": q}

    def accelerations(self, t: Real) -> Traced:
        """What the accelerations of rows shall be, at a time of the trace."""
        return self._all(t)[3]

    def on_arrays(self, t: ArrayLike) -> dict[str, Array]:
        """What rows shall be at times (B,): arguments of `loop_corrections`."""
        q, offsets, U, _ = self._kernel(np.asarray(t, dtype=float))
        return {"loop_offsets": offsets, "loop_rates": U, "q_ref": q}

    def offsets(self, t: ArrayLike) -> Array:
        """What residuals (B, m) shall be at times (B,)."""
        return self.on_arrays(t)["loop_offsets"]

    # -- where they meet a simulation --

    def start(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The state at the start: q must be where the laws are, and v becomes the nearest that
        they allow.
        """
        now = self.on_arrays(t)
        self._check_finite(t)
        self._check_start(now, q)
        rank = np.ravel(loop_rank(self.model, q, now["loop_offsets"])[0]).astype(int)
        show(self.model, q.reshape(len(rank), -1), rank)
        least = np.broadcast_to(now["loop_rates"], (*q.shape[:-1], self.model.row_count))
        return q, consistent_velocities(self.model, q, v, loop_rates=least)

    def check_joints(self, now: Mapping[str, Array], q: Array, tolerance: float = OPEN) -> None:
        """Raise where a joint is away from where its law is now (`on_arrays`)."""
        away = difference(self.user, now["q_ref"], q)
        for joint, component in self.joints:
            own = away[..., self.user.v_slices[joint]]
            own = own if component is None else own[..., component : component + 1]
            if np.abs(own).max(initial=0.0) > tolerance:
                x = now["q_ref"][self.user.q_slices[joint]]
                raise ConfigurationError(
                    f"prescribed: joint {joint!r} starts {np.abs(own).max():.3g} away from its "
                    f"law, which begins at {np.round(x, 6).tolist()}; set it in q0, and close "
                    f"loops with mozzi.assemble(model, q0, hold=[{joint!r}])"
                )

    def _check_start(self, now: Mapping[str, Array], q: Array) -> None:
        self.check_joints(now, q)
        left = np.abs(loop_residual(self.model, q) - now["loop_offsets"])
        for name, rows in self.rows.items():
            if left[..., rows].max(initial=0.0) > OPEN:
                raise LoopError(
                    f"loop {name!r} is away from where it shall be by "
                    f"{left[..., rows].max():.2e} (m or rad); call mozzi.assemble(model, q, "
                    "loop_offsets=...) first"
                )

    def _check_finite(self, t: float) -> None:
        """Raise where a law, its rate or its acceleration is no number at the start."""
        _, offsets, U, a = self._kernel(np.asarray(t, dtype=float))
        for name, rows in self.rows.items():
            for what, x in (("position", offsets), ("rate", U), ("acceleration", a)):
                if not np.isfinite(x[rows]).all():
                    sort = "loop" if name in self.loops else "joint"
                    whose = f"{sort} {name.removeprefix('drive:')!r}"
                    raise ConfigurationError(
                        f"the law of {whose} has no {what} at the start, t = {t:g} (it is "
                        f"{x[rows].tolist()}); give a law that can be differentiated twice there"
                    )

    def check_records(self, t: Array, q: Array, v: Array, coarse: bool) -> None:
        """Raise where records (n, B) miss what laws and rows ask for: no motion does both. Those
        behind the end of a sample (an event, a divergence) are no numbers, and miss nothing.

        Args:
            t (n,): times.
            q (n, B, nq): configurations.
            v (n, B, nv): velocities.
            coarse: whether steps were taken in float32.
        """
        finite: NDArray[np.bool_] = np.isfinite(np.concatenate([q, v], axis=-1))
        there = np.asarray(finite.all(axis=-1))[..., None]
        q, v = np.where(there, q, self.user.neutral()), np.where(there, v, 0.0)
        wide = (len(t), *(1,) * (q.ndim - 2), -1)
        now = {name: x.reshape(wide) for name, x in self.on_arrays(t).items()}
        U, A = now["loop_rates"], loop_jacobian(self.model, q)
        slip = np.abs((A @ v[..., None])[..., 0] - U)
        far = np.abs(loop_residual(self.model, q) - now["loop_offsets"])
        speed = np.abs(v).max(axis=-1, initial=0.0) + np.abs(U).max(axis=-1, initial=0.0)
        off = np.maximum(far, slip / (1.0 + speed[..., None]))
        bad = there & (off > (1e-3 if coarse else MISSED))
        if not bad.any():
            return
        k = int(np.argmax(bad.reshape(len(t), -1).any(axis=-1)))
        here = np.where(there, off, 0.0)[k].reshape(-1, off.shape[-1]).max(axis=0)
        missed = [name for name, rows in self.rows.items() if here[rows].max() > 0.1 * here.max()]
        names = ", ".join(repr(x.removeprefix("drive:")) for x in missed)
        raise LoopError(
            f"no motion does what the laws of time and the rows of model {self.user.name!r} ask "
            f"for: at t = {t[k]:.6g} they miss {names} by {here.max():.2g} (m or rad, or that "
            "share of the speed); drive fewer joints, or by laws that agree with the loops and rows"
        )

    def tell_jumps(self, start: float, end: float, steps: int, adaptive: bool) -> None:
        """Warn where positions or rates of laws jump: intervals where they change by other than
        what rates and accelerations say are halved until only a jump is left.
        """
        t = np.linspace(start, end, min(steps, LOOKED_TIMES) + 1)
        found = self._changes(t[:-1], t[1:])
        for k, what in enumerate(("velocity", "position")):
            change = found[k].max(axis=-1)
            worst = np.argsort(change)[-WORST:]
            a, b = t[worst], t[worst + 1]
            for _ in range(HALVINGS):
                middle = 0.5 * (a + b)
                first = self._changes(a, middle)[k].max(axis=-1)
                later = self._changes(middle, b)[k].max(axis=-1) > first
                a, b = np.where(later, middle, a), np.where(later, b, middle)
            left = self._changes(a, b)[k]
            jumps = (left > 0.1 * change[worst, None]) & (left > OPEN)
            if not jumps.any():
                continue
            n = int(np.flatnonzero(jumps.any(axis=-1))[np.argmin(b[jumps.any(axis=-1)])])
            row = int(np.argmax(left[n]))
            name = next(x for x, rows in self.rows.items() if rows.start <= row < rows.stop)
            sort = "loop" if name in self.loops else "joint"
            over = ", which dopri5 steps over" if adaptive else ""
            warn(
                f"the law of {sort} {name.removeprefix('drive:')!r}: its {what} jumps by "
                f"{left[n, row]:.3g} at t = {b[n]:.6g} s{over}; trajectory.drive_forces and "
                "drive_work() have no impulses: give a law that can be differentiated twice",
                StiffWarning,
            )
            return

    def _changes(self, a: Array, b: Array) -> Array:
        """How rates and positions of rows change from times a to b (n,) beside what accelerations
        and rates say, (2, n, m).
        """
        (q0, x0, U0, A0), (q1, x1, U1, A1) = self._kernel(a), self._kernel(b)
        way, turned = (x1 - x0) * 1.0, difference(self.user, q0, q1)
        for joint, component in self.joints:
            own = turned[:, self.user.v_slices[joint]]
            if component is None:
                way[:, self.rows[f"drive:{joint}"]] = own
            else:
                way[:, self.rows[f"drive:{joint}.{component}"]] = own[:, component : component + 1]
        half = 0.5 * (b - a)[:, None]
        way = np.where(position_rows(self.model), way - half * (U0 + U1), 0.0)
        return np.nan_to_num(np.abs(np.array([U1 - U0 - half * (A0 + A1), way])))

    def refuse_actuated(self, torque: Array | Feedback | None) -> None:
        """Raise where a joint is driven and has a torque, too."""
        if torque is None:
            return
        for joint, component in self.joints:
            at = self.user.v_slices[joint]
            at = at if component is None else slice(at.start + component, at.start + component + 1)
            law = callable(torque)
            acts = _of_law(torque, self.user, at) if law else list(torque[..., at].flat)
            if any(number(x) != 0.0 for x in acts):
                raise ConfigurationError(
                    f"joint {joint!r} is driven by a law of time and has a torque, too; leave its "
                    "torque at zero (the drive's is in trajectory.drive_forces), or do not "
                    "prescribe its motion"
                )


def _numbers(law: TimeLaw, t: Real, size: int, what: str) -> Traced:
    """What a law gives at t, if it is so many numbers."""
    if callable(law):
        check_arguments(law, "t", what, more=False)
    try:
        x = np.ravel(np.asarray(law(t) if callable(law) else law, dtype=object))
        for e in x:
            if number(e) is None and not hasattr(e, "op"):
                raise TypeError(f"{e!r} is neither a number nor a traced scalar")
    except (ConfigurationError, DifferentiationError):
        raise
    except Exception as error:
        raise ConfigurationError(f"{what} cannot be traced: {plainly(error)}") from error
    if x.shape != (size,):
        raise ConfigurationError(f"{what} gives {x.size} numbers; it takes {size}")
    return x


def _rate(x: Traced, t: Real) -> Traced:
    """dx/dt."""
    return forward(x, [t], [1.0])


def _velocities(joint: Joint, q: Traced, q_rate: Traced) -> Traced:
    """v of a joint with q̇ = N v: (NᵀN) v = Nᵀ q̇."""
    units = ([1.0 if i == k else 0.0 for i in range(joint.nv)] for k in range(joint.nv))
    N = [joint.rates(list(q), unit) for unit in units]
    square = [[sum((x * y for x, y in zip(a, b, strict=True)), 0.0) for b in N] for a in N]
    right = [sum((x * y for x, y in zip(a, q_rate, strict=True)), 0.0) for a in N]
    return np.array([*solve_spd(square, [right])[0], None], dtype=object)[:-1]


def _of_law(torque: Feedback, model: Model, at: slice) -> list[Real]:
    """What a law of torque gives at some velocities, traced."""
    found: list[Real] = []

    def law(t: Real, q: Traced, v: Traced) -> Traced:
        tau = as_forces(torque(t, traced_array(q), traced_array(v)), model)
        found.extend(tau[at])
        return tau

    named(law, {"t": (), "q": (model.nq,), "v": (model.nv,)}, model, "torque", target="interpret")
    return found
