"""Dynamics with loops on arrays: the same programs, which count rows too and tell what they lost.

The factorisation that solves for the multipliers knows which rows it has left out. Here these
counts are results of the program, and where a configuration lacks rank that its neighbours have, a
`SingularWarning` says so. Rows that are always redundant are not mentioned: how many a model may
lack is judged once (`singular.py`), and kept with it. A configuration that is widely open counts
as one that lacks `OPEN` rows, and an `OpenLoopWarning` tells by how much. Rows that were left out
are met by themselves, unless velocities open the loops: then they contradict those that count
(`AGAINST`), and an answer depends on which these are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.algorithm import Arrays, Options, algorithm
from mozzi.algorithms.constraints.multipliers import Multipliers
from mozzi.algorithms.constraints.overconstrained import most_independent, overconstrained
from mozzi.algorithms.constraints.rank import (
    length_of,
    lengths,
    opening,
    ranks_of,
    scaled,
    sines,
    turn,
)
from mozzi.algorithms.constraints.row_choice import scalar
from mozzi.algorithms.constraints.rows.rows import loop_acceleration, loop_residual
from mozzi.algorithms.constraints.symbolic_closures import alike
from mozzi.algorithms.dynamics.forward import Sweeps, forward, forward_dynamics, hybrid
from mozzi.algorithms.dynamics.momenta import momentum_dynamics
from mozzi.algorithms.loops.assemble import held_mask
from mozzi.algorithms.loops.open_loops import (
    MISSED,
    WIDE,
    tell_velocities,
    warn_open,
    warn_opening,
    widely_open,
)
from mozzi.algorithms.loops.shown import show
from mozzi.algorithms.loops.singular import closed_nearby, rank_nearby
from mozzi.algorithms.recursion.containers import BlockArray, Number, per_body
from mozzi.algorithms.recursion.held import held_by
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import ByBody, JointVector
from mozzi.errors import LoopError, SingularWarning, warn
from mozzi.lie import Wrench
from mozzi.model import Model
from mozzi.program.counted_loops import summed
from mozzi.program.scalar import Condition, Real, real, select
from mozzi.types import Array, ArrayLike, JointChoice, Kernel, Traced

__all__ = [
    "forward_dynamics_with_rank_warnings", "hybrid_dynamics_with_rank_warnings",
    "loop_forces_with_rank_warnings", "multipliers", "refuse_rates", "warn_of_passive_joints",
]  # fmt: skip

WARNED_SAMPLES = 16  # of a batch, for which it is found out whether a warning is due
FALSE = np.False_
OPEN = 1e6  # rows: says that a configuration is open by more than `WIDE`
AGAINST = 1e12  # rows: says that some that were left out are missed


# -- programs whose last two results are (rank, rows left out) --


@algorithm(regroup="moments", loops="honour", rolled_paths=True, rolled_loops=alike)
def counted_forward_dynamics(
    model: Mechanism, q: JointVector, v: JointVector, tau: JointVector,
    wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
    loop_accelerations: BlockArray | None = None,
) -> tuple[BlockArray, Traced, Traced]:  # fmt: skip
    """`forward_dynamics`, and counts."""
    x = Sweeps(model, q, v, tau, wrenches=wrenches, resistance=resistance)
    a_out, loops = forward(x, loop_accelerations)
    return a_out, *_counts(x, a_out, loops, loop_accelerations)


@algorithm(regroup="moments", loops="honour", rolled_paths=True)
def counted_loop_forces(
    model: Mechanism, q: JointVector, v: JointVector, tau: JointVector,
    wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
    loop_accelerations: BlockArray | None = None,
) -> tuple[Traced, BlockArray, Traced, Traced]:  # fmt: skip
    """`loop_forces`, accelerations, and counts."""
    x = Sweeps(model, q, v, tau, wrenches=wrenches, resistance=resistance)
    a_out, loops = forward(x, loop_accelerations, least=True)
    return multipliers(loops), a_out, *_counts(x, a_out, loops, loop_accelerations)


@algorithm(regroup="moments", loops="honour", rolled_paths=True)
def counted_hybrid_dynamics(
    model: Mechanism, q: JointVector, v: JointVector, tau: JointVector, a: JointVector,
    prescribed: JointChoice = (), wrenches: ByBody[Wrench] | None = None, resistance: bool = False,
    loop_accelerations: BlockArray | None = None,
) -> tuple[BlockArray, BlockArray, Traced, Traced]:  # fmt: skip
    """`hybrid_dynamics`, and counts."""
    x = Sweeps(held_by(model, prescribed), q, v, tau, a, wrenches, resistance)
    tau_out, a_out, loops = hybrid(x, loop_accelerations, least=True)
    return tau_out, a_out, *_counts(x, a_out, loops, loop_accelerations)


for _counted in (counted_forward_dynamics, counted_loop_forces, counted_hybrid_dynamics):
    _counted.__name__ = _counted.name.removeprefix("counted_")  # in messages of its kernel


def multipliers(loops: Multipliers | None) -> Traced:
    """λ (m)."""
    return np.array([*(loops.multipliers if loops else ()), None], dtype=object)[:-1]


def _counts(
    x: Sweeps, a: BlockArray, loops: Multipliers | None, accelerations: BlockArray | None
) -> tuple[Traced, Traced]:
    """(rank, rows left out); `OPEN` more of them where loops are open and rows have no motion of
    their own, `AGAINST` more where some are missed. Where nothing is chosen those are left out as
    well that would be if it were.
    """
    assert loops is not None  # these programs are of models with loops
    if accelerations is not None:
        rank, left_out = loops.factor.counts(0.0)
        return scalar(rank), scalar(left_out)
    model = x.model
    open2 = opening(loops.propagated.open_by(), lengths(model.model)[0].tolist())
    held = np.array([h for i in model.bodies for h in i.held], dtype=bool)
    chosen = overconstrained(model.model, held)
    rank, left_out = loops.factor.counts(0.0 if chosen else open2)
    apart2 = loops.propagated.apart2(length_of(model.model))
    left_out = left_out + select(apart2 > WIDE * WIDE, OPEN, 0.0)
    if chosen:
        left_out = left_out + select(_missed(x, a, loops, open2), AGAINST, 0.0)
    return scalar(rank), scalar(left_out)


def _missed(x: Sweeps, a: BlockArray, loops: Multipliers, open2: Real) -> Condition:
    """Whether accelerations a miss rows by more than loops are open, in lengths of the mechanism:
    those that count are met.
    """
    size, model = length_of(x.model.model), x.model
    A2, V2 = per_body(model, "A2 V2", Number, Number)

    def square(y: Real, u: float) -> Real:
        return (u * y) * (u * y)

    for i in model.outward():
        units = [1.0 if turns else 1.0 / size for turns in turn(i.joint)]
        A2[i] = sum(map(square, a[i], units), 0.0)
        V2[i] = sum(map(square, x.v[i], units), 0.0)
    for i in model.inward():
        A2[i.parent] += A2[i]
        V2[i.parent] += V2[i]
    left2 = summed(square, loops.left, [1.0 / u for u in lengths(model.model)[0].tolist()])
    whole2 = A2[model.world] + V2[model.world] * V2[model.world]
    return real(left2) > (MISSED * MISSED + open2) * whole2


# -- called with arrays --


@forward_dynamics.with_loops
def forward_dynamics_with_rank_warnings(model: Model, arrays: Arrays, options: Options) -> Array:
    """`forward_dynamics` of a model with loops."""
    if tuple(arrays) == forward_dynamics.required and not options["resistance"]:
        return model.cache.setdefault(forward_dynamics, _Warning(model)).answer(*arrays.values())
    a, rank, left_out = counted_forward_dynamics(model, **arrays, **options)
    regular = Regular.of(model)
    low = (left_out > regular.spare).any()
    if low and regular.tell("forward_dynamics", arrays, a, rank, left_out):
        a = counted_forward_dynamics(model, **arrays, **options)[0]
    refuse_rates(model, arrays, a)
    return a


class _Warning:
    """The kernel of plain calls, found in the model's cache by `Algorithm.__call__`."""

    def __init__(self, model: Model):
        self.model, self.regular = model, Regular.of(model)
        self.kernel: Kernel[tuple[Array, Array, Array]] | None = None

    def __call__(self, *args: ArrayLike) -> Array:
        if not all(isinstance(x, (np.ndarray, list, tuple)) for x in args):
            return forward_dynamics(self.model, **dict(zip(forward_dynamics.required, args)))
        return self.answer(*args)

    def answer(self, *args: ArrayLike) -> Array:
        """Of arguments that have been looked at."""
        if self.kernel is None:
            counted_forward_dynamics(self.model, *args)
            self.kernel = self._found()
        a, rank, left_out = self.kernel(*args)
        low = left_out > self.regular.spare
        if low is not FALSE and low.any():
            arrays = dict(zip(forward_dynamics.required, args, strict=True))
            if self.regular.tell("forward_dynamics", arrays, a, rank, left_out):
                return forward_dynamics(self.model, **arrays)
        return a

    def _found(self) -> Kernel[tuple[Array, Array, Array]]:
        return self.model.cache[counted_forward_dynamics]


