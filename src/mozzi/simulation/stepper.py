"""`stepper`: many steps of many samples as one kernel, for any target.

On a GPU a launch takes all samples through all steps: a thread keeps the state of its sample in
registers, feedback is compiled along, and states along the way go to memory as they come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mozzi.algorithms.recursion.representations import check
from mozzi.checked import checked
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.program.program import load, loop
from mozzi.program.scalar import Node, Real
from mozzi.simulation.checks import check_model
from mozzi.simulation.forces.drives import Drives, Prescribed, TimeLaw
from mozzi.simulation.forces.law import Law, check_traceable
from mozzi.simulation.forces.resistance import Limits, Resistance, resistance_of, stops_of
from mozzi.simulation.methods import DormandPrince, method_for, method_of
from mozzi.simulation.methods.method import OneStep, as_state, sampled
from mozzi.simulation.methods.moreau import Moreau, honoured
from mozzi.simulation.parameters import names_of
from mozzi.simulation.place import named
from mozzi.simulation.projection import closed_again, first_rows, held_rows
from mozzi.simulation.system import Feedback, System
from mozzi.simulation.traced_state import Memory
from mozzi.types import Array, DType, Kernel, Method, Rep, Target, Traced

__all__ = ["stepper"]


@checked
def stepper(
    model: Model,
    method: Method | OneStep | None = None,
    torque: Feedback | Law | None = None,
    *,
    records: int | None = None,
    steps: int | None = None,
    held: bool = False,
    wrenches: bool = False,
    wrenches_rep: Rep = "body",
    resistance: bool | Resistance = True,
    limits: Limits = False,
    prescribed: Prescribed | None = None,
    loop_offsets: Mapping[str, TimeLaw] | None = None,
    target: Target = "cpu",
    dtype: DType = "float64",
    parameters: Sequence[str] = (),
) -> Kernel[tuple[Array, Array]]:
    """A kernel (q, v, t, …, dt, steps) ↦ (q, v) after that many steps of length dt.

    Arguments broadcast over leading batch axes; t, dt and steps are numbers, and steps is the same
    for all samples. With moreau a third result is the largest velocity by which a law of contact,
    dry friction or limits was missed since the start, (…, 1).

    Cost: a step takes what it takes in `simulate`, without records.

    Args:
        model: the mechanism.
        method: a method of constant step, as `simulate` takes it (rkmk4, or moreau where the model
            has contacts, unless told).
        torque: a law τ(t, q, v), traced and compiled along; or None. With a `Law` the kernel takes
            its row of state behind v, ``law.start(model)`` at first, and gives it behind v.
        records: how many states to give, (B, records, nq) and (B, records, nv), with `steps` steps
            from one to the next; None gives the last one, after `steps` steps.
        steps: how many, where that is known beforehand: the kernel does not take it as an argument
            then, and PyTorch and JAX differentiate it, to any order. None: the last argument.
        held: whether the kernel takes joint forces tau, held over the steps, behind t.
        wrenches: whether it takes wrenches (nb, 6), held, behind them.
        wrenches_rep: the representation in which they are held, as in `simulate`.
        resistance, limits, prescribed, loop_offsets: as in `simulate`.
        target, dtype: as in `compile`. With target "cuda" a call is one launch.
        parameters: names of numbers of the model that vary, as in `sensitivity`, and of arguments
            of the law behind (t, q, v): the kernel takes an array (B, p) of them, behind the
            others.

    Returns:
        A kernel; with `records` its results are (B, records, nq) and (B, records, nv), else (B, nq)
        and (B, nv).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> step = mz.stepper(arm, "semi_implicit")
        >>> q, v = step(arm.neutral(), np.zeros(arm.nv), 0.0, 0.001, 10)
    """
    as_model(model, "stepper")
    check_model(model)
    drives = None
    if prescribed or loop_offsets:
        drives = Drives(model, prescribed, loop_offsets)
        model = drives.model
    chosen = method_for(model, method)
    rule = method_of(chosen, {})
    if isinstance(rule, DormandPrince):
        raise ConfigurationError(f"method {chosen!r} is not one of constant step; take rkmk4")
    if rule.extra(model) and not isinstance(rule, Moreau):
        raise ConfigurationError(
            f"method {chosen!r} carries more than q and v; stepper takes rkmk4, semi_implicit and "
            "moreau"
        )
    for word, count in (("records", records), ("steps", steps)):
        if count is not None and count < 1:
            raise ConfigurationError(f"stepper: {word} {count}; give 1 or more, or leave it out")
    varying = names_of(parameters, model, torque)
    shown = varying.template
    friction = resistance_of(resistance, shown)
    stops, rule = honoured(shown, rule, stops_of(limits), friction)
    if torque is not None:
        check_traceable(torque, model, varying)
    law = torque if isinstance(torque, Law) else None
    feedback = None if isinstance(torque, Law) else torque
    if drives is not None:
        drives.refuse_actuated(feedback)
    system = System(
        shown, feedback, friction, stops, varying, drives=drives, wrenches_rep=check(wrenches_rep)
    )
    size = {"q": model.nq, "v": model.nv} | ({} if law is None else {"law": law.size(model)})
    kept = ("force", "residual", "rate")
    carried = {n: k for n, k in rule.extra(shown).items() if n in kept}
    given = size | {n: k for n, k in carried.items() if n == "residual"}

    def stepper(
        t: Real, dt: Real, steps: Node | int = steps or 1, **arrays: Traced
    ) -> tuple[Traced, ...]:
        at = system.on(arrays)
        bound = at.bound(law, arrays)
        state = {n: Memory(n, k, arrays[n]) for n, k in size.items()}
        state |= {n: Memory(n, k, 0.0) for n, k in carried.items()}
        rows = first_rows(at.model, arrays["q"], at.rows_at(t))
        state |= {n: Memory(n, len(x), x) for n, x in rows.items()}
        clock = Memory("t", 1, t)

        def run() -> None:
            once = not isinstance(steps, Node) and steps == 1
            for _ in range(1) if once else loop(0, steps, name="step"):
                now = clock.get()[0]
                x = as_state(state, [m.get() for m in state.values()], now)
                own = sampled(bound, at, x, dt)
                with held_rows(at.model, x):
                    new = rule.step(at, x, dt)
                then = at.rows_at(now + dt)
                new = closed_again(at.model, new, x.get("rows"), given=then) | own
                for n, m in state.items():
                    m.set(new[n])
                clock.set(now + dt)

        if records is None:
            run()
            return tuple(state[n].get() for n in given)
        found = {n: Memory(f"{n}_record", (records, k)) for n, k in given.items()}
        for _, record in loop(0, records, name="record"):
            run()
            for n, m in found.items():
                m.set_row(record, state[n].get())
        return tuple(map(_all, found.values()))

    shapes: dict[str, tuple[int, ...]] = {n: (k,) for n, k in size.items()} | {"t": ()}
    shapes |= {"tau": (model.nv,)} if held else {}
    shapes |= {"wrenches": (model.nb, 6)} if wrenches else {}
    shapes |= {"dt": ()} | ({"steps": ()} if steps is None else {})
    shapes |= {"parameters": (varying.count,)} if varying.count else {}
    return named(stepper, shapes, model, "stepper", target, dtype)


def _all(memory: Memory) -> np.ndarray:
    """The whole array, so that the buffer itself is the result."""
    values = [load(memory.buffer, None, 0, k) for k in range(memory.buffer.size)]
    return np.array(values, dtype=object).reshape(memory.shape)
