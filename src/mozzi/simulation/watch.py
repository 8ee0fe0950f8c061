# pyright: reportConstantRedefinition=false
"""What a simulation says about itself: energy that nothing explains, friction too stiff for its
steps, laws that are missed, samples that end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.guard import unchecked
from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.constraints.row_choice import loop_rank
from mozzi.algorithms.dynamics.energy import kinetic_energy, potential_energy
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix_inverse
from mozzi.algorithms.dynamics.singular_inertia import moves_without_inertia
from mozzi.algorithms.loops.singular import first_singular
from mozzi.errors import (
    ContactWarning,
    DivergenceWarning,
    EnergyWarning,
    SingularWarning,
    StiffWarning,
    warn,
)
from mozzi.model import Model
from mozzi.model.parameters.named import geometric
from mozzi.simulation.depths import depths
from mozzi.simulation.forces.resistance import Resistance
from mozzi.simulation.methods.dormand_prince import DormandPrince
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.methods.moreau import Moreau
from mozzi.simulation.methods.munthe_kaas import MuntheKaas
from mozzi.simulation.methods.semi_implicit import SemiImplicit
from mozzi.simulation.parameters import Varying
from mozzi.simulation.running.coarse import NEAR, at_rest, steps_beside
from mozzi.simulation.singular import Ranks, ranks_along
from mozzi.types import Array

if TYPE_CHECKING:
    from mozzi.simulation.running.simulation import Simulation

__all__ = ["tell_diverged", "tell_run", "tell_stiff"]

DEEP = 5e-3  # m: shapes that are deeper in each other did not get there by the turning of one step
ENERGY_DRIFT = 0.05  # of the largest kinetic energy: a change that is no longer a small error
EXACT_DRIFT = 1e-3  # the same, of methods of fourth order and more in float64
FAR = 1e6  # m or rad: beyond, rounding alone makes mass matrices singular
LIGHT = 299_792_458.0  # m/s (or rad/s): what is faster is no motion
LOOKED_STATES = 2**15  # states whose energy and contacts are looked at, about
FIRST_ORDER = 2.0  # steps over all: the same of methods of first order, which lose 1 from rest
ROUNDED = {"float64": 1e-9, "float32": 1e-5}  # of the potential energy, that may be rounding
#: −h λ of a decay that an explicit step follows.
STABLE_DECAY: dict[type[OneStep | DormandPrince], float] = {
    SemiImplicit: 2.0, Moreau: 2.0, MuntheKaas: 2.785, DormandPrince: 3.3,
}  # fmt: skip
# a last correction of Newton's method, of velocities, that is not small
LOOSE_CORRECTION = {"float64": 1e-6, "float32": 1e-3}
BEFORE = 100  # records before a motion diverged
MANY_STEPS = 1e6  # of dopri5: minutes
MISSED_SPEED = {"float64": 1e-6, "float32": 1e-2}  # m/s or rad/s, of a law of contact


def tell_run(run: Simulation, t: Array, q: Array, v: Array) -> None:
    """Warn of what is odd in a motion."""
    ranks = ranks_along(run.varying, t, q, None if run.drives is None else run.drives.offsets)
    if ranks is not None:
        tell_singular(run, ranks, t, q, v)
    if run.defect > LOOSE_CORRECTION[run.place.dtype]:
        warn(
            f"{run.method_name}: Newton's method stopped with corrections of "
            f"{run.defect:.1e}; take a smaller dt than {run.dt:g} s, or more iterations",
            DivergenceWarning,
        )
    if run.contact:
        residual = run.records.rows["residual"][: run.records.done, ..., 0]
        tell_residual(residual, run.grid.t, MISSED_SPEED[run.place.dtype], run.drives is not None)
    tell_deep(run, t, q)
    missed = run.records.missed
    if missed.speed > MISSED_SPEED[run.place.dtype]:
        warn(
            f"dopri5: the laws of contact {missed.contact!r} are missed by {missed.speed:.1e} m/s "
            f"at t = {missed.t:g} s: see what its friction and inertias ask for there, or take "
            "method='moreau'",
            ContactWarning,
        )
    if not run.driven():
        tell_energy(run, t, q, v)
    elif not run.pushed():
        tell_gain(run, t, q, v)
    smaller = f"take a smaller dt than {run.dt:g} s"
    if run.adaptive:
        smaller = "its steps became shorter than rounding: see what the forces do there"
    diverged, stuck = run.records.diverged, run.records.stuck
    if diverged or (np.nan_to_num(np.abs(v)) > LIGHT).any():
        smaller = _overdamped(run) or _nearly_singular(run, q) or smaller
    smooth = {k: t for k, t in diverged.items() if k not in stuck}
    tell_diverged(run.model, smooth, run.batch, q, smaller)
    if not diverged:
        tell_absurd(run.batch, t, v, smaller)
    for name in sorted(set(stuck.values())):
        still = {k: t for k, t in diverged.items() if stuck.get(k) == name}
        what = f"found events without end at one instant at contact {name!r}"
        tell_ends(still, run.batch, what, "take method='moreau', which needs no modes")
    spent = f"used up its tries ({getattr(run.method, 'tries', 0)})"
    tell_ends(run.records.spent, run.batch, spent, "give more tries, or larger rtol and atol")


def tell_singular(run: Simulation, ranks: Ranks, t: Array, q: Array, v: Array) -> None:
    """Warn of singular configurations, and of steps that are too coarse beside them."""
    lowest = ranks.lowest()
    if lowest is not None:
        record, rank, usual = lowest
        warn(
            f"model {run.model.name!r} is singular at t = {t[record]:g} s: its loops have rank "
            f"{rank} there and {usual} elsewhere, so that several motions may go on from it, "
            "of which this is one; start or pass beside it, and see mozzi.loop_rank",
            SingularWarning,
        )
        return
    if run.drives is None and not geometric(run.model, run.varying.names):
        starts = q.reshape(-1, *q.shape[-2:])[ranks.samples, 0]
        start = first_singular(run.model, starts, ranks.rank[:, 0])
        if start is not None:  # and stays so: at no other record is the rank higher
            _, rank, nearby = start
            what = "some of the motions that they allow are only instantaneous"
            if nearby > rank:
                what = f"{nearby} nearby, so that several motions may go on from it"
            warn(
                f"model {run.model.name!r} is singular at t = {t[0]:g} s and all the way: its "
                f"loops have rank {rank}, and {what}; start beside it, and see mozzi.loop_rank",
                SingularWarning,
            )
            return
    beside = steps_beside(run, t, q, v, ranks)
    if beside.coarse is not None:
        time, margin, off = beside.coarse
        warn(
            f"{run.method_name}: model {run.model.name!r} passes close to a singular configuration "
            f"near t = {time:g} s (mozzi.loop_rank has a margin of {margin:.1g}), where steps of "
            f"{run.dt:g} s are too coarse: parts of one end {off:.2g} of the velocities "
            "elsewhere, and what follows may be another motion; take a smaller dt, or "
            "method='dopri5'",
            SingularWarning,
        )
    elif beside.passed is not None:
        warn(
            f"{run.method_name}: model {run.model.name!r} passes a singular configuration at "
            f"t = {beside.passed:g} s, where its loops lose rank, or nearly: this motion goes "
            "straight on, and one with dimensions that differ by ever so little may turn off "
            "there; start or pass beside it, and see mozzi.loop_rank",
            SingularWarning,
        )


def tell_energy(run: Simulation, t: Array, q: Array, v: Array) -> None:
    """Warn where nothing drives or brakes, and the energy changes all the same. q is (B, n, nq)."""
    exact = run.method.order >= 4 and run.place.dtype == "float64"
    drift = EXACT_DRIFT if exact else ENERGY_DRIFT
    if run.method.order == 1:
        drift = max(drift, FIRST_ORDER * run.dt / max(float(t[-1] - t[0]), run.dt))
    springs = run.resistance is not None and run.resistance.springs
    looked = _looked_at(t, q)
    q, v = q[..., looked, :], v[..., looked, :]
    with np.errstate(all="ignore"), unchecked():
        T = run.varying.of(kinetic_energy, q, v)
        V = run.varying.of(potential_energy, q, springs=springs)
        T, V = (x.reshape(-1, len(looked)) for x in (T, V))
        change = (T + V) - (T + V)[:, :1]
        size = np.nan_to_num(np.abs(change))
        scale = np.nanmax(T, axis=-1, keepdims=True)
        rounding = ROUNDED[run.place.dtype] * np.nanmax(np.abs(V), axis=-1)[:, None]
        wrong = (size > drift * scale) & (size > rounding) & ~at_rest(run, t, v).reshape(-1, 1)
    if not wrong.any():
        return
    first = int(np.argmax(wrong.any(axis=0)))
    sample = int(np.argmax(wrong[:, first]))
    worst = float(change[sample, int(np.argmax(size[sample]))])
    warn(
        f"{run.method_name}: nothing drives or brakes {run.model.name!r}, and its energy changes "
        f"by {worst:.3g} J, from t = {t[looked[first]]:g} s on by more than {drift:.1%} of its "
        f"largest kinetic energy, {float(scale[sample, 0]):.3g} J; take {_more_exact(run)}",
        EnergyWarning,
    )


def tell_gain(run: Simulation, t: Array, q: Array, v: Array) -> None:
    """Warn where what nothing drives has won energy: dampers, friction and stops only take it. Only
    the fastest state is looked at, in plain Python, so that no program is made for it.
    """
    if run.varying.names:
        return
    speed = np.nan_to_num(np.abs(v), posinf=0.0).max(axis=-1, initial=0.0)
    *sample, record = np.unravel_index(int(speed.argmax()), speed.shape)
    if not record or at_rest(run, t, v[*sample]):
        return
    springs = run.resistance is not None and run.resistance.springs
    start, fast = (*sample, 0), (*sample, record)

    def energies(at: tuple[np.intp | int, ...]) -> tuple[float, float]:
        T = kinetic_energy.python(run.model, q[at], v[at])
        return float(T), float(potential_energy.python(run.model, q[at], springs=springs))

    with np.errstate(all="ignore"):
        before, after = energies(start), energies(fast)
        held = 0.0 if run.stops is None else run.stops.energy(run.model, q[start])
        gain, T = sum(after) - sum(before) - held, after[0]
    drift = ENERGY_DRIFT
    if run.method.order == 1:
        drift = max(drift, FIRST_ORDER * run.dt / max(float(t[-1] - t[0]), run.dt))
    rounding = ROUNDED[run.place.dtype] * max(abs(before[1]), abs(after[1]))
    if gain <= drift * T or gain <= rounding or not math.isfinite(gain):
        return
    which = f" in sample {', '.join(map(str, sample))}" if sample else ""
    stops = " (or softer stops: limits=Stops(frequency=…))" if run.stops is not None else ""
    warn(
        f"{run.method_name}: nothing drives {run.model.name!r}, and it wins {gain:.3g} J by "
        f"t = {t[record]:g} s{which}, where its kinetic energy is {T:.3g} J; take "
        f"{_more_exact(run)}{stops}",
        EnergyWarning,
    )


def tell_absurd(batch: tuple[int, ...], t: Array, v: Array, remedy: str) -> None:
    """Warn of numbers that are finite but no motion's. v is (B, n, nv)."""
    fast = np.nan_to_num(np.abs(v)).max(axis=-1, initial=0.0)
    if not (fast > LIGHT).any():
        return
    samples = fast.reshape(-1, len(t))
    first = int(np.argmax((samples > LIGHT).any(axis=0)))
    at = np.unravel_index(int(np.argmax(samples[:, first])), batch)
    which = f"sample {', '.join(map(str, at))}" if batch else "the motion"
    warn(
        f"{which} has speeds of {fast.max():.1e} from t = {t[first]:g} s on, faster than light: it "
        f"diverges; {remedy}",
        DivergenceWarning,
    )