def loop_forces_with_rank_warnings(model: Model, arrays: Arrays, options: Options) -> Array:
    """`loop_forces` of a model with loops."""
    lam, a, rank, left_out = counted_loop_forces(model, **arrays, **options)
    regular = Regular.of(model)
    low = (left_out > regular.spare).any()
    if low and regular.tell("loop_forces", arrays, a, rank, left_out):
        return loop_forces_with_rank_warnings(model, arrays, options)
    refuse_rates(model, arrays, a)
    return lam


def refuse_rates(model: Model, arrays: Arrays, a: Array) -> None:
    """Rates of rows that depend on one another may contradict each other: that is a `LoopError`
    where the loops are closed (open ones may be on a motion of their own, to which rows left out
    are known to as much as they are open).
    """
    if "loop_accelerations" not in arrays:
        return
    q, v, asked = (np.asarray(arrays[n]) for n in ("q", "v", "loop_accelerations"))
    rows, columns = lengths(model)
    left = np.abs(loop_acceleration(model, q, v, a) - asked)
    scale = 1.0 + np.square(v / columns).max(-1, initial=0.0)
    scale = scale + np.abs(a / columns).max(-1, initial=0.0)
    scale = scale + np.abs(asked / rows).max(-1, initial=0.0)
    missed = (left / rows).max(-1, initial=0.0) > MISSED * scale
    if (missed & (sines(model, loop_residual(model, q)) < MISSED)).any():
        raise LoopError(
            f"model {model.name!r}: no accelerations move its rows as loop_accelerations say (rows "
            f"are left with {left.max():.3g}); give rates of loops that agree"
        )


