"""Steps as kernels: dynamics and integrator in one program, many steps in one call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from mozzi.compile import compile
from mozzi.integrate.memory import Memory
from mozzi.integrate.methods import Method, as_state, sizes
from mozzi.integrate.projection import closed_again
from mozzi.integrate.system import System
from mozzi.program.program import loop

__all__ = ["advance_kernel", "held_inputs", "named", "start_kernel"]

Shapes = Mapping[str, tuple[int, ...]]


def named(
    function: Callable[..., Any],
    shapes: Shapes,
    model: Any,
    name: str,
    target: str = "cpu",
    dtype: str = "float64",
) -> Any:
    """The kernel of function(arrays by name), whose arguments are these, in this order."""
    names = list(shapes)

    def call(*arrays: Any) -> Any:
        return function(**dict(zip(names, arrays, strict=True)))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    return compile(call, model, target, dtype, inputs=shapes, name=name)


def held_inputs(system: System, held: bool, wrenches: bool) -> dict[str, tuple[int, ...]]:
    """The forces that a kernel takes as inputs and holds while it runs."""
    shapes: dict[str, tuple[int, ...]] = {}
    if held:
        shapes["tau"] = (system.model.nv,)
    if wrenches:
        shapes["wrenches"] = (system.model.nb, 6)
    return shapes


def advance_kernel(method: Method, system: System, forces: Shapes) -> Any:
    """(state…, t, forces…, dt, steps) ↦ state… after that many steps of length dt."""
    size = sizes(method, system.model)

    def advance(t: Any, dt: Any, steps: Any, **arrays: Any) -> Any:
        system.tau, system.wrenches = arrays.get("tau"), arrays.get("wrenches")
        memory = {n: Memory(n, k, arrays[n]) for n, k in size.items()}
        clock = Memory("t", 1, t)
        for _ in loop(0, steps, name="step"):
            now = clock.get()[0]
            x = as_state(size, [m.get() for m in memory.values()], now)
            new = closed_again(system.model, method.step(system, x, dt))
            for n, m in memory.items():
                m.set(new[n])
            clock.set(now + dt)
        return tuple(m.get() for m in memory.values())

    shapes = {n: (k,) for n, k in size.items()} | {"t": ()} | dict(forces)
    return named(advance, shapes | {"dt": (), "steps": ()}, system.model, "advance")


def start_kernel(method: Method, system: System, forces: Shapes) -> Any:
    """(q, v, t, forces…) ↦ what else the method carries, or None where that is nothing."""
    extra = list(method.extra(system.model))
    if not extra:
        return None

    def start(q: Any, v: Any, t: Any, **arrays: Any) -> Any:
        system.tau, system.wrenches = arrays.get("tau"), arrays.get("wrenches")
        x = method.start(system, as_state(("q", "v"), (q, v), t))
        return tuple(x[n] for n in extra)

    model = system.model
    shapes = {"q": (model.nq,), "v": (model.nv,), "t": (), **forces}
    return named(start, shapes, model, "start")


def acceleration_kernel(system: System, forces: Shapes) -> Any:
    """(q, v, t, forces…) ↦ v̇."""

    def acceleration(q: Any, v: Any, t: Any, **arrays: Any) -> Any:
        system.tau, system.wrenches = arrays.get("tau"), arrays.get("wrenches")
        return system.acceleration(t, q, v)

    model = system.model
    shapes = {"q": (model.nq,), "v": (model.nv,), "t": (), **forces}
    return named(acceleration, shapes, model, "acceleration")