def _more_exact(run: Simulation) -> str:
    """What gives a smaller error."""
    if run.adaptive:
        return "smaller rtol and atol"
    better = "rkmk4" if run.method_name == "semi_implicit" else "dopri5"
    return f"method={better!r}, or a smaller dt than {run.dt:g} s"


def _overdamped(run: Simulation) -> str | None:
    """The joint whose damper explicit steps cannot follow, with the remedy: v decays at the rate
    λ = d (M⁻¹)ₖₖ at least.
    """
    limit, model = STABLE_DECAY.get(type(run.method)), run.model
    d = np.array([x for body in model for x in body.dynamics.damping])
    damped = run.resistance is not None and run.resistance.damping and d.any()
    if limit is None or run.adaptive or not damped or run.varying.names:
        return None
    with np.errstate(all="ignore"):
        inverse = mass_matrix_inverse.python(model, run.q0.reshape(-1, model.nq)[0])
    rate = d * np.diagonal(np.asarray(inverse, dtype=float))
    k = int(np.argmax(rate))
    if not run.dt * rate[k] > limit:
        return None
    method = "" if model.contacts else "method='generalized_alpha', or "
    return (
        f"the damping {d[k]:g} of joint {model.v_names[k]!r} is too stiff for explicit steps of "
        f"{run.dt:g} s; take {method}dt below {limit / rate[k]:.2g} s"
    )


