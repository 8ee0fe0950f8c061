"""Few contacts at high order: Dormand and Prince between events, impact laws at them.

Between events every contact point keeps its mode (open, sticking, sliding) and the motion is smooth
(`contact.held`). A step in which a gap closes, a force would pull, friction is exceeded or a slip
ends is cut there: the time is found on the dense output and mended by steps of the full order. Then
the impact laws act on what touches, and the modes that follow are those of the one-sided problem of
the accelerations (as impulses of a very short time).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.contact.gaps import contact_count, contact_gaps, contact_points
from mozzi.algorithms.contact.held import contact_drift, contact_velocities
from mozzi.algorithms.contact.rows import NO_LAWS, SLOW
from mozzi.algorithms.contact.step import row_count, settled
from mozzi.lie.vec import is_zero
from mozzi.model import Model
from mozzi.program.scalar import Real
from mozzi.simulation.methods.dormand_prince import Adaptive, DormandPrince, Event
from mozzi.simulation.place import CPU, Place, Shapes, named
from mozzi.simulation.system import System
from mozzi.types import Array, Kernel, Traced

__all__ = ["OPEN", "SLIDES", "STICKS", "Missed", "TouchKernels", "Touching", "touch_kernels"]

OPEN, STICKS, SLIDES = 0.0, 1.0, 2.0

SHORT_SECONDS = 1e-4
"""A time (s) in which accelerations become velocities that decide on modes."""

CLOSED_GAP = 1e-8  # m: gaps below it take part in an impact
JUMPED_GAP = 1e-6  # m: a closed point above it is another one than it was
CLEAR = 1e-6  # of a force or a change of velocity: what is no rounding
ALONG = 1e-2  # of the least slip that says that something slides: so do others above this
LOOSE_FORCE = 1e-9  # of a force: how far it may miss its law before that is an event
EVENTS_AT_ONCE_MAX = 100  # events at one instant, after which a motion stops
INSTANT = 1e-10  # s, or of the time: in it a motion that goes on has no more events than that
GAP_LOOKS = 8  # places of a step where gaps are looked at


@dataclass(frozen=True)
class TouchKernels:
    """signals (q, v, t, forces…, touch) ↦ (v̇, x, w, gaps, forces in the world); free (q, v, t,
    forces…) ↦ v̇ without contacts and J̇ v of the rows; settle (q, v, touching, drift) ↦ (v⁺, x,
    residual); gaps (q); speeds (q, v) ↦ J v; these three with the numbers that vary, where there
    are some. cores: the shapes of the forces of one sample; numbers: where these are among them;
    rows: how many each point has.
    """

    signals: Kernel[tuple[Array, ...]]
    free: Kernel[tuple[Array, Array]]
    settle: Kernel[tuple[Array, ...]]
    gaps: Kernel[Array]
    speeds: Kernel[Array]
    cores: tuple[tuple[int, ...], ...]
    numbers: slice
    rows: tuple[int, ...]


def touch_kernels(system: System, forces: Shapes) -> TouchKernels:
    """The kernels of a system; forces are those without the modes."""
    model, k = system.model, contact_count(system.model)

    def signals(q: Traced, v: Traced, t: Real, **arrays: Traced) -> tuple[Traced, ...]:
        return system.on(arrays).touching(t, q, v)

    def free(q: Traced, v: Traced, t: Real, **arrays: Traced) -> tuple[Traced, ...]:
        at = system.on(arrays)
        return at.free(t, q, v), contact_drift(at.model, q, v)

    def settle(
        q: Traced, v: Traced, touching: Traced, drift: Traced, **numbers: Traced
    ) -> tuple[Traced, ...]:
        return settled(system.on(numbers).model, q, v, touching, drift)

    def gaps(q: Traced, **numbers: Traced) -> Traced:
        return contact_gaps(system.on(numbers).model, q)

    def speeds(q: Traced, v: Traced, **numbers: Traced) -> Traced:
        return contact_velocities(system.on(numbers).model, q, v)

    state: Shapes = {"q": (model.nq,), "v": (model.nv,)}
    acting: Shapes = {**state, "t": (), **forces}
    rows, names = row_count(model, NO_LAWS), list(forces)
    vary: Shapes = {n: x for n, x in forces.items() if n == "parameters"}
    first = names.index("parameters") if vary else len(names)
    return TouchKernels(
        named(signals, {**acting, "touch": (3 * k,)}, model, "signals"),
        named(free, acting, model, "free"),
        named(settle, {**state, "touching": (k,), "drift": (rows,), **vary}, model, "settle"),
        named(gaps, {"q": (model.nq,), **vary}, model, "gaps"),
        named(speeds, {**state, **vary}, model, "speeds"),
        tuple(forces.values()),
        slice(first, first + len(vary)),
        tuple(
            1 if is_zero(c.friction[0]) else 3
            for c, part in zip(model.contacts, contact_points(model).values(), strict=True)
            for _ in range(part.start, part.stop)
        ),
    )


@dataclass(frozen=True)
class Missed:
    """The largest velocity by which an impact missed a law, when, and at which contact."""

    speed: float = 0.0
    t: float = 0.0
    contact: str = ""


class Touching(Adaptive):
    """`Adaptive` with contacts: ``touch`` (B, k, 3) are the modes and slips of the points."""

    def __init__(
        self, method: DormandPrince, model: Model, kernel: Kernel[tuple[Array, ...]],
        q: Array, v: Array, t: float, a: Array, span: float, kernels: TouchKernels,
        forces: Sequence[Array], place: Place = CPU,
        rows_at: Callable[[Array], dict[str, Array]] | None = None,
    ):  # fmt: skip
        super().__init__(method, model, kernel, q, v, t, a, span, place, rows_at)
        self.kernels = kernels
        k = contact_count(model)
        self.touch = np.zeros((*q.shape[:-1], k, 3))
        self.sizes = kernels.rows
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])[:-1].astype(int)
        self.before = self.touch.copy()  # of the last step
        self.missed = Missed()
        self.x = {name: np.array(value, dtype=float) for name, value in self.x.items()}
        for sample in np.ndindex(*q.shape[:-1]):
            own = self._own(sample, forces)
            near = self._gaps(q[sample], own) <= CLOSED_GAP
            if near.any():
                self.x["v"][sample] = self._settle(sample, q[sample], v[sample], t, near, own)
        self.before = self.touch.copy()
        self.instant = np.full(q.shape[:-1], -np.inf)  # when the first of these events was
        self.at_once = np.zeros(q.shape[:-1], dtype=int)  # events at one instant
        self.stuck: dict[tuple[int, ...], str] = {}  # samples that these stopped, with the contact

    @property
    def watched(self) -> bool:
        return True

    def checkpoint(self) -> dict[str, Array]:
        own = {"touch": self.touch.copy(), "before": self.before.copy()}
        own |= {"instant": self.instant.copy(), "at_once": self.at_once.astype(float)}
        return super().checkpoint() | own

    def restore(self, at: Mapping[str, Array], events: Sequence[Event]) -> None:
        super().restore(at, events)
        self.touch, self.before = np.array(at["touch"]), np.array(at["before"])
        self.instant = np.array(at["instant"])
        self.at_once = np.asarray(at["at_once"]).astype(int)

    def inputs(self, forces: Sequence[Array]) -> Sequence[Array]:
        return [*forces, self.touch.reshape(*self.touch.shape[:-2], -1)]

    def watch(self, moved: NDArray[np.bool_], forces: Sequence[Array]) -> None:
        """Cut the steps in which a mode ends, and look for the events of the user."""
        self.x = {name: np.array(value) for name, value in self.x.items()}  # to be written to
        moved = np.asarray(moved)
        self.before = np.where(moved[..., None, None], self.touch, self.before)
        ends: dict[tuple[int, ...], tuple[int, Array | None]] = {}
        for where in np.argwhere(moved):
            sample = tuple(map(int, where))
            own = self._own(sample, forces)
            found = self._first(sample, own)
            if found is not None:
                t, modes = found
                ends[sample] = self._cut(sample, t, own, mended=modes is None), modes
        if self.method.events:
            self._look(moved)
        for sample, (point, modes) in ends.items():
            self._change(sample, self._own(sample, forces), modes)
            self._count(sample, point)
        if ends and self.method.events:  # what jumped does not cross
            now = [np.asarray(g(*map(self.here, ("t", "q", "v")))) for g in self.method.events]
            jumped = np.zeros(moved.shape, dtype=bool)
            for sample in ends:
                jumped[sample] = True
            self._g = [np.where(jumped, a, b) for a, b in zip(now, self._g, strict=True)]
        for where in np.argwhere(moved):  # slips go on from where they are
            sample = tuple(map(int, where))
            if sample not in ends:
                self._follow(sample, self._own(sample, forces))

    def forces_at(
        self, t: float, q: Array, v: Array, forces: Sequence[Array]
    ) -> tuple[Array, Array]:
        """The contact forces at a time of the last steps, in the world, (B, k, 3), and modes."""
        now = (np.asarray(t) >= self.here("t"))[..., None, None]
        touch = np.where(now, self.touch, self.before)
        flat = touch.reshape(*touch.shape[:-2], -1)
        world = np.asarray(self.kernels.signals(q, v, t, *forces, flat)[4])
        return np.where(touch[..., :1] > OPEN, world.reshape(touch.shape), 0.0), touch[..., 0]

    # -- one sample --

    def _own(self, sample: tuple[int, ...], forces: Sequence[Array]) -> list[Array]:
        batch = self.touch.shape[:-2]
        pairs = zip(forces, self.kernels.cores, strict=True)
        return [np.broadcast_to(f, (*batch, *core))[sample] for f, core in pairs]

    def _contact(self, point: int) -> str:
        """The contact that a point belongs to."""
        parts = contact_points(self.model).items()
        return next(name for name, part in parts if point < part.stop)

    def _gaps(self, q: Array, forces: Sequence[Array]) -> Array:
        return np.asarray(self.kernels.gaps(q, *forces[self.kernels.numbers]))

    def _jumped(
        self, sample: tuple[int, ...], q: Array, forces: Sequence[Array]
    ) -> NDArray[np.bool_]:
        """Which closed points are not where they were: other features are nearest now."""
        return (self.touch[sample][:, 0] > OPEN) & (self._gaps(q, forces) > JUMPED_GAP)

    def _speeds(self, q: Array, v: Array, forces: Sequence[Array]) -> Array:
        return np.asarray(self.kernels.speeds(q, v, *forces[self.kernels.numbers]))

    def _missed(
        self, sample: tuple[int, ...], t: float, q: Array, v: Array, forces: Sequence[Array]
    ) -> tuple[Array, NDArray[np.bool_]]:
        """What is negative where a mode ends (k), and where it is a gap or slip, not a force."""
        touch = self.touch[sample]
        _, x, w, gaps, _ = (
            np.asarray(y) for y in self.kernels.signals(q, v, t, *forces, touch.ravel())
        )
        scale = LOOSE_FORCE * (1e-9 + np.abs(x).max(initial=0.0))
        out = np.array(gaps, dtype=float)
        firm = touch[:, 0] == OPEN
        for k, (start, size) in enumerate(zip(self.starts, self.sizes, strict=True)):
            mode = touch[k, 0]
            if mode == OPEN:
                continue
            out[k] = x[start] + scale
            if gaps[k] > JUMPED_GAP:
                out[k], firm[k] = JUMPED_GAP - gaps[k], True
            elif size == 3 and mode == STICKS:
                slack = x[start] - np.hypot(x[start + 1], x[start + 2]) + scale
                out[k] = min(out[k], slack)
            elif size == 3:
                along = w[start + 1] * touch[k, 1] + w[start + 2] * touch[k, 2]
                out[k], firm[k] = min(out[k], along), along < 0.0
        return out, firm

    def _first(
        self, sample: tuple[int, ...], forces: Sequence[Array]
    ) -> tuple[float, Array | None] | None:
        """When the first mode ends on the last step of a sample, and the modes that follow, where
        a force says it. It has just reached its bound: a moment earlier, or asked again, rounding
        may decide for the old ones, without end.
        """
        low, high = (float(self.here(n)[sample]) for n in ("t_old", "t"))
        modes = self.touch[sample][:, 0]
        q_old, v_old = self.x["q_old"][sample], self.x["v_old"][sample]
        begin, firm = self._missed(sample, low, q_old, v_old, forces)
        rounds = np.where(modes == OPEN, 1e-13, 1e-10)  # of gaps (m), of slips (m/s): ends nothing
        floor = np.where(modes == STICKS, 0.0, np.where(firm, np.minimum(begin, 0.0), 0.0) - rounds)

        def ends(t: float) -> tuple[float, Array | None] | None:
            q, v = self.at(t, sample)
            values, firm = self._missed(sample, t, q, v, forces)
            missed = values < floor
            if (missed & firm).any():
                return t, None
            if not missed.any():
                return None
            found = self._modes(q, v, t, forces, modes > OPEN)
            changed = (found[:, 0] != modes).any()  # forces may be indeterminate, modes are not
            return (t, found) if changed else None

        first = None
        for a, b in pairwise(np.linspace(low, high, GAP_LOOKS + 1)):
            first = ends(float(b))
            if first is not None:
                low, high = float(a), float(b)
                break
        for _ in range(60 if first is not None else 0):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            found = ends(middle)
            low, high = (middle, high) if found is None else (low, middle)
            first = first if found is None else found
        return first

    def _cut(
        self, sample: tuple[int, ...], t: float, forces: Sequence[Array], mended: bool
    ) -> int:
        """End the last step of a sample at a time, mended by steps of the full order where a gap
        or a slip says it; which point ends it.
        """
        old = {name: np.array(x[sample]) for name, x in self.x.items()}
        start = old | {"q": old["q_old"], "v": old["v_old"], "t": old["t_old"]}
        t_old, last = float(old["t_old"]), float(old["t"])
        modes = [self.touch[sample].ravel()]
        q, v = self.at(t, sample)
        worst = int(np.argmin(self._missed(sample, t, q, v, forces)[0]))
        if self._jumped(sample, q, forces).any():
            mended = False  # it was not there before

        def step(until: float) -> dict[str, Array]:
            begin = start | {"h": np.array(max(until - t_old, 1e-300))}
            out = self.kernel(*begin.values(), until, until, 1.0, *forces, *modes)
            return {n: np.asarray(x) for n, x in zip(begin, out, strict=True)}

        def value(x: dict[str, Array]) -> float:
            return float(self._missed(sample, float(x["t"]), x["q"], x["v"], forces)[0][worst])

        done = step(t)
        here, slope = value(done), 0.0
        other = max(t - 1e-3 * (t - t_old), 0.5 * (t + t_old))
        if mended and t > other > t_old and float(done["t"]) == t:
            slope = (here - value(step(other))) / (t - other)
        for _ in range(3):
            if slope >= 0.0 or abs(here) < 1e-15:
                break
            again = min(max(t - here / slope, t_old), last)
            trial = step(again)
            if float(trial["t"]) != again or not abs(value(trial)) < abs(here):
                break
            t, done, here = again, trial, value(trial)
        if float(done["t"]) != t:  # the step was refused: what the dense output says
            q, v = self.at(t, sample)
            done = old | {"q": q, "v": v, "t": np.array(t)}
        for name in ("q", "v", "t", "q_old", "v_old", "t_old", "h_old", "dense"):
            self.x[name][sample] = done[name]
        return worst

    def _change(
        self, sample: tuple[int, ...], forces: Sequence[Array], modes: Array | None
    ) -> None:
        """The impact laws and the modes that follow, at the end of a step: those given, where a
        force ended the old ones, and nothing meets.
        """
        q, v, t = (self.x[n][sample] for n in ("q", "v", "t"))
        gaps = self._gaps(q, forces)
        near = (self.touch[sample][:, 0] > OPEN) | (gaps <= CLOSED_GAP)
        if self._jumped(sample, q, forces).any():  # other points are where these were
            near = gaps <= JUMPED_GAP
        if modes is None:
            self.x["v"][sample] = self._settle(sample, q, v, float(t), near, forces)
        else:
            self.touch[sample] = modes
        number = -1 - int(np.argmin(np.where(near, gaps, np.inf)))
        self.events.append(Event(sample, float(t), number, q.copy(), self.x["v"][sample].copy()))

    def _count(self, sample: tuple[int, ...], point: int) -> None:
        """Stop a sample whose events, the last at this point, do not end at one instant: no modes
        agree there.
        """
        t = float(self.x["t"][sample])
        if t - self.instant[sample] > INSTANT * max(1.0, abs(t)):
            self.instant[sample], self.at_once[sample] = t, 0
        self.at_once[sample] += 1
        if self.at_once[sample] > EVENTS_AT_ONCE_MAX:
            self.stuck[sample] = self._contact(point)
            self.stopped[sample], self.end[sample] = True, t

    def _settle(
        self, sample: tuple[int, ...], q: Array, v: Array, t: float, near: NDArray[np.bool_],
        forces: Sequence[Array],
    ) -> Array:  # fmt: skip
        """v after impacts; sets the modes of what touches."""
        w = self._speeds(q, v, forces)
        if (near & (w[self.starts] < -SLOW)).any():
            v = self._impact(q, v, t, near.astype(float), 0.0 * w, forces)[0]
            w = self._speeds(q, v, forces)
        self.touch[sample] = self._modes(q, v, t, forces, near & (w[self.starts] < SLOW))
        return v

    def _impact(
        self, q: Array, v: Array, t: float, touching: Array, drift: Array, forces: Sequence[Array]
    ) -> tuple[Array, Array]:
        """(v⁺, x) of the impact laws (`settled`); what misses them most is kept to be told."""
        found = self.kernels.settle(q, v, touching, drift, *forces[self.kernels.numbers])
        soon, x, missed = (np.asarray(y) for y in found)
        if missed[0] > self.missed.speed:
            w = (self._speeds(q, soon, forces) + drift)[self.starts]
            point = int(np.argmin(np.where(touching > 0.5, w, np.inf)))
            self.missed = Missed(float(missed[0]), t, self._contact(point))
        return soon, x

    def _modes(
        self, q: Array, v: Array, t: float, forces: Sequence[Array], near: NDArray[np.bool_]
    ) -> Array:
        """The modes (k, 3) of the points that are near, of what happens in a very short time."""
        touch = np.zeros((len(near), 3))
        if not near.any():
            return touch
        a, drift = (np.asarray(x) for x in self.kernels.free(q, v, t, *forces))
        short, touching = SHORT_SECONDS, 2.0 * near.astype(float)
        soon, x = self._impact(q, v + short * a, t, touching, short * drift, forces)
        w = self._speeds(q, v, forces)
        later = self._speeds(q, soon, forces) + short * drift
        pull = self._speeds(q, a, forces) + drift
        least = 1e-8 * short * np.abs(pull).max(initial=1e-9)
        took = later - w - short * pull  # by impulses
        most = np.abs(x).max(initial=0.0)
        bounds = np.full(len(near), np.inf)  # slips above them slide
        for k, (start, size) in enumerate(zip(self.starts, self.sizes, strict=True)):
            rounded = max(least, CLEAR * np.linalg.norm(took[start : start + size]))
            presses = x[start] > CLEAR * most  # so what it moves with is rounding
            opens = later[start] > (rounded if presses else least)
            if not near[k] or opens or x[start] < -1e-9 * most:
                continue
            touch[k, 0] = STICKS
            if size == 1:
                continue
            holds = x[start] - np.hypot(x[start + 1], x[start + 2]) > CLEAR * most
            bounds[k] = rounded if holds else least
            slip, soon_slip = w[start + 1 : start + 3], later[start + 1 : start + 3]
            if np.hypot(*slip) > SLOW:
                touch[k] = SLIDES, *(slip / np.hypot(*slip))
            elif np.hypot(*soon_slip) > bounds[k]:
                touch[k] = SLIDES, *_against(x[start + 1 : start + 3], soon_slip)
        if (touch[:, 0] == SLIDES).any():  # what begins to slide along with it is slow as well
            for k in np.flatnonzero((touch[:, 0] == STICKS) & (bounds == least)):
                rows = slice(self.starts[k] + 1, self.starts[k] + 3)
                if np.hypot(*later[rows]) > ALONG * least:
                    touch[k] = SLIDES, *_against(x[rows], later[rows])
        return touch

    def _follow(self, sample: tuple[int, ...], forces: Sequence[Array]) -> None:
        """The slips of a sample, where they are now."""
        touch = self.touch[sample]
        if not (touch[:, 0] == SLIDES).any():
            return
        w = self._speeds(self.x["q"][sample], self.x["v"][sample], forces)
        for k in np.flatnonzero(touch[:, 0] == SLIDES):
            slip = w[self.starts[k] + 1 : self.starts[k] + 3]
            if np.hypot(*slip) > SLOW:
                touch[k, 1:] = slip / np.hypot(*slip)


def _against(force: Array, slip: Array) -> Array:
    """The direction of a slip that begins: against its friction, which has more digits."""
    size = float(np.hypot(*force))
    return -force / size if size > 0.0 else slip / np.hypot(*slip)