def hybrid_dynamics_with_rank_warnings(
    model: Model, arrays: Arrays, options: Options
) -> tuple[Array, Array]:
    """`hybrid_dynamics` of a model with loops: (τ, a)."""
    tau, a, rank, left_out = counted_hybrid_dynamics(model, **arrays, **options)
    regular = Regular.of(model, held_mask(model, options["prescribed"]))
    low = (left_out > regular.spare).any()
    if low and regular.tell("hybrid_dynamics", arrays, a, rank, left_out):
        return hybrid_dynamics_with_rank_warnings(model, arrays, options)
    return tau, a


@momentum_dynamics.with_loops
def momentum_dynamics_with_rank_warnings(
    model: Model, arrays: Arrays, options: Options
) -> tuple[Array, Array]:
    """`momentum_dynamics` of a model with loops, which momenta may open."""
    v, rates = momentum_dynamics.compiled(model, arrays, options)
    tell_velocities("momentum_dynamics", model, arrays["q"], v)
    return v, rates


def warn_of_passive_joints(
    model: Model, q: ArrayLike, A: Array, passive: NDArray[np.bool_]
) -> None:
    """Tell where the rows lose rank in the passive joints, which loops must then move alone."""
    if not passive.any():
        return
    rank = ranks_of(scaled(model, A)[..., passive])
    left_out = min(A.shape[-2], int(passive.sum())) - rank + OPEN * widely_open(model, q)
    regular = Regular.of(model, ~passive)
    if (left_out > regular.spare).any():
        regular.tell("inverse_dynamics", {"q": q}, None, rank, left_out)