def _nearly_singular(run: Simulation, q: Array) -> str | None:
    """The remedy where a motion diverged beside a singular configuration of its loops."""
    model = run.model
    if not (closed(model) and run.records.diverged) or run.adaptive or run.varying.names:
        return None
    own = q[min(run.records.diverged, key=run.records.diverged.__getitem__)]
    known = np.flatnonzero((np.nan_to_num(np.abs(own), nan=np.inf) < FAR).all(axis=-1))
    if not len(known):
        return None
    margin = loop_rank(model, own[known[-BEFORE:]])[1]
    if not margin.min() < NEAR:
        return None
    return (
        "it passed close to a singular configuration of its loops before (mozzi.loop_rank has a "
        f"margin of {margin.min():.1g} at t = {run.grid.t[known[-BEFORE:][margin.argmin()]]:g} s), "
        f"which steps of {run.dt:g} s may not resolve; take a smaller dt, method='dopri5', or "
        "start so that it passes beside it"
    )


def tell_stiff(
    varying: Varying, method: OneStep | DormandPrince, resistance: Resistance | None, q: Array,
    dt: float, duration: float,
) -> None:  # fmt: skip
    """Warn where dry friction, f v/√(v² + slip²), changes faster than explicit steps can follow:
    at rest it decays at the rate λ = f/slip · (M⁻¹)ₖₖ. Steps of dopri5 follow, but may be many.
    """
    limit = None if isinstance(method, Moreau) else STABLE_DECAY.get(type(method))
    model = varying.model
    f = np.array([x for body in model for x in body.dynamics.friction])
    for body, k in zip(model, model.v_offsets, strict=False):
        varied = varying.values.get(f"{body.joint_name}.friction")
        if varied is not None:
            f[k : k + body.joint.nv] = varied.max()
    if limit is None or resistance is None or not resistance.friction or not f.any():
        return
    with unchecked():
        inverse = varying.of(mass_matrix_inverse, q).reshape(-1, model.nv, model.nv)
    rate = f / resistance.slip * np.diagonal(inverse, axis1=-2, axis2=-1).max(axis=0)
    k = int(np.argmax(rate))
    if isinstance(method, DormandPrince):
        steps = duration * rate[k] / limit
        if steps > MANY_STEPS:
            warn(
                f"joint {model.v_names[k]!r}: dry friction {f[k]:g} is stiff: at rest, dopri5 "
                f"takes up to {steps:.0e} steps; take method='moreau', where it sticks exactly, "
                f"or Resistance(slip={steps / MANY_STEPS * resistance.slip:.2g})",
                StiffWarning,
            )
        return
    if not dt * rate[k] > limit:
        return
    slip = 1.1 * dt * rate[k] / limit * resistance.slip
    warn(
        f"joint {model.v_names[k]!r}: dry friction {f[k]:g} is too stiff for explicit steps of "
        f"{dt:g} s, which do not come to rest but chatter; take method='moreau', where it sticks "
        f"exactly, dt below {limit / rate[k]:.2g} s, or Resistance(slip={slip:.2g})",
        StiffWarning,
    )


def tell_residual(residual: Array, t: Array, tolerance: float, drives: bool) -> None:
    """Warn where steps missed a law of contact, friction or limits; residual is (n, *B). drives:
    whether some joints move as they are told, whatever is in their way.
    """
    worst = float(np.nanmax(residual, initial=0.0))
    if worst > tolerance:
        at = np.unravel_index(int(np.nanargmax(residual)), residual.shape)
        share = float(np.mean(residual > tolerance))
        warn(
            f"moreau: the laws of contact, friction and limits are missed by {worst:.1e} m/s "
            f"(or rad/s) at t = {t[at[0]]:g} s, and by more than "
            f"{tolerance:g} in {share:.2%} of the records; take "
            "solver='robust', more steps, or a smaller dt"
            f"{', and laws of time that drive nothing into anything' if drives else ''}",
            ContactWarning,
        )


def tell_diverged(
    model: Model, ended: Mapping[tuple[int, ...], float], batch: tuple[int, ...], q: Array,
    remedy: str,
) -> None:  # fmt: skip
    """Warn of samples whose numbers are no longer finite, with the reason where it is a mass matrix
    that has no inverse. q (B, T, nq): the configurations, as far as they go.
    """
    for sample in sorted(ended, key=lambda k: ended[k])[:1]:
        own = q[sample]
        last = np.flatnonzero(np.isfinite(own).all(axis=-1))
        near = len(last) and np.abs(own[last[-1]]).max(initial=0.0) < FAR
        moves = moves_without_inertia(model, own[last[-1]]) if near else None
        if moves is not None:
            remedy = (
                f"its mass matrix is singular there: {moves!r} can move without inertia; give its "
                "body inertia about the joint, or the joint armature"
            )
    tell_ends(ended, batch, "diverged", remedy)