class Regular:
    """How many rows a model may lack in regular configurations, as far as that is known.

    spare: the most rows that were left out in a configuration that was judged regular. Few numbers
    are ever judged: only a sample that lacks more than that is.
    """

    def __init__(self, model: Model, held: NDArray[np.bool_] | None):
        self.model, self.held, self.spare = model, held, 0.0

    @classmethod
    def of(cls, model: Model, held: NDArray[np.bool_] | None = None) -> Regular:
        """That of a model some of whose coordinates are held: one for all functions."""
        held = None if held is None or not held.any() else held
        key = (cls, None if held is None else held.tobytes())
        return model.cache.setdefault(key, cls(model, held))

    def tell(
        self, function: str, arrays: Arrays, a: Array | None, rank: ArrayLike, left_out: ArrayLike
    ) -> bool:
        """Warn of the samples that lack more rows than regular ones do, if they are singular.

        Whether they are regular and show that rows must be chosen, which was not known (`show`): an
        answer that was made without is to be made anew.
        """
        batch = np.shape(left_out)
        q = _rows(arrays["q"], batch)
        against, left_out = np.divmod(left_out, AGAINST)
        wide = np.ravel(left_out) >= OPEN
        if wide.any():
            warn_open(function, self.model, q, wide, batch)
        opening = (np.ravel(against) > 0.0) & ~wide
        if opening.any():
            warn_opening(function, self.model, q, _rows(arrays["v"], batch), opening, batch)
        left_out = np.where(np.asarray(left_out) >= OPEN, 0.0, left_out)
        rank, left_out = np.ravel(rank).astype(int), np.ravel(left_out)
        free = None if self.held is None else ~self.held
        finite = np.isfinite(q).all(-1)
        most = most_independent(self.model) if free is None else None
        if most is not None and (full := rank >= most).any():
            self.spare = max(self.spare, float(left_out[full].max()))  # no rank is higher
        while len(low := np.flatnonzero((left_out > self.spare) & finite)):
            some = low[np.argsort(-left_out[low], kind="stable")][:WARNED_SAMPLES]
            near = q[some]
            if "loop_accelerations" not in arrays:  # which may be those of a motion that opens them
                near, there = closed_nearby(self.model, near, rank[some], free)
                left_out[some] -= there - rank[some]
                rank[some] = there
                some, near = some[left_out[some] > self.spare], near[left_out[some] > self.spare]
                if not len(some):
                    continue
            singular, there = rank_nearby(self.model, near, rank[some], free)
            if show(self.model, near[~singular], rank[some[~singular]], self.held):
                return True
            if not singular.any():
                self.spare = float(left_out[some].max())
                continue
            first = some[singular][0]
            usual = int(there[singular].max())
            count = int((rank[low] < max(usual, rank[first] + 1)).sum())
            where = f"in {count} of {len(q)} samples" if batch else "at this configuration"
            result = _RESULTS[function] + self._others(arrays, a, batch, first)
            self._warn(function, where, int(rank[first]), usual, result)
            return False
        return False

    def _others(
        self, arrays: Arrays, a: Array | None, batch: tuple[int, ...], sample: int
    ) -> str:
        """What becomes of the rows that were left out."""
        if a is None:
            return ""
        q, v, rates = (_rows(x, batch)[sample] for x in (arrays["q"], arrays["v"], a))
        left = loop_acceleration(self.model, q, v, rates)
        if "loop_accelerations" in arrays:
            left = left - _rows(arrays["loop_accelerations"], batch)[sample]
        most = np.abs(left).max(initial=0.0)
        if most <= 1e-9 * (1.0 + np.abs(rates).max() + np.square(v).max()):
            return ", and the others agree"
        return f", and the others are missed by {most:.3g}: with these velocities no motion goes on"

    def _warn(self, function: str, where: str, rank: int, usual: int, result: str) -> None:
        nearby = f"and {usual} in closed configurations nearby, so that several motions may go on"
        if usual == rank:
            nearby = "and its motions there are only instantaneous"
        held = "" if self.held is None else " in the joints that are free"
        warn(
            f"{function}: model {self.model.name!r} is singular {where}: its loops have rank {rank}"
            f"{held} there {nearby}; {result}; start or pass beside it, and see mozzi.loop_rank",
            SingularWarning,
        )


_KEPT = "are finite, and those of the rows that count there"
_RESULTS = {
    "forward_dynamics": f"accelerations {_KEPT}",
    "hybrid_dynamics": f"accelerations and torques {_KEPT}",
    "loop_forces": f"loop forces {_KEPT}",
    "inverse_dynamics": "torques are finite, and loops bear of the passive joints what they can",
}


def _rows(x: ArrayLike, batch: tuple[int, ...]) -> Array:
    """An array (…, n) as (samples, n)."""
    x = np.asarray(x, dtype=float)
    return np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1])