def _looked_at(t: Array, q: Array) -> NDArray[np.int_]:
    """Which records of q (B, n, nq) are looked at: all, or some where there are many."""
    count = max(2, min(len(t), LOOKED_STATES // math.prod(q.shape[:-2])))
    return np.unique(np.linspace(0, len(t) - 1, count).astype(int))


def tell_deep(run: Simulation, t: Array, q: Array) -> None:
    """Warn where rigid shapes get into each other on the way. q is (B, n, nq)."""
    if not run.model.contacts:
        return
    looked = _looked_at(t, q)
    with np.errstate(all="ignore"):
        found = depths(run.model, q[..., looked, :], run.varying)
    for contact, depth in found.items():
        more = np.nan_to_num(depth.reshape(-1, len(looked)))
        more = np.where(more > 1.01 * more[:, :1], more, 0.0).max(axis=0)  # than at the start
        if more.max() > DEEP:
            warn(
                f"{run.method_name}: shape {contact.shape_a!r} gets {more.max():.2g} m deep into "
                f"{contact.shape_b!r} at t = {t[looked[int(more.argmax())]]:g} s, which their "
                "points of contact do not prevent there; take a smaller dt, or shapes that meet "
                "everywhere (spheres, capsules, boxes)",
                ContactWarning,
            )
            return


def tell_ends(
    ended: Mapping[tuple[int, ...], float], batch: tuple[int, ...], what: str, remedy: str
) -> None:
    """Warn of samples that ended before their time."""
    if not ended:
        return
    sample, time = min(ended.items(), key=lambda item: item[1])
    number = sample[0] if len(sample) == 1 else sample
    which = f"sample {number}" if sample else "the motion"
    more = f" and {len(ended) - 1} more samples" if len(ended) > 1 else ""
    rest = "; the other samples went on" if len(ended) < math.prod(batch) else ""
    warn(
        f"{which}{more} {what} after t = {time:g} s and stopped there{rest}; {remedy}",
        DivergenceWarning,
    )
